"""Faults in the rules of the dispatch order."""

from __future__ import annotations

from proofs.faults.patch import Faults

FAULTS = Faults("order")

# Who is ahead.

_SLOT_TIE = "slot_tie = z3.Or(slots.at(j) < slots.at(i), z3.And(slots.at(j) == slots.at(i), j < i))"
_DEEPER = "deeper = z3.Or(ks.at(j) > ks.at(i), z3.And(ks.at(j) == ks.at(i), slot_tie))"
_ARMS = "return z3.If(canonical, slot_tie, deeper)"

FAULTS.add(
    "slots-descend",
    "Members are ordered by descending slot.",
    rule="verify_batch_order",
    old=_SLOT_TIE,
    new="slot_tie = z3.Or(slots.at(j) > slots.at(i), z3.And(slots.at(j) == slots.at(i), j < i))",
    refuted_by="order/a-chunk-of-an-ordered-batch-is-ordered",
)
FAULTS.add(
    "ties-are-not-broken",
    "Members that tie have one position, so the order of the batch is not determined.",
    rule="verify_batch_permutation",
    old=_SLOT_TIE,
    new="slot_tie = slots.at(j) < slots.at(i)",
    refuted_by="order/verify_batch_permutation-answers-every-input",
)
FAULTS.add(
    "ties-are-reversed",
    "Members that tie are dispatched in descending order of their indices.",
    rule="verify_batch_order",
    old=_SLOT_TIE,
    new="slot_tie = z3.Or(slots.at(j) < slots.at(i), z3.And(slots.at(j) == slots.at(i), j > i))",
    refuted_by="order/an-ordered-batch-keeps-its-order",
)
FAULTS.add(
    "shallow-members-come-first",
    "In the other arm the shallowest member is dispatched first.",
    rule="verify_batch_order",
    old=_DEEPER,
    new="deeper = z3.Or(ks.at(j) < ks.at(i), z3.And(ks.at(j) == ks.at(i), slot_tie))",
    refuted_by="order/other-arm-orders-by-depth-then-slot",
)
FAULTS.add(
    "the-other-arm-forgets-slots",
    "In the other arm members of one depth are ordered by index alone.",
    rule="verify_batch_order",
    old=_DEEPER,
    new="deeper = z3.Or(ks.at(j) > ks.at(i), z3.And(ks.at(j) == ks.at(i), j < i))",
    refuted_by="order/uniform-depths-make-the-arms-equal",
)
FAULTS.add(
    "the-arm-is-ignored",
    "Both arms order deepest first.",
    rule="verify_batch_order",
    old=_ARMS,
    new="return deeper",
    refuted_by="order/canonical-slots-never-decrease",
)
FAULTS.add(
    "both-arms-go-by-slot",
    "Both arms order by slot.",
    rule="verify_batch_order",
    old=_ARMS,
    new="return slot_tie",
    refuted_by="order/runs-of-equal-depth-are-contiguous",
)

# Where a member stands.

_PLACED = "members_ahead(slots, ks, canonical, member).upto(n) == p"

FAULTS.add(
    "the-dispatch-is-reversed",
    "The batch is dispatched from the last member to the first.",
    rule="verify_batch_permutation",
    old=f"return z3.And(within(0, member, n), {_PLACED})",
    new=f"return z3.And(within(0, member, n), {_PLACED.replace('== p', '== n - 1 - p')})",
    refuted_by="order/verify_batch_permutation-answers-every-input",
)
FAULTS.add(
    "a-member-is-dispatched-twice",
    "A position holds some member, whether or not another position has it too.",
    rule="verify_batch_permutation",
    old=f"return z3.And(within(0, member, n), {_PLACED})",
    new="return within(0, member, n)",
    refuted_by="order/the-order-is-a-permutation",
)
FAULTS.add(
    "a-position-takes-who-is-due",
    "A position holds any member that has no more members ahead of it than there are positions before.",
    rule="verify_batch_permutation",
    old=f"return z3.And(within(0, member, n), {_PLACED})",
    new=f"return z3.And(within(0, member, n), {_PLACED.replace('== p', '<= p')})",
    refuted_by="order/verify_batch_permutation-has-one-answer",
)
FAULTS.add(
    "the-planner-has-its-own-order",
    "The order that comes with the depths is by slot in both arms.",
    rule="verify_batch_order",
    old="z3.And(places_members(slots, ks, canonical, order), deals)",
    new="z3.And(places_members(slots, ks, z3.BoolVal(True), order), deals)",
    refuted_by="order/both-functions-agree-on-the-order",
)

