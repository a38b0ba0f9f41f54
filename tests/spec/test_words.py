"""The rules in bit-vectors, the rules in integers and the reference give the same, value for value and panic for panic."""

from __future__ import annotations

from typing import Any

import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from proofs.replay import run
from proofs.smt import fresh_context
from spec.machine import Profile
from spec.rules import RULES, Rule
from spec.scope import telling
from spec.sorts import FLAG, Concrete, Sort, Struct
from spec.words import WORD_RULES, Bits

EDGES = [0, 1, 2, 3, 4, 5, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 3, 2**64 - 2, 2**64 - 1]


def of(sort: Sort) -> st.SearchStrategy[Any]:
    if isinstance(sort, Struct):
        parts = {name: of(part) for name, part in sort.parts}
        return st.tuples(*parts.values()).map(list) if sort.is_tuple else st.fixed_dictionaries(parts)
    if sort == FLAG:
        return st.booleans()
    assert isinstance(sort, Bits)
    return st.sampled_from(EDGES) | st.integers(0, 2**64 - 1)


def answer(rule: Rule, arguments: dict[str, Concrete], profile: Profile) -> Concrete:
    """The one result that the rule allows."""
    with telling(bound=1):
        given = {name: sort.literal(arguments[name], name) for name, sort in rule.params.items()}
        result = rule.result.fresh("result")
        solver = z3.Solver()
        solver.add(rule.holds(given, result, profile), rule.result.domain(result))
        assert solver.check() == z3.sat
        found = rule.result.read(solver.model(), result)
        solver.add(z3.Not(rule.result.same(result, rule.result.literal(found))))
        assert solver.check() == z3.unsat
        return found


@pytest.mark.parametrize("rule", list(WORD_RULES), ids=lambda rule: rule.name)
@given(data=st.data())
def test_both_tellings_and_the_reference_give_the_same(rule: Rule, data: st.DataObject) -> None:
    fresh_context()
    arguments = {name: data.draw(of(sort), label=name) for name, sort in rule.params.items()}

    in_words = {profile: answer(rule, arguments, profile) for profile in Profile}

    assert in_words[Profile.DEBUG] == run(rule.name, arguments)
    assert in_words == {profile: answer(RULES[rule.name], arguments, profile) for profile in Profile}


def test_arguments_are_the_same_in_both_tellings() -> None:
    for rule in WORD_RULES:
        assert list(rule.params) == list(RULES[rule.name].params)
        assert rule.overflows == RULES[rule.name].overflows
