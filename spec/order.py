"""The dispatch order of a verify batch and the depths dealt along it (DESIGN 1b).

Models `verify_batch_permutation` and `verify_batch_order` without a sort: a member's position is the number of members ahead
of it, and the depth dealt to position p is the (p+1)-th largest. Batches are of any length. The code is `impl.reference.order`.
"""

from __future__ import annotations

import z3

from spec.scope import Count, every, within
from spec.sorts import Outcome, Record, Seq


def ahead(slots: Seq, ks: Seq, canonical: z3.BoolRef, j: z3.ArithRef, i: z3.ArithRef) -> z3.BoolRef:
    """Member j is dispatched before member i: by slot in the canonical arm, else deeper first and then by slot.

    Members that tie keep the order of their indices.
    """
    slot_tie = z3.Or(slots.at(j) < slots.at(i), z3.And(slots.at(j) == slots.at(i), j < i))
    deeper = z3.Or(ks.at(j) > ks.at(i), z3.And(ks.at(j) == ks.at(i), slot_tie))
    return z3.If(canonical, slot_tie, deeper)


def members_ahead(slots: Seq, ks: Seq, canonical: z3.BoolRef, i: z3.ArithRef) -> Count:
    """Counts the members dispatched before member i."""
    name = f"ahead[{slots.name},{ks.name},{canonical}]"
    return Count(name=name, holds=lambda j, member: ahead(slots, ks, canonical, j, member), of=(i,))


def at_least(values: Seq, v: z3.ArithRef) -> Count:
    """Counts the values that are v or more."""
    return Count(name=f"at_least[{values.name}]", holds=lambda j, least: values.at(j) >= least, of=(v,))


def places_members(slots: Seq, ks: Seq, canonical: z3.BoolRef, order: Seq) -> z3.BoolRef:
    """Position p holds the member that has exactly p members ahead of it."""
    n = slots.length

    def placed(p: z3.ArithRef) -> z3.BoolRef:
        member = order.at(p)
        return z3.And(within(0, member, n), members_ahead(slots, ks, canonical, member).upto(n) == p)

    return z3.And(order.length == n, every("p", 0, n, placed))


def is_dealt(values: Seq, dealt: Seq) -> z3.BoolRef:
    """`dealt` holds the values from the largest down: position p has the d that is the (p+1)-th largest value.

    That is, more than p of the values are d or more, and at most p of them are above d.
    """
    n = values.length

    def deals(p: z3.ArithRef) -> z3.BoolRef:
        depth = dealt.at(p)
        return within(at_least(values, depth + 1).upto(n), p, at_least(values, depth).upto(n))

    return z3.And(dealt.length == n, every("p", 0, n, deals))


def verify_batch_permutation(slots: Seq, ks: Seq, canonical: z3.BoolRef, result: Outcome) -> z3.BoolRef:
    """`verify_batch_permutation`: every member at its position; lengths that differ panic in every build."""
    unequal = slots.length != ks.length
    return z3.And(result.panics == unequal, z3.Or(unequal, places_members(slots, ks, canonical, result.value)))


def verify_batch_order(slots: Seq, ks: Seq, canonical: z3.BoolRef, result: Outcome) -> z3.BoolRef:
    """`verify_batch_order`: the canonical arm deals the depths anew, deepest first; the other leaves each member its own."""
    unequal = slots.length != ks.length
    answer: Record = result.value
    order: Seq = answer.order
    depths: Seq = answer.depths

    def keeps(p: z3.ArithRef) -> z3.BoolRef:
        return depths.at(p) == ks.at(order.at(p))

    kept = z3.And(depths.length == ks.length, every("p", 0, ks.length, keeps))
    deals = z3.If(canonical, is_dealt(ks, depths), kept)
    return z3.And(result.panics == unequal, z3.Or(unequal, z3.And(places_members(slots, ks, canonical, order), deals)))
