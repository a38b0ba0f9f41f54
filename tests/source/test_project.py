"""The project's own functions and kernels all have a verdict or a reviewed reason; the lemmas about sorts hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proofs import smt
from proofs.obligation import Obligation
from proofs.source.principles import CLAIMS
from proofs.source.project import ROOT, exclusions, project_sources
from spec.rules import RULES


@pytest.mark.slow
def test_every_function_of_the_project_is_proved_or_listed() -> None:
    entries = project_sources()
    assert [entry for entry in entries if entry["verdict"] != "proved"] == []
    assert {entry["name"].rpartition("::")[2] for entry in entries if "reference" in entry["name"]} == {r.name for r in RULES}


def test_every_exclusion_has_a_reason() -> None:
    assert all(reason for reasons in exclusions().values() for reason in reasons.values())


def test_a_function_that_is_not_listed_is_undecided_and_one_that_is_not_there_refuted(tmp_path: Path) -> None:
    folder = tmp_path / "impl" / "reference"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "impl" / "reference" / "words.py", folder / "words.py")
    text = (folder / "words.py").read_text(encoding="utf-8")
    (folder / "words.py").write_text(text.replace("def u64(", "def sixty_four("), encoding="utf-8")
    found = {entry["name"]: entry["verdict"] for entry in project_sources(tmp_path)}
    assert found["impl/reference/words.py::sixty_four"] == "undecided"
    assert found["impl/reference/words.py::u64"] == "refuted"


@pytest.mark.parametrize("obligation", list(CLAIMS), ids=lambda obligation: obligation.id)
def test_both_solvers_prove_what_is_said_of_sorts(obligation: Obligation) -> None:
    text = smt.state(obligation, RULES).text
    assert smt.ask_z3(text, budget=1_000_000).answer is smt.Answer.UNSAT
    assert smt.ask_cvc5(text, budget=1_000_000).answer is smt.Answer.UNSAT
