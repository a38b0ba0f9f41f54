"""Claims about the warm-turn append.

*Claim.* What is appended are new keys of the prompt, without a gap up to its last, each read from a hidden row that the
reader itself wrote; and whoever can read all rows from the first new key on gets all new keys.

*Assumptions.* A2 (generations are unique and not 0) and A5 where a row has a writer; A4 (`last_pair_key + 1` fits)
where a plan is spoken of; A8 where adopted rows are.

*Argument.* The plan starts above `last_pair_key`, which bounds all adopted keys, and not below the first readable row;
it ends at the prompt's last key, whose row must be readable. So it lies inside the readable interval, and under a stamp
all rows were last written by the owner. The ghost `writer` says who wrote a row last, by identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import z3

from proofs.claims.carry import key_of_row, use_spread, well_kept
from proofs.obligation import Goal, Register, World
from proofs.pinning import ClosedForm, pin
from spec.machine import SIZE, Profile
from spec.scope import within
from spec.sorts import CARRIED, RANGE, TOKENS, USIZE, Maybe, Outcome, Record, Seq
from spec.store import inside, interval, occupied

CLAIMS = Register("append")


@dataclass(frozen=True, kw_only=True)
class Append:
    """Any use of plan_append: its arguments, its outcome, and the statement that this is its outcome."""

    last: z3.ArithRef
    prompt_len: z3.ArithRef
    hidden: Record
    outcome: Outcome
    given: Mapping[str, z3.BoolRef]

    @property
    def plan(self) -> Maybe:
        """What is planned, unless it panics."""
        return self.outcome.value  # type: ignore[no-any-return]

    @property
    def planned(self) -> z3.BoolRef:
        """There is a plan."""
        return z3.And(z3.Not(self.outcome.panics), self.plan.present)

    @property
    def fits(self) -> dict[str, z3.BoolRef]:
        """What a build that wraps has to assume."""
        return {"the append does not panic (A4)": z3.Not(self.outcome.panics)}

    @property
    def first(self) -> z3.ArithRef:
        """The first planned key."""
        return self.plan.value.first_key

    @property
    def end(self) -> z3.ArithRef:
        """One above the last planned key."""
        return self.plan.value.first_key + self.plan.value.rows


def _append(world: World, hidden: Record | None = None, profile: Profile = Profile.DEBUG) -> Append:
    last, prompt_len = world.some(USIZE, "last_pair_key"), world.some(USIZE, "prompt_len")
    if hidden is None:
        hidden = interval(world.some(USIZE, "hidden_lo"), world.some(USIZE, "hidden_hi"))
    return _append_of(world, last, prompt_len, hidden, profile)


def _append_of(
    world: World, last: z3.ArithRef, prompt_len: z3.ArithRef, hidden: Record, profile: Profile = Profile.DEBUG
) -> Append:
    outcome, given = world.answer("outcome", "plan_append", last, prompt_len, hidden.lo, hidden.hi, profile=profile)
    return Append(last=last, prompt_len=prompt_len, hidden=hidden, outcome=outcome, given={"outcome is the plan": given})


def _planned_key(world: World, append: Append) -> tuple[z3.ArithRef, dict[str, z3.BoolRef]]:
    key: z3.ArithRef = world.some(USIZE, "key")
    return key, {**append.fits, "the key is planned": z3.And(append.plan.present, within(append.first, key, append.end))}


def _situations(append: Append) -> dict[str, z3.BoolRef]:
    hidden = append.hidden
    return {
        "the store reaches back": z3.And(append.planned, hidden.lo <= append.last, append.plan.value.rows > 1),
        "the store starts later": z3.And(append.planned, hidden.lo > append.last + 1, append.plan.value.rows > 1),
    }


# The rule, pinned.


def _computed(profile: Profile) -> ClosedForm:
    def computed(
        world: World, last: z3.ArithRef, prompt_len: z3.ArithRef, hidden_lo: z3.ArithRef, hidden_hi: z3.ArithRef
    ) -> Outcome:
        release = profile is Profile.RELEASE
        after = (last + 1) % SIZE if release else last + 1
        panics = z3.BoolVal(False) if release else z3.And(prompt_len > 1, last == SIZE - 1)
        first, newest = z3.If(after < hidden_lo, hidden_lo, after), prompt_len - 2
        present = z3.And(newest >= first, prompt_len > 1, hidden_hi > newest)
        plan = Record(fields={"first_key": first, "rows": newest - first + 1})
        return Outcome(panics=panics, value=Maybe(present=present, value=plan))

    return computed


def _computed_situations(
    outcome: Outcome, last: z3.ArithRef, prompt_len: z3.ArithRef, hidden_lo: z3.ArithRef, hidden_hi: z3.ArithRef
) -> Mapping[str, z3.BoolRef]:
    append = Append(last=last, prompt_len=prompt_len, hidden=interval(hidden_lo, hidden_hi), outcome=outcome, given={})
    without = z3.And(z3.Not(append.plan.present), prompt_len > 2, hidden_lo < hidden_hi, last < SIZE - 1)
    return {
        **_situations(append),
        "nothing is new": z3.And(without, last == prompt_len - 2, hidden_hi >= prompt_len),
        "the last row is missing": z3.And(without, last == 0, hidden_hi == prompt_len - 2),
        "there is no next key": z3.And(last == SIZE - 1, prompt_len > 2),
        "there is no key at all": z3.And(last == SIZE - 1, prompt_len == 1, z3.Not(append.plan.present)),
    }


for _profile in Profile:
    pin(CLAIMS, "plan_append", _computed(_profile), _computed_situations, profile=_profile)


# What is planned.


@CLAIMS.theorem("planned-keys-are-new", "Every planned key is above last_pair_key.", assumes=("A4",))
def planned_keys_are_new(world: World) -> Goal:
    append = _append(world)
    key, planned = _planned_key(world, append)
    return Goal(given={**append.given, **planned}, show=key > append.last, witnesses=_situations(append))


@CLAIMS.theorem(
    "planned-keys-run-to-the-prompts-last",
    "A plan has at least one key, and its keys run without a gap up to the prompt's last, exactly as many as it says.",
    assumes=("A4",),
)
def planned_keys_run_to_the_prompts_last(world: World) -> Goal:
    append = _append(world)
    rows = append.plan.value.rows
    return Goal(
        given={**append.given, **append.fits, "there is a plan": append.plan.present},
        show=z3.And(rows >= 1, append.first + (rows - 1) == append.prompt_len - 2),
        witnesses={"a single key": rows == 1, **_situations(append)},
    )


@CLAIMS.theorem(
    "planned-keys-read-readable-rows",
    "The hidden row of every planned key, which has the key's own number, is inside the readable interval.",
    assumes=("A4",),
)
def planned_keys_read_readable_rows(world: World) -> Goal:
    append = _append(world)
    key, planned = _planned_key(world, append)
    return Goal(
        given={**append.given, **planned},
        show=inside(key, append.hidden),
        witnesses={"the last row is the last readable": key == append.hidden.hi - 1, **_situations(append)},
    )


@CLAIMS.boundary(
    "planned-keys-may-be-read-by-ring-labels",
    "Where the catch-up ring's label would be, one above the key, there is a readable row too.",
)
def planned_keys_may_be_read_by_ring_labels(world: World) -> Goal:
    append = _append(world)
    key, planned = _planned_key(world, append)
    return Goal(given={**append.given, **planned}, show=inside(key + 1, append.hidden))


@CLAIMS.theorem(
    "a-plan-starts-as-early-as-it-can",
    "Every key of the prompt that is above last_pair_key and not below the first readable row is planned.",
)
def a_plan_starts_as_early_as_it_can(world: World) -> Goal:
    append = _append(world)
    key = world.some(USIZE, "key")
    return Goal(
        given={
            **append.given,
            **append.fits,
            "there is a plan": append.plan.present,
            "the key is the prompt's": key + 2 <= append.prompt_len,
            "it is new": key > append.last,
            "it is not below the first readable row": key >= append.hidden.lo,
        },
        show=within(append.first, key, append.end),
        witnesses={
            "it is the next key": key == append.last + 1,
            "it is the first readable": z3.And(key == append.hidden.lo, key > append.last + 1),
        },
    )


@CLAIMS.theorem(
    "a-plan-exists-exactly-if-the-last-key-is-new-and-readable",
    "Keys are planned if and only if the prompt's last key is above last_pair_key and its hidden row is readable.",
)
def a_plan_exists_exactly_if_the_last_key_is_new_and_readable(world: World) -> Goal:
    append = _append(world)
    newest = append.prompt_len - 2
    return Goal(
        given={**append.given, "there is a next key": append.last + 1 < SIZE},
        show=append.planned == z3.And(newest >= 0, newest > append.last, inside(newest, append.hidden)),
        witnesses={
            "nothing is new": z3.And(newest == append.last, inside(newest, append.hidden)),
            "the store starts too late": z3.And(newest > append.last, newest == append.hidden.lo - 1),
            "the store ends too early": z3.And(newest > append.last, newest == append.hidden.hi, newest > 0),
            "all is there": append.planned,
        },
    )


@CLAIMS.boundary(
    "no-plan-means-nothing-is-missing",
    "Where no key is planned, the rows already reach the prompt's last key.",
)
def no_plan_means_nothing_is_missing(world: World) -> Goal:
    append = _append(world)
    return Goal(
        given={
            **append.given,
            "there is a next key": append.last + 1 < SIZE,
            "no key is planned": z3.Not(append.planned),
        },
        show=append.last + 2 >= append.prompt_len,
    )


@CLAIMS.boundary(
    "no-plan-means-rows-are-unreadable",
    "Where no key is planned for a prompt that has keys, the hidden row of its last one is not readable.",
)
def no_plan_means_rows_are_unreadable(world: World) -> Goal:
    append = _append(world)
    return Goal(
        given={
            **append.given,
            "there is a next key": append.last + 1 < SIZE,
            "the prompt has keys": append.prompt_len >= 2,
            "no key is planned": z3.Not(append.planned),
        },
        show=z3.Not(inside(append.prompt_len - 2, append.hidden)),
    )


@CLAIMS.boundary(
    "a-partly-readable-span-is-appended-in-part",
    "A new key of the prompt whose hidden row is readable is planned, even if the rows of later keys are not readable.",
)
def a_partly_readable_span_is_appended_in_part(world: World) -> Goal:
    append = _append(world)
    key = world.some(USIZE, "key")
    return Goal(
        given={
            **append.given,
            "there is a next key": append.last + 1 < SIZE,
            "the key is the prompt's": key + 2 <= append.prompt_len,
            "it is new and readable": z3.And(key > append.last, inside(key, append.hidden)),
        },
        show=z3.And(append.planned, within(append.first, key, append.end)),
    )


@CLAIMS.boundary("no-key-is-skipped", "A plan starts at the key right after last_pair_key.")
def no_key_is_skipped(world: World) -> Goal:
    append = _append(world)
    return Goal(given={**append.given, "there is a plan": append.planned}, show=append.first == append.last + 1)


# Arithmetic.


@CLAIMS.theorem(
    "panics-exactly-if-there-is-no-next-key",
    "A debug build panics if and only if the prompt has keys and last_pair_key is 2^64 - 1.",
)
def panics_exactly_if_there_is_no_next_key(world: World) -> Goal:
    append = _append(world)
    return Goal(
        given=append.given,
        show=append.outcome.panics == z3.And(append.prompt_len >= 2, append.last == SIZE - 1),
        witnesses={
            "it panics": append.outcome.panics,
            "the prompt has no key": z3.And(append.last == SIZE - 1, append.prompt_len == 1),
            "the largest key that has a next": z3.And(append.last == SIZE - 2, append.prompt_len >= 2),
        },
    )


@CLAIMS.theorem(
    "a-plan-never-leaves-64-bits",
    "If last_pair_key + 1 fits, nothing panics, and the first key, the count and the end of a plan fit 64 bits.",
    assumes=("A4",),
)
def a_plan_never_leaves_64_bits(world: World) -> Goal:
    append = _append(world)
    words = [within(0, value, SIZE) for value in (append.first, append.plan.value.rows, append.end)]
    return Goal(
        given={**append.given, "there is a next key": append.last + 1 < SIZE},
        show=z3.And(z3.Not(append.outcome.panics), z3.Implies(append.planned, z3.And(words))),
        witnesses={"the longest prompt": z3.And(append.prompt_len == SIZE - 1, append.planned)},
    )


@CLAIMS.boundary(
    "planned-keys-are-new-in-release",
    "In a release build, which wraps where a debug build panics, every planned key is above last_pair_key.",
    assumes=("A4",),
)
def planned_keys_are_new_in_release(world: World) -> Goal:
    append = _append(world, profile=Profile.RELEASE)
    key, planned = _planned_key(world, append)
    return Goal(given={**append.given, **planned}, show=key > append.last)


# Together with the hidden store: whose rows are read.


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A plan through visible_to, one of its keys, and (ghosts) who wrote that key's hidden row last and who reads it."""

    append: Append
    writer: z3.ArithRef
    reader: z3.ArithRef
    unique: z3.BoolRef
    """A2: the owner of the stamp and the reader have one generation only if they are one."""
    given: Mapping[str, z3.BoolRef]


