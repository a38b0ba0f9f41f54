"""The reviewed list of what is proved: every obligation with its claim and statement, every fault and what refutes it.

A claim that vanishes, weakens or changes is a difference at the next run, and a changed line in review.
The list is `proofs/inventory.json`, written by `draftproof inventory --write` and by nothing else.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs.checker import Catalogue
from proofs.judge import Judgement, stated

SCHEMA = "draftproof.inventory/1"
PATH = Path(__file__).with_name("inventory.json")
KINDS = ("obligations", "faults", "situations", "confirmations")

Inventory = Mapping[str, Mapping[str, Any]]
"""By kind (`KINDS`) and name, what is listed of it."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """`name` is listed and missing, found and unexpected, or changed."""

    what: str
    name: str
    tells: str


def statements(catalogue: Catalogue) -> dict[str, Judgement]:
    """Every obligation, and every confirmation that finishes, as it would be put to the solvers."""
    told = (*catalogue.obligations, *(c.told for c in catalogue.confirmations if not c.unfinished))
    return {obligation.id: stated(obligation, catalogue.rules) for obligation in told}


def found(catalogue: Catalogue, judgements: Mapping[str, Judgement]) -> Inventory:
    """What the catalogue holds. Obligations without a judgement (it was lost) are listed without their statement."""
    obligations: dict[str, dict[str, Any]] = {}
    for obligation in catalogue.obligations:
        entry: dict[str, Any] = {"kind": obligation.kind.value, "claim": obligation.claim}
        entry["assumes"] = list(obligation.assumes)
        if obligation.id in judgements:
            entry["scope"] = judgements[obligation.id].scope
            entry["statement"] = judgements[obligation.id].digest
        obligations[obligation.id] = entry
    faults = {fault.name: {"refuted by": fault.refuted_by} for fault in catalogue.faults}
    confirmations: dict[str, dict[str, Any]] = {}
    for c in catalogue.confirmations:
        entry = {"kind": c.told.kind.value, "claim": c.told.claim, "confirms": c.confirms, "unfinished": bool(c.unfinished)}
        entry["faults"] = [fault.name for fault in catalogue.confirming_faults if fault.refuted_by == c.told.id]
        if c.told.id in judgements and not c.unfinished:
            entry["statement"] = judgements[c.told.id].digest
        confirmations[c.told.id] = entry
    return {
        "obligations": obligations,
        "faults": faults,
        "situations": {situation.id: {"tells": situation.tells} for situation in catalogue.situations},
        "confirmations": confirmations,
    }


def read(path: Path) -> Inventory:
    """The list at `path`. ValueError if it is no inventory, FileNotFoundError if there is none."""
    listed = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(listed, dict) or listed.get("schema") != SCHEMA:
        raise ValueError(f"{path}: it is no {SCHEMA}; write it anew with `draftproof inventory --write`")
    return {kind: listed[kind] for kind in KINDS}


def text(inventory: Inventory) -> str:
    """The file's text."""
    return json.dumps({"schema": SCHEMA, **inventory}, indent=1, ensure_ascii=False) + "\n"


def only(inventory: Inventory, pattern: str) -> Inventory:
    """What of a list `Catalogue.only` would keep."""

    def kept(name: str) -> bool:
        return fnmatch.fnmatchcase(name, pattern)

    return {
        "obligations": {name: entry for name, entry in inventory["obligations"].items() if kept(name)},
        "faults": {name: entry for name, entry in inventory["faults"].items() if kept(entry["refuted by"])},
        "situations": {name: entry for name, entry in inventory["situations"].items() if kept(name)},
        "confirmations": {name: entry for name, entry in inventory["confirmations"].items() if kept(name)},
    }


def differences(listed: Inventory, present: Inventory) -> tuple[Difference, ...]:
    """How what is present differs from what is listed, in both directions."""
    return tuple(difference for kind in KINDS for difference in _differences(kind[:-1], listed[kind], present[kind]))


def _differences(kind: str, listed: Mapping[str, Any], present: Mapping[str, Any]) -> Iterable[Difference]:
    for name in listed:
        if name not in present:
            yield Difference(what="missing", name=name, tells=f"the inventory lists this {kind}, and it is gone")
    for name, entry in present.items():
        if name not in listed:
            yield Difference(what="unexpected", name=name, tells=f"the inventory does not list this {kind}")
            continue
        for part, value in entry.items():
            if value != (before := listed[name].get(part)):
                told = f"listed {before!r}, found {value!r}"
                if part == "statement":
                    told = "its SMT-LIB text is another one; the words of the claim may be the same"
                yield Difference(what=f"changed {part}", name=name, tells=told)
