"""Figures of results and sweeps."""

from __future__ import annotations

import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from belated.formatting import compact, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from belated.simulation.result import Result

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's palette for colour-blind readers."""
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2, 1, 2)))
BAND = 4.0
"""Half-width of a band in standard errors, as in the paper's figures."""
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


def plot_result(
    result: Result, ax: Axes | None = None, bounds: Mapping[str, tuple[float, str]] | None = None
) -> Figure:
    """Mean pseudo-regret against rounds, one line per policy, with bands of four standard errors.

    ``bounds`` are (value at the horizon, source) by label.
    """
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(ax)
        for number, label in enumerate(result.labels):
            marker = "o" if result.rounds.size == 1 else None
            curve(axes, number, label, result.rounds, result.mean[number], result.stderr[number], marker)
        axes.set_xlabel("round")
        axes.set_ylabel("pseudo-regret")
        axes.set_xlim(0, int(result.rounds[-1]) * (1.05 if result.rounds.size == 1 else 1.0))
        for label, (value, source) in (bounds or {}).items():
            colour = COLOURS[result.labels.index(label) % len(COLOURS)]
            axes.axhline(value, color=colour, linewidth=0.9, alpha=0.75, label=f"{label}: {source}")
        note = f"mean of {result.runs:,} runs, bands of {BAND:g} standard errors" if result.runs > 1 else "one run"
        _finish(axes, note if bounds or bounds is None else f"{note}; no bound applies")
        if bounds:
            axes.set_yscale("log")
            least = float(result.mean[result.mean > 0.0].min()) if np.any(result.mean > 0.0) else 1.0
            axes.set_ylim(bottom=max(least, 1e-3))
    return figure


def plot_sweep(
    name: str,
    values: np.ndarray[Any, Any],
    mean: np.ndarray[Any, Any],
    stderr: np.ndarray[Any, Any],
    labels: list[str],
    runs: int,
    ax: Axes | None = None,
) -> Figure:
    """Pseudo-regret at the horizon against one parameter, one line per policy; values that are not numbers are
    equally spaced."""
    with matplotlib.rc_context(STYLE):
        figure, axes = _canvas(ax)
        numbers = values.dtype.kind in "iuf"
        x = values if numbers else np.arange(values.size)
        for number, label in enumerate(labels):
            curve(axes, number, label, x, mean[number], stderr[number], marker="o", joined=numbers)
        axes.set_xlabel(name)
        axes.set_ylabel("pseudo-regret at the horizon")
        if numbers and _is_geometric(values):
            axes.set_xscale("log")
        _finish(axes, f"mean of {runs:,} runs, bands of {BAND:g} standard errors" if runs > 1 else "one run")
        if not numbers:
            axes.set_xticks(x, [str(value) for value in values])
            axes.margins(x=0.2)
    return figure


def _is_geometric(values: np.ndarray[Any, Any]) -> bool:
    """Whether values span more than a decade, and are more evenly spaced by ratios than by differences."""
    points = np.sort(values.astype(np.float64))
    if points.size < 3 or points[0] <= 0.0 or points[-1] < 10.0 * points[0]:
        return False
    steps, ratios = np.diff(points), np.diff(np.log(points))
    return bool(ratios.std() / ratios.mean() < steps.std() / steps.mean())


def save_figure(figure: Figure, path: Path) -> None:
    """Save a figure; the same figure gives the same bytes."""
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, metadata=_WITHOUT_DATE.get(path.suffix.lower()))


def compact_tick(value: float, position: int | None) -> str:
    """The label of a tick; a function by name, so that figures can be pickled."""
    return compact(value)


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


def curve(
    axes: Axes, number: int, label: str, x: Any, mean: Any, stderr: Any, marker: str | None = None, joined: bool = True
) -> None:
    """Plot the line and band of one policy, or error bars if points are not ``joined``."""
    colour = COLOURS[number % len(COLOURS)]
    width = BAND * np.nan_to_num(stderr)
    if not joined:
        axes.errorbar(
            x, mean, width, color=colour, linestyle="none", marker=marker, markersize=5, capsize=3, label=label
        )
        return
    axes.plot(
        x,
        mean,
        color=colour,
        linestyle=DASHES[(number + number // len(COLOURS)) % len(DASHES)],
        linewidth=1.8,
        marker=marker,
        markersize=4,
        label=label,
    )
    axes.fill_between(x, mean - width, mean + width, color=colour, alpha=0.18, linewidth=0)


def _canvas(ax: Axes | None) -> tuple[Figure, Axes]:
    if ax is not None:
        existing = ax.get_figure()
        assert isinstance(existing, Figure)
        return existing, ax
    figure = Figure(figsize=(6.0, 3.8), dpi=150, layout="constrained")
    return figure, figure.subplots()


def _finish(axes: Axes, note: str) -> None:
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: grouped(float(value))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: grouped(float(value))))
    if len(axes.get_legend_handles_labels()[1]) <= 6:
        axes.legend(loc="best")
    else:  # next to the plot
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.set_title(note, fontsize=8.5, color="#555555", loc="left")
