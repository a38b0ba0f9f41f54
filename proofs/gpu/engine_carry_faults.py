"""Faults for the engine to have, each with the harm that memory then shows: a changed rule, or a changed line of its text.

A changed rule is the right rule asked about something else, so that no rule is told twice. The names of those that the
system's models have too are theirs (`proofs.traces.faults`), and so are the runs that show them.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import impl.batched as batched
from impl.batched import Ragged, StoreRanges
from impl.engine.words import module_of
from proofs.gpu.engine_carry_audit import AGREE, BLOCKS, EQUAL, FOREIGN, INCREASE, OWN_HIDDEN, REACHES, RIGHT

ENGINE = "impl.engine.carry"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of the engine. harms: the laws that memory must show broken, in random runs.

    rules: fields of the table of rules to replace. line: text of the engine that occurs once, and what stands there instead.
    world: the code is right, and what the cast gives is not what the engine assumes.
    """

    name: str
    tells: str
    harms: tuple[str, ...]
    rules: dict[str, Callable[..., Any]] = dataclasses.field(default_factory=dict)
    line: tuple[str, str] | None = None
    world: bool = False

    def module(self) -> ModuleType:
        """The engine's module, with the changed line if there is one. ValueError unless it occurs exactly once."""
        return _changed(*self.line) if self.line else importlib.import_module(ENGINE)

    def engines(self, size: Any, cast: Any, xp: Any, **options: Any) -> Any:
        """Engines that have the fault. Arguments as those of Engines."""
        module = self.module()
        return module.Engines(size, cast, xp, rules=module.Rules(**self.rules), **options)


@functools.cache
def _changed(old: str, new: str) -> ModuleType:
    text = inspect.getsource(importlib.import_module(ENGINE))
    if (found := text.count(old)) != 1:
        raise ValueError(f"Fault: line={old!r} occurs {found} times in {ENGINE}; give text that occurs once")
    module = ModuleType(ENGINE)
    module.__package__ = ENGINE.rpartition(".")[0]
    exec(compile(text.replace(old, new), f"{ENGINE} (changed)", "exec"), module.__dict__)
    return module


# ---- rules asked about something else


def _any_session(entries: Any, prompt: Any, session_hash: Any) -> Any:
    same = dataclasses.replace(entries, session_hash=entries.session_hash * np.uint64(0) + np.uint64(1))
    return batched.usable_by(same, prompt, same.session_hash)


def _unknown_is_any(entries: Any, prompt: Any, session_hash: Any) -> Any:
    # Sessions that are equal are told as 1 and 1, unequal ones as 1 and 2; an unknown prompt equals all.
    alike = (session_hash == 0) | (entries.session_hash == session_hash)
    one = entries.session_hash * np.uint64(0) + np.uint64(1)
    return batched.usable_by(dataclasses.replace(entries, session_hash=one), prompt, one + (~alike).astype(np.uint64))


def _one_token_more(entries: Any, prompt: Any, session_hash: Any) -> Any:
    """A token that agrees goes before both, so that the common prefix counts one more."""
    longer = dataclasses.replace(entries, tokens=_after_a_token(entries.tokens))
    return batched.usable_by(longer, _after_a_token(prompt), session_hash)


def _after_a_token(rows: Ragged) -> Ragged:
    xp = module_of(rows.data)
    offsets = rows.offsets + xp.arange(rows.rows + 1, dtype=np.uint64)
    data = xp.zeros(rows.total + rows.rows, np.uint32)
    kept = xp.ones(len(data), np.bool_)
    kept[offsets[:-1].astype(np.int64)] = False
    data[kept] = rows.data
    return Ragged(data=data, offsets=offsets)


def _whole_range(ranges: StoreRanges, reader_gen: Any) -> Any:
    return batched.visible_to(dataclasses.replace(ranges, owner=reader_gen), reader_gen)


def _extended_by_anyone(cur: StoreRanges, writer_gen: Any, start: Any, count: Any) -> Any:
    return batched.stamped_merge(dataclasses.replace(cur, owner=writer_gen), writer_gen, start, count)


def _gaps_are_claimed(cur: StoreRanges, writer_gen: Any, start: Any, count: Any) -> Any:
    """A chunk above the range is merged as if it began where the range ends."""
    own = (cur.owner == writer_gen) & (cur.hi > cur.lo) & (start > cur.hi)
    first = module_of(start).where(own, cur.hi, start)
    return batched.stamped_merge(cur, writer_gen, first, count + (start - first))


def _all_is_seen(last_pair_key: Any, prompt_len: Any, hidden_lo: Any, hidden_hi: Any) -> Any:
    return batched.plan_append(last_pair_key, prompt_len, hidden_lo * np.uint64(0), prompt_len)


def _a_row_again(last_pair_key: Any, prompt_len: Any, hidden_lo: Any, hidden_hi: Any) -> Any:
    before = last_pair_key - (last_pair_key > 0)
    return batched.plan_append(before, prompt_len, hidden_lo, hidden_hi)


def _ring_label(base: Any, pos: Any, hidden_size: Any) -> Any:
    return batched.hidden_row_offset(base, pos - (pos > 0), hidden_size)


