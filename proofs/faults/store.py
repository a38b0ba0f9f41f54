"""Faults in the rules of the hidden store."""

from __future__ import annotations

from proofs.faults.patch import Faults

FAULTS = Faults("store")

# Whose range it is.

FAULTS.add(
    "zero-is-a-generation",
    "Generation 0 owns the range that nobody has stamped.",
    rule="visible_to",
    old="return z3.And(gen != 0, stamp.owner == gen)",
    new="return stamp.owner == gen",
    refuted_by="store/generation-zero-sees-nothing",
)
FAULTS.add(
    "unstamped-is-everyones",
    "A range that nobody has stamped belongs to every generation.",
    rule="stamped_merge",
    old="return z3.And(gen != 0, stamp.owner == gen)",
    new="return z3.And(gen != 0, z3.Or(stamp.owner == gen, stamp.owner == 0))",
    refuted_by="store/a-foreign-interval-is-never-extended",
)
FAULTS.add(
    "the-young-inherit",
    "A range belongs to its owner and to every younger generation.",
    rule="stamped_merge",
    old="return z3.And(gen != 0, stamp.owner == gen)",
    new="return z3.And(gen != 0, stamp.owner <= gen)",
    refuted_by="store/a-stamp-covers-rows-of-one-writer",
)

# What a reader is shown.

_VISIBLE = "return z3.If(owned_by(stamp, reader_gen), is_interval(result, stamp), is_interval(result, interval(0, 0)))"

FAULTS.add(
    "the-reader-is-not-asked",
    "Every reader is shown the whole interval, whoever wrote it.",
    rule="visible_to",
    old=_VISIBLE,
    new="return is_interval(result, stamp)",
    refuted_by="append/nothing-is-appended-from-what-is-not-ones-own",
)
FAULTS.add(
    "shown-by-ring-labels",
    "The owner is shown the interval by the catch-up ring's labels, one above the rows.",
    rule="visible_to",
    old="is_interval(result, stamp), is_interval(result, interval(0, 0))",
    new="is_interval(result, interval(stamp.lo + 1, stamp.hi + 1)), is_interval(result, interval(0, 0))",
    refuted_by="store/a-reader-sees-only-rows-it-wrote",
)
FAULTS.add(
    "the-first-row-is-hidden",
    "The owner is not shown the first row of its interval.",
    rule="visible_to",
    old="is_interval(result, stamp), is_interval(result, interval(0, 0))",
    new="is_interval(result, interval(stamp.lo + 1, stamp.hi)), is_interval(result, interval(0, 0))",
    refuted_by="store/an-owner-sees-its-whole-range",
)
FAULTS.add(
    "strangers-see-from-one",
    "A stranger is shown an empty interval that does not start at 0.",
    rule="visible_to",
    old="is_interval(result, interval(0, 0))",
    new="is_interval(result, interval(1, 1))",
    refuted_by="store/visible_to-answers-every-input",
)
FAULTS.add(
    "strangers-see-some-empty-interval",
    "A stranger is shown some empty interval, it is not said which.",
    rule="visible_to",
    old="is_interval(result, interval(0, 0))",
    new="z3.Not(occupied(result))",
    refuted_by="store/visible_to-has-one-answer",
)

# Whether a write extends the interval.

FAULTS.add(
    "a-gap-is-spanned",
    "A write far from an occupied interval extends it over rows that nobody wrote.",
    rule="merge_interval",
    old="extends = z3.And(occupied(cur), z3.Not(apart(cur, write)))",
    new="extends = occupied(cur)",
    refuted_by="store/merge-claims-only-written-rows",
)
FAULTS.add(
    "a-gap-of-one-row-is-spanned",
    "A write that leaves one row between itself and the end of the interval extends it.",
    rule="merge_interval",
    old="left.hi < right.lo",
    new="left.hi + 1 < right.lo",
    refuted_by="store/merge-claims-only-written-rows",
)
FAULTS.add(
    "abutting-chunks-replace",
    "A chunk that starts right where the interval ends replaces it.",
    rule="merge_interval",
    old="left.hi < right.lo",
    new="left.hi <= right.lo",
    refuted_by="store/touching-chunks-are-kept-whole",
)
FAULTS.add(
    "chunks-never-grow-downwards",
    "A chunk that ends right where the interval starts replaces it.",
    rule="merge_interval",
    old="right.hi < left.lo",
    new="right.hi <= left.lo",
    refuted_by="store/touching-chunks-are-kept-whole",
)
FAULTS.add(
    "chunks-never-merge",
    "Every write replaces the interval, its owner's too.",
    rule="merge_interval",
    old="merged = z3.If(extends, is_hull(result.value, cur, write), is_interval(result.value, write))",
    new="merged = is_interval(result.value, write)",
    refuted_by="append/an-owners-own-chunks-satisfy-its-append",
)
FAULTS.add(
    "the-old-end-stays",
    "A write that extends the interval upwards leaves its end where it was.",
    rule="merge_interval",
    old="ends = z3.And(hull.hi >= left.hi, hull.hi >= right.hi, z3.Or(hull.hi == left.hi, hull.hi == right.hi))",
    new="ends = hull.hi == left.hi",
    refuted_by="store/a-write-is-always-claimed",
)
FAULTS.add(
    "the-writes-start-counts",
    "A write inside the interval makes it start at the write.",
    rule="merge_interval",
    old="starts = z3.And(hull.lo <= left.lo, hull.lo <= right.lo, z3.Or(hull.lo == left.lo, hull.lo == right.lo))",
    new="starts = hull.lo == right.lo",
    refuted_by="store/merge_interval-answers-every-input",
)
FAULTS.add(
    "a-hull-may-reach-further",
    "A merge may claim rows above both intervals, it is not said how many.",
    rule="merge_interval",
    old="ends = z3.And(hull.hi >= left.hi, hull.hi >= right.hi, z3.Or(hull.hi == left.hi, hull.hi == right.hi))",
    new="ends = z3.And(hull.hi >= left.hi, hull.hi >= right.hi)",
    refuted_by="store/merge_interval-has-one-answer",
)
FAULTS.add(
    "one-row-more-than-written",
    "A merge claims one row more than was written.",
    rule="merge_interval",
    old="write = interval(start, kept(start + count))\n    extends",
    new="write = interval(start, kept(start + count + 1))\n    extends",
    refuted_by="store/merge-claims-only-written-rows",
)

