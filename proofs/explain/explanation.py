"""Why a claim does not hold, as data: the smallest counterexample, what was given, what is right, and where the two part.

An explanation is of an obligation, with or without a fault. It is found afresh, never read from a report. As JSON it is what
`draftproof replay` reads. Leaves out how it is shown (`told`, `page`) and whether it comes true (`rerun`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proofs.claims import OBLIGATIONS
from proofs.explain.smallest import NOTHING, Asked, Smallest, gives, smallest
from proofs.faults import FAULTS, Fault, rules_of
from proofs.judge import Runner, Verdict, judge
from proofs.obligation import Kind, Obligation
from proofs.traces import graphs, machine
from proofs.traces.faults import SYSTEM_FAULTS, SystemFault
from proofs.traces.replay import replay
from proofs.traces.search import shortest
from proofs.traces.trace import Impossible, Trace
from spec.machine import Profile
from spec.rules import RULES, Rules
from spec.sorts import PANIC, Concrete

SCHEMA = "draftproof.explanation/1"
LONGEST = 8
"""Runs of the system up to this length are searched."""

Mutant = Fault | SystemFault

MUTANTS: Mapping[str, Mutant] = {**{fault.name: fault for fault in FAULTS}, **SYSTEM_FAULTS}
"""Every named fault, of rules and of the system."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A call in a counterexample: what the rule gives there, and what is right."""

    rule: str
    arguments: Mapping[str, Concrete]
    profile: str
    gives: Concrete
    right: Concrete
    by: str
    """Who says what is right: the reference, or the specification where the reference has no such build."""
    changed: bool
    """The rule is the mutant's."""
    parts: str
    """Where the two results part; empty where they are the same."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Everything that is told of an obligation."""

    obligation: str
    claim: str
    kind: str
    verdict: Verdict
    mutant: str = ""
    fault: str = ""
    """What the mutant does, in English; without one, whose rules these are, if they are not the specified ones."""
    reason: str = ""
    scope: str = ""
    minimal: str = ""
    calls: tuple[Told, ...] = ()
    numbers: Mapping[str, int] | None = None
    trace: Trace | None = None
    harm: str = ""
    """The law that the trace violates, in English."""
    parts_at: int | None = None
    """The step (of a trace) or call, counted from 1, where it first differs from what is right."""
    parts: str = ""
    witnesses: tuple[str, ...] = ()
    refutes: tuple[str, ...] = ()
    """The mutants that the obligation refutes."""

    def as_json(self) -> dict[str, Any]:
        """Plain data, as it is printed and as `replay` reads it."""
        told = asdict(self) | {"schema": SCHEMA, "verdict": self.verdict.value}
        told["trace"] = None if self.trace is None else self.trace.as_json()
        return dict(json.loads(json.dumps(told)))


def mutants_of(obligation: str) -> tuple[str, ...]:
    """The mutants that an obligation refutes: those of its rule, or those of the system that break it or show its harm."""
    of_rules = [fault.name for fault in FAULTS if fault.refuted_by == obligation]
    of_system = [fault.name for fault in SYSTEM_FAULTS.values() if obligation in obligations_of(fault)]
    return (*of_rules, *of_system)


def obligations_of(mutant: Mutant) -> tuple[str, ...]:
    """The obligations under which a mutant is explained; the first is the one that it breaks."""
    if isinstance(mutant, Fault):
        return (mutant.refuted_by,)
    return (mutant.breaks, f"system/{mutant.harm}")


