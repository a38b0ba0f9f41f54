"""The Coq proposition says what the SMT-LIB text says, and a text that is not wholly understood is refused."""

from __future__ import annotations

import pytest
import z3

from proofs.checker import everything
from proofs.coq.printing import comment, identifiers
from proofs.coq.reader import Unread, read
from proofs.coq.script import identifier, proposition
from proofs.evidence.cli import theorems
from tests.coq.tellings import CoqText, Drawn, z3_value
from tests.kernel.statements import statement


@pytest.fixture(scope="module")
def whole() -> dict[str, str]:
    return theorems(everything())


def disagreements(smt: str, seeds: range) -> list[tuple[int, int]]:
    """Where an assertion has another value in Z3's reading than its hypothesis has in the Coq text: seed and place."""
    text = read(smt)
    coq = CoqText(proposition(text))
    unnamed = smt.replace("(set-option :produce-unsat-cores true)", "")
    assertions = list(z3.parse_smt2_string(unnamed, ctx=z3.Context()))
    assert len(assertions) == len(coq.hypotheses) == smt.count("(assert ")
    names = identifiers(text.symbols)
    return [
        (seed, place)
        for seed in seeds
        for place, (hypothesis, assertion) in enumerate(zip(coq.hypotheses, assertions, strict=True))
        if coq.value(hypothesis, Drawn(seed=seed), {}) is not z3_value(assertion, Drawn(seed=seed), names)
    ]


SAMPLE = (
    "counting/an-injection-into-its-own-range-is-onto",
    "sorting/*",
    "store/merge-claims-only-written-rows",
    "carry/common_prefix_len-answers-every-input",
    "append/planned-keys-are-new",
    "order/verify_batch_order-answers-every-input",
    "key/canonical-batches-alike-share-a-key",
    "gate/a-numeral-gives-the-number-it-denotes",
    "gate/walking-finds-the-leading-white-space.step",
    "system/no-foreign-rows",
)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_proposition_and_z3_agree_on_drawn_meanings(whole: dict[str, str], name: str) -> None:
    found = [text for each, text in whole.items() if each == name or (name.endswith("*") and each.startswith(name[:-1]))]

    assert found
    assert [disagreements(text, range(4)) for text in found] == [[] for _ in found]


@pytest.mark.exhaustive
def test_every_proposition_and_z3_agree_on_drawn_meanings(whole: dict[str, str]) -> None:
    assert {name: wrong for name, text in whole.items() if (wrong := disagreements(text, range(2)))} == {}


@pytest.mark.parametrize(
    "formula",
    [
        "(= (div (- x 7) 3) (mod y 2))",
        "(let ((a x) (b y)) (let ((a b) (b a)) (< a (- b))))",
        "(forall ((x Int)) (exists ((y Int) (z Int)) (and (< x y) (=> (>= z y) (distinct x y z)))))",
        "(< (ite (exists ((y Int)) (= y (* 2 x))) x (- x)) (+ x y 1))",
        "(ite (distinct (< x y) (> y 0)) (or (= x y) (<= x 0) (not true)) (= (< x 0) false))",
        "(forall ((y Int)) (let ((a (+ x y))) (forall ((x Int)) (or (< a x) (= x y)))))",
    ],
)
def test_each_operator_means_what_it_means_to_z3(formula: str) -> None:
    assert disagreements(statement(formula, declare="x;y"), range(60)) == []


def test_the_two_evaluators_can_disagree() -> None:
    text = statement("(< x y)", declare="x;y")
    wrong = CoqText(proposition(read(text)).replace("(x' < y')", "(x' <= y')"))
    right = CoqText(proposition(read(text)))

    values = [[each.value(each.hypotheses[0], Drawn(seed=seed), {}) for seed in range(60)] for each in (wrong, right)]

    assert values[0] != values[1]


@pytest.mark.parametrize(
    "text",
    [
        statement("(< x y)", declare="x"),
        statement("(< x 1)", declare="x").replace("(check-sat)", "(assert (< x 0))\n(check-sat)"),
        statement("(< x 1)", declare="x").replace("(check-sat)", "(push)\n(check-sat)"),
        statement("(< x 1)", declare="x").replace("(check-sat)\n", ""),
        statement("(< x 1)", declare="x") + "; a comment\n",
        statement("(< x 1)", declare="x").replace("() Int", "() Real"),
        statement("(< x 1.5)", declare="x"),
        statement("(= (div x y) 1)", declare="x;y"),
        statement("(= (mod x 0) 1)", declare="x"),
        statement("(= (abs x) 1)", declare="x"),
        statement("(xor (< x 1) (< x 2))", declare="x"),
        statement("(and (< x 1) x)", declare="x"),
        statement("(= x (< x 1))", declare="x"),
        statement("(< x 01)", declare="x"),
        statement("(let ((a x) (a 1)) (< a 1))", declare="x"),
        statement("(forall ((a Bool)) a)", declare="x"),
        statement("(f x)", declare="x;f (Int) Int"),
        statement("(< (f x x) 1)", declare="x;f (Int) Int"),
        statement("(let ((f x)) (< (f x) 1))", declare="x;f (Int) Int"),
        statement("(< |and| 1)", declare="|and|"),
        statement("(< x 1))", declare="x"),
        statement("(! (< x 1) :named inner)", declare="x"),
    ],
)
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(Unread):
        read(text)


def test_names_that_look_alike_stay_apart() -> None:
    given = identifiers(["a.b", "a b", "a_b", "forall", "andb", "1", ""])

    assert len(set(given.values())) == 7
    assert all(each.endswith("'") for each in given.values())


def test_every_theorem_has_a_coq_name_of_its_own(whole: dict[str, str]) -> None:
    assert len({identifier(name) for name in whole}) == len(whole)


def test_a_name_cannot_end_its_comment() -> None:
    assert comment('a *) Axiom wrong : False. (* "b')[2:-2].count("*)") == 0
    assert '"' not in comment('"')
