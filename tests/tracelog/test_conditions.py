"""The conditions on carry lines are what the rules of `spec` leave possible, for all 64-bit values.

The rules are composed as DESIGN 1a composes them; results are what the rules give. What a line does not tell is a free term in
one direction (whatever it is, a line that can be written meets the conditions) and a named choice in the other (where the
conditions are met, this choice makes the rules write the line).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import z3

from proofs.tracelog import conditions
from proofs.tracelog.conditions import Attempt, Conditions, Entry
from spec.carry import is_common_prefix
from spec.rules import RULES
from spec.scope import telling
from spec.sorts import USIZE, Maybe, Record, Seq
from spec.system import ACTIONS, SLOT, Act, any_state, initial_state
from spec.system_laws import LAWS, SAFETY

# What carry lines tell.
ROWS, KEY, TOKENS = z3.Ints("rows key tokens")
PROMPT, OWNER, LO, HI = z3.Ints("prompt_len owner lo hi")
ADOPTED, APPENDED, FIRST = z3.Ints("adopted appended first_key")
COMMON, ENTRY_ROWS, ENTRY_SESSION, PROMPT_SESSION = z3.Ints("common entry_rows entry_session prompt_session")
SAID_OWNER, EXPECTED = z3.Ints("said_owner expected")
ATTEMPT = Attempt(prompt_len=PROMPT, owner=OWNER, lo=LO, hi=HI)
# What they do not.
KEY_KNOWN = z3.Bool("key_known")
SHARED, MINE, THEIRS, READER = z3.Ints("shared session_of_entry session_of_prompt reader")
WORDS = (
    *(ROWS, KEY, TOKENS, PROMPT, OWNER, LO, HI, ADOPTED, APPENDED, FIRST, COMMON, ENTRY_ROWS),
    *(ENTRY_SESSION, PROMPT_SESSION, SAID_OWNER, EXPECTED, SHARED, MINE, THEIRS, READER),
)

USABLE = RULES["usable_by"].result.fresh("usable")
PLAN = RULES["plan_append"].result.fresh("plan")
SEEN = RULES["visible_to"].result.fresh("seen")
MATCHES = z3.Bool("matches")


def rules() -> list[z3.BoolRef]:
    """What the rules give for an entry, a prompt that shares SHARED tokens with it, the stamp and the reader."""
    entry = Seq(name="entry", length=TOKENS, at=z3.Function("entry_token", z3.IntSort(), z3.IntSort()))
    prompt = Seq(name="prompt", length=PROMPT, at=z3.Function("prompt_token", z3.IntSort(), z3.IntSort()))
    self_ = Record(
        fields={
            "rows": ROWS,
            "last_pair_key": Maybe(present=KEY_KNOWN, value=KEY),
            "tokens": entry,
            "session_hash": MINE,
        }
    )
    stamp = Record(fields={"owner": OWNER, "lo": LO, "hi": HI})
    append = {
        "last_pair_key": USABLE.value.last_pair_key,
        "prompt_len": PROMPT,
        "hidden_lo": SEEN.lo,
        "hidden_hi": SEEN.hi,
    }
    # The definition of the common length stays in the block: which lengths there can be is a theorem below.
    with telling():
        return [
            RULES["session_matches"].holds({"self": self_, "session_hash": THEIRS}, MATCHES),
            RULES["usable_by"].holds({"self": self_, "prompt": prompt, "session_hash": THEIRS}, USABLE),
            RULES["visible_to"].holds({"self": stamp, "reader_gen": READER}, SEEN),
            RULES["plan_append"].holds(append, PLAN),
            z3.Int("common[entry,prompt]") == SHARED,
            # A rule whose result means nothing is asked about a word all the same.
            USIZE.domain(USABLE.value.last_pair_key),
            USIZE.domain(USABLE.value.rows),
        ]


def all_of(wanted: Conditions) -> z3.BoolRef:
    return z3.And([z3.BoolVal(True), *(holds for _, holds in wanted)])


UNTOLD = z3.And(
    # Some two sequences share exactly so many tokens; a running sequence has a generation, and writes its own tokens alone.
    z3.And(0 <= SHARED, SHARED <= TOKENS, SHARED <= PROMPT),
    READER >= 1,
    z3.Implies(READER == OWNER, HI <= PROMPT),
    *[USIZE.domain(word) for word in (ROWS, KEY, TOKENS, SHARED, MINE, THEIRS, READER)],
)
"""What holds of everything that a line does not tell."""

NOBODYS = z3.If(OWNER == 1, z3.IntVal(2), z3.IntVal(1))
"""A generation that does not own the store."""

KEPT = KEY - (ROWS - ADOPTED)
SAME_SESSION = {MINE: 1, THEIRS: 1}
STRANGER = {READER: NOBODYS}
WHOLE_PROMPT = {SHARED: z3.If(TOKENS < PROMPT, TOKENS, PROMPT)}
A_ROW = {KEY_KNOWN: True, ROWS: 1, KEY: 0, TOKENS: 2}
ITS_KEY = z3.If(APPENDED > 0, FIRST - 1, ADOPTED - 1)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One outcome: when the rules write it, its conditions, and the choices that make them write it."""

    written: z3.BoolRef
    always: Conditions
    of_entry: Callable[[Entry], Conditions]
    choice: Mapping[Any, Any]
    choice_of_entry: Mapping[Any, Any]
    """Besides, where nothing is known of the entry."""