def _reading(world: World) -> Reading:
    stamp, reader_gen = world.some(RANGE, "stamp"), world.some(USIZE, "reader_gen")
    seen, sees = world.answer("seen", "visible_to", stamp, reader_gen)
    append = _append(world, seen)
    key, planned = _planned_key(world, append)
    writer = z3.Function("writer", z3.IntSort(), z3.IntSort())(key)
    generation = z3.Function("generation", z3.IntSort(), z3.IntSort())
    owner, reader = z3.Int("owning_sequence"), z3.Int("reading_sequence")
    return Reading(
        append=append,
        writer=writer,
        reader=reader,
        unique=z3.Implies(generation(owner) == generation(reader), owner == reader),
        given={
            "seen is what the reader sees": sees,
            **append.given,
            **planned,
            "the stamp is the owner's generation": z3.Implies(stamp.owner != 0, stamp.owner == generation(owner)),
            "the reader shows its own generation": reader_gen == generation(reader),
            "a row under a stamp was last written by the owner": z3.Implies(
                z3.And(stamp.owner != 0, inside(key, stamp)), writer == owner
            ),
        },
    )


@CLAIMS.theorem(
    "appended-keys-read-the-readers-own-rows",
    "If a stamp covers rows of its owner alone, every hidden row that a plan through visible_to reads was last written "
    "by the reader.",
    assumes=("A2", "A4", "A5"),
)
def appended_keys_read_the_readers_own_rows(world: World) -> Goal:
    reading = _reading(world)
    return Goal(
        given={**reading.given, "generations are unique": reading.unique},
        show=reading.writer == reading.reader,
        witnesses={"several keys": reading.append.plan.value.rows > 1},
    )


