"""Claims about the stamped hidden store.

*Claim.* A claim on rows never covers a row that the claiming sequence did not write; a reader is shown rows of its own
alone; and a sequence that writes without gaps keeps everything it wrote.

*Assumptions.* A2 (generations are unique and not 0) where ghost writers meet stamps; A4 (no overflow) where a write
ends.

*Argument.* An interval can grow only over a write that leaves no gap to it, so every row in the hull is in one of the
two. A stamp changes hands only by replacing the interval, so the rows under a stamp are all its owner's. The ghost
`writer` says who wrote a row last; it is an identity and never looks at a stamp.
"""

from __future__ import annotations

from collections.abc import Mapping

import z3

from proofs.obligation import Goal, Register, World
from proofs.pinning import ClosedForm, pin
from spec.machine import SIZE, Profile
from spec.sorts import INTERVAL, RANGE, USIZE, Outcome, Record
from spec.store import inside, interval, occupied

CLAIMS = Register("store")


def _write(world: World) -> tuple[z3.ArithRef, z3.ArithRef, Record]:
    """Any chunk: its start, its count, and its rows as they are without overflow."""
    start, count = world.some(USIZE, "start"), world.some(USIZE, "count")
    return start, count, interval(start, start + count)


def _any_row(world: World) -> z3.ArithRef:
    row: z3.ArithRef = world.some(USIZE, "row")
    return row


@CLAIMS.theorem(
    "merge-claims-only-written-rows",
    "After a merge every claimed row was claimed before or has just been written.",
    assumes=("A4",),
)
def merge_claims_only_written_rows(world: World) -> Goal:
    before = world.some(INTERVAL, "before")
    start, count, write = _write(world)
    after, merged = world.answer("after", "merge_interval", before, start, count)
    row = _any_row(world)
    return Goal(
        given={
            "after is the merge": merged,
            "the write does not overflow": z3.Not(after.panics),
            "row is claimed": inside(row, after.value),
        },
        show=z3.Or(inside(row, before), inside(row, write)),
        witnesses={
            "the merge extends": z3.And(occupied(before), count > 0, after.value.lo == before.lo, start > before.lo),
            "the merge replaces": z3.And(occupied(before), start > before.hi),
        },
    )


@CLAIMS.theorem(
    "touching-chunks-are-kept-whole",
    "A write that leaves no gap to an occupied interval loses nothing: all rows of both are claimed.",
    assumes=("A4",),
)
def touching_chunks_are_kept_whole(world: World) -> Goal:
    before = world.some(INTERVAL, "before")
    start, count, write = _write(world)
    after, merged = world.answer("after", "merge_interval", before, start, count)
    row = _any_row(world)
    return Goal(
        given={
            "after is the merge": merged,
            "the write does not overflow": z3.Not(after.panics),
            "before is occupied": occupied(before),
            "the write starts no later than before ends": start <= before.hi,
            "the write ends no earlier than before starts": before.lo <= write.hi,
            "row is claimed or written": z3.Or(inside(row, before), inside(row, write)),
        },
        show=inside(row, after.value),
        witnesses={"the chunk abuts": z3.And(start == before.hi, count > 0, inside(row, write))},
    )


@CLAIMS.theorem(
    "a-write-is-always-claimed",
    "After a merge, stamped or not, every row just written is claimed, whoever wrote it.",
    assumes=("A4",),
)
def a_write_is_always_claimed(world: World) -> Goal:
    before, gen = world.some(RANGE, "before"), world.some(USIZE, "writer_gen")
    start, count, write = _write(world)
    after, stamped = world.answer("after", "stamped_merge", before, gen, start, count)
    row = _any_row(world)
    return Goal(
        given={
            "after is the stamped merge": stamped,
            "the write does not overflow": z3.Not(after.panics),
            "row is written": inside(row, write),
        },
        show=inside(row, after.value),
        witnesses={
            "the owner writes": z3.And(gen != 0, before.owner == gen),
            "another writes": before.owner != gen,
        },
    )


