"""Figures of laws and problems: how rewards are spread, and how late feedback comes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from belated.delays._base import DelayLaw
from belated.delays.by_reward import ByReward
from belated.engine.law_samples import as_reward_law
from belated.errors import InvalidParameter
from belated.formatting import brief, grouped, plural
from belated.problem import Problem
from belated.rewards._base import RewardLaw
from belated.simulation.figures import COLOURS, STYLE, caption, draw_legend, drawing_on, name_axes, set_scales
from belated.simulation.notebook import new_figure, style_context

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 400
_MOST_LINES = 8
_TAIL = 0.995
"""The horizontal axis of a delay law ends at this share of the feedback that comes."""
_UNSEEN = 1e-6
"""Values of a reward law that are less likely are not drawn."""
_HEAVY = 50.0
"""A law whose tail is this much longer than its median has a logarithmic axis."""


def plot_delays(law: DelayLaw, ax: Axes | None, reward: RewardLaw | float | None, round: int) -> Figure | Axes:
    """P(delay > g) against g, with the share that never comes; one line for each reward if it depends on that."""
    rewards = _rewards_by_name(law.at(round), reward)
    given = {name: law if one is None else law.given(one) for name, one in rewards.items()}
    laws = {name: one.at(round) for name, one in given.items()}
    round_dependent = any(one.depends_on_round for one in given.values())
    with drawing_on(ax, 5.2, 3.2) as (figure, axes):
        _draw_delays(axes, laws)
        if ax is None:
            _style_delays(axes, brief(law, 60) + (f", in round {round:,}" if round_dependent else ""))
        if len(laws) > 1:
            draw_legend(axes, movable=ax is None)
    return axes if figure is None else figure


def plot_rewards(law: RewardLaw, ax: Axes | None) -> Figure | Axes:
    """The probabilities of a reward law's values, or its density; and its mean."""
    with drawing_on(ax, 5.2, 3.2) as (figure, axes):
        colour = COLOURS[0]
        if law.atoms is not None:
            seen = {value: share for value, share in law.atoms.items() if share >= _UNSEEN}
            values, shares = list(seen), list(seen.values())
            axes.vlines(values, 0.0, shares, color=colour, linewidth=3.0)
            axes.plot(values, shares, "o", color=colour, markersize=7)
            name_axes(axes, "reward", "probability")
        else:
            x, density = _density(law)
            axes.plot(x, density, color=colour, linewidth=1.8)
            axes.fill_between(x, 0.0, density, color=colour, alpha=0.18, linewidth=0)
            name_axes(axes, "reward", "density")
        axes.axvline(law.mean, color="#555555", linewidth=1.0, linestyle=(0, (4, 2)))
        axes.annotate(
            f"mean {law.mean:.4g}",
            (law.mean, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(5 if law.mean <= np.mean(axes.get_xlim()) else -5, -2),
            textcoords="offset points",
            ha="left" if law.mean <= np.mean(axes.get_xlim()) else "right",
            va="top",
            fontsize=9,
            color="#555555",
        )
        if ax is None:
            axes.set_ylim(0, axes.get_ylim()[1] * 1.12)
            caption(axes, brief(law, 70))
    return axes if figure is None else figure


def plot_problem(problem: Problem) -> Figure:
    """The mean reward of each arm, and beside it how late its feedback comes."""
    with style_context(STYLE):
        figure = new_figure(9.0, 3.4)
        left, right = figure.subplots(1, 2)
        arms = np.arange(problem.arms)
        colours = [_arm_colour(problem, int(arm)) for arm in arms]
        size = 36.0 if problem.arms <= 40 else 10.0
        if problem.arms <= 40:
            left.vlines(arms, 0.0, problem.means, color="#DDDDDD", zorder=1)
        left.scatter(arms, problem.means, c=colours, s=size, zorder=2)
        left.scatter(
            [problem.best], [problem.means[problem.best]], s=4 * size, facecolors="none", edgecolors="#222222", zorder=3
        )
        left.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
        name_axes(left, "arm", "mean reward")
        left.margins(x=0.08 if problem.arms <= 40 else 0.02)
        caption(left, f"{plural(problem.arms, 'arm')}; the ring marks the best")
        _draw_delays(right, *_delays_of_arms(problem))
        when = " of pulls in round 1" if problem.round_dependent else ""
        _style_delays(right, f"feedback{when} that is not known yet")
        draw_legend(right, movable=True)
    return figure


def _rewards_by_name(law: DelayLaw, reward: RewardLaw | float | None) -> dict[str, RewardLaw | None]:
    """The rewards for which the law is drawn, each with its name in the legend; None if it depends on none."""
    if reward is not None:
        return {"": as_reward_law(reward)}
    if not law.depends_on_reward:
        return {"": None}
    if isinstance(law, ByReward) and isinstance(law.laws, Mapping) and len(law.laws) <= _MOST_LINES:
        return {f"reward {value:g}": as_reward_law(value) for value in law.laws}
    raise InvalidParameter(
        f"{type(law).__name__}: the delay depends on the reward; give plot(reward=...) a reward, or a reward law."
    )


def _delays_of_arms(problem: Problem) -> tuple[dict[str, DelayLaw], list[str]]:
    """The different delay laws of the arms, each with its name in the legend and its colour."""
    arms_of: dict[DelayLaw, list[int]] = {}
    for arm in range(problem.arms):
        arms_of.setdefault(problem.delay_law(arm).at(1), []).append(arm)
    groups = sorted(arms_of.items(), key=lambda group: (problem.best not in group[1], group[1]))[:_MOST_LINES]
    groups.sort(key=lambda group: group[1])
    names, colours = {}, []
    for law, arms in groups:
        shown = ", ".join(map(str, arms)) if len(arms) <= 4 else f"{arms[0]}, {arms[1]}, … {arms[-1]}"
        name = "all arms" if len(arms) == problem.arms else f"arm {shown}" if len(arms) == 1 else f"arms {shown}"
        names[name] = law
        colours.append("#333333" if len(arms) == problem.arms > 1 else _arm_colour(problem, arms[0]))
    return names, colours


def _arm_colour(problem: Problem, arm: int) -> str:
    return COLOURS[arm % len(COLOURS)] if problem.arms <= len(COLOURS) else COLOURS[0]


def _draw_delays(axes: Axes, laws: Mapping[str, DelayLaw], colours: list[str] | None = None) -> None:
    last = max(_end(law) for law in laws.values())
    middle = [law.quantile(0.5 * (1.0 - law.never)) for law in laws.values()]
    heavy = last > _HEAVY * max(min(m for m in middle), 1.0) and last > 100
    for number, (name, law) in enumerate(laws.items()):
        colour = (colours or COLOURS)[number % len(colours or COLOURS)]
        x = _grid(last, heavy)
        rest = 1.0 - np.asarray(law.cdf(x))
        x, rest = np.concatenate([[x[0] if heavy else -0.0], x]), np.concatenate([[1.0], rest])
        axes.step(x, rest, where="post", color=colour, linewidth=1.8, label=name or None)
        if len(laws) == 1:
            axes.fill_between(x, law.never, rest, step="post", color=colour, alpha=0.14, linewidth=0)
        if law.never > 0.0:
            axes.axhline(law.never, color=colour, linewidth=1.0, linestyle=(0, (4, 2)))
            axes.annotate(
                f"{100.0 * law.never:.3g}% never",
                (1.0, law.never),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 3),
                textcoords="offset points",
                ha="right",
                fontsize=9,
                color=colour,
            )
    (law, *others) = laws.values()
    if not others and law.never < 1.0 and math.isfinite(middle[0]):
        height = 1.0 - float(law.cdf(middle[0]))
        axes.plot([max(middle[0], 1.0 if heavy else 0.0)], [height], "o", color=COLOURS[0], markersize=5)
        what = "median" if law.never == 0.0 else "median of what comes"
        axes.annotate(
            f"{what} {grouped(middle[0])}",
            (max(middle[0], 1.0 if heavy else 0.0), height),
            xytext=(7, 5),
            textcoords="offset points",
            fontsize=9,
            color="#555555",
        )
    set_scales(axes, "x" if heavy else "")
    name_axes(axes, "rounds after the pull", "not known yet")


def _style_delays(axes: Axes, note: str) -> None:
    if axes.get_xscale() == "linear":
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.set_ylim(0, 1.04)
    caption(axes, note)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _end(law: DelayLaw) -> float:
    """Where the horizontal axis of a law ends."""
    share = _TAIL * (1.0 - law.never)
    end = law.quantile(share) if share > 0.0 else 0.0
    return max(1.25 * end if math.isfinite(end) else 1000.0, 4.0)


def _grid(last: float, heavy: bool) -> npt.NDArray[np.float64]:
    """Whole numbers of rounds up to the last, evenly spread on the axis."""
    points: Any = np.geomspace(1.0, last, _POINTS) if heavy else np.linspace(0.0, last, _POINTS)
    return np.unique(np.floor(points))


def _density(law: RewardLaw) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The density of a continuous reward law, from differences of its distribution function."""
    low, high = law.quantile_range(0.998)
    edges = np.linspace(low, high, _POINTS + 1)
    density = np.diff(np.asarray(law.cdf(edges))) * _POINTS / (high - low)
    return np.repeat(edges, 2)[1:-1], np.repeat(density, 2)
