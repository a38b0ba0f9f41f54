"""Integer formulas of a small scope as bits, so that long runs are searched with a SAT solver.

In a scope every identity and number is small and only sums, differences and doubles occur, so a few bits hold them exactly. The
few large constants of the formulas (2^64, 2^32 - 1, ...) keep their order and their difference from everything in the scope; no
number in the scope reaches the first of them. A function becomes one variable for each argument in its range.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import z3

BITS = 6
LARGE = 22
"""Constants from here on stand for themselves in order only; numbers in a scope stay below half of it."""


@dataclass
class Bits:
    """A translation with its variables. `ranges` says for a function's name which arguments matter; elsewhere it is 0 or false."""

    ranges: Callable[[str], Sequence[Sequence[int]]]
    variables: dict[str, z3.ExprRef] = field(default_factory=dict)
    _large: dict[int, int] = field(default_factory=dict)
    _done: dict[int, tuple[z3.ExprRef, z3.ExprRef]] = field(default_factory=dict)

    def learn(self, formulas: Iterable[z3.ExprRef]) -> None:
        """Collects the large constants; must see every formula before the first is translated."""
        found: set[int] = set(self._large)
        seen: set[int] = set()
        pending = list(formulas)
        while pending:
            term = pending.pop()
            if term.get_id() in seen:
                continue
            seen.add(term.get_id())
            if z3.is_int_value(term) and abs(term.as_long()) >= LARGE:
                found.add(term.as_long())
            pending.extend(term.children())
        if found and (min(found) < 0 or LARGE + len(found) >= 2 ** (BITS - 1)):
            raise ValueError(f"Bits: constants={sorted(found)} are too many or negative for {BITS} bits; raise BITS")
        self._large = {value: LARGE + rank for rank, value in enumerate(sorted(found))}

    def number(self, value: int) -> z3.BitVecRef:
        """The bits of a number."""
        return z3.BitVecVal(self._large.get(value, value), BITS)

    def meant(self, value: int) -> int:
        """The number that these bits stand for."""
        return next((large for large, rank in self._large.items() if rank == value), value)

    def variable(self, name: str, truth: bool) -> z3.ExprRef:
        """The variable of this name."""
        if name not in self.variables:
            self.variables[name] = z3.Bool(name) if truth else z3.BitVec(name, BITS)
        return self.variables[name]

    def __call__(self, term: z3.ExprRef) -> z3.ExprRef:
        """The term in bits."""
        known = self._done.get(term.get_id())
        if known is None:
            # The term is kept with its translation: its id could else be given to another.
            known = self._done[term.get_id()] = (term, self._translated(term))
        return known[1]

    def _translated(self, term: z3.ExprRef) -> z3.ExprRef:
        if z3.is_int_value(term):
            return self.number(term.as_long())
        kind, parts = term.decl().kind(), [self(child) for child in term.children()]
        if kind == z3.Z3_OP_UNINTERPRETED:
            name, truth = term.decl().name(), z3.is_bool(term)
            return self._applied(name, truth, parts) if parts else self.variable(name, truth)
        if kind not in _OPERATORS:
            raise TypeError(f"Bits: {term.decl()} has no form in bits; add it to the operators")
        return _OPERATORS[kind](*parts)

    def _applied(self, name: str, truth: bool, arguments: list[z3.ExprRef]) -> z3.ExprRef:
        value: z3.ExprRef = z3.BoolVal(False) if truth else self.number(0)
        for places in itertools.product(*self.ranges(name)):
            here = [argument == self.number(place) for argument, place in zip(arguments, places, strict=True)]
            condition = z3.simplify(z3.And(here))
            if z3.is_false(condition):
                continue
            cell = self.variable(name + "".join(f"[{place}]" for place in places), truth)
            if z3.is_true(condition):
                return cell
            value = z3.If(condition, cell, value)
        return value


def _sum(*parts: z3.BitVecRef) -> z3.BitVecRef:
    return sum(parts[1:], parts[0])


_OPERATORS: Mapping[int, Callable[..., z3.ExprRef]] = {
    z3.Z3_OP_TRUE: lambda: z3.BoolVal(True),
    z3.Z3_OP_FALSE: lambda: z3.BoolVal(False),
    z3.Z3_OP_AND: z3.And,
    z3.Z3_OP_OR: z3.Or,
    z3.Z3_OP_NOT: z3.Not,
    z3.Z3_OP_IMPLIES: z3.Implies,
    z3.Z3_OP_ITE: z3.If,
    z3.Z3_OP_EQ: lambda left, right: left == right,
    z3.Z3_OP_DISTINCT: z3.Distinct,
    z3.Z3_OP_LE: lambda left, right: left <= right,
    z3.Z3_OP_LT: lambda left, right: left < right,
    z3.Z3_OP_GE: lambda left, right: left >= right,
    z3.Z3_OP_GT: lambda left, right: left > right,
    z3.Z3_OP_ADD: _sum,
    z3.Z3_OP_SUB: lambda left, right: left - right,
    z3.Z3_OP_UMINUS: lambda part: -part,
    z3.Z3_OP_MUL: lambda left, right: left * right,
}
