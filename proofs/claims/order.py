"""Claims about the dispatch order of a verify batch and the depths along it.

*Claim.* The order is a permutation; in the canonical arm depths never increase along slots that never decrease, in the other
arm depths never increase and slots never decrease within a run of equal depth; ties keep the order of the indices; every depth
occurs as often as before. All of it for batches of any size, with slots that repeat or are absent.

*Assumptions.* None.

*Argument.* "Ahead of" is a strict total order of the members, so the numbers of members ahead are 0..n-1, one each. The
(p+1)-th largest depth is at least v exactly if more than p depths are, so it falls with p, and each depth v is dealt to as many
positions as there are between the count of larger depths and the count of depths at least as large.
"""

from __future__ import annotations

from dataclasses import dataclass

import z3

from proofs.claims.counting import (
    GROWS,
    NO_EXTRA,
    ONTO,
    PERMUTED,
    SPANS,
    SPLITS,
    TOTALS_ALIKE,
    WITHIN_ITS_RANGE,
    Mapped,
    along,
    injective,
    inverse,
    total,
)
from proofs.obligation import Goal, Register, World
from spec import order as model
from spec.machine import SIZE
from spec.scope import Count, Index, bound, every, some, within
from spec.sorts import FLAG, WORDS, Outcome, Record, Seq

CLAIMS = Register("order")


@dataclass(frozen=True, kw_only=True)
class Members:
    """The members of a batch and the arm by which they are ordered."""

    slots: Seq
    ks: Seq
    canonical: z3.BoolRef

    @property
    def n(self) -> z3.ArithRef:
        return self.slots.length

    def ahead(self, j: z3.ArithRef, i: z3.ArithRef) -> z3.BoolRef:
        """Member j is dispatched before member i."""
        return model.ahead(self.slots, self.ks, self.canonical, j, i)

    def count_ahead(self, i: z3.ArithRef) -> Count:
        """Counts the members dispatched before member i."""
        return model.members_ahead(self.slots, self.ks, self.canonical, i)

    def position(self, i: Index) -> z3.ArithRef:
        """How many members are ahead of member i."""
        return self.count_ahead(z3.IntVal(i) if isinstance(i, int) else i).upto(self.n)


@dataclass(frozen=True, kw_only=True)
class Batch(Members):
    """Members with the order and the depths that `verify_batch_order` gives them."""

    result: Outcome
    given: dict[str, z3.BoolRef]

    @property
    def order(self) -> Seq:
        answer: Record = self.result.value
        sequence: Seq = answer.order
        return sequence

    @property
    def depths(self) -> Seq:
        answer: Record = self.result.value
        sequence: Seq = answer.depths
        return sequence

    def slot_at(self, p: z3.ArithRef) -> z3.ArithRef:
        """The slot of the member at position p."""
        slot: z3.ArithRef = self.slots.at(self.order.at(p))
        return slot


def any_members() -> Members:
    """Members of which nothing is known, not even that their numbers are words."""
    return Members(slots=WORDS.fresh("slots"), ks=WORDS.fresh("ks"), canonical=z3.Bool("canonical"))


def any_batch(world: World, name: str = "", canonical: bool | None = None) -> Batch:
    """Any batch with slots and depths of equal number, ordered by the rule; in the given arm, or in any."""
    prefix = f"{name}." if name else ""
    slots, ks = world.some(WORDS, f"{prefix}slots"), world.some(WORDS, f"{prefix}ks")
    arm = world.some(FLAG, f"{prefix}canonical") if canonical is None else z3.BoolVal(canonical)
    result, ordered = world.answer(f"{prefix}batch", "verify_batch_order", slots, ks, arm)
    given = {f"{prefix}batch is the ordered batch": ordered, f"{prefix}lengths are equal": slots.length == ks.length}
    return Batch(slots=slots, ks=ks, canonical=arm, result=result, given=given)


def _position(name: str, n: z3.ArithRef) -> tuple[z3.ArithRef, dict[str, z3.BoolRef]]:
    """Any position (or member) below n."""
    p = z3.Int(name)
    return p, {f"{name} is in the batch": within(0, p, n)}


def everything() -> Count:
    """The count of all indices."""
    return Count(name="all", holds=lambda j: z3.BoolVal(True))


def below(limit: z3.ArithRef) -> Count:
    """The count of the indices below a limit."""
    return Count(name="below", holds=lambda j, end: z3.And(0 <= j, j < end), of=(limit,))


def at_most(values: Seq, v: z3.ArithRef) -> Count:
    """Counts the values that are v or less."""
    return Count(name=f"at_most[{values.name}]", holds=lambda j, most: values.at(j) <= most, of=(v,))


def exactly(values: Seq, v: z3.ArithRef) -> Count:
    """Counts the values that are v."""
    return Count(name=f"exactly[{values.name}]", holds=lambda j, value: values.at(j) == value, of=(v,))


# Positions.


@CLAIMS.theorem("ahead-is-a-strict-total-order", "Of two members exactly one is ahead, and ahead of ahead is ahead.")
def ahead_is_a_strict_total_order(world: World) -> Goal:
    members, i, j, k = any_members(), z3.Int("i"), z3.Int("j"), z3.Int("k")
    ahead = members.ahead
    return Goal(
        show=z3.And(
            z3.Not(ahead(i, i)),
            z3.Implies(i != j, ahead(i, j) != ahead(j, i)),
            z3.Implies(z3.And(ahead(i, j), ahead(j, k)), ahead(i, k)),
        ),
        witnesses={"equal slots": z3.And(within(0, i, j), members.slots.at(i) == members.slots.at(j))},
    )


