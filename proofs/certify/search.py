"""A contradiction of formulas by case distinction: clause learning over the kernel's formulas, with linear arithmetic beside it.

Every `and` in the facts is a gate between literals; arithmetic adds clauses that Farkas multipliers justify. What is learned
is kept with what it was learned from, so that a certificate can be written of what the contradiction needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, lcm
from random import Random

import z3

from proofs.certify.lemmas import Lemma, NotFound, draw, monomial_term
from proofs.kernel.terms import Node, combine

Literal = tuple[Node, bool]
"""A formula that is no negation, and its value."""

FORMULAS = {"le", "eq", "holds", "all", "and"}
MOST_CONFLICTS = 3000
AHEAD = 40


def literal(formula: Node, value: bool = True) -> Literal:
    """The literal that says the formula has the value."""
    return (formula.args[0], not value) if formula.op == "not" else (formula, value)


def opposite(of: Literal) -> Literal:
    """The other value."""
    return of[0], not of[1]


def inequality(atom: Node, holds: bool) -> tuple[Node, bool] | None:
    """What a settled atom says of integers: a polynomial that is at most 0, or (True) that is 0."""
    if atom.op == "le":
        return (atom.args[0] if holds else combine((-1, atom.args[0]), plus=1)), False
    return (atom.args[0], True) if atom.op == "eq" and holds else None


class Rationals:
    """Which settled atoms contradict each other over the rationals, and with which multipliers."""

    def __init__(self) -> None:
        self.solver = z3.SolverFor("QF_LRA")
        self.labels: dict[Literal, z3.BoolRef | None] = {}
        self.literals: dict[int, Literal] = {}
        self.variables: dict[tuple[Node, ...], z3.ArithRef] = {}

    def contradiction(self, literals: Iterable[Literal]) -> list[Literal] | None:
        """As few of the literals as contradict each other, or None."""
        labels = [label for each in literals if (label := self._label(each)) is not None]
        if not labels or self._possible(labels):
            return None
        core = list(self.solver.unsat_core())
        for label in core if len(core) <= 40 else []:
            rest = [other for other in core if other is not label]
            if len(rest) < len(core) and not self._possible(rest):
                kept = {other.get_id() for other in self.solver.unsat_core()}
                core = [other for other in rest if other.get_id() in kept]
        return [self.literals[label.get_id()] for label in core]

    def _possible(self, labels: Sequence[z3.BoolRef]) -> bool:
        # Solver.check converts every assumption anew, which costs ten times what the question itself does.
        passed = (z3.Ast * len(labels))(*[label.as_ast() for label in labels])
        return bool(z3.Z3_solver_check_assumptions(self.solver.ctx.ref(), self.solver.solver, len(labels), passed) != z3.Z3_L_FALSE)

    def model(self) -> list[tuple[tuple[Node, ...], Fraction]]:
        """After a check without contradiction: numbers that satisfy it."""
        model = self.solver.model()
        values = {m: model.eval(variable, model_completion=True).as_fraction() for m, variable in self.variables.items()}
        return sorted(values.items(), key=lambda item: [u.key() for u in item[0]])

    def _label(self, of: Literal) -> z3.BoolRef | None:
        if of not in self.labels:
            says = inequality(*of)
            label = None
            if says is not None:
                label = z3.Bool(f"l!{len(self.labels)}")
                value = self._value(says[0])
                self.solver.add(z3.Implies(label, value == 0 if says[1] else value <= 0))
                self.literals[label.get_id()] = of
            self.labels[of] = label
        return self.labels[of]

    def _value(self, term: Node) -> z3.ArithRef:
        terms = [z3.RealVal(c) * self.variables.setdefault(m, z3.Real(f"r!{len(self.variables)}")) for c, m in term.args[1]]
        return z3.Sum(z3.RealVal(term.args[0]), *terms)


def multipliers(literals: Sequence[Literal]) -> list[int]:
    """Integers by which the literals' polynomials, added up, are a positive number."""
    weights = [z3.Real(f"w!{i}") for i in range(len(literals))]
    solver = z3.SolverFor("QF_LRA")
    sums: dict[tuple[Node, ...], list[z3.ArithRef]] = {}
    constant: list[z3.ArithRef] = []
    for weight, each in zip(weights, literals, strict=True):
        says = inequality(*each)
        assert says is not None
        if not says[1]:
            solver.add(weight >= 0)
        constant.append(weight * says[0].args[0])
        for c, monomial in says[0].args[1]:
            sums.setdefault(monomial, []).append(weight * c)
    solver.add(*[z3.Sum(terms) == 0 for terms in sums.values()], z3.Sum(constant) >= 1)
    if solver.check() != z3.sat:
        raise NotFound("no multipliers for a contradiction of inequalities")
    model = solver.model()
    values = [model.eval(weight, model_completion=True).as_fraction() for weight in weights]
    scale = lcm(*[value.denominator for value in values])
    return [int(value * scale) for value in values]


