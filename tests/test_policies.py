"""Policies against textbooks, against permutations of the arms, and policies beyond the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import reference
from belated import Bandit, Problem, simulate
from belated.delays import Empirical, Fixed, Geometric, Pareto
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    OptimisticUCB,
    PatientBandits,
    PendingUCB,
    PhasedElimination,
    PrefixElimination,
    PrefixUCB,
    SuccessiveElimination,
    ThompsonSampling,
    UniformChoice,
)
from belated.policies._base.policy import Policy
from belated.rewards import Bernoulli, Beta, Uniform
from own_policies import Impatient, PullsUCB
from sampling import Prefetched
from transcript import choices_of

CONTINUOUS = Problem([Beta(2, 3), Uniform(0.3, 0.9), Beta(5, 4), Uniform(0.0, 0.7), Beta(1, 1)], Fixed(0))


def rewards_of(problem: Problem, horizon: int, seed: int = 0) -> list[list[float]]:
    """The rewards that each arm's pulls will have."""
    draws = Prefetched(problem, horizon=horizon, seed=seed, run=0)
    return [[draws.pull(arm, rank)[0] for rank in range(horizon)] for arm in range(problem.arms)]


# ---- without delays: the textbooks ----


@pytest.mark.parametrize("problem", [CONTINUOUS, Problem([Bernoulli(0.4), Bernoulli(0.5), Bernoulli(0.6)], Fixed(0))])
@pytest.mark.parametrize("confidence", [None, 0.3, 1.0])
def test_ucb_is_the_textbooks(problem: Problem, confidence: float | None) -> None:
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


@pytest.mark.parametrize("confidence", [0.05, 0.3, 1.0])
def test_se_is_even_dars(confidence: float) -> None:
    """Even-Dar, Mannor, Mansour (2006): sample every arm of S once; after t samples of each remove the arms whose
    empirical mean is more than 2 alpha_t below the best one's, alpha_t = sqrt(2c/t)."""
    horizon = 6000
    rewards = np.array(rewards_of(CONTINUOUS, horizon))
    means = np.cumsum(rewards, axis=1) / np.arange(1, horizon + 1)
    alive = list(range(CONTINUOUS.arms))
    chosen: list[int] = []
    gone = [-1] * CONTINUOUS.arms
    t = 0
    while len(chosen) < horizon:
        chosen += alive
        t += 1
        best = max(means[arm, t - 1] for arm in alive)
        losers = [arm for arm in alive if best - means[arm, t - 1] > 2 * math.sqrt(2 * confidence / t)]
        for arm in losers:
            gone[arm] = len(chosen) + 1
        alive = [arm for arm in alive if arm not in losers]
    policy = SuccessiveElimination(confidence=confidence)
    result = simulate(CONTINUOUS, policy, horizon=horizon, runs=1, checkpoints=horizon)
    assert choices_of(CONTINUOUS, result.curves[0, 0]) == chosen[:horizon]
    assert result.eliminated_at[0, 0].tolist() == [at if at <= horizon else -1 for at in gone]
    assert max(gone) > 0, "someone should be eliminated"


def test_without_delays_what_counts_pulls_and_what_counts_answers_is_one() -> None:
    """m = n: OPSE is SE, and Optimistic-UCB is UCB."""
    problem = Problem([Bernoulli(0.4), Bernoulli(0.5), Beta(3, 2)], Fixed(0))
    policies = [
        SuccessiveElimination(confidence=0.2),
        OptimisticPessimisticElimination(confidence=0.2),
        UCB(confidence=0.2),
        OptimisticUCB(confidence=0.2),
        PullsUCB(confidence=0.2),
    ]
    result = simulate(problem, policies, horizon=3000, runs=30, seed=3)
    assert np.array_equal(result.curves[0], result.curves[1])
    assert np.array_equal(result.eliminated_at[0], result.eliminated_at[1])
    assert np.array_equal(result.curves[2], result.curves[3])
    assert np.array_equal(result.curves[2], result.curves[4])


def test_no_confidence_means_the_logarithm_of_the_horizon() -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Geometric(10))
    paper = [UCB, SuccessiveElimination, PhasedElimination, OptimisticPessimisticElimination, OptimisticUCB]
    for cls in (*paper, PrefixUCB, PrefixElimination, PendingUCB):
        given = [cls(), cls(confidence=math.log(2000)), cls(horizon=50), cls(confidence=math.log(50))]
        result = simulate(problem, given, horizon=2000, runs=10)
        assert np.array_equal(result.curves[0], result.curves[1]), "the call's horizon fills in"
        assert np.array_equal(result.curves[2], result.curves[3]), "the policy's own horizon stands"
        assert not np.array_equal(result.curves[1], result.curves[3]) or cls is PhasedElimination


