"""Further attacks on the kernel, each from a sentence of its documentation that a slip would break."""

from __future__ import annotations

import itertools
import json
import operator
from typing import Any

import pytest

from proofs.certify import certify
from proofs.evidence.strict import certificate, parsed
from proofs.kernel import Refused, check
from proofs.kernel.reader import Reader
from proofs.kernel.terms import Node, combine, instance, node, number, of
from tests.kernel.statements import accepted, refused, statement, unreadable
from tests.kernel.test_attacks import every_short_certificate, known, satisfiable
from tests.kernel.test_meaning import World, value


def reads(*formulas: str, declare: str = "x;y;b () Bool;f (Int) Int;p (Int) Bool;q (Int Int) Bool") -> list[Node]:
    """What each formula is read as; equal meaning in one normal form is one node."""
    return list(Reader(statement(*formulas, declare=declare)).assertions.values())


# "A let is parallel", and whatever is bound hides what was there, inside alone.


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        ("(let ((x y) (y x)) (< x (+ y y)))", "(< y (+ x x))"),
        ("(let ((x (+ x 1))) (= x 1))", "(= (+ x 1) 1)"),
        ("(let ((x 1)) (and (= x 1) (let ((x 2)) (= x y)) (= x y)))", "(and (= 2 y) (= 1 y))"),
        ("(and (let ((x 1)) (= x y)) (= x 3))", "(and (= 1 y) (= x 3))"),
        ("(let ((z (f x))) (let ((x z)) (= x (f y))))", "(= (f x) (f y))"),
        ("(let ((y x)) (forall ((y Int)) (< (f y) 0)))", "(forall ((k Int)) (< (f k) 0))"),
        ("(forall ((i Int)) (let ((i (+ i 1))) (< (f i) i)))", "(forall ((k Int)) (< (f (+ k 1)) (+ k 1)))"),
        ("(forall ((i Int)) (let ((b (p i))) (forall ((j Int)) (or b (q i j)))))", "(forall ((i Int) (j Int)) (or (p i) (q i j)))"),
        ("(forall ((x Int)) (and (p x) (exists ((x Int)) (p x))))", "(forall ((k Int)) (and (p k) (exists ((m Int)) (p m))))"),
        ("(let ((b (not b))) (let ((b (not b))) b))", "b"),
        ("(forall ((i Int) (j Int)) (q i j))", "(forall ((j Int)) (forall ((i Int)) (q j i)))"),
        ("(forall ((b Int)) (p b))", "(forall ((k Int)) (p k))"),
        (
            "(forall ((a Int) (i Int)) (let ((c (forall ((k Int)) (q a k)))) (forall ((j Int)) (or c (q i j)))))",
            "(forall ((a Int) (i Int)) (forall ((j Int)) (or (forall ((k Int)) (q a k)) (q i j))))",
        ),
        (
            "(forall ((a Int) (i Int)) (let ((c (forall ((k Int)) (q i k)))) (forall ((j Int) (m Int)) (or c (q m j)))))",
            "(forall ((a Int) (i Int)) (forall ((j Int) (m Int)) (or (forall ((k Int)) (q i k)) (q m j))))",
        ),
    ],
)
def test_what_is_bound_hides_and_is_hidden_as_the_standard_says(formula: str, same: str) -> None:
    one, other = reads(formula, same)

    assert one is other


@pytest.mark.parametrize(
    ("formula", "other"),
    [
        ("(let ((x y) (y x)) (< x (+ y y)))", "(let ((x y)) (let ((y x)) (< x (+ y y))))"),
        ("(forall ((i Int) (j Int)) (q i j))", "(forall ((i Int) (j Int)) (q j i))"),
        ("(forall ((i Int)) (exists ((j Int)) (q i j)))", "(exists ((j Int)) (forall ((i Int)) (q i j)))"),
        ("(let ((y x)) (forall ((x Int)) (q x y)))", "(forall ((x Int)) (q x x))"),
        ("(forall ((i Int)) (let ((y i)) (forall ((i Int)) (q i y))))", "(forall ((i Int)) (forall ((i Int)) (q i i)))"),
    ],
)
def test_what_is_bound_elsewhere_is_not_confused(formula: str, other: str) -> None:
    one, two = reads(formula, other)

    assert one is not two


