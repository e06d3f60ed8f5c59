"""Uniform delays."""

from __future__ import annotations

import scipy.stats as ss

from belated.delays import Uniform
from support.laws import DelayCase, step

CASES = [
    DelayCase(Uniform(3, 12), ss.randint(3, 13).cdf, longest=12),
    DelayCase(Uniform(0, 0), step(0), longest=0),
    DelayCase(Uniform(0, 6), ss.randint(0, 7).cdf, longest=6),
    DelayCase(Uniform(500, 30_000), ss.randint(500, 30_001).cdf, longest=30_000),
]
