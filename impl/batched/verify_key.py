"""The verify batch over batches of batches: one row of a Ragged is one verify batch, one member an item of it.

Slots and row counts are uint64, graph keys uint32, flags bool of shape (batches,) or one bool for all. Calls on CuPy
arrays run on the current stream and never synchronise (a Python number is copied to the device); calls on NumPy arrays
return when done.

Leaves out: the kill switch and the environment itself, which have no batch. Source: DESIGN 1b; verify_key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from impl.batched.arrays import U64_MAX, Place, Status, batch
from impl.batched.ragged import Ragged

CANONICAL_KEY_MIN_WIDTH = 8

# Counting ranks takes work with the square of the width; wider batches are sorted instead.
WIDEST_COUNTED = 1024

# The code points with the Unicode property White_Space, which str.strip() without arguments only nearly matches.
_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


@dataclass(frozen=True, kw_only=True)
class BatchOrders:
    """Dispatch orders of a Ragged of batches: order and depths have its offsets.

    status: OK or BAD_LENGTH (uint8, one per batch). order: the member dispatched at each position (uint64). depths: the
    rows verified there (uint64). A batch that is not OK has zeros.
    """

    status: Any
    order: Any
    depths: Any


def verify_batch_permutation(slots: Ragged, ks: Ragged, canonical: Any) -> tuple[Any, Any]:
    """Return (status, order) of verify_batch_order. Source: verify_batch_permutation."""
    orders = _orders("verify_batch_permutation", slots, ks, canonical)
    return orders.status, orders.order


def verify_batch_order(slots: Ragged, ks: Ragged, canonical: Any) -> BatchOrders:
    """Return the dispatch order of each batch, and the rows that each position verifies.

    slots, ks: one row of uint64 per batch; BAD_LENGTH where their lengths differ. A member without a slot has 2**64-1.
    canonical: bool of shape (batches,), or one bool. Errors: TypeError, ValueError as impl.batched says. Source:
    verify_batch_order.
    """
    return _orders("verify_batch_order", slots, ks, canonical)


def _orders(function: str, slots: Ragged, ks: Ragged, canonical: Any) -> BatchOrders:
    for name, rows in (("slots", slots), ("ks", ks)):
        if rows.data.dtype != np.uint64 or rows.data.ndim != 1:
            raise TypeError(f"{function}: {name} holds {rows.data.dtype}; pass rows of uint64")
    if slots.rows != ks.rows:
        raise ValueError(f"{function}: slots has {slots.rows} rows and ks {ks.rows}; pass as many of each")
    place, arms = _flags_per_row(function, slots, "canonical", canonical, ks=ks.data)
    if place.kernels is None or slots.longest > WIDEST_COUNTED:
        return _sorted_orders(place.xp, slots, ks, arms)
    result = BatchOrders(
        status=place.xp.empty(slots.rows, np.uint8),
        order=place.xp.empty(slots.total, np.uint64),
        depths=place.xp.empty(slots.total, np.uint64),
    )
    if slots.rows:
        place.kernels.launch(
            "verify_batch_order",
            slots.rows * 32,
            slots.rows,
            slots.data,
            slots.offsets,
            ks.data,
            ks.offsets,
            arms,
            result.status,
            result.order,
            result.depths,
        )
    return result


def _sorted_orders(xp: Any, slots: Ragged, ks: Ragged, canonical: Any) -> BatchOrders:
    fits = slots.lengths == ks.lengths
    status = (~fits).astype(np.uint8) * np.uint8(Status.BAD_LENGTH)
    if slots.total == 0:
        return BatchOrders(status=status, order=xp.empty(0, np.uint64), depths=xp.empty(0, np.uint64))
    # Everything below is per member. Rows stay together because the row is the last key of every sort.
    position = xp.arange(slots.total, dtype=np.uint64)
    row = xp.searchsorted(slots.offsets[1:], position, side="right")
    member = position - slots.offsets[row]
    fits, canonical = fits[row], canonical[row]
    # In a row that does not fit, and only there, the matching k may lie outside: read any, use none.
    k = xp.zeros(slots.total, np.uint64)
    if ks.total:
        k = ks.data[((ks.offsets[row] + member) * fits).astype(np.int64)] * fits
    row = row.astype(np.uint64)
    order = xp.lexsort(xp.stack((member, slots.data, ~k * ~canonical, row)))
    dealt = xp.lexsort(xp.stack((member, ~k, row)))
    depths = xp.where(canonical, k[dealt], k[order])
    return BatchOrders(status=status, order=member[order] * fits, depths=depths * fits)


def verify_graph_key(pairs: Ragged, wy_tables_null: Any) -> Ragged:
    """Return the graph key of each batch: 2 n + 1 words for the n (slot, k) pairs of a row, in dispatch order.

    pairs: rows of uint32 pairs. wy_tables_null: bool of shape (batches,), or one bool. On CuPy arrays the check of the
    result's offsets synchronises once. Errors: TypeError, ValueError as impl.batched says. Source: verify_graph_key.
    """
    if pairs.data.dtype != np.uint32 or (pairs.data.ndim != 2 and pairs.total):
        raise TypeError(f"verify_graph_key: pairs holds {pairs.data.dtype}; pass rows of uint32 pairs, shape (total, 2)")
    place, null = _flags_per_row("verify_graph_key", pairs, "wy_tables_null", wy_tables_null)
    xp = place.xp
    offsets = pairs.offsets * 2 + xp.arange(pairs.rows + 1, dtype=np.uint64)
    key = xp.empty(2 * pairs.total + pairs.rows, np.uint32)
    if place.kernels is None:
        key[(offsets[1:] - 1).astype(np.int64)] = np.uint32(2**32 - 1) - null.astype(np.uint32)
        row = np.repeat(np.arange(pairs.rows), pairs.lengths.astype(np.int64))
        at = (np.arange(pairs.total) * 2 + row).astype(np.int64)
        if pairs.total:
            key[at], key[at + 1] = pairs.data[:, 0], pairs.data[:, 1]
    elif pairs.rows:
        place.kernels.launch("verify_graph_key", pairs.rows * 32, pairs.rows, pairs.data, pairs.offsets, null, key)
    return Ragged(data=key, offsets=offsets)


def canonical_assignment_at(n: Any, min_width: Any, kill_switch_clear: Any) -> Any:
    """Return where a full batch of n sequences is canonical: bool. n, min_width: uint64; kill_switch_clear: bool.

    Errors: TypeError, ValueError as impl.batched says. Source: canonical_assignment_at.
    """
    place, shape, (width, least, clear) = batch(
        "canonical_assignment_at",
        words={"n": n, "min_width": min_width},
        flags={"kill_switch_clear": kill_switch_clear},
    )
    if place.kernels is None:
        return clear & (width >= least)
    canonical = place.xp.empty(shape, np.bool_)
    if canonical.size:
        place.kernels.launch("canonical_assignment_at", canonical.size, canonical.size, width, least, clear, canonical)
    return canonical


def min_width_from_env(raw: Ragged, present: Any = True) -> Any:
    """Return the minimum width that each environment value spells, 8 where it spells none: uint64 of shape (rows,).

    raw: one row of bytes (uint8) per value. present: bool of shape (rows,), False where the variable is absent; or one
    bool. Errors: TypeError, ValueError as impl.batched says. Source: min_width_from_env.
    """
    if raw.data.dtype != np.uint8 or raw.data.ndim != 1:
        raise TypeError(f"min_width_from_env: raw holds {raw.data.dtype}; pass rows of uint8")
    place, here = _flags_per_row("min_width_from_env", raw, "present", present)
    width = place.xp.empty(raw.rows, np.uint64)
    if place.kernels is None:
        whole = raw.data.tobytes()
        ends = raw.offsets.tolist()
        for row in range(raw.rows):
            width[row] = _min_width(whole[ends[row] : ends[row + 1]]) if here[row] else CANONICAL_KEY_MIN_WIDTH
    elif raw.rows:
        place.kernels.launch("min_width_from_env", raw.rows, raw.rows, here, raw.data, raw.offsets, width)
    return width


def _min_width(value: bytes) -> int:
    try:
        text = value.decode("utf-8").strip(_WHITE_SPACE)
    except UnicodeDecodeError:
        return CANONICAL_KEY_MIN_WIDTH
    digits = text.removeprefix("+").encode()
    if not digits.isdigit():  # of bytes: ASCII digits alone
        return CANONICAL_KEY_MIN_WIDTH
    significant = digits.lstrip(b"0") or b"0"
    number = int(significant) if len(significant) <= 20 else U64_MAX + 1
    return number if number <= U64_MAX else CANONICAL_KEY_MIN_WIDTH


def _flags_per_row(function: str, rows: Ragged, name: str, value: Any, **more: Any) -> tuple[Place, Any]:
    place, shape, (flags,) = batch(function, words={}, flags={name: value}, more={"data": rows.data, **more})
    if shape not in ((), (rows.rows,)):
        raise ValueError(f"{function}: {name} has shape {shape} for {rows.rows} rows; pass ({rows.rows},) or one bool")
    return place, place.xp.ascontiguousarray(place.xp.broadcast_to(flags, (rows.rows,)))
