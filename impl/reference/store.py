"""The hidden store: which rows of the shared buffer are claimed, by which generation, and where a row lies.

One interval and one owner describe the whole buffer, so a write that neither overlaps nor touches the claim replaces
it, and so does any write of another generation. Generation 0 owns nothing and reads nothing.

Leaves out: the buffer, its capacity, and the rule that a chunk which is empty or too long is never stamped.
Twin: spec/store.py. Source: DESIGN 1a, the hidden store.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from impl.reference.words import U64_MAX, WordRecord, refusal, u64, u64_sequence


@dataclass(frozen=True, kw_only=True)
class StoreRange(WordRecord):
    """The claim that generation `owner` wrote rows lo up to, not including, hi. Words of 64 bits, in any order.

    Source: StoreRange.
    """

    owner: int
    lo: int
    hi: int

    EMPTY: ClassVar["StoreRange"]
    """Nothing claimed, by nobody."""

    def visible_to(self, reader_gen: int) -> tuple[int, int]:
        """Return the interval [lo, hi) that generation reader_gen may read; (0, 0) covers no row.

        Errors: ValueError outside 64 bits. Source: StoreRange::visible_to.
        """
        u64("visible_to", "reader_gen", reader_gen)
        return (self.lo, self.hi) if _same_generation(self.owner, reader_gen) else (0, 0)


StoreRange.EMPTY = StoreRange(owner=0, lo=0, hi=0)


def merge_interval(cur: Sequence[int], start: int, count: int) -> tuple[int, int]:
    """Return the claim [lo, hi) after a write of count rows from start, cur being the claim before it.

    A write that overlaps or touches a claim of at least one row grows it; any other write becomes the claim, since one
    interval over both would also claim the rows between them.

    Errors: ValueError outside 64 bits or where cur is no pair; OverflowError where start + count leaves 64 bits.
    Source: merge_interval.
    """
    bounds = u64_sequence("merge_interval", "cur", cur)
    if len(bounds) != 2:
        raise ValueError(refusal("merge_interval", "cur", cur, "a pair", "(lo, hi)"))
    end = _end_of_chunk("merge_interval", start, count)
    return _merged(bounds[0], bounds[1], start, end)


def stamped_merge(cur: StoreRange, writer_gen: int, start: int, count: int) -> StoreRange:
    """Return the claim after generation writer_gen wrote count rows from start, cur being the claim before it.

    The writer's own claim grows as in merge_interval; a claim of anybody else, or of nobody, gives way to the write.

    Errors: ValueError outside the domain; OverflowError where start + count leaves 64 bits. Source: stamped_merge.
    """
    if not isinstance(cur, StoreRange):
        raise ValueError(refusal("stamped_merge", "cur", cur, "a StoreRange", "StoreRange(owner=, lo=, hi=)"))
    u64("stamped_merge", "writer_gen", writer_gen)
    end = _end_of_chunk("stamped_merge", start, count)
    lo, hi = _merged(cur.lo, cur.hi, start, end) if _same_generation(cur.owner, writer_gen) else (start, end)
    return StoreRange(owner=writer_gen, lo=lo, hi=hi)


def hidden_row_offset(base: int, pos: int, hidden_size: int) -> int:
    """Return the address of hidden row pos: base plus pos rows of hidden_size values of two bytes.

    Errors: ValueError outside 64 bits; OverflowError where the address leaves 64 bits.
    Source: hidden_row_offset.
    """
    u64("hidden_row_offset", "base", base)
    u64("hidden_row_offset", "pos", pos)
    u64("hidden_row_offset", "hidden_size", hidden_size)
    address = base + pos * hidden_size * 2
    if address > U64_MAX:
        raise OverflowError(
            f"hidden_row_offset: base={base} plus pos={pos} times hidden_size={hidden_size} times 2 bytes "
            "passes 2**64-1; pass a row inside the store"
        )
    return address


def _same_generation(owner: int, other: int) -> bool:
    return owner == other != 0


def _end_of_chunk(function: str, start: int, count: int) -> int:
    u64(function, "start", start)
    u64(function, "count", count)
    if start + count > U64_MAX:
        raise OverflowError(f"{function}: start={start} plus count={count} passes 2**64-1; pass a chunk that ends inside the store")
    return start + count


def _merged(lo: int, hi: int, start: int, end: int) -> tuple[int, int]:
    # A claim without rows (hi <= lo) needs no case of its own: a write that meets both its ends covers it.
    touches = start <= hi and lo <= end
    return (min(lo, start), max(hi, end)) if touches else (start, end)