def _position_rises(members: Members, j: z3.ArithRef, i: z3.ArithRef) -> z3.BoolRef:
    """If member j is ahead of member i, fewer members are ahead of j than of i."""
    given = z3.And(within(0, j, members.n), within(0, i, members.n), members.ahead(j, i))
    return z3.Implies(given, members.position(j) < members.position(i))


@CLAIMS.lemma(
    "who-is-ahead-has-an-earlier-position",
    "A member that is ahead of another has fewer members ahead of it.",
    states=_position_rises,
)
def POSITION_RISES(world: World) -> tuple[Members, z3.ArithRef, z3.ArithRef]:
    members, j, i = any_members(), z3.Int("j"), z3.Int("i")
    world.use(GROWS, members.count_ahead(j), members.count_ahead(i), j, members.n)
    return members, j, i


def _position_exists(members: Members, i: z3.ArithRef) -> z3.BoolRef:
    """A member's number of members ahead is a position of the batch."""
    return z3.Implies(within(0, i, members.n), within(0, members.position(i), members.n))


@CLAIMS.lemma(
    "every-member-has-a-position-in-the-batch",
    "The number of members ahead of a member is at least 0 and below n.",
    states=_position_exists,
)
def POSITION_EXISTS(world: World) -> tuple[Members, z3.ArithRef]:
    members, i = any_members(), z3.Int("i")
    world.use(WITHIN_ITS_RANGE, members.count_ahead(i), members.n)
    world.use(GROWS, members.count_ahead(i), everything(), i, members.n)
    world.use(WITHIN_ITS_RANGE, everything(), members.n)
    return members, i


def _one_position_one_member(members: Members, i: z3.ArithRef, j: z3.ArithRef) -> z3.BoolRef:
    """No two members have the same number of members ahead."""
    given = z3.And(within(0, i, members.n), within(0, j, members.n), members.position(i) == members.position(j))
    return z3.Implies(given, i == j)


@CLAIMS.lemma(
    "no-two-members-share-a-position",
    "Two members with the same number of members ahead are one.",
    states=_one_position_one_member,
)
def ONE_MEMBER(world: World) -> tuple[Members, z3.ArithRef, z3.ArithRef]:
    members, i, j = any_members(), z3.Int("i"), z3.Int("j")
    world.use(POSITION_RISES, members, i, j)
    world.use(POSITION_RISES, members, j, i)
    return members, i, j


def _stands_at_home(members: Members, order: Seq, i: z3.ArithRef) -> z3.BoolRef:
    """Member i stands at the position that its number of members ahead tells."""
    placed = model.places_members(members.slots, members.ks, members.canonical, order)
    return z3.Implies(z3.And(placed, within(0, i, members.n)), order.at(members.position(i)) == i)


@CLAIMS.lemma(
    "every-member-stands-at-its-position",
    "In an order each member stands at the position that its number of members ahead tells.",
    states=_stands_at_home,
)
def HOME(world: World) -> tuple[Members, Seq, z3.ArithRef]:
    members, order, i = any_members(), WORDS.fresh("order"), z3.Int("i")
    world.use(POSITION_EXISTS, members, i)
    world.use(ONE_MEMBER, members, i, order.at(members.position(i)))
    return members, order, i


@CLAIMS.theorem(
    "the-order-is-a-permutation",
    "Every position holds one member, no member stands at two positions, and every member stands somewhere.",
)
def the_order_is_a_permutation(world: World) -> Goal:
    slots, ks, canonical = world.some(WORDS, "slots"), world.some(WORDS, "ks"), world.some(FLAG, "canonical")
    order, ordered = world.answer("order", "verify_batch_permutation", slots, ks, canonical)
    members = Members(slots=slots, ks=ks, canonical=canonical)
    at = order.value.at
    (p, p_given), (q, q_given), (i, i_given) = (_position(name, members.n) for name in "pqi")
    home = members.position(i)
    world.use(POSITION_EXISTS, members, i)
    world.use(ONE_MEMBER, members, i, at(home))
    return Goal(
        given={
            "order is the order of the batch": ordered,
            "lengths are equal": slots.length == ks.length,
            **p_given,
            **q_given,
            **i_given,
        },
        show=z3.And(
            order.value.length == members.n,
            within(0, at(p), members.n),
            z3.Implies(at(p) == at(q), p == q),
            at(home) == i,
        ),
        witnesses={"it moves a member": at(p) != p},
    )


@CLAIMS.theorem("both-functions-agree-on-the-order", "The order that comes with the depths is the order asked for alone.")
def both_functions_agree_on_the_order(world: World) -> Goal:
    batch = any_batch(world)
    alone, ordered = world.answer("alone", "verify_batch_permutation", batch.slots, batch.ks, batch.canonical)
    p, given = _position("p", batch.n)
    mine, other = batch.order.at(p), alone.value.at(p)
    world.use(ONE_MEMBER, batch, mine, other)
    return Goal(
        given={**batch.given, "alone is the order of the batch": ordered, **given},
        show=z3.And(batch.order.length == alone.value.length, mine == other),
        witnesses={"it moves a member": mine != p},
    )


