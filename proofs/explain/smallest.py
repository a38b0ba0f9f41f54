"""The smallest counterexample of a claim about rules, in its bounded telling.

Smallest, over the arguments of the calls in the claim: first the fewest elements in their sequences, then the smallest sum of
their numbers, then the least numbers one by one in the order in which they are shown, results and the claim's other numbers
last. Each is found by bisection, so each is minimal in the scope: sequences up to the claim's bound, any machine values.
Where the solver cannot settle the sum (of factors, say), the numbers are made least one by one without it.
Leaves out functions that a claim speaks of (who wrote a row, say): they have a value for every argument and are not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from proofs.judge import SMALL, Budget
from proofs.obligation import Obligation
from proofs.smt import Statement, resources, state
from spec.machine import Profile
from spec.rules import RULES, Rules
from spec.scope import telling
from spec.sorts import PANIC, TEXT, Concrete, Fallible, Flag, Option, RawText, Sort, Struct, Word
from spec.sorts import Sequence as SequenceSort

STEP, WHOLE = 500_000, 3_000_000
"""What one question of a descent may cost, and all of them together, in Z3's resource units."""

NOTHING: dict[str, bool] = {"nothing": True}
"""In the place of a result: the rule allows none for these arguments."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A call of a rule in a counterexample, and the result that the claim speaks of."""

    rule: str
    arguments: Mapping[str, Concrete]
    result: Concrete
    profile: Profile


