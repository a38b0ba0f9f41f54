"""The records of device runs: what was run, on what, and whether the sources that it ran are still those of today.

A record is one JSON file in proofs/records (schema: gpu-record.schema.json beside this file). It names the digest of
every source that mattered; when one of them changes the record is stale. Standard library alone, so that any command
can show records. Leaves out: how a record comes to be (check.py, bench.py).
"""

from __future__ import annotations

import datetime
import enum
import functools
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

SCHEMA = "draftproof.gpu-record/1"
DIRECTORY = Path(__file__).resolve().parents[1] / "records"

RULES, ENGINE = "rules", "engine"
"""What a record can be of: the rules over batches, or the engine on real memory. Each has a record of its own."""

_BATCHED = (("impl", "batched", r".*\.py"), ("impl", "batched/kernels", r".*\.(py|cuh?)"))

# What decides a result: the code that ran, and all of the checks but what merely shows or keeps results.
# Package, folder in it, and the names that count there.
_MATTERING = {
    RULES: (
        *_BATCHED,
        ("proofs", "gpu/kernels", r".*\.cuh?"),
        ("proofs", "gpu", r"(agreement|bench|check|machines|mutants|scopes|walks)\.py"),
    ),
    ENGINE: (
        *_BATCHED,
        ("impl", "engine", r".*\.py"),
        ("impl", "engine/kernels", r".*\.(py|cuh?)"),
        ("proofs", "gpu", r"(bench|check|machines|engine|engine_(?!plots).*)\.py|(graph|carry)_traces\.json"),
    ),
}


class Freshness(enum.Enum):
    """Whether a record speaks of the sources as they are."""

    FRESH = "fresh"
    STALE = "stale"
    ABSENT = "absent"


@dataclass(frozen=True, kw_only=True)
class Record:
    """One record: its name (the file's, without suffix) and its contents."""

    name: str
    data: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """What it is of: RULES, as in every record that does not say, or ENGINE."""
        return str(self.data.get("subject", RULES))

    @property
    def ok(self) -> bool:
        """Whether everything that the record tells of went as it must."""
        sections = self.data.get("check", {}).get("sections", [])
        return bool(sections) and all(section["ok"] for section in sections)

    @property
    def summary(self) -> str:
        """Device, day, cases, violations and mutants in one line."""
        rows = [row for section in self.data.get("check", {}).get("sections", []) for row in section["rows"]]
        sweeps = [row for row in rows if row["kind"] == "sweep"]
        mutants = [row for row in rows if row["kind"] == "mutant"]
        cases, broken = sum(row["cases"] for row in sweeps), sum(row["broken"] for row in sweeps)
        caught = sum(row["ok"] for row in mutants)
        if self.subject == ENGINE:
            held = [row for row in rows if row["kind"] != "mutant"]
            cases, broken = sum(row["cases"] for row in held), sum(row["broken"] for row in held)
            what = f"engine on {self.data['device']['name']}"
            if not rows:
                return f"{what} on {self.data['made'][:10]}: figures, and no check"
            return f"{what} on {self.data['made'][:10]}: {cases:.3g} cases, {broken} violations, mutants {caught}/{len(mutants)}"
        return (
            f"{self.data['device']['name']} on {self.data['made'][:10]}: {cases:.3g} cases, {broken} violations, "
            f"mutants {caught}/{len(mutants)}"
        )


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a record."""
    text = Path(__file__).with_name("gpu-record.schema.json").read_text(encoding="utf-8")
    contents: dict[str, Any] = json.loads(text)
    return contents


@functools.cache
def sources(subject: str = RULES) -> Mapping[str, str]:
    """Return the SHA-256 of every source that mattered to a subject, by its path from the root."""
    found = {}
    for package, folder, names in _MATTERING[subject]:
        for entry in resources.files(package).joinpath(folder).iterdir():
            if re.fullmatch(names, entry.name):
                found[f"{package}/{folder}/{entry.name}"] = hashlib.sha256(entry.read_bytes()).hexdigest()
    return dict(sorted(found.items()))


def load_records(directory: Path | None = None) -> tuple[Record, ...]:
    """Return the records of a directory (proofs/records by default), by name; none where it does not exist.

    Errors: ValueError naming a file that is no record of this schema.
    """
    return tuple(load(path) for path in sorted((directory or DIRECTORY).glob("*.json")))


def load(path: Path) -> Record:
    """Return the record of a file. Errors: ValueError where it is no record of this schema."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"load_records: {path} is not JSON: {error}") from error
    known = isinstance(data, dict) and data.get("schema") == SCHEMA and data.get("subject", RULES) in _MATTERING
    if not known or "sources" not in data:
        raise ValueError(f"load_records: {path} is no {SCHEMA}; move it elsewhere or make it again")
    return Record(name=path.stem, data=data)


def changed(record: Record) -> tuple[str, ...]:
    """Return the sources that differ from those the record was made with: changed, gone or new."""
    then, now = record.data["sources"], sources(record.subject)
    return tuple(sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path)))


def freshness(record: Record | None) -> Freshness:
    """Return whether a record is fresh or stale; absent where there is none."""
    if record is None:
        return Freshness.ABSENT
    return Freshness.STALE if changed(record) else Freshness.FRESH


def file_name(device: str, devices: int, day: datetime.date, subject: str = RULES) -> str:
    """Return how the record of a device, or of several alike, on a day is called: nvidia-h200-x2-2026-11-30.json.

    One of the engine ends in -engine.json.
    """
    words = re.findall("[a-z0-9]+", device.lower()) + ([f"x{devices}"] if devices > 1 else [])
    words += [day.isoformat()] + ([subject] if subject != RULES else [])
    return f"{'-'.join(words)}.json"


def write(path: Path, data: Mapping[str, Any]) -> None:
    """Write a record whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False, encoding="utf-8") as file:
        json.dump(data, file, indent=1, ensure_ascii=False)
        file.write("\n")
    os.replace(file.name, path)


def extended(
    path: Path, part: str, value: Mapping[str, Any], device: Mapping[str, Any], made: str, subject: str = RULES
) -> dict[str, Any]:
    """Return the record of `path` with `part` (check, bench or stretch) put in, or a new one.

    Parts of a record that was made with other sources, or on another device, are not kept.
    """
    record: dict[str, Any] = {"schema": SCHEMA, "made": made, "device": dict(device), "sources": dict(sources(subject))}
    if subject != RULES:
        record["subject"] = subject
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        if before.get("sources") == record["sources"] and before.get("device") == record["device"]:
            record = before
    record[part] = dict(value)
    return record
