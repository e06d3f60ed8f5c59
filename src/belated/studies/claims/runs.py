"""Tests of single runs: the shape of their curves, and what became of their arms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.policies import EliminationPolicy
from belated.simulation.result_builder import KEPT_NUMBERS
from belated.studies.claims.base import CellTest, ClaimTest, Comparison
from belated.studies.claims.evidence import BoundedMean, Estimate, Evidence, Proportion, Samples, ratio
from belated.studies.study import AxisName, PolicyName, Study, first_problem
from belated.validation import Count, Positive


def flat_shares(curves: Samples) -> Samples:
    """(R,) for each run's curve (R, C), at evenly spaced checkpoints: the share of steps without regret, up to the last
    step with regret.

    >>> flat_shares(np.array([[1.0, 1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0]]))
    array([0.5, 0. ])
    """
    rising = np.diff(curves, axis=1, prepend=0.0) > 0.0
    steps = rising.shape[1] - np.argmax(rising[:, ::-1], axis=1)
    return np.asarray(1.0 - rising.sum(axis=1) / steps)


def flat_stretches(curves: Samples, steps: int) -> npt.NDArray[np.int64]:
    """(R,) how many flat stretches of at least that many steps each curve (R, C) has before its last rise.

    >>> flat_stretches(np.array([[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 5.0, 5.0]]), 2)
    array([2])
    """
    rising = np.diff(curves, axis=1, prepend=0.0) > 0.0
    lengths = [np.diff(np.flatnonzero(row), prepend=-1) - 1 for row in rising]
    return np.array([int((length >= steps).sum()) for length in lengths])


def rising_slopes(curves: Samples, rounds: int) -> Samples:
    """(R,) for each run, regret per round over the steps with regret; ``rounds`` is the length of a step."""
    rising = (np.diff(curves, axis=1, prepend=0.0) > 0.0).sum(axis=1)
    return np.asarray(curves[:, -1] / np.maximum(rising * rounds, 1))


def check_evenly_spaced(study: Study) -> int:
    """The number of checkpoints; an error if they are not evenly spaced, or only one."""
    shortest = min(cell.horizon for cell in study.cells)
    if not isinstance(study.checkpoints, int) or not 2 <= study.checkpoints <= shortest:
        raise ConfigurationError(
            f"the study {study.name!r} has checkpoints = {study.checkpoints}; a test of curves needs a number of "
            f"evenly spaced ones, from 2 to {shortest:,}."
        )
    if study.max_runs * study.checkpoints * len(study.labels) > KEPT_NUMBERS:
        raise ConfigurationError(
            f"the study {study.name!r} has up to {study.max_runs:,} runs and {study.checkpoints} checkpoints: too "
            "many to keep all curves; give fewer."
        )
    return study.checkpoints


@dataclass(frozen=True)
class PolicyTest(CellTest):
    """A test of one policy in every cell."""

    policy: PolicyName
    low: float = -math.inf
    high: float = math.inf


class CurveTest(CellTest):
    """A test of curves at evenly spaced checkpoints."""

    def check(self, study: Study) -> None:
        check_evenly_spaced(study)


class Flat(CurveTest, PolicyTest, kind="flat"):
    """On average over the runs, the share of flat stretches (no regret at all between two checkpoints) in the part of
    the curve before its last rise is between ``low`` and ``high``."""

    def measure(self, evidence: Evidence, cell: int) -> tuple[str, Estimate, str]:
        shares = BoundedMean(flat_shares(evidence.curve(self.policy, cell)))
        return f"share of flat stretches in {self.policy}'s curves", shares, ""


@dataclass(frozen=True)
class FlatStretches(CurveTest, kind="flat stretches"):
    """The share of runs whose curve has at least ``least`` flat stretches of ``steps`` steps or more before its last
    rise is between ``low`` and ``high``."""

    policy: PolicyName
    least: Count
    steps: Count
    low: float = -math.inf
    high: float = math.inf

    def measure(self, evidence: Evidence, cell: int) -> tuple[str, Estimate, str]:
        counts = flat_stretches(evidence.curve(self.policy, cell), self.steps)
        what = f"share of runs in which {self.policy}'s curve has {self.least} flat stretches or more"
        return what, Proportion.of(counts >= self.least), f"{counts.mean():.3g} on average"


@dataclass(frozen=True)
class SameSlope(CurveTest, kind="same slope"):
    """Where it rises, the curve of ``policy`` is between ``low`` and ``high`` times as steep as that of ``than``."""

    policy: PolicyName
    than: PolicyName
    low: float
    high: float

    def measure(self, evidence: Evidence, cell: int) -> tuple[str, Estimate, str]:
        step = int(evidence.results[cell].rounds[0])
        x, y = (rising_slopes(evidence.curve(label, cell), step) for label in (self.policy, self.than))
        note = f"{quantity(x.mean())} and {quantity(y.mean())} a round"
        return f"slope of {self.policy} / slope of {self.than}", ratio(x, y), note


class Straight(PolicyTest, kind="straight"):
    """The regret of the second half of a run is between ``low`` and ``high`` times that of the first half."""

    def check(self, study: Study) -> None:
        if check_evenly_spaced(study) % 2:
            raise ConfigurationError(f"checkpoints is {study.checkpoints}; give an even number, so that one is at T/2.")

    def measure(self, evidence: Evidence, cell: int) -> tuple[str, Estimate, str]:
        rounds = evidence.results[cell].rounds
        half = rounds.size // 2 - 1
        curves = evidence.curve(self.policy, cell)
        at_half, at_end = curves[:, half], curves[:, -1]
        note = f"{quantity(at_half.mean())} at round {rounds[half]:,}, {quantity(at_end.mean())} at the end"
        return f"{self.policy}: regret of the second half / of the first", ratio(at_end - at_half, at_half), note


def check_arm(study: Study, arm: int) -> None:
    """Raise an error if a study has no arm of this number."""
    fewest = min(first_problem(cell).arms for cell in study.cells)
    if not 0 <= arm < fewest:
        raise ConfigurationError(f"arm is {arm}; give a whole number from 0 to {fewest - 1}.")


@dataclass(frozen=True)
class Eliminates(CellTest, kind="eliminates"):
    """The share of runs in which ``policy`` eliminates an arm is between ``low`` and ``high``."""

    policy: PolicyName
    arm: int
    low: float = -math.inf
    high: float = math.inf

    def check(self, study: Study) -> None:
        check_arm(study, self.arm)
        if not isinstance(study.cells[0].policies[study.policy(self.policy)], EliminationPolicy):
            raise ConfigurationError(f"policy is {self.policy!r}, which never eliminates an arm.")

    def measure(self, evidence: Evidence, cell: int) -> tuple[str, Estimate, str]:
        share = Proportion.of(evidence.counts("eliminated_at", self.policy, cell, self.arm) >= 0)
        what = f"share of runs in which {self.policy} eliminates arm {self.arm}"
        return what, share, f"{share.hits:,} of {share.count:,} runs"


class Even(PolicyTest, kind="even"):
    """On average over the runs, the arm that ``policy`` has pulled least has between ``low`` and ``high`` of the pulls
    of the one pulled most; eliminated arms count as well."""

    def measure(self, evidence: Evidence, cell: int) -> tuple[str, Estimate, str]:
        arms = range(evidence.results[cell].pulls.shape[2])
        pulls = np.array([evidence.counts("pulls", self.policy, cell, arm) for arm in arms])
        eliminated = np.array([evidence.counts("eliminated_at", self.policy, cell, arm) >= 0 for arm in arms])
        note = f"{eliminated.sum(axis=0).mean():.3g} arms eliminated on average"
        return f"{self.policy}: pulls of the arm pulled least / most", BoundedMean(evenness(pulls)), note


def evenness(pulls: npt.NDArray[np.int32]) -> Samples:
    """(R,) for each run, the fewest pulls of an arm over the most; ``pulls`` is (K, R).

    >>> evenness(np.array([[3, 10], [4, 10]]))
    array([0.75, 1.  ])
    """
    return np.asarray(pulls.min(axis=0) / np.maximum(pulls.max(axis=0), 1))


@dataclass(frozen=True)
class Alike(ClaimTest, kind="alike"):
    """Every policy pulls an arm as often at one value of an axis as at another: the shares of its pulls differ by less
    than ``within``."""

    over: AxisName
    arm: int
    within: Positive

    def check(self, study: Study) -> None:
        check_arm(study, self.arm)
        if len(study.axis(self.over).values) != 2 or len(study.cells) != 2:
            raise ConfigurationError(
                f"over is {self.over!r}; give an axis with two values, and say where on all others."
            )

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        (a, first), (b, second) = evidence.along(self.over)
        for label in evidence.study.labels:
            x, y = (self._share(evidence, label, cells[0]) for cells in (first, second))
            yield Comparison(
                f"{label}: share of pulls of arm {self.arm}, {self.over} {a} less {self.over} {b}",
                BoundedMean(x - y, -1.0, 1.0),
                -self.within,
                self.within,
                f"{quantity(x.mean())} and {quantity(y.mean())}",
            )

    def _share(self, evidence: Evidence, label: str, cell: int) -> Samples:
        return np.asarray(evidence.counts("pulls", label, cell, self.arm) / evidence.study.cells[cell].horizon)
