"""Thompson sampling."""

from __future__ import annotations

import math
from collections.abc import Iterator

from belated import Problem, simulate
from belated.delays import Fixed, Geometric, Pareto
from belated.kernel.jit import ignore_overflow
from belated.kernel.math import beta_draw
from belated.policies import ThompsonSampling
from belated.rewards import Bernoulli, Beta
from support.parity import assert_agree
from support.plain_simulator import History, argmax

VARIANTS = [ThompsonSampling()]


def rule(history: History) -> Iterator[int]:
    """The argmax of draws from Beta(successes + S, failures + n - S)."""
    policy = history.policy
    while True:
        draws = []
        for arm in range(history.arms):
            a, b = policy.successes + history.S[arm], policy.failures + (history.n[arm] - history.S[arm])
            with ignore_overflow():
                draws.append(float(beta_draw(a, b, history.environment.own_word(history.now, arm))))
        yield argmax(draws)


def test_a_longer_game() -> None:
    assert_agree(Problem([Bernoulli(0.4), Beta(2, 3)], Pareto(0.5)), [ThompsonSampling()], horizon=5_000, seed=2)


def test_without_feedback_it_is_uniform_for_equal_priors() -> None:
    problem = Problem([Bernoulli(0.1), Bernoulli(0.9)], Fixed(10**6))
    pulls = simulate(problem, ThompsonSampling(), horizon=2000, runs=50, seed=4).pulls[0].sum(axis=0)
    assert abs(pulls[0] - 50_000) < 3.9 * math.sqrt(100_000 * 0.25)


def test_it_finds_the_best_arm() -> None:
    problem = Problem([Bernoulli(0.3), Bernoulli(0.6)], Geometric(20))
    assert simulate(problem, ThompsonSampling(), horizon=3000, runs=20).pulls[0, :, 1].min() > 2500
