"""The project's own code, proved the same way: every function of the reference and every kernel has a verdict or a reason.

`exclusions.json` is the reviewed list of what is outside: by file, functions with the reason and what they stand on instead. A
function that has neither a proof nor an entry is undecided; an entry for one that is not there, or that is proved, is refuted.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import z3

from proofs.checker import Sources
from proofs.source.files import judged, load, subjects, unspecified
from proofs.source.verdicts import Verdict
from spec.machine import Profile

ROOT = Path(__file__).resolve().parents[2]
BOUND = 3
"""Members of a row, where a kernel shares it among the lanes of a warp: all the orders that three members can have."""

OUTSIDE = "outside"
"""The verdict of a function that the exclusion list names."""

EXCLUSIONS = Path(__file__).with_name("exclusions.json")


def files(root: Path = ROOT) -> list[Path]:
    """The files that are proved: the reference, and the kernels of the batched implementation."""
    reference = [p for p in sorted((root / "impl" / "reference").glob("*.py")) if p.name != "__init__.py"]
    return reference + sorted((root / "impl" / "batched" / "kernels").glob("*.cu"))


def exclusions() -> dict[str, dict[str, str]]:
    """The reviewed list."""
    found: dict[str, dict[str, str]] = json.loads(EXCLUSIONS.read_text(encoding="utf-8"))
    return found


def listed(root: Path = ROOT) -> tuple[str, ...]:
    """The paths from the root of the files that are proved, and of those that the exclusion list names."""
    return tuple(dict.fromkeys([path.relative_to(root).as_posix() for path in files(root)] + sorted(exclusions())))


def entries(file: str, root: Path = ROOT) -> list[Mapping[str, Any]]:
    """The entries of one file for a report: of each function a verdict or why it is outside, and what is wrong with the list."""
    if (root / file) not in files(root):
        return [_entry(file, Verdict.REFUTED, "the exclusion list names a file that is not there")]
    return list(_entries(root / file, file, exclusions().get(file)))


def digest(root: Path = ROOT) -> str:
    """Of the sources, the spec, the prover and the solver: what a verdict is a function of."""
    whole = hashlib.sha256(f"{z3.get_full_version()} {sys.version}".encode())
    for folder in ("impl", "spec", "proofs"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".py", ".cu", ".cuh", ".json") and path.is_file():
                whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


SOURCES = Sources(files=listed(), prove=entries, digest=digest)


def _entries(path: Path, shown: str, reasons: Mapping[str, str] | None) -> Iterator[Mapping[str, Any]]:
    if reasons is None:
        yield _entry(shown, Verdict.UNDECIDED, "the exclusion list does not know this file")
        reasons = {}
    language, source = load(path)
    found = subjects(language, source, {})[0]
    names = [subject.rule.name for subject in found]
    for row in judged(language, source, {}, tuple(Profile), BOUND, None):
        name, told = f"{shown}::{row.name}", {"scope": row.scope, "profile": row.profile, "line": row.line}
        if row.spec in reasons and row.verdict is Verdict.PROVED:
            yield _entry(name, Verdict.REFUTED, "in the exclusion list, but proved")
        elif row.spec in reasons and row.verdict is Verdict.UNDECIDED:
            yield {**_entry(name, OUTSIDE, reasons[row.spec]), "line": row.line}
        else:
            reason = row.reason if row.counterexample is None else f"differs for {json.dumps(row.counterexample)}"
            yield {**_entry(name, row.verdict, reason), **told}
    kernels = {f.name for f in source.functions if f.kernel}
    others = [name for name in unspecified(source, found) if language.name != "cuda" or name in kernels]
    for name in others:
        if name in reasons:
            yield _entry(f"{shown}::{name}", OUTSIDE, reasons[name])
        else:
            yield _entry(f"{shown}::{name}", Verdict.UNDECIDED, "neither proved nor in the exclusion list")
    for name in reasons:
        if name not in others and name not in names:
            yield _entry(f"{shown}::{name}", Verdict.REFUTED, "in the exclusion list, but not in the file")


def _entry(name: str, verdict: Verdict | str, reason: str | None) -> Mapping[str, Any]:
    told: dict[str, Any] = {"name": name, "verdict": verdict.value if isinstance(verdict, Verdict) else verdict}
    return told if reason is None else {**told, "reason": reason}
