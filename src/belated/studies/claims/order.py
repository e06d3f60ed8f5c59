"""Tests of order: which policy's regret is below which."""

from __future__ import annotations

import math
from dataclasses import dataclass

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.studies.claims._checks import joined
from belated.studies.claims.base import ClaimTest, kind
from belated.studies.claims.estimate import mean, ratio
from belated.studies.claims.evidence import Evidence
from belated.studies.claims.verdict import Comparison, Verdict, all_hold
from belated.studies.study import PolicyName, Study
from belated.validation import Positive


@kind("below")
@dataclass(frozen=True)
class Below(ClaimTest):
    """The regret of ``policy`` is below ``factor`` times that of ``than``, in every cell."""

    policy: PolicyName
    than: PolicyName
    factor: Positive = 1.0

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        return all_hold(self.comparisons(evidence), risk)

    def comparisons(self, evidence: Evidence) -> list[Comparison]:
        """One for each cell."""
        comparisons = []
        other = self.than if self.factor == 1.0 else f"{self.factor:g} x {self.than}"
        for cell in evidence.cells:
            x, y = evidence.regret(self.policy, cell), evidence.regret(self.than, cell)
            comparisons.append(
                Comparison(
                    joined(evidence.named(cell), f"{self.policy} less {other}"),
                    mean(x - self.factor * y),
                    high=0.0,
                    note=f"{self.policy} {quantity(x.mean())}, {self.than} {quantity(y.mean())}",
                )
            )
        return comparisons


def others(study: Study, policy: str, among: tuple[str, ...]) -> tuple[str, ...]:
    """The policies that one is compared with: those given, or all others of the study."""
    if policy in among:
        raise ConfigurationError(f"among has {policy!r}, which would be compared with itself; leave it out.")
    found = among or tuple(label for label in study.labels if label != policy)
    if not found:
        raise ConfigurationError(f"the study {study.name!r} has no policy but {policy!r}; there is nothing to compare.")
    return found


@kind("best")
@dataclass(frozen=True)
class Best(ClaimTest):
    """The regret of ``policy`` is below that of every other policy, or of those in ``among``, in every cell."""

    policy: PolicyName
    among: tuple[PolicyName, ...] = ()

    def check(self, study: Study) -> None:
        others(study, self.policy, self.among)

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        tests = [Below(self.policy, other) for other in others(evidence.study, self.policy, self.among)]
        return all_hold([one for test in tests for one in test.comparisons(evidence)], risk)


@kind("none below")
@dataclass(frozen=True)
class NoneBelow(ClaimTest):
    """No other policy, or none of those in ``among``, has a regret below ``factor`` times that of ``than``, in any
    cell."""

    than: PolicyName
    factor: Positive = 1.0
    among: tuple[PolicyName, ...] = ()

    def check(self, study: Study) -> None:
        others(study, self.than, self.among)

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for other in others(evidence.study, self.than, self.among):
            for cell in evidence.cells:
                x, y = evidence.regret(other, cell), evidence.regret(self.than, cell)
                comparisons.append(
                    Comparison(
                        joined(evidence.named(cell), f"{other} less {self.factor:g} x {self.than}"),
                        mean(x - self.factor * y),
                        low=0.0,
                        note=f"{other} {quantity(x.mean())}, {self.than} {quantity(y.mean())}",
                    )
                )
        return all_hold(comparisons, risk)


@kind("ratio")
@dataclass(frozen=True)
class Ratio(ClaimTest):
    """The regret of ``policy`` is between ``low`` and ``high`` times that of ``than``; of the mean over all cells if
    ``pooled``."""

    policy: PolicyName
    than: PolicyName
    low: float = -math.inf
    high: float = math.inf
    pooled: bool = False

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
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
                    f"{self.policy} {quantity(x.mean())}, {self.than} {quantity(y.mean())}",
                )
            )
        return all_hold(comparisons, risk)
