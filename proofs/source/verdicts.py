"""What is said of a function of a source, and how it is printed."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class Verdict(enum.Enum):
    """What came of comparing a function with its spec."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    MISSING = "missing"


UNBOUNDED = "unbounded"

ENDLESS = {"endless": True}
"""In place of a result: the call does not end."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One function of a source, or one that it lacks. `reason` is why not, or what a proof takes for granted."""

    name: str
    line: int
    spec: str
    verdict: Verdict
    scope: str | int | None = None
    profile: str | None = None
    counterexample: dict[str, Any] | None = None
    reason: str | None = None
    path: str = ""
    read: frozenset[str] = frozenset()
    """The functions that a proof for every length has run through, the helpers among them."""

    def as_json(self) -> dict[str, Any]:
        """The row as `--json` prints it."""
        return {
            "name": self.name,
            "line": self.line,
            "spec": self.spec,
            "verdict": self.verdict.value,
            "scope": self.scope,
            "profile": self.profile,
            "counterexample": self.counterexample,
            "reason": self.reason,
        }


def worse(left: Row, right: Row) -> Row:
    """Of two builds' rows the one to act on first."""
    return max(left, right, key=_badness)


def _badness(row: Row) -> int:
    if row.verdict is Verdict.PROVED:
        return 0 if row.scope == UNBOUNDED else 1
    return {Verdict.UNDECIDED: 2, Verdict.MISSING: 3, Verdict.REFUTED: 4}[row.verdict]
