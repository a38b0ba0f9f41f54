"""The certificates that are kept: one file for each theorem, by its id, made for the statement whose digest it names.

They are made by `draftproof evidence certify` (which may use any solver) and checked by the kernel (which uses none). A
certificate for another statement than the present one says nothing: it counts as missing. One that the kernel refuses for
the very statement that it names has been tampered with, or the kernel or the reader has changed.
"""

from __future__ import annotations

import enum
import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proofs.evidence.strict import SCHEMA, certificate
from proofs.kernel import Refused, check

FOLDER = Path(__file__).parents[1] / "certificates"


class Standing(enum.Enum):
    """What the kernel says of the certificate of a statement."""

    CHECKED = "unsat"
    MISSING = "missing"
    REJECTED = "rejected"


@dataclass(frozen=True, kw_only=True)
class Certified:
    """What the kernel says, why, and what it did for that (its own unit, and seconds)."""

    standing: Standing
    reason: str = ""
    cost: int = 0
    seconds: float = field(default=0.0, compare=False)


def path_of(name: str, folder: Path = FOLDER) -> Path:
    """The file for the theorem with this id."""
    return folder / f"{name}.json"


def certified(name: str, statement: str, folder: Path = FOLDER) -> Certified:
    """Checks the certificate that is kept for a theorem against its statement (SMT-LIB text)."""
    started = time.perf_counter()
    try:
        text = path_of(name, folder).read_text(encoding="utf-8")
        digest, steps = certificate(text)
    except FileNotFoundError:
        return Certified(standing=Standing.MISSING, reason="it has no certificate; run `draftproof evidence certify`")
    except (Refused, UnicodeDecodeError) as broken:
        return Certified(standing=Standing.REJECTED, reason=f"its certificate cannot be read: {broken}")
    if digest != digest_of(statement):
        reason = "its certificate is for another statement; run `draftproof evidence certify`"
        return Certified(standing=Standing.MISSING, reason=reason)
    try:
        cost = check(statement, steps)
    except Refused as why:
        return Certified(standing=Standing.REJECTED, reason=f"the kernel rejects its certificate: {why}")
    return Certified(standing=Standing.CHECKED, cost=cost, seconds=time.perf_counter() - started)


def digest_of(statement: str) -> str:
    """SHA-256 of a statement."""
    return hashlib.sha256(statement.encode()).hexdigest()


def text_of(statement: str, steps: Sequence[Any]) -> str:
    """The text of a certificate file: one step in a line, so that changes can be read."""
    lines = ",\n".join(json.dumps(step, separators=(",", ":")) for step in steps)
    head = json.dumps({"schema": SCHEMA, "statement": digest_of(statement)}, separators=(",", ":"))
    return f'{head[:-1]},"steps":[\n{lines}\n]}}\n'


def strangers(names: Iterable[str], folder: Path = FOLDER) -> list[Path]:
    """The files that are kept for no theorem of these."""
    wanted = {path_of(name, folder) for name in names}
    return [path for path in sorted(folder.rglob("*.json")) if path not in wanted]
