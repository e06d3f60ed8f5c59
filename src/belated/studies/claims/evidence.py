"""Evidence: the results of a study as numbers for each run; and estimates with confidence intervals: means over runs,
smooth functions of such means, shares of runs, exact numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, stdtrit

from belated.errors import ConfigurationError
from belated.simulation.result import Result
from belated.studies.study import Coordinates, Study

Samples = npt.NDArray[np.float64]
"""(R,) a number for each run."""


@dataclass(frozen=True)
class Evidence:
    """A study and the result of each of its cells. Where some have more runs than others, the runs that all have are
    compared, so that they are paired."""

    study: Study
    results: tuple[Result, ...]

    @property
    def runs(self) -> int:
        """Runs that all cells have."""
        return min(result.runs for result in self.results)

    @property
    def cells(self) -> range:
        """The numbers of all cells."""
        return range(len(self.results))

    def within(self, selection: Coordinates) -> Evidence:
        """The part with these coordinates, where a list selects several values of an axis; all axes are kept."""
        return self._part(*self.study.within(selection))

    def at(self, selection: Coordinates) -> Evidence:
        """The part with these coordinates; their axes are dropped."""
        return self._part(*self.study.at(selection))

    def _part(self, study: Study, numbers: Sequence[int]) -> Evidence:
        return Evidence(study, tuple(self.results[number] for number in numbers))

    def regret(self, label: str, cell: int) -> Samples:
        """(R,) pseudo-regret of a policy at the horizon."""
        return self.results[cell].final[self.study.policy(label), : self.runs]

    def pooled(self, label: str, cells: Sequence[int]) -> Samples:
        """(R,) its mean over several cells."""
        return np.asarray(np.mean([self.regret(label, cell) for cell in cells], axis=0))

    def curve(self, label: str, cell: int) -> Samples:
        """(R, C) pseudo-regret at the checkpoints."""
        kept = self.results[cell].curves
        if kept.shape[1] < self.runs:
            raise ConfigurationError(
                f"the study {self.study.name!r} keeps the curves of {kept.shape[1]:,} of {self.runs:,} runs, and a "
                "claim is about all; give fewer checkpoints."
            )
        return kept[self.study.policy(label), : self.runs]

    def counts(self, what: str, label: str, cell: int, arm: int) -> npt.NDArray[np.int32]:
        """(R,) an arm's ``pulls``, or the round in which it was eliminated (``eliminated_at``)."""
        counts: npt.NDArray[np.int32] = getattr(self.results[cell], what)[self.study.policy(label), : self.runs, arm]
        return counts

    def along(self, name: str) -> list[tuple[Any, list[int]]]:
        """The numbers of the cells, by value of an axis."""
        return [
            (value, [cell for cell in self.cells if self.study.cells[cell].coordinates[name] == value])
            for value in self.study.axis(name).values
        ]

    def pooled_along(self, label: str, name: str) -> dict[Any, Samples]:
        """(R,) regret of a policy by value of an axis, averaged over the other axes."""
        return {value: self.pooled(label, cells) for value, cells in self.along(name)}

    def lines(self, name: str) -> list[tuple[Coordinates, list[int]]]:
        """The numbers of the cells, in lines along an axis: for each line its coordinates on the other axes, and its
        cells."""
        self.study.axis(name)
        lines: dict[tuple[Any, ...], tuple[Coordinates, list[int]]] = {}
        for cell in self.cells:
            others = {axis: value for axis, value in self.study.cells[cell].coordinates.items() if axis != name}
            lines.setdefault(tuple(others.values()), (others, []))[1].append(cell)
        return list(lines.values())

    def describe(self, cell: int) -> str:
        """The coordinates of a cell in words; nothing where there is only one cell."""
        return in_words(self.study.cells[cell].coordinates)


def in_words(coordinates: Coordinates) -> str:
    """Coordinates in words.

    >>> in_words({"delay": 2000, "c": "ln T"})
    'delay = 2,000, c = ln T'
    """
    return ", ".join(f"{name} = {axis_value(value)}" for name, value in coordinates.items())


def joined(*parts: str) -> str:
    """Parts of a sentence, without the empty ones."""
    return ": ".join(part for part in parts if part)


def axis_value(value: Any) -> str:
    """A value of an axis as people read it."""
    return f"{value:,}" if isinstance(value, int) else str(value)


# ---- estimates: a value, and an interval that misses the number with probability ``risk``, nominally: no interval
# knows of a tail that was not sampled ----


