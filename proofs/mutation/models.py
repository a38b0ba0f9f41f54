"""Judge every generated fault of the models: some claim refutes it, or a proof shows that it is none.

A fault is *killed* by the first obligation that a model refutes under the faulty rules, which the code confirms as for a
named fault; or by one that becomes vacuous: a situation that the code confirms cannot occur any more. One that changes no
rule, but what claims speak of, is killed by a claim that the code then makes false. It is *equivalent* if a solver proves
that the rules allow the same results as before, and *stillborn* if its text states nothing. Else it is *open*, and wrong.
"""

from __future__ import annotations

import enum
import fnmatch
import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from types import CodeType, ModuleType
from typing import Any

import z3

from proofs import console
from proofs.checker import Answered, Crashed, Settings, in_workers
from proofs.claims import OBLIGATIONS
from proofs.exits import Exit, worst
from proofs.faults import Fault, rules_of
from proofs.faults.equivalence import changed, equivalent, profiles
from proofs.faults.generated import MODULES, Generated, generated
from proofs.faults.patch import executed
from proofs.judge import Runner, Verdict, counterexample, judge_fault, judge_vacuity, stated
from proofs.obligation import Kind, Obligation
from proofs.smt import state
from spec.rules import RULES


class Fate(enum.Enum):
    """What became of a fault."""

    KILLED = "killed"
    EQUIVALENT = "equivalent"
    STILLBORN = "stillborn"
    """The changed text states nothing: whoever asks for its rules gets an error."""
    OPEN = "open"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A fault with its fate. `by` are the obligations that kill it, `scope` that of a proof of equivalence."""

    name: str
    module: str
    fate: Fate
    by: tuple[str, ...] = ()
    how: str = ""
    scope: str = ""
    rules: tuple[str, ...] = ()
    """The rules whose formulas it changes."""


def every_fault(pattern: str = "*") -> tuple[Generated, ...]:
    """The generated faults whose names match a shell pattern."""
    return tuple(f for module in MODULES for f in generated(module) if fnmatch.fnmatchcase(f.name, pattern))


_MODULES = frozenset(rule.module for rule in RULES)


@cache
def _called(name: str) -> frozenset[str]:
    """The rules that an obligation speaks of."""
    return frozenset(call.rule for call in state(OBLIGATIONS[name], RULES, bound=2).world.calls)


@cache
def _digest(name: str) -> str:
    return stated(OBLIGATIONS[name]).digest


def judges(module: str, rules: tuple[str, ...]) -> Iterator[Obligation]:
    """The theorems about any of these rules: those of the module first, and the pins of a rule after what it means.

    Those about the system as a whole are left out: they use the rules, and do not say what each must do.
    """
    theorems = (o for o in OBLIGATIONS.values() if o.kind is Kind.THEOREM and o.module in _MODULES)
    found = [obligation for obligation in theorems if _called(obligation.id) & set(rules)]

    def rank(obligation: Obligation) -> tuple[bool, bool]:
        pins = "-answers-every-input" in obligation.id or "-has-one-answer" in obligation.id
        return obligation.module != module, pins

    return iter(sorted(found, key=rank))


def judge(fault: Generated, run: Runner, *, matrix: bool = False) -> Judged:
    """The fate of one fault; with `matrix` every obligation that kills it is found, and not only the first."""
    faulty = rules_of(fault.module, fault.patch.apply())
    about: dict[str, Any] = {"name": fault.name, "module": fault.module}
    try:
        about["rules"] = rules = changed(faulty)
    except (AttributeError, TypeError, z3.Z3Exception) as error:
        return Judged(**about, fate=Fate.STILLBORN, how=f"{type(error).__name__}: {error}")
    if not rules:
        return Judged(**about, **_noticed_by_claims(fault, run))
    for how, kills in (("refuted", judge_fault), ("vacuous", judge_vacuity)):
        by = []
        for obligation in judges(fault.module, rules):
            named = Fault(name=fault.name, tells="", rule=rules[0], patch=fault.patch, refuted_by=obligation.id)
            with suppress(KeyError):  # The claim speaks of a number that the faulty rule introduces no more.
                if kills(named, obligation, run).verdict is Verdict.REFUTED:
                    by.append(obligation.id)
            if by and not matrix:
                break
        if by:
            return Judged(**about, fate=Fate.KILLED, how=how, by=tuple(by))
    proofs = [equivalent(faulty, name, profile) for name in rules for profile in profiles(RULES[name])]
    proved = [proof for proof in proofs if proof is not None]
    if len(proved) < len(proofs):
        return Judged(**about, fate=Fate.OPEN)
    scope = next((proof.scope for proof in proved if proof.scope != "unbounded"), "unbounded")
    solvers = sorted(set.intersection(*(set(proof.by) for proof in proved))) or ["one solver each"]
    return Judged(**about, fate=Fate.EQUIVALENT, how=f"proved by {' and '.join(solvers)}", scope=scope)


def _noticed_by_claims(fault: Generated, run: Runner) -> dict[str, Any]:
    """The fate of a fault that changes no rule: claims that speak in its terms say something else, and perhaps what is false."""
    with _claims_reading(fault) as modules:
        told = [o for o in OBLIGATIONS.values() if o.module in modules]
        false = (o.id for o in told if o.kind is Kind.THEOREM and _false_of_the_code(o, run))
        if first := next(false, None):
            return {"fate": Fate.KILLED, "how": "the claim is false of the code", "by": (first,)}
    before = {o.id: _digest(o.id) for o in told}
    with _claims_reading(fault):
        other = tuple(o.id for o in told if stated(o).digest != before[o.id])
    if other:
        return {"fate": Fate.KILLED, "how": "the inventory lists another statement", "by": other}
    return {"fate": Fate.EQUIVALENT, "how": "rules and claims are told in the same formulas", "scope": "unbounded"}


def _false_of_the_code(obligation: Obligation, run: Runner) -> bool:
    found = counterexample(obligation, run, RULES)
    return bool(found.found) and all(call.agrees for call in found.calls)


def _affected(fault: Generated) -> set[str]:
    """The names of its module that mean something else under the fault: where it is, and whoever uses that."""
    own = sys.modules[f"spec.{fault.module}"]
    uses = {name: _names(value.__code__) for name, value in vars(own).items() if inspect.isfunction(value)}
    found = {fault.place}
    while more := {name for name, used in uses.items() if name not in found and used & found}:
        found |= more
    return found


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


@contextmanager
def _claims_reading(fault: Generated) -> Iterator[frozenset[str]]:
    """The claims take what they import from the fault's module out of its faulty text; gives the modules that do."""
    name = f"spec.{fault.module}"
    own, faulty = sys.modules[name], executed(fault.module, fault.patch.apply())
    affected = _affected(fault)
    restore: list[tuple[ModuleType, str, Any]] = []
    for module in [m for n, m in sys.modules.items() if n.startswith("proofs.claims.")]:
        for known, value in list(vars(module).items()):
            if value is own or (known in affected and value is vars(own).get(known)):
                restore.append((module, known, value))
                setattr(module, known, faulty if value is own else getattr(faulty, known))
    try:
        yield frozenset(module.__name__.rpartition(".")[2] for module, _, _ in restore)
    finally:
        for module, known, value in restore:
            setattr(module, known, value)


