"""Coq files: for each theorem its proposition, and a proof by the checker in Refutation.v from the certificate's data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from proofs.coq.printing import Proposition, comment, identifiers, type_of
from proofs.coq.reader import Text, read
from proofs.coq.replay import Instance, Replayed, replayed

HEAD = """\
From Coq Require Import ZArith List Bool.
From Draftproof Require Import Refutation Truth.
Import ListNotations.
Open Scope Z_scope.
"""


def proposition(text: Text) -> str:
    """The Coq proposition that no integers, functions and predicates make all assertions of the text true."""
    names = identifiers(text.symbols)
    told = Proposition(names)
    lines = []
    if names:
        binders = " ".join(f"({names[name]} : {type_of(symbol)})" for name, symbol in text.symbols.items())
        lines.append(f"forall {binders},")
    lines += [f"{comment(name)}\n {told.formula(term)} ->" for name, term in text.assertions.items()]
    return "\n ".join([*lines, "False"])


def theorem(name: str, smt: str, steps: Sequence[Any]) -> str:
    """The theorem of this name and its proof. Unread or Unplayed if the text or the certificate is not of a known form."""
    text = read(smt)
    return f"{comment(name)}\n{proved_by(identifier(name), text, replayed(text, smt, steps))}"


def file(theorems: Sequence[str], names: Sequence[str]) -> str:
    """A file with these theorems (of these ids), which ends by printing the axioms that any of them rests on."""
    whole = "I"
    for name in reversed(names):
        whole = f"(conj {identifier(name)} {whole})"
    return "\n".join([HEAD, *theorems, f"Definition all_of_them := {whole}.", "Print Assumptions all_of_them.", ""])


def identifier(name: str) -> str:
    """The Coq identifier of a theorem's id."""
    return re.sub(r"[^A-Za-z0-9]", "_", name.replace("/", "__"))


def proved_by(own: str, text: Text, data: Replayed) -> str:
    """The theorem of this Coq name that the text is refuted, with a proof from the data; Coq sees whether it is one."""
    names = identifiers(text.symbols)
    told = Proposition({**names, **{name: name.removeprefix("|") for name in data.witnesses}})
    listed = ";\n ".join
    lines = [
        f"Section {own}_.",
        "Local Open Scope positive_scope.",
        f"Definition {own}_table : list def := [{listed(data.table)}].",
        f"Definition {own}_facts : list form := [{listed(data.facts)}].",
        f"Definition {own}_proof : proof := {data.tree}.",
        f"End {own}_.",
        f"Theorem {own} : {proposition(text)}.",
        "Proof.",
    ]
    known = [f"H{i}" for i, _ in enumerate(text.assertions, start=1)]
    lines.append(f"  intros {' '.join([*names.values(), *known])}.")
    for i, extra in enumerate(data.extras, start=1):
        body = f"(fun {extra.formula.name} : Z => {told.formula(extra.formula.args[0])})"
        if isinstance(extra, Instance):
            lines.append(f"  pose proof (instance {body} {told.integer(extra.at)}) as E{i}.")
        else:
            lines.append(f"  destruct (witness {body}) as [{extra.constant.name.removeprefix('|')} E{i}].")
        known.append(f"E{i}")
    facts, decides = _conjunction(known), str(data.decides).lower()
    for i, alias in enumerate(data.aliases, start=1):
        left, right = (told.formula(data.atoms[each - 1]) for each in (alias.number, alias.like))
        lines.append(f"  assert (A{i} : {left} <-> {right if alias.positive else f'~ {right}'}) by (clear; same_formula).")
    aliases = "; ".join(f"({a.number}%positive, {'true' if a.positive else 'false'}, {a.like}%positive)" for a in data.aliases)
    lines += [
        f"  apply (refuted {_meaning(told, data)} {decides} [{aliases}] {own}_table {own}_facts {own}_proof).",
        "  - intros _. exact truth_is_right." if data.decides else "  - discriminate.",
        f"  - exact_no_check {_conjunction([f'A{i}' for i, _ in enumerate(data.aliases, start=1)])}.",
        f"  - exact_no_check (fun (_ : positive -> Z) (_ : positive -> Prop) => {facts}).",
        "  - vm_cast_no_check (@eq_refl bool true).",
        "Qed.",
    ]
    return "\n".join(lines) + "\n"


def _conjunction(proofs: Sequence[str]) -> str:
    return "".join(f"(conj {each} " for each in proofs) + "I" + ")" * len(proofs)


def _meaning(told: Proposition, data: Replayed) -> str:
    kinds = [(sort, arity) for sort in ("Int", "Bool") for arity in (0, 1, 2)]
    functions = []
    for sort, arity in kinds:
        nothing = "fun _ => " * arity + ("0" if sort == "Int" else "false")
        functions.append(_choice([told.names[name] for name in data.symbols.get((sort, arity), ())], nothing))
    decide = "truth" if data.decides else "(fun _ => false)"
    return f"(Meaning {' '.join(functions)} {_choice([told.formula(each) for each in data.atoms], 'True')} {decide})"


def _choice(values: Sequence[str], otherwise: str) -> str:
    cases = "".join(f"| {i}%positive => {value} " for i, value in enumerate(values, start=1))
    return f"(fun i => match i with {cases}| _ => {otherwise} end)" if values else f"(fun _ => {otherwise})"
