"""Verifies a bundle by itself: digests, certificates (with the kernel), completeness. Standard library alone.

It travels in the bundle, after the kernel, as one file. What it cannot check by itself (that a solver said so, that a device
run took place, that the statements are those of the sources) it lists as only reported.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proofs.evidence.archive import unpacked
from proofs.evidence.strict import certificate, parsed
from proofs.kernel.rules import check
from proofs.kernel.terms import Refused, need

BUNDLE = "draftproof.bundle/1"
MANIFEST, SEAL = "manifest.json", "manifest.sha256"
MOST_WORK_IN_ALL = 20_000_000
"""What the kernel may do for all certificates of a bundle, some ten times what an honest one takes."""


@dataclass(kw_only=True)
class Verified:
    """What was checked again, what is only reported, and what is wrong (with where)."""

    rechecked: list[str] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    members: dict[str, bytes] = field(default_factory=dict)

    def require(self, condition: object, problem: str) -> bool:
        """Notes a problem unless the condition holds."""
        if not condition:
            self.problems.append(problem)
        return bool(condition)


def hexdigest(data: bytes) -> str:
    """The digest, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def canonical(value: Any) -> bytes:
    """The one text of a JSON value here."""
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def verify(archive: bytes) -> Verified:
    """Checks a bundle again. Never raises for what is in it."""
    found = Verified()
    try:
        members = found.members = unpacked(archive)
        _digests(members, found)
        report, listed = _document(members, "report.json"), _document(members, "inventory.json")
        if not found.problems:
            sources = _document(members, MANIFEST)["sources"]
            _obligations(members, report, found)
            _complete(report, listed, found)
            _sources(members, report, sources, found)
            _records(members, report, sources, found)
            _tested(members, sources, found)
            _reported(report, found)
    except Refused as why:
        found.problems.append(str(why))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as broken:
        found.problems.append(f"a part of the bundle is not of the form that bundles have ({type(broken).__name__}: {broken})")
    return found


def _document(members: Mapping[str, bytes], name: str, *, fractions: bool = False) -> Any:
    need(name in members, f"{name} is missing")
    try:
        value = parsed(members[name].decode("utf-8"), fractions=fractions)
    except (UnicodeDecodeError, Refused) as broken:
        raise Refused(f"{name}: {broken}") from broken
    need(isinstance(value, dict), f"{name}: it is no object")
    return value


def _digests(members: Mapping[str, bytes], found: Verified) -> None:
    manifest = _document(members, MANIFEST)
    need(manifest["schema"] == BUNDLE, f"{MANIFEST}: it is no {BUNDLE}")
    found.require(
        members.get(SEAL) == f"{hexdigest(members[MANIFEST])}\n".encode(), f"{MANIFEST}: its digest is not the one in {SEAL}"
    )
    listed = manifest["members"]
    for name in sorted(members.keys() - listed.keys() - {MANIFEST, SEAL}):
        found.problems.append(f"{name}: the manifest does not list it")
    for name, digest in listed.items():
        if found.require(name in members, f"{name}: the manifest lists it, and it is missing"):
            found.require(hexdigest(members[name]) == digest, f"{name}: its digest is not the one in the manifest")
    found.rechecked.append(f"the digests of {len(listed)} members, and the form of the archive")


def _obligations(members: Mapping[str, bytes], report: Any, found: Verified) -> None:
    checked, left = 0, MOST_WORK_IN_ALL
    names = {entry["id"] for entry in report["obligations"]}
    found.require(len(names) == len(report["obligations"]), "report.json: an obligation is told twice")
    for entry in report["obligations"]:
        name, statement = entry["id"], members.get(f"statements/{entry['id']}.smt2")
        if not found.require(statement is not None, f"{name}: its statement is missing"):
            continue
        assert statement is not None
        digest = hexdigest(statement)
        found.require(digest == entry["smtlib"]["digest"], f"{name}: the report is about another statement")
        wanted = "proved" if entry["kind"] == "theorem" else "refuted"
        found.require(entry["verdict"] == wanted and entry["exit"] == 0, f"{name}: it is {entry['verdict']}, not {wanted}")
        if entry["kind"] == "theorem":
            work = _certificate(members.get(f"certificates/{name}.json"), name, statement, found)
            checked, left = checked + (work > 0), left - work
            need(left > 0, "the certificates are more work than those of any honest bundle")
    found.rechecked.append(f"the certificates of {checked} theorems, each against its statement, with the kernel")


def _certificate(text: bytes | None, name: str, statement: bytes, found: Verified) -> int:
    """The kernel's work on a certificate that it accepts; 0 if there is none."""
    if not found.require(text is not None, f"{name}: its certificate is missing"):
        return 0
    assert text is not None
    try:
        digest, steps = certificate(text.decode("utf-8"))
        need(digest == hexdigest(statement), "it is for another statement")
        return check(statement.decode("utf-8"), steps)
    except (Refused, UnicodeDecodeError) as why:
        found.problems.append(f"{name}: its certificate is rejected: {why}")
        return 0


