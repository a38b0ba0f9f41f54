"""The two system models as the search sees them: what varies, how far, what a run is given, and what of a state is told.

A setting joins a model module with a scope. It bounds every identity and number, says which data of a run are fixed, orders
the identities (so that runs that differ by a renaming are searched once) and gives the sizes that a minimal run keeps small.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import z3

from spec.system import BLOCK, HOLDER, NOBODY, POSITION, ROW, SLOT, TABLE
from spec.system_graphs import BATCH, PLACE
from spec.system_laws import Law

Read = Any
"""Gives the concrete value of a term in the state or step at hand."""


class Setting(ABC):
    """One system model in one scope."""

    model: ModuleType

    @property
    @abstractmethod
    def longest(self) -> int:
        """The greatest length of a sequence that a rule is asked about."""

    @abstractmethod
    def extent(self, kind: str) -> range:
        """The identities of this kind."""

    @abstractmethod
    def chosen(self) -> Mapping[str, range]:
        """The numbers that an action may choose, by name."""

    @abstractmethod
    def given(self) -> Mapping[str, Sequence[range]]:
        """The functions that never change in a run, each with the arguments that matter."""

    @abstractmethod
    def fixed(self) -> Iterator[z3.BoolRef]:
        """What holds of the data of a run."""

    @abstractmethod
    def inside(self, state: Any) -> Iterator[z3.BoolRef]:
        """The state lies in the scope, its identities in order."""

    @abstractmethod
    def actors(self, state: Any) -> Sequence[z3.BoolRef]:
        """For each sequence or batch in order whether the run has used it."""

    @abstractmethod
    def sizes(self, state: Any) -> Iterator[z3.ArithRef | z3.BoolRef]:
        """The data of a run that a minimal one keeps small."""

    @abstractmethod
    def told(self, read: Read) -> dict[str, Any]:
        """The data of a run."""

    @abstractmethod
    def retold(self, given: Mapping[str, Any]) -> Iterator[tuple[z3.ExprRef, Any]]:
        """The terms of the data of a run, with the values that `given` has for them."""

    @abstractmethod
    def snapshot(self, state: Any, read: Read) -> dict[str, Any]:
        """The state, in the form in which the twins tell theirs."""

    def instances(self, law: Law) -> Iterator[tuple[int, ...]]:
        """Every choice of identities for a law."""
        yield from itertools.product(*[self.extent(kind) for kind in law.over])

    def cells(self, state: Any) -> Iterator[tuple[str, z3.ExprRef]]:
        """Every part of a state, with the name of its field."""
        for field, (over, _) in self.model.SHAPES.items():
            for place in itertools.product(*[self.extent(kind) for kind in over]):
                yield field, getattr(state, field)(*map(z3.IntVal, place))
        for field in self.model.NUMBERS:
            yield field, getattr(state, field)
        for field, parts in self.model.RECORDS.items():
            yield from ((field, getattr(state, field).fields[part]) for part in parts)


@dataclass(frozen=True, kw_only=True)
class Carry(Setting):
    """The carry with so many sequences, rows a table, rows in the hidden store, tokens a sequence, and blocks."""

    model: ModuleType
    sequences: int = 2
    rows: int = 2
    positions: int = 2
    tokens: int = 4
    blocks: int = 1
    contents: bool = False
    """What the hidden states are varies too, as far as tokens do not decide it (A3)."""

    @property
    def longest(self) -> int:
        return self.tokens

    def extent(self, kind: str) -> range:
        return {
            HOLDER: range(self.sequences + 1),
            TABLE: range(1, self.sequences + 1),
            ROW: range(self.rows),
            POSITION: range(max(self.positions, self.tokens)),
            BLOCK: range(self.blocks),
        }[kind]

    def chosen(self) -> Mapping[str, range]:
        # A chunk may be empty, and may pass the store's capacity by one.
        return {"actor": self.extent(TABLE), "start": range(self.positions + 1), "count": range(self.positions + 2)}

    def given(self) -> Mapping[str, Sequence[range]]:
        sequences, tokens = self.extent(TABLE), range(self.tokens + 1)
        return {
            "token": (sequences, tokens),
            "hidden": (sequences, tokens),
            "session": (sequences,),
            "prompt_len": (sequences,),
            "hash_of": (range(1, self.sequences + 1),),
        }

    def fixed(self) -> Iterator[z3.BoolRef]:
        yield self.model.capacity() == self.positions
        yield z3.Int("blocks") == self.blocks
        for s in self.extent(TABLE):
            yield z3.And(0 <= self.model.prompt_len(s), self.model.prompt_len(s) <= self.tokens)
            yield z3.And(1 <= self.model.session(s), self.model.session(s) <= s)
            for i in range(self.tokens + 1):
                yield z3.And(0 <= self.model.token(s, i), self.model.token(s, i) <= 1)
                yield z3.And(0 <= self.model.hidden(s, i), self.model.hidden(s, i) <= int(self.contents))
            yield z3.And(0 <= self.model.hash_of(s), self.model.hash_of(s) <= self.sequences)
            for other in range(1, s if self.contents else 1):
                yield from (self.model.tokens_decide(z3.IntVal(s), z3.IntVal(other), k) for k in range(self.tokens))

    def inside(self, state: Any) -> Iterator[z3.BoolRef]:
        for h in self.extent(HOLDER):
            yield z3.And(state.extent(h) <= self.rows, state.length(h) <= self.tokens)
        for s in range(2, self.sequences + 1):
            yield z3.Implies(state.born(s), state.born(s - 1))

    def actors(self, state: Any) -> Sequence[z3.BoolRef]:
        return [state.born(s) for s in self.extent(TABLE)]

    def sizes(self, state: Any) -> Iterator[z3.ArithRef | z3.BoolRef]:
        for s in self.extent(TABLE):
            yield from (self.model.prompt_len(s), self.model.session(s), self.model.hash_of(s))
            yield from (self.model.token(s, i) for i in range(self.tokens + 1))
            yield from (self.model.hidden(s, i) for i in range(self.tokens + 1))

    def told(self, read: Read) -> dict[str, Any]:
        cfg, multi_seq = self.model.configuration()
        sequences = [
            {
                "id": s,
                "session": read(self.model.session(z3.IntVal(s))),
                "session_hash": read(self.model.hash_of(self.model.session(z3.IntVal(s)))),
                "prompt_len": read(self.model.prompt_len(z3.IntVal(s))),
                "tokens": [read(self.model.token(z3.IntVal(s), z3.IntVal(i))) for i in range(self.tokens + 1)],
                "hidden": [read(self.model.hidden(z3.IntVal(s), z3.IntVal(i))) for i in range(self.tokens + 1)],
            }
            for s in self.extent(TABLE)
        ]
        config = {"prefill": read(cfg.prefill), "carry": read(cfg.carry)}
        return {
            "sequences": sequences,
            "capacity": self.positions,
            "blocks": self.blocks,
            "cfg": config,
            "multi_seq": read(multi_seq),
        }

    def retold(self, given: Mapping[str, Any]) -> Iterator[tuple[z3.ExprRef, Any]]:
        cfg, multi_seq = self.model.configuration()
        yield from ((cfg.prefill, given["cfg"]["prefill"]), (cfg.carry, given["cfg"]["carry"]))
        yield multi_seq, given["multi_seq"]
        for about in given["sequences"]:
            s = z3.IntVal(about["id"])
            yield from ((self.model.session(s), about["session"]), (self.model.prompt_len(s), about["prompt_len"]))
            yield self.model.hash_of(z3.IntVal(about["session"])), about["session_hash"]
            yield from ((self.model.token(s, z3.IntVal(i)), token) for i, token in enumerate(about["tokens"]))
            yield from ((self.model.hidden(s, z3.IntVal(i)), state) for i, state in enumerate(about["hidden"]))

    def snapshot(self, state: Any, read: Read) -> dict[str, Any]:
        def rows(table: int, extent: int) -> list[dict[str, int]]:
            columns = {"key": state.key, "maker": state.maker, "hidden_from": state.hidden_from, "hidden_at": state.hidden_at}
            at = [(z3.IntVal(table), z3.IntVal(r)) for r in range(extent)]
            return [{column: read(value(*place)) for column, value in columns.items()} for place in at]

        def holder(h: int) -> dict[str, Any]:
            at = z3.IntVal(h)
            table, count = read(state.table(at)), read(state.rows(at))
            told = {"table": table, "rows": count, "length": read(state.length(at))}
            if h != SLOT:
                told["generation"] = read(state.generation(at))
            if count > 0:
                told["last_key"] = read(state.last_key(at))
            if h == SLOT:
                told |= {"source": read(state.source), "session_hash": read(state.entry_hash)}
            return told | {"drafter": rows(table, read(state.extent(at)))}

        positions = [z3.IntVal(p) for p in range(self.positions)]
        blocks = [z3.IntVal(b) for b in self.extent(BLOCK)]
        held = {t: [read(state.holds(z3.IntVal(t), b)) for b in blocks] for t in self.extent(TABLE)}
        return {
            "ticket": read(state.ticket),
            "stamp": {part: read(state.stamp.fields[part]) for part in ("owner", "lo", "hi")},
            "capture": {part: read(state.capture.fields[part]) for part in ("owner", "length")},
            "store": [[read(state.writer(p)), read(state.position(p)), read(state.landed(p))] for p in positions],
            "holders": {str(h): holder(h) for h in self.extent(HOLDER) if read(state.live(z3.IntVal(h)))},
            "free": [read(state.free(b)) for b in blocks],
            "tables": {str(t): counts for t, counts in held.items() if any(counts)},
            "pending": [read(state.pending(b)) for b in blocks],
        }


@dataclass(frozen=True, kw_only=True)
class Graphs(Setting):
    """The graph cache with so many batches of at most so many members, on so many slots."""

    model: ModuleType
    batches: int = 2
    width: int = 2
    slots: int = 2

    @property
    def longest(self) -> int:
        return self.width

    def extent(self, kind: str) -> range:
        return {BATCH: range(1, self.batches + 1), PLACE: range(self.width)}[kind]

    def chosen(self) -> Mapping[str, range]:
        return {"actor": self.extent(BATCH), "earlier": self.extent(BATCH)}

    def given(self) -> Mapping[str, Sequence[range]]:
        batches, places = self.extent(BATCH), self.extent(PLACE)
        words = range(2 * self.width + 1)
        per_place = dict.fromkeys(("member", "slot", "depth", "pointer"), (batches, places))
        return {
            "width": (batches,),
            "tables_null": (batches,),
            **per_place,
            "low_bits": (range(0),),
            "key": (words,),
            "earlier_key": (words,),
        }

    def fixed(self) -> Iterator[z3.BoolRef]:
        for n in self.extent(BATCH):
            yield z3.And(1 <= self.model.width(n), self.model.width(n) <= self.width)
            for p in self.extent(PLACE):
                yield z3.And(0 <= self.model.slot(n, p), self.model.slot(n, p) < self.slots)
                yield z3.And(1 <= self.model.depth(n, p), self.model.depth(n, p) <= 2)
                yield z3.And(0 <= self.model.member(n, p), self.model.member(n, p) <= self.slots)
                yield z3.Implies(p >= self.model.width(n), self.model.pointer(n, p) == 0)
                # No two members of one batch share a slot or are one sequence.
                for q in range(p):
                    both = p < self.model.width(n)
                    yield z3.Implies(both, self.model.slot(n, p) != self.model.slot(n, q))
                    yield z3.Implies(both, self.model.member(n, p) != self.model.member(n, q))

    def inside(self, state: Any) -> Iterator[z3.BoolRef]:
        for n in range(2, self.batches + 1):
            yield z3.Implies(state.ran(n) != NOBODY, state.ran(n - 1) != NOBODY)

    def actors(self, state: Any) -> Sequence[z3.BoolRef]:
        return [state.ran(n) != NOBODY for n in self.extent(BATCH)]

    def sizes(self, state: Any) -> Iterator[z3.ArithRef | z3.BoolRef]:
        for n in self.extent(BATCH):
            yield from (self.model.width(n), self.model.tables_null(n))
            for p in self.extent(PLACE):
                yield from (self.model.member(n, p), self.model.slot(n, p), self.model.depth(n, p))

    def told(self, read: Read) -> dict[str, Any]:
        def batch(n: int) -> dict[str, Any]:
            places = range(read(self.model.width(z3.IntVal(n))))
            columns = {"members": self.model.member, "slots": self.model.slot, "depths": self.model.depth}
            at = {c: [read(value(z3.IntVal(n), z3.IntVal(p))) for p in places] for c, value in columns.items()}
            return {"id": n, **at, "wy_tables_null": read(self.model.tables_null(z3.IntVal(n)))}

        return {"batches": [batch(n) for n in self.extent(BATCH)]}

    def retold(self, given: Mapping[str, Any]) -> Iterator[tuple[z3.ExprRef, Any]]:
        columns = {"members": self.model.member, "slots": self.model.slot, "depths": self.model.depth}
        for about in given["batches"]:
            n = z3.IntVal(about["id"])
            yield from ((self.model.width(n), len(about["slots"])), (self.model.tables_null(n), about["wy_tables_null"]))
            for column, value in columns.items():
                yield from ((value(n, z3.IntVal(p)), told) for p, told in enumerate(about[column]))

    def snapshot(self, state: Any, read: Read) -> dict[str, Any]:
        def baked(n: int) -> dict[str, Any]:
            at = z3.IntVal(n)
            places = [z3.IntVal(p) for p in range(read(state.baked_width(at)))]
            return {
                "pointers": [read(state.baked_pointer(at, p)) for p in places],
                "depths": [read(state.baked_depth(at, p)) for p in places],
                "wy_tables_null": read(state.baked_null(at)),
            }

        batches = list(self.extent(BATCH))
        ran = {n: read(state.ran(z3.IntVal(n))) for n in batches}
        return {
            "cached": [n for n in batches if read(state.cached(z3.IntVal(n)))],
            "captures": {str(n): baked(n) for n in batches if ran[n] == n},
            "ran": {str(n): source for n, source in ran.items() if source != NOBODY},
        }
