"""The kinds of rows: regret against rounds, against an axis, as dots, beside bounds, and as a surface."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from matplotlib.ticker import NullLocator

from belated.errors import ConfigurationError
from belated.simulation.figures import COLOURS
from belated.simulation.styles import style_for
from belated.studies.claims.evidence import Evidence
from belated.studies.claims.theorems import nontrivial, one_problem
from belated.studies.figures.base import (
    REFERENCE_LINE,
    PanelRow,
    Reference,
    check_one_cell_per,
    error_bars,
    final_regret,
    regret_table,
    tidy,
)
from belated.studies.study import AxisName, PolicyName, Study
from belated.theory import table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FILLED = ("o", "D", "s", "^")
_DARK = "#222222"
_TABLED = {
    "earlier": ("Table 1, earlier work", "D", "white"),
    "paper": ("Table 1, the paper", "o", _DARK),
}
"""Label, marker and colour of entries of Table 1."""


@dataclass(frozen=True, kw_only=True)
class Curves(PanelRow, kind="curves"):
    """Mean regret against rounds, with bands of four standard errors; with ``bounds``, the theorem's bound on each
    policy's regret at the horizon, where there is one that is below T times the largest gap."""

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
        labels = evidence.study.labels
        for label in self.labels(evidence):
            number = evidence.study.policy(label)
            curve = (result.rounds, result.mean[number], error_bars(result.stderr[number]))
            rounds, mean, width = curve if self.log else (np.concatenate([[0.0], part]) for part in curve)
            style = style_for(label, labels)
            axes.plot(rounds, mean, label=label, **style.line)
            axes.fill_between(rounds, mean - width, mean + width, color=style.colour, alpha=0.2, linewidth=0)
        for label, bound in (nontrivial(evidence.study.cells[0], labels) if self.bounds else {}).items():
            colour = style_for(label, labels).colour
            axes.axhline(bound.value, color=colour, linewidth=0.8, label=f"{label}: {bound.source.split(',')[0]}")
        axes.set_xlim(int(result.rounds[0]) / 2 if "x" in self.log else 0, int(result.rounds[-1]))
        axes.set_xlabel("round")

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        (result,) = evidence.results
        return [
            {"policy": label, "round": int(t), "mean": float(m), "stderr": float(s), "runs": result.runs}
            for label in self.labels(evidence)
            for number in [evidence.study.policy(label)]
            for t, m, s in zip(result.rounds, result.mean[number], result.stderr[number], strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class Against(PanelRow, kind="against"):
    """Regret at the horizon against an axis, with bars of four standard errors."""

    x: AxisName
    xlabel: str = ""
    references: tuple[Reference, ...] = ()

    def check(self, study: Study) -> None:
        study.numbers(self.x)
        message = f"a panel shows one line along {self.x}; split it, or say where on all other axes."
        check_one_cell_per(study, [self.x], message)
        for reference in self.references:
            reference.check(study)

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        coordinates = [cell.coordinates for cell in evidence.study.cells]
        values = [here[self.x] for here in coordinates]
        for label in self.labels(evidence):
            mean, stderr = np.array([final_regret(evidence, label, cell) for cell in evidence.cells]).T
            style = style_for(label, evidence.study.labels)
            bars: dict[str, Any] = {"markersize": 3.2, "capsize": 1.6, "elinewidth": 0.8, "capthick": 0.8}
            bars |= {"color": style.colour, "marker": style.marker, "linewidth": 1.0}
            axes.errorbar(values, mean, error_bars(stderr), label=label, **bars)
        for reference in self.references:
            heights = [reference.at(here) for here in coordinates]
            axes.plot(values, heights, label=reference.label, **REFERENCE_LINE)
        axes.set_xlabel(self.xlabel or self.x)
        if "x" in self.log:
            axes.set_xscale("log")
            axes.set_xticks(values)
            axes.xaxis.set_minor_locator(NullLocator())

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        return regret_table(evidence, self.labels(evidence), evidence.cells, [self.x])


@dataclass(frozen=True, kw_only=True)
class Dots(PanelRow, kind="dots"):
    """One line for each policy, a dot for each value of an axis, with bars of four standard errors."""

    over: AxisName
    references: tuple[Reference, ...] = ()
    shares_y: ClassVar[bool] = False

    def check(self, study: Study) -> None:
        check_one_cell_per(study, [self.over], f"a panel shows one dot for each {self.over}; split it, or say where.")
        for reference in self.references:
            reference.check(study)

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        labels = self.labels(evidence)[::-1]
        groups = evidence.along(self.over)
        for number, (value, cells) in enumerate(groups):
            mean, stderr = np.array([final_regret(evidence, label, cells[0]) for label in labels]).T
            heights = np.arange(len(labels)) + 0.16 * (number - (len(groups) - 1) / 2.0)
            bars: dict[str, Any] = {"linestyle": "none", "markersize": 3.8, "capsize": 1.6, "elinewidth": 0.8}
            bars |= {"marker": _FILLED[number % len(_FILLED)], "color": COLOURS[number % len(COLOURS)]}
            axes.errorbar(mean, heights, xerr=error_bars(stderr), label=f"{self.over} {value}", **bars)
        for reference in self.references:
            position = reference.at(evidence.study.cells[0].coordinates)
            axes.axvline(position, label=reference.label, **REFERENCE_LINE)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xlabel(self.ylabel)

    def finish(self, axes: Axes, max_ticks: int) -> None:
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        tidy(axes.xaxis, max_ticks=max_ticks)

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        cells = [cells[0] for _, cells in evidence.along(self.over)]
        return regret_table(evidence, self.labels(evidence), cells, [self.over])


@dataclass(frozen=True, kw_only=True)
class Bounds(PanelRow, kind="bounds"):
    """One line for each cell: the regret of each policy, its theorem's bound if it is below T times the largest gap,
    and the entries of the row of Table 1 that the cell is named for, on a logarithmic axis."""

    over: AxisName
    shares_y: ClassVar[bool] = False
    shows_errors: ClassVar[bool] = False

    def check(self, study: Study) -> None:
        check_one_cell_per(study, [self.over], f"a panel has one line for each {self.over}; split it, or say where.")
        for cell in study.cells:
            one_problem(cell)

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        groups = evidence.along(self.over)
        for height, (_, cells) in zip(reversed(range(len(groups))), groups, strict=True):
            for what, name, value in self._marks(evidence, cells[0]):
                if not 0.0 < value < math.inf:
                    continue
                mark: dict[str, Any] = {"linestyle": "none"}
                if what in _TABLED:
                    label, marker, face = _TABLED[what]
                    mark |= {"marker": marker, "markersize": 3.6, "markeredgecolor": _DARK, "markerfacecolor": face}
                else:
                    style = style_for(name, evidence.study.labels)
                    label = f"{name}, measured" if what == "regret" else f"{name}, its theorem"
                    mark |= {"color": style.colour, "marker": style.marker, "markersize": 4.5}
                    if what == "bound":
                        mark |= {"marker": "|", "markersize": 11, "markeredgewidth": 1.8}
                if label in axes.get_legend_handles_labels()[1]:  # the legend has it already
                    label = f"_{label}"
                axes.plot(value, height - 0.28 * (what in _TABLED), label=label, **mark)
        axes.set_yticks(range(len(groups)), [str(value) for value, _ in groups][::-1])
        axes.set_ylim(-0.6, len(groups) - 0.5)
        axes.set_xlabel(self.ylabel)

    def finish(self, axes: Axes, max_ticks: int) -> None:
        if axes.dataLim.x1 > 0.0:
            axes.set_xscale("log")
        tidy(axes.xaxis, max_ticks=max_ticks)

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        return [
            {self.over: value, "what": what, "name": name, "value": number, "runs": evidence.results[cells[0]].runs}
            for value, cells in evidence.along(self.over)
            for what, name, number in self._marks(evidence, cells[0])
        ]

    def _marks(self, evidence: Evidence, number: int) -> list[tuple[str, str, float]]:
        cell, labels = evidence.study.cells[number], evidence.study.labels
        marks = [("regret", label, final_regret(evidence, label, number)[0]) for label in labels]
        marks += [("bound", label, bound.value) for label, bound in nontrivial(cell, labels).items()]
        for row in table(one_problem(cell), cell.horizon):
            if row.setting == cell.coordinates[self.over]:
                marks += [("earlier", name, value) for name, value in (row.previous or {}).items()]
                marks += [("paper", name, value) for name, value in (row.paper or {}).items()]
        return marks


@dataclass(frozen=True, kw_only=True)
class Surface(PanelRow, kind="surface"):
    """The ratio of the regrets of two policies over two axes: one colour where the first is better, another where it is
    worse."""

    x: AxisName
    y: AxisName
    policy: PolicyName
    than: PolicyName
    shares_y: ClassVar[bool] = False
    shows_errors: ClassVar[bool] = False

    def check(self, study: Study) -> None:
        study.numbers(self.x)
        study.numbers(self.y)
        message = f"a surface has one cell for each {self.x} and {self.y}; say where on all others."
        check_one_cell_per(study, [self.x, self.y], message)

    def draw(self, axes: Axes, evidence: Evidence) -> None:
        xs, ys = (list(evidence.study.axis(name).values) for name in (self.x, self.y))
        ratios = np.ones((len(ys), len(xs)))
        for number, cell in enumerate(evidence.study.cells):
            above, below = (final_regret(evidence, label, number)[0] for label in (self.policy, self.than))
            i, j = ys.index(cell.coordinates[self.y]), xs.index(cell.coordinates[self.x])
            ratios[i, j] = above / below if below > 0.0 else math.nan
        logs = np.log2(np.clip(np.nan_to_num(ratios, nan=1.0), 1e-6, 1e6))
        largest = max(float(np.abs(logs).max()), 1.0)
        axes.imshow(logs, cmap="PuOr_r", vmin=-largest, vmax=largest, aspect="auto", origin="lower")
        axes.set_xticks(range(len(xs)), [f"{x:,}" for x in xs])
        axes.set_yticks(range(len(ys)), [f"{y:,}" for y in ys])
        axes.set_xlabel(self.x)
        axes.set_ylabel(self.y)
        for i, j in np.ndindex(*ratios.shape):
            dark = abs(logs[i, j]) > 0.65 * largest
            axes.text(j, i, f"{ratios[i, j]:.2g}", ha="center", va="center", color="white" if dark else "black")

    def finish(self, axes: Axes, max_ticks: int) -> None:
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.tick_params(length=0)

    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        labels = (self.policy, self.than)
        return [row for cell in evidence.cells for row in regret_table(evidence, labels, [cell], [self.x, self.y])]