_hands: tuple[Runner, bool] | None = None


def _warm(run: Runner, matrix: bool) -> None:
    global _hands
    _hands = run, matrix


def _judge(fault: Generated) -> Judged:
    assert _hands is not None
    run, matrix = _hands
    return judge(fault, run, matrix=matrix)


Document = dict[str, Any]


def campaign(run: Runner, settings: Settings, *, pattern: str = "*", matrix: bool = False) -> Document:
    """Judges the faults whose names match; what came of each, in a document for people and programs."""
    faults = every_fault(pattern)
    with console.progress(len(faults)) as noticed:
        outcomes = in_workers(_judge, faults, settings, warm=_warm, warmth=(run, matrix), noticed=noticed)
    entries = []
    for fault, outcome in zip(faults, outcomes, strict=True):
        entry: Document = {"name": fault.name, "module": fault.module, "was": fault.was, "becomes": fault.becomes}
        if isinstance(outcome, Answered):
            judged: Judged = outcome.value
            entry |= {"fate": judged.fate.value, "how": judged.how, "by": list(judged.by), "rules": list(judged.rules)}
            entry |= {"scope": judged.scope, "exit": int(Exit.WRONG if judged.fate is Fate.OPEN else Exit.OK)}
        else:
            lost = Exit.INTERNAL if isinstance(outcome, Crashed) else Exit.UNDECIDED
            entry |= {"fate": None, "how": outcome.reason, "by": [], "rules": [], "scope": "", "exit": int(lost)}
        entries.append(entry)
    fates = Counter(entry["fate"] for entry in entries)
    return {
        "faults": entries,
        "counts": {fate.value: fates[fate.value] for fate in Fate},
        "kills": dict(Counter(name for entry in entries for name in entry["by"]).most_common()),
        "matrix": matrix,
        "exit": int(worst(entry["exit"] for entry in entries)),
    }


def shown(document: Document) -> str:
    """The document for people: how many, what kills them, what is equivalent and why, and last what is wrong."""
    entries, columns = document["faults"], [fate.value for fate in Fate]
    lines = [f"{'module':10}{'faults':>10}" + "".join(f"{column:>12}" for column in columns)]
    for module in dict.fromkeys(entry["module"] for entry in entries):
        fates = Counter(entry["fate"] for entry in entries if entry["module"] == module)
        lines.append(f"{module:10}{fates.total():>10}" + "".join(f"{fates[column]:>12}" for column in columns))
    counts = document["counts"]
    lines += [f"{'all':10}{len(entries):>10}" + "".join(f"{counts[column]:>12}" for column in columns), ""]
    lines.append("killed by" if document["matrix"] else "killed first by")
    lines += [f"{kills:>5}   {name}" for name, kills in document["kills"].items()]
    told = [entry for entry in entries if entry["fate"] == Fate.EQUIVALENT.value]
    lines += ["", "equivalent", *(f"  {entry['name']}   {entry['scope']}: {entry['how']}" for entry in told)]
    wrong = [entry for entry in entries if entry["exit"]]
    lines += ["", *(f"{(entry['fate'] or 'no answer').upper()}   {entry['name']}   {entry['how']}" for entry in wrong)]
    return "\n".join(lines)
