"""Faults of the kernels that nobody thought of: every small change of the text that devices and the host share.

Each change is a `Patch` like those of the registered mutants; they come in the order of the text and depend on it alone.
Left alone are macros, types, and what the host or a device alone compiles (`branches` tells that apart).
"""

from __future__ import annotations

import enum
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

import tree_sitter
import tree_sitter_cuda

from impl.batched.kernels import Patch

FILES = ("words.cuh", "carry.cuh", "order.cuh", "prefix.cuh", "text.cuh", "batched.cu")
"""The files of impl/batched/kernels whose text is changed."""

# Macros that the parser does not know, as something of the same length that it does; nothing in it can be changed.
_MACROS = ((r"\bKERNEL\b", "void"), (r"\bHD\b", ""), (r"\bEACH(?:_ROW)?\(\w+, \w+\)", "for (;;)"), (r"#pragma \w+", ""))

# fmt: off
_OPERATORS: Mapping[str, str] = {
    "<": "<= > ==", "<=": "< >= ==", ">": ">= < ==", ">=": "> <= ==", "==": "!= <= >=", "!=": "== < >",
    "+": "-", "-": "+", "*": "+ /", "/": "* %", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&",
    "&&": "||", "||": "&&", "+=": "-= =", "-=": "+= =", "*=": "+= =", "/=": "*= =", "|=": "&= =", "&=": "|= =",
}
_SIBLINGS: Mapping[str, str] = {
    "lo": "hi", "hi": "lo", "low": "high", "high": "low", "order": "depth", "depth": "order",
    "first": "second", "second": "first", "lesser": "greater", "greater": "lesser",
}
# fmt: on
_JOINING = ("&&", "||", "&", "|", "+", "-", "*")  # either side alone is a fault, too
_ALIKE = ("lesser", "greater")  # their arguments may be swapped


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change, by what it does: in which function of which file, and the lines taken out and put in."""

    file: str
    function: str
    patch: Patch

    @property
    def removed(self) -> str:
        """The lines taken out, without their margins."""
        return _lines(self.patch.before)

    @property
    def added(self) -> str:
        """The lines put in, without their margins."""
        return _lines(self.patch.after)

    def __str__(self) -> str:
        return f"{self.file} {self.function}\n  - {self.removed}\n  + {self.added}"


def _lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


def text_of(file: str) -> str:
    """Return the text of a kernel file."""
    return resources.files("impl.batched.kernels").joinpath(file).read_text(encoding="utf-8")


class Compiled(enum.Enum):
    """Who compiles a line."""

    BY_BOTH = "both"
    BY_DEVICE = "device"
    BY_HOST = "host"


def branches(text: str) -> Iterator[tuple[str, Compiled]]:
    """The lines of a text, each with who compiles it. Conditions on anything but HOST are for both."""
    other = {Compiled.BY_HOST: Compiled.BY_DEVICE, Compiled.BY_DEVICE: Compiled.BY_HOST, Compiled.BY_BOTH: Compiled.BY_BOTH}
    stack: list[Compiled] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("#if"):
            stack.append({"#ifdef HOST": Compiled.BY_HOST, "#ifndef HOST": Compiled.BY_DEVICE}.get(line.strip(), Compiled.BY_BOTH))
        elif line.startswith("#else"):
            stack.append(other[stack.pop()])
        elif line.startswith("#endif"):
            stack.pop()
        yield line, next((by for by in stack if by is not Compiled.BY_BOTH), Compiled.BY_BOTH)


def device_only(text: str) -> str:
    """The text that only a device compiles."""
    directives = ("#if", "#else", "#endif")
    return "".join(line for line, by in branches(text) if by is Compiled.BY_DEVICE and not line.startswith(directives))


def shared(text: str) -> str:
    """The text that both compile, in a form that can be parsed: everything else is blank, and stands where it stood."""
    lines, in_macro = [], False
    for line, by in branches(text):
        hidden = by is not Compiled.BY_BOTH or in_macro or (line.startswith("#") and not line.startswith("#pragma"))
        in_macro = line.endswith("\\\n") and (in_macro or line.startswith("#define"))
        lines.append(" " * (len(line) - 1) + "\n" if hidden else line)
    whole = "".join(lines)
    for macro, instead in _MACROS:
        whole = re.sub(macro, lambda found, instead=instead: instead.ljust(len(found[0])), whole)  # type: ignore[misc]
    return whole


@functools.cache
def changes(file: str) -> tuple[Change, ...]:
    """Every change of the shared text of a file, each giving another text."""
    text = text_of(file)
    readable = shared(text)
    tree = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language())).parse(readable.encode("ascii"))
    if tree.root_node.has_error:
        raise ValueError(f"changes: file={file} cannot be parsed; teach _MACROS the macro that stands in its way")
    found: dict[str, Change] = {}
    for node, becomes in _replacements(tree.root_node):
        begin, end = node.start_byte, node.end_byte
        whole = text[:begin] + becomes + text[end:]
        # A blank in the parsed text is a macro in the real one.
        if text[begin:end] == readable[begin:end] and whole != text and whole not in found:
            patch = _patch(file, text, begin, end, becomes)
            found[whole] = Change(file=file, function=_function(node), patch=patch)
    return tuple(found.values())


def every_change() -> tuple[Change, ...]:
    """The changes of all files."""
    return tuple(change for file in FILES for change in changes(file))


def _patch(file: str, text: str, begin: int, end: int, becomes: str) -> Patch:
    """The change with as many lines before it as make it fit one place."""
    start, stop = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
    while text.count(text[start:stop]) > 1:
        start = text.rfind("\n", 0, start - 1) + 1
    return Patch(file=file, before=text[start:stop], after=text[start:begin] + becomes + text[end:stop])


def _text(node: tree_sitter.Node | None) -> str:
    assert node is not None
    assert node.text is not None
    return node.text.decode("ascii")


_NAMING = ("function_definition", "struct_specifier", "enum_specifier", "init_declarator", "declaration")


def _function(node: tree_sitter.Node) -> str:
    """The name of the function, or else of the type or constant, around a node."""
    outermost = ""
    around: tree_sitter.Node | None = node
    while around is not None:
        declarator = around.child_by_field_name("declarator") or around.child_by_field_name("name")
        if declarator is not None and around.type in _NAMING:
            while declarator.type in ("function_declarator", "init_declarator", "array_declarator"):
                declarator = declarator.child_by_field_name("declarator") or declarator.children[0]
            outermost = _text(declarator)
        around = around.parent
    return outermost


Replacement = tuple[tree_sitter.Node, str]


def _replacements(node: tree_sitter.Node) -> Iterator[Replacement]:
    """The changes at a node and below it, in the order of the text."""
    kind = _KINDS.get(node.type)
    if kind is not None:
        yield from kind(node)
    for child in node.children:
        yield from _replacements(child)


def _binary(node: tree_sitter.Node) -> Iterator[Replacement]:
    left, operator, right = (node.child_by_field_name(name) for name in ("left", "operator", "right"))
    assert operator is not None
    for other in _OPERATORS.get(_text(operator), "").split():
        # No word is less than zero: these are the same, and no faults.
        if (_text(operator), other, _text(right)) not in (("!=", ">", "0"), ("==", "<=", "0")):
            yield operator, other
    if _text(operator) in _JOINING:
        yield node, _text(left)
        yield node, _text(right)


def _unary(node: tree_sitter.Node) -> Iterator[Replacement]:
    if _text(node.child_by_field_name("operator")) in ("!", "~", "-"):
        yield node, _text(node.child_by_field_name("argument"))


def _update(node: tree_sitter.Node) -> Iterator[Replacement]:
    operator = node.child_by_field_name("operator")
    assert operator is not None
    yield operator, "--" if _text(operator) == "++" else "++"


def _number(node: tree_sitter.Node) -> Iterator[Replacement]:
    text = _text(node)
    suffix = text[len(text.rstrip("uUlL")) :] if text != "0" else ""
    value = int(text[: len(text) - len(suffix)], 0)
    yield node, f"{value + 1}{suffix}"
    if value > 0:
        yield node, f"{value - 1}{suffix}"


def _character(node: tree_sitter.Node) -> Iterator[Replacement]:
    code = ord(_text(node)[1:-1].encode().decode("unicode_escape"))
    yield node, str(code + 1)
    yield node, str(code - 1)


def _truth(node: tree_sitter.Node) -> Iterator[Replacement]:
    yield node, "false" if _text(node) == "true" else "true"


def _choice(node: tree_sitter.Node) -> Iterator[Replacement]:
    yield node, _text(node.child_by_field_name("consequence"))
    yield node, _text(node.child_by_field_name("alternative"))


def _condition(node: tree_sitter.Node) -> Iterator[Replacement]:
    condition = node.child_by_field_name("condition")
    if condition is None:  # an endless loop
        return
    value = condition.child_by_field_name("value") or condition
    if value.type == "declaration" or _text(value) in ("true", "false"):
        return
    yield value, "false"
    if node.type == "if_statement":
        yield value, "true"


def _arguments(node: tree_sitter.Node) -> Iterator[Replacement]:
    named = node.named_children
    callee = _text(node.parent.child_by_field_name("function")) if node.parent and node.type == "argument_list" else ""
    if any(callee.startswith(name) for name in _ALIKE):
        for argument in named:
            assert node.parent is not None
            yield node.parent, _text(argument)
        return
    for left, right in itertools.pairwise(named):
        if _text(left) == _text(right):
            continue
        # Both at once, in a text of the whole list.
        base, whole = node.start_byte, _text(node)
        first, second = (left.start_byte - base, left.end_byte - base), (right.start_byte - base, right.end_byte - base)
        yield node, (whole[: first[0]] + _text(right) + whole[first[1] : second[0]] + _text(left) + whole[second[1] :])


def _name(node: tree_sitter.Node) -> Iterator[Replacement]:
    declares = node.parent is not None and node.parent.type in (
        *("function_declarator", "field_declaration", "parameter_declaration", "init_declarator", "declaration"),
        *("array_declarator", "reference_declarator", "pointer_declarator"),
    )
    if not declares and _text(node) in _SIBLINGS:
        yield node, _SIBLINGS[_text(node)]


def _statement(node: tree_sitter.Node) -> Iterator[Replacement]:
    yield node, ";"


_KINDS: Mapping[str, Callable[[tree_sitter.Node], Iterator[Replacement]]] = {
    "binary_expression": _binary,
    "assignment_expression": _binary,
    "unary_expression": _unary,
    "update_expression": _update,
    "number_literal": _number,
    "char_literal": _character,
    "true": _truth,
    "false": _truth,
    "conditional_expression": _choice,
    "if_statement": _condition,
    "while_statement": _condition,
    "for_statement": _condition,
    "argument_list": _arguments,
    "initializer_list": _arguments,
    "identifier": _name,
    "field_identifier": _name,
    "expression_statement": _statement,
    "break_statement": _statement,
    "continue_statement": _statement,
}
