"""Tests of the course of a run: flat stretches of its curve, slopes, lines."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from belated.errors import ConfigurationError
from belated.formatting import quantity
from belated.simulation.result_builder import KEPT_NUMBERS
from belated.studies.claims._checks import joined
from belated.studies.claims.base import ClaimTest, kind
from belated.studies.claims.estimate import BoundedMean, Proportion, Samples, ratio
from belated.studies.claims.evidence import Evidence
from belated.studies.claims.verdict import Comparison, Verdict, all_hold
from belated.studies.study import PolicyName, Study
from belated.validation import Count


def flat_shares(curves: Samples) -> Samples:
    """(R,) of each run's curve (R, C), at evenly spaced checkpoints, the share of steps without regret among those up
    to the last with.

    >>> flat_shares(np.array([[1.0, 1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0]]))
    array([0.5, 0. ])
    """
    rising = np.diff(curves, axis=1, prepend=0.0) > 0.0
    steps = rising.shape[1] - np.argmax(rising[:, ::-1], axis=1)
    return np.asarray(1.0 - rising.sum(axis=1) / steps)


def flat_stretches(curves: Samples, steps: int) -> npt.NDArray[np.int64]:
    """(R,) how many flat stretches of at least so many steps each curve (R, C) has before its last rise.

    >>> flat_stretches(np.array([[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 5.0, 5.0]]), 2)
    array([2])
    """
    rising = np.diff(curves, axis=1, prepend=0.0) > 0.0
    lengths = [np.diff(np.flatnonzero(row), prepend=-1) - 1 for row in rising]
    return np.array([int((length >= steps).sum()) for length in lengths])


def rising_slopes(curves: Samples, rounds: int) -> Samples:
    """(R,) of each run, regret for each round of the steps with regret; ``rounds`` is the length of a step."""
    rising = (np.diff(curves, axis=1, prepend=0.0) > 0.0).sum(axis=1)
    return np.asarray(curves[:, -1] / np.maximum(rising * rounds, 1))


def evenly(study: Study) -> int:
    """The number of checkpoints; an error if they are not evenly spaced, or but one."""
    shortest = min(cell.horizon for cell in study.cells)
    if not isinstance(study.checkpoints, int) or not 2 <= study.checkpoints <= shortest:
        raise ConfigurationError(
            f"the study {study.name!r} has checkpoints = {study.checkpoints}; a test of curves needs a number of "
            f"evenly spaced ones, from 2 to {shortest:,}."
        )
    if study.most * study.checkpoints * len(study.labels) > KEPT_NUMBERS:
        raise ConfigurationError(
            f"the study {study.name!r} has {study.most:,} runs at the most and {study.checkpoints} checkpoints: too "
            "many to keep all curves; give fewer."
        )
    return study.checkpoints


@kind("flat")
@dataclass(frozen=True)
class Flat(ClaimTest):
    """On average over the runs, the share of flat stretches (no regret at all between two checkpoints) in the part of
    the curve before its last rise is between ``low`` and ``high``."""

    policy: PolicyName
    low: float = -math.inf
    high: float = math.inf

    def check(self, study: Study) -> None:
        evenly(study)

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = [
            Comparison(
                joined(evidence.named(cell), f"share of flat stretches in {self.policy}'s curves"),
                BoundedMean(flat_shares(evidence.curve(self.policy, cell))),
                self.low,
                self.high,
            )
            for cell in evidence.cells
        ]
        return all_hold(comparisons, risk)


@kind("flat stretches")
@dataclass(frozen=True)
class FlatStretches(ClaimTest):
    """The share of runs whose curve has at least ``least`` flat stretches of ``steps`` steps or more before its last
    rise is between ``low`` and ``high``."""

    policy: PolicyName
    least: Count
    steps: Count
    low: float = -math.inf
    high: float = math.inf

    def check(self, study: Study) -> None:
        evenly(study)

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for cell in evidence.cells:
            counts = flat_stretches(evidence.curve(self.policy, cell), self.steps)
            share = Proportion(int((counts >= self.least).sum()), counts.size)
            what = f"share of runs in which {self.policy}'s curve has {self.least} flat stretches or more"
            comparisons.append(
                Comparison(
                    joined(evidence.named(cell), what), share, self.low, self.high, f"{counts.mean():.3g} on average"
                )
            )
        return all_hold(comparisons, risk)


@kind("same slope")
@dataclass(frozen=True)
class SameSlope(ClaimTest):
    """Where it rises, the curve of ``policy`` is between ``low`` and ``high`` times as steep as that of ``than``."""

    policy: PolicyName
    than: PolicyName
    low: float
    high: float

    def check(self, study: Study) -> None:
        evenly(study)

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for cell in evidence.cells:
            step = int(evidence.results[cell].rounds[0])
            x, y = (rising_slopes(evidence.curve(label, cell), step) for label in (self.policy, self.than))
            comparisons.append(
                Comparison(
                    joined(evidence.named(cell), f"slope of {self.policy} / slope of {self.than}"),
                    ratio(x, y),
                    self.low,
                    self.high,
                    f"{quantity(x.mean())} and {quantity(y.mean())} a round",
                )
            )
        return all_hold(comparisons, risk)


@kind("straight")
@dataclass(frozen=True)
class Straight(ClaimTest):
    """The regret of the second half of a run is between ``low`` and ``high`` times that of the first half."""

    policy: PolicyName
    low: float = -math.inf
    high: float = math.inf

    def check(self, study: Study) -> None:
        if evenly(study) % 2:
            raise ConfigurationError(f"checkpoints is {study.checkpoints}; give an even number, so that one is at T/2.")

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        comparisons = []
        for cell in evidence.cells:
            rounds = evidence.results[cell].rounds
            half = rounds.size // 2 - 1
            curves = evidence.curve(self.policy, cell)
            at_half, at_end = curves[:, half], curves[:, -1]
            comparisons.append(
                Comparison(
                    joined(evidence.named(cell), f"{self.policy}: regret of the second half / of the first"),
                    ratio(at_end - at_half, at_half),
                    self.low,
                    self.high,
                    f"{quantity(at_half.mean())} at round {rounds[half]:,}, {quantity(at_end.mean())} at the end",
                )
            )
        return all_hold(comparisons, risk)
