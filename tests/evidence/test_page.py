"""The page of the evidence: it tells every claim, leads nowhere but into the bundle, and loads and runs nothing."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from proofs.cli import run
from proofs.evidence.bundle import beside, inside
from proofs.evidence.page import page
from proofs.evidence.trusted import GAPS, INFERENCES
from proofs.exits import Exit
from proofs.ledger import ASSUMPTIONS
from proofs.report_cli import report
from tests.evidence.bundles import Built, build

VOID = {"meta", "br", "rect"}
STEPS = ("function", "claim", "model", "obligation", "certificate", "faults caught", "tests", "device", "source proofs")
TOLD = {"tests.json": {"absent": "no tests were run"}, "vectors.json": {"absent": "none were made"}}


class Read(HTMLParser):
    """Tags, links and anchors of a page; AssertionError where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on") and name != "src"
            if name == "href":
                self.links.append(value or "")
            if name == "id":
                self.anchors.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("page"))


def test_it_tells_every_claim_and_fault(built: Built) -> None:
    text = built.parts["report.html"].decode()
    anchors = Read(text).anchors

    assert [name for name, number in Counter(anchors).items() if number > 1] == []
    assert {entry["id"] for entry in built.report["obligations"]} <= set(anchors)
    assert all(f"<code>{fault['name']}</code>" in text for fault in built.report["faults"])


def test_its_links_lead_to_its_own_parts_and_to_members_of_the_bundle(built: Built) -> None:
    read = Read(built.parts["report.html"].decode())
    inside = {f"#{anchor}" for anchor in read.anchors} | built.parts.keys() | {"manifest.json"}
    # Findings and assumptions speak of all modules; this bundle is of one.
    elsewhere = {link for link in read.links if link.startswith("#") and "/" in link and not link.startswith("#store/")}

    assert set(read.links) - elsewhere <= inside
    assert sum(link.startswith("certificates/") for link in read.links) == 28


def test_a_claim_is_followed_from_the_function_to_the_source_proof(built: Built) -> None:
    # The bundle of one module has no source proofs.
    source = {"name": "impl/reference/store.py::merge_interval", "verdict": "proved", "line": 1}
    told = {name: json.loads(built.parts[name]) for name in TOLD}
    text = page({**built.report, "sources": [source]}, told, inside(built.parts.keys()))
    chain = text[text.index('<details id="store/merge-claims-only-written-rows">') :].partition("</details>")[0]

    places = [chain.index(f"<dt>{step}</dt>") for step in STEPS]
    assert places == sorted(places)
    assert "<code>merge_interval</code>" in chain and "store/a-gap-is-spanned" in chain and "1 passed" in chain
    for record in built.report["records"]:
        assert f'<a href="records/{record["name"]}.json">' in chain
    for link in ("sources/spec/store.py", "sources/proofs/claims/store.py", "tests.json", "sources/impl/reference/store.py"):
        assert f'<a href="{link}">' in chain


def test_the_argument_names_every_assumption_inference_and_gap(built: Built) -> None:
    text = built.parts["report.html"].decode()
    drawn = text[text.index('<ul class="gsn">') :].partition("</section>")[0]

    numbers = [a.number for a in ASSUMPTIONS] + [rule.number for rule in INFERENCES] + [gap.number for gap in GAPS]
    assert all(f"<b>{number}</b>" in drawn for number in numbers)
    assert "28 of 28 theorems proved by Z3, 28 by cvc5, 28 by certificate." in drawn
    assert "Tests: 1 passed." in drawn


def test_in_a_checkout_its_links_lead_to_files(built: Built, tmp_path: Path) -> None:
    file = tmp_path / "pages" / "evidence.html"
    text = page(built.report, TOLD, beside(file, built.folder))
    links = {link for link in Read(text).links if not link.startswith("#")}

    assert all((file.parent / unquote(link)).resolve().is_file() for link in links)
    ends = {link.rsplit("/", 1)[-1] for link in links}
    assert {"merge-claims-only-written-rows.smt2", "merge-claims-only-written-rows.json", "store.py", "test_store.py"} <= ends


def test_the_command_writes_the_page_or_says_why_not(built: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "page.html"

    assert run(report, ["--html", str(file), "--out", str(tmp_path)]) == Exit.USAGE
    assert run(report, ["--html", str(file), "--json", "--out", str(built.folder)]) == Exit.USAGE
    assert run(report, ["--html", str(file), "--out", str(built.folder), "keys"]) == Exit.USAGE
    assert not file.exists()
    assert run(report, ["--html", str(built.folder / "report.json" / "x"), "--out", str(built.folder)]) == Exit.USAGE
    said = capsys.readouterr().err
    assert "Traceback" not in said and "run `draftproof prove` first" in said
    assert run(report, ["--html", str(file), "--out", str(built.folder)]) == Exit.OK
    assert "<h1>" in file.read_text()


def test_it_runs_and_loads_nothing(built: Built) -> None:
    text = built.parts["report.html"].decode()
    tags = Read(text).tags

    assert not tags.keys() & {"script", "link", "img", "iframe", "object", "form", "input", "base"}
    assert "http" not in text and "url(" not in text and "@import" not in text


def test_words_from_elsewhere_are_escaped(built: Built) -> None:
    report = json.loads(json.dumps(built.report))
    report["obligations"][0]["claim"] = report["faults"][0]["tells"] = '<script>alert("1")</script>'

    assert "script" not in Read(page(report, TOLD, inside([]))).tags


def test_what_is_wrong_is_shown_as_wrong(built: Built) -> None:
    report = json.loads(json.dumps(built.report))
    report["exit"] = report["obligations"][0]["exit"] = 1
    report["obligations"][0]["verdict"] = "refuted"
    text = page(report, TOLD, inside([]))

    assert "Something is not as it must be." in text and '<span class="bad">refuted</span>' in text
    assert '<span class="bad">' not in built.parts["report.html"].decode()
