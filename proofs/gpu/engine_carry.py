"""The carry on real memory: what `draftproof gpu check` and `gpu bench` run of it, as a part of `proofs.gpu.engine`.

`rows(bench)`: random interleavings by the thousand with every row and block watched, the same runs on a device and on the
host, the system's shortest runs replayed, every fault found, and at a real size an append beside a rebuild, bit for bit.
`figures(bench)`: what an append costs beside a rebuild, beside a roofline of ceilings measured in the same run, and whether
that depends on what was before. Without a device the rows are fewer and the figures small.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import impl.batched as batched
from impl.batched import kernels
from impl.engine.carry import Cast, Engines, EngineSize, Outcome
from impl.engine.head import Head, HeadSize, Library, Ordered, Product, Tiled, host_kernels, library_product
from impl.engine.memory import Rows
from impl.engine.words import GOLDEN, address_of, mixed
from proofs.gpu import engine_carry_runs as runs
from proofs.gpu import machines
from proofs.gpu.check import Bench, Row
from proofs.gpu.engine_carry_audit import EQUAL, REACHES, harms, held_rows
from proofs.gpu.engine_carry_faults import BY_NAME, FAULTS, NONE, Fault
from proofs.gpu.engine_carry_runs import ACTIONS, COLD, REACHED, WARM, Interleavings, moved, random_cast
from proofs.gpu.engine_carry_traces import CarryTrace, carry_traces, replayed
from proofs.gpu.engine_figures import Figured

SEED = 20251130
WORLDS = {True: 10_000, False: 300}
"""Random interleavings, on a device and without one."""
FEW = 200
"""Worlds for what is run in two ways, or with a fault."""

HISTORY, TURN = 11_947, 71
"""Rows of the entry and of the turn that is appended, as in the engine's log."""
# How far positions go is decided by the turns.
REAL = HeadSize(hidden=5120, heads=8, head_size=128, vocabulary=32_768, positions=0)
SMALL = HeadSize(hidden=64, heads=2, head_size=16, vocabulary=256, positions=0)


def _module(bench: Bench) -> Any:
    if not bench.on_device:
        return np
    import cupy

    return cupy


# ---- check


def rows(bench: Bench) -> Iterator[Row]:
    """The rows of the check: of kind engine, and of kind mutant for each fault that must show."""
    xp = _module(bench)
    yield watched(xp, WORLDS[bench.on_device])
    right = _run(xp, FEW)
    yield _without_tags(right)
    if bench.on_device:
        yield _same(right, "on the host")
    if bench.host is not None:
        yield _same(right, "by the host's kernels", hosted=True)
    yield from (_right(trace, xp) for trace in carry_traces())
    yield from (_wrong(trace, xp) for trace in carry_traces() if trace.harm)
    yield from (found_at_random(fault, xp) for fault in FAULTS if not fault.world)
    yield _lands_on_another(xp)
    if bench.on_device:
        yield from (_on_a_stream_of_its_own(fault) for fault in (NONE, BY_NAME[UNREAD]))
    size = Turns(head=REAL, history=HISTORY, turn=TURN) if bench.on_device else Turns(head=SMALL, history=300, turn=TURN)
    yield _rebuilt(size, Tiled(), xp, "always the same tile")
    if bench.on_device:
        yield _rebuilt(size, Library(), xp, "the library's choice")