# Who owns the result.

FAULTS.add(
    "the-writer-does-not-stamp",
    "A write leaves the owner of the range as it was.",
    rule="stamped_merge",
    old="result.value.owner == writer_gen",
    new="result.value.owner == cur.owner",
    refuted_by="store/the-writer-owns-the-result",
)
FAULTS.add(
    "the-owner-is-left-open",
    "A write says nothing about who owns the range.",
    rule="stamped_merge",
    old="return z3.And(stamped, z3.If(owned_by(cur, writer_gen), merges, replaces))",
    new="return z3.If(owned_by(cur, writer_gen), merges, replaces)",
    refuted_by="store/stamped_merge-has-one-answer",
)
FAULTS.add(
    "the-owner-is-ignored",
    "A write by anyone extends the range as its owner's would.",
    rule="stamped_merge",
    old="return z3.And(stamped, z3.If(owned_by(cur, writer_gen), merges, replaces))",
    new="return z3.And(stamped, merges)",
    refuted_by="store/a-foreign-interval-is-never-extended",
)
FAULTS.add(
    "the-owner-always-replaces",
    "A write by the owner replaces its range, even where it leaves no gap.",
    rule="stamped_merge",
    old="return z3.And(stamped, z3.If(owned_by(cur, writer_gen), merges, replaces))",
    new="return z3.And(stamped, replaces)",
    refuted_by="store/an-owner-merges-like-an-interval",
)
FAULTS.add(
    "a-takeover-keeps-nothing",
    "A write by anyone but the owner leaves an empty range.",
    rule="stamped_merge",
    old="value=is_interval(result.value, write))",
    new="value=is_interval(result.value, interval(start, start)))",
    refuted_by="store/stamped_merge-answers-every-input",
)
FAULTS.add(
    "a-takeover-does-not-wrap",
    "In a release build a write by anyone but the owner, whose end wraps, leaves an empty range.",
    rule="stamped_merge",
    old="write = interval(start, kept(start + count))\n    merges",
    new="write = interval(start, z3.If(overflows(start + count), start, start + count))\n    merges",
    refuted_by="store/stamped_merge-answers-every-input-in-release",
)

# Overflow.

FAULTS.add(
    "the-last-address-panics",
    "A merge panics where its end is the last address, which fits.",
    rule="merge_interval",
    old="overflow=overflows(start + count), value=merged",
    new="overflow=overflows(start + count + 1), value=merged",
    refuted_by="store/a-merge-overflows-exactly-when-its-end-does",
)
FAULTS.add(
    "a-takeover-never-panics",
    "A debug build wraps silently where anyone but the owner writes past the last address.",
    rule="stamped_merge",
    old="overflow=overflows(start + count), value=is_interval(result.value, write)",
    new="overflow=z3.BoolVal(False), value=is_interval(result.value, write)",
    refuted_by="store/a-merge-overflows-exactly-when-its-end-does",
)

# Where a row lies.

_ADDRESS = "address = base + 2 * (pos * hidden_size)"

FAULTS.add(
    "an-element-is-a-byte",
    "The stride of a row forgets that elements have two bytes.",
    rule="hidden_row_offset",
    old=_ADDRESS,
    new="address = base + pos * hidden_size",
    refuted_by="store/rows-lie-apart-in-memory",
)
FAULTS.add(
    "rows-have-no-stride",
    "The address counts elements and forgets how many a row has.",
    rule="hidden_row_offset",
    old=_ADDRESS,
    new="address = base + 2 * pos",
    refuted_by="store/rows-lie-apart-in-memory",
)
FAULTS.add(
    "addressed-by-ring-labels",
    "The position is taken for the catch-up ring's label, so the row after it is addressed.",
    rule="hidden_row_offset",
    old=_ADDRESS,
    new="address = base + 2 * ((pos + 1) * hidden_size)",
    refuted_by="store/an-address-overflows-exactly-when-it-does-not-fit",
)
FAULTS.add(
    "the-base-may-overflow",
    "A debug build panics where the offset does not fit, and not where base plus offset does not.",
    rule="hidden_row_offset",
    old="overflow=overflows(address), value=result.value",
    new="overflow=overflows(address - base), value=result.value",
    refuted_by="store/an-address-overflows-exactly-when-it-does-not-fit",
)
FAULTS.add(
    "the-base-is-forgotten",
    "The address is the offset alone.",
    rule="hidden_row_offset",
    old=_ADDRESS,
    new="address = 2 * (pos * hidden_size)",
    refuted_by="store/hidden_row_offset-answers-every-input",
)
FAULTS.add(
    "the-address-is-a-bound",
    "The address is at least what it must be, it is not said how much more.",
    rule="hidden_row_offset",
    old="value=result.value == kept_of_any(address)",
    new="value=result.value >= kept_of_any(address)",
    refuted_by="store/hidden_row_offset-has-one-answer",
)