@CLAIMS.theorem(
    "a-foreign-interval-is-never-extended",
    "A write by anyone but the owner, or into an unclaimed range, leaves exactly its own rows claimed.",
    assumes=("A4",),
)
def a_foreign_interval_is_never_extended(world: World) -> Goal:
    before, gen = world.some(RANGE, "before"), world.some(USIZE, "writer_gen")
    start, count, write = _write(world)
    after, stamped = world.answer("after", "stamped_merge", before, gen, start, count)
    return Goal(
        given={
            "after is the stamped merge": stamped,
            "the write does not overflow": z3.Not(after.panics),
            "the range is foreign or unclaimed": z3.Or(before.owner != gen, before.owner == 0),
        },
        show=z3.And(after.value.lo == write.lo, after.value.hi == write.hi),
        witnesses={
            "a foreign range is touched": z3.And(before.owner != 0, inside(start, before), count > 0),
            "an unclaimed range that is not empty": z3.And(before.owner == 0, gen == 0, occupied(before)),
        },
    )


@CLAIMS.theorem("the-writer-owns-the-result", "After a stamped merge the writer's generation owns the range.", assumes=("A4",))
def the_writer_owns_the_result(world: World) -> Goal:
    before, gen = world.some(RANGE, "before"), world.some(USIZE, "writer_gen")
    start, count, _ = _write(world)
    after, stamped = world.answer("after", "stamped_merge", before, gen, start, count)
    return Goal(
        given={"after is the stamped merge": stamped, "the write does not overflow": z3.Not(after.panics)},
        show=after.value.owner == gen,
        witnesses={"it changes hands": before.owner != gen},
    )


@CLAIMS.theorem(
    "an-owner-merges-like-an-interval",
    "For the owner of a range a stamped merge claims exactly what the plain merge claims.",
)
def an_owner_merges_like_an_interval(world: World) -> Goal:
    before, gen = world.some(RANGE, "before"), world.some(USIZE, "writer_gen")
    start, count, _ = _write(world)
    stamped_after, stamped = world.answer("stamped_after", "stamped_merge", before, gen, start, count)
    rows = interval(before.lo, before.hi)
    plain_after, plain = world.answer("plain_after", "merge_interval", rows, start, count)
    same_rows = z3.And(stamped_after.value.lo == plain_after.value.lo, stamped_after.value.hi == plain_after.value.hi)
    return Goal(
        given={
            "the stamped merge": stamped,
            "the plain merge": plain,
            "the writer owns the range": z3.And(gen != 0, before.owner == gen),
        },
        show=z3.And(stamped_after.panics == plain_after.panics, z3.Or(stamped_after.panics, same_rows)),
        witnesses={"it extends": z3.And(occupied(before), start == before.hi, count > 0, z3.Not(plain_after.panics))},
    )


def _writers(name: str) -> z3.FuncDeclRef:
    """A ghost: which sequence (by identity, not by generation) wrote a row last."""
    return z3.Function(name, z3.IntSort(), z3.IntSort())


@CLAIMS.theorem(
    "a-stamp-covers-rows-of-one-writer",
    "If the sequence whose generation is the stamp last wrote every claimed row, the same holds after any write.",
    assumes=("A2", "A4", "A5"),
)
def a_stamp_covers_rows_of_one_writer(world: World) -> Goal:
    before, after_writers = world.some(RANGE, "before"), _writers("writer_after")
    writers, generation = _writers("writer_before"), _writers("generation")
    writer, owner = z3.Int("writing_sequence"), z3.Int("owning_sequence")
    gen = world.some(USIZE, "writer_gen")
    start, count, write = _write(world)
    after, stamped = world.answer("after", "stamped_merge", before, gen, start, count)
    row = _any_row(world)
    return Goal(
        given={
            "after is the stamped merge": stamped,
            "the write does not overflow": z3.Not(after.panics),
            "the stamp is the owner's generation": z3.Implies(before.owner != 0, before.owner == generation(owner)),
            "the writer stamps its own generation": z3.And(gen == generation(writer), gen != 0),
            "generations are unique": z3.Implies(generation(owner) == generation(writer), owner == writer),
            "the row, if claimed before under a stamp, was the owner's": z3.Implies(
                z3.And(before.owner != 0, inside(row, before)), writers(row) == owner
            ),
            "the write changes the writer of its own rows alone": after_writers(row)
            == z3.If(inside(row, write), writer, writers(row)),
            "row is claimed": inside(row, after.value),
        },
        show=after_writers(row) == writer,
        witnesses={
            "the owner extends": z3.And(owner == writer, before.owner == gen, inside(row, before)),
            "another takes over": z3.And(owner != writer, before.owner != 0, occupied(before)),
        },
    )


