"""Finds certificates. Nothing here is trusted: what it finds counts when `proofs.kernel` has checked it.

Quantified facts are instantiated at terms found by matching applications, until Z3 says that the ground facts contradict each
other; a minimal core of them, with the lemmas that replace each theory (equality, choice, quotient, products), becomes a case
tree whose leaves are settled by a false fact or by Farkas multipliers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import floor, lcm
from typing import Any

import z3

from proofs.kernel.reader import Reader
from proofs.kernel.rules import ATOMS, UNKNOWNS, Proof, truth
from proofs.kernel.terms import FALSE, TRUE, Node, combine, number, of, parts, product

ROUNDS = 5
MOST_INSTANCES = 4000
MOST_BRANCHES = 20_000


class NotFound(Exception):
    """No certificate was found, and why."""


@dataclass(frozen=True)
class Lemma:
    """A lemma by its nodes: the rule, what it is about, and the facts that the kernel draws from it."""

    rule: str
    about: tuple[Node, ...]
    facts: tuple[Node, ...]


def certify(text: str) -> dict[str, Any]:
    """A certificate for the text, as the kernel takes it. NotFound if there is none within reach."""
    assertions = list(Reader(text).assertions.values())
    lemmas = _instances(assertions)
    return _Writer(assertions, _theories(assertions, lemmas)).certificate()


# What is in a formula.


def _closed(formulas: Iterable[Node]) -> Iterator[Node]:
    """Every closed node in the formulas, once."""
    seen: set[Node] = set()
    pending = list(formulas)
    while pending:
        part = pending.pop()
        if part in seen:
            continue
        seen.add(part)
        pending.extend(parts(part.op, part.args))
        if not part.loose:
            yield part


def _quantified(formula: Node, assumed: bool, found: dict[Node, set[bool]]) -> None:
    """Notes every `all` outside of others with whether it may be assumed to hold, or to fail."""
    if formula.op == "not":
        _quantified(formula.args[0], not assumed, found)
    elif formula.op == "and":
        for part in formula.args:
            _quantified(part, assumed, found)
    elif formula.op == "all":
        found.setdefault(formula, set()).add(assumed)


# Instances of quantified facts.


def _draw(rule: str, *about: Node) -> Lemma:
    proof = Proof([])
    numbers: list[Any] = []
    for part in about:
        numbers.append(_encoded(proof, part))
    return Lemma(rule, about, tuple(proof.lemma(rule, numbers)))


def _encoded(proof: Proof, part: Node) -> Any:
    """The node as the kernel's certificates tell it, made known to a scratch proof if it is not."""
    if part.op == "poly":
        for unknown in parts(part.op, part.args):
            if unknown not in proof.numbers:
                proof.learn(unknown)
        return _term(proof.numbers, part)
    if part not in proof.numbers:
        proof.learn(part)
    return proof.numbers[part]


def _term(numbers: dict[Node, int], part: Node) -> list[Any]:
    return [part.args[0], *[[c, *[numbers[u] for u in monomial]] for c, monomial in part.args[1]]]


def _instances(assertions: Sequence[Node]) -> list[Lemma]:
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
    for part in _closed(facts):
        if part.op in ("app", "holds") and len(part.args) > 1:
            applied.setdefault(part.args[0], []).append(part)
    new: dict[tuple[Node, ...], Lemma] = {}
    for formula, ways in found.items():
        if False in ways and (formula,) not in lemmas:
            new[(formula,)] = _draw("witness", formula)
        if True in ways:
            for term in _candidates(formula, applied):
                if (formula, term) not in lemmas:
                    new.setdefault((formula, term), _draw("instance", formula, term))
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
            term = number(c)
            for u in monomial:
                term = product(term, of(u))
            rest.append((-1, term))
    if factor not in (1, -1):
        return _halved(combine(*rest), factor) if factor else None
    return combine(*[(factor * weight, term) for weight, term in rest])


def _monomial(monomial: tuple[Node, ...]) -> Node:
    term = number(1)
    for u in monomial:
        term = product(term, of(u))
    return term


