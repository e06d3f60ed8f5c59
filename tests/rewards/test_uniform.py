"""Uniform rewards."""

from __future__ import annotations

import scipy.stats as ss

from belated.rewards import Uniform
from support.laws import RewardCase

CASES = [
    RewardCase(Uniform(0.0, 1.0), ss.uniform(0.0, 1.0)),
    RewardCase(Uniform(0.2, 0.55), ss.uniform(0.2, 0.35)),
]
