"""Rows of a figure, and their style. A row draws one study, in one panel or in one for each value of an axis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from belated.errors import ConfigurationError
from belated.simulation.figures import BAND, STYLE, compact_tick
from belated.simulation.standard_error import standard_error
from belated.studies.claims.evidence import Evidence, in_words
from belated.studies.study import AxisName, Coordinates, PolicyName, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMN, PAGE = 3.4, 7.0
"""Inches of a column, and of a page of two columns."""
SMALL: Any = {
    **STYLE,
    "font.size": 7.5,
    "text.parse_math": False,
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "legend.handlelength": 2.2,
    "legend.columnspacing": 1.2,
}
"""The style of figures that are as wide as a column."""
REFERENCE_LINE: Any = {"color": "#555555", "linewidth": 0.9, "linestyle": (0, (1, 1.5))}


def tidy(*axes: Any, max_ticks: int = 5) -> None:
    """Few ticks, in short numbers; a logarithmic axis keeps its own ticks."""
    for axis in axes:
        if axis.get_scale() == "linear":
            axis.set_major_locator(MaxNLocator(max_ticks, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(compact_tick))
        axis.set_minor_formatter(NullFormatter())


@dataclass(frozen=True)
class Reference:
    """A line to compare with: ``factor`` times the product of a cell's values of the axes ``per``."""

    label: str
    factor: float
    per: tuple[AxisName, ...] = ()

    def at(self, coordinates: Coordinates) -> float:
        """Its height at these coordinates."""
        return self.factor * float(np.prod([float(coordinates[name]) for name in self.per]))

    def check(self, study: Study) -> None:
        """Raise an error if an axis has values that are not numbers."""
        for axis in self.per:
            study.numbers(axis)


ROWS: dict[str, type[PanelRow]] = {}
"""Kinds of rows by name."""


@dataclass(frozen=True, kw_only=True)
class PanelRow(ABC):
    """What a row shows; its fields are the keys of a row in a file."""

    study: str
    split: AxisName = ""
    """The axis that has a panel for each of its values."""
    where: Coordinates = field(default_factory=dict)
    policies: tuple[PolicyName, ...] = ()
    """Those that are shown; all if left out."""
    title: str = ""
    """Above a panel of a row that is not split."""
    log: tuple[str, ...] = ()
    """Axes that are logarithmic: "x", "y"."""
    ylabel: str = "regret"
    shares_y: ClassVar[bool] = True
    """Whether the panels of a row share a vertical axis, regret."""
    shows_errors: ClassVar[bool] = True
    """Whether it shows standard errors."""

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:
            ROWS[kind] = cls

    def panels(self, evidence: Evidence) -> list[tuple[str, Evidence]]:
        """The title of each panel, and the evidence that it shows."""
        part = evidence.within(self.where)
        if not self.split:
            return [(self.title, part)]
        return [
            (in_words({self.split: value}), part.within({self.split: value}))
            for value in part.study.axis(self.split).values
        ]

    def labels(self, evidence: Evidence) -> tuple[str, ...]:
        return self.policies or evidence.study.labels

    def check(self, study: Study) -> None:  # noqa: B027  (some rows can draw any study)
        """Raise an error if a panel of this study cannot be drawn."""

    @abstractmethod
    def draw(self, axes: Axes, evidence: Evidence) -> None:
        """Draw one panel."""

    @abstractmethod
    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        """The numbers of one panel, as rows of a table."""

    def finish(self, axes: Axes, max_ticks: int) -> None:
        """Scales and ticks, when all panels of the row are drawn: they may share an axis."""
        if "x" in self.log and axes.get_xscale() != "log":
            axes.set_xscale("log")
        if "y" in self.log and axes.dataLim.y1 > 0.0:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        tidy(axes.xaxis, max_ticks=max_ticks)
        tidy(axes.yaxis, max_ticks=max(max_ticks, 4))


def check_one_cell_per(study: Study, axes: Sequence[str], message: str) -> None:
    """Raise an error if a study does not have exactly one cell for each combination of these axes' values."""
    if len(study.cells) != np.prod([len(study.axis(name).values) for name in axes]):
        raise ConfigurationError(message)


def final_regret(evidence: Evidence, label: str, cell: int) -> tuple[float, float]:
    """Mean and standard error of a policy's regret at the horizon."""
    final = evidence.results[cell].final[evidence.study.policy(label)]
    return float(final.mean()), float(standard_error(final))


def regret_table(
    evidence: Evidence, labels: Sequence[str], cells: Sequence[int], axes: Sequence[str]
) -> list[dict[str, Any]]:
    """Regrets at the horizon as rows of a table: policy, values of the axes, mean, standard error, runs."""
    return [
        {
            "policy": label,
            **{name: evidence.study.cells[cell].coordinates[name] for name in axes},
            **dict(zip(("mean", "stderr"), final_regret(evidence, label, cell), strict=True)),
            "runs": evidence.results[cell].runs,
        }
        for label in labels
        for cell in cells
    ]


def error_bars(stderr: Any) -> Any:
    """Half the lengths of error bars; 0 where there is no standard error."""
    return BAND * np.nan_to_num(np.asarray(stderr))
