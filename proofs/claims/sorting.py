"""Claims about sorting: what a sort places, for the comparison of sources, which replaces a sort by counts.

*Claim.* If a permutation places elements so that earlier positions hold what comes before, then the element at position p has
exactly p elements before it; and if the order is "greater first", its value is the (p+1)-th greatest.

*Assumptions.* What a language documents of its sort: the result is a permutation, and of two positions the earlier holds what
comes before by the comparison (for a stable sort, ties as they stood). That the comparison is the strict order of the spec is
proved of each source, for any two elements.

*Argument.* A permutation keeps counts, and along it exactly the positions below p hold what comes before. More values exceed
none of those after p, and the value at p counts itself among those that reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from proofs.claims.counting import GROWS, NO_EXTRA, PERMUTED, SPANS, SPLITS, Mapped, along, inverse
from proofs.obligation import Register, World
from spec.order import at_least
from spec.scope import Count, every, within
from spec.sorts import WORDS, Seq

CLAIMS = Register("sorting")

Before = Callable[[z3.ArithRef, z3.ArithRef], z3.BoolRef]


def places(order: Mapped, position: Mapped, before: Before, n: z3.ArithRef) -> z3.BoolRef:
    """`order` (with its inverse) is a permutation of [0, n) that has what comes before at earlier positions."""

    def rises(q: z3.ArithRef, p: z3.ArithRef) -> z3.BoolRef:
        return z3.Implies(q < p, z3.And(before(order(q), order(p)), z3.Not(before(order(p), order(q)))))

    placed = every("p", 0, n, lambda p: every("q", 0, n, lambda q: rises(q, p)))
    alone = every("i", 0, n, lambda i: z3.Not(before(i, i)))
    return z3.And(inverse(order, position, n), placed, alone)


def ranked(count: Callable[[z3.ArithRef], Count], order: Mapped, position: Mapped, n: Any, p: Any) -> z3.BoolRef:
    """The element at position p has p elements before it; `count(i)` counts those before i."""
    given = z3.And(within(0, p, n), places(order, position, lambda j, i: count(i).counts(j), n))
    return z3.Implies(given, count(order(p)).upto(n) == p)


def _any_order() -> tuple[Callable[[z3.ArithRef], Count], Mapped, Mapped, z3.ArithRef, z3.ArithRef]:
    before = z3.Function("before", z3.IntSort(), z3.IntSort(), z3.BoolSort())
    order = z3.Function("order", z3.IntSort(), z3.IntSort())
    position = z3.Function("position", z3.IntSort(), z3.IntSort())

    def count(i: z3.ArithRef) -> Count:
        return Count(name="count before", holds=lambda j, member: before(j, member), of=(i,))

    return count, lambda p: order(p), lambda i: position(i), z3.Int("n"), z3.Int("p")


@CLAIMS.lemma(
    "a-sort-places-by-rank",
    "If earlier positions hold what comes before, the element at position p has exactly p elements before it.",
    states=ranked,
)
def RANKED(world: World) -> tuple[Any, ...]:
    """Along the order exactly the positions below p hold what comes before."""
    count, order, position, n, p = _any_order()
    own = count(order(p))
    world.use(PERMUTED, own, order, position, n)
    world.use(SPANS, along(own, order), z3.IntVal(0), p, n)
    return count, order, position, n, p


def greater_first(values: Seq, j: z3.ArithRef, i: z3.ArithRef) -> z3.BoolRef:
    """The value at j comes before the one at i: it is greater, or equal and stood earlier."""
    return z3.Or(values.at(j) > values.at(i), z3.And(values.at(j) == values.at(i), j < i))


def count_greater_first(values: Seq, i: z3.ArithRef) -> Count:
    """Counts the values that come before the one at i, the greater first."""
    return Count(name=f"greater[{values.name}]", holds=lambda j, at: greater_first(values, j, at), of=(i,))


def dealt(values: Seq, order: Mapped, position: Mapped, p: z3.ArithRef) -> z3.BoolRef:
    """Sorted the greater first, position p holds the (p+1)-th greatest value."""
    n = values.length
    given = z3.And(within(0, p, n), places(order, position, lambda j, i: greater_first(values, j, i), n))
    v = values.at(order(p))
    return z3.Implies(given, within(at_least(values, v + 1).upto(n), p, at_least(values, v).upto(n)))


@CLAIMS.lemma(
    "a-sort-deals-by-size",
    "If values are sorted the greater first, position p holds the (p+1)-th greatest.",
    states=dealt,
)
def DEALT(world: World) -> tuple[Any, ...]:
    """What exceeds the value at p comes before it; that and the value itself reach it."""
    _, order, position, _, p = _any_order()
    values = WORDS.fresh("values")
    n, member = values.length, order(p)
    before = count_greater_first(values, member)
    v = values.at(member)
    world.use(RANKED, lambda i: count_greater_first(values, i), order, position, n, p)
    world.use(GROWS, at_least(values, v + 1), before, NO_EXTRA, n)
    world.use(GROWS, before, at_least(values, v), member, n)
    return values, order, position, p


def lesser_first(values: Seq, j: z3.ArithRef, i: z3.ArithRef) -> z3.BoolRef:
    """The value at j comes before the one at i: it is less, or equal and stood earlier."""
    return z3.Or(values.at(j) < values.at(i), z3.And(values.at(j) == values.at(i), j < i))


def count_lesser_first(values: Seq, i: z3.ArithRef) -> Count:
    """Counts the values that come before the one at i, the lesser first."""
    return Count(name=f"lesser[{values.name}]", holds=lambda j, at: lesser_first(values, j, at), of=(i,))


def everything() -> Count:
    """Counts every index."""
    return Count(name="every index", holds=lambda j: z3.BoolVal(True))


def below(values: Seq, v: z3.ArithRef) -> Count:
    """Counts the values less than v."""
    return Count(name=f"below[{values.name}]", holds=lambda j, limit: values.at(j) < limit, of=(v,))


def dealt_backwards(values: Seq, order: Mapped, position: Mapped, p: z3.ArithRef) -> z3.BoolRef:
    """Sorted the lesser first, position p from the end holds the (p+1)-th greatest value."""
    n = values.length
    given = z3.And(within(0, p, n), places(order, position, lambda j, i: lesser_first(values, j, i), n))
    v = values.at(order(p))
    return z3.Implies(given, within(at_least(values, v + 1).upto(n), n - 1 - p, at_least(values, v).upto(n)))


@CLAIMS.lemma(
    "a-sort-read-backwards-deals-by-size",
    "If values are sorted the lesser first, position p from the end holds the (p+1)-th greatest.",
    states=dealt_backwards,
)
def DEALT_BACKWARDS(world: World) -> tuple[Any, ...]:
    """What is less than the value at p comes before it; all values are less than a size or reach it."""
    _, order, position, _, p = _any_order()
    values = WORDS.fresh("values")
    n, member = values.length, order(p)
    before = count_lesser_first(values, member)
    v = values.at(member)
    world.use(RANKED, lambda i: count_lesser_first(values, i), order, position, n, p)
    world.use(GROWS, below(values, v), before, NO_EXTRA, n)
    world.use(GROWS, before, below(values, v + 1), member, n)
    for size in (v, v + 1):
        world.use(SPLITS, everything(), at_least(values, size), below(values, size), n)
    world.use(SPANS, everything(), z3.IntVal(0), n, n)
    return values, order, position, p


def rearranged(values: Seq, moved: Seq, order: Mapped, position: Mapped, v: z3.ArithRef) -> z3.BoolRef:
    """If `moved` has at p the value at order(p), as many of its values as before are v or more."""
    n = values.length
    same = every("p", 0, n, lambda p: moved.at(p) == values.at(order(p)))
    given = z3.And(n >= 0, moved.length == n, inverse(order, position, n), same)
    return z3.Implies(given, at_least(moved, v).upto(n) == at_least(values, v).upto(n))


@CLAIMS.lemma(
    "moving-values-keeps-how-many-reach-a-size",
    "Along a permutation as many values are v or more as without it.",
    states=rearranged,
)
def REARRANGED(world: World) -> tuple[Any, ...]:
    """A permutation keeps the count of those that reach v."""
    _, order, position, _, _ = _any_order()
    values, moved, v = WORDS.fresh("values"), WORDS.fresh("moved"), z3.Int("v")
    n = values.length
    own, theirs = at_least(values, v), at_least(moved, v)
    world.use(PERMUTED, own, order, position, n)
    world.use(GROWS, theirs, along(own, order), NO_EXTRA, n)
    world.use(GROWS, along(own, order), theirs, NO_EXTRA, n)
    return values, moved, order, position, v
