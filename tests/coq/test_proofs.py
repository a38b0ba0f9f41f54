"""Coq accepts the certificates, and refuses what it must: wrong ones, other statements, further axioms."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from proofs.certify import certify
from proofs.coq import running, script
from proofs.coq.reader import read
from proofs.coq.replay import Replayed, Unplayed, replayed
from proofs.coq.running import CHOICE, CLASSIC, Failed, Theorem, checked_axioms, printed_axioms
from proofs.coq.script import HEAD, proved_by
from proofs.evidence.coq import coq_command
from proofs.evidence.trusted import INFERENCES, Inference
from proofs.exits import Exit
from tests.kernel.statements import statement

needs_coq = pytest.mark.skipif(not running.available(), reason="coqc and coqchk are not installed")

BOUNDS = statement("(<= 0 x)", "(< x y)", "(<= y 0)", declare="x;y")
"""Any two of these assertions have a model."""
EVERYTHING = {
    "instance": statement("(forall ((i Int)) (=> (<= 0 i) (< (f i) 3)))", "(>= (f (+ x 1)) 3)", "(> x 0)", declare="x;f (Int) Int"),
    "witness": statement("(not (forall ((i Int)) (<= (f i) 3)))", "(forall ((i Int)) (<= (f i) 2))", declare="f (Int) Int"),
    "exists": statement("(exists ((i Int)) (> (f i) 3))", "(forall ((i Int)) (<= (f i) 3))", declare="f (Int) Int"),
    "nested": statement(
        "(forall ((i Int)) (=> (< (g i) 0) (exists ((j Int)) (< (f i j) 0))))",
        "(< (g x) 0)",
        "(forall ((j Int)) (>= (f x j) 0))",
        declare="x;f (Int Int) Int;g (Int) Int",
    ),
    "choice": statement("(< (ite (< x y) y x) x)", declare="x;y"),
    "truth": statement("(< (ite (forall ((i Int)) (p i)) 1 0) 1)", "(forall ((i Int)) (p i))", declare="p (Int) Bool"),
    "congruence": statement("(= x (+ y 0))", "(distinct (f x) (f y))", declare="x;y;f (Int) Int"),
    "predicate": statement("(= x y)", "(p x)", "(not (p y))", declare="x;y;p (Int) Bool"),
    "remainder": statement("(= (mod x 3) 3)", declare="x"),
    "trichotomy": statement("(distinct x y)", "(<= x y)", "(>= x y)", declare="x;y"),
    "product": statement("(>= x 0)", "(>= y 0)", "(< (* x y) 0)", declare="x;y"),
    "equivalence": statement("(= (< x 0) (< y 0))", "(< x 0)", "(> y 0)", declare="x;y"),
    "alike": statement(
        "(exists ((i Int)) (and (p i) (< i x)))", "(forall ((i Int)) (=> (p i) (not (< i x))))", declare="x;p (Int) Bool"
    ),
    "constant": statement("(< (+ x 1) x)", declare="x"),
    "gaps": statement("(= (* 2 x) (+ (* 4 y) 1))", declare="x;y"),
}
"""A statement for each thing that a certificate can say."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled library."""
    folder = tmp_path_factory.mktemp("coq")
    assert running.prove([], folder, recheck=False).failed == {}
    return folder


NOT_A_PROOF = r"expected to have type|atoms := .* vz vf attempt_facts"
"""What Coq says where a proof is of something else (the end of it, where it is long)."""


def compiled(folder: Path, told: str, name: str = "attempt") -> frozenset[str]:
    """The axioms of a file with these theorems, the last of this name. Failed if Coq refuses it."""
    (folder / "Attempt.v").write_text(f"{HEAD}\n{told}\nPrint Assumptions {name}.\n")
    return printed_axioms(running._run("coqc", "-q", "-w", "none", "-Q", ".", "Draftproof", "Attempt.v", cwd=folder))


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("kind", EVERYTHING)
def test_coq_accepts_each_kind_of_step(library: Path, kind: str) -> None:
    text = EVERYTHING[kind]
    data = replayed(read(text), text, certify(text))

    assert compiled(library, proved_by("attempt", read(text), data)) == ({CLASSIC, CHOICE} if kind == "truth" else {CLASSIC})


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_a_statement_without_one_of_its_hypotheses_is_refused(library: Path, left_out: int) -> None:
    data = replayed(read(BOUNDS), BOUNDS, certify(BOUNDS))
    kept = [each for place, each in enumerate(["(<= 0 x)", "(< x y)", "(<= y 0)"]) if place != left_out]

    with pytest.raises(Failed, match=NOT_A_PROOF):
        compiled(library, proved_by("attempt", read(statement(*kept, declare="x;y")), data))


