"""A lapse shown on a whole small state, and replayed on the twin.

The obligation that refutes a lapse speaks of the identities at hand alone. Here every law holds at every identity of a small
scope, the action is taken with the lapse, and its law is false after it. The twin is then put into that state and takes the same
step, without the lapse: it must come to the state of the right model, which is another, or refuse what the lapse skips.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import z3

import spec.system
import spec.system_graphs
from proofs.faults.lapses import Lapse
from proofs.obligation import World
from proofs.smt import fresh_context
from proofs.traces import graphs, machine
from proofs.traces.machine import Runner
from proofs.traces.settings import Carry, Graphs, Setting
from proofs.traces.trace import Impossible
from spec.rules import RULES
from spec.scope import telling
from spec.system import NOBODY, SLOT, Step
from spec.system_laws import GRAPH_LAWS, GRAPH_SAFETY, LAWS, SAFETY, Law

_RANGES: Mapping[str, tuple[int, str]] = {
    "table": (1, "sequences"),
    "rows": (0, "rows"),
    "extent": (0, "rows"),
    "length": (0, "tokens"),
    "last_key": (0, "tokens"),
    "key": (0, "tokens"),
    "maker": (NOBODY, "sequences"),
    "hidden_from": (NOBODY, "sequences"),
    "hidden_at": (NOBODY, "tokens"),
    "writer": (NOBODY, "sequences"),
    "position": (NOBODY, "tokens"),
    "generation": (0, "tokens"),
    "keeper": (0, "sequences"),
    "home": (1, "sequences"),
    "pending": (NOBODY, "sequences"),
    "ticket": (0, "tokens"),
    "stamper": (NOBODY, "sequences"),
    "source": (1, "sequences"),
    "entry_hash": (0, "sequences"),
}
"""Between what a number of the carry's state lies: the least, and what bounds it."""


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """A step with a lapse in a small scope: the state before, what is chosen, and the states that it should and does come to."""

    given: Mapping[str, Any]
    cells: Mapping[str, Any]
    """By field and place, as `live[0]`, the state before."""
    choices: Mapping[str, Any]
    right: Mapping[str, Any]
    """The snapshot without the lapse."""
    lapsed: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Whether a lapse does its harm in a small scope, and whether the twin, which has no lapse, agrees."""

    confirmed: bool
    reason: str = ""


def law_of(lapse: Lapse) -> Law:
    """The law that is false after it."""
    return (LAWS | SAFETY | GRAPH_LAWS | GRAPH_SAFETY)[lapse.law]


def shown(lapse: Lapse, run: Runner) -> Shown:
    """Looks for an occurrence of the lapse of an action, and replays it; `run` is the code."""
    found = occurrence(lapse)
    if found is None:
        return Shown(confirmed=False, reason="no state of the scope shows it")
    twin = loaded(found, run) if lapse.rule == "system" else _loaded_graphs(found, run)
    before = twin.snapshot()
    if not lapse.action:
        told = before == found.right
        return Shown(confirmed=told, reason="the twin has the state" if told else "the twin cannot hold the state")
    try:
        twin.step(lapse.action, found.choices)
    except (Impossible, KeyError) as refused:
        if lapse.skips:
            return Shown(confirmed=True, reason=f"the twin refuses it: {refused}")
        return Shown(confirmed=False, reason=f"the twin refuses the step: {refused}")
    after = twin.snapshot()
    if lapse.skips and not lapse.loses and not lapse.strays:
        # What is assumed of the world is no check of the engine, so the twin does not miss it.
        if any(f"(A{n}" in condition for condition in lapse.skips for n in (1, 2, 4, 6, 7)):
            return Shown(confirmed=after == found.lapsed, reason="it is assumed of the world")
        return Shown(confirmed=False, reason="the twin takes the step that the lapse alone allows")
    if after != found.right:
        parts = [part for part, value in found.right.items() if after[part] != value]
        return Shown(confirmed=False, reason=f"the twin comes to another state: {parts[0]} from {before[parts[0]]}")
    return Shown(confirmed=True, reason="the twin comes to the right state")


def occurrence(lapse: Lapse) -> Occurrence | None:
    """A step with the lapse, in a state of a scope in which the laws hold, after which its law is false.

    A lapse of no action is a state in which all laws but the forgotten hold, and what follows from them does not.
    """
    if lapse.rule == "system":
        scopes: Iterator[Setting] = (Carry(model=spec.system, sequences=n, rows=3, positions=3, blocks=2) for n in (2, 3))
    else:
        scopes = (Graphs(model=spec.system_graphs, batches=n) for n in (2, 3))
    return next((found for setting in scopes if (found := _occurrence(lapse, setting)) is not None), None)


def _occurrence(lapse: Lapse, setting: Setting) -> Occurrence | None:
    fresh_context()
    model: ModuleType = setting.model
    law, laws = law_of(lapse), LAWS if lapse.rule == "system" else GRAPH_LAWS
    with telling(bound=setting.longest) as block:
        before = model.any_state("before:")
        world = World(table=RULES)
        act = model.Act(world)
        step = model.ACTIONS[lapse.action](before, act) if lapse.action else Step(guard={}, after=before)
        after = lapse.after(model, before, step.after)
        skipped = lapse.spared([*step.guard, *(each.name for each in step.each)]) if lapse.skips else ()
        solver = z3.Solver()
        solver.set("rlimit", 60_000_000)
        for name, other in laws.items():
            if name not in lapse.forgets:
                solver.add(*(other.says(before, *map(z3.IntVal, place)) for place in setting.instances(other)))
        solver.add(*setting.fixed(), *setting.inside(before), *setting.inside(step.after))
        solver.add(*(holds for name, holds in step.guard.items() if name not in skipped))
        for each in step.each:
            if each.name not in skipped:
                solver.add(*(each.says(z3.IntVal(i)) for i in setting.extent(each.over)))
        solver.add(*world.domains.values(), *block.definitions.values())
        solver.add(*_ranged(setting, before), *_chosen(setting, lapse))
        places = [list(map(z3.IntVal, place)) for place in setting.instances(law)]
        if not lapse.skips and not lapse.forgets:
            solver.add(*(law.says(step.after, *place) for place in places))
        solver.add(z3.Or([z3.Not(law.says(after, *place)) for place in places]))
        solver.add(*block.limits)
    if (answer := solver.check()) != z3.sat:
        if answer == z3.unknown:
            raise RuntimeError(f"{lapse.name}: the solver gave up: {solver.reason_unknown()}")
        return None
    found = solver.model()

    def read(term: Any) -> Any:
        value = found.eval(term, model_completion=True)
        return z3.is_true(value) if z3.is_bool(value) else value.as_long()

    return Occurrence(
        given=setting.told(read),
        cells=_cells(setting, before, read),
        choices=_choices(setting, lapse.action, read),
        right=setting.snapshot(step.after, read),
        lapsed=setting.snapshot(after, read),
    )


def _ranged(setting: Setting, state: Any) -> Iterator[z3.BoolRef]:
    """Every number of the state lies in the scope, so that the twin can hold it."""
    if not isinstance(setting, Carry):
        assert isinstance(setting, Graphs)
        for field, cell in setting.cells(state):
            if field == "ran":
                yield z3.And(z3.Or(cell == NOBODY, cell >= 1), cell <= setting.batches)
            elif field == "baked_width":
                yield z3.And(0 <= cell, cell <= setting.width)
        return
    yield z3.And(z3.Not(state.born(z3.IntVal(NOBODY))), setting.model.session(z3.IntVal(NOBODY)) == NOBODY)
    for field, cell in setting.cells(state):
        if field in _RANGES:
            least, bound = _RANGES[field]
            yield z3.And(least <= cell, cell <= getattr(setting, bound))
            if field in ("maker", "pending"):
                yield cell != SLOT
        elif field in ("stamp", "capture"):
            yield z3.And(0 <= cell, cell <= setting.positions)
        elif field in ("free", "holds"):
            yield z3.And(0 <= cell, cell <= 2)


def _chosen(setting: Setting, lapse: Lapse) -> Iterator[z3.BoolRef]:
    for name, of in setting.chosen().items():
        least = SLOT if "the actor is a sequence" in lapse.skips else of.start
        yield z3.And(least <= z3.Int(name), z3.Int(name) < of.stop)
    for field in lapse.strays:
        over, gives = setting.model.SHAPES.get(field, ((), int))
        for n, kind in enumerate(over):
            cell, extent = z3.Int(f"stray.{field}.{kind}{n}"), setting.extent(kind)
            yield z3.And(extent.start <= cell, cell < extent.stop)
        if gives is int and field not in setting.model.RECORDS:
            yield z3.And(NOBODY <= z3.Int(f"stray.{field}"), z3.Int(f"stray.{field}") <= 3)


_BLOCKS = ("cold-build", "adopt-append", "decode", "draft")


def _choices(setting: Setting, action: str, read: Any) -> dict[str, Any]:
    if action in ("", "land", "draw-ticket"):
        return {}
    told: dict[str, Any] = {"actor": read(z3.Int("actor"))}
    for name in {"write-chunk": ("start", "count"), "replay": ("earlier",)}.get(action, ()):
        told[name] = read(z3.Int(name))
    for name in ("draws", "writes") if action in _BLOCKS else ():
        chosen = z3.Function(name, z3.IntSort(), z3.BoolSort())
        told[name] = [b for b in setting.extent("block") if read(chosen(z3.IntVal(b)))]
    return told


def _cells(setting: Setting, state: Any, read: Any) -> dict[str, Any]:
    cells: dict[str, list[Any]] = {}
    for field, cell in setting.cells(state):
        cells.setdefault(field, []).append(read(cell))
    return dict(cells)


def loaded(found: Occurrence, run: Runner) -> machine.Machine:
    """The carry's twin in the state before the step."""
    twin = machine.Machine(given=found.given, run=run)
    sequences = range(1, len(found.given["sequences"]) + 1)
    holders, blocks = (SLOT, *sequences), range(found.given["blocks"])
    cells = found.cells
    per_table = len(cells["key"]) // len(sequences)

    def row(table: int, r: int) -> machine.Row:
        at = (table - 1) * per_table + r
        parts = ("key", "maker", "hidden_from", "hidden_at")
        return machine.Row(**{part: cells[part][at] for part in parts})

    twin.ticket = cells["ticket"][0]
    twin.stamp = dict(zip(("owner", "lo", "hi"), cells["stamp"], strict=True))
    twin.capture = dict(zip(("owner", "length"), cells["capture"], strict=True))
    twin.written_last = cells["stamper"][0]
    twin.drafter = {s: {r: row(s, r) for r in range(per_table)} for s in sequences if cells["born"][s]}
    twin.blocks = {
        s: [b for b in blocks for _ in range(cells["holds"][(s - 1) * len(blocks) + b])] for s in sequences if cells["born"][s]
    }
    for h in holders:
        if cells["live"][h]:
            names = ("table", "length", "rows", "extent", "last_key")
            twin.holders[h] = machine.Holder(**{name: cells[name][h] for name in names})
            twin.holders[h].generation = None if h == SLOT else cells["generation"][h]
    if SLOT in twin.holders:
        twin.holders[SLOT].source, twin.holders[SLOT].session_hash = cells["source"][0], cells["entry_hash"][0]
    twin.free = [b for b in blocks for _ in range(cells["free"][b])]
    twin.pending = {b: cells["pending"][b] for b in blocks if cells["pending"][b] != NOBODY}
    capacity = found.given["capacity"]
    twin.store = list(zip(cells["writer"][:capacity], cells["position"][:capacity], strict=True))
    twin.landed = list(cells["landed"][:capacity])
    return twin


def _loaded_graphs(found: Occurrence, run: Runner) -> graphs.Machine:
    """The twin of the graph cache in the state before the step."""
    twin = graphs.Machine(given=found.given, run=run)
    batches = [about["id"] for about in found.given["batches"]]
    width = len(found.cells["baked_depth"]) // len(batches)
    for i, n in enumerate(batches):
        if (ran := found.cells["ran"][i]) != NOBODY:
            twin.ran[n] = ran
        if found.cells["cached"][i] or ran == n:
            places = range(i * width, i * width + found.cells["baked_width"][i])
            twin.captures[n] = {
                "pointers": [found.cells["baked_pointer"][at] for at in places],
                "depths": [found.cells["baked_depth"][at] for at in places],
                "wy_tables_null": found.cells["baked_null"][i],
            }
        if found.cells["cached"][i]:
            twin.cache.setdefault(twin._key(found.given["batches"][i]), set()).add(n)
    return twin
