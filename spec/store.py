"""The stamped hidden store: whose rows an interval claims, and what a write does to the claim (DESIGN 1a).

Models `visible_to`, `merge_interval`, `stamped_merge` and `hidden_row_offset` as relations between arguments and result.
An interval is a set of rows; a merge is told by what it does to that set, not by minima and maxima. The rows themselves and
their writers are ghosts of `proofs.claims.store`. The code is `impl.reference.store`.
"""

from __future__ import annotations

import z3

from spec.machine import Profile, kept, kept_of_any, outcome, overflows
from spec.sorts import Outcome, Record


def interval(lo: z3.ArithRef | int, hi: z3.ArithRef | int) -> Record:
    """The rows lo..hi-1."""
    return Record(fields={"lo": lo, "hi": hi})


def inside(row: z3.ArithRef, rows: Record) -> z3.BoolRef:
    """`row` is one of `rows` (an interval or a stamped range)."""
    return z3.And(rows.lo <= row, row < rows.hi)


def occupied(rows: Record) -> z3.BoolRef:
    """At least one row is claimed."""
    return rows.lo < rows.hi


def apart(left: Record, right: Record) -> z3.BoolRef:
    """A row that belongs to neither interval lies between them."""
    return z3.Or(left.hi < right.lo, right.hi < left.lo)


def is_hull(hull: Record, left: Record, right: Record) -> z3.BoolRef:
    """`hull` reaches exactly from the first start to the last end."""
    starts = z3.And(hull.lo <= left.lo, hull.lo <= right.lo, z3.Or(hull.lo == left.lo, hull.lo == right.lo))
    ends = z3.And(hull.hi >= left.hi, hull.hi >= right.hi, z3.Or(hull.hi == left.hi, hull.hi == right.hi))
    return z3.And(starts, ends)


def is_interval(rows: Record, other: Record) -> z3.BoolRef:
    """The two have the same ends."""
    return z3.And(rows.lo == other.lo, rows.hi == other.hi)


def owned_by(stamp: Record, gen: z3.ArithRef) -> z3.BoolRef:
    """The range was stamped by generation `gen`; generation 0 owns nothing."""
    return z3.And(gen != 0, stamp.owner == gen)


def visible_to(stamp: Record, reader_gen: z3.ArithRef, result: Record) -> z3.BoolRef:
    """`StoreRange::visible_to`: the owner sees the whole interval, everyone else (0, 0)."""
    return z3.If(owned_by(stamp, reader_gen), is_interval(result, stamp), is_interval(result, interval(0, 0)))


def merge_interval(
    cur: Record, start: z3.ArithRef, count: z3.ArithRef, result: Outcome, profile: Profile = Profile.DEBUG
) -> z3.BoolRef:
    """`merge_interval`: a write that leaves no gap extends an occupied interval; any other write replaces it."""
    write = interval(start, kept(start + count))
    extends = z3.And(occupied(cur), z3.Not(apart(cur, write)))
    merged = z3.If(extends, is_hull(result.value, cur, write), is_interval(result.value, write))
    return outcome(result, profile, overflow=overflows(start + count), value=merged)


def stamped_merge(
    cur: Record,
    writer_gen: z3.ArithRef,
    start: z3.ArithRef,
    count: z3.ArithRef,
    result: Outcome,
    profile: Profile = Profile.DEBUG,
) -> z3.BoolRef:
    """`stamped_merge`: the owner's write merges, anyone else's replaces; the writer owns the result."""
    write = interval(start, kept(start + count))
    merges = merge_interval(cur, start, count, result, profile)
    replaces = outcome(result, profile, overflow=overflows(start + count), value=is_interval(result.value, write))
    stamped = z3.Or(result.panics, result.value.owner == writer_gen)
    return z3.And(stamped, z3.If(owned_by(cur, writer_gen), merges, replaces))


def hidden_row_offset(
    base: z3.ArithRef,
    pos: z3.ArithRef,
    hidden_size: z3.ArithRef,
    result: Outcome,
    profile: Profile = Profile.DEBUG,
) -> z3.BoolRef:
    """`hidden_row_offset`: rows of `hidden_size` two-byte elements lie back to back from `base`."""
    address = base + 2 * (pos * hidden_size)
    return outcome(result, profile, overflow=overflows(address), value=result.value == kept_of_any(address))