def watched(xp: Any, worlds: int, *, fault: Fault = NONE, seed: int = SEED) -> Row:
    """Random interleavings with the whole memory looked at after each step.

    Rows are compared with a cold build wherever a turn has just built, adopted or appended, and all at the end. With a fault
    the runs end as soon as all of its harms have shown. cases: interleavings. broken: how many laws were broken in how many
    worlds after how many steps. accepted: turns that adopted.
    """
    started = time.perf_counter()
    engines = fault.engines(runs.SIZE, moved(random_cast(seed, worlds), xp), xp)
    run = Interleavings(engines, seed)
    broken: dict[str, Any] = {}
    compared = xp.zeros(1, np.int64)
    for built in run.steps():
        for law, count in harms(engines, rebuild=built).items():
            broken[law] = broken.get(law, 0) + (count > 0)
        if fault.harms and all(bool(broken[law].any()) for law in fault.harms):
            break
        compared += (engines.rows * engines.live)[built].sum().astype(np.int64)
    for law, count in harms(engines).items():
        broken[law] = broken[law] + (count > 0)
    tally = run.tally()
    missing = [f"{ACTIONS[action]} {Outcome(outcome).name}" for action, outcome in REACHED if not tally[action, outcome]]
    total = {law: int(count.sum()) for law, count in broken.items()}
    taken = int(tally.sum() - tally[:, Outcome.IMPOSSIBLE].sum())
    warm = {Outcome(o).name.lower(): int(tally[WARM, o]) for o in (Outcome.APPENDED, Outcome.ADOPTED, Outcome.REFUSED)}
    shown = {law: count for law, count in total.items() if count}
    return Row(
        kind="engine",
        name=f"random interleavings of {runs.SEQUENCES} sequences",
        ok=not shown and not missing,
        cases=worlds,
        broken=sum(total.values()),
        accepted=warm["appended"] + warm["adopted"],
        seconds=time.perf_counter() - started,
        case=shown or None,
        note=f"{taken:,} operations; warm turns {warm}, cold {int(tally[COLD, Outcome.DONE])}; "
        f"{int(compared[0]):,} rows compared after such a turn" + (f"; never reached: {missing}" if missing else ""),
    )


def _run(xp: Any, worlds: int, **options: Any) -> Interleavings:
    engines = Engines(runs.SIZE, moved(random_cast(SEED, worlds), xp), xp, **options)
    run = Interleavings(engines, SEED)
    for _ in run.steps():
        pass
    return run


