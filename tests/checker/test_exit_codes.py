"""Every exit code of DESIGN, section 3: what gives it, and that the report says why."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proofs import replay
from proofs.checker import Load
from proofs.cli import run
from proofs.commands import prove_command
from proofs.exits import Exit, worst
from tests.checker import catalogues
from tests.checker.proving import list_catalogue, prove

ROOT = Path(__file__).resolve().parents[2]


def test_all_as_it_must_be_is_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.good, tmp_path)

    assert proved.exit == Exit.OK
    assert proved.report["complete"]
    assert [entry["verdict"] for entry in proved.report["obligations"]] == ["proved", "refuted"]
    assert [entry["verdict"] for entry in proved.report["faults"]] == ["refuted"]
    assert "cost" in capsys.readouterr().out


def test_a_refuted_theorem_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.refuted, tmp_path)

    assert proved.exit == Exit.WRONG
    shown = capsys.readouterr().out
    assert shown.index("generation-zero-sees-nothing") < shown.index("generation-zero-sees-everything")
    assert "call     visible_to(" in shown
    entry = proved.obligation(catalogues.SEES_EVERYTHING.id)
    (call,) = entry["counterexample"]["calls"]
    assert call["arguments"]["self"]["hi"] != call["code"][1]


def test_a_vacuous_theorem_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.vacuous, tmp_path)

    assert proved.exit == Exit.WRONG
    assert proved.obligation(catalogues.CONTRADICTION.id)["verdict"] == "vacuous"
    assert "VACUOUS" in capsys.readouterr().out


def test_a_boundary_that_holds_is_1(tmp_path: Path) -> None:
    proved = prove(catalogues.unrefuted, tmp_path)

    assert proved.exit == Exit.WRONG
    assert proved.obligation(catalogues.BOUNDARY_THAT_HOLDS.id)["verdict"] == "proved"


def test_a_surviving_mutant_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.surviving, tmp_path)

    assert proved.exit == Exit.WRONG
    assert "harmless" in capsys.readouterr().out


def test_a_claim_that_is_gone_from_the_proofs_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.surviving, tmp_path, listed=catalogues.good)

    assert proved.exit == Exit.WRONG
    assert not proved.report["complete"]
    missing = {d["name"] for d in proved.report["inventory"] if d["what"] == "missing"}
    assert missing == {catalogues.BOUNDARY.id, "zero-as-wildcard", "situations/interleaved-prefill"}
    assert catalogues.BOUNDARY.id in capsys.readouterr().out


def test_a_claim_that_the_inventory_does_not_list_is_1(tmp_path: Path) -> None:
    proved = prove(catalogues.good, tmp_path, listed=catalogues.surviving)

    assert proved.exit == Exit.WRONG
    assert not proved.report["complete"]
    unexpected = {d["name"] for d in proved.report["inventory"] if d["what"] == "unexpected"}
    assert unexpected == {catalogues.BOUNDARY.id, "zero-as-wildcard", "situations/interleaved-prefill"}


def test_code_that_differs_from_the_model_is_1_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.good, tmp_path, code=catalogues.lying)

    assert proved.exit == Exit.WRONG
    assert proved.obligation(catalogues.SEES_NOTHING.id)["verdict"] == "refuted"
    assert "model and code differ in the witness for there is a range: visible_to(" in capsys.readouterr().out
    assert [entry["verdict"] for entry in proved.report["situations"]] == ["refuted"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--only", "nowhere/*"], "'nowhere/*' matches no obligation"),
        (["--jobs", "0"], "0 is not in the range x>=1"),
        (["--seed", "one"], "'one' is not a valid integer"),
        (["--backstop", "0"], "0.0 is not in the range x>=0.1"),
        (["--unknown"], "--unknown"),
        (["--out", __file__], "is a file"),
    ],
)
def test_bad_usage_is_2_and_names_argument_and_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    proved = prove(catalogues.good, tmp_path, *arguments)

    assert proved.exit == Exit.USAGE
    assert proved.report is None
    said = capsys.readouterr()
    assert arguments[0] in said.err and told in said.err
    assert "Traceback" not in said.err + said.out


@pytest.mark.parametrize(
    ("load", "verdict", "exit_code"),
    [
        (catalogues.with_source_proved, "proved", 0),
        (catalogues.with_source_outside, "outside", 0),
        (catalogues.with_source_refuted, "refuted", 1),
        (catalogues.with_source_undecided, "undecided", 3),
    ],
)
def test_a_source_proof_counts_as_a_claim_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], load: Load, verdict: str, exit_code: int
) -> None:
    proved = prove(load, tmp_path)

    assert proved.exit == exit_code
    assert proved.report["sources"] == [{"name": "impl/store.py::visible_to", "verdict": verdict, "reason": "for a reason"}]
    told = capsys.readouterr().out
    assert f"{verdict} (1)" in told
    assert ("impl/store.py::visible_to" in told) == (exit_code != 0)


def test_a_source_proof_that_raises_is_4_and_names_the_file(tmp_path: Path) -> None:
    proved = prove(catalogues.with_source_that_raises, tmp_path)

    assert proved.exit == Exit.INTERNAL
    ((name, verdict, reason),) = [tuple(entry.values()) for entry in proved.report["sources"]]
    assert (name, verdict) == ("impl/store.py", "undecided")
    assert reason == "internal error: RuntimeError: impl/store.py cannot be read"


def test_a_source_is_asked_again_only_if_something_has_changed(tmp_path: Path) -> None:
    assert prove(catalogues.with_source_refuted, tmp_path).exit == Exit.WRONG
    assert prove(catalogues.with_source_proved, tmp_path).exit == Exit.WRONG
    kept = tmp_path / "prove" / "sources.json"
    kept.write_text(kept.read_text().replace("as it stands", "as it stood"))
    assert prove(catalogues.with_source_proved, tmp_path).exit == Exit.OK


def test_only_takes_sources_whose_files_match(tmp_path: Path) -> None:
    assert prove(catalogues.with_source_refuted, tmp_path, "--only", "toy/*").report["sources"] == []
    assert prove(catalogues.with_source_refuted, tmp_path, "--only", "impl/*").exit == Exit.WRONG


@pytest.mark.parametrize("status", ["absent", "stale"])
def test_a_record_that_is_not_fresh_is_1_only_if_asked(tmp_path: Path, status: str, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"name": "gpu", "status": status, "reason": "for a reason"}

    assert prove(catalogues.good, tmp_path, records=lambda: [row]).exit == Exit.OK
    assert f"{status} (1)" in capsys.readouterr().out
    assert prove(catalogues.good, tmp_path, "--strict", records=lambda: [row]).exit == Exit.WRONG


def test_a_fresh_record_is_0_even_if_asked(tmp_path: Path) -> None:
    row = {"name": "gpu", "status": "fresh", "reason": ""}

    assert prove(catalogues.good, tmp_path, "--strict", records=lambda: [row]).exit == Exit.OK


def test_a_spent_budget_is_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.good, tmp_path, "--budget", "1", "--only", catalogues.SEES_NOTHING.id)

    assert proved.exit == Exit.UNDECIDED
    assert proved.obligation(catalogues.SEES_NOTHING.id)["verdict"] == "undecided"
    assert "budget 1 resource units" in capsys.readouterr().out


def test_a_worker_that_hangs_is_killed_and_3(tmp_path: Path) -> None:
    proved = prove(catalogues.hanging, tmp_path, "--backstop", "1")

    assert proved.exit == Exit.UNDECIDED
    assert proved.obligation("toy/that-hangs")["reason"] == "no answer within 1 s, so its worker was killed"
    assert proved.obligation(catalogues.SEES_NOTHING.id)["verdict"] == "proved"
    assert not proved.report["complete"]


def test_a_worker_that_dies_takes_nothing_else_with_it_and_is_3(tmp_path: Path) -> None:
    proved = prove(catalogues.dying, tmp_path, "--jobs", "1")

    assert proved.exit == Exit.UNDECIDED
    assert proved.obligation("toy/that-dies")["reason"] == "its worker died (SIGKILL)"
    assert proved.obligation(catalogues.SEES_NOTHING.id)["verdict"] == "proved"


def test_a_claim_that_rests_on_what_is_not_proved_is_not_proved(tmp_path: Path) -> None:
    proved = prove(catalogues.resting_on_what_is_refuted, tmp_path)

    resting = proved.obligation("toy/that-rests")
    assert resting["verdict"] == "undecided"
    assert catalogues.SEES_EVERYTHING.id in resting["reason"]


def test_an_exception_in_a_claim_is_4_and_the_others_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proved = prove(catalogues.raising, tmp_path)

    assert proved.exit == Exit.INTERNAL
    assert proved.obligation("toy/that-raises")["reason"] == "internal error: RuntimeError: the claim cannot be told"
    assert proved.obligation(catalogues.SEES_NOTHING.id)["verdict"] == "proved"
    assert "in _raise" in (proved.folder / "tracebacks.txt").read_text()
    assert "Traceback" not in capsys.readouterr().out


def test_a_refutation_is_not_hidden_by_a_worker_that_died(tmp_path: Path) -> None:
    assert prove(catalogues.refuted_and_dying, tmp_path).exit == Exit.WRONG


def test_claims_that_do_not_load_are_4(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    ended = run(prove_command(catalogues.broken, replay.run, tmp_path / "inventory.json"), [])

    assert ended == Exit.INTERNAL
    said = capsys.readouterr().err
    assert said == "draftproof: internal error: RuntimeError: the claims do not load; traceback in build/traceback.txt\n"
    assert "in broken" in (tmp_path / "build" / "traceback.txt").read_text()


def test_the_worst_exit_wins_in_the_order_4_2_1_3() -> None:
    assert worst([0, 0]) == 0
    assert worst([0, 3]) == 3
    assert worst([3, 1]) == 1
    assert worst([1, 2, 3]) == 2
    assert worst([2, 4, 1, 3]) == 4


def _processes_of(group: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(pid) for pid, pgid, stat in rows if int(pgid) == group and not stat.startswith("Z")]


def _gone(group: int) -> bool:
    deadline = time.monotonic() + 20
    while _processes_of(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not _processes_of(group)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_130_and_leaves_neither_processes_nor_files(tmp_path: Path, signum: signal.Signals) -> None:
    listed, pid_file, out = tmp_path / "inventory.json", tmp_path / "pid", tmp_path / "prove"
    list_catalogue(catalogues.hanging, listed)
    program = (
        "import sys; from pathlib import Path; from proofs import cli, commands, replay; from tests.checker import catalogues;"
        f"command = commands.prove_command(catalogues.hanging, replay.run, Path({str(listed)!r}));"
        f"cli.end_politely(); sys.exit(cli.run(command, ['--out', {str(out)!r}]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, catalogues.PID_FILE: str(pid_file)},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not pid_file.exists() and process.poll() is None:
        time.sleep(0.05)

    if signum == signal.SIGINT:
        os.killpg(process.pid, signum)  # as the terminal does: to the whole group
    else:
        process.send_signal(signum)
    _, said = process.communicate(timeout=60)

    assert process.returncode == Exit.INTERRUPTED, said
    assert said.strip() == "draftproof: interrupted"
    assert _gone(process.pid)
    assert not out.exists() or list(out.rglob("*")) == []
