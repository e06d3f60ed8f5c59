"""Successive elimination."""

from __future__ import annotations

import math

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import ByReward, Fixed
from belated.policies import SuccessiveElimination
from belated.rewards import Bernoulli
from belated.theory import bound_of, successive_elimination
from support.plain_simulator import History, by_elimination
from support.problems import CONTINUOUS, choices_of, rewards_of

VARIANTS = [SuccessiveElimination(confidence=0.02)]


def lower(history: History, arm: int) -> float:
    n = max(history.n[arm], 1)
    return history.S[arm] / n - history.radius(n)


def upper(history: History, arm: int) -> float:
    n = max(history.n[arm], 1)
    return history.S[arm] / n + history.radius(n)


rule = by_elimination(lower, upper)


@pytest.mark.parametrize("confidence", [0.05, 0.3, 1.0])
def test_without_delays_it_is_even_dars(confidence: float) -> None:
    """Even-Dar, Mannor, Mansour (2006): sample every arm of S once; after t samples of each remove the arms whose
    empirical mean is more than 2 alpha_t below the best one's, alpha_t = sqrt(2c/t)."""
    horizon = 6000
    rewards = np.array(rewards_of(CONTINUOUS, horizon))
    means = np.cumsum(rewards, axis=1) / np.arange(1, horizon + 1)
    alive = list(range(CONTINUOUS.arms))
    chosen: list[int] = []
    gone = [-1] * CONTINUOUS.arms
    t = 0
    while len(chosen) < horizon:
        chosen += alive
        t += 1
        best = max(means[arm, t - 1] for arm in alive)
        losers = [arm for arm in alive if best - means[arm, t - 1] > 2 * math.sqrt(2 * confidence / t)]
        for arm in losers:
            gone[arm] = len(chosen) + 1
        alive = [arm for arm in alive if arm not in losers]
    policy = SuccessiveElimination(confidence=confidence)
    result = simulate(CONTINUOUS, policy, horizon=horizon, runs=1, checkpoints=horizon)
    assert choices_of(CONTINUOUS, result.curves[0, 0]) == chosen[:horizon]
    assert result.eliminated_at[0, 0].tolist() == [at if at <= horizon else -1 for at in gone]
    assert max(gone) > 0, "someone should be eliminated"


def test_its_bound_is_theorem_2() -> None:
    arms = [Bernoulli(0.6), Bernoulli(0.4)]
    problem = Problem(arms, Fixed(20))
    assert bound_of(SuccessiveElimination(confidence="theory"), problem, 1000) == successive_elimination(problem, 1000)
    assert (
        bound_of(SuccessiveElimination(confidence="theory"), Problem(arms, ByReward({0: Fixed(0), 1: Fixed(9)})), 1000)
        is None
    )
