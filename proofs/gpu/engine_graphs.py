"""The graph cache on real memory: what `draftproof gpu check` and `gpu bench` do with `impl.engine.graphs`.

Check: every step against its oracles, with right rules and under faults; the cache against the least recently used of keys
told apart by sorting; the gate; batches without a slot; and every trace of graph_traces.json, right and faulty. Bench: how
many steps are captured, and what share of them that costs, at each width and in both arms, beside what the key space says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import impl.batched as batched
from impl.batched import Ragged
from impl.engine.graphs import ABSENT_SLOT, CAP, Batch, Dispatch, Gate, How, Ran, Rules, VerifyEngine
from impl.engine.verify_step import Memory, Shape
from proofs.gpu.check import Bench, Row, distinct_keys, kept
from proofs.gpu.engine_figures import Figured
from proofs.gpu.engine_oracles import Found, Place, Step, arrangements, differing, drawn, drawn_tokens, run
from proofs.gpu.engine_traces import GraphTrace, graph_traces

SMALL = Shape(layers=2, channels=8)
TINY = Shape(layers=1, channels=2)
FULL = Shape()
EVERY_LAYER = Shape(layers=FULL.layers, channels=4)
LAUNCHES = 100
"""A step of all layers has at least so many launches."""

STEPS, WARM = 1500, 200
"""Steps of a figure. The share of so many draws is within three points of its mean in 49 of 50 runs; the seed is fixed."""

ARMS = {"canonical": Gate(min_width=b"1"), "other": Gate(killed=True)}
WIDTHS = (2, 3, 4, 5, 6, 7, 8)
WIDER = (10, 12)
"""Widths that the planner does not prune, as if it did."""

ENGINE_SAW = (149, 167)
"""Captures and steps that the engine's own log counts at width 8, before the canonical arm (DESIGN 1b)."""


def place_of(bench: Bench) -> Place:
    """Return where a bench's engines run."""
    if not bench.on_device:
        return Place(host_kernels=bench.host is not None)
    import cupy

    return Place(xp=cupy)


# ---- faults


def _key_without(column: int) -> Callable[..., Any]:
    def key(pairs: Ragged, wy_tables_null: Any) -> Ragged:
        data = pairs.data.copy()
        data[:, column] = 0
        return batched.verify_graph_key(Ragged(data=data, offsets=pairs.offsets), wy_tables_null)

    return key


def _key_without_tables(pairs: Ragged, wy_tables_null: Any) -> Ragged:
    return batched.verify_graph_key(pairs, np.zeros_like(wy_tables_null))


def _key_without_last(pairs: Ragged, wy_tables_null: Any) -> Ragged:
    data = pairs.data.copy()
    data[(pairs.offsets[1:] - 1).astype(np.int64)] = 0
    return batched.verify_graph_key(Ragged(data=data, offsets=pairs.offsets), wy_tables_null)


def _as_given(slots: Ragged, ks: Ragged, canonical: Any) -> tuple[Any, Any]:
    status, order = batched.verify_batch_permutation(slots, ks, canonical)
    starts = np.repeat(slots.offsets[:-1], slots.lengths.astype(np.int64))
    return status, np.arange(len(order), dtype=np.uint64) - starts


def _row_of_the_sequence(memory: Memory, member: int, slot: int) -> int:
    return memory.shape.slots + member


def _row_of_a_neighbour(memory: Memory, member: int, slot: int) -> int:
    return slot & ~1


