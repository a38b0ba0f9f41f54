"""The carry in plain Python: the twin of `spec.system`, which asks the code for every rule and tags what it moves.

Written from DESIGN 1a, not from the model: lists and dictionaries instead of relations. Each drafter row and hidden row carries
a tag (whose, and for which position) that no decision looks at. `harms` reads the tags. An action whose condition does not hold
raises `Impossible`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from proofs.traces.trace import Impossible

Runner = Callable[[str, Mapping[str, Any]], Any]
"""Runs one call of the vector format on the code."""

Blocks = tuple[int, ...] | list[int]

SLOT, NOBODY = 0, -1


@dataclass
class Row:
    """A drafter row: its key, and tags."""

    key: int
    maker: int
    hidden_from: int
    hidden_at: int


@dataclass
class Holder:
    """A running sequence, or the slot's entry (which has a source and a session hash, and no generation)."""

    table: int
    length: int
    rows: int = 0
    extent: int = 0
    last_key: int = 0
    generation: int | None = None
    source: int = 0
    session_hash: int = 0


@dataclass
class Machine:
    """The engine's bookkeeping for the sequences of `given`, as a trace gives them."""

    given: Mapping[str, Any]
    run: Runner
    ticket: int = 1
    stamp: dict[str, int] = field(default_factory=lambda: {"owner": 0, "lo": 0, "hi": 0})
    capture: dict[str, int] = field(default_factory=lambda: {"owner": 0, "length": 0})
    holders: dict[int, Holder] = field(default_factory=dict)
    drafter: dict[int, dict[int, Row]] = field(default_factory=dict)
    blocks: dict[int, list[int]] = field(default_factory=dict)
    free: list[int] = field(init=False)
    pending: dict[int, int] = field(default_factory=dict)
    store: list[tuple[int, int]] = field(init=False)
    landed: list[bool] = field(init=False)
    written_last: int = NOBODY

    def __post_init__(self) -> None:
        self.free = list(range(self.given["blocks"]))
        self.store = [(NOBODY, 0)] * self.given["capacity"]
        self.landed = [False] * self.given["capacity"]
        self._about = {about["id"]: about for about in self.given["sequences"]}

    def step(self, action: str, choices: Mapping[str, Any]) -> None:
        """Takes one action. Impossible if its condition does not hold."""
        getattr(self, action.replace("-", "_"))(**choices)

    # ---- actions

    def allocate(self, actor: int) -> None:
        _need(actor not in self.drafter, "the sequence is new")
        self.holders[actor] = Holder(table=actor, length=self._about[actor]["prompt_len"], generation=self.ticket)
        self.drafter[actor], self.blocks[actor] = {}, []
        self.ticket += 1
        self.stamp = {"owner": 0, "lo": 0, "hi": 0}
        self.written_last = NOBODY

    def draw_ticket(self) -> None:
        self.ticket += 1

    def write_chunk(self, actor: int, start: int, count: int) -> None:
        me = self._running(actor)
        _need(start + count <= me.length, "the chunk is of its tokens")
        if count == 0 or start + count > self.given["capacity"]:
            return
        arguments = {"cur": self.stamp, "writer_gen": me.generation, "start": start, "count": count}
        self.stamp = dict(self.run("stamped_merge", arguments))
        if start == 0:
            self.capture = {"owner": me.generation or 0, "length": count}
        elif self.capture["owner"] == me.generation and self.capture["length"] == start:
            self.capture["length"] = start + count
        for position in range(start, start + count):
            self.store[position] = (actor, position)
            self.landed[position] = False
        self.written_last = actor

    def land(self) -> None:
        self.landed = [True] * len(self.landed)
        self.pending.clear()

    def cold_build(self, actor: int, draws: Blocks = (), writes: Blocks = ()) -> None:
        me = self._first_proposal(actor)
        keys = self._about[actor]["prompt_len"] - 1
        low, high = self._visible(me)
        _need(me.rows == 0 and keys > 0, "it has no rows, and the prompt has keys")
        _need(low == 0 and keys <= high, "it sees the hidden rows of all keys")
        _need(self._wait_for_store(range(keys)), "what it reads has landed")
        self._free(SLOT)
        self._take_blocks(me, draws, writes)
        self._make_rows(actor, range(keys), self._hidden)

    def adopt_append(self, actor: int, draws: Blocks = (), writes: Blocks = ()) -> None:
        me, adopted, plan, seen = self._adopting(actor)
        if plan is None:
            raise Impossible("there is something to append")
        _need(self._wait_for_store(range(*seen)), "what it reads has landed")
        self._adopt(actor, adopted)
        self._take_blocks(me, draws, writes)
        self._make_rows(actor, range(plan["first_key"], plan["first_key"] + plan["rows"]), self._hidden)

    def adopt_only(self, actor: int) -> None:
        _, adopted, plan, _ = self._adopting(actor)
        _need(plan is None, "nothing is appended")
        self._adopt(actor, adopted)

    def refuse(self, actor: int) -> None:
        me = self._first_proposal(actor)
        usable = self._usable(actor)
        _need(usable is None or me.rows > 0, "the entry is of no use")
        self._free(SLOT)

    def decode(self, actor: int, draws: Blocks = (), writes: Blocks = ()) -> None:
        me = self._running(actor)
        _need(me.length > 0, "there is a token before")
        self._take_blocks(me, draws, writes)
        key = me.length - 1
        self._make_rows(actor, range(key, key + 1), lambda position: (actor, position))
        me.length += 1

    def draft(self, actor: int, draws: Blocks = (), writes: Blocks = ()) -> None:
        me = self._running(actor)
        _need(me.rows > 0, "it has rows")
        self._take_blocks(me, draws, writes)
        key = me.last_key + 1 + me.extent - me.rows
        self.drafter[me.table][me.extent] = Row(key=key, maker=NOBODY, hidden_from=NOBODY, hidden_at=NOBODY)
        me.extent += 1

    def deposit(self, actor: int) -> None:
        me = self._running(actor)
        _need(me.rows > 0 and self._armed(), "it has rows and the carry is armed")
        self._free(SLOT)
        del self.holders[actor]
        self.holders[SLOT] = Holder(
            table=me.table,
            length=me.length,
            rows=me.rows,
            extent=me.rows,
            last_key=me.last_key,
            source=actor,
            session_hash=self._about[actor]["session_hash"],
        )

    def abort(self, actor: int) -> None:
        self._running(actor)
        self._free(actor)

    # ---- what actions share

    def _running(self, actor: int) -> Holder:
        _need(actor != SLOT and actor in self.holders, "the actor runs")
        return self.holders[actor]

    def _first_proposal(self, actor: int) -> Holder:
        me = self._running(actor)
        _need(me.length == self._about[actor]["prompt_len"], "it has emitted nothing")
        return me

    def _armed(self) -> bool:
        arguments = {"cfg": self.given["cfg"], "multi_seq": self.given["multi_seq"]}
        return bool(self.run("carry_armed_with", arguments))

    def _visible(self, me: Holder) -> tuple[int, int]:
        low, high = self.run("visible_to", {"self": self.stamp, "reader_gen": me.generation})
        return low, high

    def _usable(self, actor: int) -> tuple[int, int] | None:
        _need(self._armed() and SLOT in self.holders, "the carry is armed and there is an entry")
        entry, about = self.holders[SLOT], self._about[actor]
        self_ = {
            "rows": entry.rows,
            "last_pair_key": entry.last_key if entry.rows > 0 else None,
            "tokens": self._about[entry.source]["tokens"][: entry.length],
            "session_hash": entry.session_hash,
        }
        prompt = about["tokens"][: about["prompt_len"]]
        usable = self.run("usable_by", {"self": self_, "prompt": prompt, "session_hash": about["session_hash"]})
        return None if usable is None else (usable[0], usable[1])

    def _adopting(self, actor: int) -> tuple[Holder, tuple[int, int], Mapping[str, int] | None, tuple[int, int]]:
        me = self._first_proposal(actor)
        usable = self._usable(actor)
        _need(me.rows == 0, "the actor has no rows")
        if usable is None:
            raise Impossible("some rows are usable")
        low, high = seen = self._visible(me)
        plan = self.run(
            "plan_append",
            {
                "last_pair_key": usable[1],
                "prompt_len": self._about[actor]["prompt_len"],
                "hidden_lo": low,
                "hidden_hi": high,
            },
        )
        return me, usable, plan, seen

    def _adopt(self, actor: int, adopted: tuple[int, int]) -> None:
        entry, me = self.holders.pop(SLOT), self.holders[actor]
        me.table = entry.table
        me.rows = me.extent = adopted[0]
        me.last_key = adopted[1]

    def _free(self, holder: int) -> None:
        leaving = self.holders.get(holder)
        if leaving is None:
            return
        _need(self._wait_for_blocks(leaving), "no write to its blocks is under way")
        del self.holders[holder]
        self.free += self.blocks[leaving.table]
        self.blocks[leaving.table] = []

    def _wait_for_store(self, rows: range) -> bool:
        return all(self.landed[p] for p in rows)

    def _wait_for_blocks(self, leaving: Holder) -> bool:
        return not any(b in self.pending for b in self.blocks[leaving.table])

    def _take_blocks(self, me: Holder, draws: Blocks, writes: Blocks) -> None:
        for b in draws:
            if b in self.free:
                self.free.remove(b)
                self.blocks[me.table].append(b)
        for b in writes:
            if b in self.blocks[me.table]:
                self.pending[b] = me.table

    def _hidden(self, row: int) -> tuple[int, int]:
        writer, position = self.store[row]
        return (writer if self.landed[row] else NOBODY), position

    def _make_rows(self, actor: int, keys: range, hidden: Callable[[int], tuple[int, int]]) -> None:
        me = self.holders[actor]
        for key in keys:
            whose, position = hidden(key)
            self.drafter[me.table][me.rows] = Row(key=key, maker=actor, hidden_from=whose, hidden_at=position)
            me.rows += 1
            me.last_key = key
        me.extent = me.rows

    # ---- what can be seen from outside

    def snapshot(self) -> dict[str, Any]:
        """The state, in the form of a trace's snapshots."""
        counts = {t: [self.blocks[t].count(b) for b in range(self.given["blocks"])] for t in self.blocks}
        return {
            "ticket": self.ticket,
            "stamp": dict(self.stamp),
            "capture": dict(self.capture),
            "store": [[*cell, landed] for cell, landed in zip(self.store, self.landed, strict=True)],
            "holders": {str(h): self._told(h) for h in sorted(self.holders)},
            "free": [self.free.count(b) for b in range(self.given["blocks"])],
            "tables": {str(t): c for t, c in sorted(counts.items()) if any(c)},
            "pending": [self.pending.get(b, NOBODY) for b in range(self.given["blocks"])],
        }

    def _told(self, h: int) -> dict[str, Any]:
        holder = self.holders[h]
        told: dict[str, Any] = {"table": holder.table, "rows": holder.rows, "length": holder.length}
        if h != SLOT:
            told["generation"] = holder.generation
        if holder.rows > 0:
            told["last_key"] = holder.last_key
        if h == SLOT:
            told |= {"source": holder.source, "session_hash": holder.session_hash}
        return told | {"drafter": [asdict(self.drafter[holder.table][r]) for r in range(holder.extent)]}

    def harms(self) -> set[tuple[str, tuple[int, ...]]]:
        """Everything that is wrong in this state: the name of what should hold, and the identities for which it does not."""
        return {*self._row_harms(), *self._block_harms(), *self._store_harms()}

    def _row_harms(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        for h, holder in self.holders.items():
            text = self._about[holder.source if h == SLOT else h]
            for r in range(holder.rows):
                row = self.drafter[holder.table][r]
                made = self._about.get(row.maker)
                needed = range(row.key + 2)
                if made is None or made["session"] != text["session"]:
                    yield from ((name, place) for name, place in _foreign(h, r, needed, session=True))
                for i in needed:
                    if made is None or made["tokens"][i] != text["tokens"][i]:
                        yield from ((name, place) for name, place in _foreign(h, r, range(i, i + 1), session=False))
                if h != SLOT and made is not None and _content(made, row.key) != _content(text, row.key):
                    yield ("rows-are-what-their-holder-would-make", (h, r))
                if (row.hidden_from, row.hidden_at) != (row.maker, row.key):
                    yield ("every-row-read-is-its-writers", (h, r))

    def _block_harms(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        lists = Counter(self.free)
        for h, holder in self.holders.items():
            lists.update(self.blocks[holder.table])
            for b in self.blocks[holder.table]:
                if self.pending.get(b, holder.table) != holder.table:
                    yield ("no-write-reaches-another-owner", (h, b))
        for b in range(self.given["blocks"]):
            if lists[b] != 1:
                yield from (("every-block-has-one-owner", (h, b)) for h in range(len(self._about) + 1))
            if b in self.pending and b in self.free:
                yield from (("no-write-reaches-another-owner", (h, b)) for h in range(len(self._about) + 1))

    def _store_harms(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        writer = self.holders.get(self.written_last)
        if writer is not None and self.stamp["owner"] != writer.generation:
            yield ("a-right-to-read-is-not-lost-silently", ())


def _content(about: Mapping[str, Any], key: int) -> tuple[int, int]:
    """What goes into the row of a key that this sequence makes."""
    return about["hidden"][key], about["tokens"][key + 1]


def _foreign(h: int, r: int, positions: range, *, session: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A row that is not the holder's own, under the names that the laws have for it."""
    for i in positions:
        if h != SLOT:
            yield ("no-foreign-rows", (h, r, i))
        if not session:
            yield ("rows-agree", (h, r, i))


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise Impossible(what)
