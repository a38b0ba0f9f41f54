"""The Rust front end: tree-sitter's tree to the small language of `ir`.

It takes the safe, monomorphic, single-threaded part of Rust. Attributes that can change what is compiled, generics, `unsafe`,
macros of the file's own and everything else it does not know become objections or `Unknown` nodes with their line. What names
mean is left to the executor, except that names imported from elsewhere are recorded with their path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, cast

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

from proofs.source import ir

_LANGUAGE = Language(tree_sitter_rust.language())

_HARMLESS = frozenset(
    "allow warn deny forbid expect doc inline must_use cold derive non_exhaustive rustfmt clippy track_caller test".split()  # noqa: SIM905
)
"""Attributes that do not change what a function computes."""

_PANICS = frozenset(["panic", "unreachable", "todo", "unimplemented"])
_MACROS = (
    _PANICS
    | frozenset(f"{prefix}{name}" for prefix in ("", "debug_") for name in ("assert", "assert_eq", "assert_ne"))
    | frozenset(["matches", "vec"])
)

_SUFFIXES = ("usize", "isize", "u128", "i128", "u64", "i64", "u32", "i32", "u16", "i16", "u8", "i8")


def parse(path: str, text: bytes) -> ir.Source:
    """The declarations of a Rust file. Never raises on content: what cannot be read is an objection."""
    root = Parser(_LANGUAGE).parse(text).root_node
    front = _File(path)
    front.items(root, objection=None)
    return front.source()


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "0": "\0", "'": "'", '"': '"'}


def _escaped(node: Node) -> str:
    """The character that an escape stands for."""
    text = _text(node)[1:]
    if text in _ESCAPES:
        return _ESCAPES[text]
    digits = text[1:].strip("{}").replace("_", "")
    if text[:1] in ("x", "u") and digits:
        return chr(int(digits, 16))
    raise _Strange(node, f"escape {_text(node)}")


def _field(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    if child is None:
        raise _Strange(node, f"{node.type} without {name}")
    return child


def _parts(node: Node) -> list[Node]:
    return [n for n in node.named_children if n.type not in ("line_comment", "block_comment")]


class _Strange(Exception):
    """A construct outside the subset."""

    def __init__(self, node: Node, what: str) -> None:
        super().__init__(what)
        self.node = node
        self.what = what


class _File:
    def __init__(self, path: str) -> None:
        self.path = path
        self.functions: list[ir.Function] = []
        self.constants: dict[str, ir.Constant] = {}
        self.shapes: dict[str, ir.Shape] = {}
        self.aliases: dict[str, ir.Type] = {}
        self.imported: dict[str, str] = {}
        self.macros: set[str] = set()
        self.own_traits: dict[str, set[str]] = {}
        self.objection: str | None = None
        self.first_line = 0

    def source(self) -> ir.Source:
        for shape in list(self.shapes.values()):
            custom = self.own_traits.get(shape.name, set())
            if custom:
                self.shapes[shape.name] = replace(
                    shape,
                    compared=shape.compared and not custom & {"PartialEq", "Eq"},
                    ordered=shape.ordered and not custom & {"PartialOrd", "Ord", "PartialEq"},
                )
        return ir.Source(
            path=self.path,
            language="rust",
            functions=tuple(self.functions),
            constants=self.constants,
            shapes=self.shapes,
            aliases=self.aliases,
            imported=self.imported,
            objection=self.objection,
        )

    def line(self, node: Node) -> int:
        return node.start_point[0] + 1 + self.first_line

    # Items

    def items(self, parent: Node, objection: str | None) -> None:
        """The items of a file, or of a module in it whose contents the objection covers."""
        waiting: list[Node] = []
        for node in _parts(parent):
            if node.type == "attribute_item":
                waiting.append(node)
                continue
            if node.type == "inner_attribute_item":
                if not _harmless(node):
                    self.objection = f"line {self.line(node)}: {_text(node)[:60]}"
                continue
            attributes, waiting = waiting, []
            if _only_for_tests(attributes):
                continue
            self.item(node, attributes, objection)

    def item(self, node: Node, attributes: list[Node], objection: str | None) -> None:
        changes = [_text(a) for a in attributes if not _harmless(a)]
        objection = objection or (f"attribute {changes[0][:60]}" if changes else None)
        try:
            match node.type:
                case "function_item":
                    self.functions.append(self.function(node, None, objection))
                case "const_item" | "static_item":
                    self.constant(node, objection)
                case "struct_item":
                    self.shape(node, attributes, objection)
                case "enum_item":
                    self.enumeration(node, attributes, objection)
                case "impl_item":
                    self.implementation(node, objection)
                case "trait_item":
                    pass  # its methods count where a type implements them; provided bodies are not looked at
                case "mod_item":
                    self.module(node, objection)
                case "type_item":
                    if node.child_by_field_name("type_parameters") is None and not objection:
                        self.aliases[_text(_field(node, "name"))] = self.type(_field(node, "type"))
                case "use_declaration":
                    for name, path in _imports(_parts(node)[-1], ""):
                        if name == "*" and not path.startswith(("std::", "core::", "alloc::")):
                            self.objection = f"line {self.line(node)}: `use {path}::*` brings names of unknown meaning"
                        if self.imported.setdefault(name, path) != path:
                            self.imported[name] = "?"
                case "macro_definition":
                    self.macros.add(_text(_field(node, "name")))
                case "expression_statement" | "macro_invocation" | "empty_statement" | "extern_crate_declaration":
                    if "macro_invocation" in (node.type, *[n.type for n in _parts(node)]):
                        self.objection = f"line {self.line(node)}: a macro at the top of the file may declare anything"
                case "ERROR":
                    self.objection = f"line {self.line(node)}: syntax error"
        except _Strange as strange:
            self.objection = f"line {self.line(strange.node)}: {strange.what}"

    def module(self, node: Node, objection: str | None) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            return  # in another file: its names are reached by path, which the executor does not know
        name = _text(_field(node, "name"))
        inner = _File(self.path)
        inner.items(body, objection or f"inside `mod {name}`")
        self.functions.extend(inner.functions)
        for found in (inner.constants, inner.shapes):
            for own in found:
                self.imported.setdefault(own, f"{name}::{own}") if own not in self.constants else None
        self.objection = self.objection or inner.objection

    def constant(self, node: Node, objection: str | None) -> None:
        if any(child.type == "mutable_specifier" for child in node.children):
            objection = objection or "`static mut`"
        name = _text(_field(node, "name"))
        value = node.child_by_field_name("value")
        self.constants[name] = ir.Constant(
            name,
            self.type(_field(node, "type")),
            ir.Unknown("a constant without value") if value is None else self.expression(value),
            "declared twice" if name in self.constants else objection,
            line=self.line(node),
        )

    def shape(self, node: Node, attributes: list[Node], objection: str | None) -> None:
        name = _text(_field(node, "name"))
        if node.child_by_field_name("type_parameters") is not None and "lifetime" not in _text(node):
            objection = objection or "generic struct"
        derived = "".join(_text(a) for a in attributes)
        body = node.child_by_field_name("body")
        fields: list[tuple[str, ir.Type | None]] = []
        positional = body is not None and body.type == "ordered_field_declaration_list"
        for child in _parts(body) if body is not None else []:
            if child.type == "attribute_item" and not _harmless(child):
                objection = objection or f"attribute {_text(child)[:60]}"
            elif positional and child.type not in ("visibility_modifier", "attribute_item"):
                fields.append((str(len(fields)), self.type(child)))
            elif child.type == "field_declaration":
                fields.append((_text(_field(child, "name")), self.type(_field(child, "type"))))
        self.shapes[name] = ir.Shape(
            name,
            tuple(fields),
            positional,
            "PartialEq" in derived,
            "PartialOrd" in derived,
            "declared twice" if name in self.shapes else objection,
            line=self.line(node),
        )

    def enumeration(self, node: Node, attributes: list[Node], objection: str | None) -> None:
        name = _text(_field(node, "name"))
        plain = all(
            child.child_by_field_name("body") is None and child.child_by_field_name("value") is None
            for child in _parts(_field(node, "body"))
            if child.type == "enum_variant"
        )
        compared = "PartialEq" in "".join(_text(a) for a in attributes)
        for child in _parts(_field(node, "body")):
            if child.type == "enum_variant":
                variant = f"{name}::{_text(_field(child, 'name'))}"
                why = objection or (None if plain else "an enum with data")
                shown = ir.Literal(None, variant, line=self.line(child))
                self.constants[variant] = ir.Constant(variant, None, shown, why, line=self.line(child))
        self.shapes[name] = ir.Shape(name, (), False, compared, False, objection or "an enum", line=self.line(node))

    def implementation(self, node: Node, objection: str | None) -> None:
        target = _field(node, "type")
        trait = node.child_by_field_name("trait")
        owner = _text(target).split("<")[0]
        if node.child_by_field_name("type_parameters") is not None and "lifetime" not in str(node):
            objection = objection or "generic impl"
        if trait is not None:
            self.own_traits.setdefault(owner, set()).add(_text(trait).split("::")[-1].split("<")[0])
        waiting: list[Node] = []
        for child in _parts(_field(node, "body")):
            if child.type == "attribute_item":
                waiting.append(child)
                continue
            attributes, waiting = waiting, []
            if _only_for_tests(attributes):
                continue
            changes = [_text(a) for a in attributes if not _harmless(a)]
            why = objection or (f"attribute {changes[0][:60]}" if changes else None)
            if child.type == "function_item":
                function = self.function(child, owner, why)
                self.functions.append(replace(function, trait=None if trait is None else _text(trait)))
            elif child.type == "const_item":
                name = f"{owner}::{_text(_field(child, 'name'))}"
                value = child.child_by_field_name("value")
                lowered = ir.Unknown("a constant without value") if value is None else self.expression(value)
                type_ = _own(self.type(_field(child, "type")), owner)
                why = "declared twice" if name in self.constants else why
                self.constants[name] = ir.Constant(name, type_, _SelfIs(owner).of(lowered), why, line=self.line(child))
            elif child.type == "macro_invocation":
                self.objection = f"line {self.line(child)}: a macro in an impl may declare anything"

    def function(self, node: Node, owner: str | None, objection: str | None) -> ir.Function:
        name = _text(_field(node, "name"))
        line = self.line(node)
        for child in node.children:
            if child.type == "function_modifiers":
                strange = [w for w in _text(child).split() if w in ("unsafe", "async", "extern", "default")]
                objection = objection or (f"`{strange[0]} fn`" if strange else None)
        generics = node.child_by_field_name("type_parameters")
        if generics is not None and any(p.type != "lifetime_parameter" for p in _parts(generics)):
            objection = objection or "generic function"
        if any(p.type == "where_clause" for p in node.children):
            objection = objection or "generic function"
        parameters: list[tuple[ir.Pattern, ir.Type | None]] = []
        receiver = None
        try:
            if _broken(node):
                raise _Strange(node, "syntax error")
            for child in _parts(_field(node, "parameters")):
                if child.type == "self_parameter":
                    receiver = "&mut" if "&" in _text(child) and "mut" in _text(child) else ""
                    pattern: ir.Pattern = ir.Bind("self", line=line)
                    parameters.append((pattern, ir.Type(owner or "Self")))
                elif child.type == "parameter":
                    type_ = self.type(_field(child, "type"))
                    parameters.append((self.pattern(_field(child, "pattern")), _own(type_, owner)))
                elif child.type == "attribute_item":
                    raise _Strange(child, "attribute on a parameter")
                else:
                    raise _Strange(child, f"parameter {_text(child)[:40]}")
            returns = node.child_by_field_name("return_type")
            declared = ir.Type("()") if returns is None else _own(self.type(returns), owner)
            body: ir.Node = self.block(_field(node, "body"))
        except _Strange as strange:
            body, declared = ir.Unknown(strange.what, line=self.line(strange.node)), ir.Type("()")
            objection = objection or f"line {self.line(strange.node)}: {strange.what}"
        if owner is not None:
            body = _SelfIs(owner).of(body)
        return ir.Function(
            name,
            tuple(parameters),
            declared,
            body,
            owner,
            receiver,
            defaults=(None,) * len(parameters),
            objection=objection,
            line=line,
        )

    # Types

    def type(self, node: Node) -> ir.Type:
        match node.type:
            case "primitive_type" | "type_identifier" | "identifier" | "self":
                return ir.Type(_text(node))
            case "scoped_type_identifier":
                return ir.Type(_text(node).replace(" ", ""))
            case "reference_type":
                inner = self.type(_field(node, "type"))
                mutable = any(child.type == "mutable_specifier" for child in node.children)
                return ir.Type("&mut", (inner,)) if mutable else inner
            case "array_type":
                length = node.child_by_field_name("length")
                element = self.type(_field(node, "element"))
                return ir.Type("slice", (element,)) if length is None else ir.Type("array", (element,))
            case "tuple_type":
                return ir.Type("tuple", tuple(self.type(child) for child in _parts(node)))
            case "unit_type":
                return ir.Type("()")
            case "generic_type":
                arguments = _parts(_field(node, "type_arguments"))
                plain = [a for a in arguments if a.type != "lifetime"]
                name = _text(_field(node, "type")).replace(" ", "")
                return ir.Type(name, tuple(self.type(a) for a in plain))
            case _:
                return ir.Type(f"?{_text(node)[:40]}")

    # Patterns

    def pattern(self, node: Node) -> ir.Pattern:
        line = self.line(node)
        match node.type:
            case "identifier" | "shorthand_field_identifier":
                return ir.Bind(_text(node), line=line)
            case "_" | "remaining_field_pattern":
                return ir.Anything(line=line)
            case "mut_pattern" | "reference_pattern":
                inner = [n for n in _parts(node) if n.type != "mutable_specifier"]
                return self.pattern(inner[-1]) if inner else ir.Anything(line=line)
            case "tuple_pattern" | "slice_pattern":
                if any(_text(c) == ".." for c in node.children):
                    return ir.Strange("`..` in a pattern", line=line)
                return ir.Items(tuple(self.pattern(c) for c in self.pattern_parts(node)), line=line)
            case "tuple_struct_pattern":
                head, *rest = self.pattern_parts(node)
                if any(_text(c) == ".." for c in node.children):
                    return ir.Strange("`..` in a pattern", line=line)
                fields = tuple((str(i), self.pattern(c)) for i, c in enumerate(rest))
                return ir.Variant(_path(head), fields, line=line)
            case "struct_pattern":
                head, *rest = _parts(node)
                named: list[tuple[str, ir.Pattern]] = []
                for child in rest:
                    if child.type != "field_pattern":
                        continue
                    name = _text(_field(child, "name"))
                    inner_pattern = child.child_by_field_name("pattern")
                    bound: ir.Pattern = ir.Bind(name, line=line)
                    named.append((name, bound if inner_pattern is None else self.pattern(inner_pattern)))
                more = any(child.type == "remaining_field_pattern" for child in rest)
                return ir.Variant(_path(head), tuple(named), more, line=line)
            case "or_pattern":
                return ir.AnyOf(tuple(self.pattern(c) for c in self.pattern_parts(node)), line=line)
            case "captured_pattern":
                name_node, inner_node = _parts(node)
                return ir.Bind(_text(name_node), self.pattern(inner_node), line=line)
            case "range_pattern":
                ends = [self.expression(c) for c in _parts(node)]
                text = _text(node)
                low = None if text.startswith("..") else ends[0]
                high = None if text.endswith("..") else ends[-1]
                return ir.Between(low, high, "..=" in text, line=line)
            case "scoped_identifier" | "integer_literal" | "boolean_literal" | "negative_literal" | "char_literal":
                return ir.Exactly(self.expression(node), line=line)
            case "match_pattern":
                inner = _parts(node)
                guard = node.child_by_field_name("condition")
                if guard is not None:
                    inner = [n for n in inner if n.id != guard.id]
                return self.pattern(inner[0]) if inner else ir.Anything(line=line)
            case _:
                return ir.Strange(f"pattern {_text(node)[:40]}", line=line)

    def pattern_parts(self, node: Node) -> list[Node]:
        skipped = ("line_comment", "block_comment", "(", ")", "[", "]", ",", "|", "..")
        return [n for n in node.children if n.type not in skipped]

    # Expressions

    def expression(self, node: Node) -> ir.Node:
        """The node lowered; a construct outside the subset becomes `Unknown` in its place."""
        try:
            return self._expression(node)
        except _Strange as strange:
            return ir.Unknown(strange.what, line=self.line(strange.node))

    def _expression(self, node: Node) -> ir.Node:
        line = self.line(node)
        match node.type:
            case "integer_literal":
                return _integer(node, line)
            case "negative_literal":
                return ir.Unary("-", self.expression(_parts(node)[0]), line=line)
            case "boolean_literal":
                return ir.Literal(_text(node) == "true", line=line)
            case "char_literal":
                inside = _text(node)[1:-1]
                if len(inside) != 1:
                    raise _Strange(node, f"character {_text(node)}")
                return ir.Literal(ord(inside), "char", line=line)
            case "string_literal":
                inside = "".join(_escaped(c) if c.type == "escape_sequence" else _text(c) for c in _parts(node))
                return ir.Literal(inside, line=line)
            case "identifier" | "self":
                return ir.Name(_text(node), line=line)
            case "scoped_identifier":
                return ir.Name(_path(node), line=line)
            case "parenthesized_expression":
                return self.expression(_parts(node)[0])
            case "unit_expression":
                return ir.Tuple((), line=line)
            case "tuple_expression":
                return ir.Tuple(tuple(self.expression(c) for c in _parts(node)), line=line)
            case "array_expression":
                return self.array(node, line)
            case "block":
                if any(child.type == "label" for child in node.children):
                    raise _Strange(node, "a labelled block")
                return self.block(node)
            case "if_expression":
                otherwise = node.child_by_field_name("alternative")
                return ir.If(
                    self.condition(_field(node, "condition")),
                    self.expression(_field(node, "consequence")),
                    None if otherwise is None else self.expression(_parts(otherwise)[0]),
                    line=line,
                )
            case "match_expression":
                arms = [c for c in _parts(_field(node, "body")) if c.type == "match_arm"]
                if any(c.type != "match_arm" for c in _parts(_field(node, "body"))):
                    raise _Strange(node, "an attribute in a match")
                lowered = []
                for arm in arms:
                    if any(c.type == "attribute_item" for c in arm.children):
                        raise _Strange(arm, "an attribute in a match")
                    pattern = _field(arm, "pattern")
                    guard = pattern.child_by_field_name("condition")
                    lowered.append(
                        (
                            self.pattern(pattern),
                            None if guard is None else self.condition(guard),
                            self.expression(_field(arm, "value")),
                        )
                    )
                return ir.Match(self.expression(_field(node, "value")), tuple(lowered), line=line)
            case "binary_expression":
                return self.binary(node, line)
            case "unary_expression":
                operator = _text(node.children[0])
                operand = self.expression(_parts(node)[0])
                return operand if operator == "*" else ir.Unary(operator, operand, line=line)
            case "reference_expression":
                mutable = any(child.type == "mutable_specifier" for child in node.children)
                if any(child.type == "raw" for child in node.children):
                    raise _Strange(node, "a raw pointer")
                return ir.Borrow(self.expression(_field(node, "value")), mutable, line=line)
            case "try_expression":
                return ir.Try(self.expression(_parts(node)[0]), line=line)
            case "type_cast_expression":
                return ir.Cast(self.expression(_field(node, "value")), self.type(_field(node, "type")), line=line)
            case "call_expression":
                return self.call(node, line)
            case "field_expression":
                return ir.Field(self.expression(_field(node, "value")), _text(_field(node, "field")), line=line)
            case "index_expression":
                object_, index = _parts(node)
                return ir.Index(self.expression(object_), self.expression(index), line=line)
            case "range_expression":
                return self.range(node, line)
            case "struct_expression":
                return self.struct(node, line)
            case "closure_expression":
                return self.closure(node, line)
            case "macro_invocation":
                return self.macro(node, line)
            case "return_expression":
                inner = _parts(node)
                return ir.Return(self.expression(inner[0]) if inner else None, line=line)
            case "break_expression" | "continue_expression":
                label = next((_text(c) for c in node.children if c.type == "label"), None)
                value = [c for c in _parts(node) if c.type != "label"]
                if node.type == "continue_expression":
                    return ir.Continue(label, line=line)
                return ir.Break(self.expression(value[0]) if value else None, label, line=line)
            case "while_expression" | "loop_expression" | "for_expression":
                return self.loop(node, line)
            case "assignment_expression":
                return ir.Assign(self.expression(_field(node, "left")), self.expression(_field(node, "right")), line=line)
            case "compound_assignment_expr":
                operator = _text(_field(node, "operator"))[:-1]
                return ir.Assign(
                    self.expression(_field(node, "left")),
                    self.expression(_field(node, "right")),
                    operator,
                    line=line,
                )
            case "generic_function":
                raise _Strange(node, f"type arguments in {_text(node)[:40]}")
            case "unsafe_block":
                raise _Strange(node, "an `unsafe` block")
            case _:
                raise _Strange(node, f"{node.type.replace('_', ' ')}: {_text(node)[:40]}")

    def array(self, node: Node, line: int) -> ir.Node:
        length = node.child_by_field_name("length")
        parts = [c for c in _parts(node) if length is None or c.id != length.id]
        if length is not None:
            return ir.Array((self.expression(parts[0]),), self.expression(length), line=line)
        if any(c.type == "attribute_item" for c in parts):
            raise _Strange(node, "an attribute in an array")
        return ir.Array(tuple(self.expression(c) for c in parts), line=line)

    def condition(self, node: Node) -> ir.Node:
        line = self.line(node)
        if node.type == "let_condition":
            return ir.Is(self.pattern(_field(node, "pattern")), self.expression(_field(node, "value")), line=line)
        if node.type == "let_chain":
            parts = [self.condition(c) for c in _parts(node)]
            chained = parts[0]
            for part in parts[1:]:
                chained = ir.Logic("&&", chained, part, line=line)
            return chained
        return self.expression(node)

    def binary(self, node: Node, line: int) -> ir.Node:
        operator = _text(_field(node, "operator"))
        left, right = self.expression(_field(node, "left")), self.expression(_field(node, "right"))
        if operator in ("&&", "||"):
            return ir.Logic(operator, left, right, line=line)
        return ir.Binary(operator, left, right, line=line)

    def call(self, node: Node, line: int) -> ir.Node:
        function = _field(node, "function")
        arguments_node = _field(node, "arguments")
        if any(c.type == "attribute_item" for c in arguments_node.children):
            raise _Strange(node, "an attribute on an argument")
        arguments = tuple(self.expression(c) for c in _parts(arguments_node))
        types: tuple[ir.Type, ...] = ()
        if function.type == "generic_function":
            types = tuple(self.type(t) for t in _parts(_field(function, "type_arguments")))
            function = _field(function, "function")
        if function.type == "field_expression":
            name = _text(_field(function, "field"))
            return ir.Method(self.expression(_field(function, "value")), name, arguments, types, line=line)
        return ir.Call(self.expression(function), arguments, types, line=line)

    def range(self, node: Node, line: int) -> ir.Node:
        operator = next(_text(c) for c in node.children if c.type in ("..", "..=", "..."))
        low: ir.Node | None = None
        high: ir.Node | None = None
        seen = False
        for child in node.children:
            if child.type in ("..", "..=", "..."):
                seen = True
            elif child.is_named and not seen:
                low = self.expression(child)
            elif child.is_named:
                high = self.expression(child)
        return ir.Range(low, high, operator != "..", line=line)

    def struct(self, node: Node, line: int) -> ir.Node:
        fields: list[tuple[str, ir.Node]] = []
        base: ir.Node | None = None
        for child in _parts(_field(node, "body")):
            if child.type == "shorthand_field_initializer":
                if any(c.type == "attribute_item" for c in child.children):
                    raise _Strange(child, "an attribute on a field")
                fields.append((_text(child), ir.Name(_text(child), line=line)))
            elif child.type == "field_initializer":
                if any(c.type == "attribute_item" for c in child.children):
                    raise _Strange(child, "an attribute on a field")
                fields.append((_text(_field(child, "field")), self.expression(_field(child, "value"))))
            elif child.type == "base_field_initializer":
                base = self.expression(_parts(child)[0])
            else:
                raise _Strange(child, child.type)
        return ir.Struct(_path(_field(node, "name")), tuple(fields), base, line=line)

    def closure(self, node: Node, line: int) -> ir.Node:
        if any(c.type in ("async", "static") for c in node.children):
            raise _Strange(node, "a closure that is async or static")
        parameters: list[tuple[ir.Pattern, ir.Type | None]] = []
        for child in self.pattern_parts(_field(node, "parameters")):
            if child.type == "parameter":
                parameters.append((self.pattern(_field(child, "pattern")), self.type(_field(child, "type"))))
            else:
                parameters.append((self.pattern(child), None))
        returns = node.child_by_field_name("return_type")
        body = self.expression(_field(node, "body"))
        return ir.Lambda(tuple(parameters), body, None if returns is None else self.type(returns), line=line)

    def loop(self, node: Node, line: int) -> ir.Node:
        label = next((_text(c) for c in node.children if c.type == "label"), None)
        body = self.expression(_field(node, "body"))
        if node.type == "loop_expression":
            return ir.While(ir.Literal(True, line=line), body, label, line=line)
        if node.type == "while_expression":
            return ir.While(self.condition(_field(node, "condition")), body, label, line=line)
        pattern, iterable = self.pattern(_field(node, "pattern")), self.expression(_field(node, "value"))
        return ir.For(pattern, iterable, body, label, line=line)

    def macro(self, node: Node, line: int) -> ir.Node:
        name = _text(_field(node, "macro"))
        bare = name.removeprefix("std::").removeprefix("core::")
        if bare not in _MACROS or bare in self.macros or bare in self.imported:
            raise _Strange(node, f"macro {name}!")
        tokens = next(c for c in node.children if c.type == "token_tree")
        inside = _text(tokens)[1:-1]
        if bare in _PANICS:
            return ir.Panic(f"{name}!", line=line)
        if bare == "vec":
            return self.reparsed(node, f"[{inside}]")
        if bare == "matches":
            return self.matches(node, inside, line)
        call = self.reparsed(node, f"f({inside})")
        if not isinstance(call, ir.Call) or not call.arguments:
            raise _Strange(node, f"macro {name}! without arguments")
        debug_only = bare.startswith("debug_")
        condition = call.arguments[0]
        if not bare.endswith("assert"):
            if len(call.arguments) < 2:
                raise _Strange(node, f"macro {name}! without arguments")
            operator = "==" if bare.endswith("_eq") else "!="
            condition = ir.Binary(operator, call.arguments[0], call.arguments[1], line=line)
        return ir.Assert(condition, debug_only, line=line)

    def matches(self, node: Node, inside: str, line: int) -> ir.Node:
        # The first comma at depth 0 ends the value; what follows is an arm's head.
        depth, cut = 0, -1
        for position, character in enumerate(inside):
            depth += character in "([{"
            depth -= character in ")]}"
            if character == "," and depth == 0:
                cut = position
                break
        pattern = inside[cut + 1 :].rstrip().rstrip(",")
        lowered = self.reparsed(node, f"match {inside[:cut]} {{ {pattern} => true, _ => false }}")
        if cut < 0 or '"' in inside or "'" in inside or not isinstance(lowered, ir.Match):
            raise _Strange(node, "macro matches!")
        return lowered

    def reparsed(self, node: Node, text: str) -> ir.Node:
        """The tokens of a macro, read as an expression."""
        root = Parser(_LANGUAGE).parse(f"fn f() {{ {text} }}".encode()).root_node
        if root.has_error:
            raise _Strange(node, f"macro {_text(node)[:40]}")
        inner = _File(self.path)
        inner.macros, inner.imported = self.macros, self.imported
        inner.first_line = self.line(node) - 1
        block = inner.block(_field(_parts(root)[0], "body"))
        if not isinstance(block, ir.Block) or block.statements or block.value is None:
            raise _Strange(node, f"macro {_text(node)[:40]}")
        return block.value

    def block(self, node: Node) -> ir.Node:
        statements: list[ir.Node] = []
        functions: dict[str, ir.Function] = {}
        constants: dict[str, ir.Constant] = {}
        value: ir.Node | None = None
        attributes: list[Node] = []
        parts = _parts(node)
        for position, child in enumerate(parts):
            line = self.line(child)
            last = position == len(parts) - 1
            if child.type == "attribute_item":
                attributes.append(child)
                continue
            changes = [a for a in attributes if not _harmless(a)]
            attributes = []
            if changes:
                statements.append(ir.Unknown(f"attribute {_text(changes[0])[:60]}", line=self.line(changes[0])))
                continue
            match child.type:
                case "let_declaration":
                    statements.append(self.let(child, line))
                case "expression_statement":
                    inner = _parts(child)[0]
                    lowered = self.expression(inner)
                    # A trailing `if` or `match` without semicolon is the value of its block.
                    if last and not _text(child).rstrip().endswith(";"):
                        value = lowered
                    else:
                        statements.append(lowered)
                case "empty_statement" | "label":
                    pass
                case "function_item":
                    function = self.function(child, None, None)
                    twice = function.name in functions
                    functions[function.name] = replace(function, objection="declared twice") if twice else function
                case "const_item":
                    name = _text(_field(child, "name"))
                    shown = self.expression(_field(child, "value"))
                    constants[name] = ir.Constant(name, self.type(_field(child, "type")), shown, line=line)
                case "use_declaration":
                    for name, path in _imports(_parts(child)[-1], ""):
                        if name == "*" or self.imported.get(name, path) != path:
                            statements.append(ir.Unknown(f"`use {path}` in a block", line=line))
                        else:
                            self.imported[name] = path
                case _ if child.type.endswith("_item") or child.type in ("macro_definition", "ERROR"):
                    statements.append(ir.Unknown(f"{child.type.replace('_', ' ')} in a block", line=line))
                case _:
                    lowered = self.expression(child)
                    if last:
                        value = lowered
                    else:
                        statements.append(lowered)
        return ir.Block(tuple(statements), value, functions, constants, line=self.line(node))

    def let(self, node: Node, line: int) -> ir.Node:
        type_ = node.child_by_field_name("type")
        value = node.child_by_field_name("value")
        otherwise = node.child_by_field_name("alternative")
        return ir.Let(
            self.pattern(_field(node, "pattern")),
            None if type_ is None else self.type(type_),
            None if value is None else self.expression(value),
            None if otherwise is None else self.expression(otherwise),
            line=line,
        )


class _SelfIs:
    """Rewrites `Self` to the type that an impl block is for."""

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def of(self, node: ir.Node) -> ir.Node:
        return cast(ir.Node, self._any(node))

    def _any(self, value: object) -> object:
        if isinstance(value, ir.Type):
            return _own(value, self.owner)
        if isinstance(value, ir.Node):
            changed = {k: self._any(v) for k, v in vars(value).items()}
            for key in ("name", "type"):
                text = changed.get(key)
                if isinstance(text, str) and isinstance(value, (ir.Name, ir.Struct, ir.Variant)):
                    changed[key] = self._name(text)
            return replace(value, **cast(Any, changed))
        if isinstance(value, tuple):
            return tuple(self._any(v) for v in value)
        if isinstance(value, dict):
            return {k: self._any(v) for k, v in value.items()}
        return value

    def _name(self, text: str) -> str:
        return self.owner + text[4:] if text == "Self" or text.startswith("Self::") else text


def _own(type_: ir.Type, owner: str | None) -> ir.Type:
    if owner is None:
        return type_
    return ir.Type(owner if type_.name == "Self" else type_.name, tuple(_own(a, owner) for a in type_.arguments))


def _path(node: Node) -> str:
    text = "".join(_text(node).split())
    if "<" in text:
        raise _Strange(node, f"path {text[:40]}")
    return text.removeprefix("crate::").removeprefix("self::")


def _integer(node: Node, line: int) -> ir.Node:
    text = _text(node).replace("_", "")
    suffix = next((s for s in _SUFFIXES if text.endswith(s)), None)
    digits = text.removesuffix(suffix) if suffix else text
    try:
        return ir.Literal(int(digits, 0) if not digits.isdigit() else int(digits), suffix, line=line)
    except ValueError:
        return ir.Unknown(f"number {text[:40]}", line=line)


def _broken(node: Node) -> bool:
    return bool(node.has_error)


def _harmless(attribute: Node) -> bool:
    inside = _text(attribute).lstrip("#![ ").split("(")[0].split("=")[0].split("]")[0].strip()
    return inside.split("::")[0] in _HARMLESS


def _only_for_tests(attributes: Iterable[Node]) -> bool:
    texts = ["".join(_text(a).split()) for a in attributes]
    return any(text in ("#[cfg(test)]", "#[test]") for text in texts)


def _imports(node: Node, prefix: str) -> Iterator[tuple[str, str]]:
    """The names that a `use` brings, each with its full path; `*` for a glob."""
    match node.type:
        case "identifier" | "scoped_identifier" | "self" | "crate" | "super":
            path = prefix + "".join(_text(node).split())
            path = path.removesuffix("::self")
            yield path.split("::")[-1], path
        case "use_as_clause":
            yield _text(_field(node, "alias")), prefix + "".join(_text(_field(node, "path")).split())
        case "use_wildcard":
            yield "*", prefix + "".join(_text(_parts(node)[0]).split()) if _parts(node) else prefix
        case "use_list":
            for child in _parts(node):
                yield from _imports(child, prefix)
        case "scoped_use_list":
            head = node.child_by_field_name("path")
            inner = "" if head is None else "".join(_text(head).split()) + "::"
            yield from _imports(_field(node, "list"), prefix + inner)
