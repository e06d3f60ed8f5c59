"""Figures of results: lines with bands, one per policy. A figure without Axes of the caller's own is shown once by a
notebook; Axes of the caller's own get lines and a legend, and keep their style."""

from __future__ import annotations

import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatter, MaxNLocator

from belated.errors import InvalidParameter
from belated.formatting import compact, grouped
from belated.simulation.direct_labels import label_lines
from belated.simulation.notebook import new_figure, style_context
from belated.simulation.plot_bounds import bounds_of_result
from belated.simulation.styles import LineStyle, styles_of
from belated.validation import check_choice, is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from belated.simulation.result import Result

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's palette for colour-blind readers: for arms, and whatever else is not a policy."""
BAND = 4.0
"""Half-width of a band in standard errors, as in the paper's figures."""
QUANTILES = (0.05, 0.95)
"""The edges of a band of quantiles."""
_WITHOUT_DATE: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
STYLE: Any = {
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "belated",
    "pdf.fonttype": 42,
}

Bands = float | str | tuple[float, float] | None
"""A number of standard errors, "quantile", a pair of quantile levels, or None (or False) for no bands."""


def plot_result(
    result: Result,
    ax: Axes | None = None,
    *,
    bands: Bands = BAND,
    policies: Sequence[str | int] | str | int | None = None,
    log: str | None = None,
    legend: bool | str = True,
    bounds: bool = False,
) -> Figure | Axes:
    """Mean pseudo-regret against rounds; see :meth:`belated.Result.plot`."""
    shown = chosen_policies(result, policies)
    width = check_bands(bands)
    drawn = bounds_of_result(result, shown) if bounds else {}
    logarithmic = check_log(("y" if drawn else "") if log is None else log)
    direct = check_legend(legend) == "direct"
    with drawing_on(ax, 6.0, 3.8) as (figure, axes):
        styles = styles_of(result.labels)
        for number in shown:
            label = result.labels[number]
            low, high = band_edges(result, number, width)
            curve = (result.rounds, result.mean[number], low, high)
            if not logarithmic:
                curve = tuple(np.concatenate([[0.0], part]) for part in curve)  # type: ignore[assignment]
            marker = "o" if result.rounds.size == 1 else None
            draw_curve(axes, styles[label], label, *curve, marker=marker)
        for label, (value, source) in drawn.items():
            axes.axhline(value, color=styles[label].colour, linewidth=0.9, alpha=0.75, label=f"{label}: {source}")
        set_scales(axes, logarithmic)
        name_axes(axes, "round", "pseudo-regret")
        if ax is None:
            last = int(result.rounds[-1])
            left = None if "x" in logarithmic else 0
            axes.set_xlim(left, last * (1.05 if result.rounds.size == 1 else 1.0))
            _set_bottom(axes, logarithmic, result.mean[shown])
            note = describe_runs(result.runs, width, result.curves.shape[1])
            caption(axes, f"{note}; no bound applies" if bounds and not drawn else note)
        if direct:
            label_lines(axes)
        elif legend:
            draw_legend(axes, movable=ax is None)
    return axes if figure is None else figure


def plot_sweep(
    name: str,
    values: Sequence[Any],
    mean: npt.NDArray[np.float64],
    stderr: npt.NDArray[np.float64],
    labels: Sequence[str],
    runs: int,
    ax: Axes | None = None,
    *,
    bands: float | None = BAND,
    policies: Sequence[int] | None = None,
    log: str | None = None,
    legend: bool | str = True,
) -> Figure | Axes:
    """Pseudo-regret at the horizon against one parameter, one line per policy; values that are not numbers are
    equally spaced."""
    numbers = all(is_number(value) for value in values)
    width = check_bands(bands)
    if isinstance(width, tuple):
        raise InvalidParameter(f"bands is {bands!r}; give a number of standard errors, or None.")
    positive = np.array([value for value in values if value > 0.0]) if numbers else np.empty(0)
    if log is None:
        log = "x" if numbers and min(values) >= 0.0 and is_geometric(positive) else ""
    logarithmic = check_log(log)
    direct = check_legend(legend) == "direct"
    shown = list(range(len(labels))) if policies is None else list(policies)
    with drawing_on(ax, 6.0, 3.8) as (figure, axes):
        x = np.array(values) if numbers else np.arange(len(values))
        styles = styles_of(labels)
        for number in shown:
            half = width * np.nan_to_num(stderr[number])
            style, marker = styles[labels[number]], styles[labels[number]].marker
            if numbers:
                low, high = mean[number] - half, mean[number] + half
                draw_curve(axes, style, labels[number], x, mean[number], low, high, marker=marker)
            else:
                bars: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 5, "capsize": 3}
                axes.errorbar(x, mean[number], half, color=style.colour, label=labels[number], **bars)
        set_scales(axes, logarithmic)
        if "x" in logarithmic and 0 < positive.size < len(values):  # a place for 0, as far left as it must be
            axes.set_xscale("symlog", linthresh=positive.min(), linscale=0.5)
        name_axes(axes, name, "pseudo-regret at the horizon")
        if ax is None:
            _set_bottom(axes, logarithmic, mean[shown])
            caption(axes, describe_runs(runs, width))
        if not numbers:
            axes.set_xticks(x, [str(value) for value in values])
            axes.margins(x=0.2)
        if direct:
            label_lines(axes)
        elif legend:
            draw_legend(axes, movable=ax is None)
    return axes if figure is None else figure


