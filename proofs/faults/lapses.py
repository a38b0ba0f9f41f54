"""Lapses: what an action of the system models could leave out or do too much, and which obligation shows it.

Unlike the other faults a lapse changes no line. It is told by the obligation itself: an effect is *lost* (a field stays as it was),
a condition is *skipped* (a guard, a wait for the device), a field is *strayed* into (one more cell of it gets any value), or a
law is *forgotten* (the invariant does not have it). So the judge shows it on terms that stand already. `proofs.traces.lapses`
takes the step on the twin.

Each effect, guard and wait that some obligation rests on is lost or skipped here at least once. Stray writes stand where no
loss can break the law: because the action takes away what the law speaks of, or does not touch it at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import z3

from spec.sorts import Record


@dataclass(frozen=True, kw_only=True)
class Lapse:
    """A lapse of one action, or of the invariant; the obligation that it breaks is about one law."""

    law: str
    action: str = ""
    """The action, `initially`, or nothing: the law follows from others."""
    elsewhere: bool = False
    """The obligation is that of all actions which do not touch the law."""
    in_part: bool = False
    """The obligation is that of the actions which keep the law however much they leave out."""
    loses: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    forgets: tuple[str, ...] = ()
    rule: str = "system"
    """The model that it is in."""

    @property
    def refuted_by(self) -> str:
        """The obligation that no longer holds."""
        place = "elsewhere" if self.elsewhere else "in-part" if self.in_part else self.action
        return f"system/{self.law}/{place}" if place else f"system/{self.law}"

    @property
    def name(self) -> str:
        """What it is, as the report calls it."""
        return f"{self.refuted_by}: {', '.join(self._parts())}"

    def _parts(self) -> Iterator[str]:
        for word, things in (("loses", self.loses), ("skips", self.skips), ("strays into", self.strays), ("without", self.forgets)):
            if things:
                yield f"{word} {' and '.join(things)}"

    @property
    def tells(self) -> str:
        """What is wrong, in English."""
        told = [f"leaves as it was {_MEANS[field]}" for field in self.loses]
        told += [f"does not ask whether {condition}" for condition in self.skips]
        told += [f"writes somewhere else too into {_MEANS[field]}" for field in self.strays]
        if self.forgets:
            return f"The invariant does not have the law {' and '.join(self.forgets)}."
        action = "initial state" if self.action == "initially" else f"action {self.action}"
        return f"The {action} {', and '.join(told)}."

    def after(self, model: ModuleType, before: Any, right: Any) -> Any:
        """The state that a step from `before` to `right` comes to, if this lapse is made."""
        lost = right.but(**{field: getattr(before, field) for field in self.loses})
        return lost.but(**{field: _scribbled(model, field, getattr(lost, field)) for field in self.strays})

    def spared(self, hypotheses: Iterable[str]) -> tuple[str, ...]:
        """Those of the hypotheses, by name, that are not to be had: skipped conditions, forgotten laws.

        What is not among the hypotheses is named too, for the judge to find it missing.
        """
        given, found = tuple(hypotheses), list[str]()
        for condition in self.skips:
            found += [name for name in given if name == condition or name.startswith(f"{condition}: ")] or [condition]
        for law in self.forgets:
            found += [name for name in given if name.startswith(f"before: {law}(")] or [law]
        return tuple(found)


def _scribbled(model: ModuleType, field: str, value: Any) -> Any:
    """The field with any value in one cell."""
    if field in model.RECORDS:
        return Record(fields={part: z3.Int(f"stray.{field}.{part}") for part in model.RECORDS[field]})
    if field in model.NUMBERS:
        return z3.Int(f"stray.{field}")
    over, gives = model.SHAPES[field]
    cell = [z3.Int(f"stray.{field}.{kind}{n}") for n, kind in enumerate(over)]
    stray = z3.Bool(f"stray.{field}") if gives is bool else z3.Int(f"stray.{field}")
    function: Callable[..., Any] = value
    return lambda *at: z3.If(z3.And([one == other for one, other in zip(at, cell, strict=True)]), stray, function(*at))


_MEANS = {
    "live": "who is there",
    "table": "whose table is whose",
    "rows": "how many rows there are",
    "extent": "how many rows there are with guesses",
    "last_key": "the last key known",
    "length": "how many tokens there are",
    "generation": "the generation",
    "born": "who was allocated",
    "ticket": "the next ticket",
    "stamp": "the range's stamp",
    "source": "whose tokens the entry has",
    "entry_hash": "the entry's session hash",
    "free": "the free list",
    "holds": "the blocks in tables",
    "pending": "the writes under way",
    "key": "the rows' keys",
    "maker": "who made the rows",
    "hidden_from": "whose hidden rows were read",
    "hidden_at": "which hidden rows were read",
    "writer": "who wrote the hidden rows",
    "position": "which positions the hidden rows are of",
    "stamper": "who stamped the range",
    "keeper": "who keeps the table",
    "home": "which table the blocks were put in",
    "cached": "which captures are cached",
    "ran": "what each batch ran",
    "baked_pointer": "the memory that captures baked",
    "baked_depth": "the depths that captures baked",
    "baked_width": "the widths that captures baked",
    "baked_null": "whether captures were made without tables",
}

_RUNS = "the actor runs"
_READS_WAIT = "what the stamp allows to read has landed (A5)"
_SLOT_WAITS = "the blocks to be freed have no write under way (A5, slot)"
_SEQUENCE_WAITS = "the blocks to be freed have no write under way (A5, sequence)"

_LOST: Mapping[str, Mapping[str, str]] = {
    "allocate": {
        "rows": "rows-are-of-the-session rows-agree rows-read-their-own-hidden keys-increase keys-are-known keys-have-tokens",
        "extent": "guesses-lie-above",
        "generation": "generations-are-drawn generations-are-unique",
        "ticket": "generations-are-drawn",
        "table": "holders-are-born tables-have-one-holder blocks-mean-rows",
        "born": "holders-are-born",
        "stamp": "the-stamp-is-its-stampers claimed-rows-are-the-stampers",
        "stamper": "a-stamp-lasts-until-the-next-allocation",
    },
    "cold-build": {
        "maker": "rows-are-of-the-session",
        "key": "rows-read-their-own-hidden keys-increase",
        "hidden_from": "rows-read-their-own-hidden",
        "hidden_at": "rows-read-their-own-hidden",
        "last_key": "keys-are-known keys-have-tokens",
        "extent": "guesses-lie-above",
        "free": "blocks-are-listed-once no-block-is-lost",
        "holds": "tables-with-blocks-are-held writes-go-to-held-blocks",
        "keeper": "tables-with-blocks-are-held",
        "home": "no-block-is-lost",
        "rows": "blocks-mean-rows",
    },
    "adopt-append": {
        "table": "rows-are-of-the-session tables-with-blocks-are-held",
        "maker": "rows-are-of-the-session",
        "live": "rows-agree keys-increase tables-have-one-holder",
        "key": "rows-read-their-own-hidden",
        "hidden_from": "rows-read-their-own-hidden",
        "hidden_at": "rows-read-their-own-hidden",
        "last_key": "keys-are-known keys-have-tokens",
        "extent": "guesses-lie-above",
        "free": "blocks-are-listed-once",
        "keeper": "tables-with-blocks-are-held",
        "holds": "no-block-is-lost writes-go-to-held-blocks",
        "home": "no-block-is-lost",
        "rows": "blocks-mean-rows",
    },
    "adopt-only": {
        "table": "rows-are-of-the-session rows-agree rows-read-their-own-hidden keys-increase tables-with-blocks-are-held",
        "last_key": "keys-are-known keys-have-tokens",
        "extent": "guesses-lie-above",
        "live": "tables-have-one-holder",
        "keeper": "tables-with-blocks-are-held",
        "rows": "blocks-mean-rows",
    },
    "refuse": {
        "holds": "blocks-are-listed-once tables-with-blocks-are-held",
        "free": "no-block-is-lost",
    },
    "decode": {
        "maker": "rows-are-of-the-session",
        "key": "rows-read-their-own-hidden keys-increase",
        "hidden_from": "rows-read-their-own-hidden",
        "hidden_at": "rows-read-their-own-hidden",
        "last_key": "keys-are-known",
        "length": "keys-have-tokens",
        "extent": "guesses-lie-above",
        "free": "blocks-are-listed-once",
        "keeper": "tables-with-blocks-are-held",
        "holds": "no-block-is-lost writes-go-to-held-blocks",
        "home": "no-block-is-lost",
        "rows": "blocks-mean-rows",
    },
    "draft": {
        "free": "blocks-are-listed-once",
        "keeper": "tables-with-blocks-are-held",
        "holds": "no-block-is-lost writes-go-to-held-blocks",
        "home": "no-block-is-lost",
    },
    "deposit": {
        "table": "rows-are-of-the-session rows-read-their-own-hidden holders-are-born",
        "rows": "rows-agree keys-increase the-entry-has-rows blocks-mean-rows",
        "last_key": "keys-are-known",
        "length": "keys-have-tokens",
        "extent": "guesses-lie-above",
        "source": "the-entry-names-its-session",
        "entry_hash": "the-entry-names-its-session",
        "live": "tables-have-one-holder tables-with-blocks-are-held",
        "holds": "blocks-are-listed-once",
        "keeper": "tables-with-blocks-are-held",
        "free": "no-block-is-lost",
    },
    "abort": {
        "holds": "blocks-are-listed-once tables-with-blocks-are-held",
        "free": "no-block-is-lost",
    },
    "write-chunk": {
        "stamp": "the-stamp-is-its-stampers a-stamp-lasts-until-the-next-allocation claimed-rows-are-the-stampers",
        "stamper": "the-stamp-is-its-stampers",
        "writer": "claimed-rows-are-the-stampers",
        "position": "claimed-rows-are-the-stampers",
    },
    "capture": {
        "ran": "captures-ran",
        "baked_pointer": "launches-fit-the-batch-that-runs-them",
        "baked_width": "launches-fit-the-batch-that-runs-them",
        "baked_depth": "launches-fit-the-batch-that-runs-them",
        "baked_null": "launches-fit-the-batch-that-runs-them",
    },
}
"""By action the effect that is lost, and the laws that this breaks."""

_SKIPPED: Mapping[str, Mapping[str, str]] = {
    "allocate": {
        "the ticket is not 0 and the counter does not wrap (A2)": "generations-are-drawn",
        "the actor is a sequence": "the-entry-names-its-session the-entry-has-rows the-slot-is-armed",
        "it is new": "tables-with-blocks-are-held",
    },
    "cold-build": {
        _RUNS: "rows-are-of-the-session rows-agree",
        _READS_WAIT: "rows-read-their-own-hidden",
        "it sees the hidden rows of all of them": "rows-read-their-own-hidden",
        "it has emitted nothing": "keys-have-tokens",
        "the prompt has keys": "guesses-lie-above",
        _SLOT_WAITS: "writes-go-to-held-blocks",
    },
    "adopt-append": {
        "session hashes do not collide (A1)": "rows-are-of-the-session",
        "some rows are usable": "rows-agree",
        _READS_WAIT: "rows-read-their-own-hidden",
        "there is something to append": "keys-increase",
        "it has emitted nothing": "keys-have-tokens",
        "there is an entry": "holders-are-born",
        _RUNS: "holders-are-born",
        "the actor has no rows": "tables-with-blocks-are-held",
    },
    "adopt-only": {
        "session hashes do not collide (A1)": "rows-are-of-the-session",
        "some rows are usable": "rows-agree",
        "it has emitted nothing": "keys-have-tokens",
        "there is an entry": "holders-are-born",
        _RUNS: "holders-are-born",
        "the actor has no rows": "tables-with-blocks-are-held",
    },
    "refuse": {
        _SLOT_WAITS: "writes-go-to-held-blocks",
    },
    "decode": {
        _RUNS: "rows-are-of-the-session rows-agree tables-with-blocks-are-held",
        "there is a token before": "keys-are-known",
    },
    "draft": {
        _RUNS: "rows-are-of-the-session rows-agree rows-read-their-own-hidden keys-increase keys-are-known "
        "tables-with-blocks-are-held",
        "it has rows": "blocks-mean-rows",
    },
    "deposit": {
        _RUNS: "rows-are-of-the-session",
        "it has rows": "the-entry-has-rows",
        "the carry is armed": "the-slot-is-armed",
        _SLOT_WAITS: "writes-go-to-held-blocks",
    },
    "abort": {
        _SEQUENCE_WAITS: "writes-go-to-held-blocks",
    },
    "write-chunk": {
        _RUNS: "claimed-rows-are-the-stampers",
    },
    "capture": {
        "it is a batch": "captures-ran",
        "it has not run": "launches-fit-the-batch-that-runs-them",
    },
    "replay": {
        "it has not run": "captures-ran",
        "the earlier capture is cached": "runs-are-of-batches-that-ran",
        "what the launches of the earlier batch use is their slots' (A6)": "launches-fit-the-batch-that-runs-them",
        "the keys are equal": "launches-fit-the-batch-that-runs-them",
        "what the launches of the batch use is their slots' (A6)": "launches-fit-the-batch-that-runs-them",
        "slots and depths of the batch fit 32 bits (A7)": "launches-fit-the-batch-that-runs-them",
        "slots and depths of the earlier batch fit 32 bits (A7)": "launches-fit-the-batch-that-runs-them",
    },
}
"""By action the condition that is skipped, and the laws that this breaks."""

_KEPT_BY_FEWER = (
    "rows-are-of-the-session rows-agree rows-read-their-own-hidden keys-increase keys-are-known keys-have-tokens guesses-lie-above "
    "holders-are-born tables-have-one-holder blocks-mean-rows"
)
"""What fewer holders cannot break."""

_STRAYED: Mapping[str, Mapping[str, str]] = {
    "allocate": {"stamp": "an-owned-range-is-not-empty"},
    "draw-ticket": {"generation": "generations-are-drawn"},
    "write-chunk": {"stamp": "an-owned-range-is-not-empty"},
    "land": {"pending": "writes-go-to-held-blocks"},
    "cold-build": {
        "live": "holders-are-born tables-have-one-holder the-entry-names-its-session the-entry-has-rows the-slot-is-armed",
        "holds": "blocks-are-in-one-table",
    },
    "adopt-append": {"holds": "blocks-are-in-one-table"},
    "refuse": {"live": _KEPT_BY_FEWER, "holds": "blocks-are-in-one-table"},
    "decode": {"rows": "the-entry-has-rows", "holds": "blocks-are-in-one-table"},
    "draft": {"rows": "guesses-lie-above", "holds": "blocks-are-in-one-table"},
    "deposit": {"holds": "blocks-are-in-one-table"},
    "abort": {
        "live": f"{_KEPT_BY_FEWER} the-entry-names-its-session the-entry-has-rows the-slot-is-armed",
        "holds": "blocks-are-in-one-table",
    },
    "capture": {"ran": "runs-are-of-batches-that-ran"},
    "evict": {
        "cached": "captures-ran",
        "ran": "runs-are-of-batches-that-ran launches-fit-the-batch-that-runs-them",
    },
}
"""By action the field that is strayed into, and the laws that this breaks."""

_ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "rows-are-of-the-session": ("write-chunk", "maker"),
    "rows-agree": ("write-chunk", "key"),
    "rows-read-their-own-hidden": ("land", "hidden_from"),
    "keys-increase": ("write-chunk", "key"),
    "keys-are-known": ("draw-ticket", "last_key"),
    "keys-have-tokens": ("draft", "last_key"),
    "guesses-lie-above": ("land", "extent"),
    "generations-are-drawn": ("deposit", "generation"),
    "generations-are-unique": ("draw-ticket", "generation"),
    "holders-are-born": ("decode", "live"),
    "the-stamp-is-its-stampers": ("deposit", "stamp"),
    "a-stamp-lasts-until-the-next-allocation": ("land", "stamp"),
    "an-owned-range-is-not-empty": ("abort", "stamp"),
    "claimed-rows-are-the-stampers": ("decode", "writer"),
    "the-entry-names-its-session": ("decode", "entry_hash"),
    "the-entry-has-rows": ("draft", "rows"),
    "the-slot-is-armed": ("decode", "live"),
    "tables-have-one-holder": ("decode", "table"),
    "blocks-are-listed-once": ("adopt-only", "free"),
    "blocks-are-in-one-table": ("adopt-only", "holds"),
    "tables-with-blocks-are-held": ("write-chunk", "holds"),
    "no-block-is-lost": ("adopt-only", "free"),
    "blocks-mean-rows": ("write-chunk", "holds"),
    "writes-go-to-held-blocks": ("allocate", "pending"),
}
"""By law one of the actions that do not touch it, and the field that this one strays into."""

_FORGOTTEN: Mapping[str, tuple[str, ...]] = {
    "rows-are-of-the-session": ("no-foreign-rows",),
    "rows-agree": ("no-foreign-rows",),
    "rows-read-their-own-hidden": ("every-row-read-is-its-writers",),
    "keys-increase": ("rows-agree/adopt-append", "an-entry-has-no-more-rows-than-keys"),
    "keys-are-known": ("rows-agree/adopt-append", "rows-are-what-their-holder-would-make"),
    "keys-have-tokens": ("keys-increase/decode",),
    "guesses-lie-above": ("rows-are-of-the-session/draft",),
    "generations-are-drawn": ("generations-are-unique/allocate",),
    "generations-are-unique": ("rows-read-their-own-hidden/cold-build",),
    "holders-are-born": ("tables-have-one-holder/allocate",),
    "the-stamp-is-its-stampers": ("rows-read-their-own-hidden/cold-build",),
    "a-stamp-lasts-until-the-next-allocation": ("a-right-to-read-is-not-lost-silently",),
    "an-owned-range-is-not-empty": ("checks-for-nothing-decide-nothing",),
    "claimed-rows-are-the-stampers": ("rows-read-their-own-hidden/cold-build",),
    "the-entry-names-its-session": ("rows-are-of-the-session/adopt-append",),
    "the-entry-has-rows": ("checks-for-nothing-decide-nothing",),
    "the-slot-is-armed": ("the-slot-is-used-only-while-armed",),
    "tables-have-one-holder": ("rows-agree/decode",),
    "blocks-are-listed-once": ("every-block-has-one-owner",),
    "blocks-are-in-one-table": ("every-block-has-one-owner",),
    "tables-with-blocks-are-held": ("every-block-has-one-owner",),
    "no-block-is-lost": ("every-block-has-one-owner",),
    "blocks-mean-rows": ("tables-with-blocks-are-held/adopt-only",),
    "writes-go-to-held-blocks": ("no-write-reaches-another-owner",),
    "captures-ran": ("runs-are-of-batches-that-ran/replay",),
    "runs-are-of-batches-that-ran": ("launches-fit-the-batch-that-runs-them/capture",),
    "launches-fit-the-batch-that-runs-them": ("a-capture-is-shared-by-batches-alike",),
}
"""Each law of the invariant, and what no longer follows without it."""

_GRAPHS = ("capture", "replay", "evict")


def _model(action: str) -> str:
    return "system_graphs" if action in _GRAPHS else "system"


def _losing(law: str, action: str, field: str) -> Lapse:
    return Lapse(law=law, action=action, loses=(field,), rule=_model(action))


def _skipping(law: str, action: str, condition: str) -> Lapse:
    return Lapse(law=law, action=action, skips=(condition,), rule=_model(action))


def _straying(law: str, action: str, field: str) -> Lapse:
    return Lapse(law=law, action=action, strays=(field,), rule=_model(action))


def _lapses() -> Iterator[Lapse]:
    for told, made in ((_LOST, _losing), (_SKIPPED, _skipping), (_STRAYED, _straying)):
        for action, things in told.items():
            for thing, laws in things.items():
                yield from (made(law, action, thing) for law in laws.split())
    # A turn that empties the slot keeps what is said of the entry, unless it puts another there.
    for action in ("adopt-append", "adopt-only", "refuse"):
        yield Lapse(law="the-entry-names-its-session", action=action, loses=("live",), strays=("entry_hash",))
        yield Lapse(law="the-entry-has-rows", action=action, loses=("live",), strays=("rows",))
        yield Lapse(law="the-slot-is-armed", action=action, skips=("the carry is armed", "there is an entry"), strays=("live",))
    for law, (action, field) in _ELSEWHERE.items():
        yield Lapse(law=law, action=action, elsewhere=True, strays=(field,))
    for forgotten, obligations in _FORGOTTEN.items():
        for obligation in obligations:
            law, _, action = obligation.partition("/")
            graphs = action in _GRAPHS or law == "a-capture-is-shared-by-batches-alike"
            yield Lapse(law=law, action=action, forgets=(forgotten,), rule="system_graphs" if graphs else "system")
    yield Lapse(law="every-law", action="initially", strays=("free",))
    yield Lapse(law="every-graph-law", action="initially", strays=("ran",), rule="system_graphs")


_JOINTLY = (
    ("an-owned-range-is-not-empty", "write-chunk"),
    *(("the-entry-has-rows", action) for action in ("cold-build", "adopt-append", "adopt-only")),
)
"""Laws that an action breaks by leaving out several things at once, or what a rule says."""


def _keeping(lapses: Iterable[Lapse]) -> dict[str, tuple[str, ...]]:
    ways: dict[tuple[str, str], bool] = {}
    for lapse in lapses:
        if lapse.action and lapse.action != "initially" and not lapse.elsewhere and not lapse.forgets:
            pair = (lapse.law, lapse.action)
            ways[pair] = ways.get(pair, True) and bool(lapse.strays)
    found: dict[str, tuple[str, ...]] = {}
    for (law, action), strays_alone in ways.items():
        if strays_alone and (law, action) not in _JOINTLY:
            found[law] = (*found.get(law, ()), action)
    return found


def _in_part(keeping: Mapping[str, tuple[str, ...]]) -> Iterator[Lapse]:
    for law, actions in keeping.items():
        field = next(field for field, laws in _STRAYED[actions[0]].items() if law in laws.split())
        yield Lapse(law=law, action=actions[0], in_part=True, strays=(field,), rule=_model(actions[0]))


KEEPING: Mapping[str, tuple[str, ...]] = _keeping(_lapses())
"""By law the actions that keep it even in part: whatever conditions are skipped, and whichever effects are lost. It is proved."""

LAPSES: tuple[Lapse, ...] = (*_lapses(), *_in_part(KEEPING))
"""Every lapse. Each must be refuted by the obligation that it names."""


def lapses_of(obligation: str) -> tuple[Lapse, ...]:
    """The lapses that an obligation must refute."""
    return tuple(lapse for lapse in LAPSES if lapse.refuted_by == obligation)
