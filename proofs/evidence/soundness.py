"""SOUNDNESS.md: what is proved, how it is checked, and what must be believed; printed from what is there."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from proofs.checker import Catalogue
from proofs.evidence.trusted import GAPS, INFERENCES
from proofs.kernel import reader, rules, terms
from proofs.obligation import Kind

PATH = Path(__file__).resolve().parents[2] / "SOUNDNESS.md"


def text(catalogue: Catalogue, lemmas: Mapping[str, Sequence[str]]) -> str:
    """The page. `lemmas` are, by id, those that each obligation takes for granted."""
    theorems = [o for o in catalogue.obligations if o.kind is Kind.THEOREM]
    lines = ["# What is proved, and what must be believed", ""]
    lines += ["<!-- Printed by `draftproof evidence soundness --write`; change proofs/evidence/trusted.py or the kernel. -->", ""]
    lines += [
        f"{len(theorems)} theorems are proved. Each is an SMT-LIB text that Z3 and cvc5 find unsatisfiable, and has a",
        "certificate: a list of steps that a kernel of three files checks without a solver, on the standard library alone.",
        "`draftproof prove` asks both solvers and checks every certificate; `draftproof evidence verify` needs no solver.",
        "",
        *_counts([o.id for o in theorems]),
        "## What the kernel accepts",
        "",
        *_kernel(),
        "## Rules of inference outside the solvers",
        "",
        *_inferences([o.id for o in theorems], lemmas),
        "## What is not proved",
        "",
    ]
    for gap in GAPS:
        lines += [f"**{gap.number}. {gap.gap}** {gap.mitigation} *Remains:* {gap.residual}", ""]
    return "\n".join(lines).rstrip() + "\n"


def _counts(names: Sequence[str]) -> list[str]:
    modules = Counter(name.split("/", 1)[0] for name in names)
    rows = [f"| {module} | {number} |" for module, number in modules.items()]
    return ["| module | theorems, each with a certificate |", "|---|---|", *rows, ""]


def _kernel() -> list[str]:
    lines = ["A text is read like this, and anything else is refused:", ""]
    lines += [f"> {line}" if line else ">" for line in inspect.cleandoc(reader.__doc__ or "").splitlines()]
    lines += ["", "What is read becomes a normal form:", ""]
    lines += [f"> {line}" if line else ">" for line in inspect.cleandoc(terms.__doc__ or "").splitlines()]
    lines += ["", "A certificate is a list of steps. Each adds a fact that holds in every model of the assertions in which what is"]
    lines += ["assumed holds; the last shows that there is none:", ""]
    lines += ["```", *inspect.cleandoc(rules.Proof.step.__doc__ or "").splitlines()[2:], "```", ""]
    lines += ["Why each may be believed:", ""]
    lines += [f"- **{name}** {why}" for name, why in ARGUMENTS.items()]
    lines += ["", "Lemmas:", "", "```", *inspect.cleandoc(rules.Proof.lemma.__doc__ or "").splitlines()[2:], "```", ""]
    lines += [f"- **{name}** {why}" for name, why in LEMMAS.items()]
    return [*lines, ""]


ARGUMENTS = {
    "consequence": "A conjunction that holds has parts that hold. One that does not hold, and whose other parts hold, has a last "
    "part that does not. A formula that has the value True and False has none in any model.",
    "sum": "In a model where all its inequalities and equalities hold, so does their sum with these multipliers: a positive "
    "number would be at most 0. An inequality t <= 0 that fails is, for integers, 1 - t <= 0.",
    "case": "If assumptions lead to a contradiction, they do not hold together in any model. Nothing that was noted under the "
    "assumptions outlives the case but this.",
    "lemma": "Each is true in every model, once every witness is read as below.",
}
"""For each kind of step, the argument on paper."""

LEMMAS = {
    "instance": "What holds for all integers holds for the integer that a closed term denotes. The term is closed, so nothing in "
    "it is captured; bound variables are numbers, not names.",
    "witness": "Read `witness(F)`, for F = `all x. B`, as some value at which B fails, or as 0 if there is none. F is part of the "
    "term, so terms are built from the inside: no witness can speak of itself, and every witness has one reading.",
    "choice": "The definition of if-then-else, for integers.",
    "congruence": "A function, or a predicate, has one value at equal arguments.",
    "quotient": "Euclidean division by a positive numeral: the standard's `div`. Divisors that are not positive are refused.",
    "trichotomy": "An integer is 0, at least 1, or at most -1.",
    "product": "Two factors that are not negative have a product that is not.",
    "cut": "Excluded middle.",
}


def _inferences(names: Sequence[str], lemmas: Mapping[str, Sequence[str]]) -> list[str]:
    lines: list[str] = []
    for rule in INFERENCES:
        users = sum(rule.uses(name, tuple(lemmas.get(name, ()))) for name in names)
        lines += [f"**{rule.number}. {rule.name}.** {rule.says}", ""]
        lines += [f"*Where:* {rule.where}" + (f" {users} theorems." if users else ""), "", f"*Why:* {rule.argument}", ""]
    return lines
