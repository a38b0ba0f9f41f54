"""Between the spec's terms and the executor's values: arguments in, results out, both also as concrete vectors.

A parameter's declared type must be the machine shape that the spec has (a word of as many bits, a sequence of such, a struct
with fields of these names); anything else is a `Mismatch`, so that no proof speaks of another domain than the spec's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import z3

from proofs.source import ir
from proofs.source.executor import CHARACTER, Executor
from proofs.source.paths import Path
from proofs.source.terms import Term, cond, term
from proofs.source.values import BIG, Chars, Int, IntType, Opaque, Opt, OsText, Rec, Seq, Truth, Tup, Value, listed
from spec import sorts
from spec.machine import Profile
from spec.rules import Rule
from spec.sorts import Maybe, Record, Sort


class Mismatch(Exception):
    """A type of the source is not the shape that the spec has."""


class Shapes:
    """How a language's declared types meet the spec's sorts."""

    bounded_words = True
    """The language's integers cannot leave the spec's words."""

    def __init__(self, source: ir.Source) -> None:
        self.source = source

    def integer(self, type_: ir.Type | None, bits: int) -> IntType:
        """The integer type declared for a word of so many bits."""
        raise NotImplementedError

    def truth(self, type_: ir.Type | None) -> None:
        """Checks that a flag is declared."""
        raise NotImplementedError

    def element(self, type_: ir.Type | None) -> ir.Type | None:
        """The element type of a declared sequence."""
        raise NotImplementedError

    def optional(self, type_: ir.Type | None) -> ir.Type | None:
        """What a declared option holds."""
        raise NotImplementedError

    def items(self, type_: ir.Type | None, count: int) -> Sequence[ir.Type | None]:
        """The types in a declared tuple."""
        raise NotImplementedError

    def text(self, type_: ir.Type | None) -> None:
        """Checks that an environment value is declared."""
        raise NotImplementedError

    def word(self, type_: ir.Type | None, bits: int, value: Term) -> Value:
        """A word as a value."""
        return Int(value, self.integer(type_, bits))

    def raw(self, given: Any) -> Value:
        """An environment value as the language has it."""
        text = Chars(
            base=_characters(given.text),
            start=0,
            end=_length(given.text),
            origin=given.text,
        )
        return Opt(_cond(given.set), OsText(_cond(given.utf8), text))

    def named(self, type_: ir.Type | None) -> ir.Type | None:
        """The type with aliases resolved."""
        while type_ is not None and type_.name in self.source.aliases:
            type_ = self.source.aliases[type_.name]
        return type_

    def rests_on(self, function: ir.Function, rule: Rule) -> Iterator[str]:
        """What a proof takes for granted beside the language's own rules."""
        if any(_holds_sequence(sort) for sort in rule.params.values()):
            yield "an allocation succeeds, and no sequence takes more than half the address space"

    def profiles(self, function: ir.Function, known: tuple[Profile, ...]) -> tuple[Profile, ...]:
        """The builds in which this function can be compared."""
        return known

    def paths(self, run: Executor, function: ir.Function, rule: Rule, arguments: Mapping[str, Any]) -> list[Path]:
        """The function's paths for arguments of the rule."""
        if len(function.parameters) != len(rule.params):
            raise Mismatch(f"{len(function.parameters)} parameters where the spec has {len(rule.params)}")
        types = [type_ for _, type_ in function.parameters]
        given = zip(rule.params.items(), types, strict=True)
        return run.run(function, tuple(self.value(sort, arguments[name], type_) for (name, sort), type_ in given))

    # Arguments

    def value(self, sort: Sort, given: Any, type_: ir.Type | None) -> Value:
        """The executor's value for a term of the spec."""
        type_ = self.named(type_)
        match sort:
            case sorts.Word():
                return self.word(type_, sort.bits, _term(given))
            case sorts.Flag():
                self.truth(type_)
                return Truth(_cond(given))
            case sorts.Option():
                inner = self.optional(type_)
                return Opt(_cond(given.present), self.value(sort.some, given.value, inner))
            case sorts.Sequence():
                return self._sequence(sort, given, self.element(type_))
            case sorts.RawText():
                self.text(type_)
                return self.raw(given)
            case sorts.Struct():
                return self._struct(sort, given, type_)
        raise Mismatch(f"{type(sort).__name__}")

    def _sequence(self, sort: sorts.Sequence, given: sorts.Seq, element: ir.Type | None) -> Seq:
        length = _length(given)
        if isinstance(length, int):
            return listed(tuple(self.value(sort.element, given.at(z3.IntVal(i)), element) for i in range(length)))
        self.value(sort.element, given.at(z3.IntVal(0)), element)  # the types are looked at once
        return Seq(
            length=length,
            at=lambda i: self.value(sort.element, given.at(term(i)), element),
            facts=lambda i: sort.element.domain(given.at(term(i))),
        )

    def _struct(self, sort: sorts.Struct, given: Record, type_: ir.Type | None) -> Value:
        names = [name for name, _ in sort.parts]
        parts = dict(sort.parts)
        shape = None if type_ is None else self.source.shapes.get(type_.name)
        if shape is None and sort.is_tuple:
            items = self.items(type_, len(names))
            values = [self.value(parts[n], given.fields[n], t) for n, t in zip(names, items, strict=True)]
            return Tup(tuple(values))
        if type_ is None:
            raise Mismatch("a struct without a type")
        if shape is None:
            self.external(type_)
            return Rec(type_.name, {n: self.value(parts[n], given.fields[n], None) for n in names})
        if shape.objection is not None:
            raise Mismatch(f"{shape.name}: {shape.objection}")
        fields: dict[str, Value] = {}
        for name, declared in shape.fields:
            if name in parts:
                fields[name] = self.value(parts[name], given.fields[name], declared)
            else:
                fields[name] = Opaque(f"{shape.name}.{name} is not part of the spec")
        missing = [n for n in names if n not in fields]
        if missing:
            raise Mismatch(f"{shape.name} has no field {missing[0]}")
        return Rec(shape.name, fields)

    def external(self, type_: ir.Type) -> None:
        """Checks that a struct may come from another file."""
        if type_.arguments or type_.name.startswith("?"):
            raise Mismatch(f"{type_} where the spec has a struct")

    # Results

    def term(self, sort: Sort, value: Value) -> Any:
        """The spec's term for a result."""
        match sort, value:
            case sorts.Word(), Int():
                if not self.fits(value, sort.bits):
                    raise Mismatch(f"{value.type} where the spec has {sort.bits} bits")
                return term(value.term)
            case sorts.Word(), Rec(fields=fields) if list(fields) == ["0"]:
                return self.term(sort, fields["0"])
            case sorts.Flag(), Truth():
                return cond(value.term)
            case sorts.Option(), Opt() if value.error is None:
                unused = sort.some.fresh("?absent")
                inner = unused if value.value is None else self.term(sort.some, value.value)
                return Maybe(present=cond(value.present), value=inner)
            case sorts.Sequence(), Seq():
                return self._sequence_term(sort, value)
            case sorts.Sequence(), Tup(items=items):
                return self._sequence_term(sort, listed(items))
            case sorts.Struct(), Tup(items=items) if sort.is_tuple and len(items) == len(sort.parts):
                pairs = zip(sort.parts, items, strict=True)
                return Record(fields={name: self.term(part, item) for (name, part), item in pairs})
            case sorts.Struct(), Rec(fields=fields) if {n for n, _ in sort.parts} == set(fields):
                return Record(fields={name: self.term(part, fields[name]) for name, part in sort.parts})
        raise Mismatch(f"{type(value).__name__} where the spec has {type(sort).__name__}")

    def fits(self, value: Int, bits: int) -> bool:
        """The result's type is the spec's."""
        return value.type is not None and value.type.bits == bits and not value.type.signed

    def _sequence_term(self, sort: sorts.Sequence, value: Seq) -> sorts.Seq:
        if value.items is None:
            at = value.at
            if at is None:
                raise Mismatch("a sequence that is being built")
            return sorts.Seq(name="result", length=term(value.length), at=lambda i: self.term(sort.element, at(_index(i))))
        elements = [self.term(sort.element, item) for item in value.items]
        return sorts.Seq(name="result", length=z3.IntVal(len(elements)), at=_chosen(sort.element, elements))

    # Concrete values

    def concrete(self, sort: Sort, value: Value) -> Any:
        """The vector form of a result on constants."""
        match sort, value:
            case sorts.Word(), Int(term=int() as number) if self.fits(value, sort.bits):
                return number
            case sorts.Word(), Rec(fields=fields) if list(fields) == ["0"]:
                return self.concrete(sort, fields["0"])
            case sorts.Flag(), Truth(term=bool() as flag):
                return flag
            case sorts.Option(), Opt(present=bool() as present) if value.error is None:
                return self.concrete(sort.some, value.value) if present and value.value is not None else None
            case sorts.Sequence(), Seq(items=tuple() as items):
                return [self.concrete(sort.element, item) for item in items]
            case sorts.Sequence(), Tup(items=items):
                return [self.concrete(sort.element, item) for item in items]
            case sorts.Struct(), Tup(items=items) if sort.is_tuple and len(items) == len(sort.parts):
                return [self.concrete(part, item) for (_, part), item in zip(sort.parts, items, strict=True)]
            case sorts.Struct(), Rec(fields=fields) if {n for n, _ in sort.parts} == set(fields):
                found = {name: self.concrete(part, fields[name]) for name, part in sort.parts}
                return list(found.values()) if sort.is_tuple else found
        raise Mismatch(f"{type(value).__name__} where the spec has {type(sort).__name__}")


