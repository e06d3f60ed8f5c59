"""The dashboard in a browser. ``BELATED_SCREENSHOTS=folder`` keeps pictures of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from looking import LATE, LETTERS, PAGES, decided, made, made_with_late_rewards, told
from playwright.sync_api import Browser
from serving import LocalServer
from watching import boxes, watching

from belated.service.api.messages import CurveAnswer, DelaysAnswer
from belated.service.dashboard.charts import ages_chart, delays_chart
from belated.service.dashboard.counters import AGE_EDGES, Ages
from belated.service.dashboard.pages import asset, render
from belated.simulation.figures import COLOURS

HTML = {"Accept": "text/html"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "</title></svg><script>alert(3)</script>",
    "{{ 7 * 7 }} {% raw %} &amp; &#60;",
    "W" * 256,
    "👩‍🚀 ünïcödé مرحبا \u202e",
]


# ---- what is shown ----


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", PAGES)
def test_every_chart_is_drawn(browser: Browser, demo: LocalServer, path: str, scheme: Any) -> None:
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
        assert page.locator("#eliminated .reasons li").count() == min(gone, 8)
        assert (gone > 0) == (path == "/experiments/front-page")
        beside = page.locator("#dependence").count()  # few arms, which are not eliminated: what they show instead
        assert page.locator("#eliminated").count() == 1 - beside
        assert beside == (path == "/experiments/checkout")


def test_colours_are_those_told_apart_and_differ_in_the_dark(browser: Browser, demo: LocalServer) -> None:
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


def test_the_toggle_is_remembered(browser: Browser, demo: LocalServer) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with watching(browser, demo.url, "/", color_scheme="light") as seen:
        light = seen.page.evaluate(ground)
        seen.page.get_by_role("button", name="Switch between light and dark").click()
        dark = seen.page.evaluate(ground)
        assert dark != light
        seen.page.reload()
        assert seen.page.evaluate(ground) == dark


def test_pages_are_whole_without_scripts(browser: Browser, demo: LocalServer) -> None:
    with watching(browser, demo.url, "/experiments/checkout", java_script_enabled=False) as seen:
        assert seen.page.locator("svg.chart").count() == 4
        assert seen.page.locator("#theme").is_hidden()
        assert seen.page.locator("noscript").count() == 1


ENDS = """
() => [...document.querySelectorAll('svg.chart')].flatMap(chart => {
  const room = chart.closest('.drawing').getBoundingClientRect();
  const wanted = '.grid, .axis, .bar, .area, .interval, .cap, .line, .bracket, .mean, .corrected, .gone';
  return [...chart.querySelectorAll(wanted)].map(one => one.getBoundingClientRect())
    .filter(box => box.left < room.left - 1 || box.right > room.right + 1).map(box => box.toJSON());
})
"""


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "width", [380, *(pytest.param(each, marks=pytest.mark.slow) for each in (768, 1000, 1440)), 1040]
)
def test_charts_are_legible_and_whole(browser: Browser, demo: LocalServer, width: int, scheme: Any) -> None:
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


def test_many_labels_make_room_for_each_other(browser: Browser, demo: LocalServer) -> None:
    """Ages and delays over all there is, from a millisecond to years."""
    ages = Ages("2026-01-01T00:00:00.000000Z", list(AGE_EDGES), [12_345] * len(AGE_EDGES), 1e8)
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


# ---- policies that correct means ----


@pytest.fixture(scope="module")
def late(sqlite_server: LocalServer) -> LocalServer:
    """A server with the experiments ``late``, with Imputed-UCB, and ``other``."""
    with sqlite_server.client() as http:
        made_with_late_rewards(http, "late")
        made(http, "other", list(LATE))
        decided(http, "other", "first")
        told(http, "first", 1.0)
    return sqlite_server


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("width", [390, pytest.param(768, marks=pytest.mark.slow), 1400])
def test_corrected_means_are_shown_and_explained(browser: Browser, late: LocalServer, width: int, scheme: Any) -> None:
    viewport = {"width": width, "height": 900}
    with watching(browser, late.url, "/experiments/late", viewport=viewport, color_scheme=scheme) as seen:
        seen.keep(f"late-{width}-{scheme}")
        page = seen.page
        arms = page.request.get(f"{late.url}/v1/experiments/late").json()["arms"]
        rows = page.locator("#dependence li")
        assert rows.count() == len(LATE)
        said = [
            ("High rewards come later than low ones.", "> 99.9 % sure", True),
            ("Low rewards come later than high ones.", "> 99.9 % sure", True),
            ("No sign of it.", "% sure", False),
            ("No feedback yet.", "–", False),
        ]
        for place, (sentence, sure, depends) in enumerate(said):
            shown = rows.nth(place)
            assert arms[place]["arm"] in shown.inner_text()
            assert sentence in shown.inner_text()
            assert sure in shown.locator(".how-sure").inner_text()
            assert (shown.get_attribute("class") == "depends") == depends
            ground = "getComputedStyle(document.querySelector('#dependence')).backgroundColor"
            letters = shown.locator(".how-sure").evaluate("one => getComputedStyle(one.lastElementChild || one).color")
            assert contrast(letters, page.evaluate(ground)) >= 4.5
        bars = boxes(page, "#dependence .sureness :is(.sure, .unsure)")
        assert len(bars) == sum((arm["dependence"] or 0.0) >= 0.004 for arm in arms)
        tracks = boxes(page, "#dependence .track")
        assert all(bar["width"] == pytest.approx(tracks[0]["width"], rel=0.01) for bar in bars[:2])
        assert page.evaluate(COVERED) == []
        cut = (
            "[...document.querySelectorAll('.how-sure > span')].filter(one => one.scrollWidth > one.clientWidth).length"
        )
        assert page.evaluate(cut) == 0
        assert page.evaluate(ENDS) == []
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        heads = page.locator("#arms thead th").all_inner_texts()
        cells = page.locator("#arms tbody tr").first.locator("td, th").all_inner_texts()
        assert heads[5:8] == ["Mean", "Corrected mean", "Dependence"]
        assert cells[5:8] == [f"{arms[0]['mean']:.3f}", f"{arms[0]['corrected_mean']:.3f}", "> 99.9 %"]
        explained = page.locator("#arms thead abbr")
        assert [len(explained.nth(place).get_attribute("title") or "") > 40 for place in range(2)] == [True, True]
        assert page.locator(".chart.estimates .corrected").count() == len(LATE) - 1
        described = page.locator(".chart.estimates > desc").text_content() or ""
        assert f"corrected mean {arms[0]['corrected_mean']:.3f}" in described


COVERED = """
() => [...document.querySelectorAll('#dependence li')].flatMap(row => {
  const parts = [...row.querySelectorAll('.armname, .sureness, .how-sure > span, p')];
  const boxes = parts.map(one => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return (one.matches('.sureness') ? one : range).getBoundingClientRect();
  });
  return boxes.flatMap((one, place) => boxes.slice(0, place).filter(other => one.left < other.right + 4
    && other.left < one.right + 4 && one.top < other.bottom && other.top < one.bottom).map(() => row.innerText));
})
"""
"""Rows in which two parts cover each other, or nearly."""


def test_other_policies_have_no_corrected_means(browser: Browser, late: LocalServer) -> None:
    with watching(browser, late.url, "/experiments/other") as seen:
        assert seen.page.locator("#dependence, .corrected, abbr").count() == 0
        assert seen.page.locator("#arms thead th").count() == 10
        assert "orrected" not in seen.page.content()


def test_the_first_feedback_shows_without_a_reload(browser: Browser, late: LocalServer) -> None:
    with late.client() as http:
        made(http, "fresh", ["a", "b"], policy="Imputed-UCB")
        decided(http, "fresh", "fresh-0")
        with watching(browser, late.url, "/experiments/fresh") as seen:
            assert "This shows with the first feedback." in seen.page.locator("#dependence").inner_text()
            told(http, "fresh-0", 1.0)
            seen.page.locator("#dependence li").first.wait_for()
            text = "All its feedback so far is 1. The rest may differ: its mean is taken to be 0.750."
            assert text in seen.page.locator("#dependence").inner_text()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_damaged_experiments_are_seen_at_once(browser: Browser, demo: LocalServer, scheme: Any) -> None:
    names = ["checkout", "W" * 64]
    whole = render("index.html", experiments=[], damaged=names, base=demo.url, keyed=False)
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


@pytest.mark.parametrize("width", [390, pytest.param(1400, marks=pytest.mark.slow)])
def test_nothing_is_wider_than_the_window(browser: Browser, demo: LocalServer, width: int) -> None:
    for path in PAGES:
        with watching(browser, demo.url, path, viewport={"width": width, "height": 900}) as seen:
            assert seen.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            seen.keep(f"{path.rpartition('/')[2] or 'index'}-{width}")


def test_the_keyboard_reaches_everything(browser: Browser, demo: LocalServer) -> None:
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


def test_tables_and_pictures_have_names(browser: Browser, demo: LocalServer) -> None:
    with watching(browser, demo.url, "/experiments/checkout") as seen:
        for name in ("Share of traffic over time", "Estimate and interval of each arm", "Delay curve of each arm"):
            assert seen.page.get_by_role("img", name=name).count() == 1
        assert seen.page.get_by_role("img", name="Pending decisions by age").count() == 1
        for name in ("Live tail", "Arms", "Do delays depend on rewards?", "Delay curves"):
            assert seen.page.get_by_role("heading", name=name, exact=True).count() == 1
        assert seen.page.locator("table").count() == seen.page.locator("table:has(thead th[scope=col])").count() == 2
