"""The assumption ledger: for each assumption of DESIGN, section 4, what rests on it and what breaks without it.

An obligation *rests* on an assumption if a hypothesis that embodies it is in the unsat core, and the claim no longer follows when
every such hypothesis is dropped. What obligations say of themselves plays no part; a test holds it to what is found here.
Each assumption has a witness: a boundary that is refuted, or a run whose harm is replayed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import z3

from proofs.obligation import Kind, Obligation
from proofs.smt import NEGATED_GOAL, Answer, Statement, ask_z3, script, state
from proofs.traces.faults import SYSTEM_FAULTS
from spec.rules import RULES

PATH = Path(__file__).with_name("ASSUMPTIONS.md")

_BUDGET = 20_000_000
_NUMBERED = re.compile(r"\((A[1-8])[,)]|\b(A[1-8])\)")

EMBODIED: Mapping[str, str] = {
    "hashes of known sessions do not collide": "A1",
    "generations are unique": "A2",
    "a row depends on tokens 0 to key + 1 alone": "A3",
    "the write does not overflow": "A4",
    "neither overflows": "A4",
    "there is a next key": "A4",
    "the write changes the writer of its own rows alone": "A5",
    "a row under a stamp was last written by the owner": "A5",
    "keys strictly increase": "A8",
    "last_pair_key is not below the newest key": "A8",
}
"""Hypotheses that are an assumption in their own words, with no number in their names."""


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """An assumption, and the boundaries and runs that show the harm when it is dropped."""

    number: str
    tells: str
    boundaries: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    remark: str = ""


ASSUMPTIONS: tuple[Assumption, ...] = (
    Assumption(
        number="A1",
        tells="Two sessions that the engine knows have different hashes.",
        boundaries=("carry/rows-are-own-even-if-hashes-collide",),
        traces=("A1",),
    ),
    Assumption(
        number="A2",
        tells="No two sequences have the same generation, and none has 0.",
        boundaries=("append/rows-are-own-even-if-generations-repeat",),
        traces=("A2",),
        remark="In the system this comes down to one fact: the ticket counter starts above 0 and does not wrap.",
    ),
    Assumption(
        number="A3",
        tells="The hidden state at position i is a function of tokens 0..i alone.",
        boundaries=("carry/a-row-is-right-even-if-it-depends-on-more-than-tokens",),
        traces=("A3",),
        remark="That no row is foreign does not rest on it; that a carried row is the row a cold turn would build does.",
    ),
    Assumption(
        number="A4",
        tells="Sums and products of positions, counts and sizes fit a machine word.",
        boundaries=("append/planned-keys-are-new-in-release",),
    ),
    Assumption(
        number="A5",
        tells="Device writes are done, in the order of their stamps, before any read that the stamp allows, "
        "and before a block that they go to is freed.",
        traces=("claimed-rows-are-read-before-they-are-written", "a-block-is-freed-under-a-write"),
        remark="The second half, for blocks, is not in DESIGN: the block claim of the system needs it.",
    ),
    Assumption(
        number="A6",
        tells="What a capture bakes depends on slots, depths and tables, and on nothing of a sequence.",
        traces=("a-captured-pointer-is-the-sequences",),
    ),
    Assumption(
        number="A7",
        tells="Slots and row counts fit the 32-bit words of a key.",
        boundaries=("system/slots-are-told-apart-beyond-32-bits",),
    ),
    Assumption(
        number="A8",
        tells="A deposited entry has strictly increasing keys, and no more rows than keys up to its last one.",
        boundaries=(
            "carry/rows-agree-even-if-the-newest-key-is-understated",
            "carry/rows-agree-even-if-keys-repeat-or-fall",
        ),
        remark="An assumption of `usable_by` alone: the system proves it of every entry "
        "(`system/keys-increase`, `system/an-entry-has-no-more-rows-than-keys`).",
    ),
)


def numbers_in(name: str) -> frozenset[str]:
    """The assumptions that a hypothesis embodies: those numbered in its name, or that which it is in words."""
    numbered = frozenset(one or other for one, other in _NUMBERED.findall(name))
    return numbered | ({EMBODIED[name]} if name in EMBODIED else frozenset())


def dependences(obligations: Iterable[Obligation]) -> Mapping[str, tuple[str, ...]]:
    """For each assumption the ids of the theorems that rest on it."""
    found: dict[str, list[str]] = {a.number: [] for a in ASSUMPTIONS}
    for obligation in obligations:
        if obligation.kind is Kind.THEOREM:
            for number in _rests(obligation):
                found[number].append(obligation.id)
    return {number: tuple(ids) for number, ids in found.items()}


def _rests(obligation: Obligation) -> frozenset[str]:
    """The assumptions that hypotheses embody and that the claim cannot do without."""
    told = state(obligation, RULES, bound=obligation.size if obligation.only_bounded else None)
    if not any(numbers_in(name) for name in told.hypotheses):
        return frozenset()
    core = ask_z3(told.text, budget=_BUDGET).core
    used = frozenset(number for name in core for number in numbers_in(name))
    return frozenset(number for number in used if not _follows_without(told, number))


def _follows_without(told: Statement, number: str) -> bool:
    kept = {name: formula for name, formula in told.hypotheses.items() if number not in numbers_in(name)}
    text = script({**kept, NEGATED_GOAL: z3.Not(told.goal.show)})
    return ask_z3(text, budget=_BUDGET).answer is Answer.UNSAT


def ledger(obligations: Mapping[str, Obligation]) -> str:
    """The text of the ledger. ValueError if a witness does not exist."""
    found = dependences(obligations.values())
    lines = [
        "# Assumptions",
        "",
        "What the proofs take for granted (DESIGN, section 4), what rests on it, and what shows the harm where it does not hold.",
        "Written by `draftproof report assumptions --write`; `--check` says whether it is up to date.",
    ]
    for assumption in ASSUMPTIONS:
        lines += ["", *_section(assumption, found[assumption.number], obligations)]
    return "\n".join(lines) + "\n"


def _section(assumption: Assumption, rests: Sequence[str], obligations: Mapping[str, Obligation]) -> list[str]:
    lines = [f"## {assumption.number}", "", assumption.tells]
    if assumption.remark:
        lines += ["", assumption.remark]
    lines += ["", f"Rests on it, by unsat core ({len(rests)}):", "", *_listed(rests)]
    lines += ["", "Without it:", ""]
    for boundary in assumption.boundaries:
        if boundary not in obligations or obligations[boundary].kind is not Kind.BOUNDARY:
            raise ValueError(f"ledger: {assumption.number} has the witness {boundary!r}, which is no boundary; name one that is")
        lines.append(f"- boundary `{boundary}`, refuted: {obligations[boundary].claim}")
    for trace in assumption.traces:
        lines.append(f"- run `{trace}`: {SYSTEM_FAULTS[trace].tells} It ends in a violation of `{SYSTEM_FAULTS[trace].harm}`.")
    return lines


def _listed(ids: Iterable[str]) -> list[str]:
    return [f"- `{name}`" for name in ids] or ["- nothing"]