def _complete(report: Any, listed: Any, found: Verified) -> None:
    entries = {entry["id"]: entry for entry in report["obligations"]}
    found.require(report["exit"] == 0 and report["complete"] is True, "report.json: the run was not complete, or not as it must be")
    for name, wanted in listed["obligations"].items():
        if not found.require(name in entries, f"{name}: the inventory lists it, and the report does not"):
            continue
        entry = entries[name]
        same = (entry["kind"], entry["claim"], entry["smtlib"]["digest"]) == (wanted["kind"], wanted["claim"], wanted["statement"])
        found.require(same, f"{name}: its kind, claim or statement is not the one in the inventory")
    for name in sorted(entries.keys() - listed["obligations"].keys()):
        found.problems.append(f"{name}: the inventory does not list it")
    faults = {fault["name"]: fault for fault in report["faults"]}
    for name in listed["faults"]:
        killed = name in faults and faults[name]["verdict"] == "refuted"
        found.require(killed, f"{name}: the inventory lists this mutant, and the report does not tell that it was refuted")
    found.rechecked.append(
        f"that all {len(listed['obligations'])} obligations and {len(listed['faults'])} mutants of the inventory are told"
    )


def _sources(members: Mapping[str, bytes], report: Any, sources: Mapping[str, str], found: Verified) -> None:
    """The sources that travel are those whose digests the manifest and the report list."""
    found.require(report["digests"] == sources, f"report.json: its sources are not those of {MANIFEST}")
    here = {name: data for name, data in members.items() if name.startswith("sources/")}
    for name, data in here.items():
        same = sources.get(name.removeprefix("sources/")) == hexdigest(data)
        found.require(same, f"{name}: it is not the source of which {MANIFEST} tells")
    found.rechecked.append(f"that the {len(here)} sources inside are among the {len(sources)} that the run names")


def _records(members: Mapping[str, bytes], report: Any, sources: Mapping[str, str], found: Verified) -> None:
    """A record is as fresh as the run says only if each source that it names is, by its digest, that of the run."""
    told = {f"records/{record['name']}.json": record for record in report["records"] if record["status"] != "absent"}
    for name in sorted(members.keys() - told.keys()):
        found.require(not name.startswith("records/"), f"{name}: the report does not tell of this record")
    for name, record in told.items():
        ran = _document(members, name, fractions=True)["sources"]
        others = sorted(path for path, digest in ran.items() if sources.get(path) != digest)
        if record["status"] == "fresh" and others:
            found.problems.append(f"{name}: it is told as fresh, and {others[0]} is another than when it was made")
        fits = f"the {len(ran)} sources that it names are those of the run" if not others else f"{others[0]} has changed since"
        found.reported.append(f"record {record['name']}: {record['status']} when the bundle was built; {fits}")


def _tested(members: Mapping[str, bytes], sources: Mapping[str, str], found: Verified) -> None:
    """What was tested must be of the same sources, and must not have failed. That it was so is only reported."""
    tests, vectors = _document(members, "tests.json"), _document(members, "vectors.json")
    if "absent" in tests:
        found.reported.append(f"no results of tests: {tests['absent']}")
    else:
        state = hexdigest(canonical({**sources, **tests["tests"]}))
        found.require(tests["sources"] == state, "tests.json: the tests ran on other sources")
        counts: dict[str, int] = {}
        for name, outcome in tests["outcomes"].items():
            counts[outcome] = counts.get(outcome, 0) + 1
            found.require(outcome in ("passed", "skipped"), f"tests.json: {name} {outcome}")
        told = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
        found.reported.append(f"tests: {told}, on these sources")
    if "absent" in vectors:
        found.reported.append(f"no digests of test vectors: {vectors['absent']}")
    else:
        found.require(vectors["sources"] == hexdigest(canonical(sources)), "vectors.json: they were made from other sources")
        found.reported.append(f"the digests of the test vectors of {len(vectors['files'])} functions")


def _reported(report: Any, found: Verified) -> None:
    solvers = ", ".join(f"{solver['name']} {solver['version']}" for solver in report["solvers"])
    boundaries = sum(entry["kind"] == "boundary" for entry in report["obligations"])
    found.reported.append(f"what {solvers} answered; the models of {boundaries} boundaries and {len(report['faults'])} mutants")
    found.reported.append(f"{len(report['sources'])} source proofs and {len(report['records'])} records of device runs")
    found.reported.append("that the statements are those of the sources whose digests the manifest lists")


def printable(line: str) -> str:
    """The line as any terminal may show it: names inside a bundle may hold anything."""
    return "".join(c if c.isascii() and c.isprintable() else ascii(c)[1:-1] for c in line)[:500]


def for_people(found: Verified) -> str:
    """For people."""
    lines = [f"checked again   {line}" for line in found.rechecked]
    lines += [f"only reported   {line}" for line in found.reported]
    lines += [f"WRONG           {line}" for line in found.problems[:50]]
    if len(found.problems) > 50:
        lines.append(f"WRONG           and {len(found.problems) - 50} more")
    verdict = "the bundle is not what it says" if found.problems else "the bundle holds together"
    return "\n".join([*map(printable, lines), verdict])


def main(arguments: list[str]) -> int:
    """`verify.py BUNDLE`: exit code 0, 1 (something is wrong) or 2 (usage)."""
    if len(arguments) != 1:
        print("usage: python -I -S verify.py BUNDLE", file=sys.stderr)
        return 2
    try:
        with open(arguments[0], "rb") as file:
            archive = file.read()
    except OSError as absent:
        print(f"{arguments[0]}: {absent.strerror}", file=sys.stderr)
        return 2
    found = verify(archive)
    found.reported.append("who made the bundle: without a key this is integrity, not origin")
    print(for_people(found))
    return 1 if found.problems else 0
