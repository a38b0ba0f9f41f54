"""Two claims that pin a rule completely: a closed form answers every input, and no input has two answers.

Together they say that the relation is a total function, and which. Whoever shows that code computes the closed form, or
that its result is in the relation, has shown the same. The closed form is written unlike the relation on purpose.

Numbers that a rule introduces by what they are (`spec.scope.the`) are assumed elsewhere; here they are shown to exist,
by a value for each, and two answers may rest on two choices of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import z3

from proofs.obligation import Goal, Register, World
from spec.machine import Profile
from spec.scope import bound, telling

ClosedForm = Callable[..., Any]
"""From the world (for lemmas) and the argument terms to the result term."""
Numbers = Callable[..., Mapping[str, z3.ArithRef]]
"""From the argument terms to the value of each number that the rule introduces, by name."""
Situations = Callable[..., Mapping[str, z3.BoolRef]]
"""From the result term and the argument terms to the situations that must occur, by name."""


Case = Callable[..., z3.BoolRef]
"""From the argument terms to whether they are of this case."""


def _any_input(*arguments: Any) -> z3.BoolRef:
    return z3.BoolVal(True)


def _no_numbers(*arguments: Any) -> Mapping[str, z3.ArithRef]:
    return {}


def pin(
    register: Register,
    rule: str,
    closed_form: ClosedForm,
    situations: Situations,
    *,
    numbers: Numbers = _no_numbers,
    cases: Mapping[str, tuple[str, Case]] = MappingProxyType({}),
    profile: Profile = Profile.DEBUG,
    size: int = 3,
) -> None:
    """Registers `<rule>-answers-every-input` and `<rule>-has-one-answer` (in a release build: `...-in-release`).

    `cases` are said once more by themselves, as `<rule>-answers-every-<name>` with a claim of their own: a fault that takes
    every answer from such arguments is then seen there, and not only at arguments where it makes no difference.
    """
    suffix, build = ("-in-release", " in a release build") if profile is Profile.RELEASE else ("", "")

    def arguments(world: World) -> list[Any]:
        return [world.some(sort, name) for name, sort in world.table[rule].params.items()]

    def allowed(
        world: World, given: list[Any], result: Any, value_of: Callable[[str], z3.ArithRef]
    ) -> tuple[z3.BoolRef, z3.BoolRef]:
        """The rule allows `result`, with these values for the numbers that it introduces; and what bounds the ranges."""
        with telling(bound=bound()) as block:
            holds = world.rule(rule, *given, result=result, profile=profile)
        values = [(z3.Int(number), value_of(number)) for number in block.definitions]
        stated = z3.And(holds, *block.definitions.values())
        limits = z3.And(z3.BoolVal(True), *block.limits)
        return z3.substitute(stated, *values), z3.substitute(limits, *values)

    def answers(world: World, case: Case) -> Goal:
        given = arguments(world)
        result, values = closed_form(world, *given), numbers(*given)
        holds, limits = allowed(world, given, result, lambda number: values[number])
        return Goal(
            given={"it is such an input": case(*given), "index ranges end within the bound, if there is one": limits},
            show=z3.And(world.table[rule].result.domain(result), holds),
            witnesses=situations(result, *given) if case is _any_input else {},
        )

    every_input = f"For all arguments {rule} allows a result{build}: the one that its closed form gives, a machine value."
    for name, (claim, case) in {"input": (every_input, _any_input), **cases}.items():
        register.theorem(f"{rule}-answers-every-{name}{suffix}", claim, size=size)(partial(answers, case=case))

    @register.theorem(
        f"{rule}-has-one-answer{suffix}",
        f"Two results that {rule} allows for the same arguments{build} are the same.",
        size=size,
    )
    def has_one_answer(world: World) -> Goal:
        given, sort = arguments(world), world.table[rule].result
        first, second = world.some(sort, "first"), world.some(sort, "second")
        first_holds, first_limits = allowed(world, given, first, lambda number: z3.Int(f"first {number}"))
        second_holds, second_limits = allowed(world, given, second, lambda number: z3.Int(f"second {number}"))
        return Goal(
            given={
                "the first is allowed": first_holds,
                "the second is allowed": second_holds,
                "index ranges end within the bound, if there is one": z3.And(first_limits, second_limits),
            },
            show=sort.same(first, second),
        )
