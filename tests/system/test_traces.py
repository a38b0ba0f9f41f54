"""The shortest runs to a harm: found, confirmed by the twin, and not beaten by brute force."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

import spec.system
import spec.system_graphs
from proofs.judge import Verdict
from proofs.replay import run
from proofs.traces.faults import FIELD, SYSTEM_FAULTS, SystemFault
from proofs.traces.judgement import judge_system_fault
from proofs.traces.replay import confirms, replay
from proofs.traces.search import shortest, shortest_to
from proofs.traces.settings import Carry, Graphs
from proofs.traces.trace import Impossible, Step, Trace
from spec.rules import RULES
from spec.system_laws import SAFETY

LENGTHS = {
    "a-shared-template-decides": 5,
    "an-unknown-session-is-a-wildcard": 5,
    "a-key-is-compared-without-its-token": 6,
    "claimed-rows-are-read-before-they-are-written": 3,
    "a-block-is-freed-under-a-write": 3,
    "rejected-drafts-are-deposited": 6,
    "the-key-tells-the-shape-only": 2,
    "a-captured-pointer-is-the-sequences": 2,
    "the-key-forgets-the-mode": 2,
    "an-adopter-writes-into-the-entry-it-shares": 7,
    "the-store-is-labelled-like-the-ring": 4,
    "a-ticket-is-shared-with-another-stamp": 3,
    "no-session-check": 5,
    "no-owner-check": 5,
    "no-take-on-adopt": 5,
    "no-free-on-refuse": 5,
    "A1": 5,
    "A2": 5,
    "A3": 5,
    "the-older-stamp": 6,
}
"""How many steps the harm takes, worked out by hand from DESIGN 1a and 1b."""


def test_the_twelve_kinds_from_the_field_are_there() -> None:
    assert len(FIELD) == 12
    assert set(LENGTHS) == set(SYSTEM_FAULTS)


@pytest.mark.slow
@pytest.mark.parametrize("fault", SYSTEM_FAULTS.values(), ids=SYSTEM_FAULTS)
def test_a_fault_has_a_shortest_run_to_its_harm_that_the_machine_confirms(fault: SystemFault) -> None:
    judged = judge_system_fault(fault, run)

    assert judged.verdict is Verdict.REFUTED, judged.reason
    assert judged.trace is not None
    assert judged.replay is not None
    assert len(judged.trace.steps) == LENGTHS[fault.name]
    assert (judged.replay.parts_at is None) == fault.in_the_world


@pytest.mark.slow
@pytest.mark.parametrize("fault", [f for f in SYSTEM_FAULTS.values() if not f.of_graphs], ids=lambda fault: fault.name)
def test_a_third_sequence_or_more_room_makes_no_run_shorter(fault: SystemFault) -> None:
    room = {"sequences": 3, "rows": 3, "positions": 3, "tokens": 4, "blocks": 2}
    roomy = Carry(model=fault.model(), **{**fault.scope, **room})

    assert shortest(roomy, fault.rules(), fault.law(), limit=LENGTHS[fault.name] - 1).trace is None


def added(value: Any) -> int:
    if isinstance(value, dict):
        return sum(added(part) for name, part in value.items() if name != "id")
    return sum(map(added, value)) if isinstance(value, list) else value


@pytest.mark.slow
def test_a_narrower_scope_has_the_smallest_run_of_the_whole_one() -> None:
    fault = SYSTEM_FAULTS["an-adopter-writes-into-the-entry-it-shares"]
    assert fault.scope
    sums = []
    for setting in (fault.setting(), Carry(model=fault.model())):
        trace = shortest(setting, fault.rules(), fault.law(), limit=LENGTHS[fault.name]).trace
        assert trace is not None
        chosen = {name: [step.choices.get(name, 0) for step in trace.steps] for name in ("actor", "start", "count")}
        drawn = [len(step.choices.get(name, ())) for step in trace.steps for name in ("draws", "writes")]
        sums.append((len(trace.steps), added(trace.given["sequences"]) + added(chosen) + sum(drawn)))

    assert sums[0] == sums[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "action"),
    [
        *((Carry(model=spec.system), action) for action in spec.system.ACTIONS),
        *((Graphs(model=spec.system_graphs), action) for action in spec.system_graphs.ACTIONS),
    ],
    ids=[*spec.system.ACTIONS, *spec.system_graphs.ACTIONS],
)
def test_every_action_can_be_reached(setting: Carry | Graphs, action: str) -> None:
    found = shortest_to(setting, RULES, action)

    assert found.trace is not None
    assert found.trace.actions[-1] == action
    assert confirms(found.trace, run, of_graphs=isinstance(setting, Graphs)).confirmed


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["no-foreign-rows", "every-block-has-one-owner"])
def test_without_a_fault_no_short_run_comes_to_harm(goal: str) -> None:
    assert shortest(Carry(model=spec.system), RULES, SAFETY[goal], limit=5).trace is None


# ---- brute force


def casts(tokens: int, blocks: int) -> Iterator[dict[str, Any]]:
    """Data for two sequences: all prompts, sessions and hashes, and streams that part at every place."""
    for lengths in product(range(tokens + 1), repeat=2):
        for session, hashes, apart in product((1, 2), product((0, 1), repeat=2), range(tokens + 2)):
            if session == 2 and hashes[0] == hashes[1] != 0:
                continue
            streams = ([0] * (tokens + 1), [0] * apart + [1] * (tokens + 1 - apart))
            sequences = [
                {
                    "id": s,
                    "session": (1, session)[s - 1],
                    "session_hash": hashes[(1, session)[s - 1] - 1],
                    "prompt_len": lengths[s - 1],
                    "tokens": streams[s - 1],
                    "hidden": [0] * (tokens + 1),
                }
                for s in (1, 2)
            ]
            cfg = {"prefill": True, "carry": True}
            yield {"sequences": sequences, "capacity": 2, "blocks": blocks, "cfg": cfg, "multi_seq": False}


def moves() -> Iterator[tuple[str, dict[str, Any]]]:
    sets = [{"draws": d, "writes": w} for d in ([], [0]) for w in ([], [0])]
    yield from (("draw-ticket", {}), ("land", {}))
    for actor in (1, 2):
        for action in ("allocate", "adopt-only", "refuse", "deposit", "abort"):
            yield action, {"actor": actor}
        for action in ("cold-build", "adopt-append", "decode", "draft"):
            yield from ((action, {"actor": actor, **chosen}) for chosen in sets)
        for start, count in product(range(3), range(4)):
            yield "write-chunk", {"actor": actor, "start": start, "count": count}


MOVES = list(moves())


def harm_within(fault: SystemFault, given: Mapping[str, Any], steps: int) -> bool:
    """Some run of at most so many steps comes to the fault's harm."""
    start = fault.machine().Machine(given=given, run=run)
    reached, frontier = {repr(start.snapshot())}, [start]
    for _ in range(steps):
        following = []
        for before in frontier:
            for action, choices in MOVES:
                after = copy.deepcopy(before)
                try:
                    after.step(action, choices)
                except Impossible:
                    continue
                if any(name == fault.harm for name, _ in after.harms()):
                    return True
                state = repr((after.snapshot(), after.written_last))
                if state not in reached and all(h.extent <= 2 and h.length <= 4 for h in after.holders.values()):
                    reached.add(state)
                    following.append(after)
        frontier = following
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "claimed-rows-are-read-before-they-are-written",
        "a-block-is-freed-under-a-write",
        "the-store-is-labelled-like-the-ring",
        "a-ticket-is-shared-with-another-stamp",
    ],
)
def test_brute_force_finds_no_shorter_run(name: str) -> None:
    fault, length = SYSTEM_FAULTS[name], LENGTHS[name]
    # These harms need one sequence and no entry: sessions, hashes and tokens play no part.
    alike = {tuple(s["prompt_len"] for s in cast["sequences"]): cast for cast in casts(4, 1)}

    assert harm_within(fault, alike[2, 2], length)
    assert not any(harm_within(fault, cast, length - 1) for cast in alike.values())


