"""The arena as pictures: a heat map of the ratios to the best of each scenario, and a small one of their means."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text

from belated.formatting import ratio
from belated.policies import POLICIES
from belated.simulation.figures import STYLE
from belated.studies.arena.scores import Scores

DARKEST = 16.0
"""The ratio from which on a tile has the darkest colour."""
TITLES = {
    "independent": "delays independent\nof the reward",
    "reward-dependent": "delays that depend\non the reward",
    "lost": "lost feedback",
}
_SHORT = {
    "independent": "independent\ndelays",
    "reward-dependent": "reward-dependent\ndelays",
    "lost": "lost\nfeedback",
}
_COLOURS = LinearSegmentedColormap.from_list(
    "ratios", ["#F3F8F5", "#F9EBC1", "#F4B860", "#DE6E4B", "#97314F", "#3D1638"], N=512
)
_HELD, _HELD_COLOUR = "◆", "#1F5FA8"
"""Marks the names of scenarios that were held out, which have this colour."""
_TILE = 0.27
"""The height of a tile in inches."""


def heat_map(scores: Scores) -> Figure:
    """A tile for each scenario and policy: the policy's regret over the least of the scenario. Policies are ordered by
    their geometric mean over all scenarios, which comes last; below each kind of scenario is its geometric mean."""
    labels = scores.ranked()
    order = [scores.labels.index(label) for label in labels]
    parts = [scores.of_kind(kind) for kind in scores.kinds]
    heights = [len(part.scenarios) + 1.0 for part in parts] + ([1.0] if len(parts) > 1 else [])
    with matplotlib.rc_context(STYLE | {"axes.grid": False, "font.size": 8.5}):
        size = (3.2 + 0.62 * len(labels), 2.3 + _TILE * (sum(heights) + 1.6 * len(heights)))
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        figure.suptitle("Regret relative to the best policy", fontsize=14, fontweight="bold")
        grid = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        for axes, part, kind in zip(grid, parts, scores.kinds, strict=False):
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
        if len(parts) > 1:
            _tiles(grid[-1], scores.means()[None, order], bold=0)
            grid[-1].set_yticks([0], ["all scenarios: geometric mean"], fontweight="bold")
        for axes in grid[1:]:
            axes.set_xticks([])
        grid[0].xaxis.tick_top()
        grid[0].set_xticks(range(len(labels)), labels, rotation=38, ha="left", rotation_mode="anchor")
        _mark_new(grid[0].get_xticklabels())
        held = f" {_HELD} held out while the policies were designed."
        _note_below(figure, scores, held if any(scenario.held_out for scenario in scores.scenarios) else "")
    return figure


def small_map(scores: Scores) -> Figure:
    """A line for each policy: geometric means of all scenarios and of each kind, and the worst scenario."""
    labels = scores.ranked()
    order = [scores.labels.index(label) for label in labels]
    parts = [scores] + ([scores.of_kind(kind) for kind in scores.kinds] if len(scores.kinds) > 1 else [])
    worst = [scores.worst(label) for label in labels]
    values = np.stack([*(part.means()[order] for part in parts), np.array([value for _, value in worst])], axis=1)
    with matplotlib.rc_context(STYLE | {"axes.grid": False, "font.size": 9.5}):
        figure = Figure(figsize=(9.0, 1.9 + _TILE * len(labels)), dpi=150, layout="constrained")
        figure.suptitle("Regret relative to the best policy: geometric means", fontsize=13, fontweight="bold")
        axes = figure.subplots()
        _tiles(axes, values, bold=np.s_[:, 0])
        titles = ["all scenarios"] + [_SHORT[kind] for kind in scores.kinds if len(parts) > 1] + ["worst scenario"]
        counts = [f"({len(part.scenarios)})" for part in parts] + [""]
        axes.xaxis.tick_top()
        ticks = [f"{title} {count}".strip() for title, count in zip(titles, counts, strict=True)]
        axes.set_xticks(range(len(ticks)), ticks, fontsize=8.5)
        axes.set_yticks(range(len(labels)), labels)
        _mark_new(axes.get_yticklabels())
        for i, (name, _) in enumerate(worst):
            axes.text(len(titles) - 0.4, i, name, ha="left", va="center", fontsize=8.5, color="#555555")
        _note_below(figure, scores)
    return figure


def is_new(label: str) -> bool:
    """Whether a label is that of a policy introduced with this package, with or without parameters; a label with the
    name of a user's own class is not."""
    new = [POLICIES[name].label for name in POLICIES if POLICIES[name].introduced_here]
    return any(label == one or (label.startswith(f"{one} ") and "(" not in label) for one in new)


def _mark_new(names: Iterable[Text]) -> None:
    for text in names:
        text.set_fontweight("bold")
        if is_new(text.get_text()):
            text.set_color("#7B2CBF")  # violet


def _note_below(figure: Figure, scores: Scores, held: str = "") -> None:
    """A note below all tiles; then lay the figure out."""
    least, most = int(scores.runs.min()), int(scores.runs.max())
    runs = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    new = " Violet: policies introduced with this package." if any(map(is_new, scores.labels)) else ""
    note = f"{runs} runs of a policy in a scenario, the same rewards and delays for all policies.{held}{new}"
    letters = int(15 * figure.get_figwidth())  # 15 to an inch
    figure.supxlabel(textwrap.fill(note, letters), fontsize=8, color="#555555")
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)  # and again when it is drawn: names at the edge move as tiles grow narrower


def _block(axes: Axes, part: Scores, order: list[int]) -> None:
    """The tiles of one kind, and its geometric means."""
    ratios = part.ratio[:, order]
    last = len(part.scenarios)
    best = np.vstack([ratios == 1.0, np.zeros(len(order), np.bool_)])
    _tiles(axes, np.vstack([ratios, part.means()[order]]), bold=last, best=best)
    names = [f"{scenario.name} {_HELD}" if scenario.held_out else scenario.name for scenario in part.scenarios]
    axes.set_yticks(range(last + 1), [*names, "geometric mean"])
    for scenario, text in zip(part.scenarios, axes.get_yticklabels(), strict=False):
        if scenario.held_out:
            text.set_color(_HELD_COLOUR)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    axes.axhline(last - 0.5, color="#444444", linewidth=1.2)


def _tiles(
    axes: Axes, values: npt.NDArray[np.float64], *, bold: Any, best: npt.NDArray[np.bool_] | None = None
) -> None:
    """Tiles with their numbers, the darker the larger; bold where they are best, and at the index ``bold``."""
    best = np.zeros(values.shape, np.bool_) if best is None else best
    strong = best.copy()
    strong[bold] = True
    heat = np.log2(np.clip(values, 1.0, DARKEST)) / math.log2(DARKEST)
    axes.imshow(heat, cmap=_COLOURS, vmin=0.0, vmax=1.0, aspect="auto")
    for i, j in np.ndindex(*values.shape):
        axes.text(
            j,
            i,
            "1" if best[i, j] else ratio(float(values[i, j])),
            ha="center",
            va="center",
            color="white" if heat[i, j] > 0.62 else "#08613F" if best[i, j] else "#222222",
            fontweight="bold" if strong[i, j] else "normal",
        )
    axes.set_xticks(np.arange(values.shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(values.shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
