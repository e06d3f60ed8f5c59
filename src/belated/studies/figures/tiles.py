"""Rows of tiles: a surface over two axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from belated.errors import ConfigurationError
from belated.studies.claims._checks import numbers
from belated.studies.claims.evidence import Evidence
from belated.studies.figures.base import PanelRow, row, summary
from belated.studies.study import AxisName, PolicyName, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@row("surface")
@dataclass(frozen=True, kw_only=True)
class Surface(PanelRow):
    """The ratio of the regrets of two policies over two axes: one colour where the first is better, another where it is
    worse."""

    x: AxisName
    y: AxisName
    policy: PolicyName
    than: PolicyName
    alike: ClassVar[bool] = False
    errors: ClassVar[bool] = False

    def check(self, study: Study) -> None:
        numbers(study, self.x)
        numbers(study, self.y)
        if len(study.cells) != len(study.axis(self.x).values) * len(study.axis(self.y).values):
            raise ConfigurationError(f"a surface has one cell for each {self.x} and {self.y}; say where on all others.")

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        xs, ys, ratios = self._ratios(evidence)
        logs = np.log2(np.clip(np.nan_to_num(ratios, nan=1.0), 1e-6, 1e6))
        largest = max(float(np.abs(logs).max()), 1.0)
        axes.imshow(logs, cmap="PuOr_r", vmin=-largest, vmax=largest, aspect="auto", origin="lower")
        axes.set_xticks(range(len(xs)), [f"{x:,}" for x in xs])
        axes.set_yticks(range(len(ys)), [f"{y:,}" for y in ys])
        axes.set_xlabel(self.x)
        axes.set_ylabel(self.y)
        for i in range(len(ys)):
            for j in range(len(xs)):
                dark = abs(logs[i, j]) > 0.65 * largest
                axes.text(j, i, f"{ratios[i, j]:.2g}", ha="center", va="center", color="white" if dark else "black")

    def finish(self, axes: Axes, ticks: int) -> None:
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.tick_params(length=0)

    def _ratios(self, evidence: Evidence) -> tuple[list[Any], list[Any], np.ndarray[Any, Any]]:
        xs, ys = (list(evidence.study.axis(name).values) for name in (self.x, self.y))
        ratios = np.ones((len(ys), len(xs)))
        for cell in evidence.cells:
            place = evidence.study.cells[cell].place
            top, below = (summary(evidence, label, cell)[0] for label in (self.policy, self.than))
            ratios[ys.index(place[self.y]), xs.index(place[self.x])] = top / below if below > 0.0 else math.nan
        return xs, ys, ratios

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        rows = []
        for cell in evidence.cells:
            place = evidence.study.cells[cell].place
            for label in (self.policy, self.than):
                mean, stderr = summary(evidence, label, cell)
                rows.append(
                    {
                        "policy": label,
                        self.x: place[self.x],
                        self.y: place[self.y],
                        "mean": mean,
                        "stderr": stderr,
                        "runs": evidence.results[cell].runs,
                    }
                )
        return rows