# ---- permuting arms permutes results ----

INDEX = [
    UCB(confidence=0.3),
    UCB(),
    OptimisticUCB(confidence=0.1),
    PatientBandits(alpha=0.5, horizon=900),
    PrefixUCB(confidence=0.3),
    PrefixUCB(confidence=0.3, spread=True),
    PendingUCB(confidence=0.3, patience=30),  # without patience the delays of the first pulls tell the places
    PullsUCB(),
]
ELIMINATION = [
    SuccessiveElimination(confidence=0.05),
    PhasedElimination(confidence=0.003),
    OptimisticPessimisticElimination(confidence=0.05),
    PrefixElimination(confidence=0.05),
]
NAMES = ["a", "b", "c", "d", "e"]
PERMUTATIONS = [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 2, 3, 4, 0]]


def by_name(names: Sequence[str], policy: Policy, rounds: int, due: Callable[[int], bool]) -> tuple[list[str], Bandit]:
    """Play with the rewards that belong to the names; what is pending is told when ``due``(decisions made)."""
    rewards = dict(zip(NAMES, rewards_of(CONTINUOUS, rounds, seed=6), strict=True))
    bandit = Bandit(names, policy)
    count = dict.fromkeys(names, 0)
    waiting: list[tuple[int, float]] = []
    chosen = []
    for made in range(1, rounds + 1):
        decision = bandit.choose()
        waiting.append((decision.id, rewards[decision.arm][count[decision.arm]]))
        count[decision.arm] += 1
        chosen.append(decision.arm)
        if due(made):
            bandit.observe_many(waiting)
            waiting = []
    return chosen, bandit


def told(bandit: Bandit) -> dict[str, Any]:
    return {arm.arm: arm for arm in bandit.summary()}


@pytest.mark.parametrize("order", PERMUTATIONS, ids=str)
@pytest.mark.parametrize("policy", INDEX, ids=repr)
@pytest.mark.parametrize("every", [1, 7])
def test_permuted_arms_of_index_policies(policy: Policy, order: list[int], every: int) -> None:
    """Once every arm was pulled and answered, the names decide and not their places."""
    names = [NAMES[place] for place in order]

    def due(made: int) -> bool:
        return made == 5 or (made > 5 and made % every == 0)

    expected, first = by_name(NAMES, policy, 900, due)
    found, second = by_name(names, policy, 900, due)
    assert expected[:5] == NAMES
    assert found[:5] == names
    assert found[5:] == expected[5:]
    assert told(second) == told(first)


@pytest.mark.parametrize("order", PERMUTATIONS, ids=str)
@pytest.mark.parametrize("policy", ELIMINATION, ids=repr)
def test_permuted_arms_of_elimination_policies(policy: Policy, order: list[int]) -> None:
    """The same arms are eliminated after the same sweep; within a sweep the order is that of the places."""
    names = [NAMES[place] for place in order]
    _, first = by_name(NAMES, policy, 900, lambda made: True)
    _, second = by_name(names, policy, 900, lambda made: True)
    one, other = told(first), told(second)
    assert {name: arm.eliminated_at for name, arm in one.items()} == {n: arm.eliminated_at for n, arm in other.items()}
    assert sum(arm.active for arm in one.values()) < 5
    for name in NAMES:
        assert abs(one[name].pulls - other[name].pulls) <= 1, "the last sweep may be cut short"


# ---- policies beyond the paper ----


def pulls_index(known: reference.Known, arm: int) -> float:
    m = known.m[arm]
    return reference.mean_and_radius(known, arm)[0] + math.sqrt(2.0 * known.c(m) / m)


@pytest.mark.parametrize("arms", [2, 80])
def test_an_index_policy_of_ones_own(arms: int) -> None:
    problem = Problem([Bernoulli(0.3 + 0.5 * arm / arms) for arm in range(arms)], Pareto(0.8))
    policy = PullsUCB(confidence=0.4)
    result = simulate(problem, policy, horizon=1500, runs=3, seed=1, checkpoints=50)
    for run in range(3):
        environment = Prefetched(problem, horizon=1500, seed=1, run=run)
        algorithm = reference.by_index(pulls_index)
        played = reference.play(problem, policy, environment, 1500, result.rounds.tolist(), algorithm)
        assert np.array_equal(result.curves[0, run], played.curve)


