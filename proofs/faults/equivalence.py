"""That a fault is none: the patched rules and those of `spec` allow the same results for the same arguments.

Proved for all arguments and results of the domain, unbounded where a solver can, else up to one of `BOUNDS` elements a sequence.
Numbers that a rule introduces by what they are must be the same in both, or both rules must find some that fit. A part of a
result that means nothing (the value of an absent option, or of a panic) may be chosen; and what lies beyond the ends of a
sequence, which means nothing either, may be taken to be 0: the scope then says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from proofs.judge import Budget
from proofs.smt import Answer, ask_cvc5, ask_z3, fresh_context, script
from spec.machine import Profile
from spec.rules import RULES, Rule, Rules
from spec.scope import bound, telling
from spec.sorts import Fallible, Option, Seq, Sort

BOUNDS = (3, 2)
BUDGET = Budget(z3=300_000, cvc5=100_000)


@dataclass(frozen=True, kw_only=True)
class _Told:
    """A rule for any arguments and result: the relation, and what it rests on."""

    domain: z3.BoolRef
    bare: z3.BoolRef
    """No sequence has anything beyond its ends."""
    holds: z3.BoolRef
    definitions: Mapping[str, z3.BoolRef]
    steps: Mapping[str, z3.ArithRef]
    limits: tuple[z3.BoolRef, ...]
    idle: tuple[tuple[z3.BoolRef, tuple[z3.ExprRef, ...]], ...]
    """When which constants of the result mean nothing."""
    sequences: tuple[Seq, ...]

    def eq(self, other: _Told) -> bool:
        """The two are the same formulas."""
        return self.holds.eq(other.holds) and _same(self.definitions, other.definitions) and _same(self.steps, other.steps)


def _same(left: Mapping[str, z3.ExprRef], right: Mapping[str, z3.ExprRef]) -> bool:
    return left.keys() == right.keys() and all(left[name].eq(right[name]) for name in left)


def _told(rule: Rule, profile: Profile, size: int | None) -> _Told:
    with telling(bound=size) as block:
        arguments = {name: sort.fresh(name) for name, sort in rule.params.items()}
        result = rule.result.fresh("result")
        domains = [sort.domain(arguments[name]) for name, sort in rule.params.items()]
        holds = rule.holds(arguments, result, profile)
        sequences = tuple(_sequences([*arguments.values(), result]))
        return _Told(
            domain=z3.And(*domains, rule.result.domain(result)),
            bare=z3.And(z3.BoolVal(True), *[_ends(sequence) for sequence in sequences]),
            holds=holds,
            definitions=block.definitions,
            steps=block.steps,
            limits=tuple(block.limits),
            idle=tuple(_idle(rule.result, result)),
            sequences=sequences,
        )


def _idle(sort: Sort, term: Any) -> Iterator[tuple[z3.BoolRef, tuple[z3.ExprRef, ...]]]:
    if isinstance(sort, Fallible):
        yield term.panics, tuple(_constants(term.value))
        for idle, constants in _idle(sort.value, term.value):
            yield z3.And(z3.Not(term.panics), idle), constants
    if isinstance(sort, Option):
        yield z3.Not(term.present), tuple(_constants(term.value))


def _constants(term: Any) -> Iterator[z3.ExprRef]:
    if isinstance(term, z3.ExprRef):
        yield term
    elif isinstance(term, Seq):
        yield term.length
        # Unbounded, the elements are a function, which nothing can be said to choose: both rules must do with the same.
        for index in range(bound() or 0):
            yield from _constants(term.at(z3.IntVal(index)))
    else:
        for part in vars(term).get("fields", vars(term)).values():
            yield from _constants(part)


def _sequences(terms: list[Any]) -> Iterator[Seq]:
    for term in terms:
        if isinstance(term, Seq):
            yield term
        elif not isinstance(term, z3.ExprRef):
            yield from _sequences(list(vars(term).get("fields", vars(term)).values()))


def _ends(sequence: Seq) -> z3.BoolRef:
    index = z3.Int("?beyond")
    element = sequence.at(index)
    if not isinstance(element, z3.ArithRef):
        return z3.BoolVal(True)
    return z3.ForAll([index], z3.Implies(z3.Or(index < 0, index >= sequence.length), element == 0))


def profiles(rule: Rule) -> tuple[Profile, ...]:
    """The builds in which the rule is told."""
    return tuple(Profile) if rule.overflows else (Profile.DEBUG,)


def changed(faulty: Rules) -> tuple[str, ...]:
    """The rules whose formula is not, symbol for symbol, the one of `spec`."""
    fresh_context()

    def differs(rule: Rule, profile: Profile) -> bool:
        return not _told(rule, profile, None).eq(_told(faulty[rule.name], profile, None))

    suspects = [rule for rule in RULES if rule != faulty[rule.name]]
    return tuple(rule.name for rule in suspects if any(differs(rule, profile) for profile in profiles(rule)))


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A proof that a patched rule is the one of `spec`: in which scope, and which solvers found it. None disagrees."""

    scope: str
    by: tuple[str, ...]


