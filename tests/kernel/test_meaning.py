"""What the kernel reads means what the text says: drawn formulas, evaluated twice in drawn interpretations.

Once by the SMT-LIB standard, straight from the expression; once from the kernel's normal form. Quantifiers are guarded (from 0
to 2), so that finitely many values decide them. In the same way every lemma is true in every interpretation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from proofs.kernel.reader import Reader, expressions
from proofs.kernel.rules import Proof, forced, truth
from proofs.kernel.terms import Node, instance
from tests.kernel.statements import statement

DECLARE = "x;y;|z w|;b () Bool;f (Int) Int;g (Int Int) Int;p (Int) Bool"
RANGE = range(-1, 4)
"""Outside of 0..2 a guarded quantifier's body is true, so this decides it."""


@dataclass(frozen=True)
class World:
    """An interpretation: constants, and functions given by three numbers each."""

    constants: Mapping[str, int]
    flag: bool
    seeds: tuple[int, ...]

    def function(self, name: str, *args: int) -> int:
        a, b, c = self.seeds
        return (a * sum((k + 2) * v for k, v in enumerate(args)) + b * len(name) + ord(name[0]) * c) % 7 - 3

    def predicate(self, name: str, *args: int) -> bool:
        return self.function(name, *args) > 0


worlds = st.builds(
    World,
    constants=st.fixed_dictionaries({name: st.integers(-4, 4) for name in ("x", "y", "z w")}),
    flag=st.booleans(),
    seeds=st.tuples(*[st.integers(-3, 3)] * 3),
)


def terms(names: tuple[str, ...], depth: int) -> st.SearchStrategy[Any]:
    leaves = st.one_of(st.sampled_from(["x", "y", "|z w|", *names]), st.integers(0, 5).map(str))
    if depth == 0:
        return leaves
    inner = terms(names, depth - 1)
    conditions = formulas(names, depth - 1)
    return st.one_of(
        leaves,
        st.tuples(st.sampled_from(["+", "-", "*"]), inner, inner),
        st.tuples(st.just("-"), inner),
        st.tuples(st.sampled_from(["div", "mod"]), inner, st.integers(1, 4).map(str)),
        st.tuples(st.just("f"), inner),
        st.tuples(st.just("g"), inner, inner),
        st.tuples(st.just("ite"), conditions, inner, inner),
        st.tuples(st.just("let"), inner, terms((*names, "v"), depth - 1)),
    )


def formulas(names: tuple[str, ...], depth: int) -> st.SearchStrategy[Any]:
    if depth == 0:
        return st.one_of(st.sampled_from(["b", "true", "false"]), st.tuples(st.just("<"), st.just("x"), st.just("y")))
    inner, numbers = formulas(names, depth - 1), terms(names, depth - 1)
    variable = f"i{len(names) % 2}"
    return st.one_of(
        st.tuples(st.sampled_from(["<", "<=", ">", ">=", "=", "distinct"]), numbers, numbers),
        st.tuples(st.sampled_from(["<", "<=", "=", "distinct"]), numbers, numbers, numbers),
        st.tuples(st.just("p"), numbers),
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or", "=>", "=", "distinct"]), inner, inner),
        st.tuples(st.sampled_from(["and", "or", "=>"]), inner, inner, inner),
        st.tuples(st.just("ite"), inner, inner, inner),
        st.tuples(st.just("forall"), st.just(variable), formulas((*names, variable), depth - 1)),
        st.tuples(st.just("exists"), st.just(variable), formulas((*names, variable), depth - 1)),
        st.tuples(st.just("let"), numbers, formulas((*names, "v"), depth - 1)),
    )


def written(expression: Any) -> str:
    """The expression as SMT-LIB."""
    if isinstance(expression, str):
        return expression
    head, *rest = expression
    if head in ("forall", "exists"):
        guard = f"(and (<= 0 {rest[0]}) (< {rest[0]} 3))"
        return f"({head} (({rest[0]} Int)) ({'=>' if head == 'forall' else 'and'} {guard} {written(rest[1])}))"
    if head == "let":
        return f"(let ((v {written(rest[0])})) {written(rest[1])})"
    return f"({head} {' '.join(map(written, rest))})"


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


