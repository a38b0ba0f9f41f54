"""A bundle beside its sources: made again member for member, and its records judged by what is at hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from proofs.evidence import tested, with_sources
from proofs.evidence.verifying import Verified, verify
from proofs.evidence.with_sources import compared
from proofs.gpu.records import Record, load_records
from tests.evidence.bundles import Built, build, edited, of_the_store


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("sources"))


def against_the_sources(built: Built, archive: bytes) -> Verified:
    found = verify(archive)
    assert found.problems == []
    compared(found, of_the_store(), listed=built.folder / "listed.json")
    return found


def test_a_bundle_is_what_its_sources_make(built: Built) -> None:
    found = against_the_sources(built, built.archive)

    assert found.problems == []
    assert f"the same {len(built.parts)} members" in found.rechecked[-1]
    for record in load_records():
        assert any(f"record {record.name} is fresh" in line for line in found.rechecked)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("verify.py", lambda data: data.replace(b"return 1 if found.problems else 0", b"return 0")),
        ("report.html", lambda data: data.replace(b"proved", b"proven")),
        ("results.sarif", lambda data: data + b" "),
        ("junit.xml", lambda data: data.replace(b"tests=", b"test=")),
        ("trusted-base.json", lambda data: data.replace(b"G8", b"G9")),
        ("SOUNDNESS.md", lambda data: b""),
        ("environment.cdx.json", lambda data: data.replace(b"z3-solver", b"z4-solver")),
    ],
)
def test_what_a_forger_changed_beside_the_claims_is_named(built: Built, name: str, change: Callable[[bytes], bytes]) -> None:
    assert change(built.parts[name]) != built.parts[name]

    found = against_the_sources(built, built.forged(lambda parts: parts.update({name: change(parts[name])})))

    assert found.problems == [f"{name}: the sources at hand make another of it"]


def test_members_that_the_sources_do_not_make_are_named(built: Built) -> None:
    def add(parts: dict[str, bytes]) -> None:
        parts["more.txt"] = b""
        del parts["SOUNDNESS.md"]

    found = against_the_sources(built, built.forged(add))

    assert found.problems == [f"{name}: the sources at hand make another of it" for name in ("SOUNDNESS.md", "more.txt")]


def test_records_are_judged_by_the_sources_at_hand(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    record, *others = load_records()
    path = "proofs/gpu/check.py"
    old = Record(name=record.name, data={**record.data, "sources": {**record.data["sources"], path: "0" * 64}})
    monkeypatch.setattr(with_sources, "load_records", lambda: (old, *others))

    found = against_the_sources(built, built.archive)

    assert found.problems == [f"record {record.name}: told as fresh, it is stale: {path} has changed since it was made"]
    monkeypatch.setattr(with_sources, "load_records", lambda: tuple(others))
    assert against_the_sources(built, built.archive).problems == [f"record {record.name}: it is not at hand"]


def test_other_sources_are_named_before_all_else(built: Built) -> None:
    other = replace(built, report={**built.report, "digests": {**built.report["digests"], "spec/more.py": "0" * 64}})

    def change(parts: dict[str, bytes]) -> None:
        digests: Any = other.report["digests"]
        edited(parts, "report.json", lambda report: report.update(digests=digests))
        edited(parts, "tests.json", lambda tests: tests.update(sources=tested.state(digests, tests["tests"])))
        edited(parts, "vectors.json", lambda vectors: vectors.update(sources=tested.state(digests, {})))

    found = against_the_sources(built, other.forged(change))

    assert found.problems[0] == "the sources at hand are others: 1 files differ, spec/more.py among them"


def test_vectors_are_made_again_when_that_is_asked_for(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(built.parts["vectors.json"])["files"]
    for again, problems in (
        (told, []),
        ({**told, "visible_to.jsonl": "1" * 64}, ["vectors.json: visible_to.jsonl is another when made again"]),
    ):
        monkeypatch.setattr(with_sources, "vectors_anew", lambda *, jobs, again=again: {"files": again})
        found = verify(built.archive)
        compared(found, of_the_store(), listed=built.folder / "listed.json", vectors=1)

        assert found.problems == problems
