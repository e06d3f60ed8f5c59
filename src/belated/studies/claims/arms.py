"""Tests of what became of arms: eliminated or not, pulled alike or not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.policies import EliminationPolicy
from belated.studies.claims._checks import joined
from belated.studies.claims.base import ClaimTest, kind
from belated.studies.claims.estimate import BoundedMean, Proportion, Samples
from belated.studies.claims.evidence import Evidence
from belated.studies.claims.verdict import Comparison, Verdict, all_hold
from belated.studies.study import AxisName, PolicyName, Study, first_problem
from belated.validation import Positive


def known_arm(study: Study, arm: int) -> None:
    """An error if a study has no arm of this number."""
    fewest = min(first_problem(cell).arms for cell in study.cells)
    if not 0 <= arm < fewest:
        raise ConfigurationError(f"arm is {arm}; give a whole number from 0 to {fewest - 1}.")


@kind("eliminates")
@dataclass(frozen=True)
class Eliminates(ClaimTest):
    """The share of runs in which ``policy`` eliminates an arm is between ``low`` and ``high``."""

    policy: PolicyName
    arm: int
    low: float = -math.inf
    high: float = math.inf

    def check(self, study: Study) -> None:
        known_arm(study, self.arm)
        if not isinstance(study.cells[0].policies[study.policy(self.policy)], EliminationPolicy):
            raise ConfigurationError(f"policy is {self.policy!r}, which never eliminates an arm.")

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for cell in evidence.cells:
            gone = evidence.counts("eliminated_at", self.policy, cell, self.arm) >= 0
            share = Proportion(int(gone.sum()), int(gone.size))
            comparisons.append(
                Comparison(
                    joined(evidence.named(cell), f"share of runs in which {self.policy} eliminates arm {self.arm}"),
                    share,
                    self.low,
                    self.high,
                    f"{share.hits:,} of {share.count:,} runs",
                )
            )
        return all_hold(comparisons, risk)


@kind("even")
@dataclass(frozen=True)
class Even(ClaimTest):
    """The share of runs in which ``policy`` has pulled all arms that it did not eliminate equally often, up to one
    pull, is between ``low`` and ``high``."""

    policy: PolicyName
    low: float = -math.inf
    high: float = math.inf

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for cell in evidence.cells:
            arms = range(evidence.results[cell].pulls.shape[2])
            pulls = np.array([evidence.counts("pulls", self.policy, cell, arm) for arm in arms])
            gone = np.array([evidence.counts("eliminated_at", self.policy, cell, arm) >= 0 for arm in arms])
            most = np.where(gone, -1, pulls).max(axis=0)
            least = np.where(gone, np.iinfo(pulls.dtype).max, pulls).min(axis=0)
            share = Proportion(int((most - least <= 1).sum()), int(most.size))
            comparisons.append(
                Comparison(
                    joined(evidence.named(cell), f"share of runs in which {self.policy} pulls its arms equally often"),
                    share,
                    self.low,
                    self.high,
                    f"{share.hits:,} of {share.count:,} runs; {gone.sum(axis=0).mean():.3g} arms eliminated on average",
                )
            )
        return all_hold(comparisons, risk)


@kind("alike")
@dataclass(frozen=True)
class Alike(ClaimTest):
    """Every policy pulls an arm as often at one value of an axis as at another: the shares of its pulls differ by less
    than ``within``."""

    over: AxisName
    arm: int
    within: Positive

    def check(self, study: Study) -> None:
        known_arm(study, self.arm)
        if len(study.axis(self.over).values) != 2 or len(study.cells) != 2:
            raise ConfigurationError(
                f"over is {self.over!r}; give an axis with two values, and say where on all others."
            )

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for label in evidence.study.labels:
            (a, first), (b, second) = evidence.along(self.over)
            x, y = (self._share(evidence, label, cells[0]) for cells in (first, second))
            comparisons.append(
                Comparison(
                    f"{label}: share of pulls of arm {self.arm}, {self.over} {a} less {self.over} {b}",
                    BoundedMean(x - y, -1.0, 1.0),
                    -self.within,
                    self.within,
                    f"{quantity(x.mean())} and {quantity(y.mean())}",
                )
            )
        return all_hold(comparisons, risk)

    def _share(self, evidence: Evidence, label: str, cell: int) -> Samples:
        return np.asarray(evidence.counts("pulls", label, cell, self.arm) / evidence.study.cells[cell].horizon)
