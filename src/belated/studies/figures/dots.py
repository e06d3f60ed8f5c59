"""Rows of dots: one line for each policy or each cell, regret to the right."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from belated.errors import ConfigurationError
from belated.simulation.figures import BAND, COLOURS
from belated.studies.claims._checks import numbers
from belated.studies.claims.evidence import Evidence
from belated.studies.claims.theorems import one_problem, says
from belated.studies.figures.base import PanelRow, Reference, row, summary
from belated.studies.figures.style import style_for, tidy
from belated.studies.study import AxisName, Study
from belated.theory import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FILLED = ("o", "D", "s", "^")


@row("dots")
@dataclass(frozen=True, kw_only=True)
class Dots(PanelRow):
    """One line for each policy, a dot for each value of an axis, with bars of four standard errors."""

    over: AxisName
    references: tuple[Reference, ...] = field(default_factory=tuple)
    alike: ClassVar[bool] = False

    def check(self, study: Study) -> None:
        if len(study.cells) != len(study.axis(self.over).values):
            raise ConfigurationError(f"a panel shows one dot for each {self.over}; split it, or say where.")
        for reference in self.references:
            for axis in reference.per:
                numbers(study, axis)

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        labels = self.labels(evidence)[::-1]
        groups = evidence.along(self.over)
        for number, (value, cells) in enumerate(groups):
            found = np.array([summary(evidence, label, cells[0]) for label in labels])
            places = np.arange(len(labels)) + 0.16 * (number - (len(groups) - 1) / 2.0)
            axes.errorbar(
                found[:, 0],
                places,
                xerr=BAND * np.nan_to_num(found[:, 1]),
                linestyle="none",
                marker=_FILLED[number % len(_FILLED)],
                color=COLOURS[number % len(COLOURS)],
                markersize=3.8,
                capsize=1.6,
                elinewidth=0.8,
                label=f"{self.over} {value}",
            )
        for reference in self.references:
            height = reference.at(evidence.study.cells[0].place)
            axes.axvline(height, color="#555555", linewidth=0.9, linestyle=(0, (1, 1.5)), label=reference.label)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xlabel(self.ylabel)

    def finish(self, axes: Axes, ticks: int) -> None:
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        tidy(axes.xaxis, most=ticks)

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        return [
            {"policy": label, self.over: value, "mean": mean, "stderr": stderr, "runs": evidence.results[cells[0]].runs}
            for label in self.labels(evidence)
            for value, cells in evidence.along(self.over)
            for mean, stderr in [summary(evidence, label, cells[0])]
        ]


@row("bounds")
@dataclass(frozen=True, kw_only=True)
class Bounds(PanelRow):
    """One line for each cell: the regret of each policy, the bound that its theorem gives if it is below T times the
    largest gap, and the entries of the row of Table 1 that the cell is named for, on a logarithmic axis."""

    over: AxisName
    alike: ClassVar[bool] = False
    errors: ClassVar[bool] = False

    def check(self, study: Study) -> None:
        if len(study.cells) != len(study.axis(self.over).values):
            raise ConfigurationError(f"a panel has one line for each {self.over}; split it, or say where.")
        for cell in study.cells:
            one_problem(cell)

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        groups = evidence.along(self.over)
        count = len(groups)
        for line, (_, cells) in enumerate(groups):
            place = count - 1 - line
            for what, name, value in self._marks(evidence, cells[0]):
                if not 0.0 < value < math.inf:
                    continue
                if what == "regret":
                    looks = style_for(name, evidence.study.labels)
                    axes.plot(
                        value,
                        place,
                        marker=looks["marker"],
                        color=looks["color"],
                        linestyle="none",
                        markersize=4.5,
                        label=_once(axes, f"{name}, measured"),
                    )
                elif what == "bound":
                    axes.plot(
                        value,
                        place,
                        marker="|",
                        color=style_for(name, evidence.study.labels)["color"],
                        linestyle="none",
                        markersize=11,
                        markeredgewidth=1.8,
                        label=_once(axes, f"{name}, its theorem"),
                    )
                else:
                    earlier = what == "earlier"
                    axes.plot(
                        value,
                        place - 0.28,
                        marker="D" if earlier else "o",
                        linestyle="none",
                        markersize=3.6,
                        markeredgecolor="#222222",
                        markerfacecolor="white" if earlier else "#222222",
                        label=_once(axes, "Table 1, earlier work" if earlier else "Table 1, the paper"),
                    )
        axes.set_yticks(range(count), [str(value) for value, _ in groups][::-1])
        axes.set_ylim(-0.6, count - 0.5)
        axes.set_xlabel(self.ylabel)

    def finish(self, axes: Axes, ticks: int) -> None:
        if axes.dataLim.x1 > 0.0:
            axes.set_xscale("log")
        tidy(axes.xaxis, most=ticks)

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        return [
            {self.over: value, "what": what, "name": name, "value": number, "runs": evidence.results[cells[0]].runs}
            for value, cells in evidence.along(self.over)
            for what, name, number in self._marks(evidence, cells[0])
        ]

    def _marks(self, evidence: Evidence, cell: int) -> list[tuple[str, str, float]]:
        played = evidence.study.cells[cell]
        labels = evidence.study.labels
        found = [("regret", label, summary(evidence, label, cell)[0]) for label in labels]
        found += [("bound", label, bound.value) for label, bound in says(played, labels).items()]
        rows = table(one_problem(played), played.horizon)
        entries = [row for row in rows if row.setting == played.place[self.over]]
        for entry in entries:
            found += [("earlier", name, value) for name, value in (entry.previous or {}).items()]
            found += [("paper", name, value) for name, value in (entry.paper or {}).items()]
        return found


def _once(axes: Axes, label: str) -> str:
    """The label, if the legend has none like it."""
    return f"_{label}" if label in axes.get_legend_handles_labels()[1] else label
