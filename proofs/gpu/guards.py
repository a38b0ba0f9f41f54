"""Kernels for the host under two guards: what they leave unwritten shows, and what they read beyond an argument ends them.

Results are created without a value, and memory that a process has just given back may hold the right one: `Soiled` fills
them with bytes that no result has. Behind the arrays that `guarded` gives lies a page that nobody may touch.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import re
from typing import Any

import numpy as np

from impl.batched.arrays import HostKernels

SOIL = 0xA5
_PARAMETERS = re.compile(r"^KERNEL (\w+)\(([^)]*)\)", re.MULTILINE)
_NO_ACCESS = 0


class Soiled(HostKernels):
    """The kernels of a text, which find their results full of soil."""

    def __init__(self, text: str, *, optimise: str = "-O2") -> None:
        super().__init__(text, optimise=optimise)
        self._results = {
            name: [number for number, one in enumerate(given.split(",")) if "*" in one and "const" not in one]
            for name, given in _PARAMETERS.findall(text)
        }

    def launch(self, name: str, threads: int, *arguments: Any, block: int = 256) -> None:
        for number in self._results[name]:
            arguments[number].view(np.uint8)[...] = SOIL
        super().launch(name, threads, *arguments, block=block)


def guarded(array: Any) -> Any:
    """Return a copy of a NumPy array that ends where its memory does; one of an array that was seen before is kept."""
    kept = _kept().get(id(array))
    if kept is None:
        # The array is kept as well, so that its id remains its own.
        kept = _kept()[id(array)] = (array, _copy(array))
    return kept[1]


@functools.cache
def _kept() -> dict[int, tuple[Any, Any]]:
    return {}


def _copy(array: Any) -> Any:
    if array.nbytes == 0:
        return array
    pages = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
    behind = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + pages
    if ctypes.CDLL(None, use_errno=True).mprotect(ctypes.c_void_p(behind), mmap.PAGESIZE, _NO_ACCESS) != 0:
        raise OSError(ctypes.get_errno(), f"guarded: the page behind an array of {array.nbytes} bytes cannot be closed")
    copy = np.frombuffer(memory, array.dtype, array.size, pages - array.nbytes).reshape(array.shape)
    copy[...] = array
    return copy
