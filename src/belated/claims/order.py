"""Tests of order: which policy's regret is below which, and how regret changes along an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from belated.claims.base import Comparison, Judged, Test, every, kind
from belated.claims.estimate import mean, ratio
from belated.claims.evidence import Evidence, in_words
from belated.theory.bound import number


def joined(*parts: str) -> str:
    """Parts of a sentence, those that are empty left out."""
    return ": ".join(part for part in parts if part)


@kind("below")
@dataclass(frozen=True)
class Below(Test):
    """The regret of ``policy`` is below ``factor`` times that of ``than``, in every cell."""

    policy: str
    than: str
    factor: float = 1.0

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        comparisons = []
        other = self.than if self.factor == 1.0 else f"{self.factor:g} x {self.than}"
        for cell in evidence.cells:
            x, y = evidence.regret(self.policy, cell), evidence.regret(self.than, cell)
            comparisons.append(
                Comparison(
                    joined(evidence.named(cell), f"{self.policy} less {other}"),
                    mean(x - self.factor * y),
                    high=0.0,
                    note=f"{self.policy} {number(x.mean())}, {self.than} {number(y.mean())}",
                )
            )
        return every(comparisons, risk)


@kind("ratio")
@dataclass(frozen=True)
class Ratio(Test):
    """The regret of ``policy`` is between ``low`` and ``high`` times that of ``than``; of the mean over all cells if
    ``pooled``."""

    policy: str
    than: str
    low: float = 0.0
    high: float = math.inf
    pooled: bool = False

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        cells = evidence.cells
        groups = [cells] if self.pooled else [[cell] for cell in cells]
        comparisons = []
        for group in groups:
            x, y = evidence.pooled(self.policy, group), evidence.pooled(self.than, group)
            place = "mean over all" if self.pooled and len(cells) > 1 else evidence.named(group[0])
            comparisons.append(
                Comparison(
                    joined(place, f"{self.policy} / {self.than}"),
                    ratio(x, y),
                    self.low,
                    self.high,
                    f"{self.policy} {number(x.mean())}, {self.than} {number(y.mean())}",
                )
            )
        return every(comparisons, risk)


@kind("rises")
@dataclass(frozen=True)
class Rises(Test):
    """The regret of ``policy`` at each value of an axis is above ``factor`` times that at the value before; with
    ``steps = false``, at the last value above ``factor`` times that at the first. Other axes are averaged over."""

    policy: str
    along: str
    factor: float = 1.0
    steps: bool = True

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        groups = evidence.along(self.along)
        pairs = list(pairwise(groups)) if self.steps else [(groups[0], groups[-1])]
        comparisons = []
        for (before, first), (after, second) in pairs:
            x, y = evidence.pooled(self.policy, first), evidence.pooled(self.policy, second)
            comparisons.append(
                Comparison(
                    f"{self.policy}: {self.along} {after} over {self.along} {before}",
                    ratio(y, x),
                    low=self.factor,
                    note=f"{number(x.mean())} to {number(y.mean())}",
                )
            )
        return every(comparisons, risk)


@kind("steady")
@dataclass(frozen=True)
class Steady(Test):
    """The regret of ``policy`` at every value of an axis is within a share ``within`` of that at the first. Other axes
    are averaged over."""

    policy: str
    along: str
    within: float

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        (start, cells), *rest = evidence.along(self.along)
        first = evidence.pooled(self.policy, cells)
        comparisons = []
        for value, others in rest:
            y = evidence.pooled(self.policy, others)
            comparisons.append(
                Comparison(
                    f"{self.policy}: {self.along} {value} over {self.along} {start}",
                    ratio(y, first),
                    1.0 - self.within,
                    1.0 + self.within,
                    f"{number(first.mean())} and {number(y.mean())}",
                )
            )
        return every(comparisons, risk)


@kind("crosses")
@dataclass(frozen=True)
class Crosses(Test):
    """Along an axis, ``policy`` is worse than ``than`` up to the value ``low`` and better from ``high`` on."""

    policy: str
    than: str
    along: str
    low: float
    high: float

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        comparisons, values, apart = [], [], []
        for value, cells in evidence.along(self.along):
            difference = evidence.pooled(self.policy, cells) - evidence.pooled(self.than, cells)
            values.append(float(value))
            apart.append(float(difference.mean()))
            what = f"{self.along} {value}: {self.policy} less {self.than}"
            if value <= self.low:
                comparisons.append(Comparison(what, mean(difference), low=0.0))
            elif value >= self.high:
                comparisons.append(Comparison(what, mean(difference), high=0.0))
        return every(comparisons, risk, note=_crossing(self.along, np.array(values), np.array(apart)))


@kind("increase")
@dataclass(frozen=True)
class Increase(Test):
    """From the first to the last value of an axis, the regret of ``policy`` grows by between ``low`` and ``high`` for
    each unit of the axis; both are multiplied with the place's value of the axis ``per``, if one is named."""

    policy: str
    along: str
    low: float = -math.inf
    high: float = math.inf
    per: str = ""

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        comparisons = []
        for place, cells in evidence.lines(self.along):
            a, b = (float(evidence.study.cells[cell].place[self.along]) for cell in (cells[0], cells[-1]))
            x, y = (evidence.regret(self.policy, cell) for cell in (cells[0], cells[-1]))
            scale = float(place[self.per]) if self.per else 1.0
            what = f"{self.policy}: regret added for each unit of {self.along}" + (
                f" and {self.per}" if self.per else ""
            )
            comparisons.append(
                Comparison(
                    joined(in_words(place), what),
                    mean((y - x) / ((b - a) * scale)),
                    self.low,
                    self.high,
                    f"{number(x.mean())} at {self.along} {a:,g}, {number(y.mean())} at {b:,g}",
                )
            )
        return every(comparisons, risk)


def _crossing(name: str, x: np.ndarray, y: np.ndarray) -> str:
    """Where a line through the points falls below 0, if it does."""
    for place in range(1, x.size):
        if y[place - 1] > 0.0 >= y[place]:
            share = y[place - 1] / (y[place - 1] - y[place])
            return f"the curves cross near {name} {x[place - 1] + share * (x[place] - x[place - 1]):,.3g}"
    return "the curves do not cross"
