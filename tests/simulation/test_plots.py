"""Options of the plots, Axes of the caller's own, and how a notebook shows a figure."""

from __future__ import annotations

import base64
import itertools
from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from belated import Problem, Result, simulate
from belated.delays import Geometric
from belated.errors import InvalidParameter
from belated.policies import UCB, SuccessiveElimination, UniformChoice
from belated.rewards import Bernoulli
from belated.simulation.direct_labels import spread
from belated.simulation.figures import panel_grid, plot_sweep
from belated.simulation.styles import style_for

PROBLEM = Problem([Bernoulli(0.3), Bernoulli(0.6), Bernoulli(0.5)], Geometric(20))


@pytest.fixture(scope="module")
def result() -> Result:
    policies = [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0), UniformChoice()]
    return simulate(PROBLEM, policies, horizon=400, runs=12, checkpoints=8)


def lines(axes: Any) -> dict[str, Any]:
    return {str(line.get_label()): line for line in axes.get_lines()}


def test_curves_begin_at_0(result: Result) -> None:
    for line in result.plot().axes[0].get_lines():
        assert (line.get_xdata()[0], line.get_ydata()[0]) == (0.0, 0.0)
        assert line.get_xdata()[1:].tolist() == result.rounds.tolist()


def test_given_axes_are_returned_and_keep_their_style(result: Result) -> None:
    axes = Figure(figsize=(3, 2)).subplots()
    axes.set_title("mine")
    axes.set_ylabel("my unit")
    before = dict(matplotlib.rcParams)
    assert result.plot(axes) is axes
    assert dict(matplotlib.rcParams) == before
    assert (axes.get_title(), axes.get_title(loc="left"), axes.get_ylabel()) == ("mine", "", "my unit")
    assert axes.get_figure().get_size_inches().tolist() == [3, 2]
    assert axes.spines["top"].get_visible()
    assert list(lines(axes)) == result.labels
    assert isinstance(result.plot(), Figure)


def test_policies_are_chosen_and_ordered_and_keep_their_colours(result: Result) -> None:
    chosen = lines(result.plot(policies=["Uniform", 0]).axes[0])
    assert list(chosen) == ["Uniform", "UCB"]
    for label, line in chosen.items():
        assert line.get_color() == style_for(label).colour
    assert list(lines(result.plot(policies="SE").axes[0])) == ["SE"]
    with pytest.raises(InvalidParameter, match="'Nobody' is not a policy of this result"):
        result.plot(policies=["Nobody"])
    with pytest.raises(InvalidParameter, match="at least one"):
        result.plot(policies=[])


@pytest.mark.parametrize(
    ("bands", "count"), [(4.0, 3), (None, 0), (False, 0), (0, 0), ("quantile", 3), ((0.1, 0.9), 3)]
)
def test_bands(result: Result, bands: Any, count: int) -> None:
    assert len(result.plot(bands=bands).axes[0].collections) == count


def test_bands_of_quantiles_end_at_the_quantiles(result: Result) -> None:
    vertices = result.plot(bands=(0.25, 0.75), policies="SE").axes[0].collections[0].get_paths()[0].vertices
    edges = vertices[vertices[:, 0] == result.rounds[-1]][:, 1]
    assert (edges.min(), edges.max()) == pytest.approx((result.quantile(0.25)[1, -1], result.quantile(0.75)[1, -1]))


def test_logarithmic_axes(result: Result) -> None:
    axes = result.plot(log="xy").axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert all(line.get_xdata()[0] > 0 for line in axes.get_lines())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"log": "z"}, "log is 'z'; give '', 'x', 'y' or 'xy'"),
        ({"bands": "wide"}, "bands is 'wide'; give a number of standard errors"),
        ({"bands": -1.0}, "bands is -1.0"),
        ({"legend": "left"}, "legend is 'left'; give True, False, or \"direct\""),
        ({"ax": 3}, "ax is 3; give Axes of matplotlib"),
    ],
)
def test_mistakes_are_explained(result: Result, options: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        result.plot(**options)


def test_a_legend_or_none_or_direct_labels(result: Result) -> None:
    assert result.plot().axes[0].get_legend() is not None
    assert result.plot(legend=False).axes[0].get_legend() is None
    axes = result.plot(legend="direct").axes[0]
    assert axes.get_legend() is None
    texts = {text.get_text(): text for text in axes.texts}
    assert set(texts) == set(result.labels)
    figure: Any = axes.get_figure()
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in texts.values()), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 2 for low, high in itertools.pairwise(boxes))
    for label, text in texts.items():
        assert text.get_color() == style_for(label).colour


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_legend_that_would_cover_a_line_is_beside_the_axes(result: Result, everywhere: bool) -> None:
    up_and_down = np.where(np.arange(result.rounds.size) % 2, 0.0, 100.0) + np.zeros_like(result.mean)
    axes = (replace(result, mean=up_and_down) if everywhere else result).plot(bands=None).axes[0]
    figure: Any = axes.get_figure()
    figure.canvas.draw()
    legend: Any = axes.get_legend()
    assert (legend.get_window_extent().x0 >= axes.get_window_extent().x1) == everywhere


