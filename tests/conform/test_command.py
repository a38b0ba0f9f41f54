"""`draftproof conform`: what it counts, what it shows, and its exit codes."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from proofs.cli import draftproof, run
from proofs.exits import Exit
from spec.rules import RULES
from tests.conform.lines import RIGHT, line

Show = pytest.CaptureFixture[str]


def conform(*arguments: str | Path) -> Exit:
    return run(draftproof, ["conform", *map(str, arguments)])


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{text}\n" for text in lines))
    return path


@pytest.fixture
def right(tmp_path: Path) -> Path:
    return written(tmp_path / "right.jsonl", *map(line, RIGHT))


def told(capsys: Show) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_right_vectors_of_every_function_agree_with_the_reference(right: Path, capsys: Show) -> None:
    assert conform("--target", "reference", right) is Exit.OK
    shown = capsys.readouterr().out

    assert "14 vectors compared with reference: 0 differ; 0 malformed lines, 0 skipped" in shown
    assert [text.split()[0] for text in shown.splitlines()[:-1]] == [rule.name for rule in RULES]


def test_a_mismatch_is_shown_with_its_place_and_both_sides(right: Path, tmp_path: Path, capsys: Show) -> None:
    wrong = written(tmp_path / "wrong.jsonl", line("visible_to"), "", line("visible_to", result=[1, 6], why="foreign"))

    assert conform(right, wrong) is Exit.WRONG
    shown = capsys.readouterr().out

    assert "16 vectors compared with reference: 1 differ" in shown
    assert f"{wrong}:3: visible_to  (foreign)" in shown
    for text in ('  self          {"owner": 4', "  reader_gen    5", "  expected      [1, 6]", "  got           [0, 0]"):
        assert text in shown


def test_a_flag_is_no_number_and_a_number_no_flag(tmp_path: Path, capsys: Show) -> None:
    # The same result under ==, in a program that answers 1 for true.
    program = f'{sys.executable} -c \'import sys\nfor _ in sys.stdin: print("{{\\"result\\": 1}}")\''
    file = written(tmp_path / "v.jsonl", line("session_matches"))

    assert conform("--target", "command", "--command", program, "--json", file) is Exit.WRONG
    assert told(capsys)["mismatches"][0]["got"] == 1


def test_the_first_mismatches_are_shown_and_all_are_counted(tmp_path: Path, capsys: Show) -> None:
    wrong = written(tmp_path / "wrong.jsonl", *[line("common_prefix_len", result=n) for n in (0, 1, 2, 3, 4)])

    assert conform("--max-mismatches", "2", wrong) is Exit.WRONG
    shown = capsys.readouterr().out

    assert "4 DIFFER" in shown and shown.count("expected ") == 2
    assert "2 more mismatches; --max-mismatches N shows more" in shown


def test_the_report_as_json_tells_everything(tmp_path: Path, capsys: Show) -> None:
    file = written(tmp_path / "v.jsonl", line("visible_to"), line("visible_to", result=[1, 6]), "{}", line("plan_append"))

    assert conform("--json", file) is Exit.USAGE
    found = told(capsys)

    assert found["exit"] == 2 and (found["compared"], found["differing"], found["malformed"]) == (3, 1, 1)
    assert found["functions"] == {
        "plan_append": {"compared": 1, "differing": 0},
        "visible_to": {"compared": 2, "differing": 1},
    }
    assert found["bad_lines"] == [{"file": str(file), "line": 3, "reason": 'lacks "fn"'}]
    (mismatch,) = found["mismatches"]
    assert (mismatch["line"], mismatch["expected"], mismatch["got"]) == (2, [1, 6], [0, 0])


def test_a_bad_line_is_named_and_the_others_are_compared(tmp_path: Path, capsys: Show) -> None:
    file = written(tmp_path / "v.jsonl", line("visible_to"), line("visible_to", args={}), line("plan_append"))

    assert conform(file) is Exit.USAGE
    shown = capsys.readouterr().out

    assert "2 vectors compared with reference: 0 differ; 1 malformed lines" in shown
    assert f'{file}:2: args: lacks "self", "reader_gen"' in shown


def test_a_file_that_is_not_there_is_bad_input(right: Path, tmp_path: Path, capsys: Show) -> None:
    assert conform(right, tmp_path / "nowhere.jsonl") is Exit.USAGE
    assert f"{tmp_path / 'nowhere.jsonl'}:0: cannot be read on" in capsys.readouterr().out


def test_nothing_to_compare_is_no_success(tmp_path: Path, capsys: Show) -> None:
    assert conform(written(tmp_path / "empty.jsonl")) is Exit.USAGE
    assert "nothing was compared" in capsys.readouterr().out
    (tmp_path / "folder").mkdir()
    assert conform(tmp_path / "folder") is Exit.USAGE


def test_a_folder_stands_for_the_vector_files_in_it_and_gzip_is_read(right: Path, tmp_path: Path, capsys: Show) -> None:
    (tmp_path / "more.jsonl.gz").write_bytes(gzip.compress(right.read_bytes()))
    (tmp_path / "other.txt").write_text("no vector")

    assert conform(tmp_path) is Exit.OK
    assert "28 vectors compared" in capsys.readouterr().out


def test_a_damaged_gzip_is_bad_input(right: Path, tmp_path: Path, capsys: Show) -> None:
    whole = gzip.compress(right.read_bytes() * 100)
    for name, data in {
        "cut": whole[: len(whole) // 2],
        "changed": whole[:60] + b"\xff" * 40 + whole[100:],
        "none": b"plain",
    }.items():
        path = tmp_path / f"{name}.jsonl.gz"
        path.write_bytes(data)
        assert conform(path) is Exit.USAGE
        assert f"{path}:" in capsys.readouterr().out


def test_standard_input_is_read(right: Path, capsys: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(right.read_bytes())))

    assert conform("-") is Exit.OK
    assert "14 vectors compared" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--target", "fpga"], "--target 'fpga' is not known; take one of reference, numpy, kernels, cupy, command, source"),
        (["--target", "reference:x"], "the reference takes none"),
        (["--target", "reference", "--profile", "release"], "pass --profile debug"),
        (["--target", "command"], "--command 'PROGRAM ARGUMENTS'"),
        (["--command", "true"], "pass --target command"),
        (["--target", "source:nowhere.rs"], "names no file"),
        (["--target", "command", "--command", "no-such-program"], "cannot be started"),
        (["--target", "command", "--command", "'"], "cannot be started"),
    ],
)
def test_a_target_that_cannot_be_is_bad_usage(arguments: list[str], reason: str, right: Path, capsys: Show) -> None:
    assert conform(*arguments, right) is Exit.USAGE
    assert reason in capsys.readouterr().out


def test_a_file_is_run_and_what_it_lacks_is_told(right: Path, tmp_path: Path, capsys: Show) -> None:
    source = tmp_path / "gate.rs"
    source.write_text(
        "fn canonical_assignment_at(n: usize, min_width: usize, kill_switch_clear: bool) -> bool {\n"
        "    kill_switch_clear && n > min_width\n}\n"
    )

    assert conform("--target", f"source:{source}", "--json", right) is Exit.WRONG
    found = told(capsys)

    assert (found["compared"], found["differing"], found["skipped"]) == (1, 1, 13)
    assert found["absent"] == [rule.name for rule in RULES if rule.name != "canonical_assignment_at"]


def test_an_overflow_without_its_wrapped_result_is_skipped_in_a_release_build(tmp_path: Path, capsys: Show) -> None:
    args = {"last_pair_key": 2**64 - 1, "prompt_len": 3, "hidden_lo": 0, "hidden_hi": 9}
    panic = {"panic": True}
    # Wrapped, the next key is 0, so both keys of the prompt are appended.
    lines = [
        line("plan_append", args=args, result=panic),
        line("plan_append", args=args, result=panic, release={"first_key": 0, "rows": 2}),
        line("plan_append"),
    ]
    program = f"{sys.executable} {Path(__file__).with_name('engine.py')}"
    file = written(tmp_path / "v.jsonl", *lines)

    for profile, compared in (("debug", 3), ("release", 2)):
        command = f"{program} --{profile}"
        asked = ("--target", "command", "--command", command, "--profile", profile, "--json", file)
        assert conform(*asked) is Exit.OK
        found = told(capsys)
        assert (found["compared"], found["skipped"]) == (compared, 3 - compared)
