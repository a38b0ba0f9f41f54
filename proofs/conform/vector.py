"""One line of a vector file: a call, its result, and what else stands beside it (DESIGN, section 6).

Reading is strict where a lenient reader would compare something else than was written: duplicate keys, NaN, fractions
and bools in the place of integers are refused, with the reason. Unknown top-level keys are ignored. What a call means
is told by `spec.rules`, what it gives on the reference by `proofs.replay`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proofs.conform.shapes import Check, Misfit, brief, fields, shape
from spec.machine import Profile
from spec.rules import RULES, Rule
from spec.sorts import PANIC, Concrete, Fallible, Struct

UNKNOWN: Concrete = object()
"""The result of a release build where the vector does not tell it."""

READS = {"common_prefix_len": frozenset({"tokens"}), "session_matches": frozenset({"session_hash"})}
"""The fields of `self` that these methods read; the others of the same struct may stand beside them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Vector:
    """A call of `fn` with its result in a debug build and, if told, in a release build, and where it stood."""

    fn: str
    args: Mapping[str, Any]
    result: Concrete
    release: Concrete = UNKNOWN
    why: str = ""
    file: str = ""
    line: int = 0

    def expected(self, profile: Profile) -> Concrete:
        """What a build with this profile must give; UNKNOWN where it wraps and the vector does not say to what."""
        if profile is Profile.DEBUG or (self.release is UNKNOWN and not self._wraps()):
            return self.result
        return self.release

    def _wraps(self) -> bool:
        return bool(RULES[self.fn].overflows and self.result == PANIC)

    def request(self) -> str:
        """The call alone, as a line for a program."""
        return json.dumps({"fn": self.fn, "args": self.args})

    def text(self) -> str:
        """The vector as a line of its file."""
        told = {"fn": self.fn, "args": self.args, "result": self.result}
        if self.release is not UNKNOWN:
            told["release"] = self.release
        return json.dumps({**told, "why": self.why} if self.why else told)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Misfit(f"the key {brief(twice, 60)} occurs twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise Misfit(f"{name} is not JSON")


_decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constant)


def loads(line: bytes) -> Any:
    """The JSON value of a line. Misfit with the reason if it is none."""
    try:
        return _decoder.decode(line.decode())
    except UnicodeDecodeError as error:
        raise Misfit(f"not UTF-8: byte {error.start + 1} is 0x{line[error.start]:02x}") from None
    except json.JSONDecodeError as error:
        raise Misfit(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise Misfit("nested too deeply") from None
    except Misfit:
        raise
    except ValueError:
        raise Misfit("an integer has thousands of digits; words have at most 20") from None


def _arguments(rule: Rule) -> Check:
    parts = {name: shape(sort) for name, sort in rule.params.items()}
    if rule.name in READS:
        receiver = rule.params["self"]
        assert isinstance(receiver, Struct)
        named = {part: shape(sort) for part, sort in receiver.parts}
        parts["self"] = fields(named, optional=frozenset(named) - READS[rule.name])
    return fields(parts)


def _release(rule: Rule) -> Check:
    wrapped = rule.overflows and isinstance(rule.result, Fallible)
    return shape(rule.result.value if wrapped else rule.result)  # type: ignore[attr-defined]


_CHECKS = {rule.name: (_arguments(rule), shape(rule.result), _release(rule)) for rule in RULES}


def parse(line: bytes, *, file: str = "", number: int = 0) -> Vector:
    """The vector on a line. Misfit with the reason if it is none."""
    value = loads(line)
    if type(value) is not dict:
        raise Misfit(f"{brief(value, 60)} is not an object")
    for key in ("fn", "args", "result"):
        if key not in value:
            raise Misfit(f'lacks "{key}"')
    fn = value["fn"]
    if type(fn) is not str or fn not in _CHECKS:
        raise Misfit(f"{brief(fn, 60)} is none of the functions {', '.join(_CHECKS)}", "fn")
    release = value.get("release", UNKNOWN)
    for check, key in zip(_CHECKS[fn], ("args", "result", "release"), strict=True):
        if key == "release" and release is UNKNOWN:
            break
        try:
            check(value[key])
        except Misfit as misfit:
            raise misfit.inside(key) from None
    why = value.get("why", "")
    return Vector(
        fn=fn,
        args=value["args"],
        result=value["result"],
        release=release,
        why=why if type(why) is str else "",
        file=file,
        line=number,
    )


def identical(left: Concrete, right: Concrete) -> bool:
    """The two values are the same in the vector format; unlike `==`, which takes true for 1."""
    if type(left) is not type(right):
        return False
    if type(left) is list:
        return len(left) == len(right) and all(identical(a, b) for a, b in zip(left, right, strict=True))
    if type(left) is dict:
        return left.keys() == right.keys() and all(identical(item, right[key]) for key, item in left.items())
    return bool(left == right)
