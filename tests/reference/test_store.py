"""The hidden store: hand-worked claims, and a buffer with ghost tags that remembers who really wrote each row."""

from collections import defaultdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from impl.reference import AppendPlan, StoreRange, hidden_row_offset, merge_interval, plan_append, stamped_merge
from tests import strategies
from tests.strategies import Chunk

U64_MAX = 2**64 - 1


@pytest.mark.parametrize(
    ("cur", "start", "count", "after"),
    [
        ((3, 9), 9, 2, (3, 11)),  # touches above
        ((3, 9), 1, 2, (1, 9)),  # touches below
        ((3, 9), 7, 4, (3, 11)),  # overlaps above
        ((3, 9), 1, 4, (1, 9)),  # overlaps below
        ((3, 9), 4, 2, (3, 9)),  # lies inside
        ((3, 9), 0, 20, (0, 20)),  # lies around
        ((3, 4), 3, 1, (3, 4)),  # the same row again
    ],
)
def test_a_write_that_touches_or_overlaps_grows_the_interval(
    cur: tuple[int, int], start: int, count: int, after: tuple[int, int]
) -> None:
    assert merge_interval(cur, start, count) == after


@pytest.mark.parametrize(
    ("cur", "start", "count", "after"),
    [
        ((3, 9), 10, 2, (10, 12)),  # one row beyond
        ((3, 9), 0, 2, (0, 2)),  # one row short
        ((0, 0), 0, 5, (0, 5)),  # nothing claimed yet
        ((5, 5), 5, 2, (5, 7)),  # an empty claim holds no row to join
        ((5, 5), 4, 1, (4, 5)),
        ((9, 3), 4, 2, (4, 6)),  # an inverted claim holds no row either
        ((9, 3), 3, 7, (3, 10)),
    ],
)
def test_a_write_apart_from_the_interval_replaces_it(cur: tuple[int, int], start: int, count: int, after: tuple[int, int]) -> None:
    assert merge_interval(cur, start, count) == after


@pytest.mark.parametrize(("start", "after"), [(2, (2, 2)), (3, (3, 9)), (5, (3, 9)), (9, (3, 9)), (10, (10, 10))])
def test_an_empty_write_leaves_the_interval_only_where_it_touches_it(start: int, after: tuple[int, int]) -> None:
    assert merge_interval((3, 9), start, 0) == after


def test_a_pair_read_from_json_is_as_good_as_a_tuple() -> None:
    assert merge_interval([3, 9], 9, 2) == (3, 11)


def test_an_owner_extends_its_own_claim() -> None:
    claim = StoreRange(owner=7, lo=0, hi=512)
    assert stamped_merge(claim, 7, 512, 512) == StoreRange(owner=7, lo=0, hi=1024)


def test_an_owner_that_leaves_a_gap_keeps_only_the_last_chunk() -> None:
    claim = StoreRange(owner=7, lo=0, hi=512)
    assert stamped_merge(claim, 7, 513, 5) == StoreRange(owner=7, lo=513, hi=518)


@pytest.mark.parametrize("start", [0, 256, 512])
def test_a_foreign_writer_replaces_the_interval(start: int) -> None:
    claim = StoreRange(owner=7, lo=0, hi=512)
    assert stamped_merge(claim, 8, start, 300) == StoreRange(owner=8, lo=start, hi=start + 300)


def test_generation_zero_extends_nothing_not_even_its_own() -> None:
    claim = StoreRange(owner=0, lo=0, hi=512)
    assert stamped_merge(claim, 0, 512, 8) == StoreRange(owner=0, lo=512, hi=520)


def test_a_range_shows_its_rows_to_its_owner_alone() -> None:
    claim = StoreRange(owner=7, lo=3, hi=9)
    assert claim.visible_to(7) == (3, 9)
    assert claim.visible_to(8) == (0, 0)
    assert claim.visible_to(0) == (0, 0)


def test_an_unclaimed_range_shows_nothing_to_anyone() -> None:
    assert StoreRange(owner=0, lo=3, hi=9).visible_to(0) == (0, 0)
    assert StoreRange(owner=0, lo=3, hi=9).visible_to(7) == (0, 0)