def test_an_instance_of_the_outer_variable_leaves_the_inner_one_alone() -> None:
    pairs, at_five, diagonal = reads("(forall ((i Int)) (forall ((j Int)) (q i j)))", "(forall ((j Int)) (q 5 j))", "(q 5 5)")

    assert instance(pairs, number(5)) is at_five and instance(at_five, number(5)) is diagonal


def test_a_term_moves_under_a_quantifier_without_being_caught() -> None:
    # The instance is at x, and inside stands another quantifier with another variable at the same depth.
    outer, wanted = reads(
        "(forall ((i Int)) (forall ((j Int)) (forall ((k Int)) (= (f i) (+ j k)))))",
        "(forall ((j Int)) (forall ((k Int)) (= (f (+ (f x) 1)) (+ j k))))",
    )
    term = combine((1, of(node("app", "f", of(node("app", "x"))))), plus=1)

    assert instance(outer, term) is wanted


@pytest.mark.parametrize(
    "formula",
    [
        "(forall ((named Int)) (p :named))",
        "(let ((a x)) (p :a))",
        "(forall ((i Int) (i Int)) (p i))",
        "(forall ((i Int) (|i| Int)) (p i))",
        "(forall ((|forall| Int)) b)",
        "(let ((x 1) (|x| 2)) (p x))",
        "(forall ((f Int)) (p (f f)))",
        "(let ((f x)) (p (f 1)))",
        "(let ((p b)) (p 1))",
        "(let ((c b)) (p c))",
        "(let ((c 1)) c)",
        "(forall ((i Int)) (let ((c i)) c))",
        "(forall (((i) Int)) b)",
        "(forall ((i |Int|)) (p i))",
        "(forall ((i Int Int)) (p i))",
        "(forall ((i Int)) (p i) (p i))",
        "(let ((1 x)) b)",
        "(forall ((1 Int)) b)",
        "((let ((x 1)) f) 2)",
        "(q x)",
        "(q x y x)",
        "(b)",
        "(p)",
        "(true)",
        "true x",
        "(true x)",
        "(=> )",
        "(ite b x b)",
        "(ite b b x)",
        "(= b (f x))",
        "(distinct x b)",
        "(p b)",
        "(< x b)",
        "(mod b 2)",
        "(div x 2 1)",
        "(mod 2 0)",
        "(div x -2)",
        "(not x)",
        "(* b b)",
        "(- b)",
        "(= (ite x 1 2) y)",
        "(ite (+ x 1) b b)",
        "(= (div x (+ y 1)) 1)",
        "(= (mod x (+ x 2)) 1)",
        "(= (mod x 2 2) 1)",
        "(= (mod 2) 1)",
        "(forall ((i Int) (j Bool)) (p i))",
        "(forall ((i Bool) (j Int)) (p j))",
        "(exists ((i Int) j) (p i))",
        "(let ((c x) d) (p c))",
        "(undeclared)",
        "(undeclared x)",
        "(and b undeclared)",
        "(p (undeclared x y))",
        *[f"({head} x)" for head in ("=", "distinct", "<", "<=", ">", ">=")],
        *[f"(p ({head} x))" for head in ("+", "*", "div", "mod")],
        *[f"(and b {head})" for head in ("and", "or", "=>", "not", "=", "distinct", "ite", "<", "let", "forall", "!")],
        *[f"(p {head})" for head in ("+", "-", "*", "div", "mod", "ite", "Int")],
    ],
)
def test_what_is_bound_or_applied_amiss_is_refused(formula: str) -> None:
    assert unreadable(statement(formula, declare="x;y;b () Bool;f (Int) Int;p (Int) Bool;q (Int Int) Bool"))


@pytest.mark.parametrize(
    "declaration", ["f () Int) (declare-fun f () Int", "|f| () Int) (declare-fun f (Int) Int", "f () Int;f () Bool"]
)
def test_a_name_is_declared_once(declaration: str) -> None:
    declared = statement("(= 1 1)", declare="z").replace("(declare-fun z () Int)", f"(declare-fun {declaration})")

    assert "declared again" in unreadable(
        declared if ";" not in declaration else statement("(= 1 1)", declare="f () Int;f () Bool")
    )


