"""PatientBandits."""

from __future__ import annotations

import math

from belated.kernel.math import exp, log
from belated.policies import PatientBandits
from support.plain_simulator import History, by_index

VARIANTS = [PatientBandits(alpha=0.3)]


def index(history: History, arm: int) -> float:
    """S/m + (sqrt(constant L / m) + 2 m^(-min(alpha, 1/2))), L = ln(2 K T^3); the bonuses are added first."""
    policy, m = history.policy, history.m[arm]
    ln_m = float(log(float(m)))
    if policy.horizon is not None:
        level = policy.constant * (math.log(2.0 * history.arms) + 3.0 * math.log(policy.horizon))
    else:
        level = policy.constant * math.log(math.pi**2 * history.arms / (3.0 * policy.delta))
        level += 2.0 * policy.constant * ln_m
    return history.S[arm] / m + (math.sqrt(level / m) + 2.0 * float(exp(-min(policy.alpha, 0.5) * ln_m)))


rule = by_index(index)
