"""Tests of change: how regret moves along an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.studies.claims._checks import joined, numbers, several
from belated.studies.claims.base import ClaimTest, kind
from belated.studies.claims.estimate import mean, ratio
from belated.studies.claims.evidence import Evidence, in_words
from belated.studies.claims.verdict import Comparison, Verdict, all_hold
from belated.studies.study import AxisName, PolicyName, Study
from belated.validation import Positive


@kind("rises")
@dataclass(frozen=True)
class Rises(ClaimTest):
    """The regret of ``policy`` at each value of an axis is above ``factor`` times that at the value before; with
    ``steps = false``, at the last value above ``factor`` times that at the first. Other axes are averaged over."""

    policy: PolicyName
    along: AxisName
    factor: Positive = 1.0
    steps: bool = True

    def check(self, study: Study) -> None:
        several(study, self.along)

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
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
                    note=f"{quantity(x.mean())} to {quantity(y.mean())}",
                )
            )
        return all_hold(comparisons, risk)


@kind("falls")
@dataclass(frozen=True)
class Falls(ClaimTest):
    """Along an axis, the regret of ``policy`` rises from each value to the next up to the value ``top``, and falls from
    each to the next after it. Other axes are averaged over."""

    policy: PolicyName
    along: AxisName
    top: float

    def check(self, study: Study) -> None:
        values = numbers(study, self.along)
        if not any(math.isclose(value, self.top) for value in values) or sorted(values) != values or len(values) < 2:
            raise ConfigurationError(
                f"top is {self.top:g}; give a value of {self.along}, which has two or more in ascending order."
            )

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for (before, first), (after, second) in pairwise(evidence.along(self.along)):
            change = evidence.pooled(self.policy, second) - evidence.pooled(self.policy, first)
            rises = after <= self.top or math.isclose(after, self.top)
            low, high = (0.0, math.inf) if rises else (-math.inf, 0.0)
            what = f"{self.policy}: {self.along} {after} less {self.along} {before}"
            comparisons.append(Comparison(what, mean(change), low, high))
        return all_hold(comparisons, risk)


@kind("steady")
@dataclass(frozen=True)
class Steady(ClaimTest):
    """The regret of ``policy`` at every value of an axis is within a share ``within`` of that at the first. Other axes
    are averaged over."""

    policy: PolicyName
    along: AxisName
    within: Positive

    def check(self, study: Study) -> None:
        several(study, self.along)

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
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
                    f"{quantity(first.mean())} and {quantity(y.mean())}",
                )
            )
        return all_hold(comparisons, risk)


@kind("crosses")
@dataclass(frozen=True)
class Crosses(ClaimTest):
    """Along an axis, ``policy`` is worse than ``than`` up to the value ``low`` and better from ``high`` on."""

    policy: PolicyName
    than: PolicyName
    along: AxisName
    low: float
    high: float

    def check(self, study: Study) -> None:
        values = numbers(study, self.along)
        if self.low >= self.high or min(values) > self.low or max(values) < self.high:
            raise ConfigurationError(
                f"low is {self.low:g} and high {self.high:g}; give low < high, with values of {self.along} up to low "
                "and from high on."
            )

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
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
        return all_hold(comparisons, risk, note=_crossing(self.along, np.array(values), np.array(apart)))


@kind("increase")
@dataclass(frozen=True)
class Increase(ClaimTest):
    """From the first to the last value of an axis, the regret of ``policy`` grows by between ``low`` and ``high`` for
    each unit of the axis; both are multiplied with the place's value of the axis ``per``, if one is named."""

    policy: PolicyName
    along: AxisName
    low: float = -math.inf
    high: float = math.inf
    per: AxisName = ""

    def check(self, study: Study) -> None:
        numbers(study, self.along)
        several(study, self.along)
        if self.per == self.along or (self.per and min(numbers(study, self.per)) <= 0.0):
            raise ConfigurationError(f"per is {self.per!r}; give another axis than along, with values > 0.")

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
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
                    f"{quantity(x.mean())} at {self.along} {a:,g}, {quantity(y.mean())} at {b:,g}",
                )
            )
        return all_hold(comparisons, risk)


def _crossing(name: str, x: np.ndarray, y: np.ndarray) -> str:
    """Where a line through the points falls below 0, if it does."""
    for place in range(1, x.size):
        if y[place - 1] > 0.0 >= y[place]:
            share = y[place - 1] / (y[place - 1] - y[place])
            return f"the curves cross near {name} {x[place - 1] + share * (x[place] - x[place - 1]):,.3g}"
    return "the curves do not cross"
