"""Claims about the CUDA-graph key of a verify batch.

*Claim.* Two captures share a key if and only if they bake the same: slot and depth at every position, and whether there are WY
tables. In the canonical arm that is the case if and only if the batches have the same slots, the same depths (each as often)
and the same tables, in whatever arrangement.

*Assumptions.* None here. That a capture bakes what slots, depths and tables say alone (A6), and that these fit 32 bits (A7), is
assumed where captures are shared, in `proofs.claims.system`.

*Argument.* The key lists what is baked, so nothing is lost. A canonical order is determined by how many slots are at most v, and
the depths along it by how many are at least v, for every v; equal keys give equal counts and equal counts equal keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import z3

from proofs.claims.counting import GROWS, NO_EXTRA, PERMUTED, SPANS, SPLITS, along
from proofs.claims.order import (
    AS_MANY_REACH,
    DEALT_BY_RANK,
    ORDER_INVERTS,
    Batch,
    Members,
    any_batch,
    any_members,
    at_most,
    exactly,
)
from proofs.obligation import Goal, Register, World
from spec import order as model
from spec.key import TABLES_PRESENT
from spec.machine import SIZE
from spec.scope import Count, Index, every, within
from spec.sorts import FLAG, KEY, PAIRS, WORDS, Record, Seq

CLAIMS = Register("key")


def _pairs(batch: Batch, name: str) -> Seq:
    """Slot and depth of each position of an ordered batch."""
    return Seq(
        name=name,
        length=batch.n,
        at=lambda p: Record(fields={"slot": batch.slot_at(p), "k": batch.depths.at(p)}),
    )


def _fits(values: Seq) -> z3.BoolRef:
    """All values fit the 32 bits of a key word."""
    return every("i", 0, values.length, lambda i: values.at(i) <= TABLES_PRESENT)


def _same_baked(one: Seq, two: Seq) -> z3.BoolRef:
    """Slot and depth are the same at every position."""

    def alike(p: z3.ArithRef) -> z3.BoolRef:
        return z3.And(one.at(p).slot == two.at(p).slot, one.at(p).k == two.at(p).k)

    return z3.And(one.length == two.length, every("p", 0, one.length, alike))


def _same_words(one: Seq, two: Seq, pairs: Seq, p: z3.ArithRef, word: z3.ArithRef) -> z3.BoolRef:
    """Two keys are equal at both words of position p, which tell its slot and depth, and at the last; there are no others."""
    told = {2 * p: pairs.at(p).slot, 2 * p + 1: pairs.at(p).k}
    both = z3.And([z3.And(one.at(at) == part, two.at(at) == part) for at, part in told.items()])
    last = 2 * pairs.length
    of_p = z3.And(within(2 * p, word, 2 * p + 2), within(0, word, one.length))
    covered = z3.Implies(of_p, z3.Or(within(0, p, pairs.length), word == last))
    return z3.And(one.length == two.length, one.at(last) == two.at(last), z3.Implies(within(0, p, pairs.length), both), covered)


@CLAIMS.theorem(
    "equal-keys-bake-the-same",
    "Equal keys have the same slot and the same depth at every position, hence the same runs, and the same tables.",
)
def equal_keys_bake_the_same(world: World) -> Goal:
    one, two = world.some(PAIRS, "one"), world.some(PAIRS, "two")
    null_one, null_two = world.some(FLAG, "null_one"), world.some(FLAG, "null_two")
    key_one, first = world.answer("key_one", "verify_graph_key", one, null_one)
    key_two, second = world.answer("key_two", "verify_graph_key", two, null_two)
    p = z3.Int("p")
    return Goal(
        given={
            "key one is the key": first,
            "key two is the key": second,
            "the keys are equal": KEY.same(key_one, key_two),
            "p is a position": within(0, p, one.length),
        },
        show=z3.And(
            one.length == two.length,
            one.at(p).slot == two.at(p).slot,
            one.at(p).k == two.at(p).k,
            null_one == null_two,
        ),
        witnesses={"several positions": one.length == 3},
    )


@CLAIMS.theorem(
    "the-same-baked-gives-equal-keys",
    "Batches with the same slots, depths and tables at every position have one key, word for word.",
)
def the_same_baked_gives_equal_keys(world: World) -> Goal:
    one, two, null = world.some(PAIRS, "one"), world.some(PAIRS, "two"), world.some(FLAG, "null")
    key_one, first = world.answer("key_one", "verify_graph_key", one, null)
    key_two, second = world.answer("key_two", "verify_graph_key", two, null)
    word, p = z3.Int("word"), z3.Int("p")
    return Goal(
        given={
            "key one is the key": first,
            "key two is the key": second,
            "the same is baked": _same_baked(one, two),
        },
        show=_same_words(key_one, key_two, one, p, word),
        witnesses={"several positions": one.length == 3},
    )


@CLAIMS.theorem(
    "a-key-has-two-words-a-member-and-one",
    "A key is 2n + 1 words; the last is 2^32-1 with WY tables and one less without, so tables never share a key.",
)
def a_key_has_two_words_a_member_and_one(world: World) -> Goal:
    pairs, null = world.some(PAIRS, "pairs"), world.some(FLAG, "null")
    key, given = world.answer("key", "verify_graph_key", pairs, null)
    last = key.at(2 * pairs.length)
    return Goal(
        given={"key is the key": given},
        show=z3.And(
            key.length == 2 * pairs.length + 1,
            within(TABLES_PRESENT - 1, last, TABLES_PRESENT + 1),
            (last == TABLES_PRESENT) == z3.Not(null),
        ),
        witnesses={"without tables": null, "with tables": z3.Not(null)},
    )


@CLAIMS.theorem(
    "verify_graph_key-answers-every-input",
    "A key is allowed for every batch: even words tell slots, odd ones depths, and the last whether there are tables.",
)
def verify_graph_key_answers_every_input(world: World) -> Goal:
    pairs, null = world.some(PAIRS, "pairs"), world.some(FLAG, "null")
    count = 2 * pairs.length + 1

    def word(at: Index) -> z3.ArithRef:
        index = z3.IntVal(at) if isinstance(at, int) else at
        pair = pairs.at(index / 2)
        told = z3.If(index % 2 == 0, pair.slot, pair.k)
        return z3.If(index == count - 1, z3.If(null, TABLES_PRESENT - 1, TABLES_PRESENT), told)

    key = Seq(name="key", length=count, at=word)
    allowed = world.rule("verify_graph_key", pairs, null, result=key)
    return Goal(
        given={"the key has a length": count < SIZE},
        show=z3.And(KEY.domain(key), allowed),
        witnesses={"without tables": z3.And(pairs.length == 3, null), "an empty batch": pairs.length == 0},
    )


@CLAIMS.theorem("verify_graph_key-has-one-answer", "Two keys of one batch are the same key.")
def verify_graph_key_has_one_answer(world: World) -> Goal:
    pairs, null = world.some(PAIRS, "pairs"), world.some(FLAG, "null")
    one, first = world.answer("one", "verify_graph_key", pairs, null)
    two, second = world.answer("two", "verify_graph_key", pairs, null)
    word, p = z3.Int("word"), z3.Int("p")
    return Goal(
        given={
            "one is the key": first,
            "two is the key": second,
        },
        show=_same_words(one, two, pairs, p, word),
        witnesses={"several positions": pairs.length == 3},
    )


# Canonical keys.


def _slots_by_rank(members: Members, order: Seq, v: z3.ArithRef, p: z3.ArithRef) -> z3.BoolRef:
    """In the canonical arm position p has slot v or less if and only if more than p slots are v or less."""
    n = members.n
    placed = z3.And(members.canonical, model.places_members(members.slots, members.ks, members.canonical, order))
    more_than_p = p < at_most(members.slots, v).upto(n)
    return z3.Implies(z3.And(placed, within(0, p, n)), (members.slots.at(order.at(p)) <= v) == more_than_p)


@CLAIMS.lemma(
    "a-canonical-slot-is-its-rank",
    "In the canonical arm position p has slot v or less if and only if more than p slots are v or less.",
    states=_slots_by_rank,
)
def SLOT_BY_RANK(world: World) -> tuple[Members, Seq, z3.ArithRef, z3.ArithRef]:
    members, order, v, p = any_members(), WORDS.fresh("order"), z3.Int("v"), z3.Int("p")
    member, n = order.at(p), members.n
    low, before = at_most(members.slots, v), members.count_ahead(member)
    world.use(GROWS, before, low, member, n)
    world.use(GROWS, low, before, NO_EXTRA, n)
    return members, order, v, p


def _as_many_low_slots(members: Members, order: Seq, v: z3.ArithRef) -> z3.BoolRef:
    """As many positions as members have the slot v."""
    n = members.n
    placed = model.places_members(members.slots, members.ks, members.canonical, order)
    own = exactly(members.slots, v)
    return z3.Implies(z3.And(n >= 0, placed), along(own, order.at).upto(n) == own.upto(n))


@CLAIMS.lemma("the-order-keeps-every-slot", "As many positions as members have slot v, for every v.", states=_as_many_low_slots)
def SLOTS_KEPT(world: World) -> tuple[Members, Seq, z3.ArithRef]:
    members, order, v = any_members(), WORDS.fresh("order"), z3.Int("v")
    world.use(ORDER_INVERTS, members, order)
    world.use(PERMUTED, exactly(members.slots, v), order.at, members.position, members.n)
    return members, order, v


def _low_alike(one: Seq, two: Seq, n: z3.ArithRef, m: Index) -> z3.BoolRef:
    """If both have every value below m equally often, equally many are below m."""

    def often(v: z3.ArithRef) -> z3.BoolRef:
        return exactly(one, v).upto(n) == exactly(two, v).upto(n)

    natural = every("i", 0, n, lambda i: z3.And(one.at(i) >= 0, two.at(i) >= 0))
    given = z3.And(0 <= m, 0 <= n, natural, every("v", 0, m, often))
    return z3.Implies(given, _low(one, m).upto(n) == _low(two, m).upto(n))


def _low(values: Seq, m: Index) -> Count:
    """Counts the values below m."""
    return at_most(values, (z3.IntVal(m) if isinstance(m, int) else m) - 1)


@CLAIMS.induction(
    "values-that-occur-alike-are-as-often-low",
    "If two sequences have every value below m equally often, equally many of their values are below m.",
    states=_low_alike,
    folds=lambda one, two, n: (),
)
def LOW_ALIKE(world: World) -> tuple[Seq, Seq, z3.ArithRef]:
    one, two, n, m = WORDS.fresh("one"), WORDS.fresh("two"), z3.Int("n"), z3.Int("m")
    for values in (one, two):
        world.use(SPANS, _low(values, 0), z3.IntVal(0), z3.IntVal(0), n)
        world.use(SPLITS, _low(values, m + 1), _low(values, m), exactly(values, m), n)
    return one, two, n


def _high_alike(one: Seq, two: Seq, n: z3.ArithRef, v: z3.ArithRef) -> z3.BoolRef:
    """If both have equally many values below v, both have equally many of v or more."""
    low = _low(one, v).upto(n) == _low(two, v).upto(n)
    high = model.at_least(one, v).upto(n) == model.at_least(two, v).upto(n)
    return z3.Implies(z3.And(0 <= n, low), high)


def _all() -> Count:
    return Count(name="all", holds=lambda j: z3.BoolVal(True))


@CLAIMS.lemma(
    "values-as-often-low-are-as-often-high",
    "If equally many values of two sequences are below v, equally many are v or more.",
    states=_high_alike,
)
def HIGH_ALIKE(world: World) -> tuple[Seq, Seq, z3.ArithRef, z3.ArithRef]:
    one, two, n, v = WORDS.fresh("one"), WORDS.fresh("two"), z3.Int("n"), z3.Int("v")
    for values in (one, two):
        world.use(SPLITS, _all(), _low(values, v), model.at_least(values, v), n)
    return one, two, n, v


def _same_multiset(one: Seq, two: Seq) -> z3.BoolRef:
    """Every word occurs equally often in both sequences, which are of one length."""
    v = z3.Int("?v")
    often = z3.Implies(within(0, v, SIZE), exactly(one, v).upto(one.length) == exactly(two, v).upto(two.length))
    return z3.And(one.length == two.length, z3.ForAll([v], often))


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """A canonical batch with its key, and the hypotheses that make them so."""

    batch: Batch
    tables_null: z3.BoolRef
    key: Seq
    given: dict[str, z3.BoolRef]


def _keyed(world: World, name: str) -> Keyed:
    batch, null = any_batch(world, name, canonical=True), world.some(FLAG, f"{name}.null")
    key, is_key = world.answer(f"{name}.key", "verify_graph_key", _pairs(batch, f"{name}.pairs"), null)
    given = {
        **batch.given,
        f"slots of {name} fit 32 bits (A7)": _fits(batch.slots),
        f"depths of {name} fit 32 bits (A7)": z3.And(_fits(batch.ks), _fits(batch.depths)),
        f"{name}.key is its key": is_key,
    }
    return Keyed(batch=batch, tables_null=null, key=key, given=given)


@CLAIMS.theorem(
    "canonical-batches-alike-share-a-key",
    "Two canonical batches with the same slots, the same depths (each as often) and the same tables have one key.",
)
def canonical_batches_alike_share_a_key(world: World) -> Goal:
    first, second = _keyed(world, "one"), _keyed(world, "two")
    one, two = first.batch, second.batch
    word, p, odd, n = z3.Int("word"), z3.Int("p"), z3.Int("odd"), one.n
    for mine, other in ((one, two), (two, one)):
        slot, depth = mine.slot_at(p), mine.depths.at(p)
        world.use(LOW_ALIKE, one.slots, two.slots, n, slot + 1)
        world.use(LOW_ALIKE, one.ks, two.ks, n, depth)
        world.use(HIGH_ALIKE, one.ks, two.ks, n, depth)
        for batch in (mine, other):
            world.use(SLOT_BY_RANK, batch, batch.order, slot, p)
            world.use(DEALT_BY_RANK, batch.ks, batch.depths, depth, p)
    return Goal(
        given={
            **first.given,
            **second.given,
            "slots occur alike": _same_multiset(one.slots, two.slots),
            "depths occur alike": _same_multiset(one.ks, two.ks),
            "the tables are the same": first.tables_null == second.tables_null,
            "word is a word of the key": within(0, word, first.key.length),
            "a word is the first or second of a position": z3.And(word == 2 * p + odd, within(0, odd, 2)),
        },
        show=z3.And(first.key.length == second.key.length, first.key.at(word) == second.key.at(word)),
        witnesses={
            "the arrangements differ": z3.And(n == 2, one.slots.at(0) != two.slots.at(0), one.ks.at(0) != two.ks.at(0), p == 1)
        },
    )


@CLAIMS.theorem(
    "canonical-batches-that-share-a-key-are-alike",
    "Two canonical batches with one key have the same slots, the same depths (each as often) and the same tables.",
)
def canonical_batches_that_share_a_key_are_alike(world: World) -> Goal:
    first, second = _keyed(world, "one"), _keyed(world, "two")
    one, two = first.batch, second.batch
    v, n = z3.Int("v"), one.n
    for batch in (one, two):
        world.use(SLOTS_KEPT, batch, batch.order, v)
        for depth in (v, v + 1):
            world.use(AS_MANY_REACH, batch.ks, batch.depths, depth)
        world.use(SPLITS, model.at_least(batch.ks, v), model.at_least(batch.ks, v + 1), exactly(batch.ks, v), n)
    for mine, other in ((one, two), (two, one)):
        world.use(GROWS, *[along(exactly(batch.slots, v), batch.order.at) for batch in (mine, other)], NO_EXTRA, n)
        for depth in (v, v + 1):
            world.use(GROWS, *[model.at_least(batch.depths, depth) for batch in (mine, other)], NO_EXTRA, n)
    return Goal(
        given={
            **first.given,
            **second.given,
            "the keys are equal": KEY.same(first.key, second.key),
            "v is a word": within(0, v, SIZE),
        },
        show=z3.And(
            n == two.n,
            exactly(one.slots, v).upto(n) == exactly(two.slots, v).upto(n),
            exactly(one.ks, v).upto(n) == exactly(two.ks, v).upto(n),
            first.tables_null == second.tables_null,
        ),
        witnesses={"the arrangements differ": z3.And(n == 2, one.slots.at(0) != two.slots.at(0))},
    )


@CLAIMS.boundary(
    "the-other-arm-keys-by-multisets",
    "In the other arm too, batches with the same slots and depths share a key.",
    size=2,
    assumes=("A7",),
)
def the_other_arm_keys_by_multisets(world: World) -> Goal:
    one, two = any_batch(world, "one", canonical=False), any_batch(world, "two", canonical=False)
    p = z3.Int("p")
    return Goal(
        given={
            **one.given,
            **two.given,
            "the slots are the same": WORDS.same(one.slots, two.slots),
            "the depths are the same, the other way round": z3.And(
                one.n == 2, one.ks.at(0) == two.ks.at(1), one.ks.at(1) == two.ks.at(0)
            ),
            "p is a position": within(0, p, 2),
        },
        show=z3.And(one.slot_at(p) == two.slot_at(p), one.depths.at(p) == two.depths.at(p)),
    )
