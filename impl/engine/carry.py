"""The carry of DESIGN 1a on real memory: many engines side by side, each with its own store, blocks, slot and sequences.

An operation is told which engines (worlds) act, each at most once, and which of its sequences; what becomes of each is an
`Outcome`. A holder of rows is a sequence, 1 to n, or the slot, 0. Every decision is a call of a table of rules over all the
engines that act. Leaves out: attention, sampling, and which action comes when. Its twin on paper is `proofs.traces.machine`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

import impl.batched as batched
from impl.batched import CarriedDrafters, Ragged, Status, StoreRanges
from impl.engine.head import ORDERED, Head, HeadSize, Product
from impl.engine.memory import NOBODY, Rows, spread
from impl.engine.target import Target
from impl.engine.words import address_of, module_of

SLOT = 0
TAG = 4
"""Words of a tag: sequence, session, position (a key, for drafter rows), digest of the tokens that decide the row."""


class Outcome(enum.IntEnum):
    """What became of one operation in one world, as uint8."""

    IMPOSSIBLE = 0
    """The caller asked for what the sequence or the slot cannot do now; nothing happened."""
    DONE = 1
    IGNORED = 2
    """The chunk is empty or passes the store's capacity."""
    UNSEEN = 3
    """The sequence does not see all hidden rows that a cold build reads; nothing happened."""
    NO_BLOCKS = 4
    """The free list is too short, so rows are not made. Whatever else there was to do is done."""
    REFUSED = 5
    ADOPTED = 6
    """Rows were adopted and none appended."""
    APPENDED = 7
    """Rows were adopted, and those of new keys appended."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules that decide. A fault in a rule is another function in its place."""

    usable_by: Any = batched.usable_by
    plan_append: Any = batched.plan_append
    stamped_merge: Any = batched.stamped_merge
    visible_to: Any = batched.visible_to
    hidden_row_offset: Any = batched.hidden_row_offset
    carry_armed_with: Any = batched.carry_armed_with


RULES = Rules()


@dataclass(frozen=True, kw_only=True)
class EngineSize:
    """The sizes of one engine. capacity: rows of the hidden store. blocks: of the drafter's pool, of block_rows rows each."""

    head: HeadSize
    capacity: int
    block_rows: int
    blocks: int


@dataclass(frozen=True, kw_only=True)
class Cast:
    """What never changes in a run, as arrays: worlds first, then sequences (the one at 0 is not used), then positions.

    tokens: uint32 (w, n, length), all that a sequence will ever have. prompt_len, session_hash: uint64 (w, n).
    session: int64 (w, n), who the session really is: for tags alone. content: as Target says, or None.
    carry, multi_seq: bool (w,), the configuration.
    """

    tokens: Any
    prompt_len: Any
    session_hash: Any
    session: Any
    carry: Any
    multi_seq: Any
    content: Any = None


