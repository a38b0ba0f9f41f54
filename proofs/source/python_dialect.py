"""What Python's names, methods and types mean, as far as the subset goes: unbounded integers, sequences, None, exceptions.

A value that may be None is an option, and stands for what it holds wherever only that matters (a TypeError if it is None).
"""

from __future__ import annotations

from dataclasses import replace

import z3

from proofs.source import ir, numerals, texts
from proofs.source.executor import Dialect, Executor, Mutated, text_of
from proofs.source.paths import Panicked
from proofs.source.rust_dialect import by_key, natural
from proofs.source.sorting import ordered
from proofs.source.streams import Chained, Enumerated, OfSpan, Reversed, TakenWhile, left_over, over, zipped
from proofs.source.terms import Cond, Term, add, both, either, eq, floor_div, le, lt, modulo, negated, pick, sub, term
from proofs.source.values import (
    BIG,
    NOTHING,
    Builtin,
    Chars,
    Int,
    IntType,
    Opaque,
    Opt,
    OsText,
    Rec,
    Seq,
    Span,
    Stream,
    Truth,
    Tup,
    Value,
    listed,
    merged,
)
from spec import gate
from spec.machine import Profile
from spec.scope import every
from spec.sorts import Seq as SpecSeq

_PARENTS = {
    "UnicodeDecodeError": "ValueError",
    "ValueError": "Exception",
    "OverflowError": "ArithmeticError",
    "ZeroDivisionError": "ArithmeticError",
    "ArithmeticError": "Exception",
    "IndexError": "LookupError",
    "KeyError": "LookupError",
    "LookupError": "Exception",
    "Exception": "BaseException",
    "TypeError": "Exception",
    "AssertionError": "Exception",
}
_ERRORS = {
    "an index out of range": "IndexError",
    "division by zero": "ZeroDivisionError",
    "an assertion fails": "AssertionError",
}
"""Python's names for what the executor says in its own words."""

_MOST_DIGITS = 4300
"""Of longer texts int() makes no number, unless a process asks for another limit."""

_TYPES = frozenset(["int", "bool", "str", "bytes", "list", "tuple", "range", "float", "dict", "set"])
_FUNCTIONS = (
    _TYPES
    | frozenset(["len", "min", "max", "sorted", "zip", "enumerate", "reversed", "sum", "any", "all", "isinstance", "type", "vars"])
    | frozenset(["flatten", "abs", "next", "iter", "map", "unshared", "formatted"])
)
_MODULES = {
    "itertools.takewhile": "#takewhile",
    "itertools.chain": "#chain",
    "dataclasses.dataclass": "#dataclass",
}


