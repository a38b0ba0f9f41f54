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
from spec.order import at_least as spec_at_least
from spec.scope import Count, Fold, Index, every, some, within
from spec.sorts import WORDS, Seq

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
    return Count(name=f"{count.name}, along the order", holds=lambda p, *of: count.holds(order(p), *of), of=count.of)


def _any_permutation() -> tuple[Count, Mapped, Mapped, z3.ArithRef]:
    order = z3.Function("order", z3.IntSort(), z3.IntSort())
    position = z3.Function("position", z3.IntSort(), z3.IntSort())
    return any_count("P"), lambda p: order(p), lambda i: position(i), z3.Int("n")


def _one_more_position(count: Count, order: Mapped, position: Mapped, n: z3.ArithRef, p: z3.ArithRef, m: Index) -> z3.BoolRef:
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


# An injection of [0, n) into itself is onto.


def injective(position: Mapped, n: Index) -> z3.BoolRef:
    """`position` takes [0, n) into itself and no value twice."""

    def apart(i: z3.ArithRef) -> z3.BoolRef:
        return every("j", 0, n, lambda j: z3.Implies(position(i) == position(j), i == j))

    return every("i", 0, n, lambda i: z3.And(within(0, position(i), n), apart(i)))


def _everything() -> Count:
    return Count(name="all", holds=lambda j: z3.BoolVal(True))


def _placed_at(position: Mapped, p: z3.ArithRef) -> Count:
    """Counts the indices whose position is p."""
    return Count(name="placed at", holds=lambda i, at: position(i) == at, of=(p,))


def _is(index: z3.ArithRef) -> Count:
    """Counts one index."""
    return Count(name="is", holds=lambda j, only: j == only, of=(index,))


def _counted_once(count: Count, n: z3.ArithRef, only: z3.ArithRef) -> z3.BoolRef:
    """If none but one index counts, the count is at most 1."""
    alone = every("j", 0, n, lambda j: z3.Implies(count.counts(j), j == only))
    return z3.Implies(z3.And(within(0, only, n), count.counts(only), alone), count.upto(n) <= 1)


@CLAIMS.lemma("what-counts-once-counts-one", "If no index but one is counted, the count is at most 1.", states=_counted_once)
def COUNTED_ONCE(world: World) -> tuple[Any, ...]:
    count, n, only = any_count("P"), z3.Int("n"), z3.Int("only")
    world.use(GROWS, count, _is(only), NO_EXTRA, n)
    world.use(SPANS, _is(only), only, only + 1, n)
    return count, n, only


def _missing(position: Mapped, n: z3.ArithRef, q: z3.ArithRef, m: Index) -> z3.BoolRef:
    """If an injection of [0, n) into itself misses q, fewer than m of its values are below m > q, and at most m anyway."""
    missed = every("i", 0, n, lambda i: position(i) != q)
    given = z3.And(0 <= m, m <= n, within(0, q, n), injective(position, n), missed)
    return z3.Implies(given, placed_before(_everything(), position, m).upto(n) + z3.If(q < m, 1, 0) <= m)


@CLAIMS.induction(
    "an-injection-that-misses-a-place-has-too-few-values",
    "If an injection of [0, n) into itself misses q, at most m values are below m, and fewer if q is below m.",
    states=_missing,
    folds=lambda position, n, q: (),
)
def MISSING(world: World) -> tuple[Any, ...]:
    _, _, position, n = _any_permutation()
    m, q = z3.Int("m"), z3.Int("q")
    world.use(SPANS, placed_before(_everything(), position, 0), 0, 0, n)
    at_m = _placed_at(position, m)
    world.use(SPLITS, placed_before(_everything(), position, m + 1), placed_before(_everything(), position, m), at_m, n)
    world.use(SPANS, at_m, 0, 0, n)
    world.use_everywhere(COUNTED_ONCE, "only", 0, n, at_m, n)
    return position, n, q


def _onto(position: Mapped, n: z3.ArithRef, q: z3.ArithRef) -> z3.BoolRef:
    """An injection of [0, n) into itself takes some index to q."""
    given = z3.And(within(0, q, n), injective(position, n))
    return z3.Implies(given, some("i", 0, n, lambda i: position(i) == q))


@CLAIMS.lemma(
    "an-injection-into-its-own-range-is-onto",
    "If n indices have n places, no two the same, every place is taken.",
    states=_onto,
)
def ONTO(world: World) -> tuple[Any, ...]:
    _, _, position, n = _any_permutation()
    q = z3.Int("q")
    world.use(MISSING, position, n, q, n)
    world.use(SPANS, placed_before(_everything(), position, n), 0, n, n)
    return position, n, q


# Sums, layer by layer: a sum is told by how many values reach each height.


def total(values: Seq) -> Fold:
    """The sum of the values."""
    return Fold(name=f"total[{values.name}]", step=lambda number, j: number + values.at(j))


