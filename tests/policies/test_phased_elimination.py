"""Phased successive elimination."""

from __future__ import annotations

from collections.abc import Iterator

from belated import Problem
from belated.delays import ByReward, Fixed, Geometric, PacketLoss
from belated.policies import PhasedElimination
from belated.rewards import Bernoulli, Uniform
from belated.theory import bound_of, phased_elimination
from support.parity import assert_agree
from support.plain_simulator import History, eliminate

VARIANTS = [PhasedElimination(confidence=0.003)]


def lower(history: History, arm: int) -> float:
    n = max(history.n[arm], 1)
    return history.S[arm] / n - history.radius(n)


def upper(history: History, arm: int) -> float:
    n = max(history.n[arm], 1)
    return history.S[arm] / n + history.radius(n)


def rule(history: History) -> Iterator[int]:
    """Phase l: sweep over S_l, dropping the arms with n >= 16 c 4^l, until it is empty; then eliminate."""
    active = list(range(history.arms))
    phase = 1
    while True:
        lacking = list(active)
        while lacking:
            yield from lacking
            lacking = [
                arm for arm in lacking if not history.n[arm] >= 16.0 * history.c(max(history.n[arm], 1)) * 4.0**phase
            ]
        active = eliminate(history, active, lower, upper)
        phase += 1


def test_phases_follow_each_other() -> None:
    result = assert_agree(
        Problem([Bernoulli(0.5), Bernoulli(0.6), Uniform(0.2, 0.9)], [PacketLoss(0.2), Geometric(5), Fixed(3)]),
        [PhasedElimination(confidence=c) for c in (1e-6, 0.001, 1 / 64, 1 / 16, 0.1)],  # 1/64: whole thresholds
        horizon=3000,
        runs=3,
    )
    assert (result.eliminated_at > 0).any()


def test_its_bound_is_theorem_3() -> None:
    arms = [Bernoulli(0.6), Bernoulli(0.4)]
    problem = Problem(arms, Fixed(20))
    assert bound_of(PhasedElimination(confidence="theory"), problem, 1000) == phased_elimination(problem, 1000)
    assert (
        bound_of(PhasedElimination(confidence="theory"), Problem(arms, ByReward({0: Fixed(0), 1: Fixed(9)})), 1000)
        is None
    )
