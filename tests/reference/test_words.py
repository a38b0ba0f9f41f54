"""The domain: every argument of every function refuses what is no word, and says which argument it was."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import impl.reference as reference
from impl.reference import (
    Adopted,
    AppendPlan,
    CarriedDrafter,
    DrafterContext,
    ForeignHiddens,
    ForeignSession,
    PrefixMismatch,
    StoreRange,
)
from impl.reference.words import parse_usize
from tests import strategies

ENTRY: dict[str, Any] = {"block_table": [1], "rows": 1, "last_pair_key": 0, "tokens": [1, 2], "session_hash": 7}
RANGE = StoreRange(owner=7, lo=3, hi=9)
CONTEXT = DrafterContext(prefill=True, carry=False)

# Every public callable with valid arguments, and the arguments in it that hold one word of 64 bits ("w"), a list of
# such ("W"), a list of words of 32 bits ("T"), or a flag ("f").
CALLS: list[tuple[str, Callable[..., object], dict[str, Any], dict[str, str]]] = [
    ("StoreRange", StoreRange, {"owner": 7, "lo": 3, "hi": 9}, {"owner": "w", "lo": "w", "hi": "w"}),
    ("visible_to", RANGE.visible_to, {"reader_gen": 7}, {"reader_gen": "w"}),
    (
        "merge_interval",
        reference.merge_interval,
        {"cur": [3, 9], "start": 9, "count": 2},
        {"cur": "W", "start": "w", "count": "w"},
    ),
    (
        "stamped_merge",
        reference.stamped_merge,
        {"cur": RANGE, "writer_gen": 7, "start": 9, "count": 2},
        {"writer_gen": "w", "start": "w", "count": "w"},
    ),
    (
        "hidden_row_offset",
        reference.hidden_row_offset,
        {"base": 0, "pos": 0, "hidden_size": 0},
        {"base": "w", "pos": "w", "hidden_size": "w"},
    ),
    ("AppendPlan", AppendPlan, {"first_key": 1, "rows": 1}, {"first_key": "w", "rows": "w"}),
    (
        "plan_append",
        reference.plan_append,
        {"last_pair_key": 0, "prompt_len": 1, "hidden_lo": 0, "hidden_hi": 0},
        {"last_pair_key": "w", "prompt_len": "w", "hidden_lo": "w", "hidden_hi": "w"},
    ),
    (
        "CarriedDrafter",
        CarriedDrafter,
        ENTRY,
        {"block_table": "T", "rows": "w", "last_pair_key": "w", "tokens": "T", "session_hash": "w"},
    ),
    ("common_prefix_len", CarriedDrafter(**ENTRY).common_prefix_len, {"prompt": [1, 2]}, {"prompt": "T"}),
    ("session_matches", CarriedDrafter(**ENTRY).session_matches, {"session_hash": 7}, {"session_hash": "w"}),
    (
        "usable_by",
        CarriedDrafter(**ENTRY).usable_by,
        {"prompt": [1, 2], "session_hash": 8},
        {"prompt": "T", "session_hash": "w"},
    ),
    ("DrafterContext", DrafterContext, {"prefill": True, "carry": True}, {"prefill": "f", "carry": "f"}),
    ("carry_armed_with", reference.carry_armed_with, {"cfg": CONTEXT, "multi_seq": False}, {"multi_seq": "f"}),
    ("set_marconi_min_tokens", reference.MarconiThreshold().set_marconi_min_tokens, {"v": 1}, {"v": "w"}),
    (
        "Adopted",
        Adopted,
        {"rows": 1, "appended": 1, "first_key": 1},
        {"rows": "w", "appended": "w", "first_key": "w"},
    ),
    ("PrefixMismatch", PrefixMismatch, {"common": 1, "entry_rows": 1}, {"common": "w", "entry_rows": "w"}),
    ("ForeignHiddens", ForeignHiddens, {"owner": 1, "expected": 1}, {"owner": "w", "expected": "w"}),
    (
        "ForeignSession",
        ForeignSession,
        {"entry_session": 1, "prompt_session": 1},
        {"entry_session": "w", "prompt_session": "w"},
    ),
    *(
        (
            function.__name__,
            function,
            {"slots": [5], "ks": [2], "canonical": True},
            {"slots": "W", "ks": "W", "canonical": "f"},
        )
        for function in (reference.verify_batch_permutation, reference.verify_batch_order)
    ),
    (
        "verify_graph_key",
        reference.verify_graph_key,
        {"pairs": [(5, 2)], "wy_tables_null": False},
        {"wy_tables_null": "f"},
    ),
    (
        "canonical_assignment_at",
        reference.canonical_assignment_at,
        {"n": 8, "min_width": 8, "kill_switch_clear": False},
        {"n": "w", "min_width": "w", "kill_switch_clear": "f"},
    ),
    ("canonical_assignment", reference.canonical_assignment, {"n": 8, "env": {}}, {"n": "w"}),
]

BAD_WORDS = [-1, 2**64, True, 1.0, "1", [1], np.int64(1), np.uint64(1), np.True_]
NOT_SEQUENCES = [b"12", "12", {1: 2}, 12, None, iter([1]), np.array([1, 2])]
U64_RULE = "is not an unsigned 64-bit integer; pass an int from 0 to 2**64-1"
U32_RULE = "is not an unsigned 32-bit integer; pass an int from 0 to 2**32-1"
SEQUENCE_RULE = "is not a sequence of integers; pass a list, tuple or range of int"
FLAG_RULE = "is not a bool; pass True or False"


def beginning(value: object) -> str:
    """As much of a value as a refusal always shows."""
    return repr(value)[:10]


def refused() -> Iterator[Any]:
    """Every (function, argument, bad value) with the argument's name as the error gives it, and the rule it states."""
    for name, function, arguments, kinds in CALLS:
        for argument, kind in kinds.items():
            bad: list[tuple[object, object, str, str]] = []  # what is passed, the item in it that is wrong, its name, the rule
            if kind == "w":
                bad += [(value, value, argument, U64_RULE) for value in BAD_WORDS]
            elif kind == "f":
                bad += [(value, value, argument, FLAG_RULE) for value in (0, 1, None, "", np.True_)]
            else:
                words, word_rule = (BAD_WORDS, U64_RULE) if kind == "W" else ([*BAD_WORDS, 2**32], U32_RULE)
                bad += [([0, word], word, f"{argument}[1]", word_rule) for word in words]
                bad += [(value, value, argument, SEQUENCE_RULE) for value in NOT_SEQUENCES]
            for value, wrong, shown, rule in bad:
                told = repr(wrong).partition(" at 0x")[0]  # an address would name the test anew in every process
                changed = {**arguments, argument: value}
                yield pytest.param(name, function, changed, shown, wrong, rule, id=f"{name}-{shown}-{told}")


