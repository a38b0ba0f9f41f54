"""The rules of a certificate: ground lemmas, each true in every model, then a case tree in which every branch is impossible.

Facts are the assertions, then the lemmas in turn. *Known* nodes (unknowns, atoms, closed `all`s) are numbered in the order in
which the facts show them; lemmas and tree speak of them by number. If `check` returns, no integers, functions and predicates
make all assertions true.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proofs.kernel.reader import Reader, need
from proofs.kernel.terms import (
    FALSE,
    TRUE,
    Node,
    at_most_zero,
    combine,
    either,
    equivalent,
    instance,
    is_zero,
    negate,
    node,
    number,
    of,
    parts,
    product,
)

ATOMS = {"le", "eq", "holds", "all"}
UNKNOWNS = {"app", "ite", "div", "witness"}


def check(text: str, certificate: Any) -> None:
    """Accepts the certificate that the assertions of the text contradict each other, or raises `Refused`."""
    proof = Proof(list(Reader(text).assertions.values()))
    need(isinstance(certificate, dict) and set(certificate) == {"lemmas", "tree"}, "a certificate has lemmas and a tree")
    need(isinstance(certificate["lemmas"], list), "lemmas are a list")
    for lemma in certificate["lemmas"]:
        need(isinstance(lemma, list) and lemma and isinstance(lemma[0], str), "a lemma is a rule and what it is about")
        for fact in proof.lemma(lemma[0], lemma[1:]):
            proof.learn(fact)
    proof.close(certificate["tree"], {})


class Proof:
    """The facts so far and the nodes known from them."""

    def __init__(self, assertions: list[Node]) -> None:
        self.facts: list[Node] = []
        self.known: list[Node] = []
        self.numbers: dict[Node, int] = {}
        for formula in assertions:
            self.learn(formula)

    def learn(self, formula: Node) -> None:
        """Adds a fact, and numbers the closed nodes in it from the inside out."""
        self.facts.append(formula)
        seen: set[Node] = set()
        pending = [(formula, False)]
        while pending:
            part, opened = pending.pop()
            if opened:
                if part.op in ATOMS | UNKNOWNS and not part.loose and part not in self.numbers:
                    self.numbers[part] = len(self.known)
                    self.known.append(part)
            elif part not in seen:
                seen.add(part)
                pending.append((part, True))
                pending.extend((inner, False) for inner in reversed(parts(part.op, part.args)))

    def get(self, index: Any, *ops: str) -> Node:
        """The known node of that number, which must have one of these operators."""
        need(type(index) is int and 0 <= index < len(self.known), f"{index!r} is not the number of a known node")
        found = self.known[index]
        need(found.op in ops, f"node {index} is {found.op}, not {' or '.join(ops)}")
        return found

    def term(self, encoded: Any) -> Node:
        """A closed term: [constant, [coefficient, unknown, ...], ...]."""
        need(isinstance(encoded, list) and encoded and type(encoded[0]) is int, "a term is a constant and monomials")
        whole = number(encoded[0])
        for monomial in encoded[1:]:
            need(isinstance(monomial, list) and len(monomial) > 1, "a monomial is a coefficient and unknowns")
            need(type(monomial[0]) is int, "a coefficient is an integer")
            value = number(monomial[0])
            for index in monomial[1:]:
                value = product(value, of(self.get(index, *UNKNOWNS)))
            whole = combine((1, whole), (1, value))
        return whole

    def lemma(self, rule: str, about: list[Any]) -> Iterator[Node]:
        """The facts of a ground lemma.

        instance F t    if `all x. B` (F) holds, so does B at t
        witness F       if `all x. B` (F) fails, it fails at witness(F): read witness(F) as some value at which B fails, if any
        choice u        u = ite(c, a, b) is a if c, else b
        congruence u v  the same function or predicate, applied to equal terms, gives the same
        quotient u      u = div(t, n) satisfies n*u <= t < n*u + n, which determines it since n > 0
        trichotomy A    an integer (of atom A, t = 0) is 0, or at least 1, or at most -1
        product s t     if s >= 0 and t >= 0 then s*t >= 0
        cut t           t <= 0 or not, which makes an atom of it
        """
        takes = {"congruence": 2, "instance": 2, "product": 2}
        need(
            rule in {"instance", "witness", "choice", "congruence", "quotient", "trichotomy", "product", "cut"}, f"no rule {rule!r}"
        )
        need(len(about) == takes.get(rule, 1), f"{rule} is about {takes.get(rule, 1)}")
        if rule == "instance":
            formula = self.get(about[0], "all")
            yield either(negate(formula), instance(formula, self.term(about[1])))
        elif rule == "witness":
            formula = self.get(about[0], "all")
            yield either(formula, negate(instance(formula, of(node("witness", formula)))))
        elif rule == "choice":
            chosen = self.get(about[0], "ite")
            condition, then, otherwise = chosen.args
            yield either(negate(condition), is_zero(combine((1, of(chosen)), (-1, then))))
            yield either(condition, is_zero(combine((1, of(chosen)), (-1, otherwise))))
        elif rule == "congruence":
            one, two = (self.get(index, "app", "holds") for index in about)
            need((one.op, one.args[0], len(one.args)) == (two.op, two.args[0], len(two.args)), "two different functions")
            differ = [negate(is_zero(combine((1, a), (-1, b)))) for a, b in zip(one.args[1:], two.args[1:], strict=True)]
            same = is_zero(combine((1, of(one)), (-1, of(two)))) if one.op == "app" else equivalent(one, two)
            yield either(*differ, same)
        elif rule == "quotient":
            quotient = self.get(about[0], "div")
            divided, divisor = quotient.args
            rest = combine((1, divided), (-divisor, of(quotient)))
            yield at_most_zero(combine((-1, rest)))
            yield at_most_zero(combine((1, rest), (1, number(1 - divisor))))
        elif rule == "trichotomy":
            zero = self.get(about[0], "eq")
            above = at_most_zero(combine((-1, zero.args[0]), (1, number(1))))
            yield either(zero, above, at_most_zero(combine((1, zero.args[0]), (1, number(1)))))
        elif rule == "cut":
            atom = at_most_zero(self.term(about[0]))
            yield either(atom, negate(atom))
        else:
            one, two = self.term(about[0]), self.term(about[1])
            negative = [at_most_zero(combine((1, t), (1, number(1)))) for t in (one, two)]
            yield either(*negative, at_most_zero(combine((-1, product(one, two)))))

    def close(self, tree: Any, case: dict[Node, bool]) -> None:
        """Accepts the tree if every branch is impossible; `case` says which atoms hold in the present one.

        ["split", A, T, F]       atom A holds (tree T) or not (tree F)
        ["false", K]             fact K is false, whatever the other atoms are
        ["sum", [m, A], ...]     the atoms' inequalities (m > 0) and equalities (any m), times m, add up to a positive number <= 0
        """
        need(isinstance(tree, list) and len(tree) > 1 and isinstance(tree[0], str), "a tree is a split or a leaf")
        if tree[0] == "split":
            need(len(tree) == 4, "a split has an atom and two trees")
            atom = self.get(tree[1], *ATOMS)
            for holds, branch in ((True, tree[2]), (False, tree[3])):
                self.close(branch, {**case, atom: holds})
        elif tree[0] == "false":
            need(len(tree) == 2 and type(tree[1]) is int and 0 <= tree[1] < len(self.facts), f"{tree[1:]!r} is no fact")
            need(truth(self.facts[tree[1]], case) is False, f"fact {tree[1]} is not false in this case")
        else:
            need(tree[0] == "sum", f"no tree {tree[0]!r}")
            total = combine(*[self.weighed(entry, case) for entry in tree[1:]])
            need(not total.args[1] and total.args[0] > 0, "the sum is not a positive number")

    def weighed(self, entry: Any, case: dict[Node, bool]) -> tuple[int, Node]:
        """A multiple of a polynomial that is at most 0 (or is 0) in this case."""
        need(isinstance(entry, list) and len(entry) == 2 and type(entry[0]) is int, "an entry is a multiplier and an atom")
        weight, atom = entry[0], self.get(entry[1], "le", "eq")
        need(atom in case, f"atom {entry[1]} is not settled in this case")
        if atom.op == "eq":
            need(case[atom], f"atom {entry[1]} is not an equality in this case")
            return weight, atom.args[0]
        need(weight > 0, "an inequality needs a positive multiplier")
        return (weight, atom.args[0]) if case[atom] else (weight, combine((-1, atom.args[0]), (1, number(1))))


def truth(formula: Node, case: dict[Node, bool]) -> bool | None:
    """Whether the formula is true or false whatever the atoms are that the case leaves open; None if that depends on them."""
    if formula in (TRUE, FALSE):
        return formula is TRUE
    if formula.op == "not":
        inner = truth(formula.args[0], case)
        return None if inner is None else not inner
    if formula.op == "and":
        values = [truth(part, case) for part in formula.args]
        return False if False in values else None if None in values else True
    return case.get(formula)
