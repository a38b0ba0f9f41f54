"""Formulas and integer terms in one normal form, so that equal meaning by arithmetic is equal node.

An integer term is a polynomial over *unknowns*: `app` (a function applied), `ite`, `div`, `witness`, and inside an `all` its
`bound` variables. An atom is `le` (polynomial <= 0), `eq` (polynomial = 0), `holds` (a predicate applied) or a closed `all`.
Formulas are atoms, `not` and `and`. Every node is made once, so `is` is equality. A bound variable is the number of `all`s
between it and its own (0 is the innermost), so there are no names that could be captured.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from math import gcd
from typing import Any, ClassVar

MOST_WORK = 2_000_000
LARGEST = 2**4096


class Refused(Exception):
    """The text or the certificate is not accepted; the message says why."""


def need(condition: object, message: str) -> None:
    """Refuses with the message unless the condition holds."""
    if not condition:
        raise Refused(message)


class Work:
    """What may still be done before a text or certificate is refused as too large: one for each node or monomial looked at."""

    left: ClassVar[int] = MOST_WORK

    @classmethod
    def spend(cls, amount: int) -> None:
        """Takes from what is left."""
        cls.left -= amount
        need(cls.left >= 0, "too much work; the text or the certificate is larger than any honest one")


class Node:
    """An operator with its arguments. `loose` is how many enclosing `all`s its bound variables still need."""

    __slots__ = ("args", "loose", "name", "op")
    table: ClassVar[dict[tuple[Any, ...], Node]] = {}

    def __init__(self, op: str, args: tuple[Any, ...], loose: int) -> None:
        self.op, self.args, self.loose, self.name = op, args, loose, ""

    def key(self) -> str:
        """Orders nodes the same way in every process. Equal keys of different nodes could at most spoil that order."""
        if not self.name:
            text = f"{self.op}{told(self.args)}"
            self.name = text if len(text) < 40 else sha256(text.encode()).hexdigest()
        return self.name


def told(part: Any) -> Any:
    """An argument with keys for nodes."""
    return part.key() if isinstance(part, Node) else [told(p) for p in part] if isinstance(part, tuple) else part


def node(op: str, *args: Any) -> Node:
    """The one node with this operator and these arguments."""
    found = Node.table.get((op, *args))
    if found is None:
        inner = args[0] + 1 if op == "bound" else max((part.loose for part in parts(op, args)), default=0)
        Work.spend(10)
        found = Node.table[(op, *args)] = Node(op, args, max(inner - 1, 0) if op == "all" else inner)
    return found


def parts(op: str, args: tuple[Any, ...]) -> list[Node]:
    """The nodes directly inside a node."""
    if op == "poly":
        return [unknown for _, monomial in args[1] for unknown in monomial]
    return [part for part in args if isinstance(part, Node)]


TRUE = node("true")
FALSE = node("not", TRUE)


def start_afresh() -> None:
    """Forgets all nodes but true and false, and all work done; nodes made before must not be used again."""
    Node.table.clear()
    Node.table.update({("true",): TRUE, ("not", TRUE): FALSE})
    Work.left = MOST_WORK


# Integer terms: poly(constant, ((coefficient, monomial), ...)), sorted, without zero coefficients; a monomial is the sorted
# tuple of the unknowns that are multiplied.


def poly(constant: int, monomials: dict[tuple[Node, ...], int]) -> Node:
    """The polynomial with these coefficients."""
    Work.spend(1 + len(monomials))
    kept = [(c, m) for m, c in monomials.items() if c]
    for c in (constant, *[c for c, _ in kept]):
        need(-LARGEST < c < LARGEST, "a number is too large")
    if len(kept) > 1:
        kept.sort(key=lambda item: [unknown.key() for unknown in item[1]])
    return node("poly", constant, tuple(kept))


def number(value: int) -> Node:
    """The constant polynomial."""
    return poly(value, {})


def of(unknown: Node) -> Node:
    """The polynomial that is one unknown."""
    return node("poly", 0, ((1, (unknown,)),))


def combine(*weighted: tuple[int, Node], plus: int = 0) -> Node:
    """The sum of polynomials, each times an integer, and a number."""
    constant, monomials = plus, dict[tuple[Node, ...], int]()
    for weight, term in weighted:
        constant += weight * term.args[0]
        for c, m in term.args[1]:
            monomials[m] = monomials.get(m, 0) + weight * c
    return poly(constant, monomials)


def product(*factors: Node) -> Node:
    """The product of polynomials."""
    whole = number(1)
    for factor in factors:
        Work.spend(sum(len(m) + len(n) for _, m in whole.args[1] for _, n in factor.args[1]))
        monomials = dict[tuple[Node, ...], int]()
        for c, m in [(whole.args[0], ()), *whole.args[1]]:
            for d, n in [(factor.args[0], ()), *factor.args[1]]:
                joined = tuple(sorted((*m, *n), key=Node.key))
                monomials[joined] = monomials.get(joined, 0) + c * d
        whole = poly(monomials.pop((), 0), monomials)
    return whole


# Formulas.


def at_most_zero(term: Node) -> Node:
    """term <= 0, with coprime coefficients and a positive leading one (or the negation of such an atom)."""
    constant, monomials = term.args
    if not monomials:
        return TRUE if constant <= 0 else FALSE
    if monomials[0][0] < 0:  # t <= 0 if and only if not 1 - t <= 0, over the integers
        return negate(at_most_zero(combine((-1, term), plus=1)))
    divisor = gcd(*[c for c, _ in monomials])
    # g*s + k <= 0 if and only if s + ceil(k / g) <= 0, over the integers
    return node("le", node("poly", -(-constant // divisor), tuple((c // divisor, m) for c, m in monomials)))


def is_zero(term: Node) -> Node:
    """term = 0, with coprime coefficients and a positive leading one."""
    constant, monomials = term.args
    if not monomials:
        return TRUE if constant == 0 else FALSE
    divisor = gcd(*[c for c, _ in monomials]) * (1 if monomials[0][0] > 0 else -1)
    if constant % divisor:  # g*s + k = 0 needs a k that g divides
        return FALSE
    return node("eq", node("poly", constant // divisor, tuple((c // divisor, m) for c, m in monomials)))


def negate(formula: Node) -> Node:
    """Not the formula."""
    return formula.args[0] if formula.op == "not" else node("not", formula)


def both(*formulas: Node) -> Node:
    """All of the formulas."""
    kept = tuple(dict.fromkeys(f for f in formulas if f is not TRUE))
    if FALSE in kept:
        return FALSE
    return node("and", *kept) if len(kept) > 1 else (kept[0] if kept else TRUE)


def either(*formulas: Node) -> Node:
    """At least one of the formulas."""
    return negate(both(*[negate(f) for f in formulas]))


def at_most(left: Node, right: Node) -> Node:
    """left <= right."""
    return at_most_zero(combine((1, left), (-1, right)))


def equal(left: Node, right: Node) -> Node:
    """Two integer terms, or two formulas, have the same value."""
    if left.op == "poly":
        return is_zero(combine((1, left), (-1, right)))
    return both(either(negate(left), right), either(left, negate(right)))


def choice(condition: Node, then: Node, otherwise: Node) -> Node:
    """One term or formula or the other; a term is an unknown, unless the condition is settled."""
    if then.op != "poly":
        return both(either(negate(condition), then), either(condition, otherwise))
    if condition in (TRUE, FALSE):
        return then if condition is TRUE else otherwise
    return of(node("ite", condition, then, otherwise))


UNKNOWN = {"app", "ite", "div", "witness"}
NORMAL: dict[str, Callable[..., Node]] = {"le": at_most_zero, "eq": is_zero, "not": negate, "and": both, "ite": choice}
"""How nodes are made again from other parts, where that is more than putting them together."""


def rebuilt(whole: Node, change: Callable[[int, int], Node]) -> Node:
    """The node with `change(b, depth)` in place of each bound variable b that needs an `all` outside, in normal form again.

    `depth` is the number of `all`s between the whole and the variable, so b >= depth; the replacement is a polynomial, and so
    is what becomes of an unknown.
    """
    done: dict[tuple[Node, int], Node] = {}

    def again(part: Node, depth: int) -> Node:
        if part.loose <= depth:
            return of(part) if part.op in UNKNOWN or part.op == "bound" else part
        if part.op == "bound":
            return change(part.args[0], depth)
        if (part, depth) not in done:
            Work.spend(10)
            made = rebuild(part, depth)
            done[part, depth] = of(made) if made.op in UNKNOWN else made
        return done[part, depth]

    def rebuild(part: Node, depth: int) -> Node:
        if part.op == "poly":
            products = [(c, product(*[again(unknown, depth) for unknown in monomial])) for c, monomial in part.args[1]]
            return combine(*products, plus=part.args[0])
        inner = [again(each, depth + (part.op == "all")) if isinstance(each, Node) else each for each in part.args]
        return NORMAL[part.op](*inner) if part.op in NORMAL else node(part.op, *inner)

    return again(whole, 0)


def lifted(part: Node, by: int) -> Node:
    """What the node is called `by` `all`s further inside."""
    return rebuilt(part, lambda b, depth: of(node("bound", b + by))) if by else part


def instance(formula: Node, term: Node) -> Node:
    """The body of a closed `all` at a closed term."""
    need(formula.op == "all" and term.op == "poly" and not formula.loose and not term.loose, "an instance is of closed nodes")
    return rebuilt(formula.args[0], lambda b, depth: term)
