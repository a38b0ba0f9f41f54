"""Reads the SMT-LIB text of an obligation: declarations, named assertions, one `check-sat`. Anything else is refused.

Sorts are Int and Bool; functions take integers. A symbol of the theory cannot be declared, bound or quoted, no symbol is
declared twice, a quoted symbol is the same as unquoted, numerals have no leading zeros, divisors are positive numerals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

from proofs.kernel.terms import (
    FALSE,
    TRUE,
    Node,
    Refused,
    at_most,
    both,
    choice,
    combine,
    either,
    equal,
    lifted,
    need,
    negate,
    node,
    number,
    of,
    product,
)

LONGEST = 1_000_000
TOKEN = re.compile(
    r"""([()]) | ;[^\r\n]*                                                          # comments are no tokens
      | ( \|[^|\\]*\| | [a-zA-Z~!@$%^&*_+=<>.?/-][0-9a-zA-Z~!@$%^&*_+=<>.?/-]* )(?![^ \t\r\n();])
      | ( (?:0|[1-9][0-9]{0,999}) | :[a-z-]+ )(?![^ \t\r\n();])
      | ([^ \t\r\n])                                                                # what starts no token""",
    re.VERBOSE,
)
Local = dict[str, tuple[Node, int]]
"""Symbols bound around a place: the node that each stands for, and how many `all`s were around where it was bound."""

# The symbols of the theory: the sorts that their arguments may have, how few and how many they take, and what they mean.


def integers(args: Sequence[Node]) -> bool:
    """All are integers."""
    return all(each.op == "poly" for each in args)


def formulas(args: Sequence[Node]) -> bool:
    """All are truth values."""
    return all(each.op != "poly" for each in args)


def alike(args: Sequence[Node]) -> bool:
    """All are of one sort."""
    return integers(args) or formulas(args)


def selection(args: Sequence[Node]) -> bool:
    """A truth value, then two of one sort."""
    return formulas(args[:1]) and alike(args[1:])


def division(args: Sequence[Node]) -> bool:
    """An integer, then a positive numeral."""
    return integers(args) and not args[1].args[1] and bool(args[1].args[0] > 0)


def chain(relation: Callable[[Node, Node], Node]) -> Callable[..., Node]:
    """The relation holds between each argument and the next."""
    return lambda *args: both(*[relation(a, b) for a, b in pairwise(args)])


def difference(first: Node, *rest: Node) -> Node:
    """The first less the rest; of one, its opposite."""
    return combine((1, first), *[(-1, each) for each in rest]) if rest else combine((-1, first))


def quotient(term: Node, divisor: Node) -> Node:
    """The term divided by a positive numeral."""
    return of(node("div", term, divisor.args[0]))


MANY = LONGEST
MEANING: dict[str, tuple[Callable[[Sequence[Node]], bool], int, int, Callable[..., Node]]] = {
    "true": (formulas, 0, 0, lambda: TRUE),
    "false": (formulas, 0, 0, lambda: FALSE),
    "not": (formulas, 1, 1, negate),
    "and": (formulas, 1, MANY, both),
    "or": (formulas, 1, MANY, either),
    "=>": (formulas, 1, MANY, lambda *args: either(*[negate(each) for each in args[:-1]], args[-1])),
    "=": (alike, 2, MANY, chain(equal)),
    "distinct": (alike, 2, MANY, lambda *args: both(*[negate(equal(a, b)) for a, b in combinations(args, 2)])),
    "ite": (selection, 3, 3, choice),
    "<=": (integers, 2, MANY, chain(at_most)),
    "<": (integers, 2, MANY, chain(lambda a, b: negate(at_most(b, a)))),
    ">=": (integers, 2, MANY, chain(lambda a, b: at_most(b, a))),
    ">": (integers, 2, MANY, chain(lambda a, b: negate(at_most(a, b)))),
    "+": (integers, 2, MANY, lambda *args: combine(*[(1, each) for each in args])),
    "-": (integers, 1, MANY, difference),
    "*": (integers, 2, MANY, product),
    "div": (division, 2, 2, quotient),
    "mod": (division, 2, 2, lambda a, b: combine((1, a), (-b.args[0], quotient(a, b)))),
}
THEORY = {
    *MEANING,
    *("let", "forall", "exists", "!", "xor", "abs", "as", "par", "match", "_", "Int", "Bool", "Real", "Array", "to_real", "/"),
}


