"""Optimistic-UCB."""

from __future__ import annotations

import numpy as np

from belated import Problem, simulate
from belated.delays import ByReward, Fixed
from belated.policies import UCB, OptimisticUCB
from belated.rewards import Bernoulli, Beta
from belated.theory import bound_of, optimistic_ucb
from support.plain_simulator import History, by_index

VARIANTS = [OptimisticUCB(confidence=0.05)]


def index(history: History, arm: int) -> float:
    m, n = history.m[arm], history.n[arm]
    return (history.S[arm] + (m - n)) / m + history.radius(m)


rule = by_index(index)


def test_without_delays_it_is_ucb() -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.5), Beta(3, 2)], Fixed(0))
    result = simulate(problem, [OptimisticUCB(confidence=0.2), UCB(confidence=0.2)], horizon=3000, runs=30, seed=3)
    assert np.array_equal(result.curves[0], result.curves[1])


def test_its_bound() -> None:
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(9)}))
    assert bound_of(OptimisticUCB(confidence="theory"), problem, 1000) == optimistic_ucb(problem, 1000)
