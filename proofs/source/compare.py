"""The one comparison: does a function give, on every input, what the spec's rule allows, panics included?

The function's paths are found for arguments of which only their domain is known. On each path the rule must hold of the
result; a path that ends in something not understood must be infeasible. Arguments without sequences are compared at once,
exactly. Sequences are compared first at any length, where loops and sorts are told by what they compute; if that proves
nothing, or to find an input that differs, then at every length up to a bound, with everything written out. Where the solver
has no answer, drawn calls are run. An input counts only if running the code on it, as constants, gives what the rule does not.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import z3

from proofs import smt
from proofs.claims import sorting as principles
from proofs.conform.draws import draw
from proofs.source import ir
from proofs.source.bridge import Mismatch, Shapes, scalars
from proofs.source.executor import Dialect, Executor
from proofs.source.paths import Endless, Impossible, NotUnderstood, Panicked, Path, Sorting
from proofs.source.terms import cond, term
from proofs.source.values import Opt, Seq, Unmergeable, Value
from proofs.source.verdicts import ENDLESS, UNBOUNDED, Row, Verdict, worse
from spec import order, sorts
from spec.machine import Profile
from spec.rules import RULES, Rule
from spec.scope import Telling, every, telling
from spec.sorts import PANIC, Fallible, Outcome

BUDGET = 1_000_000
"""Resource units of Z3 for one path: a hundred times what the dearest proof of the kind costs."""

BOUND = 3
"""Members in a sequence where it is compared length by length, unless asked otherwise."""

TEXT_BOUND = 22
"""Characters in a text: one more digit than a 64-bit number has, and a sign."""

CALLS = 60
"""Calls that are drawn and run where the solver has no answer, half of them with at most `BOUND` elements."""

_SHRINKS = 150
"""Calls that are run to make one that differs smaller."""

_LOST = 8
"""After so many drawn calls that the evaluator does not understand no more are tried."""

_STEPS = 20_000
"""Steps of one drawn call: those of its size take some hundreds."""

_FRAMES = 3_000
"""How deep Python may go in a comparison, wherever it is called from."""


@dataclass(frozen=True)
class Language:
    """A front end with what its names and types mean."""

    name: str
    parse: Callable[[str, bytes], ir.Source]
    dialect: Callable[[], Dialect]
    shapes: Callable[[ir.Source], Shapes]

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The builds that the language has."""
        return self.dialect().profiles


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A function of a source that is to equal a rule."""

    language: Language
    source: ir.Source
    function: ir.Function
    rule: Rule

    def gives_nothing(self, value: Value) -> bool:
        """The function gives nothing where the rule has something; in Rust its type would not be the rule's."""
        result = self.rule.result
        nothing = isinstance(value, Opt) and value.present is False and value.value is None and value.error is None
        optional = isinstance(result.value if isinstance(result, Fallible) else result, sorts.Option)
        return nothing and not optional and self.language.name != "rust"

    def row(self, verdict: Verdict, profile: Profile, **more: Any) -> Row:
        """A row about it."""
        return Row(
            name=self.function.name if self.function.owner is None else f"{self.function.owner}::{self.function.name}",
            line=self.function.line,
            spec=self.rule.name,
            verdict=verdict,
            profile=profile.value,
            path=self.source.path,
            **more,
        )


def compared(subject: Subject, profiles: tuple[Profile, ...], bound: int = BOUND) -> Row:
    """The verdict about a function in the worst of the builds."""
    rows: list[Row] = []
    for profile in subject.language.shapes(subject.source).profiles(subject.function, profiles):
        rows.append(_in_one_build(subject, profile, bound))
        if rows[-1].verdict is Verdict.REFUTED:
            return rows[-1]
    worst = rows[0]
    for row in rows[1:]:
        worst = worse(worst, row)
    if worst.verdict is Verdict.PROVED and len(rows) > 1:
        return Row(**{**vars(worst), "profile": "both"})
    return worst


