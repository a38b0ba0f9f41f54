"""What the numbers of a carry line must satisfy, told once: for integers, and for solver terms that stand for all of them.

Each function gives reasons, each with what rules it out; a line is possible iff all of that holds. Only comparisons, sums and
`&`, `|` occur, so the same text is evaluated on a log and proved, for all values, to be what the rules of `spec` leave possible
when they are composed as DESIGN 1a composes them. What a line does not tell (tokens, the reader's generation, the session)
may be anything that fits. An entry obeys the system's laws: it has rows, no more rows than keys, and the token after its last key.

Permissive where DESIGN is silent: an append that comes to nothing may have any first key and may be told by any of the outcomes
that keep rows, and a reader that the line does not name may be one that sees nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

Number: TypeAlias = Any
"""An int, or an integer term."""

Conditions: TypeAlias = Iterator[tuple[str, Any]]
"""A reason why the line is impossible, and the condition that rules it out (a bool, or a Boolean term)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What a store line tells of the slot's entry."""

    rows: Number
    last_pair_key: Number | None
    seq_tokens: Number


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What every adopt line tells: the prompt's length and the stamp on the hidden store."""

    prompt_len: Number
    owner: Number
    lo: Number
    hi: Number


def stored(entry: Entry) -> Conditions:
    """A finished sequence deposits its rows."""
    yield "an entry without rows is never deposited", entry.rows >= 1
    if entry.last_pair_key is not None:
        yield "more rows deposited than there are keys up to the last one", entry.rows <= entry.last_pair_key + 1
        yield "the last pair key needs a token that the sequence does not have", entry.last_pair_key + 2 <= entry.seq_tokens


def attempted(attempt: Attempt) -> Conditions:
    """The stamp is empty and nobody's, or somebody's and not empty."""
    nobody = (attempt.owner == 0) & (attempt.lo == 0) & (attempt.hi == 0)
    yield (
        "a store range without an owner is empty, and an owned one is not",
        nobody | ((attempt.owner >= 1) & (attempt.lo < attempt.hi)),
    )


def adopted(attempt: Attempt, rows: Number, appended: Number, first_key: Number) -> Conditions:
    """Rows were adopted, whatever the entry was."""
    end = attempt.prompt_len - 1
    nothing = appended == 0
    yield "an adoption keeps at least one row", rows >= 1
    yield "more rows adopted than the prompt has keys", rows <= end
    yield "the append goes past the last key of the prompt", nothing | (first_key + appended <= end)
    yield "the append ends before the last key of the prompt", nothing | (first_key + appended >= end)
    yield "the append reads outside the store range", nothing | ((attempt.lo <= first_key) & (end <= attempt.hi))
    yield "the reader's own store range goes past its prompt", nothing | (attempt.hi <= attempt.prompt_len)
    yield "the first key leaves too few keys below it for the adopted rows", nothing | (rows <= first_key)


def adopted_from(entry: Entry, attempt: Attempt, rows: Number, appended: Number, first_key: Number) -> Conditions:
    """Rows of this entry were adopted; a row less is a key less."""
    yield "more rows adopted than stored", rows <= entry.rows
    if entry.last_pair_key is None:
        yield "nothing of an entry without a last pair key can be adopted", False
        return
    last_kept = entry.last_pair_key - (entry.rows - rows)
    nothing = appended == 0
    yield "the last key kept needs a token past the prompt", last_kept + 2 <= attempt.prompt_len
    yield "the first key is at or below the last one kept", nothing | (first_key > last_kept)
    yield "the first key skips keys that the store has", nothing | (first_key == last_kept + 1) | (first_key == attempt.lo)


def mismatched(attempt: Attempt, common: Number, entry_rows: Number) -> Conditions:
    """No row survived the common prefix, whatever the entry was."""
    yield "an entry without rows is never deposited", entry_rows >= 1
    yield "the common prefix is longer than the prompt", common <= attempt.prompt_len


def mismatched_with(entry: Entry, common: Number, entry_rows: Number) -> Conditions:
    """No row of this entry survived the common prefix."""
    yield "the entry has other rows than were stored", entry_rows == entry.rows
    yield "the common prefix is longer than the entry's tokens", common <= entry.seq_tokens
    if entry.last_pair_key is not None:
        lost = (common < 2) | (entry.rows + common <= entry.last_pair_key + 2)
        yield "rows of the entry survive a common prefix of this length", lost


def foreign_session(entry_session: Number, prompt_session: Number) -> Conditions:
    """The entry is another session's, or the prompt's session is unknown."""
    yield "the two sessions are one and known", (prompt_session == 0) | (entry_session != prompt_session)


def foreign_hiddens(attempt: Attempt, owner: Number, expected: Number) -> Conditions:
    """The append was refused because the hidden rows are another generation's."""
    yield "the owner is not the store range's", owner == attempt.owner
    yield "the hidden rows are the reader's own", owner != expected
    yield "no sequence has generation 0", expected >= 1


def kept(attempt: Attempt) -> Conditions:
    """Rows were adopted and nothing was appended, whatever the entry was."""
    yield "a prompt without keys adopts nothing", attempt.prompt_len >= 2


def kept_from(entry: Entry, attempt: Attempt) -> Conditions:
    """Rows of this entry were adopted and nothing was appended."""
    if entry.last_pair_key is None:
        yield "nothing of an entry without a last pair key can be adopted", False
        return
    yield "no row of the entry survives in so short a prompt", entry.rows + attempt.prompt_len > entry.last_pair_key + 2