def _index(i: Any) -> Term:
    if isinstance(i, z3.ArithRef) and z3.is_int_value(i):
        return int(i.as_long())
    return cast(Term, i)


def _chosen(sort: Sort, elements: list[Any]) -> Any:
    if isinstance(sort, sorts.Struct):
        columns = {name: _chosen(part, [e.fields[name] for e in elements]) for name, part in sort.parts}
        return lambda i: Record(fields={name: at(i) for name, at in columns.items()})

    def at(i: Any) -> Any:
        index = _index(i)
        if isinstance(index, int):
            return elements[index] if 0 <= index < len(elements) else z3.IntVal(0)
        chosen: Any = z3.IntVal(0)
        for position in reversed(range(len(elements))):
            chosen = z3.If(index == position, elements[position], chosen)
        return chosen

    return at


def _term(given: Any) -> Term:
    return int(given.as_long()) if z3.is_int_value(given) else given


def _cond(given: Any) -> Any:
    if z3.is_true(given):
        return True
    return False if z3.is_false(given) else given


def _length(given: sorts.Seq) -> Term:
    return _term(given.length)


def _characters(given: sorts.Seq) -> Seq:
    length = _length(given)
    if isinstance(length, int):
        return listed(tuple(Int(_term(given.at(z3.IntVal(i))), CHARACTER) for i in range(length)))

    def facts(i: Term) -> Any:
        c = given.at(term(i))
        return z3.And(0 <= c, c < 0x110000, z3.Or(c < 0xD800, c > 0xDFFF))

    return Seq(length=length, at=lambda i: Int(given.at(term(i)), CHARACTER), facts=facts)