def _elements_for_bytes(base: Any, pos: Any, hidden_size: Any) -> Any:
    return batched.hidden_row_offset(base, pos, hidden_size // 2)


_ANY_SESSION = {"usable_by": _any_session}
_SHARES = ("        self._move(w, s * 0 + SLOT, s)\n", "        self._copy(w, s * 0 + SLOT, s)\n")

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="a-shared-template-decides",
        tells="Adoption is decided by a shared prefix alone; whose session the entry is of is not asked.",
        rules=_ANY_SESSION,
        harms=(FOREIGN,),
    ),
    Fault(
        name="an-unknown-session-is-a-wildcard",
        tells="A prompt without a known session may adopt any entry.",
        rules={"usable_by": _unknown_is_any},
        harms=(FOREIGN,),
    ),
    Fault(
        name="a-key-is-compared-without-its-token",
        tells="A key survives if the tokens up to it agree, though its row was also made from the token after it.",
        rules={"usable_by": _one_token_more},
        harms=(FOREIGN, AGREE, EQUAL),
    ),
    Fault(
        name="claimed-rows-are-read-before-they-are-written",
        tells="The range is stamped when a chunk is issued, and read from another stream that does not wait for it.",
        line=("        self.store.land(self._rows_of(w, self.size.capacity))\n", "        del w\n"),
        harms=(OWN_HIDDEN, EQUAL),
    ),
    Fault(
        name="a-block-is-freed-under-a-write",
        tells="A sequence's blocks return to the free list while a write to one of them is under way.",
        line=("        w, h = w[there], h[there]\n        self._wait_for_pool(w)\n", "        w, h = w[there], h[there]\n"),
        harms=(REACHES, FOREIGN, EQUAL),
    ),
    Fault(
        name="rejected-drafts-are-deposited",
        tells="The entry counts the rows of guessed tokens that were never accepted.",
        line=("        self.rows[w, SLOT] = self.rows[w, s]\n", "        self.rows[w, SLOT] = self.extent[w, s]\n"),
        harms=(FOREIGN, AGREE),
    ),
    Fault(
        name="an-adopter-writes-into-the-entry-it-shares",
        tells="Adoption leaves the entry in the slot, and the adopter's next row lands in it.",
        line=_SHARES,
        harms=(AGREE, BLOCKS),
    ),
    Fault(
        name="the-store-is-labelled-like-the-ring",
        tells="A chunk labels its rows as the catch-up ring does: label n holds the hidden state of position n-1.",
        line=("self.size.capacity + position, position\n", "self.size.capacity + position, position - 1\n"),
        harms=(OWN_HIDDEN, EQUAL),
    ),
    Fault(
        name="a-ticket-is-shared-with-another-stamp",
        tells="Whoever draws a ticket for something else leaves it on the range: the owner's right is gone and nobody has it.",
        line=(
            "        self.ticket[w[i]] += np.uint64(1)\n",
            "        self.owner[w[i]] = self.ticket[w[i]]\n        self.ticket[w[i]] += np.uint64(1)\n",
        ),
        harms=(RIGHT,),
    ),
    Fault(name="no-session-check", tells="An entry of any session is adopted.", rules=_ANY_SESSION, harms=(FOREIGN,)),
    Fault(
        name="no-owner-check",
        tells="Everyone is shown the whole range, and extends it, whoever owns it.",
        rules={"visible_to": _whole_range, "stamped_merge": _extended_by_anyone},
        harms=(OWN_HIDDEN, EQUAL),
    ),
    Fault(name="no-take-on-adopt", tells="Adoption leaves the entry in the slot.", line=_SHARES, harms=(BLOCKS,)),
    Fault(
        name="no-free-on-refuse",
        tells="A refused entry leaves the slot, and its blocks are not freed.",
        line=("        self._free(w[refused], s[refused] * 0 + SLOT)\n", "        self.live[w[refused], SLOT] = False\n"),
        harms=(BLOCKS,),
    ),
    Fault(name="A1", tells="Two sessions have the same hash.", world=True, harms=(FOREIGN,)),
    Fault(
        name="A2",
        tells="Two sequences have the same generation.",
        line=("        self.ticket[w] += 1\n", ""),
        harms=(OWN_HIDDEN, EQUAL),
    ),
    Fault(
        name="A3",
        tells="A hidden state depends on more than the tokens: on how many drafts were accepted on the way, say.",
        world=True,
        harms=(EQUAL,),
    ),
    Fault(
        name="the-older-stamp",
        tells="Cold turns are guarded by the capture generation and length, which only chunks that start at 0 set.",
        line=(
            "covered = (lo == 0) & (keys <= hi)\n",
            "covered = (self.capture_owner[w] == self.generation[w, s]) & (keys <= self.capture_length[w])\n",
        ),
        harms=(OWN_HIDDEN, EQUAL),
    ),
    Fault(
        name="gaps-are-claimed",
        tells="A chunk that leaves a gap above the range is merged with it, gap and all.",
        rules={"stamped_merge": _gaps_are_claimed},
        harms=(OWN_HIDDEN, EQUAL),
    ),
    Fault(
        name="the-append-asks-for-no-rows",
        tells="The append takes every hidden row for visible.",
        rules={"plan_append": _all_is_seen},
        harms=(OWN_HIDDEN, EQUAL),
    ),
    Fault(
        name="the-append-begins-a-key-early",
        tells="The append makes the row of the last key that was adopted once more.",
        rules={"plan_append": _a_row_again},
        harms=(INCREASE,),
    ),
    Fault(
        name="the-append-reads-by-ring-labels",
        tells="The row of key k is made with the hidden row before its own.",
        rules={"hidden_row_offset": _ring_label},
        harms=(OWN_HIDDEN, EQUAL),
    ),
    Fault(
        name="bytes-are-taken-for-elements",
        tells="The address of a hidden row counts a byte for each element.",
        rules={"hidden_row_offset": _elements_for_bytes},
        harms=(OWN_HIDDEN, EQUAL),
    ),
)
"""Every fault; those after the-older-stamp have no run among the system's traces."""

BY_NAME = {fault.name: fault for fault in FAULTS}

NONE = Fault(name="", tells="The engine as it should be.", harms=())
"""No fault at all."""
