"""Rewards in another unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem, simulate
from belated.delays import ByReward, Fixed, Geometric, Mixture, Never
from belated.engine.environment import Environment
from belated.errors import InvalidParameter, UnsupportedSupport
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli, Beta, Categorical, Constant, FromScipy, RewardLaw, Scaled, Uniform
from belated.specs.problems import problem_spec, read_problem
from support.laws import Points, RewardCase

CASES = [
    RewardCase(Scaled(Beta(2.0, 5.0), 0, 200), ss.beta(2.0, 5.0, scale=200)),
    RewardCase(Scaled(Uniform(0.25, 0.75), -3, 5), ss.uniform(-1, 4)),
    RewardCase(Scaled(Bernoulli(0.3), 10, 12.5), Points([10.0, 12.5], [0.7, 0.3])),
    RewardCase(
        Scaled(Categorical([0.0, 0.2, 1.0], [0.5, 0.2, 0.3]), 3.3, 7.7), Points([3.3, 4.18, 7.7], [0.5, 0.2, 0.3])
    ),
    RewardCase(Scaled(Scaled(Beta(2.0, 2.0), 0.2, 0.7), 100, 200), ss.beta(2.0, 2.0, loc=120, scale=50)),
    RewardCase(Scaled(Constant(0.5), 0, 8), Points([4.0], [1.0])),
]

LAWS: list[RewardLaw] = [
    Beta(2.0, 5.0),
    Bernoulli(0.3),
    Uniform(0.1, 0.8),
    Categorical([0.0, 0.25, 1.0], [0.5, 0.3, 0.2]),
]
FIELDS = ("pulls", "observed", "in_flight", "lost", "eliminated_at")


@pytest.mark.parametrize("laws", [LAWS, [Bernoulli(0.3), Bernoulli(0.5), Bernoulli(0.4)]], ids=["mixed", "binary"])
@pytest.mark.parametrize(
    "delay", [Fixed(20), Mixture([(0.8, Geometric(30.0)), (0.2, Never())])], ids=["fixed", "random"]
)
def test_a_scaled_problem_has_the_pulls_of_its_twin(laws: list[RewardLaw], delay: Any) -> None:
    policies = [UCB(confidence=0.2), SuccessiveElimination(confidence=0.1)]
    options: dict[str, Any] = {"horizon": 1500, "runs": 12, "seed": 3}
    plain = simulate(Problem(laws, delay), policies, **options)
    scaled = simulate(Problem([Scaled(law, -30, 170) for law in laws], delay), policies, **options)
    for field in FIELDS:
        assert np.array_equal(getattr(plain, field), getattr(scaled, field)), field
    for field in ("final", "curves", "mean", "stderr"):
        np.testing.assert_allclose(getattr(scaled, field), 200 * getattr(plain, field), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(scaled.difference("UCB", "SE").mean, 200 * plain.difference("UCB", "SE").mean, rtol=1e-9)


def test_a_wider_range_changes_what_policies_meet_and_not_the_unit() -> None:
    arms = [Scaled(law, 0, 200) for law in LAWS]
    problem, wide = Problem(arms, Fixed(5)), Problem(arms, Fixed(5), reward_range=(-200, 600))
    assert (problem.scale, wide.scale) == ((0.0, 200.0), (-200.0, 600.0))
    assert problem.gaps.tolist() == wide.gaps.tolist()
    assert problem != wide
    one, other = (Environment(each, horizon=100, seed=1, run=0) for each in (problem, wide))
    for arm in range(len(arms)):
        for rank in range(50):
            assert other.pull(arm, rank, 1)[0] == 0.25 + 0.25 * one.pull(arm, rank, 1)[0]


def test_arms_of_different_ranges_have_one_scale() -> None:
    """The second text of the map: the arm's own draw, in the unit of the rewards, then (r - low) / (high - low)."""
    ranges = [(0.0, 200.0), (50.0, 100.0), (-100.0, 0.0), (0.0, 1.0)]
    arms = [Scaled(law, *ends) for law, ends in zip(LAWS, ranges, strict=True)]
    problem = Problem(arms, Fixed(5))
    assert problem.scale == (-100.0, 200.0)
    own = Environment(Problem(LAWS, Fixed(5)), horizon=100, seed=4, run=2)
    mapped = Environment(problem, horizon=100, seed=4, run=2)
    for arm, (low, high) in enumerate(ranges):
        for rank in range(200):
            reward = low + (high - low) * own.pull(arm, rank, 1)[0]
            assert mapped.pull(arm, rank, 1)[0] == pytest.approx((reward + 100.0) / 300.0, abs=1e-15)
    np.testing.assert_allclose(problem.means, [200 * 2 / 7, 65.0, -55.0, 0.275])
    assert problem.best == 1


def test_laws_on_the_unit_interval_have_the_scale_and_the_bits_of_before() -> None:
    problem = Problem(LAWS, Fixed(5))
    assert problem.scale == (0.0, 1.0)
    assert problem.rewards_on_scale is problem.rewards
    assert problem.clipped.tolist() == [0.0] * 4
    assert "reward_range" not in problem_spec(problem)


