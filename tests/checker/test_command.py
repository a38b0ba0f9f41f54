"""The command as people and programs use it: what it lists, what it loads, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from proofs.cli import COMMANDS, Commands, Lazy, draftproof, run
from proofs.commands import report_command
from proofs.exits import Exit
from tests.checker import catalogues
from tests.checker.proving import prove

ROOT = Path(__file__).resolve().parents[2]


def draftproof_process(*arguments: str, code: str = "from proofs.cli import main; main()", **options: Any) -> Any:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, **options
    )


def test_help_names_every_command_that_exists_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(draftproof, ["--help"]) == Exit.OK

    listed = {line.split()[0] for line in capsys.readouterr().out.split("Commands:")[1].splitlines() if line.strip()}
    assert {"prove", "report", "inventory"} <= listed
    assert listed == {name for name, lazy in COMMANDS.items() if lazy.exists}


@pytest.mark.parametrize("name", [name for name, lazy in COMMANDS.items() if lazy.exists])
def test_every_command_explains_itself_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = COMMANDS[name].load()
    parts = [[name, part] for part in command.commands] if isinstance(command, click.Group) else [[name]]
    for words in parts:
        assert run(draftproof, [*words, "--help"]) == Exit.OK
        said = " ".join(capsys.readouterr().out.split())
        assert f"Example: draftproof {' '.join(words)}" in said
        assert "--json" in said


def test_a_command_without_its_module_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    absent = Lazy(module="proofs.nowhere.cli", attribute="command", tells="")

    assert run(Commands({"nowhere": absent}, name="draftproof"), ["nowhere"]) == Exit.USAGE
    assert "No such command 'nowhere'" in capsys.readouterr().err


def test_no_solver_is_loaded_before_a_command_needs_it() -> None:
    code = (
        "import sys; from proofs.cli import run, draftproof; run(draftproof, ['--help']);"
        "sys.exit(sorted({'z3', 'cvc5', 'impl', 'rich', 'pebble'} & sys.modules.keys()) or 0)"
    )

    done = draftproof_process(code=code)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_goes_away_changes_no_exit_code() -> None:
    code = (
        "import os, sys; from proofs.cli import main;"
        "r, w = os.pipe(); os.close(r); os.dup2(w, 1); sys.argv[1:] = ['prove', '--list']; main()"
    )

    done = draftproof_process(code=code)

    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_terminal_there_is_no_colour_and_no_progress() -> None:
    done = draftproof_process("prove", "--list")

    assert done.returncode == 0
    assert "\x1b" not in done.stdout and done.stderr == ""


def test_an_unexpected_error_is_4_with_one_line_and_a_traceback_on_demand(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    @click.option("--traceback", is_flag=True)
    def failing(traceback: bool) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.chdir(tmp_path)

    assert run(failing, []) == Exit.INTERNAL
    said = capsys.readouterr().err
    assert said == "draftproof: internal error: ZeroDivisionError: by nothing; traceback in build/traceback.txt\n"
    assert "in failing" in (tmp_path / "build" / "traceback.txt").read_text()
    assert run(failing, ["--traceback"]) == Exit.INTERNAL
    assert "in failing" in capsys.readouterr().err


def test_json_is_the_report_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.good, tmp_path, "--json")

    assert json.loads(capsys.readouterr().out) == proved.report


def test_a_kept_report_shows_as_its_run_did_and_ends_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.refuted, tmp_path)
    shown = capsys.readouterr().out

    assert run(report_command, ["--out", str(proved.folder)]) == Exit.WRONG
    assert capsys.readouterr().out == shown


def test_a_report_of_other_sources_is_called_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.good, tmp_path)
    proved.report["digests"]["spec/store.py"] = "0" * 64
    (proved.folder / "report.json").write_text(json.dumps(proved.report))

    run(report_command, ["--out", str(proved.folder)])

    assert "stale: 1 files changed since, spec/store.py among them" in capsys.readouterr().out


def test_claims_are_told_in_english(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.good, tmp_path)
    capsys.readouterr()

    run(report_command, ["--out", str(proved.folder), "--claims"])

    assert catalogues.SEES_NOTHING.claim in capsys.readouterr().out


@pytest.mark.parametrize("text", [None, "{", "{}"])
def test_a_report_that_is_absent_or_none_is_bad_input(text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if text is not None:
        (tmp_path / "report.json").write_text(text)

    assert run(report_command, ["--out", str(tmp_path)]) == Exit.USAGE
    said = capsys.readouterr().err
    assert "report.json" in said and "draftproof prove" in said and "Traceback" not in said