def standard(expression: Any, world: World, local: Mapping[str, int]) -> Any:
    """The value of the expression, by the standard."""
    if isinstance(expression, str):
        if expression.isdigit():
            return int(expression)
        name = expression.strip("|")
        if name in local:
            return local[name]
        return {"true": True, "false": False, "b": world.flag, **world.constants}[name]
    head, *rest = expression
    if head in ("forall", "exists"):
        values = [standard(rest[1], world, {**local, rest[0]: value}) for value in range(3)]
        return all(values) if head == "forall" else any(values)
    if head == "let":
        return standard(rest[1], world, {**local, "v": standard(rest[0], world, local)})
    args = [standard(each, world, local) for each in rest]
    if head == "ite":
        return args[1] if args[0] else args[2]
    if head in COMPARE:
        return all(COMPARE[head](a, b) for a, b in pairwise(args))
    if head == "distinct":
        return len(set(args)) == len(args)
    if head == "=>":
        *given_, last = args
        return last or not all(given_)
    if head == "mod":
        return args[0] - args[1] * (args[0] // args[1])
    operations: dict[str, Callable[[Any], Any]] = {
        "+": sum,
        "*": lambda a: a[0] * a[1],
        "-": lambda a: -a[0] if len(a) == 1 else a[0] - a[1],
        "div": lambda a: a[0] // a[1],
        "not": lambda a: not a[0],
        "and": all,
        "or": any,
        "f": lambda a: world.function("f", *a),
        "g": lambda a: world.function("g", *a),
        "p": lambda a: world.predicate("p", *a),
    }
    return operations[head](args)


def value(part: Node, world: World, bound: tuple[int, ...] = ()) -> Any:
    """The value of a node; `bound` are the values of its bound variables, the innermost first."""
    op, args = part.op, part.args
    if op == "poly":
        total = args[0]
        for c, monomial in args[1]:
            for unknown in monomial:
                c *= value(unknown, world, bound)
            total += c
        return total
    if op in ("app", "holds"):
        values = [value(each, world, bound) for each in args[1:]]
        if op == "app":
            return world.function(args[0], *values) if values else world.constants[args[0]]
        return world.predicate(args[0], *values) if values else world.flag
    if op == "all":
        return all(value(args[0], world, (each, *bound)) for each in RANGE)
    if op == "witness":
        formula = args[0]
        return next((each for each in RANGE if not value(formula.args[0], world, (each,))), 0)
    if op == "ite":
        return value(args[1] if value(args[0], world, bound) else args[2], world, bound)
    simple: dict[str, Callable[[], Any]] = {
        "true": lambda: True,
        "false": lambda: False,
        "bound": lambda: bound[args[0]],
        "div": lambda: value(args[0], world, bound) // args[1],
        "le": lambda: value(args[0], world, bound) <= 0,
        "eq": lambda: value(args[0], world, bound) == 0,
        "not": lambda: not value(args[0], world, bound),
        "and": lambda: all(value(each, world, bound) for each in args),
    }
    return simple[op]()


def read(expression: Any) -> Node:
    return Reader(statement(written(expression), declare=DECLARE)).assertions["a 0"]


@settings(max_examples=400)
@given(formulas((), 4), worlds)
def test_a_formula_is_read_as_what_the_standard_says(expression: Any, world: World) -> None:
    assert value(read(expression), world) == standard(expression, world, {})


@settings(max_examples=200)
@given(formulas(("i0",), 3), terms((), 2), worlds)
def test_an_instance_is_the_body_at_the_value_of_the_term(body: Any, term: Any, world: World) -> None:
    formula = read(("not", ("exists", "i0", body)))
    assume(formula.op == "all")
    polynomial = Reader(statement("true", declare=DECLARE)).read(expressions(written(term))[0], {}, 0)

    found = instance(formula, polynomial)

    assert value(found, world) == value(formula.args[0], world, (value(polynomial, world),))


@settings(max_examples=300)
@given(formulas((), 3), worlds, st.data())
def test_every_lemma_holds_in_every_interpretation(expression: Any, world: World, data: st.DataObject) -> None:
    proof = Proof()
    proof.learn(read(expression), {})
    for _ in range(4):
        by_op = {
            op: [n for n, each in enumerate(proof.known) if each.op == op] for op in ("all", "ite", "eq", "div", "app", "holds")
        }
        unknowns = [n for n, each in enumerate(proof.known) if each.op in ("app", "ite", "div", "witness")]
        monomial = st.tuples(st.integers(-2, 2), st.sampled_from(unknowns)).map(list) if unknowns else st.nothing()
        sums = st.lists(monomial, max_size=2) if unknowns else st.just([])
        terms_ = st.tuples(st.integers(-3, 3), sums).map(lambda t: [t[0], *t[1]])
        choices: list[tuple[str, st.SearchStrategy[list[Any]]]] = [
            ("cut", st.tuples(terms_).map(list)),
            ("product", st.tuples(terms_, terms_).map(list)),
        ]
        for rule, op in (("witness", "all"), ("choice", "ite"), ("quotient", "div"), ("trichotomy", "eq")):
            if by_op[op]:
                choices.append((rule, st.sampled_from(by_op[op]).map(lambda n: [n])))
        if by_op["all"]:
            choices.append(("instance", st.tuples(st.sampled_from(by_op["all"]), terms_).map(list)))
        functions = [n for n in by_op["app"] + by_op["holds"] if len(proof.known[n].args) > 1]
        pairs = [[n, m] for n in functions for m in functions if proof.known[n].args[0] == proof.known[m].args[0]]
        if pairs:
            choices.append(("congruence", st.sampled_from(pairs)))
        rule, about = data.draw(st.sampled_from(choices))
        drawn = data.draw(about)
        for fact in proof.lemma(rule, drawn):
            proof.learn(fact, {})
            if rule != "instance" or value(proof.known[drawn[0]], world) is False or in_range(proof, drawn, world):
                assert value(fact, world), (rule, drawn)


def in_range(proof: Proof, drawn: Any, world: World) -> bool:
    """The instance is at one of the values that decide the quantifier here."""
    return value(proof.term(drawn[1]), world) in RANGE


@settings(max_examples=300)
@given(formulas((), 4), worlds, st.data())
def test_what_is_forced_holds_wherever_the_assumptions_do(expression: Any, world: World, data: st.DataObject) -> None:
    formula = read(expression)
    proof = Proof()
    proof.learn(formula, {})
    case: dict[Node, bool] = {}
    chosen = data.draw(st.lists(st.sampled_from(proof.known), max_size=6)) if proof.known else []
    for each in [formula, *(part for part in chosen if part.op in ("le", "eq", "holds", "all", "and"))]:
        # What is assumed is true in this interpretation, so nothing that follows may be false in it.
        assert not forced(each, value(each, world), case)

    assert all(value(each, world) == holds for each, holds in case.items())
    assert truth(formula, case) in (None, value(formula, world))
