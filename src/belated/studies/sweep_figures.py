"""Figures of sweeps over two parameters: heat maps, one per policy, or a panel for each value of the smaller axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from belated.errors import InvalidParameter
from belated.formatting import compact, grouped
from belated.simulation.figures import BAND, STYLE, check_legend, compact_tick, panel_grid, plot_sweep
from belated.simulation.notebook import new_figure, style_context

if TYPE_CHECKING:
    from belated.studies.study import Axis
    from belated.studies.sweep import Sweep

_HEAT = LinearSegmentedColormap.from_list(
    "regret", ["#F7FBFD", "#CFE5F2", "#8FC1DE", "#4391C3", "#1A5F9A", "#0B2F5B"], N=512
)
_FEW = 4
"""An axis with at most this many values is shown as panels."""


def plot_two(
    sweep: Sweep, policies: Sequence[int], kind: str | None, *, bands: Any, log: str | None, legend: bool | str
) -> Figure:
    """A sweep over two parameters as "heatmap" or "facets"; None: what suits its axes."""
    first, second = sweep.axes
    if kind not in (None, "heatmap", "facets"):
        raise InvalidParameter(f'kind is {kind!r}; give "heatmap", "facets", or None for what suits the values.')
    if kind is None:
        facets = min(len(first.values), len(second.values)) <= _FEW or not (_numbers(first) and _numbers(second))
        kind = "facets" if facets else "heatmap"
    if check_legend(legend) == "direct":
        raise InvalidParameter(
            'legend is "direct", and this sweep has two parameters, whose panels share a legend; give True or False.'
        )
    if kind == "facets":
        return _facets(sweep, policies, bool(legend), bands=bands, log=log)
    if bands not in (None, BAND):
        raise InvalidParameter(f'bands is {bands!r}, and a heat map has no bands; leave it out, or give kind="facets".')
    if log:
        raise InvalidParameter(f'log is {log!r}, and a heat map has no lines; leave it out, or give kind="facets".')
    return _heat_maps(sweep, policies)


def _heat_maps(sweep: Sweep, policies: Sequence[int]) -> Figure:
    """One map per policy: a tile for each pair of values, all on one scale of colours."""
    across, up = sweep.axes
    grids = sweep.mean.reshape(len(sweep.labels), len(across.values), len(up.values)).transpose(0, 2, 1)[list(policies)]
    low, high = float(grids.min()), float(grids.max())
    norm: Normalize = LogNorm(low, high) if low > 0.0 and high > 20.0 * low else Normalize(0.0, high or 1.0)
    count = len(policies)
    lines, columns = panel_grid(count)
    width = max(2.2, 0.5 * len(across.values) + 0.7)
    height = max(1.7, 0.32 * len(up.values) + 0.6)
    written = grids[0].size <= 80
    with style_context(STYLE | {"axes.grid": False}):
        figure = new_figure(1.2 + width * columns, 0.5 + height * lines)
        panels: Any = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for axes, number, grid in zip(panels.flat, policies, grids, strict=False):
            image = axes.imshow(grid, cmap=_HEAT, norm=norm, aspect="auto", origin="lower")
            axes.set_title(sweep.labels[number], loc="left", fontsize=10)
            axes.set_xticks(range(len(across.values)), _ticks(across), rotation=0 if len(across.values) <= 8 else 45)
            axes.set_yticks(range(len(up.values)), _ticks(up))
            axes.tick_params(length=0)
            for spine in axes.spines.values():
                spine.set_visible(False)
            if written:
                for i, j in np.ndindex(*grid.shape):
                    colour = "white" if norm(grid[i, j]) > 0.55 else "#222222"
                    axes.text(j, i, compact(grid[i, j]), ha="center", va="center", fontsize=7.5, color=colour)
        for axes in panels.flat[count:]:
            axes.set_visible(False)
        ticks = LogLocator(subs=(1, 2, 5) if high < 1000.0 * low else (1,)) if isinstance(norm, LogNorm) else None
        bar = figure.colorbar(image, ax=panels.ravel().tolist(), shrink=0.8, aspect=25, pad=0.02, ticks=ticks)
        bar.set_label("pseudo-regret at the horizon")
        bar.ax.yaxis.set_major_formatter(FuncFormatter(compact_tick))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.outline.set_visible(False)
        figure.supxlabel(across.name, fontsize=10)
        figure.supylabel(up.name, fontsize=10)
    return figure


def _facets(sweep: Sweep, policies: Sequence[int], legend: bool, **options: Any) -> Figure:
    """One panel for each value of the axis with fewer values, or of that whose values are not numbers."""
    first, second = sweep.axes
    split_second = (not _numbers(second), -len(second.values)) >= (not _numbers(first), -len(first.values))
    shape = (len(sweep.labels), len(first.values), len(second.values))
    mean, stderr = sweep.mean.reshape(shape), sweep.stderr.reshape(shape)
    if not split_second:
        mean, stderr = mean.transpose(0, 2, 1), stderr.transpose(0, 2, 1)
    along, split = (first, second) if split_second else (second, first)
    count = len(split.values)
    lines, columns = panel_grid(count)
    with style_context(STYLE):
        figure = new_figure(0.8 + 2.9 * columns, 0.9 + 2.3 * lines)
        panels: Any = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
        for number, value in enumerate(split.values):
            axes = panels.flat[number]
            means, errors = mean[:, :, number], stderr[:, :, number]
            shown: Any = {"policies": policies, "legend": False, **options}
            plot_sweep("", along.values, means, errors, sweep.labels, sweep.runs, axes, **shown)
            axes.set(xlabel="", ylabel="")
            axes.set_title(f"{split.name} {grouped(value)}", loc="left", fontsize=10)
            axes.tick_params(labelbottom=number + columns >= count)
            axes.yaxis.set_major_formatter(FuncFormatter(compact_tick))
            if _numbers(along):
                axes.xaxis.set_major_formatter(FuncFormatter(compact_tick))
        for axes in panels.flat[count:]:
            axes.set_visible(False)
        if panels.flat[0].get_yscale() == "linear":
            panels.flat[0].set_ylim(bottom=0)
        if legend:
            handles, names = panels.flat[0].get_legend_handles_labels()
            figure.legend(handles, names, loc="outside upper left", ncols=min(len(names), 5))
        figure.supxlabel(along.name, fontsize=10)
        figure.supylabel("pseudo-regret at the horizon", fontsize=10)
    return figure


def _numbers(axis: Axis) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in axis.values)


def _ticks(axis: Axis) -> list[str]:
    return [compact(value) if _numbers(axis) else str(value) for value in axis.values]
