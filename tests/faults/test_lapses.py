"""Lapses: every obligation about a step refutes one, and what no law rests on is known."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest

import spec.system
import spec.system_graphs
from proofs.claims.system import CLAIMS
from proofs.faults.lapses import LAPSES, Lapse
from proofs.judge import Verdict, judge
from proofs.obligation import Goal, Kind, Obligation, Variant, World
from proofs.replay import run
from proofs.smt import fresh_context
from spec.rules import RULES
from spec.scope import telling
from spec.system_laws import GRAPH_LAWS, LAWS

THEOREMS = {o.id: o for o in CLAIMS if o.kind is Kind.THEOREM}
SPARED = {"system/a-clamped-append-never-starts-below-the-readable-rows"}
"""It is about two numbers, and no law or action is in it."""

IDLE = {
    # Who is not there harms nobody.
    "allocate": {"live", "length"},
    "draw-ticket": {"ticket", "the counter does not wrap (A2)"},
    # A write that is there at once needs no waiting for; the older stamp is a variant's.
    "write-chunk": {"landed", "capture", "the chunk is of its tokens", "the merge does not panic (A4)"},
    # Waiting longer than needed harms nobody; and without `pending` no write is under way.
    "land": {"landed", "pending"},
    "cold-build": {"live", "pending", "it has no rows"},
    # No key of a bounded telling is the last of all; an entry that is there was armed, and the slot is left empty.
    "adopt-append": {"pending", "the append does not panic (A4)", "the carry is armed"},
    "adopt-only": {"the append does not panic (A4)", "nothing is appended", "the carry is armed"},
    "refuse": {"the actor runs", "it has emitted nothing", "it is of no use", "the carry is armed", "there is an entry", "live"},
    "decode": {"pending"},
    # Rows of guesses are nobody's until they are counted.
    "draft": {"extent", "key", "maker", "hidden_from", "hidden_at", "pending"},
    "abort": {"live", "the actor runs"},
    "capture": {"cached", "every member has a slot", "what the launches of the batch use is their slots' (A6)"},
    "replay": {"ran", "it is a batch"},
    "evict": {"cached", "it is cached"},
}
"""By action the effects and conditions that keep no law: they are for coverage, or for the harm that a run shows."""


def test_every_theorem_about_the_system_refutes_a_lapse() -> None:
    assert {*THEOREMS} - {lapse.refuted_by for lapse in LAPSES} == SPARED
    assert {lapse.refuted_by for lapse in LAPSES} <= {*THEOREMS}
    assert len({lapse.name for lapse in LAPSES}) == len(LAPSES)


@pytest.mark.parametrize("obligation", sorted({lapse.refuted_by for lapse in LAPSES})[::9])
def test_the_judgement_of_an_obligation_refutes_its_lapses(obligation: str) -> None:
    judgement = judge(THEOREMS[obligation], run)

    assert judgement.verdict is Verdict.PROVED
    assert [variant.name for variant in judgement.variants] == [la.name for la in LAPSES if la.refuted_by == obligation]
    assert {variant.verdict for variant in judgement.variants} == {Verdict.REFUTED}


def test_every_law_is_forgotten_by_a_lapse_that_another_obligation_refutes() -> None:
    forgotten = {law: lapse for lapse in LAPSES for law in lapse.forgets}

    assert set(forgotten) == {*LAWS, *GRAPH_LAWS}
    assert all(lapse.law != law for law, lapse in forgotten.items())


@pytest.mark.parametrize("model", [spec.system, spec.system_graphs], ids=["carry", "graphs"])
def test_each_effect_and_condition_of_an_action_is_lost_by_a_lapse_or_keeps_no_law(model: ModuleType) -> None:
    fresh_context()
    for name, action in model.ACTIONS.items():
        with telling(bound=1):
            before = model.any_state()
            step = action(before, model.Act(World(table=RULES)))
        fields = (*model.SHAPES, *model.NUMBERS, *model.RECORDS)
        parts = {field for field in fields if getattr(step.after, field) is not getattr(before, field)}
        parts |= {guard for guard in step.guard if "machine value" not in guard and " is what " not in guard}
        parts |= {each.name for each in step.each}
        of_action = [lapse for lapse in LAPSES if lapse.action == name and not lapse.strays]
        lost = {part for lapse in of_action for part in (*lapse.loses, *lapse.skips)}

        assert parts - lost == IDLE.get(name, set()), name
        assert lost <= parts, name


def lawful(world: World) -> Goal:
    return next(o for o in CLAIMS if o.id == "system/the-slot-is-armed/deposit").build(world)


def test_a_lapse_of_what_is_not_there_is_vacuous_and_one_that_breaks_nothing_is_proved() -> None:
    unknown = Lapse(law="the-slot-is-armed", action="deposit", skips=("the moon is up",))

    assert unknown.spared(["the carry is armed"]) == ("the moon is up",)

    def with_lapse(skips: tuple[str, ...]) -> Verdict:
        def build(world: World) -> Goal:
            goal = lawful(world)
            lapse = Lapse(law="the-slot-is-armed", action="deposit", skips=skips)
            return replace(goal, variants={lapse.name: Variant(without=lapse.spared(goal.given), show=goal.show)})

        return judge(Obligation(id="system/mine", claim="", kind=Kind.THEOREM, build=build), run).variants[0].verdict

    assert with_lapse(("the moon is up",)) is Verdict.VACUOUS
    assert with_lapse(("it has rows",)) is Verdict.PROVED
    assert with_lapse(("the carry is armed",)) is Verdict.REFUTED
