"""The system's shortest runs on the real engine: the file is what the models give, and replays tell right from wrong."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import spec.system
from proofs.gpu.engine_carry import _right, _wrong
from proofs.gpu.engine_carry_faults import BY_NAME, NONE, Fault
from proofs.gpu.engine_carry_traces import CarryTrace, carry_traces, main, replayed, searched
from proofs.traces.faults import SYSTEM_FAULTS

TRACES = {trace.name: trace for trace in carry_traces()}
HARMFUL = {name: trace for name, trace in TRACES.items() if trace.harm}

QUICK = ("reaches write-chunk", "a-block-is-freed-under-a-write", "a-ticket-is-shared-with-another-stamp")


def test_every_fault_of_the_carry_and_every_action_has_a_trace() -> None:
    assert set(HARMFUL) == {name for name, fault in SYSTEM_FAULTS.items() if not fault.of_graphs}
    assert set(TRACES) - set(HARMFUL) == {f"reaches {action}" for action in spec.system.ACTIONS}


def test_the_faults_tell_what_those_of_the_models_tell() -> None:
    for name in HARMFUL:
        assert BY_NAME[name].tells == SYSTEM_FAULTS[name].tells
        assert BY_NAME[name].world == SYSTEM_FAULTS[name].in_the_world


def test_some_traces_are_what_the_models_give_now() -> None:
    assert [CarryTrace(**{**json.loads(json.dumps(e)), "steps": tuple(e["steps"])}) for e in searched(QUICK)] == [
        dataclasses.replace(TRACES[name], steps=TRACES[name].steps) for name in QUICK
    ]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_file_is_up_to_date() -> None:
    assert main([]) == 0


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
def test_the_right_engine_comes_to_no_harm(trace: CarryTrace) -> None:
    found = _right(trace, np)

    assert found.ok, (found.case, found.note)


@pytest.mark.parametrize("trace", HARMFUL.values(), ids=HARMFUL)
def test_with_the_fault_the_run_is_the_models_and_its_harm_is_on_memory(trace: CarryTrace) -> None:
    found = _wrong(trace, np)

    assert found.ok, (found.case, found.note)


READ_ANOTHERS = ("no-owner-check", "A2", "the-older-stamp")


@pytest.mark.parametrize("name", READ_ANOTHERS)
def test_anothers_hidden_rows_make_other_bits_where_tokens_differ(name: str) -> None:
    trace = TRACES[name]

    assert replayed(trace, trace.fault, np, coloured=True).unequal > 0
    assert replayed(trace, NONE, np, coloured=True).unequal == 0


def changed(trace: CarryTrace, step: int, **parts: Any) -> CarryTrace:
    steps = copy.deepcopy(list(trace.steps))
    steps[step] = {**steps[step], **parts}
    return dataclasses.replace(trace, steps=tuple(steps))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("ticket",), 9, "ticket is 3 on the engine, 9 in the model"),
        (("store", 0, 0), 2, "store 0 0 is 1 on the engine, 2 in the model"),
        (("holders", "2", "drafter", 0, "hidden_from"), 2, "holders 2 drafter 0 hidden_from is 1 on the engine, 2 in the model"),
        (("holders",), {}, "holders is 1 and 2 on the engine, nothing in the model"),
    ],
)
def test_a_state_that_differs_is_named(path: tuple[Any, ...], value: Any, told: str) -> None:
    trace = TRACES["no-owner-check"]
    after = copy.deepcopy(trace.steps[-1]["after"])
    place = after
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    found = replayed(changed(trace, -1, after=after), trace.fault, np)

    assert found.taken == len(trace.steps) - 1
    assert told in found.differs


def test_a_run_without_its_last_step_shows_no_harm() -> None:
    for trace in HARMFUL.values():
        cut = dataclasses.replace(trace, steps=trace.steps[:-1])
        assert trace.harm not in replayed(cut, trace.fault, np).harms, trace.name


def test_a_line_that_is_not_in_the_engine_is_refused() -> None:
    fault = Fault(name="none", tells="", harms=(), line=("there is no such line", ""))
    with pytest.raises(ValueError, match="occurs 0 times"):
        fault.module()