def outcome(name: str) -> Outcome:
    refused = z3.And(USABLE.present, z3.Not(PLAN.panics), z3.Not(PLAN.value.present))
    planned = z3.And(APPENDED == PLAN.value.value.rows, FIRST == PLAN.value.value.first_key)
    appended = z3.If(PLAN.value.present, planned, APPENDED == 0)
    if name == "adopted":
        return Outcome(
            written=z3.And(USABLE.present, z3.Not(PLAN.panics), ADOPTED == USABLE.value.rows, appended),
            always=conditions.adopted(ATTEMPT, ADOPTED, APPENDED, FIRST),
            of_entry=lambda entry: conditions.adopted_from(entry, ATTEMPT, ADOPTED, APPENDED, FIRST),
            choice={**SAME_SESSION, SHARED: KEPT + 2, READER: z3.If(APPENDED > 0, OWNER, NOBODYS)},
            choice_of_entry={KEY_KNOWN: True, ROWS: ADOPTED, KEY: ITS_KEY, TOKENS: ITS_KEY + 2},
        )
    if name == "prefix mismatch":
        return Outcome(
            written=z3.And(MATCHES, z3.Not(USABLE.present), COMMON == SHARED, ENTRY_ROWS == ROWS),
            always=conditions.mismatched(ATTEMPT, COMMON, ENTRY_ROWS),
            of_entry=lambda entry: conditions.mismatched_with(entry, COMMON, ENTRY_ROWS),
            choice={**SAME_SESSION, **STRANGER, SHARED: COMMON},
            choice_of_entry={KEY_KNOWN: False, ROWS: ENTRY_ROWS, TOKENS: COMMON, KEY: 0},
        )
    if name == "foreign session":
        return Outcome(
            written=z3.And(z3.Not(MATCHES), ENTRY_SESSION == MINE, PROMPT_SESSION == THEIRS),
            always=conditions.foreign_session(ENTRY_SESSION, PROMPT_SESSION),
            of_entry=lambda entry: iter(()),
            choice={MINE: ENTRY_SESSION, THEIRS: PROMPT_SESSION, SHARED: 0, **STRANGER},
            choice_of_entry=A_ROW,
        )
    if name == "foreign hiddens":
        foreign = z3.And(SAID_OWNER == OWNER, EXPECTED == READER, READER != OWNER)
        return Outcome(
            written=z3.And(refused, foreign),
            always=iter([*conditions.kept(ATTEMPT), *conditions.foreign_hiddens(ATTEMPT, SAID_OWNER, EXPECTED)]),
            of_entry=lambda entry: conditions.kept_from(entry, ATTEMPT),
            choice={**SAME_SESSION, **WHOLE_PROMPT, READER: EXPECTED},
            choice_of_entry=A_ROW,
        )
    assert name == "no hiddens"
    return Outcome(
        written=refused,
        always=conditions.kept(ATTEMPT),
        of_entry=lambda entry: conditions.kept_from(entry, ATTEMPT),
        choice={**SAME_SESSION, **WHOLE_PROMPT, **STRANGER},
        choice_of_entry=A_ROW,
    )


