"""SOUNDNESS.md argues for every rule that the kernel has, and for every rule of inference that a theorem uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.checker import everything
from proofs.cli import run
from proofs.evidence import soundness
from proofs.evidence.cli import evidence
from proofs.evidence.soundness import LEMMAS, text
from proofs.evidence.trusted import GAPS, INFERENCES
from proofs.exits import Exit
from proofs.inventory import statements
from proofs.kernel.rules import TAKES
from proofs.obligation import Kind


def test_there_is_an_argument_for_every_lemma_of_the_kernel_and_for_no_other() -> None:
    assert LEMMAS.keys() == TAKES.keys()


def test_numbers_are_of_one_thing_each_and_have_no_gap() -> None:
    assert [rule.number for rule in INFERENCES] == [f"T{n}" for n in range(1, len(INFERENCES) + 1)]
    assert [gap.number for gap in GAPS] == [f"G{n}" for n in range(1, len(GAPS) + 1)]


def test_every_induction_has_a_base_and_a_step() -> None:
    # T1 needs both parts; a lemma that stands on one of them alone would be no lemma.
    names = {o.id for o in everything().obligations if o.kind is Kind.THEOREM}
    parts = {name.rsplit(".", 1)[0] for name in names if name.endswith((".base", ".step"))}

    assert len(parts) > 20
    assert all({f"{name}.base", f"{name}.step"} <= names for name in parts)


def test_the_page_tells_how_many_theorems_rest_on_each_rule() -> None:
    catalogue = everything().only("counting/*")
    lemmas = {name: judged.lemmas for name, judged in statements(catalogue).items()}
    bases = sum(o.id.endswith((".base", ".step")) for o in catalogue.obligations)

    told = text(catalogue, lemmas)

    assert f"{bases} theorems." in told.split("**T1.")[1].split("**T2.")[0]
    assert all(f"**{rule.number}." in told for rule in INFERENCES) and all(f"**{gap.number}." in told for gap in GAPS)


def test_an_old_page_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundness, "PATH", tmp_path / "SOUNDNESS.md")

    assert run(evidence, ["soundness", "--check"]) == Exit.WRONG
    assert run(evidence, ["soundness", "--write"]) == Exit.OK
    assert run(evidence, ["soundness", "--check"]) == Exit.OK
