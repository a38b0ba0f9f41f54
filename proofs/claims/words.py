"""The claims about machine arithmetic told again in 64-bit bit-vectors.

*Claim.* When a debug build panics, exactly; what a build that wraps still keeps, and what it does not: word for word what
`store`, `append`, `carry`, `gate` and `key` claim with integers.

*Assumptions.* A4 and A2 where the claims that are told again have them.

*Argument.* Another theory and another text (`spec.words`), the same English and, fault for fault, the same faults refuted
(`proofs.faults.words`). These are confirmations, asked by `prove --full`. What neither solver finishes says why, and counts for
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

from proofs.claims import append, carry, gate, store
from proofs.claims.system import CLAIMS as SYSTEM
from proofs.obligation import Build, Confirmation, Goal, Kind, Obligation, Register, Variant, World
from spec.machine import SIZE, Profile
from spec.scope import bound
from spec.sorts import FLAG, Maybe, Outcome, Record
from spec.words import (
    BITS,
    ROWS,
    STAMP,
    WIDTH,
    WORD_RULES,
    adopted,
    contains,
    high,
    low,
    packed,
    product,
    read_digit,
    wide,
    word,
)

CLAIMS = Register("words")

_WORDS: dict[str, Any] = {"theory": "bv64", "rules": WORD_RULES}
_INTEGERS = {o.id: o for register in (store.CLAIMS, append.CLAIMS, carry.CLAIMS, gate.CLAIMS, SYSTEM) for o in register}
LARGEST = SIZE - 1


def _again(name: str) -> Callable[[Build], Build]:
    """Registers the decorated claim as what the obligation `name` says, in bit-vectors."""
    told = _INTEGERS[name]
    make = CLAIMS.theorem if told.kind is Kind.THEOREM else CLAIMS.boundary
    return make(name.split("/", 1)[1], f"{told.claim} Told in bit-vectors.", assumes=told.assumes, **_WORDS)


def _theorem(name: str, claim: str) -> Callable[[Build], Build]:
    return CLAIMS.theorem(name, f"{claim} Told in bit-vectors.", **_WORDS)


# The hidden store.


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Any use of stamped_merge, or of merge_interval, by which the stamp and the writer mean nothing."""

    before: Record
    gen: z3.BitVecRef
    start: z3.BitVecRef
    count: z3.BitVecRef
    after: Outcome
    merged: z3.BoolRef

    @property
    def given(self) -> dict[str, z3.BoolRef]:
        return {"after is the merge": self.merged, "the write does not overflow": z3.Not(self.after.panics)}

    def wrote(self, row: z3.BitVecRef) -> z3.BoolRef:
        """The row is one of those written, where the end does not wrap."""
        return z3.And(z3.UGE(row, self.start), z3.ULT(row, self.start + self.count))


def _merge(world: World, rule: str = "merge_interval", profile: Profile = Profile.DEBUG) -> Merge:
    stamped = rule == "stamped_merge"
    before, gen = world.some(STAMP if stamped else ROWS, "before"), world.some(BITS, "writer_gen")
    start, count = world.some(BITS, "start"), world.some(BITS, "count")
    arguments = (before, gen, start, count) if stamped else (before, start, count)
    after, merged = world.answer("after", rule, *arguments, profile=profile)
    return Merge(before=before, gen=gen, start=start, count=count, after=after, merged=merged)


def _row(world: World) -> z3.BitVecRef:
    row: z3.BitVecRef = world.some(BITS, "row")
    return row


