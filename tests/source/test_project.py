"""The project's own functions and kernels all have a verdict or a reviewed reason; the lemmas about sorts hold."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from proofs import smt
from proofs.claims.sorting import CLAIMS
from proofs.obligation import Obligation
from proofs.source.files import verdicts
from proofs.source.project import ROOT, SOURCES, entries, exclusions, listed
from proofs.source.verdicts import Row, Verdict
from spec.rules import RULES


@pytest.mark.slow
def test_every_function_of_the_project_is_proved_or_listed() -> None:
    found = [entry for file in SOURCES.files for entry in SOURCES.prove(file)]
    assert [entry for entry in found if entry["verdict"] not in ("proved", "outside")] == []
    reference = [e["name"].rpartition("::")[2] for e in found if "reference" in e["name"] and e["verdict"] == "proved"]
    assert sorted(reference) == sorted(rule.name for rule in RULES)


def test_every_exclusion_has_a_reason_and_the_tests_that_one_names_are_there() -> None:
    reasons = [reason for reasons in exclusions().values() for reason in reasons.values()]
    assert all(reasons)
    for reason in reasons:
        for path in re.findall(r"tests/[\w/.]*\w", reason):
            assert (ROOT / path).exists(), reason
        for test in re.findall(r"\b(test_\w+) in (tests/[\w/.]*\w)", reason):
            assert f"def {test[0]}(" in (ROOT / test[1]).read_text(encoding="utf-8"), reason


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


KERNELS = ROOT / "impl" / "batched" / "kernels"


def _kernel(folder: Path, name: str, old: str, new: str, rule: str) -> Row:
    """The row of a kernel after a change in one of the files."""
    for path in (*KERNELS.glob("*.cu"), *KERNELS.glob("*.cuh")):
        shutil.copy(path, folder / path.name)
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    (row,) = verdicts(folder / "batched.cu", only=frozenset([rule]))
    return row


@pytest.mark.parametrize(
    ("name", "old", "new", "rule", "verdict"),
    [
        ("order.cuh", "return slot_a < slot_b;", "return slot_b > slot_a;", "verify_batch_order", Verdict.PROVED),
        ("order.cuh", "return slot_a < slot_b;", "return slot_a > slot_b;", "verify_batch_order", Verdict.REFUTED),
        ("order.cuh", "!canonical && k_a != k_b", "k_a != k_b", "verify_batch_order", Verdict.REFUTED),
        (
            "order.cuh",
            "return k_a > k_b;\n    return a < b",
            "return k_a < k_b;\n    return a < b",
            "verify_batch_order",
            Verdict.REFUTED,
        ),
        (
            "batched.cu",
            "order[begin + place.order] = member",
            "order[begin + place.depth] = member",
            "verify_batch_order",
            Verdict.REFUTED,
        ),
        ("batched.cu", "== width;", ">= width;", "verify_batch_order", Verdict.REFUTED),
        ("batched.cu", "if (LANE == 0) status", "if (LANE == 1) status", "verify_batch_order", Verdict.UNDECIDED),
        (
            "batched.cu",
            "order[begin + place.order] = member",
            "order[place.order] = member",
            "verify_batch_order",
            Verdict.UNDECIDED,
        ),
        ("batched.cu", "order[begin + place.order] = member", "order[begin] = member", "verify_batch_order", Verdict.UNDECIDED),
        ("batched.cu", "member += LANES", "member += 31", "verify_batch_order", Verdict.UNDECIDED),
        ("order.cuh", "key[2 * p + 1] = pairs[2 * p + 1]", "key[2 * p + 1] = pairs[2 * p]", "verify_graph_key", Verdict.REFUTED),
        ("order.cuh", "(wy_tables_null ? 1u : 0u)", "(wy_tables_null ? 0u : 1u)", "verify_graph_key", Verdict.REFUTED),
        ("order.cuh", "if (lane == 0) key", "if (lane == 0 && n > 0) key", "verify_graph_key", Verdict.UNDECIDED),
        ("order.cuh", "key[2 * p] = pairs", "if (lane == 0) key[2 * p] = pairs", "verify_graph_key", Verdict.UNDECIDED),
        ("words.cuh", "THREADS / 32)", "THREADS)", "verify_graph_key", Verdict.UNDECIDED),
    ],
)
def test_a_fault_in_a_kernel_that_lanes_share_is_not_proved(
    name: str, old: str, new: str, rule: str, verdict: Verdict, tmp_path: Path
) -> None:
    row = _kernel(tmp_path, name, old, new, rule)
    assert row.verdict is verdict and (row.reason or row.counterexample), row


@pytest.mark.parametrize("obligation", list(CLAIMS), ids=lambda obligation: obligation.id)
def test_both_solvers_prove_what_is_said_of_sorts(obligation: Obligation) -> None:
    text = smt.state(obligation, RULES).text
    assert smt.ask_z3(text, budget=1_000_000).answer is smt.Answer.UNSAT
    assert smt.ask_cvc5(text, budget=1_000_000).answer is smt.Answer.UNSAT
