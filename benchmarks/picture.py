"""The picture of the benchmarks' page: every program's cost of a round, and how ours grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from belated.simulation.figures import COLOURS, STYLE

INK, PALE = "#333333", "#b9bfc7"


def draw(programs: list[dict[str, Any]], costs: dict[str, list[tuple[int, float]]], path: Path) -> None:
    """Draw bars of all programs, and the cost of a round against arms and horizon."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 5.2), dpi=150, layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.55, 1))
        bars(figure.add_subplot(grid[:, 0]), programs)
        line(figure.add_subplot(grid[0, 1]), costs["arms"], "arms, K")
        line(figure.add_subplot(grid[1, 1]), costs["horizon"], "rounds of a run, T")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


def bars(axes: Any, programs: list[dict[str, Any]]) -> None:
    """Draw one bar a program, the fastest on top."""
    rows = sorted((row for row in programs if "error" not in row), key=lambda row: -row["ns_per_round"])
    colours = [colour_of(row) for row in rows]
    values = [row["ns_per_round"] for row in rows]
    axes.barh([row["name"] for row in rows], values, color=colours, height=0.72)
    for place, value in enumerate(values):
        axes.text(
            value * 1.12, place, f"{value:,.0f}" if value >= 100 else f"{value:.3g}", va="center", fontsize=8, color=INK
        )
    axes.set_xscale("log")
    axes.set_xlim(2, max(values) * 6)
    axes.set_xlabel("nanoseconds per round")
    axes.set_title("UCB, 20 arms, feedback 200 rounds late, one core", loc="left", fontsize=9.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def colour_of(row: dict[str, Any]) -> str:
    """Return a colour: ours, the C programs', the peers'."""
    if row["name"] == "belated":
        return str(COLOURS[0])
    return "#7a8594" if row["name"].startswith("C,") else PALE


def line(axes: Any, points: list[tuple[int, float]], label: str) -> None:
    """Draw the cost of a round against a number."""
    x, y = zip(*points, strict=True)
    axes.plot(x, y, color=COLOURS[0], marker="o", markersize=4, linewidth=1.8)
    axes.set_xscale("log")
    axes.set_ylim(0, max(y) * 1.15)
    axes.set_xlabel(label)
    axes.set_ylabel("ns per round")
