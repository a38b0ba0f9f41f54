"""Writes a contradiction that `search` has found as the steps of a certificate, without what turns out not to be needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proofs.certify.instances import core
from proofs.certify.lemmas import Lemma, NotFound, knows, told
from proofs.certify.search import Clause, Literal, Search, multipliers
from proofs.kernel.rules import Case, Proof, truth
from proofs.kernel.terms import Node, Refused, both, negate


def written(assertions: Sequence[Node], lemmas: Sequence[Lemma], seed: int) -> list[Any]:
    """The steps of a certificate. NotFound if the search gives up."""
    facts = [(fact, None) for fact in core(assertions, lemmas)]
    search = Search([*facts, *[(fact, lemma) for lemma in lemmas for fact in lemma.facts]], seed)
    search.run()
    clauses = list(search.needed())
    used = {each.lemma for clause in clauses for each in (clause, *clause.hints) if each.lemma is not None}
    added = [lemma for lemma in search.lemmas.values() if lemma in used or lemma.rule == "cut"]
    try:
        return _Writer(assertions, [*[lemma for lemma in lemmas if lemma in used], *added]).steps(clauses)
    except KeyError:
        return _Writer(assertions, [*lemmas, *search.lemmas.values()]).steps(clauses)


class _Writer:
    def __init__(self, assertions: Sequence[Node], lemmas: Sequence[Lemma]) -> None:
        self.proof = Proof()
        self.case: Case = {}
        self.written: list[Any] = []
        self.done = any(self.proof.learn(formula, self.case) for formula in assertions)
        pending = list(lemmas)
        while pending and not self.done:
            ready = next((lemma for lemma in pending if all(knows(self.proof.numbers, part) for part in lemma.about)), None)
            if ready is None:
                raise KeyError(f"a lemma speaks of nodes that no fact shows: {pending[0].rule}")
            pending.remove(ready)
            self._take([ready.rule, *[told(self.proof.numbers, part) for part in ready.about]])

    def _take(self, step: Any) -> None:
        if not self.done:
            self.done = self.proof.step(step, self.case)
            self.written.append(step)

    def steps(self, clauses: Sequence[Clause]) -> list[Any]:
        """All steps."""
        for clause in clauses:
            if not self.done:
                self._derive(clause)
        if not self.done:
            raise NotFound("the steps written down end without a contradiction")
        return self.written

    def _derive(self, clause: Clause) -> None:
        if clause.fact or clause.gate is not None:
            return
        if clause.consequence:
            if clause.literals and truth(clause.literals[0][0], self.case) is clause.literals[0][1]:
                return
            for hint in clause.hints:
                number = self._hint(hint)
                if number is not None:
                    self._take(number)
            if clause.sum:
                self._take(self._sum(clause.sum))
            return
        assumed = [self._literal((each, not value)) for each, value in clause.literals]
        hints = [number for hint in clause.hints if (number := self._hint(hint)) is not None]
        inner: list[Any] = hints if not self._closes(assumed, []) else []
        if clause.sum:
            inner.append(self._sum(clause.sum))
        self._take([assumed, *self._shortened(assumed, inner)])

    def _hint(self, clause: Clause) -> int | None:
        """The node whose value gives what the clause gives."""
        if clause.gate is not None:
            return self.proof.numbers[clause.gate]
        whole = both(*[negate(formula(each)) for each in clause.literals])
        return self.proof.numbers.get(whole.args[0] if whole.op == "not" else whole)

    def _literal(self, of: Literal) -> int:
        number = self.proof.numbers[of[0]]
        return number if of[1] else -1 - number

    def _sum(self, literals: Sequence[Literal]) -> list[int]:
        pairs = zip(multipliers(literals), literals, strict=True)
        return [each for weight, literal in pairs if weight for each in (weight, self.proof.numbers[literal[0]])]

    def _closes(self, assumed: list[int], steps: list[Any]) -> int | None:
        """After how many of the steps the case is closed; None if it is not."""
        proof = self.proof
        case = dict(self.case)
        literals = [proof.literal(each) for each in assumed]
        from proofs.kernel.rules import forced

        if any(forced(each, True, case) for each in literals):
            return 0
        for index, step in enumerate(steps, start=1):
            try:
                if proof.step(step, case):
                    return index
            except Refused:
                return None
        return None

    def _shortened(self, assumed: list[int], steps: list[Any]) -> list[Any]:
        """The steps that close the case, without those that it does not need."""
        enough = self._closes(assumed, steps)
        if enough is None:
            raise NotFound("a case that was written down does not close")
        steps = steps[:enough]
        for index in range(len(steps) - 1, -1, -1):
            rest = steps[:index] + steps[index + 1 :]
            if (enough := self._closes(assumed, rest)) is not None:
                steps = rest[:enough]
        return steps


def formula(of: Literal) -> Node:
    """The literal as a formula."""
    return of[0] if of[1] else negate(of[0])