def _on_host(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else array.get()


def _decisions(run: Interleavings) -> list[Any]:
    """All that an engine decided: every outcome, and the books at the end."""
    engines = run.engines
    books = ("ticket", "owner", "lo", "hi", "live", "generation", "length", "rows", "extent", "last_key", "held", "free_count")
    return [_on_host(array) for step in run.log for array in step] + [_on_host(getattr(engines, book)) for book in books]


def _differing(one: list[Any], other: list[Any]) -> int:
    return sum(int((a != b).sum()) for a, b in zip(one, other, strict=True))


def _without_tags(right: Interleavings) -> Row:
    """Tags decide nothing: with noise in each of them, every decision and every row is the same."""
    started = time.perf_counter()
    noisy = _run(right.engines.xp, right.engines.worlds, scramble=0x9E3779B9)
    broken = _differing(_decisions(right), _decisions(noisy))
    broken += int((right.engines.pool.words != noisy.engines.pool.words).sum())
    told = int((right.engines.pool.tags != noisy.engines.pool.tags).sum())
    return Row(
        kind="engine",
        name="decisions with noise in every tag",
        ok=broken == 0 and told > 0,
        cases=FEW,
        broken=broken,
        seconds=time.perf_counter() - started,
        note=f"{told:,} words of tags differ",
    )


def _same(right: Interleavings, where: str, *, hosted: bool = False) -> Row:
    """The same runs in another place: every decision, and every bit of every row."""
    started = time.perf_counter()
    with batched.host_kernels() if hosted else contextlib.nullcontext():
        options = {"kernels": host_kernels(), "product": Ordered(kernels=host_kernels())} if hosted else {}
        there = _run(np, right.engines.worlds, **options)
    broken = _differing(_decisions(right), _decisions(there))
    for one, other in ((right.engines.pool, there.engines.pool), (right.engines.store, there.engines.store)):
        broken += int((_on_host(one.words) != other.words).sum())
    return Row(
        kind="engine",
        name=f"the same interleavings {where}, bit for bit",
        ok=broken == 0,
        cases=right.engines.worlds,
        broken=broken,
        accepted=int(there.engines.pool.words.size),
        seconds=time.perf_counter() - started,
    )


def _right(trace: CarryTrace, xp: Any) -> Row:
    """Without the fault nothing goes wrong, unless the world is not as assumed; and the run parts from the model's."""
    started = time.perf_counter()
    found = replayed(trace, NONE, xp)
    # Freeing waits in the engine, so its right run takes these steps too, and comes to no harm.
    parts = found.taken < len(trace.steps) or trace.name in _ALSO_TAKEN or trace.fault.world
    if not trace.harm:
        ok = found.taken == len(trace.steps) and not found.harms
    elif trace.fault.world:
        ok = trace.harm in found.harms and found.taken == len(trace.steps)
    else:
        ok = parts and not found.harms
    return Row(
        kind="engine",
        name=f"trace {trace.name}" + ("" if not trace.harm else ", right engine"),
        ok=ok,
        cases=len(trace.steps),
        broken=0 if ok else max(len(found.harms), 1),
        accepted=found.taken,
        seconds=time.perf_counter() - started,
        case=sorted(found.harms) or None,
        note=found.differs if trace.harm or not ok else "",
    )


_ALSO_TAKEN = ("a-block-is-freed-under-a-write", "no-free-on-refuse")
"""Runs whose steps the right engine takes as well, as what parts it is not in the model's books without blocks."""


def _wrong(trace: CarryTrace, xp: Any) -> Row:
    """With the fault the run is the model's state by state, its harm is on memory at the end, and not before."""
    started = time.perf_counter()
    found = replayed(trace, trace.fault, xp)
    own_tokens = replayed(trace, trace.fault, xp, coloured=True)
    ok = found.taken == len(trace.steps) and trace.harm in found.harms and not found.before
    unequal = max(found.unequal, 0 if own_tokens.differs else own_tokens.unequal)
    return Row(
        kind="mutant",
        name=f"trace {trace.name}",
        ok=ok,
        cases=len(trace.steps),
        broken=len(found.harms),
        accepted=found.taken,
        seconds=time.perf_counter() - started,
        case=sorted(found.harms),
        note=found.differs or (f"{unequal} rows differ in bits" if unequal else "the rows' bits are as they would be"),
    )


def found_at_random(fault: Fault, xp: Any, worlds: int = FEW) -> Row:
    """Random interleavings with a fault show all of its harms. broken: in how many worlds, after how many steps."""
    found = watched(xp, worlds, fault=fault)
    shown: dict[str, int] = found.case or {}
    return Row(
        kind="mutant",
        name=f"random {fault.name}",
        ok=all(shown.get(law) for law in fault.harms),
        cases=found.cases,
        broken=found.broken,
        seconds=found.seconds,
        case=shown,
        note=fault.tells,
    )


def _lands_on_another(xp: Any) -> Row:
    """A block freed under a write is given to another sequence, whose row the late write then replaces."""
    started = time.perf_counter()
    fault = next(fault for fault in FAULTS if REACHES in fault.harms)
    shown = {}
    for name, one in (("fault", fault), ("right", NONE)):
        cast = _conversation(runs.SIZE.head, 1, 4, turns=2)
        cast.prompt_len[:] = 1
        engines = one.engines(runs.SIZE, moved(cast, xp), xp)
        w = xp.zeros(1, np.int64)
        for operation, s in (("allocate", 1), ("decode", 1), ("abort", 1), ("allocate", 2), ("decode", 2)):
            getattr(engines, operation)(w, w + s)
        engines.land(w)
        shown[name] = {law: int(count[0]) for law, count in harms(engines).items() if int(count[0])}
    return Row(
        kind="mutant",
        name="a late write lands on another's row",
        ok=EQUAL in shown["fault"] and not shown["right"],
        cases=2,
        broken=sum(shown["fault"].values()),
        seconds=time.perf_counter() - started,
        case=shown,
        note="block freed under a write, drawn by another sequence, written, and written again by the first",
    )


UNREAD = "claimed-rows-are-read-before-they-are-written"


_SPIN = """
extern "C" __global__ void spin(long long cycles) {
    for (const long long begin = clock64(); clock64() - begin < cycles;) {}
}
"""


class Streamed(Rows):
    """Rows that are written on another CUDA stream, which is kept busy for so many cycles before. Landing waits for its event.

    One thread that turns round keeps it busy: copies would share an engine with those by which the host learns of a result.
    """

    def __init__(self, like: Rows, issued: Any, cupy: Any, cycles: int) -> None:
        count, width = like.words.shape
        super().__init__(count, width, like.tags.shape[1], cupy, lagging=False)
        self._cupy, self._issued, self._cycles = cupy, issued, cycles
        self._spin = cupy.RawKernel(_SPIN, "spin")
        self._held: list[Any] = []

    def write(self, at: Any, tags: Any, stream: Any, make: Callable[[Any, Any], None]) -> None:
        ready = self._cupy.cuda.get_current_stream().record()
        # What the other stream still reads must not be handed out anew.
        self._held += [at, tags, make]
        with self._issued:
            self._issued.wait_event(ready)
            self._spin((1,), (1,), (np.int64(self._cycles),))
            super().write(at, tags, stream, make)

    def land(self, rows: Any) -> None:
        self._cupy.cuda.get_current_stream().wait_event(self._issued.record())


def _on_a_stream_of_its_own(fault: Fault) -> Row:
    """Chunks are written on a real second stream; whoever does not wait for its event reads what was there before.

    The first of two runs loads all kernels and has each stream allocate its memory, either of which would wait.
    """
    import cupy

    started = time.perf_counter()
    cast = _conversation(runs.SIZE.head, 12, 4, turns=2)
    issued, acting = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    unequal = 0
    for cycles in (0, 200_000_000):
        engines = fault.engines(runs.SIZE, moved(cast, cupy), cupy, lagging=False)
        engines.store = Streamed(engines.store, issued, cupy, cycles)
        cupy.cuda.Device().synchronize()
        with acting:
            for operation, numbers in (("allocate", ()), ("write_chunk", (0, 12)), ("cold_turn", ())):
                _must(engines, Outcome.DONE, operation, 1, *numbers)
            unequal = int(harms(engines)[EQUAL][0])
        cupy.cuda.Device().synchronize()
    right = fault is NONE
    return Row(
        kind="engine" if right else "mutant",
        name=f"two CUDA streams, {'right engine' if right else fault.name}",
        ok=unequal == 0 if right else unequal > 0,
        cases=11,
        broken=unequal,
        seconds=time.perf_counter() - started,
        note=f"{unequal} of 11 rows differ in bits",
    )


# ---- turns at a real size


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Sequences of one session that share `history` tokens and go on for `turn` tokens of their own."""

    head: HeadSize
    history: int
    turn: int
    turns: int = 2

    def engines(self, product: Product, xp: Any, *, tagged: bool = True) -> Engines:
        """One engine that has these sequences before it: the first is the history alone."""
        length = self.history + self.turn
        head = replace(self.head, positions=length + 1)
        size = EngineSize(head=head, capacity=length, block_rows=16, blocks=2 * -(-length // 16) + 2)
        cast = moved(_conversation(head, self.history, self.turn, turns=self.turns), xp)
        return Engines(size, cast, xp, product=product, lagging=False, tagged=tagged)


def _conversation(head: HeadSize, history: int, turn: int, *, turns: int) -> Cast:
    place = np.arange(history + turn, dtype=np.uint64)
    rows = np.arange(turns + 2, dtype=np.uint64)[:, None]
    own = mixed((rows + np.uint64(1)) * GOLDEN + place) % np.uint64(head.vocabulary)
    shared = mixed(place * GOLDEN) % np.uint64(head.vocabulary)
    tokens = np.where(place < history, shared, own).astype(np.uint32)[None]
    prompt_len = np.full((1, turns + 2), history + turn, np.uint64)
    prompt_len[:, 1] = history
    one = np.ones((1, turns + 2), np.int64)
    return Cast(
        tokens=tokens,
        prompt_len=prompt_len,
        session_hash=one.astype(np.uint64),
        session=one,
        carry=np.ones(1, np.bool_),
        multi_seq=np.zeros(1, np.bool_),
    )


def _one(engines: Engines, operation: str, s: int, *numbers: int) -> Outcome:
    """An operation of the only engine."""
    xp = engines.xp
    arguments = [xp.full(1, number, np.uint64) for number in numbers]
    return Outcome(int(getattr(engines, operation)(xp.zeros(1, np.int64), xp.full(1, s, np.int64), *arguments)[0]))


def _must(engines: Engines, expected: Outcome, operation: str, s: int, *numbers: int) -> None:
    found = _one(engines, operation, s, *numbers)
    if found is not expected:
        raise AssertionError(f"{operation} of sequence {s} is {found.name}, not {expected.name}")


def _history(engines: Engines, turns: Turns) -> None:
    """The first sequence builds the history's rows cold, and deposits them."""
    _must(engines, Outcome.DONE, "allocate", 1)
    _must(engines, Outcome.DONE, "write_chunk", 1, 0, turns.history)
    _must(engines, Outcome.DONE, "cold_turn", 1)
    _must(engines, Outcome.DONE, "deposit", 1)


def _prefilled(engines: Engines, turns: Turns, s: int, start: int) -> None:
    _must(engines, Outcome.DONE, "allocate", s)
    _must(engines, Outcome.DONE, "write_chunk", s, start, turns.history + turns.turn - start)


def _rebuilt(turns: Turns, product: Product, xp: Any, name: str) -> Row:
    """A turn that adopts and appends, and one that builds all rows cold, on another engine: the same bits or not.

    With products of one shape every row is the same. With the library's choice of kernel it need not be, which is a fact
    about the library that the row reports.
    """
    started = time.perf_counter()
    warm, cold = turns.engines(product, xp), turns.engines(product, xp)
    _history(warm, turns)
    _prefilled(warm, turns, 2, turns.history - 1)
    _must(warm, Outcome.APPENDED, "warm_turn", 2)
    _prefilled(cold, turns, 2, 0)
    _must(cold, Outcome.DONE, "cold_turn", 2)
    held = [engines.pool.words[held_rows(engines)[3]] for engines in (warm, cold)]
    unequal = int((held[0] != held[1]).any(axis=1).sum())
    broken = {law: int(count[0]) for law, count in harms(warm).items() if int(count[0])}
    own = broken.pop(EQUAL, 0)
    exact = isinstance(product, Tiled)
    return Row(
        kind="engine",
        name=f"{len(held[0]):,} rows of {turns.head.hidden}, {turns.turn} of them appended: {name}",
        ok=not broken and held[0].shape == held[1].shape and (not exact or (unequal == 0 and own == 0)),
        cases=len(held[0]),
        broken=(unequal + own if exact else 0) + sum(broken.values()),
        accepted=turns.history - 1,
        seconds=time.perf_counter() - started,
        case=broken or None,
        note=f"{unequal} rows differ in bits from a cold build on another engine, {own} from one in place",
    )


# ---- bench

HISTORIES = (1024, 4096, HISTORY, 32_768, 65_536, 131_072)
APPENDS = 40
"""Appends in a row that are timed together."""


def figures(bench: Bench) -> Iterator[Figured]:
    """Append beside rebuild, on a device beside the roofline, and the cost of a turn at growing histories."""
    if bench.on_device:
        yield from _on_device(_module(bench))
    else:
        yield from _small()


def _small() -> Iterator[Figured]:
    turns = Turns(head=SMALL, history=1200, turn=TURN)
    work = Work(turns, Ordered(), np)
    append = statistics.median(_clock(work.append) for _ in range(5))
    rebuild = statistics.median(_clock(work.rebuild) for _ in range(3))
    yield Figured(name="append, array expressions", rate=TURN / append, unit="rows/s", seconds=append)
    yield Figured(name="rebuild over append, array expressions", rate=rebuild / append, unit="x", seconds=rebuild)


def _clock(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class Work:
    """What a device does for an append and for a rebuild, without the decisions: rows from the store to the pool's blocks.

    Two heads take turns, so that no weights are left in a cache from the run before.
    """

    def __init__(self, turns: Turns, product: Product, xp: Any, *, heads: int = 1) -> None:
        self.turns = turns
        engines = turns.engines(product, xp, tagged=False)
        _prefilled(engines, turns, 2, 0)
        self.store, self.pool = engines.store.words, engines.pool.words
        self._heads = [engines.head, *(Head(engines.size.head, product, xp, seed=7 + n) for n in range(heads - 1))]
        self._turn = 0
        length = turns.history + turns.turn
        self._keys = xp.arange(length - 1, dtype=np.uint64)
        self._tokens = xp.ascontiguousarray(engines.cast.tokens[0, 2, 1:])
        self._addresses = self._keys * np.uint64(2 * turns.head.hidden) + np.uint64(address_of(self.store))
        # Blocks in any order, as a pool has them after a while.
        blocks = -(-length // 16)
        order = xp.asarray(np.random.default_rng(3).permutation(blocks))
        place = xp.arange(length - 1)
        self._at = order[place // 16] * 16 + place % 16

    def _make(self, rows: slice) -> None:
        head = self._heads[self._turn % len(self._heads)]
        self._turn += 1
        head.make(self._tokens[rows], self.store, self._addresses[rows], self._keys[rows], self.pool, self._at[rows])

    def append(self) -> None:
        """The turn's rows, after the history's."""
        self._make(slice(self.turns.history - 1, None))

    def rebuild(self) -> None:
        """All rows."""
        self._make(slice(0, None))


def flops(size: HeadSize, made: int) -> int:
    """Floating-point operations of the products for so many rows."""
    return 2 * made * (2 * size.hidden * size.hidden + size.hidden * size.width)


def moved_bytes(size: HeadSize, made: int) -> int:
    """The fewest bytes for so many rows: weights, embeddings and hidden states read once, rows written once."""
    weights = 2 * (2 * size.hidden * size.hidden + size.hidden * size.width)
    return weights + made * 2 * (2 * size.hidden + size.width)


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """Bytes a second that can be read, and operations a second of a large bf16 product."""

    read: float
    product: float

    def floor(self, size: HeadSize, made: int) -> float:
        """Seconds that so many rows cannot be made faster than."""
        return max(moved_bytes(size, made) / self.read, flops(size, made) / self.product)


class Clock:
    """Times work on a device by events, with the queue filled before the device is free to begin."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        size = 1 << 32
        self._held = [cupy.full(size // 8, 0x3F813F81BF82BF82, np.uint64), cupy.empty(size // 8, np.uint64)]

    def __call__(self, work: Callable[[], None], *, together: int = 1, repeats: int = 5) -> float:
        """The median seconds of one run, of so many in a row."""
        cuda = self._cupy.cuda
        work()
        cuda.Device().synchronize()
        started = time.perf_counter()
        for _ in range(together):
            work()
        # A copy takes two milliseconds: enough of them to put all of the work in the queue meanwhile, and half as much again.
        copies = 2 + int(750 * (time.perf_counter() - started))
        times = []
        for _ in range(repeats):
            cuda.Device().synchronize()
            stream = cuda.get_current_stream().ptr
            for _ in range(copies):
                cuda.runtime.memcpyAsync(self._held[1].data.ptr, self._held[0].data.ptr, self._held[0].nbytes, 3, stream)
            begin, end = cuda.Event(), cuda.Event()
            begin.record()
            for _ in range(together):
                work()
            end.record()
            end.synchronize()
            times.append(cuda.get_elapsed_time(begin, end) / 1e3 / together)
        return float(statistics.median(times))


def _ceilings(cupy: Any, clock: Clock) -> Iterator[tuple[Figured, float]]:
    module = kernels.device_module(machines.text_of("ceilings.cu"))
    grid = cupy.cuda.Device().attributes["MultiProcessorCount"] * 16
    vectors = np.uint64((1 << 32) // 16)
    arguments = (vectors, cupy.arange(1 << 29, dtype=np.uint64), cupy.zeros(1, np.uint32))
    seconds = clock(lambda: module.get_function("read")((grid,), (256,), arguments))
    yield Figured(name="ceiling: read", rate=(1 << 32) / seconds, unit="B/s", seconds=seconds), (1 << 32) / seconds
    size = HeadSize(hidden=8192, heads=1, head_size=2, vocabulary=2, positions=2)
    a = Head(size, Library(), cupy).fusion.reshape(16_384, 8192)
    out = cupy.empty((8192, 8192), np.uint16)
    seconds = clock(lambda: library_product(a[:8192], a[8192:], out), together=5)
    rate = 2 * 8192**3 / seconds
    yield Figured(name="ceiling: bf16 product, 8192 x 8192 x 8192", rate=rate, unit="FLOP/s", seconds=seconds), rate


def _on_device(cupy: Any) -> Iterator[Figured]:
    clock = Clock(cupy)
    measured = []
    for figure, rate in _ceilings(cupy, clock):
        measured.append(rate)
        yield figure
    ceilings = Ceilings(read=measured[0], product=measured[1])
    turns = Turns(head=REAL, history=HISTORY, turn=TURN)
    made = HISTORY - 1 + TURN
    for name, product in (("library", Library()), ("tiles of 128", Tiled())):
        work = Work(turns, product, cupy, heads=2)
        append = clock(work.append, together=APPENDS)
        rebuild = clock(work.rebuild, together=3)
        roofs = ceilings.floor(REAL, TURN), ceilings.floor(REAL, made)
        tiles = product.room(TURN), product.room(made)
        if isinstance(product, Tiled):
            # Each tile reads the weights again.
            roofs = tuple(ceilings.floor(REAL, product.rows) * (rows // product.rows) for rows in tiles)  # type: ignore[assignment]
        yield from _beside(name, made, append, rebuild, roofs)
        del work
        cupy.get_default_memory_pool().free_all_blocks()
    yield from _histories(cupy, clock)


def _beside(name: str, made: int, append: float, rebuild: float, roofs: tuple[float, float]) -> Iterator[Figured]:
    for what, count, seconds, roof in (("append", TURN, append, roofs[0]), ("rebuild", made, rebuild, roofs[1])):
        yield Figured(
            name=f"{what}, {count:,} rows, {name}",
            rate=count / seconds,
            unit="rows/s",
            seconds=seconds,
            fraction=roof / seconds,
            ceiling="roofline",
            note=f"{moved_bytes(REAL, count):,} bytes, {flops(REAL, count):,} FLOP, roofline {roof * 1e6:.1f} us",
        )
    ratio = roofs[1] / roofs[0]
    yield Figured(
        name=f"rebuild over append, {made:,} rows and {TURN}, {name}",
        rate=rebuild / append,
        unit="x",
        seconds=append,
        target=0.7 * ratio,
        fraction=rebuild / append / ratio,
        ceiling="roofline's ratio",
        note=f"the roofline's ratio is {ratio:.1f}",
    )


def _histories(cupy: Any, clock: Clock) -> Iterator[Figured]:
    """The device's work of an append, and a whole turn with its decisions, after histories of any length."""
    first = None
    for history in HISTORIES:
        turns = Turns(head=REAL, history=history, turn=TURN, turns=6)
        work = Work(turns, Library(), cupy, heads=2)
        seconds = clock(work.append, together=APPENDS)
        del work
        cupy.get_default_memory_pool().free_all_blocks()
        first = first or seconds
        yield Figured(
            name=f"append, {TURN} rows after {history:,}",
            rate=TURN / seconds,
            unit="rows/s",
            seconds=seconds,
            series="append",
            x=history,
            predicted=TURN / first,
            within=0.1 * TURN / first,
        )
        yield _whole_turn(turns, cupy)
        cupy.get_default_memory_pool().free_all_blocks()


def _whole_turn(turns: Turns, cupy: Any) -> Figured:
    engines = turns.engines(Library(), cupy, tagged=False)
    _history(engines, turns)
    times = []
    for s in range(2, turns.turns + 2):
        _prefilled(engines, turns, s, turns.history - 1)
        cupy.cuda.Device().synchronize()
        started = time.perf_counter()
        _must(engines, Outcome.APPENDED, "warm_turn", s)
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - started)
        _must(engines, Outcome.DONE, "deposit", s)
    seconds = statistics.median(times[1:])
    return Figured(
        name=f"warm turn with its decisions, {TURN} rows after {turns.history:,}",
        rate=TURN / seconds,
        unit="rows/s",
        seconds=seconds,
        series="warm turn",
        x=turns.history,
        note="one engine alone, by the clock: mostly Python and the launches of small kernels",
    )