OUTCOMES = ("adopted", "prefix mismatch", "foreign session", "foreign hiddens", "no hiddens")
KNOWN = Entry(rows=ROWS, last_pair_key=KEY, seq_tokens=TOKENS)
KEYLESS = Entry(rows=ROWS, last_pair_key=None, seq_tokens=TOKENS)
ENTRIES = {"known": (KNOWN, z3.BoolVal(True)), "keyless": (KEYLESS, z3.BoolVal(False)), "unknown": (None, KEY_KNOWN)}
LAWFUL = z3.If(KEY_KNOWN, all_of(conditions.stored(KNOWN)), all_of(conditions.stored(KEYLESS)))


def unsat(*formulas: z3.BoolRef) -> bool:
    return bool(answer(*formulas) == z3.unsat)


def answer(*formulas: z3.BoolRef) -> z3.CheckSatResult:
    solver = z3.Solver()
    solver.add(*formulas)
    found = solver.check()
    assert found != z3.unknown, solver.reason_unknown()
    return found


@pytest.mark.parametrize("known", ENTRIES)
@pytest.mark.parametrize("name", OUTCOMES)
def test_every_line_that_the_rules_write_meets_its_conditions(name: str, known: str) -> None:
    this = outcome(name)
    entry, key_known = ENTRIES[known]
    words = [USIZE.domain(word) for word in WORDS]
    wanted = z3.And(all_of(this.always), all_of(this.of_entry(entry)) if entry is not None else True)
    given = [*rules(), *words, UNTOLD, LAWFUL, all_of(conditions.attempted(ATTEMPT)), this.written, key_known == KEY_KNOWN]

    assert unsat(*given, z3.Not(wanted))
    # Of an entry without a last pair key no row is usable.
    possible = known != "keyless" or name in ("prefix mismatch", "foreign session")
    assert unsat(*given) is not possible


@pytest.mark.parametrize("known", ENTRIES)
@pytest.mark.parametrize("name", OUTCOMES)
def test_every_line_that_meets_its_conditions_can_be_written_by_the_rules(name: str, known: str) -> None:
    this = outcome(name)
    entry, key_known = ENTRIES[known]
    told = [word for word in WORDS if entry is not None or not any(word.eq(untold) for untold in (ROWS, KEY, TOKENS))]
    words = [USIZE.domain(word) for word in told if not any(word.eq(untold) for untold in (SHARED, MINE, THEIRS, READER))]
    choice = dict(this.choice)
    if entry is None:
        # Choices that speak of the entry must speak of the chosen one.
        chosen = [
            (term, z3.BoolVal(v) if isinstance(v, bool) else z3.IntVal(v) if isinstance(v, int) else v)
            for term, v in this.choice_of_entry.items()
        ]
        choice = {term: z3.substitute(v, *chosen) if isinstance(v, z3.ExprRef) else v for term, v in choice.items()}
        choice |= dict(chosen)
    met = [all_of(this.always), all_of(conditions.attempted(ATTEMPT))]
    met += [] if entry is None else [all_of(this.of_entry(entry)), LAWFUL, key_known == KEY_KNOWN]
    chosen_values = [term == value for term, value in choice.items()]

    assert unsat(*rules(), *words, *met, *chosen_values, z3.Not(z3.And(UNTOLD, LAWFUL, this.written)))
    possible = known != "keyless" or name in ("prefix mismatch", "foreign session")
    assert unsat(*rules(), *words, *met, *chosen_values) is not possible