def capped(values: Seq, cap: Index) -> Fold:
    """The sum of the values, each counted up to a cap."""

    def step(number: z3.ArithRef, j: z3.ArithRef, limit: z3.ArithRef) -> z3.ArithRef:
        return number + z3.If(values.at(j) < limit, values.at(j), limit)

    return Fold(name=f"capped[{values.name}]", step=step, of=(_term(cap),))


def at_least(values: Seq, v: Index) -> Count:
    """Counts the values that are v or more."""
    return spec_at_least(values, _term(v))


def _not_negative(values: Seq, m: Index) -> z3.BoolRef:
    return z3.And(0 <= m, every("i", 0, m, lambda i: values.at(i) >= 0))


def _empty_layer(values: Seq, m: Index) -> z3.BoolRef:
    """Capped at 0 the values add up to 0."""
    return z3.Implies(_not_negative(values, m), capped(values, 0).upto(m) == 0)


def _next_layer(values: Seq, cap: z3.ArithRef, m: Index) -> z3.BoolRef:
    """Raising the cap by one adds one for each value that reaches it."""
    reached = at_least(values, cap + 1)
    given = z3.And(0 <= m, cap >= 0)
    return z3.Implies(given, capped(values, cap + 1).upto(m) == capped(values, cap).upto(m) + reached.upto(m))


def _last_layer(values: Seq, cap: Index, m: Index) -> z3.BoolRef:
    """Above all values the cap changes nothing."""
    given = z3.And(0 <= m, every("i", 0, m, lambda i: values.at(i) <= cap))
    return z3.Implies(given, capped(values, cap).upto(m) == total(values).upto(m))


def _any_values(name: str = "values") -> Seq:
    return WORDS.fresh(name)


@CLAIMS.induction(
    "values-capped-at-nothing-add-up-to-nothing",
    "Capped at 0, values that are not negative add up to 0.",
    states=_empty_layer,
    folds=lambda values: (capped(values, 0),),
)
def EMPTY_LAYER(world: World) -> tuple[Seq]:
    return (_any_values(),)


@CLAIMS.induction(
    "each-layer-adds-the-values-that-reach-it",
    "Raising the cap by one adds one for each value that reaches it.",
    states=_next_layer,
    folds=lambda values, cap: (capped(values, cap), capped(values, cap + 1), at_least(values, cap + 1)),
)
def NEXT_LAYER(world: World) -> tuple[Seq, z3.ArithRef]:
    return _any_values(), z3.Int("cap")


@CLAIMS.induction(
    "above-all-values-a-cap-changes-nothing",
    "Capped above all of them, values add up to their sum.",
    states=_last_layer,
    folds=lambda values, cap: (capped(values, cap), total(values)),
)
def LAST_LAYER(world: World) -> tuple[Seq, z3.ArithRef]:
    return _any_values(), z3.Int("cap")


def _layers_alike(left: Seq, right: Seq, n: z3.ArithRef, m: Index) -> z3.BoolRef:
    """If as many values of both reach each height, both add up to the same, capped at any height."""

    def alike(v: z3.ArithRef) -> z3.BoolRef:
        return at_least(left, v).upto(n) == at_least(right, v).upto(n)

    given = z3.And(0 <= m, _not_negative(left, n), _not_negative(right, n), every("v", 1, m + 1, alike))
    return z3.Implies(given, capped(left, m).upto(n) == capped(right, m).upto(n))


@CLAIMS.induction(
    "values-that-reach-alike-add-up-alike",
    "If as many values of one sequence as of another reach each height up to a cap, both add up to the same under the cap.",
    states=_layers_alike,
    folds=lambda left, right, n: (),
)
def LAYERS_ALIKE(world: World) -> tuple[Any, ...]:
    left, right, n, m = _any_values("left"), _any_values("right"), z3.Int("n"), z3.Int("m")
    for values in (left, right):
        world.use(EMPTY_LAYER, values, n)
        world.use(NEXT_LAYER, values, m, n)
    return left, right, n


def _totals_alike(left: Seq, right: Seq, n: z3.ArithRef, limit: Index) -> z3.BoolRef:
    """If as many values of both reach each height, both add up to the same."""

    def alike(v: z3.ArithRef) -> z3.BoolRef:
        return at_least(left, v).upto(n) == at_least(right, v).upto(n)

    def limited(values: Seq) -> z3.BoolRef:
        return every("i", 0, n, lambda i: within(0, values.at(i), limit))

    given = z3.And(0 <= n, limit > 0, limited(left), limited(right), every("v", 0, limit, alike))
    return z3.Implies(given, total(left).upto(n) == total(right).upto(n))


@CLAIMS.lemma(
    "values-of-one-multiset-have-one-sum",
    "If as many values of one sequence as of another reach each height, both have the same sum.",
    states=_totals_alike,
)
def TOTALS_ALIKE(world: World) -> tuple[Any, ...]:
    left, right, n, limit = _any_values("left"), _any_values("right"), z3.Int("n"), z3.Int("limit")
    world.use(LAYERS_ALIKE, left, right, n, limit - 1)
    for values in (left, right):
        world.use(LAST_LAYER, values, limit - 1, n)
    return left, right, n, limit
