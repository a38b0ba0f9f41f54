"""The launches of one verify step over SSM slot state, the memory that they touch, and where they run.

At each layer a short convolution, a selective scan (with or without WY tables) and a mix, once for each run of positions of
equal depth: what is launched depends on the runs and the tables, and the addresses in a launch on the slot at each position.
A launch is data, a kernel's name and exact integers, so the same list runs eagerly, is captured in a CUDA graph, or is
recorded and played again on this processor. Arrays are NumPy or CuPy; results are equal to the bit.

Leaves out: weights that mean anything, and attention. Source: DESIGN 1b. Twin of the kernels' text: `ArrayKernels`.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from impl.batched import kernels
from impl.batched.arrays import DeviceKernels, HostKernels, Kernels

# As in verify_step.cu.
STATES, TAPS, DEEPEST, WIDEST = 16, 4, 4, 12
TABLE = DEEPEST * (DEEPEST + 1)

_FLOAT = 4
_KEPT = np.uint32(0xFFFF0000)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large a step is. rows: the slots, and after them as many rows of memory that is no slot's. All at least 1."""

    layers: int = 36
    channels: int = 512
    slots: int = 16
    vocabulary: int = 64
    workspaces: int = 40

    @property
    def layer_words(self) -> int:
        """Words of one layer in a slot: state, the last inputs of the convolution, tables."""
        return self.channels * (STATES + TAPS - 1 + TABLE)

    @property
    def weight_words(self) -> int:
        """Words of a layer's weights: taps, rate, into and out of each state, gain."""
        return self.channels * (TAPS + 2) + 2 * STATES

    @property
    def workspace_words(self) -> int:
        """Words of a step's workspace: activations before and after a layer's scan."""
        return 2 * WIDEST * DEEPEST * self.channels


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One kernel launch: its name, about how many threads, and its arguments, addresses among them."""

    kernel: str
    threads: int
    arguments: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Run:
    """Positions that follow each other in dispatch order and have one depth."""

    first: int
    count: int
    depth: int


def runs_of(depths: Sequence[int]) -> tuple[Run, ...]:
    """Return the runs of equal depth, in order."""
    runs, first = [], 0
    for depth, group in itertools.groupby(depths):
        count = len(tuple(group))
        runs.append(Run(first=first, count=count, depth=depth))
        first += count
    return tuple(runs)


class Memory:
    """All that launches touch: slots, weights, the staged tokens, the outputs, and blocks for workspaces and results.

    xp: numpy or cupy. Everything is taken once, so that no address changes and nothing is allocated inside a capture.
    pool: float32 (2 * slots, words of a slot). tokens: uint32 (WIDEST, DEEPEST). outputs: float32 (WIDEST, DEEPEST, channels).
    blocks: float32 (workspaces, words of a workspace); one that is given back is the next to be taken.
    """

    def __init__(self, shape: Shape, xp: Any = np) -> None:
        self.shape, self.xp = shape, xp
        words = shape.layers * shape.layer_words
        self.pool: Any = _drawn(xp, 2 * shape.slots * words, 1).reshape(2 * shape.slots, words)
        self.weights = _drawn(xp, shape.layers * shape.weight_words, 2).reshape(shape.layers, shape.weight_words)
        rates = slice(TAPS * shape.channels, (TAPS + 1) * shape.channels)
        self.weights[:, rates] = xp.abs(self.weights[:, rates])  # a decay lies between 0 and 1
        self.embedding = _drawn(xp, shape.vocabulary * shape.channels, 3).reshape(shape.vocabulary, shape.channels)
        self.tokens = xp.zeros((WIDEST, DEEPEST), np.uint32)
        self.outputs = xp.zeros((WIDEST, DEEPEST, shape.channels), np.float32)
        self.blocks = xp.zeros((shape.workspaces, shape.workspace_words), np.float32)
        self._free = list(reversed(range(shape.workspaces)))

    def take(self) -> int:
        """Return a block that is free. Errors: MemoryError where none is."""
        if not self._free:
            raise MemoryError(f"Memory: workspaces={self.shape.workspaces} are all taken; pass a shape with more")
        return self._free.pop()

    def give(self, block: int) -> None:
        """Give a block back."""
        self._free.append(block)

    @property
    def free(self) -> int:
        """How many blocks are free."""
        return len(self._free)

    def row(self, number: int) -> int:
        """Return the address of a row of the pool."""
        if not 0 <= number < self.pool.shape[0]:
            raise ValueError(f"Memory: row {number} is not one of {self.pool.shape[0]}; pass a slot or a sequence of this memory")
        return address_of(self.pool) + number * int(self.pool.shape[1]) * _FLOAT

    def workspace(self, block: int) -> int:
        """Return the address of a block."""
        return address_of(self.blocks) + block * self.shape.workspace_words * _FLOAT


def address_of(array: Any) -> int:
    """Return the address of a NumPy or a CuPy array."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def _drawn(xp: Any, count: int, salt: int) -> Any:
    """Numbers from -1 to 1 that every machine draws alike, as no step here rounds: float32 (count,)."""
    index = xp.arange(count, dtype=np.uint64) + np.uint64(salt * 7_919)
    word = (index * np.uint64(2_654_435_761) + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)
    return (word.astype(np.float32) / np.float32(2**23)) - np.float32(1)


