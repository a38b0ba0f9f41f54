"""No certificate passes for a statement that does not hold.

Hypotheses emptied or left out, the negated goal emptied, constants and operators changed, certificates swapped: whatever the
kernel accepts then, both solvers must find unsatisfiable too.
"""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path

import pytest

from proofs.evidence.certificates import Standing, certified, path_of
from proofs.smt import NEGATED_GOAL
from tests.evidence.faulty import accepts, shifted, statements, steps_of, turned, weakened
from tests.kernel.statements import unsatisfiable

MODULES = ("counting", "sorting", "store", "carry", "append", "order", "key", "gate", "system")


def test_every_theorem_has_a_certificate_that_the_kernel_accepts() -> None:
    found = {name: certified(name, text) for name, text in statements("*").items()}

    assert {name: each.reason for name, each in found.items() if each.standing is not Standing.CHECKED} == {}
    assert len(found) > 300


@pytest.mark.parametrize("module", ["counting", *[pytest.param(each, marks=pytest.mark.slow) for each in MODULES[1:]]])
def test_no_certificate_passes_for_a_faulty_statement(module: str) -> None:
    rejected = passed = 0
    for name, text in statements(f"{module}/*").items():
        steps = steps_of(name)
        for fault, changed in [*weakened(text), *shifted(text, 6), *turned(text, 8)]:
            if accepts(changed, steps):
                assert unsatisfiable(changed), f"{name}: {fault}, and the kernel accepts it"
                passed += 1
            else:
                rejected += 1

    # What a proof does not need can go; were all rejected, the kernel might be rejecting everything.
    assert rejected > passed > 0


@pytest.mark.parametrize("module", MODULES)
def test_a_goal_that_is_not_denied_is_not_proved(module: str) -> None:
    for name, text in islice(statements(f"{module}/*").items(), 40):
        for fault, changed in weakened(text):
            if fault == f"|{NEGATED_GOAL}| says nothing" and accepts(changed, steps_of(name)):
                assert unsatisfiable(changed), name


@pytest.mark.parametrize("module", ["counting", *[pytest.param(each, marks=pytest.mark.slow) for each in MODULES[1:]]])
def test_swapped_certificates_are_not_those_of_the_statement(module: str) -> None:
    for (one, text), (other, _) in pairwise(statements(f"{module}/*").items()):
        assert path_of(one).read_text() != path_of(other).read_text()
        if accepts(text, steps_of(other)):
            assert unsatisfiable(text)


def test_a_certificate_for_another_statement_counts_as_missing(tmp_path: Path) -> None:
    folder = tmp_path
    (one, text), (other, _), *_ = statements("key/*").items()
    path_of(one, folder).parent.mkdir(parents=True)
    path_of(one, folder).write_text(path_of(other).read_text())

    found = certified(one, text, folder)

    assert found.standing is Standing.MISSING and "another statement" in found.reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"steps":[', '"steps":['[:-1] + "{"),
        ("draftproof.certificate/1", "draftproof.certificate/2"),
        ("\n]}", "\n,]}"),
        ("[[", "["),
    ],
)
def test_a_certificate_that_was_tampered_with_is_rejected(old: str, new: str, tmp_path: Path) -> None:
    folder = tmp_path
    name, text = next(each for each in statements("key/*").items() if "[[" in path_of(each[0]).read_text())
    path_of(name, folder).parent.mkdir(parents=True)
    whole = path_of(name).read_text()
    assert old in whole
    path_of(name, folder).write_text(whole.replace(old, new, 1))

    assert certified(name, text, folder).standing is Standing.REJECTED


def test_a_certificate_with_a_step_missing_is_rejected(tmp_path: Path) -> None:
    folder = tmp_path
    name, text = "key/canonical-batches-alike-share-a-key", statements("key/*")["key/canonical-batches-alike-share-a-key"]
    lines = path_of(name).read_text().splitlines(keepends=True)
    path_of(name, folder).parent.mkdir(parents=True)
    path_of(name, folder).write_text("".join([*lines[:20], *lines[21:]]))

    assert certified(name, text, folder).standing is Standing.REJECTED