@CLAIMS.theorem("unequal-lengths-are-refused", "Slots and depths of unequal number panic in every build, and nothing else does.")
def unequal_lengths_are_refused(world: World) -> Goal:
    slots, ks, canonical = world.some(WORDS, "slots"), world.some(WORDS, "ks"), world.some(FLAG, "canonical")
    order, ordered = world.answer("order", "verify_batch_permutation", slots, ks, canonical)
    batch, dealt = world.answer("batch", "verify_batch_order", slots, ks, canonical)
    unequal = slots.length != ks.length
    return Goal(
        given={"order is the order": ordered, "batch is the ordered batch": dealt},
        show=z3.And(order.panics == unequal, batch.panics == unequal),
        witnesses={"one depth too few": slots.length == ks.length + 1, "none too few": z3.Not(unequal)},
    )


# Depths.


def _dealt_by_rank(values: Seq, dealt: Seq, v: z3.ArithRef, p: z3.ArithRef) -> z3.BoolRef:
    """Position p has v or more if and only if more than p of the values do."""
    n = values.length
    more_than_p = p < model.at_least(values, v).upto(n)
    return z3.Implies(z3.And(model.is_dealt(values, dealt), within(0, p, n)), (dealt.at(p) >= v) == more_than_p)


@CLAIMS.lemma(
    "a-dealt-depth-is-its-rank",
    "Where the values are dealt from the largest down, position p has v or more if and only if more than p values do.",
    states=_dealt_by_rank,
)
def DEALT_BY_RANK(world: World) -> tuple[Seq, Seq, z3.ArithRef, z3.ArithRef]:
    values, dealt, p, v = WORDS.fresh("values"), WORDS.fresh("dealt"), z3.Int("p"), z3.Int("v")
    depth, n, at_least = dealt.at(p), values.length, model.at_least
    world.use(GROWS, at_least(values, depth), at_least(values, v), NO_EXTRA, n)
    world.use(GROWS, at_least(values, v), at_least(values, depth + 1), NO_EXTRA, n)
    return values, dealt, v, p


@CLAIMS.theorem("canonical-depths-never-increase", "In the canonical arm no position is deeper than an earlier one.")
def canonical_depths_never_increase(world: World) -> Goal:
    batch = any_batch(world, canonical=True)
    (p, p_given), (q, q_given) = _position("p", batch.n), _position("q", batch.n)
    world.use(DEALT_BY_RANK, batch.ks, batch.depths, batch.depths.at(q), p)
    world.use(DEALT_BY_RANK, batch.ks, batch.depths, batch.depths.at(q), q)
    return Goal(
        given={**batch.given, **p_given, **q_given, "p is earlier": p <= q},
        show=batch.depths.at(p) >= batch.depths.at(q),
        witnesses={"depths differ": batch.depths.at(p) > batch.depths.at(q)},
    )


@CLAIMS.theorem(
    "canonical-slots-never-decrease",
    "In the canonical arm no position has a smaller slot than an earlier one, and equal slots keep the order of indices.",
)
def canonical_slots_never_decrease(world: World) -> Goal:
    batch = any_batch(world, canonical=True)
    (p, p_given), (q, q_given) = _position("p", batch.n), _position("q", batch.n)
    mine, later = batch.order.at(p), batch.order.at(q)
    world.use(POSITION_RISES, batch, later, mine)
    tie = z3.Implies(batch.slot_at(p) == batch.slot_at(q), mine < later)
    return Goal(
        given={**batch.given, **p_given, **q_given, "p is earlier": p < q},
        show=z3.And(batch.slot_at(p) <= batch.slot_at(q), tie),
        witnesses={"slots tie": batch.slot_at(p) == batch.slot_at(q)},
    )


@CLAIMS.theorem(
    "other-arm-orders-by-depth-then-slot",
    "In the other arm depths never increase, slots never decrease within a run of equal depth, and ties keep the order of indices.",
)
def other_arm_orders_by_depth_then_slot(world: World) -> Goal:
    batch = any_batch(world, canonical=False)
    (p, p_given), (q, q_given) = _position("p", batch.n), _position("q", batch.n)
    mine, later = batch.order.at(p), batch.order.at(q)
    same_depth = batch.depths.at(p) == batch.depths.at(q)
    same_slot = batch.slot_at(p) == batch.slot_at(q)
    world.use(POSITION_RISES, batch, later, mine)
    return Goal(
        given={**batch.given, **p_given, **q_given, "p is earlier": p < q},
        show=z3.And(
            batch.depths.at(p) >= batch.depths.at(q),
            z3.Implies(same_depth, batch.slot_at(p) <= batch.slot_at(q)),
            z3.Implies(z3.And(same_depth, same_slot), mine < later),
        ),
        witnesses={"a tie of both": z3.And(same_depth, same_slot), "slots fall": batch.slot_at(p) > batch.slot_at(q)},
    )


@CLAIMS.theorem(
    "runs-of-equal-depth-are-contiguous", "Between two positions of one depth every position has that depth, in both arms."
)
def runs_of_equal_depth_are_contiguous(world: World) -> Goal:
    batch = any_batch(world)
    (p, p_given), (q, q_given) = _position("p", batch.n), _position("q", batch.n)
    r, r_given = _position("r", batch.n)
    for first, second in ((p, q), (q, r)):
        world.use(POSITION_RISES, batch, batch.order.at(second), batch.order.at(first))
        for position in (first, second):
            world.use(DEALT_BY_RANK, batch.ks, batch.depths, batch.depths.at(second), position)
    return Goal(
        given={
            **batch.given,
            **p_given,
            **q_given,
            **r_given,
            "q is between": z3.And(p < q, q < r),
            "the ends have one depth": batch.depths.at(p) == batch.depths.at(r),
        },
        show=batch.depths.at(q) == batch.depths.at(p),
        witnesses={"canonical": batch.canonical, "other": z3.Not(batch.canonical)},
    )


