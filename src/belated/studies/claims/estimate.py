"""Estimates with confidence intervals: means over runs, smooth functions of such means, shares of runs, exact
numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, stdtrit

Samples = npt.NDArray[np.float64]
"""(R,) a number for each run."""


class Estimate(Protocol):
    """A number known up to chance."""

    @property
    def value(self) -> float:
        """The best guess."""

    def interval(self, risk: float) -> tuple[float, float]:
        """An interval that misses the number with probability ``risk``, nominally: no interval knows of a tail that was
        not sampled."""


@dataclass(frozen=True)
class Exact:
    """A number known exactly, such as a bound."""

    value: float

    def interval(self, risk: float) -> tuple[float, float]:
        return self.value, self.value


@dataclass(frozen=True)
class DeltaMethod:
    """A smooth function of means over runs. ``influence`` is the influence of each run on the estimate, to first order.

    The interval is Student's, and where the runs are skewed, as rare failures make them, at least that of Hall (1992),
    whose cubic transformation takes the skewness out: Student's alone would end too soon on the side of the long
    tail."""

    value: float
    influence: Samples

    def interval(self, risk: float) -> tuple[float, float]:
        count = self.influence.size
        if count < 2 or not math.isfinite(self.value):
            return -math.inf, math.inf
        error = float(self.influence.std(ddof=1)) / math.sqrt(count)
        if error == 0.0:
            return self.value, self.value
        width = float(stdtrit(count - 1, 1.0 - risk / 2.0))
        skewness = float(np.mean(((self.influence - self.influence.mean()) / (error * math.sqrt(count))) ** 3))
        below, above = max(width, _unskewed(width, skewness, count)), max(width, -_unskewed(-width, skewness, count))
        return self.value - error * below, self.value + error * above


def _unskewed(t: float, skewness: float, count: int) -> float:
    """The quantile of a skewed t that Hall's transformation takes to ``t``."""
    a = skewness / math.sqrt(count)
    return t if abs(a) < 1e-9 else 3.0 / a * (math.cbrt(1.0 + a * (t - a / 6.0)) - 1.0)


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
        others = (1.0 - (risk / 2.0) ** (1.0 / self.samples.size)) * (self.most - self.least)
        low, high = mean(self.samples).interval(risk / 2.0)
        low, high = min(low, self.value - others), max(high, self.value + others)
        return max(low, self.least), min(high, self.most)


@dataclass(frozen=True)
class Proportion:
    """A share of runs; Clopper and Pearson's exact interval."""

    hits: int
    count: int

    @property
    def value(self) -> float:
        return self.hits / self.count

    def interval(self, risk: float) -> tuple[float, float]:
        hits, misses = self.hits, self.count - self.hits
        low = float(betaincinv(hits, misses + 1, risk / 2.0)) if hits else 0.0
        high = float(betaincinv(hits + 1, misses, 1.0 - risk / 2.0)) if misses else 1.0
        return low, high


def mean(x: Samples) -> DeltaMethod:
    """The mean of a number over runs.

    >>> low, high = mean(np.array([1.0, 2.0, 3.0, 4.0])).interval(0.05)
    >>> round(low, 3), round(high, 3)
    (0.446, 4.554)
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
