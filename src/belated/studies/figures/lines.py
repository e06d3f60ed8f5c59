"""Rows of lines: regret against rounds, and against an axis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import NullLocator

from belated.errors import ConfigurationError
from belated.simulation.figures import BAND
from belated.studies.claims._checks import numbers
from belated.studies.claims.evidence import Evidence
from belated.studies.claims.theorems import one_problem, says
from belated.studies.figures.base import PanelRow, Reference, points, row, summary
from belated.studies.figures.style import style_for
from belated.studies.study import AxisName, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@row("curves")
@dataclass(frozen=True, kw_only=True)
class Curves(PanelRow):
    """Mean regret against rounds, with bands of four standard errors; with ``bounds``, what a theorem says of each
    policy's regret at the horizon, where there is such a theorem and it says more than T times the largest gap."""

    bounds: bool = False

    def check(self, study: Study) -> None:
        if len(study.cells) != 1:
            raise ConfigurationError(
                f"a row of curves shows one cell a panel, and the study {self.study!r} has {len(study.cells)} there; "
                "split it, or say where."
            )
        if self.bounds:
            one_problem(study.cells[0])

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        (result,) = evidence.results
        for label in self.labels(evidence):
            number = evidence.study.policy(label)
            mean, width = result.mean[number], BAND * np.nan_to_num(result.stderr[number])
            looks = style_for(label, evidence.study.labels)
            looks.pop("marker")
            axes.plot(result.rounds, mean, label=label, **looks)
            axes.fill_between(result.rounds, mean - width, mean + width, color=looks["color"], alpha=0.2, linewidth=0)
        for label, bound in (says(evidence.study.cells[0], evidence.study.labels) if self.bounds else {}).items():
            colour = style_for(label, evidence.study.labels)["color"]
            axes.axhline(bound.value, color=colour, linewidth=0.8, label=f"{label}: {bound.source.split(',')[0]}")
        axes.set_xlim(int(result.rounds[0]) / 2 if "x" in self.log else 0, int(result.rounds[-1]))
        axes.set_xlabel("round")

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        (result,) = evidence.results
        return [
            {"policy": label, "round": int(t), "mean": float(m), "stderr": float(s), "runs": result.runs}
            for label in self.labels(evidence)
            for t, m, s in zip(
                result.rounds,
                result.mean[evidence.study.policy(label)],
                result.stderr[evidence.study.policy(label)],
                strict=True,
            )
        ]


@row("against")
@dataclass(frozen=True, kw_only=True)
class Against(PanelRow):
    """Regret at the horizon against an axis, with bars of four standard errors."""

    x: AxisName
    xlabel: str = ""
    references: tuple[Reference, ...] = field(default_factory=tuple)

    def check(self, study: Study) -> None:
        numbers(study, self.x)
        if len(study.cells) != len(study.axis(self.x).values):
            raise ConfigurationError(
                f"a panel shows one line along {self.x}; split it, or say where on all other axes."
            )
        for reference in self.references:
            for axis in reference.per:
                numbers(study, axis)

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        cells = evidence.cells
        values = [evidence.study.cells[cell].place[self.x] for cell in cells]
        for label in self.labels(evidence):
            found = np.array([summary(evidence, label, cell) for cell in cells])
            points(axes, label, evidence.study.labels, values, found[:, 0], found[:, 1])
        for reference in self.references:
            heights = [reference.at(evidence.study.cells[cell].place) for cell in cells]
            axes.plot(values, heights, color="#555555", linewidth=0.9, linestyle=(0, (1, 1.5)), label=reference.label)
        axes.set_xlabel(self.xlabel or self.x)
        if "x" in self.log:
            axes.set_xscale("log")
            axes.set_xticks(values)
            axes.xaxis.set_minor_locator(NullLocator())

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        return [
            {
                "policy": label,
                self.x: evidence.study.cells[cell].place[self.x],
                "mean": mean,
                "stderr": stderr,
                "runs": evidence.results[cell].runs,
            }
            for label in self.labels(evidence)
            for cell in evidence.cells
            for mean, stderr in [summary(evidence, label, cell)]
        ]
