"""Calls at the boundaries of a model, chosen by the solver from the model's own text.

For every comparison in a rule and in the domain of its arguments, in every outcome of the rule (a panic, something,
nothing, yes, no) and in both build profiles, a call is sought in which the two sides are equal, or differ by one either
way, and in which that *decides*: a rule with the comparison wrong just there (at all positions of a sequence alike) would
refuse the result or give another. Where no call decides, one is sought in which the sides are so. Flags must decide both
ways in the same manner. So no boundary is chosen by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import z3

from proofs.conform.model import BUDGET
from proofs.smt import fresh_context
from spec.machine import Profile
from spec.rules import Rule
from spec.scope import telling
from spec.sorts import PANIC, Fallible, Flag, Option, RawText, Record, Sort

SHORT = 3
"""Sequences of at most this many elements show every boundary of positions and of neighbours."""

LONG: Mapping[str, int] = {"min_width_from_env": 21}
"""A number next to 2^64 has 20 digits: what is not about single positions is sought once more in longer texts."""

SMALL = 100
"""Calls are first sought with all words below this, so that people can read them."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A call in a situation: its arguments, and the situation's short name."""

    args: Mapping[str, Any]
    why: str


@dataclass(kw_only=True)
class Search:
    """The cases found for one rule; how many situations cannot be; and the names of those without an answer."""

    cases: list[Case] = field(default_factory=list)
    impossible: int = 0
    undecided: list[str] = field(default_factory=list)


def boundary_cases(rule: Rule, seed: int = 0) -> Search:
    """Every boundary of the rule for which there is a call. Terms built before must not be used any more."""
    search = Search()
    for size in (SHORT, LONG.get(rule.name)):
        for profile in Profile if rule.overflows else (Profile.DEBUG,):
            if size is not None:
                _Scene(rule, size, profile, seed).explore(search)
    return search


@dataclass(frozen=True, kw_only=True)
class _Boundary:
    """A place in a rule's text where it can be a little wrong: what it would then say, and the situations that show it."""

    wrong: z3.BoolRef
    situations: Mapping[str, z3.BoolRef]
    plain: bool
    """A situation that shows nothing is of interest, too."""