def is_geometric(values: npt.NDArray[Any]) -> bool:
    """Whether values span more than a decade, and are more evenly spaced by ratios than by differences."""
    points = np.sort(values.astype(np.float64))
    if points.size < 3 or points[0] <= 0.0 or points[-1] < 10.0 * points[0]:
        return False
    steps, ratios = np.diff(points), np.diff(np.log(points))
    return bool(ratios.std() / ratios.mean() < steps.std() / steps.mean())


def compact_tick(value: float, position: int | None) -> str:
    """The label of a tick; a function by name, so that figures can be pickled."""
    return compact(value)


def grouped_tick(value: float, position: int | None) -> str:
    """The same in full, with commas between thousands."""
    return grouped(float(f"{value:.10g}"))


class _LogTick(LogFormatter):
    """The labels of a logarithmic axis as plain numbers, where there is room for them."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return (compact_tick if x >= 1e6 else grouped_tick)(x, pos) if super().__call__(x, pos) else ""


# ---- what all plots share ----


def panel_grid(count: int) -> tuple[int, int]:
    """(lines, columns) of panels: up to three beside each other, and as few places left empty as can be."""
    columns = 2 if count == 4 else min(count, 3)
    return -(-count // columns), columns


class drawing_on:  # noqa: N801  (a context, used like a function)
    """A context that gives (figure, axes) to draw on: a new figure in the package's style, or None and the given Axes,
    with their style."""

    def __init__(self, ax: Axes | None, width: float, height: float) -> None:
        self._ax, self._size = ax, (width, height)
        self._context = style_context(STYLE if ax is None else {})

    def __enter__(self) -> tuple[Figure | None, Axes]:
        if self._ax is not None and not hasattr(self._ax, "transAxes"):
            raise InvalidParameter(f"ax is {self._ax!r}; give Axes of matplotlib, or None for a new figure.")
        self._context.__enter__()
        if self._ax is not None:
            return None, self._ax
        figure = new_figure(*self._size)
        return figure, figure.subplots()

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)


def chosen_policies(result: Any, policies: Sequence[str | int] | str | int | None) -> list[int]:
    """The numbers of the policies that are shown, in their order; all if None."""
    if policies is None:
        return list(range(len(result.labels)))
    listed = [policies] if isinstance(policies, str | int) else list(policies)
    if not listed:
        raise InvalidParameter(f"policies is {policies!r}; give at least one of {', '.join(map(repr, result.labels))}.")
    return [result.policy_number(policy) for policy in listed]


def check_bands(bands: Any) -> float | tuple[float, float]:
    """The half-width of bands in standard errors (0 for none), or two quantile levels."""
    if bands is None or bands is False:
        return 0.0
    if bands == "quantile":
        return QUANTILES
    pair = tuple(bands) if isinstance(bands, tuple | list) else ()
    if len(pair) == 2 and all(is_number(level) and 0.0 <= level <= 1.0 for level in pair) and pair[0] < pair[1]:
        return float(pair[0]), float(pair[1])
    if not is_number(bands) or not 0.0 <= bands < np.inf:
        raise InvalidParameter(
            f'bands is {bands!r}; give a number of standard errors, "quantile", two quantile levels such as '
            "(0.1, 0.9), or None."
        )
    return float(bands)


def check_log(log: Any) -> str:
    """The axes that are logarithmic."""
    return check_choice("log", log, ("", "x", "y", "xy"))


def check_legend(legend: Any) -> str:
    """Where the policies are named: "legend", "direct" (beside the lines) or ""."""
    if isinstance(legend, bool):
        return "legend" if legend else ""
    if legend != "direct":
        raise InvalidParameter(f'legend is {legend!r}; give True, False, or "direct" for labels beside the lines.')
    return "direct"


def band_edges(
    result: Result, number: int, width: float | tuple[float, float]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The lower and the upper edge of a policy's band."""
    if isinstance(width, tuple):
        low, high = (result.quantile(level)[number] for level in width)
        return low, high
    half = width * np.nan_to_num(result.stderr[number])
    return result.mean[number] - half, result.mean[number] + half


