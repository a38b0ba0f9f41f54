"""The cache of captured verify steps: which batch is captured, which replays a capture, and what a capture bakes.

Every decision is a call of a rule of `impl.batched`: the gate, the dispatch order, the deal of the depths, the key. A fault
is another function in `Rules`; nothing else changes. Captures are kept by key, the least recently used goes, and each owns
the workspace whose address it baked. A batch with a member that has no slot runs eagerly.

Leaves out: what the launches compute (`verify_step`). Source: DESIGN 1b. Twin: `proofs.traces.graphs`.
"""

from __future__ import annotations

import enum
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import impl.batched as batched
from impl.batched import Ragged, Status
from impl.engine.verify_step import DEEPEST, WIDEST, Captured, Launch, Memory, Runner, launches

ABSENT_SLOT = 2**64 - 1
"""The slot of a member that has none."""

CAP = 32
"""How many captures are kept."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A verify batch as it is asked for. members: sequences, below the memory's slots. slots: a slot of each, or ABSENT_SLOT.

    ks: rows that each may verify, 1 to DEEPEST. wy_tables_null: whether the step runs without WY tables.
    """

    members: tuple[int, ...]
    slots: tuple[int, ...]
    ks: tuple[int, ...]
    wy_tables_null: bool = False


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """A batch in dispatch order. order: which member of the batch stands at each position. depths: rows verified there."""

    order: tuple[int, ...]
    members: tuple[int, ...]
    slots: tuple[int, ...]
    depths: tuple[int, ...]
    wy_tables_null: bool
    key: tuple[int, ...]

    @property
    def slotted(self) -> bool:
        """Whether every member has a slot."""
        return ABSENT_SLOT not in self.slots


def row_of(memory: Memory, member: int, slot: int) -> int:
    """Return the row of the pool that launches use for a member: its slot's, or without one memory of its own."""
    return memory.shape.slots + member if slot == ABSENT_SLOT else slot


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What decides. The defaults are the rules; a fault is another function, or another answer, in one field."""

    permutation: Callable[..., Any] = batched.verify_batch_permutation
    order: Callable[..., Any] = batched.verify_batch_order
    key: Callable[..., Any] = batched.verify_graph_key
    gate: Callable[..., Any] = batched.canonical_assignment_at
    min_width: Callable[..., Any] = batched.min_width_from_env
    row: Callable[[Memory, int, int], int] = row_of
    """The row whose address is baked for a member."""
    captures_slotless: bool = False
    owns_workspace: bool = True
    """A capture keeps the workspace that it baked. Otherwise that is given back as soon as the step has run."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What the gate is told. min_width: the environment's value as bytes, None where it is not set. killed: the kill switch."""

    min_width: bytes | None = None
    killed: bool = False


