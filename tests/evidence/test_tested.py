"""Results of tests and digests of vectors in a bundle: bound to the sources, without times, absent rather than old."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proofs.evidence import tested
from proofs.evidence.tested import results, state, vectors
from proofs.evidence.verifying import verify
from tests.evidence.bundles import Built, build, edited

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {"spec/a.py": "0" * 64}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("tested"))


def checkout(folder: Path) -> Path:
    (folder / "tests").mkdir()
    (folder / "tests" / "test_it.py").write_text("def test_it(): pass\n")
    return folder


def junit(folder: Path, about: str, *cases: str, name: str = "all") -> None:
    told = f'<properties><property name="sources" value="{about}"/><property name="asked" value="tests"/></properties>'
    (folder / "junit").mkdir(exist_ok=True)
    (folder / "junit" / f"{name}.xml").write_text(
        f'<testsuites><testsuite name="pytest">{told}{"".join(cases)}</testsuite></testsuites>'
    )


def case(name: str, inside: str = "", seconds: str = "0.1") -> str:
    return f'<testcase classname="tests.test_it" name="{name}" time="{seconds}">{inside}</testcase>'


def test_outcomes_are_told_without_times_in_any_order_of_runs(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    about = state(SOURCES, tested.digests_of_tests(root))
    junit(root, about, case("good"), case("left out", "<skipped/>"), case("bad", "<failure/>"), case("broken", "<error/>"))
    one = results(SOURCES, root / "junit", root)
    junit(root, about, case("bad", "<failure/>", "9"), case("broken", "<error/>"))
    junit(root, about, case("left out", "<skipped/>", "3"), case("good", "", "7"), case("bad"), name="b")

    other = results(SOURCES, root / "junit", root)

    outcomes = {"good": "passed", "left out": "skipped", "bad": "failed", "broken": "failed"}
    assert one["outcomes"] == other["outcomes"] == {f"tests.test_it::{name}": value for name, value in outcomes.items()}
    assert (one["sources"], one["runs"]) == (about, ["tests"])


def test_results_of_other_sources_or_tests_are_not_told(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    assert "no tests were run" in results(SOURCES, root / "junit", root)["absent"]
    junit(root, state(SOURCES, tested.digests_of_tests(root)), case("good"))
    assert "outcomes" in results(SOURCES, root / "junit", root)

    assert "other sources" in results({**SOURCES, "spec/b.py": "1" * 64}, root / "junit", root)["absent"]
    (root / "tests" / "test_it.py").write_text("def test_it(): assert False\n")
    assert "other sources" in results(SOURCES, root / "junit", root)["absent"]
    (root / "junit" / "all.xml").write_text('<testsuites><testsuite name="pytest"/></testsuites>')
    assert "other sources" in results(SOURCES, root / "junit", root)["absent"]


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_run_of_pytest_notes_what_it_is_about(processes: str, tmp_path: Path) -> None:
    file = tmp_path / "one.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", processes, f"--junitxml={file}", "tests/reference/test_words.py"]
    subprocess.run([*command, "-m", "not slow"], cwd=ROOT, check=True, capture_output=True)

    # Others may be at work in the checkout: then the run says that the sources changed under it.
    text = file.read_text()
    assert f'value="{tested.state_here()}"' in text or "changed while the tests ran" in text
    assert '<property name="asked" value="tests/reference/test_words.py not slow"' in text


def test_vectors_are_made_once_for_the_same_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def anew(*, jobs: int, noticed: Any) -> dict[str, Any]:
        made.append(jobs)
        return {"files": {}}

    monkeypatch.setattr(tested, "vectors_anew", anew)
    kept = tmp_path / "vectors.json"

    one = vectors(SOURCES, kept, jobs=2)
    assert vectors(SOURCES, kept, jobs=2) == one and len(made) == 1
    assert vectors({**SOURCES, "spec/b.py": "1" * 64}, kept, jobs=2) != one and len(made) == 2
    kept.write_text("[")
    assert vectors(SOURCES, kept, jobs=2) == one and len(made) == 3


@pytest.mark.slow
def test_the_digests_are_of_the_files_that_the_command_writes(tmp_path: Path) -> None:
    digests = tested.vectors_anew(jobs=2)["files"]
    subprocess.run([sys.executable, "-m", "proofs.cli", "vectors", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)

    assert digests == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.iterdir()}
    assert len(digests) == 14


# In a bundle.


def problems(built: Built, name: str, change: Any) -> list[str]:
    return verify(built.forged(lambda parts: edited(parts, name, change))).problems


def test_a_test_that_failed_is_named(built: Built) -> None:
    found = problems(built, "tests.json", lambda tests: tests["outcomes"].update({"tests.test_x::breaks": "failed"}))

    assert found == ["tests.json: tests.test_x::breaks failed"]


def test_results_and_vectors_of_other_sources_are_refused(built: Built) -> None:
    assert "tests ran on other sources" in problems(built, "tests.json", lambda tests: tests.update(sources="0" * 64))[0]
    assert "tests ran on other sources" in problems(built, "tests.json", lambda tests: tests.update(tests={"tests/x": "0"}))[0]
    strange = problems(built, "tests.json", lambda tests: tests.update(tests={"\ud800": "0"}))
    assert "not of the form" in strange[0]
    assert "from other sources" in problems(built, "vectors.json", lambda vectors: vectors.update(sources="0" * 64))[0]


def test_what_is_absent_is_said_to_be(built: Built) -> None:
    def absent(parts: dict[str, bytes]) -> None:
        parts["tests.json"] = parts["vectors.json"] = json.dumps({"absent": "nobody ran them"}).encode()

    found = verify(built.forged(absent))

    assert found.problems == []
    assert [line for line in found.reported if "nobody ran them" in line] == [
        "no results of tests: nobody ran them",
        "no digests of test vectors: nobody ran them",
    ]
