"""Tests of theorems: regret against what is proven about it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.claims.base import Comparison, Judged, Test, all_of, every, kind, some
from belated.claims.estimate import Known, Samples, mean
from belated.claims.evidence import Evidence, in_words
from belated.claims.order import joined
from belated.errors import ConfigurationError
from belated.problem import Problem
from belated.theory import bound_of, table
from belated.theory.bound import number


@kind("level")
@dataclass(frozen=True)
class Level(Test):
    """The regret of every policy, divided by ``unit`` and by the cell's values of the axes ``per``, is between ``low``
    and ``high``; averaged over the axis ``average``, if one is named. With ``largest``, it is enough if it is at one of
    the values of that axis."""

    low: float = -math.inf
    high: float = math.inf
    unit: float = 1.0
    unit_name: str = ""
    per: tuple[str, ...] = ()
    average: str = ""
    largest: str = ""
    policies: tuple[str, ...] = ()

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        labels = self.policies or evidence.study.labels
        name = "regret / " + (self.unit_name or " ".join(self.per) or f"{self.unit:g}")
        if self.largest:
            lines = [(label, *line) for label in labels for line in evidence.lines(self.largest)]
            found = [
                some([self._compared(evidence, label, [cell], name) for cell in cells], risk / len(lines))
                for label, _, cells in lines
            ]
            return Judged(all_of(one.status for one in found), tuple(f for one in found for f in one.findings))
        groups = (
            [cells for _, cells in evidence.lines(self.average)]
            if self.average
            else [[cell] for cell in evidence.cells]
        )
        return every([self._compared(evidence, label, cells, name) for label in labels for cells in groups], risk)

    def _compared(self, evidence: Evidence, label: str, cells: list[int], name: str) -> Comparison:
        values = np.mean([self._scaled(evidence, label, cell) for cell in cells], axis=0)
        place = dict(evidence.study.cells[cells[0]].place)
        place.pop(self.average, None)
        raw = float(evidence.pooled(label, cells).mean())
        return Comparison(
            joined(in_words(place), label, name), mean(values), self.low, self.high, f"regret {number(raw)}"
        )

    def _scaled(self, evidence: Evidence, label: str, cell: int) -> Samples:
        place = evidence.study.cells[cell].place
        scale = self.unit * math.prod(float(place[name]) for name in self.per)
        return evidence.regret(label, cell) / scale


@kind("bounded")
@dataclass(frozen=True)
class Bounded(Test):
    """The regret of each policy that a theorem is about is below the theorem's bound."""

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        comparisons = []
        for cell in evidence.cells:
            played = evidence.study.cells[cell]
            if not isinstance(played.problem, Problem):
                raise ConfigurationError("a bound is of one problem; in this study each run has its own.")
            for label, policy in zip(evidence.study.labels, played.policies, strict=True):
                bound = bound_of(policy, played.problem, played.horizon)
                if bound is not None and not bound.order and math.isfinite(bound.value):
                    regret = evidence.regret(label, cell)
                    comparisons.append(
                        Comparison(
                            joined(evidence.named(cell), f"{label}, regret / bound"),
                            mean(regret / bound.value),
                            high=1.0,
                            note=f"{number(regret.mean())} against {number(bound.value)} ({bound.source})",
                        )
                    )
        return every(comparisons, risk)


@kind("tabled")
@dataclass(frozen=True)
class Tabled(Test):
    """In the row of Table 1 that the cell's value of the axis ``over`` names, what the paper proves is below every
    bound of earlier work."""

    over: str

    def judge(self, evidence: Evidence, risk: float) -> Judged:
        comparisons = []
        for cell in evidence.cells:
            played = evidence.study.cells[cell]
            assert isinstance(played.problem, Problem)
            rows = {row.setting: row for row in table(played.problem, played.horizon)}
            row = rows.get(played.place[self.over])
            if row is None or row.previous is None or row.paper is None:
                raise ConfigurationError(f"Table 1 compares nothing for the problem at {played.name}.")
            ((ours, value),) = row.paper.items()
            comparisons += [
                Comparison(
                    joined(evidence.named(cell), f"{ours} over {theirs}"),
                    Known(value / earlier if math.isfinite(earlier) else 0.0),
                    high=1.0,
                    note=f"{number(value)} against {number(earlier)}",
                )
                for theirs, earlier in row.previous.items()
            ]
        return every(comparisons, risk)
