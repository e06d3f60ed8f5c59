"""Tests of shape: where the regret is largest along an axis, and how steeply it grows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.studies.claims._checks import joined, numbers, several
from belated.studies.claims.base import ClaimTest, kind
from belated.studies.claims.estimate import log_slope, mean
from belated.studies.claims.evidence import Evidence, in_words
from belated.studies.claims.verdict import Comparison, Finding, Status, Verdict, all_hold, all_of, any_holds, compared
from belated.studies.study import AxisName, PolicyName, Study
from belated.validation import Positive

_MORE = 4.0
"""A confidence set of places on a grid does not shrink by a law; try the next look."""


@kind("peak")
@dataclass(frozen=True)
class Peak(ClaimTest):
    """Along an axis, the regret of ``policy`` is largest at a value from ``low`` to ``high``: at one of these it is
    above that at every value outside."""

    policy: PolicyName
    along: AxisName
    low: float
    high: float

    def check(self, study: Study) -> None:
        inside = [self._inside(value) for value in numbers(study, self.along)]
        if all(inside) or not any(inside):
            raise ConfigurationError(
                f"from {self.low:g} to {self.high:g} there are {'all' if all(inside) else 'no'} values of "
                f"{self.along}; give a range with some of them."
            )

    def _inside(self, value: float) -> bool:
        return self.low - 1e-9 <= value <= self.high + 1e-9

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        regrets = {value: evidence.pooled(self.policy, cells) for value, cells in evidence.along(self.along)}
        inside = [value for value in regrets if self._inside(value)]
        outside = [value for value in regrets if value not in inside]
        top = max(regrets, key=lambda value: float(regrets[value].mean()))
        note = f"largest at {self.along} {top:g}: {quantity(regrets[top].mean())}"
        if top in inside:
            comparisons = [self._apart(top, value, regrets) for value in outside]
            return all_hold(comparisons, risk, note, among=len(inside))
        comparisons = [self._apart(value, top, regrets) for value in inside]
        return any_holds(comparisons, risk, note, among=len(outside))

    def _apart(self, higher: Any, lower: Any, regrets: dict[Any, Any]) -> Comparison:
        return Comparison(
            f"{self.policy}: {self.along} {higher:g} less {self.along} {lower:g}",
            mean(regrets[higher] - regrets[lower]),
            low=0.0,
        )


@kind("peak moves right")
@dataclass(frozen=True)
class PeakMovesRight(ClaimTest):
    """From one value of the axis ``over`` to the next, the peak along the axis ``along`` moves left by less than
    ``slack``, and from the first to the last it moves right.

    Of each peak a confidence set is taken: the values that the highest one is not surely above."""

    policy: PolicyName
    along: AxisName
    over: AxisName
    slack: Positive

    def check(self, study: Study) -> None:
        numbers(study, self.along)
        several(study, self.along)
        several(study, self.over)
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
        best = ", ".join(f"{value}: {peak[0]:g}" for value, peak in zip(values, peaks, strict=True))
        note = f"peak by {self.over}: {best}"
        status = all_of(finding.status for finding in findings)
        return Verdict(status, tuple(findings), note, _MORE if status is Status.UNDECIDED else 1.0)

    def _peak(self, evidence: Evidence, risk: float) -> tuple[float, float, float]:
        """The value with the largest mean, and the ends of the confidence set."""
        regrets = {value: evidence.pooled(self.policy, cells) for value, cells in evidence.along(self.along)}
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
        return Finding(
            f"{self.policy}: the peak moves from {what} by",
            after[0] - before[0],
            (low, high),
            (least, float("inf")),
            status,
        )


@kind("slope")
@dataclass(frozen=True)
class Slope(ClaimTest):
    """The regret of ``policy`` grows like a power between ``low`` and ``high`` of an axis: the slope of a straight line
    through the logarithms."""

    policy: PolicyName
    along: AxisName
    low: float
    high: float

    def check(self, study: Study) -> None:
        several(study, self.along)
        if min(numbers(study, self.along)) <= 0.0:
            raise ConfigurationError(f"the axis {self.along!r} has values <= 0, which have no logarithm.")

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for place, cells in evidence.lines(self.along):
            xs = [float(evidence.study.cells[cell].place[self.along]) for cell in cells]
            slope = log_slope(xs, [evidence.regret(self.policy, cell) for cell in cells])
            what = joined(in_words(place), f"power of {self.along} with which {self.policy} grows")
            comparisons.append(Comparison(what, slope, self.low, self.high))
        return all_hold(comparisons, risk)