def launches(
    memory: Memory, workspace: int, pointers: Sequence[int], depths: Sequence[int], tables_null: bool
) -> tuple[Launch, ...]:
    """Return the launches of a step. workspace: an address. pointers, depths: of each position, in dispatch order.

    pointers: addresses of rows. depths: from 1 to DEEPEST. Errors: ValueError for more than WIDEST positions or another depth.
    """
    if not 1 <= len(depths) <= WIDEST or not all(1 <= depth <= DEEPEST for depth in depths):
        raise ValueError(f"launches: depths={list(depths)} are not 1 to {WIDEST} depths of 1 to {DEEPEST}; pass a batch that fits")
    if len(pointers) != len(depths):
        raise ValueError(f"launches: {len(pointers)} pointers for {len(depths)} depths; pass one for each position")
    return tuple(_launches(memory, workspace, pointers, runs_of(depths), tables_null))


def _launches(memory: Memory, hidden: int, pointers: Sequence[int], runs: Sequence[Run], tables_null: bool) -> Iterator[Launch]:
    shape = memory.shape
    channels = shape.channels
    inner = hidden + shape.workspace_words // 2 * _FLOAT
    tokens, table, outputs = map(address_of, (memory.tokens, memory.embedding, memory.outputs))

    def launch(kernel: str, run: Run, *arguments: int) -> Launch:
        whole = (run.count, run.depth, run.first, channels, *arguments)
        return Launch(kernel=kernel, threads=run.count * channels, arguments=whole)

    slots = [(*pointers[run.first : run.first + run.count], *[0] * (WIDEST - run.count)) for run in runs]
    for run in runs:
        yield launch("embed", run, tokens, table, hidden)
    for layer in range(shape.layers):
        state = layer * shape.layer_words
        past = state + STATES * channels
        tables = past + (TAPS - 1) * channels
        taps = address_of(memory.weights) + layer * shape.weight_words * _FLOAT
        weights = taps + TAPS * channels * _FLOAT
        gain = weights + (channels + 2 * STATES) * _FLOAT
        for run, at in zip(runs, slots, strict=True):
            yield launch("convolve", run, taps, hidden, inner, past, *at)
            if tables_null:
                yield launch("scan", run, weights, inner, state, *at)
            else:
                yield launch("make_tables", run, weights, inner, tables, *at)
                yield launch("chunk", run, weights, inner, state, tables, *at)
            yield launch("mix", run, gain, inner, hidden)
    for run in runs:
        yield launch("finish", run, hidden, outputs)


# ---- where launches run


class Captured(Protocol):
    """Launches that can be played again."""

    def launch(self) -> None:
        """Run them, in order, on the stream of their runner."""


class Runner(Protocol):
    """Where launches run. `play` and what `capture` gives return before the work is done; `wait` waits for it."""

    def play(self, work: Sequence[Launch]) -> None:
        """Run launches, one after another."""

    def capture(self, work: Sequence[Launch]) -> Captured:
        """Capture launches, without running them."""

    def stage(self, memory: Memory, tokens: Any) -> None:
        """Put the tokens (uint32, (positions, DEEPEST), NumPy) where the launches read them."""

    def keep(self, memory: Memory, block: int) -> None:
        """Copy the outputs into a block."""

    def wait(self) -> None:
        """Wait until everything has run."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Launches that were recorded: played again with the arguments that they had then."""

    kernels: Kernels
    work: tuple[Launch, ...]

    def launch(self) -> None:
        _play(self.kernels, self.work)