@pytest.mark.parametrize(
    ("count", "shape"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (5, (2, 3)), (7, (3, 3)), (9, (3, 3))]
)
def test_panels_leave_few_places_empty(count: int, shape: tuple[int, int]) -> None:
    assert panel_grid(count) == shape


def test_labels_that_would_overlap_move_apart() -> None:
    heights = spread([5.0, 5.0, 5.1, 0.0, 10.0, 10.0], 1.0, 0.0, 10.0)
    ordered = np.sort(heights)
    assert np.all(np.diff(ordered) >= 1.0 - 1e-9)
    assert ordered[0] >= 0.0
    assert ordered[-1] <= 10.0
    assert np.argsort(heights, kind="stable").tolist()[0] == 3


@pytest.mark.parametrize(("count", "height"), [(12, 20.0), (12, 5.0), (1, 5.0)])
def test_labels_stay_beside_the_axes(count: int, height: float) -> None:
    """Many lines that end near 0, or near the top, leave the room below and above to the ticks' labels."""
    for ends in (np.linspace(0.0, 1.0, count), np.linspace(height - 1.0, height, count)):
        heights = spread(ends.tolist(), 1.0, 0.0, height)
        assert min(heights) >= -1e-9
        assert max(heights) <= height + 1e-9
        assert np.all(np.diff(heights) >= min(1.0, height / (count - 1)) - 1e-9 if count > 1 else True)


def test_a_legend_does_not_cover_error_bars() -> None:
    mean, stderr = np.full((2, 6), 50.0), np.full((2, 6), 12.0)
    axes = plot_sweep("law", list("abcdef"), mean, stderr, ["UCB", "SE"], 10).axes[0]  # type: ignore[union-attr]
    figure: Any = axes.get_figure()
    figure.canvas.draw()
    legend: Any = axes.get_legend()
    box = legend.get_window_extent()
    for bars in axes.collections:
        for path in bars.get_paths():
            assert not bars.get_transform().transform_path(path).intersects_bbox(box, filled=False)


def test_a_figure_is_a_picture_without_pyplot(result: Result) -> None:
    bundle = result.plot()._repr_mimebundle_()  # type: ignore[attr-defined]
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")


def test_pull_shares_are_stacked_with_the_best_arm_at_the_bottom(result: Result) -> None:
    figure = result.plot_pulls()
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels] == result.labels
    names = panels[0].get_legend_handles_labels()[1]
    assert names == ["arm 1, the best", "arm 0", "arm 2"]
    bottom = panels[0].collections[0].get_paths()[0].vertices
    share = (result.mean_pulls[0, -1, 1] - result.mean_pulls[0, -2, 1]) / (result.rounds[-1] - result.rounds[-2])
    assert bottom[bottom[:, 0] == result.rounds[-1]][:, 1].max() == pytest.approx(share)
    axes = Figure().subplots()
    assert result.plot_pulls("SE", axes) is axes
    assert isinstance(result.plot_pulls("SE"), Figure)
    with pytest.raises(InvalidParameter, match=rf"ax is given.*{len(result.labels)} policies.*policy=.*'SE'"):
        result.plot_pulls(ax=axes)


def test_many_arms_share_an_area() -> None:
    many = Problem([Bernoulli(0.5)] * 29 + [Bernoulli(0.7)], Geometric(5))
    names = simulate(many, UCB(confidence=1.0), horizon=200, runs=2).plot_pulls().axes[0].get_legend_handles_labels()[1]
    assert (names[0], names[-1], len(names)) == ("arm 29, the best", "23 others", 8)
