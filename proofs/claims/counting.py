"""Claims about counting: what follows from the definition of a count, by induction.

*Claim.* A count grows with its predicate; a count over an interval of indices is that interval's length; counts of disjoint
predicates add up; and a count does not change when the indices are permuted.

*Assumptions.* None. Induction over the natural numbers is used outside the solver: base and step give every m.

*Argument.* Each further index adds the same, or no more, on the left as on the right. The predicates here are any predicates
(uninterpreted functions), so each lemma holds of every count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from proofs.obligation import Register, World
from spec.scope import Count, Index, every, within

CLAIMS = Register("counting")


def any_count(name: str) -> Count:
    """The count of a predicate of which nothing is known."""
    predicate = z3.Function(name, z3.IntSort(), z3.BoolSort())
    return Count(name=f"count of {name}", holds=lambda j: predicate(j))


def _within_its_range(count: Count, m: Index) -> z3.BoolRef:
    """A count of the first m indices is between 0 and m."""
    return z3.Implies(m >= 0, z3.And(0 <= count.upto(m), count.upto(m) <= m))


def _grows(fewer: Count, more: Count, extra: Index, m: Index) -> z3.BoolRef:
    """If up to m one predicate implies the other, its count is no larger; and smaller still if `extra` tells them apart."""
    implied = every("j", 0, m, lambda j: z3.Implies(fewer.counts(j), more.counts(j)))
    told_apart = z3.And(within(0, extra, m), more.counts(_term(extra)), z3.Not(fewer.counts(_term(extra))))
    return z3.Implies(z3.And(m >= 0, implied), fewer.upto(m) + z3.If(told_apart, 1, 0) <= more.upto(m))


NO_EXTRA = -1
"""Given to GROWS where no index tells the predicates apart."""


def _spans(count: Count, low: Index, high: Index, m: Index) -> z3.BoolRef:
    """If up to m exactly the indices in [low, high) count, their number is the length of what lies below m."""
    exactly = every("j", 0, m, lambda j: count.counts(j) == within(low, j, high))
    below = z3.If(m < high, m, high) - low
    given = z3.And(m >= 0, 0 <= low, low <= high, exactly)
    return z3.Implies(given, count.upto(m) == z3.If(below > 0, below, 0))


def _splits(whole: Count, one: Count, other: Count, m: Index) -> z3.BoolRef:
    """If up to m each index of the whole is in exactly one part, and the parts are in the whole, the counts add up."""

    def parted(j: z3.ArithRef) -> z3.BoolRef:
        in_one, in_other = one.counts(j), other.counts(j)
        return z3.And(whole.counts(j) == z3.Or(in_one, in_other), z3.Not(z3.And(in_one, in_other)))

    return z3.Implies(z3.And(m >= 0, every("j", 0, m, parted)), whole.upto(m) == one.upto(m) + other.upto(m))


def _term(index: Index) -> z3.ArithRef:
    return z3.IntVal(index) if isinstance(index, int) else index


@CLAIMS.induction(
    "a-count-is-within-its-range",
    "Of the first m indices at least 0 and at most m are counted.",
    states=_within_its_range,
    folds=lambda count: (count,),
)
def WITHIN_ITS_RANGE(world: World) -> tuple[Count]:
    return (any_count("P"),)


@CLAIMS.induction(
    "a-count-grows-with-its-predicate",
    "If one predicate implies another, its count is no larger, and smaller if some index tells them apart.",
    states=_grows,
    folds=lambda fewer, more, extra: (fewer, more),
)
def GROWS(world: World) -> tuple[Count, Count, Index]:
    return any_count("P"), any_count("Q"), z3.Int("extra")


@CLAIMS.induction(
    "a-count-over-an-interval-is-its-length",
    "If exactly the indices of an interval are counted, there are as many as the interval is long.",
    states=_spans,
    folds=lambda count, low, high: (count,),
)
def SPANS(world: World) -> tuple[Count, Index, Index]:
    return any_count("P"), z3.Int("low"), z3.Int("high")


@CLAIMS.induction(
    "counts-of-disjoint-parts-add-up",
    "If two predicates part a third, their counts add up to its count.",
    states=_splits,
    folds=lambda whole, one, other: (whole, one, other),
)
def SPLITS(world: World) -> tuple[Count, Count, Count]:
    return any_count("P"), any_count("Q"), any_count("R")


# A count along a permutation. `order` and `position` are inverse on [0, n).

Mapped = Callable[[Index], z3.ArithRef]


def inverse(order: Mapped, position: Mapped, n: Index) -> z3.BoolRef:
    """`order` and `position` are a permutation of [0, n) and its inverse."""
    forth = every("p", 0, n, lambda p: z3.And(within(0, order(p), n), position(order(p)) == p))
    back = every("i", 0, n, lambda i: z3.And(within(0, position(i), n), order(position(i)) == i))
    return z3.And(forth, back)


def placed_before(count: Count, position: Mapped, limit: Index) -> Count:
    """Counts the indices that `count` does and whose position is below `limit`."""
    return Count(
        name=f"{count.name}, placed before",
        holds=lambda i, end, *of: z3.And(position(i) < end, count.holds(i, *of)),
        of=(_term(limit), *count.of),
    )


def along(count: Count, order: Mapped) -> Count:
    """Counts the positions at which `order` places an index that `count` counts."""
    return Count(
        name=f"{count.name}, along the order", holds=lambda p, *of: count.holds(order(p), *of), of=count.of
    )


def _any_permutation() -> tuple[Count, Mapped, Mapped, z3.ArithRef]:
    order = z3.Function("order", z3.IntSort(), z3.IntSort())
    position = z3.Function("position", z3.IntSort(), z3.IntSort())
    return any_count("P"), lambda p: order(p), lambda i: position(i), z3.Int("n")


def _one_more_position(
    count: Count, order: Mapped, position: Mapped, n: z3.ArithRef, p: z3.ArithRef, m: Index
) -> z3.BoolRef:
    """Among the first m indices, those placed before p + 1 are those before p and the one at p, if it counts."""
    at_p = order(p)
    given = z3.And(0 <= m, m <= n, 0 <= p, p < n, inverse(order, position, n))
    one = z3.If(z3.And(at_p < m, count.counts(at_p)), 1, 0)
    before, after = placed_before(count, position, p), placed_before(count, position, p + 1)
    return z3.Implies(given, after.upto(m) == before.upto(m) + one)


@CLAIMS.induction(
    "one-more-position-adds-its-member",
    "Counting the indices placed before p + 1 instead of p adds the one at p, if it is counted.",
    states=_one_more_position,
    folds=lambda count, order, position, n, p: (
        placed_before(count, position, p),
        placed_before(count, position, p + 1),
    ),
)
def ONE_MORE_POSITION(world: World) -> tuple[Any, ...]:
    return *_any_permutation(), z3.Int("p")


def _counted_alike(count: Count, order: Mapped, position: Mapped, n: z3.ArithRef, m: Index) -> z3.BoolRef:
    """Of the first m positions as many hold counted indices as there are counted indices placed before m."""
    given = z3.And(0 <= m, m <= n, inverse(order, position, n))
    return z3.Implies(given, along(count, order).upto(m) == placed_before(count, position, m).upto(n))


@CLAIMS.induction(
    "positions-and-members-are-counted-alike",
    "Of the first m positions as many hold counted indices as there are counted indices placed before m.",
    states=_counted_alike,
    folds=lambda count, order, position, n: (along(count, order),),
)
def COUNTED_ALIKE(world: World) -> tuple[Any, ...]:
    count, order, position, n = _any_permutation()
    world.use(SPANS, placed_before(count, position, 0), 0, 0, n)
    world.use(ONE_MORE_POSITION, count, order, position, n, z3.Int("m"), n)
    return count, order, position, n


def _permuted(count: Count, order: Mapped, position: Mapped, n: z3.ArithRef) -> z3.BoolRef:
    """A permutation keeps the count: as many positions hold counted indices as there are."""
    return z3.Implies(z3.And(n >= 0, inverse(order, position, n)), along(count, order).upto(n) == count.upto(n))


@CLAIMS.lemma(
    "a-permutation-keeps-every-count",
    "Along any permutation of the first n indices as many are counted as without it.",
    states=_permuted,
)
def PERMUTED(world: World) -> tuple[Any, ...]:
    count, order, position, n = _any_permutation()
    placed = placed_before(count, position, n)
    world.use(COUNTED_ALIKE, count, order, position, n, n)
    world.use(GROWS, placed, count, NO_EXTRA, n)
    world.use(GROWS, count, placed, NO_EXTRA, n)
    return count, order, position, n
