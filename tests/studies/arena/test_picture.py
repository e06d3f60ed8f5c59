"""The picture: a tile and a number for each row and policy, all of it inside the figure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from belated.policies import POLICIES, ImputedUCB, PendingUCB, PrefixElimination, PrefixUCB, SafeImputedUCB
from belated.studies.arena import Scenario, Scores
from belated.studies.arena.picture import heat_map, is_new, small_map

NUMBER = re.compile(r"\d+(\.\d+)?$")


def lines(axes: Any) -> list[list[str]]:
    """The numbers of a block, line by line; each tile has one."""
    found = [text for text in axes.texts if NUMBER.match(text.get_text())]
    placed = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in found}
    height, width = axes.images[0].get_array().shape
    assert len(found) == height * width
    return [[placed[line, column] for column in range(width)] for line in range(height)]


def test_every_row_and_policy_has_its_number_in_ranked_order(scores: Scores) -> None:
    figure = heat_map(scores)
    independent, dependent, lost, total = figure.axes
    assert figure.get_suptitle() == "Regret relative to the best policy"
    assert [text.get_text() for text in independent.get_xticklabels()] == ["B", "C", "A"]
    assert [text.get_text() for text in independent.get_yticklabels()] == ["one", "two ◆", "geometric mean"]
    assert [text.get_text() for text in lost.get_yticklabels()] == ["four ◆", "five", "geometric mean"]
    assert lines(independent) == [["1", "2.00", "4.00"], ["1", "2.00", "1"], ["1.00", "2.00", "2.00"]]
    assert lines(dependent) == [["1", "2.00", "8.00"], ["1.00", "2.00", "8.00"]]
    assert lines(lost) == [["1", "4.00", "1.25"], ["4.00", "1", "2.00"], ["2.00", "2.00", "1.58"]]
    assert [text.get_text() for text in total.get_yticklabels()] == ["all scenarios: geometric mean"]
    assert lines(total) == [["1.32", "2.00", "2.40"]]
    assert len(heat_map(scores.of_kind("lost")).axes) == 1  # which is all there is


def test_the_small_one_has_a_line_for_each_policy(scores: Scores) -> None:
    figure = small_map(scores)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["B", "C", "A"]
    assert [" ".join(text.get_text().split()) for text in axes.get_xticklabels()] == [
        "all scenarios (5)",
        "independent delays (2)",
        "reward-dependent delays (1)",
        "lost feedback (2)",
        "worst scenario",
    ]
    assert lines(axes) == [
        ["1.32", "1.00", "1.00", "2.00", "4.00"],
        ["2.00", "2.00", "2.00", "2.00", "4.00"],
        ["2.40", "2.00", "8.00", "1.58", "8.00"],
    ]
    names = sorted((text.get_position()[1], text.get_text()) for text in axes.texts if text.get_text().isalpha())
    assert [name for _, name in names] == ["five", "four", "three"]


@pytest.mark.parametrize("draw", [heat_map, small_map])
def test_names_of_our_policies_and_of_rows_held_out_have_a_colour(
    scores: Scores, draw: Callable[[Scores], Figure]
) -> None:
    assert {cls for cls in POLICIES.values() if is_new(cls.label)} == {
        ImputedUCB,
        SafeImputedUCB,
        PendingUCB,
        PrefixElimination,
        PrefixUCB,
    }
    ours = replace(scores, labels=("Prefix-UCB spread", "Pending-UCB (Mine)", "Prefix-SE"))
    figure = draw(ours)
    shown = [text for text in figure.findobj(Text) if text.get_visible()]
    names = {text.get_text(): text.get_color() for text in shown if text.get_text() in ours.labels}
    assert names["Prefix-UCB spread"] == names["Prefix-SE"] != names["Pending-UCB (Mine)"]
    assert "Violet: policies introduced with" in " ".join(figure.get_supxlabel().split())
    assert "violet" not in draw(scores).get_supxlabel()
    one, two, _ = heat_map(scores).axes[0].get_yticklabels()
    assert one.get_color() != two.get_color()


def test_darker_is_worse_up_to_a_limit(scores: Scores) -> None:
    regret = scores.regret.copy()
    regret[2] = [5.0, 16.0 * 5.0, 500.0 * 5.0]
    block = heat_map(replace(scores, regret=regret)).axes[1]
    heat = np.asarray(block.images[0].get_array())[0]
    shown = dict(zip(lines(block)[0], heat.tolist(), strict=True))
    assert shown == {"1": 0.0, "16.0": 1.0, "500": 1.0}


def test_it_says_how_many_runs_there_are_and_what_is_held_out(scores: Scores) -> None:
    def told(figure: Figure) -> str:
        return " ".join(figure.get_supxlabel().split())

    assert "60 to 3,840 runs of a policy in a scenario" in told(heat_map(scores))
    assert "◆ held out while the policies were designed." in told(heat_map(scores))
    seen = replace(scores, runs=np.full(5, 60)).select(lambda row: not row.held_out)
    assert told(heat_map(seen)).startswith("60 runs of a policy in a scenario")
    assert "◆" not in told(heat_map(seen))


def small(row: Callable[..., Scenario]) -> Scores:
    """One row, two policies."""
    made = row("conversions-without-deadline", "lost", held_out=True)
    regret = np.array([[3.0, 4.5]])
    return Scores((made,), ("UCB", "Prefix-UCB spread"), regret, regret / 10, regret / 100, regret * 0, np.array([60]))


@pytest.mark.parametrize("draw", [heat_map, small_map])
@pytest.mark.parametrize("which", ["one row, two policies", "five rows, three policies", "all"])
def test_nothing_is_cut_off_and_nothing_overlaps(
    which: str, draw: Callable[[Scores], Figure], scores: Scores, whole: Scores, row: Callable[..., Scenario]
) -> None:
    chosen = {"one row, two policies": small(row), "five rows, three policies": scores, "all": whole}[which]
    figure = draw(chosen)
    FigureCanvasAgg(figure).draw()
    edge = figure.bbox
    shown = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown]
    assert len(boxes) > len(chosen.labels) * (len(chosen.scenarios) if draw is heat_map else 2)
    for text, box in boxes:
        inside = box.x0 >= edge.x0 - 1 and box.x1 <= edge.x1 + 1 and box.y0 >= edge.y0 - 1 and box.y1 <= edge.y1 + 1
        assert inside, f"{text!r} is cut off"
    upright = [(text, box) for text, box in boxes if text not in chosen.labels]  # those are slanted, as are no others
    for place, (text, box) in enumerate(upright):
        for other, its in upright[:place]:
            apart = box.x0 >= its.x1 - 1 or its.x0 >= box.x1 - 1 or box.y0 >= its.y1 - 1 or its.y0 >= box.y1 - 1
            assert apart, f"{text!r} lies on {other!r}"
    for axes in figure.axes:
        assert axes.get_window_extent().width > 20 * len(chosen.labels)