# ---- replays that must not be confirmed


@pytest.fixture(scope="module")
def trace() -> Trace:
    fault = SYSTEM_FAULTS["a-block-is-freed-under-a-write"]
    found = shortest(fault.setting(), fault.rules(), fault.law()).trace
    assert found is not None
    return found


def test_a_trace_without_its_last_step_shows_no_harm(trace: Trace) -> None:
    fault = SYSTEM_FAULTS["a-block-is-freed-under-a-write"]
    cut = Trace(given=trace.given, steps=trace.steps[:-1], harm=trace.harm, place=trace.place)

    assert replay(trace, fault, run).confirmed
    assert "no no-write-reaches-another-owner" in replay(cut, fault, run).reason


def test_a_trace_with_a_changed_state_is_not_confirmed(trace: Trace) -> None:
    fault = SYSTEM_FAULTS["a-block-is-freed-under-a-write"]
    first = trace.steps[0]
    changed = Step(action=first.action, choices=first.choices, calls=(), after={**first.after, "ticket": 9})
    wrong = Trace(given=trace.given, steps=(changed, *trace.steps[1:]), harm=trace.harm, place=trace.place)

    assert replay(wrong, fault, run).reason == "after step 1, allocate: ticket is 2 on the machine, 9 in the model"


def test_a_trace_that_the_machine_cannot_take_is_not_confirmed(trace: Trace) -> None:
    fault = SYSTEM_FAULTS["a-block-is-freed-under-a-write"]
    wrong = Trace(given=trace.given, steps=trace.steps[1:], harm=trace.harm, place=trace.place)

    assert "is not possible: the actor runs" in replay(wrong, fault, run).reason
