"""Stands for the target model: its hidden states, each a function of the tokens up to its position and of nothing else.

A state is a pseudo-random row drawn from a digest of those tokens, so that the rows of two prefixes that differ anywhere
differ everywhere. `content` makes a state depend on more than tokens, for runs that break this (A3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.engine.words import GOLDEN, mixed, module_of, random_rows

_GUESSED = np.uint64(0x5851F42D4C957F2D)


class Target:
    """tokens: (..., n) uint32. content: (..., n) uint64, 0 where tokens alone decide; None: everywhere.

    digests: (..., n) uint64; digests[..., i] is that of tokens 0 to i.
    """

    def __init__(self, tokens: Any, hidden: int, *, content: Any = None) -> None:
        xp = module_of(tokens)
        places = mixed(xp.arange(tokens.shape[-1], dtype=np.uint64) * GOLDEN + GOLDEN)
        self.digests = mixed(xp.cumsum(mixed(tokens.astype(np.uint64) * GOLDEN + places), axis=-1, dtype=np.uint64))
        self._seeds = self.digests if content is None else self.digests + content * GOLDEN
        self._hidden = hidden

    def states(self, at: tuple[Any, ...]) -> Any:
        """The hidden states at these places, an index array for each axis of tokens: (m, hidden) uint16."""
        return random_rows(self._seeds[at], self._hidden)

    def guesses(self, at: tuple[Any, ...]) -> Any:
        """What the drafter's own state is when it guesses on from these places: nobody's hidden state. (m, hidden) uint16."""
        return random_rows(mixed(self._seeds[at] ^ _GUESSED), self._hidden)
