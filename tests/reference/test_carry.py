"""The carried rows: who may adopt which of them, checked against the keys that the rows really hold."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from impl.reference import (
    DEFAULT_MARCONI_MIN_TOKENS,
    Adopted,
    CarriedDrafter,
    CarryOutcome,
    DrafterContext,
    ForeignHiddens,
    ForeignSession,
    MarconiThreshold,
    ModelLevers,
    NoCarry,
    NoHiddens,
    PrefixMismatch,
    carry,
    carry_armed,
    carry_armed_with,
    marconi_min_tokens,
    mtp_carry_debug,
    mtp_carry_drafter_enabled,
    set_marconi_min_tokens,
)
from tests import strategies
from tests.strategies import Provenance

U64_MAX = 2**64 - 1
MARCONI = "ATLAS_MARCONI_MIN_TOKENS"
DEBUG = "ATLAS_MTP_CARRY_DEBUG"

# Ten tokens and a row for each of their keys 0 to 8.
ENTRY = CarriedDrafter(
    block_table=[4, 2], rows=9, last_pair_key=8, tokens=[10, 11, 12, 13, 14, 15, 16, 17, 18, 19], session_hash=77
)


def longest_common_beginning(mine: Sequence[int], prompt: Sequence[int]) -> int:
    return max(n for n in range(min(len(mine), len(prompt)) + 1) if mine[:n] == prompt[:n])


@pytest.mark.parametrize(
    ("prompt", "length"),
    [
        ([], 0),
        ([99], 0),
        ([10], 1),
        ([10, 11, 99, 13], 2),
        ([10, 11, 12, 13, 14, 15, 16, 17, 18, 19], 10),
        ([10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21], 10),
    ],
)
def test_the_common_prefix_ends_at_the_first_difference_or_the_shorter_end(prompt: list[int], length: int) -> None:
    assert ENTRY.common_prefix_len(prompt) == length


@given(strategies.token_pairs())
def test_the_common_prefix_is_the_longest_list_both_begin_with(pair: tuple[list[int], list[int]]) -> None:
    mine, prompt = pair
    assert replace(ENTRY, tokens=mine).common_prefix_len(prompt) == longest_common_beginning(mine, prompt)


def test_an_entry_belongs_to_the_session_that_made_it() -> None:
    assert ENTRY.session_matches(77) is True
    assert ENTRY.session_matches(78) is False
    assert ENTRY.session_matches(0) is False


def test_session_zero_owns_nothing_not_even_an_entry_of_session_zero() -> None:
    unknown = replace(ENTRY, session_hash=0)
    assert unknown.session_matches(0) is False
    assert unknown.session_matches(77) is False
    assert unknown.usable_by(ENTRY.tokens, 0) is None


def test_a_prompt_that_extends_the_entry_adopts_all_of_it() -> None:
    assert ENTRY.usable_by([*ENTRY.tokens, 20, 21], 77) == (9, 8)
    assert ENTRY.usable_by(ENTRY.tokens, 77) == (9, 8)


@pytest.mark.parametrize(
    ("common", "usable"), [(10, (9, 8)), (9, (8, 7)), (5, (4, 3)), (3, (2, 1)), (2, (1, 0)), (1, None), (0, None)]
)
def test_a_key_survives_where_the_token_after_it_still_agrees(common: int, usable: tuple[int, int] | None) -> None:
    prompt = [*ENTRY.tokens[:common], 99, 99]
    assert ENTRY.usable_by(prompt, 77) == usable


def test_a_foreign_session_adopts_nothing_however_much_it_shares() -> None:
    assert ENTRY.usable_by(ENTRY.tokens, 78) is None
    assert ENTRY.usable_by(ENTRY.tokens, 0) is None


def test_an_entry_without_rows_or_without_a_known_key_lends_nothing() -> None:
    assert replace(ENTRY, rows=0).usable_by(ENTRY.tokens, 77) is None
    assert replace(ENTRY, last_pair_key=None).usable_by(ENTRY.tokens, 77) is None


def test_more_keys_lost_than_there_are_rows_leaves_nothing() -> None:
    sparse = replace(ENTRY, rows=3)
    assert sparse.usable_by([*ENTRY.tokens[:8], 99], 77) == (1, 6)
    assert sparse.usable_by([*ENTRY.tokens[:7], 99], 77) is None
    assert sparse.usable_by([*ENTRY.tokens[:2], 99], 77) is None


@pytest.mark.parametrize("common", [0, 1])
@pytest.mark.parametrize("last", [0, 8])
def test_no_key_survives_on_fewer_than_two_shared_tokens_even_where_rows_outnumber_keys(common: int, last: int) -> None:
    overfull = replace(ENTRY, rows=U64_MAX, last_pair_key=last)
    assert overfull.usable_by([*ENTRY.tokens[:common], 99, 99], 77) is None


def test_the_extremes_of_64_bits_neither_wrap_nor_raise() -> None:
    huge = replace(ENTRY, rows=U64_MAX, last_pair_key=U64_MAX, session_hash=U64_MAX)
    assert huge.usable_by(ENTRY.tokens, U64_MAX) == (8, 8)
    assert replace(huge, rows=U64_MAX - 8).usable_by(ENTRY.tokens, U64_MAX) is None
    assert replace(huge, rows=U64_MAX - 7).usable_by(ENTRY.tokens, U64_MAX) == (1, 8)


def test_a_warm_turn_whose_last_three_tokens_were_retokenised_keeps_all_other_rows() -> None:
    history = list(range(10_098))
    entry = CarriedDrafter(block_table=[], rows=10_097, last_pair_key=10_096, tokens=history, session_hash=5)
    prompt = [*history[:10_095], 70_001, 70_002, 70_003, 70_004]
    assert entry.common_prefix_len(prompt) == 10_095
    assert entry.usable_by(prompt, 5) == (10_094, 10_093)


@given(strategies.provenances(), st.sampled_from((0, 1, 2, U64_MAX)))
def test_every_surviving_row_was_made_by_this_session_from_tokens_the_prompt_has(history: Provenance, session: int) -> None:
    usable = history.entry.usable_by(history.prompt, session)
    if usable is None:
        return
    rows, last = usable
    assert session == history.entry.session_hash != 0
    assert 1 <= rows <= len(history.keys)
    surviving = history.keys[:rows]
    for key in surviving:
        assert len(history.prompt) >= key + 2
        assert list(history.entry.tokens[: key + 2]) == list(history.prompt[: key + 2])
    assert surviving[-1] <= last


@given(strategies.provenances(gaps=False))
def test_an_entry_without_gaps_keeps_exactly_the_rows_that_agree(history: Provenance) -> None:
    agreeing = [key for key in history.keys if history.entry.tokens[: key + 2] == history.prompt[: key + 2]]
    usable = history.entry.usable_by(history.prompt, history.entry.session_hash)
    assert usable == ((len(agreeing), agreeing[-1]) if agreeing else None)


@given(strategies.provenances())
def test_gaps_cost_one_agreeing_row_for_each_key_missing_above_the_cut(history: Provenance) -> None:
    """The exact loss: as many agreeing rows as there are keys without a row between the cut and last_pair_key."""
    entry = history.entry
    if entry.last_pair_key is None:
        return
    agreeing = [key for key in history.keys if entry.tokens[: key + 2] == history.prompt[: key + 2]]
    cut = min(entry.last_pair_key, longest_common_beginning(entry.tokens, history.prompt) - 2)
    missing = set(range(cut + 1, entry.last_pair_key + 1)) - set(history.keys)
    usable = entry.usable_by(history.prompt, entry.session_hash)
    assert (usable[0] if usable else 0) == max(0, len(agreeing) - len(missing))


@given(strategies.provenances())
def test_full_agreement_adopts_everything(history: Provenance) -> None:
    entry = history.entry
    if history.keys and entry.last_pair_key is not None and entry.last_pair_key <= len(entry.tokens) - 2:
        assert entry.usable_by([*entry.tokens, 5], entry.session_hash) == (len(history.keys), entry.last_pair_key)


@given(strategies.carried_drafters(), strategies.tokens(), st.sampled_from((0, 1, 2, U64_MAX)))
@example(replace(ENTRY, rows=0, session_hash=1), [10, 11], 1)
def test_whatever_an_entry_holds_the_answer_only_narrows_it(entry: CarriedDrafter, prompt: list[int], session: int) -> None:
    usable = entry.usable_by(prompt, session)
    if usable is not None:
        assert entry.last_pair_key is not None
        rows, key = usable
        assert 1 <= rows <= entry.rows
        assert key <= entry.last_pair_key
        assert entry.rows - rows == entry.last_pair_key - key


def test_an_entry_does_not_change_with_the_lists_it_was_made_from() -> None:
    blocks, tokens = [1, 2], [10, 11, 12]
    entry = CarriedDrafter(block_table=blocks, rows=2, last_pair_key=1, tokens=tokens, session_hash=1)
    blocks.append(3)
    tokens[1] = 99
    assert entry.block_table == (1, 2)
    assert entry.tokens == (10, 11, 12)
    with pytest.raises(FrozenInstanceError):
        entry.rows = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (Adopted(rows=10_094, appended=3, first_key=10_094), "adopted rows=10094 appended=3 first_key=10094"),
        (NoCarry(), "no carried state"),
        (PrefixMismatch(common=1, entry_rows=142), "prefix mismatch (common=1 entry_rows=142)"),
        (ForeignHiddens(owner=12, expected=11), "hidden rows belong to sequence gen 12, not 11"),
        (ForeignSession(entry_session=0xAB, prompt_session=0), "foreign session (entry=0xab prompt=0x0)"),
        (
            ForeignSession(entry_session=U64_MAX, prompt_session=16),
            "foreign session (entry=0xffffffffffffffff prompt=0x10)",
        ),
        (NoHiddens(), "hidden store does not cover the append span"),
    ],
)
def test_an_outcome_reads_as_in_the_engines_log(outcome: CarryOutcome, text: str) -> None:
    assert str(outcome) == text


@pytest.mark.parametrize("prefill", [False, True])
@pytest.mark.parametrize(
    ("configured", "multi_seq", "armed"),
    [(False, False, False), (False, True, False), (True, False, True), (True, True, False)],
)
def test_the_carry_is_live_only_if_configured_and_single_sequence(
    prefill: bool, configured: bool, multi_seq: bool, armed: bool
) -> None:
    cfg = DrafterContext(prefill=prefill, carry=configured)
    assert carry_armed_with(cfg, multi_seq) is armed
    assert carry_armed(cfg, lambda: multi_seq) is armed
    assert mtp_carry_drafter_enabled(ModelLevers(drafter=cfg), lambda: multi_seq) is armed


def test_arming_takes_a_context_and_nothing_like_it() -> None:
    with pytest.raises(ValueError, match=r"^carry_armed_with: cfg=\(True, True\) is not a DrafterContext; pass Drafter"):
        carry_armed_with((True, True), False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("env", "on"),
    [({}, False), ({DEBUG: "1"}, True), ({DEBUG: b"1"}, True)]
    + [({DEBUG: value}, False) for value in ("", "0", " 1", "1 ", "01", "+1", "true", b"\xff1")],
)
def test_the_debug_line_needs_the_value_one_exactly(env: dict[str, str | bytes], on: bool) -> None:
    assert mtp_carry_debug(env) is on


def test_the_debug_line_takes_no_value_that_an_environment_cannot_hold() -> None:
    with pytest.raises(ValueError, match=r"^mtp_carry_debug: ATLAS_MTP_CARRY_DEBUG=1 is not an environment value; pass a"):
        mtp_carry_debug({DEBUG: 1})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ("300", 300),
        ("+300", 300),
        ("0", 0),
        ("000", 0),
        ("18446744073709551615", U64_MAX),
        (b"300", 300),
        (" 300", 256),
        ("300\n", 256),
        ("", 256),
        ("-1", 256),
        ("18446744073709551616", 256),
        ("\u0663\u0660\u0660", 256),
        (b"\xff", 256),
    ],
)
def test_the_threshold_is_256_unless_the_variable_parses_untrimmed(value: str | bytes, tokens: int) -> None:
    assert DEFAULT_MARCONI_MIN_TOKENS == 256
    assert MarconiThreshold().marconi_min_tokens({MARCONI: value}) == tokens
    assert MarconiThreshold().marconi_min_tokens({}) == 256


def test_the_first_writer_of_the_threshold_wins() -> None:
    threshold = MarconiThreshold()
    assert threshold.set_marconi_min_tokens(512) is True
    assert threshold.set_marconi_min_tokens(1024) is False
    assert threshold.set_marconi_min_tokens(512) is False
    assert threshold.marconi_min_tokens({MARCONI: "300"}) == 512


def test_a_threshold_of_zero_is_settled_too() -> None:
    threshold = MarconiThreshold()
    assert threshold.set_marconi_min_tokens(0) is True
    assert threshold.set_marconi_min_tokens(7) is False
    assert threshold.marconi_min_tokens({MARCONI: "300"}) == 0


def test_a_read_counts_as_a_writer() -> None:
    threshold = MarconiThreshold()
    assert threshold.marconi_min_tokens({MARCONI: "300"}) == 300
    assert threshold.set_marconi_min_tokens(512) is False
    assert threshold.marconi_min_tokens({MARCONI: "400"}) == 300
    assert threshold.marconi_min_tokens({}) == 300


def test_a_refused_value_does_not_settle_the_threshold() -> None:
    threshold = MarconiThreshold()
    with pytest.raises(ValueError, match=r"^set_marconi_min_tokens: v=-1 "):
        threshold.set_marconi_min_tokens(-1)
    with pytest.raises(ValueError, match=r"^marconi_min_tokens: ATLAS_MARCONI_MIN_TOKENS=300 is not an environment"):
        threshold.marconi_min_tokens({MARCONI: 300})  # type: ignore[dict-item]
    assert threshold.set_marconi_min_tokens(512) is True


def test_of_many_threads_one_settles_the_threshold() -> None:
    threshold, start, won = MarconiThreshold(), threading.Barrier(8), list[int]()

    def write(tokens: int) -> None:
        start.wait()
        if threshold.set_marconi_min_tokens(tokens):
            won.append(tokens)

    threads = [threading.Thread(target=write, args=(tokens,)) for tokens in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert won == [threshold.marconi_min_tokens({})]


@pytest.fixture
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry, "_PROCESS", MarconiThreshold())


@pytest.mark.usefixtures("fresh_process")
@pytest.mark.parametrize("settle", [lambda: set_marconi_min_tokens(9), lambda: marconi_min_tokens({MARCONI: "9"})])
def test_the_process_has_one_threshold(settle: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARCONI, "300")
    settle()
    assert set_marconi_min_tokens(10) is False
    assert marconi_min_tokens({MARCONI: "11"}) == 9


@pytest.mark.usefixtures("fresh_process")
def test_the_threshold_reads_no_environment_but_the_one_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARCONI, "300")
    assert marconi_min_tokens({}) == 256
