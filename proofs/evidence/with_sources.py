"""Compares a bundle with the sources at hand: their digests, and every statement told again from the models."""

from __future__ import annotations

from proofs import console
from proofs.checker import Catalogue, everything
from proofs.evidence.strict import parsed
from proofs.evidence.verifying import MANIFEST, Verified
from proofs.inventory import statements
from proofs.report import source_digests


def compared(found: Verified, catalogue: Catalogue | None = None) -> None:
    """Notes where the bundle and the sources differ."""
    manifest = parsed(found.members[MANIFEST].decode())
    if changed := console.changed(manifest["sources"], source_digests()):
        found.problems.append(f"the sources at hand are others: {len(changed)} files differ, {changed[0]} among them")
    here = statements(catalogue or everything())
    for name, judged in here.items():
        there = found.members.get(f"statements/{name}.smt2")
        found.require(there == judged.statement.encode(), f"{name}: the sources at hand state it in another way")
    found.rechecked.append(f"that the sources at hand tell the same {len(here)} statements")
