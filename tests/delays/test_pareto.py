"""Heavy-tailed delays."""

from __future__ import annotations

import math

import pytest
import scipy.stats as ss

from belated.delays import Pareto
from support.laws import DelayCase, integer_part

CASES = [
    DelayCase(Pareto(1.0), integer_part(ss.pareto(1.0))),
    DelayCase(Pareto(0.2), integer_part(ss.pareto(0.2))),
    DelayCase(Pareto(2.5, 7.3), integer_part(ss.pareto(2.5, scale=7.3))),
    DelayCase(Pareto(0.7, 0.2), integer_part(ss.pareto(0.7, scale=0.2))),
]


def test_quantiles_beyond_all_integers() -> None:
    assert Pareto(0.2).quantile(0.9999) == pytest.approx(1e20, rel=1e-9)
    assert Pareto(0.01).quantile(0.5) == pytest.approx(2.0**100, rel=1e-9)
    assert Pareto(0.01, scale=3.0).quantile(0.5) == pytest.approx(3.0 * 2.0**100, rel=1e-9)
    assert Pareto(1e-5).quantile(0.9) == math.inf
