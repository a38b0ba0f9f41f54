"""Generated faults: what is generated, and what becomes of each kind."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from proofs.cli import run as run_command
from proofs.exits import Exit
from proofs.faults.generated import MODULES, Generated, generated
from proofs.faults.patch import Patch, source
from proofs.mutation import models
from proofs.mutation.cli import mutants
from proofs.mutation.models import Fate, every_fault, judge
from proofs.replay import run


@pytest.mark.parametrize("module", MODULES)
def test_every_change_gives_another_text_that_can_be_read(module: str) -> None:
    texts = [fault.patch.apply() for fault in generated(module)]

    assert len({source(module), *texts}) == len(texts) + 1
    for text in texts:
        ast.parse(text)


def test_the_same_text_gives_the_same_faults() -> None:
    assert generated.__wrapped__("carry") == generated.__wrapped__("carry")
    assert len({fault.name for fault in every_fault()}) == len(every_fault()) > 500


@pytest.mark.parametrize(
    "change",
    [
        "store.inside: row < rows.hi -> row <= rows.hi",
        "store.is_interval: rows.lo -> rows.hi",
        "store.merge_interval: start + count -> (start - count)",
        "store.merge_interval: z3.Not(apart(cur, write)) -> apart(cur, write)",
        "carry.agree: 0 -> 1",
        "carry.usable_by: key + 1 < common -> key + 1 >= common",
        "append.plan_append: z3.Implies(plan.present, planned) -> planned",
        "order.ahead: z3.If(canonical, slot_tie, deeper) -> z3.If(canonical, deeper, slot_tie)",
        "order.ahead: j -> i",
        "key.verify_graph_key: pair.slot -> pair.k",
        "gate.WHITE_SPACE: 0x20 -> 33",
        "machine.kept_of_any: ideal % SIZE -> ideal",
    ],
)
def test_a_kind_of_change_is_among_them(change: str) -> None:
    assert change in {fault.name for fault in every_fault()}


def test_names_and_arguments_of_different_types_are_not_exchanged() -> None:
    exchanged = {(fault.was, fault.becomes) for fault in every_fault()}

    assert ("stamp", "reader_gen") not in exchanged
    assert ("common_length(entry.tokens, prompt)", "common_length(prompt, entry.tokens)") in exchanged
    assert ("members_ahead(slots, ks, canonical, member)", "members_ahead(slots, ks, member, canonical)") not in exchanged


def fault(name: str) -> Generated:
    return next(fault for fault in every_fault() if fault.name == name)


@pytest.mark.parametrize(
    ("name", "fate", "how"),
    [
        ("gate.canonical_assignment_at: min_width <= n -> min_width < n", Fate.KILLED, "refuted"),
        ("order.verify_batch_order: slots.length != ks.length -> slots.length == ks.length", Fate.KILLED, "refuted"),
        ("gate.is_trailing_start: 0 <= start -> 0 > start", Fate.KILLED, "vacuous"),
        ("store.inside: row < rows.hi -> row <= rows.hi", Fate.KILLED, "the claim is false of the code"),
        ("store.owned_by: gen != 0 -> gen > 0", Fate.EQUIVALENT, "proved by Z3 and cvc5"),
        ("append.plan_append: z3.Implies(plan.present, planned) -> planned", Fate.EQUIVALENT, "proved by cvc5"),
        ("machine.ABSENT_SLOT: 1 -> 2", Fate.EQUIVALENT, "rules and claims are told in the same formulas"),
        ("store.visible_to: stamp -> result", Fate.STILLBORN, "AttributeError: owner"),
    ],
)
def test_a_fault_has_its_fate(name: str, fate: Fate, how: str) -> None:
    judged = judge(fault(name), run)

    assert (judged.fate, judged.how) == (fate, how)
    assert bool(judged.by) is (fate is Fate.KILLED)
    assert bool(judged.scope) is (fate is Fate.EQUIVALENT)


def test_a_fault_that_nobody_notices_is_open_and_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "OBLIGATIONS", {})

    assert judge(fault("gate.canonical_assignment_at: min_width <= n -> min_width < n"), run).fate is Fate.OPEN


def test_a_difference_is_never_taken_for_none() -> None:
    """Without any claim to refute it, a fault that differs in a single case is not proved to be equivalent."""
    patch = Patch(module="store", old="gen != 0, stamp.owner == gen", new="gen != 0, stamp.owner == gen, gen != 2**63")
    single = Generated(name="single", module="store", place="owned_by", was="", becomes="", patch=patch)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(models, "OBLIGATIONS", {})

        assert judge(single, run).fate is Fate.OPEN


def test_the_command_judges_the_faults_that_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["--only", "models", "--fault", "gate.canonical_assignment_at*", "--jobs", "1"]

    assert run_command(mutants, [*arguments, "--matrix", "--json"]) is Exit.OK

    document = json.loads(capsys.readouterr().out)["models"]
    assert document["counts"] == {"killed": len(document["faults"]), "equivalent": 0, "stillborn": 0, "open": 0}
    assert any(len(entry["by"]) > 1 for entry in document["faults"])
    assert json.loads((tmp_path / "build/mutants/models.json").read_text(encoding="utf-8")) == document


def test_a_pattern_that_matches_no_fault_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(mutants, ["--only", "models", "--fault", "nothing"]) is Exit.USAGE
    assert "'nothing' matches no generated fault" in capsys.readouterr().err


def test_what_is_wrong_is_told_last() -> None:
    entry = {"module": "gate", "by": [], "scope": "", "how": ""}
    faults = [{**entry, "name": "known", "fate": "killed", "exit": 0}, {**entry, "name": "new", "fate": "open", "exit": 1}]
    counts = {"killed": 1, "equivalent": 0, "stillborn": 0, "open": 1}

    shown = models.shown({"faults": faults, "counts": counts, "kills": {}, "matrix": False, "exit": 1})

    assert shown.splitlines()[-1].split() == ["OPEN", "new"]
