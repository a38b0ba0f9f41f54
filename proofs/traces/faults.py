"""What engines have got wrong, each as one changed line of a rule or of a system model, with the obligation that it breaks.

A fault of a rule needs no twin: on replay the rule's faulty results come from the trace. A fault of the system is made in the
twin machine as well, in a line of its own, so that two texts that were written apart show the same harm.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import spec.system
import spec.system_graphs
from proofs.faults import Patch, rules_of
from proofs.traces.settings import Carry, Graphs, Setting
from spec.rules import RULES, Rules
from spec.system_laws import GRAPH_LAWS, LAWS, SAFETY, Law


@dataclass(frozen=True, kw_only=True)
class Twin:
    """In `proofs/traces/<module>.py` the one occurrence of `old` becomes `new`."""

    module: str
    old: str
    new: str

    def machine(self) -> ModuleType:
        """The changed module. ValueError unless `old` occurs exactly once."""
        text = inspect.getsource(importlib.import_module(f"proofs.traces.{self.module}"))
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"Twin: old={self.old!r} occurs {found} times in {self.module}.py; give text that occurs once")
        return _module(f"proofs.traces.{self.module}", text.replace(self.old, self.new))


@dataclass(frozen=True, kw_only=True)
class SystemFault:
    """A fault of the whole: what it tells, where it is, what it breaks, and the harm that its shortest trace ends in."""

    name: str
    tells: str
    patch: Patch
    breaks: str
    """The obligation that no longer holds."""
    harm: str
    """The law that is false at the end of the trace."""
    twin: Twin | None = None
    scope: dict[str, Any] = field(default_factory=dict)
    in_the_world: bool = False
    """The code is as it should be, and cannot notice."""

    @property
    def refuted_by(self) -> str:
        """The obligation that no longer holds, as the faults of rules call it."""
        return self.breaks

    @property
    def rule(self) -> str:
        """The model that the fault is in."""
        return self.patch.module

    @property
    def of_graphs(self) -> bool:
        """It concerns the graph cache."""
        return self.harm in GRAPH_LAWS

    def rules(self) -> Rules:
        """The rules, the faulty one among them if the fault is in a rule."""
        return RULES if self.patch.module.startswith("system") else rules_of(self.patch.module, self.patch.apply())

    def model(self) -> ModuleType:
        """The system model, with the fault if it is in there."""
        right = spec.system_graphs if self.of_graphs else spec.system
        if not self.patch.module.startswith("system"):
            return right
        return _module(right.__name__, self.patch.apply())

    def setting(self) -> Setting:
        """The scope in which its trace is sought."""
        made: Setting = (Graphs if self.of_graphs else Carry)(model=self.model(), **self.scope)
        return made

    def law(self) -> Law:
        """What the trace's last state violates."""
        return (SAFETY | LAWS | GRAPH_LAWS)[self.harm]

    def machine(self) -> ModuleType:
        """The twin, with the fault if it is in there."""
        if self.twin is not None:
            return self.twin.machine()
        return importlib.import_module("proofs.traces.graphs" if self.of_graphs else "proofs.traces.machine")


def _module(name: str, text: str) -> ModuleType:
    """A module of the same name from changed text; the module of that name stays what it is."""
    changed = ModuleType(name)
    changed.__package__ = name.rpartition(".")[0]
    # Dataclasses look their module up by name while the text runs; the right one answers for everything they ask.
    exec(compile(text, f"{name.replace('.', '/')}.py (changed)", "exec"), changed.__dict__)
    return changed


_BELONGS = "belongs = z3.And(entry.session_hash == session_hash, session_hash != 0)"
_HIGHEST = "highest = z3.And(key <= known.value, key + 1 < common, z3.Or(key == known.value, key + 2 == common))"
_SHARES = Patch(
    module="system",
    old="    return moved(pre, SLOT, s).but(\n",
    new="    return moved(pre, SLOT, s).but(\n        live=changed(pre.live, s, z3.BoolVal(True)),\n",
)
_SHARES_TOO = Twin(module="machine", old="self.holders.pop(SLOT), self", new="self.holders[SLOT], self")

