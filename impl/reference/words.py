"""The domain of the reference: machine words, flags, sequences of them, and decimal text.

Every public function of this package checks its arguments here and nowhere else. A word is a plain `int` in range:
a bool, a float and a NumPy scalar are refused, because each of them compares, hashes or wraps in its own way.

Leaves out: wrap-around. The reference tells what a build with overflow checks does; arithmetic that leaves 64 bits
raises OverflowError in the module where it happens.
"""

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1

Environment: TypeAlias = Mapping[str, str | bytes]
"""Environment variables: `os.environ`, or any mapping from names to text or to raw bytes."""

_LONGEST_DECIMAL = len(str(U64_MAX))


def u64(function: str, argument: str, value: int) -> int:
    """Return value if it is an int from 0 to 2**64-1, else raise ValueError naming function and argument."""
    if type(value) is int and 0 <= value <= U64_MAX:
        return value
    raise ValueError(refusal(function, argument, value, "an unsigned 64-bit integer", "an int from 0 to 2**64-1"))


@dataclass(frozen=True, kw_only=True)
class WordRecord:
    """A record whose fields are unsigned 64-bit words, each checked as u64 checks an argument."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            u64(type(self).__name__, name, value)


def u64_sequence(function: str, argument: str, values: Sequence[int]) -> tuple[int, ...]:
    """Return values as a tuple if it is a list, tuple or range of unsigned 64-bit ints, else raise ValueError."""
    for index, value in enumerate(_items(function, argument, values)):
        u64(function, f"{argument}[{index}]", value)
    return tuple(values)


def u32_sequence(function: str, argument: str, values: Sequence[int]) -> tuple[int, ...]:
    """Return values as a tuple if it is a list, tuple or range of unsigned 32-bit ints, else raise ValueError."""
    for index, value in enumerate(_items(function, argument, values)):
        if type(value) is not int or not 0 <= value <= U32_MAX:
            item = f"{argument}[{index}]"
            raise ValueError(refusal(function, item, value, "an unsigned 32-bit integer", "an int from 0 to 2**32-1"))
    return tuple(values)


def flag(function: str, argument: str, value: bool) -> bool:
    """Return value if it is True or False, else raise ValueError: 0 and 1 are numbers, not flags."""
    if type(value) is bool:
        return value
    raise ValueError(refusal(function, argument, value, "a bool", "True or False"))


def text_of(function: str, argument: str, raw: str | bytes | None) -> str | None:
    """Return the text of an environment value, None where it is absent or not UTF-8.

    A str from `os.environ` shows bytes that are not UTF-8 as lone surrogates. They pass through: no parser here takes
    one for a digit or for white space, so such a value ends where undecodable bytes end, at the default.
    """
    if raw is None or isinstance(raw, str):
        return raw
    if isinstance(raw, bytes):
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return None
    raise ValueError(refusal(function, argument, raw, "an environment value", "a str, bytes or None"))


def parse_usize(text: str) -> int | None:
    """Return the number that Rust's `usize` parser reads in text, None where it reads none.

    It takes one optional `+` and then ASCII digits up to 2**64-1, with any number of leading zeros. It takes no white
    space, underscores, other digits or `-0`, all of which `int()` accepts.
    """
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        return None
    significant = digits.lstrip("0")
    if len(significant) > _LONGEST_DECIMAL:  # int() raises on long text, and gives up on long runs of zeros too
        return None
    number = int(significant or "0")
    return number if number <= U64_MAX else None


def _items(function: str, argument: str, values: Sequence[int]) -> Sequence[int]:
    # Bytes would pass for small words, arrays for tuples, and an iterator would be spent by the check.
    if isinstance(values, (list, tuple, range)):
        return values
    raise ValueError(refusal(function, argument, values, "a sequence of integers", "a list, tuple or range of int"))


def refusal(function: str, argument: str, value: object, rule: str, remedy: str) -> str:
    """Return the text of a ValueError: who was called, the argument, its value (shortened), the rule, the remedy."""
    # Python refuses to print very long integers, and its own error would hide which argument was wrong.
    too_long = isinstance(value, int) and value.bit_length() > 2 * 64
    shown = "<a longer int>" if too_long else reprlib.repr(value)
    return f"{function}: {argument}={shown} is not {rule}; pass {remedy}"