@dataclass(frozen=True)
class Exact:
    """A number known exactly, such as a bound."""

    value: float

    def interval(self, risk: float) -> tuple[float, float]:
        return self.value, self.value


@dataclass(frozen=True)
class DeltaMethod:
    """A smooth function of means over runs. ``influence`` is the influence of each run on the estimate, to first order.

    The interval is Student's, and allows for what was not met, as rare failures are not: of n runs, the share of those
    beyond all that were sampled is at most 1 - risk^(1/n), and they are taken to lie as far away as the farthest one
    that was. Each of both gets half of the risk. Student's alone ends too soon on the side of a long tail."""

    value: float
    influence: Samples

    def interval(self, risk: float) -> tuple[float, float]:
        count = self.influence.size
        if count < 2 or not math.isfinite(self.value):
            return -math.inf, math.inf
        error = float(self.influence.std(ddof=1)) / math.sqrt(count)
        if error == 0.0:
            return self.value, self.value
        width = float(stdtrit(count - 1, 1.0 - risk / 4.0)) * error
        beyond, middle = unmet_share(risk / 2.0, count), float(self.influence.mean())
        below, above = middle - float(self.influence.min()), float(self.influence.max()) - middle
        return self.value - width - beyond * below, self.value + width + beyond * above


def unmet_share(risk: float, count: int) -> float:
    """The largest share of runs of which ``count`` sampled ones have none, on either of two sides, with probability
    ``risk``.

    >>> round(unmet_share(0.001, 1600), 5)
    0.00474
    """
    return float(-math.expm1(math.log(risk / 2.0) / count))


@dataclass(frozen=True)
class BoundedMean:
    """The mean of numbers between ``least`` and ``most``. The interval allows for what was not met: of n runs, the
    share of those unlike all that were seen is at most 1 - risk^(1/n), and they could lie at either end."""

    samples: Samples
    least: float = 0.0
    most: float = 1.0

    @property
    def value(self) -> float:
        return float(self.samples.mean())

    def interval(self, risk: float) -> tuple[float, float]:
        others = unmet_share(risk, self.samples.size) * (self.most - self.least)
        low, high = mean(self.samples).interval(risk / 2.0)
        low, high = min(low, self.value - others), max(high, self.value + others)
        return max(low, self.least), min(high, self.most)


@dataclass(frozen=True)
class Proportion:
    """A share of runs; Clopper and Pearson's exact interval."""

    hits: int
    count: int

    @classmethod
    def of(cls, hits: npt.NDArray[np.bool_]) -> Proportion:
        """The share of runs that are hits; ``hits`` is (R,)."""
        return cls(int(hits.sum()), hits.size)

    @property
    def value(self) -> float:
        return self.hits / self.count

    def interval(self, risk: float) -> tuple[float, float]:
        hits, misses = self.hits, self.count - self.hits
        low = float(betaincinv(hits, misses + 1, risk / 2.0)) if hits else 0.0
        high = float(betaincinv(hits + 1, misses, 1.0 - risk / 2.0)) if misses else 1.0
        return low, high


Estimate = Exact | DeltaMethod | BoundedMean | Proportion
"""A number known up to chance."""


def mean(x: Samples) -> DeltaMethod:
    """The mean of a number over runs.

    >>> low, high = mean(np.array([1.0, 2.0, 3.0, 4.0])).interval(0.05)
    >>> round(low, 3), round(high, 3)
    (-1.194, 6.194)
    """
    return DeltaMethod(float(x.mean()), x)


def ratio(x: Samples, y: Samples) -> DeltaMethod:
    """The ratio of two means, paired run by run; no number where the second is 0."""
    below = float(y.mean())
    if below == 0.0:
        return DeltaMethod(math.nan, x)
    value = float(x.mean()) / below
    return DeltaMethod(value, (x - value * y) / below)


def log_slope(xs: Sequence[float], ys: Sequence[Samples]) -> DeltaMethod:
    """The slope of a straight line, by least squares, through (ln x, ln mean y).

    >>> log_slope([1.0, 2.0, 4.0], [np.full(3, 5.0), np.full(3, 10.0), np.full(3, 20.0)]).value
    1.0
    """
    means = np.array([float(y.mean()) for y in ys])
    if not np.all(means > 0.0):
        return DeltaMethod(math.nan, ys[0])
    logs = np.log(np.asarray(xs, np.float64))
    apart = logs - logs.mean()
    weights = apart / float(apart @ apart)
    influence = sum(weight * y / m for weight, y, m in zip(weights, ys, means, strict=True))
    return DeltaMethod(float(weights @ np.log(means)), np.asarray(influence))