@needs_coq
@pytest.mark.slow
def test_a_weaker_hypothesis_is_refused(library: Path) -> None:
    data = replayed(read(BOUNDS), BOUNDS, certify(BOUNDS))
    weaker = statement("(<= 0 x)", "(<= x y)", "(<= y 0)", declare="x;y")

    with pytest.raises(Failed, match=NOT_A_PROOF):
        compiled(library, proved_by("attempt", read(weaker), data))


def wrong(data: Replayed) -> dict[str, Replayed]:
    """The data with something in it that is not so."""
    first = data.table.index(next(each for each in data.table if each.startswith("DLe")))
    table = list(data.table)
    table[first] = re.sub(r"\((-?\d+)%Z", lambda found: f"({int(found[1]) + 1}%Z", table[first], count=1)
    return {
        "no steps": dataclasses.replace(data, tree="Stuck"),
        "another sum": dataclasses.replace(data, tree=re.sub(r"\(1%Z", "(2%Z", data.tree, count=1)),
        "a negative multiplier": dataclasses.replace(data, tree=re.sub(r"\(1%Z", "(-1%Z", data.tree, count=1)),
        "a fact less": dataclasses.replace(data, facts=data.facts[:-1]),
        "a fact that is not given": dataclasses.replace(data, facts=[*data.facts[:-1], "Fls"]),
        "another table": dataclasses.replace(data, table=table),
        "a table that goes round": dataclasses.replace(data, table=[*data.table, f"DAnd [(false, {len(data.table) + 1})]"]),
    }


@needs_coq
@pytest.mark.slow
def test_the_data_as_it_is_is_accepted(library: Path) -> None:
    data = replayed(read(BOUNDS), BOUNDS, certify(BOUNDS))

    assert compiled(library, proved_by("attempt", read(BOUNDS), data)) == {CLASSIC}
    assert "Sum [" in data.tree


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize("how", wrong(replayed(read(BOUNDS), BOUNDS, certify(BOUNDS))))
def test_wrong_data_is_refused(library: Path, how: str) -> None:
    data = wrong(replayed(read(BOUNDS), BOUNDS, certify(BOUNDS)))[how]

    with pytest.raises(Failed, match=NOT_A_PROOF):
        compiled(library, proved_by("attempt", read(BOUNDS), data))


@needs_coq
@pytest.mark.slow
def test_the_certificate_of_another_statement_is_refused_and_named(tmp_path: Path) -> None:
    one, two = EVERYTHING["choice"], EVERYTHING["congruence"]
    told = [
        Theorem(name="it/own", statement=one, steps=certify(one)),
        Theorem(name="it/swapped", statement=one, steps=certify(two)),
        Theorem(name="it/cut", statement=two, steps=certify(two)[:-1]),
    ]

    found = running.prove(told, tmp_path / "new", recheck=False)

    assert set(found.axioms) == {"it/own"}
    assert set(found.failed) == {"it/swapped", "it/cut"}


@needs_coq
@pytest.mark.slow
def test_where_a_file_does_not_compile_the_theorem_at_fault_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = EVERYTHING["choice"]

    def theorem(name: str, smt: str, steps: Any) -> str:
        told = script.theorem(name, smt, steps)
        return told.replace(" := Lemma_", " := Stuck. Definition it__bad_unused : proof := Lemma_") if name == "it/bad" else told

    monkeypatch.setattr(running, "theorem", theorem)
    names = ["it/good", "it/bad", "it/fine"]

    found = running.prove([Theorem(name=each, statement=text, steps=certify(text)) for each in names], tmp_path, recheck=False)

    assert set(found.axioms) == {"it/good", "it/fine"}
    assert set(found.failed) == {"it/bad"}


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize(
    "told",
    [
        "Theorem attempt : False. Admitted.",
        "Axiom surely : False. Theorem attempt : False. Proof. exact surely. Qed.",
        "Parameter surely : False. Theorem attempt : False. Proof. exact surely. Qed.",
    ],
)
def test_what_is_not_proved_shows_among_the_axioms(library: Path, told: str) -> None:
    assert not compiled(library, told) <= running.ALLOWED


@needs_coq
@pytest.mark.exhaustive
def test_coqchk_finds_an_axiom_that_is_not_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theory = tmp_path / "theory"
    shutil.copytree(running.THEORY, theory)
    with (theory / "Truth.v").open("a") as library:
        library.write("Axiom surely : False.\n")
    monkeypatch.setattr(running, "THEORY", theory)

    found = running.prove([], tmp_path / "new")

    assert found.problems == ["coqchk: it rests on Draftproof.Truth.surely"]


