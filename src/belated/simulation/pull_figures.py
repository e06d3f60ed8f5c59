"""Which arms are pulled over time: stacked shares, one panel for each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from belated.errors import InvalidParameter
from belated.problem import Problem
from belated.simulation.figures import COLOURS, STYLE, caption, compact_tick, drawing_on, name_axes, panel_grid
from belated.simulation.notebook import new_figure, style_context

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from belated.simulation.result import Result

_MOST_ARMS = 8
"""Arms that have an area of their own; the least pulled of more arms share one."""
_OTHERS = "#C9C9C9"
_Area = tuple[str, str, list[int]]
"""(name, colour, arms)."""


def plot_pulls(result: Result, policy: str | int | None, ax: Axes | None) -> Figure | Axes:
    """The shares of the arms from checkpoint to checkpoint, stacked; see :meth:`belated.Result.plot_pulls`."""
    shares = _shares_of_intervals(result)
    best = result.problem.best if isinstance(result.problem, Problem) else None
    if ax is not None and policy is None and len(result.labels) > 1:
        raise InvalidParameter(
            f"ax is given, and this result has {len(result.labels)} policies, which take a panel each; give policy=, "
            f"one of {', '.join(map(repr, result.labels))}, or plot without ax."
        )
    if ax is not None or policy is not None:
        number = result.policy_number(0 if policy is None else policy)
        areas = _areas(shares[number : number + 1], best)
        with drawing_on(ax, 6.0, 3.4) as (figure, axes):
            _stack(axes, result, shares[number], areas)
            name_axes(axes, "round", "share of the pulls")
            if ax is None:
                caption(axes, f"{result.labels[number]}, mean of {result.runs:,} runs")
                axes.xaxis.set_major_locator(MaxNLocator(5))
                axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            handles, names = axes.get_legend_handles_labels()
            axes.legend(handles[::-1], names[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5))
        return axes if figure is None else figure
    areas = _areas(shares, best)
    count = len(result.labels)
    lines, columns = panel_grid(count)
    with style_context(STYLE):
        figure = new_figure(1.6 + 2.6 * columns, 0.7 + 2.1 * lines)
        grid: Any = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        for number, axes in enumerate(grid.flat[:count]):
            _stack(axes, result, shares[number], areas)
            axes.set_title(result.labels[number], loc="left", fontsize=10)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axes.xaxis.set_major_formatter(FuncFormatter(compact_tick))
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.tick_params(labelbottom=number + columns >= count)
        for axes in grid.flat[count:]:
            axes.set_visible(False)
        handles, names = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles[::-1], names[::-1], loc="outside right center")
        figure.supxlabel("round", fontsize=10)
        figure.supylabel("share of the pulls", fontsize=10)
    return figure


def _shares_of_intervals(result: Result) -> npt.NDArray[np.float64]:
    """(P, C, K) the share of each arm in the rounds from the checkpoint before to this one."""
    pulls = np.diff(result.mean_pulls, axis=1, prepend=0.0)
    rounds = np.diff(result.rounds, prepend=0)
    return pulls / rounds[:, None]


def _areas(shares: npt.NDArray[np.float64], best: int | None) -> list[_Area]:
    """(name, colour, arms) of each area from the bottom: the best arm, the others in their order, the rest."""
    arms = shares.shape[2]
    order = sorted(range(arms), key=lambda arm: (arm != best, -float(shares[:, :, arm].mean())))
    alone = sorted(order[: _MOST_ARMS if arms <= _MOST_ARMS else _MOST_ARMS - 1], key=lambda arm: (arm != best, arm))
    areas = []
    for place, arm in enumerate(alone):
        colour = COLOURS[(arm if arms <= _MOST_ARMS else place) % len(COLOURS)]
        areas.append((f"arm {arm}, the best" if arm == best else f"arm {arm}", colour, [arm]))
    rest = [arm for arm in range(arms) if arm not in alone]
    if rest:
        areas.append((f"{len(rest):,} others", _OTHERS, rest))
    return areas


def _stack(
    axes: Axes, result: Result, shares: npt.NDArray[np.float64], areas: list[tuple[str, str, list[int]]]
) -> None:
    x = np.concatenate([[0], result.rounds])
    below = np.zeros(x.size)
    for name, colour, arms in areas:
        part = shares[:, arms].sum(axis=1)
        above = below + np.concatenate([part[:1], part])
        best = name.endswith("the best")
        axes.fill_between(
            x, below, above, step="pre", color=colour, alpha=0.9 if best else 0.55, linewidth=0, label=name
        )
        axes.step(x, above, where="pre", color="white", linewidth=1.4 if best else 0.5)
        below = above
    axes.set_xlim(0, int(result.rounds[-1]))
    axes.set_ylim(0, 1)
    axes.grid(visible=False)
