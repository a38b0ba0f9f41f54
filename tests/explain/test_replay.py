"""Counterexamples run again: on right code, on code with the fault, and models that are no models of the code."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from proofs import cli
from proofs.exits import Exit
from proofs.explain.explanation import MUTANTS, explain, obligation_of, obligations_of
from proofs.explain.rerun import Rerun, rerun, runner
from proofs.replay import run


def document_of(name: str) -> dict[str, Any]:
    mutant = MUTANTS.get(name)
    return explain(obligation_of(obligations_of(mutant)[0] if mutant else name), run, mutant=mutant).as_json()


@pytest.fixture(scope="module")
def of_rules() -> dict[str, Any]:
    return document_of("store/zero-is-a-generation")


@pytest.fixture(scope="module")
def of_system() -> dict[str, Any]:
    return document_of("no-owner-check")


def shows_all(rule: str, arguments: Mapping[str, Any]) -> Any:
    """Code with a fault: the whole range is shown to everyone."""
    if rule == "visible_to":
        return [arguments["self"]["lo"], arguments["self"]["hi"]]
    return run(rule, arguments)


@pytest.mark.parametrize("place", ["reference", "numpy"])
def test_right_code_does_not_show_a_mutants_harm(of_rules: dict[str, Any], place: str) -> None:
    result = rerun(of_rules, runner(place))

    assert (result.outcome, result.as_it_must_be) == (Rerun.SPARED, True)


def test_code_with_the_fault_shows_its_harm(of_rules: dict[str, Any]) -> None:
    result = rerun(of_rules, shows_all)

    assert (result.outcome, result.as_it_must_be) == (Rerun.SHOWS, False)


def test_right_code_shows_the_harm_of_a_boundary() -> None:
    result = rerun(document_of("store/an-empty-write-loses-nothing"), run)

    assert (result.outcome, result.as_it_must_be) == (Rerun.SHOWS, True)


def test_a_model_that_differs_from_the_code_without_a_mutant_is_spurious() -> None:
    document = document_of("store/an-empty-write-loses-nothing")
    document["calls"][0]["gives"] = {"owner": 1, "lo": 0, "hi": 1}

    assert rerun(document, run).outcome is Rerun.SPURIOUS


def test_code_that_gives_neither_answer_makes_the_model_spurious(of_rules: dict[str, Any]) -> None:
    result = rerun(of_rules, lambda rule, arguments: [7, 7])

    assert (result.outcome, result.as_it_must_be) == (Rerun.SPURIOUS, False)


@pytest.mark.parametrize("place", ["reference", "numpy"])
def test_a_run_of_the_system_comes_to_harm_with_the_fault_alone(of_system: dict[str, Any], place: str) -> None:
    result = rerun(of_system, runner(place))

    assert (result.outcome, result.as_it_must_be) == (Rerun.SPARED, True)
    assert "after step 5" in result.lines[0]
    assert "parts at step 5" in result.lines[1]


def test_a_run_of_the_system_shows_its_harm_on_code_with_the_fault(of_system: dict[str, Any]) -> None:
    result = rerun(of_system, shows_all)

    assert (result.outcome, result.as_it_must_be) == (Rerun.SHOWS, False)


def test_a_run_to_a_state_that_the_machine_does_not_reach_is_spurious(of_system: dict[str, Any]) -> None:
    changed = copy.deepcopy(of_system)
    changed["trace"]["steps"][0]["after"]["ticket"] = 9

    assert rerun(changed, run).outcome is Rerun.SPURIOUS


def test_an_assumption_that_is_dropped_shows_its_harm_on_right_code() -> None:
    result = rerun(document_of("A1"), run)

    assert (result.outcome, result.as_it_must_be) == (Rerun.SHOWS, True)


@pytest.mark.parametrize(
    ("text", "code"),
    [("{}", Exit.USAGE), ("no json", Exit.USAGE), ('{"schema": "draftproof.explanation/1"}', Exit.USAGE)],
)
def test_what_is_no_counterexample_is_bad_input(tmp_path: Path, text: str, code: Exit) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text, encoding="utf-8")

    assert cli.run(cli.draftproof, ["replay", str(path)]) is code


def test_the_command_ends_with_1_on_a_spurious_model(
    tmp_path: Path, of_rules: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = tmp_path / "right.json", tmp_path / "wrong.json"
    changed = copy.deepcopy(of_rules)
    changed["calls"][0] |= {"gives": [5, 5], "right": [6, 6]}
    right.write_text(json.dumps(of_rules), encoding="utf-8")
    wrong.write_text(json.dumps(changed), encoding="utf-8")

    assert cli.run(cli.draftproof, ["replay", str(right), "--on", "numpy"]) is Exit.OK
    assert "the harm does not show" in capsys.readouterr().out
    assert cli.run(cli.draftproof, ["replay", str(wrong)]) is Exit.WRONG
    assert "spurious" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "{broken", '"a string"'])
def test_a_file_without_an_object_is_told_with_what_to_pass_instead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)

    assert cli.run(cli.draftproof, ["replay", str(path)]) == Exit.USAGE
    said = capsys.readouterr().err
    assert "attribute" not in said
    assert "pass a file that `draftproof explain --write-trace` wrote" in " ".join(said.split())
