"""Draw the pictures (``make pictures``).

- ``regret.png``, for the README and the front page: four settings, the default policy beside five others and, where
  delays depend on rewards, OPSE; paired runs. Prints its numbers.
- ``tutorial.png``: the plot of the tutorial's code.
- ``brackets.png``: the bounds of two policies on an arm whose successes are late or lost.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from brackets import brackets
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from belated import Problem, Result, simulate
from belated.delays import ByReward, DelayLaw, Fixed, PacketLoss
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    OptimisticUCB,
    PhasedElimination,
    SuccessiveElimination,
    ThompsonSampling,
    default_policy,
)
from belated.rewards import Bernoulli
from belated.simulation.direct_labels import spread
from belated.simulation.figures import STYLE
from belated.simulation.styles import styles_of

HERE = Path(__file__).parent
ARMS = 10
HORIZON = 20_000
RUNS = 500
INK = "#333333"
DEFAULT = default_policy()
POLICIES = (
    DEFAULT,
    UCB(confidence=1.0),
    SuccessiveElimination(confidence=1.0),
    PhasedElimination(confidence=1.0),
    OptimisticUCB(confidence=1.0),
    ThompsonSampling(),
)
FOR_DEPENDENT_DELAYS = OptimisticPessimisticElimination(confidence=1.0)
"""The paper's policy for delays that depend on rewards."""
SETTINGS: dict[str, tuple[DelayLaw, DelayLaw]] = {  # the delays of the best arm, and of the others
    "no delay": (Fixed(0), Fixed(0)),
    "all feedback 500 rounds late": (Fixed(500), Fixed(500)),
    "90 % of the best arm's feedback lost": (PacketLoss(0.1), Fixed(0)),
    "delays of 3,000 rounds that hide the best arm": (
        ByReward({0: Fixed(0), 1: Fixed(3000)}),
        ByReward({0: Fixed(3000), 1: Fixed(0)}),
    ),
}


def family(best: DelayLaw, others: DelayLaw) -> Any:
    """Return a family of problems: any one arm has mean 0.7, the gaps of the others are uniform in [0.1, 0.3]."""

    def draw(rng: np.random.Generator) -> Problem:
        gaps = rng.uniform(0.1, 0.3, ARMS)
        gaps[rng.integers(ARMS)] = 0.0
        return Problem([Bernoulli(0.7 - gap) for gap in gaps], [others if gap else best for gap in gaps])

    return draw


def panel(axes: Any, title: str, result: Result) -> None:
    """Draw one setting: one line per policy, labelled at its end; that of the default is the thick one."""
    styles = styles_of(result.labels)
    result.plot(axes, legend=False)
    for line, label in zip(axes.get_lines(), result.labels, strict=True):
        chosen = label == DEFAULT.label
        width, order = (2.8, 10) if chosen else (1.6, 3)
        line.set(linestyle="-", color=styles[label].colour, linewidth=width, zorder=order)
    top = 1.12 * float(result.mean.max())
    axes.set(xlim=(0, HORIZON), ylim=(0, top), xlabel="", ylabel="")
    ends = result.mean[:, -1].tolist()
    for label, end, height in zip(result.labels, ends, spread(ends, 0.066 * top, 0.03 * top, top), strict=True):
        axes.annotate(
            label,
            (HORIZON, end),
            xytext=(HORIZON * 1.05, height),
            color=styles[label].colour,
            fontsize=9,
            fontweight="bold" if label == DEFAULT.label else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": styles[label].colour, "linewidth": 0.7, "relpos": (0.0, 0.5)},
        )
    axes.set_title(title, loc="left", fontsize=10.5, color=INK, pad=8)
    axes.grid(axis="x", visible=False)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_color("#BBBBBB")
    axes.tick_params(length=0, labelsize=8.5, labelcolor="#666666")
    axes.xaxis.set_major_locator(MaxNLocator(2))
    axes.get_xticklabels()[-1].set_horizontalalignment("right")
    axes.yaxis.set_major_locator(MaxNLocator(4))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def picture() -> Figure:
    """Simulate all settings and draw them side by side."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 6.2), dpi=160, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1, wspace=0.06, hspace=0.05)
        for axes, (title, delays) in zip(figure.subplots(2, 2).flat, SETTINGS.items(), strict=True):
            depend = any(isinstance(law, ByReward) for law in delays)
            policies = (*POLICIES, FOR_DEPENDENT_DELAYS) if depend else POLICIES
            result = simulate(family(*delays), policies, horizon=HORIZON, runs=RUNS, seed=0)
            ends = zip(result.labels, result.mean[:, -1], result.stderr[:, -1], strict=True)
            print(title, "; ".join(f"{label} {mean:.0f} ({error:.0f})" for label, mean, error in ends), sep=": ")
            panel(axes, title, result)
        figure.supxlabel("round", fontsize=9.5, color="#666666")
        figure.supylabel("pseudo-regret", fontsize=9.5, color="#666666")
    return figure


def tutorial() -> Figure:
    """Run the tutorial's code up to its plot."""
    text = (HERE.parent / "tutorial.md").read_text().partition("result.plot()")[0]
    namespace: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if ">>>" not in block:
            exec(block, namespace)
    figure: Figure = namespace["result"].plot()
    return figure


if __name__ == "__main__":
    target = HERE.parent / "images"
    target.mkdir(exist_ok=True)
    tutorial().savefig(target / "tutorial.png")
    picture().savefig(target / "regret.png")
    brackets().savefig(target / "brackets.png")
