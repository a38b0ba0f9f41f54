"""Strict JSON, and the text of a certificate file. Standard library alone: the verifier of bundles uses it, and is one file.

A repeated key, a number that is no integer or an overlong one, and nesting beyond reason are refused.
"""

from __future__ import annotations

import json
from typing import Any

from proofs.kernel.terms import Refused, need

SCHEMA = "draftproof.certificate/1"
MOST_DIGITS = 1000


def parsed(text: str, *, fractions: bool = False) -> Any:
    """The value of a JSON text, with numbers that are no integers only where they are asked for. Refused if it is none, or a
    strange one.
    """
    number = float if fractions else _no_number
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer, parse_float=number, parse_constant=_no_number)
    except (ValueError, RecursionError) as broken:
        raise Refused(f"it is no JSON: {broken}") from broken


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    need(len(found) == len(pairs), "a key is repeated in an object")
    return found


def _integer(digits: str) -> int:
    need(len(digits) <= MOST_DIGITS, "a number is too long")
    return int(digits)


def _no_number(text: str) -> Any:
    raise Refused(f"{text} is no integer")


def certificate(text: str) -> tuple[str, list[Any]]:
    """The statement's digest and the steps in the text of a certificate file."""
    found = parsed(text)
    need(isinstance(found, dict) and set(found) == {"schema", "statement", "steps"}, "a certificate has three parts")
    need(found["schema"] == SCHEMA, f"it is no {SCHEMA}")
    need(isinstance(found["statement"], str) and isinstance(found["steps"], list), "a certificate has a statement and steps")
    return found["statement"], found["steps"]
