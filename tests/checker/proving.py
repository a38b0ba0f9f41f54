"""Runs the commands on a catalogue of the tests, in this process or in one of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proofs import inventory, replay
from proofs.checker import Load
from proofs.cli import run
from proofs.commands import Provide, prove_command
from proofs.exits import Exit
from proofs.judge import Runner
from tests.checker.catalogues import UNTELLABLE


@dataclass(frozen=True, kw_only=True)
class Proved:
    """What `draftproof prove` left: its exit code, and its report (None if there is none)."""

    exit: Exit
    report: Any
    folder: Path

    def obligation(self, name: str) -> Any:
        return next(entry for entry in self.report["obligations"] if entry["id"] == name)


def list_catalogue(load: Load, path: Path) -> None:
    """Writes the inventory of a catalogue, without the statements of claims that must not be told in this process."""
    catalogue = load()
    tellable = tuple(o for o in catalogue.obligations if o.id not in UNTELLABLE)
    statements = inventory.statements(replace(catalogue, obligations=tellable))
    path.write_text(inventory.text(inventory.found(catalogue, statements)))


def prove(
    load: Load, folder: Path, *arguments: str, code: Runner = replay.run, listed: Load | None = None, **providers: Provide
) -> Proved:
    """Runs `draftproof prove` in this process; the inventory is that of `listed`, or of the catalogue itself.

    `providers` are the sources and records that the report takes in.
    """
    path = folder / "inventory.json"
    list_catalogue(listed or load, path)
    out = folder / "prove"
    code_found = run(prove_command(load, code, path, **providers), ["--out", str(out), "--jobs", "2", *arguments])
    report = out / "report.json"
    return Proved(exit=code_found, report=json.loads(report.read_text()) if report.exists() else None, folder=out)
