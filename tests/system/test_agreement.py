"""The model of the system and its twin in plain Python, told apart by nothing in random runs."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

import spec.system
import spec.system_graphs
from proofs.replay import run
from proofs.traces import graphs, machine
from proofs.traces.search import follow
from proofs.traces.settings import Carry, Graphs
from proofs.traces.trace import Impossible, Step
from spec.rules import RULES

CARRY = Carry(model=spec.system, sequences=2, rows=3, positions=3, tokens=4, blocks=2)
GRAPHS = Graphs(model=spec.system_graphs, batches=3, width=2, slots=2)


def carry_given(rng: random.Random) -> dict[str, Any]:
    shared = [rng.randint(0, 1) for _ in range(5)]
    apart = rng.randint(0, 5)
    streams = [shared, shared[:apart] + [1 - t for t in shared[apart:]]]
    sessions = [1, rng.randint(1, 2)]
    hashes = {1: rng.randint(0, 2), 2: rng.randint(0, 2)}
    while hashes[1] == hashes[2] != 0:
        hashes[2] = rng.randint(0, 2)
    sequences = [
        {
            "id": s,
            "session": sessions[s - 1],
            "session_hash": hashes[sessions[s - 1]],
            "prompt_len": rng.randint(1, 3),
            "tokens": streams[s - 1],
            "hidden": [0] * 5,
        }
        for s in (1, 2)
    ]
    cfg = {"prefill": True, "carry": rng.random() < 0.9}
    return {"sequences": sequences, "capacity": 3, "blocks": 2, "cfg": cfg, "multi_seq": rng.random() < 0.1}


def carry_actions(rng: random.Random) -> tuple[str, dict[str, Any]]:
    blocks = {"draws": [b for b in range(2) if rng.random() < 0.5], "writes": [b for b in range(2) if rng.random() < 0.3]}
    actor = {"actor": rng.randint(1, 2)}
    choices: dict[str, dict[str, Any]] = {
        "allocate": actor,
        "draw-ticket": {},
        "write-chunk": {**actor, "start": rng.choice([0, 0, 1, 2]), "count": rng.randint(0, 4)},
        "land": {},
        "cold-build": {**actor, **blocks},
        "adopt-append": {**actor, **blocks},
        "adopt-only": actor,
        "refuse": actor,
        "decode": {**actor, **blocks},
        "draft": {**actor, **blocks},
        "deposit": actor,
        "abort": actor,
    }
    action = rng.choice(list(choices))
    return action, choices[action]


def in_scope(twin: machine.Machine) -> bool:
    """The model's scope: sequences in the order of their identities, so many rows and tokens."""
    small = all(h.extent <= 3 and h.length <= 4 for h in twin.holders.values())
    return small and (2 not in twin.drafter or 1 in twin.drafter)


def carry_run(seed: int, length: int) -> tuple[dict[str, Any], list[Step], Step]:
    """A random run of the twin, and an action that is impossible after it."""
    rng = random.Random(seed)
    given = carry_given(rng)
    twin = machine.Machine(given=given, run=run)
    steps: list[Step] = []
    while True:
        action, choices = carry_actions(rng)
        tried = copy.deepcopy(twin)
        try:
            tried.step(action, choices)
        except Impossible:
            if len(steps) == length:
                return given, steps, Step(action=action, choices=choices, calls=(), after={})
            continue
        if len(steps) < length and in_scope(tried):
            twin = tried
            steps.append(Step(action=action, choices=choices, calls=(), after=twin.snapshot()))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_model_takes_the_steps_of_the_machine_to_the_same_states(seed: int) -> None:
    given, steps, _ = carry_run(seed, 9)

    told = follow(CARRY, RULES, given, steps)

    assert told is not None
    assert [step.after for step in told.steps] == [step.after for step in steps]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_model_allows_no_action_that_the_machine_refuses(seed: int) -> None:
    given, steps, refused = carry_run(seed, 5)

    assert follow(CARRY, RULES, given, [*steps, refused]) is None


