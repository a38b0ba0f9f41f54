"""How a team walks along two rows: what it finds, and in how many turns, at every start, length and alignment.

A walk that finds the right length may still have read tokens twice, or none of them in wide loads. The turns that it must
take are told by arithmetic on the length: one for the tokens before both rows are aligned, if there are any; then so many
vectors at a time, and last so many tokens. Rows that are never aligned together have tokens alone. Host only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from impl.batched.arrays import HostKernels
from impl.batched.kernels import Patch
from proofs.gpu.machines import text_of

VECTOR = 4
"""Tokens of one wide load."""
VECTORS, TOKENS = 2, 4
"""How many vectors, or single tokens, a member of a team has in flight."""

_STARTS, _BEGINS, _LENGTHS, _MEMBERS = range(4), range(7), range(70), (1, 2, 4)


@dataclass(frozen=True, kw_only=True)
class Walks:
    """What became of the walks: how many there were, how many went wrong, and the first of those."""

    cases: int
    broken: int
    first: str | None


def walks(patches: Iterable[Patch] = (), *, optimise: str = "-O2") -> Walks:
    """Walk along equal rows in every case. Errors: NoHostCompilerError."""
    cases = np.array(list(itertools.product(_STARTS, _STARTS, _BEGINS, _LENGTHS, _MEMBERS)), np.uint64)
    a_at, b_at, begin, length, members = (np.ascontiguousarray(column) for column in cases.T)
    end = begin + length
    # Aligned where it starts, and nothing of it differs.
    room = np.zeros(1024, np.uint32)
    data = room[(-room.ctypes.data // room.itemsize) % VECTOR :]
    found, turns = np.empty(len(cases), np.uint64), np.empty(len(cases), np.uint64)
    kernels = HostKernels(text_of("walk.cu", patches), optimise=optimise)
    kernels.launch("walk", 1, len(cases), data, a_at, b_at, begin, end, members, found, turns)
    wrong = np.flatnonzero((found != end) | (turns != _turns(a_at + begin, b_at + begin, length, members)))
    first = None
    if len(wrong):
        at = int(wrong[0])
        first = f"start, start, begin, length, members {cases[at].tolist()}: found {found[at]} in {turns[at]} turns"
    return Walks(cases=len(cases), broken=len(wrong), first=first)


def _turns(a_at: Any, b_at: Any, length: Any, members: Any) -> Any:
    alike = a_at % VECTOR == b_at % VECTOR
    head = np.where(alike, np.minimum((VECTOR - a_at % VECTOR) % VECTOR, length), 0)
    vectors = np.where(alike, (length - head) // VECTOR, 0)
    tokens = length - head - vectors * VECTOR
    return (head > 0) + _taken(vectors, members * VECTORS) + _taken(tokens, members * TOKENS)


def _taken(items: Any, at_once: Any) -> Any:
    return (items + at_once - 1) // at_once
