"""The shapes of arguments and results: machine words, flags, tuples, structs, sequences, options, outcomes, raw text.

A `Sort` joins three views of one shape: terms (z3 expressions held in small frozen classes), their domain (what a machine
value may be), and the concrete value in the vector format of DESIGN, section 6 (int, bool, list, dict, None). A struct is an
object there, a tuple an array, an absent option null and a panic `{"panic": true}`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from spec.scope import Index, bound, every

Concrete = Any
"""A value of the vector format."""

PANIC: dict[str, bool] = {"panic": True}


@dataclass(frozen=True, kw_only=True)
class Record:
    """A struct or tuple of terms; fields are read as attributes."""

    fields: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True, kw_only=True)
class Seq:
    """A finite sequence: `at(i)` for 0 <= i < length; what `at` gives elsewhere means nothing."""

    name: str
    length: z3.ArithRef
    at: Callable[[Index], Any]


@dataclass(frozen=True, kw_only=True)
class Maybe:
    """An optional value; `value` means nothing unless `present`."""

    present: z3.BoolRef
    value: Any


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of code that may panic; `value` means nothing if it `panics`."""

    panics: z3.BoolRef
    value: Any


class Sort(ABC):
    """One shape, in its three views."""

    @abstractmethod
    def fresh(self, name: str) -> Any:
        """A term of unconstrained constants that start with `name`."""

    @abstractmethod
    def domain(self, term: Any) -> z3.BoolRef:
        """The term is a machine value of this shape."""

    @abstractmethod
    def same(self, left: Any, right: Any) -> z3.BoolRef:
        """The two terms denote the same value (parts without meaning are ignored)."""

    @abstractmethod
    def literal(self, value: Concrete, name: str = "") -> Any:
        """The term for a concrete value."""

    @abstractmethod
    def read(self, model: z3.ModelRef, term: Any) -> Concrete:
        """The concrete value that `model` gives to `term`."""


def _integer(model: z3.ModelRef, term: z3.ArithRef) -> int:
    return int(model.eval(term, model_completion=True).as_long())


def _truth(model: z3.ModelRef, term: z3.BoolRef) -> bool:
    return bool(z3.is_true(model.eval(term, model_completion=True)))


@dataclass(frozen=True)
class Word(Sort):
    """An unsigned machine word of `bits` bits, as an integer with bounds."""

    bits: int = 64

    def fresh(self, name: str) -> z3.ArithRef:
        return z3.Int(name)

    def domain(self, term: z3.ArithRef) -> z3.BoolRef:
        return z3.And(0 <= term, term < 2**self.bits)

    def same(self, left: z3.ArithRef, right: z3.ArithRef) -> z3.BoolRef:
        return left == right

    def literal(self, value: Concrete, name: str = "") -> z3.ArithRef:
        return z3.IntVal(value)

    def read(self, model: z3.ModelRef, term: z3.ArithRef) -> int:
        return _integer(model, term)


@dataclass(frozen=True)
class Flag(Sort):
    """A boolean."""

    def fresh(self, name: str) -> z3.BoolRef:
        return z3.Bool(name)

    def domain(self, term: z3.BoolRef) -> z3.BoolRef:
        return z3.BoolVal(True)

    def same(self, left: z3.BoolRef, right: z3.BoolRef) -> z3.BoolRef:
        return left == right

    def literal(self, value: Concrete, name: str = "") -> z3.BoolRef:
        return z3.BoolVal(value)

    def read(self, model: z3.ModelRef, term: z3.BoolRef) -> bool:
        return _truth(model, term)


@dataclass(frozen=True)
class Struct(Sort):
    """A struct (an object in vectors) or, with `is_tuple`, a tuple (an array there)."""

    parts: tuple[tuple[str, Sort], ...]
    is_tuple: bool = False

    def fresh(self, name: str) -> Record:
        return Record(fields={part: sort.fresh(f"{name}.{part}") for part, sort in self.parts})

    def domain(self, term: Record) -> z3.BoolRef:
        return z3.And([sort.domain(term.fields[part]) for part, sort in self.parts])

    def same(self, left: Record, right: Record) -> z3.BoolRef:
        return z3.And([sort.same(left.fields[part], right.fields[part]) for part, sort in self.parts])

    def literal(self, value: Concrete, name: str = "") -> Record:
        values = dict(zip([p for p, _ in self.parts], value, strict=True)) if self.is_tuple else value
        return Record(fields={part: sort.literal(values[part], f"{name}.{part}") for part, sort in self.parts})

    def read(self, model: z3.ModelRef, term: Record) -> Concrete:
        values = {part: sort.read(model, term.fields[part]) for part, sort in self.parts}
        return list(values.values()) if self.is_tuple else values