FIELD: tuple[SystemFault, ...] = (
    SystemFault(
        name="a-shared-template-decides",
        tells="Adoption is decided by a shared prefix alone; whose session the entry is of is not asked.",
        patch=Patch(module="carry", old=_BELONGS, new="belongs = z3.BoolVal(True)"),
        breaks="system/rows-are-of-the-session/adopt-only",
        harm="no-foreign-rows",
    ),
    SystemFault(
        name="an-unknown-session-is-a-wildcard",
        tells="A prompt without a known session may adopt any entry.",
        patch=Patch(module="carry", old=_BELONGS, new="belongs = z3.Or(entry.session_hash == session_hash, session_hash == 0)"),
        breaks="system/rows-are-of-the-session/adopt-append",
        harm="no-foreign-rows",
    ),
    SystemFault(
        name="a-key-is-compared-without-its-token",
        tells="A key survives if the tokens up to it agree, though its row was also made from the token after it.",
        patch=Patch(module="carry", old=_HIGHEST, new=_HIGHEST.replace("key + 1 <", "key <").replace("key + 2", "key + 1")),
        breaks="system/rows-agree/adopt-only",
        harm="no-foreign-rows",
    ),
    SystemFault(
        name="claimed-rows-are-read-before-they-are-written",
        tells="The range is stamped when a chunk is issued, and read from another stream that does not wait for it.",
        patch=Patch(
            module="system",
            old="says=lambda p: z3.Implies(inside(p, seen), pre.landed(p)),",
            new="says=lambda p: z3.BoolVal(True),",
        ),
        breaks="system/rows-read-their-own-hidden/cold-build",
        harm="every-row-read-is-its-writers",
        twin=Twin(module="machine", old="return all(self.landed[p] for p in rows)", new="return True"),
    ),
    SystemFault(
        name="a-block-is-freed-under-a-write",
        tells="A sequence's blocks return to the free list while a write to one of them is under way.",
        patch=Patch(
            module="system",
            old="z3.Implies(z3.And(pre.live(h), pre.holds(pre.table(h), b) > 0), pre.pending(b) == NOBODY)",
            new="z3.BoolVal(True)",
        ),
        breaks="system/writes-go-to-held-blocks/abort",
        harm="no-write-reaches-another-owner",
        twin=Twin(
            module="machine",
            old="return not any(b in self.pending for b in self.blocks[leaving.table])",
            new="return True",
        ),
    ),
    SystemFault(
        name="rejected-drafts-are-deposited",
        tells="The entry counts the rows of guessed tokens that were never accepted.",
        patch=Patch(
            module="system",
            old="rows=changed(pre.rows, SLOT, pre.rows(s))",
            new="rows=changed(pre.rows, SLOT, pre.extent(s))",
        ),
        breaks="system/rows-agree/deposit",
        harm="no-foreign-rows",
        twin=Twin(
            module="machine",
            old="            rows=me.rows,\n            extent=me.rows,",
            new="            rows=me.extent,\n            extent=me.rows,",
        ),
    ),
    SystemFault(
        name="the-key-tells-the-shape-only",
        tells="The graph key has the depths but not the slots.",
        patch=Patch(module="key", old="result.at(2 * p) == pair.slot", new="result.at(2 * p) == 0"),
        breaks="system/launches-fit-the-batch-that-runs-them/replay",
        harm="launches-fit-the-batch-that-runs-them",
    ),
    SystemFault(
        name="a-captured-pointer-is-the-sequences",
        tells="A capture bakes a pointer into memory of the sequence, which another sequence in the same slot does not have.",
        patch=Patch(module="system_graphs", old="pointer(n, p) == slot(n, p)", new="pointer(n, p) == member(n, p)"),
        breaks="system/launches-fit-the-batch-that-runs-them/replay",
        harm="launches-fit-the-batch-that-runs-them",
        twin=Twin(module="graphs", old='pointers = list(batch["slots"])', new='pointers = list(batch["members"])'),
    ),
    SystemFault(
        name="the-key-forgets-the-mode",
        tells="The graph key does not say whether there are WY tables.",
        patch=Patch(
            module="key",
            old="z3.If(wy_tables_null, last == TABLES_PRESENT - 1, last == TABLES_PRESENT)",
            new="last == TABLES_PRESENT",
        ),
        breaks="system/launches-fit-the-batch-that-runs-them/replay",
        harm="launches-fit-the-batch-that-runs-them",
    ),
    SystemFault(
        name="an-adopter-writes-into-the-entry-it-shares",
        tells="Adoption leaves the entry in the slot, and the adopter's next row lands in it.",
        patch=_SHARES,
        breaks="system/tables-have-one-holder/adopt-append",
        harm="rows-agree",
        twin=_SHARES_TOO,
        # The longest trace of all. What it leaves out makes none shorter or smaller: a test asks the whole scope.
        scope={"tokens": 3, "positions": 1},
    ),
    SystemFault(
        name="the-store-is-labelled-like-the-ring",
        tells="A chunk labels its rows as the catch-up ring does: label n holds the hidden state of position n-1.",
        patch=Patch(
            module="system",
            old="position=lambda p: z3.If(written(p), p, pre.position(p)),",
            new="position=lambda p: z3.If(written(p), p - 1, pre.position(p)),",
        ),
        breaks="system/claimed-rows-are-the-stampers/write-chunk",
        harm="every-row-read-is-its-writers",
        twin=Twin(
            module="machine",
            old="self.store[position] = (actor, position)",
            new="self.store[position] = (actor, position - 1)",
        ),
    ),
    SystemFault(
        name="a-ticket-is-shared-with-another-stamp",
        tells="Whoever draws a ticket for something else leaves it on the range: the owner's right is gone and nobody has it.",
        patch=Patch(
            module="system",
            old="after=pre.but(ticket=pre.ticket + 1),",
            new='after=pre.but(ticket=pre.ticket + 1, stamp=Record(fields={**pre.stamp.fields, "owner": pre.ticket})),',
        ),
        breaks="system/a-stamp-lasts-until-the-next-allocation/elsewhere",
        harm="a-right-to-read-is-not-lost-silently",
        twin=Twin(
            module="machine",
            old="    def draw_ticket(self) -> None:\n",
            new='    def draw_ticket(self) -> None:\n        self.stamp["owner"] = self.ticket\n',
        ),
    ),
)
"""Kinds of faults seen in inference engines."""

