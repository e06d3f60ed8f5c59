"""Log-normal delays."""

from __future__ import annotations

import scipy.stats as ss

from belated.delays import LogNormal
from support.laws import DelayCase, integer_part

CASES = [
    DelayCase(LogNormal(100.0, 1.5), integer_part(ss.lognorm(1.5, scale=100.0))),
    DelayCase(LogNormal(0.5, 0.3), integer_part(ss.lognorm(0.3, scale=0.5))),
]
