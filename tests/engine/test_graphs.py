"""The graph cache on real memory: what it captures, what a capture bakes, and that every fault of it changes memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from impl.engine.graphs import ABSENT_SLOT, CAP, Batch, Gate, How, VerifyEngine
from impl.engine.verify_step import (
    DEEPEST,
    STATES,
    TAPS,
    WIDEST,
    Launch,
    Memory,
    Shape,
    launches,
    runner_on,
    runs_of,
)
from proofs.gpu import engine_graphs
from proofs.gpu.check import Bench, Row, distinct_keys, kept
from proofs.gpu.engine_graphs import ARMS, FAULTS, LAUNCHES, SMALL, Fault, measured, predicted_rate
from proofs.gpu.engine_oracles import Place, arrangements, drawn, run
from proofs.gpu.engine_traces import FILE, graph_traces
from proofs.gpu.machines import Host
from tests.batched.backends import DEVICES, needs_device, needs_host_kernels

# Of DESIGN 1b; the canonical count of width 7 is what all ways of counting give.
ARRANGED = {2: 2, 3: 3, 4: 10, 5: 15, 6: 50, 7: 77, 8: 266, 10: 1452, 12: 8074}
CANONICAL = {2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 2, 8: 3, 10: 3, 12: 4}


class Idle:
    """A runner that runs nothing: what is decided does not depend on what is computed."""

    def play(self, work: Sequence[Launch]) -> None: ...

    def capture(self, work: Sequence[Launch]) -> Idle:
        return self

    def launch(self) -> None: ...

    def stage(self, memory: Memory, tokens: Any) -> None: ...

    def keep(self, memory: Memory, block: int) -> None: ...

    def wait(self) -> None: ...


def idle(gate: Gate | None = None, **options: Any) -> VerifyEngine:
    return VerifyEngine(Memory(SMALL), Idle(), gate=gate or Gate(), **options)


def batch(slots: Sequence[int], ks: Sequence[int], **more: Any) -> Batch:
    return Batch(members=tuple(range(len(slots))), slots=tuple(slots), ks=tuple(ks), **more)


def tokens_of(width: int, first: int = 0) -> Any:
    return (np.arange(width * DEEPEST, dtype=np.uint32) + first).reshape(width, DEEPEST) % SMALL.vocabulary


def hows(engine: VerifyEngine, *batches: Batch) -> list[How]:
    found = []
    for dispatch in engine.plan(batches):
        ran = engine.step(dispatch, tokens_of(len(dispatch.slots)))
        engine.release(ran.block)
        found.append(ran.how)
    return found


# ---- the whole check, at its smallest


@pytest.fixture(scope="module")
def checked() -> list[Row]:
    return list(engine_graphs.rows(Bench(machine=Host(), numbers=(0,) if DEVICES else (), scale="small")))


def test_every_row_of_the_check_holds(checked: list[Row]) -> None:
    assert [row for row in checked if not row.ok] == []


def test_the_check_has_a_row_for_every_fault_and_for_every_trace_with_and_without_its_fault(checked: list[Row]) -> None:
    names = [row.name for row in checked]
    traces = graph_traces()

    assert sum(trace.fault for trace in traces) >= 8
    assert {fault.name for fault in FAULTS} <= set(names)
    assert {f"trace of {trace.name}" for trace in traces if trace.fault} <= set(names)
    assert {f"trace of {trace.name}, with the right rules" for trace in traces} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("fault", [FAULTS[0], next(f for f in FAULTS if f.slotless)], ids=["slots", "a member without one"])
def test_without_a_fault_the_steps_that_show_it_change_nothing(fault: Fault) -> None:
    steps = engine_graphs.steps_for(fault, SMALL, 60)

    found = run(Place().engine(SMALL), Place().engine(SMALL), steps)

    assert (found.steps, found.broken) == (60, 0)
    assert found.hows[How.EAGER if fault.slotless else How.REPLAYED] > 0


def test_a_trace_that_the_engine_does_not_follow_shows_no_fault() -> None:
    trace = next(trace for trace in graph_traces() if trace.told)

    assert engine_graphs._traced(Place(), SMALL, trace, right=False).ok
    assert not engine_graphs._traced(Place(), SMALL, replace(trace, told=False), right=False).ok


def test_a_harm_elsewhere_than_the_trace_says_is_not_its_harm() -> None:
    trace = next(trace for trace in graph_traces() if trace.told and trace.place == (2, 0))
    elsewhere = {"batches": [{**about, "slots": [5]} if about["id"] == 2 else about for about in trace.given["batches"]]}

    # The told key is then that of no batch, so the right key is asked for.
    assert not engine_graphs._traced(Place(), SMALL, replace(trace, given=elsewhere), right=False).ok


def test_the_traces_are_those_that_the_models_give_now() -> None:
    pytest.importorskip("z3", reason="traces are searched by a solver")
    from importlib import resources

    from proofs.gpu import engine_traces

    assert resources.files("proofs.gpu").joinpath(FILE).read_text(encoding="utf-8") == engine_traces.found()


# ---- what is captured


def test_a_batch_is_captured_once_and_then_replayed() -> None:
    asked = batch((4, 9), (3, 2))

    assert hows(idle(), asked, asked, asked) == [How.CAPTURED, How.REPLAYED, How.REPLAYED]


@pytest.mark.parametrize(
    "other",
    [batch((4, 8), (3, 2)), batch((4, 9), (2, 2)), batch((4, 9), (3, 2), wy_tables_null=True), batch((9, 4), (3, 2))],
    ids=["another slot", "another depth", "without tables", "the depths exchanged"],
)
def test_a_batch_that_needs_other_launches_is_captured_anew(other: Batch) -> None:
    assert hows(idle(), batch((4, 9), (3, 2)), other) == [How.CAPTURED, How.CAPTURED]


def test_in_the_canonical_arm_arrangements_of_the_same_depths_share_a_capture() -> None:
    asked, arranged = batch((4, 9), (3, 2)), batch((9, 4), (3, 2))

    assert hows(idle(ARMS["canonical"]), asked, arranged) == [How.CAPTURED, How.REPLAYED]


def test_who_sits_in_the_slots_makes_no_difference() -> None:
    asked = batch((4, 9), (3, 2))
    others = Batch(members=(11, 7), slots=asked.slots, ks=asked.ks)

    assert hows(idle(), asked, others) == [How.CAPTURED, How.REPLAYED]


def test_a_batch_with_a_member_that_has_no_slot_is_never_captured() -> None:
    engine = idle()
    asked = batch((4, ABSENT_SLOT), (3, 2))

    assert hows(engine, asked, asked) == [How.EAGER, How.EAGER]
    assert engine.keys == ()


def test_the_least_recently_used_capture_goes_and_gives_its_workspace_back() -> None:
    engine = idle(cap=2)
    a, b, c = (batch((slot,), (2,)) for slot in range(3))
    free = engine.memory.free

    assert hows(engine, a, b, a, c, a, b) == [How.CAPTURED, How.CAPTURED, How.REPLAYED, How.CAPTURED, How.REPLAYED, How.CAPTURED]
    assert engine.memory.free == free - 2
    for key in engine.keys:
        engine.evict(key)
    assert engine.memory.free == free


# ---- what a step computes


def in_sixteen_bits(values: Any) -> Any:
    return (values.view(np.uint32) >> 16 << 16).astype(np.uint32).view(np.float32)


def told(memory: Memory, row: Any, tokens: Sequence[int], *, tables_null: bool) -> Any:
    """A member's step by itself, a layer and a row of tokens at a time: its outputs (rows, channels). `row` is changed.

    Layers lie one after another in a row of the pool: states, the last inputs, tables, each [...][channel].
    """
    shape, one = memory.shape, np.float32(1)
    hidden = [memory.embedding[token] for token in tokens]
    for layer in range(shape.layers):
        parts = row.reshape(shape.layers, -1, shape.channels)[layer]
        state, past, table = parts[:STATES], parts[STATES : STATES + TAPS - 1], parts[STATES + TAPS - 1 :]
        assert len(table) == DEEPEST * (DEEPEST + 1)
        weights = memory.weights[layer]
        taps, rate = weights[: TAPS * shape.channels].reshape(TAPS, -1), weights[TAPS * shape.channels :][: shape.channels]
        into, out = weights[(TAPS + 1) * shape.channels :][: 2 * STATES].reshape(2, STATES)
        gain = weights[-shape.channels :]
        rows, before = [], state.copy()
        for x in hidden:
            seen = np.zeros(shape.channels, np.float32)
            for tap, value in zip(taps, (*past, x), strict=True):
                seen = seen + tap * value
            past[:] = [*past[1:], x]
            rows.append(seen)
        decays = [rate / (one + abs(seen)) for seen in rows]
        mixed = []
        for r, seen in enumerate(rows):
            y = np.zeros(shape.channels, np.float32)
            left = []  # of the state before, and of each row up to this one
            for first in range(-1, r + 1):
                product = np.ones(shape.channels, np.float32)
                for decay in decays[first + 1 : r + 1]:
                    product = product * decay
                left.append(in_sixteen_bits(product))
            for n in range(STATES):
                if tables_null:
                    state[n] = decays[r] * state[n] + into[n] * seen
                else:
                    state[n] = left[0] * before[n]
                    for share, earlier in zip(left[1:], rows, strict=False):
                        state[n] = state[n] + share * (into[n] * earlier)
                y = y + out[n] * state[n]
            if not tables_null:
                table[r * (DEEPEST + 1) :][: r + 2] = left
            mixed.append(y / (one + abs(y)))
        hidden = [np.float32(0.5) * x + gain * np.append(y[1:], y[:1]) for x, y in zip(hidden, mixed, strict=True)]
    return np.stack(hidden)


@pytest.mark.parametrize("tables_null", [True, False], ids=["without tables", "with tables"])
@pytest.mark.parametrize("depth", [1, 4])
def test_a_step_is_what_a_telling_by_layers_and_rows_comes_to(tables_null: bool, depth: int) -> None:
    memory = Memory(Shape(layers=3, channels=5, slots=3))
    pool = memory.pool.copy()
    tokens = np.array([[5, 6, 7, 8], [9, 10, 11, 12]], np.uint32)
    expected = [told(memory, pool[slot], tokens[m, :depth].tolist(), tables_null=tables_null) for m, slot in enumerate((2, 0))]

    engine = VerifyEngine(memory, runner_on(memory))
    (dispatch,) = engine.plan([batch((2, 0), (depth, depth), wy_tables_null=tables_null)])
    engine.step(dispatch, tokens)

    assert dispatch.order == (1, 0)
    assert (memory.outputs[:2, :depth] == np.stack(expected[::-1])).all()
    assert (memory.pool == pool).all()


def test_a_replay_reads_the_tokens_of_now() -> None:
    engines = [Place().engine(SMALL) for _ in range(2)]
    (dispatch,) = engines[0].plan([batch((4, 9), (3, 2))])
    for first in (0, 17):
        engines[0].step(dispatch, tokens_of(2, first))
        engines[1].eager(dispatch, tokens_of(2, first))

    assert (engines[0].memory.outputs == engines[1].memory.outputs).all()
    assert (engines[0].memory.pool == engines[1].memory.pool).all()


def test_tables_change_how_a_state_is_rounded_and_no_more() -> None:
    engines = {null: Place().engine(SMALL) for null in (False, True)}
    for null, engine in engines.items():
        (dispatch,) = engine.plan([batch((4,), (4,), wy_tables_null=null)])
        engine.step(dispatch, tokens_of(1))

    with_tables, without = (engine.memory.outputs[0] for engine in engines.values())
    assert (with_tables != without).any()
    assert np.allclose(with_tables, without, atol=0.02)


@needs_host_kernels
def test_the_kernels_text_gives_the_bits_of_the_array_expressions() -> None:
    steps = drawn(SMALL, ((1, 3, 2, 2), (4, 1, 3, 2)), 20, seed=1)
    here, host = Place().engine(SMALL), Place(host_kernels=True).engine(SMALL)
    for step in steps:
        for engine in (here, host):
            (dispatch,) = engine.plan([step.batch])
            engine.release(engine.step(dispatch, step.tokens).block)

        assert (here.memory.pool.view(np.uint32) == host.memory.pool.view(np.uint32)).all()
        assert (here.memory.outputs.view(np.uint32) == host.memory.outputs.view(np.uint32)).all()


@needs_device
def test_a_graph_on_the_device_gives_the_bits_of_the_array_expressions() -> None:
    import cupy

    row = engine_graphs._as_arrays(Place(xp=cupy))

    assert row.ok, row


# ---- what is launched


def test_runs_are_positions_of_equal_depth_that_follow_each_other() -> None:
    assert [(run.first, run.count, run.depth) for run in runs_of((4, 4, 2, 4))] == [(0, 2, 4), (2, 1, 2), (3, 1, 4)]


@pytest.mark.parametrize("width", [2, 5, 8])
def test_a_step_of_all_layers_has_at_least_a_hundred_launches_and_more_for_each_run(width: int) -> None:
    shape = Shape(channels=1, slots=WIDEST)
    memory = Memory(shape)
    pointers = [memory.row(slot) for slot in range(width)]
    for depths in arrangements(width, kept(width)):
        ordered = sorted(depths, reverse=True)
        for null, kernels in ((True, 3), (False, 4)):
            work = launches(memory, memory.workspace(0), pointers, ordered, null)

            assert len(work) == len(set(depths)) * (2 + kernels * shape.layers)
            assert len(work) >= LAUNCHES


def test_launches_bake_the_memory_of_the_slots() -> None:
    memory = Memory(SMALL)
    here, there = ({a for launch in _work(memory, slot) for a in launch.arguments} for slot in (3, 7))

    assert memory.row(3) in here - there
    assert memory.row(7) in there - here


def _work(memory: Memory, slot: int) -> tuple[Launch, ...]:
    return launches(memory, memory.workspace(0), [memory.row(slot)], (2,), False)


# ---- figures


@pytest.mark.parametrize("width", ARRANGED)
def test_the_planners_arrangements_are_as_many_as_the_key_space_has(width: int) -> None:
    found = arrangements(width, kept(width))

    assert len(found) == len(set(found)) == ARRANGED[width] == distinct_keys(width)["other planned"]
    assert len({tuple(sorted(depths)) for depths in found}) == CANONICAL[width] == distinct_keys(width)["canonical planned"]


@pytest.mark.parametrize("width", ARRANGED)
def test_after_warm_up_as_many_steps_are_captured_as_the_key_space_predicts(width: int) -> None:
    predicted = max(0, 1 - CAP / ARRANGED[width])

    assert predicted_rate(width, "other") == predicted
    assert abs(measured(idle(ARMS["other"]), width, 1500, warm=200).rate - predicted) <= 0.03
    assert measured(idle(ARMS["canonical"]), width, 100, warm=50).rate == 0 == predicted_rate(width, "canonical")


# ---- errors


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (batch((0, 1), (2,)), "not one k for each slot"),
        (batch(range(WIDEST + 1), [2] * (WIDEST + 1)), "1 to 12 members"),
        (batch((16,), (2,)), "not below 16"),
        (batch((0,), (5,)), "not from 1 to 4"),
        (Batch(members=(16,), slots=(0,), ks=(2,)), "not below 16"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(wrong: Batch, told: str) -> None:
    with pytest.raises(ValueError, match=f"plan: .*{told}"):
        idle().plan([wrong])


def test_a_cache_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="cap=0"):
        idle(cap=0)


def test_results_that_are_never_released_use_the_memory_up() -> None:
    engine = VerifyEngine(Memory(Shape(layers=1, channels=1, workspaces=3)), Idle())
    (dispatch,) = engine.plan([batch((0,), (2,))])
    engine.step(dispatch, tokens_of(1))

    with pytest.raises(MemoryError, match="workspaces=3"):
        engine.step(dispatch, tokens_of(1))
