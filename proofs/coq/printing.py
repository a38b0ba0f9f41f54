"""Terms as Coq text, twice: as the proposition itself, and as data for the checker in Refutation.v.

Int is Z and Bool is bool. A formula is a proposition, and as the condition of an integer if-then-else a bool (`truth` of the
proposition, if it has quantifiers). The two texts are no translation of each other: Coq computes that the data means the
proposition, or refuses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from proofs.coq.reader import Symbol, Term, Unread

COMPARISONS = ("<=", "<", ">=", ">")


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """A Coq identifier for each name. The prime at the end keeps them apart from keywords, the library and bound variables."""
    given: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "s"
        plain = plain if plain[0].isalpha() else f"s_{plain}"
        tries = itertools.chain([f"{plain}'"], (f"{plain}_{i}'" for i in itertools.count(2)))
        given[name] = next(each for each in tries if each not in given.values())
    return given


def type_of(symbol: Symbol) -> str:
    """The Coq type of a symbol."""
    return " -> ".join(["Z"] * symbol.arity + ["Z" if symbol.sort == "Int" else "bool"])


def comment(text: str) -> str:
    """A Coq comment that says the text, in one line."""
    return f"(* {' '.join(text.split()).replace('*)', '* )').replace('(*', '( *').replace(chr(34), chr(39))} *)"


def quantified(term: Term) -> bool:
    """Whether there is a quantifier in the term."""
    return term.op in ("forall", "exists") or any(map(quantified, term.args))


def undecided(term: Term) -> bool:
    """Whether an integer if-then-else in the term has a quantifier in its condition: no bool says what it is."""
    return (term.op == "ite" and term.sort == "Int" and quantified(term.args[0])) or any(map(undecided, term.args))


class Proposition:
    """Prints terms as propositions, integers and bools."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def integer(self, term: Term) -> str:
        """An integer term."""
        if term.op == "number":
            return str(term.value)
        if term.op in ("variable", "symbol"):
            return self._symbol(term)
        if term.op == "ite":
            condition, then, otherwise = term.args
            told = f"truth {self.formula(condition)}" if quantified(condition) else self.boolean(condition)
            return f"(if {told} then {self.integer(then)} else {self.integer(otherwise)})"
        args = [self.integer(each) for each in term.args]
        if term.op == "-" and len(args) == 1:
            return f"(- {args[0]})"
        if term.op in ("+", "-", "*"):
            whole = args[0]
            for each in args[1:]:
                whole = f"({whole} {term.op} {each})"
            return whole
        if term.op in ("div", "mod"):
            return f"({args[0]} {'/' if term.op == 'div' else 'mod'} {args[1]})"
        raise Unread(f"{term.op} is no integer")

    def formula(self, term: Term) -> str:
        """A formula as a proposition."""
        if term.op in ("true", "false"):
            return term.op.capitalize()
        if term.op == "symbol":
            return f"({self._symbol(term)} = true)"
        if term.op in ("forall", "exists"):
            return f"({term.op} {term.name} : Z, {self.formula(term.args[0])})"
        if term.op in COMPARISONS or (term.op == "=" and term.args[0].sort == "Int"):
            left, right = map(self.integer, term.args)
            return f"({left} {term.op} {right})"
        if term.op == "distinct":
            alike = "=" if term.args[0].sort == "Int" else "<->"
            args = [(self.integer if alike == "=" else self.formula)(each) for each in term.args]
            return _joined(" /\\ ", [f"(~ ({a} {alike} {b}))" for a, b in itertools.combinations(args, 2)])
        args = [self.formula(each) for each in term.args]
        match term.op:
            case "not":
                return f"(~ {args[0]})"
            case "and":
                return _joined(" /\\ ", args)
            case "or":
                return _joined(" \\/ ", args)
            case "=>":
                return f"({args[0]} -> {args[1]})"
            case "=":
                return f"({args[0]} <-> {args[1]})"
            case "ite":
                return f"(({args[0]} -> {args[1]}) /\\ ((~ {args[0]}) -> {args[2]}))"
        raise Unread(f"{term.op} is no formula")

    def boolean(self, term: Term) -> str:
        """A formula without quantifiers as a bool."""
        if term.op in ("true", "false"):
            return term.op
        if term.op == "symbol":
            return self._symbol(term)
        if term.op in COMPARISONS or (term.op == "=" and term.args[0].sort == "Int"):
            left, right = map(self.integer, term.args)
            return f"({left} {term.op}? {right})"
        if term.op == "distinct":
            ints = term.args[0].sort == "Int"
            args = [(self.integer if ints else self.boolean)(each) for each in term.args]
            return _folded("andb", [f"(negb {_equal(a, b, ints)})" for a, b in itertools.combinations(args, 2)])
        args = [self.boolean(each) for each in term.args]
        match term.op:
            case "not":
                return f"(negb {args[0]})"
            case "and":
                return _folded("andb", args)
            case "or":
                return _folded("orb", args)
            case "=>":
                return f"(implb {args[0]} {args[1]})"
            case "=":
                return _equal(args[0], args[1], False)
            case "ite":
                return f"(if {args[0]} then {args[1]} else {args[2]})"
        raise Unread(f"{term.op} is no formula")

    def _symbol(self, term: Term) -> str:
        name = term.name if term.op == "variable" else self.names[term.name]
        return f"({name} {' '.join(self.integer(each) for each in term.args)})" if term.args else name


