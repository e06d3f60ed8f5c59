"""Files that are odd, but no mistake: nothing is drawn, counted, kept or told wrongly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from belated.studies.figures import draw
from belated.studies.report import summarize
from belated.studies.report.phrasing import markdown
from belated.studies.reproduce import reproduce
from tiny import TINY, experiment, write_report, written


def test_a_logarithmic_axis_without_regret(tmp_path: Path) -> None:
    """A warning is an error here: where all regret is 0 there is nothing to take a logarithm of."""
    text = TINY.replace("[1.0, 0.6, 0.9]", "[0.4, 0.4, 0.4]").replace('x = "gap"}', 'x = "gap", log = ["y"]}')
    (outcome,) = reproduce([experiment(tmp_path, text)], out=tmp_path / "made")
    assert not any(result.final.any() for result in outcome.evidence["pair"].results)
    (axes,) = draw(outcome.experiment.figures[0], outcome.evidence).axes
    assert axes.get_yscale() == "linear"
    write_report(tmp_path / "made", summarize([outcome], 0, 1.0, 1.0), [outcome])


def test_claims_are_json_also_where_a_ratio_is_no_number(tmp_path: Path) -> None:
    text = TINY.replace("[1.0, 0.6, 0.9]", "[0.4, 0.4, 0.4]").replace('"below"', '"ratio", low = 0.1')
    outcomes = reproduce([experiment(tmp_path, text)], out=tmp_path / "made")
    write_report(tmp_path / "made", summarize(outcomes, 0, 1.0, 1.0), outcomes)
    constants: list[str] = []
    data = json.loads((tmp_path / "made/report/claims.json").read_text(), parse_constant=constants.append)
    assert constants == []
    (finding,) = data["experiments"][0]["claims"][0]["tests"][0]["cases"][0]["findings"]
    assert (finding["value"], finding["interval"], finding["status"]) == (None, [None, None], "undecided")


def test_signs_of_html_are_escaped_in_markdown(tmp_path: Path) -> None:
    text = TINY.replace("With a wide gap it is easy", "Where a <b> c it is easy")
    outcomes = reproduce([experiment(tmp_path, text)], out=tmp_path / "made")
    told = markdown(summarize(outcomes, 0, 1.0, 1.0), outcomes)
    assert "Where a &lt;b> c it is easy" in told
    assert "<b>" not in told


@pytest.mark.parametrize("title", ["Loss [see notes]", "Loss [/b] of arms"])
def test_the_list_shows_brackets(call: Callable[..., Any], tmp_path: Path, title: str) -> None:
    result = call(written(tmp_path, TINY.replace("Two arms", title)), "--list")
    assert title in result.stdout


def test_the_confidence_that_is_told_is_that_of_the_claims(call: Callable[..., Any], tmp_path: Path) -> None:
    text = TINY.replace('study = "pair"\n', 'study = "pair"\nconfidence = 0.9\n')
    result = call(written(tmp_path, text), "--out", "made")
    told = result.stdout + Path("made/report/index.html").read_text() + Path("made/report/claims.md").read_text()
    assert "99.9 %" not in told
    assert " ".join(told.split()).count("90 %") >= 3


def test_figures_of_two_files_do_not_replace_each_other(tmp_path: Path) -> None:
    both = [experiment(tmp_path, text, name) for name, text in (("one", TINY), ("two", TINY.replace("= 5}", "= 50}")))]
    outcomes = reproduce(both, out=tmp_path / "made")
    page = write_report(tmp_path / "made", summarize(outcomes, 0, 1.0, 1.0), outcomes)
    one, two = re.findall(r'<img src="(data:[^"]+)"', page.read_text())
    assert one != two
    names = sorted(path.name for path in page.parent.glob("figures/*.csv"))
    assert names == ["one-tiny.csv", "two-tiny.csv"]
    first, second = (page.parent.joinpath("figures", name).read_text() for name in names)
    assert first != second
    assert [f'href="figures/{name}"' in page.read_text() for name in names] == [True, True]


@pytest.mark.parametrize("values", ['["a b", "a_b", "a?b"]', '["../../../../a", "b", "c"]'])
def test_values_of_any_kind_have_files_of_their_own(tmp_path: Path, values: str) -> None:
    text = TINY[: TINY.index("[[claims]]")].replace("[0.6, 0.2, 0.5]", values)
    found = experiment(tmp_path, text)
    reproduce([found], out=tmp_path / "made")
    assert len(list((tmp_path / "made/results").iterdir())) == len(list(tmp_path.rglob("*.npz"))) == 3
    (again,) = reproduce([found], out=tmp_path / "made")
    assert (again.cost.cached, again.cost.results) == (3, 3)
