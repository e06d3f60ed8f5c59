"""Delays that change with the rounds."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem, simulate
from belated.delays import Batch, ByReward, ByRound, Fixed, Geometric, Mixture, Never, Pareto, Poisson
from belated.errors import InvalidParameter
from belated.policies import UniformChoice
from belated.rewards import Bernoulli, Beta
from support.draws import COUNT, draw
from support.laws import DelayCase, RoundCase, integer_part, mixed, step

CASES: list[DelayCase] = []  # it has no distribution without a round
EXAMPLE = ByRound({1: Fixed(1), 50: Fixed(0)})

SLOWER = {1: Fixed(10), 101: Poisson(40), 301: Never()}
NESTED = ByRound({1: ByRound({1: Fixed(3), 21: Fixed(5)}, drift=True), 41: Mixture([(1, Batch(10)), (1, Fixed(2))])})
ROUND_CASES = [
    RoundCase(ByRound(SLOWER), 100, step(10)),
    RoundCase(ByRound(SLOWER), 101, ss.poisson(40).cdf),
    RoundCase(ByRound(SLOWER, drift=True), 1, step(10)),
    RoundCase(ByRound(SLOWER, drift=True), 26, mixed((0.75, step(10)), (0.25, ss.poisson(40).cdf))),
    RoundCase(ByRound(SLOWER, drift=True), 251, mixed((0.25, ss.poisson(40).cdf)), never=0.75),
    RoundCase(ByRound(SLOWER, drift=True), 9999, step(0, 0.0), never=1.0),
    RoundCase(ByRound({1: Pareto(0.5), 11: Pareto(2.0)}), 11, integer_part(ss.pareto(2.0))),
    RoundCase(NESTED, 6, mixed((0.75, step(3)), (0.25, step(5)))),
    RoundCase(NESTED, 45, mixed((0.5, step(5)), (0.5, step(2)))),
]


def test_a_law_holds_from_its_round_on() -> None:
    law = ByRound({5001: Pareto(0.5), 1: Fixed(10)})
    assert list(law.laws) == [1, 5001]
    assert law.at(5000) == Fixed(10)
    assert law.at(5001) == law.at(10**9) == Pareto(0.5)
    assert law == ByRound({1: Fixed(10), 5001: Pareto(0.5)})
    assert hash(law) == hash(ByRound({1: Fixed(10), 5001: Pareto(0.5)}))
    assert law != ByRound({1: Fixed(10), 5001: Pareto(0.5)}, drift=True)


@pytest.mark.parametrize("drift", [False, True])
def test_the_mean_number_that_is_known(drift: bool) -> None:
    """The sum over the rounds s of P(D_s <= T - s), within four standard errors."""
    law = ByRound({1: Geometric(5), 101: Mixture([(0.5, Fixed(20)), (0.5, Never())]), 201: Batch(30)}, drift)
    horizon, runs = 260, 3000
    known = np.array([float(law.at(now).cdf(horizon - now)) for now in range(1, horizon + 1)])
    result = simulate(Problem([Bernoulli(0.4), Bernoulli(0.6)], law), UniformChoice(), horizon=horizon, runs=runs)
    error = np.sqrt((known * (1 - known)).sum() / runs)
    assert 0.5 < error * np.sqrt(runs) < 20
    assert abs(result.observed.sum(axis=2).mean() - known.sum()) < 4 * error


def test_a_part_that_depends_on_the_reward() -> None:
    """Before the change successes are late, after it they are lost; failures are as before."""
    late, lost = ByReward({0: Fixed(1), 1: Fixed(9)}), ByReward({0: Fixed(1), 1: Never()})
    law = ByRound({1: late, 100: lost}, drift=True)
    assert law.depends_on_reward
    rewards, delays = draw(Bernoulli(0.25), law, now=34)
    assert np.all(delays[rewards == 0.0] == 1)
    successes = delays[rewards == 1.0]
    assert set(successes) == {9.0, np.inf}
    assert abs(np.isinf(successes).mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / (COUNT / 4))
    marginal = Problem([Bernoulli(0.25)], law).delay_law(0)
    assert not marginal.depends_on_reward
    assert float(marginal.at(34).cdf(1)) == pytest.approx(0.75)
    assert float(marginal.at(34).cdf(9)) == pytest.approx(0.75 + 0.25 * 2 / 3)


def test_by_reward_of_laws_that_depend_on_the_round() -> None:
    """A mapping and a function of the reward, with whole and with continuous rewards."""
    for reward, law in (
        (Bernoulli(0.3), ByReward({0: Fixed(0), 1: Batch(10)})),
        (Beta(2, 2), ByReward(lambda r: Batch(10) if r > 0.5 else Fixed(0), cells=20)),
    ):
        rewards, delays = draw(reward, law, now=13)
        assert np.array_equal(delays, np.where(rewards > 0.5, 7.0, 0.0))
        problem = Problem([reward], law)
        assert problem.round_dependent
        assert problem.longest_delay == 9
        assert float(problem.delay_law(0).at(13).cdf(0)) == pytest.approx((rewards <= 0.5).mean(), abs=0.01)
        assert np.array_equal(draw(reward, law.at(13))[1], delays)


def test_whether_a_function_of_the_reward_depends_on_the_round_is_up_to_the_rewards() -> None:
    law = ByReward(lambda r: Batch(10) if r > 0.5 else Fixed(0))
    with pytest.raises(InvalidParameter, match=r"law\.given"):
        assert law.depends_on_round
    assert law.given(Bernoulli(0.5)).depends_on_round
    assert not ByReward({0: Fixed(0), 1: Fixed(9)}).depends_on_round


def test_the_share_that_never_comes_if_it_is_one() -> None:
    assert ByRound({1: Fixed(3), 9: Batch(8)}).never == 0.0
    assert Mixture([(0.9, Batch(9)), (0.1, Never())]).never == 0.1
    with pytest.raises(InvalidParameter, match="ByRound has no single distribution"):
        assert ByRound(SLOWER).never


@pytest.mark.parametrize(
    ("laws", "message"),
    [
        ({}, "give {first round: law, ...}, such as {1: Fixed(10), 5001: Pareto(0.5)}"),
        ([(1, Fixed(1))], "give {first round: law, ...}"),
        (Fixed(3), "ByRound: laws is Fixed(rounds=3)"),
        ({2: Fixed(1), 5: Fixed(2)}, "the laws begin with round 2; give one for round 1 too"),
        ({1: Fixed(1), 0: Fixed(2)}, "ByRound: a round is 0; give a whole number from 1"),
        ({1: Fixed(1), 2.5: Fixed(2)}, "ByRound: a round is 2.5"),
        ({1: 10}, "the law from round 1 on is 10; give a delay law"),
    ],
)
def test_mistakes(laws: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        ByRound(laws)
    with pytest.raises(InvalidParameter, match="drift is 'yes'; give True or False"):
        ByRound({1: Fixed(1)}, drift="yes")  # type: ignore[arg-type]
