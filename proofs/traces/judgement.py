"""The verdict on a fault of the system: the obligation that it breaks, and the shortest run to its harm, replayed."""

from __future__ import annotations

from dataclasses import dataclass

from proofs.claims.system import claims_of, graph_claims_of
from proofs.judge import Budget, FaultJudgement, Judgement, Verdict, judge
from proofs.obligation import Obligation
from proofs.traces.faults import SystemFault
from proofs.traces.machine import Runner
from proofs.traces.replay import Replay, replay
from proofs.traces.search import shortest
from proofs.traces.trace import Trace


@dataclass(frozen=True, kw_only=True)
class SystemFaultJudgement:
    """REFUTED is what a fault deserves: its obligation fails, and a run that the machine confirms shows the harm."""

    name: str
    verdict: Verdict
    reason: str = ""
    obligation: Judgement | None = None
    trace: Trace | None = None
    replay: Replay | None = None


def broken_obligation(fault: SystemFault) -> Obligation:
    """The obligation that the fault breaks, about the model with the fault. KeyError if there is none of that name."""
    claims = graph_claims_of if fault.of_graphs else claims_of
    return {obligation.id: obligation for obligation in claims(fault.model())}[fault.breaks]


def judge_system_claim(fault: SystemFault, run: Runner, *, budget: Budget = Budget()) -> FaultJudgement:
    """Whether the fault breaks its obligation. The run to its harm, which takes longer, is `judge_system_fault`'s."""
    judgement = judge(broken_obligation(fault), run, rules=fault.rules(), budget=budget)
    return FaultJudgement(
        name=fault.name, verdict=judgement.verdict, reason=judgement.reason, counterexample=judgement.counterexample
    )


def judge_system_fault(fault: SystemFault, run: Runner, *, limit: int = 8) -> SystemFaultJudgement:
    """The verdict on a fault; `run` is the code that answers for the rules."""
    obligation = judge(broken_obligation(fault), run, rules=fault.rules())
    if obligation.verdict is not Verdict.REFUTED:
        reason = f"{fault.breaks} is {obligation.verdict.value} under the fault: {obligation.reason}"
        return SystemFaultJudgement(name=fault.name, verdict=Verdict.UNDECIDED, reason=reason, obligation=obligation)
    found = shortest(fault.setting(), fault.rules(), fault.law(), limit=limit)
    if found.trace is None:
        reason = f"no run of at most {limit} steps in the scope comes to {fault.harm}"
        return SystemFaultJudgement(name=fault.name, verdict=Verdict.PROVED, reason=reason, obligation=obligation)
    replayed = replay(found.trace, fault, run)
    return SystemFaultJudgement(
        name=fault.name,
        verdict=Verdict.REFUTED if replayed.confirmed else Verdict.UNDECIDED,
        reason=replayed.reason,
        obligation=obligation,
        trace=found.trace,
        replay=replayed,
    )
