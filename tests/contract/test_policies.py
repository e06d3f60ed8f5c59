"""What holds for every policy: parameters, descriptions, theorems, permutations of the arms, live bandits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from belated import Bandit, Problem, simulate
from belated.delays import ByReward, Fixed, Geometric
from belated.policies import ConfidencePolicy, EliminationPolicy, IndexPolicy, Policy
from belated.rewards import Bernoulli
from belated.theory import bound_of
from own_policies import PullsUCB
from support.policies import every_variant, example_of, selected, variants_of
from support.problems import CONTINUOUS, rewards_of

INDEX_VARIANTS = [*every_variant(IndexPolicy), PullsUCB()]


def test_every_policy_has_variants_of_its_own_class() -> None:
    for cls in selected():
        assert variants_of(cls), cls.__name__
        assert all(type(variant) is cls for variant in variants_of(cls)), cls.__name__


def test_confidence_in_theory_is_the_logarithm_of_the_horizon() -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Geometric(10))
    for cls in selected():
        if not issubclass(cls, ConfidencePolicy):
            continue
        theory = cls(confidence="theory")
        own = replace(theory, horizon=50)
        given = [theory, cls(confidence=math.log(2000)), own, cls(confidence=math.log(50))]
        result = simulate(problem, given, horizon=2000, runs=10)
        assert np.array_equal(result.curves[0], result.curves[1]), f"{cls.__name__}: the call's horizon fills in"
        assert np.array_equal(result.curves[2], result.curves[3]), f"{cls.__name__}: the policy's own horizon stands"
        differ = not np.array_equal(result.curves[1], result.curves[3])
        assert differ or "UniformChoice" in cls.__name__ or cls.is_phased, cls.__name__


def test_theorems_are_for_ln_t() -> None:
    """A theorem says nothing for another confidence or horizon; some do not allow delays that depend on the reward."""
    arms = [Bernoulli(0.6), Bernoulli(0.4)]
    dependent = Problem(arms, ByReward({0: Fixed(0), 1: Fixed(20)}))
    for cls in selected():
        plain = replace(example_of(cls), **({"confidence": "theory"} if issubclass(cls, ConfidencePolicy) else {}))
        bound = bound_of(plain, Problem(arms, Fixed(20)), 1000)
        if cls.regret_bound is Policy.regret_bound:
            assert bound is None, cls.__name__
            continue
        assert bound is not None, cls.__name__
        assert bound.name == cls.label
        assert bound_of(replace(plain, horizon=1000), Problem(arms, Fixed(20)), 1000) == bound
        assert bound_of(replace(plain, horizon=999), Problem(arms, Fixed(20)), 1000) is None
        assert bound_of(replace(plain, confidence=1.0), Problem(arms, Fixed(20)), 1000) is None
        other = bound_of(plain, dependent, 1000)
        assert other is None or other.name == cls.label


def test_a_description_names_what_is_not_at_its_default() -> None:
    for variant in every_variant():
        described = variant.describe()
        assert described.startswith(type(variant).label)
        for field in fields(variant):
            value = getattr(variant, field.name)
            shown = field.name != "horizon" and value not in (None, field.default)
            assert (f"{field.name}=" in described or (value is True and field.name in described)) == shown, described


# ---- permuting arms permutes results ----

NAMES = ["a", "b", "c", "d", "e"]
PERMUTATIONS = [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 2, 3, 4, 0]]


def by_name(names: Sequence[str], policy: Policy, rounds: int, due: Callable[[int], bool]) -> tuple[list[str], Bandit]:
    """Play with the rewards that belong to the names; pending feedback is given when ``due``(decisions made)."""
    rewards = dict(zip(NAMES, rewards_of(CONTINUOUS, rounds, seed=6), strict=True))
    bandit = Bandit(names, policy)
    count = dict.fromkeys(names, 0)
    pending: list[tuple[int, float]] = []
    chosen = []
    for made in range(1, rounds + 1):
        decision = bandit.choose()
        pending.append((decision.id, rewards[decision.arm][count[decision.arm]]))
        count[decision.arm] += 1
        chosen.append(decision.arm)
        if due(made):
            bandit.observe_many(pending)
            pending = []
    return chosen, bandit


def summary_of(bandit: Bandit) -> dict[str, Any]:
    return {arm.arm: arm for arm in bandit.summary()}


def adapts_to_delays(policy: Any) -> bool:
    """Whether the delays of the first pulls, which depend on the arm's number, change what follows."""
    return policy.corrects_mean or getattr(policy, "patience", 0) is None


@pytest.mark.parametrize("every", [1, 7])
def test_permuted_arms_of_index_policies(every: int) -> None:
    """Once every arm was pulled and has feedback, the names decide and not their order."""

    def due(made: int) -> bool:
        return made == 5 or (made > 5 and made % every == 0)

    for policy in INDEX_VARIANTS:
        if adapts_to_delays(policy):
            continue
        expected, first = by_name(NAMES, policy, 900, due)
        assert expected[:5] == NAMES, policy
        for order in PERMUTATIONS:
            names = [NAMES[number] for number in order]
            found, second = by_name(names, policy, 900, due)
            assert found[:5] == names, policy
            assert found[5:] == expected[5:], policy
            assert summary_of(second) == summary_of(first), policy


def test_permuted_arms_of_elimination_policies() -> None:
    """The same arms are eliminated after the same sweep; within a sweep the order is that of the numbers."""
    for policy in every_variant(EliminationPolicy):
        _, first = by_name(NAMES, policy, 900, lambda made: True)
        one = summary_of(first)
        assert sum(arm.active for arm in one.values()) < 5, policy
        for order in PERMUTATIONS:
            other = summary_of(by_name([NAMES[number] for number in order], policy, 900, lambda made: True)[1])
            for name in NAMES:
                assert one[name].eliminated_at == other[name].eliminated_at, policy
                assert abs(one[name].pulls - other[name].pulls) <= 1, "the last sweep may be cut short"
