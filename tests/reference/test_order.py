"""The dispatch order: the one permutation, out of all, that the rule allows; and what the deal does to the keys."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, pairwise, permutations, product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.reference import verify_batch_order, verify_batch_permutation, verify_graph_key
from tests import strategies

Batch = tuple[list[int], list[int]]
NO_SLOT = 2**64 - 1


def before_by_slot(batch: Batch, a: int, b: int) -> bool:
    slots, _ = batch
    return slots[a] < slots[b] or (slots[a] == slots[b] and a < b)


def before_by_depth(batch: Batch, a: int, b: int) -> bool:
    _, ks = batch
    return ks[a] > ks[b] or (ks[a] == ks[b] and before_by_slot(batch, a, b))


def only_order(batch: Batch, before: Callable[[Batch, int, int], bool]) -> list[int]:
    """Find, among all permutations, those in which every member stands before its successor; there must be one."""
    fitting = [order for order in permutations(range(len(batch[0]))) if all(before(batch, a, b) for a, b in pairwise(order))]
    assert len(fitting) == 1
    return list(fitting[0])


def runs(depths: Sequence[int]) -> list[tuple[int, int]]:
    """The launch structure: (depth, length) of every maximal run."""
    found: list[tuple[int, int]] = []
    for depth in depths:
        if found and found[-1][0] == depth:
            found[-1] = (depth, found[-1][1] + 1)
        else:
            found.append((depth, 1))
    return found


def test_the_canonical_arm_orders_by_slot_and_deals_the_depths_deepest_first() -> None:
    slots, ks = [5, 3, 9, 1], [2, 4, 3, 2]
    assert verify_batch_permutation(slots, ks, True) == [3, 1, 0, 2]
    assert verify_batch_order(slots, ks, True) == ([3, 1, 0, 2], [4, 3, 2, 2])


def test_the_other_arm_orders_deepest_first_and_leaves_each_member_its_depth() -> None:
    slots, ks = [5, 3, 9, 1], [2, 4, 3, 2]
    assert verify_batch_permutation(slots, ks, False) == [1, 2, 3, 0]
    assert verify_batch_order(slots, ks, False) == ([1, 2, 3, 0], [4, 3, 2, 2])


def test_members_without_a_slot_come_last_in_the_order_they_arrived() -> None:
    slots, ks = [NO_SLOT, 2, NO_SLOT, 0], [4, 2, 2, 3]
    assert verify_batch_order(slots, ks, True) == ([3, 1, 0, 2], [4, 3, 2, 2])
    assert verify_batch_order(slots, [3, 3, 3, 3], False) == ([3, 1, 0, 2], [3, 3, 3, 3])


@pytest.mark.parametrize("canonical", [True, False])
def test_an_empty_batch_has_an_empty_order(canonical: bool) -> None:
    assert verify_batch_permutation([], [], canonical) == []
    assert verify_batch_order([], [], canonical) == ([], [])


@pytest.mark.parametrize(("slots", "ks"), [([1], []), ([], [1]), ([1, 2], [3]), ([1], [2, 3])])
@pytest.mark.parametrize("canonical", [True, False])
def test_a_batch_with_unequal_lengths_is_refused(slots: list[int], ks: list[int], canonical: bool) -> None:
    for function in (verify_batch_permutation, verify_batch_order):
        message = f"^{function.__name__}: slots has {len(slots)} items and ks has {len(ks)}; pass one of each per member$"
        with pytest.raises(ValueError, match=message):
            function(slots, ks, canonical)


def test_every_small_batch_has_the_one_order_that_the_rule_allows() -> None:
    for n in range(4):
        for slots, ks in product(product((0, 1, NO_SLOT), repeat=n), product((2, 3), repeat=n)):
            batch = (list(slots), list(ks))
            assert verify_batch_permutation(*batch, True) == only_order(batch, before_by_slot)
            assert verify_batch_permutation(*batch, False) == only_order(batch, before_by_depth)


@given(strategies.batches(max_size=5))
def test_a_batch_of_any_words_has_the_one_order_that_the_rule_allows(batch: Batch) -> None:
    assert verify_batch_permutation(*batch, True) == only_order(batch, before_by_slot)
    assert verify_batch_permutation(*batch, False) == only_order(batch, before_by_depth)


@given(strategies.batches(), st.booleans())
def test_the_order_is_a_permutation_and_the_depths_are_the_same_rows(batch: Batch, canonical: bool) -> None:
    slots, ks = batch
    order, depths = verify_batch_order(slots, ks, canonical)
    assert order == verify_batch_permutation(slots, ks, canonical)
    assert set(order) == set(range(len(slots)))
    assert len(order) == len(slots)
    assert Counter(depths) == Counter(ks)
    assert sum(depths) == sum(ks)


@given(strategies.batches())
def test_the_canonical_arm_never_deepens_along_slots_that_never_fall(batch: Batch) -> None:
    order, depths = verify_batch_order(*batch, True)
    dispatched = [batch[0][member] for member in order]
    assert all(a <= b for a, b in pairwise(dispatched))
    assert all(a >= b for a, b in pairwise(depths))
    assert len(runs(depths)) == len(set(depths))


@given(strategies.batches())
def test_the_other_arm_leaves_every_member_its_depth_and_every_run_its_slots_in_order(batch: Batch) -> None:
    slots, ks = batch
    order, depths = verify_batch_order(slots, ks, False)
    assert depths == [ks[member] for member in order]
    assert len(runs(depths)) == len(set(ks))
    for a, b in pairwise(order):
        assert ks[a] > ks[b] or (ks[a] == ks[b] and (slots[a], a) < (slots[b], b))


@given(strategies.batches(), st.data())
def test_ordering_a_chunk_of_a_canonical_batch_again_changes_nothing(batch: Batch, data: st.DataObject) -> None:
    order, depths = verify_batch_order(*batch, True)
    slots = [batch[0][member] for member in order]
    first = data.draw(st.integers(0, len(slots)))
    end = data.draw(st.integers(first, len(slots)))
    chunk = (slots[first:end], depths[first:end])
    assert verify_batch_order(*chunk, True) == (list(range(end - first)), depths[first:end])


@given(strategies.batches(), strategies.depths())
def test_uniform_depths_make_the_arms_agree(batch: Batch, depth: int) -> None:
    slots = batch[0]
    uniform = [depth] * len(slots)
    assert verify_batch_order(slots, uniform, True) == verify_batch_order(slots, uniform, False)


def keys_of(arrangements: Sequence[Sequence[int]], canonical: bool) -> set[tuple[int, ...]]:
    """The distinct graph keys of a full batch on slots 0, 1, 2, ... over all given deals of the depths."""
    keys = set()
    for ks in arrangements:
        order, depths = verify_batch_order(range(len(ks)), ks, canonical)
        keys.add(tuple(verify_graph_key(list(zip(order, depths, strict=True)), False)))
    return keys


@pytest.mark.parametrize(
    ("n", "arrangements", "canonical"),
    [(2, 2, 1), (3, 3, 1), (4, 10, 2), (5, 15, 2), (6, 50, 2), (7, 77, 2), (8, 266, 3)],
)
def test_the_planner_makes_as_many_keys_as_the_engine_counts(n: int, arrangements: int, canonical: int) -> None:
    """Depths 2 to 4; of the 2n rows beyond the second, 3/4 are kept, rounded half up.

    At width 7 two multisets remain: 42 arrangements of one 2, one 3, five 4s, and 35 of three 3s, four 4s.
    """
    kept = (3 * 2 * n + 2) // 4
    dealt = [ks for ks in product((2, 3, 4), repeat=n) if sum(ks) - 2 * n == kept]
    assert len(dealt) == arrangements
    assert len(keys_of(dealt, False)) == arrangements
    assert len(keys_of(dealt, True)) == canonical


def test_the_canonical_keys_at_width_eight_are_the_engines_three_multisets() -> None:
    dealt = [ks for ks in product((2, 3, 4), repeat=8) if sum(ks) - 16 == 12]
    multisets = [tuple(Counter(words[1::2])[depth] for depth in (2, 3, 4)) for words in keys_of(dealt, True)]
    assert sorted(multisets) == [(0, 4, 4), (1, 2, 5), (2, 0, 6)]


def test_all_deals_of_three_depths_to_eight_members_fall_from_6561_keys_to_45() -> None:
    dealt = list(product((2, 3, 4), repeat=8))
    assert len(dealt) == 6561
    assert len(keys_of(dealt, False)) == 6561
    assert len(keys_of(dealt, True)) == len(list(combinations_with_replacement((2, 3, 4), 8))) == comb(10, 2) == 45