def explain(
    obligation: Obligation,
    run: Runner,
    *,
    mutant: Mutant | None = None,
    rules: Rules = RULES,
    asked: Runner | None = None,
    fault: str = "",
) -> Explanation:
    """The explanation of an obligation under the rules as they stand, with a mutant, or under `rules` of one's own.

    `run` is the right code. `asked` is the code of one's own rules, and `fault` says what they are.
    """
    if isinstance(mutant, SystemFault):
        return _system(obligation, mutant, run)
    if isinstance(mutant, Fault):
        faulty = rules_of(mutant.patch.module, mutant.patch.apply())
        return _rules(obligation, run, faulty, {"mutant": mutant.name, "fault": mutant.tells})
    if obligation.kind is Kind.BOUNDARY:
        return _rules(obligation, run, rules, {"fault": fault})
    judged = judge(obligation, asked or run, rules=rules)
    if judged.verdict is Verdict.REFUTED and judged.counterexample is not None:
        return _rules(obligation, run, rules, {"fault": fault})
    return Explanation(
        **_about(obligation),
        fault=fault,
        verdict=judged.verdict,
        reason=judged.reason,
        scope=judged.scope,
        witnesses=tuple(situation.name for situation in judged.witnesses if situation.found),
        refutes=mutants_of(obligation.id),
    )


def _about(obligation: Obligation) -> dict[str, Any]:
    return {"obligation": obligation.id, "claim": obligation.claim, "kind": obligation.kind.value}


# ---- claims about rules


def _rules(obligation: Obligation, run: Runner, rules: Rules, mutant: Mapping[str, str]) -> Explanation:
    found = smallest(obligation, rules)
    about = _about(obligation) | dict(mutant)
    scope = f"sequences of at most {obligation.size} elements, any machine values"
    if not found.found:
        reason = "the solver gave up" if found.found is None else "in this scope the claim holds"
        verdict = Verdict.UNDECIDED if found.found is None else Verdict.PROVED
        return Explanation(**about, verdict=verdict, reason=reason, scope=scope, refutes=mutants_of(obligation.id))
    calls = tuple(_told(call, rules, run) for call in found.calls)
    parts_at = next((n for n, call in enumerate(calls, start=1) if call.parts), None)
    reason = spurious(calls, boundary=obligation.kind is Kind.BOUNDARY)
    if not reason and obligation.module == "system":
        reason = "one step from a state in which the laws hold; whether a run comes to that state is not asked"
    return Explanation(
        **about,
        verdict=Verdict.REFUTED,
        reason=reason,
        scope=scope,
        minimal=_minimality(found),
        calls=calls,
        numbers=found.numbers,
        parts_at=parts_at,
        parts="" if parts_at is None else calls[parts_at - 1].parts,
    )


def _minimality(found: Smallest) -> str:
    elements, total = found.size
    if not found.minimal:
        return f"{elements} elements and numbers of sum {total}; the solver could not exclude smaller ones"
    smaller = f"a sum of numbers below {total}" if found.by_sum else "a smaller number where theirs first differ"
    return f"no counterexample has fewer than {elements} elements in its arguments, or with as many {smaller}"


def spurious(calls: Sequence[Told], *, boundary: bool) -> str:
    """Why the counterexample says nothing about the code: a rule that is not the mutant's gives what the code does not."""
    for call in calls:
        if call.parts and not call.changed:
            return f"spurious: the model's {call.rule} is not the code's: {call.parts}"
    if not boundary and any(call.changed for call in calls) and not any(call.parts for call in calls):
        # A boundary fails with the right rules too.
        return "spurious: the mutant gives what the code gives"
    return ""


def _told(call: Asked, rules: Rules, run: Runner) -> Told:
    changed = rules[call.rule].relation is not RULES[call.rule].relation
    right, by = run(call.rule, call.arguments), "reference"
    if call.profile is Profile.RELEASE and right == PANIC:
        # The reference panics, as a debug build does.
        right, by = gives(RULES, call, rather=call.result), "specification"
    given = gives(rules, call, rather=call.result) if changed else call.result
    return Told(
        rule=call.rule,
        arguments=call.arguments,
        profile=call.profile.value,
        gives=given,
        right=right,
        by=by,
        changed=changed,
        parts=difference(given, right),
    )


def difference(given: Concrete, right: Concrete) -> str:
    """The first part of a result that is not the right one's; empty where they are the same."""
    return "" if given == right else next(_differences(given, right))


