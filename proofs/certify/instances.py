"""Lemmas that, with the assertions, contradict each other for a solver; as few as a core needs.

Quantified facts are instantiated at terms found by matching applications, until Z3 says that the ground facts contradict each
other; then lemmas of each theory (equality, choice, quotient, products) replace what Z3 knows of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import z3

from proofs.certify.lemmas import Lemma, NotFound, closed, draw, monomial_term
from proofs.kernel.terms import Node, combine, number, of, parts

ROUNDS = 5
MOST_INSTANCES = 4000


def _quantified(formula: Node, assumed: bool, found: dict[Node, set[bool]]) -> None:
    """Notes every `all` outside of others with whether it may be assumed to hold, or to fail."""
    if formula.op == "not":
        _quantified(formula.args[0], not assumed, found)
    elif formula.op == "and":
        for part in formula.args:
            _quantified(part, assumed, found)
    elif formula.op == "all":
        found.setdefault(formula, set()).add(assumed)


def instances(assertions: Sequence[Node]) -> list[Lemma]:
    """Lemmas about quantified facts that, with the assertions, contradict each other; as few as a core needs."""
    lemmas: dict[tuple[Node, ...], Lemma] = {}
    for _ in range(ROUNDS + 1):
        facts = [*assertions, *[fact for lemma in lemmas.values() for fact in lemma.facts]]
        core = _contradiction(assertions, [*lemmas.values(), *_products(facts)], native=True)
        if core is not None:
            return core
        before = len(lemmas)
        _another_round(assertions, lemmas)
        if len(lemmas) == before or len(lemmas) > MOST_INSTANCES:
            break
    raise NotFound(f"no contradiction from {len(lemmas)} instances")


def _another_round(assertions: Sequence[Node], lemmas: dict[tuple[Node, ...], Lemma]) -> None:
    found: dict[Node, set[bool]] = {}
    facts = [*assertions, *[fact for lemma in lemmas.values() for fact in lemma.facts]]
    for formula in assertions:
        _quantified(formula, True, found)
    for lemma in lemmas.values():
        guard = lemma.about[0]
        for fact in lemma.facts:
            inner: dict[Node, set[bool]] = {}
            _quantified(fact, True, inner)
            inner.pop(guard, None)
            for formula, ways in inner.items():
                found.setdefault(formula, set()).update(ways)
    applied: dict[str, list[Node]] = {}
    for part in closed(facts):
        if part.op == "ite":
            # Its condition holds or fails; the lemma that says what it is then comes later.
            _quantified(part.args[0], True, found)
            _quantified(part.args[0], False, found)
        if part.op in ("app", "holds") and len(part.args) > 1:
            applied.setdefault(part.args[0], []).append(part)
    new: dict[tuple[Node, ...], Lemma] = {}
    for formula, ways in found.items():
        if False in ways and (formula,) not in lemmas:
            new[(formula,)] = draw("witness", formula)
        if True in ways:
            for term in _candidates(formula, applied):
                if (formula, term) not in lemmas:
                    new.setdefault((formula, term), draw("instance", formula, term))
    lemmas.update(new)


def _candidates(formula: Node, applied: dict[str, list[Node]]) -> Iterator[Node]:
    """Terms at which the body of the `all` meets an application that is there."""
    yielded: set[Node] = set()
    for pattern, depth in _patterns(formula.args[0], 0, set()):
        for ground in applied.get(pattern.args[0], []):
            for argument, value in zip(pattern.args[1:], ground.args[1:], strict=True):
                term = _solved(argument, depth, value)
                if term is not None and term not in yielded:
                    yielded.add(term)
                    yield term


def _patterns(part: Node, depth: int, seen: set[tuple[Node, int]]) -> Iterator[tuple[Node, int]]:
    if part.loose <= depth or (part, depth) in seen:
        return
    seen.add((part, depth))
    if part.op in ("app", "holds"):
        yield part, depth
    for inner in parts(part.op, part.args):
        yield from _patterns(inner, depth + (part.op == "all"), seen)


def _solved(argument: Node, depth: int, value: Node) -> Node | None:
    """The x for which the argument, linear in x alone, has the value."""
    constant, monomials = argument.args
    factor, rest = 0, [(1, value), (-1, number(constant))]
    for c, monomial in monomials:
        if len(monomial) == 1 and monomial[0].op == "bound" and monomial[0].args[0] == depth:
            factor = c
        elif any(u.loose for u in monomial):
            return None
        else:
            rest.append((-c, monomial_term(monomial)))
    if factor not in (1, -1):
        return _halved(combine(*rest), factor) if factor else None
    return combine(*[(factor * weight, term) for weight, term in rest])


def _halved(term: Node, factor: int) -> Node | None:
    """The term divided by a factor that divides it."""
    constant, monomials = term.args
    if constant % factor or any(c % factor for c, _ in monomials):
        return None
    quotient = [(1, number(constant // factor))]
    for c, monomial in monomials:
        quotient.append((c // factor, monomial_term(monomial)))
    return combine(*quotient)


# Contradictions, by Z3.


@dataclass
class _Translation:
    """Kernel nodes as Z3 terms. `native` leaves equality, choice and quotient to Z3; otherwise unknowns are just unknown."""

    native: bool
    made: dict[Node, Any] = field(default_factory=dict)
    products: dict[tuple[Node, ...], Any] = field(default_factory=dict)

    def of(self, part: Node) -> Any:
        if part not in self.made:
            self.made[part] = self._make(part)
        return self.made[part]

    def _make(self, part: Node) -> Any:
        op, args = part.op, part.args
        if op in ("true", "false"):
            return z3.BoolVal(op == "true")
        if op == "poly":
            terms = [c * self._monomial(m) for c, m in args[1]]
            return z3.IntVal(args[0]) + z3.Sum(terms) if terms else z3.IntVal(args[0])
        if op in ("le", "eq"):
            return self.of(args[0]) <= 0 if op == "le" else self.of(args[0]) == 0
        if op == "not":
            return z3.Not(self.of(args[0]))
        if op == "and":
            return z3.And([self.of(a) for a in args])
        if op == "all":
            return z3.Bool(f"all!{len(self.made)}")
        if op == "holds":
            return self._applied(part, z3.BoolSort())
        return self._unknown(part)

    def _monomial(self, monomial: tuple[Node, ...]) -> Any:
        if len(monomial) == 1:
            return self.of(monomial[0])
        if monomial not in self.products:
            self.products[monomial] = z3.Int(f"product!{len(self.products)}")
        return self.products[monomial]

    def _unknown(self, part: Node) -> Any:
        if self.native and part.op == "ite":
            return z3.If(self.of(part.args[0]), self.of(part.args[1]), self.of(part.args[2]))
        if self.native and part.op == "div":
            return self.of(part.args[0]) / part.args[1]
        if part.op == "app":
            return self._applied(part, z3.IntSort())
        return z3.Int(f"unknown!{len(self.made)}")

    def _applied(self, part: Node, sort: z3.SortRef) -> Any:
        name, *arguments = part.args
        if not arguments or not self.native:
            return z3.Const(f"applied!{len(self.made)}", sort)
        return z3.Function(f"f!{name}", *[z3.IntSort()] * len(arguments), sort)(*[self.of(a) for a in arguments])


def _contradiction(assertions: Sequence[Node], lemmas: Sequence[Lemma], *, native: bool) -> list[Lemma] | None:
    """A minimal set of the lemmas that contradicts the assertions, or None."""
    translation = _Translation(native=native)
    solver = _solver()
    solver.add(*[translation.of(f) for f in assertions])
    groups = [z3.And([translation.of(fact) for fact in lemma.facts]) for lemma in lemmas]
    kept = _minimal(solver, groups)
    return None if kept is None else [lemmas[index] for index in kept]


def core(assertions: Sequence[Node], lemmas: Sequence[Lemma]) -> list[Node]:
    """As few parts of the assertions as the lemmas contradict."""
    translation = _Translation(native=False)
    solver = _solver()
    solver.add(*[translation.of(fact) for lemma in lemmas for fact in lemma.facts])
    separate = list(dict.fromkeys(part for assertion in assertions for part in _conjuncts(assertion)))
    kept = _minimal(solver, [translation.of(part) for part in separate])
    return separate if kept is None else [separate[index] for index in kept]


def _conjuncts(formula: Node) -> Iterator[Node]:
    if formula.op == "and":
        for part in formula.args:
            yield from _conjuncts(part)
    else:
        yield formula


def _solver() -> z3.Solver:
    solver = z3.Solver()
    solver.set("rlimit", 30_000_000)
    solver.set("random_seed", 0)
    solver.set("core.minimize", True)
    return solver


def _minimal(solver: z3.Solver, groups: Sequence[z3.BoolRef]) -> list[int] | None:
    """The numbers of groups that suffice for a contradiction, none of which can be left out; None if all do not suffice."""
    labels = [z3.Bool(f"group!{index}") for index in range(len(groups))]
    for label, group in zip(labels, groups, strict=True):
        solver.add(z3.Implies(label, group))
    chosen = labels
    if solver.check(*labels) != z3.unsat:
        return None
    kept = {str(label) for label in solver.unsat_core()}
    chosen = [label for label in labels if str(label) in kept]
    for label in list(chosen):
        rest = [other for other in chosen if other is not label]
        if len(rest) < len(chosen) and solver.check(*rest) == z3.unsat:
            kept = {str(other) for other in solver.unsat_core()}
            chosen = [other for other in rest if str(other) in kept]
    kept = {str(label) for label in chosen}
    return [index for index, label in enumerate(labels) if str(label) in kept]


def theories(assertions: Sequence[Node], instances: Sequence[Lemma]) -> list[Lemma]:
    """The instances with the lemmas that say what Z3 knew of equality, choice, quotients and products."""
    lemmas = list(instances)
    drawn: set[tuple[Node, ...]] = set()
    for _ in range(4):
        facts = [*assertions, *[fact for lemma in lemmas for fact in lemma.facts]]
        new = [lemma for lemma in _theory_lemmas(facts) if lemma.about not in drawn]
        drawn |= {lemma.about for lemma in new}
        lemmas += new
        core = _contradiction(assertions, lemmas, native=False)
        if core is not None:
            # In the order in which they were drawn, so that each speaks of nodes known before it.
            return core
        if not new:
            break
    raise NotFound("the theories' lemmas do not suffice")


def _theory_lemmas(facts: Sequence[Node]) -> Iterator[Lemma]:
    applied: dict[tuple[Any, ...], list[Node]] = {}
    for part in sorted(closed(facts), key=lambda part: part.key()):
        if part.op == "ite":
            yield draw("choice", part)
        elif part.op == "div":
            yield draw("quotient", part)
        elif part.op in ("app", "holds") and len(part.args) > 1:
            applied.setdefault((part.op, part.args[0], len(part.args)), []).append(part)
    for group in applied.values():
        for one, two in combinations(group, 2):
            yield draw("congruence", one, two)
    yield from _products(facts)


def _products(facts: Sequence[Node]) -> Iterator[Lemma]:
    """Where unknowns are multiplied: products of each with each, and with what is not negative by some inequality."""
    parts_there = sorted(closed(facts), key=lambda part: part.key())
    monomials = [m for part in parts_there if part.op == "poly" for _, m in part.args[1] if len(m) > 1]
    factors = [of(u) for u in dict.fromkeys(u for m in monomials for u in m)]
    bounds: dict[Node, None] = {}
    for part in parts_there if factors else ():
        if part.op == "le" and all(len(m) == 1 for _, m in part.args[0].args[1]):
            bounds.update({combine((-1, part.args[0])): None, combine((1, part.args[0]), (-1, number(1))): None})
    for one in factors:
        for two in dict.fromkeys([*factors, *bounds]):
            yield draw("product", one, two)
