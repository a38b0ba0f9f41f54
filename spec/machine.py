"""Machine arithmetic: 64-bit words as integers, with panics (debug) or wrapping (release) said aloud.

An ideal (mathematical) result either fits a word or overflows; a debug build panics on overflow, a release build keeps the
result modulo 2^64. Rules state their ideal result and pass it through here, so no rule has an arithmetic of its own.
"""

from __future__ import annotations

import enum

import z3

from spec.sorts import Outcome

SIZE = 2**64
"""The number of 64-bit words."""

ABSENT_SLOT = SIZE - 1
"""The slot of a batch member that has none."""


class Profile(enum.Enum):
    """How the engine was built: what arithmetic does when its result does not fit."""

    DEBUG = "debug"
    RELEASE = "release"


def overflows(ideal: z3.ArithRef) -> z3.BoolRef:
    """The ideal result of an unsigned 64-bit operation does not fit."""
    return z3.Or(ideal < 0, ideal >= SIZE)


def kept(ideal: z3.ArithRef) -> z3.ArithRef:
    """What a word keeps of an ideal sum of two words: the sum, or what is left of it after wrapping once."""
    return z3.If(ideal >= SIZE, ideal - SIZE, ideal)


def kept_of_any(ideal: z3.ArithRef) -> z3.ArithRef:
    """What a word keeps of any non-negative ideal result."""
    return ideal % SIZE


def outcome(result: Outcome, profile: Profile, *, overflow: z3.BoolRef, value: z3.BoolRef) -> z3.BoolRef:
    """`result` panics exactly on overflow in a debug build and never in a release build; otherwise `value` holds of it.

    `value` must be stated with kept results, which in a debug build without overflow are the ideal ones.
    """
    if profile is Profile.RELEASE:
        return z3.And(z3.Not(result.panics), value)
    return z3.And(result.panics == overflow, z3.Or(overflow, value))