def steps_of(*actions: tuple[str, dict[str, Any]]) -> list[Step]:
    return [Step(action=action, choices=choices, calls=(), after={}) for action, choices in actions]


ONE, TWO = {"actor": 1}, {"actor": 2}
NO_BLOCKS: dict[str, Any] = {"draws": [], "writes": []}
ROWS_ALREADY = steps_of(
    ("allocate", ONE),
    ("write-chunk", {**ONE, "start": 0, "count": 2}),
    ("land", {}),
    ("cold-build", {**ONE, **NO_BLOCKS}),
    ("allocate", TWO),
    ("decode", {**TWO, **NO_BLOCKS}),
    ("deposit", TWO),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "possible"),
    [
        (
            steps_of(
                ("allocate", ONE),
                ("write-chunk", {**ONE, "start": 0, "count": 1}),
                ("write-chunk", {**ONE, "start": 1, "count": 2}),
                ("write-chunk", {**ONE, "start": 2, "count": 1}),
            ),
            True,
        ),
        (steps_of(("allocate", ONE), ("write-chunk", {**ONE, "start": 1, "count": 4})), False),
        ([*ROWS_ALREADY, *steps_of(("refuse", ONE))], True),
        ([*ROWS_ALREADY, *steps_of(("adopt-only", ONE))], False),
        ([*ROWS_ALREADY, *steps_of(("adopt-append", {**ONE, **NO_BLOCKS}))], False),
        ([*ROWS_ALREADY, *steps_of(("decode", {**ONE, **NO_BLOCKS}), ("refuse", ONE))], False),
    ],
    ids=["abutting chunks", "beyond its tokens", "rows already", "no second rows", "no append to rows", "too late"],
)
def test_runs_that_chance_rarely_takes_agree_too(steps: list[Step], possible: bool) -> None:
    given = carry_given(random.Random(0))
    about = {"session": 1, "session_hash": 1, "tokens": [0] * 5, "hidden": [0] * 5}
    given |= {"sequences": [{**about, "id": s, "prompt_len": 4 - s} for s in (1, 2)], "multi_seq": False}
    given["cfg"] = {"prefill": True, "carry": True}
    twin = machine.Machine(given=given, run=run)
    taken = []
    try:
        for step in steps:
            twin.step(step.action, step.choices)
            taken.append(twin.snapshot())
    except Impossible:
        pass

    told = follow(CARRY, RULES, given, steps)

    assert (len(taken) == len(steps)) == possible
    assert (told is not None) == possible
    assert told is None or [step.after for step in told.steps] == taken


def graph_runs(seed: int) -> Iterator[tuple[str, dict[str, int]]]:
    rng = random.Random(seed)
    while True:
        yield rng.choice(
            [
                ("capture", {"actor": rng.randint(1, 3)}),
                ("replay", {"actor": rng.randint(1, 3), "earlier": rng.randint(1, 3)}),
                ("evict", {"actor": rng.randint(1, 3)}),
            ]
        )


@pytest.mark.parametrize("seed", range(6))
def test_model_and_machine_of_the_graph_cache_agree(seed: int) -> None:
    rng = random.Random(seed)
    batches = []
    for n in (1, 2, 3):
        width = rng.randint(1, 2)
        slots = rng.sample(range(2), width)
        about = {"id": n, "members": rng.sample(range(3), width), "slots": slots}
        batches.append({**about, "depths": [rng.randint(1, 2) for _ in slots], "wy_tables_null": rng.random() < 0.5})
    twin = graphs.Machine(given={"batches": batches}, run=run)
    steps: list[Step] = []
    for action, choices in graph_runs(seed):
        tried = copy.deepcopy(twin)
        try:
            tried.step(action, choices)
        except Impossible:
            continue
        ran = sorted(tried.ran)
        if ran == list(range(1, len(ran) + 1)):
            twin = tried
            steps.append(Step(action=action, choices=choices, calls=(), after=twin.snapshot()))
        if len(steps) == 4 or len(ran) == 3:
            break

    told = follow(GRAPHS, RULES, {"batches": batches}, steps)

    assert told is not None
    assert [step.after for step in told.steps] == [step.after for step in steps]
