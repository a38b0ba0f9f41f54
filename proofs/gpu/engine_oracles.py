"""Verify steps beside an oracle that has no graph cache: which words of real memory come out otherwise.

Two oracles: the same batch run eagerly, and each member of it run alone, one launch after another. The cache is right if
after every step all memory is that of the oracle, to the bit: every slot, the outputs, and outputs handed out earlier and
still held. Leaves out: which batches, and which faults (engine_graphs.py).
"""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from impl.engine.graphs import Batch, Dispatch, Gate, How, Ran, Rules, VerifyEngine
from impl.engine.verify_step import DEEPEST, Memory, Shape, runner_on

HELD = 3
"""So many steps' outputs are held at a time."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where engines run: the array module, and whether NumPy arrays go through the host's build of the kernels."""

    xp: Any = np
    host_kernels: bool = False

    @property
    def on_device(self) -> bool:
        """Whether memory is a device's."""
        return self.xp is not np

    @property
    def name(self) -> str:
        """What it is, for people."""
        return "graphs of the device" if self.on_device else "host kernels" if self.host_kernels else "array expressions"

    def engine(self, shape: Shape, *, rules: Rules | None = None, gate: Gate | None = None, cap: int = 32) -> VerifyEngine:
        """Return an engine on fresh memory."""
        memory = Memory(shape, self.xp)
        runner = runner_on(memory, host_kernels=self.host_kernels)
        return VerifyEngine(memory, runner, gate=gate or Gate(), rules=rules or Rules(), cap=cap)


@dataclass(frozen=True, kw_only=True)
class Step:
    """What is asked: a batch, and the tokens of its members, uint32 (members, DEEPEST)."""

    batch: Batch
    tokens: Any


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a run came to. hows: how its steps ran. fewest, most: launches of a step.

    first: the first step after which memory is wrong, with the words that are, by rows of the pool (`rows`), in the
    outputs of that step (`outputs`), and in outputs that were held (`held`). The run ends there.
    """

    steps: int
    hows: Counter[How]
    fewest: int
    most: int
    first: int | None = None
    rows: dict[int, int]
    outputs: int = 0
    held: int = 0

    @property
    def broken(self) -> int:
        """How many words are wrong."""
        return sum(self.rows.values()) + self.outputs + self.held

    @property
    def told(self) -> str:
        """The run in a few words."""
        ran = ", ".join(f"{self.hows[how]} {how.value}" for how in How if self.hows[how])
        return f"{ran}; {self.fewest} to {self.most} launches a step"


def run(engine: VerifyEngine, oracle: VerifyEngine, steps: Iterable[Step | tuple[Dispatch, Any]], *, alone: bool = False) -> Found:
    """Run steps on both, compare after each, and stop at the first difference.

    oracle: an engine of the same shape and place, whose cache is not used; `alone`: it runs each member by itself. A step
    may be given as a dispatch, which both take as it is, each with the key that its own rules give.
    """
    hows: Counter[How] = Counter()
    launched: list[int] = []
    holding: deque[tuple[int, Any]] = deque()
    done = 0
    for step in steps:
        done += 1
        if isinstance(step, Step):
            tokens = step.tokens
            ((asked,), (right,)) = engine.plan([step.batch]), oracle.plan([step.batch])
        else:
            ordered, tokens = step
            ((asked,), (right,)) = engine.keyed([ordered]), oracle.keyed([ordered])
        ran = engine.step(asked, tokens)
        hows[ran.how] += 1
        launched.append(ran.launched)
        outputs = _each_alone(oracle, right, tokens) if alone else _eagerly(oracle, right, tokens)
        rows = _wrong_rows(engine.memory, oracle.memory)
        wrong = differing(engine.memory.outputs[: len(outputs)][_mask(right, outputs)], outputs[_mask(right, outputs)])
        held = sum(differing(engine.memory.blocks[block], kept) for block, kept in holding)
        held += differing(engine.memory.blocks[ran.block, : engine.memory.outputs.size], engine.memory.outputs.reshape(-1))
        if rows or wrong or held:
            return Found(
                steps=done, hows=hows, fewest=min(launched), most=max(launched), first=done - 1, rows=rows, outputs=wrong, held=held
            )
        holding.append((ran.block, engine.memory.blocks[ran.block].copy()))
        if len(holding) > HELD:
            engine.release(holding.popleft()[0])
    for block, _ in holding:
        engine.release(block)
    return Found(steps=done, hows=hows, fewest=min(launched, default=0), most=max(launched, default=0), rows={})


def _eagerly(oracle: VerifyEngine, dispatch: Dispatch, tokens: Any) -> Any:
    oracle.release(oracle.eager(dispatch, tokens).block)
    return oracle.memory.outputs[: len(dispatch.depths)]


def _each_alone(oracle: VerifyEngine, dispatch: Dispatch, tokens: Any) -> Any:
    """The outputs of every position, each from a batch of one; the oracle's own outputs are those of the last."""
    found = []
    for position, member in enumerate(dispatch.order):
        one = replace(
            dispatch,
            order=(member,),
            members=(dispatch.members[position],),
            slots=(dispatch.slots[position],),
            depths=(dispatch.depths[position],),
            key=(),
        )
        ran: Ran = oracle.eager(one, tokens)
        oracle.release(ran.block)
        found.append(oracle.memory.outputs[0].copy())
    return oracle.memory.xp.stack(found)