def impatient(problem: Problem, horizon: int, seed: int, run: int) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """The policy Impatient by other means: (choice, answers known before it as (round, reward)) of each round."""
    environment = Prefetched(problem, horizon=horizon, seed=seed, run=run)
    answers: list[list[tuple[int, int, float]]] = [[] for _ in range(problem.arms)]  # (age, rank, reward), as they come
    rounds: list[list[int]] = [[] for _ in range(problem.arms)]  # of the pulls, in order
    due: dict[int, list[tuple[int, int, int, float]]] = {}
    for now in range(1, horizon + 1):
        arrived = due.pop(now - 1, [])
        for arm, age, rank, reward in arrived:
            answers[arm].append((age, rank, reward))
        if environment.own_uniform(now, 0) < 0.1:
            arm = int(environment.own_uniform(now, 1) * problem.arms)
        else:
            scores = []
            for number in range(problem.arms):
                known, ages, ranks, memory = answers[number], 0.0, 0.0, 0.0
                for age, rank, reward in known:
                    ages += age
                    ranks += rank * reward
                for rank, at in enumerate(rounds[number]):
                    memory += 1e-3 * at * rank
                scores.append(ages + ranks - 0.1 * (known[-1][1] if known else 0.0) + memory)
            arm = scores.index(min(scores))
        rank = len(rounds[arm])
        reward, delay = environment.pull(arm, rank)
        rounds[arm].append(now)
        if delay is not None:
            due.setdefault(now + delay, []).append((arm, delay, rank, reward))
        yield arm, [(rounds[number][place], given) for number, _, place, given in arrived]


AGED = Problem(
    [Beta(2, 2), Bernoulli(0.4), Uniform(0.1, 0.75)], [Geometric(4), Empirical([0, 9, 30], 0.2), Pareto(0.7)]
)


def test_a_policy_with_memory_sees_ages_ranks_and_its_own_stream() -> None:
    """In the engine."""
    result = simulate(AGED, Impatient(), horizon=300, runs=3, seed=21, checkpoints=300)
    for run in range(3):
        expected = [arm for arm, _ in impatient(AGED, 300, 21, run)]
        assert choices_of(AGED, result.curves[0, run]) == expected
        assert len(set(expected)) == 3


def test_a_policy_with_memory_in_a_live_bandit() -> None:
    bandit = Bandit(["0", "1", "2"], Impatient(), seed=21)
    for arm, answers in impatient(AGED, 300, 21, 0):
        for pulled_at, reward in answers:
            bandit.observe(pulled_at - 1, reward)
        assert bandit.choose().arm == str(arm)


def test_a_policy_with_memory_is_saved_and_restored() -> None:
    bandit = Bandit(["0", "1", "2"], Impatient(), seed=21)
    for arm, answers in impatient(AGED, 200, 21, 0):
        bandit = Bandit.from_dict(bandit.to_dict())
        for pulled_at, reward in answers:
            bandit.observe(pulled_at - 1, reward)
        assert bandit.choose().arm == str(arm)


def test_a_function_of_the_kernel_with_other_arguments_is_refused() -> None:
    from belated.policies._base.policy import policy

    @policy
    class Wrong(PullsUCB):  # type: ignore[misc]
        label = "wrong"

        @staticmethod
        def index(policy: Any, arm: Any, extra: Any) -> Any:
            return 0.0

    with pytest.raises(Exception, match=r"index takes \(policy, arm, extra\)"):
        simulate(AGED, Wrong(), horizon=5, runs=1)


# ---- the control and Thompson ----


def test_uniform_choice_is_uniform_and_ignores_feedback() -> None:
    problem = Problem([Bernoulli(0.1), Bernoulli(0.5), Bernoulli(0.9), Bernoulli(0.9)], Fixed(0))
    late = Problem(problem.rewards, Fixed(10**6))
    now, never = (simulate(p, UniformChoice(), horizon=4000, runs=50, seed=2) for p in (problem, late))
    assert np.array_equal(now.pulls, never.pulls)
    counts = now.pulls[0].sum(axis=0)
    assert ((counts - 50_000) ** 2 / 50_000).sum() < 21.1  # chi-square, 3 degrees of freedom, 1e-4
    assert len(np.unique(now.pulls[0, :, 0])) > 20


def test_thompson_without_feedback_is_uniform_for_equal_priors() -> None:
    problem = Problem([Bernoulli(0.1), Bernoulli(0.9)], Fixed(10**6))
    pulls = simulate(problem, ThompsonSampling(), horizon=2000, runs=50, seed=4).pulls[0].sum(axis=0)
    assert abs(pulls[0] - 50_000) < 3.9 * math.sqrt(100_000 * 0.25)


def test_thompson_finds_the_best_arm() -> None:
    problem = Problem([Bernoulli(0.3), Bernoulli(0.6)], Geometric(20))
    assert simulate(problem, ThompsonSampling(), horizon=3000, runs=20).pulls[0, :, 1].min() > 2500
