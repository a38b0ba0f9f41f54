"""The models against the reference, function by function: drawn arguments go into the relation as literals.

The model must allow the reference's result, panics included, and no other. A model of a release build must agree wherever
nothing overflows. The values that are easy to get wrong are worked out by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from impl.reference import CarriedDrafter, StoreRange
from proofs.conform.model import admits, result_of
from proofs.replay import run
from spec.machine import Profile
from spec.rules import RULES
from spec.sorts import PANIC
from tests import strategies as some
from tests.conform.lines import RIGHT

Args = Mapping[str, Any]

LAST = 2**64 - 1

# Longer batches take a solver seconds; `draftproof vectors` has some.
BATCH = 5


def entry(made: CarriedDrafter) -> dict[str, Any]:
    return {
        "rows": made.rows,
        "last_pair_key": made.last_pair_key,
        "tokens": list(made.tokens),
        "session_hash": made.session_hash,
    }


@st.composite
def adoptions(draw: DrawFn) -> dict[str, Any]:
    """An entry that the engine could have made, or any at all, a prompt that shares some of it, and a session."""
    if draw(st.booleans()):
        provenance = draw(some.provenances())
        carried, prompt = provenance.entry, list(provenance.prompt)
    else:
        carried = draw(some.carried_drafters())
        prompt = list(carried.tokens[: draw(st.integers(0, 12))]) + draw(some.tokens(max_size=3))
    session = draw(st.sampled_from((carried.session_hash, carried.session_hash, 0, 1, LAST)))
    return {"self": entry(carried), "prompt": prompt, "session_hash": session}


@st.composite
def appends(draw: DrawFn) -> dict[str, int]:
    """Four words that lie near each other, or anywhere."""
    near = draw(some.u64())
    word = st.one_of(st.integers(-3, 3).map(lambda step: min(max(near + step, 0), LAST)), some.u64())
    return {name: draw(word) for name in ("last_pair_key", "prompt_len", "hidden_lo", "hidden_hi")}


@st.composite
def merges(draw: DrawFn) -> dict[str, Any]:
    """An interval, a write near it (which may overflow), the interval's owner and the writer."""
    lo, hi = draw(some.intervals())
    start, count = draw(st.one_of(some.chunks((lo, hi)), st.tuples(some.u64(), some.u64())))
    owner, writer = draw(some.generations()), draw(some.generations())
    return {"cur": {"owner": owner, "lo": lo, "hi": hi}, "writer_gen": writer, "start": start, "count": count}


@st.composite
def batches(draw: DrawFn) -> dict[str, Any]:
    """A batch; now and then one with a slot or a depth missing."""
    slots, ks = draw(some.batches(max_size=BATCH))
    dropped = draw(st.sampled_from((0, 0, 0, 0, 1)))
    return {"slots": slots[dropped:], "ks": ks, "canonical": draw(st.booleans())}


@st.composite
def keyed(draw: DrawFn) -> dict[str, Any]:
    slots, ks = draw(some.key_batches())
    pairs = [[slot, k] for slot, k in zip(slots, ks, strict=True)]
    return {"pairs": pairs, "wy_tables_null": draw(st.booleans())}


@st.composite
def gates(draw: DrawFn) -> dict[str, Any]:
    width = draw(some.u64())
    n = draw(st.one_of(st.sampled_from((max(width - 1, 0), width, min(width + 1, LAST))), some.u64()))
    return {"n": n, "min_width": width, "kill_switch_clear": draw(st.booleans())}


