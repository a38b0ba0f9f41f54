"""`draftproof prove --scheduler` says what `draftproof prove` says: same order, verdicts, costs, budget and backstop."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proofs.exits import Exit
from tests.campaign.clusters import Cluster, changed, cluster, environment

pytestmark = pytest.mark.slow

COMMAND = (sys.executable, "-c", "from proofs.cli import main; main()", "prove")
ONLY = ("--only", "store/merge*")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as here:
        yield here


def proved(folder: Path, name: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    ended = subprocess.run(
        [*COMMAND, *ONLY, "--out", name, *arguments], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    path = folder / name / "report.json"
    return ended.returncode, json.loads(path.read_text()) if path.is_file() else {"error": ended.stderr}


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if name != "seconds"}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def test_two_workers_say_what_this_process_says(scheduler: Cluster, tmp_path: Path) -> None:
    code, here = proved(tmp_path, "here", "--jobs", "1")
    with scheduler.worker("one"), scheduler.worker("two"):
        other_code, there = proved(tmp_path, "there", "--scheduler", scheduler.address)

    assert (code, other_code) == (Exit.OK, Exit.OK)
    assert len(here["obligations"]) >= 5
    assert timeless(there) == timeless(here)


@pytest.mark.exhaustive
def test_a_budget_and_a_backstop_hold_there_too(scheduler: Cluster, tmp_path: Path) -> None:
    with scheduler.worker("one"):
        spent, budget = proved(tmp_path, "budget", "--scheduler", scheduler.address, "--budget", "1")
        late, backstop = proved(tmp_path, "backstop", "--scheduler", scheduler.address, "--backstop", "0.1")

    assert spent == Exit.UNDECIDED
    assert {entry["verdict"] for entry in budget["obligations"]} == {"undecided"}
    assert late in (Exit.OK, Exit.UNDECIDED)
    reasons = [entry["reason"] for entry in backstop["obligations"] if entry["verdict"] == "undecided"]
    assert all("no answer within 0.1 s" in reason for reason in reasons)


@pytest.mark.exhaustive
def test_workers_of_other_sources_prove_nothing(scheduler: Cluster, tmp_path: Path) -> None:
    with scheduler.worker("other", changed(tmp_path / "other", "spec/store.py", "# of another version\n")):
        code, report = proved(tmp_path, "out", "--scheduler", scheduler.address)

    assert code == Exit.UNDECIDED
    assert {entry["verdict"] for entry in report["obligations"]} == {"undecided"}


@pytest.mark.exhaustive
def test_a_scheduler_that_does_not_answer_is_bad_usage(tmp_path: Path) -> None:
    code, told = proved(tmp_path, "out", "--scheduler", "tcp://127.0.0.1:9")

    assert code == Exit.USAGE
    assert "scheduler=tcp://127.0.0.1:9 does not answer" in told["error"]
    assert not (tmp_path / "out").exists()
