"""Rows in device memory, a tag beside each that says where it came from, and writes that land later than they are issued.

The tags are for whoever watches: the engine writes and moves them with the rows, and never decides by one. Writes of one
stream land in their order. Two streams have no order unless someone waits: then the later write is taken to land first,
which is the worst that can happen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from impl.engine.words import POISON, module_of

NOBODY = 2**64 - 1
"""In every word of the tag of a row that nobody has written."""


class Rows:
    """`count` rows of `width` bf16 numbers, with `tag_words` words of tag each; none of either until it is written.

    lagging: writes are held until `land`. tagged: keep tags at all; a benchmark does without.
    words: uint16 (count, width); tags: uint64 (count, tag_words); stream: int32 (count,), 0 where no write is under way.
    """

    def __init__(self, count: int, width: int, tag_words: int, xp: Any, *, lagging: bool, tagged: bool = True) -> None:
        self.lagging, self.tagged, self._xp = lagging, tagged, xp
        self.words = xp.full((count, width), POISON, np.uint16)
        self.tags = xp.full((count if tagged else 0, tag_words), NOBODY, np.uint64)
        self.stream = xp.zeros(count if lagging else 0, np.int32)
        self._coming = xp.empty_like(self.words) if lagging else None
        self._coming_tags = xp.empty_like(self.tags) if lagging else None

    def write(self, at: Any, tags: Any, stream: Any, make: Callable[[Any, Any], None]) -> None:
        """Issue the write of rows at[i], each once. make(into, at) puts them into an array at these places.

        at: int64 (m,). tags: uint64 (m, tag_words). stream: int32 (m,), positive.
        """
        if not self.lagging:
            make(self.words, at)
            if self.tagged:
                self.tags[at] = tags
            return
        made = self._xp.empty((len(at), self.words.shape[1]), np.uint16)
        make(made, self._xp.arange(len(at)))
        under_way = self.stream[at]
        overtakes = (under_way != 0) & (under_way != stream)
        for chosen, words, kept in ((overtakes, self.words, self.tags), (~overtakes, self._coming, self._coming_tags)):
            words[at[chosen]] = made[chosen]  # type: ignore[index]
            kept[at[chosen]] = tags[chosen]  # type: ignore[index]
        self.stream[at[~overtakes]] = stream[~overtakes]

    def land(self, rows: Any) -> None:
        """All writes under way to these rows (int64) reach memory."""
        if not self.lagging:
            return
        at = rows[self.stream[rows] != 0]
        self.words[at] = self._coming[at]  # type: ignore[index]
        self.tags[at] = self._coming_tags[at]  # type: ignore[index]
        self.stream[at] = 0

    def settled(self, at: Any) -> tuple[Any, Any]:
        """words and tags of rows at (int64) as they will be when everything under way has landed. Copies."""
        words, tags = self.words[at], self.tags[at]
        if not self.lagging:
            return words, tags
        later = (self.stream[at] != 0)[:, None]
        where = self._xp.where
        return where(later, self._coming[at], words), where(later, self._coming_tags[at], tags)  # type: ignore[index]


def spread(counts: Any) -> tuple[Any, Any]:
    """For counts[i] things of each i: which i each thing is of, and its number there. int64 arrays, in order.

    Waits for a device, since the number of things decides the shape.
    """
    xp = module_of(counts)
    longest = int(counts.max()) if len(counts) else 0
    which, number = xp.nonzero(xp.arange(longest) < counts[:, None])
    return which, number
