"""On a real GPU (``make test-cuda``): the bits of the CPU, for every policy and every kind of law."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem, simulate
from belated.delays import (
    Batch,
    ByReward,
    ByRound,
    Empirical,
    Fixed,
    FromScipy,
    Geometric,
    LogNormal,
    Mixture,
    Never,
    PacketLoss,
    Pareto,
    Poisson,
    Uniform,
)
from belated.policies import UCB, OptimisticUCB, SuccessiveElimination, ThompsonSampling
from belated.rewards import Bernoulli, Beta, Categorical, Constant, Scaled
from belated.rewards import FromScipy as RewardFromScipy
from belated.rewards import Uniform as UniformReward
from new_user import KLUCB, QPMD, DelayedExp3, EpsGreedy
from support.policies import every_variant

EVERY: list[Any] = every_variant()
WITH_MEMORY = [policy for policy in EVERY if policy.memory > 0]
"""Those with their own statistics for each arm, and PendingUCB for all arms together."""
FAST = [policy for policy in EVERY if not isinstance(policy, ThompsonSampling)]
DELAYS: dict[str, Any] = {
    "none": Fixed(0),
    "fixed": Fixed(37),
    "fixed, longer than the horizon": Fixed(10_000),
    "uniform": Uniform(3, 90),
    "geometric": Geometric(40.0),
    "Poisson": Poisson(25.0),
    "Pareto": Pareto(0.4),
    "log-normal": LogNormal(60.0, 1.5),
    "lost": PacketLoss(0.4),
    "never": Never(),
    "mixture": Mixture([(0.5, Fixed(3)), (0.3, Geometric(200.0)), (0.2, Never())]),
    "sample": Empirical([0, 1, 5, 5, 80, 900], never=0.1),
    "scipy": FromScipy(ss.expon(scale=70)),
    "by reward": ByReward({0.0: Fixed(300), 1.0: Pareto(1.0)}),
    "batches": Batch(90, offset=25),
    "batches, longer than the horizon": Batch(10_000),
    "batches, some lost": Mixture([(0.9, Batch(50)), (0.1, Never())]),
    "by round": ByRound({1: Fixed(3), 200: Pareto(0.4), 400: LogNormal(60.0, 1.5)}),
    "drift": ByRound({1: Geometric(4.0), 301: Batch(40), 601: FromScipy(ss.expon(scale=70))}, drift=True),
    "by round and reward": ByRound({1: ByReward({0.0: Fixed(9), 1.0: Batch(70)}), 250: Empirical([0, 80])}, drift=True),
}
FIELDS = ("pull_sums", "final", "curves", "pulls", "observed", "lost", "in_flight", "eliminated_at")


def assert_same(problem: Any, policies: Any, **options: Any) -> None:
    ours = simulate(problem, policies, **options)
    theirs = simulate(problem, policies, device="cuda", **options)
    for name in FIELDS:
        for number, label in enumerate(ours.labels):
            assert np.array_equal(getattr(ours, name)[number], getattr(theirs, name)[number]), (label, name)


@pytest.mark.parametrize("delay", DELAYS.values(), ids=list(DELAYS))
def test_every_policy_under_every_delay(delay: Any) -> None:
    problem = Problem([Bernoulli(mean) for mean in (0.3, 0.7, 0.5, 0.45)], delay)
    assert_same(problem, EVERY, horizon=600, runs=4096, seed=3, checkpoints=7)


@pytest.mark.parametrize("delay", [Fixed(37), Geometric(40.0), PacketLoss(0.4)], ids=["fixed", "geometric", "lost"])
def test_every_policy_with_shuffled_arms(delay: Any) -> None:
    problem = Problem([Bernoulli(mean) for mean in (0.3, 0.7, 0.5, 0.45)], delay)
    assert_same(problem, EVERY, horizon=600, runs=4096, seed=3, checkpoints=600, shuffle=True)


@pytest.mark.parametrize(("arms", "checkpoints"), [(100, 1000), (700, 3000)], ids=["some tables", "one table"])
def test_many_sums_of_pulls(arms: int, checkpoints: int) -> None:
    problem = Problem([Bernoulli(0.2 + 0.6 * (7 * arm % 11) / 11) for arm in range(arms)], Geometric(20.0))
    assert_same(problem, [UCB(confidence=1.0)], horizon=3000, runs=300, seed=6, checkpoints=checkpoints)


@pytest.mark.parametrize("delay", [Fixed(20), Geometric(30.0)], ids=["fixed", "geometric"])
def test_own_policies_with_plain_helpers_and_memory_by_the_horizon(delay: Any) -> None:
    problem = Problem([Bernoulli(mean) for mean in (0.3, 0.7, 0.5)], delay)
    assert_same(problem, [EpsGreedy(), KLUCB(), QPMD(), DelayedExp3()], horizon=300, runs=256, seed=8, checkpoints=5)


REWARDS = [Constant(0.4), Beta(2.0, 3.0), UniformReward(0.1, 0.8), Categorical([0.0, 0.3, 1.0], [0.2, 0.5, 0.3])]


@pytest.mark.parametrize("delay", [Fixed(20), Pareto(0.7)], ids=["fixed", "Pareto"])
def test_rewards_of_all_kinds(delay: Any) -> None:
    assert_same(Problem(REWARDS, delay), EVERY, horizon=400, runs=512, seed=4, checkpoints=5)


IN_EUROS = [
    Scaled(Bernoulli(0.3), 0, 80),
    Scaled(Beta(2.0, 3.0), -20, 60),
    RewardFromScipy(ss.norm(30, 8)),
    RewardFromScipy(ss.poisson(25)),
    Scaled(Categorical([0.0, 0.3, 1.0], [0.2, 0.5, 0.3]), 0, 90),
]


@pytest.mark.parametrize(
    "delay",
    [Fixed(20), Pareto(0.7), ByReward(lambda euros: Geometric(1.0 + abs(euros)), cells=110)],
    ids=["fixed", "Pareto", "by reward"],
)
def test_rewards_in_other_units(delay: Any) -> None:
    assert_same(Problem(IN_EUROS, delay, reward_range=(-20, 90)), EVERY, horizon=400, runs=512, seed=4, checkpoints=5)


def test_a_scaled_problem_has_the_pulls_of_its_twin() -> None:
    means = (0.3, 0.7, 0.5)
    plain = simulate(Problem([Bernoulli(mean) for mean in means], Fixed(30)), FAST, horizon=800, runs=64, device="cuda")
    arms = [Scaled(Bernoulli(mean), 0, 200) for mean in means]
    scaled = simulate(Problem(arms, Fixed(30)), FAST, horizon=800, runs=64, device="cuda")
    assert np.array_equal(plain.pulls, scaled.pulls)
    np.testing.assert_allclose(scaled.final, 200 * plain.final, rtol=1e-12)


@pytest.mark.parametrize("arms", [1, 2, 20, 64, 65, 300])
def test_any_number_of_arms(arms: int) -> None:
    problem = Problem([Bernoulli(0.2 + 0.6 * (arm % 7) / 7) for arm in range(arms)], Fixed(50))
    assert_same(problem, EVERY if arms <= 20 else FAST, horizon=1500, runs=256, seed=5, checkpoints=3)


def test_a_delay_law_for_each_arm() -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6), Bernoulli(0.5)], [Fixed(5), Pareto(0.3), Never()])
    assert_same(problem, EVERY, horizon=3000, runs=512, seed=6, checkpoints=10)


def test_long_runs_and_several_levels_of_the_wheel() -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], [Pareto(0.2), LogNormal(2000.0, 2.0)])
    assert_same(problem, FAST, horizon=70_000, runs=64, seed=7, checkpoints=10)


def family(rng: np.random.Generator) -> Problem:
    return Problem([Bernoulli(float(mean)) for mean in rng.uniform(0.2, 0.8, 6)], Geometric(30.0))


def test_a_problem_for_each_run() -> None:
    assert_same(family, EVERY, horizon=500, runs=300, seed=8, checkpoints=4)


@pytest.mark.parametrize(("horizon", "runs"), [(1, 40), (2, 1)], ids=["one round", "one run"])
def test_small_ones(horizon: int, runs: int) -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(0))
    assert_same(problem, EVERY, seed=9, checkpoints=1, horizon=horizon, runs=runs)


def test_many_runs_in_several_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.engine.gpu.launch.MOST_RUNS", 96)
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(9))
    assert_same(problem, FAST, horizon=200, runs=1000, seed=10, checkpoints=5)


@pytest.mark.parametrize("runs", [1, 63, 65, 191])
@pytest.mark.parametrize("arms", [3, 70])
def test_memory_of_each_run(arms: int, runs: int) -> None:
    """Each run has its rows, and one for all arms, beside those of the others; the last block of threads is not
    full."""
    laws = [Geometric(20.0), Fixed(0), Pareto(0.5), Empirical([0, 3, 200], never=0.2)]
    rewards = [Bernoulli(0.05 + 0.9 * (3 * arm % 7) / 7) for arm in range(arms)]
    problem = Problem(rewards, [laws[arm % 4] for arm in range(arms)])
    assert_same(problem, WITH_MEMORY, horizon=1200, runs=runs, seed=11, checkpoints=6)


def pace(policy: Any, play: Callable[..., Any]) -> float:
    """Rounds a second, without the time to compile."""
    import time

    play(policy, 32)
    started = time.perf_counter()
    result = play(policy, 262_144)
    assert math.isfinite(float(result.final.mean()))
    return 262_144 * 20_000 / (time.perf_counter() - started)


def test_pace(capsys: pytest.CaptureFixture[str]) -> None:
    problem = Problem([Bernoulli(float(mean)) for mean in np.linspace(0.25, 0.75, 20)], Fixed(200))

    def play(policy: Any, runs: int) -> Any:
        return simulate(problem, policy, horizon=20_000, runs=runs, checkpoints=100, device="cuda")

    with capsys.disabled():
        for policy in (UCB(confidence=1.0), SuccessiveElimination(confidence=1.0), OptimisticUCB(confidence=1.0)):
            rate = pace(policy, play)
            print(f"\n{policy.label}: {rate:.3g} rounds/s")
            assert rate > 5e9, "slower than a hundred cores"


def test_pace_of_policies_with_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """They read and write far more; against one core, in the same run."""
    import time

    problem = Problem([Bernoulli(float(mean)) for mean in np.linspace(0.25, 0.75, 20)], Fixed(200))

    def rounds_a_second(policy: Any, runs: int, **options: Any) -> float:
        times = []
        for count in (32, runs):
            started = time.perf_counter()
            simulate(problem, policy, horizon=20_000, runs=count, checkpoints=100, **options)
            times.append(time.perf_counter() - started)
        return runs * 20_000 / times[1]

    with capsys.disabled():
        for policy in WITH_MEMORY:
            rate = rounds_a_second(policy, 32_768, device="cuda")
            core = rounds_a_second(policy, 64, workers=1)
            print(f"\n{policy.describe()}: {rate:.3g} rounds/s, {rate / core:.0f} times one core")
            assert rate > 10.0 * core, "slower than ten cores"
