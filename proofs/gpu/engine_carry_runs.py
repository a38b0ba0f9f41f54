"""Random interleavings on real engines: a cast of conversations for each world, and who does what next, all from one seed.

Words are drawn by hashing (seed, step, purpose, world), so that a device and the host take the same runs. Turns mostly go
as an engine has them: allocation, prefill in chunks, a cold or a warm turn, tokens, a deposit; a tenth of all steps is any
operation with any arguments. In a world of each four all sequences run at a time and blocks run out; elsewhere one to three.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from impl.engine.carry import Cast, Engines, EngineSize, Outcome
from impl.engine.head import HeadSize
from impl.engine.words import GOLDEN, mixed

SEQUENCES, TOKENS, STEPS = 8, 40, 96
SIZE = EngineSize(
    head=HeadSize(hidden=16, heads=2, head_size=4, vocabulary=4, positions=TOKENS + 1), capacity=32, block_rows=8, blocks=10
)
"""The pool has the rows of one longest sequence and of the slot's; the store is shorter than the longest prompt."""

ACTIONS = (*("allocate", "write_chunk", "cold_turn", "warm_turn", "decode", "draft", "deposit", "abort", "land", "draw_ticket"),)
ALLOCATE, WRITE, COLD, WARM, DECODE, DRAFT, DEPOSIT, ABORT, LAND, TICKET = range(len(ACTIONS))

REACHED = (
    *((ALLOCATE, Outcome.DONE), (WRITE, Outcome.DONE), (WRITE, Outcome.IGNORED), (COLD, Outcome.DONE), (COLD, Outcome.UNSEEN)),
    *((WARM, Outcome.REFUSED), (WARM, Outcome.ADOPTED), (WARM, Outcome.APPENDED), (DECODE, Outcome.DONE)),
    *(
        (DECODE, Outcome.NO_BLOCKS),
        (DRAFT, Outcome.DONE),
        (DRAFT, Outcome.NO_BLOCKS),
        (DEPOSIT, Outcome.DONE),
        (ABORT, Outcome.DONE),
    ),
)
"""What every sufficiently large set of runs must come to, or it would say little."""


def drawn(seed: int, step: int, purpose: int, worlds: Any) -> Any:
    """A word for each world (uint64 numbers, of any array module)."""
    place = mixed(np.array([seed * 1_000_003 + step], np.uint64) * GOLDEN + np.uint64(purpose))[0]
    return mixed(worlds * GOLDEN + place)


def random_cast(seed: int, worlds: int) -> Cast:
    """Conversations of up to three sessions a world, as NumPy arrays.

    A turn mostly goes on from an earlier turn of its world, of its own session or not, after a prefix of any length; all
    share a template of three tokens. Every sixth session is unknown (hash 0). One world in six is not armed.
    """
    of = np.arange(worlds, dtype=np.uint64)

    def draw(purpose: int, below: int) -> Any:
        return (drawn(seed, 0, purpose, of) >> np.uint64(11)) % np.uint64(below)

    place = np.arange(TOKENS)
    tokens = np.zeros((worlds, SEQUENCES + 1, TOKENS), np.uint32)
    session = np.zeros((worlds, SEQUENCES + 1), np.int64)
    prompt_len = np.zeros((worlds, SEQUENCES + 1), np.uint64)
    for s in range(SEQUENCES + 1):
        fresh = mixed(drawn(seed, s, 1, of)[:, None] + place.astype(np.uint64) * GOLDEN) % np.uint64(SIZE.head.vocabulary)
        row = np.arange(worlds)
        # The last turn half of the time, else any; the first has nothing to go on from.
        parent = np.where(draw(20 + s, 2) == 0, max(s - 1, 0), draw(30 + s, s + 1).astype(np.int64) % max(s, 1))
        kept = np.where(draw(40 + s, 3) > 0, 8 + draw(50 + s, TOKENS - 8), draw(60 + s, TOKENS)).astype(np.int64)
        kept = np.where(s == 0, 0, np.maximum(kept, 3))
        tokens[:, s] = np.where(place < kept[:, None], tokens[row, parent], fresh)
        session[:, s] = np.where((draw(70 + s, 8) > 0) & (parent > 0), session[row, parent], 1 + draw(80 + s, 3).astype(np.int64))
        prompt_len[:, s] = np.where(draw(90 + s, 8) == 0, draw(100 + s, TOKENS + 1), 4 + 3 * s + draw(110 + s, 8))
    known = mixed(session.astype(np.uint64) * GOLDEN)
    unknown = mixed(session.astype(np.uint64) + of[:, None] * GOLDEN) % np.uint64(6) == 0
    return Cast(
        tokens=tokens,
        prompt_len=np.minimum(prompt_len, TOKENS),
        session_hash=np.where(unknown, np.uint64(0), known),
        session=session,
        carry=draw(120, 8) > 0,
        multi_seq=draw(121, 16) == 0,
    )


def moved(cast: Cast, xp: Any) -> Cast:
    """The cast on the arrays of a module."""
    fields = {name: None if value is None else xp.asarray(value) for name, value in vars(cast).items()}
    return Cast(**fields)