# Characters.


@pytest.mark.parametrize(
    "digits", ["١", "２", "²", "৩", "1٣", "Ⅷ", "①", "1\u200d", "1\u00a0", "1\x0b", "1\x0c", "\ufeff1", "1e1", "1.0", "0x1"]
)
def test_digits_are_the_ten_of_ascii(digits: str) -> None:
    assert unreadable(statement(f"(= x {digits})", declare="x"))


@pytest.mark.parametrize(
    "text", ["[١]", "[１]", "[²]", '["\\ud800"', "[0x1]", "[1_0]", "[+1]", "[-01]", "[Infinity]", "[1.]", "['a']", "[1,]"]
)
def test_a_certificate_is_json_with_the_ten_digits(text: str) -> None:
    with pytest.raises(Refused):
        parsed(text)


@pytest.mark.parametrize("symbol", ["x|y|", "|x|y", "|x||y|", 'x"y"', "x\\y", "|x\\y|", "x'y", "x{y}", "#x", "x;y", "x\x00y", "|x"])
def test_tokens_do_not_stick_together(symbol: str) -> None:
    assert unreadable(statement(f"(= {symbol} 1)", declare="x;y;xy"))


# Numbers and depth.


@pytest.mark.parametrize("digits", [1001, 5000])
def test_numerals_beyond_a_thousand_digits_are_refused(digits: int) -> None:
    assert unreadable(statement("(= x " + "9" * digits + ")", declare="x"))


@pytest.mark.parametrize(
    "formula",
    [
        "(= x (* " + " ".join(["9" * 1000] * 2) + "))",
        "(= x (+ (* " + "9" * 1000 + " " + "9" * 200 + " x) (* " + "9" * 999 + " " + "9" * 400 + " x)))",
        "(= (* x " + "9" * 700 + ") (* " + "9" * 700 + " (* " + "9" * 700 + " x)))",
    ],
)
def test_arithmetic_beyond_the_largest_number_is_refused(formula: str) -> None:
    assert "too large" in unreadable(statement(formula, declare="x"))


def test_numbers_of_a_certificate_are_bounded_too() -> None:
    text = statement("(> x 5)", "(< x (+ y 1))", "(< y 5)", declare="x;y")

    assert "too large" in refused(text, [["cut", [2**4096]]]) and "too large" in refused(text, [["cut", [0, [2**4096, 0]]]])
    atoms = [number for number, each in enumerate(known(text).known) if each.op == "le"]
    assert "too large" in refused(text, [[2**4097, atoms[0], 1, atoms[1]]])
    with pytest.raises(Refused):
        certificate(json.dumps({"schema": "draftproof.certificate/1", "statement": "", "steps": [10**1000]}))


DEEP = 100_000


