"""A small bundle, of the claims about the store, and ways to forge it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs import inventory, replay
from proofs.checker import Catalogue, Settings, everything
from proofs.cli import _records
from proofs.commands import prove
from proofs.evidence.bundle import TESTS, VECTORS, members, sealed
from proofs.evidence.tested import digests_of_tests, state
from proofs.evidence.verifying import MANIFEST, SEAL, hexdigest
from proofs.inventory import found, statements
from proofs.report import smt_file


@dataclass(frozen=True, kw_only=True)
class Built:
    """The parts of a bundle, before they are sealed, and its report."""

    parts: dict[str, bytes]
    report: Any
    folder: Path

    @property
    def archive(self) -> bytes:
        return sealed(self.parts, self.report["digests"])

    def forged(self, change: Callable[[dict[str, bytes]], None]) -> bytes:
        """A bundle made by somebody who changes parts and computes all digests anew."""
        parts = dict(self.parts)
        change(parts)
        return sealed(parts, self.report["digests"])


def of_the_store() -> Catalogue:
    """The project's own claims about the store: they rest on no others."""
    return everything().only("store/*")


def build(folder: Path) -> Built:
    """Runs `prove` on the claims about the store, and takes what a bundle holds."""
    catalogue = of_the_store()
    listed = folder / "listed.json"
    listed.write_text(inventory.text(found(catalogue, statements(catalogue))))
    known = inventory.read(listed)
    report = prove(of_the_store, replay.run, Settings(jobs=2), listed=known, folder=folder, records=_records)
    texts = {entry["id"]: (folder / smt_file(entry["id"])).read_bytes() for entry in report["obligations"]}
    digests, tests = report["digests"], digests_of_tests()
    told = {
        TESTS: {
            "sources": state(digests, tests),
            "tests": tests,
            "runs": ["tests"],
            "outcomes": {"tests.reference.test_store::t": "passed"},
        },
        VECTORS: {"sources": state(digests, {}), "seed": 0, "count": 100, "files": {"visible_to.jsonl": "0" * 64}},
    }
    return Built(parts=members(report, texts, told, listed=listed), report=report, folder=folder)


def edited(parts: dict[str, bytes], name: str, change: Callable[[Any], None]) -> None:
    """Changes a JSON member."""
    value = json.loads(parts[name])
    change(value)
    parts[name] = (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


__all__ = ["MANIFEST", "SEAL", "Built", "build", "edited", "hexdigest"]