def told(raw: str | bytes | None) -> dict[str, Any]:
    """A raw value in the vector format: text where it is text."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogatepass")
    try:
        return {"raw": None if raw is None else raw.decode()}
    except UnicodeDecodeError:
        assert raw is not None
        return {"raw": {"hex": raw.hex()}}


def only(args: Args, *names: str) -> dict[str, Any]:
    return {name: args[name] for name in names}


def an_interval(args: Args) -> dict[str, Any]:
    return {"cur": [args["cur"]["lo"], args["cur"]["hi"]], **only(args, "start", "count")}


def of_range(made: StoreRange, reader_gen: int) -> dict[str, Any]:
    return {"self": asdict(made), "reader_gen": reader_gen}


DRAWN: Mapping[str, SearchStrategy[Any]] = {
    "common_prefix_len": adoptions().map(lambda args: only(args, "self", "prompt")),
    "session_matches": adoptions().map(lambda args: only(args, "self", "session_hash")),
    "usable_by": adoptions(),
    "plan_append": appends(),
    "hidden_row_offset": st.fixed_dictionaries({name: some.u64() for name in ("base", "pos", "hidden_size")}),
    "visible_to": st.builds(of_range, some.store_ranges(), some.generations()),
    "merge_interval": merges().map(an_interval),
    "stamped_merge": merges(),
    "carry_armed_with": st.fixed_dictionaries(
        {
            "cfg": st.fixed_dictionaries({"prefill": st.booleans(), "carry": st.booleans()}),
            "multi_seq": st.booleans(),
        }
    ),
    "verify_batch_permutation": batches(),
    "verify_batch_order": batches(),
    "verify_graph_key": keyed(),
    "canonical_assignment_at": gates(),
    # The reference is tested alone with thousands of zeros; here each character costs a solver something.
    "min_width_from_env": some.environment_values().map(told).filter(lambda args: len(str(args["raw"])) <= 60),
}


def test_every_rule_is_drawn() -> None:
    assert list(DRAWN) == [rule.name for rule in RULES]


@pytest.mark.parametrize("fn", DRAWN)
def test_the_model_gives_what_the_reference_gives_and_nothing_else(fn: str) -> None:
    @settings(max_examples=60)
    @given(args=DRAWN[fn])
    def check(args: Args) -> None:
        code = run(fn, args)
        event("panics" if code == PANIC else "returns")

        assert result_of(fn, args) == code
        if code != PANIC or not RULES[fn].overflows:
            assert result_of(fn, args, Profile.RELEASE) == code
        else:
            assert result_of(fn, args, Profile.RELEASE) != PANIC

    check()


def carried(rows: int, last: int | None, tokens: list[int], session: int = 7) -> dict[str, Any]:
    return {"rows": rows, "last_pair_key": last, "tokens": tokens, "session_hash": session}


def adopt(own: dict[str, Any], prompt: list[int], session: int = 7) -> dict[str, Any]:
    return {"self": own, "prompt": prompt, "session_hash": session}


def append(last: int, prompt_len: int, lo: int, hi: int) -> dict[str, int]:
    return {"last_pair_key": last, "prompt_len": prompt_len, "hidden_lo": lo, "hidden_hi": hi}


def stamp(owner: int, lo: int, hi: int, writer: int, start: int, count: int) -> dict[str, Any]:
    return {"cur": {"owner": owner, "lo": lo, "hi": hi}, "writer_gen": writer, "start": start, "count": count}


def batch(slots: list[int], ks: list[int], canonical: bool) -> dict[str, Any]:
    return {"slots": slots, "ks": ks, "canonical": canonical}


WORKED: list[tuple[str, dict[str, Any], Any]] = [
    # More rows than keys (A8 broken): one key of two survives, so one row of nine is dropped.
    ("usable_by", adopt(carried(9, 1, [1, 2, 3]), [1, 2, 4]), [8, 0]),
    ("usable_by", adopt(carried(LAST, LAST, [1, 2]), [1, 2]), None),
    ("usable_by", adopt(carried(LAST, LAST - 1, [1, 2]), [1, 2]), [1, 0]),
    # One token in common is no key, and rows that no key stands for make none.
    ("usable_by", adopt(carried(9, 0, [1, 2]), [1, 3]), None),
    ("usable_by", adopt(carried(9, 0, [1, 2]), [3]), None),
    ("usable_by", adopt(carried(1, 0, [1, 2]), [1]), None),
    ("usable_by", adopt(carried(1, 0, [1, 2], session=0), [1, 2], session=0), None),
    ("usable_by", adopt(carried(0, None, []), []), None),
    # Without a key nothing is added to the last one.
    ("plan_append", append(LAST, 0, 0, LAST), None),
    ("plan_append", append(LAST, 1, 0, LAST), None),
    ("plan_append", append(LAST, 2, 0, 1), PANIC),
    ("plan_append", append(0, LAST, 0, LAST), {"first_key": 1, "rows": LAST - 2}),
    # An empty, an inverted and a touching interval.
    ("merge_interval", {"cur": [5, 5], "start": 5, "count": 2}, [5, 7]),
    ("merge_interval", {"cur": [9, 2], "start": 3, "count": 1}, [3, 4]),
    ("merge_interval", {"cur": [3, 9], "start": 1, "count": 2}, [1, 9]),
    ("merge_interval", {"cur": [3, 9], "start": 0, "count": 2}, [0, 2]),
    ("merge_interval", {"cur": [0, 4], "start": LAST, "count": 1}, PANIC),
    ("merge_interval", {"cur": [0, 4], "start": LAST, "count": 0}, [LAST, LAST]),
    # Generation 0 owns nothing, not even for itself.
    ("stamped_merge", stamp(0, 0, 10, 0, 3, 2), {"owner": 0, "lo": 3, "hi": 5}),
    ("stamped_merge", stamp(4, 0, 10, 4, 3, 2), {"owner": 4, "lo": 0, "hi": 10}),
    ("visible_to", {"self": {"owner": 0, "lo": 0, "hi": 10}, "reader_gen": 0}, [0, 0]),
    ("hidden_row_offset", {"base": LAST, "pos": LAST, "hidden_size": 0}, LAST),
    ("hidden_row_offset", {"base": 0, "pos": 2**63, "hidden_size": 1}, PANIC),
    ("hidden_row_offset", {"base": 2, "pos": 2**63 - 1, "hidden_size": 1}, PANIC),
    ("hidden_row_offset", {"base": 1, "pos": 2**63 - 1, "hidden_size": 1}, LAST),
    ("verify_batch_permutation", batch([1, 2], [3], True), PANIC),
    ("verify_batch_order", batch([], [3], False), PANIC),
    ("verify_batch_order", batch([], [], True), [[], []]),
    # Members without a slot come last, in the order of their indices.
    ("verify_batch_permutation", batch([LAST, 5, LAST, 0], [2, 2, 4, 3], True), [3, 1, 0, 2]),
    ("verify_batch_order", batch([LAST, 5, LAST, 0], [2, 2, 4, 3], False), [[2, 3, 1, 0], [4, 3, 2, 2]]),
    ("verify_graph_key", {"pairs": [], "wy_tables_null": False}, [2**32 - 1]),
    ("min_width_from_env", {"raw": "\u2028+007\u3000\u0085"}, 7),
    ("min_width_from_env", {"raw": "0" * 30 + str(LAST)}, LAST),
    ("min_width_from_env", {"raw": str(LAST + 1)}, 8),
    *[
        ("min_width_from_env", {"raw": raw}, 8)
        # An empty number, signs, separators, digits of others, marks that only look like white space.
        for raw in ("", " ", "+", "++3", "-0", "+ 3", "1_0", "1 2", "\u0665", "\uff15", "\u200b3", "\ufeff3", "3\x1f", "3\x00")
    ],
    ("min_width_from_env", {"raw": {"hex": "33ff"}}, 8),
    ("min_width_from_env", {"raw": None}, 8),
]


@pytest.mark.parametrize(("fn", "args", "result"), WORKED)
def test_both_give_what_was_worked_out_by_hand(fn: str, args: Args, result: Any) -> None:
    assert run(fn, args) == result
    assert result_of(fn, args) == result


@pytest.mark.parametrize(
    ("fn", "args", "result"),
    [
        # The next key of the last one is 0.
        ("plan_append", append(LAST, 3, 0, 2), {"first_key": 0, "rows": 2}),
        ("plan_append", append(LAST, 3, 1, 2), {"first_key": 1, "rows": 1}),
        # The write ends at row 1, which lies before its start.
        ("merge_interval", {"cur": [0, 4], "start": LAST, "count": 2}, [LAST, 1]),
        ("merge_interval", {"cur": [0, LAST], "start": LAST, "count": 2}, [0, LAST]),
        ("stamped_merge", stamp(1, 0, 4, 2, LAST, 1), {"owner": 2, "lo": LAST, "hi": 0}),
        ("hidden_row_offset", {"base": 5, "pos": 2**63, "hidden_size": 1}, 5),
        ("hidden_row_offset", {"base": 0, "pos": LAST, "hidden_size": LAST}, 2),
    ],
)
def test_a_release_build_wraps_to_what_was_worked_out_by_hand(fn: str, args: Args, result: Any) -> None:
    assert result_of(fn, args, Profile.RELEASE) == result
    assert result_of(fn, args) == PANIC


@pytest.mark.parametrize(
    ("fn", "right", "wrong"),
    [
        ("merge_interval", [3, 11], [[3, 10], [9, 11], [2, 11], PANIC]),
        ("plan_append", {"first_key": 2, "rows": 3}, [None, {"first_key": 2, "rows": 2}, {"first_key": 3, "rows": 2}]),
        ("usable_by", [2, 1], [None, [3, 2], [2, 2], [1, 1]]),
        ("verify_batch_order", [[1, 2, 0], [4, 3, 2]], [[[1, 2, 0], [3, 4, 2]], [[2, 1, 0], [4, 3, 2]], [[1, 2], [4, 3]]]),
        ("verify_graph_key", [1, 4, 2, 3, 2**32 - 2], [[1, 4, 2, 3, 2**32 - 1], [1, 4, 2, 3], [4, 1, 2, 3, 2**32 - 2]]),
    ],
)
def test_a_model_admits_the_right_result_and_no_neighbour(fn: str, right: Any, wrong: list[Any]) -> None:
    args, result = RIGHT[fn]

    assert result == right
    assert admits(fn, args, right)
    assert [neighbour for neighbour in wrong if admits(fn, args, neighbour)] == []
