"""Sorting, told by ranks: position p of the result holds the element that has exactly p elements before it.

"Before" is the order of the comparison, and for elements that compare equal the order in which they stood. A sequence of known
length is ranked at once, without a branch for each order. One of unknown length gets a fresh placing function, and the path
notes by which order it places; what that means is proved in `proofs.claims.sorting`. A comparison that is no strict order of the
elements has no such result and is not understood; nor is an unstable sort of elements that tie and differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import z3

from proofs.source.paths import Sorting
from proofs.source.terms import Cond, Term, add, both, cond, either, eq, implies, le, lt, negated, pick, settled, term
from proofs.source.values import Seq, Truth, Tup, Unmergeable, Value, listed, merged

if TYPE_CHECKING:
    from proofs.source.executor import Executor

Comparison = Callable[[Value, Value], tuple[Cond, Cond]]
"""Of two elements: the first is less; they compare equal."""


def ordered(run: Executor, seq: Seq, compare: Comparison, *, stable: bool, backwards: bool = False) -> Seq:
    """The sequence sorted; `backwards` from the greatest down, equal elements still in the order in which they stood."""

    def before(a: Value, b: Value, a_stood_first: Cond) -> Cond:
        less, equal = compare(b, a) if backwards else compare(a, b)
        return either(less, both(equal, a_stood_first))

    if not stable:
        _ties_are_invisible(run, seq, compare)
    if seq.items is not None:
        return _ranked(run, seq.items, before)
    return _placed(run, seq, before)


def _ranked(run: Executor, items: tuple[Value, ...], before: Callable[[Value, Value, Cond], Cond]) -> Seq:
    n = len(items)
    ahead = [[before(items[j], items[i], j < i) if i != j else False for i in range(n)] for j in range(n)]
    ranks: list[Term] = []
    for i in range(n):
        rank: Term = 0
        for j in range(n):
            rank = add(rank, pick(ahead[j][i], 1, 0))
        ranks.append(rank)
    if n > 1:
        apart = [negated(both(ahead[i][j], ahead[j][i])) for i in range(n) for j in range(i)]
        distinct = [negated(eq(ranks[i], ranks[j])) for i in range(n) for j in range(i)]
        if not run.decide(both(*apart, *distinct)):
            raise run.fail("a comparison that is no order")
    if all(isinstance(rank, int) for rank in ranks):
        placed = sorted(range(n), key=lambda i: int(str(ranks[i])))
        return listed(tuple(items[i] for i in placed))
    sorted_items = []
    for position in range(n):
        value = items[-1]
        for i in range(n - 2, -1, -1):
            try:
                value = merged(eq(ranks[i], position), items[i], value)
            except Unmergeable as unmergeable:
                raise run.fail("sorted elements of different form") from unmergeable
        sorted_items.append(value)
    return listed(tuple(sorted_items))


def _placed(run: Executor, seq: Seq, before: Callable[[Value, Value, Cond], Cond]) -> Seq:
    name = run.fresh("place")
    place = z3.Function(name, z3.IntSort(), z3.IntSort())
    j, i = z3.Int(f"{name}.j"), z3.Int(f"{name}.i")

    def generic() -> Value:
        run.assume(both(le(0, j), lt(j, seq.length), le(0, i), lt(i, seq.length)))
        return run.pure(lambda: Truth(before(run.element(seq, j), run.element(seq, i), lt(j, i))))

    ahead = _generic(run, generic)
    if isinstance(ahead, z3.ExprRef) and run.strangers([z3.substitute(ahead, (i, j))], j):
        raise run.fail("a comparison that rests on a number of its own")
    run.note(
        Sorting(
            place=place,
            length=seq.length,
            before=lambda a, b: settled(z3.substitute(cond(ahead), (j, term(a)), (i, term(b)))),
            values=seq,
        )
    )
    at, facts = seq.at, seq.facts
    if at is None:
        raise run.fail("a sort of a sequence that is being built")

    def of(p: Term) -> Cond:
        stood = place(term(p))
        inside = both(le(0, stood), lt(stood, seq.length))
        return inside if facts is None else both(inside, facts(stood))

    return Seq(length=seq.length, at=lambda p: at(place(term(p))), facts=of)


def _ties_are_invisible(run: Executor, seq: Seq, compare: Comparison) -> None:
    if seq.items is not None:
        for i, a in enumerate(seq.items):
            for b in seq.items[:i]:
                if not run.decide(implies(compare(a, b)[1], _identical(run, a, b))):
                    raise run.fail("an unstable sort with ties")
        return
    i, j = z3.Int(run.fresh("i")), z3.Int(run.fresh("j"))

    def generic() -> Value:
        run.assume(both(le(0, j), lt(j, i), lt(i, seq.length)))
        a, b = run.element(seq, i), run.element(seq, j)
        return Truth(run.certain(implies(compare(a, b)[1], _identical(run, a, b))))

    if _generic(run, generic) is not True:
        raise run.fail("an unstable sort with ties")


def _identical(run: Executor, a: Value, b: Value) -> Cond:
    if isinstance(a, Tup) and isinstance(b, Tup) and len(a.items) == len(b.items):
        return both(*[_identical(run, x, y) for x, y in zip(a.items, b.items, strict=True)])
    return run.equal(a, b)


def _generic(run: Executor, generic: Callable[[], Value]) -> Cond:
    """The truth value that holds for any elements."""
    value, _ = run.any_element(generic)
    return run.truth(value)
