"""What a model gives for a concrete call: arguments and results of the vector format, put into the relation as literals.

A relation that allows no result, or two, is a mistake in the model and not an answer. Where a relation is too long to be
solved for, `admits` asks it about one given result. Twin: `proofs.replay.run`, the same question to the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import z3

from spec.machine import Profile
from spec.rules import RULES, Rule, Rules
from spec.scope import Telling, telling
from spec.sorts import Concrete

BUDGET = 50_000_000
"""What one question may cost, in Z3's resource units."""


class ModelError(RuntimeError):
    """The model gives no single result for a call."""


class NoAnswer(RuntimeError):
    """The solver gave no answer in the budget."""


def result_of(fn: str, args: Mapping[str, Any], profile: Profile = Profile.DEBUG, *, rules: Rules = RULES) -> Concrete:
    """The one result that the model of `fn` allows. ModelError where it allows none or several; NoAnswer."""
    rule = rules[fn]
    with _told(rule, args) as (terms, block):
        result = rule.result.fresh("result")
        solver = _solver(block, rule.holds(terms, result, profile), rule.result.domain(result))
        if _answer(solver, fn, args) == z3.unsat:
            raise ModelError(f"{fn}: the model allows no result for {dict(args)}")
        found = rule.result.read(solver.model(), result)
        solver.add(z3.Not(rule.result.same(result, rule.result.literal(found, "found"))))
        if _answer(solver, fn, args) == z3.sat:
            other = rule.result.read(solver.model(), result)
            raise ModelError(f"{fn}: the model allows {found} and {other} for {dict(args)}")
        return found


def admits(fn: str, args: Mapping[str, Any], result: Concrete, profile: Profile = Profile.DEBUG, *, rules: Rules = RULES) -> bool:
    """The model of `fn` allows this result for these arguments. NoAnswer."""
    rule = rules[fn]
    with _told(rule, args) as (terms, block):
        solver = _solver(block, rule.holds(terms, rule.result.literal(result, "result"), profile))
        return bool(_answer(solver, fn, args) == z3.sat)


@contextmanager
def _told(rule: Rule, args: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Telling]]:
    with telling(bound=max(map(longest, args.values()), default=0)) as block:
        yield {name: sort.literal(args[name], name) for name, sort in rule.params.items()}, block


def longest(value: Concrete) -> int:
    """The length of the longest sequence or text in the value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return max(len(value), *map(longest, value), 0) if value else 0
    if isinstance(value, Mapping):
        return max(map(longest, value.values()), default=0)
    return 0


def _solver(block: Telling, *formulas: z3.BoolRef) -> z3.Solver:
    solver = z3.Solver()
    solver.set("random_seed", 0)
    solver.set("rlimit", BUDGET)
    solver.add(*formulas, *block.definitions.values(), *block.limits)
    return solver


def _answer(solver: z3.Solver, fn: str, args: Mapping[str, Any]) -> z3.CheckSatResult:
    answer = solver.check()
    if answer == z3.unknown:
        reason = f"{solver.reason_unknown()}, budget {BUDGET} resource units"
        raise NoAnswer(f"{fn}: no answer for {dict(args)} ({reason})")
    return answer
