"""A certificate as data for the checker in Refutation.v: the table, the facts, and the proof tree.

Certificates speak of the kernel's nodes by number, so the kernel names them here. Nothing that is said here is believed: a
wrong table, fact or tree can only make Coq refuse. What the theorem says is printed from `reader` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from proofs.coq.printing import Data, undecided
from proofs.coq.reader import Symbol, Term, Text
from proofs.kernel.reader import Reader
from proofs.kernel.rules import FORMULAS, Proof
from proofs.kernel.terms import (
    FALSE,
    TRUE,
    UNKNOWN,
    Node,
    at_most,
    both,
    choice,
    combine,
    either,
    equal,
    negate,
    node,
    number,
    of,
    product,
    start_afresh,
)

Case = dict[Node, bool]


class Unplayed(Exception):
    """The certificate cannot be told as data; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A constant that is a value at which the formula `all` fails, if it fails."""

    constant: Term
    formula: Term


@dataclass(frozen=True, kw_only=True)
class Instance:
    """The formula `all` at a term."""

    formula: Term
    at: Term


@dataclass(frozen=True, kw_only=True)
class Alias:
    """Formula `number` is equivalent to formula `like`, or to its negation."""

    number: int
    positive: bool
    like: int


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What Coq is to check. `extras` are facts beside the assertions, in the order in which they may be proved."""

    symbols: Mapping[tuple[str, int], Sequence[str]]
    witnesses: Sequence[str]
    extras: Sequence[Witness | Instance]
    atoms: Sequence[Term]
    aliases: Sequence[Alias]
    table: Sequence[str]
    facts: Sequence[str]
    tree: str
    decides: bool


def replayed(text: Text, smt: str, steps: Sequence[Any]) -> Replayed:
    """The data for a statement (as read here, and as SMT-LIB) and the steps of its certificate."""
    start_afresh()
    return _Replay(text, smt).whole(steps)


def free(term: Term) -> frozenset[str]:
    """The names of the variables that are not bound in the term."""
    if term.op == "variable":
        return frozenset([term.name])
    inside = frozenset[str]().union(*(free(each) for each in term.args))
    return inside - {term.name} if term.op in ("forall", "exists") else inside


