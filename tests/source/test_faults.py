"""Faults are found: none is proved equal, those that change what a function gives are refuted with an input that shows it.

Whether a fault changes anything is asked of many calls of the reference, not of the prover.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tree_sitter_cuda
import tree_sitter_rust
from tree_sitter import Language

from proofs.conform.draws import draw
from proofs.replay import run
from proofs.source.bridge import Mismatch
from proofs.source.compare import Subject, compared, evaluate
from proofs.source.files import LANGUAGES, subjects
from proofs.source.paths import NotUnderstood
from proofs.source.values import Unmergeable
from proofs.source.verdicts import Row, Verdict
from spec.machine import Profile
from spec.rules import RULES
from spec.sorts import PANIC
from tests.source.faults import Fault, faults, python_faults

TEXTS = sorted((Path(__file__).parent / "texts").iterdir())
GRAMMARS = {".rs": tree_sitter_rust, ".cu": tree_sitter_cuda}
CALLS = 60


@cache
def _calls(name: str) -> list[tuple[dict[str, Any], Any]]:
    made = [draw(RULES[name], Random(f"{name} {i}")) for i in range(CALLS)]
    return [(args, run(name, args)) for args in made]


def _differs(subject: Subject, profile: Profile) -> bool | None:
    """Does some call give another result than the reference? None where the evaluator does not understand the code."""
    for args, expected in _calls(subject.rule.name):
        if profile is Profile.RELEASE and expected == PANIC and subject.rule.overflows:
            continue
        try:
            if evaluate(subject, args, profile) != expected:
                return True
        except (NotUnderstood, Mismatch, Unmergeable):
            return None
    return False


def _all(path: Path) -> list[Fault]:
    text = path.read_bytes()
    if path.suffix == ".py":
        return list(python_faults(text))
    language = LANGUAGES[path.suffix]
    names = frozenset(f.name for f in language.parse(str(path), text).functions)
    return list(faults(Language(GRAMMARS[path.suffix].language()), text, names))


def _judged(path: Path, fault: Fault) -> Iterator[tuple[Subject, Row]]:
    """Rows of the functions that the fault can change: the one that it is in, or all where it is in a helper."""
    language = LANGUAGES[path.suffix]
    source = language.parse(str(path), fault.text)
    found, _ = subjects(language, source, {})
    before = [f for f in source.functions if f.line <= fault.line]
    inside = max(before, key=lambda f: f.line) if before else None
    hit = [s for s in found if s.function is inside] if path.suffix != ".py" else []
    for subject in hit or found:
        yield subject, compared(subject, language.profiles)


def _check(chosen: list[tuple[Path, Fault]]) -> Counter[str]:
    count: Counter[str] = Counter()
    for path, fault in chosen:
        for subject, row in _judged(path, fault):
            profiles = subject.language.shapes(subject.source).profiles(subject.function, subject.language.profiles)
            differs = _differs(subject, profiles[0])
            told = f"{path.name}:{fault.line} {fault.what}: {row}"
            assert not (row.verdict is Verdict.PROVED and differs), told
            if row.verdict is Verdict.REFUTED:
                assert row.counterexample is not None and row.counterexample["source"] != row.counterexample["spec"], told
            count[row.verdict.value] += 1
            if differs:
                count["changed"] += 1
                count["changed and refuted"] += row.verdict is Verdict.REFUTED
            if row.verdict is Verdict.UNDECIDED:
                assert row.reason, told
    return count


def _some(every: int) -> list[tuple[Path, Fault]]:
    return [(path, fault) for path in TEXTS for fault in _all(path)[::every]]


def test_there_are_more_than_five_hundred_faults() -> None:
    assert len(_some(1)) >= 500


@pytest.mark.slow
def test_no_fault_is_proved_and_those_that_change_results_are_refuted() -> None:
    count = _check(_some(40))
    assert count["changed"] >= 10
    assert count["changed and refuted"] >= 0.97 * count["changed"], count
