"""What `draftproof explain` tells, of rules and of the system, and how it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import itf_py
import pytest

from proofs import cli
from proofs.exits import Exit
from proofs.explain.explanation import MUTANTS, Explanation, explain, mutants_of, obligation_of, obligations_of
from proofs.explain.itf import as_itf
from proofs.explain.page import page
from proofs.explain.timeline import lines
from proofs.explain.told import told
from proofs.explain.tour import RIGHT, tour
from proofs.faults import FAULTS
from proofs.judge import Verdict
from proofs.replay import run


@pytest.fixture(scope="module")
def explained() -> Callable[[str], Explanation]:
    known: dict[str, Explanation] = {}

    def of(name: str) -> Explanation:
        if name not in known:
            mutant = MUTANTS.get(name)
            known[name] = explain(obligation_of(obligations_of(mutant)[0] if mutant else name), run, mutant=mutant)
        return known[name]

    return of


Explained = Callable[[str], Explanation]


def test_a_mutant_of_a_rule_is_told_with_both_answers_and_where_they_part(explained: Explained) -> None:
    text = told(explained("store/zero-is-a-generation"))

    assert "Generation 0 is shown no row" in text
    assert 'visible_to(self={"owner": 0, "lo": 0, "hi": 1}, reader_gen=0)' in text
    assert "the mutant gives [0, 1]" in text
    assert "the reference gives [0, 0]" in text
    assert "here they part" in text
    assert "fewer than 0 elements" in text and "a sum of numbers below 1" in text


def test_a_rule_that_gives_nothing_at_all_is_told(explained: Explained) -> None:
    explanation = explained("store/a-takeover-keeps-nothing")

    assert explanation.calls[0].gives != explanation.calls[0].right
    assert explanation.parts_at == 1


def test_what_is_right_in_a_release_build_is_told_by_the_specification(explained: Explained) -> None:
    (call,) = explained("machine/sums-saturate").calls

    assert (call.by, call.profile) == ("specification", "release")
    start, count = call.arguments["start"], call.arguments["count"]
    assert call.right[1] == (start + count) % 2**64


def test_a_boundary_is_refuted_by_what_the_code_does(explained: Explained) -> None:
    explanation = explained("store/an-empty-write-loses-nothing")

    assert explanation.verdict is Verdict.REFUTED
    assert explanation.parts_at is None and not explanation.reason
    assert "the code does what the counterexample says" in told(explanation)


def test_a_proved_theorem_is_told_with_its_witnesses_and_the_mutants_it_refutes(explained: Explained) -> None:
    explanation = explained("store/merge-claims-only-written-rows")

    assert explanation.verdict is Verdict.PROVED
    assert explanation.witnesses
    assert set(explanation.refutes) == {f.name for f in FAULTS if f.refuted_by == explanation.obligation}
    assert "store/a-gap-is-spanned" in told(explanation)


def test_a_law_of_the_system_names_the_mutants_that_show_its_harm() -> None:
    assert "no-session-check" in mutants_of("system/no-foreign-rows")
    assert "the-older-stamp" in mutants_of("system/every-row-read-is-its-writers")


def test_a_run_of_the_system_is_a_line_a_step_with_the_bad_read_marked(explained: Explained) -> None:
    explanation = explained("claimed-rows-are-read-before-they-are-written")
    assert explanation.trace is not None
    drawn = lines(explanation.trace)

    assert [line.action for line in drawn] == ["allocate A", "write-chunk A [0, 1)", "cold-build A"]
    # The write is under way: a small letter. The row made of it read nobody's row.
    assert [line.columns["hidden"] for line in drawn] == [". .", "a0 .", "a0 ."]
    assert drawn[-1].columns["rows"] == "A:A0<.0!"
    assert [line.bad for line in drawn] == [False, False, True]
    assert explanation.parts_at == 3 and "what it reads has landed" in explanation.parts


def test_a_block_freed_under_a_write_is_marked_on_the_free_list(explained: Explained) -> None:
    explanation = explained("a-block-is-freed-under-a-write")
    assert explanation.trace is not None

    assert lines(explanation.trace)[-1].columns["blocks"] == "0: free, written by table 1!"


def test_a_run_of_the_graph_cache_tells_whose_capture_a_batch_ran(explained: Explained) -> None:
    explanation = explained("the-key-forgets-the-mode")
    assert explanation.trace is not None

    assert lines(explanation.trace)[-1].columns["ran"].endswith("B ran A's! at place 0")
    assert "the reference gives" in told(explanation)


# ---- files


class Reader(HTMLParser):
    """What a page refers to, its ids and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.steps = self.drawings = 0
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href", "action", "data")]
        self.steps += tag == "section"
        self.drawings += tag == "svg"

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_page_draws_every_step_and_fetches_nothing(explained: Explained) -> None:
    text = page(explained("claimed-rows-are-read-before-they-are-written"))
    read = Reader(text)

    assert (read.steps, read.drawings) == (3, 3)
    assert read.addresses == [] and "http:" not in text and "https:" not in text and "url(" not in text
    assert "default-src 'none'" in text
    assert "Here the harm stands." in read.words
    # Rows are told with signs that mean something in a page.
    assert "A:A0<.0!" in read.words
    assert {"ArrowLeft", "ArrowRight", "Home", "End"} <= set(re.findall(r"\w+", text))


