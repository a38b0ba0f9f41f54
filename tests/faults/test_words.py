"""What is told again in bit-vectors: the same words, the same faults; and what does not finish counts for nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
import z3

from proofs.checker import Answered, Ask, Catalogue, Lost, Outcome, Question, Settings
from proofs.claims import OBLIGATIONS
from proofs.claims.words import CONFIRMATIONS
from proofs.faults import FAULTS
from proofs.faults import words as faults
from proofs.judge import Verdict, confirm
from proofs.obligation import Build, Confirmation, Goal, Kind, Obligation, World
from proofs.replay import run
from proofs.report import Run, document
from spec.words import BITS, WORD_RULES

FINISHED = [c for c in CONFIRMATIONS if not c.unfinished]
OWN = "Told in bit-vectors."


@pytest.mark.parametrize("confirmation", [c for c in CONFIRMATIONS if c.confirms], ids=lambda c: c.told.id)
def test_what_is_told_again_says_the_same(confirmation: Confirmation) -> None:
    integers, told = OBLIGATIONS[confirmation.confirms], confirmation.told

    assert integers.kind is told.kind
    if not confirmation.unfinished or told.claim.endswith(OWN):
        assert told.claim == f"{integers.claim} {OWN}"


@pytest.mark.parametrize("confirmation", FINISHED[::3], ids=lambda c: c.told.id)
def test_both_solvers_decide_it_and_it_refutes_its_faults(confirmation: Confirmation) -> None:
    mine = [fault for fault in faults.FAULTS if fault.refuted_by == confirmation.told.id]

    found = confirm(confirmation, mine, run)

    wanted = Verdict.PROVED if confirmation.told.kind is Kind.THEOREM else Verdict.REFUTED
    assert found.judgement.verdict is wanted, found.judgement.reason
    assert {fault.verdict for fault in (*found.faults, *found.judgement.variants)} <= {Verdict.REFUTED}
    assert found.faults or found.judgement.variants or confirmation.told.kind is Kind.BOUNDARY


def test_the_faults_are_those_of_the_integers() -> None:
    integers = {fault.name.split("/", 1)[1]: fault for fault in FAULTS}
    again = [fault for fault in faults.FAULTS if fault.name.split("/", 1)[1] in integers]

    assert len(again) >= len(list(faults.FAULTS)) - 1
    for fault in again:
        told = integers[fault.name.split("/", 1)[1]]
        assert (fault.tells, fault.rule) == (told.tells, told.rule)
    assert {fault.refuted_by for fault in faults.FAULTS} <= {c.told.id for c in FINISHED}


def true(world: World) -> Goal:
    one = world.some(BITS, "one")
    return Goal(show=z3.ULE(one & 7, one))


def false(world: World) -> Goal:
    one = world.some(BITS, "one")
    return Goal(show=z3.ULT(one, one + 1))


def exit_of(confirmation: Confirmation, outcome: Outcome) -> int:
    catalogue = Catalogue(obligations=(), confirmations=(confirmation,))
    settings = Settings(full=True)
    question = Question(ask=Ask.CONFIRMATION, name=confirmation.told.id)
    told = Run(catalogue=catalogue, known=frozenset(), expected=(), outcomes={question: outcome}, settings=settings)
    return int(document(told, (), 0.0)["confirmations"][0]["exit"])


TRUE = Obligation(id="words/mine", claim="Mine.", kind=Kind.THEOREM, build=true, theory="bv64", rules=WORD_RULES)


def test_what_is_known_not_to_finish_counts_for_nothing_unless_a_model_is_found() -> None:
    def verdict(build: Build, unfinished: str) -> tuple[Verdict, int]:
        confirmation = Confirmation(told=replace(TRUE, build=build), unfinished=unfinished)
        found = confirm(confirmation, (), run)
        return found.judgement.verdict, exit_of(confirmation, Answered(value=found, seconds=0.0))

    for listed in (c for c in CONFIRMATIONS if c.unfinished):
        assert verdict(listed.told.build, listed.unfinished) == (Verdict.UNDECIDED, 0)
    assert verdict(false, "wrongly listed") == (Verdict.REFUTED, 1)
    assert verdict(false, "") == (Verdict.REFUTED, 1)
    assert verdict(true, "") == (Verdict.PROVED, 0)


def test_what_finishes_though_it_is_listed_is_said() -> None:
    found = confirm(Confirmation(told=TRUE, unfinished="too hard"), (), run).judgement

    assert found.verdict is Verdict.PROVED
    assert found.reason == "it finishes, though it is listed as one that does not (too hard)"


def test_what_is_not_listed_and_has_no_answer_is_undecided() -> None:
    assert exit_of(Confirmation(told=TRUE), Lost(reason="killed")) == 3
    assert exit_of(Confirmation(told=TRUE, unfinished="listed"), Lost(reason="killed")) == 3
