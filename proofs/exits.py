"""Exit codes of every command (DESIGN, section 3)."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Exit(enum.IntEnum):
    """What a command came to."""

    OK = 0
    """All as it must be, and complete."""
    WRONG = 1
    """Something is not as it must be."""
    USAGE = 2
    """Bad usage or input."""
    UNDECIDED = 3
    """Something is not known. Never success."""
    INTERNAL = 4
    """The tool failed."""
    INTERRUPTED = 130


_WORST_FIRST = (Exit.INTERNAL, Exit.USAGE, Exit.WRONG, Exit.UNDECIDED)


def worst(exits: Iterable[int]) -> Exit:
    """The one that a command must end with if parts of it came to these."""
    found = set(exits)
    return next((code for code in _WORST_FIRST if code in found), Exit.OK)
