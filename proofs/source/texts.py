"""Text as Rust's `str` documents it: trimming by the Unicode property White_Space, and decimal numbers.

On a text of known length the characters are looked at one by one. On one of any length the parts are told in the spec's own
words (where the white space at its ends stops, what its digits denote), for windows that start or end with the whole text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import z3

from proofs.source import ir
from proofs.source.terms import Cond, Term, add, both, either, eq, le, lt, mul, pick, sub, term
from proofs.source.values import NOTHING, UNIT, Chars, Int, IntType, Opt, Seq, Truth, Value, listed
from spec import gate
from spec.scope import every
from spec.sorts import Seq as SpecSeq

if TYPE_CHECKING:
    from proofs.source.executor import Executor


def white(code: Term) -> Cond:
    """The character is white space."""
    return either(*[both(le(first, code), le(code, last)) for first, last in gate.WHITE_SPACE])


def digit(code: Term) -> Cond:
    """The character is an ASCII digit."""
    return both(le(ord("0"), code), le(code, ord("9")))


def ten_times(number: Term) -> Term:
    """One more decimal place."""
    return mul(10, number)


def code_at(run: Executor, text: Chars, index: Term) -> Term:
    """The character at an index of the base."""
    return run.integer(run.element(text.base, index)).term


def trimmed(run: Executor, text: Chars, *, start: bool, end: bool) -> Chars:
    """Without white space at the chosen ends."""
    if text.base.items is not None:
        return _trimmed_one_by_one(run, text, start=start, end=end)
    low, high = text.start, text.end
    if start and not _is_zero(low):
        raise run.fail("the start of a part of a text of any length")
    if end and not run.certain(eq(high, text.base.length)):
        raise run.fail("the end of a part of a text of any length")
    if start:
        leading = gate.leading_white(text.origin)
        low = leading if run.certain(eq(high, text.base.length)) else pick(le(leading, high), leading, high)
    if end:
        trailing = gate.trailing_start(text.origin)
        high = pick(le(low, trailing), trailing, low)
    return replace(text, start=low, end=high)


def _is_zero(value: Term) -> bool:
    return isinstance(value, int) and value == 0


def _trimmed_one_by_one(run: Executor, text: Chars, *, start: bool, end: bool) -> Chars:
    if not isinstance(text.start, int) or not isinstance(text.end, int):
        raise run.fail("a window on a text")
    low, high = text.start, text.end
    while start and low < high and run.decide(white(code_at(run, text, low))):
        low += 1
    while end and low < high and run.decide(white(code_at(run, text, high - 1))):
        high -= 1
    return replace(text, start=low, end=high)


def parsed(run: Executor, text: Chars, type_: IntType) -> Opt:
    """`text.parse()` to an unsigned type: an optional plus, at least one digit, and a number that fits."""
    if type_.signed or type_.high is None:
        raise run.fail("parse of a signed number")
    if text.base.items is not None:
        return _parsed_one_by_one(run, text, type_)
    origin: SpecSeq = text.origin
    start, end = term(text.start), term(text.end)
    digits = z3.If(origin.at(start) == ord("+"), start + 1, start)
    number = gate.denoted(text.origin, digits).upto(end)
    numeric = z3.And(
        digits < end,
        every("i", digits, end, lambda i: gate.digit(origin.at(i))),
    )
    return Opt(z3.And(numeric, number < type_.high), Int(number, type_), UNIT)


def _parsed_one_by_one(run: Executor, text: Chars, type_: IntType) -> Opt:
    if not isinstance(text.start, int) or not isinstance(text.end, int) or type_.high is None:
        raise run.fail("a window on a text")
    low, high = text.start, text.end
    failed = Opt(False, None, UNIT)
    if low == high:
        return failed
    if run.decide(eq(code_at(run, text, low), ord("+"))):
        low += 1
        if low == high:
            return failed
    number: Term = 0
    for position in range(low, high):
        code = code_at(run, text, position)
        if not run.decide(digit(code)):
            return failed
        number = add(mul(10, number), sub(code, ord("0")))
    return Opt(lt(number, type_.high), Int(number, type_), UNIT)


def characters(run: Executor, text: Chars) -> Seq:
    """The characters as a sequence."""
    if isinstance(text.start, int) and isinstance(text.end, int) and text.base.items is not None:
        return listed(text.base.items[text.start : text.end])
    return run.part(text.base, text.start, text.end)


def is_empty(text: Chars) -> Cond:
    """No character is left."""
    return eq(text.start, text.end)


def rust_method(
    run: Executor, receiver: Chars, name: str, arguments: tuple[Value, ...], types: tuple[ir.Type, ...]
) -> Value | None:
    """The methods of `str` and `String`."""
    from proofs.source.streams import over

    match name, arguments:
        case (("trim" | "trim_start" | "trim_end"), ()):
            return trimmed(run, receiver, start=name != "trim_end", end=name != "trim_start")
        case "parse", ():
            type_ = run.dialect.type_named(types[0].name) if types else None
            if type_ is None or type_.bits == 21:
                raise run.fail("parse() to a type of its context")
            return parsed(run, receiver, type_)
        case "is_empty", ():
            return Truth(is_empty(receiver))
        case (("as_str" | "to_string" | "to_owned" | "as_ref" | "into_owned"), ()):
            return receiver
        case "chars", ():
            return over(characters(run, receiver))
        case (("starts_with" | "strip_prefix"), (Int() as code,)):
            here = _starts_with(run, receiver, code)
            if name == "starts_with":
                return Truth(here)
            if not run.decide(here):
                return NOTHING
            return Opt(True, replace(receiver, start=add(receiver.start, 1)))
    return None


def _starts_with(run: Executor, text: Chars, code: Int) -> Cond:
    if not run.decide(lt(text.start, text.end)):
        return False
    return eq(code_at(run, text, text.start), code.term)


def character_method(run: Executor, receiver: Int, name: str, arguments: tuple[Value, ...]) -> Value | None:
    """The methods of `char`."""
    match name, arguments:
        case "is_ascii_digit", ():
            return Truth(digit(receiver.term))
        case "is_whitespace", ():
            return Truth(white(receiver.term))
        case "is_ascii", ():
            return Truth(lt(receiver.term, 128))
        case "to_digit", (Int(term=10),):
            return Opt(digit(receiver.term), Int(sub(receiver.term, ord("0")), IntType(32)))
    return None
