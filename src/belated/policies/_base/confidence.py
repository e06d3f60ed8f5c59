"""Confidence radii: the paper's sqrt(2 c / x), with c given, c = ln(horizon), or a radius valid at all times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from belated.kernel.jit import inline
from belated.kernel.math import log
from belated.policies._base.interface import radius
from belated.policies._base.policy import Policy
from belated.policies._base.state import Arm
from belated.validation import Confidence, PositiveProbability


@inline
def confidence_level(policy: Any, x: Any) -> Any:
    """c after x >= 1 samples."""
    if policy.growth > 0.0:
        return policy.c + policy.growth * log(x)
    return policy.c


@inline
def observed_mean(arm: Arm) -> Any:
    """S / max(n, 1): the mean of the feedback that arrived."""
    return arm.total / max(arm.observed, 1.0)


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
      delta, since the reciprocals of the squares sum to pi^2 / 6. So with probability 1 - delta every interval holds at
      all times.

    :func:`~belated.policies.radius` is the radius. Unless a policy overrides them, the bounds are S/n ± sqrt(2c/n) with
    n the number of feedbacks, at least 1, and S their sum."""

    confidence: Confidence = None
    delta: PositiveProbability = 0.05

    class KernelParams(NamedTuple):
        """The confidence level after x samples is c + growth ln x."""

        c: float
        growth: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        if self.confidence is not None:
            return self.confidence, 0.0
        if self.horizon is not None:
            return math.log(self.horizon), 0.0
        return math.log(math.pi**2 * arms / (3.0 * self.delta)) / 4.0, 0.5

    def uses_theory(self, horizon: int) -> bool:
        """Whether c = ln T for this horizon T, as the theorems assume."""
        return self.confidence is None and self.horizon in (None, horizon)

    @staticmethod
    def bonus(policy: Any, x: Any) -> Any:
        return math.sqrt(2.0 * confidence_level(policy, x) / x)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        n = max(arm.observed, 1.0)
        return arm.total / n - radius(policy, n)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        n = max(arm.observed, 1.0)
        return arm.total / n + radius(policy, n)
