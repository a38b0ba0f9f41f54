"""The vector format: what is read, and what is refused with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proofs.conform.shapes import Misfit
from proofs.conform.vector import UNKNOWN, identical, parse
from spec.machine import Profile
from spec.rules import RULES
from tests.conform.lines import ENTRY, RIGHT, line


def changed(fn: str, **args: Any) -> str:
    """The right line of a function with some arguments replaced."""
    return line(fn, args={**RIGHT[fn][0], **args})


def refusal(text: str | bytes) -> str:
    with pytest.raises(Misfit) as caught:
        parse(text.encode() if isinstance(text, str) else text)
    return str(caught.value)


@pytest.mark.parametrize("fn", [rule.name for rule in RULES])
def test_a_right_line_of_every_function_is_read_as_it_stands(fn: str) -> None:
    vector = parse(line(fn, why="a reason", seconds=0.5, note={"any": [1.5, None]}).encode())

    assert (vector.fn, vector.args, vector.result, vector.why) == (fn, *RIGHT[fn], "a reason")
    assert json.loads(vector.text()) == json.loads(line(fn, why="a reason"))
    assert json.loads(vector.request()) == {"fn": fn, "args": RIGHT[fn][0]}


def test_integers_are_exact_up_to_the_last_word() -> None:
    vector = parse(changed("hidden_row_offset", base=2**64 - 1, pos=2**64 - 2).encode())

    assert (vector.args["base"], vector.args["pos"]) == (2**64 - 1, 2**64 - 2)


def test_a_method_needs_only_the_fields_that_it_reads() -> None:
    assert parse(changed("common_prefix_len", self={"tokens": [1]}).encode()).args["self"] == {"tokens": [1]}
    assert parse(changed("session_matches", self={"session_hash": 3}).encode())
    assert refusal(changed("common_prefix_len", self={"rows": 1})) == 'args.self: lacks "tokens"'
    assert refusal(changed("usable_by", self={"tokens": [1]})) == ('args.self: lacks "rows", "last_pair_key", "session_hash"')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ('{"fn": ', "not JSON"),
        (line("visible_to") + " {}", "not JSON: Extra data"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "not UTF-8: byte 1 is 0xff"),
        (line("visible_to").encode("utf-16"), "not UTF-8"),
        ("\ufeff" + line("visible_to"), "not JSON"),
        ("7", "7 is not an object"),
        ("[]", "[] is not an object"),
        (changed("plan_append", prompt_len=float("nan")), "NaN is not JSON"),
        (line("visible_to", note=float("inf")), "Infinity is not JSON"),
        (line("canonical_assignment_at")[:-1] + ', "fn": "visible_to"}', 'the key "fn" occurs twice'),
        ('{"fn": "visible_to", "args": {"reader_gen": 1, "reader_gen": 1}, "result": 0}', '"reader_gen" occurs twice'),
        ('{"fn": "plan_append", "note": ' + "9" * 5000 + "}", "an integer has thousands of digits"),
        ('{"args": {}, "result": 0}', 'lacks "fn"'),
        ('{"fn": "visible_to", "result": 0}', 'lacks "args"'),
        ('{"fn": "visible_to", "args": {}}', 'lacks "result"'),
        (line("visible_to", fn="visible"), 'fn: "visible" is none of the functions common_prefix_len'),
        (line("visible_to", fn=3), "fn: 3 is none of the functions"),
        (line("visible_to", fn=["visible_to"]), 'fn: ["visible_to"] is none of the functions'),
        (line("visible_to", args=[1]), "args: [1] is not an object"),
    ],
)
def test_a_line_that_is_no_call_is_refused(text: str | bytes, reason: str) -> None:
    assert reason in refusal(text)


@pytest.mark.parametrize(
    ("fn", "args", "reason"),
    [
        ("visible_to", {"gen": 1}, 'args: has "gen", which does not belong there'),
        ("stamped_merge", {"cur": {"owner": 1, "lo": 0}}, 'args.cur: lacks "hi"'),
        ("visible_to", {"self": {"owner": 1, "lo": 0, "hi": 1, "gen": 2}}, 'args.self: has "gen"'),
        ("hidden_row_offset", {"pos": 2**64}, "args.pos: 18446744073709551616 is not an integer from 0 to 2^64-1"),
        ("hidden_row_offset", {"pos": -1}, "args.pos: -1 is not an integer"),
        ("hidden_row_offset", {"pos": 1.0}, "args.pos: 1.0 is not an integer"),
        ("hidden_row_offset", {"pos": True}, "args.pos: true is not an integer"),
        ("hidden_row_offset", {"pos": "1"}, 'args.pos: "1" is not an integer'),
        ("hidden_row_offset", {"pos": None}, "args.pos: null is not an integer"),
        ("canonical_assignment_at", {"kill_switch_clear": 1}, "args.kill_switch_clear: 1 is not true or false"),
        ("common_prefix_len", {"prompt": [1, 2**32]}, "args.prompt[1]: 4294967296 is not an integer from 0 to 2^32-1"),
        ("common_prefix_len", {"prompt": {"0": 1}}, 'args.prompt: {"0": 1} is not an array'),
        ("usable_by", {"self": {**ENTRY, "last_pair_key": "none"}}, 'args.self.last_pair_key: "none" is not an integer'),
        ("merge_interval", {"cur": [1]}, "args.cur: [1] is not an array [lo, hi]"),
        ("merge_interval", {"cur": [1, 2, 3]}, "args.cur: [1, 2, 3] is not an array [lo, hi]"),
        ("verify_graph_key", {"pairs": [[1, 2], [3]]}, "args.pairs[1]: [3] is not an array [slot, k]"),
        ("verify_graph_key", {"pairs": [[1, 2**32]]}, "args.pairs[0][1]: 4294967296 is not an integer"),
        ("carry_armed_with", {"cfg": {"prefill": 0, "carry": True}}, "args.cfg.prefill: 0 is not true or false"),
        ("min_width_from_env", {"raw": 8}, 'args.raw: 8 is not null, a string or {"hex": ".."}'),
        ("min_width_from_env", {"raw": {"hex": "f"}}, 'args.raw.hex: "f" is not hex digits'),
        ("min_width_from_env", {"raw": {"hex": "ff ff"}}, 'args.raw.hex: "ff ff" is not hex digits'),
        ("min_width_from_env", {"raw": {"hex": "3132"}}, 'args.raw.hex: "3132" is UTF-8; write it as the string "12"'),
        ("min_width_from_env", {"raw": {"hex": "ff", "x": 1}}, "args.raw: "),
        ("min_width_from_env", {"raw": "\ud800"}, 'args.raw: "\\ud800" is not text'),
    ],
)
def test_an_argument_outside_its_domain_is_refused_with_its_place(fn: str, args: dict[str, Any], reason: str) -> None:
    assert refusal(changed(fn, **args)).startswith(reason)


def test_a_missing_argument_is_named() -> None:
    assert refusal(line("hidden_row_offset", args={"base": 1})) == 'args: lacks "pos", "hidden_size"'


@pytest.mark.parametrize(
    ("fn", "result"),
    [
        ("common_prefix_len", True),
        ("common_prefix_len", {"panic": True}),
        ("session_matches", 1),
        ("usable_by", [1]),
        ("usable_by", {"rows": 1, "last_pair_key": 0}),
        ("plan_append", {"first_key": 1}),
        ("plan_append", [1, 2]),
        ("plan_append", {"panic": 1}),
        ("plan_append", {"panic": False}),
        ("merge_interval", None),
        ("stamped_merge", [1, 2, 3]),
        ("verify_batch_order", [1, 0]),
        ("verify_graph_key", [2**32]),
        ("min_width_from_env", -1),
    ],
)
def test_a_result_of_another_shape_is_refused(fn: str, result: Any) -> None:
    assert refusal(line(fn, result=result)).startswith("result")


def test_only_what_can_panic_may_panic_and_a_release_build_never_overflows() -> None:
    panic = {"panic": True}
    assert parse(line("merge_interval", result=panic).encode()).result == panic
    assert parse(line("verify_batch_order", result=panic).encode()).result == panic
    assert refusal(line("merge_interval", result=panic, release=panic)).startswith("release")


def test_a_release_build_is_expected_to_give_what_the_vector_tells() -> None:
    panic = {"panic": True}
    told = parse(line("plan_append", result=panic, release=None).encode())
    untold = parse(line("plan_append", result=panic).encode())
    plain = parse(line("plan_append").encode())
    refused = parse(line("verify_batch_order", result=panic).encode())

    assert told.expected(Profile.DEBUG) == panic and told.expected(Profile.RELEASE) is None
    assert untold.expected(Profile.DEBUG) == panic and untold.expected(Profile.RELEASE) is UNKNOWN
    assert plain.expected(Profile.RELEASE) == plain.result
    assert refused.expected(Profile.RELEASE) == panic


def test_values_are_identical_only_if_their_types_are() -> None:
    assert identical({"a": [1, None, True]}, {"a": [1, None, True]})
    for left, right in ((1, True), (0, False), (1, 1.0), ([1], [True]), ([1], [1, 1]), ({"a": 1}, {"b": 1}), (None, 0)):
        assert not identical(left, right)
