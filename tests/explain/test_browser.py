"""The page of an explanation in a real browser: from a file, offline, by keyboard, on a narrow screen and on paper."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proofs.explain.explanation import MUTANTS, explain, obligation_of, obligations_of
from proofs.explain.page import page
from proofs.replay import run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is here")]


class Browser:
    """A tab, spoken to in the DevTools protocol over two pipes."""

    def __init__(self, profile: Path) -> None:
        self._ids = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        self._left = b""
        reads, self._write = os.pipe()
        self._read, writes = os.pipe()
        # The browser reads its third descriptor and writes its fourth.
        start = f'exec "$0" "$@" 3<&{reads} 4>&{writes}'
        command = ["bash", "-c", start, str(CHROMIUM), *QUIET, f"--user-data-dir={profile}"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, pass_fds=(reads, writes), stdin=quiet, stdout=quiet, stderr=quiet)
        os.close(reads)
        os.close(writes)
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._write)
        os.close(self._read)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        whole = message | ({"sessionId": self._session} if self._session else {})
        os.write(self._write, json.dumps(whole).encode() + b"\0")
        while (answer := self._message()).get("id") != number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser ended"
            self._left += part
        message, _, self._left = self._left.partition(b"\0")
        return dict(json.loads(message))

    def open(self, path: Path) -> None:
        self.ask("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())

    def says(self, expression: str) -> Any:
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def press(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key)
        code = {"Enter": 13, "Tab": 9}.get(key, 0)
        told = {"key": key, "code": key, "windowsVirtualKeyCode": code} | ({"text": text} if text else {})
        self.ask("Input.dispatchKeyEvent", type="keyDown", **told)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **told)

    @property
    def shown(self) -> list[int]:
        """The steps that are shown, from 1."""
        visible = "[...document.querySelectorAll('.step')].flatMap((s, i) => s.getClientRects().length ? [i + 1] : [])"
        return list(self.says(visible))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    mutant = MUTANTS["claimed-rows-are-read-before-they-are-written"]
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page(explain(obligation_of(obligations_of(mutant)[0]), run, mutant=mutant)), encoding="utf-8")
    return path


@pytest.fixture
def browser(file: Path, tmp_path: Path) -> Iterator[Browser]:
    opened = Browser(tmp_path / "profile")
    try:
        opened.ask("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        opened.open(file)
        yield opened
    finally:
        opened.close()


def test_a_page_opens_without_a_network_asks_for_nothing_and_complains_of_nothing(browser: Browser, file: Path) -> None:
    assert browser.shown == [1]
    asked = {event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"}
    assert asked == {file.as_uri()}
    assert not [event for event in browser.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]


def test_arrows_and_home_and_end_step_and_stop_at_the_ends(browser: Browser) -> None:
    seen = []
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"):
        browser.press(key)
        seen += browser.shown

    assert seen == [1, 2, 3, 3, 2, 3, 1]
    assert browser.says("document.querySelectorAll('[aria-current]').length") == 1


def test_every_step_is_reached_with_tab_and_enter_and_the_focus_is_seen(browser: Browser) -> None:
    for _ in range(3):
        browser.press("Tab")
    assert browser.says("document.activeElement.dataset.step") == "2"
    outline = browser.says("getComputedStyle(document.activeElement).outline")
    assert "3px" in outline and "none" not in outline
    assert browser.says("getComputedStyle(document.querySelector('[data-step=\"3\"]')).outlineStyle") == "none"
    browser.press("Enter")
    assert browser.shown == [2]
    browser.press("ArrowRight")
    assert browser.says("document.activeElement.dataset.step") == "3"


def test_nothing_is_wider_than_a_narrow_screen(browser: Browser) -> None:
    browser.ask("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    browser.press("End")

    assert browser.says("innerWidth") == 360
    assert browser.says("document.documentElement.scrollWidth") == 360
    right = browser.says("Math.max(...[...document.querySelectorAll('body *')].map(e => e.getBoundingClientRect().right))")
    assert right <= 360


def test_paper_shows_every_step_and_no_buttons(browser: Browser) -> None:
    browser.ask("Emulation.setEmulatedMedia", media="print")

    assert browser.shown == [1, 2, 3]
    assert browser.says("document.querySelector('nav').getClientRects().length") == 0
    assert browser.ask("Page.printToPDF")["data"]