def describe_runs(runs: int, width: float | tuple[float, float], stored: int | None = None) -> str:
    """What lines and bands are, in words."""
    if runs == 1:
        return "one run"
    note = f"mean of {runs:,} runs"
    if isinstance(width, tuple):
        low, high = (f"{100.0 * level:g}" for level in width)
        part = "the runs" if stored in (None, runs) else f"the first {stored:,} runs"
        return f"{note}, bands from {low}% to {high}% of {part}"
    return f"{note}, bands of {width:g} standard errors" if width else note


def draw_curve(
    axes: Axes, style: LineStyle, label: str, x: Any, mean: Any, low: Any, high: Any, marker: str | None = None
) -> None:
    """The line and the band of one policy."""
    axes.plot(x, mean, linewidth=1.8, marker=marker, markersize=4, label=label, **style.line)
    if not np.array_equal(low, high):
        axes.fill_between(x, low, high, color=style.colour, alpha=0.18, linewidth=0)


def set_scales(axes: Axes, log: str) -> None:
    """Logarithmic axes where they are asked for."""
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")


def name_axes(axes: Axes, x: str, y: str) -> None:
    """Label the axes that have no label yet."""
    if not axes.get_xlabel():
        axes.set_xlabel(x)
    if not axes.get_ylabel():
        axes.set_ylabel(y)


def caption(axes: Axes, note: str) -> None:
    """The ticks of a new figure in full, and what it shows, in small letters above it."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(_LogTick())
            axis.set_minor_formatter(_LogTick(minor_thresholds=(1.0, 0.4)))
        else:
            axis.set_major_formatter(FuncFormatter(grouped_tick))
    axes.set_title(note, fontsize=8.5, color="#555555", loc="left")


def draw_legend(axes: Axes, *, movable: bool) -> None:
    """A legend inside the axes, or beside them if it is long, or if it is ``movable`` and would cover a line or an
    error bar."""
    names = axes.get_legend_handles_labels()[1]
    if not names:
        return
    if len(names) > 6 or (axes.legend(loc="best") and movable and _legend_covers_line(axes)):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        if movable and isinstance(axes.xaxis.get_major_locator(), MaxNLocator):
            axes.locator_params(axis="x", nbins=5)  # there is less room now


def _legend_covers_line(axes: Axes) -> bool:
    figure: Any = axes.get_figure()
    figure.draw_without_rendering()
    legend: Any = axes.get_legend()
    box = legend.get_window_extent()
    paths = [line.get_transform().transform_path(line.get_path()) for line in axes.get_lines()]
    for bars in axes.collections:
        if isinstance(bars, LineCollection):
            paths += [bars.get_transform().transform_path(path) for path in bars.get_paths()]
    return any(path.intersects_bbox(box, filled=False) for path in paths)


def _set_bottom(axes: Axes, log: str, values: npt.NDArray[np.float64]) -> None:
    """Let the vertical axis begin at 0, or at the least positive value."""
    if "y" not in log:
        axes.set_ylim(bottom=0)
    elif np.any(values > 0.0):
        axes.set_ylim(bottom=max(float(values[values > 0.0].min()), 1e-3))


# ---- files ----


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure; the same figure gives the same bytes."""
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, metadata=_WITHOUT_DATE.get(path.suffix.lower()))


def save_figures(figure: Figure, paths: Sequence[Path]) -> None:
    """Save a figure in several formats, laid out once."""
    for path in paths:
        save_figure(figure, path)
        figure.set_layout_engine("none")


def end_with_parent() -> None:
    """Make this process, which saves figures for another one, ignore Ctrl-C and end when the other one is gone. (Here,
    since such a process then imports this module and no compiler.)"""

    def wait() -> None:
        multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])  # type: ignore[union-attr]
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=wait, daemon=True).start()
