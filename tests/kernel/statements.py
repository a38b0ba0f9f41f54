"""Statements for attacks on the kernel: text that is read as it stands, and whether the solvers find it unsatisfiable."""

from __future__ import annotations

from typing import Any

from proofs.kernel import Refused, check
from proofs.kernel.reader import Reader
from proofs.smt import Answer, ask_cvc5, ask_z3


def statement(*assertions: str, declare: str = "") -> str:
    """A text with these declarations (`x y` are integers; `(f Int) Int` is spelled out) and assertions."""
    lines = ["(set-option :produce-unsat-cores true)", "(set-logic ALL)"]
    lines += [f"(declare-fun {each})" if "(" in each else f"(declare-fun {each} () Int)" for each in declare.split(";") if each]
    lines += [f"(assert (! {formula} :named |a {number}|))" for number, formula in enumerate(assertions)]
    return "\n".join([*lines, "(check-sat)"]) + "\n"


def refused(text: str, certificate: Any) -> str:
    """Why the kernel refuses; AssertionError if it accepts."""
    try:
        check(text, certificate)
    except Refused as why:
        return str(why)
    raise AssertionError("the kernel accepts it")


def unreadable(text: str) -> str:
    """Why the kernel's reader refuses the text; AssertionError if it reads it."""
    try:
        Reader(text)
    except Refused as why:
        return str(why)
    raise AssertionError("the kernel reads it")


def accepted(text: str, certificate: Any) -> bool:
    try:
        check(text, certificate)
    except Refused:
        return False
    return True


def unsatisfiable(text: str) -> bool:
    """Both solvers say so."""
    return ask_z3(text, budget=3_000_000).answer is Answer.UNSAT and ask_cvc5(text, budget=300_000).answer is Answer.UNSAT