@CLAIMS.boundary(
    "rows-are-own-even-if-generations-repeat",
    "The hidden rows that a plan reads were last written by the reader, even if two sequences share a generation.",
    assumes=("A2",),
)
def rows_are_own_even_if_generations_repeat(world: World) -> Goal:
    reading = _reading(world)
    return Goal(given=reading.given, show=reading.writer == reading.reader)


@CLAIMS.theorem(
    "nothing-is-appended-from-what-is-not-ones-own",
    "Who does not own the stamped range, or has no generation, gets no plan from what it sees.",
)
def nothing_is_appended_from_what_is_not_ones_own(world: World) -> Goal:
    stamp, reader_gen = world.some(RANGE, "stamp"), world.some(USIZE, "reader_gen")
    seen, sees = world.answer("seen", "visible_to", stamp, reader_gen)
    append = _append(world, seen)
    covered = z3.And(stamp.lo <= append.last + 1, stamp.hi + 1 >= append.prompt_len, append.last + 2 < append.prompt_len)
    return Goal(
        given={
            "seen is what the reader sees": sees,
            **append.given,
            "the range is not the reader's": z3.Or(stamp.owner != reader_gen, reader_gen == 0),
        },
        show=z3.Not(append.planned),
        witnesses={
            "another's rows would do": z3.And(covered, stamp.owner != 0, reader_gen != 0),
            "nobody's rows would do": z3.And(covered, stamp.owner == 0, reader_gen == 0),
        },
    )


