"""Rows of different lengths in one array: the data end to end, and where each row starts and ends.

Leaves out: any change of the rows. Whoever writes into the arrays of a Ragged keeps its offsets as they were checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from impl.batched.arrays import module_of

_DATA = (np.uint8, np.uint32, np.uint64)


@dataclass(frozen=True, kw_only=True)
class Ragged:
    """Row i is data[offsets[i]:offsets[i + 1]].

    data: uint8, uint32 or uint64, of shape (total,), or (total, 2) for pairs. offsets: uint64, of shape (rows + 1,),
    from 0 to total and never decreasing. NumPy or CuPy, both the same; copies are made only of what is not contiguous.
    Checking CuPy offsets synchronises once, here; no function that takes the rows synchronises again.

    Errors: TypeError for another type, ValueError for another shape or for offsets that are out of order.
    """

    data: Any
    offsets: Any
    rows: int = field(init=False)
    total: int = field(init=False)
    longest: int = field(init=False)

    def __post_init__(self) -> None:
        xp = module_of("Ragged", data=self.data, offsets=self.offsets)
        if self.data.dtype not in _DATA:
            raise TypeError(f"Ragged: data has dtype {self.data.dtype}; pass uint8, uint32 or uint64")
        if self.offsets.dtype != np.uint64:
            raise TypeError(f"Ragged: offsets has dtype {self.offsets.dtype}; pass uint64")
        if self.data.ndim != 1 and self.data.shape[1:] != (2,):
            raise ValueError(f"Ragged: data has shape {self.data.shape}; pass (total,), or (total, 2) for pairs")
        if self.offsets.ndim != 1 or self.offsets.size == 0:
            raise ValueError(f"Ragged: offsets has shape {self.offsets.shape}; pass (rows + 1,)")
        total = self.data.shape[0]
        starts, ends = self.offsets[:-1], self.offsets[1:]
        edges = [self.offsets[0], self.offsets[-1]]
        if len(starts):
            edges += [xp.any(ends < starts).astype(np.uint64), xp.max(ends - starts)]
        # One small copy to the host: the sizes decide how later calls launch, and order is what makes them safe.
        first, last, *rest = (int(edge) for edge in _to_host(xp.stack(edges)))
        unordered, longest = rest or (0, 0)
        if first != 0 or last != total or unordered:
            raise ValueError(
                f"Ragged: offsets from {first} to {last} do not cut data of length {total} in order; "
                "pass offsets that start at 0, never decrease, and end at the length"
            )
        object.__setattr__(self, "data", xp.ascontiguousarray(self.data))
        object.__setattr__(self, "offsets", xp.ascontiguousarray(self.offsets))
        object.__setattr__(self, "rows", len(starts))
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "longest", longest)

    @classmethod
    def from_rows(cls, rows: Iterable[Any], dtype: Any, xp: Any = np) -> Ragged:
        """Return the rows (sequences or NumPy arrays of words, or of pairs of words) end to end, in arrays of module xp."""
        parts = [np.asarray(row, dtype=dtype) for row in rows]
        filled = [part for part in parts if part.size]
        data = np.concatenate(filled) if filled else np.empty(0, dtype)
        offsets = np.zeros(len(parts) + 1, np.uint64)
        np.cumsum([len(part) for part in parts], out=offsets[1:], dtype=np.uint64)
        return cls(data=xp.asarray(data), offsets=xp.asarray(offsets))

    @property
    def lengths(self) -> Any:
        """The length of each row: uint64, of shape (rows,)."""
        return self.offsets[1:] - self.offsets[:-1]


def _to_host(array: Any) -> Any:
    return array if isinstance(array, np.ndarray) else array.get()