@dataclass(eq=False)
class Clause:
    """At least one of the literals holds. `gate` is the `and` that says so; else it was learned from `hints`, in that order.

    `sum` is the arithmetic contradiction that closes the case in which no literal holds, where it is one.
    """

    literals: list[Literal]
    gate: Node | None = None
    lemma: Lemma | None = None
    hints: list[Clause] = field(default_factory=list)
    sum: list[Literal] = field(default_factory=list)
    needs: list[Clause] = field(default_factory=list)
    """Root facts (of `Search.root`) that the derivation uses."""
    kept: bool = False
    """It is among what the search has learned, so that a certificate can refer to it."""
    fact: bool = False
    consequence: bool = False
    """It follows at the root from its one hint or its sum, without a case."""


class Search:
    """Clause learning. `facts` are formulas that hold, with the lemma that each is of (None for assertions)."""

    def __init__(self, facts: Iterable[tuple[Node, Lemma | None]], seed: int) -> None:
        self.random = Random(seed)
        self.rationals = Rationals()
        self.values: dict[Node, bool] = {}
        self.levels: dict[Node, int] = {}
        self.reasons: dict[Node, Clause | None] = {}
        self.trail: list[Literal] = []
        self.limits: list[int] = []
        self.propagated = 0
        self.watches: dict[Literal, list[Clause]] = {}
        self.gates: set[Node] = set()
        self.activity: dict[Node, float] = {}
        self.bump = 1.0
        self.order: list[Clause] = []
        """Everything learned and every root fact, in the order in which they came to be known."""
        self.root: dict[Node, Clause] = {}
        self.broken: Clause | None = None
        self.lemmas: dict[Node, Lemma] = {}
        self.checked = -1
        for fact, lemma in facts:
            self.fact(fact, lemma)

    # Building.

    def fact(self, formula: Node, lemma: Lemma | None) -> None:
        """Adds a fact; only between levels."""
        assert not self.limits
        known = literal(formula)
        if known[0].op in FORMULAS:
            self._gates(known[0])
            self._add(Clause([known], lemma=lemma, fact=True))
        elif (known[0].op == "true") != known[1]:
            self._add(Clause([], lemma=lemma, fact=True))

    def _gates(self, whole: Node) -> None:
        pending = [whole]
        while pending:
            part = pending.pop()
            if part.op == "not":
                pending.append(part.args[0])
            elif part.op in FORMULAS and part not in self.gates:
                self.gates.add(part)
                self.activity[part] = self.random.random() * 0.1
                if part.op == "and":
                    pending.extend(part.args)
                    inner = [literal(each) for each in part.args]
                    for each in inner:
                        self._add(Clause([(part, False), each], gate=part))
                    self._add(Clause([(part, True), *map(opposite, inner)], gate=part))

    def _add(self, clause: Clause) -> None:
        """Watches the clause and draws its consequence if it has one now."""
        literals = clause.literals
        # Those that hold or are open come first, then those that fell last.
        literals.sort(key=lambda each: -self._height(each))
        for each in literals[:2]:
            self.watches.setdefault(each, []).append(clause)
        if not literals or self._value(literals[0]) is False:
            if not self.limits or not literals:
                self.broken = self.broken or clause
        elif (len(literals) == 1 or self._value(literals[1]) is False) and self._value(literals[0]) is None:
            self._assign(literals[0], clause)

    def _height(self, each: Literal) -> int:
        return self.levels[each[0]] if self._value(each) is False else 1_000_000

    def _value(self, each: Literal) -> bool | None:
        value = self.values.get(each[0])
        return None if value is None else value == each[1]

    def _assign(self, each: Literal, reason: Clause | None) -> None:
        self.values[each[0]] = each[1]
        self.levels[each[0]] = len(self.limits)
        self.reasons[each[0]] = reason
        self.trail.append(each)
        if not self.limits:
            assert reason is not None
            derived = reason
            if len(reason.literals) > 1:
                derived = Clause([each], hints=[reason], consequence=True)
                derived.needs = [self.root[other[0]] for other in reason.literals if other[0] is not each[0]]
            self.root[each[0]] = derived
            if not self.order or self.order[-1] is not derived:
                self.order.append(derived)

    # Propagation.

    def _propagate(self) -> Clause | None:
        while self.propagated < len(self.trail):
            fallen = opposite(self.trail[self.propagated])
            self.propagated += 1
            watching, self.watches[fallen] = self.watches.get(fallen, []), []
            for index, clause in enumerate(watching):
                literals = clause.literals
                if len(literals) > 1 and literals[0] == fallen:
                    literals[0], literals[1] = literals[1], literals[0]
                if len(literals) > 1 and self._value(literals[0]) is True:
                    self.watches[fallen].append(clause)
                    continue
                for place in range(2, len(literals)):
                    if self._value(literals[place]) is not False:
                        literals[1], literals[place] = literals[place], literals[1]
                        self.watches.setdefault(literals[1], []).append(clause)
                        break
                else:
                    self.watches[fallen].append(clause)
                    if self._value(literals[0]) is False:
                        self.watches[fallen].extend(watching[index + 1 :])
                        return clause
                    self._assign(literals[0], clause)
        return None

    def _arithmetic(self) -> Clause | None:
        """A clause that arithmetic gives and no literal of which holds."""
        if self.checked == len(self.trail):
            return None
        core = self.rationals.contradiction(self.values.items())
        if core is None:
            self.checked = len(self.trail)
            return None
        return Clause([opposite(each) for each in core], sum=core)

    def _back(self, level: int) -> None:
        if level < len(self.limits):
            for each, _ in self.trail[self.limits[level] :]:
                del self.values[each], self.levels[each], self.reasons[each]
            del self.trail[self.limits[level] :]
            del self.limits[level:]
            self.propagated = min(self.propagated, len(self.trail))
        self.checked = -1

    # Learning.

    def _learn(self, conflict: Clause) -> bool:
        """Learns from a clause no literal of which holds; False if that ends the search."""
        level = max((self.levels[each[0]] for each in conflict.literals), default=0)
        self._back(level)
        if level == 0:
            self.broken = conflict
            return False
        # Back from the conflict to the one literal of the level through which everything passes.
        place = {each[0]: index for index, each in enumerate(self.trail)}
        marked = {each[0] for each in conflict.literals}
        used: list[tuple[int, Clause]] = []
        for index in range(len(self.trail) - 1, self.limits[level - 1] - 1, -1):
            here = self.trail[index][0]
            if here not in marked:
                continue
            if sum(self.levels[each] == level for each in marked) == 1:
                break
            reason = self.reasons[here]
            assert reason is not None
            used.append((index, reason))
            marked.remove(here)
            marked |= {each[0] for each in reason.literals if each[0] is not here}
        # Literals that the others imply are left out.
        for here in sorted(marked, key=lambda each: -place[each]):
            reason = self.reasons[here]
            if self.levels[here] and reason is not None and self._implied(here, marked):
                self._resolve(here, marked, used, place)
        roots = [here for here in marked if self.levels[here] == 0]
        learned = Clause([(here, not self.values[here]) for here in marked if self.levels[here]])
        learned.hints = [clause for _, clause in sorted(dict(used).items())]
        if conflict.sum and not conflict.kept:
            learned.sum = conflict.sum
        else:
            learned.hints.append(conflict)
        learned.needs = [self.root[here] for here in sorted(roots, key=lambda each: place[each])]
        for here in marked:
            self.activity[here] = self.activity.get(here, 0.0) + self.bump
        self.bump *= 1.05
        below = sorted({self.levels[each[0]] for each in learned.literals})
        self._back(below[-2] if len(below) > 1 else 0)
        self._keep(learned)
        return True

    def _implied(self, here: Node, marked: set[Node]) -> bool:
        """All that gave this literal is among the others, or given by them in turn."""
        reason = self.reasons[here]
        if reason is None:
            return False
        return all(
            each[0] is here or each[0] in marked or self.levels[each[0]] == 0 or self._implied(each[0], marked)
            for each in reason.literals
        )

    def _resolve(self, here: Node, marked: set[Node], used: list[tuple[int, Clause]], place: dict[Node, int]) -> None:
        marked.discard(here)
        pending = [here]
        while pending:
            part = pending.pop()
            reason = self.reasons[part]
            assert reason is not None
            used.append((place[part], reason))
            for each in reason.literals:
                if each[0] is part or each[0] in marked:
                    continue
                if self.levels[each[0]] == 0:
                    marked.add(each[0])
                else:
                    pending.append(each[0])

    def _keep(self, learned: Clause) -> None:
        if len(learned.literals) < 2:
            self._back(0)
        learned.kept = True
        self.order.append(learned)
        self._add(learned)

    # Deciding.

    def _look_ahead(self) -> bool:
        """Lets arithmetic settle atoms that are open; whether it did."""
        settled = list(self.values.items())
        for atom in self._wanted()[:AHEAD]:
            if atom.op not in ("le", "eq"):
                continue
            for value in (True, False):
                if inequality(atom, value) is None:
                    continue
                core = self.rationals.contradiction([*settled, (atom, value)])
                if core is not None:
                    clause = Clause([opposite(each) for each in core if self.levels.get(each[0]) != 0], sum=core)
                    clause.needs = [self.root[each[0]] for each in core if self.levels.get(each[0]) == 0]
                    self._keep(clause)
                    return True
        return False

    def _wanted(self) -> list[Node]:
        """Open atoms of what is not yet settled."""
        found = [each for each in self.gates if each.op != "and" and each not in self.values]
        return sorted(found, key=lambda each: -self.activity[each])

    def _decide(self) -> bool:
        choices = [each for each in self.gates if each not in self.values]
        if not choices:
            return False
        best = max(choices, key=lambda each: self.activity[each])
        self.limits.append(len(self.trail))
        self._assign((best, self.random.random() < 0.5), None)
        return True

    def _integers(self) -> Lemma:
        """Where the rationals allow what is settled: a lemma of what only integers know.

        An equality that fails is off by one at least, and an unknown that the rationals put between two integers is on one side.
        """
        model = self.rationals.model()
        values = dict(model)
        for atom, holds in self.values.items():
            if atom.op == "eq" and not holds and atom not in self.lemmas:
                total = Fraction(atom.args[0].args[0]) + sum(c * values.get(m, Fraction(0)) for c, m in atom.args[0].args[1])
                if total == 0:
                    self.lemmas[atom] = draw("trichotomy", atom)
                    return self.lemmas[atom]
        for monomial, value in model:
            if value.denominator != 1:
                cut = draw("cut", combine((1, monomial_term(monomial)), plus=-floor(value)))
                self.lemmas[cut.facts[0]] = cut
                return cut
        raise NotFound("the rationals allow a case with integers")

    def run(self) -> Clause:
        """The clause that is broken by root facts alone. NotFound if it takes too long or there is none."""
        conflicts = 0
        while self.broken is None:
            conflict = self._propagate() or self._arithmetic()
            if conflict is not None:
                conflicts += 1
                if conflicts > MOST_CONFLICTS:
                    raise NotFound(f"more than {MOST_CONFLICTS} conflicts")
                if not self._learn(conflict):
                    break
            elif not self._look_ahead() and not self._decide():
                self._arithmetic()
                self.checked = -1
                self.rationals.contradiction(self.values.items())
                lemma = self._integers()
                self._back(0)
                for fact in lemma.facts:
                    self.fact(fact, lemma)
        assert self.broken is not None
        last = self.broken
        if not last.sum or last.kept:
            end = Clause([], hints=[last], lemma=last.lemma if not last.literals else None, consequence=True)
        else:
            end = Clause([], sum=last.sum, consequence=True)
        end.needs = [self.root[each[0]] for each in last.literals]
        self.order.append(end)
        return end

    def needed(self) -> Iterator[Clause]:
        """What the contradiction needs, in order."""
        kept: set[int] = set()
        pending = [self.order[-1]]
        while pending:
            clause = pending.pop()
            if id(clause) not in kept:
                kept.add(id(clause))
                pending.extend([*clause.needs, *clause.hints])
        return (clause for clause in self.order if id(clause) in kept)