def _halved(term: Node, factor: int) -> Node | None:
    """The term divided by a factor that divides it."""
    constant, monomials = term.args
    if constant % factor or any(c % factor for c, _ in monomials):
        return None
    quotient = [(1, number(constant // factor))]
    for c, monomial in monomials:
        value = number(c // factor)
        for u in monomial:
            value = product(value, of(u))
        quotient.append((1, value))
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
    solver = z3.Solver()
    solver.set("rlimit", 30_000_000)
    solver.set("random_seed", 0)
    solver.set("core.minimize", True)
    solver.add(*[translation.of(f) for f in assertions])
    labels = [z3.Bool(f"lemma!{i}") for i in range(len(lemmas))]
    for label, lemma in zip(labels, lemmas, strict=True):
        for fact in lemma.facts:
            solver.add(z3.Implies(label, translation.of(fact)))
    if solver.check(*labels) != z3.unsat:
        return None
    kept = {str(label) for label in solver.unsat_core()}
    chosen = [label for label in labels if str(label) in kept]
    for label in list(chosen):
        rest = [other for other in chosen if other is not label]
        if solver.check(*rest) == z3.unsat:
            kept = {str(other) for other in solver.unsat_core()}
            chosen = [other for other in rest if str(other) in kept]
    kept = {str(label) for label in chosen}
    return [lemma for label, lemma in zip(labels, lemmas, strict=True) if str(label) in kept]


def _theories(assertions: Sequence[Node], instances: Sequence[Lemma]) -> list[Lemma]:
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
    for part in sorted(_closed(facts), key=lambda part: part.key):
        if part.op == "ite":
            yield _draw("choice", part)
        elif part.op == "div":
            yield _draw("quotient", part)
        elif part.op in ("app", "holds") and len(part.args) > 1:
            applied.setdefault((part.op, part.args[0], len(part.args)), []).append(part)
    for group in applied.values():
        for one, two in combinations(group, 2):
            yield _draw("congruence", one, two)
    yield from _products(facts)


def _products(facts: Sequence[Node]) -> Iterator[Lemma]:
    """Where unknowns are multiplied: products of each with each, and with what is not negative by some inequality."""
    closed = sorted(_closed(facts), key=lambda part: part.key)
    monomials = [m for part in closed if part.op == "poly" for _, m in part.args[1] if len(m) > 1]
    factors = [of(u) for u in dict.fromkeys(u for m in monomials for u in m)]
    bounds: dict[Node, None] = {}
    for part in closed if factors else ():
        if part.op == "le" and all(len(m) == 1 for _, m in part.args[0].args[1]):
            bounds.update({combine((-1, part.args[0])): None, combine((1, part.args[0]), (-1, number(1))): None})
    for one in factors:
        for two in dict.fromkeys([*factors, *bounds]):
            yield _draw("product", one, two)


# The case tree.

Case = dict[Node, bool]
Literal = tuple[Node, bool]


@dataclass(frozen=True)
class _Inequality:
    """What an atom says of integers when settled one way: a polynomial that is at most 0, or that is 0."""

    term: Node
    zero: bool


def _inequality(atom: Node, holds: bool) -> _Inequality | None:
    if atom.op == "le":
        return _Inequality(atom.args[0] if holds else combine((-1, atom.args[0]), (1, number(1))), False)
    return _Inequality(atom.args[0], True) if atom.op == "eq" and holds else None


class _Rationals:
    """Which settled atoms contradict each other over the rationals, and with which multipliers."""

    def __init__(self) -> None:
        self.solver = z3.SolverFor("QF_LRA")
        self.labels: dict[Literal, Any] = {}
        self.literals: dict[str, Literal] = {}
        self.variables: dict[tuple[Node, ...], Any] = {}

    def contradiction(self, case: Case) -> list[Literal] | None:
        """Settled atoms that contradict each other, or None."""
        labels = [label for literal in case.items() if (label := self._label(literal)) is not None]
        if not labels or self.solver.check(*labels) != z3.unsat:
            return None
        return [self.literals[str(label)] for label in self.solver.unsat_core()]

    def model(self) -> list[tuple[tuple[Node, ...], Fraction]]:
        """After a case without contradiction: numbers that satisfy it."""
        model = self.solver.model()
        values = {m: model.eval(variable, model_completion=True).as_fraction() for m, variable in self.variables.items()}
        return sorted(values.items(), key=lambda item: [u.key for u in item[0]])

    def _label(self, literal: Literal) -> Any:
        if literal not in self.labels:
            inequality = _inequality(*literal)
            label = None if inequality is None else z3.Bool(f"l!{len(self.labels)}")
            if inequality is not None:
                value = self._value(inequality.term)
                self.solver.add(z3.Implies(label, value == 0 if inequality.zero else value <= 0))
                self.literals[str(label)] = literal
            self.labels[literal] = label
        return self.labels[literal]

    def _value(self, term: Node) -> Any:
        terms = [z3.RealVal(c) * self._variable(monomial) for c, monomial in term.args[1]]
        return z3.Sum(z3.RealVal(term.args[0]), *terms)

    def _variable(self, monomial: tuple[Node, ...]) -> Any:
        return self.variables.setdefault(monomial, z3.Real(f"r!{len(self.variables)}"))

    @staticmethod
    def multipliers(literals: Sequence[Literal]) -> list[int]:
        """Integers by which the literals' polynomials, added up, are a positive number."""
        weights = [z3.Real(f"w!{i}") for i in range(len(literals))]
        solver = z3.SolverFor("QF_LRA")
        sums: dict[tuple[Node, ...], list[Any]] = {}
        constant: list[Any] = []
        for weight, literal in zip(weights, literals, strict=True):
            inequality = _inequality(*literal)
            assert inequality is not None
            if not inequality.zero:
                solver.add(weight >= 0)
            constant.append(weight * inequality.term.args[0])
            for c, monomial in inequality.term.args[1]:
                sums.setdefault(monomial, []).append(weight * c)
        solver.add(*[z3.Sum(terms) == 0 for terms in sums.values()], z3.Sum(constant) >= 1)
        if solver.check() != z3.sat:
            raise NotFound("no multipliers for a contradiction of inequalities")
        model = solver.model()
        values = [model.eval(weight, model_completion=True).as_fraction() for weight in weights]
        scale = lcm(*[value.denominator for value in values])
        return [int(value * scale) for value in values]


class _Writer:
    """Turns facts that contradict each other into a certificate."""

    def __init__(self, assertions: Sequence[Node], lemmas: Sequence[Lemma]) -> None:
        self.proof = Proof(list(assertions))
        self.lemmas: list[list[Any]] = []
        self.rationals = _Rationals()
        self.split: set[Node] = set()
        self.translation = _Translation(native=False)
        self.solver = z3.Solver()
        self.solver.set("core.minimize", True)
        self.labels: list[Any] = []
        self.named: set[Node] = set()
        self.branches = 0
        pending = list(lemmas)
        while pending:
            ready = next((lemma for lemma in pending if self._is_known(lemma)), None)
            if ready is None:
                raise NotFound(f"a lemma speaks of nodes that no fact shows: {pending[0].rule}")
            pending.remove(ready)
            self._learn(ready)

    def _learn(self, lemma: Lemma) -> None:
        self.lemmas.append([lemma.rule, *[self._told(part) for part in lemma.about]])
        for fact in lemma.facts:
            self.proof.learn(fact)

    def _is_known(self, lemma: Lemma) -> bool:
        return all(self._knows(part) for part in lemma.about)

    def _knows(self, part: Node) -> bool:
        if part.op == "poly":
            return all(u in self.proof.numbers for u in parts(part.op, part.args))
        return part in self.proof.numbers

    def _told(self, part: Node) -> Any:
        return _term(self.proof.numbers, part) if part.op == "poly" else self.proof.numbers[part]

    def certificate(self) -> dict[str, Any]:
        """The certificate, as the kernel takes it."""
        tree = self._tree({})
        return {"lemmas": self.lemmas, "tree": tree}

    def _tree(self, case: Case) -> list[Any]:
        self.branches += 1
        if self.branches > MOST_BRANCHES:
            raise NotFound(f"more than {MOST_BRANCHES} branches")
        undecided = []
        for index, fact in enumerate(self.proof.facts):
            value = truth(fact, case)
            if value is False:
                return ["false", index]
            if value is None:
                undecided.append(fact)
        if (core := self.rationals.contradiction(case)) is not None:
            weights = self.rationals.multipliers(core)
            entries = zip(weights, core, strict=True)
            return ["sum", *[[w, self.proof.numbers[atom]] for w, (atom, _) in entries if w != 0]]
        atom = self._forced(undecided, case)
        if atom is None:
            wanted = self._relevant(case)
            atom = self._best([fact for fact in undecided if fact in wanted], case) or self._best(undecided, case)
        if atom is None:
            self._learn_more(case)
            return self._tree(case)
        return ["split", self.proof.numbers[atom], *[self._tree({**case, atom: way}) for way in (True, False)]]

    def _relevant(self, case: Case) -> set[Node]:
        """Facts that Z3 needs to contradict the case."""
        for fact in self.proof.facts[len(self.labels) :]:
            label = z3.Bool(f"fact!{len(self.labels)}")
            self.labels.append(label)
            self.solver.add(z3.Implies(label, self.translation.of(fact)))
        settled = []
        for atom, holds in case.items():
            name = z3.Bool(f"atom!{self.proof.numbers[atom]}")
            if atom not in self.named:
                self.named.add(atom)
                self.solver.add(name == self.translation.of(atom))
            settled.append(name if holds else z3.Not(name))
        if self.solver.check(*self.labels, *settled) != z3.unsat:
            raise NotFound("a case is possible")
        core = {str(label) for label in self.solver.unsat_core()}
        return {fact for label, fact in zip(self.labels, self.proof.facts, strict=True) if str(label) in core}

    def _learn_more(self, case: Case) -> None:
        """Where every fact is settled and the rationals allow the case: what only integers know.

        An equality that fails is off by one at least, and an unknown that the rationals put between two integers is on one side.
        """
        for atom, holds in case.items():
            if atom.op == "eq" and not holds and atom not in self.split:
                self.split.add(atom)
                self._learn(_draw("trichotomy", atom))
                return
        for monomial, value in self.rationals.model():
            if value.denominator != 1:
                cut = combine(*[(1, _monomial(monomial)), (1, number(-floor(value)))])
                self._learn(_draw("cut", cut))
                return
        raise NotFound("the rationals allow a case with integers")

    @staticmethod
    def _forced(facts: Sequence[Node], case: Case) -> Node | None:
        for fact in facts:
            if (atom := _unit(fact, True, case)) is not None:
                return atom
        return None

    def _best(self, facts: Sequence[Node], case: Case) -> Node | None:
        """An open atom: one that arithmetic settles, if there is one, else one of the fact with the fewest."""
        candidates: dict[Node, None] = {}
        for fact in sorted(facts, key=lambda f: len(_open_atoms(f, case))):
            candidates.update(dict.fromkeys(_open_atoms(fact, case)))
        for atom in list(candidates)[:60]:
            for way in (True, False):
                if _inequality(atom, way) and self.rationals.contradiction({**case, atom: way}):
                    return atom
        return next(iter(candidates), None)


def _unit(formula: Node, want: bool, case: Case) -> Node | None:
    """An atom that must be settled one way for the formula to be as wanted."""
    if formula.op == "not":
        return _unit(formula.args[0], not want, case)
    if formula.op != "and":
        return None if formula in case or formula in (TRUE, FALSE) else formula
    undecided = [part for part in formula.args if truth(part, case) is None]
    if not want and (len(undecided) != 1 or any(truth(part, case) is False for part in formula.args)):
        return None
    for part in undecided:
        if (atom := _unit(part, want, case)) is not None:
            return atom
    return None


def _open_atoms(formula: Node, case: Case) -> list[Node]:
    found: dict[Node, None] = {}
    pending = [formula]
    while pending:
        part = pending.pop()
        if part.op in ("not", "and"):
            if truth(part, case) is None:
                pending.extend(part.args)
        elif part.op in ATOMS and part not in case:
            found[part] = None
    return list(found)


__all__ = ["ATOMS", "UNKNOWNS", "NotFound", "certify"]
