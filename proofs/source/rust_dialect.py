"""What Rust's names, methods and types mean: the part of its core and alloc libraries that the subset covers.

Written from the documented behaviour. Allocation is taken to succeed. `DevicePtr` is the engine's own pointer type, which the
files only import: a 64-bit address whose `offset` adds bytes by the build's rules (DESIGN 4, A4).
"""

from __future__ import annotations

from collections.abc import Callable

from proofs.source import ir, texts
from proofs.source.executor import CHARACTER, Dialect, Executor, Mutated
from proofs.source.paths import Impossible, Panicked
from proofs.source.sorting import Comparison, ordered
from proofs.source.streams import (
    Chained,
    Enumerated,
    Filtered,
    Mapped,
    Reversed,
    Taken,
    TakenWhile,
    Windows,
    calls_back,
    left_over,
    over,
    zipped,
)
from proofs.source.terms import Cond, Term, add, both, eq, floor_div, le, lt, modulo, mul, negated, pick, sub
from proofs.source.values import (
    NOTHING,
    UNIT,
    Builtin,
    Case,
    Cell,
    Chars,
    Closure,
    FunctionValue,
    Int,
    IntType,
    Opt,
    Order,
    OsText,
    Rec,
    Reverse,
    Seq,
    Span,
    Stream,
    Truth,
    Tup,
    Value,
    listed,
    merged,
)
from spec.machine import Profile

USIZE = IntType(64)
INTEGERS = {f"{sign}{bits}": IntType(bits, sign == "i") for sign in "ui" for bits in (8, 16, 32, 64, 128)} | {
    "usize": USIZE,
    "isize": IntType(64, True),
    "char": CHARACTER,
}
POINTER = "DevicePtr"

_PATHS = {
    "std::cmp::Reverse": "Reverse",
    "std::cmp::Ordering": "Ordering",
    "std::cmp::max": "max",
    "std::cmp::min": "min",
    "std::cmp": "cmp",
    "cmp::Reverse": "Reverse",
    "cmp::Ordering": "Ordering",
    "cmp::max": "max",
    "cmp::min": "min",
    "std::iter::zip": "zip",
    "std::ffi::OsString": "OsString",
    "std::ffi::OsStr": "OsStr",
    "std::usize::MAX": "usize::MAX",
    "std::u32::MAX": "u32::MAX",
    "std::vec::Vec": "Vec",
    "std::option::Option": "Option",
}
_PRELUDE = frozenset(["Some", "None", "Ok", "Err", "Vec", "String", "Option", "Reverse", "max", "min", "zip", "drop"])
_TYPES = frozenset(["OsString", "OsStr", "String", "str", "Vec", "Option", "Result", "slice", "array", "tuple", "()"])


_ONCE = "std::iter::once"


