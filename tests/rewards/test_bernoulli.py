"""Bernoulli rewards."""

from __future__ import annotations

import scipy.stats as ss

from belated.rewards import Bernoulli
from support.laws import RewardCase

CASES = [
    RewardCase(Bernoulli(0.3), ss.bernoulli(0.3)),
    RewardCase(Bernoulli(0.0), ss.bernoulli(0.0)),
    RewardCase(Bernoulli(1.0), ss.bernoulli(1.0)),
    RewardCase(Bernoulli(1e-4), ss.bernoulli(1e-4)),
]
