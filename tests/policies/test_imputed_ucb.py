"""Imputed-UCB: its estimates, silent arms, one-sided feedback, corrections, and delays that depend on rewards."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from belated import ArmSummary, Bandit, Problem, Result, simulate
from belated.delays import (
    Batch,
    ByReward,
    Empirical,
    Fixed,
    Geometric,
    LogNormal,
    Mixture,
    Never,
    PacketLoss,
    Pareto,
    Poisson,
    Uniform,
)
from belated.policies import UCB, ImputedUCB
from belated.policies._base.kl_bound import kl_upper
from belated.rewards import Bernoulli
from support.plain_imputed import by_imputed_index
from support.plain_simulator import argmax

VARIANTS = [
    ImputedUCB(confidence=0.2),
    ImputedUCB(confidence=0.2, patience=12),
    ImputedUCB(confidence="anytime"),
]

rule = by_imputed_index(lambda history, indices: argmax(indices))


# ---- the summary ----


def played(late: dict[float, int | None]) -> ArmSummary[str]:
    """One arm that succeeds in three of ten decisions, 1,000 of them. Rewards are late by this many decisions, or never
    come (None)."""
    bandit = Bandit(["only"], ImputedUCB(confidence="anytime"))
    coming: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for number in range(1000):
        reward = float(number % 10 < 3)
        lateness = late[reward]
        if lateness is not None:
            coming[number + lateness].append((bandit.choose().id, reward))
        else:
            bandit.choose()
        bandit.observe_many(coming.pop(number, []))
    (arm,) = bandit.summary()
    return arm


@pytest.mark.parametrize("late", [{1.0: 500, 0.0: 0}, {1.0: 0, 0.0: 500}], ids=["successes late", "failures late"])
def test_late_rewards_are_missed_and_corrected(late: dict[float, int | None]) -> None:
    arm = played(late)
    assert arm.mean is not None
    assert abs(arm.mean - 0.3) > 0.08
    assert arm.corrected_mean == pytest.approx(0.3, abs=0.02)
    assert arm.dependence == pytest.approx(1.0, abs=1e-6)


def test_delays_that_do_not_depend_on_rewards_correct_nothing() -> None:
    arm = played({1.0: 500, 0.0: 500})
    assert arm.corrected_mean == (150 + 0.5) / (500 + 1)
    assert arm.dependence == 0.0


def test_dependence_is_rarely_found_where_there_is_none() -> None:
    """1 minus a p-value: of 200 arms about 10 are above 0.95; more than 21 or fewer than 2 with probability 1e-3."""
    chance = np.random.default_rng(0)
    found = 0
    for _ in range(200):
        bandit = Bandit(["only"], ImputedUCB())
        coming: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for number in range(500):
            late = int(chance.lognormal(4.0, 1.2))
            coming[number + late].append((bandit.choose().id, float(chance.random() < 0.3)))
            bandit.observe_many(coming.pop(number, []))
        (arm,) = bandit.summary()
        assert arm.dependence is not None
        found += arm.dependence > 0.95
    assert 2 <= found <= 21


@pytest.mark.parametrize(("late", "mean"), [({1.0: 50, 0.0: None}, 1.0), ({1.0: None, 0.0: 50}, 0.0)])
def test_silence_corrects_the_mean_while_all_feedback_is_the_same(late: dict[float, int | None], mean: float) -> None:
    arm = played(late)
    assert arm.mean == mean
    assert arm.corrected_mean == pytest.approx(0.3, abs=0.03)
    assert arm.lower < arm.corrected_mean < arm.upper
    assert arm.dependence == 0.0


def test_bounds_are_about_the_corrected_mean_and_hold() -> None:
    """As corrected_mean they are of the present, also where the index was computed before. Of 40 arms none misses: each
    would with a probability below 1e-3."""
    for policy in (ImputedUCB(confidence="anytime"), ImputedUCB()):
        for seed in range(20):
            chance = np.random.default_rng(seed)
            bandit = Bandit(range(20), policy, seed=seed)
            for number in range(2000):
                decision = bandit.choose()
                bandit.observe(decision.id, float(chance.random() < (0.5 if decision.arm == 7 else 0.3)))
                if number % 200 == 0:
                    assert all(arm.lower <= arm.corrected_mean <= arm.upper for arm in bandit.summary() if arm.observed)
            best = bandit.summary()[7]
            assert best.lower <= 0.5 <= best.upper
            assert best.upper - best.lower < 0.6


def test_bounds_are_wider_where_the_mean_is_corrected() -> None:
    """A corrected mean is worth fewer feedbacks than there are; a plain one is worth all of them."""
    level = math.log(1.0 + 1001 + 100)  # in round 1001, with one arm
    for late, is_corrected in (({1.0: 500, 0.0: 0}, True), ({1.0: 500, 0.0: 500}, False)):
        arm = played(late)
        assert arm.corrected_mean is not None
        plain = float(kl_upper(arm.corrected_mean, level / arm.observed))
        if is_corrected:
            assert arm.upper > 1.005 * plain
        else:
            assert arm.upper == pytest.approx(plain, rel=1e-9)


# ---- only successes are reported ----

ONLY_SUCCESSES = ByReward({0: Never(), 1: Geometric(100)})


@pytest.mark.parametrize("patience", [None, 1000.0])
@pytest.mark.parametrize(
    ("confidence", "means"),
    [("anytime", (0.001, 0.002, 0.004)), ("anytime", (0.01, 0.05, 0.1)), (1.0, (0.01, 0.02, 0.03))],
)
def test_a_dead_arm_is_given_up(confidence: Any, means: tuple[float, ...], patience: float | None) -> None:
    """It had 94 to 99 % of the pulls at rates below 1 %."""
    problem = Problem([Bernoulli(mean) for mean in means], [Never(), ONLY_SUCCESSES, ONLY_SUCCESSES])
    policy = ImputedUCB(confidence=confidence, patience=patience)
    pulls = simulate(problem, policy, horizon=100_000, runs=12, seed=5).pulls[0, :, 0]
    assert pulls.max() < 10_000
    assert pulls.mean() < 4000


def test_a_failure_by_accident_changes_nothing() -> None:
    """One in 2,000 failures is reported, and the best arm is found; the first one made it linear."""
    few = ByReward({0: PacketLoss(0.0005), 1: Fixed(0)})
    problem = Problem([Bernoulli(0.05), Bernoulli(0.1), Bernoulli(0.2)], few)
    result = simulate(problem, ImputedUCB(confidence="anytime"), horizon=12_000, runs=40, seed=5)
    assert float(np.median(result.final)) < 60.0
    assert losing(result) <= 0.1


def test_failures_that_are_reported_end_it() -> None:
    """Means above 0.98, and unequal losses: silence is not failure."""
    problem = Problem(
        [Bernoulli(0.97), Bernoulli(0.985), Bernoulli(0.995)], [PacketLoss(0.9), PacketLoss(0.5), PacketLoss(0.2)]
    )
    result = simulate(problem, ImputedUCB(confidence="anytime"), horizon=100_000, runs=20, seed=5)
    assert losing(result) == 0.0


# ---- patience ----


def test_an_arm_is_not_doubted_before_its_feedback_may_have_come() -> None:
    """The best arm is as late as patience says, the other answers at once: all decisions wait for the late one."""
    patience = 300
    bandit = Bandit(["quick", "late"], ImputedUCB(confidence="anytime", patience=patience))
    made = [bandit.choose() for _ in range(20)]
    for decision in made:
        if decision.arm == "quick":
            bandit.observe(decision.id, 0.3)
    arms = []
    while bandit.decisions <= made[1].id + patience:
        decision = bandit.choose()
        arms.append(decision.arm)
        if decision.arm == "quick":
            bandit.observe(decision.id, 0.3)
    assert made[1].arm == "late"
    assert "quick" not in arms[20:]
    for _ in range(2 * patience):
        bandit.choose()
    assert bandit.choose().arm == "quick"


# ---- never linear ----


def losing(result: Result) -> float:
    """The share of runs that lose at least a tenth of the gap in each of the last tenth of the rounds."""
    curves = result.curves[0]
    gap = max(result.problem.gaps) if isinstance(result.problem, Problem) else 0.0
    late = (curves[:, -1] - curves[:, -11]) / (0.1 * result.horizon)
    return float((late > 0.1 * gap).mean())


LAWS = [
    Fixed(100),
    Fixed(5000),
    Uniform(0, 500),
    Geometric(200),
    Poisson(200),
    Poisson(4000),
    Pareto(0.5),
    Pareto(1.0),
    LogNormal(100, 2),
    PacketLoss(0.3),
    PacketLoss(0.02),
    PacketLoss(0.01),
    Batch(500),
    Empirical([0, 10, 1000, 5000], never=0.2),
    Mixture([(0.5, Fixed(0)), (0.3, Geometric(400)), (0.2, Never())]),
]


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("policy", [ImputedUCB(), ImputedUCB(confidence="anytime")], ids=["c = 1", "anytime"])
def test_a_silent_arm_is_given_up_whatever_the_delays_of_the_others(policy: ImputedUCB, law: Any) -> None:
    problem = Problem([Bernoulli(0.3), Bernoulli(0.4), Bernoulli(0.5)], [Never(), law, law])
    shares = []
    for horizon in (10_000, 100_000):
        result = simulate(problem, policy, horizon=horizon, runs=12, seed=4)
        shares.append(float(result.pulls[0, :, 0].mean()) / horizon)
    assert shares[1] <= 0.03
    assert shares[1] < shares[0]


@pytest.mark.parametrize(
    "delays", [[Fixed(0), PacketLoss(0.01)], [Fixed(0), Mixture([(0.01, Fixed(0)), (0.99, Fixed(3000))])]]
)
def test_a_best_arm_that_loses_or_delays_most_feedback_is_found(delays: Any) -> None:
    problem = Problem([Bernoulli(0.3), Bernoulli(0.5)], delays)
    result = simulate(problem, ImputedUCB(confidence="anytime"), horizon=100_000, runs=60, seed=5)
    assert losing(result) == 0.0
    assert float(result.mean[0, -1]) < 1000.0  # 4,095 and more with Pending-UCB


@pytest.mark.slow
@pytest.mark.parametrize("observed", [0.5, 0.15, 0.05])
def test_lost_feedback_locks_in_no_more_runs_than_ucb_has(observed: float) -> None:
    """Of 2,000 runs at the same c; the difference of two shares of 0.3 % has a standard deviation of 0.17 %."""
    problem = Problem([Bernoulli(0.3), Bernoulli(0.5)], PacketLoss(observed))
    ours, theirs = (
        losing(simulate(problem, policy, horizon=20_000, runs=2000, seed=6)) for policy in (ImputedUCB(), UCB())
    )
    assert ours <= theirs + 0.005