DELETED: tuple[SystemFault, ...] = (
    SystemFault(
        name="no-session-check",
        tells="An entry of any session is adopted.",
        patch=Patch(module="carry", old=_BELONGS, new="belongs = z3.BoolVal(True)"),
        breaks="system/rows-are-of-the-session/adopt-append",
        harm="no-foreign-rows",
    ),
    SystemFault(
        name="no-owner-check",
        tells="Everyone is shown the whole range, and extends it, whoever owns it.",
        patch=Patch(module="store", old="z3.And(gen != 0, stamp.owner == gen)", new="gen != 0"),
        breaks="system/rows-read-their-own-hidden/cold-build",
        harm="every-row-read-is-its-writers",
    ),
    SystemFault(
        name="no-take-on-adopt",
        tells="Adoption leaves the entry in the slot.",
        patch=_SHARES,
        breaks="system/tables-have-one-holder/adopt-only",
        harm="every-block-has-one-owner",
        twin=_SHARES_TOO,
    ),
    SystemFault(
        name="no-free-on-refuse",
        tells="A refused entry leaves the slot, and its blocks are not freed.",
        patch=Patch(
            module="system",
            old="        after=freed(pre, SLOT),\n",
            new="        after=pre.but(live=changed(pre.live, SLOT, z3.BoolVal(False))),\n",
        ),
        breaks="system/tables-with-blocks-are-held/refuse",
        harm="every-block-has-one-owner",
        twin=Twin(
            module="machine",
            old='the entry is of no use")\n        self._free(SLOT)',
            new='the entry is of no use")\n        del self.holders[SLOT]',
        ),
    ),
)
"""Each of the four checks that make one slot safe, deleted."""

DROPPED: tuple[SystemFault, ...] = (
    SystemFault(
        name="A1",
        tells="Two sessions have the same hash.",
        in_the_world=True,
        patch=Patch(
            module="system",
            old="return z3.Implies(z3.And(hash_of(one) == hash_of(other), hash_of(one) != 0), one == other)",
            new="return z3.BoolVal(True)",
        ),
        breaks="system/rows-are-of-the-session/adopt-append",
        harm="no-foreign-rows",
    ),
    SystemFault(
        name="A2",
        tells="Two sequences have the same generation.",
        patch=Patch(module="system", old="ticket=pre.ticket + 1,\n", new="ticket=pre.ticket,\n"),
        breaks="system/generations-are-drawn/allocate",
        harm="every-row-read-is-its-writers",
        twin=Twin(module="machine", old="        self.ticket += 1\n        self.stamp", new="        self.stamp"),
    ),
    SystemFault(
        name="A3",
        tells="A hidden state depends on more than the tokens: on how many drafts were accepted on the way, say.",
        in_the_world=True,
        patch=Patch(
            module="system",
            old="return z3.Implies(agree, hidden(one, k) == hidden(other, k))",
            new="return z3.BoolVal(True)",
        ),
        breaks="system/rows-are-what-their-holder-would-make",
        scope={"contents": True},
        harm="rows-are-what-their-holder-would-make",
    ),
)
"""Each assumption of which a run can show the harm, dropped."""

CAPTURE_STAMP = SystemFault(
    name="the-older-stamp",
    tells="Cold turns are guarded by the capture generation and length, which only chunks that start at 0 set.",
    patch=Patch(
        module="system",
        old="covered = z3.And(seen.lo == 0, keys <= seen.hi)",
        new="covered = z3.And(pre.capture.owner == pre.generation(s), keys <= pre.capture.length)",
    ),
    breaks="system/rows-read-their-own-hidden/cold-build",
    harm="every-row-read-is-its-writers",
    twin=Twin(
        module="machine",
        old="_need(low == 0 and keys <= high,",
        new='_need(self.capture["owner"] == me.generation and keys <= self.capture["length"],',
    ),
)
"""The variant of DESIGN 1a: what it misses is a finding."""

SYSTEM_FAULTS: dict[str, SystemFault] = {f.name: f for f in (*FIELD, *DELETED, *DROPPED, CAPTURE_STAMP)}