class _Scene:
    """One rule told in one size and one profile."""

    def __init__(self, rule: Rule, size: int, profile: Profile, seed: int) -> None:
        fresh_context()
        self.rule, self.size, self.profile = rule, size, profile
        with telling(bound=size) as block:
            self.args = {name: sort.fresh(name) for name, sort in rule.params.items()}
            result, other = rule.result.fresh("result"), rule.result.fresh("other")
            domain = z3.And([sort.domain(self.args[name]) for name, sort in rule.params.items()])
            self.holds = rule.holds(self.args, result, profile)
            self.allowed = z3.And(self.holds, domain)
            self.definitions = z3.And(list(block.definitions.values()))
            self.named = [(z3.Int(name), z3.Int(f"other {name}")) for name in block.definitions]
            self.elsewise = z3.And(rule.holds(self.args, other, profile), self.definitions, rule.result.domain(other))
            self.differs = z3.Not(rule.result.same(result, other))
            frame = [rule.result.domain(result), *block.limits]
            frame += [_says_nothing_else(self.args[n]) for n, sort in rule.params.items() if isinstance(sort, RawText)]
            if profile is Profile.RELEASE:
                frame.append(rule.holds(self.args, rule.result.literal(PANIC, "panic"), Profile.DEBUG))
            self.outcomes = _outcomes(rule.result, result)
        self.seed = seed
        self.right = [self.allowed, self.definitions, *frame]
        self.small = z3.And([symbol < SMALL for symbol in _symbols(domain) if z3.is_int(symbol)])
        # One solver for all questions is quicker and its answers vary; but with long numbers it can be lost for minutes.
        self.lasting = self._solver() if size == SHORT else None

    def explore(self, search: Search) -> None:
        """Asks for a call in every situation."""
        for boundary in self._boundaries():
            for name, sides in boundary.situations.items():
                decided = [
                    self._ask(search, f"{name}, deciding{outcome}", sides, boundary.wrong, such)
                    for outcome, such in self.outcomes.items()
                ]
                if boundary.plain and not any(decided):
                    self._ask(search, name, sides)

    def _boundaries(self) -> Iterator[_Boundary]:
        in_definitions = {atom.get_id() for atom in _atoms(self.definitions)}
        in_rule = {atom.get_id() for atom in _atoms(self.holds)}
        for alike in _grouped(_atoms(z3.And(self.allowed, self.definitions))):
            shown = [a for a in alike if self.size == SHORT or not _is_about_a_position(a, self.size)]
            named = any(atom.get_id() in in_definitions for atom in alike)
            plain = not named and alike[0].get_id() in in_rule and not _speaks_of_the_result(alike[0])
            if _is_flag(alike[0]):
                wrong = self._wrong([(atom, z3.Not(atom)) for atom in alike], named)
                flag = alike[0]
                yield _Boundary(wrong=wrong, situations={str(flag): flag, f"not {flag}": z3.Not(flag)}, plain=False)
                continue
            for offset in (0, -1, 1) if shown else ():
                wrong = self._wrong([(atom, z3.Xor(atom, _apart(atom, offset))) for atom in alike], named)
                situations = {_sides_told(atom, offset): _apart(atom, offset) for atom in shown}
                yield _Boundary(wrong=wrong, situations=situations, plain=plain)

    def _wrong(self, changes: list[tuple[z3.BoolRef, z3.BoolRef]], named: bool) -> z3.BoolRef:
        """The rule with the changes refuses the result; if they make named numbers other numbers, it gives another result."""
        if named:
            return z3.And(z3.substitute(z3.substitute(self.elsewise, *changes), *self.named), self.differs)
        return z3.Not(z3.substitute(self.allowed, *changes))

    def _ask(self, search: Search, situation: str, *formulas: z3.BoolRef) -> bool:
        answer, model = self._model(*formulas, self.small)
        if answer != z3.sat:
            answer, model = self._model(*formulas)
        why = situation if self.profile is Profile.DEBUG else f"{situation}, wrapping"
        if model is not None:
            args = {name: sort.read(model, self.args[name]) for name, sort in self.rule.params.items()}
            search.cases.append(Case(args=args, why=why))
        elif answer == z3.unknown:
            search.undecided.append(f"{self.rule.name}: {why}")
        else:
            search.impossible += 1
        return bool(answer == z3.sat)

    def _model(self, *formulas: z3.BoolRef) -> tuple[z3.CheckSatResult, z3.ModelRef | None]:
        if self.lasting is None:
            solver = self._solver()
            solver.add(*formulas)
            answer = solver.check()
            return answer, solver.model() if answer == z3.sat else None
        self.lasting.push()
        self.lasting.add(*formulas)
        answer = self.lasting.check()
        model = self.lasting.model() if answer == z3.sat else None
        self.lasting.pop()
        return answer, model

    def _solver(self) -> z3.Solver:
        solver = z3.Solver()
        solver.set("random_seed", self.seed)
        solver.set("rlimit", BUDGET)
        solver.add(*self.right)
        return solver


def _says_nothing_else(raw: Record) -> z3.BoolRef:
    """A value that is not text has no text, so a situation of the text cannot be one of a value without any."""
    return z3.Or(z3.And(raw.set, raw.utf8), raw.text.length == 0)


def _outcomes(sort: Sort, result: Any) -> dict[str, z3.BoolRef]:
    """The kinds of result that a flag in it tells apart."""
    if isinstance(sort, Fallible):
        inner = _outcomes(sort.value, result.value)
        returns = {name: z3.And(z3.Not(result.panics), such) for name, such in inner.items()}
        return {" a panic": result.panics, **returns}
    if isinstance(sort, Option):
        return {" something": result.present, " nothing": z3.Not(result.present)}
    if isinstance(sort, Flag):
        return {" yes": result, " no": z3.Not(result)}
    return {"": z3.BoolVal(True)}


def _parts(text: z3.ExprRef) -> Iterator[z3.ExprRef]:
    """Every term in the text once, in its order."""
    seen: set[int] = set()
    pending: list[z3.ExprRef] = [text]
    while pending:
        term = pending.pop()
        if term.get_id() not in seen:
            seen.add(term.get_id())
            pending.extend(reversed(term.children()))
            yield term


def _atoms(text: z3.BoolRef) -> Iterator[z3.BoolRef]:
    """The comparisons of numbers that the text is made of, and the flags; not those of the result."""
    return (part for part in _parts(text) if z3.is_bool(part) and (_compares(part) or _is_flag(part)))


