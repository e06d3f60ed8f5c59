"""Geometric delays."""

from __future__ import annotations

import math

import pytest
import scipy.stats as ss

from belated.delays import Geometric
from support.laws import DelayCase, step

CASES = [
    DelayCase(Geometric(20.0), ss.geom(1 / 21, loc=-1).cdf),
    DelayCase(Geometric(0.0), step(0), longest=0),
    DelayCase(Geometric(0.3), ss.geom(1 / 1.3, loc=-1).cdf),
    DelayCase(Geometric(3000.0), ss.geom(1 / 3001, loc=-1).cdf),
]


def test_a_quantile_of_long_delays() -> None:
    assert Geometric(1e9).quantile(0.5) == pytest.approx(1e9 * math.log(2), rel=1e-6)
