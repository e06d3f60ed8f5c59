"""Confidence radii: the paper's sqrt(2 c / x), with c given, c = ln(horizon), or a radius valid at all times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.kernel.jit import inline
from belated.kernel.math import log
from belated.policies._base.interface import tabulated
from belated.policies._base.policy import NO_TABLE, Policy
from belated.policies._base.state import Arm
from belated.validation import Confidence, PositiveProbability


class Level(NamedTuple):
    """The confidence level after x samples is c + growth ln x."""

    c: float
    growth: float
    table: npt.NDArray[np.float64] = NO_TABLE  # see forms.base.Policy.parameters


def level(confidence: float | None, horizon: int | None, delta: float, arms: int) -> tuple[float, float]:
    """(c, growth) of the three cases that :class:`ConfidencePolicy` names."""
    if confidence is not None:
        return confidence, 0.0
    if horizon is not None:
        return math.log(horizon), 0.0
    return math.log(math.pi**2 * arms / (3.0 * delta)) / 4.0, 0.5


@inline
def level_at(policy: Any, x: Any) -> Any:
    """The confidence level after x >= 1 samples."""
    if policy.growth > 0.0:
        return policy.c + policy.growth * log(x)
    return policy.c


radius = tabulated
"""(policy, x): sqrt(2 c / x), the paper's confidence radius after x >= 1 samples."""


@inline
def sharp(mean: Any, width: Any) -> Any:
    """How far above a mean of rewards in [0, 1] the true one may be, where sqrt(2c/M) is ``width``: the less of two
    solutions of M kl(mean, q) <= 4c, as kl(p, q) is at least 2 (q - p)^2, and (q - p)^2 / 2q."""
    budget = 2.0 * width * width
    return min(width, budget + math.sqrt(budget * (budget + 2.0 * mean)))


@inline
def observed_mean(arm: Arm) -> Any:
    """S / max(n, 1), the paper's estimate from what was observed: for policies with bounds of their own."""
    return arm.total / max(arm.observed, 1.0)


@inline
def lower_at(policy: Any, x: Any, total: Any) -> Any:
    """The lower confidence bound from x >= 1 samples with this sum."""
    return total / x - radius(policy, x)


@inline
def upper_at(policy: Any, x: Any, total: Any) -> Any:
    """The upper confidence bound, likewise."""
    return total / x + radius(policy, x)


@dataclass(frozen=True, kw_only=True)
class ConfidencePolicy(Policy):
    """A policy with the paper's confidence radius sqrt(2 c / x) after x samples of an arm.

    - ``confidence=c`` gives c itself; the paper's experiments have c = 1.
    - ``confidence=None`` with a horizon T gives c = ln T, the paper's theory: by Hoeffding's inequality a mean of x
      samples is off by more than sqrt(2 ln T / x) with probability at most 2 T^-4, and a union over K <= T arms and T
      sample sizes leaves 2 T^-2 (Lemma 1).
    - ``confidence=None`` without a horizon gives a radius valid at all times: c grows with the samples as c(x) =
      ln(pi^2 K x^2 / (3 delta)) / 4. By Hoeffding a mean of x samples is off by more than sqrt(2 c(x) / x) with
      probability at most 2 exp(-4 c(x)) = 6 delta / (pi^2 K x^2); the union over the K arms and all x = 1, 2, ... is
      delta, since the squares' reciprocals sum to pi^2 / 6. So with probability 1 - delta no interval is ever wrong,
      however long the bandit lives.
    """

    confidence: Confidence = None
    delta: PositiveProbability = 0.05

    class KernelParams(Level):
        """The confidence level."""

        __slots__ = ()

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return level(self.confidence, self.horizon, self.delta, arms)

    @staticmethod
    def bonus(policy: Any, x: Any) -> Any:
        return math.sqrt(2.0 * level_at(policy, x) / x)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return lower_at(policy, max(arm.observed, 1.0), arm.total)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return upper_at(policy, max(arm.observed, 1.0), arm.total)


@inline
def _sums(arm: Arm) -> Any:
    """What an arm's answers are at least, and at most, together."""
    return arm.total, arm.total + (arm.pulls - arm.observed)


@dataclass(frozen=True, kw_only=True)
class BracketPolicy(ConfidencePolicy):
    """A policy whose bounds hold whatever the missing answers are: S/m - sqrt(2c/m) and (S + m - n)/m +
    sqrt(2c/m)."""

    @staticmethod
    def sums(policy: Any, arm: Arm) -> Any:
        return _sums(arm)

    @staticmethod
    def bounds_at(policy: Any, pulls: Any, least: Any, most: Any) -> Any:
        m = max(pulls, 1.0)
        return lower_at(policy, m, least), upper_at(policy, m, most)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return lower_at(policy, max(arm.pulls, 1.0), _sums(arm)[0])

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return upper_at(policy, max(arm.pulls, 1.0), _sums(arm)[1])
