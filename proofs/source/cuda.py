"""The CUDA front end: the preprocessor's work on the device's side, then tree-sitter's tree to the small language of `ir`.

It takes functions of words, flags, structs and references, function templates over one integer type, and kernels whose body is
a grid-stride loop over rows. Local includes are read with the file. Pointers count only as the arrays of a kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from proofs.source import ir

_LANGUAGE = Language(tree_sitter_cuda.language())

_SPECIFIERS = ("__device__", "__host__", "__forceinline__", "__global__", "__restrict__", "constexpr", "inline")
_THREAD = "blockIdx.x*(u64)blockDim.x+threadIdx.x"
_STRIDE = "gridDim.x*(u64)blockDim.x"
_WORD = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|.', re.DOTALL)


@dataclass
class _Macro:
    parameters: list[str] | None
    body: str


@dataclass
class _File:
    functions: list[ir.Function] = field(default_factory=list)
    constants: dict[str, ir.Constant] = field(default_factory=dict)
    shapes: dict[str, ir.Shape] = field(default_factory=dict)
    aliases: dict[str, ir.Type] = field(default_factory=dict)
    macros: dict[str, _Macro] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    objection: str | None = None


class _Strange(Exception):
    def __init__(self, node: Node, what: str) -> None:
        super().__init__(what)
        self.line = node.start_point[0] + 1
        self.what = what


def parse(path: str, text: bytes) -> ir.Source:
    """The declarations of a CUDA file and of the local files that it includes. Never raises on content."""
    file = _File()
    _read(file, Path(path), text, included=False)
    return ir.Source(
        path=path,
        language="cuda",
        functions=tuple(file.functions),
        constants=file.constants,
        shapes=file.shapes,
        aliases=file.aliases,
        imported={},
        objection=file.objection,
    )


def _read(file: _File, path: Path, text: bytes, *, included: bool) -> None:
    file.read.add(str(path))
    plain = _preprocessed(file, path, text.decode("utf-8", "replace"))
    root = Parser(_LANGUAGE).parse(plain.encode()).root_node
    before = len(file.functions)
    _declarations(file, root, ())
    if included:
        for i in range(before, len(file.functions)):
            found = file.functions[i]
            file.functions[i] = ir.Function(**{**vars(found), "kernel": False})


# The preprocessor


def _preprocessed(file: _File, path: Path, text: str) -> str:
    """The text as the device's compiler sees it, with as many lines. HOST is not defined."""
    out: list[str] = []
    taken = [True]
    waiting = ""
    blank = 0
    for line in text.split("\n"):
        if waiting or line.lstrip().startswith("#"):
            waiting += line
            if waiting.endswith("\\"):
                waiting = waiting[:-1] + " "
                blank += 1
                continue
            _directive(file, path, waiting.strip(), taken)
            out += [""] * (blank + 1)
            waiting, blank = "", 0
        else:
            out.append(line if all(taken) else "")
    return _expanded(file, "\n".join(out), 0)


def _directive(file: _File, path: Path, line: str, taken: list[bool]) -> None:
    name, _, rest = line[1:].strip().partition(" ")
    rest = rest.strip()
    match name:
        case "ifdef":
            taken.append(rest in file.macros)
        case "ifndef":
            taken.append(rest not in file.macros)
        case "else" if len(taken) > 1:
            taken[-1] = not taken[-1]
        case "endif" if len(taken) > 1:
            taken.pop()
        case "define" if all(taken):
            found = re.match(r"(\w+)(\(([\w\s,]*)\))?\s*(.*)", rest, re.DOTALL)
            if found is not None:
                parameters = None if found[2] is None else [p.strip() for p in found[3].split(",") if p.strip()]
                file.macros[found[1]] = _Macro(parameters, found[4].split("//")[0])
        case "include" if all(taken):
            found = re.match(r'"([^"]+)"', rest)
            target = None if found is None else path.parent / found[1]
            if target is not None and target.is_file() and str(target) not in file.read:
                _read(file, target, target.read_bytes(), included=True)
        case "if" | "elif" | "undef":
            file.objection = f"#{name}, which is not followed"


