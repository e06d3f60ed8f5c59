"""What the theorems and lemmas say, held against simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given

import strategies
from belated import Bandit, Problem, simulate
from belated.delays import DelayLaw, Fixed, Geometric, PacketLoss, Pareto
from belated.engine.environment import Environment
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    PhasedElimination,
    Policy,
    SuccessiveElimination,
    UniformChoice,
)
from belated.rewards import Bernoulli, Beta
from belated.theory import optimistic_pessimistic, phased_elimination, successive_elimination
from sampling import sample

RARE = 1e-4
HORIZON = 300


def usable(problem: Problem) -> bool:
    """Gaps that are more than rounding errors of two equal means."""
    gaps = problem.gaps[problem.gaps > 0.0]
    return not gaps.size or bool(gaps.min() > 1e-6)


@strategies.examples(200)
@given(strategies.problems())
def test_no_regret_is_above_the_bounds(problem: Problem) -> None:
    if not usable(problem):
        return
    policies: list[Policy] = [OptimisticPessimisticElimination(confidence="theory")]
    bounds = [optimistic_pessimistic(problem, HORIZON)]
    if not problem.reward_dependent:
        policies += [SuccessiveElimination(confidence="theory"), PhasedElimination(confidence="theory")]
        bounds += [successive_elimination(problem, HORIZON), phased_elimination(problem, HORIZON)]
    found = simulate(problem, policies, horizon=HORIZON, runs=5, workers=1)
    assert np.all(found.mean[:, -1] <= [bound.value + 1e-9 for bound in bounds])


LEARNED = [
    (successive_elimination, SuccessiveElimination(confidence="theory"), 0.4),
    (phased_elimination, PhasedElimination(confidence="theory"), 0.4),
    (optimistic_pessimistic, OptimisticPessimisticElimination(confidence="theory"), 0.7),
]


@pytest.mark.parametrize(("theorem", "policy", "gap"), LEARNED, ids=["SE", "PSE", "OPSE"])
def test_a_bound_that_is_not_trivial_holds(theorem: object, policy: Policy, gap: float) -> None:
    """Over so many rounds the bound is below that of a learner who never learns, and the regret below the bound."""
    horizon = 200_000
    problem = Problem([Bernoulli(0.5 + gap / 2), Bernoulli(0.5 - gap / 2)], Geometric(50))
    value = theorem(problem, horizon).value  # type: ignore[operator]
    assert value < gap * horizon / 2
    found = simulate(problem, policy, horizon=horizon, runs=5, seed=2)
    assert 0.0 < found.mean[0, -1] + 4 * found.stderr[0, -1] < value


# ---- Lemma 1 ----


def outside(problem: Problem, policy: Policy, horizon: int, seed: int) -> bool:
    """One game: whether some observed mean was further from the truth than sqrt(2 ln T / n) in some round."""
    draws = Environment(problem, horizon=horizon, seed=seed, run=0)
    stock = [sample(draws, arm, horizon) for arm in range(problem.arms)]
    bandit = Bandit([str(arm) for arm in range(problem.arms)], policy.for_horizon(horizon), seed=seed)
    pulls = [0] * problem.arms
    count, total = np.zeros(problem.arms), np.zeros(problem.arms)
    due: dict[int, list[tuple[int, int, float]]] = {}
    for now in range(1, horizon + 1):
        decision = bandit.choose()
        arm = int(decision.arm)
        reward, delay = (float(part[pulls[arm]]) for part in stock[arm])
        pulls[arm] += 1
        if now + delay <= horizon:
            due.setdefault(now + int(delay), []).append((decision.id, arm, reward))
        for number, came, value in due.pop(now, []):
            bandit.observe(number, value)
            count[came] += 1
            total[came] += value
        seen = count > 0
        off = np.abs(total[seen] / count[seen] - problem.means[seen])
        if np.any(off > np.sqrt(2 * math.log(horizon) / count[seen])):
            return True
    return False


@pytest.mark.parametrize(
    ("law", "policy"),
    [(Geometric(10), SuccessiveElimination()), (PacketLoss(0.5), UCB(confidence=1.0)), (Fixed(20), UniformChoice())],
    ids=str,
)
def test_all_means_are_inside_all_intervals(law: DelayLaw, policy: Policy) -> None:
    """Lemma 1: but for a probability of 2 / T^2."""
    horizon, games = 200, 150
    problem = Problem([Bernoulli(0.5), Bernoulli(0.3), Beta(0.3, 0.3)], law)
    missed = sum(outside(problem, policy, horizon, seed) for seed in range(games))
    assert ss.binomtest(missed, games, 2 / horizon**2, alternative="greater").pvalue > RARE


def test_intervals_that_are_too_narrow_would_be_noticed() -> None:
    """Half as wide, they miss the mean of 100 fair coins too often for Lemma 1: the radius matters."""
    rng = np.random.default_rng(5)
    flips = rng.random((20_000, 100)) < 0.5
    n = np.arange(1, 101)
    off = np.abs(flips.cumsum(axis=1) / n - 0.5)
    for radius, fine in ((2.0, True), (0.5, False)):
        missed = int(np.any(off > np.sqrt(radius * math.log(200) / n), axis=1).sum())
        likely = ss.binomtest(missed, 20_000, 2 / 200**2, alternative="greater").pvalue > RARE
        assert bool(likely) is fine


# ---- Lemma 2 ----


@pytest.mark.parametrize("law", [Geometric(30), Pareto(0.5), PacketLoss(0.4), PacketLoss(0.1)], ids=repr)
@pytest.mark.parametrize("q", [0.05, 0.1, 0.4])
@pytest.mark.parametrize("pulls", [5, 20, 60])
def test_after_the_quantile_half_of_its_share_has_come(law: DelayLaw, q: float, pulls: int) -> None:
    """Lemma 2: n_{t + d(q)} < q m / 2 has probability at most exp(-q m / 8), for an arm pulled in m rounds in a row."""
    problem = Problem([Bernoulli(0.5)], law)
    wait = problem.delay_quantile(0, q)
    games = 2000
    if math.isinf(wait):
        assert law == PacketLoss(0.1)
        assert q == 0.4
        return
    _, delays = sample(Environment(problem, horizon=100_000, seed=9, run=0), 0, games * pulls)
    rounds = np.arange(1, pulls + 1)
    observed = (rounds + delays.reshape(games, pulls) <= pulls + wait).sum(axis=1)
    missed = int((observed < q / 2 * pulls).sum())
    assert ss.binomtest(missed, games, math.exp(-q * pulls / 8), alternative="greater").pvalue > RARE
    on_time = (delays.reshape(games, pulls) <= wait).sum()
    assert ss.binomtest(int(on_time), games * pulls, q, alternative="less").pvalue > RARE