# Which depth it gets.

_DEALT = "return within(at_least(values, depth + 1).upto(n), p, at_least(values, depth).upto(n))"

FAULTS.add(
    "depths-are-dealt-from-the-shallowest",
    "The canonical arm deals the smallest depth first.",
    rule="verify_batch_order",
    old=_DEALT,
    new=_DEALT.replace(" p,", " n - 1 - p,"),
    refuted_by="order/canonical-depths-never-increase",
)
FAULTS.add(
    "a-dealt-depth-may-be-lower",
    "The canonical arm may deal a position less than its share.",
    rule="verify_batch_order",
    old=_DEALT,
    new="return p < at_least(values, depth).upto(n)",
    refuted_by="order/canonical-multiset-preserved",
)
FAULTS.add(
    "all-are-dealt-the-deepest",
    "The canonical arm deals every position the largest depth.",
    rule="verify_batch_order",
    old=_DEALT,
    new=_DEALT.replace(" p,", " 0,"),
    refuted_by="order/an-ordered-batch-keeps-its-depths",
)
FAULTS.add(
    "depths-are-not-dealt",
    "In the canonical arm every member keeps its own depth.",
    rule="verify_batch_order",
    old="deals = z3.If(canonical, is_dealt(ks, depths), kept)",
    new="deals = kept",
    refuted_by="key/canonical-batches-alike-share-a-key",
)
FAULTS.add(
    "the-arms-deal-the-wrong-way-round",
    "The canonical arm leaves depths alone, and the other arm deals them.",
    rule="verify_batch_order",
    old="deals = z3.If(canonical, is_dealt(ks, depths), kept)",
    new="deals = z3.If(canonical, kept, is_dealt(ks, depths))",
    refuted_by="order/verify_batch_order-answers-every-input",
)
FAULTS.add(
    "depths-stay-where-they-stood",
    "In the other arm a position has the depth of the member that stood there before.",
    rule="verify_batch_order",
    old="return depths.at(p) == ks.at(order.at(p))",
    new="return depths.at(p) == ks.at(p)",
    refuted_by="order/other-arm-leaves-depths-alone",
)
FAULTS.add(
    "a-row-is-added-for-each-member",
    "In the other arm every member gets one row more than it had.",
    rule="verify_batch_order",
    old="return depths.at(p) == ks.at(order.at(p))",
    new="return depths.at(p) == ks.at(order.at(p)) + 1",
    refuted_by="order/the-total-of-rows-is-unchanged",
)
FAULTS.add(
    "the-last-depth-is-repeated",
    "In the other arm the last position has the depth of the one before it.",
    rule="verify_batch_order",
    old='kept = z3.And(depths.length == ks.length, every("p", 0, ks.length, keeps))',
    new=(
        'kept = z3.And(depths.length == ks.length, every("p", 0, ks.length - 1, keeps), '
        'every("p", 1, ks.length, lambda p: z3.Implies(p == ks.length - 1, depths.at(p) == depths.at(p - 1))))'
    ),
    refuted_by="order/other-arm-multiset-preserved",
)
FAULTS.add(
    "the-last-depth-is-left-open",
    "In the other arm nothing is said of the depth at the last position.",
    rule="verify_batch_order",
    old='kept = z3.And(depths.length == ks.length, every("p", 0, ks.length, keeps))',
    new='kept = z3.And(depths.length == ks.length, every("p", 0, ks.length - 1, keeps))',
    refuted_by="order/verify_batch_order-has-one-answer",
)

# Lengths.

FAULTS.add(
    "lengths-are-not-compared",
    "Slots and depths of unequal number are ordered all the same.",
    rule="verify_batch_permutation",
    old="return z3.And(result.panics == unequal, z3.Or(unequal, places_members(slots, ks, canonical, result.value)))",
    new="return z3.And(z3.Not(result.panics), z3.Or(unequal, places_members(slots, ks, canonical, result.value)))",
    refuted_by="order/unequal-lengths-are-refused",
)
FAULTS.add(
    "only-missing-depths-are-refused",
    "Depths that have no slot are ignored.",
    rule="verify_batch_order",
    old="unequal = slots.length != ks.length\n    answer",
    new="unequal = slots.length > ks.length\n    answer",
    refuted_by="order/unequal-lengths-are-refused",
)