def _expanded(file: _File, text: str, depth: int) -> str:
    if depth > 12:
        return text
    tokens = _WORD.findall(text)
    out: list[str] = []
    position = 0
    changed = False
    while position < len(tokens):
        token = tokens[position]
        macro = file.macros.get(token)
        position += 1
        if token.startswith(("//", "/*")):
            out.append("\n" * token.count("\n") or " ")
        elif token in _SPECIFIERS:
            out.append("const" if token == "constexpr" else "")
        elif macro is None:
            out.append(token)
        elif macro.parameters is None:
            out.append(macro.body)
            changed = True
        elif position < len(tokens) and tokens[position] == "(":
            arguments, position = _arguments(tokens, position + 1)
            body = macro.body
            for parameter, argument in zip(macro.parameters, arguments, strict=False):
                body = re.sub(rf"\b{parameter}\b", lambda _, a=argument: a, body)  # type: ignore[misc]
            out.append(body)
            changed = True
        else:
            out.append(token)
    whole = "".join(out)
    return _expanded(file, whole, depth + 1) if changed else re.sub(r'extern\s+"C"', "", whole)


def _arguments(tokens: list[str], position: int) -> tuple[list[str], int]:
    depth, arguments, current = 1, [], ""
    while position < len(tokens):
        token = tokens[position]
        position += 1
        depth += (token in "([{") - (token in ")]}")
        if depth == 0:
            break
        if token == "," and depth == 1:
            arguments.append(current.strip())
            current = ""
        else:
            current += token
    return [*arguments, current.strip()], position


