"""Beta rewards."""

from __future__ import annotations

import scipy.stats as ss

from belated.rewards import Beta
from support.laws import RewardCase

CASES = [
    RewardCase(Beta(2.0, 6.0), ss.beta(2.0, 6.0)),
    RewardCase(Beta(0.3, 0.4), ss.beta(0.3, 0.4)),
    RewardCase(Beta(40.0, 10.0), ss.beta(40.0, 10.0)),
]