def _does_not_fit(left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BoolRef:
    """The sum needs one bit more."""
    total = wide(left, WIDTH + 1) + wide(right, WIDTH + 1)
    return z3.Extract(WIDTH, WIDTH, total) == 1


@_again("store/a-merge-overflows-exactly-when-its-end-does")
def a_merge_overflows_exactly_when_its_end_does(world: World) -> Goal:
    plain = _merge(world)
    stamp = Record(fields={"owner": world.some(BITS, "owner"), "lo": plain.before.lo, "hi": plain.before.hi})
    stamped, merged = world.answer("stamped_after", "stamped_merge", stamp, plain.gen, plain.start, plain.count)
    too_far = _does_not_fit(plain.start, plain.count)
    return Goal(
        given={"the plain merge": plain.merged, "the stamped merge": merged},
        show=z3.And(plain.after.panics == too_far, stamped.panics == too_far),
        witnesses={"it overflows": too_far, "it ends at the last address": plain.start + plain.count == LARGEST},
    )


@_again("store/merge-claims-only-written-rows")
def merge_claims_only_written_rows(world: World) -> Goal:
    merge, row = _merge(world), _row(world)
    return Goal(
        given={**merge.given, "row is claimed": contains(merge.after.value, row)},
        show=z3.Or(contains(merge.before, row), merge.wrote(row)),
        witnesses={"the merge replaces": z3.UGT(merge.start, merge.before.hi)},
    )


@_again("store/touching-chunks-are-kept-whole")
def touching_chunks_are_kept_whole(world: World) -> Goal:
    merge, row = _merge(world), _row(world)
    touches = z3.And(z3.ULE(merge.start, merge.before.hi), z3.ULE(merge.before.lo, merge.start + merge.count))
    return Goal(
        given={
            **merge.given,
            "before is occupied": z3.ULT(merge.before.lo, merge.before.hi),
            "the write leaves no gap": touches,
            "row is claimed or written": z3.Or(contains(merge.before, row), merge.wrote(row)),
        },
        show=contains(merge.after.value, row),
        witnesses={"the chunk abuts": z3.And(merge.start == merge.before.hi, merge.wrote(row))},
    )


@_again("store/a-write-is-always-claimed")
def a_write_is_always_claimed(world: World) -> Goal:
    merge, row = _merge(world, "stamped_merge"), _row(world)
    return Goal(
        given={**merge.given, "row is written": merge.wrote(row)},
        show=contains(merge.after.value, row),
        witnesses={"the owner writes": z3.And(merge.gen != 0, merge.before.owner == merge.gen)},
    )


@_again("store/a-foreign-interval-is-never-extended")
def a_foreign_interval_is_never_extended(world: World) -> Goal:
    merge = _merge(world, "stamped_merge")
    after = merge.after.value
    return Goal(
        given={**merge.given, "the range is foreign or unclaimed": z3.Or(merge.before.owner != merge.gen, merge.gen == 0)},
        show=z3.And(after.lo == merge.start, after.hi == merge.start + merge.count),
        witnesses={"a foreign range is touched": z3.And(merge.before.owner != 0, contains(merge.before, merge.start))},
    )


@_again("store/the-writer-owns-the-result")
def the_writer_owns_the_result(world: World) -> Goal:
    merge = _merge(world, "stamped_merge")
    return Goal(
        given=merge.given,
        show=merge.after.value.owner == merge.gen,
        witnesses={"it changes hands": merge.before.owner != merge.gen},
    )


@_again("store/an-overflowing-merge-claims-nothing-new")
def an_overflowing_merge_claims_nothing_new(world: World) -> Goal:
    merge, row = _merge(world, profile=Profile.RELEASE), _row(world)
    return Goal(
        given={
            "after is the wrapping merge": merge.merged,
            "the end wraps": _does_not_fit(merge.start, merge.count),
            "row is claimed": contains(merge.after.value, row),
        },
        show=contains(merge.before, row),
        witnesses={"a row stays claimed": z3.BoolVal(True)},
    )


def _sight(world: World, reader: z3.BitVecRef) -> tuple[Record, Record, z3.BoolRef]:
    stamp = world.some(STAMP, "stamp")
    seen, sees = world.answer("seen", "visible_to", stamp, reader)
    return stamp, seen, sees


@_again("store/a-reader-sees-only-rows-it-wrote")
def a_reader_sees_only_rows_it_wrote(world: World) -> Goal:
    reader, row = world.some(BITS, "reader_gen"), _row(world)
    stamp, seen, sees = _sight(world, reader)
    return Goal(
        given={"seen is what the reader sees": sees, "row is seen": contains(seen, row)},
        show=z3.And(stamp.owner == reader, contains(stamp, row)),
        witnesses={"something is seen": z3.BoolVal(True)},
    )


@_again("store/generation-zero-sees-nothing")
def generation_zero_sees_nothing(world: World) -> Goal:
    stamp, seen, sees = _sight(world, word(0))
    return Goal(
        given={"seen is what generation 0 sees": sees},
        show=z3.And(seen.lo == 0, seen.hi == 0),
        witnesses={"the range is unclaimed but not empty": z3.And(stamp.owner == 0, z3.ULT(stamp.lo, stamp.hi))},
    )


@_again("store/an-owner-sees-its-whole-range")
def an_owner_sees_its_whole_range(world: World) -> Goal:
    reader = world.some(BITS, "reader_gen")
    stamp, seen, sees = _sight(world, reader)
    return Goal(
        given={"seen is what the reader sees": sees, "the reader owns it": z3.And(reader != 0, stamp.owner == reader)},
        show=z3.And(seen.lo == stamp.lo, seen.hi == stamp.hi),
        witnesses={"there is something to see": z3.ULT(stamp.lo, stamp.hi)},
    )


@_again("store/an-address-overflows-exactly-when-it-does-not-fit")
def an_address_overflows_exactly_when_it_does_not_fit(world: World) -> Goal:
    base, pos, size = (world.some(BITS, name) for name in ("base", "pos", "hidden_size"))
    at, given = world.answer("at", "hidden_row_offset", base, pos, size)
    # Wide enough for every value on the way.
    whole = 2 * WIDTH + 2
    address = wide(base, whole) + 2 * wide(product(pos, size), whole)
    does_not_fit = z3.Extract(whole - 1, WIDTH, address) != 0
    return Goal(
        # A model with a product of two unknown words is beyond the solvers; one factor is enough to be unknown.
        given={"the row's address": given} | ({} if bound() is None else {"a bounded telling has few rows": z3.ULT(pos, 8)}),
        show=z3.And(at.panics == does_not_fit, z3.Or(at.panics, wide(at.value, whole) == address)),
        witnesses={
            "it does not fit": z3.And(does_not_fit, high(product(pos, size)) == 0),
            "it fits": z3.And(z3.Not(does_not_fit), low(product(pos, size)) != 0),
        },
    )


# The append.


@dataclass(frozen=True, kw_only=True)
class Append:
    """Any use of plan_append."""

    last: z3.BitVecRef
    prompt_len: z3.BitVecRef
    lo: z3.BitVecRef
    hi: z3.BitVecRef
    outcome: Outcome
    given: dict[str, z3.BoolRef]

    @property
    def plan(self) -> Maybe:
        plan: Maybe = self.outcome.value
        return plan

    @property
    def newest(self) -> z3.BitVecRef:
        """The prompt's last key, where it has keys."""
        return self.prompt_len - 2

    def plans(self, key: z3.BitVecRef) -> z3.BoolRef:
        """The key is planned."""
        first, count = self.plan.value.first_key, self.plan.value.rows
        return z3.And(z3.Not(self.outcome.panics), self.plan.present, z3.UGE(key, first), z3.ULT(key, first + count))


def _append(world: World, profile: Profile = Profile.DEBUG) -> Append:
    last, prompt_len, lo, hi = (world.some(BITS, name) for name in ("last_pair_key", "prompt_len", "hidden_lo", "hidden_hi"))
    outcome, given = world.answer("outcome", "plan_append", last, prompt_len, lo, hi, profile=profile)
    return Append(last=last, prompt_len=prompt_len, lo=lo, hi=hi, outcome=outcome, given={"outcome is the plan": given})


@_again("append/planned-keys-are-new")
def planned_keys_are_new(world: World) -> Goal:
    append, key = _append(world), world.some(BITS, "key")
    return Goal(
        given={**append.given, "the key is planned": append.plans(key)},
        show=z3.UGT(key, append.last),
        witnesses={"several": z3.UGT(append.plan.value.rows, 1)},
    )


@_again("append/planned-keys-read-readable-rows")
def planned_keys_read_readable_rows(world: World) -> Goal:
    append, key = _append(world), world.some(BITS, "key")
    return Goal(
        given={**append.given, "the key is planned": append.plans(key)},
        show=z3.And(z3.ULE(append.lo, key), z3.ULT(key, append.hi)),
        witnesses={"the store starts later": z3.UGT(append.lo, append.last + 1)},
    )


@_again("append/a-plan-exists-exactly-if-the-last-key-is-new-and-readable")
def a_plan_exists_exactly_if_the_last_key_is_new_and_readable(world: World) -> Goal:
    append = _append(world)
    newest = append.newest
    readable = z3.And(z3.ULE(append.lo, newest), z3.ULT(newest, append.hi))
    return Goal(
        given={**append.given, "there is a next key": append.last != LARGEST},
        show=append.plan.present == z3.And(z3.UGE(append.prompt_len, 2), z3.UGT(newest, append.last), readable),
        witnesses={"all is there": append.plan.present, "nothing is new": z3.And(newest == append.last, readable)},
    )


@_again("append/panics-exactly-if-there-is-no-next-key")
def panics_exactly_if_there_is_no_next_key(world: World) -> Goal:
    append = _append(world)
    return Goal(
        given=append.given,
        show=append.outcome.panics == z3.And(z3.UGE(append.prompt_len, 2), append.last == LARGEST),
        witnesses={"it panics": append.outcome.panics, "there is no key": z3.And(append.last == LARGEST, append.prompt_len == 1)},
    )


@_again("append/a-plan-never-leaves-64-bits")
def a_plan_never_leaves_64_bits(world: World) -> Goal:
    append = _append(world)
    first, count = append.plan.value.first_key, append.plan.value.rows
    return Goal(
        given={**append.given, "there is a next key": append.last != LARGEST},
        show=z3.And(z3.Not(append.outcome.panics), z3.Implies(append.plan.present, z3.Not(_does_not_fit(first, count)))),
        witnesses={"the longest prompt": z3.And(append.prompt_len == LARGEST, append.plan.present)},
    )


@_again("append/planned-keys-are-new-in-release")
def planned_keys_are_new_in_release(world: World) -> Goal:
    append, key = _append(world, Profile.RELEASE), world.some(BITS, "key")
    return Goal(given={**append.given, "the key is planned": append.plans(key)}, show=z3.UGT(key, append.last))


# What has arithmetic and no rule of its own in this theory.


@_again("carry/adoption-never-leaves-64-bits")
def adoption_never_leaves_64_bits(world: World) -> Goal:
    rows, last, common = (world.some(BITS, name) for name in ("rows", "last_pair_key", "common"))
    kept = adopted(rows, last, common)
    key, left = kept.value.last_pair_key, kept.value.rows
    differences = ((common, word(2)), (last, key), (rows, last - key))
    exact = z3.And(*(z3.Not(_borrows(*each)) for each in differences), left == rows - (last - key), left != 0)
    return Goal(
        given={"a key can survive": z3.UGE(common, 2), "some rows are left": kept.present},
        show=exact,
        variants={
            "words/adoption: too little agrees": Variant(without=("a key can survive",), show=exact),
            "words/adoption: no row is left": Variant(without=("some rows are left",), show=exact),
        },
        witnesses={"the largest key and the most rows": z3.And(last == LARGEST, rows == LARGEST)},
    )


@_again("gate/canonical-exactly-if-clear-and-wide-enough")
def canonical_exactly_if_clear_and_wide_enough(world: World) -> Goal:
    n, least, clear = world.some(BITS, "n"), world.some(BITS, "min_width"), world.some(FLAG, "kill_switch_clear")
    canonical, given = world.answer("canonical", "canonical_assignment_at", n, least, clear)
    return Goal(
        given={"canonical is the answer": given},
        show=canonical == z3.And(clear, z3.Not(_borrows(n, least))),
        witnesses={"just wide enough": z3.And(canonical, n == least, n != 0)},
    )


def _borrows(left: z3.BitVecRef, right: z3.BitVecRef) -> z3.BoolRef:
    """The difference is negative, in one bit more."""
    return z3.Extract(WIDTH, WIDTH, wide(left, WIDTH + 1) - wide(right, WIDTH + 1)) == 1


@_theorem(
    "reading-a-digit-overflows-exactly-when-the-number-does-not-fit",
    "Ten times a number and a digit overflow a word if and only if the number is above 1844674407370955161, or is that and the "
    "digit above 5.",
)
def reading_a_digit_overflows_exactly_when_the_number_does_not_fit(world: World) -> Goal:
    number, digit = world.some(BITS, "number"), world.some(BITS, "digit")
    step = read_digit(number, digit)
    tenth, rest = divmod(LARGEST, 10)
    too_large = z3.Or(z3.UGT(number, tenth), z3.And(number == tenth, z3.UGT(digit, rest)))
    return Goal(
        given={"it is a digit": z3.ULE(digit, 9)},
        show=step.panics == too_large,
        variants={
            "words/digit: any word is read": Variant(without=("it is a digit",), show=step.panics == too_large),
            "words/digit: adding it is not checked": Variant(without=(), show=z3.UGT(number, tenth) == too_large),
        },
        witnesses={"the largest number": z3.And(number == tenth, digit == rest)},
    )


@_theorem(
    "a-packed-word-is-told-apart-exactly-if-nothing-is-lost",
    "Packing to 32 bits keeps a word if and only if it fits, and tells any two that fit apart.",
)
def a_packed_word_is_told_apart_exactly_if_nothing_is_lost(world: World) -> Goal:
    one, other = world.some(BITS, "one"), world.some(BITS, "other")
    fits = z3.And([z3.ULT(each, 2**32) for each in (one, other)])
    kept = z3.And([wide(packed(each), WIDTH) == each for each in (one, other)])
    narrow = z3.And([wide(z3.Extract(15, 0, each), WIDTH) == each for each in (one, other)])
    apart = z3.Implies(z3.And(fits, packed(one) == packed(other)), one == other)
    return Goal(
        show=z3.And(kept == fits, apart),
        variants={"words/packing: 16 bits are kept": Variant(without=(), show=z3.And(narrow == fits, apart))},
        witnesses={"a slot that is absent does not fit": z3.And(one == LARGEST, packed(one) == 2**32 - 1)},
    )


@_again("system/slots-are-told-apart-beyond-32-bits")
def slots_are_told_apart_beyond_32_bits(world: World) -> Goal:
    one, other = world.some(BITS, "one"), world.some(BITS, "other")
    return Goal(given={"the slots differ": one != other}, show=packed(one) != packed(other))


@_theorem(
    "a-total-of-rows-never-wraps",
    "Of fewer than 2^32 members with depths below 2^32 the total of rows never leaves 64 bits: if that of some members is at most "
    "their number times 2^32 - 1, so is it with one more, and the sum does not carry.",
)
def a_total_of_rows_never_wraps(world: World) -> Goal:
    total, members, depth = (world.some(BITS, name) for name in ("total", "members", "depth"))

    def most(count: z3.BitVecRef) -> z3.BitVecRef:
        return (count << 32) - count

    given = {
        "there are fewer than 2^32 members, one more among them": z3.ULT(members, 2**32 - 1),
        "a depth fits 32 bits": z3.ULT(depth, 2**32),
        "the total so far is at most what so many members have": z3.ULE(total, most(members)),
    }
    bounded = z3.And(z3.Not(_does_not_fit(total, depth)), z3.ULE(total + depth, most(members + 1)))
    return Goal(
        given=given,
        show=bounded,
        variants={f"words/total: it is not so that {name}": Variant(without=(name,), show=bounded) for name in given},
        witnesses={"as much as can be": z3.And(total == most(members), members == 2**32 - 2, depth == 2**32 - 1)},
    )


# What does not finish.


def _unfinished(confirms: str, name: str, claim: str, why: str, build: Build) -> Confirmation:
    told = Obligation(id=f"words/{name}", claim=claim, kind=Kind.THEOREM, build=build, **_WORDS)
    return Confirmation(told=told, confirms=confirms, unfinished=why)


def _rows_lie_apart(world: World) -> Goal:
    base, first, second, size = (world.some(BITS, name) for name in ("base", "first_pos", "second_pos", "hidden_size"))
    first_at, first_given = world.answer("first_at", "hidden_row_offset", base, first, size)
    second_at, second_given = world.answer("second_at", "hidden_row_offset", base, second, size)
    return Goal(
        given={
            "the first row's address": first_given,
            "the second row's address": second_given,
            "neither overflows": z3.And(z3.Not(first_at.panics), z3.Not(second_at.panics)),
            "the first row is before the second": z3.ULT(first, second),
        },
        show=z3.ULE(size + size, second_at.value - first_at.value),
    )


def _sums_are_alike(world: World) -> Goal:
    start, count = world.some(BITS, "start"), world.some(BITS, "count")
    whole = z3.BV2Int(start) + z3.BV2Int(count)
    return Goal(show=z3.BV2Int(start + count) == z3.If(whole >= SIZE, whole - SIZE, whole))


_UNFINISHED = (
    _unfinished(
        "store/rows-lie-apart-in-memory",
        "rows-lie-apart-in-memory",
        f"{_INTEGERS['store/rows-lie-apart-in-memory'].claim} Told in bit-vectors.",
        "products of unknown words have to be compared, bit by bit",
        _rows_lie_apart,
    ),
    _unfinished(
        "store/merge_interval-answers-every-input-in-release",
        "sums-of-words-are-sums-of-numbers",
        "The sum of two words, read as a number, is the sum of the numbers, less 2^64 where it does not fit.",
        "a word read as a number is a sum of 64 powers of two",
        _sums_are_alike,
    ),
)


def _confirmed(told: Obligation) -> str:
    """The obligation of the same name in the other theory, if there is one."""
    return next((name for name in _INTEGERS if name.split("/", 1)[1] == told.id.split("/", 1)[1]), "")


CONFIRMATIONS: tuple[Confirmation, ...] = (*(Confirmation(told=o, confirms=_confirmed(o)) for o in CLAIMS), *_UNFINISHED)
"""What is told in bit-vectors, and at the end what does not finish."""
