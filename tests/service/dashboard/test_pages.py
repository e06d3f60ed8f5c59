"""The dashboard while things happen: its tail, hostile names, errors, keys."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from pathlib import Path

from looking import LETTERS, PAGES, decided, made, told
from playwright.sync_api import Browser
from refusals import for_each
from serving import PATIENCE, LocalServer, hosting, serving
from watching import watching

from belated.service.auth import make_key, revoke_key
from belated.service.dashboard.pages import ASSETS, asset
from belated.service.storage.journal import open_journal

HTML = {"Accept": "text/html"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "</title></svg><script>alert(3)</script>",
    "{{ 7 * 7 }} {% raw %} &amp; &#60;",
    "W" * 256,
    "👩‍🚀 ünïcödé مرحبا \u202e",
]


# ---- live ----


def test_the_tail_moves_when_a_decision_is_made(browser: Browser, empty: LocalServer) -> None:
    with empty.client() as http, watching(browser, empty.url, "/") as seen:
        assert seen.page.get_by_text("No experiments yet").is_visible()
        assert f"curl {empty.url}/v1/experiments" in seen.page.locator("pre").first.inner_text()
        seen.keep("empty")
        made(http, "colours", ["red", "green"])
        seen.page.get_by_role("link", name="colours").click()
        assert seen.page.get_by_text("No decisions yet").is_visible()
        assert seen.page.get_by_text("No feedback yet").is_visible()
        assert seen.page.get_by_text("Nothing has happened yet").is_visible()
        seen.keep("new")
        seen.page.evaluate("window.same = true")
        arm = decided(http, "colours", "visit-1")
        row = seen.page.locator("#tail tr[data-seq='1']")
        row.wait_for()
        assert row.inner_text().split("\t")[2:5] == ["decided", "visit-1", arm]
        assert told(http, "visit-1", 1) == 201
        seen.page.locator("#tail tr.new[data-seq='2']").wait_for()
        seen.page.locator(".chart.delays").wait_for()
        assert seen.page.locator(".counts").inner_text().split()[:6] == [
            "Decisions",
            "1",
            "Observed",
            "1",
            "Pending",
            "0",
        ]
        assert seen.page.evaluate("window.same")  # without a new page


def test_a_pause_stands_still_until_it_ends(browser: Browser, empty: LocalServer) -> None:
    with empty.client() as http:
        made(http, "colours", ["red", "green"])
        decided(http, "colours", "visit-1")
        with watching(browser, empty.url, "/experiments/colours") as seen:
            button = seen.page.locator("#pause")
            button.click()
            assert button.get_attribute("aria-pressed") == "true"
            decided(http, "colours", "visit-2")
            seen.page.wait_for_timeout(3_000)
            assert seen.page.locator("#tail tbody tr").count() == 1
            button.click()
            seen.page.locator("#tail tr[data-seq='2']").wait_for()


# ---- names are text ----


def test_hostile_names_are_shown_as_text(browser: Browser, empty: LocalServer) -> None:
    with empty.client() as http:
        made(http, "hostile", HOSTILE, "SE")
        for number in range(120):
            id = f"<b onclick=alert({number})>{number}" if number % 2 else f"'\"><i>{number}"
            asked = {"id": id, "unit": "<script>alert(4)</script>", "metadata": {"<b>": "</script>"}}
            answer = http.post("/v1/experiments/hostile/decisions", json=asked)
            assert answer.status_code == 201
            reward = float(answer.json()["arm"] == HOSTILE[0])
            assert http.post("/v1/feedback", json={"feedback": [{"id": id, "reward": reward}]}).status_code == 200
        for path in ("/", "/experiments/hostile"):
            with watching(browser, empty.url, path) as seen:
                seen.keep(f"hostile{path.count('/')}")
                assert seen.page.locator("script").count() == 1
                assert seen.page.locator("img:not(.brand img), i, b, [onclick], [onerror]").count() == 0
                assert seen.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        with watching(browser, empty.url, "/experiments/hostile") as seen:
            letters = seen.page.evaluate(LETTERS)
            assert [each for each in letters if min(each["left"], each["right"]) < 0.0] == []
            titles = seen.page.locator("#arms tbody .armname > span").evaluate_all("all => all.map(one => one.title)")
            assert titles == HOSTILE
            assert {HOSTILE[0], HOSTILE[1], HOSTILE[3]} <= set(seen.page.locator("#arms .armname").all_inner_texts())
            assert "'\"><i>118" in seen.page.locator("#tail .id").all_inner_texts()


def test_a_name_that_looks_like_a_twin_has_its_page(browser: Browser, empty: LocalServer) -> None:
    with empty.client() as http:
        made(http, "a", ["x"])
        made(http, "a.json", ["y"])
        assert http.get("/experiments/a.json").json()["experiment"]["name"] == "a"
        assert http.get("/experiments/a.json.json").json()["experiment"]["name"] == "a.json"
        with watching(browser, empty.url, "/") as seen:
            seen.page.get_by_role("link", name="a.json").click()
            assert seen.page.locator("h1").inner_text() == "a.json"


class Shape(HTMLParser):
    """What a strict policy would refuse: scripts and styles inside the page, handlers, other hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.scripts += tag == "script"
        if (tag == "script" and "src" not in values) or tag == "style" or "style" in values:
            self.bad.append(tag)
        self.bad += [name for name in values if name.startswith("on")]
        self.bad += [
            str(values[name]) for name in ("src", "href") if not (values.get(name) or "/").startswith(("/", "#"))
        ]


