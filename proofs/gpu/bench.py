"""What `draftproof gpu bench` does: figures beside the ceilings of the same run, and beside NumPy on one thread.

Times are medians of CUDA events, or of a clock on the host. A figure's fraction is that of the ceiling it names. On a
machine without a device the functions are timed through the host's build of the kernels, at a smaller size.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import impl.batched as batched
from impl.batched import Ragged, kernels
from proofs.gpu import machines
from proofs.gpu.check import Bench
from proofs.gpu.machines import Machine
from proofs.gpu.scopes import SCOPES

REPEATS = 9


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure. rate: in units per second. target: what it should reach, in the same units. Higher is better.

    fraction: of the ceiling named. numpy: times the rate of NumPy's array expressions on one thread.
    """

    name: str
    rate: float
    unit: str
    seconds: float
    target: float | None = None
    fraction: float | None = None
    ceiling: str | None = None
    numpy: float | None = None

    @property
    def reached(self) -> bool:
        """Whether the figure has no target or reaches it."""
        return self.target is None or self.rate >= self.target

    def as_json(self) -> dict[str, Any]:
        """Return the figure as the record keeps it."""
        return {**asdict(self), "reached": self.reached}


def run(bench: Bench, progress: Callable[[str], None] = lambda _: None) -> list[Figure]:
    """Measure everything that this machine can."""
    figures: list[Figure] = []
    for figure in _on_device(bench.machine) if bench.on_device else _on_host():
        progress(figure.name)
        figures.append(figure)
    return figures


# The functions on arrays: how to make a batch of so many rows, and the bytes that a row must move.
def _append_batch(rows: int, xp: Any) -> tuple[Any, ...]:
    index = xp.arange(rows, dtype=np.uint64)
    return index % 1000, index % 4096, index % 777, index % 5000


def _merge_batch(rows: int, xp: Any) -> tuple[Any, ...]:
    index = xp.arange(rows, dtype=np.uint64)
    ranges = batched.StoreRanges(owner=index % 3, lo=index % 512, hi=index % 640)
    return ranges, index % 3, index % 700, index % 64


def _order_batch(width: int) -> Callable[[int, Any], tuple[Any, ...]]:
    def batch(rows: int, xp: Any) -> tuple[Any, ...]:
        offsets = xp.arange(rows + 1, dtype=np.uint64) * width
        index = xp.arange(rows * width, dtype=np.uint64)
        slots = Ragged(data=index * 2654435761 % 512, offsets=offsets)
        ks = Ragged(data=2 + index * 40503 % 7919 % 3, offsets=offsets)
        return slots, ks, xp.arange(rows) % 2 == 0

    return batch


_FUNCTIONS: tuple[tuple[str, str, Callable[[int, Any], tuple[Any, ...]], int, int, int], ...] = (
    # name, function, batch, bytes a row, rows on a device, rows for NumPy
    ("plan_append, arrays", "plan_append", _append_batch, 4 * 8 + 1 + 2 * 8, 1 << 26, 1 << 20),
    ("stamped_merge, arrays", "stamped_merge", _merge_batch, 6 * 8 + 1 + 3 * 8, 1 << 26, 1 << 20),
    ("verify_batch_order, 8 members", "verify_batch_order", _order_batch(8), 8 * 32 + 10, 1 << 22, 1 << 14),
    ("verify_batch_order, 32 members", "verify_batch_order", _order_batch(32), 32 * 32 + 10, 1 << 20, 1 << 12),
)

# Sweeps: the figure to reach, in cases a second, and the function whose NumPy rate it is set beside.
_SWEEPS: dict[str, tuple[float | None, str]] = {
    "carried": (300e9, "usable_by"),
    "append": (350e9, "plan_append"),
    "append-as-sets": (None, "plan_append"),
    "merge": (100e9, "stamped_merge"),
    "permuted": (264_539_520 / 10e-3, "verify_batch_order"),
    "permuted-by-ranks": (None, "verify_batch_order"),
    "tied": (None, "verify_batch_order"),
    "tied-by-ranks": (None, "verify_batch_order"),
    "network": (None, "verify_batch_order, 32"),
    "wide": (13e9, "verify_batch_order, 32"),
    "sequences-6": (42**6 / 0.15, "stamped_merge"),
}


