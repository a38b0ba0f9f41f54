"""The graph key: its words by hand, and that it can be read back, so that equal keys mean equal captures."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.reference import verify_batch_order, verify_graph_key
from tests import strategies

Batch = tuple[list[int], list[int]]


def dispatched_key(batch: Batch, canonical: bool, wy_tables_null: bool) -> list[int]:
    order, depths = verify_batch_order(*batch, canonical)
    return verify_graph_key([(batch[0][member], depth) for member, depth in zip(order, depths, strict=True)], wy_tables_null)


@pytest.mark.parametrize(
    ("pairs", "wy_tables_null", "words"),
    [
        ([], False, [4294967295]),
        ([], True, [4294967294]),
        ([(7, 4), (9, 2)], False, [7, 4, 9, 2, 4294967295]),
        ([(7, 4), (9, 2)], True, [7, 4, 9, 2, 4294967294]),
        ([(0, 4294967295), (4294967295, 0)], False, [0, 4294967295, 4294967295, 0, 4294967295]),
        ([[7, 4]], True, [7, 4, 4294967294]),
    ],
)
def test_a_key_is_the_pairs_in_order_and_a_word_for_the_tables(
    pairs: list[tuple[int, int]], wy_tables_null: bool, words: list[int]
) -> None:
    assert verify_graph_key(pairs, wy_tables_null) == words


@pytest.mark.parametrize("pair", [(), (1,), (1, 2, 3)])
def test_an_item_that_is_no_pair_is_refused(pair: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^verify_graph_key: pairs\[1\]=\(.*\) is not a pair; pass \(slot, k\)$"):
        verify_graph_key([(7, 4), pair], False)


@given(strategies.key_batches(), st.booleans())
def test_a_key_can_be_read_back(batch: Batch, wy_tables_null: bool) -> None:
    """Hence different pairs, another order of them, or other tables always give another key."""
    pairs = list(zip(*batch, strict=True))
    *words, sentinel = verify_graph_key(pairs, wy_tables_null)
    assert list(zip(words[::2], words[1::2], strict=True)) == pairs
    assert {2**32 - 1: False, 2**32 - 2: True}[sentinel] == wy_tables_null


@given(strategies.key_batches(), st.booleans(), st.booleans(), st.data())
def test_in_the_canonical_arm_keys_are_equal_exactly_where_slots_depths_and_tables_are(
    one: Batch, one_null: bool, other_null: bool, data: st.DataObject
) -> None:
    other = data.draw(st.one_of(strategies.redealt(one), strategies.key_batches()))
    same_key = dispatched_key(one, True, one_null) == dispatched_key(other, True, other_null)
    same_members = Counter(one[0]) == Counter(other[0]) and Counter(one[1]) == Counter(other[1])
    assert same_key == (same_members and one_null == other_null)


def test_in_the_other_arm_who_gets_which_depth_changes_the_key() -> None:
    assert dispatched_key(([0, 1], [4, 2]), False, False) == [0, 4, 1, 2, 4294967295]
    assert dispatched_key(([0, 1], [2, 4]), False, False) == [1, 4, 0, 2, 4294967295]


@given(strategies.key_batches(), st.data())
def test_in_the_other_arm_the_order_of_arrival_does_not_change_the_key(batch: Batch, data: st.DataObject) -> None:
    members = list(zip(*batch, strict=True))
    arrived = data.draw(st.permutations(members))
    again = ([slot for slot, _ in arrived], [k for _, k in arrived])
    assert dispatched_key(again, False, False) == dispatched_key(batch, False, False)
