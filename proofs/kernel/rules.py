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
    TRUE,
    UNKNOWN,
    Node,
    Refused,
    Work,
    at_most,
    both,
    combine,
    either,
    equal,
    instance,
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
TERM: set[str] = set()
TAKES: dict[str, tuple[set[str], ...]] = {
    "instance": ({"all"}, TERM),
    "witness": ({"all"},),
    "choice": ({"ite"},),
    "congruence": ({"app", "holds"}, {"app", "holds"}),
    "quotient": ({"div"},),
    "trichotomy": ({"eq"},),
    "product": (TERM, TERM),
    "cut": (TERM,),
}
"""What each lemma is about: known nodes with one of these operators, or terms."""


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
        raise Refused("the text or the certificate is nested too deeply") from None
    return MOST_WORK - Work.left


class Proof:
    """The nodes known so far."""

    def __init__(self) -> None:
        self.known: list[Node] = []
        self.numbers: dict[Node, int] = {}
        self.met: set[Node] = set()

    def learn(self, fact: Node, case: Case) -> bool:
        """Adds a fact to the case, and numbers the closed nodes in it; whether the case is impossible then."""
        self.meet(fact)
        return forced(fact, True, case)

    def meet(self, part: Node) -> None:
        """Numbers the closed nodes in a node, inside first."""
        if part in self.met:
            return
        self.met.add(part)
        for inner in parts(part.op, part.args):
            self.meet(inner)
        if not part.loose and (part.op in FORMULAS or part.op in UNKNOWN):
            self.numbers[part] = len(self.known)
            self.known.append(part)

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
        match step:
            case [str(rule), *about]:
                return any(self.learn(fact, case) for fact in self.lemma(rule, about))
            case [[*literals], *steps]:
                assumed, inner = [self.literal(each) for each in literals], dict(case)
                impossible = any(forced(each, True, inner) for each in assumed)
                need(impossible or self.closes(steps, inner), "a case is not closed")
                return self.learn(negate(both(*assumed)), case)
            case [_, *_]:
                need(len(step) % 2 == 0, "a sum has multipliers and atoms")
                total = combine(*[self.weighed(weight, index, case) for weight, index in zip(step[::2], step[1::2], strict=True)])
                need(not total.args[1] and total.args[0] > 0, "the sum is not a positive number")
                return True
        formula = self.get(step, FORMULAS)
        value = truth(formula, case)
        need(value is not None, f"node {step} has no value in this case")
        return forced(formula, bool(value), case)

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
        for each in encoded[1:]:
            need(isinstance(each, list) and len(each) > 1 and type(each[0]) is int, "a monomial has a coefficient and unknowns")
            whole = combine((1, whole), (each[0], product(*[of(self.get(index, UNKNOWN)) for index in each[1:]])))
        return whole

    def weighed(self, weight: Any, index: Any, case: Case) -> tuple[int, Node]:
        """A multiple of a polynomial that is at most 0 (or is 0) in this case."""
        atom = self.get(index, {"le", "eq"})
        need(type(weight) is int and atom in case, f"{weight!r} is no multiplier, or atom {index} has no value in this case")
        need(case[atom] or atom.op == "le", f"atom {index} is not an equality in this case")
        need(weight > 0 or atom.op == "eq", "an inequality needs a positive multiplier")
        return weight, atom.args[0] if case[atom] else combine((-1, atom.args[0]), plus=1)

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
        need(rule in TAKES and len(TAKES[rule]) == len(about), f"there is no rule {rule!r} about {len(about)}")
        takes = zip(about, TAKES[rule], strict=True)
        match rule, [self.term(each) if ops is TERM else self.get(each, ops) for each, ops in takes]:
            case "instance", [formula, at]:
                yield either(negate(formula), instance(formula, at))
            case "witness", [formula]:
                yield either(formula, negate(instance(formula, of(node("witness", formula)))))
            case "choice", [chosen]:
                condition, then, otherwise = chosen.args
                yield either(negate(condition), equal(of(chosen), then))
                yield either(condition, equal(of(chosen), otherwise))
            case "congruence", [one, two]:
                need((one.op, one.args[0], len(one.args)) == (two.op, two.args[0], len(two.args)), "two different functions")
                differ = [negate(equal(a, b)) for a, b in zip(one.args[1:], two.args[1:], strict=True)]
                yield either(*differ, equal(of(one), of(two)) if one.op == "app" else equal(one, two))
            case "quotient", [quotient]:
                divided, divisor = quotient.args
                yield at_most(combine((divisor, of(quotient))), divided)
                yield at_most(divided, combine((divisor, of(quotient)), plus=divisor - 1))
            case "trichotomy", [zero]:
                yield either(zero, at_most(number(1), zero.args[0]), at_most(zero.args[0], number(-1)))
            case "product", [one, two]:
                yield either(at_most(one, number(-1)), at_most(two, number(-1)), at_most(number(0), product(one, two)))
            case "cut", [term]:
                yield either(at_most(term, number(0)), negate(at_most(term, number(0))))


def truth(formula: Node, case: Case) -> bool | None:
    """The formula's value in the case; None if that says nothing of it."""
    Work.spend(1)
    if formula.op == "not":
        inner = truth(formula.args[0], case)
        return None if inner is None else not inner
    if formula is TRUE or formula in case or formula.op != "and":
        return True if formula is TRUE else case.get(formula)
    values = [truth(part, case) for part in formula.args]
    return False if False in values else None if None in values else True


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