def test_two_sequences_share_any_number_of_tokens_up_to_the_shorter_length_and_no_other() -> None:
    length = z3.Int("length")
    fits = z3.And(0 <= length, length <= TOKENS, length <= PROMPT)
    some = z3.Function("some", z3.IntSort(), z3.IntSort())
    other = z3.Function("other", z3.IntSort(), z3.IntSort())
    zeros = Seq(name="zeros", length=TOKENS, at=lambda i: z3.IntVal(0))
    then_ones = Seq(name="then_ones", length=PROMPT, at=lambda i: z3.If(i < length, z3.IntVal(0), z3.IntVal(1)))
    with telling():
        of_any = is_common_prefix(Seq(name="a", length=TOKENS, at=some), Seq(name="b", length=PROMPT, at=other), length)
        of_these = is_common_prefix(zeros, then_ones, length)

    assert unsat(of_any, z3.Not(fits))
    assert unsat(fits, z3.Not(of_these))


def test_what_a_store_line_must_satisfy_are_the_laws_of_an_entry() -> None:
    state = any_state()
    entry = Entry(rows=state.rows(SLOT), last_pair_key=state.last_key(SLOT), seq_tokens=state.length(SLOT))
    bounds = SAFETY["an-entry-has-no-more-rows-than-keys"].says(state)
    # The law speaks of ranges too, and of sequences, of which the slot is none.
    others = state.stamp.owner == 0
    laws = z3.And(bounds, SAFETY["checks-for-nothing-decide-nothing"].says(state, z3.IntVal(SLOT)))

    assert unsat(others, state.live(SLOT), laws != all_of(conditions.stored(entry)))


def test_what_an_adopt_line_must_satisfy_of_the_stamp_implies_its_law() -> None:
    state = any_state()
    stamp = Attempt(prompt_len=0, owner=state.stamp.owner, lo=state.stamp.lo, hi=state.stamp.hi)

    assert unsat(all_of(conditions.attempted(stamp)), z3.Not(LAWS["an-owned-range-is-not-empty"].says(state)))


class Answers:
    """The rules, with any result that they allow."""

    def some(self, sort: Any, name: str) -> Any:
        return sort.fresh(name)

    def answer(self, name: str, rule: str, *arguments: Any) -> tuple[Any, z3.BoolRef]:
        result = RULES[rule].result.fresh(name)
        return result, RULES[rule].holds(dict(zip(RULES[rule].params, arguments, strict=True)), result)


@pytest.mark.parametrize("action", ACTIONS)
def test_what_an_adopt_line_must_satisfy_of_the_stamp_is_invariant(action: str) -> None:
    def lawful(state: Any) -> z3.BoolRef:
        stamp = state.stamp
        return all_of(conditions.attempted(Attempt(prompt_len=0, owner=stamp.owner, lo=stamp.lo, hi=stamp.hi)))

    pre = any_state()
    act = Act(Answers())
    with telling():
        step = ACTIONS[action](pre, act)
    # No sequence that runs has generation 0, and no bound of a range is below it.
    known = [z3.Implies(pre.live(act.actor), pre.generation(act.actor) >= 1), pre.stamp.lo >= 0, pre.stamp.hi >= 0]
    words = [z3.And(0 <= z3.Int(name), z3.Int(name) < 2**64) for name in ("start", "count")]

    assert unsat(z3.Not(lawful(initial_state())))
    assert unsat(*step.guard.values(), *known, *words, lawful(pre), z3.Not(lawful(step.after)))
