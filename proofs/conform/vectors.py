"""Vectors of a rule: calls at its boundaries, random ones and long ones, with the results that its model gives.

Every result is the one that the model allows, and the reference gives the same. Only for batches of more than `SOLVED` members
is it the reference's, and allowed by the model; their `why` says so. Where the result is a panic because arithmetic
overflows, `release` is what the model of a release build gives.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from proofs.conform.boundaries import Case, boundary_cases
from proofs.conform.draws import draw
from proofs.conform.model import admits, longest, result_of
from proofs.conform.vector import UNKNOWN, Vector, identical
from proofs.replay import run
from spec.machine import Profile
from spec.rules import RULES, Rule
from spec.sorts import PANIC, Concrete

SOLVED = 8
"""Orders of batches up to this size are solved for; for longer ones that takes seconds."""

LENGTHS: Mapping[str, tuple[int, ...]] = {
    "common_prefix_len": (64, 200, 500),
    "usable_by": (64, 200, 500),
    "verify_batch_permutation": (16, 32, 64),
    "verify_batch_order": (16, 32, 64),
    "verify_graph_key": (16, 32, 64),
    "min_width_from_env": (40, 300),
}
"""By rule, how long the sequences of its long calls are, nearly: a batch, a history, an odd environment."""


class Disagreement(RuntimeError):
    """Model and reference differ."""


@dataclass(kw_only=True)
class Written:
    """The vectors of one rule, how many of each origin, and the situations about which the solver gave no answer."""

    fn: str
    lines: list[str] = field(default_factory=list)
    origins: Counter[str] = field(default_factory=Counter)
    impossible: int = 0
    undecided: list[str] = field(default_factory=list)


def vectors_of(fn: str, seed: int, count: int) -> Written:
    """The vectors of a rule with `count` random calls; the same for the same seed. Disagreement where the twins differ.

    Terms built before must not be used any more.
    """
    rule = RULES[fn]
    search = boundary_cases(rule, seed)
    written = Written(fn=fn, impossible=search.impossible, undecided=search.undecided)
    known: set[str] = set()
    for origin, case in _cases(rule, search.cases, seed, count):
        key = json.dumps(case.args)
        if key not in known:
            known.add(key)
            written.lines.append(_vector(rule, case).text())
            written.origins[origin] += 1
    return written


def _cases(rule: Rule, boundaries: list[Case], seed: int, count: int) -> Iterator[tuple[str, Case]]:
    for case in boundaries:
        yield "boundary", case
    random = Random(f"{seed}/{rule.name}")
    for _ in range(count):
        yield "random", Case(args=draw(rule, random), why="random")
    for length in LENGTHS.get(rule.name, ()):
        yield "long", Case(args=draw(rule, random, length), why="random, long")


def _vector(rule: Rule, case: Case) -> Vector:
    code, why = run(rule.name, case.args), case.why
    if rule.module == "order" and longest(case.args) > SOLVED:
        why += ": the reference's result, which the model allows"
        if not admits(rule.name, case.args, code):
            raise Disagreement(f"{rule.name}({_told(case.args)}): the reference gives {code}, the model does not allow it")
        return Vector(fn=rule.name, args=case.args, result=code, why=why)
    result = result_of(rule.name, case.args)
    if not identical(result, code):
        raise Disagreement(f"{rule.name}({_told(case.args)}): the model gives {result}, the reference {code}")
    return Vector(fn=rule.name, args=case.args, result=result, release=_release(rule, case.args, result), why=why)


def _release(rule: Rule, args: Mapping[str, Any], result: Concrete) -> Concrete:
    if rule.overflows and result == PANIC:
        return result_of(rule.name, args, Profile.RELEASE)
    return UNKNOWN


def _told(args: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in args.items())
