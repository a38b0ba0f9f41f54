"""Decimal numbers in texts of any length: what their digits denote, told by the spec's fold, and what is known of that number.

Two facts are taken where a text is read: leading zeros denote nothing (proved in `proofs.claims.gate`), and more than twenty
significant digits denote more than any word. The second is proved here, by induction on the number of digits, before it is used.
"""

from __future__ import annotations

from functools import cache

import z3

from proofs import smt
from proofs.claims.gate import DENOTES, ZEROS_ARE_NOTHING
from proofs.source.terms import Term, term
from spec import gate
from spec.machine import SIZE
from spec.scope import bound, every, telling
from spec.sorts import TEXT, Seq

LONGEST = len(str(SIZE - 1))
"""Digits of the greatest word."""

_BUDGET = 1_000_000


def number(text: Seq, start: Term, end: Term) -> z3.ArithRef:
    """What the digits in [start, end) denote."""
    return gate.denoted(text, term(start)).upto(term(end))


def known_of(text: Seq, start: Term, end: Term) -> list[z3.BoolRef]:
    """Digits denote no negative number; many of them, if the first is not zero, more than any word."""
    if bound() is not None:
        return []  # the fold is written out
    if not _many_digits_exceed_every_word():
        return [DENOTES.states(text, term(start), term(end))]
    return [DENOTES.states(text, term(start), term(end)), _long(text, term(start), term(end))]


def known_of_zeros(text: Seq, start: Term, significant: Term, end: Term) -> list[z3.BoolRef]:
    """The number does not depend on the zeros in [start, significant)."""
    return [] if bound() is not None else [ZEROS_ARE_NOTHING.states(text, term(start), term(significant), term(end))]


def _significant(text: Seq, start: z3.ArithRef, end: z3.ArithRef) -> z3.BoolRef:
    digits = every("i", start, end, lambda i: gate.digit(text.at(i)))
    return z3.And(0 <= start, start < end, text.at(start) != ord("0"), digits)


def _long(text: Seq, start: z3.ArithRef, end: z3.ArithRef) -> z3.BoolRef:
    """More digits than the greatest word has, the first not zero, denote more than it."""
    whole = gate.denoted(text, start).upto(end)
    return z3.Implies(z3.And(_significant(text, start, end), end - start > LONGEST), whole >= SIZE)


def _not_zero(text: Seq, start: z3.ArithRef, m: z3.ArithRef) -> z3.BoolRef:
    """m + 1 digits, the first not zero, do not denote zero."""
    whole = gate.denoted(text, start).upto(start + 1 + m)
    return z3.Implies(z3.And(m >= 0, _significant(text, start, start + 1 + m)), whole >= 1)


@cache
def _many_digits_exceed_every_word() -> bool:
    """The proof of `_long` for any text: base and step of `_not_zero`, then as many further digits as the greatest word has."""
    context = z3.z3._main_ctx
    smt.fresh_context()
    try:
        with telling():
            text, start, m, end = TEXT.fresh("text"), z3.Int("start"), z3.Int("m"), z3.Int("end")
            fold = gate.denoted(text, start)
            first = {"below the start": DENOTES.states(text, start, start), "the first digit": fold.unfolds(start)}
            base = _follows(first, z3.Implies(start >= 0, _not_zero(text, start, z3.IntVal(0))))
            further = {
                "so far": _not_zero(text, start, m),
                "one more": fold.unfolds(start + 1 + m),
                "m counts digits": z3.And(m >= 0, start >= 0),
            }
            step = _follows(further, _not_zero(text, start, m + 1))
            last = {f"digit {k} from the end": fold.unfolds(end - k) for k in range(1, LONGEST + 1)}
            last |= {"before them": _not_zero(text, start, end - LONGEST - 1 - start)}
            return base and step and _follows(last, _long(text, start, end))
    finally:
        z3.z3._main_ctx = context


def _follows(given: dict[str, z3.BoolRef], claim: z3.BoolRef) -> bool:
    text = smt.script({**given, smt.NEGATED_GOAL: z3.Not(claim)})
    return smt.ask_z3(text, budget=_BUDGET).answer is smt.Answer.UNSAT
