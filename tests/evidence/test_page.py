"""The page of the evidence: it tells every claim, leads nowhere but into the bundle, and loads and runs nothing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from proofs.evidence.page import page
from tests.evidence.bundles import Built, build

VOID = {"meta", "br", "rect"}


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


def test_it_runs_and_loads_nothing(built: Built) -> None:
    text = built.parts["report.html"].decode()
    tags = Read(text).tags

    assert not tags.keys() & {"script", "link", "img", "iframe", "object", "form", "input", "base"}
    assert "http" not in text and "url(" not in text and "@import" not in text


def test_words_from_elsewhere_are_escaped(built: Built) -> None:
    report = json.loads(json.dumps(built.report))
    report["obligations"][0]["claim"] = report["faults"][0]["tells"] = '<script>alert("1")</script>'

    assert "script" not in Read(page(report, [])).tags


def test_what_is_wrong_is_shown_as_wrong(built: Built) -> None:
    report = json.loads(json.dumps(built.report))
    report["exit"] = report["obligations"][0]["exit"] = 1
    report["obligations"][0]["verdict"] = "refuted"
    text = page(report, [])

    assert "Something is not as it must be." in text and '<span class="bad">refuted</span>' in text
    assert '<span class="bad">' not in built.parts["report.html"].decode()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium here")
@pytest.mark.parametrize("width", [360, 1100])
def test_a_browser_shows_it_without_scrolling_sideways(built: Built, width: int, tmp_path: Path) -> None:
    # A frame of the width in question tells how wide the page is inside.
    (tmp_path / "report.html").write_bytes(built.parts["report.html"])
    frame = f'<iframe id=f width={width} height=800 scrolling=no src="report.html" style="border:0"></iframe><pre id=o></pre>'
    told = "`beyond ${d.scrollWidth - d.clientWidth} of ${d.scrollWidth}`"
    script = f"onload = () => {{ const d = f.contentDocument.documentElement; o.textContent = {told} }}"
    (tmp_path / "frame.html").write_text(f"<!doctype html>{frame}<script>{script}</script>")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=5000"]
    command = ["chromium", *options, "--dump-dom", f"file://{tmp_path}/frame.html"]

    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    assert re.search(rf">beyond 0 of {width}<", shown)