def _differences(given: Concrete, right: Concrete, where: str = "the result") -> Iterator[str]:
    if isinstance(given, dict) and isinstance(right, dict) and PANIC not in (given, right) and NOTHING not in (given, right):
        inner = "" if where == "the result" else f"{where}, "
        for name in (name for name in given if name in right and given[name] != right[name]):
            yield from _differences(given[name], right[name], f"{inner}{name}")
        for name in given.keys() ^ right.keys():
            yield f"{inner}{name} is {'there' if name in given else 'not there'}; right is the opposite"
    elif isinstance(given, list) and isinstance(right, list) and len(given) == len(right):
        for i, (one, other) in enumerate(zip(given, right, strict=True)):
            if one != other:
                yield from _differences(one, other, f"{where}, part {i}")
    yield f"{where} is {brief(given)}; right is {brief(right)}"


def brief(value: Concrete) -> str:
    """A value of the vector format in a few words."""
    if value == PANIC:
        return "a panic"
    if value == NOTHING:
        return "no result at all"
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)


# ---- claims about the system


def _system(obligation: Obligation, fault: SystemFault, run: Runner) -> Explanation:
    found = shortest(fault.setting(), fault.rules(), fault.law(), limit=LONGEST)
    about = _about(obligation) | {"mutant": fault.name, "fault": fault.tells, "harm": fault.law().claim}
    scope = scope_of(fault)
    if found.trace is None:
        reason = f"no run of at most {LONGEST} steps comes to harm"
        return Explanation(**about, verdict=Verdict.PROVED, reason=reason, scope=scope)
    replayed = replay(found.trace, fault, run)
    parts_at, parts = parting(found.trace, fault, run)
    actors = "batches" if fault.of_graphs else "sequences"
    minimal = f"no run with fewer than {len(found.trace.steps)} steps comes to harm; none as long uses fewer {actors}"
    return Explanation(
        **about,
        verdict=Verdict.REFUTED,
        reason="" if replayed.confirmed else f"spurious: {replayed.reason}",
        scope=scope,
        minimal=f"{minimal}, or with as many smaller data and choices in sum",
        calls=tuple(_asked(found.trace, fault, run)),
        trace=found.trace,
        parts_at=parts_at,
        parts=parts,
    )


def scope_of(fault: SystemFault) -> str:
    """The scope in which a run is sought, in English."""
    setting: Any = fault.setting()
    if fault.of_graphs:
        return f"{setting.batches} batches of at most {setting.width} members in {setting.slots} slots"
    return (
        f"{setting.sequences} sequences, {setting.tokens} tokens each, {setting.rows} rows a drafter, "
        f"{setting.positions} hidden rows, {setting.blocks} block, runs of at most {LONGEST} steps"
    )


def _asked(trace: Trace, fault: SystemFault, run: Runner) -> Iterator[Told]:
    rules = fault.rules()
    for step in trace.steps:
        for call in step.calls:
            right = run(call.rule, call.arguments)
            yield Told(
                rule=call.rule,
                arguments=call.arguments,
                profile=Profile.DEBUG.value,
                gives=call.result,
                right=right,
                by="reference",
                changed=rules[call.rule].relation is not RULES[call.rule].relation,
                parts=difference(call.result, right),
            )


def parting(trace: Trace, fault: SystemFault, run: Runner) -> tuple[int | None, str]:
    """The first step that the right engine does not take to the same state, and why."""
    right = (graphs if fault.of_graphs else machine).Machine(given=trace.given, run=run)
    for number, step in enumerate(trace.steps, start=1):
        try:
            right.step(step.action, step.choices)
        except Impossible as refused:
            return number, f"the right engine does not take this step, for it is not so that {refused}"
        for part, value in right.snapshot().items():
            if step.after[part] != value:
                return number, f"after this step {next(_differences(step.after[part], value, part))}"
    return None, "the right engine takes the same steps: what was assumed of the world does not hold"


def obligation_of(name: str) -> Obligation:
    """The obligation of this id. KeyError if there is none."""
    return OBLIGATIONS[name]
