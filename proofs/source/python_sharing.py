"""Where Python's references could tell a list from a copy of it, or an iterator from what it goes over.

The executor keeps values: `b = a` copies. Python keeps references: a change of a list is seen through each of its names, and an
iterator is at its end when it has been read. A function is understood where that makes no difference: a list that is changed in
place was made in it and has no other name by then, an iterator is read where it is made, and a lambda is called where it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

_CHANGES = frozenset(["append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "add", "__setitem__"])
_READS = frozenset(["len", "sorted", "list", "tuple", "sum", "any", "all", "range", "isinstance", "bool", "type", "min", "max"])
_ITERATES = frozenset(["zip", "enumerate", "reversed", "takewhile", "chain", "map", "filter", "iter", "from_iterable"])
_FLAT = frozenset(["sum", "any", "all", "len", "bool", "str", "range", "isinstance", "abs", "int", "sorted", "list", "tuple"])
_LOOPS = (ast.For, ast.While)
_FRESH = (ast.List, ast.ListComp, ast.BinOp, ast.Constant, ast.Compare, ast.UnaryOp)


class Sharing:
    """What of one function cannot be told by values alone: `strange` by the node's id, `unsure` names of `+=`."""

    def __init__(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef, own: Callable[[str], ast.FunctionDef | None], depth: int = 0
    ) -> None:
        self.own = own
        self.depth = depth
        self.strange: dict[int, str] = {}
        self.unsure: set[str] = set()
        self.parents: dict[int, ast.AST] = {}
        self.function = function
        self.nodes = [n for statement in function.body for n in ast.walk(statement)]
        for node in ast.walk(function):
            for child in ast.iter_child_nodes(node):
                self.parents[id(child)] = node
        given = {a.arg for a in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]}
        for name in sorted(given | {n.id for n in self.nodes if isinstance(n, ast.Name)}):
            self._judge(name, name in given)
        for node in self.nodes:
            if isinstance(node, ast.Lambda) and not self._called_in_place(node):
                self.strange[id(node)] = "a lambda that is kept"
            if isinstance(node, ast.Attribute) and node.attr in _CHANGES and not isinstance(node.value, ast.Name):
                self.strange[id(node.value)] = f"{node.attr} of what has no name of its own"
            if isinstance(node, ast.Call | ast.GeneratorExp) and self._is_iterator(node) and not self._read_in_place(node):
                self.strange[id(node)] = "an iterator that is kept"
            if isinstance(node, ast.ExceptHandler) and any(isinstance(n, ast.Name) and n.id == node.name for n in self.nodes):
                self.strange[id(node)] = "the name of an exception, which ends with its handler"

    def returns_fresh(self) -> bool:
        """Each value that the function gives is new: no argument and nothing of the module."""
        returns = [n.value for n in self.nodes if isinstance(n, ast.Return) and n.value is not None]
        return all(self._fresh(value) or self._fresh_name(value) for value in returns)

    def _fresh_name(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Tuple):
            return all(self._fresh(item) or self._fresh_name(item) for item in value.elts)
        arguments = {a.arg for a in ast.walk(self.function.args) if isinstance(a, ast.arg)}
        return isinstance(value, ast.Name) and value.id not in arguments and self._made_here(value.id, False, 0)

    def _judge(self, name: str, given: bool) -> None:
        changes = list(self._changes(name))
        if not changes:
            return
        first, last = min(c.lineno for c in changes), max(c.lineno for c in changes)
        loops = {id(loop) for change in changes for loop in self._around(change, _LOOPS)}
        sound = self._made_here(name, given, first)
        for node in self.nodes:
            if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
                continue
            later = node.lineno > last and not any(id(loop) in loops for loop in self._around(node, _LOOPS))
            if not later and not self._leaves_no_name(node, loops):
                sound = False
        if any(self._around(change, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)) for change in changes):
            sound = False
        if not sound:
            for change in changes:
                if isinstance(change, ast.AugAssign) and isinstance(change.target, ast.Name):
                    self.unsure.add(name)
                else:
                    self.strange[id(change)] = f"{name}, which is changed in place and may have another name"

    def _changes(self, name: str) -> Iterator[ast.expr | ast.stmt]:
        for node in self.nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=attr)) if found == name and attr in _CHANGES:
                    yield node
                case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store() | ast.Del()) if found == name:
                    yield node
                case ast.AugAssign(target=ast.Name(id=found)) if found == name:
                    yield node

    def _made_here(self, name: str, given: bool, before: int) -> bool:
        """Each value of the name is new; a parameter's own is replaced before line `before`."""
        replaced = False
        stored = False
        for node in self.nodes:
            if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Store):
                continue
            value = self._given_to(node)
            if value is None or not self._fresh(value):
                return False
            statement = self.parents[id(node)]
            stored = True
            replaced |= node.lineno < before and statement in self.function.body
        return replaced or (stored and not given)

    def _given_to(self, node: ast.Name) -> ast.expr | None:
        parent = self.parents[id(node)]
        match parent:
            case ast.Assign(targets=[target], value=value) if target is node:
                return value
            case ast.AnnAssign(value=value):
                return value
            case ast.AugAssign(value=value):
                return ast.Constant(value=0)
            case ast.Tuple(elts=names):
                match self.parents[id(parent)]:
                    case ast.Assign(targets=[_], value=ast.Tuple(elts=values)) if len(values) == len(names) and node in names:
                        return values[names.index(node)]
        return None

    def _fresh(self, value: ast.expr) -> bool:
        match value:
            case ast.IfExp(body=body, orelse=orelse):
                return self._fresh(body) and self._fresh(orelse)
            case ast.Subscript(slice=ast.Slice()):
                return True
            case ast.Tuple(elts=items):
                return all(self._fresh(item) for item in items)
            case ast.Call(func=ast.Attribute(attr="copy"), args=[]):
                return True
            case ast.Call(func=ast.Name(id=called)):
                return called in _FLAT or self._own_fresh(called)
        return isinstance(value, _FRESH)

    def _own_fresh(self, called: str) -> bool:
        function = self.own(called)
        return function is not None and self.depth < 3 and Sharing(function, self.own, self.depth + 1).returns_fresh()

    def _around(self, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> list[ast.AST]:
        found = []
        while (parent := self.parents.get(id(node))) is not None:
            if isinstance(parent, kinds):
                found.append(parent)
            node = parent
        return found

    def _leaves_no_name(self, node: ast.AST, changing: set[int]) -> bool:
        """What is read here keeps no reference to the list."""
        for inner in self._around(node, (ast.Lambda, ast.GeneratorExp)):
            if isinstance(inner, ast.Lambda) or not self._read_in_place(inner):
                return False
        parent = self.parents[id(node)]
        match parent:
            case ast.Attribute() | ast.Compare() | ast.BinOp() | ast.UnaryOp() | ast.Slice() | ast.Expr() | ast.FormattedValue():
                return True
            case ast.Subscript():
                return True
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if test is node:
                return True
            case ast.Assert() | ast.AugAssign():
                return True
            case ast.Return():
                return True
            case ast.Tuple() | ast.IfExp():
                return isinstance(self._above(parent, (ast.Tuple, ast.IfExp)), ast.Return)
            case ast.For(iter=iterable) if iterable is node:
                return id(parent) not in changing
            case ast.comprehension():
                holder = self.parents[id(parent)]
                return isinstance(holder, ast.ListComp) or (isinstance(holder, ast.GeneratorExp) and self._read_in_place(holder))
            case ast.Call(func=ast.Name(id=called), args=arguments) if node in arguments and self.own(called) is None:
                if called in _ITERATES:
                    return self._leaves_no_name(parent, changing)
                return called in _READS and (called not in ("min", "max") or len(arguments) == 1)
            case ast.Call(func=ast.Name(id=called), args=arguments) if node in arguments:
                return self._own_fresh(called)
            case ast.Call(func=ast.Attribute(attr="extend")):
                return True
        return False

    def _above(self, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> ast.AST:
        while isinstance(node, kinds):
            node = self.parents[id(node)]
        return node

    def _is_iterator(self, node: ast.Call | ast.GeneratorExp) -> bool:
        if isinstance(node, ast.GeneratorExp):
            return True
        match node.func:
            case ast.Name(id=called) | ast.Attribute(attr=called):
                return called in _ITERATES and self.own(called) is None
        return False

    def _read_in_place(self, node: ast.AST) -> bool:
        """The iterator is read where it is made, or has a name that is read once, in no loop that does not make it anew."""
        parent = self.parents[id(node)]
        match parent:
            case ast.For(iter=iterable):
                return iterable is node
            case ast.comprehension():
                holder = self.parents[id(parent)]
                return isinstance(holder, ast.ListComp) or (isinstance(holder, ast.GeneratorExp) and self._read_in_place(holder))
            case ast.Starred():
                return True
            case ast.Call(func=ast.Name(id=called)) if self.own(called) is None:
                if called in _ITERATES:
                    return self._read_in_place(parent)
                return called in _READS or called == "next"
            case ast.Call(func=ast.Attribute(attr="extend")):
                return True
            case ast.Call(func=ast.Attribute(attr="from_iterable")):
                return self._read_in_place(parent)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is node:
                loads = [n for n in self.nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
                kinds = (*_LOOPS, ast.Lambda, ast.ListComp, ast.GeneratorExp)
                outer = self._around(node, kinds)
                if len(loads) != 1:
                    return not loads
                (load,) = loads
                inside = [around for around in self._around(load, kinds) if not self._is_source(around, load)]
                return inside == outer and self._read_in_place(load)
        return False

    def _is_source(self, around: ast.AST, load: ast.AST) -> bool:
        """`around` only goes over what is read: its first iterable is evaluated once."""
        if isinstance(around, ast.For):
            return any(n is load for n in ast.walk(around.iter))
        if isinstance(around, ast.ListComp | ast.GeneratorExp):
            return any(n is load for n in ast.walk(around.generators[0].iter))
        return False

    def _called_in_place(self, node: ast.Lambda) -> bool:
        parent = self.parents[id(node)]
        if isinstance(parent, ast.keyword):
            parent = self.parents[id(parent)]
        match parent:
            case ast.Call(func=ast.Name(id=called)) if self.own(called) is None:
                return called in _READS or (called in _ITERATES and self._read_in_place(parent))
            case ast.Call(func=ast.Attribute(attr="sort", value=ast.Name(id=name))):
                return not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
            case ast.Call(func=called_here):
                return called_here is node
            case ast.Assign(targets=[ast.Name()]):
                return not self._around(node, (*_LOOPS, ast.ListComp, ast.GeneratorExp, ast.Lambda))
        return False


def unsure_names(module: ast.Module) -> set[str]:
    """Names of a module that are bound more than once or in other ways than by a plain statement, or that hold a list in use."""
    bound: list[str] = []
    unsure: set[str] = set()
    lists: set[str] = set()
    for node in module.body:
        names = list(_bound(node))
        bound += names
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value):
                if not isinstance(value, ast.Constant | ast.Tuple | ast.BinOp | ast.UnaryOp):
                    lists.add(name)
                unsure |= set(names) - {name}
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                bound = bound[: len(bound) - len(names)]
            case _:
                unsure |= set(names)
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in lists:
                unsure.add(part.id)
    for part in ast.walk(module):
        match part:
            case ast.Name(id="exec" | "eval" | "globals" | "setattr" | "delattr" | "__builtins__" | "__import__"):
                unsure |= set(bound) | _READS | _ITERATES
            case ast.Import(names=names_) if any(alias.name in ("builtins", "importlib") for alias in names_):
                unsure |= set(bound) | _READS | _ITERATES
            case ast.Attribute(attr=attr, ctx=ast.Store(), value=ast.Name(id=name)) if attr.startswith("__"):
                unsure.add(name)
    return unsure | {name for name in bound if bound.count(name) > 1}


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds or deletes, without the bodies of functions and classes."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
            return
        case ast.Lambda():
            return
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.split(".")[0] for alias in names)
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
            yield name
        case ast.MatchMapping(rest=str() as name):
            yield name
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)