@dataclass(frozen=True, kw_only=True)
class Smallest:
    """What a search came to. `found` is None where the solver gave up."""

    found: bool | None
    minimal: bool = True
    """The solver showed of every smaller one that it is none."""
    by_sum: bool = True
    """Smaller numbers are numbers of a smaller sum, and not those of which the first that differs is smaller."""
    calls: tuple[Asked, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The other numbers that the claim speaks of."""

    @property
    def size(self) -> tuple[int, int]:
        """How many elements the sequences in the arguments have together, and the sum of the arguments' numbers."""
        sizes = [measure(s, call.arguments[name]) for call in self.calls for name, s in RULES[call.rule].params.items()]
        return sum(size[0] for size in sizes), sum(size[1] for size in sizes)


def measure(sort: Sort, value: Concrete) -> tuple[int, int]:
    """How many elements the sequences and texts of a value have, and the sum of its numbers (of a text: its characters')."""
    parts: list[tuple[int, int]] = []
    if isinstance(sort, Word):
        return 0, int(value)
    if isinstance(sort, RawText):
        return (len(value), sum(map(ord, value))) if isinstance(value, str) else (0, 0)
    if isinstance(sort, Struct):
        values = value if sort.is_tuple else [value[name] for name, _ in sort.parts]
        parts = [measure(part, one) for (_, part), one in zip(sort.parts, values, strict=True)]
    elif isinstance(sort, SequenceSort):
        parts = [(len(value), 0), *(measure(sort.element, element) for element in value)]
    elif isinstance(sort, (Option, Fallible)) and value not in (None, PANIC):
        parts = [measure(_inner(sort), value)]
    return sum(p[0] for p in parts), sum(p[1] for p in parts)


def smallest(obligation: Obligation, rules: Rules = RULES, *, budget: Budget | None = None) -> Smallest:
    """The smallest counterexample of the obligation under `rules`, with sequences up to its bound."""
    statement = state(obligation, rules, bound=obligation.size)
    found = _smallest(statement, obligation.size, budget or Budget(), by_sum=True)
    return found if found.minimal else _smallest(statement, obligation.size, budget or Budget(), by_sum=False)


def _smallest(statement: Statement, bound: int, budget: Budget, *, by_sum: bool) -> Smallest:
    """Each with a solver of its own: what it can settle depends on what it was asked before."""
    solver = z3.Solver()
    solver.set("random_seed", budget.seed)
    solver.set("rlimit", budget.z3)
    solver.add(*statement.hypotheses.values(), z3.Not(statement.goal.show))
    answer = z3.unknown
    for limit in SMALL:
        answer = solver.check(*[z3.Int(name) < limit for name in statement.integers])
        if answer == z3.sat:
            break
    else:
        answer = solver.check()
    if answer != z3.sat:
        return Smallest(found=None if answer == z3.unknown else False)
    with telling(bound=bound):
        search = _Descent(solver=solver, model=solver.model(), until=resources(solver) + WHOLE)
        search.all(statement, by_sum=by_sum)
    return _read(statement, search, by_sum=by_sum)


@dataclass
class _Descent:
    """A solver with a model that gets smaller."""

    solver: z3.Solver
    model: z3.ModelRef
    until: int
    """What the solver may have spent at the end."""
    exact: bool = True

    def all(self, statement: Statement, *, by_sum: bool) -> None:
        table = statement.world.table
        arguments = [
            (sort, call.arguments[name]) for call in statement.world.calls for name, sort in table[call.rule].params.items()
        ]
        results = [(table[call.rule].result, call.result) for call in statement.world.calls]
        self.least(_sum([n for sort, term in arguments for n in _lengths(sort, term)]))
        if by_sum:
            self.least(_sum([n for sort, term in arguments for n in _numbers(sort, term)]))
            if not self.exact:
                return
        shown = [n for sort, term in [*arguments, *results] for n in _numbers(sort, term, flags=True)]
        for number in [*shown, *map(z3.Int, statement.integers)]:
            self.least(number)

    def least(self, term: z3.ArithRef) -> None:
        """Makes the term as small as it can be, and keeps it so."""
        low, high = 0, self._value(term)
        self.solver.set("rlimit", STEP)
        while low < high:
            if resources(self.solver) > self.until:
                self.exact = False
                break
            middle = (low + high) // 2
            answer = self.solver.check(term <= middle)
            if answer == z3.sat:
                self.model = self.solver.model()
                high = self._value(term)
            else:
                self.exact = self.exact and answer == z3.unsat
                low = middle + 1
        self.solver.add(term <= high)

    def _value(self, term: z3.ArithRef) -> int:
        return int(self.model.eval(term, model_completion=True).as_long())


def _sum(parts: Sequence[z3.ArithRef]) -> z3.ArithRef:
    return z3.Sum(parts) if parts else z3.IntVal(0)


def _lengths(sort: Sort, term: Any) -> Iterator[z3.ArithRef]:
    """The lengths of the sequences in a term, where it has them."""
    if isinstance(sort, SequenceSort):
        yield term.length
    elif isinstance(sort, RawText):
        yield z3.If(z3.And(term.set, term.utf8), term.text.length, 0)
    elif isinstance(sort, Struct):
        for name, part in sort.parts:
            yield from _lengths(part, term.fields[name])
    elif isinstance(sort, (Option, Fallible)):
        yield from (z3.If(_means(sort, term), length, 0) for length in _lengths(_inner(sort), term.value))


def _numbers(sort: Sort, term: Any, *, flags: bool = False) -> Iterator[z3.ArithRef]:
    """The numbers in a term, in the order in which they are shown; 0 where they mean nothing."""
    if isinstance(sort, Word):
        yield term
    elif isinstance(sort, Flag) and flags:
        yield z3.If(term, 1, 0)
    elif isinstance(sort, Struct):
        for name, part in sort.parts:
            yield from _numbers(part, term.fields[name], flags=flags)
    elif isinstance(sort, SequenceSort):
        for i in range(sort.longest() or 0):
            at = z3.IntVal(i)
            yield from (z3.If(at < term.length, n, 0) for n in _numbers(sort.element, term.at(at), flags=flags))
    elif isinstance(sort, RawText):
        readable = z3.And(term.set, term.utf8)
        yield from (z3.If(readable, n, 0) for n in _numbers(TEXT, term.text))
    elif isinstance(sort, (Option, Fallible)):
        means = _means(sort, term)
        if flags:
            yield z3.If(means, 1, 0)
        yield from (z3.If(means, n, 0) for n in _numbers(_inner(sort), term.value, flags=flags))


def _means(sort: Option | Fallible, term: Any) -> z3.BoolRef:
    return term.present if isinstance(sort, Option) else z3.Not(term.panics)


def _inner(sort: Option | Fallible) -> Sort:
    return sort.some if isinstance(sort, Option) else sort.value


def _read(statement: Statement, search: _Descent, *, by_sum: bool) -> Smallest:
    calls = []
    told: set[str] = set()
    for call in statement.world.calls:
        rule = statement.world.table[call.rule]
        arguments = {name: sort.read(search.model, call.arguments[name]) for name, sort in rule.params.items()}
        result = rule.result.read(search.model, call.result)
        calls.append(Asked(rule=call.rule, arguments=arguments, result=result, profile=call.profile))
        pairs = [(sort, call.arguments[name]) for name, sort in rule.params.items()] + [(rule.result, call.result)]
        told |= {str(n) for sort, term in pairs for n in (*_plain(sort, term), *_lengths(sort, term))}
    others = [name for name in statement.integers if name not in told and "?" not in name]
    numbers = {name: int(search.model.eval(z3.Int(name), model_completion=True).as_long()) for name in others}
    return Smallest(found=True, minimal=search.exact, by_sum=by_sum, calls=tuple(calls), numbers=numbers)


def _plain(sort: Sort, term: Any) -> Iterator[z3.ArithRef]:
    """The numbers in a term under their own names."""
    if isinstance(sort, Word):
        yield term
    elif isinstance(sort, Struct):
        for name, part in sort.parts:
            yield from _plain(part, term.fields[name])
    elif isinstance(sort, (Option, Fallible)):
        yield from _plain(_inner(sort), term.value)
    elif isinstance(sort, SequenceSort):
        yield term.length
    elif isinstance(sort, RawText):
        yield term.text.length


def gives(rules: Rules, call: Asked, *, rather: Concrete = NOTHING) -> Concrete:
    """A result that the rule allows for these arguments: `rather` if it does, else any; NOTHING where it allows none."""
    rule = rules[call.rule]
    with telling(bound=_longest([*call.arguments.values(), call.result])) as block:
        arguments = {name: sort.literal(call.arguments[name], f"?{name}") for name, sort in rule.params.items()}
        result = rule.result.fresh("?result")
        holds = rule.holds(arguments, result, call.profile)
        solver = z3.Solver()
        solver.add(holds, rule.result.domain(result), *block.definitions.values(), *block.limits)
        if rather != NOTHING and solver.check(rule.result.same(result, rule.result.literal(rather, "?rather"))) == z3.sat:
            return rather
        return rule.result.read(solver.model(), result) if solver.check() == z3.sat else dict(NOTHING)


def _longest(values: Sequence[Concrete]) -> int:
    lengths = [0]
    for value in values:
        if isinstance(value, str):
            lengths.append(len(value))
        elif isinstance(value, Mapping):
            lengths.append(_longest(list(value.values())))
        elif isinstance(value, list):
            lengths += [len(value), _longest(value)]
    return max(lengths)
