"""Uniform choice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from belated import Problem, simulate
from belated.delays import Fixed
from belated.policies import UniformChoice
from belated.rewards import Bernoulli
from support.plain_simulator import History

VARIANTS = [UniformChoice(confidence="theory")]


def rule(history: History) -> Iterator[int]:
    while True:
        yield int(history.environment.own_uniform(history.now, 0) * history.arms)


def test_it_is_uniform_and_ignores_feedback() -> None:
    problem = Problem([Bernoulli(0.1), Bernoulli(0.5), Bernoulli(0.9), Bernoulli(0.9)], Fixed(0))
    late = Problem(problem.rewards, Fixed(10**6))
    now, never = (simulate(p, UniformChoice(), horizon=4000, runs=50, seed=2) for p in (problem, late))
    assert np.array_equal(now.pulls, never.pulls)
    counts = now.pulls[0].sum(axis=0)
    assert ((counts - 50_000) ** 2 / 50_000).sum() < 21.1  # chi-square, 3 degrees of freedom, 1e-4
    assert len(np.unique(now.pulls[0, :, 0])) > 20
