"""The findings and the assumption ledger stand on what exists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from proofs import ledger
from proofs.claims import OBLIGATIONS
from proofs.cli import run as run_command
from proofs.findings import ARITHMETIC, FINDINGS, unbacked
from proofs.ledger import ASSUMPTIONS
from proofs.obligation import Kind
from proofs.report_cli import report
from proofs.traces.faults import SYSTEM_FAULTS
from spec.rules import RULES


def test_every_finding_has_evidence_that_exists() -> None:
    assert unbacked(OBLIGATIONS) == []
    assert len({finding.name for finding in FINDINGS}) == len(FINDINGS)


def test_evidence_that_is_gone_is_named() -> None:
    without = {id_: o for id_, o in OBLIGATIONS.items() if id_ != "gate/a-chunk-is-judged-like-its-batch"}

    assert unbacked(without) == ["a-chunks-width-is-not-its-batchs: there is no obligation gate/a-chunk-is-judged-like-its-batch"]


def test_the_command_shows_findings_with_evidence_and_harm() -> None:
    shown = json.loads(CliRunner().invoke(report, ["findings", "--json"]).output)
    told = {row["name"]: row for row in shown["findings"]}

    assert told["widths-below-the-gate-exceed-the-cap"]["evidence"] == [
        "counted: width 6 has 50 keys for a cap of 32; 36% of steps miss",
        "counted: width 7 has 77 keys for a cap of 32; 58% of steps miss",
    ]
    assert told["the-older-stamp-misses-chunks-that-start-later"]["harm"] == "reads what is not its own"


def test_every_function_has_its_panics_told() -> None:
    assert {name for panics in ARITHMETIC for name in panics.functions} == {rule.name for rule in RULES}


def test_every_assumption_has_a_witness_of_the_harm_without_it() -> None:
    assert [assumption.number for assumption in ASSUMPTIONS] == [f"A{n}" for n in range(1, 9)]
    for assumption in ASSUMPTIONS:
        assert assumption.boundaries or assumption.traces
        assert all(OBLIGATIONS[name].kind is Kind.BOUNDARY for name in assumption.boundaries)
        assert all(name in SYSTEM_FAULTS for name in assumption.traces)


@pytest.mark.slow
def test_the_ledger_is_up_to_date() -> None:
    assert run_command(report, ["assumptions", "--check"]) == 0


@pytest.mark.slow
def test_a_ledger_that_is_not_up_to_date_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ASSUMPTIONS.md"
    monkeypatch.setattr(ledger, "PATH", path)

    assert run_command(report, ["assumptions", "--check"]) == 1
    assert run_command(report, ["assumptions", "--write"]) == 0
    assert run_command(report, ["assumptions", "--check"]) == 0
    assert run_command(report, ["assumptions", "--check", "--write"]) == 2
