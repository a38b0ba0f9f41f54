"""The invariant of the system: no law is idle, and each of the checks that it watches is needed."""

from __future__ import annotations

import fnmatch

import pytest

import spec.system
import spec.system_graphs
from proofs.claims import OBLIGATIONS
from proofs.claims.system import CLAIMS, TOUCHING, claims_of, graph_claims_of
from proofs.faults import Patch, rules_of
from proofs.faults.lapses import LAPSES
from proofs.judge import Verdict, judge
from proofs.ledger import ASSUMPTIONS, EMBODIED, dependences, numbers_in
from proofs.obligation import Kind, Obligation
from proofs.replay import run
from proofs.smt import Answer, ask_z3, state
from proofs.traces.faults import DELETED, SYSTEM_FAULTS, SystemFault
from proofs.traces.judgement import broken_obligation
from spec.rules import RULES, Rules
from spec.system_laws import GRAPH_LAWS, LAWS, SAFETY

BUDGET = 20_000_000


def by_id(obligations: object) -> dict[str, Obligation]:
    return {obligation.id: obligation for obligation in obligations}  # type: ignore[attr-defined]


def follows(obligation: Obligation, rules: Rules = RULES) -> bool:
    return ask_z3(state(obligation, rules).text, budget=BUDGET).answer is Answer.UNSAT


@pytest.mark.parametrize("law", [*LAWS, *GRAPH_LAWS])
def test_without_a_law_something_else_no_longer_follows(law: str) -> None:
    claims, laws, model = (claims_of, LAWS, spec.system) if law in LAWS else (graph_claims_of, GRAPH_LAWS, spec.system_graphs)
    others = {name: other for name, other in laws.items() if name != law}
    weaker = by_id(claims(model, others))

    for lapse in LAPSES:
        if law in lapse.forgets:
            assert judge(weaker[lapse.refuted_by], run).verdict is Verdict.REFUTED


@pytest.mark.parametrize("fault", SYSTEM_FAULTS.values(), ids=SYSTEM_FAULTS)
def test_a_fault_breaks_the_obligation_it_names(fault: SystemFault) -> None:
    assert follows(by_id(CLAIMS)[fault.breaks])
    assert judge(broken_obligation(fault), run, rules=fault.rules()).verdict is Verdict.REFUTED


def test_each_deleted_check_breaks_an_obligation_of_its_own() -> None:
    assert len({fault.breaks for fault in DELETED}) == len(DELETED) == 4
    for fault in DELETED:
        for other in DELETED:
            if other is not fault:
                claims = by_id(claims_of(fault.model()))
                assert follows(claims[other.breaks], fault.rules()), f"{fault.name} breaks {other.breaks} too"


@pytest.mark.slow
def test_without_arming_only_the_claim_about_arming_fails() -> None:
    patch = Patch(
        module="carry",
        old="result == z3.And(cfg.carry, z3.Not(multi_seq))",
        new="result == cfg.carry",
    )
    rules = rules_of("carry", patch.apply())
    theorems = [o for o in CLAIMS if o.kind is Kind.THEOREM]

    failing = [o.id for o in theorems if not follows(o, rules)]

    assert failing == ["system/the-slot-is-armed/deposit"]


@pytest.mark.slow
def test_what_is_said_to_be_assumed_is_what_the_proofs_rest_on() -> None:
    theorems = [o for o in OBLIGATIONS.values() if o.kind is Kind.THEOREM]
    said = {(number, o.id) for o in theorems for number in o.assumes}

    rests = dependences(theorems)

    assert {(number, id_) for number, found in rests.items() for id_ in found} == said
    assert all(rests.values())


def test_every_assumption_has_a_run_or_a_boundary_that_shows_the_harm_without_it() -> None:
    assert [assumption.number for assumption in ASSUMPTIONS] == [f"A{n}" for n in range(1, 9)]
    for assumption in ASSUMPTIONS:
        assert assumption.boundaries or assumption.traces
        assert {OBLIGATIONS[name].kind for name in assumption.boundaries} <= {Kind.BOUNDARY}
        assert set(assumption.traces) <= set(SYSTEM_FAULTS)


@pytest.mark.slow
def test_what_is_an_assumption_in_words_is_given_somewhere() -> None:
    given = {name for o in OBLIGATIONS.values() for name in state(o, RULES, bound=2).hypotheses}

    assert set(EMBODIED) <= given


def test_the_numbers_of_assumptions_are_read_from_names() -> None:
    assert numbers_in("session hashes do not collide (A1)") == {"A1"}
    assert numbers_in("no write is under way (A5, slot)") == {"A5"}
    assert numbers_in("generations are unique") == {"A2"}
    assert numbers_in("rows of A1 and A24 blocks") == set()


def test_every_action_stands_in_the_table_of_what_touches_what() -> None:
    named = {action for actions in TOUCHING.values() for action in actions}

    assert named == set(spec.system.ACTIONS)
    assert set(TOUCHING) == set(LAWS)


def test_every_pair_of_law_and_action_has_an_obligation() -> None:
    ids = set(by_id(CLAIMS))
    for law in LAWS:
        elsewhere = set(spec.system.ACTIONS) - set(TOUCHING[law])
        assert f"system/{law}/elsewhere" in ids or not elsewhere
        assert all(f"system/{law}/{action}" in ids for action in TOUCHING[law])
    assert {f"system/{law}/{action}" for law in GRAPH_LAWS for action in spec.system_graphs.ACTIONS} <= ids
    assert {f"system/{goal}" for goal in SAFETY} <= ids
    assert len(fnmatch.filter(ids, "system/*/initially")) == 2