def equivalent(faulty: Rules, name: str, profile: Profile) -> Proof | None:
    """A proof that the patched rule is the one of `spec`, if there is one."""
    for size in (None, *BOUNDS):
        fresh_context()
        own, other = _told(RULES[name], profile, size), _told(faulty[name], profile, size)
        if size is None and not _same(own.steps, other.steps):
            continue  # One name would mean two folds.
        given = {"arguments and result are machine values": own.domain}
        scope = "unbounded" if size is None else f"up to {size}"
        if size is not None:
            given["every index range ends within the bound"] = z3.And(z3.BoolVal(True), *own.limits, *other.limits)
            if not _reaches_far(own, given, size):
                continue
        for differ in _differences(own, other):
            if by := _unsatisfiable(script({**given, "the rules differ": differ})):
                return Proof(scope=scope, by=by)
        given["beyond its ends a sequence is 0"] = own.bare
        for differ in _differences(own, other):
            if by := _unsatisfiable(script({**given, "the rules differ": differ})):
                return Proof(scope=f"{scope}, reading 0 beyond the ends of sequences", by=by)
    return None


def _differences(own: _Told, other: _Told) -> Iterator[z3.BoolRef]:
    """Statements each of which must hold if the rules differ."""
    yield _differ(own, other, own.holds, other.holds)
    if own.idle:
        yield _differ(own, other, _freed(own), _freed(other))
    if not _same(own.definitions, other.definitions):
        yield _chosen(own) != _chosen(other)


def _chosen(told: _Told) -> z3.BoolRef:
    """The relation, for some choice of the numbers that the rule introduces by what they are."""
    fresh = [(z3.Int(name), z3.FreshInt("chosen")) for name in told.definitions]
    holds = z3.substitute(z3.And(*told.definitions.values(), told.holds), *fresh)
    return z3.Exists([chosen for _, chosen in fresh], holds)


def _unsatisfiable(text: str) -> tuple[str, ...]:
    """The solvers that prove it, none if one of them finds a model."""
    answers = {"Z3": ask_z3(text, budget=BUDGET.z3).answer, "cvc5": ask_cvc5(text, budget=BUDGET.cvc5).answer}
    if Answer.SAT in answers.values():
        return ()
    return tuple(name for name, answer in answers.items() if answer is Answer.UNSAT)


def _differ(own: _Told, other: _Told, holds: z3.BoolRef, holds_there: z3.BoolRef) -> z3.BoolRef:
    """Of the numbers that the rules introduce some pair is not one number, or the rules differ where they are."""
    if len(own.definitions) != len(other.definitions):
        return z3.BoolVal(True)
    renamed = [(z3.Int(theirs), z3.Int(ours)) for ours, theirs in zip(own.definitions, other.definitions, strict=True)]
    there = [z3.substitute(definition, *renamed) for definition in other.definitions.values()]
    apart = [ours != theirs for ours, theirs in zip(own.definitions.values(), there, strict=True)]
    return z3.Or(*apart, z3.And(*own.definitions.values(), holds != z3.substitute(holds_there, *renamed)))


def _freed(told: _Told) -> z3.BoolRef:
    """The relation, with what means nothing in the result free to be chosen."""
    holds = told.holds
    for idle, constants in told.idle:
        fresh = [(c, z3.FreshConst(c.sort(), "idle")) for c in constants]
        chosen = z3.substitute(told.holds, *fresh)
        holds = z3.If(idle, z3.Exists([c for _, c in fresh], chosen), holds)
    return holds


def _reaches_far(told: _Told, given: Mapping[str, z3.BoolRef], size: int) -> bool:
    """The limits leave room for sequences that are nearly as long as the bound allows."""
    solver = z3.Solver()
    solver.add(*given.values(), *told.definitions.values(), told.holds)
    solver.add(*[sequence.length >= size - 1 for sequence in told.sequences])
    return bool(solver.check() == z3.sat)