@CLAIMS.theorem("other-arm-leaves-depths-alone", "In the other arm every member keeps its own depth.")
def other_arm_leaves_depths_alone(world: World) -> Goal:
    batch = any_batch(world, canonical=False)
    p, given = _position("p", batch.n)
    return Goal(
        given={**batch.given, **given},
        show=batch.depths.at(p) == batch.ks.at(batch.order.at(p)),
        witnesses={"it moves a member": batch.order.at(p) != p},
    )


# The multiset of depths.


@CLAIMS.theorem("canonical-multiset-preserved", "In the canonical arm as many positions have depth v as members had, for every v.")
def canonical_multiset_preserved(world: World) -> Goal:
    batch = any_batch(world, canonical=True)
    v, n = z3.Int("v"), batch.n
    here, above = model.at_least(batch.ks, v), model.at_least(batch.ks, v + 1)
    dealt = exactly(batch.depths, v)
    world.use(SPLITS, here, above, exactly(batch.ks, v), n)
    world.use(GROWS, above, here, NO_EXTRA, n)
    world.use(WITHIN_ITS_RANGE, above, n)
    world.use(GROWS, here, everything(), NO_EXTRA, n)
    world.use(WITHIN_ITS_RANGE, everything(), n)
    world.use(SPANS, dealt, above.upto(n), here.upto(n), n)
    for depth in (v, v + 1):
        world.use_everywhere(DEALT_BY_RANK, "p", 0, n, batch.ks, batch.depths, depth)
    return Goal(
        given=batch.given,
        show=dealt.upto(n) == exactly(batch.ks, v).upto(n),
        witnesses={"v occurs twice among others": z3.And(exactly(batch.ks, v).upto(n) == 2, n == 3)},
    )


def _order_inverts(members: Members, order: Seq) -> z3.BoolRef:
    """The order and the number of members ahead are a permutation and its inverse."""
    placed = model.places_members(members.slots, members.ks, members.canonical, order)
    return z3.Implies(placed, inverse(order.at, members.position, members.n))


@CLAIMS.lemma(
    "the-order-inverts-the-count-of-members-ahead",
    "Order and number of members ahead are inverse to each other, so the order is a permutation.",
    states=_order_inverts,
)
def ORDER_INVERTS(world: World) -> tuple[Members, Seq]:
    members, order = any_members(), WORDS.fresh("order")
    world.use_everywhere(POSITION_EXISTS, "i", 0, members.n, members)
    world.use_everywhere(HOME, "i", 0, members.n, members, order)
    return members, order


@CLAIMS.theorem("other-arm-multiset-preserved", "In the other arm as many positions have depth v as members had, for every v.")
def other_arm_multiset_preserved(world: World) -> Goal:
    batch = any_batch(world, canonical=False)
    v, n = z3.Int("v"), batch.n
    own, dealt = exactly(batch.ks, v), exactly(batch.depths, v)
    placed = along(own, batch.order.at)
    world.use(ORDER_INVERTS, batch, batch.order)
    world.use(PERMUTED, own, batch.order.at, batch.position, n)
    world.use(GROWS, dealt, placed, NO_EXTRA, n)
    world.use(GROWS, placed, dealt, NO_EXTRA, n)
    return Goal(
        given=batch.given,
        show=dealt.upto(n) == own.upto(n),
        witnesses={"v occurs twice among others": z3.And(own.upto(n) == 2, n == 3)},
    )


# The total of rows.


def _as_many_reach(values: Seq, dealt: Seq, v: z3.ArithRef) -> z3.BoolRef:
    """As many of the dealt values as of the values are v or more."""
    n = values.length
    reach = model.at_least(dealt, v).upto(n) == model.at_least(values, v).upto(n)
    return z3.Implies(z3.And(n >= 0, model.is_dealt(values, dealt)), reach)


@CLAIMS.lemma(
    "dealing-keeps-how-many-reach-a-depth",
    "As many positions are dealt v or more as there are values of v or more.",
    states=_as_many_reach,
)
def AS_MANY_REACH(world: World) -> tuple[Seq, Seq, z3.ArithRef]:
    values, dealt, v = WORDS.fresh("values"), WORDS.fresh("dealt"), z3.Int("v")
    n, reach = values.length, model.at_least(values, v)
    world.use(GROWS, reach, everything(), NO_EXTRA, n)
    world.use(WITHIN_ITS_RANGE, everything(), n)
    world.use(WITHIN_ITS_RANGE, reach, n)
    world.use(SPANS, model.at_least(dealt, v), z3.IntVal(0), reach.upto(n), n)
    world.use_everywhere(DEALT_BY_RANK, "p", 0, n, values, dealt, v)
    return values, dealt, v


def _as_many_keep(members: Members, order: Seq, depths: Seq, v: z3.ArithRef) -> z3.BoolRef:
    """Where every member keeps its depth, as many positions as members have v or more."""
    n, ks = members.n, members.ks
    placed = model.places_members(members.slots, ks, members.canonical, order)
    keeps = every("p", 0, n, lambda p: depths.at(p) == ks.at(order.at(p)))
    reach = model.at_least(depths, v).upto(n) == model.at_least(ks, v).upto(n)
    return z3.Implies(z3.And(n >= 0, placed, keeps), reach)


