"""From a claim to the SMT-LIB text that is proved, and from the text to an answer.

What is proved is the text: each solver reads it anew, in a context of its own, so an answer and its cost are functions
of the text, the pinned solver and its seed alone. Every hypothesis has a name; unsat cores are told in these names.
"""

from __future__ import annotations

import enum
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import cvc5
import z3

from proofs.obligation import Goal, Obligation, World
from spec.rules import Rules
from spec.scope import Telling, telling

NEGATED_GOAL = "the claim is false"


class Answer(enum.Enum):
    """A solver's answer about a set of hypotheses."""

    SAT = "sat"
    UNSAT = "unsat"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Check:
    """An answer, the reason if there is none, its cost in the solver's units, and the names used (if unsat)."""

    answer: Answer
    cost: int
    reason: str = ""
    core: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)


def fresh_context() -> None:
    """Forgets every term built before, so that nothing built from now on depends on it."""
    # z3py keeps its default context in this module variable and makes a new one when it is None.
    z3.z3._main_ctx = None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A claim told in one world: its goal, and every hypothesis by name."""

    world: World
    goal: Goal
    hypotheses: Mapping[str, z3.BoolRef]
    lemmas: tuple[str, ...] = ()
    """The ids of the lemmas among the hypotheses; a bounded telling takes none."""

    @cached_property
    def text(self) -> str:
        """The SMT-LIB text that is unsatisfiable if and only if the claim follows."""
        return script({**self.hypotheses, NEGATED_GOAL: z3.Not(self.goal.show)})

    @cached_property
    def integers(self) -> tuple[str, ...]:
        """The names of the integer constants that it speaks of."""
        declared = re.findall(r"^\(declare-fun (\|[^|]*\||\S+) \(\) Int\)$", self.text, re.MULTILINE)
        return tuple(name.strip("|") for name in declared)


def state(obligation: Obligation, rules: Rules, *, bound: int | None = None) -> Statement:
    """Tells the claim, unbounded or bounded, in a fresh context. Terms of earlier statements must not be used again."""
    fresh_context()
    with telling(bound=bound) as block:
        world = World(table=obligation.rules or rules)
        goal = obligation.build(world)
        lemmas = tuple(dict.fromkeys(lemma for lemma, _ in world.lemmas)) if bound is None else ()
        return Statement(world=world, goal=goal, hypotheses=_hypotheses(world, goal, block), lemmas=lemmas)


def _hypotheses(world: World, goal: Goal, block: Telling) -> dict[str, z3.BoolRef]:
    named = {**world.domains}
    named |= {f"{name} is what its name says": formula for name, formula in block.definitions.items()}
    if twice := named.keys() & goal.given.keys():
        raise ValueError(f"Goal: given={sorted(twice)} names what the world has named already; use other names")
    named |= goal.given
    if block.bound is None:
        named |= {f"lemma {i}: {lemma}": formula for i, (lemma, formula) in enumerate(world.lemmas, start=1)}
    elif block.limits:
        named["every index range ends within the bound"] = z3.And(block.limits)
    return named


def script(assertions: Mapping[str, z3.BoolRef]) -> str:
    """SMT-LIB: declarations, one named assertion each, `check-sat`."""
    # A solver that is printed tells declarations and assertions at once, far faster than a walk through the terms.
    printer = z3.Solver()
    printer.add(*assertions.values())
    head, *bodies = f"\n{printer.sexpr()}".split("\n(assert")
    lines = ["(set-option :produce-unsat-cores true)", "(set-logic ALL)"]
    lines += sorted(f"(declare-fun {rest.strip()}" for rest in head.split("(declare-fun ")[1:])
    for name, body in zip(assertions, bodies, strict=True):
        lines.append(f"(assert (! {body.strip().removesuffix(')')} :named {_symbol(name)}))")
    lines.append("(check-sat)")
    return "\n".join(lines) + "\n"


def _symbol(name: str) -> str:
    return "|" + re.sub(r"[|\\]", "/", name) + "|"


def ask_z3(text: str, *, budget: int, seed: int = 0) -> Check:
    """Z3's answer to the text. `budget` is in resource units."""
    started = time.perf_counter()
    solver = z3.Solver(ctx=z3.Context())
    solver.set("random_seed", seed)
    solver.set("rlimit", budget)
    solver.from_string(text)
    answer = Answer(str(solver.check()))
    cost, reason = resources(solver), ""
    core: tuple[str, ...] = ()
    if answer is Answer.UNKNOWN:
        reason = f"z3: {solver.reason_unknown()} (budget {budget} resource units)"
    if answer is Answer.UNSAT:
        core = tuple(str(name).strip("|") for name in solver.unsat_core())
    return Check(answer=answer, cost=cost, reason=reason, core=core, seconds=time.perf_counter() - started)


def resources(solver: z3.Solver) -> int:
    """What the context of this solver has spent so far, in Z3's resource units."""
    statistics = solver.statistics()
    return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0  # noqa: SIM118


def ask_cvc5(text: str, *, budget: int, seed: int = 0) -> Check:
    """cvc5's answer to the text. `budget` is in resource units."""
    started = time.perf_counter()
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit", str(budget))
    solver.setOption("seed", str(seed))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols = parser.getSymbolManager()
    reply = ""
    while not (command := parser.nextCommand()).isNull():
        reply += command.invoke(solver, symbols)
    word = reply.strip()
    if word not in {"sat", "unsat", "unknown"}:
        return Check(answer=Answer.UNKNOWN, cost=0, reason=f"cvc5: {word}")
    cost = int(solver.getStatistics()["resource::resourceUnitsUsed"]["value"])
    reason = f"cvc5: unknown (budget {budget} resource units)" if word == "unknown" else ""
    return Check(answer=Answer(word), cost=cost, reason=reason, seconds=time.perf_counter() - started)
