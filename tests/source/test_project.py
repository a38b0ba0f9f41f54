"""The project's own functions and kernels all have a verdict or a reviewed reason; the lemmas about sorts hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from proofs import smt
from proofs.claims.sorting import CLAIMS
from proofs.obligation import Obligation
from proofs.source.files import verdicts
from proofs.source.project import ROOT, SOURCES, entries, exclusions, listed
from spec.rules import RULES


@pytest.mark.slow
def test_every_function_of_the_project_is_proved_or_listed() -> None:
    found = [entry for file in SOURCES.files for entry in SOURCES.prove(file)]
    assert [entry for entry in found if entry["verdict"] not in ("proved", "outside")] == []
    reference = [e["name"].rpartition("::")[2] for e in found if "reference" in e["name"] and e["verdict"] == "proved"]
    assert sorted(reference) == sorted(rule.name for rule in RULES)


def test_every_exclusion_has_a_reason() -> None:
    assert all(reason for reasons in exclusions().values() for reason in reasons.values())


@pytest.mark.slow
def test_what_is_said_to_be_read_with_its_callers_is_run_through_in_a_proof() -> None:
    read: set[str] = set()
    for file in SOURCES.files:
        module = file.removesuffix(".py").replace("/", ".")
        for row in verdicts(ROOT / file):
            own = {name if "." in name else f"{module}.{name}" for name in row.read}
            read |= own
    said = {
        f"{file.removesuffix('.py').replace('/', '.')}.{name}"
        for file, reasons in exclusions().items()
        for name, reason in reasons.items()
        if reason.startswith("read with")
    }
    assert len(said) >= 10 and said - read == set()


def _copy(folder: Path, name: str, old: str, new: str) -> dict[str, str]:
    """The verdicts on a file of the reference with a change, and on what the exclusion list says of the others."""
    path = folder / "impl" / "reference" / name
    path.parent.mkdir(parents=True)
    text = (ROOT / "impl" / "reference" / name).read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    (folder / "impl" / "__init__.py").touch()
    words = ROOT / "impl" / "reference" / "words.py"
    for copy in {"words.py", "copied.py"} - {name}:
        shutil.copy(words, path.parent / copy)
    return {entry["name"]: entry["verdict"] for file in listed(folder) for entry in entries(file, folder)}


def test_a_function_or_file_that_is_not_listed_is_undecided_and_one_that_is_not_there_refuted(tmp_path: Path) -> None:
    found = _copy(tmp_path, "words.py", "def u64(", "def sixty_four(")
    assert found["impl/reference/words.py::sixty_four"] == "undecided"
    assert found["impl/reference/words.py::u64"] == "refuted"
    assert found["impl/reference/words.py::flag"] == "outside"
    assert found["impl/reference/copied.py"] == "undecided"
    assert found["impl/reference/carry.py"] == "refuted"


def test_a_function_that_the_exclusion_list_names_is_refuted_where_it_is_wrong_or_could_be_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proofs.source.project.exclusions", lambda: {"impl/reference/key.py": {"verify_graph_key": "a reason"}})
    provable = _copy(tmp_path / "provable", "key.py", "verify_graph_key", "verify_graph_key")
    assert provable["impl/reference/key.py::verify_graph_key"] == "refuted"
    wrong = _copy(tmp_path / "wrong", "key.py", "- 1 if wy", "- 2 if wy")
    assert wrong["impl/reference/key.py::verify_graph_key"] == "refuted"


@pytest.mark.parametrize("obligation", list(CLAIMS), ids=lambda obligation: obligation.id)
def test_both_solvers_prove_what_is_said_of_sorts(obligation: Obligation) -> None:
    text = smt.state(obligation, RULES).text
    assert smt.ask_z3(text, budget=1_000_000).answer is smt.Answer.UNSAT
    assert smt.ask_cvc5(text, budget=1_000_000).answer is smt.Answer.UNSAT
