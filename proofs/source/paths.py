"""All paths through straight-line code: the code is run again for each, with its decisions replayed.

The interpreter is written as if values were known. Where it must know a truth value that is a term it calls `decide`, which
follows the decisions of the present path and, at a new one, takes one side and keeps the other for a later run. A side that
the solver refutes is not taken, so the paths found cover every input. Known truth values decide themselves: on constants
there is one path and no solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import z3

from proofs import smt
from proofs.source.terms import Cond, cond, settled
from proofs.source.values import Value

_PRUNING_BUDGET = 100_000
_PROVING_BUDGET = 300_000
_MOST_PATHS = 600


class Leave(Exception):
    """A path ends here."""


@dataclass(eq=False)
class Panicked(Leave):
    """The code panics, or raises."""

    why: str
    line: int


@dataclass(eq=False)
class NotUnderstood(Leave):
    """Something that is not modelled was reached."""

    what: str
    line: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass(eq=False)
class Endless(Leave):
    """The code goes on for ever: each turn of a loop leads to another one."""

    line: int


class Impossible(Leave):
    """A point that cannot be reached was reached: its path must turn out to be infeasible."""


@dataclass(frozen=True, kw_only=True)
class Sorting:
    """A sort on a path: position p of the result holds the element that stood at `place(p)`.

    `before(j, i)`: the element at j is placed before the one at i. `values` are the elements sorted.
    """

    place: z3.FuncDeclRef
    length: Any
    before: Callable[[Any, Any], Cond]
    values: Any


@dataclass(frozen=True, kw_only=True)
class Path:
    """One way through: the decisions taken, what else is known on it, and where it ends."""

    conditions: tuple[z3.BoolRef, ...]
    facts: tuple[z3.BoolRef, ...]
    """Definitions of what the path introduced, and domains of what it read."""
    end: Value | Leave
    state: Any = None
    sortings: tuple[Sorting, ...] = ()


@dataclass
class _Frame:
    known: list[z3.BoolRef]
    trace: list[bool]
    cursor: int = 0
    conditions: list[z3.BoolRef] = field(default_factory=list)
    facts: list[z3.BoolRef] = field(default_factory=list)
    plain: list[z3.BoolRef] = field(default_factory=list)
    """Those of both that have no quantifier."""
    sortings: list[Sorting] = field(default_factory=list)
    pending: list[list[bool]] = field(default_factory=list)
    fresh: int = 0


class Paths:
    """The decisions of an interpreter."""

    def __init__(self, known: list[z3.BoolRef]) -> None:
        self._frames: list[_Frame] = []
        self._premises = known
        self._at_start = [fact for fact in known if not _quantified(fact)]
        self.line = 0
        self.solver_calls = 0

    def explore(self, run: Callable[[], Value], state: Callable[[], Any] = lambda: None) -> list[Path]:
        """Every path of `run`. `state` is asked at the end of each. Nested explorations know what surrounds them."""
        paths: list[Path] = []
        pending: list[list[bool]] = [[]]
        known = self.known()
        while pending:
            frame = _Frame(known=known, trace=pending.pop())
            self._frames.append(frame)
            try:
                end: Value | Leave = run()
            except Leave as leave:
                end = leave
            finally:
                self._frames.pop()
            pending += frame.pending
            paths.append(
                Path(
                    conditions=tuple(frame.conditions),
                    facts=tuple(frame.facts),
                    end=end,
                    state=state(),
                    sortings=tuple(frame.sortings),
                )
            )
            if len(paths) > _MOST_PATHS:
                raise NotUnderstood(f"more than {_MOST_PATHS} paths", self.line)
        return paths

    def known(self) -> list[z3.BoolRef]:
        """All that holds here and has no quantifier."""
        if not self._frames:
            return list(self._at_start)
        frame = self._frames[-1]
        return [*frame.known, *frame.plain]

    def _learn(self, formula: z3.BoolRef) -> None:
        if not _quantified(formula):
            self._frames[-1].plain.append(formula)

    def decide(self, question: Cond) -> bool:
        """The truth value, by trying both where it is open."""
        question = settled(question)
        if isinstance(question, bool):
            return question
        frame = self._frames[-1]
        at = frame.cursor
        frame.cursor += 1
        if at < len(frame.trace):
            answer = frame.trace[at]
        else:
            # Where a path turns out to be infeasible itself the second answer is wrong, and its end is refuted later.
            answer = self.feasible(question)
            if answer and self.feasible(z3.Not(question)):
                frame.pending.append([*frame.trace, False])
            frame.trace.append(answer)
        frame.conditions.append(question if answer else z3.Not(question))
        self._learn(frame.conditions[-1])
        return answer

    def assume(self, fact: Cond) -> None:
        """Takes what is true here by definition."""
        fact = settled(fact)
        if fact is not True and self._frames:
            formula = z3.BoolVal(False) if fact is False else fact
            self._frames[-1].facts.append(formula)
            self._learn(formula)

    def note(self, sorting: Sorting) -> None:
        """Records a sort on this path."""
        self._frames[-1].sortings.append(sorting)

    def feasible(self, *questions: z3.BoolRef) -> bool:
        """False if what is known refutes the questions; quantified facts are left out, so True may be wrong."""
        solver = z3.SimpleSolver()
        solver.set("rlimit", _PRUNING_BUDGET)
        solver.add(self.known())
        solver.add(*questions)
        self.solver_calls += 1
        return bool(solver.check() != z3.unsat)

    def certain(self, claim: Cond) -> bool:
        """True if what is known implies the claim."""
        claim = settled(claim)
        return claim if isinstance(claim, bool) else not self.feasible(z3.Not(claim))

    def proves(self, claim: Cond) -> bool:
        """True if all that holds here, what is quantified too, implies the claim."""
        here = [formula for frame in self._frames for formula in (*frame.conditions, *frame.facts)]
        named = {f"h{i}": formula for i, formula in enumerate([*self._premises, *here])}
        check = smt.ask_z3(smt.script({**named, smt.NEGATED_GOAL: z3.Not(cond(claim))}), budget=_PROVING_BUDGET)
        return check.answer is smt.Answer.UNSAT

    def strangers(self, formulas: Iterable[z3.ExprRef], own: z3.ExprRef) -> bool:
        """The formulas speak of numbers that were named while they were made, other than `own`.

        Such a number has one value, not one for each index or turn, so they must not be stated of all indices.
        """
        known = _named(self.known())
        return bool(_named(formulas) - known - {str(own)})

    def fresh(self, stem: str) -> str:
        """A name that this path, and no other with other decisions, uses once."""
        names = []
        for frame in self._frames:
            names.append("".join("yn"[not d] for d in frame.trace[: frame.cursor]))
        self._frames[-1].fresh += 1
        return f"{stem}!{'.'.join(names)}.{self._frames[-1].fresh}"


def _named(formulas: Iterable[z3.ExprRef]) -> set[str]:
    """The constants among `fresh` names that occur."""
    found: set[str] = set()
    seen: set[int] = set()
    pending = list(formulas)
    while pending:
        part = pending.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        if z3.is_const(part) and part.decl().kind() == z3.Z3_OP_UNINTERPRETED and "!" in str(part):
            found.add(str(part))
        pending += [part.body()] if z3.is_quantifier(part) else part.children()
    return found


def _quantified(formula: z3.BoolRef) -> bool:
    pending: list[z3.ExprRef] = [formula]
    seen: set[int] = set()
    while pending:
        part = pending.pop()
        if z3.is_quantifier(part):
            return True
        if part.get_id() not in seen:
            seen.add(part.get_id())
            pending += part.children()
    return False
