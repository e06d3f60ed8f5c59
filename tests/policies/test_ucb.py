"""UCB."""

from __future__ import annotations

import math

import pytest

from belated import Problem, simulate
from belated.delays import ByReward, Fixed
from belated.policies import UCB
from belated.rewards import Bernoulli
from belated.theory import bound_of, joulani
from support.plain_simulator import History, by_index
from support.problems import CONTINUOUS, choices_of, rewards_of

VARIANTS = [UCB(confidence=0.2), UCB(confidence="theory")]


def upper(history: History, arm: int) -> float:
    n = max(history.n[arm], 1)
    return history.S[arm] / n + history.radius(n)


rule = by_index(upper)


@pytest.mark.parametrize("problem", [CONTINUOUS, Problem([Bernoulli(0.4), Bernoulli(0.5), Bernoulli(0.6)], Fixed(0))])
@pytest.mark.parametrize("confidence", [None, 0.3, 1.0])
def test_without_delays_it_is_the_textbooks(problem: Problem, confidence: float | None) -> None:
    """Auer, Cesa-Bianchi, Fischer (2002): play each machine once, then the one with the largest mean + sqrt(2c/n)."""
    horizon = 3000
    c = math.log(horizon) if confidence is None else confidence
    rewards = rewards_of(problem, horizon)
    seen: list[list[float]] = [[] for _ in rewards]
    chosen = []
    for t in range(horizon):
        if t < problem.arms:
            arm = t
        else:
            scores = [math.fsum(values) / len(values) + math.sqrt(2 * c / len(values)) for values in seen]
            top = max(scores)
            arm = next(a for a, score in enumerate(scores) if score >= top - 1e-13)
        seen[arm].append(rewards[arm][len(seen[arm])])
        chosen.append(arm)
    result = simulate(problem, UCB(confidence=confidence), horizon=horizon, runs=1, checkpoints=horizon)
    assert choices_of(problem, result.curves[0, 0]) == chosen


def test_its_bound_is_joulanis_order() -> None:
    arms = [Bernoulli(0.6), Bernoulli(0.4)]
    problem = Problem(arms, Fixed(20))
    assert bound_of(UCB(confidence="theory"), problem, 1000) == joulani(problem, 1000)
    assert bound_of(UCB(confidence="theory"), Problem(arms, ByReward({0: Fixed(0), 1: Fixed(9)})), 1000) is None
