"""What is wrong on the memory of engines: foreign tags, lost blocks, writes that reach another's block, unequal rows.

The names are those of the system's laws. Everything is read off the memory and its tags, and compared with what the cast
says; the engine's own decisions are not asked. A row is equal when its bits are those that a cold build by its holder gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.engine.carry import SLOT, TAG, Engines
from impl.engine.memory import spread
from impl.engine.words import address_of

FOREIGN = "no-foreign-rows"
AGREE = "rows-agree"
OWN_HIDDEN = "every-row-read-is-its-writers"
INCREASE = "keys-increase"
EQUAL = "rows-are-what-their-holder-would-make"
BLOCKS = "every-block-has-one-owner"
REACHES = "no-write-reaches-another-owner"
RIGHT = "a-right-to-read-is-not-lost-silently"


def harms(engines: Engines, *, rebuild: Any = None) -> dict[str, Any]:
    """How often each law is broken in each world: int64 arrays by the law's name.

    rebuild: bool (w,), the worlds in which rows are compared with a cold build; None: all.
    """
    found = _row_harms(engines, rebuild)
    found[BLOCKS] = (_owners(engines) != 1).sum(axis=1)
    found[REACHES] = _strays(engines)
    found[RIGHT] = _lost_rights(engines)
    return found


def _row_harms(engines: Engines, rebuild: Any) -> dict[str, Any]:
    w, h, _, at = held_rows(engines)
    _, tags = engines.pool.settled(at)
    columns = [tags[:, i] for i in range(2 * TAG)]
    maker, maker_session, key, digest, hidden_from, _, hidden_at, hidden_digest = columns
    text = engines.xp.where(h == SLOT, engines.source[w], h)
    known = (maker < engines.live.shape[1]) & (key < engines.longest - 1)
    position = engines.xp.where(known, key, np.uint64(0)).astype(np.int64)
    by = engines.xp.where(known, maker, np.uint64(0)).astype(np.int64)
    digests = engines.target.digests
    agrees = known & (digest == digests[w, text, position + 1])
    own = known & (maker_session == engines.cast.session[w, text].astype(np.uint64))
    reads_own = (hidden_from == maker) & (hidden_at == key) & (hidden_digest == digests[w, by, position])
    is_sequence = h != SLOT
    follows = (w[1:] == w[:-1]) & (h[1:] == h[:-1])
    bad = {
        FOREIGN: (w, is_sequence & ~(agrees & own)),
        AGREE: (w, ~agrees),
        OWN_HIDDEN: (w, ~(known & reads_own)),
        INCREASE: (w[1:], follows & (key[1:] <= key[:-1])),
    }
    chosen = is_sequence & known if rebuild is None else is_sequence & known & rebuild[w]
    w, h, position, at = w[chosen], h[chosen], position[chosen], at[chosen]
    bad[EQUAL] = (w, (engines.pool.settled(at)[0] != cold_rows(engines, w, h, position)).any(axis=1))
    return {name: engines.xp.bincount(of[wrong], minlength=engines.worlds) for name, (of, wrong) in bad.items()}


def held_rows(engines: Engines) -> tuple[Any, Any, Any, Any]:
    """World, holder, number and place in the pool of every row that any holder has, in this order."""
    w, h = engines.xp.nonzero(engines.live)
    which, row = spread(engines.rows[w, h].astype(np.int64))
    w, h = w[which], h[which]
    block = engines.table[w, h, engines.xp.minimum(row // engines.size.block_rows, engines.table.shape[2] - 1)]
    return w, h, row, engines.places(w, block, row % engines.size.block_rows)


def cold_rows(engines: Engines, w: Any, s: Any, key: Any) -> Any:
    """The rows that sequences s build for these keys (int64) from their own hidden states: (m, width) uint16."""
    xp = engines.xp
    rows = xp.empty((len(w), engines.size.head.width), np.uint16)
    states = engines.target.states((w, s, key))
    addresses = xp.arange(len(w), dtype=np.uint64) * np.uint64(states.shape[1] * 2) + np.uint64(address_of(states))
    engines.head.make(engines.cast.tokens[w, s, key + 1], states, addresses, key.astype(np.uint64), rows, xp.arange(len(w)))
    return rows


def _owners(engines: Engines) -> Any:
    """How often each block is on the free list or in the table of a holder: (w, blocks)."""
    xp, blocks = engines.xp, engines.size.blocks
    w, place = xp.nonzero(xp.arange(engines.free.shape[1]) < engines.free_count[:, None])
    free = w * blocks + engines.free[w, place]
    w, h = xp.nonzero(engines.live)
    which, place = spread(engines.held[w, h])
    held = w[which] * blocks + engines.table[w[which], h[which], place]
    counts = xp.bincount(xp.concatenate([free, held]).astype(np.int64), minlength=engines.worlds * blocks)
    return counts.reshape(engines.worlds, blocks)


def _strays(engines: Engines) -> Any:
    """Writes under way to rows of a block that has left the table they were issued for, in each world."""
    xp, blocks = engines.xp, engines.size.blocks
    queues = xp.zeros(engines.worlds * blocks, np.int32)
    w, h = xp.nonzero(engines.live)
    which, place = spread(engines.held[w, h])
    queues[w[which] * blocks + engines.table[w[which], h[which], place]] = engines.queue[w[which], h[which]]
    at = xp.flatnonzero(engines.pool.stream)
    block = at // engines.size.block_rows
    return xp.bincount((block // blocks)[engines.pool.stream[at] != queues[block]], minlength=engines.worlds)


def _lost_rights(engines: Engines) -> Any:
    """Where the last to stamp the range runs and is no longer its owner."""
    xp = engines.xp
    stamped = engines.stamper >= 0
    w, s = xp.arange(engines.worlds), xp.maximum(engines.stamper, 0)
    return (stamped & engines.live[w, s] & (engines.owner != engines.generation[w, s])).astype(np.int64)
