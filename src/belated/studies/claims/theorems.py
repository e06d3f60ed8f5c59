"""Tests of theorems: regret against what is proven about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.problem import Problem
from belated.studies.claims.base import ClaimTest, Comparison, Verdict, all_hold, all_hold_of, any_holds
from belated.studies.claims.evidence import Evidence, Exact, in_words, joined, mean
from belated.studies.study import AxisName, Cell, PolicyName, Study
from belated.theory import Bound, TableRow, bound_of, table
from belated.validation import Positive


@dataclass(frozen=True)
class Level(ClaimTest, kind="level"):
    """The regret of every policy, divided by ``unit`` and by the cell's values of the axes ``per``, is between ``low``
    and ``high``; averaged over the axis ``average``, if one is named. With ``largest``, one value of that axis is
    enough."""

    low: float = -math.inf
    high: float = math.inf
    unit: Positive = 1.0
    unit_name: str = ""
    per: tuple[AxisName, ...] = ()
    average: AxisName = ""
    largest: AxisName = ""
    policies: tuple[PolicyName, ...] = ()

    def check(self, study: Study) -> None:
        if self.average and self.largest:
            raise ConfigurationError("average and largest are both given; give one of them.")
        for axis in self.per:
            if min(study.numbers(axis)) <= 0.0:
                raise ConfigurationError(f"per has {axis!r}, with values <= 0; the regret is divided by them.")

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        labels = self.policies or evidence.study.labels
        name = "regret / " + (self.unit_name or " ".join(self.per) or f"{self.unit:g}")
        if self.largest:
            lines = [(label, cells) for label in labels for _, cells in evidence.lines(self.largest)]
            verdicts = []
            for label, cells in lines:
                comparisons = [self._compared(evidence, label, [cell], name) for cell in cells]
                verdicts.append(any_holds(comparisons, risk / len(lines)))
            return all_hold_of(verdicts)
        groups = [[cell] for cell in evidence.cells]
        if self.average:
            groups = [cells for _, cells in evidence.lines(self.average)]
        return all_hold([self._compared(evidence, label, cells, name) for label in labels for cells in groups], risk)

    def _compared(self, evidence: Evidence, label: str, cells: list[int], name: str) -> Comparison:
        scaled = []
        for cell in cells:
            coordinates = dict(evidence.study.cells[cell].coordinates)
            scale = self.unit * math.prod(float(coordinates[name]) for name in self.per)
            scaled.append(evidence.regret(label, cell) / scale)
        coordinates.pop(self.average, None)
        what = joined(in_words(coordinates), label, name)
        note = f"regret {quantity(float(evidence.pooled(label, cells).mean()))}"
        return Comparison(what, mean(np.mean(scaled, axis=0)), self.low, self.high, note)


def one_problem(cell: Cell) -> Problem:
    """The problem of a cell; an error if each run has its own."""
    if not isinstance(cell.problem, Problem):
        raise ConfigurationError("a bound is for one problem; in this study each run has its own.")
    return cell.problem


def proven(cell: Cell, labels: Sequence[str]) -> dict[str, Bound]:
    """The bound that a theorem gives for each label, where there is one and it is finite."""
    bounds = {}
    for label, policy in zip(labels, cell.policies, strict=True):
        bound = bound_of(policy, one_problem(cell), cell.horizon)
        if bound is not None and not bound.order and 0.0 < bound.value < math.inf:
            bounds[label] = bound
    return bounds


def nontrivial(cell: Cell, labels: Sequence[str]) -> dict[str, Bound]:
    """The proven bounds that are below T times the largest gap, which no regret is above."""
    trivial = cell.horizon * float(one_problem(cell).gaps.max())
    return {label: bound for label, bound in proven(cell, labels).items() if bound.value < trivial}


@dataclass(frozen=True)
class Bounded(ClaimTest, kind="bounded"):
    """The regret of each policy that a theorem is about is below the theorem's bound."""

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        for cell in evidence.cells:
            for label, bound in proven(evidence.study.cells[cell], evidence.study.labels).items():
                regret = evidence.regret(label, cell)
                what = joined(evidence.describe(cell), f"{label}, regret / bound")
                note = f"{quantity(regret.mean())} against {quantity(bound.value)} ({bound.source})"
                yield Comparison(what, mean(regret / bound.value), high=1.0, note=note)

    def check(self, study: Study) -> None:
        if not any(proven(cell, study.labels) for cell in study.cells):
            raise ConfigurationError(
                'no policy here has a finite bound; bounds are for policies with confidence = "theory".'
            )


def _over(value: float, other: float) -> float:
    """The ratio of two bounds: 0 for a number over infinity, 1 for infinity over itself."""
    if value == other:
        return 1.0
    return value / other if other > 0.0 else math.inf


@dataclass(frozen=True)
class Tabled(ClaimTest, kind="tabled"):
    """In the row of Table 1 that the cell's value of the axis ``over`` names, what the paper proves is below every
    bound of earlier work. This is arithmetic: nothing simulated enters."""

    arithmetic = True
    over: AxisName

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        for cell in evidence.cells:
            row = self._row(evidence.study.cells[cell])
            ((ours, value),) = (row.paper or {}).items()
            for theirs, earlier in (row.previous or {}).items():
                what = joined(evidence.describe(cell), f"{ours} over {theirs}")
                note = f"{quantity(value)} against {quantity(earlier)}"
                yield Comparison(what, Exact(_over(value, earlier)), high=1.0, note=note)

    def check(self, study: Study) -> None:
        for cell in study.cells:
            self._row(cell)

    def _row(self, cell: Cell) -> TableRow:
        rows = {row.setting: row for row in table(one_problem(cell), cell.horizon)}
        row = rows.get(cell.coordinates[self.over])
        if row is None or row.previous is None or row.paper is None:
            raise ConfigurationError(f"Table 1 compares nothing for the problem at {cell.name}.")
        return row
