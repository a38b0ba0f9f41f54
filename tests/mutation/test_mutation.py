"""The judgement on a mutation run: what makes it fail, and that the reviewed list speaks of code that exists."""

import importlib
import inspect
import json
from pathlib import Path

import pytest

from proofs.cli import run as run_command
from proofs.exits import Exit
from proofs.mutation import reference
from proofs.mutation.cli import mutants
from proofs.mutation.reference import Change, function_name, judge, read_change, read_list, read_statuses

KEPT = Change(function="m.f", removed="return a < b", added="return a <= b")
OTHER = Change(function="m.C.g", removed="x = 1", added="x = 2")
REASON = {KEPT: "a never equals b"}


def run(killed: int, survived: int) -> dict[str, str]:
    names = [f"m.x_f__mutmut_{number}" for number in range(killed + survived)]
    return {name: "killed" if number < killed else "survived" for number, name in enumerate(names)}


def test_a_run_passes_where_enough_are_killed_and_each_survivor_has_its_reason() -> None:
    judgement = judge(run(99, 1), [KEPT], REASON, ["m"])
    assert (judgement.killed, judgement.total, judgement.wrong) == (99, 100, ())
    assert judgement.survivors == REASON


@pytest.mark.parametrize(("killed", "wrong"), [(95, ()), (94, ("94 of 100 killed, fewer than 95 in 100",))])
def test_ninety_five_in_a_hundred_are_enough_and_one_fewer_is_not(killed: int, wrong: tuple[str, ...]) -> None:
    assert judge(run(killed, 100 - killed), [KEPT], REASON, ["m"]).wrong == wrong


def test_a_survivor_without_an_entry_fails_the_run() -> None:
    assert judge(run(99, 1), [KEPT, OTHER], REASON, ["m"]).wrong == (f"survives and is not listed: {OTHER}",)


def test_an_entry_without_a_survivor_fails_the_run() -> None:
    assert judge(run(99, 1), [], REASON, ["m"]).wrong == (f"is listed and does not survive: {KEPT}",)


def test_a_mutant_that_no_test_ran_fails_the_run() -> None:
    statuses = {**run(99, 1), "m.x_f__mutmut_200": "no tests"}
    assert judge(statuses, [KEPT], REASON, ["m"]).wrong == ("m.x_f__mutmut_200 was not tested: no tests",)


def test_a_mutant_that_never_ends_has_been_noticed() -> None:
    assert judge({**run(99, 1), "m.x_f__mutmut_200": "timeout"}, [KEPT], REASON, ["m"]).killed == 100


def test_a_module_without_a_mutant_fails_the_run() -> None:
    assert judge(run(99, 1), [KEPT], REASON, ["m", "n"]).wrong == ("n has no mutant: the run is not complete",)
    assert judge({}, [], {}, ["m"]).wrong == ("m has no mutant: the run is not complete",)


def test_a_change_is_known_by_its_function_and_lines() -> None:
    diff = (
        "# m.x_f__mutmut_7: survived\n--- m.py\n+++ m.py\n@@ -1,2 +1,2 @@\n def f(a, b):\n-    return a < b\n+    return a <= b\n"
    )
    assert read_change("m.x_f__mutmut_7", diff) == KEPT
    assert function_name("a.b.xǁCǁ__post_init____mutmut_3") == "a.b.C.__post_init__"
    assert function_name("a.b.x__private__mutmut_12") == "a.b._private"


def test_the_state_of_every_mutant_is_read() -> None:
    text = "    a.x_f__mutmut_1: killed\n    a.xǁCǁg__mutmut_12: survived\n    a.x_h__mutmut_2: no tests\n"
    assert read_statuses(text) == {
        "a.x_f__mutmut_1": "killed",
        "a.xǁCǁg__mutmut_12": "survived",
        "a.x_h__mutmut_2": "no tests",
    }


@pytest.mark.parametrize("reason", ["", "  "])
def test_an_entry_needs_a_reason(reason: str) -> None:
    with pytest.raises(ValueError, match="has no reason"):
        read_list(f'[[survivor]]\nfunction = "m.f"\nremoved = "a"\nadded = "b"\nreason = "{reason}"\n')


def test_an_entry_stands_there_once() -> None:
    entry = '[[survivor]]\nfunction = "m.f"\nremoved = "a"\nadded = "b"\nreason = "c"\n'
    assert list(read_list(entry).values()) == ["c"]
    with pytest.raises(ValueError, match="twice"):
        read_list(entry + entry)


def test_the_reviewed_list_speaks_of_lines_that_are_there() -> None:
    for change in read_list(Path(reference.__file__).with_name("survivors.toml").read_text(encoding="utf-8")):
        module, name = change.function.rsplit(".", 1)
        assert change.removed in inspect.getsource(getattr(importlib.import_module(module), name)), change


def test_the_command_outside_a_checkout_is_bad_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    assert run_command(mutants, ["--only", "reference"]) is Exit.USAGE
    assert "is no checkout" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(RuntimeError("mutmut died"), Exit.INTERNAL), (KeyboardInterrupt(), Exit.INTERRUPTED)])
def test_a_run_that_breaks_off_is_no_verdict(
    error: BaseException, code: Exit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> str:
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reference, "copy_to", lambda workshop: None)
    monkeypatch.setattr(reference, "mutmut", broken)
    assert run_command(mutants, ["--only", "reference"]) is code
    assert not (tmp_path / "build" / "mutants").exists()


@pytest.mark.parametrize(("status", "code"), [("killed", Exit.OK), ("survived", Exit.WRONG)])
def test_the_command_tells_its_verdict_by_exit_code_and_json(
    status: str, code: Exit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in reference.COPIES:
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "impl/reference/m.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "copy_to", lambda workshop: None)
    monkeypatch.setattr(reference, "read_list", lambda text: {})
    printed = {"run": "", "results": f"impl.reference.m.x_f__mutmut_1: {status}", "show": "-    a\n+    b\n"}
    monkeypatch.setattr(reference, "mutmut", lambda workshop, command, *_: printed[command])

    assert run_command(mutants, ["--only", "reference", "--json"]) is code

    judgement = json.loads(capsys.readouterr().out)["reference"]
    assert (judgement["total"], judgement["exit"]) == (1, code)
    assert [survivor["function"] for survivor in judgement["survivors"]] == ["impl.reference.m.f"] * code
    assert json.loads((tmp_path / "build/mutants/reference.json").read_text()) == judgement