@CLAIMS.theorem("nothing-is-appended-from-nothing", "From the interval (0, 0) no key is planned.")
def nothing_is_appended_from_nothing(world: World) -> Goal:
    append = _append(world, interval(z3.IntVal(0), z3.IntVal(0)))
    return Goal(
        given=append.given,
        show=z3.Not(append.planned),
        witnesses={"keys are missing": append.last + 2 < append.prompt_len},
    )


@CLAIMS.theorem(
    "an-owners-own-chunks-satisfy-its-append",
    "An owner whose next chunk leaves no gap to its range and reaches the prompt's last key gets every new key.",
    assumes=("A4",),
)
def an_owners_own_chunks_satisfy_its_append(world: World) -> Goal:
    before, gen = world.some(RANGE, "before"), world.some(USIZE, "writer_gen")
    start, count = world.some(USIZE, "start"), world.some(USIZE, "count")
    after, stamped = world.answer("after", "stamped_merge", before, gen, start, count)
    seen, sees = world.answer("seen", "visible_to", after.value, gen)
    append = _append(world, seen)
    newest = append.prompt_len - 2
    return Goal(
        given={
            "after is the stamped merge": stamped,
            "the write does not overflow": z3.Not(after.panics),
            "seen is what the owner sees of it": sees,
            **append.given,
            "the writer owned the range before": z3.And(gen != 0, before.owner == gen, occupied(before)),
            "the chunk leaves no gap": z3.And(before.lo <= start, start <= before.hi),
            "it reaches the last key": newest < start + count,
            "the first new key was written before": z3.And(before.lo <= append.last + 1, append.last < newest),
        },
        show=z3.And(append.planned, append.first == append.last + 1, append.plan.value.rows == newest - append.last),
        witnesses={
            "keys from both chunks": z3.And(append.first < before.hi, start == before.hi, newest >= start),
            "it is rewritten in part": z3.And(start < before.hi, before.lo < start, newest >= before.hi),
        },
    )


