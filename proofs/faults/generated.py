"""Faults that nobody thought of: every small change of the text of a module of rules, found in its syntax tree.

Each change is a patch like those of the named faults. They come in the order of the text, and depend on it alone. Left
alone are texts, types, the names of index ranges, and whatever is not part of a function or of a constant of its module.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

from proofs.faults.patch import Patch, source

MODULES = ("machine", "store", "carry", "append", "order", "key", "gate")
"""The modules whose text is changed."""

_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<= >= ==",
    ast.LtE: "< > ==",
    ast.Gt: ">= <= ==",
    ast.GtE: "> < ==",
    ast.Eq: "!= <= >=",
    ast.NotEq: "== < >",
}
_ARITHMETIC: Mapping[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}
_SIBLINGS: Mapping[str, tuple[set[str], ...]] = {
    "store": ({"lo", "hi"},),
    "carry": ({"rows", "last_pair_key"}, {"carry", "prefill"}),
    "append": ({"rows", "first_key"},),
    "order": ({"order", "depths"},),
    "key": ({"slot", "k"},),
    "gate": ({"set", "utf8"},),
}
"""By module, fields of one record that have one type."""


@dataclass(frozen=True, kw_only=True)
class Generated:
    """A change of one expression: in which function (or constant) of its module, and what becomes what."""

    name: str
    module: str
    place: str
    was: str
    becomes: str
    patch: Patch


@cache
def generated(module: str) -> tuple[Generated, ...]:
    """Every change of `spec/<module>.py`, each giving another text."""
    text = source(module)
    changes = _Changes(name=module, text=text, module=importlib.import_module(f"spec.{module}"))
    found: dict[str, Generated] = {}
    names: dict[str, int] = {}
    for place, node, becomes in changes.all():
        was = changes.text_of(node)
        patch = _patch(module, text, node, becomes)
        changed = patch.apply()
        if becomes == was or changed in found:
            continue
        told = f"{module}.{place}: {_one_line(was)} -> {_one_line(becomes)}"
        names[told] = names.get(told, 0) + 1
        name = told if names[told] == 1 else f"{told} ({names[told]})"
        found[changed] = Generated(name=name, module=module, place=place, was=was, becomes=becomes, patch=patch)
    return tuple(found.values())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _patch(module: str, text: str, node: ast.expr, becomes: str) -> Patch:
    """The whole lines around the node, and as many before as make them unlike any others."""
    lines = text.splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    changed = lines[first][: node.col_offset] + becomes + lines[last][node.end_col_offset :]
    old, new = "".join(lines[first : last + 1]), changed
    while text.count(old) > 1:
        first -= 1
        old, new = lines[first] + old, lines[first] + new
    return Patch(module=module, old=old, new=new)


@dataclass(kw_only=True)
class _Changes:
    """The changes of one text."""

    name: str
    text: str
    module: ModuleType
    alike: Mapping[str, str] = field(default_factory=dict)
    """For each parameter of the function in hand, the next one of the same type."""
    starts: frozenset[int] = frozenset()
    """Where index ranges start, by the identities of the nodes."""

    def all(self) -> Iterator[tuple[str, ast.expr, str]]:
        """Where, which expression, and what becomes of it."""
        tree = ast.parse(self.text)
        ranges = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and self.text_of(n.func) in ("every", "some")]
        self.starts = frozenset(id(call.args[1]) for call in ranges)
        for statement in tree.body:
            if isinstance(statement, ast.FunctionDef):
                for node, becomes in self._function(statement):
                    yield statement.name, node, becomes
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                for node, becomes in self._expression(statement.value):
                    yield statement.targets[0].id, node, becomes

    def _function(self, function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
        outer = self.alike
        self.alike = {**outer, **_next_of_its_type(function)}
        for statement in function.body:
            if isinstance(statement, ast.FunctionDef):
                yield from self._function(statement)
            else:
                yield from self._statement(statement)
        self.alike = outer

    def _statement(self, statement: ast.AST) -> Iterator[tuple[ast.expr, str]]:
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.stmt):
                yield from self._statement(part)
            elif isinstance(part, ast.expr) and part is not getattr(statement, "annotation", None):
                yield from self._expression(part)

    def _expression(self, node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
        if isinstance(node, ast.JoinedStr):
            return
        for becomes in self._changed(node):
            yield node, becomes
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                yield from self._expression(part)
            elif isinstance(part, (ast.comprehension, ast.keyword)):
                yield from self._statement(part)

    def _changed(self, node: ast.expr) -> Iterator[str]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                others = _COMPARISONS.get(type(op), "").split()
                if _is_truth(left) or _is_truth(right):
                    others = others[:1]
                for other in others:
                    yield f"{self.text_of(left)} {other} {self.text_of(right)}"
                if isinstance(op, ast.Is):
                    yield f"{self.text_of(left)} is not {self.text_of(right)}"
            case ast.BinOp(left=left, op=op, right=right):
                if type(op) in _ARITHMETIC:
                    yield f"({self.text_of(left)} {_ARITHMETIC[type(op)]} {self.text_of(right)})"
                if isinstance(op, ast.Mod):
                    yield self.text_of(left)
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=0):
                # There is no index below 0, so no range starts there.
                yield from ("1",) if id(node) in self.starts else ("1", "(-1)")
            case ast.Constant(value=int(number)):
                yield from (str(number + 1), str(number - 1))
            case ast.Name(id=name, ctx=ast.Load()) if name in self.alike:
                yield self.alike[name]
            case ast.Attribute(value=record, attr=name):
                for siblings in _SIBLINGS.get(self.name, ()):
                    if name in siblings:
                        (other,) = siblings - {name}
                        yield f"{self.text_of(record)}.{other}"
            case ast.Call():
                yield from self._called(node)

    def _called(self, call: ast.Call) -> Iterator[str]:
        function = self.text_of(call.func)
        texts = [self.text_of(argument) for argument in call.args]
        match function, call.args:
            case "z3.And" | "z3.Or", arguments:
                other = {"z3.And": "z3.Or", "z3.Or": "z3.And"}[function]
                yield f"{other}({', '.join(texts)})"
                if len(arguments) > 1:
                    for dropped in range(len(texts)):
                        yield f"{function}({', '.join(texts[:dropped] + texts[dropped + 1 :])})"
                    for at, argument in enumerate(arguments):
                        if not isinstance(argument, (ast.Compare, ast.Starred)):
                            negated = [*texts[:at], f"z3.Not({texts[at]})", *texts[at + 1 :]]
                            yield f"{function}({', '.join(negated)})"
            case "z3.Not", [_]:
                yield texts[0]
            case "z3.If", [_, _, _]:
                condition, then, other = texts
                yield f"z3.If({condition}, {other}, {then})"
                yield then
                yield other
            case "z3.Implies", [_, _]:
                given, follows = texts
                yield follows
                yield f"z3.And({given}, {follows})"
                yield f"z3.Implies({follows}, {given})"
            case name, [_, _, *_]:
                for first, second in self._alike_arguments(name, call):
                    swapped = list(texts)
                    swapped[first], swapped[second] = texts[second], texts[first]
                    keywords = [self.text_of(word.value) for word in call.keywords]
                    named = [f"{word.arg}={value}" for word, value in zip(call.keywords, keywords, strict=True)]
                    yield f"{name}({', '.join([*swapped, *named])})"

    def _alike_arguments(self, name: str, call: ast.Call) -> Iterator[tuple[int, int]]:
        """Neighbouring arguments whose parameters have one type."""
        function = getattr(self.module, name, None)
        if not inspect.isfunction(function):
            return
        types = [parameter.annotation for parameter in inspect.signature(function).parameters.values()]
        for first in range(len(call.args) - 1):
            if types[first] == types[first + 1]:
                yield first, first + 1

    def text_of(self, node: ast.expr) -> str:
        """The text of an expression, as it stands there."""
        segment = ast.get_source_segment(self.text, node)
        assert segment is not None
        return segment


def _is_truth(node: ast.expr) -> bool:
    """It is plain from the text that the expression is true or false, and no number."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("present", "panics")
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("And", "Or", "Not")


def _next_of_its_type(function: ast.FunctionDef) -> dict[str, str]:
    by_type: dict[str, list[str]] = {}
    for parameter in function.args.args:
        kind = ast.dump(parameter.annotation) if parameter.annotation else parameter.arg
        by_type.setdefault(kind, []).append(parameter.arg)
    return {name: names[(at + 1) % len(names)] for names in by_type.values() if len(names) > 1 for at, name in enumerate(names)}
