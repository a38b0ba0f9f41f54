"""`draftproof vectors`: its lines, their determinism, and that they notice an engine which is wrong in one line."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
import z3

from proofs.cli import draftproof, run
from proofs.conform import vectors as module
from proofs.conform.boundaries import Case, Search, boundary_cases
from proofs.conform.draws import draw
from proofs.conform.model import ModelError, NoAnswer, admits, longest, result_of
from proofs.conform.targets import Asked
from proofs.conform.targets import engine as target
from proofs.conform.vector import UNKNOWN, Vector, identical, parse
from proofs.conform.vectors import Disagreement, Written, vectors_of
from proofs.exits import Exit
from spec.machine import Profile
from spec.rules import RULES
from spec.sorts import PANIC
from tests.batched.backends import needs_host_kernels

# The vectors are made once in each process, so their tests stay together.
pytestmark = pytest.mark.xdist_group("vectors")

FUNCTIONS = [rule.name for rule in RULES]
ENGINE = Path(__file__).with_name("engine.py")
Show = pytest.CaptureFixture[str]


@functools.cache
def written(fn: str) -> Written:
    return vectors_of(fn, seed=0, count=40)


@functools.cache
def made(fn: str) -> tuple[Vector, ...]:
    """The vectors of a function, read back from their lines."""
    return tuple(parse(text.encode()) for text in written(fn).lines)


@functools.cache
def engine(old: str = "", new: str = "", *, release: bool = False) -> ModuleType:
    """The example engine as a module, with a text in it (which must occur once) replaced."""
    text = ENGINE.read_text()
    assert not old or text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {ENGINE}"
    loaded = ModuleType("engine")
    exec(compile(text.replace(old, new) if old else text, ENGINE, "exec"), loaded.__dict__)
    loaded.__dict__["RELEASE"] = release
    return loaded


def answer(loaded: ModuleType, vector: Vector) -> Any:
    try:
        return getattr(loaded, vector.fn)(**vector.args)
    except loaded.Panic:
        return dict(PANIC)


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_an_engine_written_from_the_design_agrees_with_every_vector(fn: str) -> None:
    for profile in Profile:
        loaded = engine(release=profile is Profile.RELEASE)
        for vector in made(fn):
            assert identical(answer(loaded, vector), vector.expected(profile)), (vector, profile)


@pytest.mark.parametrize("place", ["numpy", pytest.param("kernels", marks=needs_host_kernels)])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_the_batched_implementation_agrees_with_every_vector(fn: str, place: str) -> None:
    answered = list(target(place, Asked())(made(fn)))

    assert len(answered) == len(made(fn))
    for vector, got in answered:
        assert identical(got, vector.result), vector


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_every_line_names_its_situation_and_no_call_comes_twice(fn: str) -> None:
    found = made(fn)

    assert {vector.fn for vector in found} == {fn}
    assert all(vector.why for vector in found)
    assert max(Counter(json.dumps(vector.args) for vector in found).values()) == 1


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_every_overflow_tells_what_a_release_build_gives_and_nothing_else_does(fn: str) -> None:
    for vector in made(fn):
        overflows = RULES[fn].overflows and vector.result == PANIC
        assert (vector.release is not UNKNOWN) == overflows, vector


@pytest.mark.parametrize(
    ("fn", "situations"),
    [
        ("common_prefix_len", ["result = self.tokens.len, deciding"]),
        ("session_matches", ["session_hash = 0, deciding no", "self.session_hash = session_hash, deciding yes"]),
        (
            "usable_by",
            [
                "not self.last_pair_key.present, deciding nothing",
                "self.rows = 1, deciding something",
                "common[self.tokens,prompt] = 1, deciding nothing",
                "common[self.tokens,prompt] = 2, deciding something",
            ],
        ),
        (
            "plan_append",
            [
                "prompt_len = 1, deciding nothing",
                "prompt_len = 2, deciding a panic",
                "last_pair_key + 1 = 2^64, deciding a panic",
                "last_pair_key + 1 = 2^64-1, deciding nothing",
                "hidden_hi = prompt_len - 1, deciding something",
                "hidden_hi one below prompt_len - 1, deciding nothing",
                "hidden_lo = prompt_len - 1, deciding nothing, wrapping",
            ],
        ),
        ("visible_to", ["reader_gen = 0, deciding", "self.owner one above reader_gen, deciding"]),
        ("merge_interval", ["cur.hi one below start, deciding", "cur.hi = start, deciding"]),
        ("canonical_assignment_at", ["min_width = n, deciding yes", "min_width one above n, deciding no"]),
    ],
)
def test_the_boundaries_that_a_reader_would_name_are_among_them(fn: str, situations: list[str]) -> None:
    found = {case.why for case in boundary_cases(RULES[fn]).cases}

    assert [situation for situation in situations if situation not in found] == []


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_no_situation_is_left_without_an_answer(fn: str) -> None:
    assert written(fn).undecided == []
    assert written(fn).origins["boundary"] > 0


WRONG_LINES = {
    "the prefix is one short": ("common_prefix_len", "length = 0\n", "length = -1\n"),
    "the prompt's end is not looked at": ("common_prefix_len", 'min(len(self["tokens"]), len(prompt))', 'len(self["tokens"])'),
    "an unknown session matches itself": ("session_matches", "session_hash != 0 and self", "self"),
    "any session matches": ("session_matches", ' and self["session_hash"] == session_hash', ""),
    "rows of another session": ("usable_by", "if not session_matches(self, session_hash) or last", "if last"),
    "one token is enough": ("usable_by", "common < 2", "common < 1"),
    "a key is kept too many": ("usable_by", "last + 2 - common", "last + 1 - common"),
    "a key is lost too many": ("usable_by", "last + 2 - common", "last + 3 - common"),
    "no row is adopted": ("usable_by", 'self["rows"] <= lost', 'self["rows"] < lost'),
    "the key is not lowered": ("usable_by", "last - lost]", "last]"),
    "a prompt of one token has a key": ("plan_append", "prompt_len < 2", "prompt_len < 1"),
    "a prompt of two tokens has none": ("plan_append", "prompt_len < 2", "prompt_len < 3"),
    "the last key again": ("plan_append", "last_pair_key + 1", "last_pair_key"),
    "rows below the store are read": ("plan_append", "max(word(last_pair_key + 1), hidden_lo)", "word(last_pair_key + 1)"),
    "an empty append": ("plan_append", "first > last or", "first > last + 1 or"),
    "the row after the store is read": ("plan_append", "hidden_hi <= last", "hidden_hi < last"),
    "the last row of the store is not read": ("plan_append", "hidden_hi <= last", "hidden_hi <= last + 1"),
    "one row short": ("plan_append", "last - first + 1", "last - first"),
    "elements of one byte": ("hidden_row_offset", "* 2)", "* 1)"),
    "no base": ("hidden_row_offset", "word(base + word", "word(0 * base + word"),
    "generation 0 sees rows": ("visible_to", "reader_gen == 0 or ", ""),
    "everyone sees rows": ("visible_to", ' or self["owner"] != reader_gen', ""),
    "a gap is spanned": ("merge_interval", "start > hi or", "start > hi + 1 or"),
    "touching is a gap": ("merge_interval", "start > hi or", "start >= hi or"),
    "a gap below is spanned": ("merge_interval", "end < lo", "end + 1 < lo"),
    "touching below is a gap": ("merge_interval", "end < lo", "end <= lo"),
    "a merge forgets what was above": ("merge_interval", "max(hi, end)", "end"),
    "an unowned range merges": ("stamped_merge", 'cur["owner"] != 0 and ', ""),
    "a foreign range merges": ("stamped_merge", ' and cur["owner"] == writer_gen', ""),
    "the owner stays": ("stamped_merge", '{"owner": writer_gen', '{"owner": cur["owner"]'),
    "armed with many sequences": ("carry_armed_with", " and not multi_seq", ""),
    "armed without being configured": ("carry_armed_with", 'cfg["carry"] and ', ""),
    "lengths may differ": ("verify_batch_permutation", "len(slots) != len(ks)", "len(slots) > len(ks) + 1"),
    "ties go backwards": (
        "verify_batch_permutation",
        "(slots[i], i))\n    return sorted(members, key=lambda i: (-",
        "(slots[i], -i))\n    return sorted(members, key=lambda i: (-",
    ),
    "shallow first": ("verify_batch_permutation", "(-ks[i], slots[i], i)", "(ks[i], slots[i], i)"),
    "slots do not count beside depths": ("verify_batch_permutation", "(-ks[i], slots[i], i)", "(-ks[i], i)"),
    "depths are not dealt anew": ("verify_batch_order", "sorted(depths, reverse=True) if canonical else depths", "depths"),
    "shallow depths first": ("verify_batch_order", "reverse=True", "reverse=False"),
    "depths before slots": ("verify_graph_key", "for half in pair]", "for half in reversed(pair)]"),
    "tables do not count": ("verify_graph_key", " - wy_tables_null]", "]"),
    "the last pair is dropped": ("verify_graph_key", "for pair in pairs for", "for pair in pairs[:2] for"),
    "wider than the minimum only": ("canonical_assignment_at", "n >= min_width", "n > min_width"),
    "the kill switch is forgotten": ("canonical_assignment_at", "kill_switch_clear and ", ""),
    "no plus": ("min_width_from_env", "\\\\+?", ""),
    "two pluses": ("min_width_from_env", "\\\\+?", "\\\\+*"),
    "a minus": ("min_width_from_env", "\\\\+?", "[+-]?"),
    "white space inside a number": (
        "min_width_from_env",
        "number = re.fullmatch",
        'text = text[:1] + text[1:].replace(" ", "")\n    number = re.fullmatch',
    ),
    "other digits": ("min_width_from_env", "([0-9]+)", "([0-9:]+)"),
    "a separator is white": ("min_width_from_env", "\\u3000", "\\u3000\\u001f"),
    "the next line is not white": ("min_width_from_env", "\\u0085", ""),
    "the Mongolian vowel separator is white": ("min_width_from_env", "\\u1680", "\\u1680\\u1681"),
    "a zero-width space is white": ("min_width_from_env", "-\\u200a", "-\\u200b"),
    "no line separator": ("min_width_from_env", "\\u2028", ""),
    "one past the last word": ("min_width_from_env", "int(number[1]) >= WORD", "int(number[1]) > WORD"),
    "the last word is too large": ("min_width_from_env", "int(number[1]) >= WORD", "int(number[1]) >= WORD - 1"),
    "another default": ("min_width_from_env", "return 8", "return 9"),
}


@pytest.mark.parametrize("wrong", WRONG_LINES)
def test_the_vectors_notice_one_wrong_line(wrong: str) -> None:
    fn, old, new = WRONG_LINES[wrong]
    loaded = engine(old, new)

    def differs(vector: Vector) -> bool:
        try:
            return not identical(answer(loaded, vector), vector.result)
        except (IndexError, ValueError):
            return True

    assert any(differs(vector) for vector in made(fn))


@pytest.mark.parametrize("fn", ["plan_append", "hidden_row_offset", "merge_interval", "stamped_merge"])
def test_the_vectors_notice_arithmetic_that_stops_at_the_last_word(fn: str) -> None:
    saturating = engine("return value % WORD", "return WORD - 1", release=True)

    assert any(answer(saturating, v) != v.expected(Profile.RELEASE) for v in made(fn))


@pytest.mark.parametrize(
    ("fn", "length"),
    [
        ("verify_batch_permutation", 60),
        ("verify_batch_order", 60),
        ("verify_graph_key", 60),
        ("common_prefix_len", 490),
        ("usable_by", 490),
        ("min_width_from_env", 290),
    ],
)
def test_there_are_calls_of_realistic_length(fn: str, length: int) -> None:
    assert max(longest(dict(vector.args)) for vector in made(fn)) >= length


def test_the_same_seed_writes_the_same_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    chosen = ["plan_append", "verify_graph_key"]

    def files(name: str, seed: int, hash_seed: str, *jobs: str) -> dict[str, bytes]:
        # Other processes, so that nothing hangs on what this one has done before.
        command = [sys.executable, "-m", "proofs.cli", "vectors", "--out", str(tmp_path / name), "--seed", str(seed)]
        environment = {"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"}
        subprocess.run([*command, "--count", "10", *jobs, *chosen], check=True, env=environment, capture_output=True)
        return {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    first = files("first", 1, "1", "--jobs", "1")

    assert sorted(first) == sorted(f"{fn}.jsonl" for fn in chosen)
    assert files("again", 1, "2", "--jobs", "2") == first
    assert all(other != first[name] for name, other in files("other", 2, "1").items())


def test_written_vectors_conform_and_the_summary_counts_them(tmp_path: Path, capsys: Show) -> None:
    out = tmp_path / "new" / "folder"

    assert run(draftproof, ["vectors", "--out", str(out), "--count", "5", "--json", "visible_to"]) is Exit.OK
    told = json.loads(capsys.readouterr().out)
    lines = (out / "visible_to.jsonl").read_text().splitlines()

    assert [path.name for path in out.iterdir()] == ["visible_to.jsonl"]
    assert told["vectors"] == told["functions"]["visible_to"]["vectors"] == len(lines)
    assert told["functions"]["visible_to"]["random"] == 5
    assert run(draftproof, ["conform", str(out)]) is Exit.OK


def test_a_folder_that_cannot_be_made_is_bad_usage(tmp_path: Path, capsys: Show) -> None:
    (tmp_path / "file").write_text("")

    assert run(draftproof, ["vectors", "--out", str(tmp_path / "file" / "x"), "--count", "1", "visible_to"]) is Exit.USAGE
    assert run(draftproof, ["vectors", "--out", str(tmp_path), "no_such_function"]) is Exit.USAGE
    assert run(draftproof, ["vectors"]) is Exit.USAGE


def test_twins_that_differ_stop_the_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run", lambda fn, args: [0, 0])

    with pytest.raises(Disagreement, match=r"visible_to\(self=.*\): the model gives .*, the reference \[0, 0\]"):
        vectors_of("visible_to", seed=0, count=0)


def test_a_long_batch_whose_order_the_model_refuses_stops_the_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = {"slots": [9, 8, 7, 6, 5, 4, 3, 2, 1], "ks": [2] * 9, "canonical": True}
    one = Search(cases=[Case(args=batch, why="backwards")])
    monkeypatch.setattr(module, "boundary_cases", lambda rule, seed: one)
    monkeypatch.setattr(module, "run", lambda fn, args: list(range(9)))

    with pytest.raises(Disagreement, match="the model does not allow it"):
        vectors_of("verify_batch_permutation", seed=0, count=0)


ARGS = {"self": {"owner": 1, "lo": 2, "hi": 3}, "reader_gen": 1}


def test_a_model_without_a_result_or_with_two_is_no_answer() -> None:
    loose = RULES.with_relation("visible_to", lambda stamp, gen, result: result.lo == stamp.lo)
    contradictory = RULES.with_relation("visible_to", lambda stamp, gen, result: z3.BoolVal(False))

    with pytest.raises(ModelError, match=r"visible_to: the model allows \[2, \d+\] and \[2, \d+\]"):
        result_of("visible_to", ARGS, rules=loose)
    with pytest.raises(ModelError, match="visible_to: the model allows no result"):
        result_of("visible_to", ARGS, rules=contradictory)
    assert not admits("visible_to", ARGS, [2, 3], rules=contradictory)


def test_a_question_beyond_the_budget_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proofs.conform.model.BUDGET", 1)

    with pytest.raises(NoAnswer, match="budget 1 resource units"):
        result_of("usable_by", draw(RULES["usable_by"], Random(1), 60))