@CLAIMS.theorem(
    "a-reader-sees-only-rows-it-wrote",
    "Every row visible to a generation is claimed under that very generation.",
)
def a_reader_sees_only_rows_it_wrote(world: World) -> Goal:
    stamp, reader = world.some(RANGE, "stamp"), world.some(USIZE, "reader_gen")
    seen, sees = world.answer("seen", "visible_to", stamp, reader)
    row = _any_row(world)
    return Goal(
        given={"seen is what the reader sees": sees, "row is seen": inside(row, seen)},
        show=z3.And(stamp.owner == reader, inside(row, stamp)),
        witnesses={"something is seen": z3.BoolVal(True)},
    )


@CLAIMS.theorem("generation-zero-sees-nothing", "Generation 0 is shown no row, even of a range that nobody claimed.")
def generation_zero_sees_nothing(world: World) -> Goal:
    stamp = world.some(RANGE, "stamp")
    seen, sees = world.answer("seen", "visible_to", stamp, z3.IntVal(0))
    return Goal(
        given={"seen is what generation 0 sees": sees},
        show=z3.And(seen.lo == 0, seen.hi == 0),
        witnesses={"the range is unclaimed but not empty": z3.And(stamp.owner == 0, occupied(stamp))},
    )


@CLAIMS.theorem("an-owner-sees-its-whole-range", "The owner of a range is shown all of it.")
def an_owner_sees_its_whole_range(world: World) -> Goal:
    stamp, reader = world.some(RANGE, "stamp"), world.some(USIZE, "reader_gen")
    seen, sees = world.answer("seen", "visible_to", stamp, reader)
    return Goal(
        given={"seen is what the reader sees": sees, "the reader owns it": z3.And(reader != 0, stamp.owner == reader)},
        show=z3.And(seen.lo == stamp.lo, seen.hi == stamp.hi),
        witnesses={"there is something to see": occupied(stamp)},
    )


@CLAIMS.theorem(
    "a-merge-overflows-exactly-when-its-end-does",
    "A merge, stamped or not, panics in a debug build if and only if start + count does not fit 64 bits.",
)
def a_merge_overflows_exactly_when_its_end_does(world: World) -> Goal:
    before, gen = world.some(RANGE, "before"), world.some(USIZE, "writer_gen")
    start, count, _ = _write(world)
    rows = interval(before.lo, before.hi)
    plain_after, plain = world.answer("plain_after", "merge_interval", rows, start, count)
    stamped_after, stamped = world.answer("stamped_after", "stamped_merge", before, gen, start, count)
    too_far = start + count >= SIZE
    return Goal(
        given={"the plain merge": plain, "the stamped merge": stamped},
        show=z3.And(plain_after.panics == too_far, stamped_after.panics == too_far),
        witnesses={"it overflows": too_far, "it ends at the last address": start + count == SIZE - 1},
    )


@CLAIMS.theorem(
    "an-overflowing-merge-claims-nothing-new",
    "In a release build a merge whose end wraps claims no row that was not claimed before.",
)
def an_overflowing_merge_claims_nothing_new(world: World) -> Goal:
    before = world.some(INTERVAL, "before")
    start, count, _ = _write(world)
    after, merged = world.answer("after", "merge_interval", before, start, count, profile=Profile.RELEASE)
    row = _any_row(world)
    return Goal(
        given={
            "after is the wrapping merge": merged,
            "the end wraps": start + count >= SIZE,
            "row is claimed": inside(row, after.value),
        },
        show=inside(row, before),
        witnesses={"a row stays claimed": z3.BoolVal(True)},
    )


