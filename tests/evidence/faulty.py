"""Faults of statements and certificates, made automatically, and what the kernel says of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from proofs.checker import everything
from proofs.evidence.certificates import certified, path_of
from proofs.evidence.cli import theorems
from proofs.evidence.strict import certificate
from proofs.kernel import Refused, check


@cache
def statements(pattern: str) -> dict[str, str]:
    """The project's theorems whose ids match, with their statements."""
    return theorems(everything().only(pattern))


def steps_of(name: str) -> list[object]:
    return certificate(path_of(name).read_text())[1]


ASSERTION = re.compile(r"^\(assert \(! (.*?) :named (\|[^|]*\|)\)\)$", re.DOTALL | re.MULTILINE)


def weakened(text: str) -> Iterator[tuple[str, str]]:
    """Each hypothesis in turn (and the negated goal) made empty, with all its parts still there; and left out."""
    for match in ASSERTION.finditer(text):
        formula, name = match[1], match[2]
        empty = f"(assert (! (or {formula} (not {formula})) :named {name}))"
        yield f"{name} says nothing", text[: match.start()] + empty + text[match.end() :]
        yield f"{name} is gone", text[: match.start()] + text[match.end() + 1 :]


def shifted(text: str, most: int) -> Iterator[tuple[str, str]]:
    """Constants one larger, one at a time."""
    found = list(re.finditer(r"(?<=[ (])([0-9]+)(?=[ )])", text))
    for match in found[:: max(1, len(found) // most)]:
        changed = str(int(match[1]) + 1)
        yield f"{match[1]} at {match.start()} is {changed}", text[: match.start()] + changed + text[match.end() :]


def turned(text: str, most: int) -> Iterator[tuple[str, str]]:
    """Comparisons and connectives replaced by others, one at a time."""
    other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "and": "or", "or": "and", "=>": "and", "+": "-", "=": "distinct"}
    found = [match for match in re.finditer(r"(?<=\()(\S+)(?= )", text) if match[1] in other]
    for match in found[:: max(1, len(found) // most)]:
        yield f"{match[1]} at {match.start()} is turned", text[: match.start()] + other[match[1]] + text[match.end() :]


def accepts(text: str, steps: list[object]) -> bool:
    try:
        check(text, steps)
    except Refused:
        return False
    return True


__all__ = ["accepts", "certified", "shifted", "statements", "steps_of", "turned", "weakened"]
