"""Attacks on the kernel, written from its documentation: satisfiable statements that a certificate claims to refute.

Each pairs a statement that has a model (the solvers confirm it) with the certificate that would be accepted if the kernel
did what the name of the test forbids; or a text that two readers could read differently.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from proofs.certify import certify
from proofs.evidence.strict import parsed
from proofs.kernel import Refused, check
from proofs.kernel.reader import Reader
from proofs.kernel.rules import Proof
from proofs.kernel.terms import Node, combine, instance, node, number, of
from proofs.smt import Answer, ask_cvc5, ask_z3
from tests.kernel.statements import accepted, refused, statement, unreadable


def known(text: str, *lemmas: list[Any]) -> Proof:
    """The nodes that are known after the assertions and these lemmas."""
    proof = Proof()
    case: dict[Node, bool] = {}
    for formula in Reader(text).assertions.values():
        proof.learn(formula, case)
    for lemma in lemmas:
        proof.step(lemma, case)
    return proof


def satisfiable(text: str) -> bool:
    """No solver refutes it, and one has a model unless it has quantifiers (which solvers rarely find models of)."""
    answers = {ask_z3(text, budget=1_000_000).answer, ask_cvc5(text, budget=100_000).answer}
    return Answer.UNSAT not in answers and (Answer.SAT in answers or "(forall" in text)


def every_short_certificate(text: str) -> list[Any]:
    """All certificates of one or two consequences, cases or sums about the known nodes."""
    proof = known(text)
    names = range(len(proof.known))
    steps: list[Any] = [*names, *[[m, n] for n in names for m in (-2, -1, 1, 2)]]
    steps += [[m, n, k, o] for n in names for o in names for m in (-1, 1) for k in (-1, 1)]
    cases: list[Any] = [[[literal], step] for n in names for literal in (n, -1 - n) for step in steps[: len(names)]]
    return [[step] for step in steps] + [[case, step] for case in cases for step in steps[: 3 * len(names)]]


@pytest.mark.parametrize(
    "text",
    [
        statement("(> x 1)", declare="x"),
        statement("(= (div x 2) 0)", "(= x 1)", declare="x"),
        statement("(or (= x 0) (= y 0))", "(not (= x 0))", declare="x;y"),
        statement("(forall ((i Int)) (> (f i) i))", declare="f (Int) Int"),
        statement("(=> b (= x 1))", declare="b () Bool;x"),
        statement("(= (* x x) 4)", declare="x"),
    ],
)
def test_no_short_certificate_refutes_what_has_a_model(text: str) -> None:
    assert satisfiable(text)

    candidates = [[], *every_short_certificate(text)]

    assert len(candidates) > 10
    assert not any(accepted(text, each) for each in candidates)


# Witnesses and bound variables.


def test_a_witness_cannot_speak_of_itself() -> None:
    # "Whoever is witness of F is greater than the witness of F": a cycle, if a certificate could name it before it exists.
    text = statement("(not (forall ((i Int)) (< i x)))", declare="x")
    assert satisfiable(text)
    proof = known(text)
    formula = next(number for number, each in enumerate(proof.known) if each.op == "all")

    after = len(proof.known)
    assert "is not the number of a known node" in refused(text, [["instance", formula, [1, [1, after]]], ["witness", formula]])
    # Once it exists, its formula was there before it.
    proof = known(text, ["witness", formula])
    witness = next(each for each in proof.known if each.op == "witness")
    assert witness.args[0] is proof.known[formula] and proof.numbers[witness] > formula


def test_an_instance_captures_no_bound_variable() -> None:
    # For all i some j is greater; at the witness term of a formula that speaks of its own j, nothing is captured.
    text = statement("(forall ((i Int)) (exists ((j Int)) (> j i)))", "(forall ((j Int)) (>= (f j) j))", declare="f (Int) Int")
    assert satisfiable(text)
    assert not any(accepted(text, each) for each in every_short_certificate(text))
    outer = next(iter(Reader(text).assertions.values()))
    at = combine((1, of(node("app", "c"))), plus=3)

    inner = instance(outer, at)

    # not all j. not (j > c + 3), whatever the variable was called.
    again = Reader(statement("(exists ((i Int)) (> i (+ c 3)))", declare="c")).assertions["a 0"]
    assert inner is again


def test_a_let_keeps_its_meaning_inside_a_quantifier_of_the_same_name() -> None:
    captured = statement("(let ((y i)) (forall ((i Int)) (= y i)))", declare="i")
    free = statement("(forall ((k Int)) (= i k))", declare="i")
    own = statement("(forall ((i Int)) (= i i))", declare="i")

    meaning = [Reader(text).assertions["a 0"] for text in (captured, free, own)]

    assert meaning[0] is meaning[1] and meaning[0] is not meaning[2]


def test_nested_quantifiers_of_one_name_bind_inside_first() -> None:
    same = statement("(forall ((i Int)) (forall ((i Int)) (< i (f i))))", declare="f (Int) Int")
    apart = statement("(forall ((i Int)) (forall ((j Int)) (< j (f j))))", declare="f (Int) Int")
    crossed = statement("(forall ((i Int)) (forall ((j Int)) (< i (f i))))", declare="f (Int) Int")

    assert Reader(same).assertions["a 0"] is Reader(apart).assertions["a 0"]
    assert Reader(same).assertions["a 0"] is not Reader(crossed).assertions["a 0"]


def test_a_bound_variable_deep_inside_is_not_one_that_is_near() -> None:
    text = statement("(forall ((i Int)) (let ((y (+ i 1))) (forall ((j Int)) (forall ((k Int)) (< y (+ j k))))))")
    again = statement("(forall ((a Int)) (forall ((b Int)) (forall ((c Int)) (< (+ a 1) (+ b c)))))")

    assert Reader(text).assertions["a 0"] is Reader(again).assertions["a 0"]


def test_terms_that_are_not_closed_are_not_known() -> None:
    text = statement("(forall ((i Int)) (forall ((j Int)) (< (f i) (f j))))", declare="f (Int) Int")

    assert all(each.loose == 0 for each in known(text).known)
    with pytest.raises(Refused):
        instance(next(iter(Reader(text).assertions.values())), of(node("bound", 0)))


# Symbols.


@pytest.mark.parametrize(
    "declaration",
    [
        "= (Int Int) Bool",
        "|=| (Int Int) Bool",
        "|and| (Int) Bool",
        "|+| (Int Int) Int",
        "|true| () Bool",
        "not () Bool",
        "|<=| (Int Int) Bool",
    ],
)
def test_a_symbol_of_the_theory_is_not_declared_again(declaration: str) -> None:
    assert unreadable(statement("(not (= 1 1))", declare=declaration))


@pytest.mark.parametrize("formula", ["(|=| x 1)", "(|and| (= x 1) (= x 2))", "|true|", "(|let| ((y x)) (= y 1))"])
def test_a_symbol_of_the_theory_is_not_quoted(formula: str) -> None:
    assert "in quotes" in unreadable(statement(formula, declare="x"))


@pytest.mark.parametrize("formula", ["(let ((= x)) (< x 1))", "(forall ((true Int)) (< true 1))", "(let ((x 1) (x 2)) (= x x))"])
def test_a_binding_is_of_new_symbols(formula: str) -> None:
    assert "cannot be bound" in unreadable(statement(formula, declare="x"))


def test_a_symbol_is_declared_once_and_before_it_is_used() -> None:
    assert "declared again" in unreadable(statement("(= x 1)", declare="x;|x|"))
    assert "declared again" in unreadable(statement("(= x 1)", declare="x;x (Int) Int"))
    late = "(set-logic ALL)\n(assert (! (= 1 1) :named a))\n(declare-fun x () Int)\n(assert (! (= x 1) :named b))\n(check-sat)\n"
    assert "before assertions" in unreadable(late)


def test_a_bound_symbol_hides_the_function_of_its_name() -> None:
    assert "cannot be applied" in unreadable(statement("(forall ((f Int)) (= (f f) 1))", declare="f (Int) Int"))


def test_names_are_of_one_thing() -> None:
    assert "two things" in unreadable("(set-logic ALL)\n(assert (! (= 1 1) :named a))\n(assert (! (= 1 2) :named a))\n(check-sat)")
    assert "two things" in unreadable(statement("(= 1 1)", declare="|a 0|"))


def test_quoted_and_plain_symbols_are_the_same() -> None:
    assert Reader(statement("(= |x| 1)", declare="x")).assertions == Reader(statement("(= x 1)", declare="|x|")).assertions


@pytest.mark.parametrize("strange", ["х", "ⅹ", "x\u200b", "ﬁ", '"x"', "#x0f", "#b1", "1.5", "x\x00"])
def test_symbols_and_numerals_are_ascii(strange: str) -> None:
    assert "starts no token" in unreadable(statement(f"(= {strange} 1)", declare="x"))


# Numerals and arithmetic.


@pytest.mark.parametrize("divisor", ["0", "(- 1 1)", "(- 2)", "x", "(* 0 x)", "(div 1 2)"])
@pytest.mark.parametrize("operation", ["div", "mod"])
def test_a_divisor_is_a_positive_numeral(operation: str, divisor: str) -> None:
    assert unreadable(statement(f"(= ({operation} x {divisor}) 1)", declare="x")).startswith(operation)


@pytest.mark.parametrize("numeral", ["00", "01", "-1", "+1", "1_000", "1e3", "12a"])
def test_numerals_are_written_in_one_way(numeral: str) -> None:
    assert unreadable(statement(f"(= x {numeral})", declare="x"))


def test_division_rounds_as_the_standard_says() -> None:
    # (div (- 7) 2) is -4, and (mod (- 7) 2) is 1: whoever rounds towards zero refutes this.
    text = statement("(= x (- 7))", "(= (div x 2) (- 4))", "(= (mod x 2) 1)", declare="x")
    assert satisfiable(text)
    wrong = statement("(= x (- 7))", "(not (= (div x 2) (- 4)))", declare="x")

    check(wrong, certify(wrong))
    assert not any(accepted(text, each) for each in every_short_certificate(text))


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        ("(- x)", "(* (- 1) x)"),
        ("(- x y 1)", "(+ x (* (- 1) y) (- 1))"),
        ("(* 2 (+ x 1) y)", "(+ (* 2 x y) (* 2 y))"),
        ("(ite (< x x) y x)", "x"),
    ],
)
def test_terms_are_read_as_the_standard_says(formula: str, same: str) -> None:
    one, two = statement(f"(= {formula} 7)", declare="x;y"), statement(f"(= {same} 7)", declare="x;y")
    assert Reader(one).assertions == Reader(two).assertions


@pytest.mark.parametrize(
    ("formula", "same"),
    [
        ("(< x y 3)", "(and (< x y) (< y 3))"),
        ("(>= x y 3)", "(and (>= x y) (>= y 3))"),
        ("(= x y 3)", "(and (= x y) (= y 3))"),
        ("(distinct x y 3)", "(and (not (= x y)) (not (= x 3)) (not (= y 3)))"),
        ("(=> (= x 1) (= y 1) (= x y))", "(=> (= x 1) (=> (= y 1) (= x y)))"),
        ("(ite (= x 1) (= y 1) (= y 2))", "(and (=> (= x 1) (= y 1)) (=> (not (= x 1)) (= y 2)))"),
        ("(distinct (< x 0) (< y 0))", "(not (= (< x 0) (< y 0)))"),
        ("(< (* 2 x) 1)", "(<= x 0)"),
        ("(exists ((i Int) (j Int)) (< i j x))", "(not (forall ((a Int) (b Int)) (not (< a b x))))"),
    ],
)
def test_formulas_are_read_as_the_standard_says(formula: str, same: str) -> None:
    one, two = statement(f"(not (= {formula} {same}))", declare="x;y"), statement(f"(= {formula} {same})", declare="x;y")

    assert {ask_z3(one, budget=10**6).answer, ask_cvc5(one, budget=10**5).answer} == {Answer.UNSAT}
    assert not accepted(two, [])
    check(one, certify(one))


@pytest.mark.parametrize(
    "formula",
    [
        "(+ b 1)",
        "(= (+ b 1) 1)",
        "(= b 1)",
        "(= (f b) 1)",
        "(f 1)",
        "(and x)",
        "(not x)",
        "(ite x 1 2)",
        "(= (ite b 1 b) 1)",
        "(= (f 1 2) 1)",
        "(= (f) 1)",
        "f",
        "(= f 1)",
        "(forall ((i Bool)) i)",
        "(forall ((i Bool)) (< i 1))",
        "(forall ((i Real)) (< i 1))",
        "(forall ((i Int)) i)",
        "(forall () (= 1 1))",
        "(= 1)",
        "(and)",
        "()",
        "(! (= x 1) :pattern (x))",
        "(xor b b)",
        "(= x y)",
        "((f 1) 2)",
        "(let ((z x)) z)",
        "(= (+ x) 1)",
        "(not b b)",
        "(let (x) b)",
        "(let ((z)) b)",
        "(let ((z x x)) b)",
        "(let z b)",
        "(let ((z x)) b b)",
        "(forall ((i)) b)",
        "(forall i b)",
        "(ite b b)",
        "(ite b b b b)",
        "(div x 2 2)",
        "(mod x)",
        "x",
        "(+ x 1)",
    ],
)
def test_what_has_no_sort_is_refused(formula: str) -> None:
    assert unreadable(statement(formula, declare="x;b () Bool;f (Int) Int"))


# Commands.


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x(check-sat)",
        "()(check-sat)",
        "(assert)(check-sat)",
        "(assert (= 1 2))(check-sat)",
        "(assert true)(check-sat)",
        "(assert (! (= 1 2) :named a) (! (= 1 2) :named b))(check-sat)",
        "(assert (! (= 1 2) :named a :named b))(check-sat)",
        "(assert (! (= 1 2) :named (a)))(check-sat)",
        "(assert (! 1 :named a))(check-sat)",
        "(declare-fun x Int)(check-sat)",
        "(declare-fun x () Int Int)(check-sat)",
        "(declare-fun x Int Int)(check-sat)",
        "(declare-fun (x) () Int)(check-sat)",
        "(declare-fun x () Real)(check-sat)",
        "(declare-fun x () (Array Int Int))(check-sat)",
        "(declare-fun f (Bool) Int)(check-sat)",
        "(declare-fun f ((Int)) Int)(check-sat)",
        "((check-sat))",
        "(assume (! (= 1 2) :named a))(check-sat)",
        "(check-sat)(check-sat)",
        statement("(= 1 2)") + "(check-sat)",
        statement("(= 1 2)") + "(assert (! (= 1 1) :named late))",
        statement("(= 1 2)") + ")",
        statement("(= 1 2)") + "(",
        statement("(= 1 2)").replace("(check-sat)", "(push 1)(check-sat)"),
        statement("(= 1 2)").replace("(check-sat)", "(pop 1)(check-sat)"),
        statement("(= 1 2)").replace("(check-sat)", "(reset-assertions)(check-sat)"),
        statement("(= 1 2)").replace("(check-sat)", "(define-fun x () Int 1)(check-sat)"),
        statement("(= 1 2)").replace("(check-sat)", "(declare-const x Int)(check-sat)"),
        statement("(= 1 2)").replace("(check-sat)", "(check-sat-assuming (a))"),
        statement("(= 1 2)").replace("(check-sat)", ""),
        statement("(= 1 2)").replace("ALL", "QF_BV"),
        statement("(= 1 2)").replace("true", "false"),
        statement("(= 1 2)").replace(":produce-unsat-cores", ":global-declarations"),
        statement("(= 1 2)").replace("(! (= 1 2) :named |a 0|)", "(= 1 2)"),
        statement("(= 1 2)").replace(":named", ":pattern"),
        statement("(= 1 2)").replace("(check-sat)", "check-sat"),
        statement("(= 1 2)").replace("|a 0|", "|a 0"),
        statement("(= 1 2)").replace("(= 1 2)", "(= 1\u00a02)"),
    ],
)
def test_texts_with_other_commands_are_refused(text: str) -> None:
    assert unreadable(text)


def test_a_comment_says_nothing() -> None:
    text = "; (assert (! (= 1 2) :named no))\n" + statement("(= x 1)", declare="x") + "; (check-sat)"

    assert list(Reader(text).assertions) == ["a 0"]
    quoted = statement("(= x 1)", declare="x").replace("x ()", "|x;y| ()").replace("= x", "= |x;y|")
    assert "x;y" in Reader(quoted).declared


# Certificates.

ODD = statement("(= (* 2 x) 1)", declare="x")
TWO = statement("(<= x 0)", "(>= x 1)", declare="x")


def test_a_contradiction_of_the_text_alone_needs_no_step() -> None:
    check(ODD, [])
    assert "or follow one" in refused(ODD, [0])


@pytest.mark.parametrize(
    "certificate",
    [
        None,
        {},
        {"steps": []},
        "",
        [[]],
        [None],
        [True],
        [0.0],
        ["0"],
        [[1.0, 0]],
        [[True, 0]],
        [[1, True]],
        [[1, -1]],
        [[1, 10**30]],
        [[10**30]],
        [[1, 0, 1]],
        [[[0.0]]],
        [[[True]]],
        [[["0"]]],
        [[[-(10**30)]]],
        [["cut"]],
        [["cut", [0.5]]],
        [["cut", [True]]],
        [["cut", [0, [1]]]],
        [["cut", [0, [1, -1]]]],
        [["cut", [0, [True, 0]]]],
        [["magic", 0]],
        [["instance", 0, [0]]],
        [["witness", 0]],
        [["choice", 0]],
        [["quotient", 0]],
        [["trichotomy", 0]],
        [["congruence", 0, 0]],
        [["congruence", 0, -1]],
        [["product", [0], [0], [0]]],
        [{"rule": "cut"}],
        [[[0], [0]]],
    ],
)
def test_what_is_no_certificate_is_refused(certificate: Any) -> None:
    text = statement("(or (= x 0) (<= x 1))", declare="x")

    assert refused(text, certificate)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[1.0]", "[1e3]", "[NaN]", "[" * 100_000, "[" + "9" * 5000 + "]", "[01]", ""])
def test_strange_json_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parsed(text)


def test_a_sum_needs_positive_multipliers_of_inequalities_that_hold() -> None:
    proof = known(TWO)
    (low,) = [number for number, each in enumerate(proof.known) if each.op == "le"]

    # The two assertions are one atom and its negation: a contradiction that needs no step.
    check(TWO, [])
    apart = statement("(<= x 0)", "(>= y 1)", declare="x;y")
    names = [number for number, each in enumerate(known(apart).known) if each.op == "le"]
    for first in (-1, 1):
        for second in (-1, 1):
            assert refused(apart, [[first, names[0], second, names[1]]])
    assert low == 1


def test_an_equality_that_fails_has_no_sum() -> None:
    text = statement("(not (= x 0))", "(= x 1)", declare="x")
    names = [number for number, each in enumerate(known(text).known) if each.op == "eq"]

    assert len(names) == 2
    assert "not an equality" in refused(text, [[1, names[0], -1, names[1]]])


def test_a_case_leaves_nothing_behind_but_that_it_cannot_be() -> None:
    text = statement("(or (= x 0) (= y 0))", "(=> (= x 0) (= 1 2))", declare="x;y")
    assert satisfiable(text)
    names = {str(each.args[0].args[1][0][1][0].args[0]): n for n, each in enumerate(known(text).known) if each.op == "eq"}

    # That x = 0 is impossible is learned; what was assumed in the case (that it holds) is not.
    inner: list[Any] = [[names["x"]]]
    assert refused(text, [inner, names["x"]])
    assert refused(text, [[[names["y"]]]])
    assert refused(text, [[[-1 - names["y"]]]])


def test_an_open_case_is_no_case() -> None:
    text = statement("(or (= x 0) (= y 0))", declare="x;y")
    names = range(len(known(text).known))

    assert all("not closed" in refused(text, [[[n], m]]) or refused(text, [[[n], m]]) for n in names for m in names)


def test_congruence_is_of_one_function() -> None:
    text = statement("(= (f x) 1)", "(= (g x) 2)", "(= (h x x) 3)", declare="x;f (Int) Int;g (Int) Int;h (Int Int) Int")
    proof = known(text)
    apps = [number for number, each in enumerate(proof.known) if each.op == "app" and len(each.args) > 1]

    assert len(apps) == 3
    for one in apps:
        for two in apps:
            if one != two:
                assert "two different functions" in refused(text, [["congruence", one, two]])


def test_a_predicate_is_no_term() -> None:
    text = statement("(p x)", "(forall ((i Int)) (< (f i) 0))", declare="x;p (Int) Bool;f (Int) Int")
    proof = known(text)
    predicate = next(number for number, each in enumerate(proof.known) if each.op == "holds")
    formula = next(number for number, each in enumerate(proof.known) if each.op == "all")

    assert "is holds" in refused(text, [["instance", formula, [0, [1, predicate]]]])
    assert "is all" in refused(text, [["cut", [0, [1, formula]]]])


def test_a_product_says_nothing_of_negative_factors() -> None:
    text = statement("(< (* x y) 0)", "(< x 0)", "(> y 0)", declare="x;y")
    assert satisfiable(text)
    proof = known(text)
    names = [number for number, each in enumerate(proof.known) if each.op == "app"]
    lemmas = [["product", [0, [s, one]], [0, [t, two]]] for one in names for two in names for s in (1, -1) for t in (1, -1)]

    for lemma in lemmas:
        after = known(text, lemma)
        assert not any(accepted(text, [lemma, n]) for n, each in enumerate(after.known) if each.op in ("le", "and"))


ORDERED = statement("(> x 5)", "(< x (+ y 1))", "(< y 5)", declare="x;y")


@pytest.mark.parametrize(
    "odd",
    [
        ["cut", [0.5]],
        ["cut", []],
        ["cut", 0],
        ["cut", [True]],
        ["cut", [0, 1]],
        ["cut", [0, []]],
        ["cut", [0, [1]]],
        ["cut", [0, [0.0, 0]]],
        ["cut", [0, [True, 0]]],
        ["cut", [0], [0]],
        ["product", [0]],
        ["magic"],
        [[0.0]],
        [],
        None,
        1.0,
        True,
    ],
)
def test_an_odd_step_spoils_a_certificate_that_is_good_without_it(odd: Any) -> None:
    steps = certify(ORDERED)
    check(ORDERED, [["cut", [0]], *steps])

    assert refused(ORDERED, [odd, *steps])


def test_steps_after_a_contradiction_are_refused() -> None:
    steps = certify(ORDERED)

    assert refused(ORDERED, [*steps, ["cut", [0]]]) == "steps follow a contradiction"


def test_what_has_no_value_has_no_consequence() -> None:
    # If a node without a value counted as false, both disjuncts would.
    text = statement("(or (= x 0) (= y 0))", declare="x;y")
    one, two = (number for number, each in enumerate(known(text).known) if each.op == "eq")

    assert "no value" in refused(text, [one, two])
    assert "no value" in refused(text, [two, one])


def test_a_negative_multiple_of_an_inequality_is_refused() -> None:
    # x <= 0, less x <= 5, would be 5 <= 0.
    text = statement("(<= x 0)", "(<= x 5)", declare="x")
    numbers = [number for number, each in enumerate(known(text).known) if each.op == "le"]

    assert satisfiable(text)
    for one in numbers:
        for two in numbers:
            assert refused(text, [[1, one, -1, two]]) and refused(text, [[-1, one, 1, two]]) and refused(text, [[0, one, -1, two]])


def test_an_atom_without_a_value_is_in_no_sum() -> None:
    text = statement("(or (<= x 0) (= y 0))", "(>= x 1)", declare="x;y")
    numbers = [number for number, each in enumerate(known(text).known) if each.op == "eq"]

    assert satisfiable(text)
    assert all("no value" in refused(text, [[m, number]]) for number in numbers for m in (-1, 1))


# Exhaustion.


def doubled(times: int, start: str, step: str) -> str:
    return "(let ((v0 " + start + "))" + "".join(f"(let ((v{i + 1} {step.format(f'v{i}')}))" for i in range(times))


@pytest.mark.parametrize(
    "text",
    [
        statement("(= x " + "(+ 1 " * 5000 + "x" + ")" * 5000 + ")", declare="x"),
        statement(doubled(60, "9", "(* {0} {0})") + "(= v60 x)" + ")" * 61, declare="x"),
        statement(doubled(40, "(+ x y z 1)", "(* {0} {0})") + "(= v40 0)" + ")" * 41, declare="x;y;z"),
        statement(doubled(200, "(= x 0)", "(and (not {0}) (or {0} (= x 1)))") + "v200" + ")" * 201, declare="x"),
        statement("(= x " + "9" * 3000 + ")", declare="x"),
        "(" * 200_000,
        statement("false") + " " * 5_000_000,
    ],
)
def test_what_would_never_end_is_refused(text: str) -> None:
    assert refused(text, [])


def test_certificates_nested_too_deeply_are_refused() -> None:
    text = statement("(or (= x 0) (= x 1))", declare="x")
    equality = next(number for number, each in enumerate(known(text).known) if each.op == "eq")
    nested: Any = [equality]
    for _ in range(10_000):
        nested = [[equality], nested]

    assert "nested too deeply" in refused(text, [nested])


def test_a_term_that_explodes_is_refused() -> None:
    text = statement("(= (f x) 0)", declare="x;f (Int) Int")
    proof = known(text)
    names = [number for number, each in enumerate(proof.known) if each.op == "app"]
    huge = [0, *[[1, *[names[0]] * (i + 1)] for i in range(3000)]]

    assert refused(text, [["product", huge, huge]])


def test_the_certificate_is_about_the_text_as_it_stands() -> None:
    text = statement("(> x 5)", "(< x (+ y 1))", "(< y 5)", declare="x;y")
    steps = certify(text)
    check(text, json.loads(json.dumps(steps)))

    assert refused(text.replace("(> x 5)", "(> x 3)"), steps)
    assert refused(text.replace("(< y 5)", "(< y 7)"), steps)


def test_numbers_are_integers_of_any_size_up_to_the_limit() -> None:
    text = statement(f"(> x {2**200})", f"(< x {2**200})", declare="x")

    check(text, certify(text))
    assert number(2**4000).args[0] == 2**4000
    with pytest.raises(Refused):
        number(2**4096)
