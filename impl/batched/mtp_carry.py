"""The hidden store, the carried rows and the append over batches: one row of every array is one case.

Arrays of words are uint64 and flags bool; they broadcast, and a Python number stands for all rows. Results have the
broadcast shape. Calls on CuPy arrays run on the current stream and never synchronise (a Python number is copied to the
device); calls on NumPy arrays return when done.

Leaves out: blocks, outcomes and thresholds, which have no batch. Source: DESIGN 1a; mtp_carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from impl.batched.arrays import U64_MAX, Status, batch, place_of
from impl.batched.ragged import Ragged

# From this mean length on a pair of rows is worth a whole block of threads.
LONG_ROWS = 4096
# Smaller blocks waste less where rows differ early; much smaller ones leave too little in flight for each row.
_LONG_BLOCK, _SHORT_BLOCK = 128, 64


@dataclass(frozen=True, kw_only=True)
class StoreRanges:
    """Claims that generation owner wrote rows lo to hi - 1. uint64 arrays that broadcast. Source: StoreRange."""

    owner: Any
    lo: Any
    hi: Any


@dataclass(frozen=True, kw_only=True)
class CarriedDrafters:
    """Carried entries, one per row. Source: CarriedDrafter.

    rows, last_pair_key, session_hash: uint64 of shape (n,). key_known: bool of shape (n,), False where the entry has no
    last key; what last_pair_key holds there is not looked at. tokens: Ragged of n rows of uint32.
    """

    rows: Any
    last_pair_key: Any
    key_known: Any
    tokens: Ragged
    session_hash: Any


@dataclass(frozen=True, kw_only=True)
class UsableRows:
    """How much of each entry may be adopted: status OK or NONE (uint8), rows and last_pair_key (uint64)."""

    status: Any
    rows: Any
    last_pair_key: Any


@dataclass(frozen=True, kw_only=True)
class AppendPlans:
    """What to append: status OK, NONE or OVERFLOW (uint8), first_key and rows (uint64). Source: AppendPlan."""

    status: Any
    first_key: Any
    rows: Any


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Merged intervals [lo, hi): status OK or OVERFLOW (uint8), lo and hi (uint64)."""

    status: Any
    lo: Any
    hi: Any


@dataclass(frozen=True, kw_only=True)
class StoreRangesOrOverflow:
    """Stamped claims: status OK or OVERFLOW (uint8), owner, lo and hi (uint64)."""

    status: Any
    owner: Any
    lo: Any
    hi: Any


@dataclass(frozen=True, kw_only=True)
class Pointers:
    """Addresses in bytes: status OK or OVERFLOW (uint8), pointer (uint64)."""

    status: Any
    pointer: Any


def common_prefix_len(tokens: Ragged, prompt: Ragged) -> Any:
    """Return how many leading tokens each pair of rows shares: uint64 of shape (n,).

    Both: n rows of uint32. Errors: TypeError, ValueError for other types or row counts. Source:
    CarriedDrafter::common_prefix_len.
    """
    place = place_of("common_prefix_len", tokens=tokens.data, prompt=prompt.data)
    for name, rows in (("tokens", tokens), ("prompt", prompt)):
        if rows.data.dtype != np.uint32 or rows.data.ndim != 1:
            raise TypeError(f"common_prefix_len: {name} holds {rows.data.dtype}; pass rows of uint32 tokens")
    if tokens.rows != prompt.rows:
        raise ValueError(f"common_prefix_len: tokens has {tokens.rows} rows and prompt {prompt.rows}; pass as many of each")
    if place.kernels is None:
        return _common_prefix_len(tokens, prompt)
    length = place.xp.empty(tokens.rows, np.uint64)
    if tokens.rows:
        arguments = (tokens.rows, tokens.data, tokens.offsets, prompt.data, prompt.offsets, length)
        if place.xp is np:
            place.kernels.launch("common_prefix_len", tokens.rows, *arguments)
        elif min(tokens.total, prompt.total) >= LONG_ROWS * tokens.rows:
            place.kernels.launch("common_prefix_len_long", tokens.rows * _LONG_BLOCK, *arguments, block=_LONG_BLOCK)
        else:
            place.kernels.launch("common_prefix_len_short", tokens.rows * 8, *arguments, block=_SHORT_BLOCK)
    return length


def _common_prefix_len(tokens: Ragged, prompt: Ragged) -> Any:
    shorter = np.minimum(tokens.lengths, prompt.lengths)
    answer = shorter.copy()
    # Rows are taken a few at a time, so that what is gathered stays small beside the rows themselves.
    ends = np.cumsum(shorter)
    first = 0
    while first < len(shorter):
        done = ends[first - 1] if first else np.uint64(0)
        last = max(int(np.searchsorted(ends, done + np.uint64(1 << 22), "right")), first + 1)
        rows = slice(first, last)
        length = shorter[rows]
        stops = np.cumsum(length)
        starts = stops - length
        row_of = np.repeat(np.arange(last - first), length.astype(np.int64))
        column = np.arange(int(stops[-1]), dtype=np.uint64) - starts[row_of]
        mine = tokens.data[tokens.offsets[rows][row_of] + column]
        theirs = prompt.data[prompt.offsets[rows][row_of] + column]
        differing = np.append(np.flatnonzero(mine != theirs).astype(np.uint64), np.uint64(U64_MAX))
        nearest = differing[np.searchsorted(differing, starts)]
        answer[rows] = np.where(nearest < stops, nearest - starts, length)
        first = last
    return answer


