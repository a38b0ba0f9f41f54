"""Who made a bundle: the statement beside the archive, and its signature if there is a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from proofs.evidence.bundle import STATEMENT, TEST_RESULT
from proofs.evidence.signing import NoSignature, opened
from proofs.evidence.strict import parsed
from proofs.evidence.verifying import Verified, hexdigest
from proofs.kernel import Refused


def attested(found: Verified, archive: bytes, path: Path, key: Path | None) -> None:
    """Notes what the statement at `path` says of the archive, and whether the key signed it."""
    if key is None:
        found.reported.append("who made the bundle: without a key this is integrity, not origin")
    if not path.is_file():
        found.require(key is None, f"{path.name}: there is no signed statement beside the bundle")
        return
    try:
        text = path.read_text(encoding="utf-8")
        statement = opened(text, key) if key else parsed(text)
        if key is None and isinstance(statement, dict) and "payload" in statement:
            found.reported.append(f"{path.name} is signed; pass --key to check by whom")
            return
        found.require(_is_about(statement, archive), f"{path.name}: it is about another archive, or it does not say PASSED")
    except (NoSignature, Refused, UnicodeDecodeError) as why:
        found.problems.append(f"{path.name}: {why}")
        return
    signature = f", signed with {key.name}" if key else ""
    found.rechecked.append(f"that the statement {path.name} is about this archive{signature}")


def _is_about(statement: Any, archive: bytes) -> bool:
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT or statement.get("predicateType") != TEST_RESULT:
        return False
    try:
        subjects = [subject["digest"] for subject in statement["subject"]]
        return subjects == [{"sha256": hexdigest(archive)}] and bool(statement["predicate"]["result"] == "PASSED")
    except (KeyError, TypeError):
        return False