def scalars(sort: Sort, given: Any) -> Iterator[z3.ExprRef]:
    """The free constants in an argument, in order; lengths before elements (of a sequence of known length)."""
    match sort:
        case sorts.Word() | sorts.Flag():
            if not (z3.is_int_value(given) or z3.is_true(given) or z3.is_false(given)):
                yield given
        case sorts.Option():
            yield given.present
            yield from scalars(sort.some, given.value)
        case sorts.Struct():
            for name, part in sort.parts:
                yield from scalars(part, given.fields[name])
        case sorts.Sequence():
            if z3.is_int_value(given.length):
                for i in range(int(given.length.as_long())):
                    yield from scalars(sort.element, given.at(z3.IntVal(i)))
            else:
                yield given.length
        case sorts.RawText():
            yield given.set
            yield given.utf8
            yield given.text.length
            if z3.is_int_value(given.text.length):
                for i in range(int(given.text.length.as_long())):
                    yield given.text.at(z3.IntVal(i))


class RustShapes(Shapes):
    """Rust's types."""

    _WORDS: ClassVar[dict[int, tuple[str, ...]]] = {64: ("usize", "u64"), 32: ("u32",)}

    def integer(self, type_: ir.Type | None, bits: int) -> IntType:
        if type_ is not None and type_.name not in self._WORDS[bits]:
            raise Mismatch(f"{type_} where the spec has {bits} bits")
        return IntType(bits)

    def word(self, type_: ir.Type | None, bits: int, value: Term) -> Value:
        if type_ is not None and type_.name == "DevicePtr" and bits == 64:
            if "DevicePtr" in self.source.shapes:
                fields = self.source.shapes["DevicePtr"].fields
                if len(fields) != 1:
                    raise Mismatch("a DevicePtr of several fields")
                return Rec("DevicePtr", {fields[0][0]: self.word(fields[0][1], 64, value)})
            return Rec("DevicePtr", {"0": Int(value, IntType(64))})
        shape = None if type_ is None else self.source.shapes.get(type_.name)
        if shape is not None and shape.positional and len(shape.fields) == 1 and shape.objection is None:
            return Rec(shape.name, {"0": self.word(self.named(shape.fields[0][1]), bits, value)})
        return super().word(type_, bits, value)

    def truth(self, type_: ir.Type | None) -> None:
        if type_ is not None and type_.name != "bool":
            raise Mismatch(f"{type_} where the spec has a flag")

    def element(self, type_: ir.Type | None) -> ir.Type | None:
        if type_ is None:
            return None
        if type_.name in ("slice", "Vec", "array", "Box") and len(type_.arguments) == 1:
            inner = self.named(type_.arguments[0])
            return self.element(inner) if type_.name == "Box" else inner
        raise Mismatch(f"{type_} where the spec has a sequence")

    def optional(self, type_: ir.Type | None) -> ir.Type | None:
        if type_ is None:
            return None
        if type_.name.split("::")[-1] == "Option" and len(type_.arguments) == 1:
            return self.named(type_.arguments[0])
        raise Mismatch(f"{type_} where the spec has an option")

    def items(self, type_: ir.Type | None, count: int) -> Sequence[ir.Type | None]:
        if type_ is None:
            return [None] * count
        if type_.name == "tuple" and len(type_.arguments) == count:
            return [self.named(t) for t in type_.arguments]
        raise Mismatch(f"{type_} where the spec has a tuple of {count}")

    def text(self, type_: ir.Type | None) -> None:
        inner = self.optional(type_)
        if inner is None or inner.name.split("::")[-1] not in ("OsString", "OsStr"):
            raise Mismatch(f"{type_} where the spec has an environment value")


