"""The batched implementation as a target of `draftproof conform`: all functions, by hand, by the models, and in bulk."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("z3", reason="the models are formulas")

from proofs.cli import draftproof, run
from proofs.conform.draws import draw
from proofs.conform.model import admits
from proofs.conform.targets import TARGETS, Asked, NoTarget, engine
from proofs.conform.vector import Vector, identical, parse
from proofs.exits import Exit
from proofs.gpu import conformance
from proofs.gpu.conformance import answers
from proofs.replay import run as reference
from spec.machine import Profile
from spec.rules import RULES
from spec.sorts import PANIC
from tests.batched.backends import DEVICES, needs_device, needs_host_kernels
from tests.conform.lines import RIGHT, line

FUNCTIONS = [rule.name for rule in RULES]
PLACES = [
    "numpy",
    pytest.param("kernels", marks=needs_host_kernels),
    pytest.param("cupy", marks=needs_device),
]


def drawn(fn: str, count: int, seed: int = 0) -> list[Vector]:
    random = Random(f"{seed}/{fn}")
    return [Vector(fn=fn, args=draw(RULES[fn], random), result=None) for _ in range(count)]


@pytest.mark.parametrize("place", PLACES)
def test_every_function_answers_a_line_worked_out_by_hand(place: str, tmp_path: Path) -> None:
    path = tmp_path / "right.jsonl"
    path.write_text("".join(f"{line(fn)}\n" for fn in RIGHT))

    assert run(draftproof, ["conform", "--target", place, str(path)]) is Exit.OK
    assert set(RIGHT) == set(FUNCTIONS)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_a_wrong_result_in_a_vector_is_noticed(place: str, fn: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    flat = json.loads(json.dumps(RIGHT[fn][1]))
    if type(flat) is bool:
        flat = not flat
    elif type(flat) is int:
        flat += 1
    elif isinstance(flat, dict):
        first = next(iter(flat))
        flat[first] += 1
    else:
        inner = flat if type(flat[0]) is int else flat[0]
        inner[0] += 1
    path.write_text(line(fn, result=flat) + "\n")

    assert run(draftproof, ["conform", "--target", place, str(path)]) is Exit.WRONG


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_the_model_admits_what_drawn_calls_are_answered(place: str, fn: str) -> None:
    answered = list(engine(place, Asked())(drawn(fn, 12)))

    assert len(answered) == 12
    for vector, got in answered:
        assert admits(fn, vector.args, got), (vector.args, got)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_the_reference_gives_what_many_drawn_calls_are_answered(place: str, fn: str) -> None:
    results: Counter[str] = Counter()
    for vector, got in engine(place, Asked())(drawn(fn, 300, seed=1)):
        assert identical(got, reference(fn, vector.args)), (vector.args, got)
        results["panic" if got == PANIC else "none" if got is None else "some"] += 1

    assert results["some"] > 0
    if RULES[fn].overflows or fn.startswith("verify_batch"):
        assert results["panic"] > 0


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_calls_of_all_functions_in_any_order_are_each_answered_once(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "BATCH", batch)
    calls = [vector for fn in FUNCTIONS for vector in drawn(fn, 3)]
    Random(7).shuffle(calls)

    answered = list(answers(iter(calls)))

    assert Counter(id(vector) for vector, _ in answered) == Counter(map(id, calls))
    assert all(identical(got, reference(vector.fn, vector.args)) for vector, got in answered)


def test_a_batch_is_answered_as_soon_as_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "BATCH", 2)
    asked: list[Any] = []

    def calls() -> Any:
        for vector in drawn("visible_to", 5):
            asked.append(vector)
            yield vector

    found = answers(calls())
    next(found)

    assert len(asked) == 2


def test_methods_need_no_more_of_the_entry_than_they_read() -> None:
    vector = parse(b'{"fn": "common_prefix_len", "args": {"self": {"tokens": [1, 2]}, "prompt": [1]}, "result": 1}')

    assert [got for _, got in answers([vector])] == [1]


@pytest.mark.parametrize("place", ["numpy", "kernels", "cupy"])
def test_a_batch_wraps_in_no_profile_and_takes_no_argument(place: str) -> None:
    assert place in TARGETS
    with pytest.raises(NoTarget, match="debug"):
        engine(place, Asked(profile=Profile.RELEASE))
    with pytest.raises(NoTarget, match="takes none"):
        engine(place, Asked(argument="x"))


@pytest.mark.skipif(DEVICES > 0, reason="there is a device")
def test_without_a_device_the_target_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "right.jsonl"
    path.write_text(line("visible_to") + "\n")

    assert run(draftproof, ["conform", "--target", "cupy", str(path)]) is Exit.USAGE
    assert "cannot run here: CuPy" in capsys.readouterr().out