@dataclass(frozen=True)
class Sequence(Sort):
    """A sequence of any length below 2^64; in a bounded telling of at most `per_member` elements a member, plus `extra`."""

    element: Sort
    per_member: int = 1
    extra: int = 0

    def longest(self) -> int | None:
        """The greatest length in a bounded telling."""
        size = bound()
        return None if size is None else self.per_member * size + self.extra

    def fresh(self, name: str) -> Seq:
        return Seq(name=name, length=z3.Int(f"{name}.len"), at=_sampled(self.element, name))

    def domain(self, term: Seq) -> z3.BoolRef:
        longest = self.longest()
        elements = every("i", 0, term.length, lambda i: self.element.domain(term.at(i)), limit=longest)
        return z3.And(0 <= term.length, term.length <= (2**64 - 1 if longest is None else longest), elements)

    def same(self, left: Seq, right: Seq) -> z3.BoolRef:
        equal = every("i", 0, left.length, lambda i: self.element.same(left.at(i), right.at(i)), limit=self.longest())
        return z3.And(left.length == right.length, equal)

    def literal(self, value: Concrete, name: str = "") -> Seq:
        elements = [self.element.literal(v, f"{name}.{i}") for i, v in enumerate(value)]
        return Seq(name=name, length=z3.IntVal(len(elements)), at=_listed(self.element, elements))

    def read(self, model: z3.ModelRef, term: Seq) -> Concrete:
        return [self.element.read(model, term.at(z3.IntVal(i))) for i in range(_integer(model, term.length))]


def _sampled(element: Sort, name: str) -> Callable[[Index], Any]:
    """`at` of a fresh sequence: one uninterpreted function per scalar part of the element."""
    if isinstance(element, Word):
        function = z3.Function(name, z3.IntSort(), z3.IntSort())
        return lambda i: function(i)
    if isinstance(element, Struct):
        parts = {part: _sampled(sort, f"{name}.{part}") for part, sort in element.parts}
        return lambda i: Record(fields={part: at(i) for part, at in parts.items()})
    raise TypeError(f"Sequence: element={element!r} has no fresh form; use words or structs of words")


def _listed(element: Sort, elements: list[Any]) -> Callable[[Index], Any]:
    """`at` of a literal sequence: a selection by index."""
    if isinstance(element, Struct):
        columns = {part: _listed(sort, [e.fields[part] for e in elements]) for part, sort in element.parts}
        return lambda i: Record(fields={part: at(i) for part, at in columns.items()})

    def at(i: Index) -> Any:
        if isinstance(i, z3.ArithRef) and z3.is_int_value(i):
            i = i.as_long()
        if isinstance(i, int):
            return elements[i] if 0 <= i < len(elements) else z3.IntVal(0)
        chosen: Any = z3.IntVal(0)
        for position in reversed(range(len(elements))):
            chosen = z3.If(i == position, elements[position], chosen)
        return chosen

    return at


@dataclass(frozen=True)
class Option(Sort):
    """A value or nothing (null in vectors)."""

    some: Sort

    def fresh(self, name: str) -> Maybe:
        return Maybe(present=z3.Bool(f"{name}.present"), value=self.some.fresh(name))

    def domain(self, term: Maybe) -> z3.BoolRef:
        return z3.Implies(term.present, self.some.domain(term.value))

    def same(self, left: Maybe, right: Maybe) -> z3.BoolRef:
        agree = z3.Implies(left.present, self.some.same(left.value, right.value))
        return z3.And(left.present == right.present, agree)

    def literal(self, value: Concrete, name: str = "") -> Maybe:
        if value is None:
            return Maybe(present=z3.BoolVal(False), value=self.some.fresh(f"{name}.absent"))
        return Maybe(present=z3.BoolVal(True), value=self.some.literal(value, name))

    def read(self, model: z3.ModelRef, term: Maybe) -> Concrete:
        return self.some.read(model, term.value) if _truth(model, term.present) else None


