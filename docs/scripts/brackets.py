"""brackets.png, for the page on the service: the bounds of two policies on one arm whose successes are late or lost."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from belated.live.learner import Learner
from belated.policies import UCB, OptimisticPessimisticElimination
from belated.simulation.figures import COLOURS, STYLE

MEAN = 0.6
DECISIONS = 4_000
LATE = 1_500
LOST = 0.2
STEP = 10
INK = "#333333"
HEIGHTS = (0.2, 0.45)
"""Height of a label in each panel."""


def bounds_over_time(policy: Any) -> np.ndarray[Any, Any]:
    """Return (decisions, average of the feedback received, lower, upper), every few decisions."""
    rng = np.random.default_rng(3)
    learner = Learner(1, policy, 0)
    due: dict[int, list[tuple[int, int]]] = {}
    rows = []
    for now in range(1, DECISIONS + 1):
        _, rank = learner.decide()
        success, lost = rng.random() < MEAN, rng.random() < LOST
        if not success:
            learner.observe(0, 0.0, rank, now - 1)
        elif not lost:
            due.setdefault(now + LATE, []).append((rank, now - 1))
        for waited, number in due.pop(now, ()):
            learner.observe(0, 1.0, waited, number)
        if now % STEP == 0:
            counts = learner.counts()
            average = float(counts.total[0] / max(counts.observed[0], 1))
            rows.append((now, average, *learner.bounds(0)[:2]))
    return np.array(rows)


def brackets() -> Figure:
    """Draw both policies' bounds side by side."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 3.9), dpi=160, layout="constrained")
        both = figure.subplots(1, 2, sharey=True)
        policies = (UCB(confidence=2.0), OptimisticPessimisticElimination(confidence=2.0))
        titles = ("UCB: interval around the observed average", "OPSE: bracket around the true mean")
        for number, (axes, policy, title) in enumerate(zip(both, policies, titles, strict=True)):
            now, average, lower, upper = bounds_over_time(policy).T
            axes.fill_between(now, lower, upper, color=COLOURS[number], alpha=0.2, linewidth=0)
            axes.plot(now, lower, color=COLOURS[number], linewidth=1.2)
            axes.plot(now, upper, color=COLOURS[number], linewidth=1.2)
            axes.plot(now, average, color="#666666", linewidth=1.2, linestyle=(0, (2, 2)))
            axes.axhline(MEAN, color=INK, linewidth=1.6)
            style = {"ha": "right", "fontsize": 9}
            axes.annotate("the true mean", (DECISIONS - 40, MEAN - 0.055), color=INK, **style)
            axes.annotate(
                "average of the feedback received", (DECISIONS - 40, HEIGHTS[number]), color="#666666", **style
            )
            axes.set_title(title, loc="left", fontsize=10.5, color=INK, pad=8)
            axes.set(xlim=(0, DECISIONS), ylim=(0, 1))
            axes.grid(axis="x", visible=False)
            axes.spines["left"].set_visible(False)
            axes.tick_params(length=0, labelsize=8.5, labelcolor="#666666")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        figure.supxlabel("decisions", fontsize=9.5, color="#666666")
        figure.supylabel("mean of the arm", fontsize=9.5, color="#666666")
        outside = [
            float(np.mean((low > MEAN) | (high < MEAN))) for low, high in (bounds_over_time(p).T[2:] for p in policies)
        ]
        print(f"share of the time that the true mean is outside: UCB {outside[0]:.2f}, OPSE {outside[1]:.2f}")
    return figure
