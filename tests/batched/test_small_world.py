"""The small world of sequences.cu three times: swept by the kernels, enumerated in plain Python, and asked of a solver.

Each mutant that the sweeps of sequences must catch has a twin in either text: a changed rule of the enumeration, and a
changed line of `spec`, for which Z3 is asked for the shortest sequence that goes wrong, and of those the first one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from impl import reference
from proofs.gpu import scopes
from proofs.gpu.machines import Host, Tally
from proofs.gpu.mutants import MUTANTS, Mutant
from proofs.gpu.scopes import BY_NAME
from tests.batched.backends import needs_host_kernels

pytestmark = needs_host_kernels

Claim = reference.StoreRange
DEEPEST = 3


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the world goes by, one rule for each that a mutant breaks."""

    own: Callable[[Claim, int], bool] = lambda claim, writer: writer != 0 and claim.owner == writer
    touching: Callable[[Claim, int, int], bool] = lambda claim, start, end: start <= claim.hi and claim.lo <= end
    lower: Callable[[Claim, int], int] = lambda claim, start: min(claim.lo, start)
    owner: Callable[[Claim, int], int] = lambda claim, writer: writer
    sees: Callable[[Claim, int], bool] = lambda claim, reader: reader != 0 and claim.owner == reader
    draws: bool = True
    resets: bool = True

    def written(self, claim: Claim, writer: int, lo: int, hi: int) -> Claim:
        """The claim after a write of rows lo to hi - 1."""
        extends = self.own(claim, writer) and claim.lo < claim.hi and self.touching(claim, lo, hi)
        low, high = (self.lower(claim, lo), max(claim.hi, hi)) if extends else (lo, hi)
        return Claim(owner=self.owner(claim, writer), lo=low, hi=high)


@dataclass(frozen=True, kw_only=True)
class World:
    """Who wrote each row last, and the claim, which knows generations alone."""

    rules: Rules
    claim: Claim = Claim.EMPTY
    tickets: tuple[int, ...] = (0, 1, 2, 3)
    next_ticket: int = 4
    rows: tuple[int | None, ...] = (None,) * scopes.ROWS

    def after(self, action: int) -> World:
        """The world after an action."""
        writer, interval = divmod(action, len(scopes.INTERVALS))
        if writer == scopes.WRITERS:
            anew, fresh = 1 + interval, self.next_ticket if self.rules.draws else self.tickets[1 + interval]
            return replace(
                self,
                claim=Claim.EMPTY if self.rules.resets else self.claim,
                tickets=tuple(fresh if w == anew else ticket for w, ticket in enumerate(self.tickets)),
                next_ticket=self.next_ticket + 1,
                rows=tuple(None if row == anew else row for row in self.rows),
            )
        lo, hi = scopes.INTERVALS[interval]
        return replace(
            self,
            claim=self.rules.written(self.claim, self.tickets[writer], lo, hi),
            rows=tuple(writer if lo <= row < hi else last for row, last in enumerate(self.rows)),
        )

    def seen(self, writer: int) -> range:
        """The rows that a writer may read."""
        return range(self.claim.lo, self.claim.hi) if self.rules.sees(self.claim, self.tickets[writer]) else range(0)

    def wrong(self, action: int) -> bool:
        """Whether, after that last action, someone sees a foreign row or a writer not what it has just written."""
        foreign = any(self.rows[row] != writer for writer in range(scopes.WRITERS) for row in self.seen(writer))
        writer, interval = divmod(action, len(scopes.INTERVALS))
        if foreign or writer in (0, scopes.WRITERS):
            return foreign or bool(self.seen(0))
        return not set(range(*scopes.INTERVALS[interval])) <= set(self.seen(writer))


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A mutant once more: in the rules of the enumeration, and as a change of spec/store.py or of the solver's world."""

    rules: Rules
    old: str = ""
    new: str = ""


_MERGES = "z3.If(owned_by(cur, writer_gen), merges, replaces))"
_APART = "z3.Or(left.hi < right.lo, right.hi < left.lo)"
_STARTS = "starts = z3.And(hull.lo <= left.lo, hull.lo <= right.lo, z3.Or(hull.lo == left.lo, hull.lo == right.lo))"
_SHOWN = "return z3.If(owned_by(stamp, reader_gen), is_interval(result, stamp)"

TWINS: dict[str, Twin] = {
    "merge ignores the owner": Twin(
        rules=Rules(own=lambda claim, writer: claim.owner != 0), old=_MERGES, new="z3.If(cur.owner != 0, merges, replaces))"
    ),
    "merge spans a gap above": Twin(
        rules=Rules(touching=lambda claim, start, end: claim.lo <= end), old=_APART, new="right.hi < left.lo"
    ),
    "merge spans a gap below": Twin(
        rules=Rules(touching=lambda claim, start, end: start <= claim.hi), old=_APART, new="left.hi < right.lo"
    ),
    "merge abuts one too far": Twin(
        rules=Rules(touching=lambda claim, start, end: start <= claim.hi + 1 and claim.lo <= end),
        old=_APART,
        new="z3.Or(left.hi + 1 < right.lo, right.hi < left.lo)",
    ),
    "merge abuts one too far below": Twin(
        rules=Rules(touching=lambda claim, start, end: start <= claim.hi and claim.lo <= end + 1),
        old=_APART,
        new="z3.Or(left.hi < right.lo, right.hi + 1 < left.lo)",
    ),
    "merge keeps the lower edge": Twin(
        rules=Rules(lower=lambda claim, start: claim.lo), old=_STARTS, new="starts = hull.lo == left.lo"
    ),
    "stamp keeps the old owner": Twin(
        rules=Rules(owner=lambda claim, writer: claim.owner),
        old="result.value.owner == writer_gen",
        new="result.value.owner == cur.owner",
    ),
    "a reader sees any owner's rows": Twin(
        rules=Rules(sees=lambda claim, reader: reader != 0),
        old=_SHOWN,
        new="return z3.If(reader_gen != 0, is_interval(result, stamp)",
    ),
    "generation 0 reads what it wrote": Twin(
        rules=Rules(sees=lambda claim, reader: claim.owner == reader),
        old=_SHOWN,
        new="return z3.If(stamp.owner == reader_gen, is_interval(result, stamp)",
    ),
    "generation 0 reads everything": Twin(
        rules=Rules(sees=lambda claim, reader: reader == 0 or claim.owner == reader),
        old=_SHOWN,
        new="return z3.If(z3.Or(reader_gen == 0, stamp.owner == reader_gen), is_interval(result, stamp)",
    ),
    "an allocation renews neither ticket nor claim": Twin(rules=Rules(draws=False, resets=False)),
    "an allocation does not reset the claim": Twin(rules=Rules(resets=False)),
    "an allocation keeps the ticket": Twin(rules=Rules(draws=False)),
    "generation 0 merges with itself, in the world": Twin(
        rules=Rules(own=lambda claim, writer: claim.owner == writer),
        old=_MERGES,
        new="z3.If(cur.owner == writer_gen, merges, replaces))",
    ),
}

