"""The make targets are listed, and the workflow file for users keeps its promises."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "draftproof.yml").read_text())
    (only,) = workflow["jobs"].values()
    return dict(only)


def step(job: dict[str, Any], action: str) -> dict[str, Any]:
    (only,) = [step for step in job["steps"] if step.get("uses", "").startswith(action + "@")]
    return dict(only)


@needs_make
def test_help_is_what_make_does_first_and_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None

    shown = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True).stdout

    listed = re.findall(r"^make ([a-z-]+) +\S", shown, re.MULTILINE)
    assert sorted(listed) == sorted(phony[1].split())


@needs_make
@pytest.mark.parametrize("target", ["prove", "prove-full"])
def test_flags_reach_the_command(target: str) -> None:
    flags = "--only 'store/*' --jobs 1"

    planned = subprocess.run(
        ["make", "-C", ROOT, "--dry-run", target, f"PROVE_FLAGS={flags}"], capture_output=True, text=True, check=True
    ).stdout

    assert flags in planned


def test_the_workflow_caches_the_environment_by_the_lock(job: dict[str, Any]) -> None:
    cache = step(job, "actions/cache")["with"]

    assert cache["path"].endswith("/.venv")
    assert "hashFiles(" in cache["key"]
    assert "requirements.lock" in cache["key"]


def test_the_workflow_uploads_its_findings_when_a_claim_failed(job: dict[str, Any]) -> None:
    upload = step(job, "actions/upload-artifact")

    assert upload["if"] == "${{ !cancelled() }}"
    assert [Path(path).name for path in upload["with"]["path"].split("\n") if path] == ["report.json", "junit.xml"]


def test_the_workflow_ends_with_the_exit_code_of_prove(job: dict[str, Any]) -> None:
    commands = [step["run"] for step in job["steps"] if "run" in step]

    assert commands == ['make -C "$DRAFTPROOF" prove']
    assert not any("continue-on-error" in step for step in (job, *job["steps"]))


@pytest.mark.parametrize("name", ["Makefile", "requirements.lock", "examples/ci/draftproof.yml", ".ci/run"])
def test_no_file_names_a_registry_or_hides_a_failure(name: str) -> None:
    text = (ROOT / name).read_text()

    assert "://" not in text
    assert "|| true" not in text