@CLAIMS.theorem(
    "rows-lie-apart-in-memory",
    "Two different rows of one store share no byte, and no row reaches outside the store.",
    assumes=("A4",),
)
def rows_lie_apart_in_memory(world: World) -> Goal:
    base, size = world.some(USIZE, "base"), world.some(USIZE, "hidden_size")
    first, second = world.some(USIZE, "first_pos"), world.some(USIZE, "second_pos")
    first_at, first_given = world.answer("first_at", "hidden_row_offset", base, first, size)
    second_at, second_given = world.answer("second_at", "hidden_row_offset", base, second, size)
    # (second - first) * size in a form that is linear once the product is named.
    between = (second - first - 1) * size
    return Goal(
        given={
            "the first row's address": first_given,
            "the second row's address": second_given,
            "neither overflows": z3.And(z3.Not(first_at.panics), z3.Not(second_at.panics)),
            "the first row is before the second": first < second,
            "a product of numbers that are not negative is not negative": between >= 0,
        },
        show=first_at.value + 2 * size <= second_at.value,
        witnesses={"neighbours": z3.And(second == first + 1, size > 0)},
    )


@CLAIMS.theorem(
    "an-address-overflows-exactly-when-it-does-not-fit",
    "A row's address panics in a debug build if and only if base + 2 * pos * hidden_size does not fit 64 bits.",
)
def an_address_overflows_exactly_when_it_does_not_fit(world: World) -> Goal:
    base, pos, size = world.some(USIZE, "base"), world.some(USIZE, "pos"), world.some(USIZE, "hidden_size")
    at, given = world.answer("at", "hidden_row_offset", base, pos, size)
    address = base + 2 * (pos * size)
    return Goal(
        given={"the row's address": given, "the product is not negative": pos * size >= 0},
        show=z3.And(at.panics == (address >= SIZE), z3.Or(at.panics, at.value == address)),
        witnesses={"it does not fit": z3.And(address >= SIZE), "it fits": z3.And(address < SIZE, pos > 0, size > 0)},
    )


@CLAIMS.boundary(
    "an-empty-write-loses-nothing",
    "A write of no rows by the owner keeps the owner's claim.",
)
def an_empty_write_loses_nothing(world: World) -> Goal:
    before, gen, start = world.some(RANGE, "before"), world.some(USIZE, "writer_gen"), world.some(USIZE, "start")
    after, stamped = world.answer("after", "stamped_merge", before, gen, start, z3.IntVal(0))
    row = _any_row(world)
    return Goal(
        given={
            "after is the stamped merge of no rows": stamped,
            "the writer owns the range": z3.And(gen != 0, before.owner == gen),
            "row is claimed before": inside(row, before),
        },
        show=inside(row, after.value),
    )


# What each rule gives, as a computation.


def _visible(world: World, stamp: Record, reader_gen: z3.ArithRef) -> Record:
    own = z3.And(stamp.owner == reader_gen, reader_gen > 0)
    return interval(z3.If(own, stamp.lo, 0), z3.If(own, stamp.hi, 0))


def _visible_situations(seen: Record, stamp: Record, reader_gen: z3.ArithRef) -> Mapping[str, z3.BoolRef]:
    return {
        "the owner reads": occupied(seen),
        "another reads": z3.And(occupied(stamp), reader_gen != stamp.owner, reader_gen != 0),
        "nobody owns it and nobody reads": z3.And(occupied(stamp), reader_gen == 0, stamp.owner == 0),
    }


pin(CLAIMS, "visible_to", _visible, _visible_situations)


def _sum(profile: Profile, ideal: z3.ArithRef) -> tuple[z3.BoolRef, z3.ArithRef]:
    """Whether the build panics on this result, and what it computes otherwise."""
    if profile is Profile.RELEASE:
        return z3.BoolVal(False), ideal % SIZE
    return ideal > SIZE - 1, ideal


