"""The machines that sweep: this processor through the host's build of the kernels, or one or more CUDA devices.

A sweep is a range of case indices; a machine cuts it into shards, each a range of its own, and adds up what they found.
Leaves out: what is swept (scopes.py) and what the kernels do (kernels/).
"""

from __future__ import annotations

import ctypes
import functools
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from impl.batched import kernels
from impl.batched.kernels import Patch
from proofs.gpu.scopes import Scope, Size

PACKAGES = ("proofs.gpu.kernels", "impl.batched.kernels")
NOTHING = 2**64 - 1
# A whole number of cases of every group size keeps shards from sharing a group, which would be swept twice.
SHARD_STEP = 42 * 42 * 27 * 32


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What a sweep found: cases looked at, how many broke the claim, the first of them, and how many were accepted."""

    cases: int
    broken: int
    first: int | None
    accepted: int
    seconds: float

    @property
    def rate(self) -> float:
        """Cases per second."""
        return self.cases / self.seconds if self.seconds > 0 else 0.0


class Machine(Protocol):
    """Something that sweeps a range of a scope."""

    @property
    def name(self) -> str:
        """What it is, for people."""

    def sweep(
        self,
        scope: Scope,
        size: Size,
        *,
        begin: int = 0,
        end: int | None = None,
        patches: Iterable[Patch] = (),
        repeats: int = 1,
        blocks: int | None = None,
    ) -> Tally:
        """Sweep cases begin to end - 1, all by default.

        patches: changes to the kernels' text. repeats: seconds are the median of so many runs. blocks: the grid, where
        the machine has one.
        """


def shards(begin: int, end: int, count: int) -> list[tuple[int, int]]:
    """Cut [begin, end) into at most `count` ranges of about one length; together they are the range, in order."""
    step = max(-(-(end - begin) // count), 1)
    step = -(-step // SHARD_STEP) * SHARD_STEP if step > SHARD_STEP else step
    return [(low, min(low + step, end)) for low in range(begin, end, step)]


def text_of(program: str, patches: Iterable[Patch] = ()) -> str:
    """Return the whole text of a program of proofs/gpu/kernels."""
    return kernels.source(program, packages=PACKAGES, patches=patches)


def defines_of(size: Size) -> tuple[str, ...]:
    """Return a size's defines in the form that compilers take."""
    return tuple(f"{name}={value}" for name, value in size.defines.items())


def _total(result: np.ndarray[Any, np.dtype[np.uint64]], cases: int, seconds: float) -> Tally:
    first, broken, accepted = result.tolist()
    return Tally(cases=cases, broken=broken, first=None if first == NOTHING else first, accepted=accepted, seconds=seconds)


def _fresh_result() -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.array([NOTHING, 0, 0], np.uint64)


@dataclass(frozen=True, kw_only=True)
class Host:
    """This processor, one thread. Errors of its methods: NoHostCompilerError."""

    name: str = "host"
    optimise: str = "-O2"

    def sweep(
        self,
        scope: Scope,
        size: Size,
        *,
        begin: int = 0,
        end: int | None = None,
        patches: Iterable[Patch] = (),
        repeats: int = 1,
        blocks: int | None = None,
    ) -> Tally:
        library = kernels.host_library(text_of(scope.program, patches), optimise=self.optimise, defines=defines_of(size))
        function = getattr(library, scope.kernel)
        function.restype = None
        stop = size.cases if end is None else end
        times = []
        for _ in range(repeats):
            result = _fresh_result()
            started = time.perf_counter()
            function(
                ctypes.c_uint64(begin),
                ctypes.c_uint64(stop),
                ctypes.c_void_p(result.ctypes.data),
                *map(ctypes.c_uint64, scope.arguments),
            )
            times.append(time.perf_counter() - started)
        return _total(result, stop - begin, statistics.median(times))