class Rust(Dialect):
    """Rust with 64-bit pointers."""

    name = "rust"
    profiles = (Profile.DEBUG, Profile.RELEASE)

    def type_named(self, name: str) -> IntType | None:
        return INTEGERS.get(name)

    # Names

    def canonical(self, run: Executor, name: str) -> str:
        """The name without its path, if it is one of the standard library."""
        head, colons, rest = name.partition("::")
        if head in run.source.imported:
            name = run.source.imported[head] + colons + rest
        name = "std" + name[4:] if name.startswith("core::") else name
        for known, short in _PATHS.items():
            if name == known or name.startswith(known + "::"):
                return short + name[len(known) :]
        return name

    def lookup(self, run: Executor, name: str) -> Value:
        if name in run.source.imported and self.canonical(run, name) == run.source.imported[name]:
            raise run.fail(f"{name}, which comes from {run.source.imported[name]}")
        name = self.canonical(run, name)
        if name == "None":
            return NOTHING
        if name in ("Ordering::Less", "Ordering::Equal", "Ordering::Greater"):
            return Order({"Less": -1, "Equal": 0, "Greater": 1}[name[10:]])
        head, _, rest = name.partition("::")
        if head in INTEGERS:
            return self._of_integer(run, INTEGERS[head], rest)
        if head in _PRELUDE or name in ("std::mem::swap", _ONCE) or head in ("Ordering", "Option", "Vec"):
            return Builtin(name)
        raise run.fail(f"name {name}")

    def _of_integer(self, run: Executor, type_: IntType, name: str) -> Value:
        if type_.high is None or type_.low is None or type_.bits is None:
            raise run.fail(f"{type_}::{name}")
        if name == "MAX" and type_ is not CHARACTER:
            return Int(type_.high - 1, type_)
        if name == "MIN":
            return Int(type_.low, type_)
        if name == "BITS":
            return Int(type_.bits, INTEGERS["u32"])
        spelled = next(n for n, t in INTEGERS.items() if t == type_)
        return Builtin(f"{spelled}::{name}")

    def call(self, run: Executor, name: str, arguments: tuple[Value, ...], node: ir.Call) -> Value:
        if name == "std::mem::swap" or node.named:
            raise run.fail(f"function {name}")
        head, _, rest = name.partition("::")
        match name, arguments:
            case (("Some" | "Option::Some"), (value,)):
                return Opt(True, value)
            case "Ok", (value,):
                return Opt(True, value, Tup())
            case "Err", (value,):
                return Opt(False, None, value)
            case "Reverse", (value,):
                return Reverse(value)
            case (("max" | "min"), (left, right)):
                return self._extreme(run, name, left, right)
            case "zip", (left, right):
                return zipped(run.stream(left), run.stream(right), run.line)
            case _, (value,) if name == _ONCE:
                return over(listed((value,)))
            case "Vec::new", ():
                return listed(())
            case "Vec::with_capacity", (size,):
                run.as_size(run.integer(size))
                return listed(())
            case "Vec::from", (Seq() as seq,):
                return seq
        if head in INTEGERS and arguments:
            if rest == "from" and len(arguments) == 1:
                return self._widened(run, arguments[0], INTEGERS[head])
            if isinstance(arguments[0], Int):
                method = ir.Method(ir.Literal(None), rest, (), line=run.line)
                self._typed(run, arguments[0], INTEGERS[head])
                return self.method(run, arguments[0], rest, arguments[1:], method)
        raise run.fail(f"function {name}")

    def _typed(self, run: Executor, value: Int, type_: IntType) -> None:
        run.joined(value, Int(0, type_))

    def _widened(self, run: Executor, value: Value, type_: IntType) -> Value:
        if isinstance(value, Truth):
            return Int(pick(value.term, 1, 0), type_)
        number = run.integer(value)
        given = number.type
        if given is None or given.low is None or given.high is None or type_.low is None or type_.high is None:
            raise run.fail("a conversion of an open type")
        if given.low < type_.low or given.high > type_.high:
            raise run.fail(f"a conversion from {given} to {type_}")
        return Int(number.term, type_)

    # Types

    def converted(self, run: Executor, value: Value, type_: ir.Type) -> Value:
        name = type_.name
        if name in run.source.aliases:
            return self.converted(run, value, run.source.aliases[name])
        if name in run.source.shapes:
            if isinstance(value, (Rec, Case)) and value.type == name:
                return value
            raise run.fail(f"a value that is no {name}")
        if name in ("_", "&mut") or name.startswith(("?impl", "?dyn", "?fn")):
            return self.converted(run, value, type_.arguments[0]) if name == "&mut" else value
        short = self.canonical(run, name)
        if short in INTEGERS and isinstance(value, Int):
            run.joined(value, Int(0, INTEGERS[short]))
            return Int(value.term, INTEGERS[short])
        if short == "bool" and isinstance(value, Truth):
            return value
        if short == "()" and value == UNIT:
            return value
        if short == "tuple" and isinstance(value, Tup) and len(value.items) == len(type_.arguments):
            parts = zip(value.items, type_.arguments, strict=True)
            return Tup(tuple(self.converted(run, item, t) for item, t in parts))
        if short in ("Vec", "slice", "array") and isinstance(value, Seq) and len(type_.arguments) == 1:
            if value.items is None:
                return value
            return listed(tuple(self.converted(run, item, type_.arguments[0]) for item in value.items))
        if short == "Option" and isinstance(value, Opt) and value.error is None and len(type_.arguments) == 1:
            inner = None if value.value is None else self.converted(run, value.value, type_.arguments[0])
            return Opt(value.present, inner)
        if short == "Result" and isinstance(value, Opt):
            if value.value is not None and type_.arguments:
                inner = self.converted(run, value.value, type_.arguments[0])
                return Opt(value.present, inner, value.error or UNIT)
            return value
        if short == "Reverse" and isinstance(value, Reverse) and len(type_.arguments) == 1:
            return Reverse(self.converted(run, value.value, type_.arguments[0]))
        if short in ("Ordering",) and isinstance(value, Order):
            return value
        if short in ("String", "str") and isinstance(value, Chars):
            return value
        if short in ("OsString", "OsStr") and isinstance(value, OsText):
            return value
        if isinstance(value, (Closure, FunctionValue)) and name.startswith("?"):
            return value
        if isinstance(value, Rec) and value.type == name and name not in _TYPES:
            return value
        raise run.fail(f"type {type_}")

    def cast(self, run: Executor, value: Value, type_: ir.Type) -> Value:
        name = run.source.aliases[type_.name].name if type_.name in run.source.aliases else type_.name
        target = INTEGERS.get(name)
        if target is None or target is CHARACTER:
            raise run.fail(f"a cast to {type_}")
        if isinstance(value, Truth):
            return Int(pick(value.term, 1, 0), target)
        number = run.integer(value)
        if number.type is None:
            if not isinstance(number.term, int) or not 0 <= number.term < 2**31:
                raise run.fail("a cast of a number whose type is open")
            return Int(run.wrapped(number.term, target), target)
        given, low, high = number.type, target.low, target.high
        if given.low is None or given.high is None or low is None or high is None:
            raise run.fail("a cast")
        if low <= given.low and given.high <= high:
            return Int(number.term, target)
        return Int(run.wrapped(number.term, target), target)

    def divided(self, run: Executor, operator: str, left: Int, right: Int) -> Term:
        of = left.type or right.type
        if (of is not None and of.signed) or not isinstance(right.term, int):
            raise run.fail("a division by an unknown, or of signed numbers")
        return floor_div(left.term, right.term) if operator == "/" else modulo(left.term, right.term)

    def field(self, run: Executor, value: Value, name: str) -> Value:
        raise run.fail(f"field {name}")

    # Methods

    def method(self, run: Executor, receiver: Value, name: str, arguments: tuple[Value, ...], node: ir.Method) -> Value:
        if name in _SAME and not arguments and not isinstance(receiver, (Rec, Case)):
            return receiver
        table: dict[type, Callable[..., Value | None]] = {
            Int: self._int_method,
            Truth: self._bool_method,
            Opt: self._option_method,
            Order: self._ordering_method,
            Seq: self._seq_method,
            Stream: self._stream_method,
            Chars: self._text_method,
            OsText: self._os_method,
            Rec: self._struct_method,
            Span: self._span_method,
        }
        found = table.get(type(receiver))
        result = None if found is None else found(run, receiver, name, arguments, node)
        if result is None:
            result = self._any_method(run, receiver, name, arguments)
        if result is None:
            raise run.fail(f"method {name} of {type(receiver).__name__}")
        return result

    def _any_method(self, run: Executor, receiver: Value, name: str, arguments: tuple[Value, ...]) -> Value | None:
        if len(arguments) == 1 and not isinstance(receiver, (Stream, Closure)):
            (other,) = arguments
            match name:
                case "cmp":
                    return run.compared(receiver, other)
                case "partial_cmp":
                    return Opt(True, run.compared(receiver, other))
                case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
                    operators = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
                    return run.operate(operators[name], receiver, other)
                case "max" | "min":
                    return self._extreme(run, name, receiver, other)
        return None

    def _extreme(self, run: Executor, name: str, left: Value, right: Value) -> Value:
        first = run.less(right, left) if name == "max" else negated(run.less(right, left))
        return merged(first, left, right)

    def _struct_method(
        self, run: Executor, receiver: Rec, name: str, arguments: tuple[Value, ...], node: ir.Method
    ) -> Value | None:
        if receiver.type == POINTER and POINTER not in run.source.shapes:
            address = run.integer(receiver.fields["0"])
            if name == "offset" and len(arguments) == 1:
                run.notes.add("DevicePtr::offset adds bytes to the address by the build's rules")
                offset = run.integer(arguments[0])
                self._typed(run, offset, USIZE)
                return Rec(POINTER, {"0": run.fitted(add(address.term, offset.term), address.of)})
        if name in ("clone", "to_owned") and not arguments and receiver.type in run.source.shapes:
            return receiver
        return None

    def _int_method(self, run: Executor, receiver: Int, name: str, arguments: tuple[Value, ...], node: ir.Method) -> Value | None:
        if receiver.type is CHARACTER:
            return texts.character_method(run, receiver, name, arguments)
        kind, _, operator = name.partition("_")
        if kind in ("checked", "saturating", "wrapping", "overflowing") and len(arguments) == 1:
            other = run.integer(arguments[0])
            if operator not in ("add", "sub", "mul"):
                return None
            of = run.joined(receiver, other)
            type_ = of.type if isinstance(of, Cell) else of
            if type_ is None or type_.low is None or type_.high is None:
                raise run.fail(f"{name} of an open type")
            ideal = {"add": add, "sub": sub, "mul": mul}[operator](receiver.term, other.term)
            fits = both(le(type_.low, ideal), lt(ideal, type_.high))
            match kind:
                case "checked":
                    return Opt(fits, Int(ideal, of))
                case "saturating":
                    return Int(pick(lt(ideal, type_.low), type_.low, pick(fits, ideal, type_.high - 1)), of)
                case "wrapping":
                    return Int(self._wrapped_once(run, ideal, type_, operator, fits), of)
                case "overflowing":
                    wrapped = Int(self._wrapped_once(run, ideal, type_, operator, fits), of)
                    return Tup((wrapped, Truth(negated(fits))))
        match name, arguments:
            case "abs_diff", (Int() as other,):
                of = run.joined(receiver, other)
                if receiver.type is None or receiver.type.signed:
                    raise run.fail("abs_diff of an open or signed type")
                a, b = receiver.term, other.term
                return Int(pick(lt(a, b), sub(b, a), sub(a, b)), of)
            case "clamp", (Int() as low, Int() as high):
                run.joined(receiver, low)
                of = run.joined(receiver, high)
                if not run.decide(le(low.term, high.term)):
                    raise Panicked("clamp with its ends exchanged", run.line)
                above = pick(lt(high.term, receiver.term), high.term, receiver.term)
                return Int(pick(lt(receiver.term, low.term), low.term, above), of)
            case "into", ():
                raise run.fail("into() to a type of its context")
            case "div_ceil", (Int() as divisor,) if isinstance(divisor.term, int) and divisor.term > 0:
                of = run.joined(receiver, divisor)
                return Int(floor_div(add(receiver.term, divisor.term - 1), divisor.term), of)
            case "is_power_of_two" | "count_ones" | "pow" | "leading_zeros" | "rotate_left", _:
                return None
        return None

    def _wrapped_once(self, run: Executor, ideal: Term, type_: IntType, operator: str, fits: object) -> Term:
        if operator == "mul" or type_.signed or type_.bits is None:
            return run.wrapped(ideal, type_)
        size = 2**type_.bits
        if operator == "add":
            return pick(lt(ideal, size), ideal, sub(ideal, size))
        return pick(lt(ideal, 0), add(ideal, size), ideal)

    def _bool_method(
        self, run: Executor, receiver: Truth, name: str, arguments: tuple[Value, ...], node: ir.Method
    ) -> Value | None:
        match name, arguments:
            case "then", (function,):
                return Opt(True, run.apply(function, ())) if run.decide(receiver.term) else NOTHING
            case "then_some", (value,):
                return Opt(receiver.term, value)
        return None

    def _ordering_method(
        self, run: Executor, receiver: Order, name: str, arguments: tuple[Value, ...], node: ir.Method
    ) -> Value | None:
        t = receiver.term
        match name, arguments:
            case "reverse", ():
                return Order(sub(0, t))
            case "then", (Order(term=other),):
                return Order(pick(eq(t, 0), other, t))
            case "then_with", (function,):
                other_value = run.pure(lambda: run.apply(function, ()) if run.decide(eq(t, 0)) else receiver)
                if not isinstance(other_value, Order):
                    raise run.fail("then_with")
                return other_value
            case "is_lt", ():
                return Truth(lt(t, 0))
            case "is_gt", ():
                return Truth(lt(0, t))
            case "is_le", ():
                return Truth(le(t, 0))
            case "is_ge", ():
                return Truth(le(0, t))
            case "is_eq", ():
                return Truth(eq(t, 0))
            case "is_ne", ():
                return Truth(negated(eq(t, 0)))
        return None

    def _option_method(
        self, run: Executor, receiver: Opt, name: str, arguments: tuple[Value, ...], node: ir.Method
    ) -> Value | None:
        result = receiver.error is not None
        match name, arguments:
            case (("is_some" | "is_ok"), ()):
                return Truth(receiver.present)
            case (("is_none" | "is_err"), ()):
                return Truth(negated(receiver.present))
            case "ok", () if result:
                return Opt(receiver.present, receiver.value)
            case (("as_deref" | "cloned" | "copied" | "as_mut"), ()) if not result:
                return receiver if name != "as_mut" else None
            case "ok_or", (failure,) if not result:
                return Opt(receiver.present, receiver.value, failure)
            case "flatten", () if not result:
                return self._inside(run, receiver) if run.decide(receiver.present) else NOTHING
        if name not in _OPTION_METHODS:
            return None
        if name == "unwrap_or" and receiver.value is not None:
            value = receiver.value
            if isinstance(value, Int) and isinstance(arguments[0], Int):
                run.joined(value, arguments[0])
        if not run.decide(receiver.present):
            error: tuple[Value, ...] = (receiver.error,) if result and receiver.error is not None else ()
            match name, arguments:
                case (("unwrap" | "expect"), _):
                    raise Panicked("unwrap of nothing", run.line)
                case "unwrap_or", (default,):
                    return default
                case (("unwrap_or_else" | "or_else"), (function,)):
                    return run.apply(function, error)
                case "map_or", (default, _):
                    return default
                case "map_or_else", (function, _):
                    return run.apply(function, error)
                case "or", (other,):
                    return other
                case "ok_or_else", (function,):
                    return Opt(False, None, run.apply(function, ()))
                case (("is_some_and" | "is_ok_and"), _):
                    return Truth(False)
                case "is_none_or", _:
                    return Truth(True)
                case "unwrap_or_default", ():
                    raise run.fail("unwrap_or_default")
            return Opt(False, None, receiver.error)
        value = self._inside(run, receiver)
        match name, arguments:
            case (("unwrap" | "unwrap_or" | "unwrap_or_else" | "expect" | "unwrap_or_default"), _):
                return value
            case "map", (function,):
                return Opt(True, run.apply(function, (value,)), receiver.error)
            case "and_then", (function,):
                return run.option(run.apply(function, (value,)))
            case "and", (other,):
                return other
            case "filter", (function,):
                kept = run.decide(run.truth(run.apply(function, (value,))))
                return receiver if kept else NOTHING
            case (("map_or" | "map_or_else"), (_, function)):
                return run.apply(function, (value,))
            case (("or" | "or_else"), _):
                return receiver
            case (("is_some_and" | "is_ok_and" | "is_none_or"), (function,)):
                return run.apply(function, (value,))
            case "ok_or_else", _:
                return Opt(True, value, UNIT)
            case "zip", (Opt() as other,):
                if not run.decide(other.present):
                    return NOTHING
                return Opt(True, Tup((value, self._inside(run, other))))
        return None

    def _inside(self, run: Executor, option: Opt) -> Value:
        if option.value is None:
            raise Impossible
        return option.value

    def _span_method(self, run: Executor, receiver: Span, name: str, arguments: tuple[Value, ...], node: ir.Method) -> Value | None:
        if name == "contains" and len(arguments) == 1 and receiver.low is not None and receiver.high is not None:
            number = run.integer(arguments[0])
            run.joined(receiver.low, number)
            run.joined(receiver.high, number)
            ends = le if receiver.inclusive else lt
            return Truth(both(le(receiver.low.term, number.term), ends(number.term, receiver.high.term)))
        if name == "is_empty" and receiver.low is not None and receiver.high is not None and not receiver.inclusive:
            return Truth(negated(lt(receiver.low.term, receiver.high.term)))
        if name == "next":
            return None
        return self._stream_method(run, run.span_stream(receiver), name, arguments, node)

    # Sequences

    def _seq_method(self, run: Executor, receiver: Seq, name: str, arguments: tuple[Value, ...], node: ir.Method) -> Value | None:
        match name, arguments:
            case "len", ():
                return Int(receiver.length, USIZE)
            case "is_empty", ():
                return Truth(eq(receiver.length, 0))
            case (("iter" | "into_iter"), ()):
                return over(receiver)
            case (("to_vec" | "as_slice" | "into_boxed_slice" | "to_owned" | "into_vec"), ()):
                return receiver
            case (("first" | "last"), ()):
                if not run.decide(lt(0, receiver.length)):
                    return NOTHING
                at: Term = 0 if name == "first" else sub(receiver.length, 1)
                return Opt(True, run.element(receiver, at))
            case "get", (Int() as index,):
                run.as_size(index)
                if not run.decide(lt(index.term, receiver.length)):
                    return NOTHING
                return Opt(True, run.element(receiver, index.term))
            case "get", (Span() as span,) if not span.inclusive:
                low: Term = 0 if span.low is None else span.low.term
                high: Term = receiver.length if span.high is None else span.high.term
                if not run.decide(both(le(low, high), le(high, receiver.length))):
                    return NOTHING
                return Opt(True, run.part(receiver, low, high))
            case "push", (item,):
                return Mutated(run.appended(receiver, item))
            case (("extend" | "extend_from_slice"), (more,)):
                return Mutated(self._extended(run, receiver, more))
            case "reserve", (Int(),):
                return Mutated(receiver)
            case "pop", () if receiver.items is not None:
                if not receiver.items:
                    return NOTHING
                return Mutated(listed(receiver.items[:-1]), Opt(True, receiver.items[-1]))
            case "clear", ():
                return Mutated(listed(()))
            case "truncate", (Int() as size,):
                run.as_size(size)
                if run.decide(lt(size.term, receiver.length)):
                    return Mutated(run.part(receiver, 0, size.term))
                return Mutated(receiver)
            case "reverse", ():
                backwards = Stream(Reversed(over(receiver).source), (0, 0))
                return Mutated(run.collected(backwards))
            case "swap", (Int() as a, Int() as b) if receiver.items is not None:
                i, j = run.checked_index(receiver, a), run.checked_index(receiver, b)
                x, y = run.element(receiver, i), run.element(receiver, j)
                swapped = [merged(eq(i, p), y, merged(eq(j, p), x, item)) for p, item in enumerate(receiver.items)]
                return Mutated(listed(tuple(swapped)))
            case "insert", (Int() as a, item) if receiver.items is not None:
                run.as_size(a)
                for position in range(len(receiver.items) + 1):
                    if run.decide(eq(a.term, position)):
                        return Mutated(listed((*receiver.items[:position], item, *receiver.items[position:])))
                raise Panicked("an insertion out of range", run.line)
            case "remove", (Int() as a,) if receiver.items is not None:
                at_index = run.checked_index(receiver, a)
                for position in range(len(receiver.items)):
                    if run.decide(eq(at_index, position)):
                        rest = (*receiver.items[:position], *receiver.items[position + 1 :])
                        return Mutated(listed(rest), receiver.items[position])
                raise Impossible
            case "windows", (Int(term=int() as size),):
                return Stream(Windows(receiver, size), 0)
            case "contains", (item,):

                def same(found: Value, element: Value) -> tuple[Value, bool]:
                    return (Truth(True), False) if run.decide(run.equal(element, item)) else (found, True)

                return run.consume(over(receiver), Truth(False), same)
            case "concat", () if receiver.items is not None and all(isinstance(i, Seq) for i in receiver.items):
                joined: Seq = listed(())
                for part in receiver.items:
                    joined = self._extended(run, joined, part)
                return joined
        if name.startswith("sort"):
            return self._sorted(run, receiver, name, arguments)
        if name == "is_sorted":
            return None
        return None

    def _extended(self, run: Executor, seq: Seq, more: Value) -> Seq:
        if isinstance(more, Opt):
            return run.appended(seq, self._inside(run, more)) if run.decide(more.present) else seq
        if isinstance(more, Seq) and more.items is None:
            if seq.items == ():
                return more
            raise run.fail("a sequence of any length appended")
        stream = run.stream(more)
        if run.unbounded and seq.items == () and stream.source.indexed and not isinstance(left_over(stream), int):
            return run.collected(stream)
        for item in run.pulled(stream):
            seq = run.appended(seq, item)
        return seq

    def _sorted(self, run: Executor, receiver: Seq, name: str, arguments: tuple[Value, ...]) -> Value | None:
        stable = "unstable" not in name
        kind = name.replace("_unstable", "")
        if kind == "sort" and not arguments:
            return Mutated(ordered(run, receiver, natural(run), stable=stable))
        if kind in ("sort_by_key", "sort_by_cached_key") and len(arguments) == 1:
            return Mutated(ordered(run, receiver, by_key(run, arguments[0]), stable=stable))
        if kind == "sort_by" and len(arguments) == 1:
            (function,) = arguments

            def compare(a: Value, b: Value) -> tuple[Cond, Cond]:
                answer = run.pure(lambda: run.apply(function, (a, b)))
                if not isinstance(answer, Order):
                    raise run.fail("a comparison")
                return lt(answer.term, 0), eq(answer.term, 0)

            return Mutated(ordered(run, receiver, compare, stable=stable))
        return None

    # Streams

    def _stream_method(
        self, run: Executor, receiver: Stream, name: str, arguments: tuple[Value, ...], node: ir.Method
    ) -> Value | None:
        source, state = receiver.source, receiver.state
        match name, arguments:
            case (("iter" | "into_iter" | "copied" | "cloned" | "by_ref" | "fuse"), ()):
                return receiver if name != "by_ref" else None
            case "zip", (other,):
                return zipped(receiver, run.stream(other), run.line)
            case "enumerate", ():
                return Stream(Enumerated(source, USIZE), (0, state))
            case "map", (function,):
                return Stream(Mapped(source, function), state)
            case "rev", () if source.indexed:
                return Stream(Reversed(source), (state, 0))
            case "take", (Int() as size,) if source.indexed:
                run.as_size(size)
                return Stream(Taken(source), (state, size.term))
            case "skip", (Int() as size,) if source.indexed and not calls_back(source):
                run.as_size(size)
                left = source.remaining(state)
                return Stream(source, source.advance(state, pick(lt(size.term, left), size.term, left)))
            case "take_while", (predicate,):
                return Stream(TakenWhile(source, predicate), (False, state))
            case "filter", (predicate,):
                return Stream(Filtered(source, predicate), state)
            case "filter_map", (function,):
                return Stream(Filtered(source, function, True), state)
            case "flat_map", (function,) if not run.unbounded:
                made = [run.pulled(run.stream(run.apply(function, (v,)))) for v in run.pulled(receiver)]
                return over(listed(tuple(item for part in made for item in part)))
            case "flat_map", (function,) if source.indexed:
                return self._flattened(run, receiver, function)
            case "flatten", () if not run.unbounded:
                flat = [run.pulled(run.stream(v)) for v in run.pulled(receiver)]
                return over(listed(tuple(item for part in flat for item in part)))
            case "chain", (other,):
                after = run.stream(other)
                return self._chained(run, receiver, after)
            case "collect", ():
                if node.types and node.types[0].name not in ("Vec", "_"):
                    raise run.fail(f"collect to {node.types[0]}")
                return run.collected(receiver)
            case "len", () if source.indexed:
                return Int(source.remaining(state), USIZE)
            case "next", ():
                value, after_state = source.pull(run, state)
                return Mutated(Stream(source, after_state), NOTHING if value is None else Opt(True, value))
            case "last", () if not run.unbounded:
                items = run.pulled(receiver)
                return Opt(True, items[-1]) if items else NOTHING
            case "nth", (Int(term=int() as n),) if not run.unbounded:
                for _ in range(n):
                    value, state = source.pull(run, state)
                    if value is None:
                        return Mutated(Stream(source, state), NOTHING)
                value, state = source.pull(run, state)
                return Mutated(Stream(source, state), NOTHING if value is None else Opt(True, value))
        return self._consumed(run, receiver, name, arguments)

    def _chained(self, run: Executor, first: Stream, second: Stream) -> Stream:
        if run.unbounded and first.source.indexed and not isinstance(left_over(first), int):
            whole = self._extended(run, run.collected(first), second) if _short(second) else None
            if whole is not None:
                return over(whole)
        return Stream(Chained(first.source, second.source), (False, first.state, second.state))

    def _flattened(self, run: Executor, receiver: Stream, function: Value) -> Stream:
        """Each element becomes as many: a sequence of chunks."""
        made = run.collected(Stream(Mapped(receiver.source, function), receiver.state))
        return over(run.chunks(made))

    def _consumed(self, run: Executor, receiver: Stream, name: str, arguments: tuple[Value, ...]) -> Value | None:
        source = receiver.source
        match name, arguments:
            case "count", ():
                if source.indexed and not calls_back(source):
                    return Int(left_over(receiver), USIZE)
                return run.consume(receiver, Int(0, USIZE), lambda n, _: (self._more(run, n), True))
            case "position", (predicate,):

                def seek(found: Value, item: Value) -> tuple[Value, bool]:
                    at = run.integer(found.items[0]) if isinstance(found, Tup) else Int(0, USIZE)
                    if run.decide(run.truth(run.apply(predicate, (item,)))):
                        return Tup((at, Truth(True))), False
                    return Tup((self._more(run, at), Truth(False))), True

                end = run.consume(receiver, Tup((Int(0, USIZE), Truth(False))), seek)
                if isinstance(end, Tup) and isinstance(end.items[1], Truth):
                    return Opt(end.items[1].term, end.items[0])
            case "rposition", (predicate,) if source.indexed and not calls_back(source):
                items = run.pulled(receiver)
                for at in reversed(range(len(items))):
                    if run.decide(run.truth(run.apply(predicate, (items[at],)))):
                        return Opt(True, Int(at, USIZE))
                return Opt(False, Int(0, USIZE))
            case (("any" | "all"), (predicate,)):
                wanted = name == "any"

                def ask(found: Value, item: Value) -> tuple[Value, bool]:
                    answer = run.decide(run.truth(run.apply(predicate, (item,))))
                    return (Truth(wanted), False) if answer == wanted else (found, True)

                return run.consume(receiver, Truth(not wanted), ask)
            case "find", (predicate,):

                def look(found: Value, item: Value) -> tuple[Value, bool]:
                    if run.decide(run.truth(run.apply(predicate, (item,)))):
                        return Opt(True, item), False
                    return found, True

                return run.consume(receiver, NOTHING, look)
            case "fold", (start, function):
                return run.consume(receiver, start, lambda so_far, v: (run.apply(function, (so_far, v)), True))
            case "for_each", _:
                return None
            case "sum", () if not run.unbounded:
                total: Value = Int(0, Cell())
                for item in run.pulled(receiver):
                    total = run.operate("+", total, item)
                return total
            case (("max" | "min"), ()) if not run.unbounded:
                items = run.pulled(receiver)
                if not items:
                    return NOTHING
                best = items[0]
                for item in items[1:]:
                    # Of equal elements max gives the last and min the first, which only structs can tell apart.
                    best = self._extreme(run, name, best, item)
                return Opt(True, best)
        return None

    def _more(self, run: Executor, value: Value) -> Int:
        number = run.integer(value)
        return run.fitted(add(number.term, 1), number.of)

    # Text

    def _os_method(self, run: Executor, receiver: OsText, name: str, arguments: tuple[Value, ...], node: ir.Method) -> Value | None:
        match name, arguments:
            case "into_string", ():
                return Opt(receiver.utf8, receiver.text, UNIT)
            case "to_str", ():
                return Opt(receiver.utf8, receiver.text)
        return None

    def _text_method(
        self, run: Executor, receiver: Chars, name: str, arguments: tuple[Value, ...], node: ir.Method
    ) -> Value | None:
        return texts.rust_method(run, receiver, name, arguments, node.types)