def test_a_page_of_a_rule_has_a_step_a_call_and_escapes_what_it_tells(explained: Explained) -> None:
    explanation = explained("store/the-owner-always-replaces")
    read = Reader(page(explanation))

    assert read.steps == len(explanation.calls) == 2
    assert explanation.claim in read.words


def test_what_a_rule_or_a_step_is_called_cannot_become_a_tag(explained: Explained) -> None:
    hostile = "<script>x</script>&amp;"
    of_rules = explained("store/the-owner-always-replaces")
    calls = [replace(call, rule=hostile, parts=hostile, arguments={hostile: hostile}) for call in of_rules.calls]
    of_rules = replace(of_rules, obligation=hostile, claim=hostile, mutant=hostile, fault=hostile, calls=tuple(calls))
    of_system = explained("claimed-rows-are-read-before-they-are-written")
    assert of_system.trace is not None
    steps = tuple(replace(step, action=hostile) for step in of_system.trace.steps)
    of_system = replace(of_system, trace=replace(of_system.trace, steps=steps), parts=hostile)

    for explanation in (of_rules, of_system):
        text = page(explanation)
        assert text.count("<script>") == 1 and "<script>x" not in text
        assert any(hostile in words for words in Reader(text).words)
    assert f"Step 1: {hostile} A" in Reader(page(of_system)).words
    assert f"Call 1: {hostile}" in Reader(page(of_rules)).words


def test_a_trace_in_itf_has_a_state_more_than_steps_and_is_read_again(explained: Explained) -> None:
    explanation = explained("claimed-rows-are-read-before-they-are-written")
    written = json.loads(json.dumps(as_itf(explanation)))
    read = itf_py.trace_from_json(written)

    assert len(read.states) == 4
    assert [state.values["action"] for state in read.states] == ["start", "allocate", "write-chunk", "cold-build"]
    assert read.states[-1].values["holders"][1].rows == 1
    assert read.states[1].values["ticket"] == 2
    assert "loop" not in written and read.vars == list(read.states[0].values)


def test_calls_in_itf_are_read_again_with_large_numbers(explained: Explained) -> None:
    read = itf_py.trace_from_json(json.loads(json.dumps(as_itf(explained("store/a-takeover-never-panics")))))

    assert max(read.states[0].values["arguments"].start, read.states[0].values["arguments"].count) == 2**64 - 1


# ---- the command


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Exit, str]:
    code = cli.run(cli.draftproof, ["explain", *arguments])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--mutant", "store/zero-is-a-generation"], Exit.OK),
        (["store/an-empty-write-loses-nothing"], Exit.OK),
        (["store/generation-zero-sees-nothing"], Exit.OK),
        # Other obligations than the one that refutes a mutant may hold.
        (["store/an-owner-sees-its-whole-range", "--mutant", "store/zero-is-a-generation"], Exit.OK),
        ([], Exit.USAGE),
        (["store/no-such-claim"], Exit.USAGE),
        (["--mutant", "store/no-such-mutant"], Exit.USAGE),
        (["system/no-foreign-rows", "--mutant", "no-take-on-adopt"], Exit.USAGE),
    ],
)
def test_explaining_ends_as_the_verdict_does(capsys: pytest.CaptureFixture[str], arguments: list[str], code: Exit) -> None:
    assert asked(capsys, *arguments)[0] is code


def test_a_misspelt_name_is_answered_with_one_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "store/zero-is-a-generation" in asked(capsys, "--mutant", "store/zero-is-generation")[1]
    assert "store/generation-zero-sees-nothing" in asked(capsys, "store/generation-zero-sees-all")[1]


def test_every_file_is_written_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--write-trace", "t/x.json", "--html", "x.html", "--write-test", "tests"]
    code, _ = asked(capsys, "--mutant", "store/zero-is-a-generation", *options)
    default, _ = asked(capsys, "--mutant", "store/zero-is-a-generation", "--write-trace")

    assert code is default is Exit.OK
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    name = "build/traces/store.generation-zero-sees-nothing@store.zero-is-a-generation"
    assert written == {
        *("t/x.json", "t/x.itf.json", "x.html", f"{name}.json", f"{name}.itf.json"),
        *("tests/test_store_zero_is_a_generation.py", "tests/store_zero_is_a_generation.rs"),
    }


def test_json_is_the_whole_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    document: dict[str, Any] = json.loads(asked(capsys, "--mutant", "store/zero-is-a-generation", "--json")[1])

    assert document["verdict"] == "refuted"
    assert document["calls"][0]["gives"] == [0, 1]
    assert document["parts_at"] == 1


@pytest.mark.slow
def test_the_tour_comes_to_what_it_should(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert tour(tmp_path) is Exit.OK
    told_there = capfd.readouterr().out

    assert "the harm does not show" in told_there
    assert "1 passed" in told_there and "1 failed" in told_there


@pytest.mark.slow
def test_the_tour_notices_a_break_that_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proofs.explain.tour.BROKEN", RIGHT)

    assert tour(tmp_path) is Exit.WRONG
