"""requirements.lock is what pyproject.toml asks for, whole, hashed and without addresses."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())

PIN = re.compile(r"(?P<pin>[a-z0-9][a-z0-9-]*==\S+(?: ; [^\\]+)?)(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def pins() -> dict[str, Requirement]:
    found = [Requirement(match["pin"]) for match in PIN.finditer(LOCK)]
    return {canonicalize_name(pin.name): pin for pin in found}


def version_of(pin: Requirement) -> Version:
    (only,) = pin.specifier
    return Version(only.version)


def asked_for() -> list[Requirement]:
    project = PROJECT["project"]
    lines = [
        *project["dependencies"],
        *project["optional-dependencies"]["dev"],
        *PROJECT["build-system"]["requires"],
    ]
    return [Requirement(line) for line in lines]


def test_the_lock_holds_hashed_pins_and_nothing_else() -> None:
    assert PIN.sub("", LOCK) == ""
    assert len(PIN.findall(LOCK)) == len(pins()) > 0


@pytest.mark.parametrize("requirement", asked_for(), ids=lambda requirement: requirement.name)
def test_a_requirement_is_met_by_its_pin(requirement: Requirement) -> None:
    pin = pins().get(canonicalize_name(requirement.name))

    assert pin is not None, f"{requirement} is not in requirements.lock; run make lock"
    assert version_of(pin) in requirement.specifier, f"{pin} does not meet {requirement}; run make lock"


def needed(requirements: list[Requirement]) -> set[str]:
    """Names of everything that the requirements pull in here, told by the metadata of what is installed."""
    reached: set[tuple[str, str]] = set()
    queue = [(requirement, extra) for requirement in requirements for extra in ("", *requirement.extras)]
    while queue:
        requirement, extra = queue.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in reached:
            continue
        reached.add((name, extra))
        for line in metadata.requires(name) or []:
            inner = Requirement(line)
            if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                queue += [(inner, inner_extra) for inner_extra in ("", *inner.extras)]
    return {name for name, _ in reached}


def test_the_lock_has_no_gap_and_no_leftover() -> None:
    locked = {name for name, pin in pins().items() if pin.marker is None or pin.marker.evaluate()}

    assert locked == needed([r for r in asked_for() if r.marker is None or r.marker.evaluate()])


@pytest.mark.parametrize("solver", ["z3-solver", "cvc5"])
def test_a_solver_is_pinned_exactly_for_users_of_the_wheel_too(solver: str) -> None:
    (requirement,) = [r for r in map(Requirement, PROJECT["project"]["dependencies"]) if r.name == solver]
    (clause,) = requirement.specifier

    assert clause.operator == "=="
    assert "*" not in clause.version


def test_the_readme_gives_a_reason_for_every_dependency_and_for_no_other() -> None:
    project = PROJECT["project"]
    declared = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    section = (ROOT / "README.md").read_text().partition("## Dependencies")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z][^|]*?) \| (\S.*?) \|$", section, re.MULTILINE)
    named = [name for names, _ in rows for name in re.sub(r" \(.*?\)", "", names).split(", ") if name != "package"]

    # What an extra brings, the tests of that extra need too: it is declared twice and named once.
    assert sorted(named) == sorted({Requirement(line).name for line in declared})
