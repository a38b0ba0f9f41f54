"""The page of the evidence in a real browser: from a file, offline, by keyboard, on a narrow screen and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.evidence.bundles import build
from tests.explain.test_browser import CHROMIUM, Browser

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is here")]

FOCUS = "document.activeElement"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_bytes(build(tmp_path_factory.mktemp("bundle")).parts["report.html"])
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


def test_it_opens_without_a_network_asks_for_nothing_and_complains_of_nothing(browser: Browser, file: Path) -> None:
    assert browser.says("document.querySelectorAll('details').length") > 28
    asked = {event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"}
    assert asked == {file.as_uri()}
    assert not [event for event in browser.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]


def test_the_keyboard_skips_to_the_claims_and_opens_them_with_the_focus_seen(browser: Browser) -> None:
    browser.press("Tab")
    assert browser.says(f"{FOCUS}.className") == "skip" and browser.says(f"{FOCUS}.getBoundingClientRect().left") >= 0
    browser.press("Enter")
    browser.press("Tab")
    assert browser.says(f"{FOCUS}.tagName") == "SUMMARY" and browser.says(f"{FOCUS}.closest('#claims') !== null")
    outline = browser.says(f"getComputedStyle({FOCUS}).outline")
    assert "3px" in outline and "none" not in outline
    assert browser.says(f"{FOCUS}.parentElement.open") is False
    browser.press("Enter")
    assert browser.says(f"{FOCUS}.parentElement.open") is True
    browser.press("Tab")
    assert browser.says(f"{FOCUS}.getAttribute('href')").endswith("sources/proofs/claims/store.py")


def test_nothing_is_wider_than_a_narrow_screen_even_when_all_is_open(browser: Browser) -> None:
    browser.ask("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    browser.says("document.querySelectorAll('details').forEach(each => each.open = true) ?? 0")

    assert browser.says("innerWidth") == 360
    assert browser.says("document.documentElement.scrollWidth") == 360
    # The table of faults scrolls in a frame of its own.
    outside = "[...document.querySelectorAll('body *')].filter(each => !each.closest('.scroll, svg, .skip'))"
    assert browser.says(f"Math.max(...{outside}.map(each => each.getBoundingClientRect().right))") <= 360


def test_paper_shows_what_is_folded_and_no_navigation(browser: Browser) -> None:
    hidden = "[...document.querySelectorAll('details dl')].filter(each => !each.checkVisibility()).length"
    assert browser.says(hidden) > 28

    browser.ask("Emulation.setEmulatedMedia", media="print")

    assert browser.says(hidden) == 0
    assert browser.says("document.querySelector('nav').getClientRects().length") == 0
    assert browser.ask("Page.printToPDF")["data"]
