"""Draws of the engine: marginals on any problem, independence of arms."""

from __future__ import annotations

import numpy as np
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem
from belated.delays import Pareto
from belated.engine.environment import Environment
from belated.rewards import Beta
from sampling import sample
from support.draws import HORIZON, RARE


def test_arms_with_equal_laws_draw_independently() -> None:
    problem = Problem([Beta(2, 2)] * 3, Pareto(0.5))
    draws = Environment(problem, horizon=HORIZON, seed=0, run=0)
    found = [sample(draws, arm, 50_000) for arm in range(3)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        for part in (0, 1):
            rho = ss.spearmanr(found[one][part], found[other][part])
            assert rho.pvalue > RARE


@strategies.examples(150)
@given(strategies.problems(), st.integers(0, 10**6))
def test_draws_follow_the_marginal_law_on_any_problem(problem: Problem, seed: int) -> None:
    """Empirical distribution functions of rewards and delays stay in a band that chance leaves once in 1e9 times."""
    count = 10_000
    band = np.sqrt(np.log(2e9) / (2 * count))
    g = np.unique(np.geomspace(1, HORIZON, 200).round()) - 1.0
    low, high = problem.scale
    beside = 0.0 if problem.scale == (0.0, 1.0) else 1e-9  # so that rounding does not move a reward over a point
    x = low + (high - low) * (np.linspace(-0.01, 1.01, 103) + beside)
    draws = Environment(problem, horizon=HORIZON, seed=seed, run=0)
    for arm in range(problem.arms):
        rewards, delays = sample(draws, arm, count)
        for values, points, cdf in (
            (delays, g, problem.delay_cdf(arm, g)),
            (low + (high - low) * rewards, x, problem.rewards[arm].cdf(x)),
        ):
            assert np.abs(np.searchsorted(np.sort(values), points, side="right") / count - cdf).max() < band
        assert abs(np.isinf(delays).mean() - problem.delay_law(arm).never) < band