def test_empty_claims_nothing() -> None:
    assert StoreRange.EMPTY == StoreRange(owner=0, lo=0, hi=0)


def test_two_sequences_whose_chunks_interleave_read_only_what_the_last_writer_wrote_since() -> None:
    """First writes 0-511, second 0-639, first 512-1023: rows 0-511 now hold the second's states."""
    first, second = 11, 12
    claim = stamped_merge(StoreRange.EMPTY, first, 0, 512)
    claim = stamped_merge(claim, second, 0, 640)
    assert claim.visible_to(second) == (0, 640)
    assert claim.visible_to(first) == (0, 0)
    claim = stamped_merge(claim, first, 512, 512)
    assert claim.visible_to(first) == (512, 1024)
    assert claim.visible_to(second) == (0, 0)
    # The first sequence, warm up to key 399, appends what it can prove to be its own and leaves the gap.
    assert plan_append(399, 1024, *claim.visible_to(first)) == AppendPlan(first_key=512, rows=511)
    assert plan_append(399, 640, *claim.visible_to(second)) is None


@given(strategies.chunk_histories())
@example((0, [Chunk(writer=1, start=0, count=4), Chunk(writer=2, start=0, count=6), Chunk(writer=1, start=4, count=4)]))
@example((0, [Chunk(writer=1, start=0, count=2), Chunk(writer=1, start=3, count=2)]))
@example((0, [Chunk(writer=0, start=0, count=2), Chunk(writer=0, start=2, count=2)]))
def test_every_row_a_reader_sees_was_last_written_by_that_reader(history: tuple[int, list[Chunk]]) -> None:
    origin, chunks = history
    wrote: defaultdict[int, set[int]] = defaultdict(set)  # who last wrote which rows, told by a set per writer
    claim = StoreRange.EMPTY
    for chunk in chunks:
        rows = set(range(chunk.start, chunk.start + chunk.count))
        for others in wrote.values():
            others -= rows
        wrote[chunk.writer] |= rows
        claim = stamped_merge(claim, chunk.writer, chunk.start, chunk.count)
        for reader in (0, 1, 2, 3, 2**63, U64_MAX):
            seen = set(range(*claim.visible_to(reader)))
            assert seen <= (wrote[reader] if reader else set()), (origin, chunk, reader)


@given(strategies.chunk_histories())
def test_the_last_writer_always_sees_at_least_its_last_chunk(history: tuple[int, list[Chunk]]) -> None:
    claim = StoreRange.EMPTY
    for chunk in history[1]:
        claim = stamped_merge(claim, chunk.writer, chunk.start, chunk.count)
        seen = set(range(*claim.visible_to(chunk.writer)))
        assert seen >= (set(range(chunk.start, chunk.start + chunk.count)) if chunk.writer else set())


@given(st.integers(0, 20), st.integers(1, 20), st.integers(0, 20), st.integers(1, 20))
def test_two_islands_are_never_one_interval_and_two_neighbours_always_are(lo: int, length: int, start: int, count: int) -> None:
    before, written = set(range(lo, lo + length)), set(range(start, start + count))
    both = before | written
    in_one_piece = max(both) - min(both) + 1 == len(both)
    assert set(range(*merge_interval((lo, lo + length), start, count))) == (both if in_one_piece else written)


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=8), st.integers(1, U64_MAX))
def test_a_sequence_alone_in_the_store_still_covers_its_whole_prompt(sizes: list[int], gen: int) -> None:
    """Coverage: chunks that follow each other merge, and the append finds every row it needs."""
    claim, end = StoreRange.EMPTY, 0
    for size in sizes:
        claim = stamped_merge(claim, gen, end, size)
        end += size
    assert claim.visible_to(gen) == (0, end)
    if end > 2:
        assert plan_append(0, end, *claim.visible_to(gen)) == AppendPlan(first_key=1, rows=end - 2)


@given(strategies.store_ranges(), strategies.u64())
def test_what_a_range_shows_is_all_of_it_or_nothing(claim: StoreRange, reader: int) -> None:
    expected = (claim.lo, claim.hi) if reader in {claim.owner} - {0} else (0, 0)
    assert claim.visible_to(reader) == expected


