"""Finds certificates. Nothing here is trusted: what it finds counts when `proofs.kernel` has checked it."""

from __future__ import annotations

from typing import Any

from proofs.certify.instances import instances, theories
from proofs.certify.lemmas import NotFound, draw
from proofs.certify.writing import written
from proofs.kernel.reader import Reader
from proofs.kernel.terms import Work, start_afresh


def certify(text: str, *, tries: int = 2) -> list[Any]:
    """A certificate for the text, as the kernel takes it: the shortest of several tries. NotFound if none is within reach."""
    start_afresh()
    draw.cache_clear()
    Work.left = 10**15
    assertions = list(Reader(text).assertions.values())
    lemmas = theories(assertions, instances(assertions))
    found = [written(assertions, lemmas, seed) for seed in range(tries)]
    return min(found, key=lambda steps: len(str(steps)))


__all__ = ["NotFound", "certify"]
