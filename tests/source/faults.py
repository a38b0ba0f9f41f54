"""One-line faults in a text: operators, constants, conditions, exchanged arguments, dropped statements, other methods.

A fault is a change at one node of tree-sitter's tree; which there are follows from the text alone. Not all are programs: the
campaign asks the language's own compiler.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tree_sitter import Language, Node, Parser

_OTHERS = {
    "+": ["-", "*"],
    "-": ["+"],
    "*": ["+"],
    "<": ["<=", ">", ">="],
    "<=": ["<", ">=", ">"],
    ">": [">=", "<", "<="],
    ">=": [">", "<=", "<"],
    "==": ["!=", "<="],
    "!=": ["==", "<"],
    "&&": ["||"],
    "||": ["&&"],
    "&": ["|"],
    "|": ["&"],
    "+=": ["-="],
    "-=": ["+="],
    "and": ["or"],
    "or": ["and"],
}
_METHODS = {
    "min": ["max"],
    "max": ["min"],
    "checked_sub": ["checked_add", "wrapping_sub"],
    "saturating_sub": ["wrapping_sub", "abs_diff"],
    "zip": ["chain"],
    "position": ["rposition"],
    "trim": ["trim_start", "trim_end"],
    "then": ["then_some"],
    "is_some": ["is_none"],
    "sort": ["sort_unstable"],
    "sort_by": ["sort_unstable_by"],
    "lesser": ["greater"],
    "greater": ["lesser"],
    "later": ["min"],
    "strip": ["lstrip", "rstrip"],
}
_COMPARED = frozenset(["binary_expression", "comparison_operator", "boolean_operator", "binary_operator", "let_chain"])
_STATEMENTS = frozenset(["expression_statement", "return_statement", "assignment"])
_LITERALS = frozenset(["integer_literal", "number_literal", "integer"])
_CALLS = frozenset(["arguments", "argument_list"])


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A changed text, the line of the change and what it is."""

    text: bytes
    line: int
    what: str


def faults(language: Language, text: bytes, functions: frozenset[str]) -> Iterator[Fault]:
    """Every fault inside functions of these names."""
    for function in _functions(Parser(language).parse(text).root_node, functions):
        body = function.child_by_field_name("body")
        for start, end, by in [] if body is None else _changes(body):
            was = text[start:end].decode()
            line = text.count(b"\n", 0, start) + 1
            yield Fault(text=text[:start] + by.encode() + text[end:], line=line, what=f"{was!r} -> {by!r}"[:100])


def _functions(node: Node, names: frozenset[str]) -> Iterator[Node]:
    if node.type in ("function_item", "function_definition"):
        declared = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        if declared is not None and (declared.text or b"").decode().split("(")[0] in names:
            yield node
            return
    for child in node.children:
        yield from _functions(child, names)


def _changes(node: Node) -> Iterator[tuple[int, int, str]]:
    text = (node.text or b"").decode()
    if node.type in _LITERALS and text.isdigit():
        yield node.start_byte, node.end_byte, str(int(text) + 1)
        if int(text) > 0:
            yield node.start_byte, node.end_byte, str(int(text) - 1)
    if node.type in ("true", "false", "boolean_literal"):
        yield node.start_byte, node.end_byte, {"true": "false", "false": "true"}[text]
    if not node.is_named and node.parent is not None and node.type in _OTHERS:
        for other in _OTHERS[node.type]:
            yield node.start_byte, node.end_byte, other
    if node.type in ("identifier", "field_identifier") and text in _METHODS:
        for other in _METHODS[text]:
            yield node.start_byte, node.end_byte, other
    if node.type in _CALLS:
        items = [c for c in node.named_children if c.type != "comment"]
        for left, right in pairwise(items):
            a, b = (left.text or b"").decode(), (right.text or b"").decode()
            if a != b:
                between = text[left.end_byte - node.start_byte : right.start_byte - node.start_byte]
                yield left.start_byte, right.end_byte, f"{b}{between}{a}"
    if node.type in _STATEMENTS and node.parent is not None and node.parent.type in ("block", "compound_statement"):
        dropped = "pass" if node.parent.type == "block" and not text.rstrip().endswith((";", "}")) else ""
        yield node.start_byte, node.end_byte, dropped
    if node.type in ("if_expression", "if_statement"):
        condition = node.child_by_field_name("condition")
        if condition is not None and condition.type not in ("let_condition", "let_chain"):
            for by in ("true", "false") if node.type == "if_expression" else ():
                yield condition.start_byte, condition.end_byte, by
    for child in node.children:
        yield from _changes(child)


_COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.GtE],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
}
_SUMS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}


def python_faults(text: bytes) -> Iterator[Fault]:
    """Every fault in a Python text, told by its tree and written out again."""
    count = sum(1 for _ in ast.walk(ast.parse(text)))
    for position in range(count):
        for variant in range(4):
            tree = ast.parse(text)
            node = list(ast.walk(tree))[position]
            what = _changed(node, variant)
            if what is None:
                break
            yield Fault(text=ast.unparse(ast.fix_missing_locations(tree)).encode(), line=getattr(node, "lineno", 0), what=what)


def _changed(node: ast.AST, variant: int) -> str | None:
    match node:
        case ast.Compare(ops=ops) if type(ops[0]) in _COMPARISONS and variant < len(_COMPARISONS[type(ops[0])]):
            ops[0] = _COMPARISONS[type(ops[0])][variant]()
            return f"comparison {variant}"
        case ast.BinOp(op=op) if type(op) in _SUMS and variant == 0:
            node.op = _SUMS[type(op)]()
            return "operator"
        case ast.BoolOp(op=op) if variant == 0:
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            return "and or or"
        case ast.Constant(value=value) if isinstance(value, int) and not isinstance(value, bool) and variant < 2:
            node.value = value + 1 if variant == 0 else value - 1
            return f"constant {value} to {node.value}"
        case ast.Constant(value=value) if isinstance(value, bool) and variant == 0:
            node.value = not value
            return f"constant {value}"
        case ast.Call(func=ast.Name(id=("min" | "max") as name)) if variant == 0:
            node.func = ast.Name(id="max" if name == "min" else "min", ctx=ast.Load())
            return f"{name} exchanged"
        case ast.Call(args=[first, second, *rest]) if variant == 0:
            node.args = [second, first, *rest]
            return "arguments exchanged"
        case ast.If() if variant == 0:
            node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
            return "condition turned round"
    return None
