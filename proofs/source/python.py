"""The Python front end: `ast` to the small language of `ir`. Nothing is imported or executed.

Names of other modules are followed where the module is a file of the same tree, so that a function is read with what it calls.
Exceptions are panics. What is not understood (decorators, `with`, `global`, several targets, names that change under a closure)
is an objection or an `Unknown` node.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from proofs.source import ir
from proofs.source.python_sharing import Sharing, unsure_names

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_MOST_MODULES = 12


class _Strange(Exception):
    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(what)
        self.line = getattr(node, "lineno", 0)
        self.what = what


@dataclass
class _Tree:
    """What is known of all modules read so far."""

    functions: list[ir.Function] = field(default_factory=list)
    constants: dict[str, ir.Constant] = field(default_factory=dict)
    shapes: dict[str, ir.Shape] = field(default_factory=dict)
    modules: dict[str, dict[str, str]] = field(default_factory=dict)
    """By module, what each of its names is called in the whole."""


def parse(path: str, text: bytes) -> ir.Source:
    """The declarations of a Python file and of the files that it imports. Never raises on content."""
    tree = _Tree()
    objection = None
    try:
        _Module(tree, Path(path), "").read(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        objection = f"line {getattr(error, 'lineno', None) or 0}: {type(error).__name__}: {error}"[:120]
    except _Strange as strange:
        objection = f"line {strange.line}: {strange.what}"
    return ir.Source(
        path=path,
        language="python",
        functions=tuple(tree.functions),
        constants=tree.constants,
        shapes=tree.shapes,
        aliases={},
        imported={},
        objection=objection,
    )


class _Module:
    def __init__(self, tree: _Tree, path: Path, prefix: str) -> None:
        self.tree = tree
        self.path = path
        self.prefix = prefix
        self.names: dict[str, str] = {}
        self.classes: dict[str, ir.Shape] = {}
        self.declared: dict[str, ast.FunctionDef] = {}
        self.catches = False

    def read(self, text: bytes) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        body = module.body
        self.declared = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        counts: dict[str, int] = {}
        for node in body:
            for name in _declared(node):
                counts[name] = counts.get(name, 0) + 1
                self.names[name] = self.prefix + name
        for node in body:
            if isinstance(node, ast.ImportFrom | ast.Import):
                self.imports(node)
        self.catches = any(isinstance(part, ast.Try) for part in ast.walk(module))
        unsure = unsure_names(module)
        for name in unsure:
            self.names[name] = f"?{name}, which the module does not simply declare once"
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    function = self.function(node, None)
                    if node.name in unsure:
                        function = replace(function, objection=function.objection or self.names[node.name][1:])
                    self.tree.functions.append(function)
                case ast.ClassDef():
                    self.class_(node)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.constant(name, value, counts[name] > 1)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.constant(name, value, counts[name] > 1)
        changed = {n.id for n in ast.walk(module) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for part in ast.walk(module):
            if isinstance(part, ast.Global) and changed & set(part.names):
                raise _Strange(part, "`global`")
        for node in body:
            if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
                for name in {n for part in ast.walk(node) if isinstance(part, ast.stmt) for n in _declared(part)}:
                    self.names[name] = f"?{name}, which is declared under a condition"

    def constant(self, name: str, value: ast.expr, twice: bool) -> None:
        lowered = _Function(self, set()).expression(value)
        objection = "assigned twice" if twice else None
        whole = self.prefix + name
        self.tree.constants[whole] = ir.Constant(whole, None, lowered, objection, line=value.lineno)

    def imports(self, node: ast.ImportFrom | ast.Import) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.names[alias.asname or alias.name.split(".")[0]] = f"module {alias.name}"
            return
        found = self.other(node)
        for alias in node.names:
            mine = alias.asname or alias.name
            if alias.name == "*":
                raise _Strange(node, f"`from {node.module} import *`")
            known = None if found is None else found.get(alias.name)
            self.names[mine] = known or f"{'.' * node.level}{node.module or ''}.{alias.name}"

    def other(self, node: ast.ImportFrom) -> dict[str, str] | None:
        """The names of the module that is imported from, if it is a file of the same tree."""
        parts = (node.module or "").split(".") if node.module else []
        folders = [self.path.parent] if node.level else list(self.path.resolve().parents)[:6]
        for _ in range(node.level - 1):
            folders = [folders[0].parent]
        for folder in folders:
            file = folder.joinpath(*parts).with_suffix(".py") if parts else folder / "__init__.py"
            if file.is_file() and (folder / parts[0] / "__init__.py").is_file() | bool(node.level):
                return self.module(file, f"{'.'.join(parts)}.")
        return None

    def module(self, file: Path, prefix: str) -> dict[str, str] | None:
        key = str(file)
        if key in self.tree.modules:
            return self.tree.modules[key]
        if len(self.tree.modules) >= _MOST_MODULES:
            return None
        inner = _Module(self.tree, file, prefix)
        self.tree.modules[key] = inner.names
        inner.read(file.read_bytes())
        return inner.names

    def class_(self, node: ast.ClassDef) -> None:
        whole = self.prefix + node.name
        objection = None
        dataclass_ = False
        ordered = False
        for decorator in node.decorator_list:
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(name, ast.Name) and self.names.get(name.id) == "dataclasses.dataclass":
                dataclass_ = True
                if isinstance(decorator, ast.Call):
                    ordered = any(
                        k.arg in ("order", "eq", "init") or k.arg is None or not isinstance(k.value, ast.Constant)
                        for k in decorator.keywords
                    )
            else:
                objection = "a decorated class"
        fields: list[tuple[str, ir.Type | None]] = []
        checks: ir.Function | None = None
        for base in node.bases:
            shape = self.tree.shapes.get(self.names.get(base.id, "")) if isinstance(base, ast.Name) else None
            if shape is None:
                objection = objection or "a class with a base from elsewhere"
            else:
                fields += list(shape.fields)
                checks, objection = shape.checks, objection or shape.objection
        own: set[str] = set()
        for child in node.body:
            match child:
                case ast.AnnAssign(target=ast.Name(id=own_name), value=None, annotation=annotation):
                    if "ClassVar" not in ast.dump(annotation):
                        fields.append((own_name, None))
                case ast.AnnAssign() | ast.Assign():
                    objection = objection or "a class with values of its own"
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    function = self.function(child, whole)
                    if child.name == "__post_init__":
                        checks = function
                    elif child.name.startswith("__"):
                        objection = objection or f"a class with {child.name}"
                    if child.name in own:
                        function = replace(function, objection="declared twice")
                    own.add(child.name)
                    self.tree.functions.append(function)
        if not dataclass_ and not node.bases:
            objection = objection or "a class that is no dataclass"
        if ordered:
            objection = objection or "a dataclass with comparisons or constructors of its own"
        self.tree.shapes[whole] = ir.Shape(whole, tuple(fields), False, dataclass_, False, objection, checks, line=node.lineno)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str | None) -> ir.Function:
        objection = None
        if isinstance(node, ast.AsyncFunctionDef):
            objection = "`async def`"
        if node.decorator_list:
            objection = objection or "a decorated function"
        if any(isinstance(n, ast.Yield | ast.YieldFrom | ast.Await) for n in ast.walk(node)):
            objection = objection or "a generator"
        if node.args.vararg or node.args.kwarg:
            objection = objection or "`*` or `**` among the parameters"
        arguments = [*node.args.posonlyargs, *node.args.args]
        defaults: list[ast.expr | None] = [None] * (len(arguments) - len(node.args.defaults)) + list(node.args.defaults)
        arguments += node.args.kwonlyargs
        defaults += node.args.kw_defaults
        names = {a.arg for a in arguments}
        inner = _Function(self, _locals(node) | names, names, Sharing(node, self.declared.get))
        parameters = tuple(
            (ir.Bind(a.arg, ir.Anything(), line=a.lineno), _annotation(a.annotation, owner if a.arg == "self" else None))
            for a in arguments
        )
        try:
            body: ir.Node = inner.body(node.body)
        except _Strange as strange:
            body = ir.Unknown(strange.what, line=strange.line)
        # A function that ends without `return` gives None.
        block = ir.Block((body,), ir.Literal(None, line=node.lineno), scoped=False, line=node.lineno)
        return ir.Function(
            (self.prefix if owner is None else "") + node.name,
            parameters,
            None,
            block,
            owner,
            "" if owner is not None else None,
            defaults=tuple(None if d is None else _Function(self, set()).expression(d) for d in defaults),
            objection=objection,
            line=node.lineno,
        )


def _annotation(node: ast.expr | None, owner: str | None) -> ir.Type | None:
    if owner is not None:
        return ir.Type(owner)
    return ir.Type("?any") if node is None else ir.Type("?" + ast.unparse(node))


def _declared(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _locals(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Names that are variables of the function: assigned anywhere in it."""
    found: set[str] = set()

    def visit(part: ast.AST) -> None:
        for child in ast.iter_child_nodes(part):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(child.name)
                continue
            if isinstance(child, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                continue
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
                found.add(child.id)
            visit(child)

    for statement in node.body:
        visit(ast.Module(body=[statement], type_ignores=[]))
    return found


class _Function:
    def __init__(self, module: _Module, names: set[str], given: Iterable[str] = (), sharing: Sharing | None = None) -> None:
        self.module = module
        self.sharing = sharing
        self.names = names
        self.assigned: dict[str, int] = dict.fromkeys(given, 1)

    def body(self, statements: list[ast.stmt]) -> ir.Node:
        for statement in statements:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.assigned[node.id] = self.assigned.get(node.id, 0) + 1
        return self.block(statements)

    def block(self, statements: list[ast.stmt]) -> ir.Node:
        lowered = tuple(self.statement(s) for s in statements)
        return ir.Block(lowered, scoped=False, line=statements[0].lineno if statements else 0)

    def plain(self, node: ast.AST) -> None:
        """Objects to what values alone do not tell."""
        if self.sharing is not None and id(node) in self.sharing.strange:
            raise _Strange(node, self.sharing.strange[id(node)])

    def statement(self, node: ast.stmt) -> ir.Node:
        try:
            self.plain(node)
            return self._statement(node)
        except _Strange as strange:
            return ir.Unknown(strange.what, line=strange.line)

    def _statement(self, node: ast.stmt) -> ir.Node:
        line = node.lineno
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return ir.Tuple((), line=line)
            case ast.Expr(value=value):
                return self.expression(value)
            case ast.Return(value=value):
                return ir.Return(ir.Literal(None, line=line) if value is None else self.expression(value), line=line)
            case ast.Raise(exc=exception) if exception is not None:
                name = exception.func if isinstance(exception, ast.Call) else exception
                if not isinstance(name, ast.Name) or name.id in self.names or name.id in self.module.names:
                    raise _Strange(node, "an exception of its own")
                self.message(exception)
                return ir.Panic(name.id, line=line)
            case ast.Assert(test=test, msg=message):
                self.message(message)
                return ir.Assert(self.expression(test), line=line)
            case ast.If(test=test, body=body, orelse=orelse):
                return ir.If(self.expression(test), self.block(body), self.block(orelse) if orelse else None, line=line)
            case ast.Assign(targets=[target], value=value):
                return ir.Assign(self.target(target), self.expression(value), declares=True, line=line)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return ir.Assign(self.target(target), self.expression(value), declares=True, line=line)
            case ast.AnnAssign(value=None):
                return ir.Tuple((), line=line)
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                before = self.expression(target, load=True)
                if self.sharing is not None and target.id in self.sharing.unsure:
                    before = ir.Call(ir.Name("#unshared", line=line), (before,), line=line)
                lowered = ir.Binary(self.operator(op), before, self.expression(value), line=line)
                return ir.Assign(ir.Name(target.id, line=line), lowered, declares=True, line=line)
            case ast.While(test=test, body=body, orelse=[]):
                return ir.While(self.expression(test), self.block(body), line=line)
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                otherwise = self.block(orelse) if orelse else None
                return ir.For(self.pattern(target), self.expression(iterable), self.block(body), otherwise=otherwise, line=line)
            case ast.Break():
                return ir.Break(line=line)
            case ast.Continue():
                return ir.Continue(line=line)
            case ast.Try(body=body, handlers=handlers, orelse=[], finalbody=[]):
                lowered_handlers = tuple((self.kinds(h), self.block(h.body)) for h in handlers)
                return ir.Attempt(self.block(body), lowered_handlers, line=line)
        raise _Strange(node, type(node).__name__.lower())

    def message(self, exception: ast.expr | None) -> None:
        """What is told of an error may be an error of its own, which matters where errors are caught."""
        told = exception.args if isinstance(exception, ast.Call) else [] if exception is None else [exception]
        for node in (part for value in told for part in ast.walk(value)):
            if self.module.catches and isinstance(node, ast.Call | ast.Subscript | ast.BinOp):
                raise _Strange(node, "a message that is computed")

    def kinds(self, handler: ast.ExceptHandler) -> tuple[str, ...]:
        self.plain(handler)
        match handler.type:
            case ast.Name(id=name) if name not in self.names and name not in self.module.names:
                return (name,)
            case ast.Tuple(elts=items) if all(isinstance(i, ast.Name) for i in items):
                return tuple(i.id for i in items if isinstance(i, ast.Name))
        raise _Strange(handler, "an exception handler")

    def operator(self, node: ast.AST) -> str:
        found = _OPERATORS.get(type(node))
        if found is None:
            raise _Strange(node, f"operator {type(node).__name__}")
        return found

    def target(self, node: ast.expr) -> ir.Node:
        line = node.lineno
        self.plain(node)
        match node:
            case ast.Name(id=name):
                return ir.Name(name, line=line)
            case ast.Tuple(elts=items) | ast.List(elts=items) if not any(isinstance(i, ast.Starred) for i in items):
                return ir.Tuple(tuple(self.target(i) for i in items), line=line)
            case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
                return ir.Index(self.expression(value), self.expression(index), line=line)
        raise _Strange(node, "an assignment")

    def pattern(self, node: ast.expr) -> ir.Pattern:
        line = node.lineno
        match node:
            case ast.Name(id=name):
                return ir.Bind(name, ir.Anything(), line=line)
            case ast.Tuple(elts=items) | ast.List(elts=items) if not any(isinstance(i, ast.Starred) for i in items):
                return ir.Items(tuple(self.pattern(i) for i in items), line=line)
        return ir.Strange("a loop variable", line=line)

    def expression(self, node: ast.expr, *, load: bool = False) -> ir.Node:
        try:
            self.plain(node)
            return self._expression(node, load)
        except _Strange as strange:
            return ir.Unknown(strange.what, line=strange.line)

    def _expression(self, node: ast.expr, load: bool) -> ir.Node:
        line = node.lineno
        match node:
            case ast.Constant(value=value) if value is None or isinstance(value, bool | int | str):
                return ir.Literal(value, line=line)
            case ast.Name(id=name):
                return self.name(name, line)
            case ast.BinOp(left=left, op=op, right=right):
                return ir.Binary(self.operator(op), self.expression(left), self.expression(right), line=line)
            case ast.UnaryOp(op=op, operand=operand):
                sign = {ast.Not: "!", ast.USub: "-", ast.Invert: "~", ast.UAdd: "+"}[type(op)]
                lowered = self.expression(operand)
                if sign == "+":
                    raise _Strange(node, "unary plus")
                return ir.Unary(sign, lowered, line=line)
            case ast.BoolOp(op=op, values=values):
                operator = "&&" if isinstance(op, ast.And) else "||"
                lowered = self.expression(values[0])
                for part in values[1:]:
                    lowered = ir.Logic(operator, lowered, self.expression(part), line=line)
                return lowered
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                rest = tuple((self.operator(o), self.expression(c)) for o, c in zip(ops, comparators, strict=True))
                return ir.Chain(self.expression(left), rest, line=line)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return ir.If(self.expression(test), self.expression(body), self.expression(orelse), line=line)
            case ast.Call():
                return self.call(node, line)
            case ast.Attribute(value=value, attr=attr):
                return ir.Field(self.expression(value), attr, line=line)
            case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=step)):
                return self.slice(value, lower, upper, step, line)
            case ast.Subscript(value=value, slice=index):
                return ir.Index(self.expression(value), self.expression(index), line=line)
            case ast.Tuple(elts=items):
                return ir.Tuple(tuple(self.expression(i) for i in items), line=line)
            case ast.List(elts=items):
                return ir.Array(tuple(self.expression(i) for i in items), line=line)
            case ast.Starred(value=value):
                return ir.Spread(self.expression(value), line=line)
            case ast.Lambda(args=arguments, body=body):
                return self.lambda_(arguments, body, line)
            case ast.ListComp(elt=element, generators=generators):
                made = self.comprehension(element, generators, line)
                return ir.Call(ir.Name("#list", line=line), (made,), line=line)
            case ast.GeneratorExp(elt=element, generators=generators):
                return self.comprehension(element, generators, line)
            case ast.JoinedStr(values=values):
                parts = tuple(self.expression(v.value) for v in values if isinstance(v, ast.FormattedValue))
                return ir.Call(ir.Name("#formatted", line=line), parts, line=line)
        raise _Strange(node, type(node).__name__.lower())

    def name(self, name: str, line: int) -> ir.Node:
        if name in self.names:
            if name in self.module.names:
                raise _Strange(ast.Constant(value=None, lineno=line), f"a variable {name} with the name of a global")
            return ir.Name(name, line=line)
        whole = self.module.names.get(name, f"#{name}")
        if whole.startswith("?"):
            raise _Strange(ast.Constant(value=None, lineno=line), whole[1:])
        return ir.Name(whole, line=line)

    def call(self, node: ast.Call, line: int) -> ir.Node:
        arguments = tuple(self.expression(a) for a in node.args)
        if any(k.arg is None for k in node.keywords):
            raise _Strange(node, "`**` in a call")
        named = tuple((k.arg or "", self.expression(k.value)) for k in node.keywords)
        declared = self.module.declared.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if declared is not None:
            places = {a.arg for a in declared.args.posonlyargs}
            if len(node.args) > len(places) + len(declared.args.args) or places & {name for name, _ in named}:
                raise _Strange(node, f"a call of {declared.name} with other arguments")
        match node.func:
            case ast.Attribute(value=value, attr=attr):
                return ir.Method(self.expression(value), attr, arguments, named=named, line=line)
            case _:
                return ir.Call(self.expression(node.func), arguments, named=named, line=line)

    def slice(self, value: ast.expr, lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None, line: int) -> ir.Node:
        whole = self.expression(value)
        if step is not None:
            backwards = isinstance(step, ast.UnaryOp) and ast.unparse(step) == "-1" and lower is None and upper is None
            if ast.unparse(step) in ("0", "-0"):
                return ir.Panic("ValueError", line=line)
            if not backwards:
                raise _Strange(step, "a slice with a step")
            reverse = ir.Call(ir.Name("#reversed", line=line), (whole,), line=line)
            return ir.Call(ir.Name("#list", line=line), (reverse,), line=line)
        low = None if lower is None else self.expression(lower)
        high = None if upper is None else self.expression(upper)
        return ir.Index(whole, ir.Range(low, high, line=line), line=line)

    def lambda_(self, arguments: ast.arguments, body: ast.expr, line: int) -> ir.Node:
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            raise _Strange(body, "a lambda with defaults")
        names = {a.arg for a in arguments.args}
        self.unchanging(body, names)
        inner = _Function(self.module, self.names | names, (), self.sharing)
        parameters = tuple((ir.Bind(a.arg, ir.Anything(), line=line), None) for a in arguments.args)
        return ir.Lambda(parameters, inner.expression(body), line=line)

    def comprehension(self, element: ast.expr, generators: list[ast.comprehension], line: int) -> ir.Node:
        if len(generators) != 1 or generators[0].is_async:
            if len(generators) == 2 and not any(g.ifs or g.is_async for g in generators):
                return self.nested(element, generators, line)
            raise _Strange(element, "a comprehension of several loops")
        (generator,) = generators
        names = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
        self.unchanging(element, names)
        inner = _Function(self.module, self.names | names, (), self.sharing)
        conditions = tuple(inner.expression(c) for c in generator.ifs)
        return ir.Comprehension(
            self.pattern(generator.target),
            self.expression(generator.iter),
            conditions,
            inner.expression(element),
            line=line,
        )

    def nested(self, element: ast.expr, generators: list[ast.comprehension], line: int) -> ir.Node:
        """`x for part in whole for x in part`: the parts put together."""
        outer, inner_ = generators
        names = {n.id for n in ast.walk(outer.target) if isinstance(n, ast.Name)}
        inner = _Function(self.module, self.names | names, (), self.sharing)
        part = ir.Call(ir.Name("#list", line=line), (inner.comprehension(element, [inner_], line),), line=line)
        parts = ir.Comprehension(self.pattern(outer.target), self.expression(outer.iter), (), part, line=line)
        return ir.Call(ir.Name("#flatten", line=line), (parts,), line=line)

    def unchanging(self, body: ast.expr, own: set[str]) -> None:
        """What a closure captures must not change later: it would see the change."""
        for node in ast.walk(body):
            if isinstance(node, ast.NamedExpr):
                raise _Strange(node, "an assignment in an expression")
            if isinstance(node, ast.Name) and node.id not in own and self.assigned.get(node.id, 0) > 1:
                raise _Strange(node, f"a closure over {node.id}, which changes")
