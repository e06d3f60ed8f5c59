"""Rows of a figure: each draws one study, in one panel or in one for each value of an axis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from belated.simulation.figures import BAND
from belated.studies.claims.evidence import Evidence, in_words
from belated.studies.figures.style import style_for, tidy
from belated.studies.study import AxisName, Place, PolicyName, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Reference:
    """A line to compare with: ``factor`` times the product of the place's values of the axes ``per``."""

    label: str
    factor: float
    per: tuple[AxisName, ...] = ()

    def at(self, place: Place) -> float:
        """Its height at a place."""
        return self.factor * float(np.prod([float(place[name]) for name in self.per]))


@dataclass(frozen=True, kw_only=True)
class PanelRow(ABC):
    """What a row shows; its fields are the keys of a row in a file."""

    study: str
    split: AxisName = ""
    """The axis that has a panel for each of its values."""
    where: Place = field(default_factory=dict)
    policies: tuple[PolicyName, ...] = ()
    """Those that are shown; all if left out."""
    title: str = ""
    """Stands above a panel of a row that is not split."""
    log: tuple[str, ...] = ()
    """Axes that are logarithmic: "x", "y"."""
    ylabel: str = "regret"
    alike: ClassVar[bool] = True
    """Whether the panels of a row have one vertical axis, regret."""
    errors: ClassVar[bool] = True
    """Whether it shows standard errors."""

    def panels(self, evidence: Evidence) -> list[tuple[str, Evidence]]:
        """Of each panel its title and what it shows."""
        shown = evidence.within(self.where)
        if not self.split:
            return [(self.title, shown)]
        return [
            (in_words({self.split: value}), shown.within({self.split: value}))
            for value in shown.study.axis(self.split).values
        ]

    def labels(self, evidence: Evidence) -> tuple[str, ...]:
        """The policies of a panel."""
        return self.policies or evidence.study.labels

    def check(self, study: Study) -> None:  # noqa: B027  (some rows can draw any study)
        """Raise an error if a panel of this study cannot be drawn."""

    @abstractmethod
    def draw(self, axes: Axes, evidence: Evidence) -> None:
        """Draw one panel."""

    @abstractmethod
    def table(self, evidence: Evidence) -> list[dict[str, Any]]:
        """What one panel shows, as rows of a table."""

    def finish(self, axes: Axes, ticks: int) -> None:
        """Scales and ticks, when all panels of the row are drawn: they may share an axis."""
        if "x" in self.log and axes.get_xscale() != "log":
            axes.set_xscale("log")
        if "y" in self.log and axes.dataLim.y1 > 0.0:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        tidy(axes.xaxis, most=ticks)
        tidy(axes.yaxis, most=max(ticks, 4))


R = TypeVar("R", bound=PanelRow)
ROWS: dict[str, type[PanelRow]] = {}
"""Kinds of rows by name."""


def row(name: str) -> Callable[[type[R]], type[R]]:
    """List a kind of row under a name."""

    def register(cls: type[R]) -> type[R]:
        ROWS[name] = cls
        return cls

    return register


def summary(evidence: Evidence, label: str, cell: int) -> tuple[float, float]:
    """Mean and standard error of a policy's regret at the horizon."""
    final = evidence.results[cell].final[evidence.study.policy(label)]
    return float(final.mean()), float(final.std(ddof=1) / np.sqrt(final.size)) if final.size > 1 else float("nan")


def points(axes: Axes, label: str, among: Sequence[str], x: Any, mean: Any, stderr: Any) -> None:
    """A policy's points with bars of four standard errors, joined by a line."""
    looks = {**style_for(label, among), "linestyle": "-", "linewidth": 1.0}
    width = BAND * np.nan_to_num(np.asarray(stderr))
    axes.errorbar(x, mean, width, label=label, markersize=3.2, capsize=1.6, elinewidth=0.8, capthick=0.8, **looks)
