"""What the carry slot may hold while a log is read, and which lines that rules out.

The slot is certainly empty, or holds the entry of the last store line *or nothing* (a cold turn frees an entry and writes no
line), or may hold anything, after a line that could not be read. A store line fills it; every attempt to adopt empties it.
`no carried state` is always possible: besides an empty slot it tells a failed installation.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from proofs.tracelog import conditions
from proofs.tracelog.conditions import Attempt, Conditions, Entry


class Told(enum.Enum):
    """The message of a carry line."""

    STORE = "store"
    ADOPTED = "adopted"
    NO_CARRY = "no carried state"
    PREFIX_MISMATCH = "prefix mismatch"
    FOREIGN_SESSION = "foreign session"
    FOREIGN_HIDDENS = "hidden rows belong to another"
    NO_HIDDENS = "hidden store does not cover"


class Holds(enum.Enum):
    """What is known of the slot where it is not an entry."""

    NOTHING = "nothing"
    ANYTHING = "anything"


@dataclass(kw_only=True)
class Slot:
    """The slot, as far as the lines so far tell."""

    holds: Entry | Holds = Holds.NOTHING
    stored_at: int = 0
    """The last line that stored an entry; 0 before the first."""

    def lose_track(self) -> None:
        """Something may have happened that could not be read."""
        self.holds = Holds.ANYTHING

    def store(self, entry: Entry, line: int) -> str | None:
        """Takes a store line: why no run writes it, or None."""
        broken = _broken(conditions.stored(entry))
        self.holds = entry if broken is None else Holds.ANYTHING
        self.stored_at = line
        return broken

    def adopt(self, attempt: Attempt, told: Told, *numbers: int) -> str | None:
        """Takes an adopt line with the numbers of its outcome: why no run writes it, or None."""
        before, self.holds = self.holds, Holds.NOTHING
        broken = _broken(conditions.attempted(attempt))
        if broken is not None or told is Told.NO_CARRY:
            return broken
        if before is Holds.NOTHING:
            return _EMPTY if self.stored_at else _NEVER_FILLED
        if isinstance(before, Holds):
            return _broken(_needs(None, attempt, told, numbers))
        broken = _broken(_needs(before, attempt, told, numbers))
        return None if broken is None else f"{broken} (stored in line {self.stored_at}: {_shown(before)})"


_EMPTY = "the slot is empty: nothing was stored since the last attempt"
_NEVER_FILLED = "the slot is empty: nothing was stored yet (--continued if the log begins in the middle of a run)"


def _needs(entry: Entry | None, attempt: Attempt, told: Told, numbers: tuple[int, ...]) -> Conditions:
    """What an outcome needs of the entry that the slot may hold, if that is known, and of any."""
    if told is Told.ADOPTED:
        rows, appended, first_key = numbers
        if entry is not None:
            yield from conditions.adopted_from(entry, attempt, rows, appended, first_key)
        yield from conditions.adopted(attempt, rows, appended, first_key)
    elif told is Told.PREFIX_MISMATCH:
        common, entry_rows = numbers
        if entry is not None:
            yield from conditions.mismatched_with(entry, common, entry_rows)
        yield from conditions.mismatched(attempt, common, entry_rows)
    elif told is Told.FOREIGN_SESSION:
        entry_session, prompt_session = numbers
        yield from conditions.foreign_session(entry_session, prompt_session)
    else:
        if entry is not None:
            yield from conditions.kept_from(entry, attempt)
        yield from conditions.kept(attempt)
        if told is Told.FOREIGN_HIDDENS:
            owner, expected = numbers
            yield from conditions.foreign_hiddens(attempt, owner, expected)


def _broken(wanted: Conditions) -> str | None:
    for reason, holds in wanted:
        if not holds:
            return reason
    return None


def _shown(entry: Entry) -> str:
    key = "None" if entry.last_pair_key is None else f"Some({entry.last_pair_key})"
    return f"rows={entry.rows} last_pair_key={key} seq_tokens={entry.seq_tokens}"