@dataclass
class Interleavings:
    """A run of every world, a step at a time. engines: of SIZE, with a random cast of the same seed."""

    engines: Engines
    seed: int
    log: list[tuple[Any, Any]] = field(default_factory=list)
    """Operation and outcome in each world, for each step that was taken."""

    def __post_init__(self) -> None:
        engines = self.engines
        self._worlds = engines.xp.arange(engines.worlds, dtype=np.uint64)
        self._filled = engines.xp.zeros(engines.live.shape, np.uint64)
        self._warm = engines.xp.zeros(engines.live.shape, np.bool_)
        self._proposed = engines.xp.zeros(engines.live.shape, np.bool_)

    def steps(self, count: int = STEPS) -> Iterator[Any]:
        """Take steps. Yields after each the worlds in which rows were built, adopted or appended: bool (w,)."""
        for step in range(count):
            action, sequence, start, length = self._chosen(step)
            outcome = self._take(action, sequence, start, length)
            self.log.append((action, outcome))
            yield ((action == COLD) | (action == WARM)) & (outcome != int(Outcome.IMPOSSIBLE))

    def tally(self) -> Any:
        """How often each operation had each outcome: int64 (operations, outcomes), on the host."""
        xp, outcomes = self.engines.xp, len(Outcome)
        total = xp.zeros(len(ACTIONS) * outcomes, np.int64)
        for action, outcome in self.log:
            total += xp.bincount(action * outcomes + outcome.astype(np.int64), minlength=total.size)
        return (total if xp is np else total.get()).reshape(len(ACTIONS), outcomes)

    def _draw(self, step: int, purpose: int, below: int) -> Any:
        return (drawn(self.seed, step + 1000, purpose, self._worlds) >> np.uint64(11)) % np.uint64(below)

    def _chosen(self, step: int) -> tuple[Any, Any, Any, Any]:
        engines, xp = self.engines, self.engines.xp
        w = xp.arange(engines.worlds)
        wild = self._draw(step, 1, 10) == 0
        # One to three sequences at a time, world by world, a new one where there is room; or all, and blocks run out.
        crowded = w % 4 == 3
        runs, unborn = engines.live[:, 1:], ~engines.born[:, 1:]
        room = (crowded | (runs.sum(axis=1) <= w % 4)) & (self._draw(step, 2, 3) > 0)
        newest = xp.arange(SEQUENCES) == xp.argmax(unborn.astype(np.int64), axis=1)[:, None]
        among = runs | (unborn & newest & room[:, None])
        among |= wild[:, None] | ~among.any(axis=1)[:, None]
        nth = self._draw(step, 3, SEQUENCES).astype(np.int64) % among.sum(axis=1)
        s = 1 + xp.argmax((xp.cumsum(among.astype(np.int64), axis=1) > nth[:, None]).astype(np.int64), axis=1)
        roll = self._draw(step, 4, 100)
        prompt, filled = engines.cast.prompt_len[w, s], self._filled[w, s]
        proposes = (filled >= prompt) | (roll >= 95)
        later = xp.where(roll < 55, DECODE, xp.where(roll < 70, DRAFT, xp.where(roll < 94, DEPOSIT, ABORT)))
        later = xp.where(crowded, xp.where(roll < 60, DRAFT, DECODE), later)
        turn = xp.where(self._warm[w, s], WARM, COLD)
        action = xp.where(self._proposed[w, s], later, xp.where(proposes, turn, WRITE))
        action = xp.where(engines.born[w, s], action, ALLOCATE)
        action = xp.where(self._draw(step, 5, 12) == 0, LAND, action)
        action = xp.where(self._draw(step, 6, 64) == 0, TICKET, action)
        action = xp.where(wild, self._draw(step, 7, len(ACTIONS)).astype(np.int64), action)
        # Some chunks leave a gap.
        begin = filled + (self._draw(step, 8, 10) == 0) * np.uint64(2)
        start = xp.where(wild, self._draw(step, 16, TOKENS), begin)
        length = xp.where(
            wild, self._draw(step, 9, 8), xp.minimum(1 + self._draw(step, 10, 12), prompt - xp.minimum(begin, prompt))
        )
        self._remember(w, s, action, start + length, step)
        return action, s, start, length

    def _remember(self, w: Any, s: Any, action: Any, end: Any, step: int) -> None:
        """What this sequence's turn has come to; a warm turn's prefill starts where its reuse ends, or a little off."""
        xp = self.engines.xp
        begins = action == ALLOCATE
        prompt = self.engines.cast.prompt_len[w, s]
        warm = (self._draw(step, 11, 8) > 0) & (self.engines.live[w, 0] | (self._draw(step, 15, 8) == 0))
        reused = xp.where(
            self._draw(step, 12, 3) == 0, self._draw(step, 13, TOKENS), self.engines.length[w, 0] - (self._draw(step, 14, 4) == 0)
        )
        reused = xp.minimum(xp.where(warm & self.engines.live[w, 0], reused, np.uint64(0)), prompt)
        self._warm[w, s] = xp.where(begins, warm, self._warm[w, s])
        filled = xp.where(action == WRITE, end, self._filled[w, s])
        self._filled[w, s] = xp.where(begins, reused, filled)
        self._proposed[w, s] |= (action == WARM) | (action == COLD)

    def _take(self, action: Any, sequence: Any, start: Any, length: Any) -> Any:
        engines, xp = self.engines, self.engines.xp
        outcome = xp.zeros(engines.worlds, np.uint8)
        for number, name in enumerate(ACTIONS):
            w = xp.flatnonzero(action == number)
            if not len(w):
                continue
            operation = getattr(engines, name)
            if number in (LAND, TICKET):
                outcome[w] = operation(w)
            elif number == WRITE:
                outcome[w] = operation(w, sequence[w], start[w], length[w])
            else:
                outcome[w] = operation(w, sequence[w])
        return outcome
