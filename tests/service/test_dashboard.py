"""The dashboard in a browser. ``BELATED_SCREENSHOTS=folder`` keeps pictures of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser
from serving import Server, serving
from watching import boxes, chromium, watching

from belated.figures import COLOURS
from belated.journal.journal import open_journal
from belated.service.dashboard.charts import ages_chart, delays_chart
from belated.service.dashboard.contents import Ages
from belated.service.dashboard.render import ASSETS, asset, rendered
from belated.service.dashboard.shares import EDGES
from belated.service.demo.past import make_history
from belated.service.keys import make_key, revoke_key
from belated.service.messages import CurveAnswer, DelaysAnswer

PAGES = ["/", "/experiments/checkout", "/experiments/newsletter", "/experiments/front-page"]
HTML = {"Accept": "text/html"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "</title></svg><script>alert(3)</script>",
    "{{ 7 * 7 }} {% raw %} &amp; &#60;",
    "W" * 256,
    "👩‍🚀 ünïcödé مرحبا \u202e",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on the demo's history, without its visitors."""
    db = str(tmp_path_factory.mktemp("demo") / "demo.db")
    make_history(db, seed=0)
    with serving(db) as found:
        yield found


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Server]:
    with serving(str(tmp_path / "empty.db")) as found:
        yield found


def made(http: httpx2.Client, name: str, arms: list[str], policy: str = "UCB", **more: Any) -> None:
    """An experiment."""
    asked = {"name": name, "arms": arms, "policy": {"name": policy}, **more}
    assert http.post("/v1/experiments", json=asked).status_code == 201


def decided(http: httpx2.Client, name: str, id: str) -> str:
    """The arm of a new decision."""
    answer = http.post(f"/v1/experiments/{name}/decisions", json={"id": id})
    assert answer.status_code == 201
    arm: str = answer.json()["arm"]
    return arm


def told(http: httpx2.Client, id: str, reward: float) -> int:
    return int(http.post(f"/v1/decisions/{id}/feedback", json={"reward": reward}).status_code)


# ---- what is shown ----


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_every_chart_is_drawn(browser: Browser, demo: Server, path: str, scheme: Any) -> None:
    with watching(browser, demo.url, path, color_scheme=scheme) as seen:
        seen.keep(f"{path.rpartition('/')[2] or 'index'}-{scheme}")
        page = seen.page
        if path == "/":
            assert page.locator("tbody tr").count() == 3
            bars = boxes(page, "svg.share")
            assert len(bars) == 3
            assert all(box["width"] > 150 for box in bars)
            return
        found = page.request.get(f"{demo.url}{path}.json").json()
        arms = len(found["experiment"]["arms"])
        shown = min(arms, 8 if arms <= 8 else 7)
        for key in ("traffic", "estimates", "delays", "ages"):
            (box,) = boxes(page, f"svg.chart.{key}")
            assert box["width"] > 400
            assert box["height"] > 100
            assert page.locator(f"svg.chart.{key} > title").text_content()
            assert page.locator(f"svg.chart.{key} > desc").text_content()
        areas = boxes(page, ".chart.traffic .area")
        assert len(areas) == shown + (arms > shown)
        assert all(box["width"] > 500 for box in areas)
        assert len(boxes(page, ".chart.estimates .estimate")) == min(arms, 12)
        assert all(box["width"] > 3 for box in boxes(page, ".chart.estimates .interval"))
        assert all(box["width"] > 1 for box in boxes(page, ".chart.estimates .bracket"))
        lines = boxes(page, ".chart.delays .line")
        assert len(lines) == shown
        assert all(box["width"] > 200 and box["height"] > 10 for box in lines)
        for _ in range(10):  # decisions grow older while we look
            ages = page.request.get(f"{demo.url}{path}.json").json()["pending_by_age"]["pending"]
            page.reload()
            bars = boxes(page, ".chart.ages .bar")
            if len(bars) == sum(count > 0 for count in ages):
                break
        else:
            pytest.fail(f"{len(bars)} bars, and pending by age is {ages}")
        assert page.locator("#arms tbody tr").count() == arms
        assert page.locator("#tail tbody tr").count() == 14
        gone = sum(not arm["active"] for arm in found["experiment"]["arms"])
        assert page.locator("#eliminated .reasons li").count() == gone
        assert (gone > 0) == (path == "/experiments/checkout")