@dataclass(frozen=True)
class Fallible(Sort):
    """A value, or a panic (`{"panic": true}` in vectors)."""

    value: Sort

    def fresh(self, name: str) -> Outcome:
        return Outcome(panics=z3.Bool(f"{name}.panics"), value=self.value.fresh(name))

    def domain(self, term: Outcome) -> z3.BoolRef:
        return z3.Implies(z3.Not(term.panics), self.value.domain(term.value))

    def same(self, left: Outcome, right: Outcome) -> z3.BoolRef:
        agree = z3.Implies(z3.Not(left.panics), self.value.same(left.value, right.value))
        return z3.And(left.panics == right.panics, agree)

    def literal(self, value: Concrete, name: str = "") -> Outcome:
        if value == PANIC:
            return Outcome(panics=z3.BoolVal(True), value=self.value.fresh(f"{name}.panicked"))
        return Outcome(panics=z3.BoolVal(False), value=self.value.literal(value, name))

    def read(self, model: z3.ModelRef, term: Outcome) -> Concrete:
        return dict(PANIC) if _truth(model, term.panics) else self.value.read(model, term.value)


USIZE = Word(64)
U32 = Word(32)
FLAG = Flag()
INTERVAL = Struct((("lo", USIZE), ("hi", USIZE)), is_tuple=True)
RANGE = Struct((("owner", USIZE), ("lo", USIZE), ("hi", USIZE)))
PLAN = Struct((("first_key", USIZE), ("rows", USIZE)))
ADOPTION = Struct((("rows", USIZE), ("last_pair_key", USIZE)), is_tuple=True)
CONFIG = Struct((("prefill", FLAG), ("carry", FLAG)))
PAIR = Struct((("slot", U32), ("k", U32)), is_tuple=True)
TOKENS = Sequence(U32)
WORDS = Sequence(USIZE)
KEY = Sequence(U32, per_member=2, extra=1)
PAIRS = Sequence(PAIR)
ORDER = Struct((("order", WORDS), ("depths", WORDS)), is_tuple=True)
TEXT = Sequence(U32)
CARRIED = Struct((("rows", USIZE), ("last_pair_key", Option(USIZE)), ("tokens", TOKENS), ("session_hash", USIZE)))


@dataclass(frozen=True)
class RawText(Sort):
    """An environment value: absent, text (its Unicode scalar values), or bytes that are not UTF-8."""

    def fresh(self, name: str) -> Record:
        fields = {"set": z3.Bool(f"{name}.set"), "utf8": z3.Bool(f"{name}.utf8"), "text": TEXT.fresh(f"{name}.text")}
        return Record(fields=fields)

    def domain(self, term: Record) -> z3.BoolRef:
        text: Seq = term.text

        def scalar(i: z3.ArithRef) -> z3.BoolRef:
            c = text.at(i)
            return z3.And(0 <= c, c < 0x110000, z3.Or(c < 0xD800, c > 0xDFFF))

        size = bound()
        longest = 2**64 - 1 if size is None else size
        return z3.And(0 <= text.length, text.length <= longest, every("i", 0, text.length, scalar))

    def same(self, left: Record, right: Record) -> z3.BoolRef:
        readable = z3.And(left.set, left.utf8)
        alike = z3.And(left.set == right.set, z3.Implies(left.set, left.utf8 == right.utf8))
        return z3.And(alike, z3.Implies(readable, TEXT.same(left.text, right.text)))

    def literal(self, value: Concrete, name: str = "") -> Record:
        text = [ord(c) for c in value] if isinstance(value, str) else []
        fields = {
            "set": z3.BoolVal(value is not None),
            "utf8": z3.BoolVal(isinstance(value, str)),
            "text": TEXT.literal(text, name),
        }
        return Record(fields=fields)

    def read(self, model: z3.ModelRef, term: Record) -> Concrete:
        if not _truth(model, term.set):
            return None
        if not _truth(model, term.utf8):
            return {"hex": "ff"}
        return "".join(chr(c) for c in TEXT.read(model, term.text))


RAW_TEXT = RawText()