class How(enum.Enum):
    """How a step ran."""

    EAGER = "eager"
    CAPTURED = "captured"
    REPLAYED = "replayed"


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How a step ran, the block that holds its outputs until it is released, and the seconds of capture and of the step.

    launched: how many launches it was.
    """

    how: How
    block: int
    launched: int
    capture_seconds: float
    step_seconds: float


@dataclass(frozen=True, kw_only=True)
class _Entry:
    captured: Captured
    workspace: int
    launched: int


_OPEN, _RULES = Gate(), Rules()


class VerifyEngine:
    """Runs verify batches on a memory. One step at a time; a step has run when `step` returns.

    Errors of its methods: ValueError for a batch that does not fit the memory, named; MemoryError without a free block.
    """

    def __init__(self, memory: Memory, runner: Runner, *, gate: Gate = _OPEN, rules: Rules = _RULES, cap: int = CAP) -> None:
        if cap < 1:
            raise ValueError(f"VerifyEngine: cap={cap} keeps no capture; pass at least 1")
        self.memory, self.rules = memory, rules
        self._runner, self._cap = runner, cap
        self._entries: OrderedDict[tuple[int, ...], _Entry] = OrderedDict()
        self._eager = memory.take()
        raw = Ragged.from_rows([np.frombuffer(gate.min_width or b"", np.uint8)], np.uint8)
        self._least = rules.min_width(raw, np.array([gate.min_width is not None]))
        self._clear = np.array([not gate.killed])

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The keys of the captures kept, the least recently used first."""
        return tuple(self._entries)

    def plan(self, batches: Sequence[Batch]) -> list[Dispatch]:
        """Return batches in dispatch order with their keys: one call of each rule for all of them."""
        for batch in batches:
            self._check(batch)
        slots = Ragged.from_rows([batch.slots for batch in batches], np.uint64)
        ks = Ragged.from_rows([batch.ks for batch in batches], np.uint64)
        widths = np.array([len(batch.slots) for batch in batches], np.uint64)
        canonical = self.rules.gate(widths, self._least, self._clear)
        _, permuted = self.rules.permutation(slots, ks, canonical)
        orders = self.rules.order(slots, ks, canonical)
        if refused := np.flatnonzero(orders.status != Status.OK).tolist():
            raise ValueError(f"plan: {batches[refused[0]]} has not one k for each slot; pass as many of both")
        ends = slots.offsets.tolist()
        ordered = []
        for batch, begin, end in zip(batches, ends, ends[1:], strict=False):
            order = permuted[begin:end].tolist()
            ordered.append(
                Dispatch(
                    order=tuple(order),
                    members=tuple(batch.members[m] for m in order),
                    slots=tuple(batch.slots[m] for m in order),
                    depths=tuple(orders.depths[begin:end].tolist()),
                    wy_tables_null=batch.wy_tables_null,
                    key=(),
                )
            )
        return self.keyed(ordered)

    def keyed(self, ordered: Sequence[Dispatch]) -> list[Dispatch]:
        """Return batches that are in dispatch order already with their keys. A slot keeps 32 bits in a key (A7)."""
        rows = [np.array([d.slots, d.depths], np.uint64).T.astype(np.uint32) for d in ordered]
        keys = self.rules.key(Ragged.from_rows(rows, np.uint32), np.array([d.wy_tables_null for d in ordered], np.bool_))
        words, ends = keys.data.tolist(), keys.offsets.tolist()
        return [
            Dispatch(
                order=d.order,
                members=d.members,
                slots=d.slots,
                depths=d.depths,
                wy_tables_null=d.wy_tables_null,
                key=tuple(words[begin:end]),
            )
            for d, begin, end in zip(ordered, ends, ends[1:], strict=False)
        ]

    def step(self, dispatch: Dispatch, tokens: Any) -> Ran:
        """Run a batch. tokens: uint32 (members, DEEPEST), NumPy, in the order of the batch; below the vocabulary.

        Captured under its key if that is not kept, replayed from what is kept otherwise; eager where a member has no slot.
        """
        if not dispatch.slotted and not self.rules.captures_slotless:
            return self.eager(dispatch, tokens)
        started = time.perf_counter()
        entry, how = self._entries.get(dispatch.key), How.REPLAYED
        if entry is None:
            entry, how = self._captured(dispatch), How.CAPTURED
        self._entries.move_to_end(dispatch.key)
        captured = time.perf_counter()
        self._runner.stage(self.memory, tokens[list(dispatch.order)])
        entry.captured.launch()
        if how is How.CAPTURED and not self.rules.owns_workspace:
            self.memory.give(entry.workspace)
        return self._kept(how, entry.launched, captured - started, captured)

    def eager(self, dispatch: Dispatch, tokens: Any) -> Ran:
        """Run a batch without the cache. tokens: as for `step`."""
        started = time.perf_counter()
        work = self._work(dispatch, self._eager)
        self._runner.stage(self.memory, tokens[list(dispatch.order)])
        self._runner.play(work)
        return self._kept(How.EAGER, len(work), 0.0, started)

    def evict(self, key: tuple[int, ...]) -> None:
        """Drop the capture of a key, and give its workspace back. Errors: KeyError where there is none."""
        entry = self._entries.pop(key)
        if self.rules.owns_workspace:
            self.memory.give(entry.workspace)

    def release(self, block: int) -> None:
        """Give the outputs of a step back."""
        self.memory.give(block)

    def _kept(self, how: How, launched: int, capture_seconds: float, started: float) -> Ran:
        block = self.memory.take()
        self._runner.keep(self.memory, block)
        self._runner.wait()
        seconds = time.perf_counter() - started
        return Ran(how=how, block=block, launched=launched, capture_seconds=capture_seconds, step_seconds=seconds)

    def _captured(self, dispatch: Dispatch) -> _Entry:
        if len(self._entries) == self._cap:
            self.evict(next(iter(self._entries)))
        workspace = self.memory.take()
        work = self._work(dispatch, workspace)
        entry = _Entry(captured=self._runner.capture(work), workspace=workspace, launched=len(work))
        self._entries[dispatch.key] = entry
        return entry

    def _work(self, dispatch: Dispatch, workspace: int) -> tuple[Launch, ...]:
        rows = [self.rules.row(self.memory, *at) for at in zip(dispatch.members, dispatch.slots, strict=True)]
        pointers = [self.memory.row(row) for row in rows]
        return launches(self.memory, self.memory.workspace(workspace), pointers, dispatch.depths, dispatch.wy_tables_null)

    def _check(self, batch: Batch) -> None:
        slots = self.memory.shape.slots
        if len(batch.members) != len(batch.slots) or not 1 <= len(batch.slots) <= WIDEST:
            raise ValueError(f"plan: {batch} has not 1 to {WIDEST} members with a slot each; pass such a batch")
        if any(slot != ABSENT_SLOT and slot >= slots for slot in batch.slots) or any(m >= slots for m in batch.members):
            raise ValueError(f"plan: {batch} names a slot or a sequence that is not below {slots}; pass numbers below it")
        if not all(1 <= k <= DEEPEST for k in batch.ks):
            raise ValueError(f"plan: ks={batch.ks} are not from 1 to {DEEPEST}; pass depths that a step has")