@dataclass(frozen=True, kw_only=True)
class Together:
    """Machines that share a sweep: each takes one shard of it, all at the same time."""

    parts: tuple[Machine, ...]

    @property
    def name(self) -> str:
        return ", ".join(part.name for part in self.parts)

    def sweep(
        self,
        scope: Scope,
        size: Size,
        *,
        begin: int = 0,
        end: int | None = None,
        patches: Iterable[Patch] = (),
        repeats: int = 1,
        blocks: int | None = None,
    ) -> Tally:
        stop = size.cases if end is None else end
        changes = tuple(patches)

        def run(part: Machine, low: int, high: int) -> Tally:
            return part.sweep(scope, size, begin=low, end=high, patches=changes, repeats=repeats, blocks=blocks)

        ranges = shards(begin, stop, len(self.parts))
        if len(ranges) < 2:
            return run(self.parts[0], begin, stop)
        with ThreadPoolExecutor(len(ranges)) as pool:
            tallies = list(pool.map(lambda job: run(job[0], *job[1]), zip(self.parts, ranges, strict=False)))
        return Tally(
            cases=sum(tally.cases for tally in tallies),
            broken=sum(tally.broken for tally in tallies),
            first=min((tally.first for tally in tallies if tally.first is not None), default=None),
            accepted=sum(tally.accepted for tally in tallies),
            seconds=max(tally.seconds for tally in tallies),
        )


def devices(numbers: Sequence[int]) -> Together:
    """Return the CUDA devices of these numbers, as one machine. Errors: ValueError where there is no such device."""
    import cupy  # no other part of this package needs it to load

    present = cupy.cuda.runtime.getDeviceCount()
    for number in numbers:
        if not 0 <= number < present:
            raise ValueError(f"devices: numbers={number} is not a device here; pass numbers below {present}")
    if len(set(numbers)) < len(numbers) or not numbers:
        raise ValueError(f"devices: numbers={','.join(map(str, numbers))} names one twice or none; pass each once")
    return Together(parts=tuple(Device(number=number) for number in numbers))


def use(number: int) -> None:
    """Make a CUDA device the current one of this thread, for whatever is not swept."""
    import cupy

    cupy.cuda.Device(number).use()


@dataclass(frozen=True, kw_only=True)
class Device:
    """One CUDA device, by its number."""

    number: int

    THREADS: ClassVar[int] = 128
    BLOCKS_PER_PROCESSOR: ClassVar[int] = 16

    @property
    def name(self) -> str:
        import cupy

        name: str = cupy.cuda.runtime.getDeviceProperties(self.number)["name"].decode()
        return name

    def sweep(
        self,
        scope: Scope,
        size: Size,
        *,
        begin: int = 0,
        end: int | None = None,
        patches: Iterable[Patch] = (),
        repeats: int = 1,
        blocks: int | None = None,
    ) -> Tally:
        import cupy

        stop = size.cases if end is None else end
        extra = tuple(np.uint64(argument) for argument in scope.arguments)
        with cupy.cuda.Device(self.number) as device, cupy.cuda.Stream(non_blocking=True):
            module = _module(text_of(scope.program, patches), defines_of(size), self.number)
            function = module.get_function(scope.kernel)
            grid = blocks or device.attributes["MultiProcessorCount"] * self.BLOCKS_PER_PROCESSOR
            result = cupy.asarray(_fresh_result())

            def launch(low: int, high: int) -> None:
                function((grid,), (self.THREADS,), (np.uint64(low), np.uint64(high), result, *extra))

            launch(begin, begin)  # an empty range, to load it
            times = []
            for _ in range(repeats):
                result[...] = cupy.asarray(_fresh_result())
                times.append(timed(cupy, lambda: launch(begin, stop)))
            return _total(result.get(), stop - begin, statistics.median(times))


def timed(cupy: Any, work: Callable[[], None]) -> float:
    """Return the seconds that `work` keeps the current stream busy, told by events."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    work()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3


@functools.lru_cache(maxsize=256)
def _module(text: str, defines: tuple[str, ...], device: int) -> Any:
    return kernels.device_module(text, defines=defines)


def host_compiler_here() -> str | None:
    """Return why there is no host compiler, or None where there is one."""
    try:
        kernels.host_compiler()
    except kernels.NoHostCompilerError as error:
        return str(error)
    return None


def devices_here() -> tuple[int, str]:
    """Return the number of usable CUDA devices, and why there is none if there is none."""
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount()), ""
    except ImportError as error:
        return 0, f"CuPy is not installed ({error}; draftproof[gpu] installs it)"
    except Exception as error:  # noqa: BLE001 -- CuPy's own errors exist only where CuPy does
        return 0, f"CuPy finds no device ({error})"
