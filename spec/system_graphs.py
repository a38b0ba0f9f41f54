"""The graph cache as a whole: verify batches that are captured, or replayed from an earlier capture under an equal key.

Models DESIGN 1b around `verify_graph_key`, which enters through the table of `spec.rules`. Batches are identities; each has a
width, and at every position a sequence, its slot and its depth. What a capture baked is recorded when it is made, so that a
replay can be asked whether it is what the replaying batch needs. Shares no state with the carry (`spec.system`).
Leaves out: the order within a batch (`spec.order`), and what the launches compute.
The twin in plain Python is `proofs.traces.graphs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import z3

from spec.machine import ABSENT_SLOT
from spec.scope import every, within
from spec.sorts import KEY, Record, Seq
from spec.system import NOBODY, Act, Each, Num, Shapes, Step, Truth, changed, unknown

BATCH, PLACE = "batch", "place"
"""What an index may be: a batch, a position in one."""

# ---- what is given with a batch -------------------------------------------------------------------------------------------


def _given(name: str, *arguments: Any) -> Num:
    return z3.Function(name, *[z3.IntSort()] * (len(arguments) + 1))(*arguments)


def width(n: Num) -> Num:
    """How many members batch n has."""
    return _given("width", n)


def member(n: Num, p: Any) -> Num:
    """The sequence at position p of batch n."""
    return _given("member", n, p)


def slot(n: Num, p: Any) -> Num:
    """The slot of the member at position p of batch n."""
    return _given("slot", n, p)


def depth(n: Num, p: Any) -> Num:
    """How many rows the member at position p of batch n verifies."""
    return _given("depth", n, p)


def tables_null(n: Num) -> Truth:
    """Whether batch n runs without WY tables."""
    return z3.Function("tables_null", z3.IntSort(), z3.BoolSort())(n)


def pointer(n: Num, p: Any) -> Num:
    """Whose memory the launches of batch n use at position p."""
    return _given("pointer", n, p)


def belongs(name: str, n: Num) -> Each:
    """The memory that the launches of batch n use is that of its members' slots."""
    return Each(
        name=f"what the launches of {name} use is their slots' (A6)",
        over=PLACE,
        says=lambda p: z3.Implies(within(0, p, width(n)), pointer(n, p) == slot(n, p)),
    )


# ---- the state ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class State:
    """Which captures are cached, what they baked, and what each batch ran."""

    cached: Callable[[Num], Truth]
    """The capture of batch n is in the cache."""
    baked_pointer: Callable[[Num, Num], Num]
    baked_depth: Callable[[Num, Num], Num]
    baked_width: Callable[[Num], Num]
    baked_null: Callable[[Num], Truth]
    """The capture of batch n was made without WY tables."""
    ran: Callable[[Num], Num]
    """The batch whose capture batch n ran, or NOBODY."""

    def but(self, **fields: Any) -> State:
        """This state with these fields changed; all others stay as they are."""
        return replace(self, **fields)


SHAPES: Shapes = {
    "cached": ((BATCH,), bool),
    "baked_pointer": ((BATCH, PLACE), int),
    "baked_depth": ((BATCH, PLACE), int),
    "baked_width": ((BATCH,), int),
    "baked_null": ((BATCH,), bool),
    "ran": ((BATCH,), int),
}
NUMBERS: tuple[str, ...] = ()
RECORDS: Mapping[str, tuple[str, ...]] = {}


def any_state(name: str = "") -> State:
    """A state of which nothing is known; its symbols start with `name`."""
    return State(**unknown(name, SHAPES))


def initial_state() -> State:
    """Nothing captured, nothing run."""
    nothing: dict[str, Any] = {
        function: (lambda *_: z3.BoolVal(False)) if gives is bool else (lambda *_: z3.IntVal(NOBODY))
        for function, (_, gives) in SHAPES.items()
    }
    return State(**nothing)


# ---- the actions ----------------------------------------------------------------------------------------------------------


def packed(word: Num) -> Num:
    """What 32 bits keep of a word."""
    return z3.If(word < 2**32, word, _given("low_bits", word))


def fits(name: str, n: Num) -> Each:
    """Nothing is lost when slots and depths of batch n are packed into its key."""
    return Each(
        name=f"slots and depths of {name} fit 32 bits (A7)",
        over=PLACE,
        says=lambda p: z3.Implies(within(0, p, width(n)), z3.And(slot(n, p) < 2**32, depth(n, p) < 2**32)),
    )


def key_of(act: Act, name: str, n: Num) -> tuple[Seq, dict[str, Truth]]:
    """The key of batch n, and the statement that it is."""
    pairs = Seq(
        name=f"{act.name}{name}.pairs",
        length=width(n),
        at=lambda p: Record(fields={"slot": packed(slot(n, p)), "k": packed(depth(n, p))}),
    )
    key: Seq
    key, facts = act.ask(name, "verify_graph_key", pairs, tables_null(n))
    return key, facts


def captured(pre: State, n: Num) -> State:
    """The capture of batch n is cached, with what it baked."""

    def baked(function: Callable[[Num, Num], Num], value: Callable[[Num, Num], Num]) -> Callable[[Num, Num], Num]:
        return lambda m, p: z3.If(m == n, value(n, p), function(m, p))

    return pre.but(
        cached=changed(pre.cached, n, z3.BoolVal(True)),
        baked_pointer=baked(pre.baked_pointer, pointer),
        baked_depth=baked(pre.baked_depth, depth),
        baked_width=changed(pre.baked_width, n, width(n)),
        baked_null=changed(pre.baked_null, n, tables_null(n)),
        ran=changed(pre.ran, n, n),
    )


def capture(pre: State, act: Act) -> Step:
    """A batch whose members all have a slot runs, and its launches are captured under its key."""
    n = act.actor
    slotted = every("p", 0, width(n), lambda p: slot(n, p) != ABSENT_SLOT)
    return Step(
        guard={
            "it is a batch": n > NOBODY,
            "it has not run": pre.ran(n) == NOBODY,
            "every member has a slot": slotted,
        },
        each=(belongs("the batch", n),),
        after=captured(pre, n),
    )


def replay(pre: State, act: Act) -> Step:
    """A batch runs an earlier capture, because the keys are equal."""
    n, c = act.actor, act.number("earlier")
    own, own_facts = key_of(act, "key", n)
    other, other_facts = key_of(act, "earlier_key", c)
    same = every("w", 0, own.length, lambda w: own.at(w) == other.at(w), limit=KEY.longest())
    return Step(
        guard={
            "it is a batch": n > NOBODY,
            "it has not run": pre.ran(n) == NOBODY,
            "the earlier capture is cached": pre.cached(c),
            **own_facts,
            **other_facts,
            "the keys are equal": z3.And(own.length == other.length, same),
        },
        each=tuple(law(name, m) for law in (belongs, fits) for name, m in (("the batch", n), ("the earlier batch", c))),
        after=pre.but(ran=changed(pre.ran, n, c)),
    )


def evict(pre: State, act: Act) -> Step:
    """A capture leaves the cache."""
    n = act.actor
    return Step(guard={"it is cached": pre.cached(n)}, after=pre.but(cached=changed(pre.cached, n, z3.BoolVal(False))))


ACTIONS: Mapping[str, Callable[[State, Act], Step]] = {"capture": capture, "replay": replay, "evict": evict}
"""Every action by its name."""
