"""What the answers of solvers are worth: nothing counts that was not said, and nothing that the code does not confirm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import z3

from proofs import replay
from proofs.checker import unsupported
from proofs.faults import Fault, Patch
from proofs.judge import Budget, Judgement, Verdict, judge, judge_fault, tell_again
from proofs.obligation import Goal, Kind, Obligation, World
from spec.sorts import RANGE, USIZE, Concrete
from tests.checker import catalogues
from tests.checker.catalogues import BOUNDARY, CONTRADICTION, HARMLESS, SEES_EVERYTHING, SEES_NOTHING, ZERO_AS_WILDCARD


def test_a_theorem_is_proved_by_both_solvers_and_has_its_witnesses() -> None:
    judgement = judge(SEES_NOTHING, replay.run)

    assert judgement.verdict is Verdict.PROVED
    assert judgement.cross_check is not None and judgement.cross_check.answer.value == "unsat"
    assert [witness.found for witness in judgement.witnesses] == [True]
    assert "seen is what generation 0 sees" in judgement.core


@pytest.mark.parametrize("budget", [Budget(z3=1), Budget(cvc5=1)])
def test_unknown_is_never_proved(budget: Budget) -> None:
    def build(world: World) -> Goal:
        x, y = world.some(USIZE, "x"), world.some(USIZE, "y")
        return Goal(show=(x + y) * (x + y) == x * x + 2 * x * y + y * y)

    judgement = judge(Obligation(id="toy/square", claim="", kind=Kind.THEOREM, build=build), replay.run, budget=budget)

    assert judgement.verdict is Verdict.UNDECIDED
    assert judgement.reason


def test_a_claim_from_a_contradiction_is_vacuous_although_no_model_refutes_it() -> None:
    judgement = judge(CONTRADICTION, replay.run)

    assert judgement.verdict is Verdict.VACUOUS
    assert "there is a range" in judgement.reason


def test_a_witness_that_cannot_be_makes_its_claim_vacuous() -> None:
    def build(world: World) -> Goal:
        x = world.some(USIZE, "x")
        return Goal(show=x >= 0, witnesses={"below zero": x < 0})

    judgement = judge(Obligation(id="toy/empty", claim="", kind=Kind.THEOREM, build=build), replay.run)

    assert judgement.verdict is Verdict.VACUOUS
    assert "below zero" in judgement.reason


def test_a_false_claim_is_refuted_by_a_model_that_the_code_confirms() -> None:
    judgement = judge(SEES_EVERYTHING, replay.run)

    assert judgement.verdict is Verdict.REFUTED
    assert judgement.counterexample is not None
    (call,) = judgement.counterexample.calls
    assert call.agrees and call.code == [0, 0] and call.arguments["self"]["hi"] > 0


def test_wrong_rules_refute_the_named_theorem_and_the_code_disagrees() -> None:
    judgement = judge(SEES_NOTHING, replay.run, rules=catalogues.patched().rules)

    assert judgement.verdict is Verdict.REFUTED
    assert "model and code differ in the counterexample: visible_to(" in judgement.reason


def test_wrong_code_refutes_a_theorem_that_the_rules_prove() -> None:
    judgement = judge(SEES_NOTHING, catalogues.lying)

    assert judgement.verdict is Verdict.REFUTED
    assert "model and code differ in the witness" in judgement.reason


def test_a_counterexample_that_the_code_does_not_confirm_refutes_no_boundary() -> None:
    assert judge(BOUNDARY, replay.run).verdict is Verdict.REFUTED

    judgement = judge(BOUNDARY, catalogues.lying)

    assert judgement.verdict is Verdict.UNDECIDED
    assert "spurious" in judgement.reason


def test_a_fault_is_refuted_by_a_call_on_which_the_code_differs() -> None:
    judgement = judge_fault(ZERO_AS_WILDCARD, SEES_NOTHING, replay.run)

    assert judgement.verdict is Verdict.REFUTED
    assert judgement.difference is not None
    assert judgement.difference.arguments["self"]["owner"] == 0
    assert judgement.difference.code == [0, 0] != judgement.difference.result


def test_a_fault_that_changes_nothing_survives() -> None:
    assert judge_fault(HARMLESS, SEES_NOTHING, replay.run).verdict is Verdict.PROVED


def test_a_false_claim_kills_no_fault_that_the_code_shares() -> None:
    # SEES_EVERYTHING is false of the true rules as well, so its counterexample says nothing about the fault.
    judgement = judge_fault(replace(HARMLESS, refuted_by=SEES_EVERYTHING.id), SEES_EVERYTHING, replay.run)

    assert judgement.verdict is Verdict.UNDECIDED
    assert "spurious" in judgement.reason


def test_a_model_on_which_other_code_is_wrong_kills_no_fault() -> None:
    def build(world: World) -> Goal:
        stamp, reader = world.some(RANGE, "stamp"), world.some(USIZE, "reader_gen")
        seen, sees = world.answer("seen", "visible_to", stamp, reader)
        key, planned = world.answer("plan", "plan_append", z3.IntVal(0), seen.hi, z3.IntVal(0), seen.hi)
        return Goal(given={"sees": sees, "plans": planned}, show=z3.Or(reader != 0, z3.Not(key.value.present)))

    def wrong_plan(fn: str, args: Mapping[str, Any]) -> Concrete:
        return None if fn == "plan_append" else replay.run(fn, args)

    mixed = Obligation(id="toy/mixed", claim="", kind=Kind.THEOREM, build=build)

    assert judge_fault(ZERO_AS_WILDCARD, mixed, replay.run).verdict is Verdict.REFUTED
    judgement = judge_fault(ZERO_AS_WILDCARD, mixed, wrong_plan)
    assert judgement.verdict is Verdict.UNDECIDED
    assert "plan_append is not faulty" in judgement.reason


def test_a_patch_that_no_longer_fits_is_no_kill() -> None:
    stale = Fault(
        name="stale",
        tells="",
        rule="visible_to",
        patch=Patch(module="store", old="no such line", new=""),
        refuted_by=SEES_NOTHING.id,
    )

    judgement = judge_fault(stale, SEES_NOTHING, replay.run)

    assert judgement.verdict is Verdict.VACUOUS
    assert "old='no such line' occurs 0 times in spec/store.py" in judgement.reason


def test_the_bounded_telling_decides_again_with_the_same_claim() -> None:
    assert tell_again(SEES_NOTHING).verdict is Verdict.PROVED
    assert tell_again(SEES_EVERYTHING).verdict is Verdict.REFUTED
    assert tell_again(SEES_NOTHING, budget=Budget(z3=1)).verdict is Verdict.UNDECIDED
    assert tell_again(replace(SEES_NOTHING, full_size=5)).bound == 5


def _judged(name: str, verdict: Verdict = Verdict.PROVED, lemmas: tuple[str, ...] = ()) -> Judgement:
    return Judgement(id=name, verdict=verdict, lemmas=lemmas)


def test_a_claim_stands_on_lemmas_that_are_proved() -> None:
    ids = frozenset({"a/claim", "a/lemma.base", "a/lemma.step"})
    lemma = [_judged("a/lemma.base"), _judged("a/lemma.step")]

    assert unsupported([_judged("a/claim", lemmas=("a/lemma",)), *lemma], ids) == {}


@pytest.mark.parametrize(
    ("lemma", "judgements", "why"),
    [
        ("a/nothing", [], "which is no obligation"),
        ("a/half", [_judged("a/half.step")], "which is no obligation"),
        ("a/lemma", [_judged("a/lemma", Verdict.UNDECIDED)], "which is undecided"),
        ("a/lemma", [_judged("a/lemma", lemmas=("a/deeper",)), _judged("a/deeper", Verdict.REFUTED)], "which is refuted"),
        ("a/lemma", [_judged("a/lemma", lemmas=("a/claim",))], "on itself"),
    ],
)
def test_a_claim_does_not_stand_on_a_lemma_that(lemma: str, judgements: list[Judgement], why: str) -> None:
    claim = _judged("a/claim", lemmas=(lemma,))
    ids = frozenset(judgement.id for judgement in [claim, *judgements])

    assert why in unsupported([claim, *judgements], ids)["a/claim"]


def test_lemmas_outside_a_partial_run_are_taken_as_they_stand() -> None:
    claim = _judged("a/claim", lemmas=("b/lemma",))

    assert unsupported([claim], frozenset({"a/claim", "b/lemma"})) == {}