def test_colours_are_those_told_apart_and_differ_in_the_dark(browser: Browser, demo: Server) -> None:
    style = asset("style.css").decode()
    for place, colour in enumerate(COLOURS):
        assert f"--c{place}: light-dark({colour}, " in style
    grounds = {}
    for scheme in ("light", "dark"):
        with watching(browser, demo.url, "/experiments/checkout", color_scheme=scheme) as seen:
            grounds[scheme] = seen.page.evaluate(
                "[document.body, document.querySelector('.card')].map(one => getComputedStyle(one).backgroundColor)"
                ".concat(getComputedStyle(document.querySelector('.chart .c0')).fill)"
            )
    assert all(light != dark for light, dark in zip(grounds["light"], grounds["dark"], strict=True))
    assert grounds["light"][2] == "rgb(0, 114, 178)"


def test_the_toggle_is_remembered(browser: Browser, demo: Server) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with watching(browser, demo.url, "/", color_scheme="light") as seen:
        light = seen.page.evaluate(ground)
        seen.page.get_by_role("button", name="Switch between light and dark").click()
        dark = seen.page.evaluate(ground)
        assert dark != light
        seen.page.reload()
        assert seen.page.evaluate(ground) == dark


def test_pages_are_whole_without_scripts(browser: Browser, demo: Server) -> None:
    with watching(browser, demo.url, "/experiments/checkout", java_script_enabled=False) as seen:
        assert seen.page.locator("svg.chart").count() == 4
        assert seen.page.locator("#theme").is_hidden()
        assert seen.page.locator("noscript").count() == 1


LETTERS = """
() => [...document.querySelectorAll('svg.chart')].flatMap(chart => {
  const card = chart.closest('.card').getBoundingClientRect();
  return [...chart.querySelectorAll('text, .label div')].filter(one => one.getClientRects().length).map(one => {
    const box = one.getBoundingClientRect();
    return {chart: chart.getAttribute('class'), text: one.textContent, axis: one.matches('.tick, .value'),
            size: parseFloat(getComputedStyle(one).fontSize) * chart.getScreenCTM().a,
            left: box.left - card.left, right: card.right - box.right, box: box.toJSON()};
  });
})
"""
ENDS = """
() => [...document.querySelectorAll('svg.chart')].flatMap(chart => {
  const room = chart.closest('.drawing').getBoundingClientRect();
  const wanted = '.grid, .axis, .bar, .area, .interval, .cap, .line, .bracket, .mean, .gone';
  return [...chart.querySelectorAll(wanted)].map(one => one.getBoundingClientRect())
    .filter(box => box.left < room.left - 1 || box.right > room.right + 1).map(box => box.toJSON());
})
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 768, 1000, 1040, 1440])
def test_charts_are_legible_and_whole(browser: Browser, demo: Server, width: int, scheme: Any) -> None:
    for path in PAGES[1:]:
        viewport = {"width": width, "height": 900}
        with watching(browser, demo.url, path, viewport=viewport, color_scheme=scheme) as seen:
            seen.keep(f"{path.rpartition('/')[2]}-{width}-{scheme}")
            letters = seen.page.evaluate(LETTERS)
            assert len(letters) > 25
            assert [each for each in letters if each["size"] < 10.0] == []
            assert [each for each in letters if min(each["left"], each["right"]) < 0.0] == []
            assert seen.page.evaluate(ENDS) == []
            cut = "[...document.querySelectorAll('.drawing')].filter(one => one.scrollWidth > one.clientWidth).length"
            assert seen.page.evaluate(cut) == 0
            assert overlapping([each for each in letters if each["axis"]]) == []


def overlapping(letters: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Labels of an axis that cover each other."""
    return [
        (one["text"], other["text"])
        for place, one in enumerate(letters)
        for other in letters[:place]
        if one["chart"] == other["chart"]
        and one["box"]["left"] < other["box"]["right"]
        and other["box"]["left"] < one["box"]["right"]
        and one["box"]["top"] + 3 < other["box"]["bottom"]
        and other["box"]["top"] + 3 < one["box"]["bottom"]
    ]


