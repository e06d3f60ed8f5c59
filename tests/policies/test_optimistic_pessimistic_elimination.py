"""Optimistic-pessimistic successive elimination."""

from __future__ import annotations

import numpy as np

from belated import Problem, simulate
from belated.delays import ByReward, Fixed
from belated.policies import OptimisticPessimisticElimination, SuccessiveElimination
from belated.rewards import Bernoulli, Beta
from belated.theory import bound_of, optimistic_pessimistic
from support.plain_simulator import History, by_elimination

VARIANTS = [OptimisticPessimisticElimination(confidence=0.02)]


def lower(history: History, arm: int) -> float:
    m = history.m[arm]
    return history.S[arm] / m - history.radius(m)


def upper(history: History, arm: int) -> float:
    m, n = history.m[arm], history.n[arm]
    return (history.S[arm] + (m - n)) / m + history.radius(m)


rule = by_elimination(lower, upper)


def test_without_delays_it_is_successive_elimination() -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.5), Beta(3, 2)], Fixed(0))
    policies = [OptimisticPessimisticElimination(confidence=0.2), SuccessiveElimination(confidence=0.2)]
    result = simulate(problem, policies, horizon=3000, runs=30, seed=3)
    assert np.array_equal(result.curves[0], result.curves[1])
    assert np.array_equal(result.eliminated_at[0], result.eliminated_at[1])


def test_its_bound_is_theorem_5() -> None:
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(9)}))
    assert bound_of(OptimisticPessimisticElimination(confidence="theory"), problem, 1000) == optimistic_pessimistic(
        problem, 1000
    )
