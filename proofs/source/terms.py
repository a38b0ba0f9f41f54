"""Integers and truth values that are Python's own where they are known and z3 terms where they are not.

Every operation folds constants, so that one executor is at once symbolic and a plain evaluator: given constants it meets
constants alone and never builds a term. Integers here are ideal; machine types and their overflow are the executor's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

import z3

Term: TypeAlias = "int | z3.ArithRef"
Cond: TypeAlias = "bool | z3.BoolRef"


def term(value: Term) -> z3.ArithRef:
    """The value as a z3 term."""
    return z3.IntVal(value) if isinstance(value, int) else value


def cond(value: Cond) -> z3.BoolRef:
    """The truth value as a z3 term."""
    return z3.BoolVal(value) if isinstance(value, bool) else value


def folded(value: z3.ArithRef) -> Term:
    """The term simplified, as an int if it is one."""
    plain = z3.simplify(value)
    return int(plain.as_long()) if z3.is_int_value(plain) else cast(z3.ArithRef, plain)


def settled(value: Cond) -> Cond:
    """The truth value simplified, as a bool if it is known."""
    if isinstance(value, bool):
        return value
    plain = z3.simplify(value)
    if z3.is_true(plain):
        return True
    return False if z3.is_false(plain) else cast(z3.BoolRef, plain)


def add(left: Term, right: Term) -> Term:
    """left + right."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return folded(term(left) + term(right))


def sub(left: Term, right: Term) -> Term:
    """left - right."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    return folded(term(left) - term(right))


def mul(left: Term, right: Term) -> Term:
    """left * right."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return folded(term(left) * term(right))


def floor_div(left: Term, right: int) -> Term:
    """The floor of left / right, for right > 0."""
    return left // right if isinstance(left, int) else folded(left / z3.IntVal(right))


def modulo(left: Term, right: int) -> Term:
    """left modulo right, for right > 0. Inner moduli of the same size are dropped: the residue of a sum needs none."""
    return left % right if isinstance(left, int) else folded(_without_modulus(left, right) % z3.IntVal(right))


def _without_modulus(value: z3.ArithRef, size: int) -> z3.ArithRef:
    kind = value.decl().kind() if z3.is_app(value) else None
    if kind == z3.Z3_OP_MOD and z3.is_int_value(value.arg(1)) and value.arg(1).as_long() == size:
        return _without_modulus(value.arg(0), size)
    if kind in (z3.Z3_OP_ADD, z3.Z3_OP_MUL):
        parts = [_without_modulus(part, size) for part in value.children()]
        return z3.Sum(parts) if kind == z3.Z3_OP_ADD else z3.Product(parts)
    return value


def eq(left: Term, right: Term) -> Cond:
    """left == right."""
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return settled(term(left) == term(right))


def lt(left: Term, right: Term) -> Cond:
    """left < right."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    return settled(term(left) < term(right))


def le(left: Term, right: Term) -> Cond:
    """left <= right."""
    if isinstance(left, int) and isinstance(right, int):
        return left <= right
    return settled(term(left) <= term(right))


def both(*parts: Cond) -> Cond:
    """All of the parts."""
    open_parts = [part for part in parts if part is not True]
    if any(part is False for part in open_parts):
        return False
    if not open_parts:
        return True
    return open_parts[0] if len(open_parts) == 1 else z3.And([cond(part) for part in open_parts])


def either(*parts: Cond) -> Cond:
    """At least one of the parts."""
    return negated(both(*[negated(part) for part in parts]))


def negated(part: Cond) -> Cond:
    """Not the part."""
    if isinstance(part, bool):
        return not part
    return cast(z3.BoolRef, part.arg(0)) if z3.is_not(part) else z3.Not(part)


def implies(premise: Cond, part: Cond) -> Cond:
    """If the premise, then the part."""
    return either(negated(premise), part)


def same_truth(left: Cond, right: Cond) -> Cond:
    """Both or neither."""
    if isinstance(left, bool):
        return right if left else negated(right)
    if isinstance(right, bool):
        return left if right else negated(left)
    return settled(left == right)


def pick(which: Cond, left: Term, right: Term) -> Term:
    """left if which else right."""
    if isinstance(which, bool):
        return left if which else right
    if isinstance(left, int) and isinstance(right, int) and left == right:
        return left
    return z3.If(which, term(left), term(right))


def pick_truth(which: Cond, left: Cond, right: Cond) -> Cond:
    """left if which else right, of truth values."""
    if isinstance(which, bool):
        return left if which else right
    return settled(z3.If(which, cond(left), cond(right)))


def spread(value: Term, depth: int = 12) -> tuple[int, int] | None:
    """The least and greatest value that sums and choices of known numbers can have; None where something else is in it."""
    if isinstance(value, int):
        return value, value
    if z3.is_int_value(value):
        return int(value.as_long()), int(value.as_long())
    kind = value.decl().kind() if z3.is_app(value) else None
    if depth == 0 or kind not in (z3.Z3_OP_ADD, z3.Z3_OP_ITE):
        return None
    parts = value.children() if kind == z3.Z3_OP_ADD else value.children()[1:]
    ranges = [spread(part, depth - 1) for part in parts]
    known = [found for found in ranges if found is not None]
    if len(known) < len(ranges):
        return None
    lows, highs = [low for low, _ in known], [high for _, high in known]
    return (sum(lows), sum(highs)) if kind == z3.Z3_OP_ADD else (min(lows), max(highs))


def every_index(name: str, low: Term, high: Term, body: Callable[[z3.ArithRef], Cond]) -> z3.BoolRef:
    """body holds for every index in [low, high)."""
    index = z3.Int(name)
    return z3.ForAll([index], z3.Implies(z3.And(term(low) <= index, index < term(high)), cond(body(index))))


def conjunction(parts: Iterable[Cond]) -> z3.BoolRef:
    """All of the parts as one z3 term."""
    return z3.And([cond(part) for part in parts])
