"""Runs the small language of `ir` on values that may be terms: symbolic execution, and on constants plain evaluation.

What is common to the languages is here: scopes, control flow, patterns, places, machine arithmetic, comparison, sequences.
Names, methods and what a front end leaves to its language are asked of a `Dialect`. Arithmetic is ideal and then fitted to the
type: where it does not fit a debug build panics, a release build or C's unsigned types wrap, C's signed types have no meaning.
Loops over what is of unknown length are left to `loops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import z3

from proofs.source import ir, loops
from proofs.source.paths import Impossible, Leave, NotUnderstood, Panicked, Path, Paths
from proofs.source.streams import Comprehended, OfSpan, over
from proofs.source.terms import (
    Cond,
    Term,
    add,
    both,
    either,
    eq,
    floor_div,
    implies,
    le,
    lt,
    modulo,
    mul,
    negated,
    pick,
    same_truth,
    settled,
    spread,
    sub,
    term,
)
from proofs.source.values import (
    BIG,
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
    Opaque,
    Opt,
    Order,
    Rec,
    Reverse,
    Seq,
    Span,
    Stream,
    StreamSource,
    Truth,
    Tup,
    Unmergeable,
    Value,
    joined,
    listed,
    merged,
    substituted,
    terms_in,
)
from spec.machine import Profile

Scope = dict[str, Value]

_DEEPEST = 40
_MOST_STEPS = 300_000
_MOST_SYMBOLIC_STEPS = 6_000


class Returning(Exception):
    """A `return`, on its way out."""

    def __init__(self, value: Value) -> None:
        self.value = value


class Breaking(Exception):
    """A `break`, on its way out."""

    def __init__(self, label: str | None, value: Value) -> None:
        self.label = label
        self.value = value


class Continuing(Exception):
    """A `continue`, on its way out."""

    def __init__(self, label: str | None) -> None:
        self.label = label


class Mutated(Value):
    """What a mutating method gives: its result, and the new value of its receiver."""

    def __init__(self, receiver: Value, result: Value = UNIT) -> None:
        self.receiver = receiver
        self.result = result


class Dialect:
    """What a language adds: its names, methods, types, and how operands of different types meet."""

    name = ""
    profiles: tuple[Profile, ...] = ()

    def lookup(self, run: Executor, name: str) -> Value:
        """The value of a name that the file does not declare."""
        raise NotUnderstood(f"name {name}", run.line)

    def call(self, run: Executor, name: str, arguments: tuple[Value, ...], node: ir.Call) -> Value:
        """A function of the language applied."""
        raise NotUnderstood(f"function {name}", run.line)

    def method(self, run: Executor, receiver: Value, name: str, arguments: tuple[Value, ...], node: ir.Method) -> Value:
        """A method of the language applied; `Mutated` if it changes its receiver."""
        raise NotUnderstood(f"method {name}", run.line)

    def converted(self, run: Executor, value: Value, type_: ir.Type) -> Value:
        """The value where the type is expected."""
        raise NotUnderstood(f"type {type_}", run.line)

    def cast(self, run: Executor, value: Value, type_: ir.Type) -> Value:
        """`value as type`."""
        raise NotUnderstood(f"a cast to {type_}", run.line)

    def meet(self, run: Executor, left: Value, right: Value) -> tuple[Value, Value]:
        """Two operands, brought to a common type."""
        return left, right

    def truth(self, run: Executor, value: Value) -> Cond:
        """The value as a condition."""
        if isinstance(value, Truth):
            return value.term
        raise NotUnderstood("a condition that is no truth value", run.line)

    def field(self, run: Executor, value: Value, name: str) -> Value:
        """A field that the value does not have itself."""
        raise NotUnderstood(f"field {name}", run.line)

    def type_named(self, name: str) -> IntType | None:
        """An integer type by its name."""
        return None

    def literal_type(self, name: str | None) -> IntType | Cell:
        """The type of a literal with this suffix."""
        found = self.type_named(name) if name else None
        return Cell() if found is None else found

    def catches(self, kinds: tuple[str, ...], raised: str) -> bool:
        """An exception is of one of these kinds."""
        return False

    def result(self, run: Executor, value: Value) -> Value:
        """The value as a caller gets it."""
        return value

    def operand(self, run: Executor, value: Value) -> Value:
        """The value where only what it holds matters (Python's values that may be None)."""
        return value

    def promoted(self, run: Executor, value: Value) -> Value:
        """The operand of an arithmetic operator alone."""
        return value

    def binary(self, run: Executor, operator: str, left: Value, right: Value) -> Value | None:
        """An operation that only the language has."""
        return None

    def generics(self, run: Executor, function: ir.Function, arguments: tuple[Value, ...], types: tuple[ir.Type, ...]) -> Scope:
        """What the type parameters of a function stand for in a call, as hidden variables."""
        return {}

    def uninitialised(self, run: Executor, type_: ir.Type | None) -> Value:
        """A variable without a value."""
        return Unset(type_)

    def kept(self, run: Executor, old: Value | None, new: Value) -> Value:
        """The value that a place keeps when it is given a new one."""
        if isinstance(old, Int) and isinstance(new, Int):
            run.joined(old, new)
        return new

    def divided(self, run: Executor, operator: str, left: Int, right: Int) -> Term:
        """Quotient or remainder, for a divisor that is not 0."""
        if not isinstance(right.term, int) and not isinstance(left.term, int):
            raise NotUnderstood("a division of two unknowns", run.line)
        raise NotUnderstood("division", run.line)


class Executor(Paths):
    """One function of one source, run in one way."""

    def __init__(
        self,
        source: ir.Source,
        dialect: Dialect,
        profile: Profile,
        *,
        unbounded: bool,
        known: list[z3.BoolRef] | None = None,
    ) -> None:
        super().__init__(known or [])
        self.source = source
        self.dialect = dialect
        self.profile = profile
        self.unbounded = unbounded
        self.scopes: list[Scope] = [{}]
        self.floor = 0
        self.depth = 0
        self.steps = 0
        self.most_steps = _MOST_SYMBOLIC_STEPS if known else _MOST_STEPS
        self.notes: set[str] = set()
        self.merging = False
        """Such a function is being run."""
        self.alone = False
        """One lane is at work, of those that share a row."""
        self.merges_calls = False
        """Functions that give a truth value are run by themselves, so that their branches make no paths of the caller."""
        self.read: set[str] = set()
        """The functions whose bodies were run."""
        self._handlers: dict[type[ir.Node], Callable[[Any], Value]] = {}

    # Running

    def run(self, function: ir.Function, arguments: tuple[Value, ...]) -> list[Path]:
        """All paths of a call."""

        def once() -> Value:
            self.scopes, self.floor, self.depth, self.steps = [{}], 0, 0, 0
            return self.dialect.result(self, self.call_function(function, arguments))

        return self.explore(once)

    def spend(self) -> None:
        """Counts a step; what does not end is not understood."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise NotUnderstood(f"more than {self.most_steps} steps", self.line)

    def evaluate(self, node: ir.Node) -> Value:
        """The value of a node."""
        self.spend()
        if node.line:
            self.line = node.line
        kind = type(node)
        handler = self._handlers.get(kind)
        if handler is None:
            handler = getattr(self, f"_{kind.__name__.lower()}", None)
            if handler is None:
                raise NotUnderstood(kind.__name__, self.line)
            self._handlers[kind] = handler
        return handler(node)

    def fail(self, what: str) -> NotUnderstood:
        """What to raise where something is not modelled."""
        return NotUnderstood(what, self.line)

    def truth(self, value: Value) -> Cond:
        """The value as a condition."""
        return self.dialect.truth(self, value)

    def option(self, value: Value) -> Opt:
        """The value as an option."""
        if isinstance(value, Opt):
            return value
        raise self.fail("an option that is none")

    def integer(self, value: Value) -> Int:
        """The value as an integer."""
        if isinstance(value, Int):
            return value
        raise self.fail(f"a number that is {type(value).__name__}")

    def pure(self, run: Callable[[], Value]) -> Value:
        """The one value of all paths of `run`, which must neither panic nor leave nor change a variable."""
        before = self.snapshot()
        paths = self.explore(run)
        self.restore(before)
        if len(paths) == 1 and not paths[0].conditions:
            (path,) = paths
            for fact in path.facts:
                self.assume(fact)
            if isinstance(path.end, Leave):
                raise path.end
            return path.end
        value: Value | None = None
        for path in reversed(paths):
            if isinstance(path.end, Impossible):
                continue
            if isinstance(path.end, Leave):
                what = path.end.what if isinstance(path.end, NotUnderstood) else "a panic that depends on an element"
                raise NotUnderstood(what, getattr(path.end, "line", self.line))
            condition = both(*path.conditions)
            self.assume(implies(condition, both(*path.facts)))
            try:
                value = path.end if value is None else merged(condition, path.end, value)
            except Unmergeable as unmergeable:
                raise self.fail(f"values of different form ({unmergeable})") from unmergeable
        if value is None:
            raise Impossible
        return value

    def snapshot(self) -> list[Scope]:
        """The variables as they are."""
        return [dict(scope) for scope in self.scopes]

    def restore(self, scopes: list[Scope]) -> None:
        """Puts the variables back."""
        self.scopes = [dict(scope) for scope in scopes]

    # Names

    def variable(self, name: str) -> Value | None:
        """The innermost variable of that name."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def assign_variable(self, name: str, value: Value) -> None:
        """Changes the innermost variable of that name."""
        for depth in range(len(self.scopes) - 1, -1, -1):
            if name in self.scopes[depth]:
                if depth < self.floor:
                    raise self.fail(f"a closure that changes {name}")
                old = self.scopes[depth][name]
                if isinstance(old, Unset) and old.type is not None:
                    value = self.dialect.converted(self, value, old.type)
                self.scopes[depth][name] = value
                return
        raise self.fail(f"an assignment to {name}")

    def declare(self, name: str, value: Value) -> None:
        """A new variable in the innermost scope; in Python in that of the function."""
        self.scopes[self.floor if self.dialect.name == "python" else -1][name] = value

    def _name(self, node: ir.Name) -> Value:
        found = self.variable(node.name)
        if isinstance(found, _Constant):
            return self.constant(found.constant)
        return self.resolve(node.name) if found is None else found

    def resolve(self, name: str) -> Value:
        """A name that is no variable: a function, constant or shape of the file, else one of the language."""
        if self.source.objection is not None:
            raise NotUnderstood(self.source.objection, self.line)
        owner, _, own = name.rpartition("::")
        if owner in self.source.aliases and name not in self.source.constants:
            owner = self.source.aliases[owner].name
            name = f"{owner}::{own}"
        functions = [f for f in self.source.functions if f.name == own and (f.owner or "") == owner]
        reachable = [f for f in functions if not (f.objection or "").startswith("inside `mod ")]
        if len(reachable) > 1:
            raise self.fail(f"{name}, of which there are {len(reachable)}")
        if reachable:
            return FunctionValue(reachable[0])
        if name in self.source.constants:
            return self.constant(self.source.constants[name])
        if name in self.source.shapes:
            return Builtin(f"shape {name}")
        return self.dialect.lookup(self, name)

    def constant(self, constant: ir.Constant) -> Value:
        """The value of a constant; evaluated in no scope but its own."""
        if constant.objection is not None:
            raise NotUnderstood(f"{constant.name}: {constant.objection}", self.line)
        if isinstance(constant.value, ir.Literal) and constant.type is None and constant.value.type == constant.name:
            owner, _, variant = constant.name.partition("::")
            return Case(owner, variant)
        before, floor, line = self.scopes, self.floor, self.line
        self.scopes, self.floor = [{}], 0
        self.enter()
        try:
            value = self.evaluate(constant.value)
            return value if constant.type is None else self.dialect.converted(self, value, constant.type)
        except Panicked as panic:
            raise self.fail(f"constant {constant.name} that does not evaluate") from panic
        finally:
            self.depth -= 1
            self.scopes, self.floor, self.line = before, floor, line

    def enter(self) -> None:
        """One call deeper."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fail(f"recursion deeper than {_DEEPEST}")

    # Calls

    def call_function(self, function: ir.Function, arguments: tuple[Value, ...]) -> Value:
        """A declared function applied, in scopes of its own."""
        return self.call_with_scopes(function, arguments)[0]

    def call_with_scopes(
        self, function: ir.Function, arguments: tuple[Value, ...], types: tuple[ir.Type, ...] = ()
    ) -> tuple[Value, Scope]:
        """The same, and the parameters as it left them (for `&mut`)."""
        if function.objection is not None:
            raise NotUnderstood(f"{function.name}: {function.objection}", function.line)
        if len(arguments) != len(function.parameters):
            raise self.fail(f"{function.name} with {len(arguments)} arguments")
        before, floor, line = self.scopes, self.floor, self.line
        self.enter()
        self.read.add(function.name if function.owner is None else f"{function.owner}::{function.name}")
        parameters = self.dialect.generics(self, function, arguments, types)
        self.scopes, self.floor = [parameters], 0
        try:
            for (pattern, type_), argument in zip(function.parameters, arguments, strict=True):
                value = argument if type_ is None else self.dialect.converted(self, argument, type_)
                self.bind(pattern, value)
            try:
                result = self.evaluate(function.body)
            except Returning as leave:
                result = leave.value
            if function.returns is not None:
                result = self.dialect.converted(self, result, function.returns)
            return result, self.scopes[0]
        except (Breaking, Continuing) as stray:
            raise self.fail("a break outside its loop") from stray
        finally:
            self.depth -= 1
            self.scopes, self.floor, self.line = before, floor, line

    def apply(self, function: Value, arguments: tuple[Value, ...]) -> Value:
        """A closure, function or constructor applied to values."""
        match function:
            case Closure():
                return self._apply_closure(function, arguments)
            case FunctionValue():
                return self.call_function(function.function, arguments)
            case Builtin():
                made = self.construct(function.name, arguments)
                if made is not None:
                    return made
                call = ir.Call(ir.Name(function.name), (), line=self.line)
                return self.dialect.call(self, function.name, arguments, call)
        raise self.fail(f"a call of {type(function).__name__}")

    def _apply_closure(self, closure: Closure, arguments: tuple[Value, ...]) -> Value:
        if len(arguments) != len(closure.parameters):
            raise self.fail(f"a closure with {len(arguments)} arguments")
        before, floor, line = self.scopes, self.floor, self.line
        self.enter()
        self.scopes = [dict(scope) for scope in closure.scopes] + [{}]
        self.floor = len(closure.scopes)
        try:
            for (pattern, type_), argument in zip(closure.parameters, arguments, strict=True):
                value = argument if type_ is None else self.dialect.converted(self, argument, type_)
                self.bind(pattern, value)
            try:
                result = self.evaluate(closure.body)
            except Returning as leave:
                result = leave.value
            return result if closure.returns is None else self.dialect.converted(self, result, closure.returns)
        except (Breaking, Continuing) as stray:
            raise self.fail("a break outside its loop") from stray
        finally:
            self.depth -= 1
            self.scopes, self.floor, self.line = before, floor, line

    def _call(self, node: ir.Call) -> Value:
        function = self.evaluate(node.function)
        node = replace(node, arguments=self.spread(node.arguments))
        if isinstance(function, FunctionValue):
            declared = function.function
            if self.merges_calls and declared.returns is not None and declared.returns.name == "bool":
                return self._merged_call(declared, node)
            return self._call_declared(declared, node.arguments, node)
        arguments = tuple(self.evaluate(a) for a in node.arguments)
        if isinstance(function, Builtin):
            made = self.construct(function.name, arguments, node.named)
            return self.dialect.call(self, function.name, arguments, node) if made is None else made
        if node.named:
            raise self.fail("named arguments of a closure")
        return self.apply(function, arguments)

    def _merged_call(self, declared: ir.Function, node: ir.Call) -> Value:
        """The call as one value of all its paths, which write no memory."""
        outer, self.merging = self.merging, True
        try:
            return self.pure(lambda: self._call_declared(declared, node.arguments, node))
        finally:
            self.merging = outer

    def _call_declared(self, declared: ir.Function, nodes: tuple[ir.Node, ...], node: ir.Call | ir.Method) -> Value:
        if node.types and not declared.generics:
            raise self.fail(f"type arguments of {declared.name}")
        given: list[ir.Node | None] = [*nodes]
        given += [None] * (len(declared.parameters) - len(given))
        for name, value in node.named:
            names = [p.name if isinstance(p, ir.Bind) else "" for p, _ in declared.parameters]
            if name not in names or given[names.index(name)] is not None:
                raise self.fail(f"argument {name} of {declared.name}")
            given[names.index(name)] = value
        lent: dict[str, ir.Node] = {}
        values: list[Value] = []
        for position, argument in enumerate(given):
            chosen = argument
            if chosen is None:
                defaults = declared.defaults
                chosen = defaults[position] if position < len(defaults) else None
            if chosen is None:
                raise self.fail(f"{declared.name} with too few arguments")
            if isinstance(chosen, ir.Borrow) and chosen.mutable and position < len(declared.parameters):
                pattern = declared.parameters[position][0]
                if not isinstance(pattern, ir.Bind) or not _is_place(chosen.operand):
                    raise self.fail("`&mut` of what is no variable")
                lent[pattern.name] = chosen.operand
                chosen = chosen.operand
            elif position < len(declared.parameters) and _is_place(chosen):
                pattern, type_ = declared.parameters[position]
                if type_ is not None and type_.name == "&mut" and isinstance(pattern, ir.Bind):
                    lent[pattern.name] = chosen  # a reborrow of a parameter that is itself `&mut`
            values.append(self.evaluate(chosen))
        if len(given) > len(declared.parameters):
            raise self.fail(f"{declared.name} with too many arguments")
        roots = [_root(place) for place in lent.values()]
        if len(set(roots)) != len(roots) and self.dialect.name == "cuda":
            raise self.fail("one variable lent twice")
        result, left = self.call_with_scopes(declared, tuple(values), node.types)
        for name, place in lent.items():
            self.assign(place, left[name])
        return result

    def _method(self, node: ir.Method) -> Value:
        receiver = self.evaluate(node.receiver)
        own = [f for f in self.source.functions if f.name == node.name and f.owner is not None]
        if isinstance(receiver, (Rec, Case)):
            own = [f for f in own if f.owner == receiver.type]
            inherent = [f for f in own if f.trait is None] or own
            if len(inherent) > 1:
                raise self.fail(f"method {node.name}, of which there are {len(inherent)}")
            if inherent:
                return self._call_method(inherent[0], receiver, node)
        elif own:
            # A method that the file adds to a type of the language.
            own = [f for f in own if f.owner not in self.source.shapes]
            if own:
                raise self.fail(f"method {node.name}, which the file adds to a type of the language")
        if isinstance(receiver, Rec) and isinstance(receiver.fields.get(node.name), Closure):
            raise self.fail(f"a closure in field {node.name}")
        arguments = tuple(self.evaluate(a) for a in node.arguments)
        result = self.dialect.method(self, receiver, node.name, arguments, node)
        if isinstance(result, Mutated):
            if _is_place(node.receiver):
                self.assign(node.receiver, result.receiver)
            return result.result
        return result

    def _call_method(self, function: ir.Function, receiver: Value, node: ir.Method) -> Value:
        if function.receiver is None:
            raise self.fail(f"{node.name} without a receiver")
        if function.receiver != "&mut":
            return self._call_declared(function, (Given(receiver, line=node.line), *node.arguments), node)
        if not _is_place(node.receiver):
            raise self.fail("a mutating method of what is no variable")
        values = tuple(self.evaluate(a) for a in node.arguments)
        result, left = self.call_with_scopes(function, (receiver, *values))
        self.assign(node.receiver, left["self"])
        return result

    def construct(self, name: str, arguments: tuple[Value, ...], named: tuple[tuple[str, ir.Node], ...] = ()) -> Value | None:
        """A struct from its constructor, if the name is that of one."""
        if not name.startswith("shape "):
            return None
        shape = self.source.shapes[name.removeprefix("shape ")]
        fields = [field for field, _ in shape.fields]
        values: dict[str, Value] = dict(zip(fields, arguments, strict=False))
        if len(arguments) > len(fields):
            raise self.fail(f"{shape.name} with {len(arguments)} values")
        for field, node in named:
            if field in values:
                raise self.fail(f"{field} of {shape.name} given twice")
            values[field] = self.evaluate(node)
        return self.record(shape, values)

    def record(self, shape: ir.Shape, values: Mapping[str, Value]) -> Value:
        """A struct of the file with these fields."""
        if shape.objection is not None:
            raise self.fail(f"{shape.name}: {shape.objection}")
        if values.keys() != {field for field, _ in shape.fields}:
            raise self.fail(f"fields of {shape.name}")
        fields = {
            field: values[field] if type_ is None else self.dialect.converted(self, values[field], type_)
            for field, type_ in shape.fields
        }
        made = Rec(shape.name, fields)
        if shape.checks is not None:
            self.call_function(shape.checks, (made,))
        return made

    # Places

    def assign(self, target: ir.Node, value: Value) -> None:
        """Gives a place a value; struct fields and elements by giving the whole a new value."""
        match target:
            case ir.Name():
                if target.name == "_":
                    return
                self.assign_variable(target.name, self._kept(self.variable(target.name), value))
            case ir.Field():
                whole = self.evaluate(target.object)
                if isinstance(whole, Rec) and target.name in whole.fields:
                    new = self._kept(whole.fields[target.name], value)
                    self.assign(target.object, Rec(whole.type, {**whole.fields, target.name: new}))
                elif isinstance(whole, Tup) and target.name.isdigit() and int(target.name) < len(whole.items):
                    items = list(whole.items)
                    items[int(target.name)] = self._kept(items[int(target.name)], value)
                    self.assign(target.object, Tup(tuple(items)))
                else:
                    raise self.fail(f"an assignment to {target.name}")
            case ir.Index():
                whole = self.evaluate(target.object)
                index = self.evaluate(target.index)
                if isinstance(whole, Pointer) and isinstance(index, Int):
                    whole.memory.set(self, add(whole.offset, index.term), value)
                    return
                if isinstance(whole, Row):
                    self.assign(target.object, self._row_given(whole, index, value))
                    return
                if not isinstance(whole, Seq) or whole.items is None or not isinstance(index, Int):
                    raise self.fail("an assignment to an element")
                position = self.checked_index(whole, index)
                changed = [merged(eq(position, i), self._kept(item, value), item) for i, item in enumerate(whole.items)]
                self.assign(target.object, listed(tuple(changed)))
            case ir.Tuple() if isinstance(value, Tup) and len(value.items) == len(target.items):
                for part, item in zip(target.items, value.items, strict=True):
                    self.assign(part, item)
            case ir.Borrow():
                self.assign(target.operand, value)
            case _:
                raise self.fail("an assignment")

    def _kept(self, old: Value | None, new: Value) -> Value:
        """The new value; a literal in it takes the type of the old."""
        return self.dialect.kept(self, old, new)

    def _assign(self, node: ir.Assign) -> Value:
        if node.operator is not None:
            value = self.evaluate(node.value)
            old = self.evaluate(node.target)
            self.assign(node.target, self.operate(node.operator, old, value))
        else:
            value = self.evaluate(node.value)
            if node.declares:
                self._declare_target(node.target, value)
            else:
                self.assign(node.target, value)
        return UNIT

    def _declare_target(self, target: ir.Node, value: Value) -> None:
        if isinstance(target, ir.Name):
            self.declare(target.name, value)
        elif isinstance(target, ir.Tuple):
            parts = value.items if isinstance(value, (Tup, Seq)) else None
            if isinstance(value, (Int, Truth)):
                raise Panicked("TypeError", self.line)
            if parts is None or len(parts) != len(target.items):
                raise self.fail("an assignment to several variables")
            for part, item in zip(target.items, parts, strict=True):
                self._declare_target(part, item)
        else:
            self.assign(target, value)

    # Patterns

    def bind(self, pattern: ir.Pattern, value: Value) -> None:
        """Binds a pattern that cannot fail."""
        matches = self.match(pattern, value)
        if matches is not True:
            raise self.fail("a pattern that may fail")

    def match(self, pattern: ir.Pattern, value: Value) -> bool:
        """Decides whether the value matches, and binds its names in the innermost scope if it does."""
        match pattern:
            case ir.Anything():
                return True
            case ir.Bind(name=name, inner=inner):
                constant = name in self.source.constants or isinstance(self.variable(name), _Constant)
                if inner is None and (name[:1].isupper() or constant):
                    return self.match(ir.Exactly(ir.Name(name, line=pattern.line), line=pattern.line), value)
                if inner is not None and not self.match(inner, value):
                    return False
                self.declare(name, value)
                return True
            case ir.Exactly():
                known = self.evaluate(pattern.value)
                return self.decide(self.same_form(known, value))
            case ir.Between():
                number = self.integer(value)
                inside: Cond = True
                if pattern.low is not None:
                    low = self.integer(self.evaluate(pattern.low))
                    self.joined(low, number)
                    inside = le(low.term, number.term)
                if pattern.high is not None:
                    high = self.integer(self.evaluate(pattern.high))
                    self.joined(high, number)
                    ends = le if pattern.inclusive else lt
                    inside = both(inside, ends(number.term, high.term))
                return self.decide(inside)
            case ir.Items():
                items = value.items if isinstance(value, (Tup, Seq)) else None
                if items is None:
                    raise self.fail("a pattern for a tuple")
                if len(items) != len(pattern.items):
                    if isinstance(value, Seq):
                        return False
                    raise self.fail("a pattern for a tuple of another length")
                return all(self.match(p, v) for p, v in zip(pattern.items, items, strict=True))
            case ir.Variant():
                return self._match_variant(pattern, value)
            case ir.AnyOf():
                return any(self.match(p, value) for p in pattern.alternatives)
            case ir.Strange():
                raise NotUnderstood(pattern.what, pattern.line)
        raise self.fail("a pattern")

    def _match_variant(self, pattern: ir.Variant, value: Value) -> bool:
        if isinstance(value, Opt):
            kind = pattern.type
            self._must_be_prelude(kind)
            result = value.error is not None
            if kind not in (("Ok", "Err") if result else ("Some",)) or len(pattern.fields) != 1:
                raise self.fail(f"pattern {kind}")
            wanted = kind != "Err"
            if not self.decide(value.present if wanted else negated(value.present)):
                return False
            inner = value.value if wanted else value.error
            if inner is None:
                raise Impossible
            return self.match(pattern.fields[0][1], inner)
        name = self.source.aliases[pattern.type].name if pattern.type in self.source.aliases else pattern.type
        if isinstance(value, Reverse) and name == "Reverse":
            return self.match(pattern.fields[0][1], value.value)
        if not isinstance(value, Rec) or value.type != name:
            raise self.fail(f"pattern {pattern.type}")
        if not pattern.rest and len(pattern.fields) != len(value.fields):
            raise self.fail(f"pattern {pattern.type} without all fields")
        for field, inner_pattern in pattern.fields:
            if field not in value.fields:
                raise self.fail(f"field {field}")
            if not self.match(inner_pattern, value.fields[field]):
                return False
        return True

    def _must_be_prelude(self, name: str) -> None:
        if name in self.source.shapes or name in self.source.constants or name in self.source.imported:
            raise self.fail(f"{name}, which the file declares anew")

    # Expressions

    def _given(self, node: Given) -> Value:
        return node.value

    def _literal(self, node: ir.Literal) -> Value:
        if isinstance(node.value, bool):
            return Truth(node.value)
        if isinstance(node.value, int):
            of = self.dialect.literal_type(node.type)
            if isinstance(of, IntType) and of.high is not None and not node.value < of.high:
                raise self.fail(f"literal {node.value} that does not fit")
            return Int(node.value, of)
        if isinstance(node.value, str):
            return text_of(node.value)
        return NOTHING

    def _unary(self, node: ir.Unary) -> Value:
        operand = self.evaluate(node.operand)
        if node.operator != "!":
            operand = self.dialect.promoted(self, operand)
        if node.operator == "!":
            if isinstance(operand, Int) and self.dialect.name == "rust":
                return self._complement(operand)
            return Truth(negated(self.truth(operand)))
        if node.operator == "-" and isinstance(operand, Int):
            if operand.type is None or not operand.type.signed:
                if operand.type is not None and operand.type.wraps:
                    return self.fitted(sub(0, operand.term), operand.of)
                raise self.fail("a negative number of an open or unsigned type")
            return self.fitted(sub(0, operand.term), operand.of)
        if node.operator == "~" and isinstance(operand, Int):
            return self._complement(operand)
        raise self.fail(f"operator {node.operator}")

    def _complement(self, operand: Int) -> Value:
        if operand.type is None or operand.type.high is None:
            raise self.fail("a complement of an open type")
        if operand.type.signed:
            return Int(sub(-1, operand.term), operand.of)
        return Int(sub(operand.type.high - 1, operand.term), operand.of)

    def _logic(self, node: ir.Logic) -> Value:
        left = self.evaluate(node.left)
        decided = self.decide(self.truth(left))
        if self.dialect.name == "python":
            return left if decided == (node.operator == "||") else self.evaluate(node.right)
        if decided == (node.operator == "||"):
            return Truth(decided)
        return Truth(self.truth(self.evaluate(node.right)))

    def _chain(self, node: ir.Chain) -> Value:
        left = self.evaluate(node.first)
        for operator, operand in node.rest[:-1]:
            right = self.evaluate(operand)
            if not self.decide(self.truth(self.operate(operator, left, right))):
                return Truth(False)
            left = right
        operator, operand = node.rest[-1]
        return self.operate(operator, left, self.evaluate(operand))

    def _binary(self, node: ir.Binary) -> Value:
        left = self.evaluate(node.left)
        return self.operate(node.operator, left, self.evaluate(node.right))

    def _field(self, node: ir.Field) -> Value:
        value = self.dialect.operand(self, self.evaluate(node.object))
        if isinstance(value, Rec) and node.name in value.fields:
            field = value.fields[node.name]
            if isinstance(field, Opaque):
                raise self.fail(f"field {node.name}: {field.what}")
            return field
        if isinstance(value, Tup) and node.name.isdigit() and int(node.name) < len(value.items):
            return value.items[int(node.name)]
        if isinstance(value, Reverse) and node.name == "0":
            return value.value
        return self.dialect.field(self, value, node.name)

    def _index(self, node: ir.Index) -> Value:
        whole = self.evaluate(node.object)
        index = self.dialect.operand(self, self.evaluate(node.index))
        if isinstance(whole, Row):
            return self._row_of(whole, index)
        if isinstance(whole, Offsets) and isinstance(index, Int):
            return whole.get(self, index.term)
        if isinstance(whole, Pointer) and isinstance(index, Int):
            return whole.memory.get(self, add(whole.offset, index.term))
        if isinstance(whole, Tup) and isinstance(index, Int) and isinstance(index.term, int):
            # Python's negative indices count from the end.
            place = index.term + len(whole.items) if index.term < 0 and self.dialect.name == "python" else index.term
            if 0 <= place < len(whole.items):
                return whole.items[place]
            raise Panicked("an index out of range", self.line)
        if isinstance(whole, Seq) and isinstance(index, Int):
            return self.element(whole, self.checked_index(whole, index))
        if isinstance(whole, Seq) and isinstance(index, Span):
            return self.slice(whole, index)
        raise self.fail("an index")

    def checked_index(self, whole: Seq, index: Int) -> Term:
        """The position, after the check that it is one. Python's negative indices count from the end."""
        if index.type is not None and index.type.bits is None and self.decide(lt(index.term, 0)):
            index = Int(add(index.term, whole.length), index.of)
        self.as_size(index)
        if not self.decide(both(le(0, index.term), lt(index.term, whole.length))):
            raise Panicked("an index out of range", self.line)
        return index.term

    def as_size(self, index: Int) -> None:
        """An index has the word's type; a literal takes it."""
        if index.type is None:
            self.joined(index, Int(0, self.dialect.type_named("usize") or BIG))

    def element(self, seq: Seq, index: Term) -> Value:
        """The element at an index within the length."""
        if seq.items is not None:
            if isinstance(index, int):
                return seq.items[index]
            if not seq.items:
                raise Impossible
            chosen = seq.items[-1]
            for position in range(len(seq.items) - 2, -1, -1):
                try:
                    chosen = merged(eq(index, position), seq.items[position], chosen)
                except Unmergeable as unmergeable:
                    raise self.fail("elements of different form") from unmergeable
            return chosen
        if seq.facts is not None:
            self.assume(implies(both(le(0, index), lt(index, seq.length)), seq.facts(index)))
        if seq.at is None:
            raise self.fail("an element of a sequence that is being built")
        return seq.at(index)

    def slice(self, whole: Seq, span: Span) -> Seq:
        """The part of a sequence; a panic where it leaves it (in Python, what is there)."""
        for end in (span.low, span.high):
            if end is not None:
                self.as_size(end)
        low: Term = 0 if span.low is None else span.low.term
        high: Term = whole.length if span.high is None else span.high.term
        if span.inclusive:
            high = add(high, 1)
        if not self.decide(both(le(0, low), le(low, high), le(high, whole.length))):
            if self.dialect.name == "python":
                raise self.fail("a slice that leaves its sequence")
            raise Panicked("a slice out of range", self.line)
        return self.part(whole, low, high)

    def part(self, whole: Seq, low: Term, high: Term) -> Seq:
        """Elements low to high-1, for 0 <= low <= high <= length."""
        if whole.items is not None and isinstance(low, int) and isinstance(high, int):
            return listed(whole.items[low:high])
        if isinstance(low, int) and low == 0 and self.certain(eq(high, whole.length)):
            return whole
        if whole.items is not None:
            for first in range(len(whole.items) + 1):
                if self.decide(eq(low, first)):
                    for last in range(first, len(whole.items) + 1):
                        if self.decide(eq(high, last)):
                            return listed(whole.items[first:last])
            raise Impossible
        at, facts = whole.at, whole.facts
        if at is None:
            raise self.fail("a slice of a sequence that is being built")
        return Seq(
            length=sub(high, low),
            at=lambda i: at(add(i, low)),
            facts=None if facts is None else lambda i: facts(add(i, low)),
        )

    def appended(self, seq: Seq, item: Value) -> Seq:
        """The sequence with one more element."""
        if seq.items is not None:
            return listed((*seq.items, item))
        base, tail = seq.grown or (seq, ())
        return self.grown(base, (*tail, item))

    def grown(self, base: Seq, tail: tuple[Value, ...]) -> Seq:
        """A sequence of unknown length, then these."""

        def at(index: Term) -> Value:
            if base.at is None:
                raise NotUnderstood("an element of a sequence that is being built", self.line)
            value = tail[-1]
            for position in range(len(tail) - 2, -1, -1):
                value = merged(eq(sub(index, base.length), position), tail[position], value)
            return merged(lt(index, base.length), base.at(index), value)

        return Seq(length=add(base.length, len(tail)), at=at, grown=(base, tail))

    def _tuple(self, node: ir.Tuple) -> Value:
        return Tup(tuple(self.evaluate(item) for item in self.spread(node.items)))

    def _array(self, node: ir.Array) -> Value:
        items = tuple(self.evaluate(item) for item in self.spread(node.items))
        if node.repeat is None:
            return listed(items)
        times = self.integer(self.evaluate(node.repeat))
        self.as_size(times)
        if isinstance(times.term, int) and times.term <= 4096:
            return listed(items * times.term)
        return Seq(length=times.term, at=lambda _: items[0])

    def _struct(self, node: ir.Struct) -> Value:
        name = node.type
        if name in self.source.aliases:
            name = self.source.aliases[name].name
        shape = self.source.shapes.get(name)
        values = {field: self.evaluate(value) for field, value in node.fields}
        if shape is None:
            raise self.fail(f"struct {name}")
        if node.base is not None:
            base = self.evaluate(node.base)
            if not isinstance(base, Rec) or base.type != name:
                raise self.fail("the base of a struct")
            values = {**base.fields, **values}
        return self.record(shape, values)

    def _lambda(self, node: ir.Lambda) -> Value:
        return Closure(node.parameters, node.body, tuple(dict(scope) for scope in self.scopes), node.returns)

    def _comprehension(self, node: ir.Comprehension) -> Value:
        stream = self.stream(self.evaluate(node.iterable))
        captured = tuple(dict(scope) for scope in self.scopes)

        def visit(run: Executor, value: Value) -> Value | None:
            before, floor = run.scopes, run.floor
            run.scopes, run.floor = [*[dict(scope) for scope in captured], {}], len(captured)
            try:
                run.bind(node.pattern, value)
                for condition in node.conditions:
                    if not run.decide(run.truth(run.evaluate(condition))):
                        return None
                return run.evaluate(node.body)
            finally:
                run.scopes, run.floor = before, floor

        return Stream(Comprehended(stream.source, visit, bool(node.conditions)), stream.state)

    def _attempt(self, node: ir.Attempt) -> Value:
        try:
            return self.evaluate(node.body)
        except Panicked as panic:
            for kinds, handler in node.handlers:
                if self.dialect.catches(kinds, panic.why):
                    return self.evaluate(handler)
            raise

    def _spread(self, node: ir.Spread) -> Value:
        raise self.fail("`*` outside a call or a list")

    def spread(self, nodes: tuple[ir.Node, ...]) -> tuple[ir.Node, ...]:
        """Arguments or items with `*` written out."""
        if not any(isinstance(node, ir.Spread) for node in nodes):
            return nodes
        out: list[ir.Node] = []
        for node in nodes:
            if not isinstance(node, ir.Spread):
                out.append(Given(self.evaluate(node), line=node.line))
                continue
            items = self.pulled(self.stream(self.evaluate(node.operand)))
            out += [Given(item, line=node.line) for item in items]
        return tuple(out)

    def _range(self, node: ir.Range) -> Value:
        low = None if node.low is None else self.integer(self.evaluate(node.low))
        high = None if node.high is None else self.integer(self.evaluate(node.high))
        if low is not None and high is not None:
            self.joined(low, high)
        return Span(low, high, node.inclusive)

    def span_stream(self, span: Span) -> Stream:
        """A range as an iterator."""
        if span.low is None or span.high is None:
            raise self.fail("a range without ends")
        of = self.joined(span.low, span.high)
        high = span.high.term
        if span.inclusive:
            # The element after the last is never made, so the end may lie beyond the type.
            high = add(high, 1)
        return Stream(OfSpan(span.low.term, high, of), 0)

    def _cast(self, node: ir.Cast) -> Value:
        return self.dialect.cast(self, self.evaluate(node.operand), node.type)

    def _borrow(self, node: ir.Borrow) -> Value:
        if node.mutable:
            raise self.fail("`&mut` outside a call")
        return self.evaluate(node.operand)

    def _try(self, node: ir.Try) -> Value:
        value = self.option(self.evaluate(node.operand))
        if self.decide(value.present):
            if value.value is None:
                raise Impossible
            return value.value
        raise Returning(Opt(False, None, value.error))

    def _is(self, node: ir.Is) -> Value:
        if not self.match(node.pattern, self.evaluate(node.value)):
            return Truth(False)
        return Truth(True) if node.guard is None else self.evaluate(node.guard)

    def _if(self, node: ir.If) -> Value:
        self.scopes.append({})
        try:
            holds = self.decide(self.truth(self.evaluate(node.condition)))
            if holds:
                return self.evaluate(node.then)
        finally:
            self.scopes.pop()
        return UNIT if node.otherwise is None else self.evaluate(node.otherwise)

    def _match(self, node: ir.Match) -> Value:
        subject = self.evaluate(node.subject)
        for pattern, guard, body in _arms(node):
            self.scopes.append({})
            try:
                if self.match(pattern, subject) and (guard is None or self.decide(self.truth(self.evaluate(guard)))):
                    return self.evaluate(body)
            finally:
                self.scopes.pop()
        raise Impossible  # a match is exhaustive, or the file would not compile

    def _block(self, node: ir.Block) -> Value:
        if not node.scoped:
            for statement in node.statements:
                self.evaluate(statement)
            return UNIT if node.value is None else self.evaluate(node.value)
        declared: Scope = {name: FunctionValue(function) for name, function in node.functions.items()}
        declared |= {name: _Constant(constant) for name, constant in node.constants.items()}
        depth = len(self.scopes)
        self.scopes.append(declared)
        try:
            for statement in node.statements:
                self.evaluate(statement)
            return UNIT if node.value is None else self.evaluate(node.value)
        finally:
            del self.scopes[depth:]

    # Statements

    def _let(self, node: ir.Let) -> Value:
        if node.value is None:
            if not isinstance(node.pattern, ir.Bind):
                raise self.fail("a declaration without value")
            self.scopes.append({node.pattern.name: self.dialect.uninitialised(self, node.type)})
            return UNIT
        value = self.evaluate(node.value)
        if node.type is not None:
            value = self.dialect.converted(self, value, node.type)
        # A scope of its own, so that a closure made before keeps what it captured.
        self.scopes.append({})
        if node.otherwise is None:
            self.bind(node.pattern, value)
        elif not self.match(node.pattern, value):
            self.scopes.pop()
            self.evaluate(node.otherwise)
            raise self.fail("`let else` that does not leave")
        return UNIT

    def _while(self, node: ir.While) -> Value:
        def turn() -> bool:
            self.scopes.append({})
            depth = len(self.scopes)
            try:
                if not self.decide(self.truth(self.evaluate(node.condition))):
                    return False
                try:
                    self.evaluate(node.body)
                except Continuing as leave:
                    if leave.label not in (None, node.label):
                        raise
                if node.step is not None:
                    self.evaluate(node.step)
                return True
            finally:
                del self.scopes[depth - 1 :]

        return self._looped(node.label, turn)

    def _for(self, node: ir.For) -> Value:
        stream = self.stream(self.evaluate(node.iterable))
        depth = len(self.scopes)
        hidden = f"#for {node.line}.{depth}"
        self.scopes.append({hidden: stream})

        def turn() -> bool:
            at = self.scopes[depth][hidden]
            if not isinstance(at, Stream):
                raise self.fail("a loop")
            value, state = at.source.pull(self, at.state)
            self.scopes[depth][hidden] = Stream(at.source, state)
            if value is None:
                return False
            try:
                if self.dialect.name != "python":
                    self.scopes.append({})
                self.bind(node.pattern, value)
                self.evaluate(node.body)
            except Continuing as leave:
                if leave.label not in (None, node.label):
                    raise
            finally:
                del self.scopes[depth + 1 :]
            return True

        if self.dialect.name == "python":
            # Its loop variables belong to the function.
            turn = self._python_turn(node, hidden)
        try:
            left = self._looped(node.label, turn)
        finally:
            del self.scopes[depth:]
        return left

    def _python_turn(self, node: ir.For, hidden: str) -> Callable[[], bool]:
        scope = self.scopes[-1]
        stream = scope[hidden]
        self.scopes.pop()
        self.scopes[-1][hidden] = stream

        def turn() -> bool:
            at = self.scopes[-1][hidden]
            if not isinstance(at, Stream):
                raise self.fail("a loop")
            value, state = at.source.pull(self, at.state)
            self.scopes[-1][hidden] = Stream(at.source, state)
            if value is None:
                if node.otherwise is not None:
                    self.evaluate(node.otherwise)
                return False
            self.bind(node.pattern, value)
            try:
                self.evaluate(node.body)
            except Continuing as leave:
                if leave.label is not None:
                    raise
            return True

        return turn

    def _looped(self, label: str | None, turn: Callable[[], bool]) -> Value:
        try:
            loops.repeat(self, turn)
        except Breaking as leave:
            if leave.label not in (None, label):
                raise
            return leave.value
        return UNIT

    def _break(self, node: ir.Break) -> Value:
        raise Breaking(node.label, UNIT if node.value is None else self.evaluate(node.value))

    def _continue(self, node: ir.Continue) -> Value:
        raise Continuing(node.label)

    def _return(self, node: ir.Return) -> Value:
        raise Returning(UNIT if node.value is None else self.evaluate(node.value))

    def _assert(self, node: ir.Assert) -> Value:
        if node.debug_only and self.profile is Profile.RELEASE:
            return UNIT
        if not self.decide(self.truth(self.evaluate(node.condition))):
            raise Panicked("an assertion fails", node.line)
        return UNIT

    def _panic(self, node: ir.Panic) -> Value:
        raise Panicked(node.why, node.line)

    def _unknown(self, node: ir.Unknown) -> Value:
        raise NotUnderstood(node.what, node.line)

    # Kernels

    def _eachrow(self, node: ir.EachRow) -> Value:
        row = self.variable("#row")
        bound = self.integer(self.evaluate(node.bound))
        if not isinstance(row, Int) or not self.certain(lt(row.term, bound.term)):
            raise self.fail("a loop over rows that are not those of the arguments")
        self.scopes.append({node.name: row})
        try:
            self.evaluate(node.body)
        except Continuing as leave:
            if leave.label is not None:
                raise
        except Breaking as leave:
            raise self.fail("a break out of a loop over rows") from leave
        finally:
            self.scopes.pop()
        return UNIT

    def _shared(self, node: ir.Shared) -> Value:
        if not isinstance(self.evaluate(node.start), Lane):
            return self.evaluate(node.alone)
        step, bound = self.evaluate(node.step), self.integer(self.evaluate(node.bound))
        if not isinstance(step, Int) or step.term != Lane.COUNT:
            raise self.fail("lanes that share a loop by another step")
        if not isinstance(bound.term, int):
            raise self.fail("a loop of any length that lanes share")

        # Each turn is one lane's. What it writes to memory no other turn may write and none may read, which `Memory` sees to;
        # its variables are its own.
        def turns() -> None:
            for position in range(int(str(bound.term))):
                counter = Int(position, bound.of)
                self.scopes.append({node.name: counter})
                try:
                    self.evaluate(node.body)
                    if self.scopes[-1].get(node.name) is not counter:
                        raise self.fail("a shared loop that changes its counter")
                except Continuing as leave:
                    if leave.label is not None:
                        raise
                except (Breaking, Returning) as leave:
                    raise self.fail("a lane that leaves a shared loop") from leave
                finally:
                    self.scopes.pop()

        self._by_one_lane(turns, frozenset())
        return UNIT

    def _once(self, node: ir.Once) -> Value:
        if not isinstance(self.evaluate(node.lane), Lane):
            return self.evaluate(node.alone)
        self._by_one_lane(lambda: self.evaluate(node.then), frozenset(["status"]))
        return UNIT

    def _by_one_lane(self, run: Callable[[], object], written: frozenset[str]) -> None:
        """Runs what a lane does alone: it sees no lane, and changes no variable but the results named."""
        if self.alone:
            raise self.fail("lanes told apart inside what one lane does")
        before, depth = self.snapshot(), len(self.scopes)
        self.alone = True
        try:
            run()
        finally:
            self.alone = False
        for old, new in zip(before, self.scopes[:depth], strict=True):
            if any(value is not new.get(name) and not (name in written and isinstance(value, Row)) for name, value in old.items()):
                raise self.fail("a variable that one lane changes")

    def _row_of(self, whole: Row, index: Value) -> Value:
        if not isinstance(index, Int) or not self.certain(eq(index.term, whole.index)) or isinstance(whole.value, Unset):
            raise self.fail("an element of another row, or one that has no value yet")
        if whole.writable and self.merges_calls:
            raise self.fail("a result read, which lanes write")
        return whole.value

    def _row_given(self, whole: Row, index: Value, value: Value) -> Row:
        if not whole.writable or not isinstance(index, Int) or not self.certain(eq(index.term, whole.index)):
            raise self.fail("a write to another row, or to an argument")
        kept = self.dialect.converted(self, value, whole.type)
        return Row(whole.index, kept, whole.type, True)

    # Streams

    def stream(self, value: Value) -> Stream:
        """What a loop runs over."""
        match value:
            case Stream():
                return value
            case Seq():
                return over(value)
            case Tup():
                return over(listed(value.items))
            case Span():
                return self.span_stream(value)
        raise self.fail(f"a loop over {type(value).__name__}")

    def consume(self, stream: Stream, accumulator: Value, visit: Callable[[Value, Value], tuple[Value, bool]]) -> Value:
        """Pulls a stream to its end. `visit` takes what is accumulated and an element, and says whether to go on."""
        depth = len(self.scopes)
        # What the closures of the stream capture they hold themselves, so the loop starts from empty scopes.
        self.scopes.append({"#stream": stream, "#sum": accumulator})

        def turn() -> bool:
            scope = self.scopes[depth]
            at = scope["#stream"]
            if not isinstance(at, Stream):
                raise self.fail("a loop")
            value, state = at.source.pull(self, at.state)
            scope = self.scopes[depth]
            scope["#stream"] = Stream(at.source, state)
            if value is None:
                return False
            scope["#sum"], more = visit(scope["#sum"], value)
            return more

        try:
            loops.repeat(self, turn)
            return self.scopes[depth]["#sum"]
        finally:
            del self.scopes[depth:]

    def seek(self, source: StreamSource, state: Any, accept: Callable[[Value], Value | None]) -> tuple[Value | None, Any]:
        """Pulls until `accept` makes something of an element: that, and the state after it."""
        depth = len(self.scopes)
        self.scopes.append({"#stream": Stream(source, state), "#found": NOTHING})

        def turn() -> bool:
            scope = self.scopes[depth]
            at = scope["#stream"]
            if not isinstance(at, Stream):
                raise self.fail("a loop")
            value, after = at.source.pull(self, at.state)
            scope = self.scopes[depth]
            scope["#stream"] = Stream(source, after)
            if value is None:
                return False
            made = accept(value)
            if made is None:
                return True
            self.scopes[depth]["#found"] = Opt(True, made)
            return False

        try:
            loops.repeat(self, turn)
            at, found = self.scopes[depth]["#stream"], self.scopes[depth]["#found"]
            if not isinstance(at, Stream) or not isinstance(found, Opt):
                raise self.fail("a loop")
            return found.value, at.state
        finally:
            del self.scopes[depth:]

    def pulled(self, stream: Stream) -> tuple[Value, ...]:
        """All elements of a stream whose length is known or bounded."""
        if self.unbounded and not (stream.source.indexed and isinstance(stream.source.remaining(stream.state), int)):
            raise self.fail("a stream of any length")
        items: list[Value] = []
        state = stream.state
        while True:
            self.spend()
            value, state = stream.source.pull(self, state)
            if value is None:
                return tuple(items)
            items.append(value)

    def collected(self, stream: Stream) -> Seq:
        """A sequence of all elements of a stream."""
        source, state = stream.source, stream.state
        if not self.unbounded or not source.indexed or isinstance(source.remaining(state), int):
            return listed(self.pulled(stream))
        length = source.remaining(state)
        return self.family(length, lambda index: source.peek(self, state, index))

    def family(self, length: Term, element: Callable[[Term], Value]) -> Seq:
        """A sequence given by its element at any index, which must not panic."""
        index = z3.Int(self.fresh("index"))

        def generic() -> Value:
            self.assume(both(le(0, index), lt(index, length)))
            return self.pure(lambda: element(index))

        value, facts = self.any_element(generic)
        if self.strangers([*facts, *terms_in(value)], index):
            raise self.fail("elements that rest on a number of their own")

        def at(i: Term) -> Value:
            return substituted(value, index, i)

        def of(i: Term) -> Cond:
            return settled(z3.substitute(z3.And(facts), (index, term(i)))) if facts else True

        return Seq(length=length, at=at, facts=of)

    def any_element(self, generic: Callable[[], Value]) -> tuple[Value, list[z3.BoolRef]]:
        """What `generic` gives on its only path, and the facts it found after the first, its own premise."""
        before = self.snapshot()
        paths = self.explore(generic)
        self.restore(before)
        (path,) = paths
        if isinstance(path.end, Leave):
            raise NotUnderstood(getattr(path.end, "what", "a panic that depends on an element"), self.line)
        return path.end, list(path.facts[1:])

    def chunks(self, parts: Seq) -> Seq:
        """The elements of sequences of one known size, one after the other."""
        sample = self.any_element(lambda: self.sample(parts))[0]
        if not isinstance(sample, Seq) or sample.items is None or not sample.items:
            raise self.fail("sequences of unknown size put together")
        size = len(sample.items)

        def at(i: Term) -> Value:
            part = parts.at(floor_div(i, size)) if parts.at is not None else sample
            if not isinstance(part, Seq) or part.items is None:
                raise self.fail("sequences of unknown size put together")
            value = part.items[-1]
            for position in range(size - 2, -1, -1):
                value = merged(eq(modulo(i, size), position), part.items[position], value)
            return value

        return Seq(length=mul(size, parts.length), at=at)

    def sample(self, parts: Seq) -> Value:
        """Any element."""
        index = z3.Int(self.fresh("sample"))
        self.assume(both(le(0, index), lt(index, parts.length)))
        return self.element(parts, index)

    # Arithmetic

    def joined(self, left: Int, right: Int) -> IntType | Cell:
        """The common type of two integers; a literal takes the other's."""
        try:
            return joined(left, right)
        except Unmergeable as unmergeable:
            raise self.fail(str(unmergeable)) from unmergeable

    def fitted(self, ideal: Term, of: IntType | Cell) -> Int:
        """The ideal result of an operation as a machine gives it, or a panic."""
        type_ = of.type if isinstance(of, Cell) else of
        if type_ is None:
            # The type of two literals is open; every type holds this range.
            if isinstance(ideal, int) and 0 <= ideal < 128:
                return Int(ideal, of)
            raise self.fail("an integer whose type is open")
        low, high, bits = type_.low, type_.high, type_.bits
        if low is None or high is None or bits is None:
            return Int(ideal, of)
        known = spread(ideal)
        if known is not None and low <= known[0] and known[1] < high:
            return Int(ideal, of)
        if self.decide(both(le(low, ideal), lt(ideal, high))):
            return Int(ideal, of)
        if type_.signed and self.dialect.name == "cuda":
            raise self.fail("signed overflow, which has no meaning")
        if self.profile is Profile.DEBUG and not type_.wraps:
            raise Panicked("arithmetic overflow", self.line)
        return Int(self.wrapped(ideal, type_), of)

    def wrapped(self, ideal: Term, type_: IntType) -> Term:
        """The residue that the type holds."""
        if type_.bits is None:
            return ideal
        size = 2**type_.bits
        residue = modulo(ideal, size)
        if not type_.signed:
            return residue
        return pick(lt(residue, size // 2), residue, sub(residue, size))

    def operate(self, operator: str, left: Value, right: Value) -> Value:
        """A binary operation on values."""
        own = self.dialect.binary(self, operator, left, right)
        if own is not None:
            return own
        left, right = self.dialect.meet(self, left, right)
        match operator:
            case "==":
                return Truth(self.equal(left, right))
            case "!=":
                return Truth(negated(self.equal(left, right)))
            case "<":
                return Truth(self.less(left, right))
            case ">":
                return Truth(self.less(right, left))
            case "<=":
                return Truth(negated(self.less(right, left)))
            case ">=":
                return Truth(negated(self.less(left, right)))
        if isinstance(left, Truth) and isinstance(right, Truth):
            match operator:
                case "&":
                    return Truth(both(left.term, right.term))
                case "|":
                    return Truth(either(left.term, right.term))
                case "^":
                    return Truth(negated(same_truth(left.term, right.term)))
        if isinstance(left, Int) and isinstance(right, Int):
            return self._arithmetic(operator, left, right)
        raise self.fail(f"{operator} of {type(left).__name__} and {type(right).__name__}")

    def _arithmetic(self, operator: str, left: Int, right: Int) -> Value:
        if operator in ("<<", ">>"):
            return self._shifted(operator, self.integer(self.dialect.promoted(self, left)), right)
        of = self.joined(left, right)
        match operator:
            case "+":
                return self.fitted(add(left.term, right.term), of)
            case "-":
                return self.fitted(sub(left.term, right.term), of)
            case "*":
                return self.fitted(mul(left.term, right.term), of)
            case "/" | "%" | "//":
                if self.decide(eq(right.term, 0)):
                    if self.dialect.name == "cuda":
                        raise self.fail("division by zero, which has no meaning")
                    raise Panicked("division by zero", self.line)
                return self.fitted(self.dialect.divided(self, operator, left, right), of)
            case "&" | "|" | "^":
                return Int(self._bitwise(operator, left, right, of), of)
        raise self.fail(f"operator {operator}")

    def _shifted(self, operator: str, left: Int, right: Int) -> Value:
        type_ = left.type
        if type_ is BIG and isinstance(right.term, int) and 0 <= right.term <= 4096:
            size = int(2**right.term)
            return Int(mul(left.term, size) if operator == "<<" else floor_div(left.term, size), BIG)
        if type_ is None or type_.bits is None or type_.signed or not isinstance(right.term, int):
            raise self.fail("a shift of an open or signed number, or by an unknown one")
        if not 0 <= right.term < type_.bits:
            if self.dialect.name == "rust" and self.profile is Profile.DEBUG:
                raise Panicked("a shift beyond the width", self.line)
            raise self.fail("a shift beyond the width")
        if operator == "<<":
            return Int(self.wrapped(mul(left.term, 2**right.term), type_), left.of)
        return Int(floor_div(left.term, 2**right.term), left.of)

    def _bitwise(self, operator: str, left: Int, right: Int, of: IntType | Cell) -> Term:
        if isinstance(left.term, int) and isinstance(right.term, int) and min(left.term, right.term) >= 0:
            whole = {"&": left.term & right.term, "|": left.term | right.term, "^": left.term ^ right.term}
            return whole[operator]
        type_ = of.type if isinstance(of, Cell) else of
        if type_ is None or type_.bits is None or type_.signed:
            raise self.fail("bits of an open or signed number")
        if operator == "&":
            for value, mask in ((left.term, right.term), (right.term, left.term)):
                if isinstance(mask, int) and (mask + 1) & mask == 0:
                    return modulo(value, mask + 1)
        a, b = (z3.Int2BV(term(value), type_.bits) for value in (left.term, right.term))
        bits = {"&": a & b, "|": a | b, "^": a ^ b}[operator]
        # What the bits denote is named, so that the rest stays linear.
        number = z3.Int(self.fresh("bits"))
        self.assume(z3.And(number == z3.BV2Int(bits), number >= 0, number < 2**type_.bits))
        # What follows of it without bits is said too, since that is often all that matters.
        x, y = term(left.term), term(right.term)
        follows = {
            "&": z3.And(number <= x, number <= y),
            "|": z3.And(number >= x, number >= y, number <= x + y),
            "^": z3.And((number == 0) == (x == y), number <= x + y),
        }
        self.assume(follows[operator])
        return number

    # Comparison

    def same_form(self, left: Value, right: Value) -> Cond:
        """Equality in a pattern."""
        return self.equal(left, right)

    def equal(self, left: Value, right: Value) -> Cond:
        """`left == right`, where the language defines it by structure."""
        match left, right:
            case Int(), Int():
                self.joined(left, right)
                return eq(left.term, right.term)
            case Truth(), Truth():
                return same_truth(left.term, right.term)
            case Order(), Order():
                return eq(left.term, right.term)
            case Tup(), Tup() if len(left.items) == len(right.items):
                return both(*[self.equal(a, b) for a, b in zip(left.items, right.items, strict=True)])
            case Reverse(), Reverse():
                return self.equal(left.value, right.value)
            case Case(), Case() if left.type == right.type:
                shape = self.source.shapes.get(left.type)
                if shape is None or not shape.compared:
                    raise self.fail(f"equality of {left.type}")
                return left.name == right.name
            case Rec(), Rec() if left.type == right.type:
                shape = self.source.shapes.get(left.type)
                if shape is None or not shape.compared:
                    raise self.fail(f"equality of {left.type}")
                return both(*[self.equal(v, right.fields[k]) for k, v in left.fields.items()])
            case Opt(), Opt() if left.error is None and right.error is None:
                if left.value is None or right.value is None:
                    return both(negated(left.present), negated(right.present))
                inside = self.equal(left.value, right.value)
                return either(both(left.present, right.present, inside), both(negated(left.present), negated(right.present)))
            case Seq(items=tuple() as a), Seq(items=tuple() as b):
                return len(a) == len(b) and both(*[self.equal(x, y) for x, y in zip(a, b, strict=True)])
            case Chars(), Chars():
                a, b = self.characters(left), self.characters(right)
                return len(a) == len(b) and both(*[self.equal(x, y) for x, y in zip(a, b, strict=True)])
        raise self.fail(f"equality of {type(left).__name__} and {type(right).__name__}")

    def less(self, left: Value, right: Value) -> Cond:
        """`left < right`, where the language defines it by structure."""
        match left, right:
            case Int(), Int():
                self.joined(left, right)
                return lt(left.term, right.term)
            case Truth(), Truth():
                return both(negated(left.term), right.term)
            case Order(), Order():
                return lt(left.term, right.term)
            case Tup(), Tup() if len(left.items) == len(right.items):
                return self._less_items(left.items, right.items)
            case Rec(), Rec() if left.type == right.type:
                shape = self.source.shapes.get(left.type)
                if shape is None or not shape.ordered:
                    raise self.fail(f"order of {left.type}")
                fields = [field for field, _ in shape.fields]
                return self._less_items(tuple(left.fields[f] for f in fields), tuple(right.fields[f] for f in fields))
            case Reverse(), Reverse():
                return self.less(right.value, left.value)
            case Opt(), Opt() if left.error is None and right.error is None:
                if right.value is None:
                    return False
                if left.value is None:
                    return right.present
                inside = self.less(left.value, right.value)
                return both(right.present, either(negated(left.present), inside))
        raise self.fail(f"order of {type(left).__name__} and {type(right).__name__}")

    def _less_items(self, left: tuple[Value, ...], right: tuple[Value, ...]) -> Cond:
        if not left:
            return False
        first = self.less(left[0], right[0])
        return either(first, both(self.equal(left[0], right[0]), self._less_items(left[1:], right[1:])))

    def compared(self, left: Value, right: Value) -> Order:
        """`left.cmp(right)`."""
        return Order(pick(self.less(left, right), -1, pick(self.equal(left, right), 0, 1)))

    # Text

    def characters(self, text: Chars) -> tuple[Value, ...]:
        """The characters of a text whose length is known."""
        if text.base.items is None or not isinstance(text.start, int) or not isinstance(text.end, int):
            raise self.fail("characters of a text of any length")
        return text.base.items[text.start : text.end]


class Given(ir.Node):
    """A value where a node is expected."""

    def __init__(self, value: Value, line: int) -> None:
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "line", line)

    value: Value


class _Constant(Value):
    """A constant declared in a block."""

    def __init__(self, constant: ir.Constant) -> None:
        self.constant = constant


class Unset(Value):
    """A variable that has no value yet."""

    def __init__(self, type_: ir.Type | None) -> None:
        self.type = type_


CHARACTER = IntType(21)
"""A Unicode scalar value."""


def text_of(text: str) -> Chars:
    """A known text."""
    items = listed(tuple(Int(ord(c), CHARACTER) for c in text))
    return Chars(items, 0, len(text))


class Lane(Value):
    """The number of a thread in its warp, of which nothing may be made but the start of a shared loop, or a choice of one."""

    COUNT = 32


class Memory:
    """The part of an array that belongs to one row: `size` elements from index `base` on. Inputs are not writable."""

    def __init__(self, name: str, base: Term, items: list[Value], type_: ir.Type, writable: bool) -> None:
        self.name = name
        self.base = base
        self.items = items
        self.type = type_
        self.writable = writable
        self.written: list[Term] = []

    def position(self, run: Executor, index: Term) -> Term:
        """The place in the row of an index of the array; not understood where it may lie outside."""
        place = sub(index, self.base)
        if not run.certain(both(le(0, place), lt(place, len(self.items)))):
            raise run.fail(f"an element of {self.name} beyond its row")
        return place

    def get(self, run: Executor, index: Term) -> Value:
        """An element of an input."""
        if self.writable:
            raise run.fail(f"{self.name} read, which lanes write")
        return run.element(listed(tuple(self.items)), self.position(run, index))

    def set(self, run: Executor, index: Term, value: Value) -> None:
        """Writes an element of a result, which no lane has written before."""
        place = self.position(run, index)
        if run.merging:
            raise run.fail(f"an element of {self.name} written where a truth value is asked")
        if not self.writable or not run.certain(both(*[negated(eq(place, other)) for other in self.written])):
            raise run.fail(f"an element of {self.name} written twice, or of an argument")
        self.written.append(place)
        kept = run.dialect.converted(run, value, self.type)
        self.items = [merged(eq(place, i), kept, item) for i, item in enumerate(self.items)]


class Pointer(Value):
    """A place in an array."""

    def __init__(self, memory: Memory, offset: Term) -> None:
        self.memory = memory
        self.offset = offset


class Offsets(Value):
    """Where the rows of a ragged array begin, of which only this row's begin and end are looked at."""

    def __init__(self, row: Term, begin: Int, end: Int) -> None:
        self.row = row
        self.begin = begin
        self.end = end

    def get(self, run: Executor, index: Term) -> Value:
        """The begin of the row, or that of the next."""
        if run.certain(eq(index, self.row)):
            return self.begin
        if run.certain(eq(index, add(self.row, 1))):
            return self.end
        raise run.fail("an offset of another row")


class Row(Value):
    """A kernel's array, of which only the element of one row is looked at."""

    def __init__(self, index: Term, value: Value, type_: ir.Type, writable: bool) -> None:
        self.index = index
        self.value = value
        self.type = type_
        self.writable = writable


def _arms(node: ir.Match) -> Iterator[tuple[ir.Pattern, ir.Node | None, ir.Node]]:
    """The arms in order; a guard is asked again for each alternative of its pattern."""
    for pattern, guard, body in node.arms:
        for alternative in [pattern] if guard is None else _alternatives(pattern):
            yield alternative, guard, body


def _alternatives(pattern: ir.Pattern) -> list[ir.Pattern]:
    match pattern:
        case ir.AnyOf():
            return [each for part in pattern.alternatives for each in _alternatives(part)]
        case ir.Bind(inner=ir.Pattern() as inner):
            return [replace(pattern, inner=each) for each in _alternatives(inner)]
        case ir.Items():
            return [replace(pattern, items=items) for items in product(*map(_alternatives, pattern.items))]
        case ir.Variant():
            names = [name for name, _ in pattern.fields]
            parts = product(*(_alternatives(part) for _, part in pattern.fields))
            return [replace(pattern, fields=tuple(zip(names, each, strict=True))) for each in parts]
    return [pattern]


def _root(node: ir.Node) -> str:
    while isinstance(node, (ir.Field, ir.Index)):
        node = node.object
    return node.name if isinstance(node, ir.Name) else ""


def _is_place(node: ir.Node) -> bool:
    if isinstance(node, ir.Name):
        return True
    if isinstance(node, ir.Borrow):
        return _is_place(node.operand)
    return isinstance(node, (ir.Field, ir.Index)) and _is_place(node.object)


__all__ = [
    "CHARACTER",
    "Dialect",
    "Executor",
    "Lane",
    "Memory",
    "Mutated",
    "Offsets",
    "Pointer",
    "Returning",
    "Row",
    "Unset",
    "text_of",
]
