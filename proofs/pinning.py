"""Two claims that pin a rule completely: a closed form answers every input, and no input has two answers.

Together they say that the relation is a total function, and which. Whoever shows that code computes the closed form, or
that its result is in the relation, has shown the same. The closed form is written unlike the relation on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import z3

from proofs.obligation import Goal, Register, World
from spec.machine import Profile

ClosedForm = Callable[..., Any]
"""From the world (for lemmas) and the argument terms to the result term."""
Situations = Callable[..., Mapping[str, z3.BoolRef]]
"""From the result term and the argument terms to the situations that must occur, by name."""


def pin(
    register: Register,
    rule: str,
    closed_form: ClosedForm,
    situations: Situations,
    *,
    profile: Profile = Profile.DEBUG,
    size: int = 3,
) -> None:
    """Registers `<rule>-answers-every-input` and `<rule>-has-one-answer` (in a release build: `...-in-release`)."""
    suffix, build = ("-in-release", " in a release build") if profile is Profile.RELEASE else ("", "")

    def arguments(world: World) -> list[Any]:
        return [world.some(sort, name) for name, sort in world.table[rule].params.items()]

    @register.theorem(
        f"{rule}-answers-every-input{suffix}",
        f"For all arguments {rule} allows a result{build}: the one that its closed form gives, a machine value.",
        size=size,
    )
    def answers_every_input(world: World) -> Goal:
        given = arguments(world)
        result = closed_form(world, *given)
        allowed = world.rule(rule, *given, result=result, profile=profile)
        return Goal(show=z3.And(world.table[rule].result.domain(result), allowed), witnesses=situations(result, *given))

    @register.theorem(
        f"{rule}-has-one-answer{suffix}",
        f"Two results that {rule} allows for the same arguments{build} are the same.",
        size=size,
    )
    def has_one_answer(world: World) -> Goal:
        given = arguments(world)
        first, first_allowed = world.answer("first", rule, *given, profile=profile)
        second, second_allowed = world.answer("second", rule, *given, profile=profile)
        return Goal(
            given={"the first is allowed": first_allowed, "the second is allowed": second_allowed},
            show=world.table[rule].result.same(first, second),
        )