_RIGHT = Rules()


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of the cache: the rules with it, those of the oracle, and whether the oracle runs each member alone.

    slotless: the batches have a member without a slot.
    """

    name: str
    rules: Rules
    right: Rules = _RIGHT
    alone: bool = False
    slotless: bool = False


FAULTS: tuple[Fault, ...] = (
    Fault(name="the key forgets the slots", rules=Rules(key=_key_without(0))),
    Fault(name="the key forgets the depths", rules=Rules(key=_key_without(1))),
    Fault(name="the key forgets the tables", rules=Rules(key=_key_without_tables)),
    Fault(name="the key forgets the last position", rules=Rules(key=_key_without_last)),
    Fault(
        name="a capture bakes the sequence's memory",
        rules=Rules(row=_row_of_the_sequence),
        right=Rules(row=_row_of_the_sequence),
    ),
    Fault(name="a batch without a slot is captured", rules=Rules(captures_slotless=True), slotless=True),
    Fault(name="a capture's workspace is a temporary", rules=Rules(owns_workspace=False)),
    Fault(name="tokens are staged as the batch came", rules=Rules(permutation=_as_given), alone=True),
    Fault(name="two slots share memory", rules=Rules(row=_row_of_a_neighbour), alone=True),
)
"""Every fault, each of which must change memory."""


# ---- check


def rows(bench: Bench) -> Iterator[Row]:
    """Everything that is checked of the cache, row by row."""
    place, small = place_of(bench), bench.scale == "small"
    shape, count = (FULL, 40) if bench.on_device else (SMALL, 12 if small else 24)
    yield from _steps(place, shape, count, (2, 5, 8) if small else (*WIDTHS, *WIDER))
    yield _every_layer(place)
    if place != Place():
        yield _as_arrays(place)
    yield _recency(place, 120)
    yield _gates(place)
    yield _slotless(place, shape, count)
    for trace in graph_traces():
        yield _traced(place, shape, trace, right=True)
    for trace in graph_traces():
        if trace.fault:
            yield _traced(place, shape, trace, right=False)
    for fault in FAULTS:
        yield _faulty(place, shape, fault)


def _row(name: str, found: Found, started: float, *, ok: bool, kind: str = "engine", note: str = "") -> Row:
    where = {"rows": found.rows, "outputs": found.outputs, "held outputs": found.held} if found.broken else None
    return Row(
        kind=kind,
        name=name,
        ok=ok,
        cases=found.steps,
        broken=found.broken,
        first=found.first,
        accepted=found.hows[How.REPLAYED],
        seconds=time.perf_counter() - started,
        case=where,
        note=f"{note}{found.told}",
    )


def _steps(place: Place, shape: Shape, count: int, widths: Sequence[int]) -> Iterator[Row]:
    """Steps of the planner's batches at each width, in both arms, against both oracles."""
    for alone in (False, True):
        for width in widths:
            for arm, gate in ARMS.items():
                started = time.perf_counter()
                engine, oracle = (place.engine(shape, gate=gate) for _ in range(2))
                depths = arrangements(width, kept(width))
                steps = drawn(shape, depths, count if not alone else count // 3, seed=100 * width + alone)
                found = run(engine, oracle, steps, alone=alone)
                told = "each member alone" if alone else "eagerly"
                ok = found.broken == 0 and found.hows[How.REPLAYED] > 0 and found.hows[How.CAPTURED] > 0
                yield _row(f"replayed as run {told}, {width} members, {arm} arm", found, started, ok=ok)


def _every_layer(place: Place) -> Row:
    """Depths of every kind through all layers: so many launches."""
    started = time.perf_counter()
    depths = ((1, 1, 1, 1), (1, 2, 3, 4), (4, 4, 1, 1), (2, 2, 2, 3))
    found = run(place.engine(EVERY_LAYER), place.engine(EVERY_LAYER), drawn(EVERY_LAYER, depths, 16, seed=5))
    ok = found.broken == 0 and found.fewest >= LAUNCHES and found.hows[How.REPLAYED] > 0
    return _row("replayed as run eagerly, all layers", found, started, ok=ok)


def _as_arrays(place: Place) -> Row:
    """The same steps through kernels, on a device from graphs, and as array expressions: memory is the same to the bit."""
    started = time.perf_counter()
    shape = replace(FULL, channels=64 if place.on_device else 8)
    there, here = place.engine(shape), Place().engine(shape)
    broken = 0
    steps = drawn(shape, arrangements(6, kept(6)), 16, seed=9)
    for step in steps:
        for engine in (there, here):
            _ran(engine, step)
        for name in ("pool", "outputs"):
            one, other = getattr(there.memory, name), getattr(here.memory, name)
            broken += differing(one.get() if place.on_device else one, other)
    return Row(
        kind="engine",
        name=f"{place.name} as array expressions",
        ok=broken == 0,
        cases=len(steps),
        broken=broken,
        seconds=time.perf_counter() - started,
        note=f"{there.memory.pool.size:,} words of slots",
    )


def _ran(engine: VerifyEngine, step: Step) -> Ran:
    ran = engine.step(engine.plan([step.batch])[0], step.tokens)
    engine.release(ran.block)
    return ran


def _told_apart(batch: Batch, canonical: bool) -> tuple[Any, ...]:
    """What tells the captures of two batches apart, by sorting instead of the rules."""
    if canonical:
        return tuple(sorted(batch.slots)), tuple(sorted(batch.ks)), batch.wy_tables_null
    return tuple(sorted((-k, slot) for k, slot in zip(batch.ks, batch.slots, strict=True))), batch.wy_tables_null


def _recency(place: Place, count: int) -> Row:
    """A step is replayed exactly if its key is among the last CAP different ones."""
    started = time.perf_counter()
    broken, hits, total = 0, 0, 0
    for arm, gate in ARMS.items():
        engine = place.engine(SMALL, gate=gate)
        recent: list[tuple[Any, ...]] = []
        for step in drawn(SMALL, arrangements(5, kept(5)), count, seed=31):
            key = _told_apart(step.batch, arm == "canonical")
            hit = key in recent[-CAP:]
            recent = [other for other in recent if other != key] + [key]
            ran = _ran(engine, step)
            broken += ran.how is not (How.REPLAYED if hit else How.CAPTURED)
            hits, total = hits + hit, total + 1
        broken += len(engine.keys) != min(CAP, len(recent))
    return Row(
        kind="engine",
        name="the least recently used goes",
        ok=broken == 0 and 0 < hits < total,
        cases=total,
        broken=broken,
        accepted=hits,
        seconds=time.perf_counter() - started,
        note=f"{hits} replayed of {total}",
    )


def _gates(place: Place) -> Row:
    """Two arrangements of the same depths share a capture exactly in the canonical arm."""
    started = time.perf_counter()
    told: tuple[tuple[Gate, int | None], ...] = (
        (Gate(), 8),
        (Gate(min_width=b" 6\n"), 6),
        (Gate(min_width=b"+7"), 7),
        (Gate(min_width=b"six"), 8),
        (Gate(min_width=b"2", killed=True), None),
    )
    broken = cases = 0
    for gate, least in told:
        for width in (*WIDTHS, *WIDER):
            engine = place.engine(SMALL, gate=gate)
            ks = (3, *[2] * (width - 1))
            slots = tuple(range(width))
            batches = [Batch(members=slots, slots=slots, ks=depths) for depths in (ks, ks[::-1])]
            tokens = np.zeros((width, 4), np.uint32)
            hows = [engine.step(dispatch, tokens).how for dispatch in engine.plan(batches)]
            shared = least is not None and width >= least
            broken += hows != [How.CAPTURED, How.REPLAYED if shared else How.CAPTURED]
            cases += 1
    return Row(
        kind="engine",
        name="the gate decides by the width",
        ok=broken == 0,
        cases=cases,
        broken=broken,
        seconds=time.perf_counter() - started,
    )


def _without_slot(steps: Sequence[Step]) -> list[Step]:
    return [replace(s, batch=replace(s.batch, slots=(*s.batch.slots[:-1], ABSENT_SLOT))) for s in steps]


def _slotless_steps(shape: Shape, count: int) -> list[Step]:
    return _without_slot(drawn(shape, arrangements(3, kept(3)), count, seed=77))


def _slotless(place: Place, shape: Shape, count: int) -> Row:
    started = time.perf_counter()
    engine = place.engine(shape)
    found = run(engine, place.engine(shape), _slotless_steps(shape, count), alone=True)
    ok = found.broken == 0 and found.hows[How.EAGER] == found.steps > 0 and not engine.keys
    return _row("a batch without a slot is never captured", found, started, ok=ok)


def _faulty(place: Place, shape: Shape, fault: Fault) -> Row:
    """A fault must change memory: the run ends where it does."""
    started = time.perf_counter()
    steps = steps_for(fault, shape, 300)
    engine, oracle = place.engine(shape, rules=fault.rules), place.engine(shape, rules=fault.right)
    found = run(engine, oracle, steps, alone=fault.alone)
    return _row(fault.name, found, started, ok=found.broken > 0, kind="mutant", note=f"by step {found.first}; ")


def steps_for(fault: Fault, shape: Shape, count: int) -> list[Step]:
    """Return steps that show a fault."""
    return _slotless_steps(shape, count) if fault.slotless else drawn(shape, _ANY_DEPTHS, count, seed=55, worlds=3)


_ANY_DEPTHS = tuple((a, b, c, d) for a in (1, 2, 3, 4) for b in (1, 3) for c in (2, 3) for d in (2, 4))


# ---- traces


def _traced(place: Place, shape: Shape, trace: GraphTrace, *, right: bool) -> Row:
    """A trace of the model on real memory: no harm with the right rules; with its fault, its harm, at its end, where it says."""
    started = time.perf_counter()
    rules = Rules() if right else trace_rules(trace)
    engine, oracle = place.engine(shape, rules=rules), place.engine(shape, rules=Rules(row=rules.row))
    random = np.random.default_rng(3)
    about = {batch["id"]: batch for batch in trace.given["batches"]}
    taken, wrong = [], []
    for step in trace.steps:
        actor = about[step["choices"]["actor"]]
        ordered = _dispatch(actor)
        if step["action"] == "evict":
            engine.evict(engine.keyed([ordered])[0].key)
            taken.append("evict")
            continue
        found = run(engine, oracle, [(ordered, drawn_tokens(random, len(actor["slots"]), shape))])
        taken += ["capture"] * found.hows[How.CAPTURED] + ["replay"] * found.hows[How.REPLAYED]
        wrong.append(found.rows)
        broken = found.broken
    follows = taken == [step["action"] for step in trace.steps]
    if right:
        # The rule that a trace's fault is in tells its batches apart; a fault elsewhere leaves the actions as they are.
        ok = not any(wrong) and broken == 0 and follows is not trace.told
        name = f"trace of {trace.name}, with the right rules"
    else:
        batch, position = trace.place
        row = rules.row(engine.memory, about[batch]["members"][position], about[batch]["slots"][position])
        ok = follows and not any(wrong[:-1]) and row in wrong[-1]
        name = f"trace of {trace.name}"
    return Row(
        kind="engine" if right else "mutant",
        name=name,
        ok=ok,
        cases=len(trace.steps),
        broken=broken,
        first=len(trace.steps) - 1 if broken else None,
        accepted=taken.count("replay"),
        seconds=time.perf_counter() - started,
        case={"rows": wrong[-1]} if broken else None,
        note=", ".join(taken),
    )


def trace_rules(trace: GraphTrace) -> Rules:
    """Return the rules under the fault of a trace."""
    keys = trace.keys

    def key(pairs: Ragged, wy_tables_null: Any) -> Ragged:
        asked = (tuple(map(tuple, pairs.data.tolist())), bool(wy_tables_null[0]))
        if asked not in keys:
            return batched.verify_graph_key(pairs, wy_tables_null)
        return Ragged.from_rows([keys[asked]], np.uint32)

    row = _row_of_the_sequence if trace.pointers == "members" else Rules().row
    return Rules(key=key if trace.told else batched.verify_graph_key, row=row)


def _dispatch(about: Any) -> Dispatch:
    """A batch of a trace, which tells it in dispatch order."""
    width = len(about["slots"])
    return Dispatch(
        order=tuple(range(width)),
        members=tuple(about["members"]),
        slots=tuple(about["slots"]),
        depths=tuple(about["depths"]),
        wy_tables_null=about["wy_tables_null"],
        key=(),
    )


# ---- bench


def predicted_rate(width: int, arm: str) -> float:
    """Return the share of steps that are captured after warm-up, as the key space has it: keys drawn evenly, CAP kept."""
    return max(0.0, 1 - CAP / distinct_keys(width)[f"{arm} planned"])


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A run of steps after warm-up: how many were captured, the mean seconds of a capture and of a step, and all seconds."""

    steps: int
    captures: int
    capture_seconds: float
    step_seconds: float
    seconds: float

    @property
    def rate(self) -> float:
        """Captures per step."""
        return self.captures / self.steps

    @property
    def lost(self) -> float:
        """The share of the time that is not the steps' own."""
        return max(0.0, 1 - self.steps * self.step_seconds / self.seconds)


def measured(engine: VerifyEngine, width: int, steps: int, *, warm: int, seed: int = 1) -> Measured:
    """Run steps whose depths are drawn evenly from the planner's arrangements, after so many that warm up."""
    random = np.random.default_rng([seed, width])
    depths, slots = arrangements(width, kept(width)), tuple(range(width))
    draws = random.integers(len(depths), size=warm + steps)
    dispatches = engine.plan([Batch(members=slots, slots=slots, ks=depths[draw]) for draw in draws.tolist()])
    tokens = drawn_tokens(random, width, engine.memory.shape)
    captures, capture_seconds, step_seconds, started = 0, 0.0, 0.0, 0.0
    for number, dispatch in enumerate(dispatches):
        if number == warm:
            started = time.perf_counter()
        ran = engine.step(dispatch, tokens)
        engine.release(ran.block)
        if number >= warm:
            captures += ran.how is How.CAPTURED
            capture_seconds += ran.capture_seconds if ran.how is How.CAPTURED else 0.0
            step_seconds += ran.step_seconds
    return Measured(
        steps=steps,
        captures=captures,
        capture_seconds=capture_seconds / max(captures, 1),
        step_seconds=step_seconds / steps,
        seconds=time.perf_counter() - started,
    )


def figures(bench: Bench) -> Iterator[Figured]:
    """The figures of the cache at each width, in both arms."""
    place = place_of(bench)
    shape, few = (FULL, {}) if bench.on_device else (TINY, {"canonical": (8,), "other": (6, 7, 8)})
    for arm, gate in ARMS.items():
        for width in few.get(arm, (*WIDTHS, *WIDER)):
            # Where every key is kept the share does not vary.
            steps = STEPS if predicted_rate(width, arm) else STEPS // 3
            found = measured(place.engine(shape, gate=gate), width, steps, warm=WARM)
            yield from _told(width, arm, found)
    captures, seen = ENGINE_SAW
    yield Figured(
        name="captures a step, 8 members, other arm, as the engine's log has it",
        rate=captures / seen,
        unit="",
        seconds=0.0,
        series="captures, log",
        x=8,
        predicted=predicted_rate(8, "other"),
        within=0.03,
        note=f"reported, not measured here: {captures} of {seen}",
    )


def _told(width: int, arm: str, found: Measured) -> Iterator[Figured]:
    whole = f"{width} members, {arm} arm"
    rate = predicted_rate(width, arm)
    yield Figured(
        name=f"captures a step, {whole}",
        rate=found.rate,
        unit="",
        seconds=found.seconds,
        series=f"captures, {arm}",
        x=width,
        predicted=rate,
        within=0.03,
        note=f"{found.captures} of {found.steps} steps, {distinct_keys(width)[f'{arm} planned']} keys",
    )
    # Without a capture there is no cost of one, and nothing is said to be lost.
    cost = rate * found.capture_seconds
    yield Figured(
        name=f"share of time lost, {whole}",
        rate=found.lost,
        unit="",
        seconds=found.step_seconds,
        series=f"lost, {arm}",
        x=width,
        predicted=cost / (found.step_seconds + cost),
        within=0.05,
        note=f"step {found.step_seconds * 1e3:.3f} ms, capture {found.capture_seconds * 1e3:.3f} ms",
    )
