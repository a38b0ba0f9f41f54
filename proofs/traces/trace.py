"""A run of a system model, as data: what it was given, its steps with the calls of rules in them, and the harm at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spec.sorts import Concrete

SCHEMA = "draftproof.trace/1"


class Impossible(Exception):
    """An action is not possible in the state in which a machine should take it."""


@dataclass(frozen=True, kw_only=True)
class RuleCall:
    """A rule that a step asked: arguments and result in the vector format."""

    rule: str
    arguments: Mapping[str, Concrete]
    result: Concrete


@dataclass(frozen=True, kw_only=True)
class Step:
    """One action with its choices (the actor among them), the calls it made, and a snapshot of the state after it."""

    action: str
    choices: Mapping[str, Any]
    calls: tuple[RuleCall, ...]
    after: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A run. `harm` names the law that is false after its last step, and `place` the identities for which it is."""

    given: Mapping[str, Any]
    steps: tuple[Step, ...]
    harm: str = ""
    place: tuple[int, ...] = ()

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of its actions."""
        return tuple(step.action for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        """The trace as plain data."""
        return {"schema": SCHEMA, **asdict(self)}