@contextmanager
def undisturbed() -> Iterator[None]:
    """Here answers do not depend on what ran before: the solver's terms are in a context of their own, numbered as they are made.

    Z3 orders the arguments of sums and conjunctions by these numbers, and gives those of terms that are gone to new ones; were
    they freed whenever Python happens to collect garbage, the texts asked, and with a budget the answers, would vary.
    """
    context, limit, collecting = z3.z3._main_ctx, sys.getrecursionlimit(), gc.isenabled()
    gc.disable()
    smt.fresh_context()
    depth, frame = 0, sys._getframe()
    while (outer := frame.f_back) is not None:
        depth, frame = depth + 1, outer
    sys.setrecursionlimit(depth + _FRAMES)
    try:
        yield
    finally:
        z3.z3._main_ctx = context
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()


def _in_one_build(subject: Subject, profile: Profile, bound: int) -> Row:
    with undisturbed():
        return _judged(subject, profile, bound)


def _judged(subject: Subject, profile: Profile, bound: int) -> Row:
    if subject.source.objection is not None:
        return subject.row(Verdict.UNDECIDED, profile, reason=subject.source.objection)
    if subject.function.objection is not None:
        return subject.row(Verdict.UNDECIDED, profile, reason=subject.function.objection)
    comparison = Comparison(subject, profile, bound)
    try:
        return comparison.row()
    except Mismatch as mismatch:
        why = f"line {subject.function.line}: {mismatch}"
    except NotUnderstood as unknown:
        why = str(unknown)
    except Unmergeable as unmergeable:
        why = f"values of different form: {unmergeable}"
    except RecursionError:
        return subject.row(Verdict.UNDECIDED, profile, reason="nested too deeply")
    comparison.took()
    found = comparison.without_answer(why)
    if found is not None:
        return comparison.refuted(found)
    return subject.row(Verdict.UNDECIDED, profile, reason=why)