def _compares(term: z3.BoolRef) -> bool:
    relations = (z3.is_le, z3.is_lt, z3.is_ge, z3.is_gt, z3.is_eq, z3.is_distinct)
    if not any(relation(term) for relation in relations) or not z3.is_int(term.arg(0)):
        return False
    return not (z3.is_int_value(term.arg(0)) and z3.is_int_value(term.arg(1)))


def _is_flag(term: z3.BoolRef) -> bool:
    return _is_symbol(term) and not _speaks_of_the_result(term)


def _is_symbol(term: z3.ExprRef) -> bool:
    return bool(z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED)


def _symbols(term: z3.ExprRef) -> Iterator[z3.ExprRef]:
    """The constants, and the elements of sequences, of which the term speaks."""
    return (part for part in _parts(term) if _is_symbol(part))


def _speaks_of_the_result(term: z3.ExprRef) -> bool:
    return any(part.decl().name().startswith("result") for part in _symbols(term))


def _grouped(atoms: Iterable[z3.BoolRef]) -> list[list[z3.BoolRef]]:
    """The atoms that are one comparison of the rule, written out for several positions, together."""
    known: dict[int, int] = {}
    forms: dict[Any, int] = {}
    groups: dict[int, list[z3.BoolRef]] = {}

    def form(term: z3.ExprRef) -> int:
        if term.get_id() not in known:
            is_element = _is_symbol(term) and term.num_args() > 0
            inner = () if is_element else tuple(form(part) for part in term.children())
            itself = term.as_long() if z3.is_int_value(term) else term.decl().name()
            known[term.get_id()] = forms.setdefault((term.decl().kind(), itself, inner), len(forms))
        return known[term.get_id()]

    for atom in atoms:
        # The positions of an index range are numerals on the left.
        ranges = atom.num_args() == 2 and z3.is_int_value(atom.arg(0))
        key = (atom.decl().name(), form(atom.arg(1))) if ranges else form(atom)
        groups.setdefault(forms.setdefault(key, len(forms)), []).append(atom)
    return list(groups.values())


def _is_about_a_position(atom: z3.BoolRef, size: int) -> bool:
    """One side is an element of a sequence, or the number of a position."""

    def is_position(side: z3.ExprRef) -> bool:
        number = z3.is_int_value(side) and 0 < side.as_long() < size
        return bool(number or (_is_symbol(side) and side.num_args()))

    return any(is_position(side) for side in atom.children())


def _apart(atom: z3.BoolRef, offset: int) -> z3.BoolRef:
    """The left side is the right one plus the offset."""
    left, right = atom.children()
    return left == right + offset


def _sides_told(atom: z3.BoolRef, offset: int) -> str:
    left, right = atom.children()
    if z3.is_int_value(left):
        left, right, offset = right, left, -offset
    if z3.is_int_value(right):
        return f"{_told(left)} = {_number(right.as_long() + offset)}"
    relation = {0: "=", -1: "one below", 1: "one above"}[offset]
    return f"{_told(left)} {relation} {_told(right)}"


_INFIX = {z3.Z3_OP_ADD: " + ", z3.Z3_OP_SUB: " - ", z3.Z3_OP_MUL: " * ", z3.Z3_OP_MOD: " mod "}


_LARGE = 24
"""A term of more parts than this is told by what it speaks of."""


def _told(term: z3.ExprRef, *, inside: bool = False) -> str:
    """The term in a few words."""
    if z3.is_int_value(term):
        return _number(term.as_long())
    if term.num_args() == 0:
        return str(term)
    if sum(1 for _ in _parts(term)) > _LARGE:
        names = dict.fromkeys(symbol.decl().name() for symbol in _symbols(term))
        return f"f({', '.join(names)})"
    parts = [_told(part, inside=not _is_symbol(term)) for part in term.children()]
    kind = term.decl().kind()
    if kind in _INFIX:
        joined = _INFIX[kind].join(parts)
        return f"({joined})" if inside else joined
    if kind == z3.Z3_OP_ITE:
        wraps = z3.is_ge(term.arg(0)) and term.arg(0).arg(0).eq(term.arg(2))
        return f"kept({_told(term.arg(2))})" if wraps else f"either({_told(term.arg(1))}, {_told(term.arg(2))})"
    return f"{term.decl().name()}[{', '.join(parts)}]"


def _number(value: int) -> str:
    for bits in (32, 64):
        if abs(value - 2**bits) <= 2:
            return f"2^{bits}" + (f"{value - 2**bits:+d}" if value != 2**bits else "")
    return str(value)
