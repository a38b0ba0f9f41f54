"""The drafter's head: how the pair of a token and the hidden state before it becomes a row of keys and values.

The row of key k: the embedding of token k+1 beside hidden[k] (2H numbers), projected to H, then to keys and values; the keys
are turned by position k+1 (RoPE). bf16 numbers are kept as their bits (uint16); sums are float32. What a row comes to must
not depend on the rows made with it, or an appended row would differ from a rebuilt one: `Ordered` and `Tiled` see to that,
`Library` does not.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from impl.batched.arrays import DeviceKernels, HostKernels, Kernels
from impl.batched.kernels import source
from impl.engine.words import GOLDEN, POISON, address_of, mixed, module_of, narrowed, random_rows, widened

PACKAGES = ("impl.engine.kernels", "impl.batched.kernels")


@functools.cache
def device_kernels() -> DeviceKernels:
    """The head's kernels on CUDA devices."""
    return DeviceKernels(source("head.cu", packages=PACKAGES))


@functools.cache
def host_kernels() -> HostKernels:
    """The same text built for the host. Errors: NoHostCompilerError."""
    return HostKernels(source("head.cu", packages=PACKAGES))


@dataclass(frozen=True, kw_only=True)
class HeadSize:
    """The sizes of a head. hidden is a multiple of 8, head_size of 2; positions: one more than the largest RoPE position."""

    hidden: int
    heads: int
    head_size: int
    vocabulary: int
    positions: int

    def __post_init__(self) -> None:
        if self.hidden <= 0 or self.hidden % 8:
            raise ValueError(f"HeadSize: hidden={self.hidden} is not a positive multiple of 8; pass one")
        if self.head_size <= 0 or self.head_size % 2:
            raise ValueError(f"HeadSize: head_size={self.head_size} is not a positive multiple of 2; pass one")

    @property
    def width(self) -> int:
        """Numbers in a row: the keys of all heads, then the values."""
        return 2 * self.heads * self.head_size


class Product(Protocol):
    """rows (m, k) times the transpose of weights (n, k), both bf16: (m, n), float32, or bf16 where `narrow`."""

    def room(self, rows: int) -> int:
        """How many rows it wants where there are so many; what the last ones hold is left to it."""

    def __call__(self, rows: Any, weights: Any, *, narrow: bool) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Ordered:
    """Adds each element's products one after the other: the same bits for any number of rows, on any machine."""

    kernels: Kernels | None = None
    """None: array expressions for NumPy arrays, the device's kernels for CuPy's."""

    def room(self, rows: int) -> int:
        return rows

    def __call__(self, rows: Any, weights: Any, *, narrow: bool) -> Any:
        xp = module_of(rows)
        kernels = self.kernels or (None if xp is np else device_kernels())
        shape = (len(rows), len(weights))
        if kernels is None:
            total = xp.zeros(shape, np.float32)
            wide, by_column = widened(rows), widened(weights).T
            for k in range(rows.shape[1]):
                total += wide[:, k, None] * by_column[k]
            return narrowed(total) if narrow else total
        out = xp.empty(shape, np.uint16 if narrow else np.float32)
        if out.size:
            name = "ordered_product_narrow" if narrow else "ordered_product"
            kernels.launch(name, out.size, *shape, rows.shape[1], rows, weights, out)
        return out


ORDERED = Ordered()


@dataclass(frozen=True, kw_only=True)
class Library:
    """One product of the vendor's library for all rows. Which of its kernels runs, and so the rounding, depends on their number."""

    def room(self, rows: int) -> int:
        return rows

    def __call__(self, rows: Any, weights: Any, *, narrow: bool) -> Any:
        out = module_of(rows).empty((len(rows), len(weights)), np.uint16 if narrow else np.float32)
        if out.size:
            library_product(rows, weights, out)
        return out