class Comparison:
    """A function against its rule in one build."""

    def __init__(self, subject: Subject, profile: Profile, bound: int) -> None:
        self.subject = subject
        self.profile = profile
        self.bound = bound
        self.rule = subject.rule
        self.shapes = subject.language.shapes(subject.source)
        self.notes: set[str] = set()
        self.read: set[str] = set()
        self.undecided: str | None = None

    def row(self) -> Row:
        """The verdict."""
        sorts_used = list(self.rule.params.values())
        text = any(isinstance(sort, sorts.RawText) for sort in sorts_used)
        sequences = text or any(_has_sequence(sort) for sort in sorts_used)
        if self.prove():
            if sequences:
                self.confirm_in_small()
            read = frozenset(self.read)
            return self.subject.row(Verdict.PROVED, self.profile, scope=UNBOUNDED, reason=self.noted(), read=read)
        why = self.took()
        if not sequences:
            found = self.search(None)
            if found is not None:
                return self.refuted(found)
            return self.subject.row(Verdict.UNDECIDED, self.profile, reason=why or self.took())
        if text and (differs := self.drawn()) is not None:
            # Numbers near the end of a word are long texts, which the solver finds late.
            return self.refuted(self.shrunk(differs))
        found, open_question = self.search(range(self.bound + 1)), self.took()
        if found is None and text:
            found = self.search_text()
        if found is not None:
            return self.refuted(found)
        if open_question is not None:
            return self.subject.row(Verdict.UNDECIDED, self.profile, reason=open_question)
        return self.subject.row(Verdict.PROVED, self.profile, scope=self.bound, reason=self.noted(why))

    def took(self) -> str | None:
        """Why the last attempt decided nothing, told once."""
        why, self.undecided = self.undecided, None
        return why

    def confirm_in_small(self) -> None:
        """The same for short sequences, without the telling of loops and sorts on which a proof for any length rests."""
        found = self.search(range(2))
        if found is not None:
            raise RuntimeError(f"{self.rule.name}: proved for every length, but {found} refutes it")
        self.took()

    def noted(self, why: str | None = None) -> str | None:
        """What a proof takes for granted, or why it is only bounded."""
        parts = sorted({*self.notes, *self.shapes.rests_on(self.subject.function, self.rule)}) + (
            [f"not for every length: {why}"] if why else []
        )
        return "; ".join(parts) or None

    def refuted(self, found: dict[str, Any]) -> Row:
        """The row for an input that differs."""
        return self.subject.row(Verdict.REFUTED, self.profile, counterexample=found)

    # Symbolic

    def prove(self) -> bool:
        """Every path gives what the rule allows, at any length; `undecided` says why not."""
        with telling() as block:
            arguments = {name: sort.fresh(name) for name, sort in self.rule.params.items()}
            try:
                run, paths, given = self.paths(arguments, unbounded=True)
            except NotUnderstood as unknown:
                self.undecided = str(unknown)
                return False
            reachable = False
            for path in paths:
                if isinstance(path.end, NotUnderstood):
                    self.undecided = str(path.end)
                goal, more = self.goal(path, arguments)
                hypotheses = [*given, *block.definitions.values(), *block.limits, *path.conditions, *path.facts, *more]
                check = self.ask(hypotheses, goal)
                if check.answer is not smt.Answer.UNSAT:
                    self.undecided = self.undecided or check.reason or "the rule does not follow"
                    return False
                reachable = reachable or (isinstance(path.end, Value | Panicked) and self.possible(run, hypotheses))
            self.undecided = None
            if not reachable:
                self.undecided = "no path can be taken"
                return False
            self.notes |= run.notes
            self.read |= run.read
            return True

    def paths(self, arguments: Mapping[str, Any], *, unbounded: bool) -> tuple[Executor, list[Path], list[z3.BoolRef]]:
        """The function's paths, and what is known of its arguments."""
        given: list[z3.BoolRef] = []
        for name, sort in self.rule.params.items():
            given += _conjuncts(sort.domain(arguments[name]))
            given += self.lengths(sort, arguments[name])
        run = Executor(self.subject.source, self.subject.language.dialect(), self.profile, unbounded=unbounded, known=given)
        return run, self.shapes.paths(run, self.subject.function, self.rule, arguments), given

    def lengths(self, sort: Any, argument: Any) -> Iterator[z3.BoolRef]:
        """No sequence takes more than half the address space, in any language."""
        match sort:
            case sorts.Sequence():
                yield argument.length * _size(sort.element) < 2**63
            case sorts.Struct():
                for name, part in sort.parts:
                    yield from self.lengths(part, argument.fields[name])
            case sorts.RawText():
                yield argument.text.length < 2**63

    def goal(self, path: Path, arguments: Mapping[str, Any]) -> tuple[z3.BoolRef, list[z3.BoolRef]]:
        """What must follow on a path, and what the sorts on it place."""
        result = self.rule.result
        if isinstance(path.end, Panicked):
            if not isinstance(result, Fallible):
                return z3.BoolVal(False), []
            outcome = Outcome(panics=z3.BoolVal(True), value=result.value.fresh("?panicked"))
            return self.rule.holds(arguments, outcome, self.profile), []
        if isinstance(path.end, NotUnderstood | Impossible) or not isinstance(path.end, Value):
            return z3.BoolVal(False), []
        if self.subject.gives_nothing(path.end):
            return z3.BoolVal(False), []
        try:
            if isinstance(result, Fallible):
                inner = self.shapes.term(result.value, path.end)
                given: Any = Outcome(panics=z3.BoolVal(False), value=inner)
            else:
                given = self.shapes.term(result, path.end)
            goal = self.rule.holds(arguments, given, self.profile)
            if not self.shapes.bounded_words:
                goal = z3.And(goal, result.domain(given))
        except Unmergeable as unmergeable:
            raise Mismatch(f"elements of different form ({unmergeable})") from unmergeable
        return goal, [fact for sorting in path.sortings for fact in self.placed(path, sorting, arguments)]

    # Sorts

    def placed(self, path: Path, sorting: Sorting, arguments: Mapping[str, Any]) -> Iterator[z3.BoolRef]:
        """What `principles` says of a sort, if its order is proved to be the spec's (for any two elements)."""
        if "slots" not in arguments or "ks" not in arguments:
            return
        slots, ks, canonical = arguments["slots"], arguments["ks"], arguments["canonical"]
        n = ks.length
        place = sorting.place
        j, i = z3.Int("?j"), z3.Int("?i")
        inside = z3.And(0 <= j, j < n, 0 <= i, i < n)
        known = [*path.conditions, *list(path.facts), inside, slots.length == ks.length]
        before = cond(sorting.before(j, i))
        whole = term(sorting.length) == n

        def follows(claim: z3.BoolRef) -> bool:
            return self.ask(known, claim).answer is smt.Answer.UNSAT

        if not follows(whole):
            return
        if follows(before == order.ahead(slots, ks, canonical, j, i)):
            # RANKED, with the spec's order: position p holds the member that has p members ahead.
            def by_rank(p: z3.ArithRef) -> z3.BoolRef:
                ahead = order.members_ahead(slots, ks, canonical, place(p)).upto(n)
                return z3.And(0 <= place(p), place(p) < n, ahead == p)

            yield every("p", 0, n, by_rank)
        values = self.values_of(sorting, ks)
        if values is None:
            return
        at, moved_by = values
        sorted_values = ks if moved_by is None else sorts.Seq(name="?moved", length=n, at=at)
        if follows(before == principles.greater_first(sorted_values, j, i)):
            # DEALT, and where the values were moved by an earlier sort REARRANGED, which keeps the counts of ks.
            def by_size(p: z3.ArithRef) -> z3.BoolRef:
                v = at(place(p))
                reach = order.at_least(ks, v).upto(n)
                return z3.And(0 <= place(p), place(p) < n, order.at_least(ks, v + 1).upto(n) <= p, p < reach)

            yield every("p", 0, n, by_size)
        if follows(before == principles.lesser_first(sorted_values, j, i)):
            # DEALT_BACKWARDS, for a sort that is read from its end.
            def by_size_from_the_end(p: z3.ArithRef) -> z3.BoolRef:
                v = at(place(p))
                reach = order.at_least(ks, v).upto(n)
                from_the_end = z3.And(order.at_least(ks, v + 1).upto(n) <= n - 1 - p, n - 1 - p < reach)
                return z3.And(0 <= place(p), place(p) < n, from_the_end)

            yield every("p", 0, n, by_size_from_the_end)

    def values_of(self, sorting: Sorting, ks: Any) -> tuple[Callable[[Any], Any], Any] | None:
        """The elements sorted as words, if they are those of ks as they stand or as an earlier sort moved them."""
        seq: Seq = sorting.values
        if seq.at is None:
            return None
        at = seq.at
        probe = z3.Int("?probe")
        try:
            element = self.shapes.term(sorts.USIZE, at(probe))
        except (Mismatch, Unmergeable):
            return None
        if z3.simplify(element).eq(z3.simplify(ks.at(probe))):
            return (lambda i: ks.at(i)), None
        if z3.is_app(element) and element.num_args() == 1:
            inner = element.arg(0)
            if element.eq(ks.at(inner)) and z3.is_app(inner) and inner.num_args() == 1 and inner.arg(0).eq(probe):
                name = inner.decl().name()
                if name.startswith("place!"):
                    moved = inner.decl()
                    return (lambda i: ks.at(moved(i))), moved
        return None

    # Search

    def search(self, lengths: range | None) -> dict[str, Any] | None:
        """The smallest input that differs, of sequences of these lengths; `undecided` says what kept from looking."""
        for sizes in self.sizes(lengths):
            with telling(bound=max([1, *sizes.values()])) as block:
                arguments = {name: self.sized(name, sort, sizes) for name, sort in self.rule.params.items()}
                found = self.search_exactly(arguments, block, unbounded=False)
            if found is not None:
                return found
        return None

    def search_text(self) -> dict[str, Any] | None:
        """The same for texts up to the length of the longest number, told by their parts."""
        with telling(bound=TEXT_BOUND) as block:
            arguments = {name: sort.fresh(name) for name, sort in self.rule.params.items()}
            return self.search_exactly(arguments, block, unbounded=True)

    def search_exactly(self, arguments: Mapping[str, Any], block: Telling, *, unbounded: bool) -> dict[str, Any] | None:
        """An input that differs, confirmed by running the code."""
        try:
            _, paths, given = self.paths(arguments, unbounded=unbounded)
        except NotUnderstood as unknown:
            return self.without_answer(str(unknown))
        best: tuple[Any, dict[str, Any]] | None = None
        for path in paths:
            shown: dict[str, Any] | None = None
            goal, _ = self.goal(path, arguments)
            hypotheses = [*given, *block.definitions.values(), *block.limits, *path.conditions, *path.facts]
            check = self.ask(hypotheses, goal)
            if check.answer is smt.Answer.UNSAT:
                continue
            if isinstance(path.end, NotUnderstood):
                why = str(path.end)
            elif check.answer is smt.Answer.UNKNOWN:
                why = check.reason
            else:
                why = "a difference that running the code does not confirm"
                input_ = self.smallest([*hypotheses, z3.Not(goal)], arguments)
                shown = None if input_ is None else self.differs(input_)
            if shown is None and (shown := self.without_answer(why)) is None:
                continue
            size = _weight(shown["args"])
            if best is None or size < best[0]:
                best = (size, shown)
        return None if best is None else best[1]

    def without_answer(self, why: str) -> dict[str, Any] | None:
        """What drawn calls show where the solver shows nothing; if that is nothing either, `why` is kept. They are run once."""
        found = None if self.undecided is not None else self.drawn()
        if found is None:
            self.undecided = self.undecided or why
            return None
        return self.shrunk(found)

    def drawn(self) -> dict[str, Any] | None:
        """The first of the drawn calls that differs."""
        lost = 0
        for number in sorted(range(CALLS), key=lambda i: _weight(drawn(self.rule, i))):
            args = drawn(self.rule, number)
            try:
                mine = evaluate(self.subject, args, self.profile, most_steps=_STEPS)
            except (NotUnderstood, Mismatch, Unmergeable):
                lost += 1
                if lost == _LOST:
                    return None
                continue
            theirs = _expected_of(self.rule, number, self.profile)
            if mine != theirs:
                return {"args": args, "source": mine, "spec": theirs}
        return None

    def shrunk(self, found: dict[str, Any]) -> dict[str, Any]:
        """A difference with less and smaller numbers in its input, as far as running the code leads."""
        tries = 0
        while True:
            weight = _weight(found["args"])
            for args in _smaller(self.rule, found["args"]):
                tries += 1
                if tries > _SHRINKS:
                    return found
                shown = self.differs(args) if _weight(args) < weight else None
                if shown is not None:
                    found = shown
                    break
            else:
                return found

    def sizes(self, lengths: range | None) -> Iterator[dict[str, int]]:
        """Lengths for every sequence among the arguments, the shortest first."""
        names = [n for p, sort in self.rule.params.items() for n in _sequences(p, sort)]
        if lengths is None or not names:
            yield {}
            return
        for chosen in sorted(itertools.product(lengths, repeat=len(names)), key=lambda c: (sum(c), c)):
            yield dict(zip(names, chosen, strict=True))

    def sized(self, name: str, sort: Any, sizes: Mapping[str, int]) -> Any:
        """An argument whose sequences have these lengths."""
        fresh = sort.fresh(name)
        return _with_lengths(sort, fresh, name, sizes)

    def smallest(self, assertions: list[z3.BoolRef], arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """An input that satisfies the assertions, each of its numbers as small as the ones before it allow."""
        solver = z3.Solver()
        solver.set("random_seed", 0)
        solver.set("rlimit", BUDGET)
        solver.add(assertions)
        if solver.check() != z3.sat:
            return None
        model = solver.model()
        for part in [p for n, s in self.rule.params.items() for p in scalars(s, arguments[n])]:
            if z3.is_bool(part):
                model = _fixed(solver, z3.Not(part)) or model
                continue
            here = int(model.eval(part, model_completion=True).as_long())
            low = 0
            for trial in (0, 1, 2, 3, 4):
                if trial >= here:
                    break
                smaller = _fixed(solver, part == trial)
                if smaller is not None:
                    model, here, low = smaller, trial, trial
                    break
                low = trial + 1
            while low < here:
                middle = (low + here) // 2
                solver.push()
                solver.add(part <= middle)
                answer = solver.check()
                if answer == z3.sat:
                    model = solver.model()
                    here = int(model.eval(part, model_completion=True).as_long())
                solver.pop()
                if answer != z3.sat:
                    low = middle + 1
            solver.add(part == here)
            if solver.check() == z3.sat:
                model = solver.model()
        return {n: s.read(model, arguments[n]) for n, s in self.rule.params.items()}

    def differs(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Both results on an input, if the code's is not what the rule allows."""
        try:
            mine = evaluate(self.subject, arguments, self.profile)
        except (NotUnderstood, Mismatch, Unmergeable):
            return None
        theirs = expected(self.rule, arguments, self.profile)
        return None if theirs == mine else {"args": arguments, "source": mine, "spec": theirs}

    # Solver

    def ask(self, hypotheses: list[z3.BoolRef], goal: z3.BoolRef) -> smt.Check:
        """Does the goal follow? The text is what is asked, in a context of its own."""
        named = {f"h{i}": h for i, h in enumerate(hypotheses)}
        return smt.ask_z3(smt.script({**named, smt.NEGATED_GOAL: z3.Not(goal)}), budget=BUDGET)

    def possible(self, run: Executor, hypotheses: list[z3.BoolRef]) -> bool:
        """A path can be taken, as far as its quantifier-free part tells."""
        return run.feasible(*[h for h in hypotheses if not z3.is_quantifier(h)])


def evaluate(subject: Subject, arguments: Mapping[str, Any], profile: Profile, most_steps: int | None = None) -> Any:
    """The code on constants, in vector form. NotUnderstood or Mismatch where that is not possible."""
    shapes = subject.language.shapes(subject.source)
    given = {name: sort.literal(arguments[name], name) for name, sort in subject.rule.params.items()}
    run = Executor(subject.source, subject.language.dialect(), profile, unbounded=False)
    run.most_steps = run.most_steps if most_steps is None else most_steps
    with telling(bound=max([1, *_lengths_in(arguments)])):
        (path,) = shapes.paths(run, subject.function, subject.rule, given)
    result = subject.rule.result
    match path.end:
        case Panicked():
            return dict(PANIC)
        case Endless():
            return dict(ENDLESS)
        case Value() as value if subject.gives_nothing(value):
            return None
        case NotUnderstood() as unknown:
            raise unknown
        case Value() as value:
            return shapes.concrete(result.value if isinstance(result, Fallible) else result, value)
    raise NotUnderstood("a point that cannot be reached", subject.function.line)


def expected(rule: Rule, arguments: Mapping[str, Any], profile: Profile) -> Any:
    """The result that the rule allows for concrete arguments (None is one of them: absent)."""
    longest = max([1, *_lengths_in(arguments)])
    with telling(bound=longest) as block:
        given = {name: sort.literal(arguments[name], name) for name, sort in rule.params.items()}
        result = rule.result.fresh("result")
        solver = z3.Solver()
        solver.set("random_seed", 0)
        solver.add(rule.result.domain(result), rule.holds(given, result, profile))
        solver.add(list(block.definitions.values()) + block.limits)
        if solver.check() != z3.sat:
            raise RuntimeError(f"{rule.name}: the spec allows no result for {arguments}")
        return rule.result.read(solver.model(), result)


@cache
def _drawn(name: str) -> tuple[dict[str, Any], ...]:
    return tuple(draw(RULES[name], Random(f"{name} {i}"), BOUND if i % 2 else 2 * BOUND) for i in range(CALLS))


def drawn(rule: Rule, number: int) -> dict[str, Any]:
    """A call at random near the boundaries of a rule."""
    return _drawn(rule.name)[number]


def _expected_of(rule: Rule, number: int, profile: Profile) -> Any:
    # The solver is asked in a context of its own, so that what is asked after does not depend on who asked first.
    if rule is RULES[rule.name]:
        return _expected_by_name(rule.name, number, profile)
    with undisturbed():
        return expected(rule, drawn(rule, number), profile)


@cache
def _expected_by_name(name: str, number: int, profile: Profile) -> Any:
    with undisturbed():
        return expected(RULES[name], drawn(RULES[name], number), profile)


def _smaller(rule: Rule, args: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same call with a little less in it: first an element less in one or in all sequences, then smaller values."""
    longest = max([0, *_lengths_in(args)])
    for i in reversed(range(longest)):
        yield {name: _less(sort, args[name], i) for name, sort in rule.params.items()}
    for name, sort in rule.params.items():
        for value in _smaller_values(sort, args[name]):
            yield {**args, name: value}


def _less(sort: Any, value: Any, i: int) -> Any:
    match sort:
        case sorts.Sequence():
            return value[:i] + value[i + 1 :]
        case sorts.RawText() if isinstance(value, str):
            return value[:i] + value[i + 1 :]
        case sorts.Struct() if isinstance(value, dict):
            return {part: _less(inner, value[part], i) for part, inner in sort.parts}
    return value


def _smaller_values(sort: Any, value: Any) -> Iterator[Any]:
    match sort:
        case sorts.Flag() if value:
            yield False
        case sorts.Word():
            yield from sorted({n for n in (0, 1, 2, value // 2, value - 1) if 0 <= n < value})
        case sorts.Option() if value is not None:
            yield None
            yield from _smaller_values(sort.some, value)
        case sorts.Struct():
            for i, (part, inner) in enumerate(sort.parts):
                if sort.is_tuple:
                    yield from ([*value[:i], v, *value[i + 1 :]] for v in _smaller_values(inner, value[i]))
                else:
                    yield from ({**value, part: v} for v in _smaller_values(inner, value[part]))
        case sorts.Sequence():
            for i in range(len(value)):
                yield value[:i] + value[i + 1 :]
                yield from ([*value[:i], v, *value[i + 1 :]] for v in _smaller_values(sort.element, value[i]))
        case sorts.RawText() if isinstance(value, str):
            for i in range(len(value)):
                yield value[:i] + value[i + 1 :]
                yield from (value[:i] + c + value[i + 1 :] for c in " 01" if c < value[i])


def _conjuncts(formula: z3.BoolRef) -> list[z3.BoolRef]:
    if z3.is_and(formula):
        return [part for child in formula.children() for part in _conjuncts(child)]
    return [formula]


def _has_sequence(sort: Any) -> bool:
    return bool(list(_sequences("", sort)))


def _sequences(name: str, sort: Any) -> Iterator[str]:
    match sort:
        case sorts.Sequence():
            yield name
        case sorts.RawText():
            yield f"{name}.text"
        case sorts.Struct():
            for part, inner in sort.parts:
                yield from _sequences(f"{name}.{part}", inner)


def _with_lengths(sort: Any, given: Any, name: str, sizes: Mapping[str, int]) -> Any:
    match sort:
        case sorts.Sequence() if name in sizes:
            return sorts.Seq(name=given.name, length=z3.IntVal(sizes[name]), at=given.at)
        case sorts.RawText() if f"{name}.text" in sizes:
            text = sorts.Seq(name=given.text.name, length=z3.IntVal(sizes[f"{name}.text"]), at=given.text.at)
            return sorts.Record(fields={**given.fields, "text": text})
        case sorts.Struct():
            fields = {p: _with_lengths(s, given.fields[p], f"{name}.{p}", sizes) for p, s in sort.parts}
            return sorts.Record(fields=fields)
    return given


def _size(sort: Any) -> int:
    match sort:
        case sorts.Word():
            return int(sort.bits) // 8
        case sorts.Struct():
            return sum(_size(part) for _, part in sort.parts)
    return 1


def _fixed(solver: z3.Solver, choice: z3.BoolRef) -> z3.ModelRef | None:
    solver.push()
    solver.add(choice)
    model = solver.model() if solver.check() == z3.sat else None
    solver.pop()
    if model is not None:
        solver.add(choice)
    return model


def _weight(value: Any) -> tuple[int, int, str]:
    """How large an input is: how much there is of it, the sum of its numbers, its text."""
    parts = list(_leaves(value))
    return len(parts), sum(int(p) for p in parts if isinstance(p, int)), repr(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, str):
        yield from map(ord, value)
    elif value is not None:
        yield value


def _lengths_in(value: Any) -> Iterator[int]:
    if isinstance(value, (list, str)):
        yield len(value)
    if isinstance(value, dict):
        for part in value.values():
            yield from _lengths_in(part)
