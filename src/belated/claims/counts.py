"""Tests of what became of arms: eliminated or not, pulled alike or not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.claims.base import Comparison, Judged, Test, every, kind
from belated.claims.estimate import Samples, Share, mean
from belated.claims.evidence import Evidence
from belated.claims.order import joined
from belated.theory.bound import number


@kind("eliminates")
@dataclass(frozen=True)
class Eliminates(Test):
    """The share of runs in which ``policy`` eliminates an arm is between ``low`` and ``high``."""

    policy: str
    arm: int
    low: float = -math.inf
    high: float = math.inf

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        comparisons = []
        for cell in evidence.cells:
            gone = evidence.counts("eliminated_at", self.policy, cell, self.arm) >= 0
            share = Share(int(gone.sum()), int(gone.size))
            comparisons.append(
                Comparison(
                    joined(evidence.named(cell), f"share of runs in which {self.policy} eliminates arm {self.arm}"),
                    share,
                    self.low,
                    self.high,
                    f"{share.hits:,} of {share.count:,} runs",
                )
            )
        return every(comparisons, risk)


@kind("alike")
@dataclass(frozen=True)
class Alike(Test):
    """Every policy pulls an arm as often at one value of an axis as at another: the shares of its pulls differ by less
    than ``within``."""

    over: str
    arm: int
    within: float

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        comparisons = []
        for label in evidence.study.labels:
            (a, first), (b, second) = evidence.along(self.over)
            x, y = (self._share(evidence, label, cells[0]) for cells in (first, second))
            comparisons.append(
                Comparison(
                    f"{label}: share of pulls of arm {self.arm}, {self.over} {a} less {self.over} {b}",
                    mean(x - y),
                    -self.within,
                    self.within,
                    f"{number(x.mean())} and {number(y.mean())}",
                )
            )
        return every(comparisons, risk)

    def _share(self, evidence: Evidence, label: str, cell: int) -> Samples:
        return np.asarray(evidence.counts("pulls", label, cell, self.arm) / evidence.study.cells[cell].horizon)