@CLAIMS.lemma(
    "reordering-keeps-how-many-reach-a-depth",
    "Where every member keeps its depth, as many positions as members have v or more.",
    states=_as_many_keep,
)
def AS_MANY_KEEP(world: World) -> tuple[Members, Seq, Seq, z3.ArithRef]:
    members, order, depths, v = any_members(), WORDS.fresh("order"), WORDS.fresh("depths"), z3.Int("v")
    own, n = model.at_least(members.ks, v), members.n
    placed, dealt = along(own, order.at), model.at_least(depths, v)
    world.use(ORDER_INVERTS, members, order)
    world.use(PERMUTED, own, order.at, members.position, n)
    world.use(GROWS, dealt, placed, NO_EXTRA, n)
    world.use(GROWS, placed, dealt, NO_EXTRA, n)
    return members, order, depths, v


@CLAIMS.theorem("the-total-of-rows-is-unchanged", "In both arms the depths add up to what the members' depths did.")
def the_total_of_rows_is_unchanged(world: World) -> Goal:
    batch = any_batch(world)
    n, ks, depths = batch.n, batch.ks, batch.depths
    world.use_everywhere(AS_MANY_REACH, "v", 0, SIZE, ks, depths)
    world.use_everywhere(AS_MANY_KEEP, "v", 0, SIZE, batch, batch.order, depths)
    world.use(TOTALS_ALIKE, depths, ks, n, SIZE)
    return Goal(
        given=batch.given,
        show=total(depths).upto(n) == total(ks).upto(n),
        witnesses={
            "canonical": z3.And(batch.canonical, n == 3, ks.at(0) < ks.at(1), ks.at(1) < ks.at(2)),
            "other": z3.And(z3.Not(batch.canonical), n == 3, ks.at(0) < ks.at(1)),
        },
    )


# One answer to every input.


def _positions_are_injective(members: Members) -> z3.BoolRef:
    """The number of members ahead takes the batch into itself, and no value twice."""
    return injective(members.position, members.n)


@CLAIMS.lemma(
    "positions-are-an-injection",
    "The number of members ahead takes the members into the positions, and no two to one.",
    states=_positions_are_injective,
)
def POSITIONS_INJECTIVE(world: World) -> tuple[Members]:
    members = any_members()
    world.use_everywhere(POSITION_EXISTS, "i", 0, members.n, members)
    world.use_everywhere(ONE_MEMBER, "i j", 0, members.n, members)
    return (members,)


@CLAIMS.theorem(
    "every-position-has-its-member",
    "For every batch and each of its positions there is a member with as many members ahead, so there is an order.",
)
def every_position_has_its_member(world: World) -> Goal:
    slots, ks, canonical = world.some(WORDS, "slots"), world.some(WORDS, "ks"), world.some(FLAG, "canonical")
    members = Members(slots=slots, ks=ks, canonical=canonical)
    p, given = _position("p", members.n)
    world.use(POSITIONS_INJECTIVE, members)
    world.use(ONTO, members.position, members.n, p)
    return Goal(
        given={"lengths are equal": slots.length == ks.length, **given},
        show=some("i", 0, members.n, lambda i: members.position(i) == p),
        witnesses={"slots tie": z3.And(members.n == 3, slots.at(0) == slots.at(1))},
    )


def _crossed(values: Seq, p: z3.ArithRef, limit: Index) -> z3.BoolRef:
    """If more than p values reach 0 and no more than p reach the limit, some depth below it is the last that more reach."""
    n = values.length

    def reached(v: Index) -> z3.ArithRef:
        return model.at_least(values, z3.IntVal(v) if isinstance(v, int) else v).upto(n)

    def last(d: z3.ArithRef) -> z3.BoolRef:
        return within(reached(d + 1), p, reached(d))

    # Depths are words, whose range no bounded telling covers; it is told up to 16 there.
    crossed = some("d", 0, limit, last, limit=16)
    return z3.Implies(z3.And(limit >= 0, p < reached(0), reached(limit) <= p), crossed)


@CLAIMS.induction(
    "between-more-and-fewer-lies-a-last-depth",
    "If more than p values reach 0 and at most p reach a limit, there is a last depth that more than p values reach.",
    states=_crossed,
    folds=lambda values, p: (),
)
def CROSSED(world: World) -> tuple[Seq, z3.ArithRef]:
    return WORDS.fresh("values"), z3.Int("p")


@CLAIMS.theorem(
    "every-position-has-its-depth",
    "For every batch and each of its positions there is a depth to deal: the (p+1)-th largest.",
)
def every_position_has_its_depth(world: World) -> Goal:
    ks = world.some(WORDS, "ks")
    n = ks.length
    p, given = _position("p", n)
    world.use(SPANS, model.at_least(ks, z3.IntVal(0)), z3.IntVal(0), n, n)
    world.use(SPANS, model.at_least(ks, z3.IntVal(SIZE)), z3.IntVal(0), z3.IntVal(0), n)
    world.use(CROSSED, ks, p, SIZE)
    small = every("i", 0, n, lambda i: ks.at(i) < 16) if bound() is not None else z3.BoolVal(True)

    def dealt(d: z3.ArithRef) -> z3.BoolRef:
        return within(model.at_least(ks, d + 1).upto(n), p, model.at_least(ks, d).upto(n))

    return Goal(
        given={**given, "in a bounded telling depths are below 16": small},
        show=some("d", 0, SIZE if bound() is None else 16, dealt, limit=16),
        witnesses={"depths tie": z3.And(n == 3, ks.at(0) == ks.at(1))},
    )


