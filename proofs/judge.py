"""The verdict on one obligation, and on one fault: what is asked of the solvers, and what their answers are worth.

*Theorem*: the unbounded text is unsatisfiable for Z3 and for cvc5, everything given can hold (a witness for each
situation), and the witnesses replay. It holds as far as the lemmas do that it names, which is for the checker to see.
*Boundary*: a bounded model shows the claim false, and replays. *Fault*: under the patched rules a bounded model shows
the claim false, and on replay the code differs from the faulty rule and agrees with every other.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import z3

from proofs.evidence.certificates import Certified
from proofs.faults import Fault, rules_of
from proofs.faults.patch import executed
from proofs.obligation import Call, Confirmation, Kind, Obligation
from proofs.smt import NEGATED_GOAL, Answer, Check, Statement, ask_cvc5, ask_z3, resources, state
from spec.machine import Profile
from spec.rules import RULES, Rules
from spec.scope import telling
from spec.sorts import PANIC, Concrete

Runner = Callable[[str, Mapping[str, Any]], Concrete]
"""Runs one call of the vector format on the code and gives its result."""


class Verdict(enum.Enum):
    """What is known of a claim; everything but PROVED and (of a boundary) REFUTED is a failure."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    VACUOUS = "vacuous"


@dataclass(frozen=True, kw_only=True)
class ConcreteCall:
    """A call of a model with values: what the rule gave, and what the code gives."""

    rule: str
    arguments: Mapping[str, Concrete]
    result: Concrete
    code: Concrete
    profile: str

    @property
    def agrees(self) -> bool:
        """The code gives what the rule gave; wrapped results of a release build stand for the code's panic."""
        if self.profile == Profile.RELEASE.value and self.code == PANIC:
            return True
        return bool(self.result == self.code)

    def __str__(self) -> str:
        told = ", ".join(f"{name}={_short(value)}" for name, value in self.arguments.items())
        return f"{self.rule}({told}): the model gives {_short(self.result)}, the code {_short(self.code)}"