@dataclass(frozen=True, kw_only=True)
class HereRunner:
    """This processor: array expressions by default, or the host's build of the kernels."""

    kernels: Kernels

    def play(self, work: Sequence[Launch]) -> None:
        _play(self.kernels, work)

    def capture(self, work: Sequence[Launch]) -> Captured:
        return Recorded(kernels=self.kernels, work=tuple(work))

    def stage(self, memory: Memory, tokens: Any) -> None:
        memory.tokens[: len(tokens)] = tokens

    def keep(self, memory: Memory, block: int) -> None:
        memory.blocks[block, : memory.outputs.size] = memory.outputs.reshape(-1)

    def wait(self) -> None:
        """Nothing is under way."""


@dataclass(frozen=True, kw_only=True)
class _Graph:
    """A captured CUDA graph."""

    graph: Any
    stream: Any

    def launch(self) -> None:
        self.graph.launch(self.stream)


class DeviceRunner:
    """The current CUDA device, on a stream of its own; captures are CUDA graphs."""

    def __init__(self) -> None:
        import cupy  # only where there is a device

        # Ordered with the default stream, where the memory is made and looked at.
        self.stream = cupy.cuda.Stream()
        self._kernels = _device_kernels()
        for name in KERNELS:
            self._kernels.function(name)  # a module that is loaded inside a capture spoils it

    def play(self, work: Sequence[Launch]) -> None:
        with self.stream:
            _play(self._kernels, work)

    def capture(self, work: Sequence[Launch]) -> Captured:
        with self.stream:
            self.stream.begin_capture()
            try:
                _play(self._kernels, work)
            finally:
                graph = self.stream.end_capture()  # also after an error: a stream left capturing is of no use to anyone
        return _Graph(graph=graph, stream=self.stream)

    def stage(self, memory: Memory, tokens: Any) -> None:
        memory.tokens[: len(tokens)].set(tokens, stream=self.stream)

    def keep(self, memory: Memory, block: int) -> None:
        with self.stream:
            memory.blocks[block, : memory.outputs.size] = memory.outputs.reshape(-1)

    def wait(self) -> None:
        self.stream.synchronize()


def _play(these: Kernels, work: Sequence[Launch]) -> None:
    for launch in work:
        these.launch(launch.kernel, launch.threads, *launch.arguments)


def runner_on(memory: Memory, *, host_kernels: bool = False) -> Runner:
    """Return the runner for a memory. host_kernels: the kernels built for the host. Errors: NoHostCompilerError."""
    if memory.xp is not np:
        return DeviceRunner()
    return HereRunner(kernels=_host_kernels() if host_kernels else ArrayKernels())


def kernel_text() -> str:
    """Return the whole text of the kernels."""
    return kernels.source("verify_step.cu", packages=("impl.engine.kernels", "impl.batched.kernels"))


@functools.cache
def _host_kernels() -> HostKernels:
    return HostKernels(kernel_text())


@functools.cache
def _device_kernels() -> DeviceKernels:
    return DeviceKernels(kernel_text())


# ---- the kernels as array expressions


def _floats(address: int, *shape: int) -> Any:
    """The floats at an address of this process, as an array."""
    size = 1
    for length in shape:
        size *= length
    return np.ctypeslib.as_array((ctypes.c_float * size).from_address(address)).reshape(shape)


def _upper_half(values: Any) -> Any:
    return (values.view(np.uint32) & _KEPT).view(np.float32)


class ArrayKernels:
    """The kernels as array expressions on memory of this process: (positions of the run, channels) at once."""

    def launch(self, name: str, threads: int, *arguments: Any, block: int = 256) -> None:
        _ARRAYS[name](*arguments)


def _activations(address: int, first: int, count: int, channels: int) -> Any:
    return _floats(address, WIDEST, DEEPEST, channels)[first : first + count]


def _part(pointers: Sequence[int], count: int, part: int, rows: int, channels: int) -> list[Any]:
    return [_floats(pointer + part * _FLOAT, rows, channels) for pointer in pointers[:count]]


def _embed(count: int, depth: int, first: int, channels: int, tokens: int, table: int, hidden: int) -> None:
    words = _floats(tokens, WIDEST, DEEPEST).view(np.uint32)[first : first + count, :depth]
    rows = int(words.max(initial=0)) + 1
    _activations(hidden, first, count, channels)[:, :depth] = _floats(table, rows, channels)[words]


