"""What CUDA C++'s types and operators mean: integer promotion, usual conversions, wrapping and meaningless arithmetic; and how
a kernel or device function tells a rule: its arguments as words in order, its results through references, arrays or a status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import z3

from proofs.source import ir
from proofs.source.bridge import Mismatch, Shapes
from proofs.source.executor import Dialect, Executor, Lane, Memory, Offsets, Pointer, Row, Scope, Unset
from proofs.source.paths import NotUnderstood, Panicked, Path
from proofs.source.terms import Cond, Term, add, eq, floor_div, lt, modulo, mul, negated, pick, spread
from proofs.source.values import (
    NOTHING,
    UNIT,
    Builtin,
    Int,
    IntType,
    Opt,
    Rec,
    Truth,
    Tup,
    Unmergeable,
    Value,
    listed,
    merged,
)
from spec import carry, sorts
from spec.machine import Profile
from spec.rules import Rule
from spec.sorts import Fallible, Sort

INT = IntType(32, True)
_NAMES = {
    "int": INT,
    "unsigned": IntType(32, False, True),
    "unsigned int": IntType(32, False, True),
    "unsigned char": IntType(8, False, True),
    "unsigned short": IntType(16, False, True),
    "unsigned long long": IntType(64, False, True),
    "unsigned long long int": IntType(64, False, True),
    "long long": IntType(64, True),
    "size_t": IntType(64, False, True),
    "i32": INT,
    "i64": IntType(64, True),
    "u32": IntType(32, False, True),
    "u64": IntType(64, False, True),
} | {f"{'' if sign else 'u'}int{bits}_t": IntType(bits, sign, not sign) for bits in (8, 16, 32, 64) for sign in (True, False)}


class _TypeValue(Value):
    """What a type parameter stands for."""

    def __init__(self, type_: IntType) -> None:
        self.type = type_


class Cuda(Dialect):
    """CUDA C++ for devices."""

    name = "cuda"
    profiles = (Profile.RELEASE,)

    def type_named(self, name: str) -> IntType | None:
        return _NAMES.get("u64" if name == "usize" else name)

    def literal_type(self, name: str | None) -> IntType:
        return _NAMES[name or "int"]

    def lookup(self, run: Executor, name: str) -> Value:
        if name in ("#meet", "__umul64hi", "min", "max"):
            return Builtin(name)
        if name == "#lane":
            return Lane()
        raise run.fail(f"name {name}")

    def call(self, run: Executor, name: str, arguments: tuple[Value, ...], node: ir.Call) -> Value:
        match name, arguments:
            case "#meet", (condition, left, right):
                if isinstance(left, Int) or isinstance(right, Int):
                    left, right = self.meet(run, left, right)
                try:
                    return merged(self.truth(run, condition), left, right)
                except Unmergeable as unmergeable:
                    raise run.fail(f"sides of different form ({unmergeable})") from unmergeable
            case "__umul64hi", (Int() as a, Int() as b):
                word = _NAMES["u64"]
                x, y = self._number(run, a, word), self._number(run, b, word)
                return Int(floor_div(mul(x, y), 2**64), word)
            case (("min" | "max"), (Int() as a, Int() as b)) if a.type == b.type:
                less = lt(b.term, a.term) if name == "min" else lt(a.term, b.term)
                return Int(pick(less, b.term, a.term), a.of)
        raise run.fail(f"function {name}")

    # Types

    def resolved(self, run: Executor, type_: ir.Type) -> IntType | None:
        """The integer type that a name stands for."""
        name = type_.name
        seen = 0
        while name in run.source.aliases and seen < 8:
            name, seen = run.source.aliases[name].name, seen + 1
        bound = run.variable(f"type {name}")
        return bound.type if isinstance(bound, _TypeValue) else _NAMES.get(name)

    def converted(self, run: Executor, value: Value, type_: ir.Type) -> Value:
        name = type_.name
        if name == "&mut":
            number = self.resolved(run, type_.arguments[0])
            if isinstance(value, Int) and value.type != number:
                raise run.fail("a reference to another type")
            return value
        if name in ("in", "out"):
            return value
        if isinstance(value, Lane):
            return value
        if name == "void":
            return UNIT
        if name == "bool":
            return Truth(self.truth(run, value))
        number = self.resolved(run, type_)
        if number is not None:
            return Int(self._number(run, value, number), number)
        if name in run.source.shapes:
            return self._structure(run, value, type_)
        raise run.fail(f"type {type_}")

    def cast(self, run: Executor, value: Value, type_: ir.Type) -> Value:
        return self.converted(run, value, type_)

    def _number(self, run: Executor, value: Value, type_: IntType) -> Term:
        if isinstance(value, Truth):
            return pick(value.term, 1, 0)
        if isinstance(value, Tup) and len(value.items) == 1:
            return self._number(run, value.items[0], type_)
        number = run.integer(value)
        given = number.type
        if given is None or given.low is None or given.high is None or type_.low is None or type_.high is None:
            raise run.fail("a conversion")
        if type_.low <= given.low and given.high <= type_.high:
            return number.term
        if isinstance(number.term, int):
            return run.wrapped(number.term, type_)
        known = spread(number.term)
        if known is not None and type_.low <= known[0] and known[1] < type_.high:
            return number.term
        # Told apart where it fits, so that what fits stays a plain term.
        inside = z3.And(type_.low <= number.term, number.term < type_.high)
        return number.term if run.decide(inside) else run.wrapped(number.term, type_)

    def _structure(self, run: Executor, value: Value, type_: ir.Type) -> Value:
        shape = run.source.shapes[type_.name]
        if isinstance(value, Rec) and value.type == type_.name:
            return value
        if not isinstance(value, Tup) or len(value.items) != len(shape.fields):
            raise run.fail(f"a value that is no {type_}")
        if shape.objection is not None:
            raise run.fail(f"{shape.name}: {shape.objection}")
        fields = {}
        for (field, declared), item in zip(shape.fields, value.items, strict=True):
            fields[field] = self.converted(run, item, self._member(run, declared, type_))
        return Rec(type_.name, fields)

    def _member(self, run: Executor, declared: ir.Type | None, whole: ir.Type) -> ir.Type:
        """A member's type; a struct template's own parameter stands for what it is given."""
        if declared is None:
            raise run.fail("a member without a type")
        if whole.arguments and self.resolved(run, declared) is None and declared.name not in (*run.source.shapes, "bool"):
            return whole.arguments[0]
        return whole.arguments[0] if whole.arguments and run.variable(f"type {declared.name}") else declared

    def uninitialised(self, run: Executor, type_: ir.Type | None) -> Value:
        if type_ is not None and type_.name in run.source.shapes:
            shape = run.source.shapes[type_.name]
            return Rec(type_.name, {field: Unset(self._member(run, t, type_)) for field, t in shape.fields})
        return Unset(type_)

    def kept(self, run: Executor, old: Value | None, new: Value) -> Value:
        match old:
            case Int() if old.type is not None:
                return Int(self._number(run, new, old.type), old.type)
            case Truth():
                return Truth(self.truth(run, new))
            case Unset() if old.type is not None:
                return self.converted(run, new, old.type)
            case Rec() if isinstance(new, Tup) and len(new.items) == len(old.fields):
                pairs = zip(old.fields.items(), new.items, strict=True)
                return Rec(old.type, {name: self.kept(run, was, item) for (name, was), item in pairs})
            case Rec() if isinstance(new, Rec) and new.type == old.type:
                return new
            case Row():
                return new
        raise run.fail("an assignment")

    def generics(self, run: Executor, function: ir.Function, arguments: tuple[Value, ...], types: tuple[ir.Type, ...]) -> Scope:
        found: dict[str, IntType] = {}
        for name, type_ in zip(function.generics, types, strict=False):
            number = self.resolved(run, type_)
            if number is None:
                raise run.fail(f"template argument {type_}")
            found[name] = number
        for (_, declared), value in zip(function.parameters, arguments, strict=False):
            for name in function.generics:
                for number in _found(declared, value, name):
                    if len(types) <= function.generics.index(name) and found.setdefault(name, number) != number:
                        raise run.fail(f"template argument {name}, which would be of two types")
        if len(found) != len(function.generics):
            raise run.fail("a template argument that is not told by the arguments")
        return {f"type {name}": _TypeValue(number) for name, number in found.items()}

    # Operators

    def binary(self, run: Executor, operator: str, left: Value, right: Value) -> Value | None:
        if operator == "+" and isinstance(left, Pointer) and isinstance(right, Int):
            return Pointer(left.memory, add(left.offset, right.term))
        return None

    def truth(self, run: Executor, value: Value) -> Cond:
        if isinstance(value, Truth):
            return value.term
        if isinstance(value, Int):
            return negated(eq(value.term, 0))
        raise run.fail(f"the truth of a {type(value).__name__}")

    def meet(self, run: Executor, left: Value, right: Value) -> tuple[Value, Value]:
        if isinstance(left, Truth) and isinstance(right, Truth):
            return left, right
        a, b = self._promoted(run, left), self._promoted(run, right)
        if a.type is None or b.type is None or a.type.bits is None or b.type.bits is None:
            raise run.fail("operands")
        if a.type == b.type:
            return a, b
        if a.type.signed == b.type.signed:
            common = a.type if a.type.bits > b.type.bits else b.type
        else:
            signed, unsigned = (a.type, b.type) if a.type.signed else (b.type, a.type)
            common = signed if (signed.bits or 0) > (unsigned.bits or 0) else unsigned
        return Int(self._number(run, a, common), common), Int(self._number(run, b, common), common)

    def promoted(self, run: Executor, value: Value) -> Value:
        return self._promoted(run, value) if isinstance(value, Int | Truth) else value

    def _promoted(self, run: Executor, value: Value) -> Int:
        if isinstance(value, Truth):
            return Int(pick(value.term, 1, 0), INT)
        number = run.integer(value)
        if number.type is not None and number.type.bits is not None and number.type.bits < 32:
            return Int(number.term, INT)
        return number

    def divided(self, run: Executor, operator: str, left: Int, right: Int) -> Term:
        if left.type is None or left.type.signed or not isinstance(right.term, int):
            raise run.fail("a division by an unknown, or of signed numbers")
        return floor_div(left.term, right.term) if operator == "/" else modulo(left.term, right.term)


def _found(declared: ir.Type | None, value: Value, name: str) -> list[IntType]:
    if declared is None:
        return []
    if declared.name in ("in", "out") and isinstance(value, Pointer):
        known = _NAMES.get(value.memory.type.name)
        return [known] if known is not None and declared.arguments[0].name == name else []
    if declared.name == "&mut":
        return _found(declared.arguments[0], value, name)
    if declared.name == name and isinstance(value, Int) and value.type is not None:
        return [value.type]
    if isinstance(value, Rec) and any(a.name == name for a in declared.arguments):
        numbers = [f.type for f in value.fields.values() if isinstance(f, Int) and f.type is not None]
        return numbers[:1]
    return []


def _common(left: sorts.Seq, right: sorts.Seq) -> z3.ArithRef:
    """The length of the common prefix: the spec's number, or what it is for constants."""
    if not (z3.is_int_value(left.length) and z3.is_int_value(right.length)):
        return carry.common_length(left, right)
    shorter = min(int(left.length.as_long()), int(right.length.as_long()))
    agree = [z3.simplify(left.at(i) == right.at(i)) for i in range(shorter)]
    if not all(z3.is_true(a) or z3.is_false(a) for a in agree):
        return carry.common_length(left, right)
    return z3.IntVal(next((i for i, a in enumerate(agree) if z3.is_false(a)), shorter))


