"""Reads the SMT-LIB text of an obligation: declarations, named assertions, one `check-sat`. Anything else is refused.

Sorts are Int and Bool; functions take integers. A symbol of the theory cannot be declared or bound, a symbol cannot be declared
twice, a quoted symbol is the same as unquoted, and numerals have no leading zeros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from proofs.kernel.terms import (
    FALSE,
    TRUE,
    Node,
    at_most_zero,
    bind,
    both,
    choice,
    combine,
    either,
    equivalent,
    is_zero,
    negate,
    node,
    number,
    of,
    product,
)


class Refused(Exception):
    """The text or the certificate is not accepted; the message says why."""


def need(condition: object, message: str) -> None:
    """Refuses with the message unless the condition holds."""
    if not condition:
        raise Refused(message)


TOKEN = re.compile(
    r"\s*(?:;[^\n]*\n)?\s*(\(|\)|\|[^|\\]*\||:[a-z-]+|0|[1-9][0-9]*|[A-Za-z~!@$%^&*_+=<>.?/-][\w~!@$%^&*+=<>.?/-]*)", re.ASCII
)
THEORY = {
    *("true", "false", "not", "and", "or", "=>", "=", "distinct", "ite", "<=", "<", ">=", ">", "+", "-", "*", "div", "mod"),
    *("let", "forall", "exists", "!", "xor", "abs", "as", "par", "match", "_", "Int", "Bool", "Real", "Array"),
}


def expressions(text: str) -> Iterator[Any]:
    """The parenthesised expressions of the text, as nested lists of tokens."""
    stack: list[list[Any]] = [[]]
    place, end = 0, len(text.rstrip())
    while place < end:
        match = TOKEN.match(text, place)
        need(match, f"character {place}: not a token")
        assert match is not None
        place, token = match.end(), match[1]
        if token == "(":
            stack.append([])
        elif token == ")":
            need(len(stack) > 1, f"character {place}: a parenthesis too many")
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(
                "'" + token.strip("|") if token[0] in "|" or token[0].isalpha() or token[0] in "~!@$%^&*_+=<>.?/-" else token
            )
    need(len(stack) == 1, "a parenthesis is not closed")
    yield from stack[0]


def symbol(token: Any) -> str:
    """A symbol, quoted or not."""
    need(isinstance(token, str) and token[:1] == "'", f"{token!r} is not a symbol")
    return str(token[1:])


class Reader:
    """The symbols declared so far, and the assertions."""

    def __init__(self, text: str) -> None:
        self.declared: dict[str, tuple[int, str]] = {}
        self.assertions: dict[str, Node] = {}
        self.variables = 0
        asked = 0
        for command in expressions(text):
            need(isinstance(command, list) and command, "a command is not an expression")
            need(not asked, "nothing may follow check-sat")
            head = symbol(command[0])
            if head == "declare-fun":
                self.declare(command)
            elif head == "assert":
                self.state(command)
            elif head == "check-sat":
                need(len(command) == 1, "check-sat takes nothing")
                asked += 1
            else:
                need(command[1:] in ([":produce-unsat-cores", "'true"], ["'ALL"]), f"command {head} is not accepted")
                need(head == ("set-logic" if len(command) == 2 else "set-option"), f"command {head} is not accepted")
        need(asked == 1, "check-sat is missing")

    def declare(self, command: list[Any]) -> None:
        """Notes a function of integers."""
        need(len(command) == 4 and isinstance(command[2], list), "a declaration has a name, sorts and a sort")
        name = symbol(command[1])
        need(name not in THEORY and name not in self.declared, f"{name} is declared again, or belongs to the theory")
        need(all(sort == "'Int" for sort in command[2]), f"{name}: arguments must be integers")
        need(command[3] in ("'Int", "'Bool"), f"{name}: the result must be an integer or a truth value")
        self.declared[name] = (len(command[2]), symbol(command[3]))

    def state(self, command: list[Any]) -> None:
        """Notes a named assertion."""
        need(len(command) == 2 and isinstance(command[1], list), "an assertion is one named formula")
        named = command[1]
        need(len(named) == 4 and named[0] == "'!" and named[2] == ":named", "an assertion must be named")
        name = symbol(named[3])
        need(name not in self.assertions, f"two assertions are named {name}")
        self.assertions[name] = self.formula(named[1], {})

    def formula(self, expression: Any, local: dict[str, Node]) -> Node:
        """The formula that the expression denotes."""
        found = self.read(expression, local)
        need(found.op != "poly", f"{expression!r} is not a formula")
        return found

    def term(self, expression: Any, local: dict[str, Node]) -> Node:
        """The integer term that the expression denotes."""
        found = self.read(expression, local)
        need(found.op == "poly", f"{expression!r} is not an integer term")
        return found

    def read(self, expression: Any, local: dict[str, Node]) -> Node:
        """The node that the expression denotes; `local` gives the symbols bound around it."""
        if isinstance(expression, str):
            return self.leaf(expression, local)
        need(expression, "an empty expression")
        head, rest = symbol(expression[0]), expression[1:]
        need(head not in local, f"{head} is bound here and cannot be applied")
        if head in ("let", "forall", "exists"):
            need(len(rest) == 2 and isinstance(rest[0], list) and rest[0], f"{head} has bindings and a body")
            return self.bindings(head, rest[0], rest[1], local)
        if head not in THEORY:
            arity, sort = self.declared.get(head, (0, ""))
            need(sort and arity == len(rest) > 0, f"{head} is not a function of {len(rest)} integers")
            return self.applied(sort, head, [self.term(e, local) for e in rest])
        args = [self.read(e, local) for e in rest]
        need(args, f"{head} without arguments")
        ints = [a.op == "poly" for a in args]
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
        need(not any(ints), f"{head} takes truth values")
        if head == "not":
            need(len(args) == 1, "not takes one formula")
            return negate(args[0])
        need(head in ("and", "or", "=>"), f"{head} is not accepted")
        if head == "=>":
            return either(*[negate(a) for a in args[:-1]], args[-1])
        return both(*args) if head == "and" else either(*args)

    def leaf(self, token: str, local: dict[str, Node]) -> Node:
        """A numeral, a bound or declared constant, true or false."""
        if token.isdigit():
            return number(int(token))
        name = symbol(token)
        if name in ("true", "false"):
            return TRUE if name == "true" else FALSE
        if name in local:
            return local[name]
        arity, sort = self.declared.get(name, (0, ""))
        need(sort and arity == 0, f"{name} is not a constant")
        return self.applied(sort, name, [])

    @staticmethod
    def applied(sort: str, name: str, terms: list[Node]) -> Node:
        """A function or a predicate of terms."""
        return of(node("app", name, *terms)) if sort == "Int" else node("holds", name, *terms)

    def bindings(self, head: str, pairs: list[Any], body: Any, local: dict[str, Node]) -> Node:
        """A let (its bindings are parallel) or a quantified formula."""
        need(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), f"{head}: a binding is a pair")
        names = [symbol(pair[0]) for pair in pairs]
        need(len(set(names)) == len(names) and not THEORY & set(names), f"{head}: {names} cannot be bound")
        if head == "let":
            return self.read(body, {**local, **{n: self.read(pair[1], local) for n, pair in zip(names, pairs, strict=True)}})
        need(all(pair[1] == "'Int" for pair in pairs), f"{head}: only integers are bound")
        variables = []
        for _ in names:
            self.variables += 1
            variables.append(node("variable", self.variables))
        inner = self.formula(body, {**local, **{n: of(v) for n, v in zip(names, variables, strict=True)}})
        inner = inner if head == "forall" else negate(inner)
        for variable in reversed(variables):
            inner = bind(variable, inner)
        return inner if head == "forall" else negate(inner)

    @staticmethod
    def same(left: Node, right: Node) -> Node:
        """Two integers or two truth values are equal."""
        return is_zero(combine((1, left), (-1, right))) if left.op == "poly" else equivalent(left, right)

    @staticmethod
    def arithmetic(head: str, args: list[Node]) -> Node:
        """An integer operation, or a chain of comparisons."""
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
        need(len(args) > 1, f"{head} takes two integers or more")
        less = 1 if head in ("<", ">") else 0
        pairs = pairwise(args) if head in ("<", "<=") else [(b, a) for a, b in pairwise(args)]
        return both(*[at_most_zero(combine((1, a), (-1, b), (1, number(less)))) for a, b in pairs])