def _mask(dispatch: Dispatch, outputs: Any) -> Any:
    """Which rows of the outputs a step has written: bool (positions, DEEPEST)."""
    written = np.arange(DEEPEST)[None, :] < np.array(dispatch.depths)[:, None]
    return written if isinstance(outputs, np.ndarray) else _moved(written)


def _moved(array: Any) -> Any:
    import cupy

    return cupy.asarray(array)


def differing(one: Any, other: Any) -> int:
    """Return how many words of two arrays of one module differ in their bits."""
    return int((one.view(np.uint32) != other.view(np.uint32)).sum())


def _wrong_rows(one: Memory, other: Memory) -> dict[int, int]:
    counts = (one.pool.view(np.uint32) != other.pool.view(np.uint32)).sum(axis=1).tolist()
    return {row: count for row, count in enumerate(counts) if count}


@functools.cache
def arrangements(width: int, kept: int, drafts: int = 3) -> tuple[tuple[int, ...], ...]:
    """Every way to spread `kept` rows over the members, each at least one and at most `drafts`, and one more row each."""
    if width == 0:
        return ((),) if kept == 0 else ()
    return tuple(
        (2 + here, *rest) for here in range(min(drafts - 1, kept) + 1) for rest in arrangements(width - 1, kept - here, drafts)
    )


def drawn_tokens(random: np.random.Generator, width: int, shape: Shape) -> Any:
    """Tokens for the members of a batch."""
    return random.integers(0, shape.vocabulary, (width, DEEPEST)).astype(np.uint32)


def drawn(shape: Shape, depths: Sequence[tuple[int, ...]], count: int, seed: int, *, worlds: int = 2) -> list[Step]:
    """Steps over batches of these depths, on `worlds` sets of slots, with tables and without.

    Every other step asks for the batch before it again, with other sequences in its slots, and with other tokens.
    """
    random = np.random.default_rng(seed)
    width = len(depths[0])

    def some() -> tuple[int, ...]:
        return tuple(random.permutation(shape.slots)[:width].tolist())

    sets = [some() for _ in range(worlds)]
    steps: list[Step] = []
    for number in range(count):
        slots, ks = sets[int(random.integers(worlds))], depths[int(random.integers(len(depths)))]
        batch = Batch(members=some(), slots=slots, ks=ks, wy_tables_null=bool(random.integers(2)))
        if number % 2:
            batch = replace(steps[-1].batch, members=some())
        steps.append(Step(batch=batch, tokens=drawn_tokens(random, width, shape)))
    return steps