def session_matches(entry_session: Any, session_hash: Any) -> Any:
    """Return where session_hash is known and made the entry: bool. 0 is unknown. uint64 arguments.

    Errors: TypeError, ValueError as impl.batched says. Source: CarriedDrafter::session_matches.
    """
    place, shape, (entry, session) = batch("session_matches", words={"entry_session": entry_session, "session_hash": session_hash})
    if place.kernels is None:
        return _session_matches(entry, session)
    matches = place.xp.empty(shape, np.bool_)
    _launch(place, "session_matches", (entry, session), (matches,))
    return matches


def _session_matches(entry: Any, session: Any) -> Any:
    return (session != 0) & (entry == session)


def usable_by(entries: CarriedDrafters, prompt: Ragged, session_hash: Any) -> UsableRows:
    """Return how much of entry i prompt i may adopt in session session_hash[i].

    prompt: n rows of uint32; session_hash: uint64 of shape (n,), or one number. Errors: TypeError, ValueError as
    impl.batched says. Source: CarriedDrafter::usable_by.
    """
    common = common_prefix_len(entries.tokens, prompt)
    place, shape, (rows, last_key, entry, common, session, known) = batch(
        "usable_by",
        words={
            "rows": entries.rows,
            "last_pair_key": entries.last_pair_key,
            "entry_session": entries.session_hash,
            "common": common,
            "session_hash": session_hash,
        },
        flags={"key_known": entries.key_known},
    )
    if shape != common.shape:
        raise ValueError(f"usable_by: fields of shape {shape} for {prompt.rows} prompts; pass shape ({prompt.rows},)")
    if place.kernels is None:
        possible = _session_matches(entry, session) & known & (common >= 2)
        key = np.minimum(last_key, np.where(possible, common - 2, 0))
        dropped = last_key - key
        ok = possible & (rows > dropped)
        return UsableRows(
            status=np.where(ok, Status.OK, Status.NONE).astype(np.uint8),
            rows=np.where(ok, rows - dropped, 0),
            last_pair_key=np.where(ok, key, 0),
        )
    result = UsableRows(
        status=place.xp.empty(shape, np.uint8),
        rows=place.xp.empty(shape, np.uint64),
        last_pair_key=place.xp.empty(shape, np.uint64),
    )
    _launch(
        place,
        "usable_by",
        (rows, last_key, known, entry, common, session),
        (result.status, result.rows, result.last_pair_key),
    )
    return result


def plan_append(last_pair_key: Any, prompt_len: Any, hidden_lo: Any, hidden_hi: Any) -> AppendPlans:
    """Return what to append after key last_pair_key, given readable hidden rows [hidden_lo, hidden_hi). uint64.

    OVERFLOW where last_pair_key has no successor, unless the prompt has no key. Errors: TypeError, ValueError as
    impl.batched says. Source: plan_append.
    """
    place, shape, (last_key, length, lo, hi) = batch(
        "plan_append",
        words={
            "last_pair_key": last_pair_key,
            "prompt_len": prompt_len,
            "hidden_lo": hidden_lo,
            "hidden_hi": hidden_hi,
        },
    )
    if place.kernels is None:
        has_key = length >= 2
        overflow = has_key & (last_key == U64_MAX)
        needed = np.where(has_key, length - 2, 0)
        first = np.maximum(last_key + 1, lo)
        ok = has_key & ~overflow & (first <= needed) & (needed < hi)
        status = np.where(ok, Status.OK, np.where(overflow, Status.OVERFLOW, Status.NONE))
        return AppendPlans(
            status=status.astype(np.uint8),
            first_key=np.where(ok, first, 0),
            rows=np.where(ok, needed - first + 1, 0),
        )
    result = AppendPlans(
        status=place.xp.empty(shape, np.uint8),
        first_key=place.xp.empty(shape, np.uint64),
        rows=place.xp.empty(shape, np.uint64),
    )
    _launch(place, "plan_append", (last_key, length, lo, hi), (result.status, result.first_key, result.rows))
    return result


