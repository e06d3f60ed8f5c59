"""Any distribution of scipy.stats as a reward law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as ss
from scipy.integrate import quad

from belated import Problem, simulate
from belated.delays import ByReward, Fixed
from belated.errors import InvalidParameter
from belated.policies import UCB
from belated.rewards import Bernoulli, FromScipy, Scaled
from belated.rewards._base import RewardOnScale
from support.draws import draw
from support.laws import RewardCase

CASES = [
    RewardCase(FromScipy(ss.norm(100, 20)), ss.norm(100, 20), (-100, 300)),
    RewardCase(FromScipy(ss.expon(scale=30)), ss.expon(scale=30), (0, 900)),
    RewardCase(FromScipy(ss.poisson(4)), ss.poisson(4), (0, 60)),
    RewardCase(FromScipy(ss.poisson(4, loc=0.5)), ss.poisson(4, loc=0.5), (0, 60)),
    RewardCase(FromScipy(ss.skellam(9, 4)), ss.skellam(9, 4), (-50, 60)),
    RewardCase(FromScipy(ss.binom(10, 0.3)), ss.binom(10, 0.3)),
    RewardCase(FromScipy(ss.chi2(1)), ss.chi2(1), (0, 100)),
    RewardCase(FromScipy(ss.beta(0.5, 0.5)), ss.beta(0.5, 0.5)),
    RewardCase(FromScipy(ss.lognorm(1.0, scale=20)), ss.lognorm(1.0, scale=20), (0, 1e6)),
    RewardCase(Scaled(FromScipy(ss.beta(2, 3)), 10, 30), ss.beta(2, 3, loc=10, scale=20)),
]


@pytest.mark.parametrize("frozen", [ss.norm(100, 20), ss.expon(scale=30), ss.norm(3, 0.001), ss.t(3, loc=50, scale=9)])
def test_the_draws_have_the_mean_and_the_tails(frozen: Any) -> None:
    low, high = -1000.0, 1000.0
    rewards, _ = draw(FromScipy(frozen), Fixed(0), reward_range=(low, high), seed=7)
    assert abs(rewards.mean() - frozen.mean()) < 4.5 * rewards.std() / np.sqrt(rewards.size)
    for q in (0.001, 0.01, 0.99, 0.999):
        below = np.mean(rewards <= frozen.ppf(q))
        assert abs(below - q) < 4.5 * np.sqrt(q * (1 - q) / rewards.size)


def test_rewards_outside_of_the_range_are_clipped() -> None:
    law = FromScipy(ss.norm(100, 20))
    problem = Problem([law], Fixed(0), reward_range=(40, 160))
    assert problem.clipped[0] == pytest.approx(2 * ss.norm.sf(3.0))
    assert problem.means.tolist() == [100.0]
    rewards, _ = draw(law, Fixed(0), reward_range=(-20, 160))
    assert rewards.max() == 160.0
    assert np.mean(rewards == 160.0) == pytest.approx(ss.norm.sf(3.0), abs=0.0005)
    met = problem.rewards_on_scale[0]
    assert float(met.cdf(39.9)) == 0.0
    assert float(met.cdf(160.0)) == 1.0
    assert met.mean == pytest.approx(100.0, abs=1e-3)


def test_an_unbounded_law_needs_a_range_and_the_error_gives_one() -> None:
    with pytest.raises(
        InvalidParameter, match=r"arm 1, FromScipy\(norm\(100, 20\)\), are unbounded.*reward_range=\("
    ) as caught:
        Problem([Bernoulli(0.5), FromScipy(ss.norm(100, 20))], Fixed(1))
    text = str(caught.value)
    advice = text[text.index("reward_range=(") + 14 : text.index(")", text.index("reward_range=("))]
    low, high = map(float, advice.split(","))
    assert Problem([FromScipy(ss.norm(100, 20))], Fixed(1), reward_range=(low, high)).clipped[0] < 1.01e-4


def test_a_range_that_clips_much_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"31\.73% of the rewards of arm 0.*at least 99%"):
        Problem([FromScipy(ss.norm(100, 20))], Fixed(1), reward_range=(80, 120))
    with pytest.raises(InvalidParameter, match=r"30\.00% of the rewards of arm 0, Bernoulli"):
        Problem([Bernoulli(0.3)], Fixed(1), reward_range=(0, 0.5))


def test_a_range_that_changes_the_best_arm_is_refused() -> None:
    jackpot = FromScipy(ss.rv_discrete(values=([0, 1000], [0.995, 0.005]))())
    with pytest.raises(InvalidParameter, match=r"arm 1 has the largest mean, and arm 0 has it in truth"):
        Problem([jackpot, FromScipy(ss.norm(4, 0.5))], Fixed(1), reward_range=(0, 10))
    assert Problem([jackpot, FromScipy(ss.norm(4, 0.5))], Fixed(1), reward_range=(0, 1000)).best == 0


@pytest.mark.parametrize(
    ("dist", "reward_range"),
    [
        (ss.norm(503, 0.1), (0, 1000)),
        (ss.norm(3, 1e-4), (0, 1e6)),
        (ss.norm(100, 40), (0, 200)),
        (ss.expon(scale=50), (10, 300)),
        (ss.lognorm(2.5), (0, 5000)),
        (ss.t(1.5), (-20, 1000)),
    ],
    ids=["narrow", "very narrow", "wide", "below the range", "skewed", "heavy tails"],
)
def test_the_mean_of_clipped_rewards(dist: Any, reward_range: tuple[float, float]) -> None:
    low, high = reward_range
    points = [point for point in dist.ppf([1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9]) if low < point < high]
    area = quad(dist.sf, low, high, points=points, limit=1000, epsabs=1e-10 * (high - low))[0]
    found = RewardOnScale(FromScipy(dist), low, high).mean
    assert found == pytest.approx(low + area, abs=1e-7 * (high - low))


def test_narrow_rewards_keep_their_best_arm() -> None:
    laws = [FromScipy(ss.norm(503, 0.1)), FromScipy(ss.norm(502.9, 3))]
    assert Problem(laws, Fixed(1), reward_range=(0, 1000)).best == 0


def test_values_of_a_discrete_law() -> None:
    law = FromScipy(ss.rv_discrete(values=([1, 2, 7], [0.2, 0.3, 0.5]))())
    assert law.atoms == pytest.approx({1.0: 0.2, 2.0: 0.3, 7.0: 0.5})
    assert law.support == (1.0, 7.0)
    atoms = FromScipy(ss.poisson(3)).atoms
    assert atoms is not None
    assert atoms[2.0] == pytest.approx(ss.poisson(3).pmf(2))
    assert FromScipy(ss.zipf(2.5)).atoms is None  # too many
    assert FromScipy(ss.norm()).atoms is None


def test_a_heavy_tail_is_sampled_up_to_its_range() -> None:
    rewards, _ = draw(FromScipy(ss.zipf(2.5)), Fixed(0), reward_range=(0, 10_000))
    for value in (1, 2, 3, 20):
        share, truth = np.mean(rewards <= value + 0.5), ss.zipf(2.5).cdf(value)
        assert abs(share - truth) < 4.5 * np.sqrt(truth * (1 - truth) / rewards.size) + 0.001


def test_regret_is_that_of_the_true_means() -> None:
    problem = Problem([FromScipy(ss.norm(100, 20)), FromScipy(ss.norm(110, 20))], Fixed(5), reward_range=(0, 200))
    result = simulate(problem, UCB(confidence=0.2), horizon=500, runs=4)
    assert np.array_equal(result.final[0], 10.0 * result.pulls[0, :, 0])
    assert result.pulls[0, :, 1].mean() > 250


def test_delays_by_reward() -> None:
    problem = Problem([FromScipy(ss.poisson(2))], ByReward(lambda orders: Fixed(int(orders))), reward_range=(0, 10))
    for g in range(9):
        assert problem.delay_cdf(0, g) == pytest.approx(ss.poisson(2).cdf(g))
    assert problem.delay_cdf(0, 10) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (ss.cauchy(), "mean is nan"),
        (ss.pareto(0.5), "mean is inf"),
        (ss.gamma, "is not a single distribution"),
        (3.0, "is not a single distribution"),
        (ss.norm([1, 2]), "is not a single distribution"),
        (ss.norm(0, -1), "mean is nan"),
    ],
)
def test_mistakes(frozen: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        FromScipy(frozen)
