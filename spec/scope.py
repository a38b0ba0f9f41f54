"""How far an index may run: quantification, counting and named numbers, in two tellings of one text.

Every statement about "all positions" in `spec` goes through `every`, `some` or `Count`. *Unbounded*, these are real quantifiers
and counts defined by recursion. *Bounded* (`with telling(bound=n)`), sequences have at most n elements, index ranges end at n
and everything is written out. Theorems are proved in the first; witnesses, mutants and second tellings use the second, where a
solver always ends, with a concrete model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias

import z3

Index: TypeAlias = z3.ArithRef | int
Predicate: TypeAlias = Callable[[z3.ArithRef], z3.BoolRef]


@dataclass(kw_only=True)
class Telling:
    """What the statements of one block rest on besides their own text."""

    bound: int | None
    definitions: dict[str, z3.BoolRef] = field(default_factory=dict)
    """By name, what the numbers introduced through `the` are."""
    steps: dict[str, z3.ArithRef] = field(default_factory=dict)
    """By name, the step of each fold that occurred, at probe arguments."""
    limits: list[z3.BoolRef] = field(default_factory=list)
    """In a bounded telling: the index ranges that occurred end within the bound."""
    depth: int = 0


_telling: ContextVar[Telling | None] = ContextVar("telling", default=None)


@contextmanager
def telling(*, bound: int | None = None) -> Iterator[Telling]:
    """A block whose statements are told unbounded, or with sequences of at most `bound` elements."""
    block = Telling(bound=bound)
    token = _telling.set(block)
    try:
        yield block
    finally:
        _telling.reset(token)


def bound() -> int | None:
    """The bound in force, or None where indices are unbounded."""
    block = _telling.get()
    return None if block is None else block.bound


def within(low: Index, index: Index, high: Index) -> z3.BoolRef:
    """low <= index < high."""
    return z3.And(low <= index, index < high)


def every(name: str, low: Index, high: Index, body: Predicate, *, limit: int | None = None) -> z3.BoolRef:
    """`body` holds for every index in [low, high); needs 0 <= low. `name` is what the index is called.

    In a bounded telling the range must end within the bound, or within `limit` if given.
    """
    return _quantified(name, low, high, body, limit, universal=True)


def some(name: str, low: Index, high: Index, body: Predicate, *, limit: int | None = None) -> z3.BoolRef:
    """`body` holds for some index in [low, high); otherwise as `every`."""
    return _quantified(name, low, high, body, limit, universal=False)


def _quantified(name: str, low: Index, high: Index, body: Predicate, limit: int | None, *, universal: bool) -> z3.BoolRef:
    block = _telling.get() or Telling(bound=None)
    if block.bound is not None:
        size = block.bound if limit is None else limit
        block.limits.append(z3.simplify(z3.BoolVal(True) if isinstance(high, int) and high <= size else high <= size))
        cases = [(within(low, z3.IntVal(i), high), body(z3.IntVal(i))) for i in range(size)]
        if universal:
            return z3.And([z3.Implies(inside, holds) for inside, holds in cases])
        return z3.Or([z3.And(inside, holds) for inside, holds in cases])
    # A nested quantifier must not capture its parent's variable, so the name carries the depth.
    index = z3.Int(f"?{name}.{block.depth}")
    block.depth += 1
    inside, holds = within(low, index, high), body(index)
    block.depth -= 1
    if universal:
        return z3.ForAll([index], z3.Implies(inside, holds))
    return z3.Exists([index], z3.And(inside, holds))


def the(name: str, is_it: Predicate) -> z3.ArithRef:
    """The one number with the property `is_it`, as a constant; its definition goes to the surrounding `telling`.

    Use it only for a number that always exists and is unique (the length of a common prefix, say): the definition is then a
    name and no assumption. RuntimeError outside a `telling`, where the definition would be lost, and where one name would get
    two definitions.
    """
    block = _telling.get()
    if block is None:
        raise RuntimeError(f"the: {name!r} is used outside a telling, so its definition would be lost")
    number = z3.Int(name)
    definition = is_it(number)
    if not block.definitions.setdefault(name, definition).eq(definition):
        raise RuntimeError(f"the: {name!r} would have two definitions; give each number a name of its own")
    return number


@dataclass(frozen=True, kw_only=True)
class Fold:
    """A number built along the indices: 0 before the first, and `step(number so far, j, *of)` after index j.

    Unbounded, `upto` is an uninterpreted function of m and `of` that `starts` and `unfolds` define by recursion on m; what
    follows is proved by induction. The step may depend on `of` and on constants; RuntimeError where two folds of one name
    have different steps, since both would be called the same function.
    """

    name: str
    step: Callable[..., z3.ArithRef]
    of: tuple[z3.ArithRef, ...] = ()

    def upto(self, m: Index) -> z3.ArithRef:
        """The number after indices 0..m-1; defined for m >= 0."""
        end = z3.IntVal(m) if isinstance(m, int) else m
        block = _telling.get() or Telling(bound=None)
        if block.bound is not None:
            block.limits.append(z3.simplify(end <= block.bound))
            return self._written_out(end, block.bound)
        probe = self.step(z3.Int("?number"), z3.Int("?j"), *[z3.Int(f"?of.{k}") for k in range(len(self.of))])
        if not block.steps.setdefault(self.name, probe).eq(probe):
            raise RuntimeError(f"Fold: {self.name!r} would have two definitions; give each fold a name of its own")
        return z3.Function(self.name, *[z3.IntSort()] * (2 + len(self.of)))(end, *self.of)

    def _written_out(self, end: z3.ArithRef, size: int) -> z3.ArithRef:
        number: z3.ArithRef = z3.IntVal(0)
        for j in range(size):
            number = z3.If(j < end, self.step(number, z3.IntVal(j), *self.of), number)
        return number

    def starts(self) -> z3.BoolRef:
        """The definition at 0."""
        return self.upto(0) == 0

    def unfolds(self, m: z3.ArithRef) -> z3.BoolRef:
        """The definition at m + 1, for m >= 0."""
        return z3.Implies(m >= 0, self.upto(m + 1) == self.step(self.upto(m), m, *self.of))


@dataclass(frozen=True, kw_only=True)
class Count(Fold):
    """How many of the first m indices satisfy a predicate: #{j < m : holds(j, *of)}."""

    holds: Callable[..., z3.BoolRef]
    step: Callable[..., z3.ArithRef] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", lambda number, j, *of: number + z3.If(self.holds(j, *of), 1, 0))

    def counts(self, j: z3.ArithRef) -> z3.BoolRef:
        """Index j is one of those counted."""
        return self.holds(j, *self.of)

    def _written_out(self, end: z3.ArithRef, size: int) -> z3.ArithRef:
        ones = [z3.If(z3.And(j < end, self.counts(z3.IntVal(j))), 1, 0) for j in range(size)]
        return z3.Sum(ones) if ones else z3.IntVal(0)
