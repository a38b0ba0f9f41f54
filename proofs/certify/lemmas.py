"""Lemmas as the producer holds them: by their nodes, with the facts that the kernel draws from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from proofs.kernel.rules import Proof
from proofs.kernel.terms import Node, number, of, parts, product


class NotFound(Exception):
    """No certificate was found, and why."""


@dataclass(frozen=True, eq=False)
class Lemma:
    """A lemma by its nodes: the rule, what it is about, and the facts that the kernel draws from it."""

    rule: str
    about: tuple[Node, ...]
    facts: tuple[Node, ...]


@cache
def draw(rule: str, *about: Node) -> Lemma:
    """The lemma, by the kernel's own rules. Each lemma is made once."""
    proof = Proof()
    encoded = []
    for part in about:
        for unknown in parts(part.op, part.args) if part.op == "poly" else [part]:
            proof.learn(unknown, {})
        encoded.append(told(proof.numbers, part))
    return Lemma(rule, about, tuple(proof.lemma(rule, encoded)))


def told(numbers: dict[Node, int], part: Node) -> Any:
    """The node as certificates tell it."""
    if part.op != "poly":
        return numbers[part]
    return [part.args[0], *[[c, *[numbers[u] for u in monomial]] for c, monomial in part.args[1]]]


def knows(numbers: dict[Node, int], part: Node) -> bool:
    """Whether certificates can tell the node."""
    return all(each in numbers for each in (parts(part.op, part.args) if part.op == "poly" else [part]))


def closed(formulas: Iterable[Node]) -> Iterator[Node]:
    """Every closed node in the formulas, once."""
    seen: set[Node] = set()
    pending = list(formulas)
    while pending:
        part = pending.pop()
        if part in seen:
            continue
        seen.add(part)
        pending.extend(parts(part.op, part.args))
        if not part.loose:
            yield part


def monomial_term(monomial: tuple[Node, ...]) -> Node:
    """The product of the unknowns."""
    term = number(1)
    for unknown in monomial:
        term = product(term, of(unknown))
    return term
