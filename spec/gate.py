"""The gate: which batches get the canonical arm, and how its threshold is read from the environment (DESIGN 1b).

Models `canonical_assignment_at` and `min_width_from_env`. A value is told by where its parts lie (white space, an optional
plus, digits, white space) and by the number that the digits denote, not by a parser. The code is `impl.reference.gate`.
"""

from __future__ import annotations

import z3

from spec.machine import SIZE
from spec.scope import Fold, every, the, within
from spec.sorts import Record, Seq

DEFAULT_MIN_WIDTH = 8

WHITE_SPACE = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
"""The ranges of Unicode's White_Space property, which is what Rust trims."""


def canonical_assignment_at(
    n: z3.ArithRef, min_width: z3.ArithRef, kill_switch_clear: z3.BoolRef, result: z3.BoolRef
) -> z3.BoolRef:
    """`canonical_assignment_at`: wide enough, and not killed."""
    return result == z3.And(kill_switch_clear, min_width <= n)


def white(c: z3.ArithRef) -> z3.BoolRef:
    """`c` is white space."""
    return z3.Or([z3.And(first <= c, c <= last) for first, last in WHITE_SPACE])


def digit(c: z3.ArithRef) -> z3.BoolRef:
    """`c` is one of the ASCII digits."""
    return within(ord("0"), c, ord("9") + 1)


def is_leading_white(text: Seq, length: z3.ArithRef) -> z3.BoolRef:
    """`length` characters of white space come before the first that is none, or make up the text."""
    stops = z3.Or(length == text.length, z3.Not(white(text.at(length))))
    inside = z3.And(0 <= length, length <= text.length)
    return z3.And(inside, every("i", 0, length, lambda i: white(text.at(i))), stops)


def is_trailing_start(text: Seq, start: z3.ArithRef) -> z3.BoolRef:
    """From `start` to the end there is white space alone, and before it comes a character that is none, or nothing."""
    stops = z3.Or(start == 0, z3.Not(white(text.at(start - 1))))
    inside = z3.And(0 <= start, start <= text.length)
    return z3.And(inside, every("i", start, text.length, lambda i: white(text.at(i))), stops)


def leading_white(text: Seq) -> z3.ArithRef:
    """How many characters come before the first that is not white space."""
    return the(f"leading[{text.name}]", lambda length: is_leading_white(text, length))


def trailing_start(text: Seq) -> z3.ArithRef:
    """Where the white space at the end begins; 0 if there is nothing else."""
    return the(f"trailing[{text.name}]", lambda start: is_trailing_start(text, start))


def denoted(text: Seq, start: z3.ArithRef) -> Fold:
    """Reads the decimal digits from `start` on: `upto(end)` is the number that those before `end` denote."""

    def step(number: z3.ArithRef, j: z3.ArithRef, first: z3.ArithRef) -> z3.ArithRef:
        return z3.If(j < first, 0, 10 * number + text.at(j) - ord("0"))

    return Fold(name=f"denoted[{text.name}]", step=step, of=(start,))


def min_width_from_env(raw: Record, result: z3.ArithRef) -> z3.BoolRef:
    """`min_width_from_env`: the number that the trimmed text denotes if it is one and fits a word, else the default."""
    text: Seq = raw.text
    start, end = leading_white(text), trailing_start(text)
    digits = z3.If(text.at(start) == ord("+"), start + 1, start)
    number = denoted(text, digits).upto(end)
    numeric = z3.And(digits < end, every("i", digits, end, lambda i: digit(text.at(i))))
    parses = z3.And(raw.set, raw.utf8, numeric, number < SIZE)
    return result == z3.If(parses, number, DEFAULT_MIN_WIDTH)
