"""Where the arrays of a call live, what they may hold, and how a kernel is launched on them.

Three places: NumPy arrays worked on by array expressions, NumPy arrays worked on by the host's build of the kernels
(only inside `host_kernels`), and CuPy arrays. A public function checks its arguments here and nowhere else.
"""

from __future__ import annotations

import contextlib
import contextvars
import enum
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from impl.batched import kernels

U64_MAX = 2**64 - 1


class Status(enum.IntEnum):
    """What became of one row of a batch, as uint8. Results of a row that is not OK are zero."""

    OK = 0
    NONE = 1
    """The function answers None."""
    OVERFLOW = 2
    """Checked arithmetic leaves 64 bits."""
    BAD_LENGTH = 3
    """Two rows that must have the same length do not."""


class Kernels(Protocol):
    """Where kernels run. Launching returns at once on a device and when the work is done on the host."""

    def launch(self, name: str, threads: int, *arguments: Any, block: int = 256) -> None:
        """Run kernel `name` with about `threads` threads; arguments are contiguous arrays and uint64 numbers."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """The array module of a call, and the kernels to use: None means array expressions."""

    xp: Any
    kernels: Kernels | None


class HostKernels:
    """The kernels built for the host; one call is one plain loop."""

    def __init__(self, text: str, *, optimise: str = "-O2", defines: Iterable[str] = ()) -> None:
        self._library = kernels.host_library(text, optimise=optimise, defines=defines)

    def launch(self, name: str, threads: int, *arguments: Any, block: int = 256) -> None:
        import ctypes  # loaded with the first library, not with every import of the package

        function = getattr(self._library, name)
        function.restype = None
        function(
            *(
                ctypes.c_void_p(argument.ctypes.data) if isinstance(argument, np.ndarray) else ctypes.c_uint64(argument)
                for argument in arguments
            )
        )


class DeviceKernels:
    """The kernels on the current CUDA device and stream."""

    # Enough to fill any device several times over; the kernels stride over the rest.
    MOST_BLOCKS = 1 << 16

    def __init__(self, text: str, *, defines: Iterable[str] = ()) -> None:
        self._text, self._defines = text, tuple(defines)
        self._modules: dict[int, Any] = {}
        self._functions: dict[tuple[int, str], Any] = {}

    def function(self, name: str) -> Any:
        """Return kernel `name` for the current device, compiling the program there if it was not."""
        import cupy

        device = cupy.cuda.runtime.getDevice()
        found = self._functions.get((device, name))
        if found is None:
            if device not in self._modules:
                self._modules[device] = kernels.device_module(self._text, defines=self._defines)
            found = self._functions[device, name] = self._modules[device].get_function(name)
        return found

    def launch(self, name: str, threads: int, *arguments: Any, block: int = 256) -> None:
        blocks = min(max(-(-threads // block), 1), self.MOST_BLOCKS)
        # A bare Python int would be passed by the width that its value suggests.
        exact = tuple(np.uint64(argument) if isinstance(argument, int) else argument for argument in arguments)
        self.function(name)((blocks,), (block,), exact)


@functools.cache
def _host() -> HostKernels:
    return HostKernels(kernels.source("batched.cu"))


@functools.cache
def _device() -> DeviceKernels:
    return DeviceKernels(kernels.source("batched.cu"))


_chosen: contextvars.ContextVar[Kernels | None] = contextvars.ContextVar("draftproof_kernels", default=None)


@contextlib.contextmanager
def host_kernels(patches: Iterable[kernels.Patch] = ()) -> Iterator[None]:
    """Within this context NumPy arrays go through the host's build of the CUDA kernels.

    patches: changes to the kernels' text, for what wants to see them fail. Errors: NoHostCompilerError.
    """
    changes = tuple(patches)
    with chosen_kernels(HostKernels(kernels.source("batched.cu", patches=changes)) if changes else _host()):
        yield


@contextlib.contextmanager
def chosen_kernels(these: Kernels | None) -> Iterator[None]:
    """Within this context calls on arrays that `these` kernels can reach go through them; None: no longer."""
    token = _chosen.set(these)
    try:
        yield
    finally:
        _chosen.reset(token)


def module_of(function: str, **arguments: Any) -> Any:
    """Return numpy or cupy, whichever all the arguments' arrays are of.

    Errors: TypeError where an argument is no array, or where arrays of both kinds meet.
    """
    homes = {name: type(value).__module__.partition(".")[0] for name, value in arguments.items()}
    for name, home in homes.items():
        if home not in ("numpy", "cupy") or not hasattr(arguments[name], "dtype"):
            raise TypeError(f"{function}: {name} is a {type(arguments[name]).__name__}; pass a NumPy or a CuPy array")
    if len(set(homes.values())) > 1:
        on_host = next(name for name, home in homes.items() if home == "numpy")
        raise TypeError(
            f"{function}: {on_host} is a NumPy array beside CuPy arrays; move it with cupy.asarray, "
            "as nothing is transferred silently"
        )
    if "cupy" in homes.values():
        import cupy

        return cupy
    return np


def place_of(function: str, **arguments: Any) -> Place:
    """Return where a call on these arrays runs. Errors: as module_of."""
    xp = module_of(function, **arguments)
    chosen = _chosen.get()
    if chosen is not None and isinstance(chosen, HostKernels) == (xp is np):
        return Place(xp=xp, kernels=chosen)
    return Place(xp=xp, kernels=None if xp is np else _device())


def batch(
    function: str, *, words: Mapping[str, Any], flags: Mapping[str, Any] | None = None, more: Mapping[str, Any] | None = None
) -> tuple[Place, tuple[int, ...], list[Any]]:
    """Return the place, the common shape, and the arguments as contiguous arrays of that shape.

    words become uint64, flags bool; a Python int or bool stands for all rows. `more` are arrays that only help to
    choose the place. Errors: TypeError for a dtype that is not exact, ValueError for shapes that do not broadcast.
    """
    named = {**words, **(flags or {})}
    arrays = {name: value for name, value in named.items() if type(value) not in (int, bool)}
    if not arrays and not more:
        raise TypeError(f"{function}: {next(iter(named))} and the rest are plain numbers; pass at least one array")
    place = place_of(function, **arrays, **(more or {}))
    exact = [_exact(function, place.xp, name, value, name in words) for name, value in named.items()]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in exact))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(named, exact, strict=True))
        raise ValueError(f"{function}: shapes do not broadcast: {shapes}; pass shapes that do") from None
    xp = place.xp
    # ascontiguousarray makes arrays of no dimension one-dimensional.
    return place, shape, [xp.ascontiguousarray(xp.broadcast_to(array, shape)).reshape(shape) for array in exact]


def _exact(function: str, xp: Any, name: str, value: Any, is_word: bool) -> Any:
    if not is_word:
        if type(value) is bool:
            return xp.asarray(value)
        if type(value) is int or value.dtype != np.bool_:
            raise TypeError(f"{function}: {name} has dtype {getattr(value, 'dtype', 'int')}; pass bool")
        return value
    if type(value) is int:
        if not 0 <= value <= U64_MAX:
            raise ValueError(f"{function}: {name}={value} is outside 0 to 2**64-1; pass an unsigned 64-bit value")
        return xp.asarray(np.uint64(value))
    if type(value) is bool or value.dtype.kind != "u":
        # Beside uint64, NumPy turns a signed array into float64, which loses the low bits without a word.
        raise TypeError(
            f"{function}: {name} has dtype {getattr(value, 'dtype', 'bool')}; pass unsigned integers, e.g. "
            f"{name}.astype(np.uint64) where no value is negative"
        )
    return value.astype(np.uint64, copy=False)