@dataclass(frozen=True, kw_only=True)
class Tiled:
    """Products of the library of always the same shape: so many rows at a time, the last ones filled up."""

    rows: int = 128

    def room(self, rows: int) -> int:
        return -(-rows // self.rows) * self.rows

    def __call__(self, rows: Any, weights: Any, *, narrow: bool) -> Any:
        if len(rows) % self.rows:
            raise ValueError(f"Tiled: {len(rows)} rows are not whole tiles of {self.rows}; pass as many as room() says")
        out = module_of(rows).empty((len(rows), len(weights)), np.uint16 if narrow else np.float32)
        for first in range(0, len(rows), self.rows):
            library_product(rows[first : first + self.rows], weights, out[first : first + self.rows])
        return out


# cuBLAS's and CUDA's numbers for what CuPy has no name for.
_BF16, _FLOAT, _COMPUTE_FLOAT, _DEFAULT = 14, 0, 68, -1
_ONE, _ZERO = np.ones(1, np.float32), np.zeros(1, np.float32)


def library_product(rows: Any, weights: Any, out: Any) -> None:
    """Write rows (m, k) times weights (n, k) transposed, bf16, into out (m, n), float32 or bf16; all contiguous."""
    if isinstance(rows, np.ndarray):
        product = widened(rows) @ widened(weights).T
        out[...] = product if out.dtype == np.float32 else narrowed(product)
        return
    import cupy

    (m, k), n = rows.shape, len(weights)
    # Row by row, as here, is column by column of the transposed: out' = weights rows'.
    cupy.cuda.cublas.gemmEx(
        cupy.cuda.device.get_cublas_handle(),
        *(1, 0, n, m, k),
        _ONE.ctypes.data,
        *(weights.data.ptr, _BF16, k),
        *(rows.data.ptr, _BF16, k),
        _ZERO.ctypes.data,
        *(out.data.ptr, _FLOAT if out.dtype == np.float32 else _BF16, n),
        *(_COMPUTE_FLOAT, _DEFAULT),
    )


class Head:
    """A head with weights drawn from a seed, the same on every machine.

    kernels: what gathers and finishes rows; None: array expressions for NumPy arrays, the device's kernels for CuPy's.
    """

    def __init__(self, size: HeadSize, product: Product, xp: Any, *, kernels: Kernels | None = None, seed: int = 1) -> None:
        self.size, self.product, self.xp = size, product, xp
        self.kernels = kernels or (None if xp is np else device_kernels())
        # Weights are smaller than what they are multiplied with, so that sums stay near one.
        seeds = [mixed(xp.arange(count, dtype=np.uint64) * GOLDEN + np.uint64(seed + part)) for part, count in self._counts()]
        self.embedding = random_rows(seeds[0], size.hidden)
        self.fusion = random_rows(seeds[1], 2 * size.hidden, exponent=-5)
        self.projection = random_rows(seeds[2], size.hidden, exponent=-5)
        half = size.head_size // 2
        angles = np.arange(size.positions)[:, None] * 10000.0 ** (-np.arange(half) / half)
        self.cosine = xp.asarray(np.cos(angles).astype(np.float32))
        self.sine = xp.asarray(np.sin(angles).astype(np.float32))

    def _counts(self) -> list[tuple[int, int]]:
        return [(0, self.size.vocabulary), (1000, self.size.hidden), (2000, self.size.width)]

    def make(self, tokens: Any, memory: Any, addresses: Any, keys: Any, into: Any, at: Any) -> None:
        """Make rows: row i, of key keys[i], becomes row at[i] of `into`.

        tokens: (m,) uint32, below the vocabulary. memory: the array whose hidden rows are read, (n, hidden) uint16;
        addresses: (m,) uint64, where in memory each hidden row begins, in bytes; what lies outside is read as poison.
        keys: (m,) uint64. into: (rows, width) uint16. at: (m,) int64. All on one machine; a device is not waited for.
        """
        if not len(tokens):
            return
        fused = self.product(self._pairs(tokens, memory, addresses), self.fusion, narrow=True)
        self._finish(self.product(fused, self.projection, narrow=False)[: len(tokens)], keys, into, at)

    def _pairs(self, tokens: Any, memory: Any, addresses: Any) -> Any:
        hidden, begin, made = self.size.hidden, address_of(memory), len(tokens)
        pairs = self.xp.empty((self.product.room(made), 2 * hidden), np.uint16)
        if len(pairs) > made:
            pairs[made:] = 0
        if self.kernels is not None:
            end = begin + memory.size * 2
            arguments = (len(tokens), hidden, tokens, self.embedding, addresses, begin, end, pairs)
            self.kernels.launch("pairs", len(tokens) * hidden // 4, *arguments)
            return pairs
        places = (addresses[:, None] + np.arange(hidden, dtype=np.uint64) * 2 - np.uint64(begin)).astype(np.int64)
        flat = memory.reshape(-1).view(np.uint8)
        # As in the kernel, vectors of eight numbers are inside or not as wholes.
        first = places[:, ::8]
        there = np.repeat((first >= 0) & (first + 16 <= flat.size), 8, axis=1)
        low, high = (flat.take(places + byte, mode="clip").astype(np.uint16) for byte in (0, 1))
        pairs[:made, :hidden] = self.embedding[tokens]
        pairs[:made, hidden:] = np.where(there, low | high << 8, POISON)
        return pairs

    def _finish(self, made: Any, keys: Any, into: Any, at: Any) -> None:
        heads, size = self.size.heads, self.size.head_size
        half = size // 2
        if self.kernels is not None:
            arguments = (len(made), heads, size, made, keys, self.cosine, self.sine, at.view(np.uint64), into)
            self.kernels.launch("finish", len(made) * heads * size, *arguments)
            return
        parts = made.reshape(len(made), 2, heads, 2, half)
        x, y = parts[:, 0, :, 0], parts[:, 0, :, 1]
        position = (keys + np.uint64(1)).astype(np.int64)
        c, s = self.cosine[position][:, None], self.sine[position][:, None]
        turned = np.stack([x * c - y * s, y * c + x * s], axis=2)
        into[at] = narrowed(np.stack([turned, parts[:, 1]], axis=1).reshape(len(made), -1))
