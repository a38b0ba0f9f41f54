"""What was tested beside the proofs, as a bundle tells it: outcomes of tests, and the digests of the test vectors.

Both without times and machine. `make test` leaves JUnit files that name the digest of the sources they ran on; results of
other sources are not told. Vectors are a function of the sources, so whoever writes them anew can compare the digests.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import junitparser

from proofs.evidence.verifying import canonical, hexdigest
from proofs.report import replace_file, source_digests

ROOT = Path(__file__).resolve().parents[2]
PROPERTY = "sources"
"""The property of a JUnit suite that holds the digest of the sources."""
ASKED = "asked"
"""The property that holds what the run was asked for: folders and selections."""


def digests_of_tests(root: Path = ROOT) -> dict[str, str]:
    """SHA-256 of every file of the tests, by its path from the checkout; none where there are no tests."""
    paths = (path for path in sorted((root / "tests").rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def state(sources: Mapping[str, str], tests: Mapping[str, str]) -> str:
    """One digest of sources and tests."""
    return hexdigest(canonical({**sources, **tests}))


def state_here() -> str:
    """The digest of the sources and tests at hand, as a run of tests notes it."""
    return state(source_digests(), digests_of_tests())


def results(sources: Mapping[str, str], folder: Path, root: Path = ROOT) -> dict[str, Any]:
    """The outcomes of the last run of the tests on these sources; or why there are none."""
    tests = digests_of_tests(root)
    wanted = state(sources, tests)
    outcomes: dict[str, str] = {}
    runs: list[str] = []
    for path in sorted(folder.glob("*.xml")):
        for suite in junitparser.JUnitXml.fromfile(str(path)):
            told = {each.name: each.value for each in suite.properties()}  # type: ignore[no-untyped-call]
            if told.get(PROPERTY) != wanted:
                return {"absent": "the last tests ran on other sources; run `make test` and build again"}
            runs.append(told.get(ASKED, ""))
            for case in suite:
                name = f"{case.classname}::{case.name}"
                outcomes[name] = max(_outcome(case), outcomes.get(name, ""), key=_ORDER.index)
    if not outcomes:
        return {"absent": "no tests were run; run `make test` and build again"}
    return {"sources": wanted, "tests": tests, "runs": sorted(runs), "outcomes": outcomes}


_ORDER = ("", "skipped", "passed", "failed")


def _outcome(case: junitparser.TestCase) -> str:
    kinds = {type(result) for result in case.result}
    if kinds & {junitparser.Failure, junitparser.Error}:
        return "failed"
    return "skipped" if junitparser.Skipped in kinds else "passed"


SEED, COUNT = 0, 100
"""As `draftproof vectors` writes them when nothing else is said."""


def vectors(sources: Mapping[str, str], kept: Path, *, jobs: int, noticed: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """The digests of the vector files, made anew (some 40 seconds of a core) or kept in a file from the same sources."""
    state_of_sources = state(sources, {})
    try:
        before = json.loads(kept.read_text(encoding="utf-8"))
        if before["sources"] == state_of_sources:
            return dict(before)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # nothing kept, or not by us
    made = {"sources": state_of_sources, **vectors_anew(jobs=jobs, noticed=noticed)}
    replace_file(kept, canonical(made).decode())
    return made


def vectors_anew(*, jobs: int, noticed: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """The digests of the files that `draftproof vectors` writes. RuntimeError where it would write none."""
    from proofs.checker import Answered, Settings, in_workers
    from spec.rules import RULES

    names = [rule.name for rule in RULES][::-1]  # the last rules take longest, so they go first
    settings = dataclasses.replace(Settings(jobs=jobs), backstop=600.0)
    outcomes = in_workers(_digest, names, settings, warm=_ready, warmth=(), noticed=noticed)
    found = {}
    for name, outcome in zip(names, outcomes, strict=True):
        if not isinstance(outcome, Answered):
            raise RuntimeError(f"vectors of {name}: {outcome.reason}")
        found[f"{name}.jsonl"] = outcome.value
    return {"seed": SEED, "count": COUNT, "files": found}


def _ready() -> None:
    """Nothing needs to be built before the first rule."""


def _digest(name: str) -> str:
    from proofs.conform.vectors import vectors_of

    written = vectors_of(name, SEED, COUNT)
    if written.undecided:
        raise RuntimeError(f"undecided: {written.undecided[0]}")
    return hexdigest("".join(f"{line}\n" for line in written.lines).encode())