# Together with the adopted rows.


@dataclass(frozen=True, kw_only=True)
class WarmTurn:
    """Rows adopted from an entry by a prompt, and the append that follows."""

    entry: Record
    prompt: Seq
    adopted: Maybe
    append: Append
    given: Mapping[str, z3.BoolRef]


def _warm_turn(world: World) -> WarmTurn:
    entry, prompt = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt")
    adopted, adopting = world.answer("adopted", "usable_by", entry, prompt, world.some(USIZE, "session_hash"))
    hidden = interval(world.some(USIZE, "hidden_lo"), world.some(USIZE, "hidden_hi"))
    append = _append_of(world, adopted.value.last_pair_key, prompt.length, hidden)
    given = {"adopted is the answer": adopting, "rows are adopted": adopted.present, **append.given}
    return WarmTurn(entry=entry, prompt=prompt, adopted=adopted, append=append, given=given)


@CLAIMS.theorem(
    "after-an-adoption-planning-never-panics",
    "The key that comes with adopted rows always has a next one, so the append that follows cannot overflow.",
)
def after_an_adoption_planning_never_panics(world: World) -> Goal:
    turn = _warm_turn(world)
    return Goal(
        given=turn.given,
        show=z3.Not(turn.append.outcome.panics),
        witnesses={
            "something is appended": turn.append.planned,
            "the entry's key is the largest there is": turn.entry.last_pair_key.value == SIZE - 1,
        },
    )


@CLAIMS.theorem(
    "appended-keys-are-above-all-adopted-rows",
    "Every appended key is above the key of every adopted row, and all of them are keys of the prompt.",
    assumes=("A8",),
    size=4,
)
def appended_keys_are_above_all_adopted_rows(world: World) -> Goal:
    turn = _warm_turn(world)
    row = world.some(USIZE, "row")
    key, planned = _planned_key(world, turn.append)
    use_spread(world, turn.entry, row)
    last_of_prompt = turn.prompt.length - 2
    return Goal(
        given={
            **turn.given,
            **well_kept(turn.entry),
            "the row is adopted": row < turn.adopted.value.rows,
            **planned,
        },
        show=z3.And(key_of_row(row) < key, key_of_row(row) <= last_of_prompt, key <= last_of_prompt),
        witnesses={
            "right after the newest row": z3.And(key == key_of_row(row) + 1, row == turn.adopted.value.rows - 1),
            "rows were dropped": z3.And(turn.adopted.value.rows < turn.entry.rows, row > 0),
        },
    )


@CLAIMS.theorem(
    "after-the-append-the-rows-are-well-kept-again",
    "Adopted and appended rows together have strictly increasing keys, the newest is the prompt's last, and there are "
    "no more of them than the prompt has keys.",
    assumes=("A8",),
    size=5,
)
def after_the_append_the_rows_are_well_kept_again(world: World) -> Goal:
    turn = _warm_turn(world)
    row = world.some(USIZE, "row")
    use_spread(world, turn.entry, row)
    use_spread(world, turn.entry, turn.adopted.value.rows - 1)
    kept, added = turn.adopted.value.rows, turn.append.plan.value.rows

    def key_after(r: z3.ArithRef) -> z3.ArithRef:
        return z3.If(r < kept, key_of_row(r), turn.append.first + (r - kept))

    return Goal(
        given={
            **turn.given,
            **well_kept(turn.entry),
            "something is appended": turn.append.planned,
            "the row and the next are among them": row + 1 < kept + added,
        },
        show=z3.And(
            key_after(row) < key_after(row + 1),
            key_after(kept + added - 1) == turn.prompt.length - 2,
            kept + added <= turn.prompt.length - 1,
        ),
        witnesses={
            "both are adopted": row + 1 < kept,
            "one is adopted, one appended": row + 1 == kept,
            "both are appended": row == kept,
        },
    )