# Declarations


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _need(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    if child is None:
        raise _Strange(node, f"{node.type} without {name}")
    return child


def _declarations(file: _File, parent: Node, generics: tuple[str, ...]) -> None:
    for node in parent.named_children:
        try:
            match node.type:
                case "function_definition":
                    _function(file, node, generics)
                case "template_declaration":
                    parameters = _need(node, "parameters").named_children
                    plain = all(p.type == "type_parameter_declaration" for p in parameters)
                    names = tuple(_text(p).split()[-1] for p in parameters) if plain else ("?",)
                    _declarations(file, node, names)
                case "struct_specifier" if node.child_by_field_name("body") is not None:
                    _struct(file, node)
                case "enum_specifier" if node.child_by_field_name("body") is not None:
                    _enumeration(file, node)
                case "type_definition":
                    file.aliases[_text(_need(node, "declarator"))] = _type(_need(node, "type"))
                case "declaration":
                    for declarator in node.children_by_field_name("declarator"):
                        if declarator.type == "init_declarator":
                            name = _text(_need(declarator, "declarator"))
                            value = _expression(_need(declarator, "value"))
                            constant = "const" in _text(node).split()
                            why = None if constant else "a variable of the file"
                            type_ = _type(_need(node, "type"))
                            file.constants[name] = ir.Constant(name, type_, value, why, line=_line(node))
                case "linkage_specification":
                    _declarations(file, node, generics)
                case "preproc_def" | "comment" | "type_parameter_declaration" | "template_parameter_list":
                    pass
        except _Strange as strange:
            file.objection = f"line {strange.line}: {strange.what}"


def _line(node: Node) -> int:
    return node.start_point[0] + 1


def _struct(file: _File, node: Node) -> None:
    name = _text(_need(node, "name"))
    fields: list[tuple[str, ir.Type | None]] = []
    objection = None
    for child in _need(node, "body").named_children:
        if child.type == "field_declaration" and child.child_by_field_name("default_value") is None:
            type_ = _type(_need(child, "type"))
            for declarator in child.children_by_field_name("declarator"):
                if declarator.type != "field_identifier":
                    objection = "a struct with other members than words"
                fields.append((_text(declarator), type_))
        elif child.type != "comment":
            objection = "a struct with other members than words"
    file.shapes[name] = ir.Shape(name, tuple(fields), True, False, False, objection, line=_line(node))


def _enumeration(file: _File, node: Node) -> None:
    name = _text(_need(node, "name"))
    base = node.child_by_field_name("base")
    file.aliases[name] = ir.Type("int") if base is None else _type(base)
    number: ir.Node = ir.Literal(0)
    for child in _need(node, "body").named_children:
        if child.type != "enumerator":
            continue
        value = child.child_by_field_name("value")
        if value is not None:
            number = _expression(value)
        whole = f"{name}::{_text(_need(child, 'name'))}"
        file.constants[whole] = ir.Constant(whole, file.aliases[name], number, line=_line(child))
        number = ir.Binary("+", number, ir.Literal(1))


def _function(file: _File, node: Node, generics: tuple[str, ...]) -> None:
    declarator = _need(node, "declarator")
    if declarator.type != "function_declarator":
        return
    name = _text(_need(declarator, "declarator"))
    objection = "template of other than types" if "?" in generics else None
    if node.has_error:
        objection = objection or "syntax error"
    parameters: list[tuple[ir.Pattern, ir.Type | None]] = []
    try:
        for child in _need(declarator, "parameters").named_children:
            if child.type == "parameter_declaration":
                parameters.append(_parameter(child))
            elif child.type != "comment":
                raise _Strange(child, f"parameter {_text(child)[:40]}")
        returns = _type(_need(node, "type"))
        body = _statement(_need(node, "body"))
    except _Strange as strange:
        objection = objection or f"line {strange.line}: {strange.what}"
        returns, body = ir.Type("void"), ir.Unknown(strange.what)
    kernel = returns.name == "void" and any(t is not None and t.name == "out" for _, t in parameters)
    file.functions.append(
        ir.Function(name, tuple(parameters), returns, body, generics=generics, kernel=kernel, objection=objection, line=_line(node))
    )


def _parameter(node: Node) -> tuple[ir.Pattern, ir.Type | None]:
    type_ = _type(_need(node, "type"))
    declarator = _need(node, "declarator")
    constant = any(c.type == "type_qualifier" and _text(c) == "const" for c in node.children)
    line = _line(node)
    match declarator.type:
        case "identifier":
            return ir.Bind(_text(declarator), ir.Anything(), line=line), type_
        case "reference_declarator":
            name = _text(declarator.named_children[-1])
            return ir.Bind(name, ir.Anything(), line=line), type_ if constant else ir.Type("&mut", (type_,))
        case "pointer_declarator":
            name = _text(declarator.named_children[-1])
            return ir.Bind(name, ir.Anything(), line=line), ir.Type("in" if constant else "out", (type_,))
    raise _Strange(node, f"parameter {_text(node)[:40]}")


def _type(node: Node) -> ir.Type:
    if node.type == "type_descriptor":
        return _type(_need(node, "type"))
    if node.type == "template_type":
        arguments = [c for c in _need(node, "arguments").named_children if c.type == "type_descriptor"]
        return ir.Type(_text(_need(node, "name")), tuple(_type(a) for a in arguments))
    return ir.Type(" ".join(_text(node).split()))


# Statements


def _statement(node: Node) -> ir.Node:
    try:
        return _lowered_statement(node)
    except _Strange as strange:
        return ir.Unknown(strange.what, line=strange.line)


def _block(node: Node) -> ir.Node:
    statements = [_statement(c) for c in node.named_children if c.type != "comment"]
    return ir.Block(tuple(statements), line=_line(node))


def _lowered_statement(node: Node) -> ir.Node:
    line = _line(node)
    match node.type:
        case "compound_statement":
            return _block(node)
        case "expression_statement":
            return _effect(node.named_children[0]) if node.named_children else ir.Tuple((), line=line)
        case "declaration":
            return _variables(node)
        case "return_statement":
            value = [c for c in node.named_children if c.type != "comment"]
            return ir.Return(_expression(value[0]) if value else None, line=line)
        case "if_statement":
            otherwise = node.child_by_field_name("alternative")
            rest = None
            if otherwise is not None:
                inner = [c for c in otherwise.named_children if c.type != "comment"]
                rest = _statement(inner[-1] if otherwise.type == "else_clause" else otherwise)
            condition = _condition(_need(node, "condition"))
            then = _statement(_need(node, "consequence"))
            alone = ir.If(condition, then, rest, line=line)
            match condition:
                case ir.Binary(operator="==", left=ir.Name() as lane, right=ir.Literal(value=0)) if rest is None:
                    return ir.Once(lane, then, alone, line=line)
            return alone
        case "while_statement":
            return ir.While(_condition(_need(node, "condition")), _statement(_need(node, "body")), line=line)
        case "for_statement":
            return _for(node, line)
        case "break_statement":
            return ir.Break(line=line)
        case "continue_statement":
            return ir.Continue(line=line)
    raise _Strange(node, node.type.replace("_", " "))


def _condition(node: Node) -> ir.Node:
    if node.type == "condition_clause":
        if node.child_by_field_name("initializer") is not None:
            raise _Strange(node, "a condition with a declaration")
        return _expression(_need(node, "value"))
    return _expression(node)


def _effect(node: Node) -> ir.Node:
    """An expression whose value is not used."""
    line = _line(node)
    if node.type == "update_expression":
        operator = _text(_need(node, "operator"))[0]
        return ir.Assign(_expression(_need(node, "argument")), ir.Literal(1, "int", line=line), operator, line=line)
    if node.type == "assignment_expression":
        operator = _text(_need(node, "operator"))[:-1]
        target, value = _expression(_need(node, "left")), _expression(_need(node, "right"))
        return ir.Assign(target, value, operator or None, line=line)
    return _expression(node)


def _variables(node: Node) -> ir.Node:
    words = {_text(c) for c in node.children if c.type in ("storage_class_specifier", "type_qualifier")}
    if words & {"static", "extern", "thread_local"} and not words & {"const", "constexpr"}:
        raise _Strange(node, f"declaration {_text(node)[:40]}, of a variable that outlives the call")
    type_ = _type(_need(node, "type"))
    lets: list[ir.Node] = []
    for declarator in node.children_by_field_name("declarator"):
        line = _line(declarator)
        if declarator.type == "identifier":
            lets.append(ir.Let(ir.Bind(_text(declarator), line=line), type_, None, line=line))
            continue
        place = declarator.child_by_field_name("declarator")
        if declarator.type == "init_declarator" and place is not None and place.type == "pointer_declarator":
            pointed = place.named_children[-1]
            if pointed.type != "identifier" or len(place.named_children) != 1:
                raise _Strange(node, f"declaration {_text(declarator)[:40]}")
            lets.append(ir.Let(ir.Bind(_text(pointed), line=line), None, _expression(_need(declarator, "value")), line=line))
            continue
        if declarator.type != "init_declarator" or _need(declarator, "declarator").type != "identifier":
            raise _Strange(node, f"declaration {_text(declarator)[:40]}")
        name = ir.Bind(_text(_need(declarator, "declarator")), ir.Anything(), line=line)
        kept = None if type_.name == "auto" else type_
        lets.append(ir.Let(name, kept, _expression(_need(declarator, "value")), line=line))
    return lets[0] if len(lets) == 1 else ir.Block(tuple(lets), scoped=False, line=_line(node))


def _for(node: Node, line: int) -> ir.Node:
    initializer, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
    update = node.child_by_field_name("update")
    body = _statement(_need(node, "body"))
    if initializer is None or condition is None or update is None:
        raise _Strange(node, "a for loop without all its parts")
    if initializer.type == "declaration" and _squeezed(initializer.children_by_field_name("declarator")[0]).endswith(f"={_THREAD}"):
        declared = initializer.children_by_field_name("declarator")[0]
        name = _text(_need(declared, "declarator"))
        steps = _squeezed(update) == f"{name}+={_STRIDE}"
        below = condition.type == "binary_expression" and _text(_need(condition, "left")) == name
        if not steps or not below or _text(_need(condition, "operator")) != "<" or _type(_need(initializer, "type")).name != "u64":
            raise _Strange(node, "a grid-stride loop of another form")
        return ir.EachRow(name, _expression(_need(condition, "right")), body, line=line)
    if _is_row_of_a_warp(node):
        name = _text(_need(initializer.children_by_field_name("declarator")[0], "declarator"))
        return ir.EachRow(name, _expression(_need(condition, "right")), body, line=line)
    begin = _statement(initializer) if initializer.type == "declaration" else _effect(initializer)
    loop = ir.While(_expression(condition), body, step=_effect(update), line=line)
    alone = ir.Block((begin, loop), line=line)
    return _shared(begin, loop, alone)


def _shared(begin: ir.Node, loop: ir.While, alone: ir.Node) -> ir.Node:
    """The loop with its parts told apart, if it counts up to a bound; lanes may share such a one."""
    match begin, loop.condition, loop.step:
        case (
            ir.Let(pattern=ir.Bind() as counter, value=ir.Name() as start),
            ir.Binary(operator="<", left=ir.Name() as tested, right=bound),
            ir.Assign(target=ir.Name() as stepped, value=step, operator="+"),
        ) if counter.name == tested.name == stepped.name:
            return ir.Shared(counter.name, start, bound, step, loop.body, alone, line=loop.line)
    return alone


def _is_row_of_a_warp(node: Node) -> bool:
    """`for (u64 row = THREAD / 32; row < n; row += THREADS / 32)`, written out, with the parentheses that make it that."""
    initializer, condition, update = (_need(node, part) for part in ("initializer", "condition", "update"))
    if initializer.type != "declaration" or condition.type != "binary_expression":
        return False
    name = _text(_need(condition, "left"))
    begins, steps = (re.sub(r"\s", "", _text(part)).rstrip(";") for part in (initializer, update))
    return (
        begins == f"u64{name}=({_THREAD})/32" and steps == f"{name}+=({_STRIDE})/32" and _text(_need(condition, "operator")) == "<"
    )


def _squeezed(node: Node) -> str:
    text = re.sub(r"\s", "", _text(node))
    return re.sub(r"\((blockIdx[^()]*\(u64\)[^()]*|gridDim[^()]*\(u64\)[^()]*)\)", r"\1", text)


# Expressions


def _expression(node: Node) -> ir.Node:
    try:
        return _lowered(node)
    except _Strange as strange:
        return ir.Unknown(strange.what, line=strange.line)


def _lowered(node: Node) -> ir.Node:
    line = _line(node)
    match node.type:
        case "number_literal":
            return _number(node, line)
        case "char_literal" if len(_text(node)) == 3:
            return ir.Literal(ord(_text(node)[1]), "int", line=line)
        case "true" | "false":
            return ir.Literal(node.type == "true", line=line)
        case "identifier" | "qualified_identifier":
            return ir.Name("".join(_text(node).split()), line=line)
        case "parenthesized_expression":
            return _expression(node.named_children[-1])
        case "binary_expression" if re.sub(r"\s", "", _text(node)) == "threadIdx.x%32":
            return ir.Name("#lane", line=line)
        case "binary_expression":
            operator = _text(_need(node, "operator"))
            left, right = _expression(_need(node, "left")), _expression(_need(node, "right"))
            if operator in ("&&", "||"):
                return ir.Logic(operator, left, right, line=line)
            return ir.Binary(operator, left, right, line=line)
        case "unary_expression":
            return ir.Unary(_text(_need(node, "operator")), _expression(_need(node, "argument")), line=line)
        case "conditional_expression":
            consequence = _expression(_need(node, "consequence"))
            alternative = _expression(_need(node, "alternative"))
            # The two sides meet as the operands of an operator do.
            return ir.Call(ir.Name("#meet"), (_expression(_need(node, "condition")), consequence, alternative), line=line)
        case "cast_expression":
            return ir.Cast(_expression(_need(node, "value")), _type(_need(node, "type")), line=line)
        case "subscript_expression":
            indices = _need(node, "indices").named_children
            if len(indices) != 1:
                raise _Strange(node, "several indices")
            return ir.Index(_expression(_need(node, "argument")), _expression(indices[0]), line=line)
        case "field_expression" if _text(_need(node, "operator")) == ".":
            return ir.Field(_expression(_need(node, "argument")), _text(_need(node, "field")), line=line)
        case "compound_literal_expression":
            return ir.Cast(_expression(_need(node, "value")), _type(_need(node, "type")), line=line)
        case "initializer_list":
            return ir.Tuple(tuple(_expression(c) for c in node.named_children if c.type != "comment"), line=line)
        case "call_expression":
            return _call(node, line)
    raise _Strange(node, f"{node.type.replace('_', ' ')}: {_text(node)[:40]}")


def _call(node: Node, line: int) -> ir.Node:
    function = _need(node, "function")
    arguments = tuple(_expression(c) for c in _need(node, "arguments").named_children if c.type != "comment")
    types: tuple[ir.Type, ...] = ()
    if function.type == "template_function":
        given = _need(function, "arguments").named_children
        if any(c.type != "type_descriptor" for c in given):
            raise _Strange(node, "template arguments that are no types")
        types = tuple(_type(c) for c in given)
        function = _need(function, "name")
    name = _text(function)
    if name == "static_cast" and len(types) == 1 and len(arguments) == 1:
        return ir.Cast(arguments[0], types[0], line=line)
    return ir.Call(ir.Name(name, line=line), arguments, types, line=line)


def _number(node: Node, line: int) -> ir.Node:
    text = _text(node).lower().replace("'", "")
    digits = text.rstrip("ul")
    suffix = text[len(digits) :]
    try:
        value = int(digits, 8 if re.fullmatch(r"0[0-7]+", digits) else 0)
    except ValueError:
        return ir.Unknown(f"number {text[:40]}", line=line)
    unsigned, long = "u" in suffix, "l" in suffix
    decimal = not digits.startswith("0") or digits == "0"
    for bits in (64,) if long else (32, 64):
        if not unsigned and value < 2 ** (bits - 1):
            return ir.Literal(value, f"i{bits}", line=line)
        if (unsigned or not decimal) and value < 2**bits:
            return ir.Literal(value, f"u{bits}", line=line)
    return ir.Unknown(f"number {text[:40]}", line=line)
