"""Two evaluators that share nothing: of the Coq text of a proposition, and of what Z3 itself reads in the SMT-LIB text.

Symbols mean drawn functions, and quantifiers range over a few integers, so both give a truth value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import z3

RANGE = range(-2, 4)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What every symbol means, for one seed: a value for a name and its arguments."""

    seed: int

    def value(self, name: str, args: tuple[int, ...], truth: bool) -> Any:
        digest = sha256(f"{self.seed} {name} {args}".encode()).digest()
        return digest[0] % 2 == 0 if truth else digest[0] % 7 - 2


# The Coq text. Everything but a binder is in parentheses, so an expression is a token or a parenthesis with its operator.

TOKEN = re.compile(r"\(\*.*?\*\)|/\\|\\/|<->|->|<=\?|>=\?|<=|>=|=\?|<\?|>\?|[()~<>=,:/*+-]|[\w.']+")
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "=": lambda a, b: a == b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "=?": lambda a, b: a == b,
    "<=?": lambda a, b: a <= b,
    ">=?": lambda a, b: a >= b,
    "<?": lambda a, b: a < b,
    ">?": lambda a, b: a > b,
    "->": lambda a, b: not a or b,
    "<->": lambda a, b: a == b,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "negb": lambda a: not a,
    "andb": lambda a, b: a and b,
    "orb": lambda a, b: a or b,
    "implb": lambda a, b: not a or b,
    "Bool.eqb": lambda a, b: a == b,
    "truth": lambda a: a,
}
Scope = Mapping[str, int]


class CoqText:
    """The binders and hypotheses of a proposition `forall ..., H -> ... -> False`."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = [token for token in TOKEN.findall(text) if not token.startswith("(*")]
        self.types: dict[str, list[str]] = {}
        self.place = 0
        if self.peek() == "forall":
            self.take("forall")
            while self.peek() == "(":
                self.take("(")
                name = self.next()
                self.take(":")
                self.types[name] = self.until(")")
            self.take(",")
        self.hypotheses = []
        while self.peek() != "False" or self.place < len(self.tokens) - 1:
            self.hypotheses.append(self.expression())
            self.take("->")
        self.take("False")
        assert self.place == len(self.tokens)

    def peek(self) -> str:
        return self.tokens[self.place]

    def next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def take(self, token: str) -> None:
        assert self.next() == token, (token, self.tokens[self.place - 5 : self.place + 5])

    def until(self, end: str) -> list[str]:
        found = []
        while (token := self.next()) != end:
            found.append(token)
        return found

    def expression(self) -> Any:
        if self.peek() != "(":
            return self.next()
        self.take("(")
        inner: list[Any] = []
        while self.peek() != ")":
            if self.peek() in ("forall", "exists"):
                inner += [self.next(), self.next()]
                self.take(":")
                self.take("Z")
                self.take(",")
            else:
                inner.append(self.expression())
        self.take(")")
        return inner

    def value(self, whole: Any, drawn: Drawn, scope: Scope) -> Any:
        """The value of an expression."""

        def of(part: Any) -> Any:
            return self.value(part, drawn, scope)

        match whole:
            case "True" | "true" | "False" | "false":
                return whole in ("True", "true")
            case str():
                return int(whole) if whole.isdigit() else scope[whole] if whole in scope else self.symbol(whole, (), drawn)
            case ["forall" | "exists" as quantifier, name, body]:
                values = [self.value(body, drawn, {**scope, name: each}) for each in RANGE]
                return all(values) if quantifier == "forall" else any(values)
            case ["if", "truth", condition, "then", then, "else", otherwise] | ["if", condition, "then", then, "else", otherwise]:
                return of(then) if of(condition) else of(otherwise)
            case ["~", left, ("=" | "<->"), right]:
                return of(left) != of(right)
            case ["~", part]:
                return not of(part)
            case ["-", part]:
                return -of(part)
            case [first, ("/\\" | "\\/") as connective, *rest]:
                assert rest[1::2] == [connective] * (len(rest) // 2)
                values = [of(part) for part in [first, *rest[::2]]]
                return all(values) if connective == "/\\" else any(values)
            case [left, str(operator), right] if operator in BINARY:
                return BINARY[operator](of(left), of(right))
            case [str(head), *args] if head in FUNCTIONS:
                return FUNCTIONS[head](*map(of, args))
            case [str(head), *args]:
                return self.symbol(head, tuple(map(of, args)), drawn)
            case [part]:
                return of(part)
        raise AssertionError(whole)

    def symbol(self, name: str, args: tuple[int, ...], drawn: Drawn) -> Any:
        *takes, gives = [each for each in self.types[name] if each != "->"]
        assert takes == ["Z"] * len(args)
        return drawn.value(name, args, gives == "bool")


# What Z3 reads.


def z3_value(whole: Any, drawn: Drawn, names: Mapping[str, str], bound: tuple[int, ...] = ()) -> Any:
    """The value of a Z3 term; `names` are the Coq names of symbols, `bound` the values of the variables, innermost last."""
    if z3.is_var(whole):
        return bound[len(bound) - 1 - z3.get_var_index(whole)]
    if z3.is_quantifier(whole):
        values = [True]
        tuples: list[tuple[int, ...]] = [()]
        for _ in range(whole.num_vars()):
            tuples = [(*each, value) for each in tuples for value in RANGE]
        values = [z3_value(whole.body(), drawn, names, (*bound, *each)) for each in tuples]
        return all(values) if whole.is_forall() else any(values)
    if z3.is_int_value(whole):
        return whole.as_long()
    args = [z3_value(each, drawn, names, bound) for each in whole.children()]
    kind = whole.decl().kind()
    if kind == z3.Z3_OP_UNINTERPRETED:
        return drawn.value(names[whole.decl().name()], tuple(args), z3.is_bool(whole))
    return KINDS[kind](*args)


def _times(*args: int) -> int:
    whole = 1
    for each in args:
        whole *= each
    return whole


KINDS: Mapping[int, Callable[..., Any]] = {
    z3.Z3_OP_TRUE: lambda: True,
    z3.Z3_OP_FALSE: lambda: False,
    z3.Z3_OP_NOT: lambda a: not a,
    z3.Z3_OP_AND: lambda *args: all(args),
    z3.Z3_OP_OR: lambda *args: any(args),
    z3.Z3_OP_IMPLIES: lambda a, b: not a or b,
    z3.Z3_OP_EQ: lambda a, b: a == b,
    z3.Z3_OP_DISTINCT: lambda *args: len(set(args)) == len(args),
    z3.Z3_OP_ITE: lambda c, a, b: a if c else b,
    z3.Z3_OP_LE: lambda a, b: a <= b,
    z3.Z3_OP_LT: lambda a, b: a < b,
    z3.Z3_OP_GE: lambda a, b: a >= b,
    z3.Z3_OP_GT: lambda a, b: a > b,
    z3.Z3_OP_ADD: lambda *args: sum(args),
    z3.Z3_OP_SUB: lambda a, *rest: a - sum(rest),
    z3.Z3_OP_UMINUS: lambda a: -a,
    z3.Z3_OP_MUL: _times,
    z3.Z3_OP_IDIV: lambda a, b: a // b,
    z3.Z3_OP_MOD: lambda a, b: a % b,
}