def _convolve(
    count: int, depth: int, first: int, channels: int, taps: int, hidden: int, inner: int, part: int, *pointers: int
) -> None:
    weights, slots = _floats(taps, TAPS, channels), _part(pointers, count, part, TAPS - 1, channels)
    x = _activations(hidden, first, count, channels)[:, :depth]
    seen = np.concatenate((np.stack(slots), x), axis=1)
    for r in range(depth):
        total = np.zeros((count, channels), np.float32)
        for t in range(TAPS):
            total = total + weights[t] * seen[:, r + t]
        _activations(inner, first, count, channels)[:, r] = total
    for slot, last in zip(slots, seen[:, depth:], strict=True):
        slot[...] = last


def _scan_weights(weights: int, channels: int) -> tuple[Any, Any, Any]:
    rate = _floats(weights, channels)
    into, out = _floats(weights + channels * _FLOAT, 2, STATES, 1)
    return rate, into, out


def _decays(rate: Any, x: Any) -> Any:
    return rate / (np.float32(1) + np.abs(x))


def _summed(parts: Any) -> Any:
    """The sum over axis 1, one after another: no other order rounds alike."""
    total = np.zeros((parts.shape[0], parts.shape[2]), np.float32)
    for n in range(parts.shape[1]):
        total = total + parts[:, n]
    return total


def _scan(count: int, depth: int, first: int, channels: int, weights: int, inner: int, part: int, *pointers: int) -> None:
    rate, into, out = _scan_weights(weights, channels)
    slots = _part(pointers, count, part, STATES, channels)
    rows, held = _activations(inner, first, count, channels), np.stack(slots)
    for r in range(depth):
        x = rows[:, r]
        held = _decays(rate, x)[:, None] * held + into * x[:, None]
        rows[:, r] = _summed(out * held)
    for slot, last in zip(slots, held, strict=True):
        slot[...] = last


def _make_tables(count: int, depth: int, first: int, channels: int, weights: int, inner: int, part: int, *pointers: int) -> None:
    rate, _, _ = _scan_weights(weights, channels)
    slots = _part(pointers, count, part, TABLE, channels)
    rows = _activations(inner, first, count, channels)
    columns = np.ones((count, DEEPEST + 1, channels), np.float32)
    for r in range(depth):
        columns[:, : r + 1] = columns[:, : r + 1] * _decays(rate, rows[:, r])[:, None]
        for slot, column in zip(slots, columns, strict=True):
            slot[r * (DEEPEST + 1) :][: r + 2] = _upper_half(column[: r + 2])


def _chunk(
    count: int, depth: int, first: int, channels: int, weights: int, inner: int, part: int, tables: int, *pointers: int
) -> None:
    _, into, out = _scan_weights(weights, channels)
    slots = _part(pointers, count, part, STATES, channels)
    table = np.stack(_part(pointers, count, tables, TABLE, channels)).reshape(count, DEEPEST, DEEPEST + 1, channels)
    rows, before = _activations(inner, first, count, channels), np.stack(slots)
    x, held = rows[:, :depth].copy(), before
    for r in range(depth):
        held = table[:, r, 0][:, None] * before
        for j in range(r + 1):
            held = held + table[:, r, j + 1][:, None] * (into * x[:, j][:, None])
        rows[:, r] = _summed(out * held)
    for slot, last in zip(slots, held, strict=True):
        slot[...] = last


def _mix(count: int, depth: int, first: int, channels: int, gain: int, inner: int, hidden: int) -> None:
    weights = _floats(gain, channels)
    y = np.roll(_activations(inner, first, count, channels)[:, :depth], -1, axis=2)
    x = _activations(hidden, first, count, channels)
    x[:, :depth] = np.float32(0.5) * x[:, :depth] + weights * (y / (np.float32(1) + np.abs(y)))


def _finish(count: int, depth: int, first: int, channels: int, hidden: int, outputs: int) -> None:
    _activations(outputs, first, count, channels)[:, :depth] = _activations(hidden, first, count, channels)[:, :depth]


_ARRAYS: Mapping[str, Callable[..., None]] = {
    "embed": _embed,
    "convolve": _convolve,
    "scan": _scan,
    "make_tables": _make_tables,
    "chunk": _chunk,
    "mix": _mix,
    "finish": _finish,
}
KERNELS = tuple(_ARRAYS)
"""The names of the kernels."""
