"""The SMT-LIB text of an obligation as terms: a reader of its own, which shares nothing with the kernel's.

Sorts are Int and Bool; symbols take at most two integers. `let` is written out. A quantifier binds one variable, named by
how many quantifiers are around it (x1, x2, ...), so equal formulas are equal terms. What is not known here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

MOST_ARGUMENTS = 2


class Unread(Exception):
    """The text is not of the form that is known here; the message says where."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    """An operator with its arguments: `number` (of this value), `symbol` and `variable` (of this name), and SMT-LIB's."""

    op: str
    sort: str
    args: tuple[Term, ...] = ()
    name: str = ""
    value: int = 0


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A declared symbol: how many integers it takes, and whether its value is an integer or a truth value."""

    arity: int
    sort: str


@dataclass(frozen=True, kw_only=True)
class Text:
    """What an SMT-LIB text says: symbols and named assertions, in its order."""

    symbols: Mapping[str, Symbol]
    assertions: Mapping[str, Term]


Tree = str | list["Tree"]
"""A token or a list; a symbol in bars keeps its first bar, so that it is no keyword."""

LEXEME = re.compile(r"\s+|(?P<open>\()|(?P<close>\))|\|(?P<bars>[^|\\]*)\||(?P<plain>[^\s()|\";]+)")
PLAIN = re.compile(r"[A-Za-z~!@$%^&*_+=<>.?/-][0-9A-Za-z~!@$%^&*_+=<>.?/-]*|:[a-z-]+|0|[1-9][0-9]*")
RESERVED = frozenset(
    (
        *("true", "false", "not", "and", "or", "=>", "=", "distinct", "ite", "<=", "<", ">=", ">", "+", "-", "*", "div", "mod"),
        *("let", "forall", "exists", "!", "xor", "abs", "as", "par", "match", "_", "Int", "Bool"),
    )
)
OPENING = (["set-option", ":produce-unsat-cores", "true"], ["set-logic", "ALL"])


def read(text: str) -> Text:
    """What the text says. Unread if any of it is not known."""
    symbols: dict[str, Symbol] = {}
    assertions: dict[str, Term] = {}
    commands = list(_trees(text))
    if not commands or commands[-1] != ["check-sat"]:
        _refuse("the last command is not (check-sat)")
    for command in commands[:-1]:
        if command in OPENING:
            continue
        match command:
            case ["declare-fun", str(token), list(arguments), str(sort)]:
                name = _name(token)
                if name in symbols or assertions:
                    _refuse(f"{name} is declared twice or late")
                if sort not in ("Int", "Bool") or any(each != "Int" for each in arguments) or len(arguments) > MOST_ARGUMENTS:
                    _refuse(f"{name} has other sorts than are known")
                symbols[name] = Symbol(arity=len(arguments), sort=sort)
            case ["assert", ["!", body, ":named", str(token)]]:
                name = _name(token)
                if name in symbols or name in assertions:
                    _refuse(f"two things are named {name}")
                assertions[name] = _need(_term(body, symbols, {}, 0), "Bool")
            case _:
                _refuse(f"the command {str(command)[:60]} is not known")
    return Text(symbols=symbols, assertions=assertions)


def _refuse(why: str) -> NoReturn:
    raise Unread(why)


def _trees(text: str) -> Iterator[Tree]:
    stack: list[list[Tree]] = []
    place = 0
    while place < len(text):
        found = LEXEME.match(text, place)
        if found is None:
            _refuse(f"no token starts at {text[place : place + 20]!r}")
        place = found.end()
        if found["open"]:
            stack.append([])
            continue
        if found["close"]:
            if not stack:
                _refuse("a parenthesis too many")
            done: Tree = stack.pop()
        elif found["bars"] is not None:
            done = "|" + found["bars"]
        elif found["plain"]:
            done = found["plain"]
            if not PLAIN.fullmatch(done):
                _refuse(f"{done!r} is no token")
        else:
            continue
        if stack:
            stack[-1].append(done)
        elif isinstance(done, list):
            yield done
        else:
            _refuse(f"{done!r} is no command")
    if stack:
        _refuse("a parenthesis is open at the end")


def _name(token: str) -> str:
    name = token.removeprefix("|")
    if name in RESERVED or (token == name and (name[:1].isdigit() or name[:1] == ":")):
        _refuse(f"{name!r} cannot be a name")
    return name


def _need(term: Term, sort: str) -> Term:
    if term.sort != sort:
        _refuse(f"{term.op} {term.name} is of sort {term.sort}, not {sort}")
    return term


def _term(tree: Tree, symbols: Mapping[str, Symbol], bound: Mapping[str, Term], depth: int) -> Term:
    """The term of a tree, `depth` quantifiers inside."""
    if isinstance(tree, str):
        return _leaf(tree, symbols, bound)
    match tree:
        case ["let", [*pairs], body] if pairs:
            inner = dict(bound)
            for name, value in _pairs(pairs):
                inner[name] = _term(value, symbols, bound, depth)
            return _term(body, symbols, inner, depth)
        case [("forall" | "exists") as op, [*pairs], body] if pairs:
            inner = dict(bound)
            for level, (name, sort) in enumerate(_pairs(pairs), start=depth + 1):
                if sort != "Int":
                    _refuse(f"{op}: {name} is no integer")
                inner[name] = Term(op="variable", sort="Int", name=f"x{level}")
            whole = _need(_term(body, symbols, inner, depth + len(pairs)), "Bool")
            for level in range(depth + len(pairs), depth, -1):
                whole = Term(op=op, sort="Bool", args=(whole,), name=f"x{level}")
            return whole
        case [str(head), *rest] if rest:
            return _applied(head, [_term(each, symbols, bound, depth) for each in rest], symbols, bound)
    _refuse(f"{str(tree)[:60]} is not known")


def _leaf(token: str, symbols: Mapping[str, Symbol], bound: Mapping[str, Term]) -> Term:
    if token.isdigit():
        return Term(op="number", sort="Int", value=int(token))
    if token in ("true", "false"):
        return Term(op=token, sort="Bool")
    name = _name(token)
    if name in bound:
        return bound[name]
    if name not in symbols or symbols[name].arity:
        _refuse(f"{name} is no constant")
    return Term(op="symbol", sort=symbols[name].sort, name=name)


def _pairs(pairs: list[Tree]) -> list[tuple[str, Tree]]:
    read_: list[tuple[str, Tree]] = []
    for pair in pairs:
        match pair:
            case [str(token), value]:
                read_.append((_name(token), value))
            case _:
                _refuse(f"{pair} is no binding")
    if len({name for name, _ in read_}) < len(read_):
        _refuse("a name is bound twice in one place")
    return read_


# The operators: the sort of the arguments, the fewest and the most of them, and the sort of the result.
MANY = 1000
OPERATORS: Mapping[str, tuple[str, int, int, str]] = {
    "+": ("Int", 2, MANY, "Int"),
    "*": ("Int", 2, MANY, "Int"),
    "-": ("Int", 1, 2, "Int"),
    "div": ("Int", 2, 2, "Int"),
    "mod": ("Int", 2, 2, "Int"),
    "<=": ("Int", 2, 2, "Bool"),
    "<": ("Int", 2, 2, "Bool"),
    ">=": ("Int", 2, 2, "Bool"),
    ">": ("Int", 2, 2, "Bool"),
    "not": ("Bool", 1, 1, "Bool"),
    "and": ("Bool", 1, MANY, "Bool"),
    "or": ("Bool", 1, MANY, "Bool"),
    "=>": ("Bool", 2, 2, "Bool"),
}


def _applied(head: str, args: list[Term], symbols: Mapping[str, Symbol], bound: Mapping[str, Term]) -> Term:
    if head in OPERATORS:
        sort, fewest, most, result = OPERATORS[head]
        if not fewest <= len(args) <= most:
            _refuse(f"{head} with {len(args)} arguments is not known")
        for each in args:
            _need(each, sort)
        if head in ("div", "mod") and not (args[1].op == "number" and args[1].value > 0):
            _refuse(f"{head} by something else than a positive numeral is not known")
        return Term(op=head, sort=result, args=tuple(args))
    if head in ("=", "distinct", "ite"):
        alike = args[1:] if head == "ite" else args
        if len(args) != 3 if head == "ite" else not 2 <= len(args) <= (2 if head == "=" else MANY):
            _refuse(f"{head} with {len(args)} arguments is not known")
        for each in alike:
            _need(each, alike[0].sort)
        if head == "ite":
            _need(args[0], "Bool")
        return Term(op=head, sort=alike[0].sort if head == "ite" else "Bool", args=tuple(args))
    name = _name(head)
    if name in bound or name not in symbols or symbols[name].arity != len(args):
        _refuse(f"{name} is no symbol of {len(args)} arguments")
    for each in args:
        _need(each, "Int")
    return Term(op="symbol", sort=symbols[name].sort, name=name, args=tuple(args))
