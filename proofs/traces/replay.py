"""A trace run again on the twin machine, with the code's rules: whether it comes to the same states and the same harm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proofs.traces import graphs, machine
from proofs.traces.faults import SystemFault
from proofs.traces.machine import Runner
from proofs.traces.trace import Impossible, Trace
from spec.rules import RULES


@dataclass(frozen=True, kw_only=True)
class Replay:
    """What the replay of a trace came to."""

    confirmed: bool
    """Every state was the trace's, and the same harm stands at the end and at no step before."""
    reason: str = ""
    parts_at: int | None = None
    """The first step at which a rule of the code answers differently or, with the right machine, something else happens."""


def replay(trace: Trace, fault: SystemFault, run: Runner) -> Replay:
    """Runs the trace on the machine with the fault; `run` is the code.

    Calls of rules go to the code. Where the fault is in a rule, its results are those of the trace, and must differ somewhere.
    """
    faulty = fault.machine().Machine(given=trace.given, run=_answers(trace, fault, run))
    for number, step in enumerate(trace.steps, start=1):
        if any((fault.harm, trace.place) == harm for harm in faulty.harms()):
            return Replay(confirmed=False, reason=f"the harm stands before step {number} already")
        try:
            faulty.step(step.action, step.choices)
        except Impossible as refused:
            return Replay(confirmed=False, reason=f"step {number}, {step.action}, is not possible: {refused}")
        if (difference := _difference(faulty.snapshot(), step.after)) is not None:
            return Replay(confirmed=False, reason=f"after step {number}, {step.action}: {difference}")
    if (fault.harm, trace.place) not in faulty.harms():
        return Replay(confirmed=False, reason=f"no {fault.harm} at {trace.place}: {sorted(faulty.harms())}")
    parts = _parts_at(trace, fault, run)
    if parts is None and not fault.in_the_world:
        return Replay(confirmed=False, reason="the right machine takes the same steps to the same states")
    return Replay(confirmed=True, parts_at=parts)


def confirms(trace: Trace, run: Runner, *, of_graphs: bool = False) -> Replay:
    """Runs a trace of the right model on the right machine: whether it comes to the same states, and to no harm."""
    right = (graphs if of_graphs else machine).Machine(given=trace.given, run=run)
    for number, step in enumerate(trace.steps, start=1):
        try:
            right.step(step.action, step.choices)
        except Impossible as refused:
            return Replay(confirmed=False, reason=f"step {number}, {step.action}, is not possible: {refused}")
        if (difference := _difference(right.snapshot(), step.after)) is not None:
            return Replay(confirmed=False, reason=f"after step {number}, {step.action}: {difference}")
        if right.harms():
            return Replay(confirmed=False, reason=f"after step {number}, {step.action}: {sorted(right.harms())}")
    return Replay(confirmed=True)


def _answers(trace: Trace, fault: SystemFault, run: Runner) -> Runner:
    """The code's answers; those that the trace has where the model that the fault changed is the rule's."""
    told = {
        (call.rule, repr(call.arguments)): call.result
        for step in trace.steps
        for call in step.calls
        if fault.rules()[call.rule].relation is not RULES[call.rule].relation
    }

    def answer(rule: str, arguments: Mapping[str, Any]) -> Any:
        known = (rule, repr(arguments))
        return told[known] if known in told else run(rule, arguments)

    return answer


def _difference(machine: Mapping[str, Any], model: Mapping[str, Any]) -> str | None:
    """The first part of a snapshot that differs."""
    for part, value in model.items():
        if machine[part] != value:
            return f"{part} is {machine[part]} on the machine, {value} in the model"
    return None


def _parts_at(trace: Trace, fault: SystemFault, run: Runner) -> int | None:
    """The first step that the machine without the fault, with the code's rules, does not take to the same state."""
    right = (graphs if fault.of_graphs else machine).Machine(given=trace.given, run=run)
    for number, step in enumerate(trace.steps, start=1):
        try:
            right.step(step.action, step.choices)
        except Impossible:
            return number
        if _difference(right.snapshot(), step.after) is not None:
            return number
    return None