class PythonShapes(Shapes):
    """Python's values: annotations promise nothing, so the spec's shapes are taken as they are."""

    bounded_words = False

    def integer(self, type_: ir.Type | None, bits: int) -> IntType:
        return BIG

    def truth(self, type_: ir.Type | None) -> None:
        return None

    def element(self, type_: ir.Type | None) -> ir.Type | None:
        return None

    def optional(self, type_: ir.Type | None) -> ir.Type | None:
        return None

    def items(self, type_: ir.Type | None, count: int) -> Sequence[ir.Type | None]:
        return [None] * count

    def text(self, type_: ir.Type | None) -> None:
        return None

    def fits(self, value: Int, bits: int) -> bool:
        return value.type is BIG

    def value(self, sort: Sort, given: Any, type_: ir.Type | None) -> Value:
        if isinstance(sort, sorts.Struct) and not sort.is_tuple:
            found = type_
            if found is None or found.name not in self.source.shapes:
                spelled = "" if type_ is None else type_.name.lstrip("?").strip("'\"")
                names = [n for n in self.source.shapes if n.rpartition(".")[2] == spelled]
                found = ir.Type(names[0]) if len(names) == 1 else None
            if found is None:
                raise Mismatch(f"{type_} where the spec has a struct")
            return self._struct(sort, given, found)
        return super().value(sort, given, type_)

    def term(self, sort: Sort, value: Value) -> Any:
        return super().term(sort, self.plain(sort, value))

    def concrete(self, sort: Sort, value: Value) -> Any:
        return super().concrete(sort, self.plain(sort, value))

    def plain(self, sort: Sort, value: Value) -> Value:
        """What is not None stands for itself where the spec has an option."""
        if isinstance(sort, sorts.Option):
            return value if isinstance(value, Opt) else Opt(True, value)
        if isinstance(value, Opt) and value.present is True and value.value is not None:
            return value.value
        if isinstance(sort, sorts.Struct) and isinstance(value, Seq) and value.items is not None:
            return Tup(value.items) if sort.is_tuple else value
        return value


def _holds_sequence(sort: Sort) -> bool:
    match sort:
        case sorts.Sequence() | sorts.RawText():
            return True
        case sorts.Struct():
            return any(_holds_sequence(part) for _, part in sort.parts)
    return False