OF_THE_WORLD = [mutant for mutant in MUTANTS if any(sweep.startswith("sequences") for sweep in mutant.sweeps)]


def swept(depth: int, mutant: Mutant | None) -> Tally:
    scope = BY_NAME[f"sequences-{depth}"]
    return Host().sweep(scope, scope.sizes["small"], patches=[mutant.patch] if mutant else [])


def shortest(mutant: Mutant) -> tuple[int, int] | None:
    """The depth and the index of the first sequence that goes wrong in the kernels; None if there is none so short."""
    for depth in range(1, DEEPEST + 1):
        first = swept(depth, mutant).first
        if first is not None:
            return depth, first
    return None


def enumerated(depth: int, rules: Rules) -> tuple[int, int | None, int]:
    """(broken, first, accepted) of all sequences of `depth` actions, in plain Python."""

    def worlds(index: int, world: World, left: int) -> Iterator[tuple[int, World, int]]:
        for action in range(scopes.ACTIONS):
            at, next_world = index * scopes.ACTIONS + action, world.after(action)
            if left == 1:
                yield at, next_world, action
            else:
                yield from worlds(at, next_world, left - 1)

    broken, first, accepted = 0, None, 0
    for index, world, action in worlds(0, World(rules=rules), depth):
        accepted += any(world.seen(writer) for writer in range(scopes.WRITERS))
        if world.wrong(action):
            broken += 1
            first = index if first is None else first
    return broken, first, accepted


def test_every_mutant_of_the_world_has_its_twins() -> None:
    assert [mutant.name for mutant in OF_THE_WORLD if mutant.name not in TWINS] == []
    assert set(TWINS) == {mutant.name for mutant in OF_THE_WORLD}


def test_the_rules_of_the_enumeration_are_those_of_the_reference() -> None:
    values = range(4)
    for owner, lo, hi, writer, start, end in itertools.product(values, values, values, values, values, values):
        claim = Claim(owner=owner, lo=lo, hi=hi)
        if start <= end:
            assert Rules().written(claim, writer, start, end) == reference.stamped_merge(claim, writer, start, end - start)
        assert (World(rules=Rules(), claim=claim, tickets=(writer,)).seen(0) or range(0)) == range(*claim.visible_to(writer))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_sequences_are_counted_as_a_plain_enumeration_counts_them(depth: int) -> None:
    tally = swept(depth, None)

    assert (tally.broken, tally.first, tally.accepted) == enumerated(depth, Rules())


@pytest.mark.parametrize("mutant", OF_THE_WORLD, ids=lambda mutant: mutant.name)
def test_a_mutant_breaks_the_sequences_that_it_breaks_in_the_enumeration(mutant: Mutant) -> None:
    for depth in (1, 2):
        tally = swept(depth, mutant)
        assert (tally.broken, tally.first, tally.accepted) == enumerated(depth, TWINS[mutant.name].rules)
    found = shortest(mutant)
    assert (found is None) == bool(mutant.equivalent)
    assert found is None or found[0] <= 2, "deeper than what has just been enumerated"


def test_the_shortest_trace_of_a_gap_is_two_writes_of_one_writer() -> None:
    found = shortest(next(mutant for mutant in OF_THE_WORLD if mutant.name == "merge spans a gap above"))

    assert found is not None
    assert scopes.trace(found[1], found[0]) == ["writer 1 writes rows 0 to 0", "writer 1 writes rows 2 to 2"]


def solved(twin: Twin, deepest: int) -> tuple[int, int] | None:
    """The depth and the index of the solver's first sequence that goes wrong; None if there is none so short."""
    pytest.importorskip("z3")
    from tests.batched.solved_world import first_wrong

    found = first_wrong(twin.old, twin.new, draws=twin.rules.draws, resets=twin.rules.resets, deepest=deepest)
    if found is None:
        return None
    return len(found), functools.reduce(lambda index, action: index * scopes.ACTIONS + action, found)


@pytest.mark.parametrize("mutant", OF_THE_WORLD, ids=lambda mutant: mutant.name)
def test_the_shortest_trace_of_a_mutant_is_the_solvers(mutant: Mutant) -> None:
    assert shortest(mutant) == solved(TWINS[mutant.name], deepest=DEEPEST)


def test_the_solver_finds_no_sequence_that_goes_wrong_under_the_rules_of_the_spec() -> None:
    assert solved(Twin(rules=Rules()), deepest=DEEPEST) is None
