"""All experiments, played with a few runs and rounds each, and the report that is made of them."""

from __future__ import annotations

import importlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib.image
import numpy as np
import pandas
import pytest

from belated.simulation.result import Manifest
from belated.studies.experiments import NAMES, PAPER, load, select
from belated.studies.reproduce import reproduce
from belated.studies.runner import ResultCache
from tiny import FRACTION, shortened

PICTURES = [found.file_name(picture) for found in map(load, NAMES) for picture in found.figures]
STATUSES = {"holds", "fails", "undecided", "arithmetic"}


class Links(HTMLParser):
    """What a page refers to, and what it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action", "poster", "data"):
                self.links.append(value or "")
            elif name == "id":
                self.names.append(value or "")


@pytest.fixture(scope="module")
def report(everything: Path) -> Path:
    return everything / "report"


@pytest.fixture(scope="module")
def page(report: Path) -> str:
    return (report / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def claims(report: Path) -> dict[str, Any]:
    """The claims as data; NaN and Infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = (report / "claims.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return found


def test_the_files_of_a_report(report: Path) -> None:
    found = sorted(path.relative_to(report).as_posix() for path in report.rglob("*") if path.is_file())
    figures = [f"figures/{name}.{kind}" for name in PICTURES for kind in ("svg", "pdf", "png", "csv")]
    assert found == sorted(["index.html", "claims.md", "claims.json", *figures])
    assert len(set(PICTURES)) == len(PICTURES)


def test_nothing_unfinished_is_left(everything: Path) -> None:
    assert sorted(path.name for path in everything.iterdir()) == ["finished", "report", "results"]
    assert not [path for path in everything.rglob("*") if path.name.endswith(".part")]


# ---- figures ----


@pytest.mark.parametrize("name", PICTURES)
def test_a_figure_can_be_opened(report: Path, name: str) -> None:
    svg = ElementTree.fromstring((report / f"figures/{name}.svg").read_bytes())
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    pdf = (report / f"figures/{name}.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"%%EOF" in pdf[-64:]
    image = matplotlib.image.imread(report / f"figures/{name}.png")
    assert min(image.shape[:2]) > 300
    assert float(image[..., :3].std()) > 0.01, "it is empty"


@pytest.mark.parametrize("name", PICTURES)
def test_the_data_of_a_figure(report: Path, name: str) -> None:
    frame = pandas.read_csv(report / f"figures/{name}.csv", keep_default_na=True)
    measured = "value" if name == "table1" else "mean"
    assert {"study", "panel", measured, "runs"} <= set(frame.columns)
    assert len(frame) > 0
    assert frame[measured].notna().all()
    assert (frame["runs"] >= 8).all()
    if measured == "mean":
        assert np.isfinite(frame["mean"]).all()
        assert (frame["mean"] >= 0).all()
        assert frame["stderr"].notna().all()


def test_the_data_are_those_of_the_results(report: Path, everything: Path) -> None:
    frame = pandas.read_csv(report / "figures/figure2.csv").set_index(["policy", "gap"])
    study, store = load("figure2").studies["pareto"], ResultCache(everything / "results")
    for (label, gap), row in frame.iterrows():
        (cell,) = (study.cells[number] for number in study.where({"gap": gap}))
        last = np.array([cell.horizon])
        result = store.find(Manifest.of(cell.problem, cell.policies, cell.horizon, int(row["runs"]), 0, last, 0.0))
        assert result is not None
        assert row["mean"] == pytest.approx(result.final[study.policy(label)].mean())


# ---- claims ----


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_every_claim_is_judged(claims: dict[str, Any], number: int) -> None:
    experiment, found = load(NAMES[number]), claims["experiments"][number]
    assert (found["name"], found["title"]) == (experiment.name, experiment.title)
    assert len(found["claims"]) == experiment.sentences > 0
    tests = [(claim, test) for claim in found["claims"] for test in claim["tests"]]
    assert len(tests) == len(experiment.claims)
    for claim, (told, test) in zip(experiment.claims, tests, strict=True):
        assert (told["sentence"], told["place"], told["own"]) == (claim.sentence, claim.place, claim.own)
        assert (test["reading"], test["variant"]) == (claim.reading, claim.variant)
        assert {told["status"], test["status"]} <= STATUSES
        assert test["cases"]
        for case in test["cases"]:
            assert case["status"] in STATUSES
            assert case["runs"] >= 8
            assert case["findings"]
            assert {finding["status"] for finding in case["findings"]} <= STATUSES


def test_the_counts_are_those_of_the_claims(claims: dict[str, Any]) -> None:
    for name, paper in (("paper", True), ("others", False)):
        statuses = [
            claim["status"]
            for experiment in claims["experiments"]
            if (experiment["name"] in PAPER) is paper
            for claim in experiment["claims"]
        ]
        assert claims[name] == {status: statuses.count(status) for status in STATUSES}
    assert claims["fraction"] == FRACTION
    assert claims["stopped"] is False


def test_markdown_has_every_claim(report: Path, claims: dict[str, Any]) -> None:
    text = (report / "claims.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r"\| (✓ holds|✗ fails|\? undecided|= arithmetic) \|", line)]
    told = [claim for experiment in claims["experiments"] for claim in experiment["claims"]]
    tests = [test for claim in told for test in claim["tests"]]
    assert len(lines) == len(tests)
    for line, test in zip(lines, tests, strict=True):
        assert test["status"] in line
        assert test["reading"] in line
        assert len(re.findall(r"(?<!\\)\|", line)) == 5
    for claim in told:
        assert f"{claim['status']}**: " in text
        assert claim["sentence"] in text
    assert f"**This is a quick look: {FRACTION:g} of the repetitions.**" in text


# ---- the page ----


def test_the_page_needs_no_network(page: str) -> None:
    found = Links(page)
    assert found.links
    assert not [link for link in found.links if re.match(r"\s*(https?:)?//|\s*https?:", link, re.IGNORECASE)]
    assert not re.search(r"@import|url\((?!['\"]?data:)", page)
    assert "script" not in found.tags
    assert "iframe" not in found.tags


def test_what_the_page_refers_to_is_there(page: str, report: Path) -> None:
    found = Links(page)
    assert len(set(found.names)) == len(found.names)
    for link in found.links:
        if link.startswith("#"):
            assert link[1:] in found.names
        elif not link.startswith("data:"):
            assert (report / link).is_file(), link
    assert found.names == [*NAMES, "how"]


def test_a_quick_look_is_marked_on_the_page(page: str) -> None:
    assert f"This is a quick look with {FRACTION:g} of the repetitions." in page
    assert f"simulated at {FRACTION:g} of full size" in " ".join(page.split())
    assert "<h1>The paper, put to the test</h1>" in page
    assert "interrupted" not in page


# ---- a second time ----


def test_all_is_found_again(everything: Path, claims: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on disk is all that is needed: no experiment is played again, and all claims come out the same."""

    def never(*arguments: Any, **options: Any) -> None:
        raise AssertionError("it was played again")

    monkeypatch.setattr(importlib.import_module("belated.studies.runner"), "simulate", never)
    outcomes = reproduce(map(shortened, select(["all"])), out=everything, fraction=FRACTION)
    for outcome, told in zip(outcomes, claims["experiments"], strict=True):
        assert 0 < outcome.cost.cached == outcome.cost.results
        assert [one.status for one in outcome.sentences] == [claim["status"] for claim in told["claims"]]
        assert outcome.cost.rounds == told["rounds"]
        assert outcome.cost.seconds == pytest.approx(told["seconds"])
        tests = [test for claim in told["claims"] for test in claim["tests"]]
        for verdict, test in zip(outcome.verdicts, tests, strict=True):
            values = [finding.value for case in verdict.cases for finding in case.verdict.findings]
            assert values == [finding["value"] for case in test["cases"] for finding in case["findings"]]