def expressions(text: str) -> list[Any]:
    """The parenthesised expressions of the text, as nested lists. A symbol s, quoted or not, becomes 's."""
    need(len(text) <= LONGEST, "the text is too long")
    stack: list[list[Any]] = [[]]
    for parenthesis, name, other, strange in TOKEN.findall(text):
        need(not strange, f"{strange!r} starts no token")
        if parenthesis == "(":
            stack.append([])
        elif parenthesis:
            need(len(stack) > 1, "a parenthesis too many")
            stack[-2].append(stack.pop())
        elif name:
            need(name[0] != "|" or name[1:-1] not in THEORY, f"{name} is a symbol of the theory in quotes")
            stack[-1].append("'" + name.strip("|"))
        elif other:
            stack[-1].append(other)
    need(len(stack) == 1, "a parenthesis is not closed")
    return stack[0]


def symbol(token: Any) -> str:
    """The symbol's name."""
    need(isinstance(token, str) and token[0] == "'", f"{token!r} is not a symbol")
    return str(token[1:])


class Reader:
    """The symbols declared (with the number of their arguments, and whether they give an integer), and the assertions."""

    def __init__(self, text: str) -> None:
        self.declared: dict[str, tuple[int, bool]] = {}
        self.assertions: dict[str, Node] = {}
        commands = expressions(text)
        need(commands and commands.pop() == ["'check-sat"], "the last command is not (check-sat)")
        for command in commands:
            match command:
                case ["'set-option", ":produce-unsat-cores", "'true"] | ["'set-logic", "'ALL"]:
                    continue
                case ["'declare-fun", name, [*sorts], "'Int" | "'Bool" as sort]:
                    need(not self.assertions, "declarations come before assertions")
                    need(all(each == "'Int" for each in sorts), "a function takes integers")
                    self.declared[self.new(name)] = (len(sorts), sort == "'Int")
                case ["'assert", ["'!", formula, ":named", name]]:
                    self.assertions[self.new(name)] = self.formula(formula, {}, 0)
                case _:
                    need(False, "a command is not accepted here")

    def new(self, token: Any) -> str:
        """The name of what is to be declared or asserted."""
        name = symbol(token)
        need(name not in THEORY, f"{name} belongs to the theory")
        need(name not in self.declared and name not in self.assertions, f"two things are named {name}, or it is declared again")
        return name

    def formula(self, expression: Any, local: Local, depth: int) -> Node:
        """The formula that the expression denotes."""
        found = self.read(expression, local, depth)
        need(found.op != "poly", "an integer is not a formula")
        return found

    def read(self, expression: Any, local: Local, depth: int) -> Node:
        """The formula or integer term that the expression denotes, `depth` `all`s inside."""
        match expression:
            case str() if expression.isdigit():
                return number(int(expression))
            case str() if symbol(expression) in local:
                found, outside = local[symbol(expression)]
                return lifted(found, depth - outside)
            case str():
                return self.applied(symbol(expression), [])
            case ["'let", [_, *_] as pairs, body]:  # its bindings are parallel
                bound = {name: (self.read(value, local, depth), depth) for name, value in bindings(pairs)}
                return self.read(body, {**local, **bound}, depth)
            case ["'forall" | "'exists" as quantifier, [_, *_] as pairs, body]:
                names = [name for name, sort in bindings(pairs, "'Int")]
                variables = {name: (of(node("bound", 0)), depth + i) for i, name in enumerate(names, start=1)}
                inner = self.formula(body, {**local, **variables}, depth + len(names))
                exists = quantifier == "'exists"
                inner = negate(inner) if exists else inner
                for _ in names:
                    inner = node("all", inner)
                return negate(inner) if exists else inner
            case [head, _, *_]:
                need(symbol(head) not in local, f"{head} is bound here and cannot be applied")
                return self.applied(symbol(head), [self.read(each, local, depth) for each in expression[1:]])
        raise Refused("an application without arguments")

    def applied(self, name: str, args: list[Node]) -> Node:
        """The symbol, of the theory or declared, with these arguments; a constant has none."""
        if name in MEANING:
            fits, least, most, meaning = MEANING[name]
            need(least <= len(args) <= most and fits(args), f"{name} does not take these arguments")
            return meaning(*args)
        arity, integer = self.declared.get(name, (-1, False))
        need(arity == len(args) and integers(args), f"{name} is not accepted here, or not a function of {len(args)} integers")
        return of(node("app", name, *args)) if integer else node("holds", name, *args)


def bindings(pairs: list[Any], sort: str = "") -> list[tuple[str, Any]]:
    """The symbols that are bound, each with what stands beside it (which is the sort, if one is given)."""
    need(all(isinstance(pair, list) and len(pair) == 2 and sort in ("", pair[1]) for pair in pairs), "a binding is a pair")
    names = [symbol(pair[0]) for pair in pairs]
    need(len(set(names)) == len(names) and not THEORY & set(names), f"{names} cannot be bound")
    return [(name, pair[1]) for name, pair in zip(names, pairs, strict=True)]
