"""Delays that depend on the reward."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem
from belated.delays import ByReward, Fixed, Geometric, Never, PacketLoss, Pareto, Poisson
from belated.engine.environment import Environment
from belated.rewards import Bernoulli, Beta, Categorical, Constant, RewardLaw, Scaled, Uniform
from sampling import sample
from support.draws import RARE, draw
from support.laws import DelayCase

CASES: list[DelayCase] = []  # it has no distribution without a reward law
EXAMPLE = ByReward({0: Fixed(0), 1: Fixed(1)})


def test_a_mapping_gives_each_value_its_own_law() -> None:
    law = ByReward({0.0: Fixed(3), 0.5: Never(), 1.0: Poisson(30), 0.75: Fixed(1)})
    rewards, delays = draw(Categorical([0.0, 0.5, 1.0], [0.3, 0.2, 0.5]), law)
    assert set(rewards) == {0.0, 0.5, 1.0}
    assert np.all(delays[rewards == 0.0] == 3)
    assert np.all(np.isinf(delays[rewards == 0.5]))
    late = delays[rewards == 1.0]
    found = np.bincount(late.astype(int), minlength=80)[:80]
    expected = ss.poisson(30).pmf(np.arange(80))
    keep = expected * len(late) > 10
    assert ss.chisquare(found[keep], expected[keep] / expected[keep].sum() * found[keep].sum()).pvalue > RARE


@pytest.mark.parametrize("reward", [Beta(2, 3), Uniform(0.1, 0.9), Bernoulli(0.3), Constant(0.3)], ids=repr)
def test_a_function_sees_the_reward(reward: Any) -> None:
    """A law for each tenth of [0, 1]: with 20 cells that is exact."""
    law = ByReward(lambda r: Fixed(int(10 * r)), cells=20)
    rewards, delays = draw(reward, law)
    inside = np.abs(rewards * 10 - np.round(rewards * 10)) > 1e-9
    assert np.array_equal(delays[inside], np.floor(rewards[inside] * 10))


def brute_force(cdf: Any, q: float) -> float:
    """The first g of 0, 1, 2, ... with cdf(g) >= q; inf if there is none up to the end of the scan."""
    reached = np.flatnonzero(cdf >= q)
    return int(reached[0]) if len(reached) else math.inf


def test_marginal_of_a_mapping() -> None:
    """P(D <= g) = sum over the rewards."""
    laws = {0.0: Geometric(4), 0.3: Never(), 1.0: Pareto(0.5)}
    reward = Categorical([0.0, 0.3, 1.0], [0.5, 0.2, 0.3])
    problem = Problem([Bernoulli(0.2), reward], [ByReward({0: Fixed(9), 1: Fixed(0)}), ByReward(laws)])
    g = np.arange(3000, dtype=np.float64)
    expected = 0.5 * ss.geom(0.2, loc=-1).cdf(g) + 0.3 * ss.pareto(0.5).cdf(g + 1)
    np.testing.assert_allclose(problem.delay_cdf(1, g), expected, rtol=1e-12)
    for q in (0.0, 0.05, 0.2, 0.4, 0.6, 0.7, 0.75):
        assert problem.delay_quantile(1, q) == brute_force(expected, q), q
    assert problem.delay_quantile(1, 0.8) == math.inf
    assert problem.delay_quantile(1, 0.81) == math.inf
    assert [problem.delay_quantile(0, q) for q in (0.0, 0.2, 0.2000001, 1.0)] == [0, 0, 9, 9]
    assert [problem.delay_cdf(0, g) for g in (-1, 0, 8, 9)] == pytest.approx([0.0, 0.2, 0.2, 1.0])


@pytest.mark.parametrize(
    ("reward", "truth"),
    [
        (Beta(2.0, 3.0), ss.beta(2.0, 3.0)),
        (Uniform(0.1, 0.7), ss.uniform(0.1, 0.6)),
        (Beta(0.2, 0.3), ss.beta(0.2, 0.3)),
    ],
    ids=lambda value: repr(value) if isinstance(value, RewardLaw) else "",
)
def test_marginal_of_a_function_of_continuous_rewards(reward: Any, truth: Any) -> None:
    """Steps at multiples of 1/cells are exact."""
    law = ByReward(lambda r: Fixed(2) if r < 0.25 else (Poisson(9) if r < 0.6 else PacketLoss(0.5)), cells=20)
    problem = Problem([reward], law)
    low, middle = truth.cdf(0.25), truth.cdf(0.6) - truth.cdf(0.25)
    g = np.arange(200, dtype=np.float64)
    expected = low * (g >= 2) + middle * ss.poisson(9).cdf(g) + 0.5 * truth.sf(0.6)
    np.testing.assert_allclose(problem.delay_cdf(0, g), expected, rtol=1e-10)
    assert problem.delay_law(0).never == pytest.approx(0.5 * truth.sf(0.6), rel=1e-9)
    for q in np.linspace(0.01, 0.99, 30).tolist():
        if np.abs(expected - q).min() > 1e-9:
            assert problem.delay_quantile(0, q) == brute_force(expected, q), q


def test_more_rewards_than_are_searched_one_by_one() -> None:
    """Eleven values: the table is halved, and a reward that stands in it is found exactly."""
    values = np.arange(11) / 10.0
    law = ByReward({value: Fixed(index) for index, value in enumerate(values.tolist())})
    rewards, delays = draw(Categorical(values.tolist(), [1 / 11] * 11), law)
    assert len(set(rewards)) == 11
    assert np.array_equal(delays, np.round(rewards * 10))


def test_rewards_that_are_rounded_have_the_law_of_their_value() -> None:
    """0.2 + 0.7 * 0.1 is drawn as 0.26999999999999996 in a problem whose scale is [0, 1]."""
    reward = Scaled(Categorical([0.0, 0.1, 1.0], [0.2, 0.5, 0.3]), 0.2, 0.9)
    laws = {value: Fixed(index) for index, value in enumerate(reward.atoms or ())}
    problem = Problem([Bernoulli(0.5), reward], [Fixed(0), ByReward(laws)])
    assert problem.scale == (0.0, 1.0)
    rewards, delays = sample(Environment(problem, horizon=10, seed=0, run=0), 1, 200)
    nearest = np.abs(rewards[:, None] - np.array(list(laws))).argmin(axis=1)
    assert set(nearest) == {0, 1, 2}
    assert np.array_equal(delays, nearest)


def test_one_law_for_arms_with_different_rewards() -> None:
    """The function is evaluated at the rewards of each arm."""
    law = ByReward(lambda reward: Fixed(int(100 * reward)))
    problem = Problem([Constant(0.25), Constant(0.75), Categorical([0.5, 1.0], [0.5, 0.5])], law)
    environment = Environment(problem, horizon=1000, seed=0, run=0)
    for arm in range(3):
        rewards, delays = sample(environment, arm, 200)
        assert np.array_equal(delays, np.round(100 * rewards)), arm
