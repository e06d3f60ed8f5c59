"""A browser that looks at pages, for tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright
from serving import PATIENCE


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser within this context."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("these tests need chromium on the path; install it (Debian: apt-get install chromium)")
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=PATIENCE * 1000)
        try:
            yield found
        finally:
            found.close()


class Watched:
    """A page, and what the browser said and asked for."""

    def __init__(self, browser: Browser, url: str, path: str, **options: Any) -> None:
        self.base = url
        self.said: list[str] = []
        self.hosts: set[str] = set()
        options.setdefault("viewport", {"width": 1400, "height": 900})
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(PATIENCE * 1000)
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog: {dialog.message}"))
        self.page.on("requestfailed", self._note_failure)
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        answer = self.page.goto(url + path, wait_until="load")
        assert answer is not None
        self.status = answer.status

    def _note_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # an update that was on its way when the test left the page
            self.said.append(f"failed: {request.url}: {request.failure}")

    def keep(self, name: str) -> None:
        """A picture of the whole page, if ``BELATED_SCREENSHOTS`` says where."""
        folder = os.environ.get("BELATED_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    def close(self) -> None:
        """Done; the browser must have had nothing to complain about, and nothing must have left the machine."""
        self.context.close()
        assert self.said == []
        assert self.hosts == {urlsplit(self.base).netloc}


@contextmanager
def watching(browser: Browser, url: str, path: str, **options: Any) -> Iterator[Watched]:
    """A page within this context."""
    found = Watched(browser, url, path, **options)
    try:
        yield found
    except BaseException:
        found.context.close()
        raise
    found.close()


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    """How large each element is that a selector finds."""
    found: list[dict[str, float]] = page.evaluate(
        "which => [...document.querySelectorAll(which)].map(one => { const box = one.getBoundingClientRect();"
        " return {width: box.width, height: box.height} })",
        selector,
    )
    return found