def hidden_row_offset(base: Any, pos: Any, hidden_size: Any) -> Pointers:
    """Return the address of hidden row pos, two bytes an element, hidden_size elements a row, from base. uint64.

    OVERFLOW where a product or the sum leaves 64 bits. Errors: TypeError, ValueError as impl.batched says. Source:
    hidden_row_offset.
    """
    place, shape, (base, pos, size) = batch("hidden_row_offset", words={"base": base, "pos": pos, "hidden_size": hidden_size})
    if place.kernels is None:
        most = (U64_MAX - base) // 2  # elements that fit between base and the top
        fits = (size == 0) | (pos <= most // np.maximum(size, 1))
        return Pointers(
            status=np.where(fits, Status.OK, Status.OVERFLOW).astype(np.uint8),
            pointer=np.where(fits, base + pos * size * 2, 0),
        )
    result = Pointers(status=place.xp.empty(shape, np.uint8), pointer=place.xp.empty(shape, np.uint64))
    _launch(place, "hidden_row_offset", (base, pos, size), (result.status, result.pointer))
    return result


def visible_to(ranges: StoreRanges, reader_gen: Any) -> tuple[Any, Any]:
    """Return the intervals (lo, hi) that generation reader_gen may read; (0, 0) covers no row. uint64.

    Errors: TypeError, ValueError as impl.batched says. Source: StoreRange::visible_to.
    """
    place, shape, (owner, lo, hi, reader) = batch(
        "visible_to", words={"owner": ranges.owner, "lo": ranges.lo, "hi": ranges.hi, "reader_gen": reader_gen}
    )
    if place.kernels is None:
        own = (reader != 0) & (owner == reader)
        return np.where(own, lo, 0), np.where(own, hi, 0)
    seen = place.xp.empty(shape, np.uint64), place.xp.empty(shape, np.uint64)
    _launch(place, "visible_to", (owner, lo, hi, reader), seen)
    return seen


def merge_interval(cur: tuple[Any, Any], start: Any, count: Any) -> Intervals:
    """Return intervals cur = (lo, hi) after a write of [start, start + count): extended, or replaced at a gap. uint64.

    OVERFLOW where start + count leaves 64 bits. Errors: TypeError, ValueError as impl.batched says. Source:
    merge_interval.
    """
    place, shape, (lo, hi, start, count) = batch(
        "merge_interval", words={"lo": cur[0], "hi": cur[1], "start": start, "count": count}
    )
    if place.kernels is None:
        overflow, merged_lo, merged_hi = _merge(lo, hi, start, count)
        return Intervals(status=_overflow_status(overflow), lo=merged_lo, hi=merged_hi)
    result = Intervals(
        status=place.xp.empty(shape, np.uint8),
        lo=place.xp.empty(shape, np.uint64),
        hi=place.xp.empty(shape, np.uint64),
    )
    _launch(place, "merge_interval", (lo, hi, start, count), (result.status, result.lo, result.hi))
    return result


def _merge(lo: Any, hi: Any, start: Any, count: Any) -> tuple[Any, Any, Any]:
    end = start + count
    overflow = count > U64_MAX - start
    extends = (hi > lo) & (start <= hi) & (end >= lo)
    merged_lo = np.where(extends, np.minimum(lo, start), start)
    merged_hi = np.where(extends, np.maximum(hi, end), end)
    return overflow, np.where(overflow, 0, merged_lo), np.where(overflow, 0, merged_hi)


def _overflow_status(overflow: Any) -> Any:
    return np.where(overflow, Status.OVERFLOW, Status.OK).astype(np.uint8)


def stamped_merge(cur: StoreRanges, writer_gen: Any, start: Any, count: Any) -> StoreRangesOrOverflow:
    """Return claims cur after generation writer_gen wrote [start, start + count): its own merges, others go. uint64.

    OVERFLOW where start + count leaves 64 bits. Errors: TypeError, ValueError as impl.batched says. Source:
    stamped_merge.
    """
    place, shape, (owner, lo, hi, writer, start, count) = batch(
        "stamped_merge",
        words={
            "owner": cur.owner,
            "lo": cur.lo,
            "hi": cur.hi,
            "writer_gen": writer_gen,
            "start": start,
            "count": count,
        },
    )
    if place.kernels is None:
        own = (owner != 0) & (owner == writer)
        overflow, merged_lo, merged_hi = _merge(lo, hi, start, count)
        replaced = own | overflow
        return StoreRangesOrOverflow(
            status=_overflow_status(overflow),
            owner=np.where(overflow, 0, writer),
            lo=np.where(replaced, merged_lo, start),
            hi=np.where(replaced, merged_hi, start + count),
        )
    result = StoreRangesOrOverflow(
        status=place.xp.empty(shape, np.uint8),
        owner=place.xp.empty(shape, np.uint64),
        lo=place.xp.empty(shape, np.uint64),
        hi=place.xp.empty(shape, np.uint64),
    )
    _launch(
        place,
        "stamped_merge",
        (owner, lo, hi, writer, start, count),
        (result.status, result.owner, result.lo, result.hi),
    )
    return result


def carry_armed_with(carry: Any, multi_seq: Any) -> Any:
    """Return where the carry is live: configured, and one sequence is dispatched at a time. bool arguments and result.

    carry is the field of the configuration that decides. Errors: TypeError, ValueError as impl.batched says. Source:
    carry_armed_with.
    """
    place, shape, (configured, several) = batch("carry_armed_with", words={}, flags={"carry": carry, "multi_seq": multi_seq})
    if place.kernels is None:
        return configured & ~several
    live = place.xp.empty(shape, np.bool_)
    _launch(place, "carry_armed_with", (configured, several), (live,))
    return live


def _launch(place: Any, name: str, arguments: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    size = results[0].size
    if size:
        place.kernels.launch(name, size, size, *arguments, *results)