@pytest.mark.parametrize(("name", "function", "arguments", "shown", "value", "rule"), list(refused()))
def test_what_is_no_word_is_refused_by_name(
    name: str, function: Callable[..., object], arguments: dict[str, Any], shown: str, value: object, rule: str
) -> None:
    with pytest.raises(ValueError) as raised:
        function(**arguments)
    message = str(raised.value)
    assert message.startswith(f"{name}: {shown}={beginning(value)}")
    assert message.endswith(rule)


@pytest.mark.parametrize(("name", "function", "arguments", "kinds"), [pytest.param(*call, id=call[0]) for call in CALLS])
def test_the_largest_word_is_in_the_domain(
    name: str, function: Callable[..., object], arguments: dict[str, Any], kinds: dict[str, str]
) -> None:
    """The negative control of the refusals above: the same calls pass, and so does the last word of each argument."""
    function(**arguments)
    largest = {"w": 2**64 - 1, "W": [2**64 - 1, 2**64 - 1], "T": [2**32 - 1, 2**32 - 1], "f": True}
    for argument, kind in kinds.items():
        same_length = {other: [0, 0] for other, other_kind in kinds.items() if kind == other_kind == "W"}
        small = {word: 0 for word, other_kind in kinds.items() if other_kind == "w"}
        function(**{**arguments, **small, **same_length, argument: largest[kind]})


