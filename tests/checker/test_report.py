"""The report: it fits its schema whatever happened, says the same in every run, and is written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest

from proofs import report
from proofs.checker import Load
from proofs.exits import Exit
from proofs.smt import Answer, ask_cvc5, ask_z3
from tests.checker import catalogues
from tests.checker.proving import prove


def schema() -> Any:
    return json.loads(report.SCHEMA_PATH.read_text())


def test_the_schema_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize(
    ("load", "arguments"),
    [
        (catalogues.good, ["--full"]),
        (catalogues.refuted, []),
        (catalogues.vacuous, []),
        (catalogues.unrefuted, []),
        (catalogues.surviving, []),
        (catalogues.patched, []),
        (catalogues.dying, []),
        (catalogues.raising, []),
        (catalogues.good, ["--only", "situations/*"]),
    ],
)
def test_reports_of_every_outcome_fit_the_schema(load: Load, arguments: list[str], tmp_path: Path) -> None:
    proved = prove(load, tmp_path, *arguments)

    jsonschema.Draft202012Validator(schema()).validate(proved.report)
    assert proved.report["exit"] == proved.exit


def test_a_report_that_does_not_fit_is_not_written(tmp_path: Path) -> None:
    proved = prove(catalogues.good, tmp_path)
    proved.report["obligations"][0]["verdict"] = "surely"

    with pytest.raises(jsonschema.ValidationError, match="surely"):
        report.write(proved.report, {}, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def _without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        # Digests are those of the sources, which somebody may be editing between two runs.
        return {key: _without_seconds(part) for key, part in value.items() if key not in ("seconds", "digests")}
    return [_without_seconds(part) for part in value] if isinstance(value, list) else value


def test_every_run_says_the_same_with_any_number_of_workers(tmp_path: Path) -> None:
    reports = []
    for jobs in ("1", "2", "3"):
        (tmp_path / jobs).mkdir()
        reports.append(_without_seconds(prove(catalogues.refuted, tmp_path / jobs, "--jobs", jobs).report))

    assert reports[0]["obligations"][0]["cost"] > 0
    assert reports[0] == reports[1] == reports[2]


@pytest.mark.slow
def test_real_claims_cost_the_same_in_every_run(tmp_path: Path) -> None:
    # The toy claims above are too easy for a solver to hesitate over; these are not.
    reports = []
    for jobs in ("1", "2"):
        (tmp_path / jobs).mkdir()
        proved = prove(catalogues.of_the_key, tmp_path / jobs, "--jobs", jobs)
        reports.append(_without_seconds(proved.report))

    assert max(entry["cost"] for entry in reports[0]["obligations"]) > 10_000
    assert reports[0] == reports[1]


def test_the_written_statements_are_what_was_proved(tmp_path: Path) -> None:
    proved = prove(catalogues.good, tmp_path)

    for entry in proved.report["obligations"]:
        text = (proved.folder / entry["smtlib"]["file"]).read_text()
        assert hashlib.sha256(text.encode()).hexdigest() == entry["smtlib"]["digest"]
        wanted = {"proved": Answer.UNSAT, "refuted": Answer.SAT}[entry["verdict"]]
        assert ask_z3(text, budget=10**6).answer is wanted
        assert ask_cvc5(text, budget=10**6).answer is wanted


def test_statements_of_claims_that_are_gone_are_deleted(tmp_path: Path) -> None:
    prove(catalogues.good, tmp_path)
    proved = prove(catalogues.surviving, tmp_path)

    assert [path.stem for path in (proved.folder / "smt").rglob("*.smt2")] == ["generation-zero-sees-nothing"]


def test_the_digests_cover_every_source() -> None:
    digests = report.source_digests()

    assert digests["proofs/report.py"] == hashlib.sha256(Path(report.__file__).read_bytes()).hexdigest()
    assert {"spec/store.py", "impl/reference/store.py", "proofs/inventory.json"} <= digests.keys()


def test_junit_tells_failures_from_errors(tmp_path: Path) -> None:
    proved = prove(catalogues.refuted_and_dying, tmp_path)

    xml = junitparser.JUnitXml.fromfile(str(proved.folder / "junit.xml"))
    cases = {case.name: [type(result) for result in case.result] for suite in xml for case in suite}
    assert cases == {
        catalogues.SEES_EVERYTHING.id: [junitparser.Failure],
        "toy/that-dies": [junitparser.Error],
        catalogues.SEES_NOTHING.id: [],
    }


def test_a_partial_run_says_that_it_is_not_complete(tmp_path: Path) -> None:
    proved = prove(catalogues.good, tmp_path, "--only", catalogues.SEES_NOTHING.id)

    assert proved.exit == Exit.OK
    assert not proved.report["complete"]
    assert proved.report["expected"] == [catalogues.SEES_NOTHING.id, catalogues.BOUNDARY.id]


def test_a_full_run_tells_every_seed_and_the_second_telling(tmp_path: Path) -> None:
    proved = prove(catalogues.good, tmp_path, "--full")

    theorem, boundary = proved.report["obligations"]
    assert [seed["seed"] for seed in theorem["seeds"]] == list(range(1, 11))
    assert {seed["verdict"] for seed in theorem["seeds"]} == {"proved"}
    assert {seed["verdict"] for seed in boundary["seeds"]} == {"refuted"}
    assert theorem["second_telling"]["verdict"] == "proved" and boundary["second_telling"] is None
