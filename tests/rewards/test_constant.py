"""Constant rewards."""

from __future__ import annotations

from belated.rewards import Constant
from support.laws import Points, RewardCase

CASES = [
    RewardCase(Constant(0.35), Points([0.35], [1.0])),
]