@pytest.mark.parametrize(("start", "count"), [(U64_MAX, 0), (0, U64_MAX), (U64_MAX - 5, 5)])
def test_a_chunk_may_end_at_the_last_word(start: int, count: int) -> None:
    assert merge_interval((0, 0), start, count) == (start, U64_MAX)
    assert stamped_merge(StoreRange.EMPTY, 7, start, count) == StoreRange(owner=7, lo=start, hi=U64_MAX)


@pytest.mark.parametrize(("start", "count"), [(U64_MAX, 1), (1, U64_MAX), (U64_MAX - 5, 6), (U64_MAX, U64_MAX)])
def test_a_chunk_that_ends_beyond_the_last_word_overflows_in_every_arm(start: int, count: int) -> None:
    with pytest.raises(OverflowError, match=rf"^merge_interval: start={start} plus count={count} passes 2\*\*64-1; pass"):
        merge_interval((0, U64_MAX), start, count)
    for owner in (0, 7, 8):
        with pytest.raises(OverflowError, match=rf"^stamped_merge: start={start} plus count={count} passes"):
            stamped_merge(StoreRange(owner=owner, lo=0, hi=U64_MAX), 7, start, count)


@given(strategies.u64(), strategies.u64())
def test_a_chunk_overflows_exactly_where_its_end_has_no_word(start: int, count: int) -> None:
    try:
        end = merge_interval((0, 0), start, count)[1]
    except OverflowError:
        assert U64_MAX - start < count
    else:
        assert end - start == count
        assert end <= U64_MAX


@pytest.mark.parametrize(
    ("base", "pos", "hidden_size", "address"),
    [
        (0, 0, 0, 0),
        (4096, 0, 5120, 4096),
        (4096, 1, 5120, 4096 + 10240),
        (0x7F00_0000_0000, 10_097, 5120, 0x7F00_0000_0000 + 103_393_280),
        (5, 0, U64_MAX, 5),
        (5, U64_MAX, 0, 5),
        (0, 2**62, 1, 2**63),
        (1, 2**63 - 1, 1, U64_MAX),
        (0, 1, 2**63 - 1, U64_MAX - 1),
        (U64_MAX, 0, 7, U64_MAX),
        (U64_MAX - 14, 1, 7, U64_MAX),
    ],
)
def test_a_hidden_row_lies_two_bytes_a_value_from_the_base(base: int, pos: int, hidden_size: int, address: int) -> None:
    assert hidden_row_offset(base, pos, hidden_size) == address


@pytest.mark.parametrize(("pos", "hidden_size"), [(2**63, 1), (1, 2**63), (2**32, 2**31), (2**62, 2), (U64_MAX, U64_MAX)])
def test_a_distance_beyond_64_bits_overflows(pos: int, hidden_size: int) -> None:
    message = rf"^hidden_row_offset: base=0 plus pos={pos} times hidden_size={hidden_size} times 2 bytes passes 2\*\*64-1"
    with pytest.raises(OverflowError, match=message):
        hidden_row_offset(0, pos, hidden_size)


@pytest.mark.parametrize(("base", "pos", "hidden_size"), [(U64_MAX, 1, 1), (U64_MAX - 13, 1, 7), (2, 2**63 - 1, 1)])
def test_an_address_beyond_64_bits_overflows(base: int, pos: int, hidden_size: int) -> None:
    message = rf"^hidden_row_offset: base={base} plus pos={pos} times hidden_size={hidden_size} times 2 bytes passes"
    with pytest.raises(OverflowError, match=message):
        hidden_row_offset(base, pos, hidden_size)


@given(strategies.u64(), strategies.u64(), strategies.u64())
def test_a_row_has_an_address_exactly_where_the_sum_fits(base: int, pos: int, hidden_size: int) -> None:
    room = U64_MAX - base
    fits = pos == 0 or hidden_size <= room // 2 // pos
    try:
        address = hidden_row_offset(base, pos, hidden_size)
    except OverflowError:
        assert not fits
    else:
        assert fits
        assert (address - base) % 2 == 0
        assert pos == 0 or divmod((address - base) // 2, pos) == (hidden_size, 0)