def _comes_first(members: Members, one: z3.ArithRef, other: z3.ArithRef) -> z3.BoolRef:
    """The first of depth (in the other arm), slot and index in which two members differ puts `one` first."""
    slots, ks = members.slots, members.ks
    depths_differ = z3.And(z3.Not(members.canonical), ks.at(one) != ks.at(other))
    by_slot = z3.If(slots.at(one) != slots.at(other), slots.at(one) < slots.at(other), one < other)
    return z3.If(depths_differ, ks.at(one) > ks.at(other), by_slot)


def _arranged(members: Members, order: Seq, home: Mapped) -> z3.BoolRef:
    """`order` holds every member once (`home` says where), and none after one that it comes before."""
    n = members.n
    in_order = every("q", 0, n, lambda q: every("p", 0, q, lambda p: _comes_first(members, order.at(p), order.at(q))))
    return z3.And(order.length == n, inverse(order.at, home, n), in_order)


def _arranged_is_placed(members: Members, order: Seq, home: Mapped, p: z3.ArithRef) -> z3.BoolRef:
    """In such an arrangement the member at position p has p members ahead of it."""
    given = z3.And(within(0, p, members.n), _arranged(members, order, home))
    return z3.Implies(given, members.position(order.at(p)) == p)


@CLAIMS.lemma(
    "a-sorted-arrangement-places-every-member",
    "If no member comes after one that it comes before, the member at position p has p members ahead of it.",
    states=_arranged_is_placed,
)
def ARRANGED_IS_PLACED(world: World) -> tuple[Members, Seq, Mapped, z3.ArithRef]:
    members, order, p = any_members(), WORDS.fresh("order"), z3.Int("p")
    home = z3.Function("home", z3.IntSort(), z3.IntSort())
    ahead = members.count_ahead(order.at(p))
    world.use(PERMUTED, ahead, order.at, home, members.n)
    world.use(SPANS, along(ahead, order.at), z3.IntVal(0), p, members.n)
    return members, order, home, p


def _falling(values: Seq, deal: Seq) -> Seq:
    """The values in the order of `deal`."""
    return Seq(name=f"{values.name} dealt", length=values.length, at=lambda p: values.at(deal.at(p)))


def _falls(dealt: Seq) -> z3.BoolRef:
    return every("q", 0, dealt.length, lambda q: every("p", 0, q, lambda p: dealt.at(p) >= dealt.at(q)))


def _falling_is_dealt(values: Seq, deal: Seq, source: Mapped, p: z3.ArithRef) -> z3.BoolRef:
    """If a permutation of the values never increases, its value at p is the (p+1)-th largest."""
    dealt, n = _falling(values, deal), values.length
    depth = dealt.at(p)
    given = z3.And(within(0, p, n), inverse(deal.at, source, n), _falls(dealt))
    reached = within(model.at_least(values, depth + 1).upto(n), p, model.at_least(values, depth).upto(n))
    return z3.Implies(given, reached)


@CLAIMS.lemma(
    "values-that-never-increase-are-dealt",
    "If a permutation of the values never increases, more than p values reach its value at p, and at most p are above it.",
    states=_falling_is_dealt,
)
def FALLING_IS_DEALT(world: World) -> tuple[Seq, Seq, Mapped, z3.ArithRef]:
    values, deal, p = WORDS.fresh("values"), WORDS.fresh("deal"), z3.Int("p")
    source = z3.Function("source", z3.IntSort(), z3.IntSort())
    depth, n = values.at(deal.at(p)), values.length
    for v, end in ((depth, p + 1), (depth + 1, p)):
        reach = model.at_least(values, v)
        world.use(PERMUTED, reach, deal.at, source, n)
        world.use(SPANS, below(end), z3.IntVal(0), end, n)
        fewer, more = (below(end), along(reach, deal.at)) if v is depth else (along(reach, deal.at), below(end))
        world.use(GROWS, fewer, more, NO_EXTRA, n)
    return values, deal, source, p


def _arrangement(world: World) -> tuple[Members, Seq, dict[str, z3.BoolRef]]:
    """Any members, and an arrangement of them in which none comes after one that it comes before."""
    slots, ks, canonical = world.some(WORDS, "slots"), world.some(WORDS, "ks"), world.some(FLAG, "canonical")
    members, order = Members(slots=slots, ks=ks, canonical=canonical), world.some(WORDS, "order")
    home = z3.Function("home", z3.IntSort(), z3.IntSort())
    world.use_everywhere(ARRANGED_IS_PLACED, "p", 0, members.n, members, order, home)
    arranged = z3.Implies(slots.length == ks.length, _arranged(members, order, home))
    return members, order, {"order arranges the members": arranged}