def _merged(cur: Record, start: z3.ArithRef, end: z3.ArithRef) -> Record:
    touches = z3.And(cur.hi - cur.lo >= 1, start <= cur.hi, end >= cur.lo)
    lowest, highest = z3.If(start < cur.lo, start, cur.lo), z3.If(end > cur.hi, end, cur.hi)
    return interval(z3.If(touches, lowest, start), z3.If(touches, highest, end))


def _merge(profile: Profile) -> ClosedForm:
    def computed(world: World, cur: Record, start: z3.ArithRef, count: z3.ArithRef) -> Outcome:
        panics, end = _sum(profile, start + count)
        return Outcome(panics=panics, value=_merged(cur, start, end))

    return computed


def _stamped_merge(profile: Profile) -> ClosedForm:
    def computed(world: World, cur: Record, writer_gen: z3.ArithRef, start: z3.ArithRef, count: z3.ArithRef) -> Outcome:
        panics, end = _sum(profile, start + count)
        merged, own = _merged(cur, start, end), z3.And(cur.owner == writer_gen, writer_gen > 0)
        lo, hi = z3.If(own, merged.lo, start), z3.If(own, merged.hi, end)
        return Outcome(panics=panics, value=Record(fields={"owner": writer_gen, "lo": lo, "hi": hi}))

    return computed


def _merge_situations(after: Outcome, cur: Record, start: z3.ArithRef, count: z3.ArithRef) -> Mapping[str, z3.BoolRef]:
    fits = z3.And(occupied(cur), count > 0, start + count < SIZE)
    return {
        "it extends upwards": z3.And(fits, start == cur.hi, after.value.lo == cur.lo),
        "it extends downwards": z3.And(fits, start + count == cur.lo, after.value.hi == cur.hi),
        "it replaces": z3.And(fits, start > cur.hi, after.value.lo == start),
        "nothing was claimed": z3.And(z3.Not(occupied(cur)), cur.hi > 0, start + count < SIZE),
        "its end does not fit": start + count >= SIZE,
    }


def _stamped_situations(
    after: Outcome, cur: Record, writer_gen: z3.ArithRef, start: z3.ArithRef, count: z3.ArithRef
) -> Mapping[str, z3.BoolRef]:
    abuts = z3.And(occupied(cur), start == cur.hi, count > 0)
    return {
        "the owner extends": z3.And(abuts, cur.owner == writer_gen, writer_gen != 0, start + count < SIZE),
        "another takes over": z3.And(abuts, cur.owner != writer_gen, writer_gen != 0, start + count < SIZE),
        "nobody writes where nobody did": z3.And(abuts, cur.owner == 0, writer_gen == 0),
        "its end does not fit": start + count >= SIZE,
    }


def _address(profile: Profile) -> ClosedForm:
    def computed(world: World, base: z3.ArithRef, pos: z3.ArithRef, hidden_size: z3.ArithRef) -> Outcome:
        # Each operation wraps by itself, as the machine's do; together that is one reduction of the whole.
        elements, wraps = pos * hidden_size, profile is Profile.RELEASE
        offset = (elements % SIZE) * 2 % SIZE if wraps else elements + elements
        panics, address = _sum(profile, base + offset)
        return Outcome(panics=panics, value=address)

    return computed


def _address_situations(at: Outcome, base: z3.ArithRef, pos: z3.ArithRef, hidden_size: z3.ArithRef) -> Mapping[str, z3.BoolRef]:
    return {
        "a later row": z3.And(z3.Not(at.panics), pos > 1, hidden_size > 1, base > 0),
        "it does not fit": z3.And(pos == 1, base + 2 * hidden_size >= SIZE),
    }


for _profile in Profile:
    pin(CLAIMS, "merge_interval", _merge(_profile), _merge_situations, profile=_profile)
    pin(CLAIMS, "stamped_merge", _stamped_merge(_profile), _stamped_situations, profile=_profile)
    pin(CLAIMS, "hidden_row_offset", _address(_profile), _address_situations, profile=_profile)