@pytest.mark.parametrize(
    "formula",
    [
        "(not " * DEEP + "true" + ")" * DEEP,
        "(let ((y x)) " * (DEEP // 4) + "(= y 1)" + ")" * (DEEP // 4),
        "(forall ((i Int)) " * (DEEP // 4) + "(= i 1)" + ")" * (DEEP // 4),
        "(ite true true " * (DEEP // 4) + "true" + ")" * (DEEP // 4),
        "(= x (f " + "(f " * DEEP + "x" + ")" * DEEP + "))",
        "(= x " + "(- " * DEEP + "x" + ")" * DEEP + ")",
        "(" * DEEP + "x" + " x)" * DEEP,
    ],
)
def test_depth_without_end_is_refused_and_no_error(formula: str) -> None:
    assert refused(statement(formula, declare="x;f (Int) Int"), []) == "the text or the certificate is nested too deeply"


@pytest.mark.parametrize("depth", [10, 200, 400, 600, 800, 900, 950, 990, 1000])
def test_depth_near_the_end_of_the_stack_is_accepted_or_refused_and_no_error(depth: int) -> None:
    # What is read in full may still be too deep for a name, an instance, or a consequence.
    tower = "(f " * depth + "i" + ")" * depth
    text = statement(f"(forall ((i Int)) (< (+ {tower} (f i)) 0))", "(>= (f x) 0)", declare="x;f (Int) Int")
    for steps in ([["instance", 0, [0]]], [["witness", 0]], [["cut", [0]]]):
        assert refused(text, steps)
    nested: Any = []
    for _ in range(depth):
        nested = [["cut", [0]], [[0], nested]]
    assert refused(text, nested)


COMPARED = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "=": operator.eq, "distinct": operator.ne}


@pytest.mark.parametrize("comparison", COMPARED)
def test_an_atom_is_rounded_to_integers_as_its_values_demand(comparison: str) -> None:
    # Whole numbers divide out, and what is left over is rounded: an atom at every value, for small coefficients of each sign.
    for a, b in itertools.product(range(-6, 7), range(-13, 14)):
        atom = Reader(statement(f"({comparison} (+ (* {term(a)} x) {term(b)}) 0)", declare="x")).assertions["a 0"]
        for x in range(-15, 16):
            assert value(atom, world(x=x)) is COMPARED[comparison](a * x + b, 0), (a, b, x)


@pytest.mark.parametrize("comparison", COMPARED)
def test_an_atom_of_two_unknowns_is_so_too(comparison: str) -> None:
    for a, c, b in itertools.product((-6, -4, -3, -1, 2, 4, 6), (-6, -2, 3, 4), (-7, -4, -1, 0, 2, 3, 6, 9)):
        sides = f"(* {term(a)} x) (- {term(-b)} (* {term(c)} y))"
        atom = Reader(statement(f"({comparison} {sides})", declare="x;y")).assertions["a 0"]
        for x, y in itertools.product(range(-4, 5), repeat=2):
            assert value(atom, world(x=x, y=y)) is COMPARED[comparison](a * x + c * y + b, 0), (a, c, b, x, y)


@pytest.mark.parametrize("divisor", range(1, 8))
def test_quotient_and_remainder_are_those_of_the_standard(divisor: int) -> None:
    text = statement(f"(= (div x {divisor}) y)", f"(= (mod x {divisor}) y)", declare="x;y")
    quotient, remainder = Reader(text).assertions.values()
    drawn = known(text, ["quotient", next(n for n, each in enumerate(known(text).known) if each.op == "div")])
    (unknown,) = [n for n, each in enumerate(drawn.known) if each.op == "div"]
    for x, y in itertools.product(range(-20, 21), range(-21, 22)):
        assert value(quotient, world(x=x, y=y)) is (x // divisor == y)
        assert value(remainder, world(x=x, y=y)) is (x % divisor == y)
        assert all(value(fact, world(x=x, y=y)) for fact in drawn.lemma("quotient", [unknown]))


def term(number: int) -> str:
    """The number as a term."""
    return str(number) if number >= 0 else f"(- {-number})"


def world(**constants: int) -> World:
    return World(constants=constants, flag=False, seeds=(1, 1, 1))


@pytest.mark.parametrize("weight", [1.0, True, 0.5, "1", None, [1]])
def test_a_sum_that_is_good_is_refused_with_weights_that_are_no_integers(weight: Any) -> None:
    text = statement("(<= x 0)", "(<= (- 1 y) 0)", "(<= y x)", declare="x;y")
    atoms = [n for n, each in enumerate(known(text).known) if each.op == "le"]
    check(text, [[1, atoms[0], 1, atoms[1], 1, atoms[2]]])

    for place in (0, 2, 4):
        steps = [1, atoms[0], 1, atoms[1], 1, atoms[2]]
        assert refused(text, [[*steps[:place], weight, *steps[place + 1 :]]])


@pytest.mark.parametrize("sum_", [[0, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
def test_a_sum_that_comes_to_nothing_is_no_contradiction(sum_: list[int]) -> None:
    # x <= 0, -x <= 0 and x <= 1 have the model 0; their sums are 0 or an unknown.
    text = statement("(<= x 0)", "(<= (- x) 0)", "(<= x 1)", declare="x")
    atoms = [n for n, each in enumerate(known(text).known) if each.op == "le"]

    assert satisfiable(text)
    assert refused(text, [[part for weight, atom in zip(sum_, atoms, strict=True) for part in (weight, atom)]])


@pytest.mark.parametrize("odd", [{"0": 1}, {}, "1", "", (1.0,), 0, None, [[1]], [[]], [None]])
def test_a_term_is_a_list(odd: Any) -> None:
    assert refused(statement("(<= x 0)", declare="x"), [["cut", odd]])


# What a case leaves behind.


def test_a_lemma_that_is_drawn_in_a_case_holds_in_the_case_alone() -> None:
    text = statement("(or (= x 0) (= y 0))", "(not (= x 0))", declare="x;y")
    cut = ["cut", [5, [1, 0]]]
    after = known(text, cut)
    atom = next(number for number in range(len(known(text).known), len(after.known)) if after.known[number].op == "le")
    equal = next(number for number, each in enumerate(after.known) if each.op == "eq" and each is not after.known[atom])

    assert refused(text, [[[equal], cut], atom]) and refused(text, [[[-1 - equal], cut], atom])


@pytest.mark.parametrize("steps", [[[[]]], [[[], [[]]]], [[[], ["cut", [0]]]], [[[]], [[]]]])
def test_a_case_without_assumptions_closes_nothing_by_itself(steps: Any) -> None:
    assert refused(statement("(or (= x 0) (= y 0))", declare="x;y"), steps)


def test_assuming_a_thing_and_its_opposite_teaches_nothing() -> None:
    text = statement("(or (= x 0) (= y 0))", declare="x;y")
    assert satisfiable(text)
    names = [number for number, each in enumerate(known(text).known) if each.op in ("eq", "and")]

    for name in names:
        opposite = [[name, -1 - name]]
        assert refused(text, [opposite])
        assert not any(accepted(text, [opposite, other]) for other in range(len(known(text).known)))


def test_the_witness_of_one_formula_is_not_that_of_another() -> None:
    text = statement("(not (forall ((i Int)) (p i)))", "(not (forall ((i Int)) (not (p i))))", declare="p (Int) Bool")
    assert satisfiable(text)
    formulas = [number for number, each in enumerate(known(text).known) if each.op == "all"]
    drawn = [["witness", formulas[0]], ["witness", formulas[1]]]
    after = known(text, *drawn)
    witnesses = [each for each in after.known if each.op == "witness"]

    assert len(set(witnesses)) == 2
    for index in range(len(after.known)):
        assert not accepted(text, [*drawn, index])


def test_an_instance_is_of_a_quantified_formula_and_nothing_else() -> None:
    text = statement("(or (= x 0) (p x))", "(forall ((i Int)) (p i))", declare="x;p (Int) Bool")
    for index, each in enumerate(known(text).known):
        if each.op != "all":
            assert "not all" in refused(text, [["instance", index, [0]]]) and "not all" in refused(text, [["witness", index]])


def test_what_was_true_of_another_text_is_forgotten() -> None:
    false, true = statement("(= x 0)", "(= x 1)", declare="x"), statement("(= x 0)", declare="x")
    steps = certify(false)
    check(false, steps)

    assert refused(true, steps) and refused(true, [])
    check(false, steps)


@pytest.mark.parametrize(
    "text",
    [
        statement("(= (div x 2) (div y 2))", "(not (= x y))", declare="x;y"),
        statement("(= (mod x 3) 2)", "(< x 0)", declare="x"),
        statement("(= (* x y) 0)", "(not (= x 0))", declare="x;y"),
        statement("(exists ((i Int)) (= (f i) 1))", "(exists ((i Int)) (= (f i) 2))", declare="f (Int) Int"),
        statement("(= (f x) (f y))", "(distinct x y)", declare="x;y;f (Int) Int"),
        statement("(=> (p x) (p y))", "(p y)", "(not (p x))", declare="x;y;p (Int) Bool"),
        statement("(= (ite b x y) x)", "(not b)", "(= y x)", declare="x;y;b () Bool"),
        statement("(< (* 2 x) (* 3 y))", "(< (* 3 y) (+ (* 2 x) 2))", declare="x;y"),
    ],
)
def test_no_short_certificate_refutes_these_either(text: str) -> None:
    assert satisfiable(text)

    assert not any(accepted(text, each) for each in every_short_certificate(text))
