"""Formulas and integer terms in one normal form, so that equal meaning by arithmetic is equal node.

An integer term is a polynomial over *unknowns* (constants, applications, `ite`, `div`, witnesses). An atom is `le` (polynomial
<= 0), `eq` (polynomial = 0), `holds` (a predicate applied), or a closed `all`. Every node is made once, so `is` is equality.
Bound variables are numbered from the inside, so there are no names that could be captured.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from math import gcd
from typing import Any, ClassVar


class Node:
    """An operator with its arguments. `loose` is how many enclosing `all`s its bound variables still need.

    `key` orders nodes the same way in every process; equal keys of different nodes could at most spoil that order.
    """

    __slots__ = ("args", "key", "loose", "op")
    table: ClassVar[dict[tuple[Any, ...], Node]] = {}

    def __init__(self, op: str, args: tuple[Any, ...], loose: int) -> None:
        self.op, self.args, self.loose = op, args, loose
        self.key = sha256(repr((op, *map(keyed, args))).encode()).digest()[:12]


def keyed(part: Any) -> Any:
    """The argument with keys for nodes."""
    if isinstance(part, tuple):
        return tuple(map(keyed, part))
    return part.key if isinstance(part, Node) else part


def node(op: str, *args: Any) -> Node:
    """The one node with this operator and these arguments."""
    found = Node.table.get((op, *args))
    if found is None:
        if op == "bound":
            loose = args[0] + 1
        else:
            loose = max((part.loose for part in parts(op, args)), default=0)
            loose = max(loose - 1, 0) if op == "all" else loose
        found = Node.table[(op, *args)] = Node(op, args, loose)
    return found


def parts(op: str, args: tuple[Any, ...]) -> list[Node]:
    """The nodes directly inside a node."""
    if op == "poly":
        return [unknown for _, monomial in args[1] for unknown in monomial]
    return [part for part in args if isinstance(part, Node)]


TRUE, FALSE = node("true"), node("false")


# Integer terms: poly(constant, ((coefficient, monomial), ...)), sorted, without zero coefficients.


def poly(constant: int, monomials: dict[tuple[Node, ...], int]) -> Node:
    """The polynomial with these coefficients."""
    kept = [(c, m) for m, c in monomials.items() if c != 0]
    return node("poly", constant, tuple(sorted(kept, key=lambda item: [u.key for u in item[1]])))


def number(value: int) -> Node:
    """The constant polynomial."""
    return poly(value, {})


def of(unknown: Node) -> Node:
    """The polynomial that is one unknown."""
    return poly(0, {(unknown,): 1})


def combine(*weighted: tuple[int, Node]) -> Node:
    """The sum of polynomials, each times an integer."""
    constant, monomials = 0, dict[tuple[Node, ...], int]()
    for weight, term in weighted:
        constant += weight * term.args[0]
        for c, m in term.args[1]:
            monomials[m] = monomials.get(m, 0) + weight * c
    return poly(constant, monomials)


def product(left: Node, right: Node) -> Node:
    """The product of two polynomials."""
    monomials = dict[tuple[Node, ...], int]()
    for c, m in [(left.args[0], ()), *left.args[1]]:
        for d, n in [(right.args[0], ()), *right.args[1]]:
            both = tuple(sorted((*m, *n), key=lambda u: u.key))
            monomials[both] = monomials.get(both, 0) + c * d
    return poly(monomials.pop((), 0), monomials)


# Formulas.


def at_most_zero(term: Node) -> Node:
    """term <= 0, with coprime coefficients and a positive leading one (or the negation of such an atom)."""
    constant, monomials = term.args
    if not monomials:
        return TRUE if constant <= 0 else FALSE
    if monomials[0][0] < 0:  # t <= 0 if and only if not 1 - t <= 0, over the integers
        return negate(at_most_zero(combine((-1, term), (1, number(1)))))
    divisor = gcd(*[c for c, _ in monomials])
    # g*s + k <= 0 if and only if s + ceil(k / g) <= 0, over the integers
    return node("le", poly(-(-constant // divisor), {m: c // divisor for c, m in monomials}))


def is_zero(term: Node) -> Node:
    """term = 0, with coprime coefficients and a positive leading one."""
    constant, monomials = term.args
    if not monomials:
        return TRUE if constant == 0 else FALSE
    divisor = gcd(*[c for c, _ in monomials]) * (1 if monomials[0][0] > 0 else -1)
    if constant % divisor != 0:
        return FALSE
    return node("eq", poly(constant // divisor, {m: c // divisor for c, m in monomials}))


def negate(formula: Node) -> Node:
    """Not the formula."""
    if formula in (TRUE, FALSE):
        return FALSE if formula is TRUE else TRUE
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


def equivalent(left: Node, right: Node) -> Node:
    """Both formulas or neither."""
    return both(either(negate(left), right), either(left, negate(right)))


def choice(condition: Node, then: Node, otherwise: Node) -> Node:
    """One integer term or the other; as an unknown, unless the condition is settled."""
    if condition in (TRUE, FALSE):
        return then if condition is TRUE else otherwise
    return of(node("ite", condition, then, otherwise))


def rebuilt(term: Node, change: Callable[[Node, int], Node | None], depth: int = 0) -> Node:
    """The node with `change(part, depth)` in place of each part for which that is not None, in normal form again.

    `depth` is the number of `all`s between the whole and the part. A part replaced must be an unknown, its replacement a
    polynomial.
    """
    op, args = term.op, term.args
    again = [rebuilt(part, change, depth + (op == "all")) for part in args if isinstance(part, Node)]
    if op == "poly":
        total = [(1, number(args[0]))]
        for c, monomial in args[1]:
            value = number(1)
            for unknown in monomial:
                replaced = change(unknown, depth)
                value = product(value, of(rebuilt(unknown, change, depth)) if replaced is None else replaced)
            total.append((c, value))
        return combine(*total)
    if op in REBUILD:
        return REBUILD[op](*again)
    if op == "div":
        return node(op, again[0], args[1])
    return node(op, args[0], *again) if op in ("app", "holds") else node(op, *args)


REBUILD: dict[str, Callable[..., Node]] = {
    "le": at_most_zero,
    "eq": is_zero,
    "not": negate,
    "and": both,
    "all": lambda body: node("all", body),
    "ite": lambda c, a, b: node("ite", c, a, b),
    "witness": lambda formula: node("witness", formula),
}


def bind(variable: Node, body: Node) -> Node:
    """For all values of `variable` the body: its unknown `variable` becomes the innermost bound one."""
    return node("all", rebuilt(body, lambda part, depth: of(node("bound", depth)) if part is variable else None))


def instance(formula: Node, term: Node) -> Node:
    """The body of a closed `all` at a closed term."""
    if formula.op != "all" or formula.loose or term.op != "poly" or term.loose:
        raise ValueError("an instance needs a closed `all` and a closed term")
    return rebuilt(formula.args[0], lambda part, depth: term if part.op == "bound" and part.args[0] == depth else None)
