"""The arena as a picture: a heat map of the ratios to each row's best."""

from __future__ import annotations

import math
import textwrap

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from belated.arena.scores import Scores
from belated.figures import STYLE

DARKEST = 16.0
"""The ratio from which on a tile is as dark as it gets."""
TITLES = {
    "independent": "delays independent\nof the reward",
    "reward-dependent": "delays that depend\non the reward",
    "lost": "answers lost for good",
}
_COLOURS = LinearSegmentedColormap.from_list(
    "ratios", ["#F3F8F5", "#F9EBC1", "#F4B860", "#DE6E4B", "#97314F", "#3D1638"], N=512
)
_HELD = "◦"
"""Behind the names of rows that were held out."""
_TILE = 0.27
"""The height of a tile in inches."""
_LETTERS = 15
"""Of the text below, in an inch."""


def heat_map(scores: Scores) -> Figure:
    """One tile a row and policy: the policy's regret over the least of the row. Policies stand in the order of their
    geometric mean over all rows; below each kind of row is its geometric mean."""
    labels = scores.ranked()
    order = [scores.labels.index(label) for label in labels]
    parts = [scores.of_kind(kind) for kind in scores.kinds]
    heights = [len(part.rows) + 1.0 for part in parts]
    with matplotlib.rc_context(STYLE | {"axes.grid": False, "font.size": 8.5}):
        size = (3.2 + 0.62 * len(labels), 1.9 + _TILE * (sum(heights) + 1.6 * len(parts)))
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        grid = figure.subplots(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
        for place, (axes, part, kind) in enumerate(zip(grid, parts, scores.kinds, strict=True)):
            _block(axes, part, order)
            axes.annotate(
                TITLES[kind],
                (0.0, 1.0),
                xycoords="axes fraction",
                xytext=(-6, 7),
                textcoords="offset points",
                ha="right",
                fontsize=10,
                fontweight="bold",
            )
            if place == 0:
                axes.xaxis.tick_top()
                axes.set_xticks(range(len(labels)), labels, rotation=38, ha="left", rotation_mode="anchor")
                for text in axes.get_xticklabels():
                    text.set_fontweight("bold")
            else:
                axes.set_xticks([])
        held = f" {_HELD} held out while policies were made." if any(row.held for row in scores.rows) else ""
        told = (
            f"Regret over the least regret of the row; {_count(scores)} runs a row, the same rewards and delays for "
            f"all policies.{held}"
        )
        figure.supxlabel(textwrap.fill(told, int(_LETTERS * size[0])), fontsize=8, color="#555555")
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)  # and again when it is drawn: names at the edge move as tiles grow narrower
    return figure


def _block(axes: Axes, part: Scores, order: list[int]) -> None:
    """The tiles of one kind, and its geometric means."""
    ratio = part.ratio[:, order]
    means = np.exp(np.log(ratio).mean(axis=0))
    shown = np.vstack([ratio, means])
    heat = np.log2(np.clip(shown, 1.0, DARKEST)) / math.log2(DARKEST)
    axes.imshow(heat, cmap=_COLOURS, vmin=0.0, vmax=1.0, aspect="auto")
    last = len(part.rows)
    for i in range(shown.shape[0]):
        for j in range(shown.shape[1]):
            best = i < last and ratio[i, j] == 1.0
            axes.text(
                j,
                i,
                "1" if best else _number(float(shown[i, j])),
                ha="center",
                va="center",
                color="white" if heat[i, j] > 0.62 else "#08613F" if best else "#222222",
                fontweight="bold" if best or i == last else "normal",
            )
    names = [f"{row.name} {_HELD}" if row.held else row.name for row in part.rows]
    axes.set_yticks(range(last + 1), [*names, "geometric mean"])
    axes.get_yticklabels()[-1].set_fontweight("bold")
    axes.set_xticks(np.arange(shown.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(shown.shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    axes.axhline(last - 0.5, color="#444444", linewidth=1.2)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _number(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def _count(scores: Scores) -> str:
    least, most = int(scores.runs.min()), int(scores.runs.max())
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