@CLAIMS.theorem(
    "verify_batch_permutation-answers-every-input",
    "The arrangement of the members in which none comes after one that it comes before is allowed; for unequal lengths a panic is.",
)
def permutation_answers_every_input(world: World) -> Goal:
    members, order, given = _arrangement(world)
    slots, ks, n = members.slots, members.ks, members.n
    result = Outcome(panics=n != ks.length, value=order)
    allowed = world.rule("verify_batch_permutation", slots, ks, members.canonical, result=result)
    moved = z3.And(n == ks.length, order.at(0) == 2)
    return Goal(
        given=given,
        show=allowed,
        witnesses={
            "canonical": z3.And(moved, members.canonical),
            "other": z3.And(moved, z3.Not(members.canonical)),
            "all tie": z3.And(n == 3, n == ks.length, slots.at(0) == slots.at(2), ks.at(0) == ks.at(2)),
            "lengths differ": result.panics,
        },
    )


@CLAIMS.theorem(
    "verify_batch_order-answers-every-input",
    "The same arrangement with its members' own depths, or in the canonical arm with these dealt so that they never "
    "increase, is allowed; for unequal lengths a panic is.",
)
def order_answers_every_input(world: World) -> Goal:
    members, order, given = _arrangement(world)
    slots, ks, n = members.slots, members.ks, members.n
    deal, source = world.some(WORDS, "deal"), z3.Function("source", z3.IntSort(), z3.IntSort())
    world.use_everywhere(FALLING_IS_DEALT, "p", 0, n, ks, deal, source)
    dealt, own = _falling(ks, deal), _falling(ks, order)
    depths = Seq(name="depths", length=n, at=lambda p: z3.If(members.canonical, dealt.at(p), own.at(p)))
    result = Outcome(panics=n != ks.length, value=Record(fields={"order": order, "depths": depths}))
    allowed = world.rule("verify_batch_order", slots, ks, members.canonical, result=result)
    falls = z3.And(deal.length == n, inverse(deal.at, source, n), _falls(dealt))
    return Goal(
        given={
            **given,
            "deal arranges the depths so that they never increase": z3.Implies(n == ks.length, falls),
        },
        show=allowed,
        witnesses={
            "canonical": z3.And(n == ks.length, order.at(0) == 2, deal.at(0) == 1, members.canonical),
            "other": z3.And(n == ks.length, order.at(0) == 2, z3.Not(members.canonical)),
            "lengths differ": result.panics,
        },
    )


@CLAIMS.theorem("verify_batch_permutation-has-one-answer", "Two orders of one batch are the same order.", size=3)
def permutation_has_one_answer(world: World) -> Goal:
    slots, ks, canonical = world.some(WORDS, "slots"), world.some(WORDS, "ks"), world.some(FLAG, "canonical")
    one, first = world.answer("one", "verify_batch_permutation", slots, ks, canonical)
    two, second = world.answer("two", "verify_batch_permutation", slots, ks, canonical)
    members = Members(slots=slots, ks=ks, canonical=canonical)
    p, given = _position("p", members.n)
    world.use(ONE_MEMBER, members, one.value.at(p), two.value.at(p))
    alike = z3.And(one.value.length == two.value.length, one.value.at(p) == two.value.at(p))
    return Goal(
        given={"one is the order": first, "two is the order": second, **given},
        show=z3.And(one.panics == two.panics, z3.Or(one.panics, alike)),
        witnesses={"there is an order": z3.Not(one.panics)},
    )


@CLAIMS.theorem("verify_batch_order-has-one-answer", "Two ordered batches of the same members are the same.", size=3)
def order_has_one_answer(world: World) -> Goal:
    slots, ks, canonical = world.some(WORDS, "slots"), world.some(WORDS, "ks"), world.some(FLAG, "canonical")
    one, first = world.answer("one", "verify_batch_order", slots, ks, canonical)
    two, second = world.answer("two", "verify_batch_order", slots, ks, canonical)
    members = Members(slots=slots, ks=ks, canonical=canonical)
    p, given = _position("p", members.n)
    orders, depths = (one.value.order, two.value.order), (one.value.depths, two.value.depths)
    world.use(ONE_MEMBER, members, orders[0].at(p), orders[1].at(p))
    for mine, other in (depths, depths[::-1]):
        world.use(DEALT_BY_RANK, ks, mine, other.at(p), p)
        world.use(DEALT_BY_RANK, ks, mine, mine.at(p), p)
    alike = z3.And(
        orders[0].length == orders[1].length,
        depths[0].length == depths[1].length,
        orders[0].at(p) == orders[1].at(p),
        depths[0].at(p) == depths[1].at(p),
    )
    return Goal(
        given={"one is the ordered batch": first, "two is the ordered batch": second, **given},
        show=z3.And(one.panics == two.panics, z3.Or(one.panics, alike)),
        witnesses={"there is an order": z3.Not(one.panics)},
    )


# Orders that change nothing.


def _ordered_chunk(world: World) -> tuple[Batch, dict[str, z3.BoolRef]]:
    """A chunk of an ordered canonical batch (slots never decrease, depths never increase), ordered once more."""
    batch = any_batch(world, canonical=True)
    sorted_slots = every("q", 0, batch.n, lambda q: every("p", 0, q, lambda p: batch.slots.at(p) <= batch.slots.at(q)))
    sorted_depths = every("q", 0, batch.n, lambda q: every("p", 0, q, lambda p: batch.ks.at(p) >= batch.ks.at(q)))
    ordered = {"slots never decrease": sorted_slots, "depths never increase": sorted_depths}
    return batch, {**batch.given, **ordered}


