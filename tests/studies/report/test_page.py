"""The page in a browser. ``BELATED_SCREENSHOTS=folder`` keeps pictures of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from belated.studies.experiments import NAMES, ExperimentFile, load
from belated.studies.report import summarize
from belated.studies.reproduce import reproduce
from tiny import TINY, experiment, write_report

WIDTHS = [390, 1280]
MARKS = {"holds": "✓ holds", "fails": "✗ fails", "undecided": "? undecided", "arithmetic": "= arithmetic"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("these tests need chromium on the path; install it (Debian: apt-get install chromium)")
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


class Opened:
    """The page at a width, and what the browser said about it."""

    def __init__(self, browser: Browser, path: Path, width: int) -> None:
        self.width = width
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("requestfailed", lambda request: self.said.append(f"failed: {request.url}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri(), wait_until="load")

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        found: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return found

    def keep(self, name: str) -> None:
        """A picture of the whole page, if one is wanted."""
        folder = os.environ.get("BELATED_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}-{self.width}.png", full_page=True)


@pytest.fixture(scope="module")
def claims(everything: Path) -> list[dict[str, Any]]:
    data = json.loads((everything / "report/claims.json").read_text(encoding="utf-8"))
    return [claim for experiment in data["experiments"] for claim in experiment["claims"]]


@pytest.fixture(scope="module", params=WIDTHS)
def opened(request: pytest.FixtureRequest, browser: Browser, everything: Path) -> Iterator[Opened]:
    found = Opened(browser, everything / "report/index.html", request.param)
    yield found
    found.page.close()


def test_the_browser_has_nothing_to_complain_about(opened: Opened, everything: Path) -> None:
    opened.keep("page")
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith("data:")] == [(everything / "report/index.html").as_uri()]


def test_every_picture_is_shown(opened: Opened) -> None:
    images = opened.page.evaluate(
        "Promise.all([...document.images].map(async image => {"
        " await image.decode(); return [image.alt, image.complete, image.naturalWidth, image.clientWidth] }))"
    )
    assert len(images) == sum(len(load(name).figures) for name in NAMES)
    for caption, complete, natural, shown in images:
        assert caption
        assert complete
        assert natural > 0
        assert shown > 300


def test_nothing_is_wider_than_the_window(opened: Opened) -> None:
    assert opened.overflow() <= 0
    opened.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert opened.overflow() <= 0
    opened.keep("opened")
    opened.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = false)")


def test_every_claim_has_its_mark_in_words(opened: Opened, claims: list[dict[str, Any]]) -> None:
    items = opened.page.locator(".claims > li")
    assert items.count() == len(claims)
    marks = opened.page.locator(".claims > li > .verdict > .mark")
    assert [text.strip() for text in marks.all_inner_texts()] == [MARKS[claim["status"]] for claim in claims]
    boxes = opened.page.evaluate(
        "[...document.querySelectorAll('.verdict .word')].map(word => word.getBoundingClientRect())"
        ".filter(box => box.width > 20 && box.height > 10).length"
    )
    assert boxes == len(claims)
    readings = opened.page.locator(".claims .reading").all_inner_texts()
    tests = [(len(claim["tests"]) > 1, test) for claim in claims for test in claim["tests"]]
    signs = [f"{MARKS[test['status']][0]} " if several else "" for several, test in tests]
    assert readings == [f"{sign}{test['reading']}" for sign, (_, test) in zip(signs, tests, strict=True)]


def test_the_numbers_open_on_a_click(opened: Opened) -> None:
    for kind in (".claims details", "details.theory"):
        details = opened.page.locator(kind).first
        table = details.locator("table.findings").first
        assert not table.is_visible()
        details.locator("summary").click()
        assert table.is_visible()
        details.locator("summary").click()
        assert not table.is_visible()


def test_the_numbers_open_with_the_keyboard(opened: Opened) -> None:
    details = opened.page.locator(".claims details").nth(1)
    details.locator("summary").focus()
    opened.page.keyboard.press("Enter")
    assert details.get_attribute("open") is not None
    opened.page.keyboard.press("Enter")
    assert details.get_attribute("open") is None


def test_one_gets_to_an_experiment(opened: Opened) -> None:
    opened.page.emulate_media(reduced_motion="reduce")
    opened.page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
    opened.page.locator("nav a", has_text="theorem6").click()
    top = opened.page.evaluate("document.getElementById('theorem6').getBoundingClientRect().top")
    assert -1 <= top <= 100
    assert opened.page.url.endswith("index.html#theorem6")


def reported(folder: Path, *experiments: ExperimentFile) -> Path:
    """The page of experiments that are played."""
    outcomes = reproduce(experiments, out=folder / "made")
    return write_report(folder / "made", summarize(outcomes, 0, 1.0, 1.0), outcomes)


FAILURE = "tiny: “With a wide gap it is easy” Read as: UCB's regret is below that of uniform choice."
FAILING = TINY.replace('policy = "UCB", than = "Uniform"', 'policy = "Uniform", than = "UCB"')


@pytest.mark.parametrize("width", WIDTHS)
def test_what_fails_stands_at_the_top(browser: Browser, tmp_path: Path, width: int) -> None:
    """Of the paper's claims; those of another file are counted in a sentence."""
    paper = replace(experiment(tmp_path, FAILING), paper=True)
    opened = Opened(browser, reported(tmp_path, paper, experiment(tmp_path, name="mine")), width)
    assert opened.page.locator(".tally b").all_inner_texts() == ["1", "1", "1"]
    told = opened.page.locator("header .place", has_text="These are the paper's sentences.").inner_text()
    assert told == "These are the paper's sentences. Of 3 others, under mine: 2 hold, 0 fail, 1 undecided."
    failing = opened.page.locator("header .failing li")
    assert failing.all_inner_texts() == [FAILURE]
    failing.locator("a").click()
    assert opened.page.url.endswith("#tiny")
    assert opened.overflow() <= 0
    assert opened.said == []
    opened.page.close()


@pytest.mark.parametrize("paper", [True, False], ids=["paper", "own"])
def test_the_claims_of_one_file_are_counted(browser: Browser, tmp_path: Path, paper: bool) -> None:
    opened = Opened(browser, reported(tmp_path, replace(experiment(tmp_path, FAILING), paper=paper)), 1280)
    assert opened.page.locator(".tally b").all_inner_texts() == ["1", "1", "1"]
    title = "The paper, put to the test" if paper else "Claims, put to the test"
    assert opened.page.locator("h1").inner_text() == title
    told = opened.page.locator("header").inner_text()
    assert ("simulated at full size" in told) is paper
    assert "These are the paper's sentences" not in told
    assert "99.9 %" in opened.page.locator("#how").inner_text()
    opened.page.close()


def test_it_can_be_printed(browser: Browser, everything: Path) -> None:
    opened = Opened(browser, everything / "report/index.html", 1280)
    pdf = opened.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 100_000
    opened.page.emulate_media(media="print")
    assert not opened.page.locator("nav").is_visible()
    assert not opened.page.locator(".claims details").first.is_visible()
    assert opened.page.locator(".claims .verdict").first.is_visible()
    assert opened.page.locator("figure img").first.is_visible()
    opened.keep("printed")
    opened.page.close()