@given(strategies.not_u64())
def test_no_other_value_passes_for_a_word(value: object) -> None:
    with pytest.raises(ValueError, match=r"^plan_append: hidden_hi="):
        reference.plan_append(0, 1, 0, value)  # type: ignore[arg-type]


def test_a_refusal_shows_the_value_and_keeps_it_short() -> None:
    with pytest.raises(ValueError, match=r"^plan_append: prompt_len=-1 is not an unsigned 64-bit integer; pass an int"):
        reference.plan_append(0, -1, 0, 0)
    with pytest.raises(ValueError, match=r"^plan_append: prompt_len=340282366920938463463374607431768211455 is not"):
        reference.plan_append(0, 2**128 - 1, 0, 0)
    with pytest.raises(ValueError, match=r"^plan_append: prompt_len=<a longer int> is not an unsigned"):
        reference.plan_append(0, 2**128, 0, 0)
    with pytest.raises(ValueError, match=r"^plan_append: prompt_len=<a longer int> is not an unsigned"):
        reference.plan_append(0, -(10**5000), 0, 0)
    with pytest.raises(ValueError, match=r"^plan_append: prompt_len=\[1, 1, 1, 1, 1, 1, \.\.\.\] is not an unsigned"):
        reference.plan_append(0, [1] * 1000, 0, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("cur", [[], [3], [3, 9, 9]])
def test_an_interval_is_two_words(cur: list[int]) -> None:
    with pytest.raises(ValueError, match=r"^merge_interval: cur=\[.*\] is not a pair; pass \(lo, hi\)$"):
        reference.merge_interval(cur, 0, 1)


@pytest.mark.parametrize("cur", [(7, 3, 9), None, {"hi": 9, "lo": 3, "owner": 7}])
def test_a_stamped_claim_is_a_range_and_nothing_like_it(cur: object) -> None:
    with pytest.raises(ValueError) as raised:
        reference.stamped_merge(cur, 7, 9, 2)  # type: ignore[arg-type]
    assert str(raised.value).startswith(f"stamped_merge: cur={beginning(cur)}")
    assert str(raised.value).endswith("is not a StoreRange; pass StoreRange(owner=, lo=, hi=)")


@pytest.mark.parametrize("pairs", [None, "ab", iter([(1, 2)]), np.zeros((2, 2))])
def test_the_pairs_of_a_key_are_a_list_or_tuple(pairs: object) -> None:
    with pytest.raises(ValueError) as raised:
        reference.verify_graph_key(pairs, False)  # type: ignore[arg-type]
    assert str(raised.value).startswith(f"verify_graph_key: pairs={beginning(pairs)}")
    assert str(raised.value).endswith("is not a list or tuple; pass [(slot, k), ...]")


@pytest.mark.parametrize("word", [*BAD_WORDS, 2**32])
@pytest.mark.parametrize("place", [0, 1])
def test_a_key_word_has_32_bits(word: object, place: int) -> None:
    pair = [1, 1]
    pair[place] = word  # type: ignore[call-overload]
    with pytest.raises(ValueError) as raised:
        reference.verify_graph_key([(0, 0), pair], False)
    assert str(raised.value).startswith(f"verify_graph_key: pairs[1][{place}]={beginning(word)}")
    assert str(raised.value).endswith(U32_RULE)


def test_a_carried_drafter_may_not_know_its_last_key() -> None:
    assert CarriedDrafter(**{**ENTRY, "last_pair_key": None}).last_pair_key is None


@pytest.mark.parametrize("tokens", [(1, 2, 3), [1, 2, 3], range(1, 4)])
def test_lists_tuples_and_ranges_are_sequences_alike(tokens: Any) -> None:
    entry = CarriedDrafter(**{**ENTRY, "tokens": tokens})
    assert entry.tokens == (1, 2, 3)
    assert entry.common_prefix_len(tokens) == 3


def test_the_longest_numbers_are_told_apart_by_their_value() -> None:
    assert parse_usize("18446744073709551615") == 2**64 - 1
    assert parse_usize("18446744073709551616") is None
    assert parse_usize("00000000000000000000018446744073709551615") == 2**64 - 1


def test_every_public_name_is_there() -> None:
    assert all(hasattr(reference, name) for name in reference.__all__)