def test_pages_keep_to_a_strict_policy(demo: LocalServer) -> None:
    def check(path: str) -> None:
        with demo.client() as http:
            answer = http.get(path, headers=HTML)
            assert answer.status_code == (404 if path.endswith("nothing") else 200)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["cache-control"] == "no-store"
            shape = Shape()
            shape.feed(answer.text)
            assert shape.bad == []
            assert shape.scripts == 1
        for name in ASSETS:
            assert not re.search(rb"https?://(?!www\.w3\.org)|@import", asset(name))

    for_each([*PAGES, "/login", "/experiments/nothing"], check)


def test_errors_are_pages_for_people_and_problems_for_programs(demo: LocalServer) -> None:
    with demo.client() as http:
        for path in ("/experiments/nothing", "/experiments/nothing.json", "/experiments/%00", "/assets/secret"):
            page, refused = http.get(path, headers=HTML), http.get(path)
            assert page.status_code == refused.status_code == 404
            assert "<h1>Not Found</h1>" in page.text
            assert refused.headers["content-type"] == "application/problem+json"
        assert http.post("/").status_code == 405


# ---- keys ----


def test_login_opens_the_pages_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    db = str(tmp_path / "keyed.db")
    journal = open_journal(db)
    key = make_key(journal, "admin", "me")
    other = make_key(journal, "reader", "you")
    journal.close()
    with serving(db, "--log", "debug") as server, server.client() as http:
        bearer = {"Authorization": f"Bearer {key}"}
        asked = {"name": "colours", "arms": ["red"], "policy": {"name": "UCB"}}
        assert http.post("/v1/experiments", json=asked, headers=bearer).status_code == 201
        assert http.get("/", headers=HTML).headers["location"] == "/login"
        assert http.get("/experiments.json").status_code == 401
        assert http.get("/experiments/colours.json", headers={"Authorization": f"Bearer {other}"}).status_code == 200
        assert http.get("/experiments/colours.json", headers={"Authorization": "Bearer no"}).status_code == 401
        with watching(browser, server.url, "/experiments/colours") as seen:
            page = seen.page
            assert page.url == f"{server.url}/login?next=/experiments/colours"
            seen.keep("login")
            page.get_by_label("Key").fill("bel_wrong")
            page.keyboard.press("Enter")
            assert "unknown" in page.get_by_role("alert").inner_text()
            (said,) = seen.said
            assert said.startswith("error: Failed to load resource: the server responded with a status of 401")
            seen.said.clear()
            page.get_by_label("Key").fill(key)
            page.keyboard.press("Enter")
            page.locator("h1", has_text="colours").wait_for()
            assert page.url == f"{server.url}/experiments/colours"
            (cookie,) = seen.context.cookies()
            assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
            assert key not in str(cookie)
            assert page.evaluate("document.cookie") == ""
            ticket = {"Cookie": f"{cookie['name']}={cookie['value']}"}
            assert http.get("/experiments.json", headers=ticket).status_code == 200
            links = page.locator("footer a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
            assert len(links) == 2
            assert [http.get(link, headers=ticket).status_code for link in links] == [200] * len(links)
            for path in ("/v1/experiments", "/v1/experiments/colours", "/metrics"):
                assert http.get(path, headers=ticket).status_code == 401
            assert http.post("/v1/experiments/colours/decisions", headers=ticket).status_code == 401
            page.get_by_role("button", name="Log out").click()
            page.wait_for_url("**/login")
            assert seen.context.cookies() == []
        assert http.get("/experiments.json", headers={"Cookie": "belated_ticket=ä".encode()}).status_code == 401
        server.end()
        assert key not in "".join(server.lines)


def test_a_revoked_key_ends_its_tickets(tmp_path: Path) -> None:
    db = str(tmp_path / "keyed.db")
    journal = open_journal(db)
    key = make_key(journal, "reader", "me")
    make_key(journal, "reader", "other")
    with hosting(db) as server, server.client() as http:
        entered = http.post("/login", data={"key": key, "next": "//elsewhere.example/"}, headers=HTML)
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert http.get("/experiments.json").status_code == 200
        revoke_key(journal, "me")
        end = time.monotonic() + PATIENCE
        while http.get("/experiments.json").status_code != 401:
            assert time.monotonic() < end
            time.sleep(0.02)
        away = http.post("/login", data={"key": key}, headers={**HTML, "Origin": "http://elsewhere.example"})
        assert away.status_code == 403
    journal.close()
