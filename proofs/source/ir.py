"""The one small language that the front ends lower to and the executor runs.

Nodes say what happens, never in which language: arithmetic takes its rules from the types of the values, names and methods
from the dialect that the executor is given. What a front end does not understand becomes `Unknown` where it stands, so that
it counts only if it can be reached. Every node has the line of its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Node:
    """Anything that has a line in the source."""

    line: int = 0


@dataclass(frozen=True)
class Type:
    """A type as written: `Type("Option", (Type("usize"),))`. References are transparent except `&mut`."""

    name: str
    arguments: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return self.name + (f"<{', '.join(map(str, self.arguments))}>" if self.arguments else "")


# Expressions


@dataclass(frozen=True)
class Literal(Node):
    """An integer (`type` if it has a suffix), truth value, text or nothing at all (None)."""

    value: int | bool | str | None
    type: str | None = None


@dataclass(frozen=True)
class Name(Node):
    """A variable, function, constant or variant; paths are joined with `::`."""

    name: str


@dataclass(frozen=True)
class Unary(Node):
    """`-`, `!` or `~`."""

    operator: str
    operand: Node


@dataclass(frozen=True)
class Binary(Node):
    """Arithmetic, bit operations and comparisons."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Logic(Node):
    """`&&` and `||`: the right side runs only if it decides."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Chain(Node):
    """Python's `a < b < c`: each operand once, the rest only while the comparisons hold."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True)
class Call(Node):
    """A function applied; `types` are explicit type arguments, `named` keyword arguments."""

    function: Node
    arguments: tuple[Node, ...]
    types: tuple[Type, ...] = ()
    named: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True)
class Method(Node):
    """A method of a value; mutating methods write their receiver back to its place."""

    receiver: Node
    name: str
    arguments: tuple[Node, ...]
    types: tuple[Type, ...] = ()
    named: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True)
class Field(Node):
    """A field of a struct or an item of a tuple."""

    object: Node
    name: str


@dataclass(frozen=True)
class Index(Node):
    """An element of a sequence, or a slice where the index is a range."""

    object: Node
    index: Node


@dataclass(frozen=True)
class Tuple(Node):
    """A tuple; empty, the unit value."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Array(Node):
    """A sequence written out, or (with `repeat`) one item so many times."""

    items: tuple[Node, ...]
    repeat: Node | None = None


@dataclass(frozen=True)
class Struct(Node):
    """A struct value; fields not named come from `base`."""

    type: str
    fields: tuple[tuple[str, Node], ...]
    base: Node | None = None


@dataclass(frozen=True)
class Lambda(Node):
    """A closure. `returns` as written, if it is."""

    parameters: tuple[tuple[Pattern, Type | None], ...]
    body: Node
    returns: Type | None = None


@dataclass(frozen=True)
class Range(Node):
    """`low..high` or `low..=high`, open where None."""

    low: Node | None
    high: Node | None
    inclusive: bool = False


@dataclass(frozen=True)
class Cast(Node):
    """`operand as type`."""

    operand: Node
    type: Type


@dataclass(frozen=True)
class Borrow(Node):
    """`&operand` or, with `mutable`, `&mut operand`."""

    operand: Node
    mutable: bool = False


@dataclass(frozen=True)
class Try(Node):
    """`operand?`: what is inside, or a return of nothing."""

    operand: Node


@dataclass(frozen=True)
class Is(Node):
    """Does the value match the pattern? Binds its names (`if let`, `matches!`)."""

    pattern: Pattern
    value: Node
    guard: Node | None = None


@dataclass(frozen=True)
class If(Node):
    """A conditional; names bound by the condition live in `then`."""

    condition: Node
    then: Node
    otherwise: Node | None


@dataclass(frozen=True)
class Match(Node):
    """The first arm (pattern, guard, body) that matches."""

    subject: Node
    arms: tuple[tuple[Pattern, Node | None, Node], ...]


@dataclass(frozen=True)
class Block(Node):
    """Statements, then a value. `functions` and `constants` are declared anywhere in it and hold in all of it."""

    statements: tuple[Node, ...]
    value: Node | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)
    scoped: bool = True


@dataclass(frozen=True)
class Spread(Node):
    """Python's `*operand` among arguments or items."""

    operand: Node


@dataclass(frozen=True)
class Attempt(Node):
    """Python's `try`: the body, and what runs for exceptions of the named kinds."""

    body: Node
    handlers: tuple[tuple[tuple[str, ...], Node], ...]


@dataclass(frozen=True)
class Comprehension(Node):
    """Python's `body for pattern in iterable if conditions`, as a stream."""

    pattern: Pattern
    iterable: Node
    conditions: tuple[Node, ...]
    body: Node


# Statements (they have the unit value)


@dataclass(frozen=True)
class Let(Node):
    """A new variable; `otherwise` runs, and must leave, if a refutable pattern does not match."""

    pattern: Pattern
    type: Type | None
    value: Node | None
    otherwise: Node | None = None


