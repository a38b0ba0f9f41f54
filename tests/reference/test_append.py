"""The append plan: every small case against a listing of keys, and the corners of 64 bits by hand."""

from itertools import product

import pytest
from hypothesis import given

from impl.reference import AppendPlan, StoreRange, plan_append
from tests import strategies

U64_MAX = 2**64 - 1


def listed(last_pair_key: int, prompt_len: int, hidden_lo: int, hidden_hi: int) -> AppendPlan | None:
    """Write down the keys that are new and not below the readable rows; refuse if one of them has no readable row."""
    keys = [key for key in range(prompt_len - 1) if key > last_pair_key and key >= hidden_lo]
    if not keys or not set(keys) <= set(range(hidden_lo, hidden_hi)):
        return None
    return AppendPlan(first_key=keys[0], rows=len(keys))


def test_every_small_plan_is_the_listing_of_its_keys() -> None:
    for last, length, lo, hi in product(range(7), range(9), range(9), range(9)):
        assert plan_append(last, length, lo, hi) == listed(last, length, lo, hi), (last, length, lo, hi)


@pytest.mark.parametrize(
    ("last", "length", "lo", "hi", "first_key", "rows"),
    [
        (4, 10, 0, 9, 5, 4),  # keys 5 to 8
        (4, 10, 5, 9, 5, 4),  # the rows begin just where they are needed
        (4, 10, 7, 9, 7, 2),  # the rows begin later: keys 5 and 6 are left out
        (7, 10, 0, 9, 8, 1),  # the last key alone
        (10_093, 10_098, 0, 10_097, 10_094, 3),  # a turn whose last three tokens were re-tokenised
        (0, U64_MAX, 0, U64_MAX - 1, 1, U64_MAX - 2),
        (U64_MAX - 3, U64_MAX, 0, U64_MAX, U64_MAX - 2, 1),
    ],
)
def test_a_plan_runs_from_the_first_key_it_can_feed_to_the_last_of_the_prompt(
    last: int, length: int, lo: int, hi: int, first_key: int, rows: int
) -> None:
    assert plan_append(last, length, lo, hi) == AppendPlan(first_key=first_key, rows=rows)


@pytest.mark.parametrize(
    ("last", "length", "lo", "hi"),
    [
        (8, 10, 0, 99),  # the prompt's last key is already there
        (9, 10, 0, 99),  # and more than that
        (4, 10, 9, 99),  # the readable rows begin beyond the last key
        (4, 10, 0, 8),  # and end one row short of it
        (4, 10, 0, 0),  # nothing is readable
        (4, 10, 9, 5),  # an inverted interval reads nothing
        (0, 0, 0, 99),  # no token
        (0, 1, 0, 99),  # one token has no pair
        (0, 2, 0, 99),  # its one pair is key 0
        (0, U64_MAX, 0, U64_MAX - 2),
        (U64_MAX - 2, U64_MAX, 0, U64_MAX),
        (U64_MAX - 1, U64_MAX, 0, U64_MAX),
    ],
)
def test_nothing_is_appended_where_nothing_is_missing_or_it_cannot_be_read(last: int, length: int, lo: int, hi: int) -> None:
    assert plan_append(last, length, lo, hi) is None


@pytest.mark.parametrize("length", [2, 3, U64_MAX])
@pytest.mark.parametrize(("lo", "hi"), [(0, 0), (0, U64_MAX), (U64_MAX, 0)])
def test_a_last_key_without_successor_overflows(length: int, lo: int, hi: int) -> None:
    message = r"^plan_append: last_pair_key=18446744073709551615 leaves no next key; pass a key below 2\*\*64-1$"
    with pytest.raises(OverflowError, match=message):
        plan_append(U64_MAX, length, lo, hi)


@pytest.mark.parametrize("length", [0, 1])
def test_a_prompt_without_keys_is_settled_before_the_next_key_is_formed(length: int) -> None:
    assert plan_append(U64_MAX, length, 0, U64_MAX) is None


@given(strategies.u64(), strategies.u64(), strategies.intervals())
def test_a_plan_is_new_contiguous_to_the_end_and_fed_by_readable_rows(last: int, length: int, rows: tuple[int, int]) -> None:
    lo, hi = rows
    if last == U64_MAX and length >= 2:
        with pytest.raises(OverflowError):
            plan_append(last, length, lo, hi)
        return
    plan = plan_append(last, length, lo, hi)
    if plan is None:
        # The twin: refused only where no key is missing above lo, or the last key's row cannot be read.
        assert max(last + 1, lo) > length - 2 or hi <= length - 2
    else:
        final = plan.first_key + plan.rows - 1
        assert plan.rows >= 1
        assert last < plan.first_key
        assert final == length - 2
        assert lo <= plan.first_key
        assert final < hi
        assert plan.first_key == last + 1 or plan.first_key == lo  # nothing is left out that could be fed


@given(strategies.store_ranges(), strategies.generations(), strategies.u64(), strategies.u64())
def test_an_append_through_the_store_reads_only_the_readers_own_rows(
    claim: StoreRange, reader: int, last: int, length: int
) -> None:
    last = min(last, U64_MAX - 1)
    plan = plan_append(last, length, *claim.visible_to(reader))
    if plan is not None:
        assert reader != 0
        assert claim.owner == reader
        assert claim.lo <= plan.first_key
        assert plan.first_key + plan.rows <= claim.hi
