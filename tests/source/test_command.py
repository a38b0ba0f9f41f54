"""The command: verdicts as JSON, exit codes, SARIF, baselines, tests from counterexamples; any bytes give a verdict or an error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from proofs.cli import run
from proofs.exits import Exit
from proofs.source import run_vector
from proofs.source.cli import source
from proofs.source.files import LANGUAGES, verdicts

GATE = "fn canonical_assignment_at(n: usize, min_width: usize, clear: bool) -> bool"
GOOD = f"{GATE} {{ clear && n >= min_width }}\n"
BAD = f"{GATE} {{ clear && n > min_width }}\n"
STRANGE = f"{GATE} {{ mystery!() }}\n"
TEXTS = Path(__file__).parent / "texts"


def _file(folder: Path, text: str, name: str = "gate.rs") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("text", "code"), [(GOOD, Exit.OK), (BAD, Exit.WRONG), (STRANGE, Exit.UNDECIDED), ("", Exit.USAGE)])
def test_the_exit_code_is_that_of_the_worst_verdict(text: str, code: Exit, tmp_path: Path) -> None:
    assert run(source, [_file(tmp_path, text)]) == code


def test_json_tells_a_row_for_each_function(tmp_path: Path) -> None:
    result = CliRunner().invoke(source, [_file(tmp_path, BAD), "--json"], standalone_mode=False)
    (row,) = json.loads(result.output)["functions"]
    assert list(row) == ["name", "line", "spec", "verdict", "scope", "profile", "counterexample", "reason"]
    assert (row["verdict"], row["line"], row["spec"]) == ("refuted", 1, "canonical_assignment_at")
    shown = row["counterexample"]
    assert shown["args"] == {"n": 0, "min_width": 0, "kill_switch_clear": True}
    assert (shown["source"], shown["spec"]) == (False, True)


def test_a_function_by_another_name_is_mapped_and_one_that_is_not_there_is_missing(tmp_path: Path) -> None:
    path = _file(tmp_path, GOOD.replace("canonical_assignment_at", "gate"))
    assert run(source, [path, "--map", "gate=canonical_assignment_at"]) == Exit.OK
    assert run(source, [path, "--map", "gates=canonical_assignment_at"]) == Exit.WRONG


def test_what_the_baseline_knows_to_be_undecided_does_not_fail(tmp_path: Path) -> None:
    path, known = _file(tmp_path, STRANGE), str(tmp_path / "known.json")
    assert run(source, [path, "--write-baseline", known]) == Exit.UNDECIDED
    assert run(source, [path, "--baseline", known]) == Exit.OK
    assert run(source, [_file(tmp_path, BAD), "--baseline", known]) == Exit.WRONG
    assert run(source, [path, "--baseline", path]) == Exit.USAGE


def test_sarif_has_the_line_and_the_counterexample(tmp_path: Path) -> None:
    out = tmp_path / "out.sarif"
    run(source, [_file(tmp_path, "\n\n" + BAD), "--sarif", str(out)])
    found = json.loads(out.read_text(encoding="utf-8"))
    (result,) = found["runs"][0]["results"]
    assert found["version"] == "2.1.0" and result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert "min_width" in result["message"]["text"]


def test_a_counterexample_becomes_a_test(tmp_path: Path) -> None:
    out = tmp_path / "gate_test.rs"
    run(source, [_file(tmp_path, BAD), "--write-test", str(out)])
    assert "assert_eq!(got, true);" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", sorted(LANGUAGES))
def test_any_bytes_give_rows_or_none(suffix: str, tmp_path: Path) -> None:
    random = Random(suffix)
    sources = [p.read_bytes() for p in sorted(TEXTS.iterdir()) if p.suffix == suffix] or [b"bool canonical_assignment_at("]
    path = tmp_path / f"text{suffix}"
    for _ in range(25):
        text = bytearray(random.choice(sources))
        for _ in range(random.randrange(1, 6)):
            at = random.randrange(len(text) + 1)
            text[at : at + random.randrange(40)] = random.randbytes(random.randrange(3))
        path.write_bytes(bytes(text))
        # One rule suffices: it is the reading of the whole file that is put to the test.
        verdicts(path, only=frozenset(["canonical_assignment_at"]))
    path.write_bytes(random.randbytes(2000))
    assert verdicts(path) == []


def test_a_vector_runs_on_a_source(tmp_path: Path) -> None:
    path = _file(tmp_path, BAD)
    assert run_vector(path, "canonical_assignment_at", {"n": 3, "min_width": 3, "kill_switch_clear": True}) is False
    with pytest.raises(LookupError, match="visible_to"):
        run_vector(path, "visible_to", {"self": {"owner": 1, "lo": 0, "hi": 1}, "reader_gen": 1})
    with pytest.raises(NotImplementedError, match="mystery"):
        run_vector(_file(tmp_path, STRANGE), "canonical_assignment_at", {"n": 3, "min_width": 3, "kill_switch_clear": True})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not here")
def test_compiled_code_confirms_a_counterexample(tmp_path: Path) -> None:
    result = CliRunner().invoke(source, [_file(tmp_path, BAD), "--json", "--replay"], standalone_mode=False)
    (row,) = json.loads(result.output)["functions"]
    assert (row["verdict"], row["reason"]) == ("refuted", "replayed by rustc")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not here")
@pytest.mark.parametrize(
    ("text", "old", "new", "name"),
    [
        ("functions.cu", "reader == 0 || ", "", "visible_to"),
        ("functions.cu", "write.hi < write.lo", "false", "merge_interval"),
        ("functions.cu", "carry & ", "carry | ", "carry_armed_with"),
        ("kernels.cu", "len[i] < 2", "len[i] < 3", "plan_append"),
    ],
)
def test_compiled_code_confirms_a_counterexample_of_cuda(tmp_path: Path, text: str, old: str, new: str, name: str) -> None:
    given = (Path(__file__).parent / "texts" / text).read_text(encoding="utf-8")
    assert old in given
    path = tmp_path / text
    path.write_text(given.replace(old, new, 1), encoding="utf-8")
    result = CliRunner().invoke(source, [str(path), "--only", name, "--json", "--replay"], standalone_mode=False)
    (row,) = json.loads(result.output)["functions"]
    assert (row["verdict"], row["reason"]) == ("refuted", "replayed by g++")


def test_a_proof_says_what_it_rests_on(tmp_path: Path) -> None:
    kernels = str(Path(__file__).parent / "texts" / "kernels.cu")
    result = CliRunner().invoke(source, [kernels, "--only", "session_matches"], standalone_mode=False)
    assert "rests on rows are taken one by one in a grid-stride loop" in result.output
