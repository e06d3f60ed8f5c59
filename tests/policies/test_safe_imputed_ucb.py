"""The safe form of Imputed-UCB: its brackets, its safe rounds, and what they save it from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from belated import Bandit, Problem, simulate
from belated.delays import ByReward, Fixed, Geometric, Mixture, Never, Pareto
from belated.engine.environment import Environment
from belated.policies import PrefixUCB, SafeImputedUCB
from belated.rewards import Bernoulli, Beta
from belated.testing import check_policy
from belated.theory import bound_of, imputed
from support.plain_imputed import by_imputed_index
from support.plain_prefixes import prefix_lower, prefix_upper
from support.plain_simulator import History, argmax, play

VARIANTS = [
    SafeImputedUCB(confidence=0.05, safe=3),
    SafeImputedUCB(confidence=0.3, safe=7, patience=12),
    SafeImputedUCB(),
]


def choice(history: History, indices: list[float]) -> int:
    """The largest U in every safe-th round, else the largest index between L and U; arms without pulls first."""
    arms = range(history.arms)
    if 0 in history.m:
        return history.m.index(0)
    highs = [prefix_upper(history, arm) for arm in arms]
    if history.now % history.policy.safe == 0:
        return argmax(highs)
    return argmax([min(max(indices[arm], prefix_lower(history, arm)), highs[arm]) for arm in arms])


rule = by_imputed_index(choice, anytime=True)

# ---- the second text ----

LATE = ByReward({0: Fixed(2), 1: Fixed(60)})
PROBLEMS = {
    "geometric": Problem([Bernoulli(mean) for mean in (0.3, 0.5, 0.4, 0.55)], Geometric(15)),
    "bias": Problem([Bernoulli(0.7), Bernoulli(0.4)], [LATE, ByReward({0: Fixed(60), 1: Fixed(2)})]),
    "silent and lost": Problem(
        [Bernoulli(0.4), Beta(2.0, 3.0), Bernoulli(0.6)], [Never(), Pareto(0.6), Mixture([(2, Fixed(9)), (1, Never())])]
    ),
}


def kept_choices(problem: Problem, policy: Any, horizon: int, seed: int) -> list[int]:
    """The arms that the simulator pulls."""
    return simulate(problem, [policy], horizon=horizon, runs=1, seed=seed, workers=1).trace(0, 0).arm.tolist()


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("policy", [*VARIANTS, SafeImputedUCB(0.1, safe=1), SafeImputedUCB(0.002, safe=100)])
def test_every_choice_is_that_of_the_second_text(name: str, policy: Any) -> None:
    problem, horizon = PROBLEMS[name], 600
    policy = policy.for_horizon(horizon)
    for seed in range(2):
        environment = Environment(problem, horizon=horizon, seed=seed, run=0)
        played = play(problem, policy, rule, environment, horizon, [horizon])
        assert kept_choices(problem, policy, horizon, seed) == played.choices


@pytest.mark.parametrize("level", [{"confidence": 0.2}, {"confidence": "theory"}])
def test_if_every_round_is_safe_it_is_prefix_ucb(level: dict[str, Any]) -> None:
    for problem in PROBLEMS.values():
        found = simulate(problem, [SafeImputedUCB(safe=1, **level), PrefixUCB(**level)], horizon=3000, runs=5, seed=2)
        assert np.array_equal(found.curves[0], found.curves[1])
        assert np.array_equal(found.pulls[0], found.pulls[1])


@pytest.mark.slow
def test_it_keeps_the_contract() -> None:
    check_policy(SafeImputedUCB(safe=10))


# ---- a live bandit ----


def test_saved_in_any_round_it_goes_on_as_if_nothing_had_happened() -> None:
    def play_on(bandit: Bandit, first: int, last: int) -> list[str]:
        chosen = []
        for number in range(first, last):
            decision = bandit.choose()
            chosen.append(decision.arm)
            if number % 3:
                bandit.observe(decision.id, float(number % 5 < 2 + (decision.arm == "b")))
        return chosen

    names = ["a", "b", "c"]
    whole = play_on(Bandit(names, SafeImputedUCB(safe=4), seed=0), 0, 120)
    for stop in (2, 3, 39, 40):
        bandit = Bandit(names, SafeImputedUCB(safe=4), seed=0)
        before = play_on(bandit, 0, stop)
        restored = Bandit.from_dict(bandit.to_dict())
        assert before + play_on(restored, stop, 120) == whole


def test_every_safe_th_decision_goes_to_the_largest_upper_bracket() -> None:
    bandit = Bandit(["a", "b", "c"], SafeImputedUCB(confidence=0.5, safe=5), seed=0)
    differ = 0
    for number in range(1, 301):
        highs = [arm.upper for arm in bandit.summary()]
        decision = bandit.choose()
        largest = max(highs)
        if number % 5 == 0 and largest < 1.0:  # summaries are cut at 1
            assert decision.arm == "abc"[highs.index(largest)]
        differ += largest < 1.0 and decision.arm != "abc"[highs.index(largest)]
        if number % 7:
            bandit.observe(decision.id, float((number * 13) % 10 < {"a": 3, "b": 5, "c": 6}[decision.arm]))
    assert differ > 10, "other rounds follow the index"


# ---- its bound ----


def test_its_bound() -> None:
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    assert bound_of(SafeImputedUCB(), problem, 10_000) == imputed(problem, 10_000)
    assert bound_of(SafeImputedUCB(safe=7, horizon=10_000), problem, 10_000) == imputed(problem, 10_000, safe=7)
    for other in (SafeImputedUCB(confidence=1.0), SafeImputedUCB(horizon=10_001)):
        assert bound_of(other, problem, 10_000) is None
