"""Words of the engine's memory: bf16 numbers as bits, a hash that is the same on every machine, and where an array lies."""

from __future__ import annotations

from typing import Any

import numpy as np

POISON = np.uint16(0xDEAD)
"""What lies in memory that nobody has written: a bf16 number far from all others."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def module_of(array: Any) -> Any:
    """The array module of an array: numpy or cupy."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def address_of(array: Any) -> int:
    """The address at which an array's data begin, on its machine."""
    return int(array.ctypes.data) if isinstance(array, np.ndarray) else int(array.data.ptr)


def mixed(words: Any) -> Any:
    """A hash of each 64-bit word (the finish of SplitMix64). uint64 arrays."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def random_rows(seeds: Any, width: int, *, exponent: int = 0) -> Any:
    """A row of bf16 numbers for each seed: of either sign, of magnitude 2**(exponent - 8) up to 2**exponent.

    Their exponents differ, so that sums of their products are not exact and tell in which order they were taken.
    seeds: uint64 of shape (m,). width: a multiple of 4. Returns uint16 of shape (m, width).
    """
    xp = module_of(seeds)
    columns = xp.arange(width // 4, dtype=np.uint64) * GOLDEN
    bits = xp.ascontiguousarray(mixed(seeds[:, None] + columns)).view(np.uint16)
    smaller = bits >> np.uint16(7) & np.uint16(7)
    return bits & np.uint16(0x807F) | (np.uint16(126 + exponent) - smaller) << np.uint16(7)


def widened(bits: Any) -> Any:
    """float32 of bf16 bits."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def narrowed(values: Any) -> Any:
    """bf16 bits of float32, to the nearest, ties to even."""
    bits = module_of(values).ascontiguousarray(values).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