def test_many_labels_make_room_for_each_other(browser: Browser, demo: Server) -> None:
    """Ages and delays over all there is, from a millisecond to years."""
    ages = Ages("2026-01-01T00:00:00.000000Z", list(EDGES), [12_345] * len(EDGES), 1e8)
    times = [0.001 * 10**power for power in range(12)]
    curve = CurveAnswer("a", 12, 0, times, [(n + 1) / 12 for n in range(12)], [None] * 12, [None] * 12)
    drawn = [ages_chart(ages), delays_chart(DelaysAnswer("e", ages.at, 12, [curve]), {0: 0})]
    inner = "".join(f'<section class="card"><div class="drawing">{each}</div></section>' for each in drawn)
    for width in (380, 480, 640, 1040, 1440):
        with watching(browser, demo.url, "/login", viewport={"width": width, "height": 900}) as seen:
            page = f"document.querySelector('main').innerHTML = {json.dumps(f'<div class=grid>{inner}</div>')}"
            seen.page.evaluate(page)
            letters = [each for each in seen.page.evaluate(LETTERS) if each["axis"]]
            assert len(letters) >= 4 + 5 + 5 + 5 + 5
            assert overlapping(letters) == []
            seen.keep(f"labels-{width}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_damaged_experiments_are_seen_at_once(browser: Browser, demo: Server, scheme: Any) -> None:
    names = ["checkout", "W" * 64]
    whole = rendered("index.html", experiments=[], damaged=names, base=demo.url, keyed=False)
    inner = whole.partition("<main")[2].partition(">")[2].partition("</main>")[0]
    for width in (380, 1040):
        viewport = {"width": width, "height": 500}
        with watching(browser, demo.url, "/login", viewport=viewport, color_scheme=scheme) as seen:
            seen.page.evaluate(f"document.querySelector('main').innerHTML = {json.dumps(inner)}")
            seen.keep(f"damaged-{width}-{scheme}")
            notice = seen.page.get_by_role("alert")
            assert all(name in notice.inner_text() for name in names)
            ground, other, letters, strong = notice.evaluate(
                "one => { const of = (each, key) => getComputedStyle(each)[key];"
                " return [of(one, 'backgroundColor'), of(document.body, 'backgroundColor'), of(one, 'color'),"
                " of(one.querySelector('strong'), 'color')] }"
            )
            assert ground != other
            assert min(contrast(letters, ground), contrast(strong, ground)) >= 4.5
            assert seen.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG has it."""

    def light(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_wider_than_the_window(browser: Browser, demo: Server, width: int) -> None:
    for path in PAGES:
        with watching(browser, demo.url, path, viewport={"width": width, "height": 900}) as seen:
            assert seen.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            seen.keep(f"{path.rpartition('/')[2] or 'index'}-{width}")


def test_the_keyboard_reaches_everything(browser: Browser, demo: Server) -> None:
    with watching(browser, demo.url, "/experiments/checkout") as seen:
        page = seen.page
        page.get_by_role("button", name="Pause").click()  # nothing is exchanged while we walk
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        wanted: int = page.evaluate(
            "[...document.querySelectorAll('a, button, input, [tabindex=\"0\"]')].filter(one => !one.hidden).length"
        )
        page.evaluate("document.body.tabIndex = -1; document.body.focus()")
        first, reached = "", 0
        for _ in range(wanted):
            page.keyboard.press("Tab")
            name, ringed = page.evaluate(
                "[document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]"
            )
            first = first or name
            reached += ringed == "solid"
        assert first == "Skip to the content"
        assert reached == wanted
        page.evaluate("document.querySelector('.skip').focus()")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_tables_and_pictures_have_names(browser: Browser, demo: Server) -> None:
    with watching(browser, demo.url, "/experiments/checkout") as seen:
        for name in ("Share of traffic over time", "Estimate and interval of each arm", "Delay curve of each arm"):
            assert seen.page.get_by_role("img", name=name).count() == 1
        assert seen.page.get_by_role("img", name="Pending decisions by age").count() == 1
        for name in ("Live tail", "Arms", "Eliminated arms", "Delay curves"):
            assert seen.page.get_by_role("heading", name=name, exact=True).count() == 1
        assert seen.page.locator("table").count() == seen.page.locator("table:has(thead th[scope=col])").count() == 2


# ---- live ----


def test_the_tail_moves_when_a_decision_is_made(browser: Browser, empty: Server) -> None:
    with empty.client() as http, watching(browser, empty.url, "/") as seen:
        assert seen.page.get_by_text("No experiment yet").is_visible()
        assert f"curl {empty.url}/v1/experiments" in seen.page.locator("pre").first.inner_text()
        seen.keep("empty")
        made(http, "colours", ["red", "green"])
        seen.page.get_by_role("link", name="colours").click()
        assert seen.page.get_by_text("No decision yet").is_visible()
        assert seen.page.get_by_text("No feedback yet").is_visible()
        assert seen.page.get_by_text("Nothing has happened yet").is_visible()
        seen.keep("new")
        seen.page.evaluate("window.same = true")
        arm = decided(http, "colours", "visit-1")
        row = seen.page.locator("#tail tr[data-seq='1']")
        row.wait_for(timeout=10_000)
        assert row.inner_text().split("\t")[2:5] == ["decided", "visit-1", arm]
        assert told(http, "visit-1", 1) == 201
        seen.page.locator("#tail tr.new[data-seq='2']").wait_for(timeout=10_000)
        seen.page.locator(".chart.delays").wait_for(timeout=10_000)
        assert seen.page.locator(".counts").inner_text().split()[:6] == [
            "Decisions",
            "1",
            "Observed",
            "1",
            "Pending",
            "0",
        ]
        assert seen.page.evaluate("window.same")  # without a new page


def test_a_pause_stands_still_until_it_ends(browser: Browser, empty: Server) -> None:
    with empty.client() as http:
        made(http, "colours", ["red", "green"])
        decided(http, "colours", "visit-1")
        with watching(browser, empty.url, "/experiments/colours") as seen:
            button = seen.page.locator("#pause")
            button.click()
            assert button.get_attribute("aria-pressed") == "true"
            decided(http, "colours", "visit-2")
            seen.page.wait_for_timeout(5_000)
            assert seen.page.locator("#tail tbody tr").count() == 1
            button.click()
            seen.page.locator("#tail tr[data-seq='2']").wait_for(timeout=10_000)


# ---- names are text ----


def test_hostile_names_are_shown_as_text(browser: Browser, empty: Server) -> None:
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


def test_a_name_that_looks_like_a_twin_has_its_page(browser: Browser, empty: Server) -> None:
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


@pytest.mark.parametrize("path", [*PAGES, "/login", "/experiments/nothing"])
def test_pages_keep_to_a_strict_policy(demo: Server, path: str) -> None:
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


def test_errors_are_pages_for_people_and_problems_for_programs(demo: Server) -> None:
    with demo.client() as http:
        for path in ("/experiments/nothing", "/experiments/nothing.json", "/experiments/%00", "/assets/secret"):
            page, problem = http.get(path, headers=HTML), http.get(path)
            assert page.status_code == problem.status_code == 404
            assert "<h1>Not Found</h1>" in page.text
            assert problem.headers["content-type"] == "application/problem+json"
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
    with serving(db) as server, server.client() as http:
        entered = http.post("/login", data={"key": key, "next": "//elsewhere.example/"}, headers=HTML)
        assert (entered.status_code, entered.headers["location"]) == (303, "/")
        assert http.get("/experiments.json").status_code == 200
        revoke_key(journal, "me")
        for _ in range(50):
            status = http.get("/experiments.json").status_code
            if status == 401:
                break
            time.sleep(0.1)
        assert status == 401
        away = http.post("/login", data={"key": key}, headers={**HTML, "Origin": "http://elsewhere.example"})
        assert away.status_code == 403
    journal.close()