@CLAIMS.theorem(
    "an-ordered-batch-keeps-its-order",
    "Ordering a batch whose slots never decrease, such as an ordered canonical one or any chunk of it, moves nobody.",
)
def an_ordered_batch_keeps_its_order(world: World) -> Goal:
    batch, given = _ordered_chunk(world)
    p, p_given = _position("p", batch.n)
    member = batch.order.at(p)
    world.use(SPANS, batch.count_ahead(member), z3.IntVal(0), member, batch.n)
    return Goal(
        given={**given, **p_given},
        show=member == p,
        witnesses={"slots tie": z3.And(batch.n == 3, batch.slots.at(0) == batch.slots.at(2))},
    )


@CLAIMS.theorem(
    "an-ordered-batch-keeps-its-depths",
    "Dealing depths that never increase, such as those of an ordered canonical batch or any chunk of it, changes none.",
)
def an_ordered_batch_keeps_its_depths(world: World) -> Goal:
    batch, given = _ordered_chunk(world)
    p, p_given = _position("p", batch.n)
    own = batch.ks.at(p)
    up_to_p, before_p = below(p + 1), below(p)
    at_least, deeper = model.at_least(batch.ks, own), model.at_least(batch.ks, own + 1)
    world.use(SPANS, up_to_p, z3.IntVal(0), p + 1, batch.n)
    world.use(SPANS, before_p, z3.IntVal(0), p, batch.n)
    world.use(GROWS, up_to_p, at_least, NO_EXTRA, batch.n)
    world.use(GROWS, deeper, before_p, NO_EXTRA, batch.n)
    for v in (own, own + 1):
        world.use(DEALT_BY_RANK, batch.ks, batch.depths, v, p)
    return Goal(
        given={**given, **p_given},
        show=batch.depths.at(p) == own,
        witnesses={"depths differ": z3.And(batch.n == 3, batch.ks.at(0) > batch.ks.at(2))},
    )


@CLAIMS.theorem(
    "a-chunk-of-an-ordered-batch-is-ordered",
    "In any contiguous chunk of an ordered canonical batch slots never decrease and depths never increase.",
)
def a_chunk_of_an_ordered_batch_is_ordered(world: World) -> Goal:
    batch = any_batch(world, canonical=True)
    start, length = z3.Int("chunk_start"), z3.Int("chunk_length")
    (p, p_given), (q, q_given) = _position("p", length), _position("q", length)
    first, second = start + p, start + q
    world.use(POSITION_RISES, batch, batch.order.at(second), batch.order.at(first))
    for position in (first, second):
        world.use(DEALT_BY_RANK, batch.ks, batch.depths, batch.depths.at(second), position)
    return Goal(
        given={
            **batch.given,
            "the chunk lies in the batch": z3.And(0 <= start, 0 <= length, start + length <= batch.n),
            **p_given,
            **q_given,
            "p is earlier": p < q,
        },
        show=z3.And(batch.slot_at(first) <= batch.slot_at(second), batch.depths.at(first) >= batch.depths.at(second)),
        witnesses={"it starts later": start > 0},
    )


@CLAIMS.theorem("uniform-depths-make-the-arms-equal", "If all members have one depth, both arms give the same order and depths.")
def uniform_depths_make_the_arms_equal(world: World) -> Goal:
    slots, ks, depth = world.some(WORDS, "slots"), world.some(WORDS, "ks"), z3.Int("depth")
    arms, given = [], {}
    for arm in (True, False):
        result, ordered = world.answer(f"arm{arm}", "verify_batch_order", slots, ks, z3.BoolVal(arm))
        arms.append(Batch(slots=slots, ks=ks, canonical=z3.BoolVal(arm), result=result, given={}))
        given[f"the batch in the {'canonical' if arm else 'other'} arm"] = ordered
    canonical, other = arms
    n = slots.length
    p, p_given = _position("p", n)
    mine, theirs = canonical.order.at(p), other.order.at(p)
    for fewer, more in ((canonical, other), (other, canonical)):
        world.use(GROWS, fewer.count_ahead(theirs), more.count_ahead(theirs), NO_EXTRA, n)
    world.use(POSITION_RISES, canonical, mine, theirs)
    world.use(POSITION_RISES, canonical, theirs, mine)
    for v in (depth, depth + 1):
        world.use(DEALT_BY_RANK, ks, canonical.depths, v, p)
    none, all_of_them = model.at_least(ks, depth + 1), model.at_least(ks, depth)
    world.use(SPANS, none, z3.IntVal(0), z3.IntVal(0), n)
    world.use(SPANS, all_of_them, z3.IntVal(0), n, n)
    return Goal(
        given={
            **given,
            "lengths are equal": slots.length == ks.length,
            "all depths are one": every("i", 0, n, lambda i: ks.at(i) == depth),
            **p_given,
        },
        show=z3.And(mine == theirs, canonical.depths.at(p) == other.depths.at(p)),
        witnesses={"it moves a member": mine != p},
    )


@CLAIMS.boundary("the-arms-always-agree", "Both arms give the same order, whatever the depths.", size=2)
def the_arms_always_agree(world: World) -> Goal:
    slots, ks = world.some(WORDS, "slots"), world.some(WORDS, "ks")
    canonical, first = world.answer("canonical_arm", "verify_batch_permutation", slots, ks, z3.BoolVal(True))
    other, second = world.answer("other_arm", "verify_batch_permutation", slots, ks, z3.BoolVal(False))
    p, given = _position("p", slots.length)
    return Goal(
        given={"the canonical order": first, "the other": second, "lengths are equal": slots.length == ks.length, **given},
        show=canonical.value.at(p) == other.value.at(p),
    )
