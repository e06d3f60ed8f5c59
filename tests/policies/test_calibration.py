"""Values of an independent simulator by other hands, within four combined standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from belated import Problem, Result, simulate
from belated.delays import ByReward, Fixed, PacketLoss, Pareto
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    OptimisticUCB,
    PhasedElimination,
    SuccessiveElimination,
    ThompsonSampling,
)
from belated.rewards import Bernoulli
from own_policies import PullsUCB

C1: dict[str, Any] = {"confidence": 1.0}


def figure_1(delay: int) -> Callable[[np.random.Generator], Problem]:
    def family(rng: np.random.Generator) -> Problem:
        return Problem([Bernoulli(float(mean)) for mean in rng.uniform(0.25, 0.75, 20)], Fixed(delay))

    return family


def figure_3(rng: np.random.Generator) -> Problem:
    means = [0.75, *(0.75 - rng.uniform(0.15, 0.25, 9))]
    return Problem([Bernoulli(float(mean)) for mean in means], [PacketLoss(0.1)] + [Fixed(0)] * 9)


def figure_4(rng: np.random.Generator) -> Problem:
    means = [0.6, *(0.6 - rng.uniform(0.15, 0.25, 2))]
    others = ByReward({0: Fixed(5000), 1: Fixed(0)})
    return Problem(
        [Bernoulli(float(mean)) for mean in means], [ByReward({0: Fixed(0), 1: Fixed(5000)}), others, others]
    )


def assert_near(result: Result, policy: str, value: float, error: float | None = None, runs: int = 100) -> None:
    """Within four standard errors of both; where the notes give none, theirs is ours for as many runs as they had."""
    number = result.labels.index(policy)
    mean, ours = result.mean[number, -1], result.stderr[number, -1]
    theirs = ours * math.sqrt(result.runs / runs) if error is None else error
    rounding = 0.5
    assert abs(mean - value) <= 4.0 * math.hypot(ours, theirs) + rounding, f"{policy}: {mean:.1f} ({ours:.1f})"


@pytest.mark.parametrize(
    ("delay", "ucb", "se"),
    [(0, (396, 70), (1251, 43)), (200, (1112, 16), (1233, 45)), (500, (2475, 26), (1354, 43))],
)
def test_figure_1(delay: int, ucb: tuple[int, int], se: tuple[int, int]) -> None:
    policies = [UCB(**C1), SuccessiveElimination(**C1)]
    result = simulate(figure_1(delay), policies, horizon=200_000, runs=100, seed=11)
    assert_near(result, "UCB", *ucb)
    assert_near(result, "SE", *se)


@pytest.mark.parametrize(
    ("delay", "thompson", "se", "pulls"),
    [(0, 250, 774, 204), (500, 322, 925, 303)],
)
def test_figure_1_at_its_shorter_horizon(delay: int, thompson: int, se: int, pulls: int) -> None:
    few = simulate(figure_1(delay), ThompsonSampling(), horizon=20_000, runs=40, seed=12)
    assert_near(few, "Thompson", thompson)
    policies = [SuccessiveElimination(**C1), PullsUCB(**C1)]
    result = simulate(figure_1(delay), policies, horizon=20_000, runs=200, seed=12)
    assert_near(result, "SE", se)
    assert_near(result, "PullsUCB", pulls)


@pytest.mark.parametrize(("gap", "se"), [(0.04, 58), (0.08, 91), (0.12, 74), (0.60, 21)])
def test_figure_2(gap: float, se: int) -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.4 + gap)], [Pareto(1.0), Pareto(0.2)])
    result = simulate(problem, [SuccessiveElimination(**C1), UCB(**C1)], horizon=3000, runs=300, seed=13)
    assert_near(result, "SE", se, runs=300)
    if gap == 0.08:
        assert_near(result, "UCB", 14, runs=300)


def test_figure_3() -> None:
    policies = [SuccessiveElimination(**C1), PhasedElimination(**C1), UCB(**C1)]
    result = simulate(figure_3, policies, horizon=20_000, runs=300, seed=14)
    assert_near(result, "SE", 1501, 39)
    assert_near(result, "PSE", 885, 19)
    assert_near(result, "UCB", 82, runs=300)


def test_figure_4() -> None:
    policies = [UCB(**C1), OptimisticPessimisticElimination(**C1), SuccessiveElimination(**C1), OptimisticUCB(**C1)]
    result = simulate(figure_4, policies, horizon=60_000, runs=100, seed=15)
    assert_near(result, "UCB", 7657, 103)
    assert_near(result, "OPSE", 5665, 13)
    assert_near(result, "SE", 11250, 139)
    assert_near(result, "Optimistic-UCB", 2889)
    assert (result.eliminated_at[2, :, 0] > 0).all(), "SE eliminates the best arm"
    assert (result.eliminated_at[1, :, 0] < 0).all(), "OPSE does not"
