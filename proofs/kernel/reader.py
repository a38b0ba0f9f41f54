"""Reads the SMT-LIB text of an obligation: declarations, named assertions, one `check-sat`. Anything else is refused.

Sorts are Int and Bool; functions take integers. A symbol of the theory cannot be declared, bound or quoted, no symbol is
declared twice, a quoted symbol is the same as unquoted, numerals have no leading zeros, divisors are positive numerals.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from proofs.kernel.terms import (
    FALSE,
    TRUE,
    Node,
    at_most_zero,
    both,
    choice,
    combine,
    either,
    equivalent,
    is_zero,
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
THEORY = {
    *("true", "false", "not", "and", "or", "=>", "=", "distinct", "ite", "<=", "<", ">=", ">", "+", "-", "*", "div", "mod"),
    *("let", "forall", "exists", "!", "xor", "abs", "as", "par", "match", "_", "Int", "Bool", "Real", "Array", "to_real", "/"),
}
Local = dict[str, tuple[Node, int]]
"""Symbols bound around a place: the node that each stands for, and how many `all`s were around where it was bound."""


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
            done = stack.pop()
            stack[-1].append(done)
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
    """The symbols declared, and the assertions."""

    def __init__(self, text: str) -> None:
        self.declared: dict[str, tuple[int, str]] = {}
        self.assertions: dict[str, Node] = {}
        commands = expressions(text)
        need(commands and commands.pop() == ["'check-sat"], "the last command is not (check-sat)")
        for command in commands:
            if command in (["'set-option", ":produce-unsat-cores", "'true"], ["'set-logic", "'ALL"]):
                continue
            need(isinstance(command, list) and command, "a command is not an expression")
            if command[0] == "'declare-fun":
                self.declare(command)
            else:
                need(command[0] == "'assert", f"command {command[0]} is not accepted here")
                self.state(command)

    def declare(self, command: list[Any]) -> None:
        """Notes a function of integers."""
        need(len(command) == 4 and isinstance(command[2], list), "a declaration has a name, sorts and a sort")
        name = symbol(command[1])
        need(name not in THEORY and name not in self.declared, f"{name} is declared again, or belongs to the theory")
        need(not self.assertions, "declarations come before assertions")
        need(all(sort == "'Int" for sort in command[2]), f"{name}: arguments must be integers")
        need(command[3] in ("'Int", "'Bool"), f"{name}: the result must be an integer or a truth value")
        self.declared[name] = (len(command[2]), symbol(command[3]))

    def state(self, command: list[Any]) -> None:
        """Notes a named assertion."""
        need(len(command) == 2 and isinstance(command[1], list), "an assertion is one named formula")
        named = command[1]
        need(len(named) == 4 and named[0] == "'!" and named[2] == ":named", "an assertion must be named")
        name = symbol(named[3])
        need(name not in self.assertions and name not in self.declared and name not in THEORY, f"two things are named {name}")
        self.assertions[name] = self.read(named[1], {}, 0)
        need(self.assertions[name].op != "poly", f"assertion {name} is not a formula")

    def read(self, expression: Any, local: Local, depth: int) -> Node:
        """The formula or integer term that the expression denotes, `depth` `all`s inside."""
        if isinstance(expression, str):
            return self.leaf(expression, local, depth)
        need(expression, "an empty expression")
        head, rest = symbol(expression[0]), expression[1:]
        need(head not in local, f"{head} is bound here and cannot be applied")
        if head in ("let", "forall", "exists"):
            need(len(rest) == 2 and isinstance(rest[0], list) and rest[0], f"{head} has bindings and a body")
            return self.bindings(head, rest[0], rest[1], local, depth)
        args = [self.read(e, local, depth) for e in rest]
        need(args, f"{head} without arguments")
        ints = [a.op == "poly" for a in args]
        if head not in THEORY:
            arity, sort = self.declared.get(head, (0, ""))
            need(sort and arity == len(args) and all(ints), f"{head} is not a function of {len(args)} integers")
            return of(node("app", head, *args)) if sort == "Int" else node("holds", head, *args)
        if head in ("+", "-", "*", "div", "mod", "<=", "<", ">=", ">"):
            need(all(ints), f"{head} takes integers")
            return self.arithmetic(head, args)
        if head in ("=", "distinct"):
            need(len(args) > 1 and (all(ints) or not any(ints)), f"{head} takes integers or truth values")
            if head == "=":
                return both(*[self.same(a, b) for a, b in pairwise(args)])
            return both(*[negate(self.same(a, b)) for i, a in enumerate(args) for b in args[i + 1 :]])
        if head == "ite":
            need(len(args) == 3 and not ints[0] and ints[1] == ints[2], "ite takes a formula and two of a kind")
            if ints[1]:
                return choice(*args)
            return both(either(negate(args[0]), args[1]), either(args[0], args[2]))
        need(head in ("not", "and", "or", "=>") and not any(ints), f"{head} is not accepted here")
        if head == "not":
            need(len(args) == 1, "not takes one formula")
            return negate(args[0])
        if head == "=>":
            return either(*[negate(a) for a in args[:-1]], args[-1])
        return both(*args) if head == "and" else either(*args)

    def leaf(self, token: str, local: Local, depth: int) -> Node:
        """A numeral, a bound or declared constant, true or false."""
        if token.isdigit():
            return number(int(token))
        name = symbol(token)
        if name in ("true", "false"):
            return TRUE if name == "true" else FALSE
        if name in local:
            found, outside = local[name]
            return lifted(found, depth - outside)
        arity, sort = self.declared.get(name, (0, ""))
        need(sort and arity == 0, f"{name} is not a constant")
        return of(node("app", name)) if sort == "Int" else node("holds", name)

    def bindings(self, head: str, pairs: list[Any], body: Any, local: Local, depth: int) -> Node:
        """A let (its bindings are parallel) or a quantified formula."""
        need(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), f"{head}: a binding is a pair")
        names = [symbol(pair[0]) for pair in pairs]
        need(len(set(names)) == len(names) and not THEORY & set(names), f"{head}: {names} cannot be bound")
        if head == "let":
            bound = {name: (self.read(pair[1], local, depth), depth) for name, pair in zip(names, pairs, strict=True)}
            return self.read(body, {**local, **bound}, depth)
        need(all(pair[1] == "'Int" for pair in pairs), f"{head}: only integers are bound")
        variables = {name: (of(node("bound", 0)), depth + i) for i, name in enumerate(names, start=1)}
        inner = self.read(body, {**local, **variables}, depth + len(names))
        need(inner.op != "poly", f"{head}: the body is not a formula")
        inner = inner if head == "forall" else negate(inner)
        for _ in names:
            inner = node("all", inner)
        return inner if head == "forall" else negate(inner)

    @staticmethod
    def same(left: Node, right: Node) -> Node:
        """Two integers or two truth values are equal."""
        return is_zero(combine((1, left), (-1, right))) if left.op == "poly" else equivalent(left, right)

    @staticmethod
    def arithmetic(head: str, args: list[Node]) -> Node:
        """An integer operation, or a chain of comparisons."""
        need(len(args) > 1 or head == "-", f"{head} takes two integers or more")
        if head == "+":
            return combine(*[(1, a) for a in args])
        if head == "-":
            return combine((-1, args[0])) if len(args) == 1 else combine((1, args[0]), *[(-1, a) for a in args[1:]])
        if head == "*":
            whole = args[0]
            for a in args[1:]:
                whole = product(whole, a)
            return whole
        if head in ("div", "mod"):
            need(len(args) == 2 and not args[1].args[1] and args[1].args[0] > 0, f"{head} takes a positive numeral")
            divisor = args[1].args[0]
            quotient = of(node("div", args[0], divisor))
            return quotient if head == "div" else combine((1, args[0]), (-divisor, quotient))
        strictly = int(head in ("<", ">"))
        pairs = pairwise(args) if head in ("<", "<=") else [(b, a) for a, b in pairwise(args)]
        return both(*[at_most_zero(combine((1, a), (-1, b), plus=strictly)) for a, b in pairs])