class Engines:
    """Engines of one size, one for each world of the cast, on the arrays of module xp.

    rules: the table that decides. product: how the head multiplies. lagging: device writes land when someone waits, or at
    `land`. tagged: keep tags. kernels: the head's, as Head says. scramble: put noise into every tag.

    Fields whose names are those of the model are arrays over worlds, or over worlds and holders.
    """

    def __init__(
        self,
        size: EngineSize,
        cast: Cast,
        xp: Any,
        *,
        rules: Rules = RULES,
        product: Product = ORDERED,
        lagging: bool = True,
        tagged: bool = True,
        kernels: Any = None,
        scramble: int = 0,
    ) -> None:
        self.size, self.cast, self.xp, self.rules = size, cast, xp, rules
        self._scramble = np.uint64(scramble)
        self.worlds, holders, self.longest = cast.tokens.shape
        worlds, most = self.worlds, -(-self.longest // size.block_rows)
        self.target = Target(cast.tokens, size.head.hidden, content=cast.content)
        self.head = Head(size.head, product, xp, kernels=kernels)
        self.store = Rows(worlds * size.capacity, size.head.hidden, TAG, xp, lagging=lagging, tagged=tagged)
        self.pool = Rows(worlds * size.blocks * size.block_rows, size.head.width, 2 * TAG, xp, lagging=lagging, tagged=tagged)

        def words(*shape: int) -> Any:
            return xp.zeros((worlds, *shape), np.uint64)

        self.ticket = words() + 1
        self.owner, self.lo, self.hi = words(), words(), words()
        self.capture_owner, self.capture_length = words(), words()
        self.born, self.live = xp.zeros((worlds, holders), np.bool_), xp.zeros((worlds, holders), np.bool_)
        self.generation, self.length, self.rows = words(holders), words(holders), words(holders)
        self.extent, self.last_key = words(holders), words(holders)
        self.table, self.held = xp.zeros((worlds, holders, most), np.int32), xp.zeros((worlds, holders), np.int64)
        # Writes to one table's rows are issued one after the other, whoever has the table.
        self.queue = xp.zeros((worlds, holders), np.int32)
        self.entry_tokens, self.entry_session = xp.zeros((worlds, self.longest), np.uint32), words()
        # Room for blocks that are freed twice, which only a fault does.
        self.free = xp.zeros((worlds, 4 * size.blocks), np.int32) + xp.arange(4 * size.blocks, dtype=np.int32) % size.blocks
        self.free_count = xp.full(worlds, size.blocks, np.int64)
        # Nobody's business but the watcher's: whose tokens the entry has, and who stamped the range last.
        self.source, self.stamper = xp.zeros(worlds, np.int64), xp.full(worlds, -1, np.int64)

    # ---- operations

    def allocate(self, w: Any, s: Any) -> Any:
        """A new sequence draws its generation from the ticket counter, and nobody's claim on the store survives it."""
        outcome, i = self._begin(w, ~self.born[w, s])
        w, s = w[i], s[i]
        self.born[w, s] = self.live[w, s] = True
        self.queue[w, s] = s
        self.generation[w, s] = self.ticket[w]
        self.ticket[w] += 1
        self.length[w, s] = self.cast.prompt_len[w, s]
        self.owner[w] = self.lo[w] = self.hi[w] = 0
        self.stamper[w] = -1
        return self._end(outcome, i, Outcome.DONE)

    def draw_ticket(self, w: Any) -> Any:
        """Something else in the engine draws a ticket."""
        outcome, i = self._begin(w, self.ticket[w] > 0)
        self.ticket[w[i]] += np.uint64(1)
        return self._end(outcome, i, Outcome.DONE)

    def write_chunk(self, w: Any, s: Any, start: Any, count: Any) -> Any:
        """A prefill chunk: hidden rows start to start + count - 1 of the sequence are written and stamped. uint64 arrays."""
        outcome, i = self._begin(w, self.live[w, s] & (start + count <= self.length[w, s]))
        w, s, start, count = w[i], s[i], start[i], count[i]
        stored = (count > 0) & (start + count <= self.size.capacity)
        self._end(outcome, i[~stored], Outcome.IGNORED)
        w, s, start, count, i = w[stored], s[stored], start[stored], count[stored], i[stored]
        claim = StoreRanges(owner=self.owner[w], lo=self.lo[w], hi=self.hi[w])
        after = self.rules.stamped_merge(claim, self.generation[w, s], start, count)
        self.owner[w], self.lo[w], self.hi[w], self.stamper[w] = after.owner, after.lo, after.hi, s
        self._capture(w, self.generation[w, s], start, start + count)
        which, number = spread(count.astype(np.int64))
        w, s, position = w[which], s[which], start[which].astype(np.int64) + number
        at, state = w * self.size.capacity + position, position
        words, tags = self.target.states((w, s, state)), self._tags(w, s, state, state)
        self.store.write(at, tags, self.xp.ones(len(at), np.int32), _putting(words))
        return self._end(outcome, i, Outcome.DONE)

    def land(self, w: Any) -> Any:
        """The device catches up in these worlds."""
        self._wait_for_store(w)
        self._wait_for_pool(w)
        return self.xp.full(len(w), int(Outcome.DONE), np.uint8)

    def cold_turn(self, w: Any, s: Any) -> Any:
        """A turn that reuses nothing: the slot's entry is freed, and keys 0 to P-2 are built from the store."""
        prompt = self.cast.prompt_len[w, s]
        outcome, i = self._begin(w, self._proposes_first(w, s) & (self.rows[w, s] == 0) & (prompt >= 2))
        w, s = w[i], s[i]
        keys = prompt[i] - np.uint64(1)
        lo, hi = self._visible(w, s)
        covered = (lo == 0) & (keys <= hi)
        self._end(outcome, i[~covered], Outcome.UNSEEN)
        w, s, keys, i = w[covered], s[covered], keys[covered], i[covered]
        self._wait_for_store(w)
        self._free(w, s * 0 + SLOT)
        enough = self._grow(w, s, keys)
        self._end(outcome, i[~enough], Outcome.NO_BLOCKS)
        w, s, keys, i = w[enough], s[enough], keys[enough], i[enough]
        self._make(w, s, keys * np.uint64(0), keys, keys * np.uint64(0))
        return self._end(outcome, i, Outcome.DONE)

    def warm_turn(self, w: Any, s: Any) -> Any:
        """The first proposal of a turn that reuses: it takes the entry, adopts what is usable, and appends what it may read."""
        outcome, i = self._begin(w, self._proposes_first(w, s) & self.live[w, SLOT] & self._armed(w))
        w, s = w[i], s[i]
        entry = CarriedDrafters(
            rows=self.rows[w, SLOT],
            last_pair_key=self.last_key[w, SLOT],
            key_known=self.rows[w, SLOT] > 0,
            tokens=_ragged(self.entry_tokens[w], self.length[w, SLOT]),
            session_hash=self.entry_session[w],
        )
        prompt = _ragged(self.cast.tokens[w, s], self.cast.prompt_len[w, s])
        usable = self.rules.usable_by(entry, prompt, self.cast.session_hash[w, s])
        refused = (usable.status != int(Status.OK)) | (self.rows[w, s] > 0)
        self._free(w[refused], s[refused] * 0 + SLOT)
        self._end(outcome, i[refused], Outcome.REFUSED)
        w, s, i = w[~refused], s[~refused], i[~refused]
        rows, key = usable.rows[~refused], usable.last_pair_key[~refused]
        lo, hi = self._visible(w, s)
        plan = self.rules.plan_append(key, self.cast.prompt_len[w, s], lo, hi)
        self._move(w, s * 0 + SLOT, s)
        self.rows[w, s], self.extent[w, s], self.last_key[w, s] = rows, rows, key
        self._end(outcome, i, Outcome.ADOPTED)
        more = plan.status == int(Status.OK)
        w, s, i, rows, first, count = w[more], s[more], i[more], rows[more], plan.first_key[more], plan.rows[more]
        enough = self._grow(w, s, rows + count)
        self._end(outcome, i[~enough], Outcome.NO_BLOCKS)
        w, s, i, rows, first, count = w[enough], s[enough], i[enough], rows[enough], first[enough], count[enough]
        self._wait_for_store(w)
        self._make(w, s, rows, count, first)
        return self._end(outcome, i, Outcome.APPENDED)

    def decode(self, w: Any, s: Any) -> Any:
        """A token is emitted. The pair that it completes becomes a row, if there is room; rows of guesses are forgotten."""
        outcome, i = self._begin(w, self.live[w, s] & (self.length[w, s] > 0) & (self.length[w, s] < self.longest))
        w, s = w[i], s[i]
        key = self.length[w, s] - np.uint64(1)
        self.length[w, s] += 1
        enough = self._grow(w, s, self.rows[w, s] + np.uint64(1))
        self._end(outcome, i[~enough], Outcome.NO_BLOCKS)
        w, s, key, i = w[enough], s[enough], key[enough], i[enough]
        at = (w, s, key.astype(np.int64))
        self._make(w, s, self.rows[w, s], key * 0 + 1, key, computed=(self.target.states(at), self._tags(*at, at[2])))
        return self._end(outcome, i, Outcome.DONE)

    def draft(self, w: Any, s: Any) -> Any:
        """The drafter guesses a token, and leaves a row for it above the rows that count."""
        outcome, i = self._begin(w, self.live[w, s] & (self.rows[w, s] > 0))
        w, s = w[i], s[i]
        row = self.extent[w, s]
        enough = (row < self.longest) & self._grow(w, s, self.xp.minimum(row + np.uint64(1), self.longest))
        self._end(outcome, i[~enough], Outcome.NO_BLOCKS)
        w, s, row, i = w[enough], s[enough], row[enough], i[enough]
        key = self.last_key[w, s] + np.uint64(1) + row - self.rows[w, s]
        guesses = self.target.guesses((w, s, self.length[w, s].astype(np.int64) - 1))
        token = guesses[:, 0].astype(np.uint32) % self.size.head.vocabulary
        position = self.xp.minimum(key, self.size.head.positions - 2)
        nobody = self.xp.full((len(w), 2 * TAG), NOBODY, np.uint64)
        self._write_rows(w, s, row, token, guesses, self._offsets(guesses, self.xp.arange(len(w))), position, nobody)
        self.extent[w, s] += 1
        return self._end(outcome, i, Outcome.DONE)

    def deposit(self, w: Any, s: Any) -> Any:
        """A sequence with rows ends: they become the slot's entry, and an older entry is freed."""
        outcome, i = self._begin(w, self.live[w, s] & (self.rows[w, s] > 0) & self._armed(w))
        w, s = w[i], s[i]
        self._free(w, s * 0 + SLOT)
        self._move(w, s, s * 0 + SLOT)
        self.rows[w, SLOT] = self.rows[w, s]
        self.extent[w, SLOT] = self.rows[w, s]
        self.last_key[w, SLOT], self.length[w, SLOT] = self.last_key[w, s], self.length[w, s]
        self.entry_tokens[w], self.entry_session[w] = self.cast.tokens[w, s], self.cast.session_hash[w, s]
        self.source[w] = s
        return self._end(outcome, i, Outcome.DONE)

    def abort(self, w: Any, s: Any) -> Any:
        """A sequence ends and leaves nothing."""
        outcome, i = self._begin(w, self.live[w, s])
        self._free(w[i], s[i])
        return self._end(outcome, i, Outcome.DONE)

    # ---- what operations share

    def _begin(self, w: Any, possible: Any) -> tuple[Any, Any]:
        return self.xp.full(len(w), int(Outcome.IMPOSSIBLE), np.uint8), self.xp.flatnonzero(possible)

    def _end(self, outcome: Any, i: Any, became: Outcome) -> Any:
        outcome[i] = int(became)
        return outcome

    def _proposes_first(self, w: Any, s: Any) -> Any:
        return self.live[w, s] & (self.length[w, s] == self.cast.prompt_len[w, s])

    def _armed(self, w: Any) -> Any:
        return self.rules.carry_armed_with(self.cast.carry[w], self.cast.multi_seq[w])

    def _visible(self, w: Any, s: Any) -> tuple[Any, Any]:
        claim = StoreRanges(owner=self.owner[w], lo=self.lo[w], hi=self.hi[w])
        lo, hi = self.rules.visible_to(claim, self.generation[w, s])
        return lo, hi

    def _capture(self, w: Any, generation: Any, start: Any, end: Any) -> None:
        """The older stamp: chunks from 0 on, as far as they follow each other."""
        restarts = start == 0
        extends = restarts | (self.capture_owner[w] == generation) & (self.capture_length[w] == start)
        self.capture_owner[w] = self.xp.where(restarts, generation, self.capture_owner[w])
        self.capture_length[w] = self.xp.where(extends, end, self.capture_length[w])

    def _wait_for_store(self, w: Any) -> None:
        """What was issued to the hidden store has landed before anything reads it (A5)."""
        self.store.land(self._rows_of(w, self.size.capacity))

    def _wait_for_pool(self, w: Any) -> None:
        """What was issued to drafter rows has landed before a block changes hands (A5)."""
        self.pool.land(self._rows_of(w, self.size.blocks * self.size.block_rows))

    def _rows_of(self, w: Any, rows: int) -> Any:
        return (w[:, None] * rows + self.xp.arange(rows)).reshape(-1)

    def _free(self, w: Any, h: Any) -> None:
        """A holder that is there is there no more; its blocks return to the free list."""
        there = self.live[w, h]
        w, h = w[there], h[there]
        self._wait_for_pool(w)
        which, number = spread(self.held[w, h])
        place = self.xp.minimum(self.free_count[w[which]] + number, self.free.shape[1] - 1)
        self.free[w[which], place] = self.table[w[which], h[which], number]
        self.free_count[w] = self.xp.minimum(self.free_count[w] + self.held[w, h], self.free.shape[1])
        self.held[w, h] = 0
        self.live[w, h] = False

    def _grow(self, w: Any, h: Any, rows: Any) -> Any:
        """Where the free list has enough, the holder gets the blocks that so many rows need. Returns where it has."""
        needed = (rows.astype(np.int64) + self.size.block_rows - 1) // self.size.block_rows
        missing = self.xp.maximum(needed - self.held[w, h], 0)
        enough = missing <= self.free_count[w]
        missing = self.xp.where(enough, missing, 0)
        which, number = spread(missing)
        at = w[which], h[which]
        self.table[at[0], at[1], self.held[at] + number] = self.free[at[0], self.free_count[at[0]] - 1 - number]
        self.free_count[w] -= missing
        self.held[w, h] += missing
        return enough

    def _copy(self, w: Any, giver: Any, taker: Any) -> None:
        self.table[w, taker], self.held[w, taker] = self.table[w, giver], self.held[w, giver]
        self.queue[w, taker] = self.queue[w, giver]
        self.live[w, taker] = True

    def _move(self, w: Any, giver: Any, taker: Any) -> None:
        """The giver's blocks, with the rows in them, pass to the taker; the giver is there no more."""
        self._copy(w, giver, taker)
        self.held[w, giver] = 0
        self.live[w, giver] = False

    def _make(self, w: Any, s: Any, row: Any, count: Any, first_key: Any, computed: tuple[Any, Any] | None = None) -> None:
        """Rows row.. for keys first_key.., from the store, or from states that were just computed (with their tags)."""
        which, number = spread(count.astype(np.int64))
        of, by = w[which], s[which]
        number = number.astype(np.uint64)
        key, rows = first_key[which] + number, row[which] + number
        position = key.astype(np.int64)
        if computed is None:
            capacity, hidden = self.size.capacity, self.size.head.hidden
            base = of.astype(np.uint64) * np.uint64(capacity * hidden * 2) + np.uint64(address_of(self.store.words))
            memory, addresses = self.store.words, self.rules.hidden_row_offset(base, key, hidden).pointer
            read = self._read_tags(addresses)
        else:
            memory, read = computed
            addresses = self._offsets(memory, self.xp.arange(len(of)))
        tags = self.xp.concatenate([self._tags(of, by, position, position + 1), read], axis=1)
        self._write_rows(of, by, rows, self.cast.tokens[of, by, position + 1], memory, addresses, key, tags)
        self.rows[w, s] = self.extent[w, s] = row + count
        self.last_key[w, s] = first_key + count - np.uint64(1)

    def _write_rows(self, w: Any, s: Any, row: Any, token: Any, memory: Any, addresses: Any, key: Any, tags: Any) -> None:
        row = row.astype(np.int64)
        block, inside = row // self.size.block_rows, row % self.size.block_rows
        at = self.places(w, self.table[w, s, block], inside)

        def make(into: Any, places: Any) -> None:
            self.head.make(token, memory, addresses, key, into, places)

        self.pool.write(at, tags, self.queue[w, s], make)

    def places(self, w: Any, block: Any, inside: Any) -> Any:
        """Where rows lie in the pool: int64, for worlds, blocks and rows inside the block."""
        return (w * self.size.blocks + block) * self.size.block_rows + inside

    def _offsets(self, memory: Any, row: Any) -> Any:
        return row.astype(np.uint64) * np.uint64(memory.shape[1] * 2) + np.uint64(address_of(memory))

    # ---- tags

    def _tags(self, w: Any, s: Any, position: Any, last: Any) -> Any:
        """The tags of rows of these sequences at these positions, decided by tokens 0 to last."""
        parts = (s, self.cast.session[w, s], position, self.target.digests[w, s, last])
        tags = self.xp.stack([part.astype(np.uint64) for part in parts], axis=1)
        return tags ^ self._scramble * tags if self._scramble else tags

    def _read_tags(self, addresses: Any) -> Any:
        """The tags of the hidden rows that these addresses lie in; nobody's outside of the store."""
        if not self.store.tagged:
            return self.xp.empty((len(addresses), TAG), np.uint64)
        row = (addresses - np.uint64(address_of(self.store.words))) // np.uint64(self.size.head.hidden * 2)
        inside = row < len(self.store.tags)
        found = self.store.tags[self.xp.where(inside, row, np.uint64(0)).astype(np.int64)]
        return self.xp.where(inside[:, None], found, np.uint64(NOBODY))


def _putting(words: Any) -> Any:
    def make(into: Any, at: Any) -> None:
        into[at] = words

    return make


def _ragged(rows: Any, lengths: Any) -> Ragged:
    """The first lengths[i] tokens of each row, end to end."""
    xp = module_of(rows)
    offsets = xp.zeros(len(rows) + 1, np.uint64)
    offsets[1:] = xp.cumsum(lengths)
    return Ragged(data=rows[xp.arange(rows.shape[1]) < lengths[:, None].astype(np.int64)], offsets=offsets)
