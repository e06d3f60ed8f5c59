"""Mixtures of delay laws."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem
from belated.delays import ByReward, Fixed, Geometric, Mixture, Never, PacketLoss, Pareto, Poisson, Uniform
from belated.rewards import Bernoulli, Categorical
from support.draws import RARE, draw
from support.laws import DelayCase, integer_part, mixed, step

NESTED = Mixture([(3, Mixture([(1, Poisson(4)), (1, Never())])), (1, Fixed(20)), (0, Pareto(1)), (4, PacketLoss(0.25))])

CASES = [
    DelayCase(Mixture([(1, Fixed(3)), (3, Fixed(9))]), mixed((0.25, step(3)), (0.75, step(9))), longest=9),
    DelayCase(Mixture([(0.7, Geometric(5)), (0.3, Never())]), mixed((0.7, ss.geom(1 / 6, loc=-1).cdf)), 0.3),
    DelayCase(
        Mixture([(0.5, Pareto(0.5)), (0.5, Uniform(2, 5))]),
        mixed((0.5, integer_part(ss.pareto(0.5))), (0.5, ss.randint(2, 6).cdf)),
    ),
    DelayCase(NESTED, mixed((3 / 16, ss.poisson(4).cdf), (1 / 8, step(20)), (1 / 8, step(0))), 9 / 16),
]


@pytest.mark.parametrize("parts", [2, 3, 7, 10, 49, 100])
def test_rounding_of_weights_does_not_lose_the_end(parts: int) -> None:
    """Ten times 0.1 is less than 1 in floating point; the feedback comes all the same."""
    law = Mixture([(1.0 / parts, Fixed(number)) for number in range(parts)])
    assert law.quantile(1.0) == parts - 1
    values = np.linspace(0, 1, parts).tolist()
    by_reward = Problem([Categorical(values, [1.0 / parts] * parts)], ByReward(lambda r: Fixed(round(r * (parts - 1)))))
    assert by_reward.delay_quantile(0, 1.0) == parts - 1
    assert by_reward.delay_cdf(0, parts) == 1.0


def test_a_part_that_depends_on_the_reward() -> None:
    law = Mixture([(1, ByReward({0: Fixed(2), 1: Fixed(8)})), (3, Geometric(10))])
    rewards, delays = draw(Bernoulli(0.25), law)
    q = 10 / 11
    for value, at in ((0.0, 2), (1.0, 8)):
        some = delays[rewards == value]
        expected = 0.75 * (1 - q) * q ** np.arange(100)
        expected[at] += 0.25
        counts = np.bincount(np.minimum(some, 100).astype(int), minlength=101)
        shares = np.append(expected, 1 - expected.sum())
        assert ss.chisquare(counts, shares * len(some)).pvalue > RARE


def test_marginal_with_a_part_that_depends_on_the_reward() -> None:
    law = Mixture([(1, ByReward({0: Fixed(1), 1: Fixed(6)})), (1, Uniform(0, 9))])
    g = np.arange(12, dtype=np.float64)
    expected = 0.5 * (0.75 * (g >= 1) + 0.25 * (g >= 6)) + 0.5 * np.minimum((g + 1) / 10, 1)
    np.testing.assert_allclose(Problem([Bernoulli(0.25)], law).delay_cdf(0, g), expected, rtol=1e-12)


def test_rounded_weights_of_lost_feedback_give_no_negative_probability() -> None:
    """These weights add up to 1 + 2^-52."""
    weights = ss.binom(20, 0.8425820495234896).pmf(np.arange(21)).tolist()
    law = Mixture([(weight, Never()) for weight in weights])
    assert law.never == 1.0
    assert law.cdf([-1.0, 0.0, 1e6]).tolist() == [0.0, 0.0, 0.0]