INPUTS: Mapping[str, tuple[str, ...]] = {
    "session_matches": ("self.session_hash", "session_hash"),
    "usable_by": (
        "self.rows",
        "self.last_pair_key.value",
        "self.last_pair_key.present",
        "self.session_hash",
        "#common",
        "session_hash",
    ),
    "plan_append": ("last_pair_key", "prompt_len", "hidden_lo", "hidden_hi"),
    "hidden_row_offset": ("base", "pos", "hidden_size"),
    "visible_to": ("self.owner", "self.lo", "self.hi", "reader_gen"),
    "merge_interval": ("cur.lo", "cur.hi", "start", "count"),
    "stamped_merge": ("cur.owner", "cur.lo", "cur.hi", "writer_gen", "start", "count"),
    "carry_armed_with": ("cfg.carry", "multi_seq"),
    "canonical_assignment_at": ("n", "min_width", "kill_switch_clear"),
}
"""A rule's arguments as words and flags, in the order in which a kernel has its arrays. `#common` is the length of the common
prefix of the entry's tokens and the prompt, which another kernel finds."""

RAGGED: Mapping[str, tuple[tuple[str, int], ...]] = {
    "verify_batch_order": (("slots", 1), ("ks", 1), ("canonical", 0)),
    "verify_graph_key": (("pairs", 2), ("wy_tables_null", 0)),
}
"""Rules of sequences as kernels over ragged rows: the arguments in order, with how many words an element of a sequence takes in
its array (after which comes the array of where the rows begin), 0 for a word or flag of each row."""