@dataclass(frozen=True)
class Assign(Node):
    """A place gets a value; with `operator`, what the operation makes of the old value and this. `declares` in Python."""

    target: Node
    value: Node
    operator: str | None = None
    declares: bool = False


@dataclass(frozen=True)
class While(Node):
    """A loop before whose every turn `condition` is asked."""

    condition: Node
    body: Node
    label: str | None = None
    step: Node | None = None
    """What C's `for` does after each turn, also after `continue`."""


@dataclass(frozen=True)
class For(Node):
    """A loop over what can be iterated. `otherwise` is Python's `else`."""

    pattern: Pattern
    iterable: Node
    body: Node
    label: str | None = None
    otherwise: Node | None = None


@dataclass(frozen=True)
class EachRow(Node):
    """A grid-stride loop: its body runs once for each row below `bound`, whichever thread does it."""

    name: str
    bound: Node
    body: Node


@dataclass(frozen=True)
class Shared(Node):
    """`for (name = start; name < bound; name += step)`: if `start` is a lane and `step` the number of lanes, they share the turns.

    `alone` is the same loop run by one thread.
    """

    name: str
    start: Node
    bound: Node
    step: Node
    body: Node
    alone: Node


@dataclass(frozen=True)
class Once(Node):
    """`if (lane == 0) then`: if `lane` is one, one of the lanes does it. `alone` is the condition as it stands."""

    lane: Node
    then: Node
    alone: Node


@dataclass(frozen=True)
class Break(Node):
    """Leave a loop, with a value in `loop`."""

    value: Node | None = None
    label: str | None = None


@dataclass(frozen=True)
class Continue(Node):
    """The next turn of a loop."""

    label: str | None = None


@dataclass(frozen=True)
class Return(Node):
    """Leave the function."""

    value: Node | None


@dataclass(frozen=True)
class Assert(Node):
    """Panic unless it holds; with `debug_only`, not even asked in a release build."""

    condition: Node
    debug_only: bool = False


@dataclass(frozen=True)
class Panic(Node):
    """A panic, or an exception raised."""

    why: str


@dataclass(frozen=True)
class Unknown(Node):
    """A construct that the front end does not understand."""

    what: str


# Patterns


@dataclass(frozen=True)
class Pattern(Node):
    """What a value is taken apart by."""


@dataclass(frozen=True)
class Anything(Pattern):
    """`_`, or `..` where the rest is ignored."""


@dataclass(frozen=True)
class Bind(Pattern):
    """A name for the value, if `inner` matches it. In Rust a lone name may be a constant or variant instead."""

    name: str
    inner: Pattern | None = None


@dataclass(frozen=True)
class Exactly(Pattern):
    """A literal, constant or unit variant."""

    value: Node


@dataclass(frozen=True)
class Between(Pattern):
    """A range of integers, open where None."""

    low: Node | None
    high: Node | None
    inclusive: bool


@dataclass(frozen=True)
class Items(Pattern):
    """A tuple or array of fixed length."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True)
class Variant(Pattern):
    """`Some(..)`, or a struct or tuple struct by its field names; `rest` if others are ignored."""

    type: str
    fields: tuple[tuple[str, Pattern], ...]
    rest: bool = False


@dataclass(frozen=True)
class AnyOf(Pattern):
    """Alternatives."""

    alternatives: tuple[Pattern, ...]


@dataclass(frozen=True)
class Strange(Pattern):
    """A pattern that the front end does not understand."""

    what: str


# Declarations


@dataclass(frozen=True)
class Function(Node):
    """A function as declared. `owner` is the type whose method it is, `receiver` the kind of its self ("&mut", "")."""

    name: str
    parameters: tuple[tuple[Pattern, Type | None], ...]
    returns: Type | None
    body: Node
    owner: str | None = None
    receiver: str | None = None
    trait: str | None = None
    defaults: tuple[Node | None, ...] = ()
    generics: tuple[str, ...] = ()
    """Type parameters, found from the arguments of each call."""
    kernel: bool = False
    objection: str | None = None
    """Why it can be neither proved nor called: generic, `unsafe`, conditionally compiled, ..."""


@dataclass(frozen=True)
class Constant(Node):
    """A constant, evaluated where it is used."""

    name: str
    type: Type | None
    value: Node
    objection: str | None = None


@dataclass(frozen=True)
class Shape(Node):
    """A struct: its fields in order. `compared` if equality is field by field; `ordered` if order is too."""

    name: str
    fields: tuple[tuple[str, Type | None], ...]
    positional: bool = False
    compared: bool = True
    ordered: bool = False
    objection: str | None = None
    checks: Function | None = None
    """What runs when one is made (`__post_init__`)."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file as the executor sees it."""

    path: str
    language: str
    functions: tuple[Function, ...]
    """All of them, also those of one name; which is meant is decided where it is used."""
    constants: Mapping[str, Constant]
    shapes: Mapping[str, Shape]
    aliases: Mapping[str, Type]
    imported: Mapping[str, str]
    """Names that come from elsewhere, with their full path."""
    objection: str | None = None
    """Why nothing in the file can be relied on (a syntax error outside functions, names of unknown origin)."""
