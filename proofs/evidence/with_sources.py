"""Compares a bundle with the sources at hand: every statement is told again from the models, and every member made again.

What only a run can tell (the report, the outcomes of tests) is taken from the bundle; `verify` has checked it against the
inventory. Whether the records of device runs are fresh is judged by the sources at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proofs import console, inventory
from proofs.checker import Catalogue, everything
from proofs.evidence.bundle import TESTS, VECTORS, members
from proofs.evidence.strict import parsed
from proofs.evidence.tested import digests_of_tests, vectors_anew
from proofs.evidence.verifying import MANIFEST, SEAL, Verified
from proofs.gpu.records import changed, freshness, load_records
from proofs.inventory import statements
from proofs.report import source_digests


def compared(found: Verified, catalogue: Catalogue | None = None, *, listed: Path = inventory.PATH, vectors: int = 0) -> None:
    """Notes where the bundle and the sources differ. `vectors` is in how many processes the test vectors are made again."""
    manifest, report, tested = (
        parsed(found.members[MANIFEST].decode()),
        parsed(found.members["report.json"].decode()),
        {name: parsed(found.members[name].decode()) for name in (TESTS, VECTORS)},
    )
    if others := console.changed(manifest["sources"], source_digests()):
        found.problems.append(f"the sources at hand are others: {len(others)} files differ, {others[0]} among them")
    here = {name: judged.statement.encode() for name, judged in statements(catalogue or everything()).items()}
    for name, statement in here.items():
        there = found.members.get(f"statements/{name}.smt2")
        found.require(there == statement, f"{name}: the sources at hand state it in another way")
    found.rechecked.append(f"that the sources at hand tell the same {len(here)} statements")
    _fresh(found, report["records"])
    if not found.problems:
        _rebuilt(found, members(report, here, tested, listed=listed))
        if "tests" in tested[TESTS] and (differ := console.changed(tested[TESTS]["tests"], digests_of_tests())):
            found.problems.append(f"{TESTS}: {len(differ)} files of the tests at hand are others, {differ[0]} among them")
    if vectors and "files" in tested[VECTORS]:
        again = vectors_anew(jobs=vectors)["files"]
        for name, digest in tested[VECTORS]["files"].items():
            found.require(again.get(name) == digest, f"{VECTORS}: {name} is another when made again")
        found.rechecked.append(f"the digests of {len(again)} files of test vectors, made again")


def _fresh(found: Verified, told: list[Mapping[str, str]]) -> None:
    kept = {record.name: record for record in load_records()}
    for entry in told:
        if entry["status"] == "absent":
            found.require(not kept, "report.json: it tells of no device run, and there are records at hand")
        elif found.require(entry["name"] in kept, f"record {entry['name']}: it is not at hand"):
            record = kept[entry["name"]]
            now, others = freshness(record).value, changed(record)
            why = f"{others[0]} has changed since it was made" if others else "nothing that decides it has changed since"
            if found.require(now == entry["status"], f"record {record.name}: told as {entry['status']}, it is {now}: {why}"):
                found.rechecked.append(f"that record {record.name} is {now}: {why} (of {len(record.data['sources'])} sources)")


def _rebuilt(found: Verified, anew: Mapping[str, bytes]) -> None:
    there = found.members.keys() - {MANIFEST, SEAL}
    for name in sorted(there | anew.keys()):
        same = found.members.get(name) == anew.get(name)
        found.require(same, f"{name}: the sources at hand make another of it")
    found.rechecked.append(f"that the sources at hand and the report make the same {len(anew)} members")