def put(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with closed terms, or variables of no binder inside, for free variables."""
    if not values or not term.args:
        return values.get(term.name, term) if term.op == "variable" else term
    inner = {name: value for name, value in values.items() if name != term.name} if term.op in ("forall", "exists") else values
    return replace(term, args=tuple(put(each, inner) for each in term.args))


def levelled(term: Term, names: Mapping[str, str] | None = None, depth: int = 0) -> Term:
    """The term with its bound variables named anew from x1, so that formulas that differ in names alone are equal."""
    names = names or {}
    if term.op == "variable":
        return replace(term, name=names.get(term.name, term.name))
    if term.op in ("forall", "exists"):
        name = f"x{depth + 1}"
        return replace(term, name=name, args=(levelled(term.args[0], {**names, term.name: name}, depth + 1),))
    return replace(term, args=tuple(levelled(each, names, depth) for each in term.args)) if term.args else term


class _Replay:
    def __init__(self, text: Text, smt: str) -> None:
        self.text = text
        self.proof = Proof()
        self.witnesses: dict[Node, Term] = {}
        self.functions: dict[tuple[str, int], dict[str, int]] = {}
        self.atoms: dict[Term, int] = {}
        self.canonical: dict[Node, Term] = {}
        self.aliases: dict[int, Alias] = {}
        self.numbers: dict[Node, int] = {}
        self.table: list[str] = []
        self.extras: list[Witness | Instance] = []
        self.facts: list[tuple[Term, Node]] = []
        self.data = Data(self._number, self._atom)
        self.symbols = dict(text.symbols)
        assertions = Reader(smt).assertions
        if list(assertions) != list(text.assertions):
            raise Unplayed("the two readers find different assertions")
        for name, term in text.assertions.items():
            self._fact(term, assertions[name])
            self.proof.meet(assertions[name])

    def whole(self, steps: Sequence[Any]) -> Replayed:
        self._count(steps)
        printed = [self.data.form(term) for term, _ in self.facts]
        tree = self._tree(steps)
        return Replayed(
            symbols={kind: list(names) for kind, names in self.functions.items()},
            witnesses=[each.name for each in self.witnesses.values()],
            extras=self.extras,
            atoms=list(self.atoms),
            aliases=list(self.aliases.values()),
            table=self.table,
            facts=printed,
            tree=tree,
            decides=any(undecided(each) for each in self.text.assertions.values()),
        )

    # Facts: assertions, instances, witnesses.

    def _fact(self, term: Term, fact: Node) -> None:
        if self._node(term, {}, 0) is not fact:
            raise Unplayed(f"a formula reads differently here and in the kernel: {term.op}")
        self.facts.append((term, fact))

    def _count(self, steps: Sequence[Any]) -> None:
        """Numbers nodes as the kernel does, and notes the instances and witnesses that the steps take."""
        for step in steps:
            match step:
                case [str(rule), *about]:
                    if rule in ("instance", "witness"):
                        self._quantified(rule, about)
                    for fact in self.proof.lemma(rule, about):
                        self.proof.meet(fact)
                case [[*literals], *inner]:
                    self._count(inner)
                    self.proof.meet(negate(both(*[self.proof.literal(each) for each in literals])))

    def _quantified(self, rule: str, about: Sequence[Any]) -> None:
        found = self.proof.get(about[0], {"all"})
        formula = self._all(found)
        if rule == "witness":
            unknown = node("witness", found)
            if unknown not in self.witnesses:
                name = f"|w{len(self.witnesses) + 1}"
                self.symbols[name] = Symbol(arity=0, sort="Int")
                self.witnesses[unknown] = Term(op="symbol", sort="Int", name=name)
            self.extras.append(Witness(constant=self.witnesses[unknown], formula=formula))
            at, op = self.witnesses[unknown], "not"
        else:
            at, op = self._integer(self.proof.term(about[1])), ""
            self.extras.append(Instance(formula=formula, at=at))
        body = put(formula.args[0], {formula.name: at})
        sides = (formula, _formula("not", body)) if op else (_formula("not", formula), body)
        (fact,) = self.proof.lemma(rule, list(about))
        self._fact(_formula("or", *sides), fact)

    # From terms to the kernel's nodes.

    def _node(self, term: Term, bound: Mapping[str, int], depth: int) -> Node:
        made = self._made(term, bound, depth)
        if depth == 0:
            self._index(made)
        return made

    def _made(self, term: Term, bound: Mapping[str, int], depth: int) -> Node:
        if term.op in ("forall", "exists"):
            return self._binder(term, bound, depth)
        if term.op == "number":
            return number(term.value)
        if term.op == "variable":
            return of(node("bound", depth - bound[term.name]))
        args = [self._node(each, bound, depth) for each in term.args]
        match term.op:
            case "symbol":
                return self._applied(term, args)
            case "true" | "false":
                return TRUE if term.op == "true" else FALSE
            case "+":
                return combine(*[(1, each) for each in args])
            case "-":
                return combine((1, args[0]), (-1, args[1])) if len(args) > 1 else combine((-1, args[0]))
            case "*":
                return product(*args)
            case "div" | "mod":
                quotient = of(node("div", args[0], term.args[1].value))
                if depth == 0:
                    self._index(quotient)
                return quotient if term.op == "div" else combine((1, args[0]), (-term.args[1].value, quotient))
            case "<=":
                return at_most(*args)
            case ">=":
                return at_most(args[1], args[0])
            case "<":
                return negate(at_most(args[1], args[0]))
            case ">":
                return negate(at_most(args[0], args[1]))
            case "not":
                return negate(args[0])
            case "and":
                return both(*args)
            case "or":
                return either(*args)
            case "=>":
                return self._either(depth, negate(args[0]), args[1])
            case "=":
                return self._equal(depth, *args)
            case "distinct":
                return both(*[negate(self._equal(depth, a, b)) for a, b in combinations(args, 2)])
            case "ite":
                if args[1].op != "poly" and depth == 0:
                    self._either(depth, negate(args[0]), args[1])
                    self._either(depth, args[0], args[2])
                return choice(*args)
        raise Unplayed(f"{term.op} is not known")

    def _either(self, depth: int, *args: Node) -> Node:
        whole = either(*args)
        if depth == 0:
            self._index(whole)
        return whole

    def _equal(self, depth: int, left: Node, right: Node) -> Node:
        if left.op != "poly":
            self._either(depth, negate(left), right)
            self._either(depth, left, negate(right))
        whole = equal(left, right)
        if depth == 0:
            self._index(whole)
        return whole

    def _applied(self, term: Term, args: list[Node]) -> Node:
        for unknown, constant in self.witnesses.items():
            if constant == term:
                return of(unknown)
        return of(node("app", term.name, *args)) if term.sort == "Int" else node("holds", term.name, *args)

    def _binder(self, term: Term, bound: Mapping[str, int], depth: int) -> Node:
        body = self._node(term.args[0], {**bound, term.name: depth + 1}, depth + 1)
        found = node("all", body if term.op == "forall" else negate(body))
        if not free(term):
            if found not in self.canonical:
                self.canonical[found] = levelled(term if term.op == "forall" else _opposite(term))
            self._alias(term, found)
        return found if term.op == "forall" else negate(found)

    # Quantified formulas are atoms.

    def _all(self, found: Node) -> Term:
        """The formula that stands for a closed `all`."""
        if found not in self.canonical:
            raise Unplayed("a quantified formula stands in no fact")
        return self.canonical[found]

    def _atom_number(self, term: Term) -> int:
        return self.atoms.setdefault(levelled(term), len(self.atoms) + 1)

    def _alias(self, term: Term, found: Node) -> Alias:
        own, like = self._atom_number(term), self._atom_number(self.canonical[found])
        alias = Alias(number=own, positive=term.op == "forall", like=like)
        if own != like:
            self.aliases[own] = alias
        return alias

    def _atom(self, term: Term) -> str:
        own = self._atom_number(term)
        alias = self.aliases.get(own) or Alias(number=own, positive=True, like=own)
        return f"(Atom {own} {_bool(alias.positive)} {alias.like})"

    # From nodes to terms, for the terms that instances are taken at.

    def _integer(self, poly: Node) -> Term:
        total = [Term(op="number", sort="Int", value=abs(poly.args[0]))] if poly.args[0] or not poly.args[1] else []
        total = [_integer("-", each) for each in total] if poly.args[0] < 0 else total
        for c, monomial in poly.args[1]:
            factors = [self._unknown(each) for each in monomial]
            factors = factors if abs(c) == 1 else [Term(op="number", sort="Int", value=abs(c)), *factors]
            whole = _integer("*", *factors) if len(factors) > 1 else factors[0]
            total.append(_integer("-", whole) if c < 0 else whole)
        return _integer("+", *total) if len(total) > 1 else total[0]

    def _unknown(self, found: Node) -> Term:
        match found.op, found.args:
            case "app", (name, *args):
                return Term(op="symbol", sort="Int", name=name, args=tuple(self._integer(each) for each in args))
            case "ite", (condition, then, otherwise):
                return Term(op="ite", sort="Int", args=(self._formula(condition), self._integer(then), self._integer(otherwise)))
            case "div", (divided, divisor):
                return _integer("div", self._integer(divided), Term(op="number", sort="Int", value=divisor))
        return self.witnesses[found]

    def _formula(self, found: Node) -> Term:
        zero = Term(op="number", sort="Int", value=0)
        match found.op, found.args:
            case "le", (poly,):
                return _formula("<=", self._integer(poly), zero)
            case "eq", (poly,):
                return _formula("=", self._integer(poly), zero)
            case "holds", (name, *args):
                return Term(op="symbol", sort="Bool", name=name, args=tuple(self._integer(each) for each in args))
            case ("not" | "and") as op, args:
                return _formula(op, *[self._formula(each) for each in args])
        raise Unplayed("an instance is taken at a term with a quantifier in it")

    # The table.

    def _index(self, found: Node) -> None:
        """Gives numbers to what a closed formula or term is made of, inside first."""
        match found.op:
            case "poly":
                for _, monomial in found.args[1]:
                    for unknown in monomial:
                        self._index(unknown)
                return
            case "true" | "false":
                return
            case "not":
                self._index(found.args[0])
                return
        if found in self.numbers:
            return
        if found.op != "all":
            for each in found.args:
                if isinstance(each, Node):
                    self._index(each)
        told = self._definition(found)
        self.table.append(told)
        self.numbers[found] = len(self.table)

    def _definition(self, found: Node) -> str:
        args = found.args
        match found.op:
            case "app" | "holds":
                sort = "Int" if found.op == "app" else "Bool"
                head = "D" if sort == "Int" else "DP"
                return f"{head}{len(args) - 1} {self._number(args[0])}" + "".join(f" {self._poly(each)}" for each in args[1:])
            case "witness":
                return f"D0 {self._number(self.witnesses[found].name)}"
            case "ite":
                return f"DIf {self._lit(args[0])} {self._poly(args[1])} {self._poly(args[2])}"
            case "div":
                return f"DDiv {self._poly(args[0])} {args[1]}"
            case "le" | "eq":
                return f"D{found.op.capitalize()} {self._poly(args[0])}"
            case "and":
                return f"DAnd [{'; '.join(self._lit(each) for each in args)}]"
            case "all":
                return f"DAtom {self._atom_number(self._all(found))}"
        raise Unplayed(f"{found.op} has no place in a table")

    def _number(self, name: str) -> int:
        symbol = self.symbols[name]
        names = self.functions.setdefault((symbol.sort, symbol.arity), {})
        return names.setdefault(name, len(names) + 1)

    def _poly(self, poly: Node) -> str:
        self._index(poly)
        sums = [(sorted(self.numbers[each] for each in monomial), c) for c, monomial in poly.args[1]]
        sums += [([], poly.args[0])] if poly.args[0] else []
        return f"[{'; '.join(f'({c}%Z, [{_listed(each)}])' for each, c in sorted(sums))}]"

    def _lit(self, found: Node) -> str:
        self._index(found)
        positive = found.op != "not"
        return f"({_bool(positive)}, {self.numbers[found if positive else found.args[0]]})"

    # The proof tree.

    def _tree(self, steps: Sequence[Any]) -> str:
        case: Case = {}
        out = _Out()
        closed = any(self._note(*_literal(fact), case) for _, fact in self.facts)
        closed = closed or any(self._expand(*_literal(fact), case, out) for _, fact in self.facts)
        if not closed and not self._closes(steps, case, out):
            raise Unplayed("the steps end without a contradiction")
        return out.text()

    def _note(self, found: Node, value: bool, case: Case) -> bool:
        """Adds a literal that Coq adds as well; whether that is a contradiction."""
        if found in (TRUE, FALSE):
            return (found is TRUE) is not value
        self._index(found)
        return case.setdefault(found, value) is not value

    def _have(self, found: Node, value: bool, by: Node, case: Case, out: _Out) -> bool:
        """Derives a literal from a conjunction; whether that is a contradiction."""
        if case.get(found) is value:
            return False
        self._index(found)
        self._index(by)
        out.add(f"Have ({_bool(value)}, {self.numbers[found]}) {self.numbers[by]}")
        return self._note(found, value, case)

    def _settle(self, found: Node, case: Case, out: _Out) -> bool | None:
        """The formula's value in the case, which Coq then has as well."""
        found, value = _literal(found)
        known = case.get(found)
        if known is None and found.op == "and":
            values = [self._settle(part, case, out) for part in found.args]
            known = False if False in values else None if None in values else True
            if known is not None:
                self._have(found, known, found, case, out)
        return None if known is None else known is value

    def _expand(self, found: Node, value: bool, case: Case, out: _Out) -> bool:
        """Derives what follows from a literal of the case for the parts; whether that is a contradiction."""
        if found.op != "and":
            return False
        if value:
            return any(self._part(part, True, found, case, out) for part in found.args)
        left = [part for part in found.args if self._settle(part, case, out) is not True]
        if not left:
            return self._have(found, True, found, case, out)
        return len(left) == 1 and self._part(left[0], False, found, case, out)

    def _part(self, part: Node, value: bool, by: Node, case: Case, out: _Out) -> bool:
        found, positive = _literal(part)
        value = value is positive
        return self._have(found, value, by, case, out) or self._expand(found, value, case, out)

    def _closes(self, steps: Sequence[Any], case: Case, out: _Out) -> bool:
        return any(self._step(step, case, out) for step in steps)

    def _step(self, step: Any, case: Case, out: _Out) -> bool:
        match step:
            case [str(rule), *about]:
                return any(self._lemma(told, fact, case, out) for told, fact in self._lemmas(rule, about))
            case [[*literals], *steps]:
                assumed = [self.proof.literal(each) for each in literals]
                inner, within = dict(case), _Out()
                closed = any(self._note(*_literal(each), inner) for each in assumed)
                closed = closed or any(self._expand(*_literal(each), inner, within) for each in assumed)
                if not closed and not self._closes(steps, inner, within):
                    raise Unplayed("a case is not closed")
                self._index(both(*assumed))
                out.add(f"Case [{'; '.join(self._lit(each) for each in assumed)}] ({within.text()})")
                return self._learned(negate(both(*assumed)), case, out)
            case [_, *_]:
                for index in step[1::2]:
                    self._index(self.proof.known[index])
                pairs = zip(step[::2], step[1::2], strict=True)
                out.end(f"Sum [{'; '.join(f'({w}%Z, {self.numbers[self.proof.known[i]]})' for w, i in pairs)}]")
                return True
        formula = self.proof.get(step, FORMULAS)
        value = self._settle(formula, case, out)
        if value is None:
            raise Unplayed(f"node {step} has no value")
        return self._expand(formula, value, case, out)

    def _learned(self, fact: Node, case: Case, out: _Out) -> bool:
        found, value = _literal(fact)
        return self._note(found, value, case) or self._expand(found, value, case, out)

    def _lemma(self, told: str, fact: Node, case: Case, out: _Out) -> bool:
        out.add(f"Lemma_ ({told})")
        return self._learned(fact, case, out)

    def _lemmas(self, rule: str, about: Sequence[Any]) -> Iterator[tuple[str, Node]]:
        """The lemma as Coq tells it, with each of its facts; instances and witnesses are facts already."""
        if rule in ("instance", "witness"):
            return
        nodes = [self.proof.get(each, UNKNOWN | FORMULAS) if isinstance(each, int) else self.proof.term(each) for each in about]
        for each in nodes:
            self._index(each)
        numbers = [self.numbers.get(each, 0) for each in nodes]
        match rule:
            case "choice":
                told = [f"Then {numbers[0]}", f"Else {numbers[0]}"]
                for each in nodes[0].args[1:]:
                    self._equal(0, of(nodes[0]), each)
            case "congruence":
                told = [f"Same {numbers[0]} {numbers[1]}"]
                for a, b in zip(nodes[0].args[1:], nodes[1].args[1:], strict=True):
                    self._equal(0, a, b)
                self._equal(0, *(of(each) if each.op == "app" else each for each in nodes))
            case "quotient":
                told = [f"Low {numbers[0]}", f"High {numbers[0]}"]
            case "trichotomy":
                told = [f"Sides {numbers[0]}"]
            case "product":
                told = [f"Product {self._poly(nodes[0])} {self._poly(nodes[1])}"]
            case _:
                told = [f"Cut {self._poly(nodes[0])}"]
        yield from zip(told, self.proof.lemma(rule, list(about)), strict=True)


class _Out:
    """A proof tree as it is written: each step holds the rest."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.last = "Stuck"

    def add(self, step: str) -> None:
        self.steps.append(step)

    def end(self, step: str) -> None:
        self.last = step

    def text(self) -> str:
        return "".join(f"{step}\n (" for step in self.steps) + self.last + ")" * len(self.steps)


def _literal(found: Node) -> tuple[Node, bool]:
    return (found.args[0], False) if found.op == "not" else (found, True)


def _formula(op: str, *args: Term) -> Term:
    return Term(op=op, sort="Bool", args=args)


def _integer(op: str, *args: Term) -> Term:
    return Term(op=op, sort="Int", args=args)


def _opposite(term: Term) -> Term:
    """For `exists x. B`, `forall x. not B`."""
    return Term(op="forall", sort="Bool", name=term.name, args=(_formula("not", term.args[0]),))


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _listed(numbers: Sequence[int]) -> str:
    return "; ".join(map(str, numbers))
