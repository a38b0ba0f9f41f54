"""A reader's own version of rules, from a Python file: which claims would hold of it.

Each function under a rule's name becomes that rule's relation: on every path through it, the result is what the path gives. Only
plain arithmetic is taken. A function that walks through a sequence, or that the front end does not understand, is refused with
its line. A build that wraps cannot be told from Python, so claims about one keep the rule as specified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import z3

from proofs.claims import OBLIGATIONS
from proofs.judge import Runner
from proofs.obligation import Obligation
from proofs.smt import state
from proofs.source.bridge import Mismatch
from proofs.source.compare import Subject, evaluate
from proofs.source.executor import Executor
from proofs.source.files import load, subjects
from proofs.source.paths import NotUnderstood, Panicked
from proofs.source.values import Unmergeable, Value
from spec.machine import Profile
from spec.rules import RULES, Rules
from spec.sorts import Fallible, Outcome


class Unsupported(ValueError):
    """The file cannot be taken as rules; the message says where and why."""


@dataclass(frozen=True, kw_only=True)
class Own:
    """Rules of a file in the place of the specified ones."""

    rules: Rules
    subjects: Mapping[str, Subject]

    def runner(self, code: Runner) -> Runner:
        """The file's functions where it has them, else `code`."""

        def run(fn: str, args: Mapping[str, Any]) -> Any:
            return evaluate(self.subjects[fn], args, Profile.DEBUG) if fn in self.subjects else code(fn, args)

        return run

    def dependents(self) -> Iterator[Obligation]:
        """The claims that ask one of these rules, in a build that checks overflow."""
        for obligation in OBLIGATIONS.values():
            calls = state(obligation, RULES, bound=obligation.size).world.calls
            if any(call.rule in self.subjects and call.profile is Profile.DEBUG for call in calls):
                yield obligation


def own_rules(path: Path) -> Own:
    """The rules of a Python file. Unsupported if it has none, or one that is not plain arithmetic."""
    if path.suffix != ".py":
        raise Unsupported(f"{path} is no Python file; pass one that ends in .py")
    language, source = load(path)
    if source.objection is not None:
        raise Unsupported(f"{path}: {source.objection}")
    found, doubtful = subjects(language, source, {})
    if doubtful:
        raise Unsupported(f"{path}, line {doubtful[0].line}: {doubtful[0].name}: {doubtful[0].reason}")
    if not found:
        raise Unsupported(f"{path} has no function under a rule's name; name it as in `draftproof vectors --help`")
    rules = RULES
    for subject in found:
        relation = _relation(subject)
        fresh = [sort.fresh(f"own.{name}") for name, sort in subject.rule.params.items()]
        # A trial: what is not supported is told now, and not in the middle of a claim.
        relation(*fresh, subject.rule.result.fresh("own.result"))
        rules = rules.with_relation(subject.rule.name, relation)
    return Own(rules=rules, subjects={subject.rule.name: subject for subject in found})


def _relation(subject: Subject) -> Any:
    rule = subject.rule

    def relation(*terms: Any) -> z3.BoolRef:
        *positional, result = terms[: len(rule.params) + 1]
        profile = terms[len(rule.params) + 1] if len(terms) > len(rule.params) + 1 else Profile.DEBUG
        arguments = dict(zip(rule.params, positional, strict=True))
        if profile is not Profile.DEBUG:
            return rule.holds(arguments, result, profile)
        return z3.And(list(_cases(subject, arguments, result)))

    return relation


def _cases(subject: Subject, arguments: Mapping[str, Any], result: Any) -> Iterator[z3.BoolRef]:
    where = f"{subject.source.path}, {subject.function.name}, line {subject.function.line}"
    if subject.function.objection is not None:
        raise Unsupported(f"{where}: {subject.function.objection}")
    rule, shapes = subject.rule, subject.language.shapes(subject.source)
    known = [sort.domain(arguments[name]) for name, sort in rule.params.items()]
    run = Executor(subject.source, subject.language.dialect(), Profile.DEBUG, unbounded=True, known=known)
    try:
        for path in shapes.paths(run, subject.function, rule, arguments):
            if isinstance(path.end, NotUnderstood):
                raise path.end
            if path.facts or path.sortings:
                raise Unsupported(f"{where}: it walks through a sequence; only plain arithmetic is taken")
            if isinstance(path.end, Panicked):
                if not isinstance(rule.result, Fallible):
                    raise Unsupported(f"{where}: it raises at line {path.end.line}, and {rule.name} never does")
                ends = result.panics
            elif isinstance(path.end, Value) and isinstance(rule.result, Fallible):
                given = Outcome(panics=z3.BoolVal(False), value=shapes.term(rule.result.value, path.end))
                ends = rule.result.same(result, given)
            elif isinstance(path.end, Value):
                ends = rule.result.same(result, shapes.term(rule.result, path.end))
            else:
                continue
            yield z3.Implies(z3.And(True, *path.conditions), ends)
    except NotUnderstood as unknown:
        # It names a line of its own.
        raise Unsupported(f"{subject.source.path}, {subject.function.name}: {unknown}") from unknown
    except (Mismatch, Unmergeable) as unfit:
        raise Unsupported(f"{where}: {unfit}") from unfit
