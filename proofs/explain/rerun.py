"""An explanation run again on an implementation: whether the harm shows there, or the model is spurious.

A counterexample is spurious if a rule that is not the mutant's gives in the model what the implementation does not give, or if
a run of the system does not come to the same states and the same harm on the twin machine. That is a defect of the model.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proofs.conform.targets import Asked, engine
from proofs.conform.vector import UNKNOWN, Vector
from proofs.explain.explanation import MUTANTS, SCHEMA, brief, difference, parting
from proofs.judge import Runner, Verdict
from proofs.traces.faults import SystemFault
from proofs.traces.replay import confirms, replay
from proofs.traces.trace import SCHEMA as TRACE
from proofs.traces.trace import RuleCall, Step, Trace
from spec.machine import Profile
from spec.sorts import PANIC


class Rerun(enum.Enum):
    """What a replay came to."""

    SHOWS = "the harm shows"
    SPARED = "the harm does not show"
    SPURIOUS = "spurious"


@dataclass(frozen=True, kw_only=True)
class Result:
    """A replay: what it came to, whether that is as it must be, and a line for each call or step that tells something."""

    outcome: Rerun
    as_it_must_be: bool
    lines: tuple[str, ...]


class Unanswered(Exception):
    """The implementation has no such function."""


def runner(target: str) -> Runner:
    """Runs one call on an implementation. NoTarget if it is not here; the runner raises Unanswered."""
    ask = engine(target, Asked())

    def run(fn: str, args: Mapping[str, Any]) -> Any:
        (answer,) = [result for _, result in ask([Vector(fn=fn, args=args, result=None)])]
        if answer is UNKNOWN:
            raise Unanswered(f"{target} has no {fn}")
        return answer

    return run


def rerun(document: Mapping[str, Any], run: Runner) -> Result:
    """Runs a document of `draftproof explain` on the code that `run` asks. ValueError if it is none, or tells no counterexample."""
    if document.get("schema") != SCHEMA:
        raise ValueError(f"schema={document.get('schema')!r} is not {SCHEMA!r}; pass a file that `draftproof explain` wrote")
    if document["verdict"] != Verdict.REFUTED.value:
        raise ValueError(f"{document['obligation']} is {document['verdict']} there, so there is nothing to replay")
    if document["trace"] is not None:
        return _system(document, run)
    return _rules(document, run)


def _rules(document: Mapping[str, Any], run: Runner) -> Result:
    lines, mutated, shows = [], False, True
    for number, call in enumerate(document["calls"], start=1):
        answer = run(call["rule"], call["arguments"])
        told = f"call {number}   {call['rule']} gives {brief(answer)}"
        if call["profile"] == Profile.RELEASE.value and answer == PANIC:
            # Only a build that wraps could tell; the specification stands for it.
            told, answer = f"{told}: this build does not wrap", call["right"]
        expected = call["right"] if call["changed"] else call["gives"]
        if call["parts"] and call["changed"]:
            mutated = True
            if answer == call["gives"]:
                lines.append(f"{told}, as the mutant does")
                continue
            shows = False
        lines.append(told)
        if answer != expected:
            why = difference(answer, expected)
            return Result(outcome=Rerun.SPURIOUS, as_it_must_be=False, lines=(*lines, f"the model is not the code: {why}"))
    meant = document["kind"] == "boundary" and not mutated
    outcome = Rerun.SHOWS if shows else Rerun.SPARED
    return Result(outcome=outcome, as_it_must_be=meant or not shows, lines=tuple(lines))


def _system(document: Mapping[str, Any], run: Runner) -> Result:
    fault, trace = MUTANTS[document["mutant"]], _trace(document["trace"])
    if not isinstance(fault, SystemFault):
        raise ValueError(f"mutant={fault.name} is a fault of a rule, and has no run of the system")
    parts_at, why = parting(trace, fault, run)
    if parts_at is None and not fault.in_the_world:
        # This code takes the whole run: either to harm, or the run has none.
        again = confirms(trace, run, of_graphs=fault.of_graphs)
        outcome, told = (Rerun.SPURIOUS, "the run comes to no harm") if again.confirmed else (Rerun.SHOWS, again.reason)
        return Result(outcome=outcome, as_it_must_be=False, lines=(told,))
    again = replay(trace, fault, run)
    if not again.confirmed:
        return Result(outcome=Rerun.SPURIOUS, as_it_must_be=False, lines=(again.reason,))
    lines = [f"with the fault the harm stands after step {len(trace.steps)}, and at no step before"]
    lines.append(why if parts_at is None else f"without it the run parts at step {parts_at}: {why}")
    outcome = Rerun.SHOWS if parts_at is None else Rerun.SPARED
    return Result(outcome=outcome, as_it_must_be=True, lines=tuple(lines))


def _trace(told: Mapping[str, Any]) -> Trace:
    if told["schema"] != TRACE:
        raise ValueError(f"trace: schema={told['schema']!r} is not {TRACE!r}; pass a file that `draftproof explain` wrote")
    steps = tuple(
        Step(
            action=step["action"],
            choices=step["choices"],
            calls=tuple(RuleCall(**call) for call in step["calls"]),
            after=step["after"],
        )
        for step in told["steps"]
    )
    return Trace(given=told["given"], steps=steps, harm=told["harm"], place=tuple(told["place"]))