def _median(work: Callable[[], Any], repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _numpy_rates() -> dict[str, float]:
    """Rows a second of the functions as array expressions."""
    rates = {}
    for name, function, batch, _, _, rows in _FUNCTIONS:
        arguments = batch(rows, np)
        call = getattr(batched, function)
        rates[function if "32" not in name else f"{function}, 32"] = rows / _median(lambda c=call, a=arguments: c(*a))  # type: ignore[misc]
    rows = 1 << 20
    index = np.arange(rows, dtype=np.uint64)
    one = Ragged(data=np.zeros(rows * 2, np.uint32), offsets=np.arange(rows + 1, dtype=np.uint64) * 2)
    entries = batched.CarriedDrafters(
        rows=index % 100, last_pair_key=index % 128, key_known=index % 7 != 0, tokens=one, session_hash=index % 3
    )
    rates["usable_by"] = rows / _median(lambda: batched.usable_by(entries, one, index % 5))
    return rates


def _on_host() -> Iterator[Figure]:
    rates = _numpy_rates()
    for name, function, batch, _, _, rows in _FUNCTIONS:
        arguments = batch(rows, np)
        with batched.host_kernels():
            seconds = _median(lambda f=function, a=arguments: getattr(batched, f)(*a))  # type: ignore[misc]
        numpy = rates[function if "32" not in name else f"{function}, 32"]
        yield Figure(name=name, rate=rows / seconds, unit="rows/s", seconds=seconds, numpy=rows / seconds / numpy)


def _on_device(machine: Machine) -> Iterator[Figure]:
    import cupy

    def seconds_of(work: Callable[[], Any], repeats: int = REPEATS) -> float:
        work()
        return statistics.median(machines.timed(cupy, work) for _ in range(repeats))

    ceilings = yield from _ceilings(cupy, seconds_of)
    rates = _numpy_rates()
    yield from _prefixes(cupy, seconds_of, ceilings["copy"])
    for name, function, batch, size, rows, _ in _FUNCTIONS:
        arguments = batch(rows, cupy)
        seconds = seconds_of(lambda f=function, a=arguments: getattr(batched, f)(*a))  # type: ignore[misc]
        numpy = rates[function if "32" not in name else f"{function}, 32"]
        yield Figure(
            name=name,
            rate=rows / seconds,
            unit="rows/s",
            seconds=seconds,
            fraction=rows * size / seconds / ceilings["copy"],
            ceiling="copy",
            numpy=rows / seconds / numpy,
        )
        del arguments
        cupy.get_default_memory_pool().free_all_blocks()
    for scope in SCOPES:
        if scope.name in _SWEEPS and "device" in scope.sizes:
            target, function = _SWEEPS[scope.name]
            tally = machine.sweep(scope, scope.sizes["device"], repeats=5)
            yield Figure(
                name=f"{scope.name}, enumerated",
                rate=tally.rate,
                unit="cases/s",
                seconds=tally.seconds,
                target=target,
                numpy=tally.rate / rates[function],
            )


def _ceilings(cupy: Any, seconds_of: Callable[..., float]) -> Any:
    module = kernels.device_module(machines.text_of("ceilings.cu"))
    grid = cupy.cuda.Device().attributes["MultiProcessorCount"] * 16
    size, rounds = 1 << 32, 1 << 16
    vectors = np.uint64(size // 16)
    held = [cupy.arange(size // 8, dtype=np.uint64), cupy.empty(size // 8, np.uint64)]  # zeros can run faster than data
    result = cupy.zeros(1, np.uint32)

    def launched(kernel: str, *arguments: Any) -> float:
        return seconds_of(lambda: module.get_function(kernel)((grid,), (256,), arguments))

    def moved_by_the_runtime() -> None:
        stream = cupy.cuda.get_current_stream().ptr
        cupy.cuda.runtime.memcpyAsync(held[1].data.ptr, held[0].data.ptr, size, 3, stream)

    # The runtime's own copy is another way to the same ceiling; the better of the two is the ceiling.
    seconds = min(launched("copy", vectors, *held), seconds_of(moved_by_the_runtime))
    copy = 2 * size / seconds
    yield Figure(name="ceiling: copy", rate=copy, unit="B/s", seconds=seconds)
    seconds = launched("read", vectors, held[0], result)
    yield Figure(name="ceiling: read", rate=size / seconds, unit="B/s", seconds=seconds)
    seconds = launched("integers", np.uint64(rounds), result)
    yield Figure(name="ceiling: integers", rate=grid * 256 * rounds * 16 / seconds, unit="op/s", seconds=seconds)
    held.clear()
    cupy.get_default_memory_pool().free_all_blocks()
    return {"copy": copy}


def _prefixes(cupy: Any, seconds_of: Callable[..., float], copy: float) -> Iterator[Figure]:
    workloads: tuple[tuple[str, int, int, Callable[[Any], Any] | None, float], ...] = (
        ("16,384 x 16,384, equal", 1 << 14, 1 << 14, None, 0.95),
        ("16,384 x 16,384, uniform mismatch", 1 << 14, 1 << 14, lambda index: index * 2654435761 % (1 << 14), 0.85),
        ("262,144 x 1,024, mismatch in 64", 1 << 18, 1 << 10, lambda index: index * 2654435761 % 1009 % 64, 4e9),
        ("262,144 x 1,024, equal", 1 << 18, 1 << 10, None, 0.0),
    )
    for name, rows, length, mismatch, target in workloads:
        data = (cupy.arange(rows * length, dtype=np.uint64) * 2654435761 >> 7).astype(np.uint32)
        other = data.copy()
        offsets = cupy.arange(rows + 1, dtype=np.uint64) * length
        read = 8 * rows * length
        places = cupy.full(rows, length, np.uint64)
        if mismatch is not None:
            places = mismatch(cupy.arange(rows, dtype=np.uint64))
            at = (offsets[:-1] + places).astype(np.int64)
            other[at] = ~other[at]
            read = int(8 * (places + 1).sum())
        tokens, prompt = Ragged(data=data, offsets=offsets), Ragged(data=other, offsets=offsets)
        if not bool((batched.common_prefix_len(tokens, prompt) == places).all()):
            raise AssertionError(f"common_prefix_len: wrong lengths on {name}")
        seconds = seconds_of(lambda t=tokens, p=prompt: batched.common_prefix_len(t, p))
        few = slice(0, 64)
        sample = [Ragged(data=side.get()[: 64 * length], offsets=offsets.get()[: few.stop + 1]) for side in (data, other)]
        numpy = 64 / _median(lambda s=sample: batched.common_prefix_len(*s))  # type: ignore[misc]
        per_pair = target > 1
        yield Figure(
            name=f"common_prefix_len, {name}",
            rate=rows / seconds if per_pair else read / seconds,
            unit="pairs/s" if per_pair else "B/s",
            seconds=seconds,
            target=target if per_pair else target * copy or None,
            fraction=read / seconds / copy,
            ceiling="copy",
            numpy=rows / seconds / numpy,
        )
        del data, other, tokens, prompt
        cupy.get_default_memory_pool().free_all_blocks()
