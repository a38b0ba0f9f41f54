"""The rules of a certificate: each adds a fact that holds in every model of the assertions, until the facts are impossible.

A certificate is a list of steps: lemmas, consequences, sums and cases (`Proof.step`). Steps speak of *known* nodes by number:
the closed nodes of the assertions, then of the lemmas and cases in turn, in the order in which they are met, inside first.
If `check` returns, no integers, functions and predicates make all assertions of the text true.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proofs.kernel.reader import Reader
from proofs.kernel.terms import (
    MOST_WORK,
    UNKNOWN,
    Node,
    Work,
    at_most_zero,
    both,
    combine,
    either,
    equivalent,
    instance,
    is_zero,
    need,
    negate,
    node,
    number,
    of,
    parts,
    product,
    start_afresh,
)

Case = dict[Node, bool]
"""Formulas that hold, and formulas that do not."""
FORMULAS = {"le", "eq", "holds", "all", "and"}
TAKES = {"instance": 2, "witness": 1, "choice": 1, "congruence": 2, "quotient": 1, "trichotomy": 1, "product": 2, "cut": 1}


def check(text: str, certificate: Any) -> int:
    """Accepts the certificate that the assertions of the text contradict each other (and tells the work), or raises `Refused`."""
    start_afresh()
    try:
        need(isinstance(certificate, list), "a certificate is a list of steps")
        proof, case = Proof(), Case()
        impossible = [proof.learn(formula, case) for formula in Reader(text).assertions.values()]
        closed = certificate == [] if any(impossible) else proof.closes(certificate, case)
        need(closed, "the steps end without a contradiction, or follow one")
    except RecursionError:
        need(False, "the text or the certificate is nested too deeply")
    return MOST_WORK - Work.left


class Proof:
    """The nodes known so far."""

    def __init__(self) -> None:
        self.known: list[Node] = []
        self.numbers: dict[Node, int] = {}

    def learn(self, fact: Node, case: Case) -> bool:
        """Adds a fact to the case, and numbers the closed nodes in it; whether the case is impossible then."""
        seen: set[Node] = set()

        def meet(part: Node) -> None:
            if part not in seen and part not in self.numbers:
                seen.add(part)
                for inner in parts(part.op, part.args):
                    meet(inner)
                if not part.loose and (part.op in FORMULAS or part.op in UNKNOWN):
                    self.numbers[part] = len(self.known)
                    self.known.append(part)

        meet(fact)
        return forced(fact, True, case)

    def closes(self, steps: list[Any], case: Case) -> bool:
        """Whether the steps, each in the case with what the steps before have added to it, make the case impossible."""
        for index, step in enumerate(steps):
            if self.step(step, case):
                need(index == len(steps) - 1, "steps follow a contradiction")
                return True
        return False

    def step(self, step: Any, case: Case) -> bool:
        """Takes a step; whether the case is impossible then.

        K                        consequence: what follows from node K having the value it has in this case (`forced`)
        [m, A, m, A, ...]        sum: inequalities (m > 0) and equalities (any m) of this case, times m, add up to a number > 0
                                 that is at most 0, so the case is impossible
        [[L, ...], step, ...]    case: if all L hold, the steps lead to a contradiction, so not all L hold (L = K: node K holds;
                                 L = -1 - K: it does not)
        [rule, ...]              lemma: its facts hold (`lemma`)
        """
        if type(step) is int:
            formula = self.get(step, FORMULAS)
            value = truth(formula, case)
            need(value is not None, f"node {step} has no value in this case")
            return forced(formula, bool(value), case)
        need(isinstance(step, list) and step, f"{step!r} is no step")
        if isinstance(step[0], str):
            return any(self.learn(fact, case) for fact in self.lemma(step[0], step[1:]))
        if isinstance(step[0], list):
            assumed = [self.literal(encoded) for encoded in step[0]]
            inner = dict(case)
            impossible = any(forced(literal, True, inner) for literal in assumed)
            need(impossible or self.closes(step[1:], inner), "a case is not closed")
            return self.learn(negate(both(*assumed)), case)
        need(len(step) % 2 == 0, "a sum has multipliers and atoms")
        total = combine(*[self.weighed(weight, index, case) for weight, index in zip(step[::2], step[1::2], strict=True)])
        need(not total.args[1] and total.args[0] > 0, "the sum is not a positive number")
        return True

    def get(self, index: Any, ops: set[str]) -> Node:
        """The known node of that number, which must have one of these operators."""
        need(type(index) is int and 0 <= index < len(self.known), f"{index!r} is not the number of a known node")
        found: Node = self.known[index]
        need(found.op in ops, f"node {index} is {found.op}, not {' or '.join(sorted(ops))}")
        return found

    def literal(self, encoded: Any) -> Node:
        """The formula, or its negation."""
        need(type(encoded) is int, f"{encoded!r} is no literal")
        return self.get(encoded, FORMULAS) if encoded >= 0 else negate(self.get(-1 - encoded, FORMULAS))

    def term(self, encoded: Any) -> Node:
        """A closed term: [constant, [coefficient, unknown, ...], ...]."""
        need(isinstance(encoded, list) and encoded and type(encoded[0]) is int, "a term is a constant and monomials")
        whole = number(encoded[0])
        for monomial in encoded[1:]:
            need(isinstance(monomial, list) and len(monomial) > 1 and type(monomial[0]) is int, "a monomial has a coefficient")
            value = number(monomial[0])
            for index in monomial[1:]:
                value = product(value, of(self.get(index, UNKNOWN)))
            whole = combine((1, whole), (1, value))
        return whole

    def weighed(self, weight: Any, index: Any, case: Case) -> tuple[int, Node]:
        """A multiple of a polynomial that is at most 0 (or is 0) in this case."""
        atom = self.get(index, {"le", "eq"})
        need(type(weight) is int and atom in case, f"{weight!r} is no multiplier, or atom {index} has no value in this case")
        if atom.op == "eq":
            need(case[atom], f"atom {index} is not an equality in this case")
            return weight, atom.args[0]
        need(weight > 0, "an inequality needs a positive multiplier")
        return weight, (atom.args[0] if case[atom] else combine((-1, atom.args[0]), plus=1))

    def lemma(self, rule: str, about: list[Any]) -> Iterator[Node]:
        """The facts of a lemma.

        instance F t    if `all x. B` (F) holds, so does B at t
        witness F       if `all x. B` (F) fails, it fails at witness(F): read witness(F) as some value at which B fails, if any
        choice u        u = ite(c, a, b) is a if c, else b
        congruence u v  the same function or predicate, applied to equal terms, gives the same
        quotient u      u = div(t, n) satisfies n*u <= t < n*u + n
        trichotomy A    the term t of an atom A, t = 0, is 0, or at least 1, or at most -1
        product s t     if s >= 0 and t >= 0 then s*t >= 0
        cut t           t <= 0 or not; which makes a known atom of it
        """
        need(TAKES.get(rule) == len(about), f"there is no rule {rule!r} about {len(about)}")
        if rule == "instance":
            formula = self.get(about[0], {"all"})
            yield either(negate(formula), instance(formula, self.term(about[1])))
        elif rule == "witness":
            formula = self.get(about[0], {"all"})
            yield either(formula, negate(instance(formula, of(node("witness", formula)))))
        elif rule == "choice":
            chosen = self.get(about[0], {"ite"})
            condition, then, otherwise = chosen.args
            yield either(negate(condition), is_zero(combine((1, of(chosen)), (-1, then))))
            yield either(condition, is_zero(combine((1, of(chosen)), (-1, otherwise))))
        elif rule == "congruence":
            one, two = (self.get(index, {"app", "holds"}) for index in about)
            need((one.op, one.args[0], len(one.args)) == (two.op, two.args[0], len(two.args)), "two different functions")
            differ = [negate(is_zero(combine((1, a), (-1, b)))) for a, b in zip(one.args[1:], two.args[1:], strict=True)]
            same = is_zero(combine((1, of(one)), (-1, of(two)))) if one.op == "app" else equivalent(one, two)
            yield either(*differ, same)
        elif rule == "quotient":
            quotient = self.get(about[0], {"div"})
            divided, divisor = quotient.args
            rest = combine((1, divided), (-divisor, of(quotient)))
            yield at_most_zero(combine((-1, rest)))
            yield at_most_zero(combine((1, rest), plus=1 - divisor))
        elif rule == "trichotomy":
            zero = self.get(about[0], {"eq"})
            yield either(zero, at_most_zero(combine((-1, zero.args[0]), plus=1)), at_most_zero(combine((1, zero.args[0]), plus=1)))
        elif rule == "product":
            one, two = self.term(about[0]), self.term(about[1])
            yield either(
                *[at_most_zero(combine((1, t), plus=1)) for t in (one, two)], at_most_zero(combine((-1, product(one, two))))
            )
        else:
            atom = at_most_zero(self.term(about[0]))
            yield either(atom, negate(atom))


def truth(formula: Node, case: Case) -> bool | None:
    """The formula's value in the case; None if that says nothing of it."""
    Work.spend(1)
    if formula in case:
        return case[formula]
    if formula.op == "not":
        inner = truth(formula.args[0], case)
        return None if inner is None else not inner
    if formula.op == "and":
        values = [truth(part, case) for part in formula.args]
        return False if False in values else None if None in values else True
    return formula.op == "true" if formula.op in ("true", "false") else None


def forced(formula: Node, value: bool, case: Case) -> bool:
    """Adds to the case that the formula has this value, and what follows for its parts; whether that is impossible."""
    while formula.op == "not":
        formula, value = formula.args[0], not value
    if truth(formula, case) is (not value):
        return True
    if formula.op not in FORMULAS:  # true or false, as it should be
        return False
    case[formula] = value
    if formula.op != "and":
        return False
    if value:
        return any(forced(part, True, case) for part in formula.args)
    open_parts = [part for part in formula.args if truth(part, case) is not True]
    return not open_parts or (len(open_parts) == 1 and forced(open_parts[0], False, case))
