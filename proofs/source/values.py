"""What the executor computes with: typed machine integers, options, tuples, structs, sequences, streams, closures.

All values are immutable; a mutating method gives the new value of its receiver. A sequence of known length holds its items;
one of unknown length is a family, an element for each index. `Opaque` stands for what is not modelled: it equals nothing,
not even itself, and any use of it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import z3

from proofs.source.ir import Node, Type
from proofs.source.terms import Cond, Term, cond, folded, pick, pick_truth, settled, term

if TYPE_CHECKING:
    from proofs.source.ir import Function


@dataclass(frozen=True)
class IntType:
    """A machine integer; `bits` None is Python's, which never overflows."""

    bits: int | None
    signed: bool = False
    wraps: bool = False
    """Unsigned arithmetic wraps in every build (C's unsigned types)."""

    @property
    def low(self) -> int | None:
        """The least value."""
        if self.bits is None:
            return None
        return -(2 ** (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int | None:
        """The value after the greatest."""
        if self.bits is None:
            return None
        return int(2 ** (self.bits - 1 if self.signed else self.bits))

    def __str__(self) -> str:
        return "int" if self.bits is None else f"{'i' if self.signed else 'u'}{self.bits}"


BIG = IntType(None, True)


@dataclass(eq=False)
class Cell:
    """The type of an integer literal without suffix, once its use settles it; literals used together share one."""

    settled: IntType | None = None
    joined: Cell | None = None

    def root(self) -> Cell:
        """The cell that speaks for all joined ones."""
        return self if self.joined is None else self.joined.root()

    @property
    def type(self) -> IntType | None:
        """What the uses so far have settled."""
        return self.root().settled


class Value:
    """Any value."""


@dataclass(frozen=True)
class Int(Value):
    """An integer of a type."""

    term: Term
    of: IntType | Cell

    @property
    def type(self) -> IntType | None:
        """Its type, None while a literal's is open."""
        return self.of.type if isinstance(self.of, Cell) else self.of


@dataclass(frozen=True)
class Truth(Value):
    """A truth value."""

    term: Cond


@dataclass(frozen=True)
class Tup(Value):
    """A tuple."""

    items: tuple[Value, ...] = ()


UNIT = Tup()


@dataclass(frozen=True)
class Rec(Value):
    """A struct of the named type."""

    type: str
    fields: Mapping[str, Value]


@dataclass(frozen=True)
class Case(Value):
    """A unit variant of an enum of the file."""

    type: str
    name: str


@dataclass(frozen=True)
class Opt(Value):
    """`Some(value)` if present, else `None`; with `error`, `Ok(value)` or `Err(error)`."""

    present: Cond
    value: Value | None
    error: Value | None = None


NOTHING = Opt(False, None)


@dataclass(frozen=True)
class Order(Value):
    """`Less`, `Equal`, `Greater` as -1, 0, 1."""

    term: Term


@dataclass(frozen=True)
class Opaque(Value):
    """Something that is not modelled, and what it is."""

    what: str


@dataclass(frozen=True)
class Seq(Value):
    """A sequence: `items` where its length is known, else `at` for each index (the executor reads it through `element`)."""

    length: Term
    items: tuple[Value, ...] | None = None
    at: Callable[[Term], Value] | None = None
    facts: Callable[[Term], Cond] | None = None
    """What holds of the element at an index within the length."""
    grown: tuple[Seq, tuple[Value, ...]] | None = None
    """If elements were appended to a sequence of unknown length: that sequence, and they."""


def listed(items: tuple[Value, ...]) -> Seq:
    """A sequence written out."""
    return Seq(length=len(items), items=items)


@dataclass(frozen=True)
class Chars(Value):
    """Text, as a window [start, end) on a sequence of Unicode scalar values."""

    base: Seq
    start: Term
    end: Term
    origin: Any = None
    """The spec's own sequence, for text of unknown length."""


@dataclass(frozen=True)
class OsText(Value):
    """An environment value: text if `utf8`."""

    utf8: Cond
    text: Chars


@dataclass(frozen=True)
class Span(Value):
    """A range of integers as written."""

    low: Int | None
    high: Int | None
    inclusive: bool = False


@dataclass(frozen=True)
class Closure(Value):
    """A function with what it captured."""

    parameters: tuple[tuple[Any, Type | None], ...]
    body: Node
    scopes: tuple[Mapping[str, Value], ...]
    returns: Type | None = None


@dataclass(frozen=True)
class FunctionValue(Value):
    """A declared function as a value."""

    function: Function


@dataclass(frozen=True)
class Builtin(Value):
    """A function or type of the language, by name, as a value."""

    name: str


@dataclass(frozen=True)
class Reverse(Value):
    """`std::cmp::Reverse`: the opposite order."""

    value: Value


@dataclass(frozen=True)
class Stream(Value):
    """An iterator: where it stands, and a source that is asked for what comes next.

    `indexed` streams know how many elements are left and give any of them; others (`filter`, `take_while`) are only pulled.
    """

    source: StreamSource
    state: Any


class StreamSource:
    """How a stream goes on: `pull` gives the next element (None at the end) and the state after it."""

    indexed = False

    def inner(self, state: Any) -> tuple[tuple[StreamSource, Any], ...]:
        """The streams that this one is made of, with their states, where their lengths bound its own."""
        return ()

    def pull(self, run: Any, state: Any) -> tuple[Value | None, Any]:
        raise NotImplementedError

    def remaining(self, state: Any) -> Term:
        """How many elements are left (indexed streams)."""
        raise NotImplementedError

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        """The element `ahead` of the state (indexed streams)."""
        raise NotImplementedError

    def advance(self, state: Any, by: Term) -> Any:
        """The state after so many elements (indexed streams)."""
        raise NotImplementedError


class Unmergeable(Exception):
    """Two values have no common form."""


def joined(left: Int, right: Int) -> IntType | Cell:
    """The common type of two integers; a literal takes the other's. Unmergeable if there is none."""
    if left.of is right.of:
        return left.of
    if left.type is not None and right.type is not None:
        if left.type != right.type:
            raise Unmergeable(f"integers of type {left.type} and {right.type}")
        return left.type
    if left.type is None and right.type is None and isinstance(left.of, Cell) and isinstance(right.of, Cell):
        if left.of.root() is not right.of.root():
            left.of.root().joined = right.of.root()
        return right.of.root()
    literal, typed = (left, right) if left.type is None else (right, left)
    type_ = typed.type
    if not isinstance(literal.of, Cell) or type_ is None:
        raise Unmergeable("integers of open type")
    low, high, value = type_.low, type_.high, literal.term
    if low is not None and high is not None and not (isinstance(value, int) and low <= value < high):
        raise Unmergeable(f"a literal that does not fit {type_}")
    literal.of.root().settled = type_
    return type_


def merged(which: Cond, left: Value, right: Value) -> Value:
    """left if which else right, as one value. Unmergeable if their shapes differ."""
    if isinstance(which, bool):
        return left if which else right
    match left, right:
        case Int(), Int():
            return Int(pick(which, left.term, right.term), joined(left, right))
        case Truth(), Truth():
            return Truth(pick_truth(which, left.term, right.term))
        case Order(), Order():
            return Order(pick(which, left.term, right.term))
        case Tup(), Tup() if len(left.items) == len(right.items):
            return Tup(tuple(merged(which, a, b) for a, b in zip(left.items, right.items, strict=True)))
        case Rec(), Rec() if left.type == right.type and left.fields.keys() == right.fields.keys():
            return Rec(left.type, {k: merged(which, v, right.fields[k]) for k, v in left.fields.items()})
        case Reverse(), Reverse():
            return Reverse(merged(which, left.value, right.value))
        case Case(), Case() if left == right:
            return left
        case Opt(), Opt():
            if left.value is None or right.value is None:
                value = left.value or right.value
            else:
                value = merged(which, left.value, right.value)
            return Opt(pick_truth(which, left.present, right.present), value, left.error or right.error)
        case Seq(items=tuple() as a), Seq(items=tuple() as b) if len(a) == len(b):
            return listed(tuple(merged(which, x, y) for x, y in zip(a, b, strict=True)))
    if left == right and isinstance(left, (Chars, Builtin, FunctionValue)):
        return left
    raise Unmergeable(f"{type(left).__name__} and {type(right).__name__}")


def substituted(value: Value, index: z3.ArithRef, by: Term) -> Value:
    """The value with `by` for the integer constant `index`. Unmergeable where a value cannot be rewritten."""
    pairs = [(index, term(by))]

    def of_term(t: Term) -> Term:
        return t if isinstance(t, int) else folded(z3.substitute(t, *pairs))

    def of_cond(c: Cond) -> Cond:
        return c if isinstance(c, bool) else settled(z3.substitute(cond(c), *pairs))

    def of(v: Value) -> Value:
        match v:
            case Int():
                return Int(of_term(v.term), v.of)
            case Truth():
                return Truth(of_cond(v.term))
            case Order():
                return Order(of_term(v.term))
            case Tup():
                return Tup(tuple(map(of, v.items)))
            case Rec():
                return Rec(v.type, {k: of(x) for k, x in v.fields.items()})
            case Reverse():
                return Reverse(of(v.value))
            case Opt():
                return Opt(of_cond(v.present), v.value and of(v.value), v.error and of(v.error))
            case Seq(items=tuple() as items):
                return listed(tuple(map(of, items)))
            case Case() | Builtin() | FunctionValue():
                return v
            case _:
                raise Unmergeable(type(v).__name__)

    return of(value)


def terms_in(value: Any) -> Iterator[z3.ExprRef]:
    """Every z3 term in a value."""
    if isinstance(value, z3.ExprRef):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from terms_in(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from terms_in(part)
    elif isinstance(value, Value) and not isinstance(value, (Closure, FunctionValue)):
        yield from terms_in(tuple(vars(value).values()))
