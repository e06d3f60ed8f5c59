"""Problems: means, gaps, marginal delays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import strategies
from belated import Problem
from belated.delays import Empirical, Fixed
from belated.errors import InvalidParameter
from belated.rewards import Bernoulli, Beta, Categorical, Constant, Uniform


def brute_force(cdf: Any, q: float) -> float:
    """The first g of 0, 1, 2, ... with cdf(g) >= q; inf if there is none up to the end of the scan."""
    reached = np.flatnonzero(cdf >= q)
    return int(reached[0]) if len(reached) else math.inf


@strategies.examples(100)
@given(strategies.problems())
def test_marginals_are_distributions(problem: Problem) -> None:
    g = np.concatenate([np.arange(-2, 300), [10.0**k for k in range(3, 16)]])
    for arm in range(problem.arms):
        cdf = problem.delay_cdf(arm, g)
        assert np.all(np.diff(cdf) >= -1e-12)
        assert np.all((cdf >= 0.0) & (cdf <= 1.0 + 1e-12))
        assert np.all(cdf[:2] == 0.0)
        found = problem.delay_quantile(arm, 0.5)
        if found < 300:
            assert found == brute_force(cdf[2:302], 0.5)


def test_means_gaps_and_best() -> None:
    laws = [Beta(1, 3), Categorical([0.2, 0.8], [0.5, 0.5]), Uniform(0.4, 0.6), Constant(0.1), Bernoulli(0.45)]
    problem = Problem(laws, Fixed(1))
    np.testing.assert_allclose(problem.means, [0.25, 0.5, 0.5, 0.1, 0.45], rtol=1e-15)
    np.testing.assert_allclose(problem.gaps, [0.25, 0.0, 0.0, 0.4, 0.05], atol=1e-15)
    assert (problem.best, problem.arms) == (1, 5)
    assert not problem.reward_dependent
    with pytest.raises(ValueError, match="read-only"):
        problem.means[0] = 1.0


def test_kinds_of_answers() -> None:
    problem = Problem([Bernoulli(0.5)], [Empirical([1, 2, 3])])
    assert isinstance(problem.delay_cdf(0, 2), float)
    assert isinstance(problem.delay_cdf(0, [1, 2]), np.ndarray)
    assert problem.delay_cdf(0, np.zeros((2, 3))).shape == (2, 3)
    assert isinstance(problem.delay_quantile(0, 0.5), int)


@pytest.mark.parametrize("arm", [-1, 2, 0.0, "0", None, True])
def test_bad_arms(arm: Any) -> None:
    problem = Problem([Bernoulli(0.5)] * 2, Fixed(1))
    for ask in (lambda: problem.delay_quantile(arm, 0.5), lambda: problem.delay_cdf(arm, 3)):
        with pytest.raises(InvalidParameter, match="from 0 to 1") as caught:
            ask()
        assert repr(arm) in str(caught.value)