STATUS = "Status"

SOIL = 0xA5A5_A5A5_A5A5_A5A5
"""What stands in a word that has not been written, where a run needs some value; as many bits of it as there are."""


class CudaShapes(Shapes):
    """Rules as kernels over rows, or as device functions: words and flags in, results through references or a status."""

    def integer(self, type_: ir.Type | None, bits: int) -> IntType:
        found = IntType(bits, False, True)
        resolved = self.named(type_)
        if resolved is None or _NAMES.get(resolved.name) != found:
            raise Mismatch(f"{type_} where the spec has {bits} bits")
        return found

    def profiles(self, function: ir.Function, known: tuple[Profile, ...]) -> tuple[Profile, ...]:
        """A status tells of overflow, as a debug build's panic does; without one arithmetic wraps."""
        told = function.returns is not None and function.returns.name == STATUS
        return (Profile.DEBUG,) if told or self._status_array(function) else known

    def rests_on(self, function: ir.Function, rule: Rule) -> Iterator[str]:
        if "#common" in INPUTS.get(rule.name, ()):
            yield "the length of the common prefix is given"
        if function.kernel:
            yield "rows are taken one by one in a grid-stride loop, and arrays do not overlap"
        if rule.name in RAGGED:
            yield "offsets are in order and end inside the data; a warp has a row, and blockDim.x is a multiple of 32"

    def _status_array(self, function: ir.Function) -> bool:
        outs = [(p.name if isinstance(p, ir.Bind) else "", t) for p, t in function.parameters if t is not None and t.name == "out"]
        return bool(outs) and outs[0][0] == "status"

    def paths(self, run: Executor, function: ir.Function, rule: Rule, arguments: Mapping[str, Any]) -> list[Path]:
        if rule.name in RAGGED and function.kernel:
            return self._ragged_paths(run, function, rule, arguments)
        if rule.name not in INPUTS:
            raise Mismatch("a rule of sequences, which the front end for CUDA does not follow")
        inputs = [self._input(rule, arguments, path) for path in INPUTS[rule.name]]

        def once() -> Value:
            run.scopes, run.floor, run.depth, run.steps = [{}], 0, 0, 0
            return self._answer(run, function, rule, inputs)

        return run.explore(once)

    def _ragged_paths(self, run: Executor, function: ir.Function, rule: Rule, arguments: Mapping[str, Any]) -> list[Path]:
        lengths = [arguments[name].length for name, size in RAGGED[rule.name] if size]
        if not all(z3.is_int_value(length) for length in lengths):
            raise NotUnderstood("a kernel over ragged rows of any length", function.line)

        def once() -> Value:
            run.scopes, run.floor, run.depth, run.steps = [{}], 0, 0, 0
            run.merges_calls, run.alone = True, False
            return self._ragged_answer(run, function, rule, arguments)

        return run.explore(once)

    def _ragged_answer(self, run: Executor, function: ir.Function, rule: Rule, arguments: Mapping[str, Any]) -> Value:
        """The kernel's answer for one row, the others being any; a row begins anywhere in its array."""
        symbolic = bool(run.known())
        word = IntType(64, False, True)
        row = z3.Int("#row") if symbolic else 0
        count = z3.Int("#rows") if symbolic else 1
        run.assume(z3.And(0 <= row, row < count, count < 2**60) if symbolic else True)
        run.scopes[0]["#row"] = Int(row, word)
        parameters = [(p.name if isinstance(p, ir.Bind) else "", t) for p, t in function.parameters]
        given: list[Value] = [Int(count, word)]
        begins: list[Term] = []
        sizes: list[int] = []
        waiting = parameters[1:]

        def declared(kind: str) -> tuple[str, ir.Type]:
            name, type_ = waiting.pop(0) if waiting else ("", None)
            if type_ is None or type_.name != kind:
                raise Mismatch(f"parameter {name} where the spec has another")
            return name, type_.arguments[0]

        for argument, size in RAGGED[rule.name]:
            name, inner = declared("in")
            if not size:
                given.append(Row(row, self._argument(rule.params[argument], arguments[argument], inner), inner, False))
                continue
            sort, told = rule.params[argument], arguments[argument]
            if not isinstance(sort, sorts.Sequence):
                raise Mismatch(f"{argument}, which is no sequence")
            number = int(told.length.as_long())
            items = [item for i in range(number) for item in self._words(sort.element, told.at(z3.IntVal(i)), inner)]
            begin: Term = z3.Int(f"#begin {name}") if symbolic else 3
            if not isinstance(begin, int):
                run.assume(z3.And(0 <= begin, begin < 2**60))
            begins.append(begin)
            sizes.append(number)
            given.append(Pointer(Memory(name, mul(size, begin), items, inner, False), 0))
            self.integer(declared("in")[1], 64)
            given.append(Offsets(row, Int(begin, word), Int(add(begin, number), word)))
        keyed = rule.name == "verify_graph_key"
        base = add(mul(2, begins[0]), row) if keyed else begins[0]
        size = 2 * sizes[0] + 1 if keyed else sizes[0]
        outs: list[tuple[str, Memory | None]] = []
        while waiting:
            name, inner = declared("out")
            if name == "status" and not outs:
                given.append(Row(row, Unset(inner), inner, True))
                outs.append((name, None))
                continue
            stood: list[Value] = [self._stood(run, f"{name}.{i}", inner) for i in range(size)]
            outs.append((name, Memory(name, base, stood, inner, True)))
            given.append(Pointer(outs[-1][1] or Memory(name, base, stood, inner, True), 0))
        result, left = self._called(run, function, tuple(given))
        values: list[Value] = []
        for name, memory in outs:
            told_row = left[name]
            if memory is not None:
                values.append(listed(tuple(memory.items)))
            elif isinstance(told_row, Row):
                values.append(told_row.value)
        return self._result(run, function, rule, result, values, [name for name, _ in outs])

    def _words(self, sort: Sort, given: Any, type_: ir.Type) -> list[Value]:
        """The words of an element, one after the other."""
        if isinstance(sort, sorts.Struct):
            return [word for name, part in sort.parts for word in self._words(part, given.fields[name], type_)]
        if not isinstance(sort, sorts.Word):
            raise Mismatch(f"{type(sort).__name__} in an array")
        return [Int(int(given.as_long()) if z3.is_int_value(given) else given, self.integer(type_, sort.bits))]

    def _input(self, rule: Rule, arguments: Mapping[str, Any], path: str) -> tuple[Sort, Any]:
        if path == "#common":
            return sorts.USIZE, _common(arguments["self"].tokens, arguments["prompt"])
        name, *fields = path.split(".")
        sort, given = rule.params[name], arguments[name]
        for field in fields:
            if isinstance(sort, sorts.Struct):
                sort, given = dict(sort.parts)[field], given.fields[field]
            elif isinstance(sort, sorts.Option):
                sort, given = (sort.some, given.value) if field == "value" else (sorts.FLAG, given.present)
        return sort, given

    def _answer(self, run: Executor, function: ir.Function, rule: Rule, inputs: list[tuple[Sort, Any]]) -> Value:
        parameters = list(function.parameters)
        row = z3.Int("#row") if run.known() else 0
        values: list[Value] = []
        if function.kernel:
            count = z3.Int("#rows") if run.known() else 1
            word = IntType(64, False, True)
            run.assume(z3.And(0 <= row, row < count, count < 2**63) if run.known() else True)
            run.scopes[0]["#row"] = Int(row, word)
            _, type_ = parameters.pop(0)
            if type_ is None or self.integer(type_, 64) != word:
                raise Mismatch("a kernel whose first parameter is not the number of rows")
            values.append(Int(count, word))
        waiting = list(inputs)
        outputs: list[str] = []
        stood: dict[str, Value] = {}
        for pattern, type_ in parameters:
            name = pattern.name if isinstance(pattern, ir.Bind) else ""
            if type_ is None:
                raise Mismatch("a parameter without a type")
            written = type_.name in ("out", "&mut")
            if written != (not waiting):
                raise Mismatch(f"parameter {name}: the spec has {len(inputs)} inputs, then the results")
            inner = type_.arguments[0] if type_.name in ("in", "out", "&mut") else type_
            if written:
                outputs.append(name)
                stood[name] = self._stood(run, name, inner)
                unset = Unset(inner)
                values.append(Row(row, unset, inner, True) if type_.name == "out" else stood[name])
                continue
            value = self._argument(*waiting.pop(0), inner)
            values.append(Row(row, value, inner, False) if type_.name == "in" else value)
        if waiting:
            raise Mismatch(f"{len(inputs) - len(waiting)} inputs where the spec has {len(inputs)}")
        result, left = self._called(run, function, tuple(values))
        after = [left[name] for name in outputs]
        outs = [out.value if isinstance(out, Row) else out for out in after]
        outs = [stood[name] if isinstance(out, Unset) else out for name, out in zip(outputs, outs, strict=True)]
        return self._result(run, function, rule, result, outs, outputs)

    def _stood(self, run: Executor, name: str, type_: ir.Type) -> Value:
        """What stands where a result goes before it is written: anything; on constants `SOIL`."""
        if type_.name == "bool":
            return Truth(z3.Bool(f"#stood {name}") if run.known() else True)
        known = _NAMES.get((self.named(type_) or type_).name)
        if known is None or known.low is None or known.high is None:
            return Unset(type_)
        number = z3.Int(f"#stood {name}") if run.known() else SOIL % known.high
        run.assume(True if isinstance(number, int) else z3.And(known.low <= number, number < known.high))
        return Int(number, known)

    def _called(self, run: Executor, function: ir.Function, values: tuple[Value, ...]) -> tuple[Value, Scope]:
        hidden = run.scopes[0].get("#row")
        if hidden is None:
            return run.call_with_scopes(function, values)
        named = {p.name: v for (p, _), v in zip(function.parameters, values, strict=True) if isinstance(p, ir.Bind)}
        if function.objection is not None:
            raise Mismatch(function.objection)
        run.scopes = [{"#row": hidden, **named}]
        result = run.evaluate(function.body)
        return result, run.scopes[0]

    def _argument(self, sort: Sort, given: Any, type_: ir.Type) -> Value:
        if isinstance(sort, sorts.Flag):
            if type_.name != "bool":
                raise Mismatch(f"{type_} where the spec has a flag")
            return Truth(True if z3.is_true(given) else False if z3.is_false(given) else given)
        term: Term = int(given.as_long()) if z3.is_int_value(given) else given
        return Int(term, self.integer(type_, 64))

    def _result(
        self, run: Executor, function: ir.Function, rule: Rule, result: Value, outs: list[Value], names: list[str]
    ) -> Value:
        status: Value | None = None
        if outs and names[0] == "status" and function.kernel:
            status = outs.pop(0)
        elif function.returns is not None and function.returns.name == STATUS:
            status = result
        elif not function.kernel and result != UNIT:
            outs = [result, *outs]
        if status is not None:
            number = run.integer(status).term
            if not run.decide(eq(number, self._number(run, "Ok"))):
                if run.decide(eq(number, self._number(run, "None"))):
                    return NOTHING
                raise Panicked("a status other than Ok and None", function.line)
        sort: Sort = rule.result.value if isinstance(rule.result, Fallible) else rule.result
        if isinstance(sort, sorts.Option):
            return Opt(True, self._assembled(sort.some, outs))
        return self._assembled(sort, outs)

    def _number(self, run: Executor, name: str) -> Term:
        constant = self.source.constants.get(f"{STATUS}::{name}")
        if constant is None:
            raise Mismatch(f"a status without {name}")
        return run.integer(run.constant(constant)).term

    def _assembled(self, sort: Sort, outs: list[Value]) -> Value:
        if any(isinstance(out, Unset) for out in outs):
            raise Mismatch("a result that may have no value")
        if isinstance(sort, sorts.Struct):
            if len(outs) == 1 and isinstance(outs[0], Rec):
                outs = list(outs[0].fields.values())
            if len(outs) != len(sort.parts):
                raise Mismatch(f"{len(outs)} results where the spec has {len(sort.parts)}")
            return Tup(tuple(outs)) if sort.is_tuple else Rec("result", dict(zip([n for n, _ in sort.parts], outs, strict=True)))
        if len(outs) != 1:
            raise Mismatch(f"{len(outs)} results where the spec has one")
        return outs[0]