def _short(value: Concrete) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A model of hypotheses: what it is a witness of, and the calls in it. `found` is None where the solver gave up."""

    name: str
    found: bool | None
    cost: int = 0
    calls: tuple[ConcreteCall, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    """Every other number and flag of the model, by name."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The verdict on an obligation with everything that it rests on."""

    id: str
    verdict: Verdict
    reason: str = ""
    scope: str = "unbounded"
    cost: int = 0
    statement: str = ""
    """The SMT-LIB text that was proved or refuted."""
    lemmas: tuple[str, ...] = ()
    """The ids of the lemmas that the statement takes for granted."""
    core: tuple[str, ...] = ()
    witnesses: tuple[Situation, ...] = ()
    variants: tuple[FaultJudgement, ...] = ()
    """Of the faults that the claim itself tells."""
    counterexample: Situation | None = None
    cross_check: Check | None = None
    certificate: Certified | None = None
    """What the kernel says; None where no certificates are kept, or none is due."""

    @property
    def digest(self) -> str:
        """SHA-256 of the statement."""
        return hashlib.sha256(self.statement.encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one question may cost, in resource units of each solver, and the seed."""

    z3: int = 20_000_000
    cvc5: int = 2_000_000
    seed: int = 0


def judge(
    obligation: Obligation, run: Runner, *, rules: Rules = RULES, budget: Budget = Budget(), variants: bool = True
) -> Judgement:
    """The verdict on one obligation under `rules`, and with `variants` on the faults that a theorem tells itself."""
    if obligation.kind is Kind.BOUNDARY:
        return _judge_boundary(obligation, run, rules, budget)
    statement = state(obligation, rules, bound=_bound(obligation))
    about: dict[str, Any] = {"lemmas": statement.lemmas, **_about(obligation, statement)}
    text = about["statement"]
    check = ask_z3(text, budget=budget.z3, seed=budget.seed)
    about["cost"] = check.cost
    if check.answer is not Answer.UNSAT:
        return _not_proved(obligation, run, rules, budget, check, about)
    cross = ask_cvc5(text, budget=budget.cvc5, seed=budget.seed)
    integers = statement.integers
    bounded = state(obligation, rules, bound=obligation.size)
    about["witnesses"] = _witnesses(bounded, run, budget, integers)
    about["variants"] = tuple(
        _judge_variant(bounded, name, run, budget, integers) for name in (bounded.goal.variants if variants else ())
    )
    verdict, reason = _worth(cross, about["witnesses"])
    return Judgement(**about, verdict=verdict, reason=reason, core=check.core, cross_check=cross)


def stated(obligation: Obligation, rules: Rules = RULES) -> Judgement:
    """The obligation as it is put to the solvers, with no answer yet."""
    statement = state(obligation, rules, bound=_bound(obligation))
    about = _about(obligation, statement)
    return Judgement(**about, lemmas=statement.lemmas, verdict=Verdict.UNDECIDED, reason="not asked")


def _bound(obligation: Obligation) -> int | None:
    return obligation.size if obligation.only_bounded or obligation.kind is Kind.BOUNDARY else None


def _about(obligation: Obligation, statement: Statement) -> dict[str, Any]:
    bound = _bound(obligation)
    scope = "unbounded" if bound is None else f"up to {bound}"
    return {"id": obligation.id, "scope": scope, "statement": statement.text}


@dataclass(frozen=True, kw_only=True)
class SecondTelling:
    """The bounded telling of a theorem, put to both solvers: with no lemma and no quantifier, so with other means."""

    id: str
    verdict: Verdict
    bound: int
    cost: int
    reason: str = ""


def tell_again(obligation: Obligation, *, rules: Rules = RULES, budget: Budget = Budget()) -> SecondTelling:
    """The verdict on the bounded telling of a theorem, with sequences of at most `full_size` (or `size`) elements."""
    bound = obligation.full_size or obligation.size
    text = state(obligation, rules, bound=bound).text
    checks = (ask_z3(text, budget=budget.z3, seed=budget.seed), ask_cvc5(text, budget=budget.cvc5, seed=budget.seed))
    answers = [check.answer for check in checks]
    verdict, reason = Verdict.PROVED, ""
    if Answer.SAT in answers:
        verdict, reason = Verdict.REFUTED, f"with sequences up to {bound} a solver finds a counterexample"
    elif Answer.UNKNOWN in answers:
        verdict, reason = Verdict.UNDECIDED, next(check.reason for check in checks if check.reason)
    return SecondTelling(id=obligation.id, verdict=verdict, bound=bound, cost=checks[0].cost, reason=reason)


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """What came of a confirmation: the judgement of the claim in its theory, and of the faults that it must refute."""

    judgement: Judgement
    faults: tuple[FaultJudgement, ...] = ()


UNFINISHED_BUDGET = {"z3": 2_000_000, "cvc5": 100_000}
"""What is spent on a claim that is known not to finish."""


def confirm(confirmation: Confirmation, faults: Sequence[Fault], run: Runner, *, budget: Budget = Budget()) -> Confirmed:
    """The verdict on a claim in another theory. Of one that is known not to finish, both solvers are asked for a moment."""
    told = confirmation.told
    if not confirmation.unfinished:
        judged = judge(told, run, budget=budget)
        return Confirmed(judgement=judged, faults=tuple(judge_fault(fault, told, run, budget=budget) for fault in faults))
    statement = state(told, RULES, bound=told.size)
    text = statement.text
    first = ask_z3(text, budget=UNFINISHED_BUDGET["z3"], seed=budget.seed)
    second = ask_cvc5(text, budget=UNFINISHED_BUDGET["cvc5"], seed=budget.seed)
    answers = {first.answer, second.answer}
    verdict, reason = Verdict.UNDECIDED, confirmation.unfinished
    if Answer.SAT in answers:
        verdict, reason = Verdict.REFUTED, "a solver finds a counterexample"
    elif answers == {Answer.UNSAT}:
        verdict, reason = Verdict.PROVED, f"it finishes, though it is listed as one that does not ({confirmation.unfinished})"
    about = {**_about(told, statement), "cost": first.cost}
    return Confirmed(judgement=Judgement(**about, verdict=verdict, reason=reason, cross_check=second))


def _worth(cross: Check, witnesses: tuple[Situation, ...]) -> tuple[Verdict, str]:
    for witness in witnesses:
        if witness.found is None:
            return Verdict.UNDECIDED, f"no answer whether there is a witness for: {witness.name}"
        if not witness.found:
            return Verdict.VACUOUS, f"what is given cannot hold in the situation: {witness.name}"
        for call in witness.calls:
            if not call.agrees:
                return Verdict.REFUTED, f"model and code differ in the witness for {witness.name}: {call}"
    if cross.answer is Answer.SAT:
        return Verdict.REFUTED, "cvc5 finds a counterexample where Z3 finds none"
    if cross.answer is Answer.UNKNOWN:
        return Verdict.UNDECIDED, cross.reason
    return Verdict.PROVED, ""


def _not_proved(
    obligation: Obligation, run: Runner, rules: Rules, budget: Budget, check: Check, about: Mapping[str, Any]
) -> Judgement:
    """Without a proof the bounded telling decides: a model there is a counterexample, everything else is undecided."""
    found = counterexample(obligation, run, rules, budget)
    if found.found:
        strange = next((call for call in found.calls if not call.agrees), None)
        reason = "the code does what the counterexample says"
        if strange is not None:
            reason = f"model and code differ in the counterexample: {strange}"
        return Judgement(**about, verdict=Verdict.REFUTED, reason=reason, counterexample=found)
    reason = check.reason or f"z3: {check.answer.value}, but no counterexample with sequences up to {obligation.size}"
    return Judgement(**about, verdict=Verdict.UNDECIDED, reason=reason)


def _judge_boundary(obligation: Obligation, run: Runner, rules: Rules, budget: Budget) -> Judgement:
    statement = state(obligation, rules, bound=obligation.size)
    about = _about(obligation, statement)
    found = _model(statement, NEGATED_GOAL, z3.Not(statement.goal.show), run, budget, statement.integers)
    about["cost"] = found.cost
    if found.found is None:
        return Judgement(**about, verdict=Verdict.UNDECIDED, reason="no answer whether there is a counterexample")
    if not found.found:
        return Judgement(**about, verdict=Verdict.PROVED, reason="the claim that was meant to fail holds in this scope")
    strange = [call for call in found.calls if not call.agrees]
    if strange:
        reason = f"the counterexample is spurious: {strange[0]}"
        return Judgement(**about, verdict=Verdict.UNDECIDED, reason=reason, counterexample=found)
    return Judgement(**about, verdict=Verdict.REFUTED, counterexample=found)


def _witnesses(statement: Statement, run: Runner, budget: Budget, integers: Sequence[str]) -> tuple[Situation, ...]:
    """A model of each situation, with small `integers` (names of constants) where there is one."""
    # A model of any situation is one of everything given.
    situations = statement.goal.witnesses or {"everything given": z3.BoolVal(True)}
    return tuple(_model(statement, name, formula, run, budget, integers) for name, formula in situations.items())


def _judge_variant(statement: Statement, name: str, run: Runner, budget: Budget, integers: Sequence[str]) -> FaultJudgement:
    """REFUTED where a model shows that the claim is false under the fault, and the code confirms every call in it."""
    variant = statement.goal.variants[name]
    if gone := [hypothesis for hypothesis in variant.without if hypothesis not in statement.hypotheses]:
        return FaultJudgement(name=name, verdict=Verdict.VACUOUS, reason=f"nothing is given of the name {gone[0]!r}")
    kept = {given: formula for given, formula in statement.hypotheses.items() if given not in variant.without}
    found = _model(replace(statement, hypotheses=kept), NEGATED_GOAL, z3.Not(variant.show), run, budget, integers)
    if found.found is None:
        return FaultJudgement(name=name, verdict=Verdict.UNDECIDED, reason="no answer under the fault")
    if not found.found:
        return FaultJudgement(
            name=name, verdict=Verdict.PROVED, reason="the claim still holds under the fault, in its bounded scope"
        )
    if strange := [call for call in found.calls if not call.agrees]:
        reason = f"the counterexample is spurious: {strange[0]}"
        return FaultJudgement(name=name, verdict=Verdict.UNDECIDED, reason=reason, counterexample=found)
    return FaultJudgement(name=name, verdict=Verdict.REFUTED, counterexample=found)


def counterexample(obligation: Obligation, run: Runner, rules: Rules, budget: Budget = Budget()) -> Situation:
    """What the bounded telling of an obligation finds against its claim."""
    statement = state(obligation, rules, bound=obligation.size)
    return _model(statement, NEGATED_GOAL, z3.Not(statement.goal.show), run, budget, statement.integers)


SMALL = (8, 64, 2**20)
"""Models are first sought with all words below these, so that people can read them."""


def _model(statement: Statement, name: str, formula: z3.BoolRef, run: Runner, budget: Budget, integers: Sequence[str]) -> Situation:
    """A model of everything given and `formula`; where there is one, with small `integers` (names of constants)."""
    solver = z3.Solver()
    solver.set("random_seed", budget.seed)
    solver.set("rlimit", budget.z3)
    solver.add(*statement.hypotheses.values(), formula)
    answer = z3.unknown
    for limit in SMALL:
        answer = solver.check(*[z3.Int(name) < limit for name in integers])
        if answer == z3.sat:
            break
        # Without any model there is none with larger numbers.
        if limit == SMALL[0] and solver.check() == z3.unsat:
            answer = z3.unsat
            break
    else:
        answer = solver.check()
    cost = resources(solver)
    if answer != z3.sat:
        return Situation(name=name, found=None if answer == z3.unknown else False, cost=cost)
    model = solver.model()
    return Situation(name=name, found=True, cost=cost, calls=_calls(statement, model, run), values=_values(model))


def _calls(statement: Statement, model: z3.ModelRef, run: Runner) -> tuple[ConcreteCall, ...]:
    return tuple(_call(statement, model, call, run) for call in statement.world.calls)


def _call(statement: Statement, model: z3.ModelRef, call: Call, run: Runner) -> ConcreteCall:
    rule = statement.world.table[call.rule]
    arguments = {name: sort.read(model, call.arguments[name]) for name, sort in rule.params.items()}
    result = rule.result.read(model, call.result)
    code = run(call.rule, arguments)
    return ConcreteCall(rule=call.rule, arguments=arguments, result=result, code=code, profile=call.profile.value)


def _values(model: z3.ModelRef) -> dict[str, str]:
    return {str(decl): str(model[decl]) for decl in sorted(model.decls(), key=str) if decl.arity() == 0}


@dataclass(frozen=True, kw_only=True)
class FaultJudgement:
    """Whether a fault was refuted, by which obligation and which model, and how the code differs there."""

    name: str
    verdict: Verdict
    reason: str = ""
    counterexample: Situation | None = None
    difference: ConcreteCall | None = None


def judge_fault(fault: Fault, obligation: Obligation, run: Runner, *, budget: Budget = Budget()) -> FaultJudgement:
    """The verdict on `obligation` under the faulty rules; REFUTED is what a fault deserves."""
    right = obligation.rules or RULES
    try:
        faulty = _faulty(fault, right)
    except ValueError as stale:
        return FaultJudgement(name=fault.name, verdict=Verdict.VACUOUS, reason=str(stale))
    found = counterexample(replace(obligation, rules=faulty), run, faulty, budget)
    if found.found is None:
        return FaultJudgement(name=fault.name, verdict=Verdict.UNDECIDED, reason="no answer under the faulty rule")
    if not found.found:
        reason = f"{obligation.id} still holds under the faulty rule, in its bounded scope"
        return FaultJudgement(name=fault.name, verdict=Verdict.PROVED, reason=reason)
    difference = next((call for call in found.calls if _differs(faulty, right, call)), None)
    if difference is None:
        reason = "the counterexample is spurious: the code does what the faulty rule does"
        return FaultJudgement(name=fault.name, verdict=Verdict.UNDECIDED, reason=reason, counterexample=found)
    strange = [call for call in found.calls if faulty[call.rule] == right[call.rule] and not call.agrees]
    if strange:
        reason = f"the counterexample is spurious: {strange[0].rule} is not faulty and the code gives {strange[0].code}"
        return FaultJudgement(name=fault.name, verdict=Verdict.UNDECIDED, reason=reason, counterexample=found)
    return FaultJudgement(name=fault.name, verdict=Verdict.REFUTED, counterexample=found, difference=difference)


def _faulty(fault: Fault, right: Rules) -> Rules:
    """The rules with the fault. ValueError if its line is not there."""
    if right is RULES:
        return rules_of(fault.patch.module, fault.patch.apply())
    # Rules of another theory are in one module; those that are not faulty stay what they are.
    changed = executed(fault.patch.module, fault.patch.apply())
    return right.with_relation(fault.rule, getattr(changed, fault.rule))


def judge_vacuity(fault: Fault, obligation: Obligation, run: Runner, *, budget: Budget = Budget()) -> FaultJudgement:
    """REFUTED where the faulty rules leave a witness of `obligation` no room, though the code does what it says."""
    faulty = rules_of(fault.patch.module, fault.patch.apply())

    def witnesses(rules: Rules) -> tuple[Situation, ...]:
        statement = state(obligation, rules, bound=obligation.size)
        return _witnesses(statement, run, budget, statement.integers)

    lost = {witness.name for witness in witnesses(faulty) if witness.found is False}
    for witness in witnesses(RULES) if lost else ():
        forbidden = next((call for call in witness.calls if not _allows(faulty, call, call.result)), None)
        if witness.name in lost and forbidden is not None and all(call.agrees for call in witness.calls):
            reason = f"under the faulty rule there is no witness for: {witness.name}"
            return FaultJudgement(
                name=fault.name, verdict=Verdict.REFUTED, reason=reason, counterexample=witness, difference=forbidden
            )
    reason = f"{obligation.id} has all its witnesses under the faulty rule"
    return FaultJudgement(name=fault.name, verdict=Verdict.PROVED, reason=reason)


def _differs(faulty: Rules, right: Rules, call: ConcreteCall) -> bool:
    """On these arguments the faulty rule gives another result than the code, or forbids the code's."""
    if call.profile == Profile.RELEASE.value and call.code == PANIC:
        # The code does not tell what a wrapping build gives: there the specification stands for it.
        return _allows(right, call, call.result) != _allows(faulty, call, call.result)
    return not (call.agrees and _allows(faulty, call, call.code))


def _allows(rules: Rules, call: ConcreteCall, result: Concrete) -> bool:
    """The rule allows `result` for these arguments."""
    rule = rules[call.rule]
    with telling(bound=_longest(call)) as block:
        arguments = {name: sort.literal(call.arguments[name], name) for name, sort in rule.params.items()}
        holds = rule.holds(arguments, rule.result.literal(result, "result"), Profile(call.profile))
        solver = z3.Solver()
        solver.add(holds, *block.definitions.values(), *block.limits)
        return bool(solver.check() == z3.sat)


def _longest(call: ConcreteCall) -> int:
    def length(value: Concrete) -> int:
        if isinstance(value, (list, str)):
            return max([len(value), *(length(part) for part in value if not isinstance(part, str))], default=0)
        if isinstance(value, Mapping):
            return max((length(part) for part in value.values()), default=0)
        return 0

    return max((length(value) for value in (*call.arguments.values(), call.result, call.code)), default=0)
