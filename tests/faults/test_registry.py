"""The registry of named faults: every one is refuted by the claim that it names, and every claim about a rule refutes one."""

from __future__ import annotations

import pytest

from proofs.claims import OBLIGATIONS
from proofs.faults import FAULTS, Fault, Patch, rules_of
from proofs.judge import Verdict, judge_fault
from proofs.obligation import Kind
from proofs.replay import run
from proofs.smt import state
from spec.rules import RULES

MODULES = ("store", "carry", "append", "order", "key", "gate")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_named_fault_is_refuted_by_its_claim_and_the_code_differs_there(fault: Fault) -> None:
    judgement = judge_fault(fault, OBLIGATIONS[fault.refuted_by], run)

    assert judgement.verdict is Verdict.REFUTED, judgement.reason
    assert judgement.difference is not None


def test_there_are_faults_of_every_function() -> None:
    assert len(FAULTS) >= 40
    assert {fault.rule for fault in FAULTS} == {rule.name for rule in RULES}
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_every_theorem_about_a_rule_refutes_a_fault() -> None:
    """A theorem that speaks of no rule (a lemma about counting, say) has nothing to refute."""
    theorems = (o for o in OBLIGATIONS.values() if o.kind is Kind.THEOREM and o.module in MODULES)
    about_rules = {o.id for o in theorems if state(o, RULES, bound=2).world.calls}

    assert about_rules - {fault.refuted_by for fault in FAULTS} == set()


@pytest.mark.parametrize("fault", FAULTS[::40], ids=lambda fault: fault.name)
def test_a_fault_is_judged_alike_every_time(fault: Fault) -> None:
    first, second = (judge_fault(fault, OBLIGATIONS[fault.refuted_by], run) for _ in range(2))

    assert first == second


def test_a_patch_whose_line_has_changed_is_stale() -> None:
    gone = Patch(module="store", old="a line that is not there", new="")
    fault = Fault(name="gone", tells="", rule="visible_to", patch=gone, refuted_by="store/an-owner-sees-its-whole-range")

    judgement = judge_fault(fault, OBLIGATIONS[fault.refuted_by], run)

    assert judgement.verdict is Verdict.VACUOUS
    assert "occurs 0 times in spec/store.py" in judgement.reason


def test_what_is_not_faulty_is_proved() -> None:
    harmless = Patch(module="store", old="left.hi < right.lo", new="right.lo > left.hi")
    fault = Fault(name="none", tells="", rule="merge_interval", patch=harmless, refuted_by="store/touching-chunks-are-kept-whole")

    assert judge_fault(fault, OBLIGATIONS[fault.refuted_by], run).verdict is Verdict.PROVED


def test_a_fault_in_shared_arithmetic_reaches_the_rules_that_use_it() -> None:
    patch = Patch(module="machine", old="ideal >= SIZE)", new="ideal >= SIZE - 1)")

    faulty = rules_of("machine", patch.apply())

    assert {rule.module for rule in RULES if rule != faulty[rule.name]} == {"store", "append", "gate"}
