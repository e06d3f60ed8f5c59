"""Poisson delays."""

from __future__ import annotations

import scipy.stats as ss

from belated.delays import Poisson
from support.laws import DelayCase, step

CASES = [
    DelayCase(Poisson(0.5), ss.poisson(0.5).cdf),
    DelayCase(Poisson(0.0), step(0), longest=0),
    DelayCase(Poisson(200.0), ss.poisson(200.0).cdf),
    DelayCase(Poisson(19_950.0), ss.poisson(19_950.0).cdf),
]