@needs_coq
@pytest.mark.exhaustive
def test_the_library_rests_on_two_axioms(tmp_path: Path) -> None:
    found = running.prove([], tmp_path / "new")

    assert (found.problems, found.rechecked) == ([], running.ALLOWED)


def test_axioms_are_read_from_what_coq_prints() -> None:
    assert printed_axioms("Closed under the global context\n") == frozenset()
    assert printed_axioms("Axioms:\nClassical_Prop.classic : forall P : Prop, P \\/ ~ P\n") == {CLASSIC}
    told = "Axioms:\nattempt\n  : forall x : Z,\n    x = 0\nClassicalEpsilon.constructive_indefinite_description\n  : forall A\n"
    assert printed_axioms(told) == {"attempt", CHOICE}


@pytest.mark.parametrize("told", ["", "Axioms:\n", "Warning: something\nClosed under the global context\n"])
def test_what_coq_prints_otherwise_is_no_answer(told: str) -> None:
    with pytest.raises(Failed):
        printed_axioms(told)


SUMMARY = """
CONTEXT SUMMARY
===============

* Theory: Set is predicative

* Axioms:
    Coq.Logic.Classical_Prop.classic

* Constants/Inductives relying on type-in-type: <none>

* Constants/Inductives relying on unsafe (co)fixpoints: <none>

* Inductives whose positivity is assumed: <none>
"""


def test_axioms_are_read_from_what_coqchk_prints() -> None:
    assert checked_axioms(SUMMARY) == {CLASSIC}
    assert checked_axioms(SUMMARY.replace("\n    Coq.Logic.Classical_Prop.classic", " <none>")) == frozenset()


@pytest.mark.parametrize("what", ["type-in-type", "unsafe (co)fixpoints", "positivity is assumed"])
def test_a_check_that_is_switched_off_is_no_success(what: str) -> None:
    with pytest.raises(Failed, match="it_is_off"):
        checked_axioms(SUMMARY.replace(f"{what}: <none>", f"{what}: it_is_off"))


def test_a_summary_that_is_none_is_no_success() -> None:
    with pytest.raises(Failed):
        checked_axioms("")


def test_a_certificate_that_does_not_close_is_refused() -> None:
    with pytest.raises(Unplayed, match="without a contradiction"):
        replayed(read(BOUNDS), BOUNDS, [])


def test_two_readers_must_read_the_same() -> None:
    with pytest.raises(Unplayed, match="differently"):
        replayed(read(BOUNDS.replace("(< x y)", "(<= x y)")), BOUNDS, certify(BOUNDS))


def test_the_library_has_no_axiom_of_its_own() -> None:
    told = re.compile(r"\b(Axiom|Axioms|Parameter|Parameters|Conjecture|Admitted|admit|Hypothesis|Variable)\b")
    for name in running.LIBRARY:
        text = (running.THEORY / f"{name}.v").read_text()
        outside = re.sub(r"^Section (\w+)\..*?^End \1\.", "", text, flags=re.MULTILINE | re.DOTALL)
        assert told.findall(re.sub(r"\(\*.*?\*\)", "", outside, flags=re.DOTALL)) == []


@pytest.mark.parametrize("rule", INFERENCES, ids=lambda rule: rule.number)
def test_each_rule_of_inference_has_a_theorem_of_its_number(rule: Inference) -> None:
    assert f"Theorem {rule.number}_" in (running.THEORY / "Induction.v").read_text()


def test_without_coq_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    done = CliRunner().invoke(coq_command, [], standalone_mode=False)

    assert done.return_value is Exit.UNDECIDED
    assert done.output.startswith("skipped: coqc and coqchk are not on the path")


@needs_coq
def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").touch()

    done = CliRunner().invoke(coq_command, ["--out", str(tmp_path)])

    assert done.exit_code == Exit.USAGE
    assert (tmp_path / "theirs").exists()


@needs_coq
@pytest.mark.exhaustive
def test_the_command_names_what_it_proves(tmp_path: Path) -> None:
    told = ["--only", "sorting/*", "--no-recheck", "--json", "--out", str(tmp_path / "new")]

    done = CliRunner().invoke(coq_command, told, standalone_mode=False)

    found = json.loads(done.output)
    assert done.return_value is Exit.OK
    assert (found["theorems"], len(found["proved"]), found["failed"], found["problems"]) == (4, 4, {}, [])
