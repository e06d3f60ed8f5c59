"""Distributions of scipy.stats as delays."""

from __future__ import annotations

import numpy as np
import scipy.stats as ss

from belated.delays import FromScipy
from belated.rewards import FromScipy as RewardFromScipy
from support.laws import DelayCase, integer_part

CASES = [
    DelayCase(FromScipy(ss.expon(scale=30)), integer_part(ss.expon(scale=30))),
    DelayCase(FromScipy(ss.gamma(0.4, scale=50)), integer_part(ss.gamma(0.4, scale=50))),
    DelayCase(FromScipy(ss.uniform(2, 8)), ss.randint(2, 10).cdf, longest=9),
    DelayCase(FromScipy(ss.uniform(0.5, 3)), lambda g: np.clip((np.asarray(g) + 0.5) / 3, 0, 1), longest=3),
    DelayCase(FromScipy(ss.poisson(12)), ss.poisson(12).cdf),
    DelayCase(FromScipy(ss.randint(4, 9)), ss.randint(4, 9).cdf, longest=8),
    DelayCase(FromScipy(ss.nbinom(3, 0.1)), ss.nbinom(3, 0.1).cdf),
    DelayCase(FromScipy(ss.poisson(3, loc=0.5)), ss.poisson(3).cdf),
    DelayCase(FromScipy(ss.lomax(0.6, scale=10)), integer_part(ss.lomax(0.6, scale=10))),
]


def test_both_laws_are_written_alike() -> None:
    frozen = ss.gamma(np.float64(2.5), scale=np.int64(3))
    assert repr(FromScipy(frozen)) == repr(RewardFromScipy(frozen)) == "FromScipy(gamma(2.5, scale=3))"
    assert repr(FromScipy(ss.expon(0.0, 12.3456789))) == "FromScipy(expon(0.0, 12.3456789))"
