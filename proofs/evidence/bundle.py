"""Builds the bundle: all that was found in a run of `prove`, with what is needed to check it again, in one archive.

Its bytes follow from the sources, the records and the solvers: what a run says of time and machine stays outside.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from proofs import inventory
from proofs.evidence import onefile, soundness
from proofs.evidence.archive import packed
from proofs.evidence.certificates import FOLDER, path_of
from proofs.evidence.page import Links, page
from proofs.evidence.trusted import GAPS, INFERENCES
from proofs.evidence.verifying import BUNDLE, MANIFEST, SEAL, canonical, hexdigest
from proofs.obligation import Kind
from proofs.report import SCHEMA_PATH, junit

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
OF_THE_MACHINE = {"seconds", "python", "cost"}
"""Costs too: what cvc5 counts differs a little from run to run."""

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
STATEMENT = "https://in-toto.io/Statement/v1"


def timeless(value: Any) -> Any:
    """The same without what depends on time and machine."""
    if isinstance(value, dict):
        return {key: timeless(part) for key, part in value.items() if key not in OF_THE_MACHINE}
    return [timeless(part) for part in value] if isinstance(value, list) else value


TESTS, VECTORS = "tests.json", "vectors.json"
TRAVELLING = ("spec/", "impl/reference/", "impl/batched/kernels/", "proofs/claims/", "proofs/faults/", "proofs/kernel/")
"""The sources that a reader of the claims wants at hand. All others are told by their digests."""


def members(
    report: Mapping[str, Any],
    statements: Mapping[str, bytes],
    tested: Mapping[str, Any],
    *,
    listed: Path = inventory.PATH,
    certificates: Path = FOLDER,
) -> dict[str, bytes]:
    """What goes into the archive: from the report of a run, the statements by id, what was tested (`tests.json` and
    `vectors.json` by name), the inventory, and what is kept in the checkout.
    """
    timeless_report = timeless(report)
    found: dict[str, bytes] = {
        "report.json": canonical(timeless_report),
        "junit.xml": _junit(timeless_report),
        "results.sarif": _sarif(timeless_report),
        **{name: canonical(value) for name, value in tested.items()},
    }
    for entry in report["obligations"]:
        name = entry["id"]
        found[f"statements/{name}.smt2"] = statements[name]
        if entry["kind"] == Kind.THEOREM.value and path_of(name, certificates).exists():
            found[f"certificates/{name}.json"] = path_of(name, certificates).read_bytes()
    found["inventory.json"] = listed.read_bytes()
    found["trusted-base.json"] = canonical(
        {
            "inferences": [
                {"number": t.number, "name": t.name, "says": t.says, "where": t.where, "why": t.argument} for t in INFERENCES
            ],
            "gaps": [vars(gap) for gap in GAPS],
        }
    )
    found["schemas/report.schema.json"] = SCHEMA_PATH.read_bytes()
    found["verify.py"] = onefile.text().encode()
    for path in (soundness.PATH, ROOT / "proofs" / "ASSUMPTIONS.md", LOCK, ROOT / "pyproject.toml"):
        if path.is_file():
            found[path.name] = path.read_bytes()
    if LOCK.is_file():
        found["environment.cdx.json"] = _bill(LOCK.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "proofs" / "records").glob("*.json")):
        found[f"records/{path.name}"] = path.read_bytes()
    for name in report["digests"]:
        if name.startswith(TRAVELLING) and (ROOT / name).is_file():
            found[f"sources/{name}"] = (ROOT / name).read_bytes()
    found["report.html"] = page(timeless_report, tested, inside({*found, MANIFEST})).encode()
    return found


def beside(page_at: Path, run: Path) -> Links:
    """Links from a page in a file into the checkout: what a bundle would hold is where it is kept."""
    places = {"report.json": run / "report.json", "junit.xml": run / "junit.xml", "inventory.json": inventory.PATH}
    places |= {path.name: path for path in (soundness.PATH, ROOT / "proofs" / "ASSUMPTIONS.md", LOCK)}
    folders = {"statements/": run / "smt", "certificates/": FOLDER, "records/": ROOT / "proofs" / "records", "sources/": ROOT}

    def found(name: str) -> str | None:
        path = places.get(name)
        for prefix, folder in folders.items():
            if name.startswith(prefix):
                path = folder / name.removeprefix(prefix)
        if path is None or not path.exists():
            return None
        return quote(Path(os.path.relpath(path.resolve(), page_at.resolve().parent)).as_posix())

    return found


def inside(names: Collection[str]) -> Links:
    """Links from the page to members of the bundle that it lies in."""
    return lambda name: name if name in names else None


PIN = re.compile(r"^(?P<name>\S+?)==(?P<version>\S+?)(?: ; (?P<marker>[^\\\n]*?))? \\$", re.MULTILINE)


def _bill(lock: str) -> bytes:
    """The packages of the locked environment, as a CycloneDX bill; their hashes stand in the lock beside it."""
    components = []
    for pin in PIN.finditer(lock):
        name, version = pin["name"], pin["version"]
        component: dict[str, Any] = {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
        if pin["marker"]:
            component["properties"] = [{"name": "only where", "value": pin["marker"]}]
        components.append(component)
    return canonical({"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components})


def sealed(found: Mapping[str, bytes], sources: Mapping[str, str]) -> bytes:
    """The archive of these members, with a manifest."""
    manifest = canonical(
        {
            "schema": BUNDLE,
            "tool": {"name": "draftproof", "version": metadata.version("draftproof")},
            "sources": dict(sources),
            "members": {name: hexdigest(data) for name, data in found.items()},
        }
    )
    return packed({**found, MANIFEST: manifest, SEAL: f"{hexdigest(manifest)}\n".encode()})


def statement(archive: bytes, name: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """An in-toto Statement about the archive, with the test-result predicate."""
    entries = [(entry["id"], entry["exit"]) for kind in ("obligations", "situations") for entry in report[kind]]
    entries += [(f"mutant {entry['name']}", entry["exit"]) for entry in report["faults"]]
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": hexdigest(archive)}}],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "PASSED" if report["exit"] == 0 else "FAILED",
            "configuration": [{"name": path, "digest": {"sha256": digest}} for path, digest in sorted(report["digests"].items())],
            "passedTests": [test for test, code in entries if code == 0],
            "warnedTests": [],
            "failedTests": [test for test, code in entries if code],
        },
    }


def _junit(report: Mapping[str, Any]) -> bytes:
    """JUnit, with no time for anything."""
    timed = {
        kind: [{**entry, "seconds": 0.0} for entry in report[kind]]
        for kind in ("obligations", "faults", "situations", "confirmations")
    }
    return junit({**report, **timed}).encode()


def _sarif(report: Mapping[str, Any]) -> bytes:
    """Everything that is not as it must be, as SARIF: nothing, for a bundle that holds together."""
    wrong = [(entry["id"], entry["reason"] or entry["verdict"]) for entry in report["obligations"] if entry["exit"]]
    wrong += [(entry["name"], entry["reason"] or entry["verdict"]) for entry in report["faults"] if entry["exit"]]
    results = [{"ruleId": name, "level": "error", "message": {"text": why}} for name, why in wrong]
    driver = {"name": "draftproof", "version": metadata.version("draftproof"), "rules": [{"id": name} for name, _ in wrong]}
    return json.dumps(
        {"$schema": SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}, indent=1
    ).encode()