def _equal(left: str, right: str, ints: bool) -> str:
    return f"({left} =? {right})" if ints else f"(Bool.eqb {left} {right})"


def _joined(connective: str, args: Sequence[str]) -> str:
    return args[0] if len(args) == 1 else f"({connective.join(args)})"


def _folded(function: str, args: Sequence[str]) -> str:
    return args[0] if len(args) == 1 else f"({function} {args[0]} {_folded(function, args[1:])})"


class Data:
    """Prints terms as data. `number` gives the number of a symbol, `atom` the data of a quantified formula."""

    def __init__(self, number: Callable[[str], int], atom: Callable[[Term], str]) -> None:
        self.number, self.atom = number, atom

    def term(self, term: Term) -> str:
        """An integer term."""
        if term.op == "number":
            return f"(Num {term.value})"
        if term.op == "symbol":
            return self._symbol("F", term)
        if term.op == "ite":
            head = "IfP" if quantified(term.args[0]) else "If"
            return f"({head} {self.form(term.args[0])} {self.term(term.args[1])} {self.term(term.args[2])})"
        args = [self.term(each) for each in term.args]
        if term.op in ("div", "mod"):
            return f"({term.op.capitalize()} {args[0]} {term.args[1].value})"
        if term.op == "-" and len(args) == 1:
            return f"(Neg {args[0]})"
        whole = args[0]
        for each in args[1:]:
            whole = f"({ {'+': 'Add', '-': 'Sub', '*': 'Mul'}[term.op] } {whole} {each})"
        return whole

    def form(self, term: Term) -> str:
        """A formula."""
        if term.op in ("true", "false"):
            return {"true": "Tru", "false": "Fls"}[term.op]
        if term.op == "symbol":
            return self._symbol("P", term)
        if term.op in ("forall", "exists"):
            return self.atom(term)
        ints = term.args[0].sort == "Int"
        args = [self.term(each) if ints else self.form(each) for each in term.args]
        alike = "Eq" if ints else "Iff"
        if term.op == "distinct":
            return _forms("And", [f"(Not ({alike} {a} {b}))" for a, b in itertools.combinations(args, 2)])
        if term.op in ("and", "or"):
            return _forms(term.op.capitalize(), args)
        head = {"<=": "Le", "<": "Lt", ">=": "Ge", ">": "Gt", "not": "Not", "=>": "Imp", "ite": "Ite", "=": alike}[term.op]
        return f"({head} {' '.join(args)})"

    def _symbol(self, kind: str, term: Term) -> str:
        args = "".join(f" {self.term(each)}" for each in term.args)
        return f"({kind}{len(term.args)} {self.number(term.name)}{args})"


def _forms(head: str, args: Sequence[str]) -> str:
    if len(args) == 1:
        return args[0]
    whole = f"(One {args[-1]})"
    for each in reversed(args[:-1]):
        whole = f"(More {each} {whole})"
    return f"({head} {whole})"
