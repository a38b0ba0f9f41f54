"""What a value of the vector format must look like, read off the models' sorts.

The shapes come from `spec.sorts` and are written down nowhere else. Types are exact: a bool is no integer, 1.0 is no
word, and an environment value is text, or bytes in hex where no text could stand for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from spec.sorts import PANIC, Concrete, Fallible, Flag, Option, RawText, Sequence, Sort, Struct, Word

Check = Callable[[Any], None]
"""Returns if the value has the shape, else raises Misfit."""


class Misfit(ValueError):
    """A value, or a part of it at `path`, does not have its shape."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path

    def inside(self, step: str) -> Misfit:
        """The same misfit, told from the value around."""
        joint = "" if not self.path or self.path.startswith("[") else "."
        return Misfit(self.reason, step + joint + self.path)


def brief(value: Concrete, limit: int = 160) -> str:
    """The value as JSON on one line, its middle left out where it is longer than `limit` characters."""
    text = json.dumps(value)
    return text if len(text) <= limit else f"{text[: limit * 2 // 3]} ... {text[-limit // 4 :]}"


def shape(sort: Sort) -> Check:
    """The check for values of `sort`."""
    if isinstance(sort, Word):
        return _word(sort)
    if isinstance(sort, Flag):
        return _flag
    if isinstance(sort, Struct):
        return _tuple(sort) if sort.is_tuple else fields({part: shape(s) for part, s in sort.parts})
    if isinstance(sort, Sequence):
        return _sequence(sort)
    if isinstance(sort, Option):
        return _option(sort)
    if isinstance(sort, Fallible):
        return _fallible(sort)
    if isinstance(sort, RawText):
        return _raw_text
    raise TypeError(f"shape: sort={sort!r} has no form in the vector format; give it one here")


def _is_not(value: Any, what: str) -> Misfit:
    return Misfit(f"{brief(value, 60)} is not {what}")


def _word(sort: Word) -> Check:
    limit = 2**sort.bits

    def check(value: Any) -> None:
        if type(value) is not int or not 0 <= value < limit:
            raise _is_not(value, f"an integer from 0 to 2^{sort.bits}-1")

    return check


def _flag(value: Any) -> None:
    if type(value) is not bool:
        raise _is_not(value, "true or false")


def fields(parts: Mapping[str, Check], optional: frozenset[str] = frozenset()) -> Check:
    """Objects with exactly these parts, of which the `optional` ones may be missing."""

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise _is_not(value, f"an object with {_listed(parts)}")
        if value.keys() != parts.keys():
            if missing := [part for part in parts if part not in value and part not in optional]:
                raise Misfit(f"lacks {_listed(missing)}")
            if unknown := [part for part in value if part not in parts]:
                raise Misfit(f"has {_listed(unknown)}, which does not belong there")
        for part, item in value.items():
            try:
                parts[part](item)
            except Misfit as misfit:
                raise misfit.inside(part) from None

    return check


def _listed(names: Any) -> str:
    return ", ".join(brief(name, 60) for name in names)


def _tuple(sort: Struct) -> Check:
    checks = [shape(part) for _, part in sort.parts]
    names = ", ".join(part for part, _ in sort.parts)

    def check(value: Any) -> None:
        if type(value) is not list or len(value) != len(checks):
            raise _is_not(value, f"an array [{names}]")
        _elements(zip(checks, value, strict=True))

    return check


def _sequence(sort: Sequence) -> Check:
    element = shape(sort.element)

    def check(value: Any) -> None:
        if type(value) is not list:
            raise _is_not(value, "an array")
        _elements((element, item) for item in value)

    return check


def _elements(pairs: Any) -> None:
    index = -1
    try:
        for check, item in pairs:
            index += 1
            check(item)
    except Misfit as misfit:
        raise misfit.inside(f"[{index}]") from None


def _option(sort: Option) -> Check:
    some = shape(sort.some)

    def check(value: Any) -> None:
        if value is not None:
            some(value)

    return check


def _fallible(sort: Fallible) -> Check:
    inner = shape(sort.value)

    def check(value: Any) -> None:
        # 1 == True, so {"panic": 1} would equal PANIC.
        if value != PANIC or type(value["panic"]) is not bool:
            inner(value)

    return check


def _raw_text(value: Any) -> None:
    if value is None:
        return
    if type(value) is str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _is_not(value, 'text (it has a lone surrogate); give bytes that are not UTF-8 as {"hex": ".."}') from None
        return
    if type(value) is not dict or value.keys() != {"hex"} or type(value["hex"]) is not str:
        raise _is_not(value, 'null, a string or {"hex": ".."}')
    if not re.fullmatch(r"([0-9a-fA-F]{2})*", value["hex"]):
        raise Misfit(f"{brief(value['hex'], 60)} is not hex digits, two for each byte", "hex")
    try:
        text = bytes.fromhex(value["hex"]).decode()
    except UnicodeDecodeError:
        return
    raise Misfit(f"{brief(value['hex'], 60)} is UTF-8; write it as the string {brief(text, 60)}", "hex")