def test_delays_by_reward_are_in_the_unit_of_the_rewards() -> None:
    sale = Problem(
        [Scaled(Bernoulli(0.25), 0, 80), Scaled(Bernoulli(0.5), 0, 40)],
        ByReward({0: Fixed(1), 40: Fixed(2), 80: Fixed(3)}),
    )
    assert [sale.delay_cdf(0, g) for g in (0, 1, 2, 3)] == [0.0, 0.75, 0.75, 1.0]
    assert [sale.delay_cdf(1, g) for g in (0, 1, 2)] == [0.0, 0.5, 1.0]
    draws = Environment(sale, horizon=50, seed=0, run=0)
    pairs = {(arm, *draws.pull(arm, rank, 1)) for arm in (0, 1) for rank in range(60)}
    assert pairs == {(0, 0.0, 1), (0, 1.0, 3), (1, 0.0, 1), (1, 0.5, 2)}
    smooth = Problem([Scaled(Uniform(0, 1), 100, 300)], ByReward(lambda euros: Fixed(int(euros)), cells=20))
    assert (smooth.delay_quantile(0, 0.04), smooth.delay_quantile(0, 1.0)) == (105, 295)
    draws = Environment(smooth, horizon=1000, seed=0, run=0)
    for rank in range(300):
        reward, delay = draws.pull(0, rank, 1)
        assert delay == 105 + 10 * int(20 * reward)
    again = read_problem(problem_spec(smooth))
    assert isinstance(again, Problem)
    assert [again.delay_quantile(0, q / 50) for q in range(51)] == [smooth.delay_quantile(0, q / 50) for q in range(51)]


@pytest.mark.parametrize(
    "reward",
    [
        Scaled(Bernoulli(0.5), 0.5, 200),  # the middle of its values is 0.5 on [0, 1]
        Scaled(Bernoulli(0.5), 0.6, 200),
        Scaled(Bernoulli(0.5), -300, -100),
        Scaled(Categorical([0.0, 0.5, 1.0], [0.2, 0.3, 0.5]), 0.25, 200),
    ],
    ids=repr,
)
def test_each_reward_has_the_delay_of_its_value(reward: Scaled) -> None:
    values = np.array(list(reward.atoms or ()))
    law = ByReward({value: Fixed(1000 * number) for number, value in enumerate(values.tolist())})
    rewards, delays = Problem([reward], law).sample(0, 200, seed=1)
    nearest = np.abs(rewards[:, None] - values).argmin(axis=1)
    assert set(nearest) == set(range(len(values)))
    assert np.array_equal(delays, 1000 * nearest)


def test_a_mapping_without_a_reward_says_which_in_its_unit() -> None:
    with pytest.raises(InvalidParameter, match=r"Scaled rewards can be 80\.0, .* add one for 80\.0"):
        Problem([Scaled(Bernoulli(0.5), 0, 80)], ByReward({0: Fixed(1), 1: Fixed(2)}))


def test_files() -> None:
    table = {
        "rewards": [{"law": "Scaled", "of": {"law": "Beta", "a": 2, "b": 5}, "low": 0, "high": 200}] * 2,
        "delays": {"law": "Fixed", "rounds": 3},
        "reward_range": [0, 400],
    }
    problem = read_problem(table)
    assert problem == Problem([Scaled(Beta(2, 5), 0, 200)] * 2, Fixed(3), reward_range=(0, 400))
    assert problem_spec(problem)["reward_range"] == [0.0, 400.0]
    family = read_problem(
        {
            **table,
            "rewards": {
                "law": "Scaled",
                "of": {"law": "Bernoulli", "mean": {"uniform": [0.1, 0.9]}},
                "low": 0,
                "high": {"uniform": [10, 20]},
                "repeat": 3,
            },
        }
    )
    drawn = family(np.random.default_rng(0))  # type: ignore[operator]
    assert drawn.scale == (0.0, 400.0)
    assert 0.0 < drawn.gaps.max() < 20.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Bernoulli(0.5), 5, 5), r"low is 5 and high is 5; give low < high"),
        ((Bernoulli(0.5), 3, 2), r"give low < high"),
        ((0.5, 0, 1), r"law is 0\.5; give a reward law on \[0, 1\]"),
        ((Fixed(3), 0, 1), r"law is Fixed\(rounds=3\)"),
        ((Bernoulli(0.5), 0, float("inf")), r"high is inf"),
    ],
)
def test_mistakes(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        Scaled(*arguments)


def test_a_law_beyond_the_unit_interval_is_refused() -> None:
    for law in (Scaled(Bernoulli(0.5), 0, 10), FromScipy(ss.norm())):
        with pytest.raises(UnsupportedSupport, match=r"are in \[.*\]; give a law on \[0, 1\]"):
            Scaled(law, 0, 1)


@pytest.mark.parametrize("given", [(1, 1), (5, 0), (0, float("nan")), "ab", (0,), 3, (0, "1"), (0, float("inf"))])
def test_ranges_that_are_none(given: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"reward_range is .*; give \(low, high\) with low < high"):
        Problem([Bernoulli(0.5)], Fixed(1), reward_range=given)


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (0, 1e307), (-1e101, 0)])
def test_amounts_have_a_range(ends: tuple[float, float]) -> None:
    with pytest.raises(InvalidParameter, match=r"(low|high) is .*e\+\d+; give a number in \[-1e\+100, 1e\+100\]"):
        Scaled(Bernoulli(0.5), *ends)
    with pytest.raises(InvalidParameter, match=r"both from -1e\+100 to 1e\+100"):
        Problem([Bernoulli(0.5)], Fixed(1), reward_range=ends)
