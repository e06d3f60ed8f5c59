"""Rewards on a few values."""

from __future__ import annotations

from belated.rewards import Categorical
from support.laws import Points, RewardCase

CASES = [
    RewardCase(Categorical([0.0, 0.5, 1.0], [0.2, 0.5, 0.3]), Points([0.0, 0.5, 1.0], [0.2, 0.5, 0.3])),
    RewardCase(Categorical([0.9, 0.1, 0.4, 0.7], [0.1, 0.6, 0.0, 0.3]), Points([0.9, 0.1, 0.7], [0.1, 0.6, 0.3])),
    RewardCase(Categorical([0.25], [1.0]), Points([0.25], [1.0])),
]
