"""The small world of sequences.cu as formulas over unknown actions, from the rules as `spec` has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import z3

from proofs.faults.patch import Patch, rules_of
from proofs.gpu import scopes
from proofs.smt import fresh_context
from spec.rules import RULES, Rules
from spec.sorts import Record


@dataclass
class SolversWorld:
    """A world after the actions taken so far. `facts` are what its unknowns must satisfy."""

    rules: Rules
    draws: bool
    resets: bool
    claim: Any = None
    tickets: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    facts: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        zero = z3.IntVal(0)
        self.claim = Record(fields={"owner": zero, "lo": zero, "hi": zero})
        self.tickets = [z3.IntVal(ticket) for ticket in range(scopes.WRITERS)]
        self.rows = [z3.IntVal(-1)] * scopes.ROWS

    def asked(self, rule: str, name: str, arguments: dict[str, Any]) -> Any:
        """The result of a rule, which is one that the rule allows."""
        result = self.rules[rule].result.fresh(name)
        self.facts.append(self.rules[rule].holds(arguments, result))
        return result

    def act(self, action: Any, step: int) -> tuple[Any, Any]:
        """Go on by an action; gives what was written, and by whom (4: an allocation)."""
        writer, interval = action / len(scopes.INTERVALS), action % len(scopes.INTERVALS)
        lo, hi = (self._chosen(interval, [ends[side] for ends in scopes.INTERVALS]) for side in (0, 1))
        allocates, anew = writer == scopes.WRITERS, interval + 1
        generation = self._chosen(writer, self.tickets)
        arguments = {"cur": self.claim, "writer_gen": generation, "start": lo, "count": hi - lo}
        merged = self.asked("stamped_merge", f"merged.{step}", arguments)
        self.facts.append(z3.Not(merged.panics))
        parts = ("owner", "lo", "hi")
        kept = {part: z3.IntVal(0) if self.resets else getattr(self.claim, part) for part in parts}
        self.claim = Record(fields={part: z3.If(allocates, kept[part], getattr(merged.value, part)) for part in parts})
        fresh = z3.IntVal(3 + step)
        if self.draws:
            # Each action may be an allocation, so each has a ticket of its own.
            self.tickets = [z3.If(z3.And(allocates, anew == w), fresh, t) for w, t in enumerate(self.tickets)]
        for row, last in enumerate(self.rows):
            forgotten = z3.If(last == anew, z3.IntVal(-1), last)
            written = z3.If(z3.And(lo <= row, row < hi), writer, last)
            self.rows[row] = z3.If(allocates, forgotten, written)
        return Record(fields={"lo": lo, "hi": hi}), writer

    def wrong(self, written: Any, last: Any) -> Any:
        """The last action lets someone see a foreign row, or its writer not what it wrote."""
        shown = [
            self.asked("visible_to", f"seen.{reader}", {"self": self.claim, "reader_gen": ticket})
            for reader, ticket in enumerate(self.tickets)
        ]
        rows = range(scopes.ROWS)
        sees = [[z3.And(seen.lo <= row, row < seen.hi) for row in rows] for seen in shown]
        foreign = [z3.And(sees[r][row], z3.Or(r == 0, self.rows[row] != r)) for r in range(scopes.WRITERS) for row in rows]
        unseen = [z3.And(last == r, written.lo <= row, row < written.hi, z3.Not(sees[r][row])) for r in (1, 2, 3) for row in rows]
        return z3.Or(*foreign, *unseen)

    def _chosen(self, number: Any, values: list[Any]) -> Any:
        chosen = values[-1] if not isinstance(values[-1], int) else z3.IntVal(values[-1])
        for at, value in reversed(list(enumerate(values[:-1]))):
            chosen = z3.If(number == at, value, chosen)
        return chosen


def first_wrong(old: str, new: str, *, draws: bool, resets: bool, deepest: int) -> list[int] | None:
    """The shortest sequence of actions that goes wrong, and of those the first; None if there is none up to `deepest`.

    old, new: a change of spec/store.py, or empty. draws, resets: what an allocation does.
    """
    fresh_context()
    rules = rules_of("store", Patch(module="store", old=old, new=new).apply()) if old else RULES
    for depth in range(1, deepest + 1):
        world = SolversWorld(rules=rules, draws=draws, resets=resets)
        actions = [z3.Int(f"action.{step}") for step in range(depth)]
        for step, action in enumerate(actions, start=1):
            written, writer = world.act(action, step)
        solver = z3.Solver()
        solver.set("random_seed", 0)
        solver.add(*[z3.And(0 <= action, action < scopes.ACTIONS) for action in actions])
        solver.add(world.wrong(written, writer), *world.facts)
        answer = solver.check()
        assert answer != z3.unknown
        if answer == z3.sat:
            return _first(solver, actions)
    return None


def _first(solver: z3.Solver, actions: list[z3.ArithRef]) -> list[int]:
    trace = []
    for action in actions:
        best = solver.model()[action].as_long()
        while True:
            solver.push()
            solver.add(action < best)
            lower = solver.check()
            if lower == z3.sat:
                best = solver.model()[action].as_long()
            solver.pop()
            assert lower != z3.unknown
            if lower == z3.unsat:
                break
        solver.add(action == best)
        assert solver.check() == z3.sat
        trace.append(best)
    return trace