def natural(run: Executor) -> Comparison:
    """Elements compared as they are."""
    return lambda a, b: (run.less(a, b), run.equal(a, b))


def by_key(run: Executor, function: Value) -> Comparison:
    """Elements compared by what a function makes of them."""

    def compare(a: Value, b: Value) -> tuple[Cond, Cond]:
        left = run.pure(lambda: run.apply(function, (a,)))
        right = run.pure(lambda: run.apply(function, (b,)))
        return run.less(left, right), run.equal(left, right)

    return compare


def _short(stream: Stream) -> bool:
    return stream.source.indexed and isinstance(left_over(stream), int)


_SAME = frozenset(
    [
        "clone",
        "as_ref",
        "borrow",
        "as_slice",
        "as_str",
        "to_string",
        "as_deref",
        "deref",
        "as_os_str",
        "to_owned",
        "copied",
        "cloned",
    ]
)
"""Methods that give what they are called on, as far as values are concerned."""

_OPTION_METHODS = frozenset(
    [
        "unwrap",
        "expect",
        "unwrap_or",
        "unwrap_or_else",
        "map_or",
        "map_or_else",
        "or",
        "or_else",
        "ok_or_else",
        "is_some_and",
        "is_ok_and",
        "is_none_or",
        "map",
        "and_then",
        "and",
        "filter",
        "zip",
        "unwrap_or_default",
    ]
)
