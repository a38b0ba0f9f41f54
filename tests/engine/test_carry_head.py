"""The drafter's head: bits, products, and rows that do not depend on the rows made with them."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from impl.engine.head import Head, HeadSize, Library, Ordered, Product, Tiled, host_kernels
from impl.engine.words import POISON, address_of, mixed, narrowed, random_rows, widened
from tests.batched.backends import needs_host_kernels

SIZE = HeadSize(hidden=16, heads=2, head_size=4, vocabulary=8, positions=32)
KEYS = np.array([0, 3, 4, 7, 30, 2, 2], np.uint64)
TOKENS = np.array([1, 0, 7, 7, 3, 2, 2], np.uint32)


def states(rows: int = 9, hidden: int = 16) -> Any:
    return random_rows(mixed(np.arange(rows, dtype=np.uint64) + np.uint64(5)), hidden)


def made(head: Head, memory: Any, addresses: Any, chosen: Any = slice(None)) -> Any:
    """The rows of some of the pairs, made together."""
    keys = KEYS[chosen]
    rows = np.zeros((len(keys), head.size.width), np.uint16)
    head.make(TOKENS[chosen], memory, addresses[chosen], keys, rows, np.arange(len(keys)))
    return rows


def addresses_in(memory: Any) -> Any:
    return np.arange(len(KEYS), dtype=np.uint64) * np.uint64(memory.shape[1] * 2) + np.uint64(address_of(memory))


def as_float(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])


def nearest(value: float) -> int:
    """The bf16 bits nearest to a positive float, ties to even, by exact fractions."""
    below = int(struct.unpack("<I", struct.pack("<f", value))[0]) >> 16
    exact = Fraction(value)
    lower, upper = exact - Fraction(as_float(below)), Fraction(as_float(below + 1)) - exact
    return below + (lower > upper or (lower == upper and below % 2 == 1))


def test_bf16_is_rounded_to_the_nearest_and_ties_to_even() -> None:
    random = np.random.default_rng(1)
    ties = [as_float(b) + (as_float(b + 1) - as_float(b)) / 2 for b in (0x3F80, 0x3F81, 0x4000, 0x40FF)]
    values = np.array([*ties, 1.0, 1.00390625, 3.14159, 255.99], np.float32)
    values = np.concatenate([values, random.uniform(0.01, 300, 400).astype(np.float32)])

    assert narrowed(values).tolist() == [nearest(float(value)) for value in values]
    assert (narrowed(-values) == narrowed(values) | 0x8000).all()
    assert widened(narrowed(values)).tolist() == [as_float(nearest(float(value))) for value in values]


def test_a_row_is_the_fused_pair_projected_with_its_keys_turned() -> None:
    """A head in plain Python: doubles, so the result is near and not equal."""
    head, memory = Head(SIZE, Ordered(), np), states()
    row = widened(made(head, memory, addresses_in(memory)))[2]
    pair = [*widened(head.embedding[7]).tolist(), *widened(memory[2]).tolist()]
    fused = [as_float(nearest_signed(sum(a * b for a, b in zip(pair, w, strict=True)))) for w in widened(head.fusion).tolist()]
    out = [sum(a * b for a, b in zip(fused, w, strict=True)) for w in widened(head.projection).tolist()]
    for of in range(SIZE.heads):
        for i in range(2):
            angle = 5 * 10000.0 ** (-i / 2)  # position k + 1 of key 4
            x, y = out[4 * of + i], out[4 * of + i + 2]
            out[4 * of + i] = x * math.cos(angle) - y * math.sin(angle)
            out[4 * of + i + 2] = y * math.cos(angle) + x * math.sin(angle)

    assert row.tolist() == pytest.approx(out, rel=2**-7, abs=2**-7)


def nearest_signed(value: float) -> int:
    return nearest(float(np.float32(abs(value)))) | (0x8000 if value < 0 else 0)


@pytest.mark.parametrize("product", [Ordered(), Tiled(rows=4)], ids=["ordered", "tiled"])
def test_a_row_has_the_same_bits_whatever_is_made_with_it(product: Product) -> None:
    head, memory = Head(SIZE, product, np), states()
    addresses = addresses_in(memory)
    together = made(head, memory, addresses)
    one_by_one = np.concatenate([made(head, memory, addresses, slice(i, i + 1)) for i in range(len(KEYS))])
    shifted = made(head, memory, addresses, slice(2, None))

    assert (together == one_by_one).all()
    assert (together[2:] == shifted).all()


def test_the_sums_depend_on_their_order() -> None:
    """Or equal bits would say nothing of how a sum was taken."""
    rows, weights = states(40, 256), states(40, 256)
    forwards = Ordered()(rows, weights, narrow=False)
    backwards = Ordered()(np.ascontiguousarray(rows[:, ::-1]), np.ascontiguousarray(weights[:, ::-1]), narrow=False)

    assert (forwards != backwards).mean() > 0.2
    assert forwards == pytest.approx(backwards, rel=1e-4, abs=1e-4)


@needs_host_kernels
@pytest.mark.parametrize("shift", [0, 2, 1, 6, 32])
def test_the_kernels_text_makes_the_bits_of_the_array_expressions(shift: int) -> None:
    memory = states()
    addresses = addresses_in(memory) + np.uint64(shift)
    plain = Head(SIZE, Ordered(), np)
    kernels = Head(SIZE, Ordered(kernels=host_kernels()), np, kernels=host_kernels())

    with np.errstate(all="ignore"):  # half a number further on there are infinities
        assert (made(plain, memory, addresses) == made(kernels, memory, addresses)).all()


@needs_host_kernels
@pytest.mark.parametrize("kernels", [False, True])
def test_what_lies_outside_of_memory_is_read_as_poison(kernels: bool) -> None:
    """Eight numbers are read or not as a whole."""
    memory = states(2)
    head = Head(SIZE, Ordered(), np, kernels=host_kernels() if kernels else None)
    begin = address_of(memory)
    addresses = np.array([begin - 32, begin - 16, begin + 32, begin + 48, begin + 40, begin + 58, 2**64 - 8], np.uint64)
    flat = memory.reshape(-1)
    half_before, half_after, off, outside = (np.full(16, POISON) for _ in range(4))
    half_before[8:], half_after[:8], off[:8] = flat[:8], flat[24:], flat[20:28]
    read = np.stack([outside, half_before, memory[1], half_after, off, outside, outside])

    assert (made(head, memory, addresses) == made(head, read, addresses_in(read))).all()


def test_numbers_are_of_either_sign_and_within_their_magnitudes() -> None:
    values = widened(random_rows(mixed(np.arange(64, dtype=np.uint64)), 64, exponent=-2))

    assert 0.45 < (values < 0).mean() < 0.55
    assert np.abs(values).max() < 2**-2
    assert np.abs(values).min() >= 2**-10
    assert len(np.unique(values)) > 1500


def test_the_library_multiplies_as_the_others_do() -> None:
    rows, weights = states(6, 32), states(5, 32)

    assert Library()(rows, weights, narrow=False) == pytest.approx(Ordered()(rows, weights, narrow=False), rel=1e-5, abs=1e-5)


def test_rows_that_are_no_whole_tiles_are_refused() -> None:
    with pytest.raises(ValueError, match="5 rows are not whole tiles of 4"):
        Tiled(rows=4)(states(5), states(3), narrow=True)


@pytest.mark.parametrize(("changed", "named"), [({"hidden": 12}, "hidden=12"), ({"head_size": 3}, "head_size=3")])
def test_a_size_that_does_not_fit_is_named(changed: dict[str, int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        HeadSize(**{**vars(SIZE), **changed})