class Python(Dialect):
    """Python 3.11 and later."""

    name = "python"
    profiles = (Profile.DEBUG,)

    def type_named(self, name: str) -> IntType | None:
        return None

    def literal_type(self, name: str | None) -> IntType:
        return BIG

    def lookup(self, run: Executor, name: str) -> Value:
        name = _MODULES.get(name, name)
        if name.startswith("#"):
            if name == "#None":
                return NOTHING
            if name[1:] in _FUNCTIONS or name in _MODULES.values():
                return Builtin(name[1:])
        raise run.fail(f"name {name.lstrip('#')}")

    def catches(self, kinds: tuple[str, ...], raised: str) -> bool:
        kind: str | None = _ERRORS.get(raised, raised)
        while kind is not None:
            if kind in kinds:
                return True
            kind = _PARENTS.get(kind)
        return False

    def converted(self, run: Executor, value: Value, type_: ir.Type) -> Value:
        return value  # annotations promise nothing

    # Values

    def operand(self, run: Executor, value: Value) -> Value:
        if isinstance(value, Opt):
            if not run.decide(value.present) or value.value is None:
                raise Panicked("TypeError", run.line)
            return self.operand(run, value.value)
        return value

    def result(self, run: Executor, value: Value) -> Value:
        match value:
            case Opt():
                if value.value is None or not run.decide(value.present):
                    return NOTHING
                return self.result(run, value.value)
            case Tup():
                return Tup(tuple(self.result(run, item) for item in value.items))
            case Rec():
                return Rec(value.type, {name: self.result(run, part) for name, part in value.fields.items()})
        return value

    def truth(self, run: Executor, value: Value) -> Cond:
        match value:
            case Truth():
                return value.term
            case Int():
                return negated(eq(value.term, 0))
            case Seq():
                return negated(eq(value.length, 0))
            case Chars():
                return negated(texts.is_empty(value))
            case Opt() if value.value is None:
                return False
        raise run.fail(f"the truth of a {type(value).__name__}")

    def meet(self, run: Executor, left: Value, right: Value) -> tuple[Value, Value]:
        left, right = self.operand(run, left), self.operand(run, right)
        if isinstance(left, Int) != isinstance(right, Int) and isinstance(left, Truth) | isinstance(right, Truth):
            raise run.fail("a truth value among numbers")
        return left, right

    def binary(self, run: Executor, operator: str, left: Value, right: Value) -> Value | None:
        match operator, left, right:
            case (("is" | "is not"), _, Opt(value=None)):
                absent: Cond = negated(left.present) if isinstance(left, Opt) else False
                return Truth(absent if operator == "is" else negated(absent))
            case (("is" | "is not"), Builtin(), Builtin()):
                return Truth((left.name == right.name) == (operator == "is"))
            case (("is" | "is not"), Truth(), Truth()):
                return run.operate("==" if operator == "is" else "!=", left, right)
            case (("in" | "not in"), Int(), (Seq() | Tup() | Span())):
                items = run.pulled(run.stream(right))
                found = either(*[run.equal(left, item) for item in items])
                return Truth(found if operator == "in" else negated(found))
            case "+", Seq(), Seq():
                if left.items is not None and right.items is not None:
                    return listed(left.items + right.items)
                if left.items == ():
                    return right
                if right.items is not None:
                    whole = left
                    for item in right.items:
                        whole = run.appended(whole, item)
                    return whole
                raise run.fail("a sequence of any length appended")
            case "+", Tup(), Tup():
                return Tup(left.items + right.items)
            case "==" | "!=", Opt(), _ if not isinstance(right, Opt):
                inside = False if left.value is None else both(left.present, run.equal(left.value, right))
                return Truth(inside if operator == "==" else negated(inside))
            case (("+" | "-" | "<" | "<=" | ">" | ">="), Int(), (Tup() | Seq() | Chars())):
                raise Panicked("TypeError", run.line)
            case (("+" | "-" | "<" | "<=" | ">" | ">="), (Tup() | Seq() | Chars()), Int()):
                raise Panicked("TypeError", run.line)
            case (("==" | "!="), Seq(), Tup()):
                raise run.fail("a list compared with a tuple")
            case "**", Int(term=int() as base), Int(term=int() as power) if 0 <= power <= 256:
                return Int(base**power, BIG)
        return None

    def divided(self, run: Executor, operator: str, left: Int, right: Int) -> Term:
        if operator == "/" or not isinstance(right.term, int) or right.term <= 0:
            raise run.fail("a division by an unknown")
        return floor_div(left.term, right.term) if operator == "//" else modulo(left.term, right.term)

    def field(self, run: Executor, value: Value, name: str) -> Value:
        if isinstance(value, Builtin) and name == "__name__":
            return Chars(listed(()), 0, 0)
        raise run.fail(f"attribute {name}")

    def type_of(self, run: Executor, value: Value) -> str | None:
        """The name of the value's type; None where it may be one of several."""
        match value:
            case Truth():
                return "bool"
            case Int():
                return "int"
            case Chars():
                return "str"
            case Rec():
                return value.type
            case OsText():
                return "str" if run.decide(value.utf8) else "bytes"
            case Opt():
                if value.value is None or not run.decide(value.present):
                    return "NoneType"
                return self.type_of(run, value.value)
            case Tup():
                return "tuple"
        return None

    def is_instance(self, run: Executor, value: Value, types: Value) -> bool:
        """isinstance(value, types)."""
        types = self.operand(run, types)
        if isinstance(types, (Int, Truth, Chars, OsText, Seq)):
            raise Panicked("TypeError", run.line)
        names = [types] if isinstance(types, Builtin) else list(types.items) if isinstance(types, Tup) else []
        known = [n.name.removeprefix("shape ") for n in names if isinstance(n, Builtin)]
        if not known or len(known) != len(names):
            raise run.fail("isinstance")
        if isinstance(value, Seq):
            # A sequence of the spec is a list or a tuple, and code may be given either.
            if {"list", "tuple"} <= set(known):
                return True
            if not {"list", "tuple", "range"} & set(known):
                return False
            raise run.fail("a distinction between list and tuple")
        found = self.type_of(run, value)
        return found in known or (found == "bool" and "int" in known)

    # Functions

    def call(self, run: Executor, name: str, arguments: tuple[Value, ...], node: ir.Call) -> Value:
        named = {key: run.evaluate(value) for key, value in node.named}
        if named and name not in ("sorted", "zip", "min", "max", "enumerate"):
            raise run.fail(f"named arguments of {name}")
        match name, arguments:
            case "unshared", (value,):
                if not isinstance(value, (Int, Truth, Chars)):
                    raise run.fail("a list that is changed in place and may have another name")
                return value
            case "formatted", _:
                return Opaque("a formatted text")
            case "len", (value,):
                return Int(self._length(run, self.operand(run, value)), BIG)
            case (("min" | "max"), _) if not named:
                return self._extreme(run, name, arguments)
            case "sorted", (value,):
                return self._sorted(run, run.collected(run.stream(self.operand(run, value))), named)
            case "range", _:
                return self._range(run, arguments)
            case "zip", (left, right):
                strict = named.pop("strict", Truth(False))
                if named or not isinstance(strict, Truth):
                    raise run.fail("zip")
                a, b = run.stream(self.operand(run, left)), run.stream(self.operand(run, right))
                if strict.term is not False and not run.decide(eq(left_over(a), left_over(b))):
                    raise run.fail("a strict zip of unequal lengths")
                return zipped(a, b, run.line)
            case "enumerate", (value, *more):
                first = more[0] if more else named.get("start", Int(0, BIG))
                stream = run.stream(self.operand(run, value))
                return Stream(Enumerated(stream.source, BIG, run.integer(first).term), (0, stream.state))
            case "reversed", (value,):
                stream = run.stream(self.operand(run, value))
                if not stream.source.indexed:
                    raise run.fail("reversed")
                return Stream(Reversed(stream.source), (stream.state, 0))
            case (("list" | "tuple"), ()):
                return listed(())
            case (("list" | "tuple"), (value,)):
                value = self.operand(run, value)
                return value if isinstance(value, Seq) else run.collected(run.stream(value))
            case "flatten", (value,):
                return self._flattened(run, run.stream(value))
            case (("any" | "all"), (value,)):
                wanted = name == "any"

                def ask(found: Value, item: Value) -> tuple[Value, bool]:
                    return (Truth(wanted), False) if run.decide(run.truth(item)) == wanted else (found, True)

                return run.consume(run.stream(value), Truth(not wanted), ask)
            case "sum", (value,):
                return run.consume(run.stream(value), Int(0, BIG), lambda t, v: (run.operate("+", t, v), True))
            case "isinstance", (value, types):
                return Truth(self.is_instance(run, value, types))
            case "type", (value,):
                found = self.type_of(run, value)
                if found is None:
                    raise run.fail("the type of a sequence")
                return Builtin(found)
            case "vars", (Rec() as record,):
                return record
            case "bool", (value,):
                return Truth(run.truth(value))
            case "int", (value,):
                return self._int(run, self.operand(run, value))
            case "next", (value, default):

                def take(found: Value, item: Value) -> tuple[Value, bool]:
                    return Opt(True, item), False

                found_one = run.option(run.consume(run.stream(value), NOTHING, take))
                return found_one.value if found_one.value is not None else default
            case "takewhile", (predicate, value):
                stream = run.stream(value)
                return Stream(TakenWhile(stream.source, predicate), (False, stream.state))
            case "chain", (first, second):
                a, b = run.stream(first), run.stream(second)
                return Stream(Chained(a.source, b.source), (False, a.state, b.state))
            case "str", (Int(term=int() as constant),):
                return text_of(str(constant))
            case "abs", (Int() as number,):
                return Int(pick(lt(number.term, 0), sub(0, number.term), number.term), BIG)
        raise run.fail(f"function {name}")

    def _length(self, run: Executor, value: Value) -> Term:
        match value:
            case Seq():
                return value.length
            case Tup():
                return len(value.items)
            case Chars():
                return sub(value.end, value.start)
        raise run.fail(f"len of a {type(value).__name__}")

    def _extreme(self, run: Executor, name: str, arguments: tuple[Value, ...]) -> Value:
        items = run.pulled(run.stream(arguments[0])) if len(arguments) == 1 else arguments
        if not items:
            raise Panicked("ValueError", run.line)
        best = self.operand(run, items[0])
        for item in items[1:]:
            item = self.operand(run, item)
            if not isinstance(best, Int) or not isinstance(item, Int):
                raise run.fail(f"{name} of other than numbers")
            better = run.less(item, best) if name == "min" else run.less(best, item)
            best = merged(better, item, best)
        return best

    def _sorted(self, run: Executor, seq: Seq, named: dict[str, Value]) -> Value:
        reverse = named.get("reverse", Truth(False))
        key = named.get("key")
        if set(named) - {"key", "reverse"} or not isinstance(reverse, Truth):
            raise run.fail("sorted")
        if key is not None and key != NOTHING and seq.items is not None and len(seq.items) == 1:
            run.apply(key, seq.items)  # which Python asks for even where nothing is compared
        compare = natural(run) if key is None or key == NOTHING else by_key(run, key)
        backwards = run.decide(reverse.term)
        return ordered(run, seq, compare, stable=True, backwards=backwards)

    def _range(self, run: Executor, arguments: tuple[Value, ...]) -> Value:
        numbers = [run.integer(self.operand(run, a)).term for a in arguments]
        match numbers:
            case [high]:
                return Stream(OfSpan(0, high, BIG), 0)
            case [low, high]:
                return Stream(OfSpan(low, high, BIG), 0)
            case [low, high, -1]:
                return Stream(OfSpan(low, high, BIG, -1), 0)
            case [low, high, int() as step] if step > 0 and isinstance(low, int) and isinstance(high, int):
                return over(listed(tuple(Int(i, BIG) for i in range(low, high, step))))
        raise run.fail("range")

    def _flattened(self, run: Executor, stream: Stream) -> Value:
        if run.unbounded and not isinstance(left_over(stream), int):
            return run.chunks(run.collected(stream))
        parts = [run.pulled(run.stream(v)) for v in run.pulled(stream)]
        return listed(tuple(item for part in parts for item in part))

    def _int(self, run: Executor, value: Value) -> Value:
        if isinstance(value, Int):
            return value
        if isinstance(value, Truth):
            return Int(pick(value.term, 1, 0), BIG)
        if isinstance(value, Chars) and value.base.items is None:
            origin: SpecSeq = value.origin
            digits = every("i", term(value.start), term(value.end), lambda i: gate.digit(origin.at(i)))
            if not run.proves(both(lt(value.start, value.end), digits)):
                raise run.fail("int() of what is not all ASCII digits")
            if run.decide(lt(_MOST_DIGITS, sub(value.end, value.start))):
                raise Panicked("ValueError", run.line)
            for fact in numerals.known_of(origin, value.start, value.end):
                run.assume(fact)
            return Int(numerals.number(origin, value.start, value.end), BIG)
        if isinstance(value, Chars):
            known = _known_text(run, value)
            if known is not None:
                return _int_of(known, run.line)
            codes = [run.integer(c).term for c in run.characters(value)]
            if not codes or not run.decide(both(*[texts.digit(c) for c in codes])):
                raise run.fail("int() of what is not all ASCII digits")
            number: Term = 0
            for code in codes:
                number = add(texts.ten_times(number), sub(code, ord("0")))
            return Int(number, BIG)
        raise run.fail("int()")

    # Methods

    def method(self, run: Executor, receiver: Value, name: str, arguments: tuple[Value, ...], node: ir.Method) -> Value:
        if isinstance(receiver, Builtin) and receiver.name == "chain" and name == "from_iterable":
            return self._flattened(run, run.stream(arguments[0]))
        receiver = self.operand(run, receiver)
        named = {key: run.evaluate(value) for key, value in node.named}
        result: Value | None = None
        if isinstance(receiver, Seq):
            result = self._seq_method(run, receiver, name, arguments, named)
        elif isinstance(receiver, Chars | OsText) and not named:
            result = self._text_method(run, receiver, name, arguments)
        elif isinstance(receiver, Rec) and name == "items" and not arguments:
            result = listed(tuple(Tup((Chars(listed(()), 0, 0), value)) for value in receiver.fields.values()))
        if result is None:
            raise run.fail(f"method {name} of {type(receiver).__name__}")
        return result

    def _seq_method(
        self, run: Executor, receiver: Seq, name: str, arguments: tuple[Value, ...], named: dict[str, Value]
    ) -> Value | None:
        match name, arguments:
            case "append", (item,) if not named:
                return Mutated(run.appended(receiver, item), NOTHING)
            case "extend", (more,) if not named:
                for item in run.pulled(run.stream(more)):
                    receiver = run.appended(receiver, item)
                return Mutated(receiver, NOTHING)
            case "sort", ():
                return Mutated(self._sorted(run, receiver, named), NOTHING)
            case "reverse", () if not named:
                return Mutated(run.collected(Stream(Reversed(over(receiver).source), (0, 0))), NOTHING)
            case "copy", () if not named:
                return receiver
        return None

    def _text_method(self, run: Executor, receiver: Value, name: str, arguments: tuple[Value, ...]) -> Value | None:
        if isinstance(receiver, OsText):
            if name == "decode":
                if not run.decide(receiver.utf8):
                    raise Panicked("UnicodeDecodeError", run.line)
                return receiver.text
            if not run.decide(receiver.utf8):
                raise run.fail(f"{name} of bytes")
            receiver = receiver.text
        if not isinstance(receiver, Chars):
            return None
        match name, arguments:
            case (("strip" | "lstrip" | "rstrip"), (Chars() as what,)):
                return self._stripped(run, receiver, what, start=name != "rstrip", end=name != "lstrip")
            case "isascii", () if receiver.base.items is None:
                text: SpecSeq = receiver.origin
                return Truth(every("i", term(receiver.start), term(receiver.end), lambda i: text.at(i) < 128))
            case "isascii", ():
                return Truth(both(*[lt(run.integer(c).term, 128) for c in run.characters(receiver)]))
            case "isdigit", ():
                return self._digits(run, receiver)
            case (("removeprefix" | "startswith"), (Chars() as prefix,)):
                return self._prefix(run, receiver, prefix, name)
        return None

    def _stripped(self, run: Executor, text: Chars, what: Chars, *, start: bool, end: bool) -> Value:
        codes = [run.integer(c).term for c in run.characters(what)]
        spaces = {c for first, last in gate.WHITE_SPACE for c in range(first, last + 1)}
        if set(codes) == spaces:
            return texts.trimmed(run, text, start=start, end=end)
        if not isinstance(text.start, int) or not isinstance(text.end, int):
            if end:
                raise run.fail("the end of a text of any length stripped")
            return self._stripped_start(run, text, [int(str(c)) for c in codes])
        low, high = text.start, text.end

        def taken(index: int) -> bool:
            code = texts.code_at(run, text, index)
            return run.decide(either(*[eq(code, c) for c in codes]))

        while start and low < high and taken(low):
            low += 1
        while end and low < high and taken(high - 1):
            high -= 1
        return replace(text, start=low, end=high)

    def _stripped_start(self, run: Executor, text: Chars, codes: list[int]) -> Value:
        """The first place that holds none of the characters, in a text of any length."""
        origin: SpecSeq = text.origin
        low, start, end = z3.Int(run.fresh("stripped")), term(text.start), term(text.end)

        def taken(i: z3.ArithRef) -> z3.BoolRef:
            return z3.Or([origin.at(i) == c for c in codes])

        run.assume(z3.And(start <= low, low <= end, z3.Or(low == end, z3.Not(taken(low)))))
        run.assume(every("i", start, low, taken))
        if codes == [ord("0")]:
            for fact in numerals.known_of_zeros(origin, start, low, end):
                run.assume(fact)
            for fact in numerals.known_of(origin, low, end):
                run.assume(fact)
        return replace(text, start=low)

    def _digits(self, run: Executor, text: Chars) -> Value:
        if text.base.items is None:
            origin: SpecSeq = text.origin
            beyond = z3.Function("isdigit beyond ASCII", z3.IntSort(), z3.BoolSort())  # of which nothing is known
            each = every(
                "i",
                term(text.start),
                term(text.end),
                lambda i: z3.If(origin.at(i) < 128, gate.digit(origin.at(i)), beyond(origin.at(i))),
            )
            return Truth(both(lt(text.start, text.end), each))
        known = _known_text(run, text)
        if known is not None:
            return Truth(known.isdigit())
        codes = [run.integer(c).term for c in run.characters(text)]
        if not codes:
            return Truth(False)
        if not run.decide(both(*[lt(c, 128) for c in codes])):
            raise run.fail("isdigit of characters beyond ASCII")
        return Truth(both(*[texts.digit(c) for c in codes]))

    def _prefix(self, run: Executor, text: Chars, prefix: Chars, name: str) -> Value:
        wanted = run.characters(prefix)
        begins: Cond
        if text.base.items is None:
            begins = le(add(text.start, len(wanted)), text.end)
            if run.decide(begins):
                here = [texts.code_at(run, text, add(text.start, i)) for i in range(len(wanted))]
                begins = both(*[eq(code, run.integer(c).term) for code, c in zip(here, wanted, strict=True)])
                if name != "startswith" and run.decide(begins):
                    return replace(text, start=add(text.start, len(wanted)))
            else:
                begins = False
            return Truth(begins) if name == "startswith" else text
        have = run.characters(text)
        begins = len(have) >= len(wanted)
        for a, b in zip(wanted, have, strict=False):
            begins = both(begins, run.equal(a, b))
        if name == "startswith":
            return Truth(begins)
        if run.decide(begins):
            return replace(text, start=add(text.start, len(wanted)))
        return text


def _known_text(run: Executor, text: Chars) -> str | None:
    """The text, if every character of it is known."""
    codes = [run.integer(c).term for c in run.characters(text)]
    return "".join(chr(code) for code in codes if isinstance(code, int)) if all(isinstance(c, int) for c in codes) else None


def _int_of(text: str, line: int) -> Value:
    """int(text) on a known text: what Python, which runs this, makes of it."""
    try:
        return Int(int(text), BIG)
    except ValueError:
        raise Panicked("ValueError", line) from None
