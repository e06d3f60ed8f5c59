"""Tests of order: which policy's regret is below which."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.studies.claims.base import ClaimTest, Comparison
from belated.studies.claims.evidence import Evidence, joined, mean, ratio
from belated.studies.study import PolicyName, Study
from belated.validation import Positive


def _difference(
    evidence: Evidence, cell: int, policy: str, than: str, factor: float, name: str, **allowed: float
) -> Comparison:
    """The regret of ``policy`` less ``factor`` times that of ``than``, which is called ``name``."""
    x, y = evidence.regret(policy, cell), evidence.regret(than, cell)
    what = joined(evidence.describe(cell), f"{policy} less {name}")
    note = f"{policy} {quantity(x.mean())}, {than} {quantity(y.mean())}"
    return Comparison(what, mean(x - factor * y), note=note, **allowed)


@dataclass(frozen=True)
class Below(ClaimTest, kind="below"):
    """The regret of ``policy`` is below ``factor`` times that of ``than``, in every cell."""

    policy: PolicyName
    than: PolicyName
    factor: Positive = 1.0

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        other = self.than if self.factor == 1.0 else f"{self.factor:g} x {self.than}"
        for cell in evidence.cells:
            yield _difference(evidence, cell, self.policy, self.than, self.factor, other, high=0.0)


def others(study: Study, policy: str, among: tuple[str, ...]) -> tuple[str, ...]:
    """The policies that one is compared with: those given, or all others of the study."""
    if policy in among:
        raise ConfigurationError(f"among has {policy!r}, which would be compared with itself; leave it out.")
    rest = among or tuple(label for label in study.labels if label != policy)
    if not rest:
        raise ConfigurationError(f"the study {study.name!r} has only the policy {policy!r}: nothing to compare.")
    return rest


@dataclass(frozen=True)
class Best(ClaimTest, kind="best"):
    """The regret of ``policy`` is below that of every other policy, or of those in ``among``, in every cell."""

    policy: PolicyName
    among: tuple[PolicyName, ...] = ()

    def check(self, study: Study) -> None:
        others(study, self.policy, self.among)

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        for other in others(evidence.study, self.policy, self.among):
            yield from Below(self.policy, other).comparisons(evidence)


@dataclass(frozen=True)
class NoneBelow(ClaimTest, kind="none below"):
    """No other policy, or none of those in ``among``, has a regret below ``factor`` times that of ``than``, in any
    cell."""

    than: PolicyName
    factor: Positive = 1.0
    among: tuple[PolicyName, ...] = ()

    def check(self, study: Study) -> None:
        others(study, self.than, self.among)

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        for other in others(evidence.study, self.than, self.among):
            for cell in evidence.cells:
                name = f"{self.factor:g} x {self.than}"
                yield _difference(evidence, cell, other, self.than, self.factor, name, low=0.0)


@dataclass(frozen=True)
class Ratio(ClaimTest, kind="ratio"):
    """The regret of ``policy`` is between ``low`` and ``high`` times that of ``than``; of the mean over all cells if
    ``pooled``."""

    policy: PolicyName
    than: PolicyName
    low: float = -math.inf
    high: float = math.inf
    pooled: bool = False

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        cells = evidence.cells
        for group in [cells] if self.pooled else [[cell] for cell in cells]:
            x, y = evidence.pooled(self.policy, group), evidence.pooled(self.than, group)
            where = "mean over all" if self.pooled and len(cells) > 1 else evidence.describe(group[0])
            what = joined(where, f"{self.policy} / {self.than}")
            note = f"{self.policy} {quantity(x.mean())}, {self.than} {quantity(y.mean())}"
            yield Comparison(what, ratio(x, y), self.low, self.high, note)
