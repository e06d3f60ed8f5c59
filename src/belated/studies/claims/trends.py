"""Tests of trends along an axis: how regret moves, where it is largest, how steeply it grows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.studies.claims.base import ClaimTest, Comparison, Finding, Status, Verdict, all_hold, any_holds, compared
from belated.studies.claims.evidence import Evidence, in_words, joined, log_slope, mean, ratio
from belated.studies.study import AxisName, PolicyName, Study
from belated.validation import Positive


@dataclass(frozen=True)
class AlongTest(ClaimTest):
    """A test of the regret of ``policy`` along an axis of several values."""

    policy: PolicyName
    along: AxisName

    def check(self, study: Study) -> None:
        study.check_several(self.along)


@dataclass(frozen=True)
class Rises(AlongTest, kind="rises"):
    """The regret of ``policy`` at each value of an axis is above ``factor`` times that at the value before; with
    ``steps = false``, at the last value above ``factor`` times that at the first. Averaged over the other axes."""

    factor: Positive = 1.0
    steps: bool = True

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        regrets = list(evidence.pooled_along(self.policy, self.along).items())
        for (before, x), (after, y) in pairwise(regrets) if self.steps else [(regrets[0], regrets[-1])]:
            what = f"{self.policy}: {self.along} {after} over {self.along} {before}"
            note = f"{quantity(x.mean())} to {quantity(y.mean())}"
            yield Comparison(what, ratio(y, x), low=self.factor, note=note)


@dataclass(frozen=True)
class Falls(AlongTest, kind="falls"):
    """Along an axis, the regret of ``policy`` rises from each value to the next up to the value ``top``, and falls from
    each to the next after it. Averaged over the other axes."""

    top: float

    def check(self, study: Study) -> None:
        values = study.numbers(self.along)
        if not any(math.isclose(value, self.top) for value in values) or sorted(values) != values or len(values) < 2:
            raise ConfigurationError(
                f"top is {self.top:g}; give a value of {self.along}, which has two or more in ascending order."
            )

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        for (before, x), (after, y) in pairwise(evidence.pooled_along(self.policy, self.along).items()):
            rises = after <= self.top or math.isclose(after, self.top)
            low, high = (0.0, math.inf) if rises else (-math.inf, 0.0)
            yield Comparison(f"{self.policy}: {self.along} {after} less {self.along} {before}", mean(y - x), low, high)


@dataclass(frozen=True)
class Steady(AlongTest, kind="steady"):
    """The regret of ``policy`` at every value of an axis is within a share ``within`` of that at the first. Averaged
    over the other axes."""

    within: Positive

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        (start, first), *rest = evidence.pooled_along(self.policy, self.along).items()
        for value, y in rest:
            what = f"{self.policy}: {self.along} {value} over {self.along} {start}"
            note = f"{quantity(first.mean())} and {quantity(y.mean())}"
            yield Comparison(what, ratio(y, first), 1.0 - self.within, 1.0 + self.within, note)


@dataclass(frozen=True)
class Crosses(ClaimTest, kind="crosses"):
    """Along an axis, ``policy`` is worse than ``than`` up to the value ``low`` and better from ``high`` on."""

    policy: PolicyName
    than: PolicyName
    along: AxisName
    low: float
    high: float

    def check(self, study: Study) -> None:
        values = study.numbers(self.along)
        if self.low >= self.high or min(values) > self.low or max(values) < self.high:
            raise ConfigurationError(
                f"low is {self.low:g} and high {self.high:g}; give low < high, with values of {self.along} up to low "
                "and from high on."
            )

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons, points = [], []
        for value, cells in evidence.along(self.along):
            difference = evidence.pooled(self.policy, cells) - evidence.pooled(self.than, cells)
            points.append((float(value), float(difference.mean())))
            what = f"{self.along} {value}: {self.policy} less {self.than}"
            if value <= self.low:
                comparisons.append(Comparison(what, mean(difference), low=0.0))
            elif value >= self.high:
                comparisons.append(Comparison(what, mean(difference), high=0.0))
        note = "the curves do not cross"
        for (a, before), (b, after) in pairwise(points):
            if before > 0.0 >= after:
                note = f"the curves cross near {self.along} {a + before / (before - after) * (b - a):,.3g}"
                break
        return all_hold(comparisons, risk, note)


@dataclass(frozen=True)
class Increase(AlongTest, kind="increase"):
    """From the first to the last value of an axis, the regret of ``policy`` grows by between ``low`` and ``high`` for
    each unit of the axis; both are multiplied by the value of the axis ``per``, if one is named."""

    low: float = -math.inf
    high: float = math.inf
    per: AxisName = ""

    def check(self, study: Study) -> None:
        study.numbers(self.along)
        study.check_several(self.along)
        if self.per == self.along or (self.per and min(study.numbers(self.per)) <= 0.0):
            raise ConfigurationError(f"per is {self.per!r}; give another axis than along, with values > 0.")

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        units = f" and {self.per}" if self.per else ""
        for coordinates, cells in evidence.lines(self.along):
            ends = (cells[0], cells[-1])
            a, b = (float(evidence.study.cells[cell].coordinates[self.along]) for cell in ends)
            x, y = (evidence.regret(self.policy, cell) for cell in ends)
            scale = float(coordinates[self.per]) if self.per else 1.0
            what = joined(in_words(coordinates), f"{self.policy}: regret added for each unit of {self.along}{units}")
            note = f"{quantity(x.mean())} at {self.along} {a:,g}, {quantity(y.mean())} at {b:,g}"
            yield Comparison(what, mean((y - x) / ((b - a) * scale)), self.low, self.high, note)


@dataclass(frozen=True)
class Peak(AlongTest, kind="peak"):
    """Along an axis, the regret of ``policy`` is largest at a value from ``low`` to ``high``: at one of these it is
    above that at every value outside."""

    low: float
    high: float

    def check(self, study: Study) -> None:
        inside = [self._inside(value) for value in study.numbers(self.along)]
        if all(inside) or not any(inside):
            raise ConfigurationError(
                f"from {self.low:g} to {self.high:g} there are {'all' if all(inside) else 'no'} values of "
                f"{self.along}; give a range with some of them."
            )

    def _inside(self, value: float) -> bool:
        return self.low - 1e-9 <= value <= self.high + 1e-9

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        regrets = evidence.pooled_along(self.policy, self.along)
        inside = [value for value in regrets if self._inside(value)]
        outside = [value for value in regrets if value not in inside]
        top = max(regrets, key=lambda value: float(regrets[value].mean()))
        note = f"largest at {self.along} {top:g}: {quantity(regrets[top].mean())}"
        if top in inside:
            comparisons = [self._apart(top, value, regrets) for value in outside]
            return all_hold(comparisons, risk, note, choices=len(inside))
        comparisons = [self._apart(value, top, regrets) for value in inside]
        return any_holds(comparisons, risk, note, choices=len(outside))

    def _apart(self, higher: Any, lower: Any, regrets: dict[Any, Any]) -> Comparison:
        what = f"{self.policy}: {self.along} {higher:g} less {self.along} {lower:g}"
        return Comparison(what, mean(regrets[higher] - regrets[lower]), low=0.0)


@dataclass(frozen=True)
class PeakMovesRight(AlongTest, kind="peak moves right"):
    """From one value of the axis ``over`` to the next, the peak along the axis ``along`` moves left by less than
    ``slack``, and from the first to the last it moves right.

    The confidence set of a peak is the values that the highest one is not surely above."""

    over: AxisName
    slack: Positive

    def check(self, study: Study) -> None:
        study.numbers(self.along)
        study.check_several(self.along)
        study.check_several(self.over)
        if self.along == self.over:
            raise ConfigurationError(f"along and over are both {self.along!r}; give two axes.")

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        values = [value for value, _ in evidence.along(self.over)]
        peaks = [self._peak(evidence.at({self.over: value}), risk / len(values)) for value in values]
        findings = [
            self._moved(f"{self.over} {a} to {b}", before, after, -self.slack)
            for (a, before), (b, after) in pairwise(zip(values, peaks, strict=True))
        ]
        findings.append(self._moved(f"{self.over} {values[0]} to {values[-1]}", peaks[0], peaks[-1], 0.0))
        tops = ", ".join(f"{value}: {peak[0]:g}" for value, peak in zip(values, peaks, strict=True))
        status = Status.all_of(finding.status for finding in findings)
        needed = 4.0 if status is Status.UNDECIDED else 1.0  # the set does not shrink by a law: try the next look
        return Verdict(status, tuple(findings), f"peak by {self.over}: {tops}", needed)

    def _peak(self, evidence: Evidence, risk: float) -> tuple[float, float, float]:
        """The value with the largest mean, and the ends of its confidence set."""
        regrets = evidence.pooled_along(self.policy, self.along)
        top = max(regrets, key=lambda value: float(regrets[value].mean()))
        pairs = len(regrets) * (len(regrets) - 1) / 2
        possible = [
            value
            for value in regrets
            if value == top
            or compared(Comparison("", mean(regrets[top] - regrets[value]), low=0.0), risk / pairs).status
            is not Status.HOLDS
        ]
        return float(top), float(min(possible)), float(max(possible))

    def _moved(
        self, what: str, before: tuple[float, float, float], after: tuple[float, float, float], least: float
    ) -> Finding:
        low, high = after[1] - before[2], after[2] - before[1]
        status = Status.HOLDS if low > least else Status.FAILS if high <= least else Status.UNDECIDED
        name = f"{self.policy}: the peak moves from {what} by"
        return Finding(name, after[0] - before[0], (low, high), (least, math.inf), status)


@dataclass(frozen=True)
class Slope(AlongTest, kind="slope"):
    """The regret of ``policy`` grows like a power between ``low`` and ``high`` of an axis: the slope of a straight line
    through the logarithms."""

    low: float
    high: float

    def check(self, study: Study) -> None:
        study.check_several(self.along)
        if min(study.numbers(self.along)) <= 0.0:
            raise ConfigurationError(f"the axis {self.along!r} has values <= 0, which have no logarithm.")

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        for coordinates, cells in evidence.lines(self.along):
            xs = [float(evidence.study.cells[cell].coordinates[self.along]) for cell in cells]
            slope = log_slope(xs, [evidence.regret(self.policy, cell) for cell in cells])
            what = joined(in_words(coordinates), f"power of {self.along} with which {self.policy} grows")
            yield Comparison(what, slope, self.low, self.high)
