"""Sweeps in few steps: bounds found by their keys, and rounds of a sweep played without asking, change no choice."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import Fixed, Mixture, PacketLoss, Pareto
from belated.live.learner import Learner
from belated.policies import (
    POLICIES,
    Arm,
    ConfidencePolicy,
    EliminationPolicy,
    OptimisticPessimisticElimination,
    PhasedElimination,
    PrefixElimination,
    State,
    SuccessiveElimination,
    policy,
    radius,
)
from belated.policies._base import elimination
from belated.rewards import Bernoulli, Beta
from same import assert_same_bits
from support.loops import only_timing_wheel, watch_loops


@policy
class Written(EliminationPolicy, ConfidencePolicy):
    """OPSE with its two bounds as they are in the paper."""

    label = "Written"

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return arm.total / m - radius(policy, m)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return (arm.total + (arm.pulls - arm.observed)) / m + radius(policy, m)


@policy
class Backwards(EliminationPolicy, ConfidencePolicy):
    """Successive elimination that begins each sweep with the last arm."""

    label = "Backwards"

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        if elimination.rest_of_sweep(policy, state) == 0:
            elimination.end_sweep(policy, state, now)
            state.register[elimination.CURSOR] = 0
        state.register[elimination.CURSOR] += 1
        kept = state.arms - state.register[elimination.GONE]
        return np.int64(state.active[np.uint32(kept - state.register[elimination.CURSOR])])


@policy
class Hasty(EliminationPolicy, ConfidencePolicy):
    """Successive elimination that takes its first arm for the best after 50 pulls of it."""

    label = "Hasty"

    @staticmethod
    def committed_arm(policy: Any, state: State) -> Any:
        return np.int64(state.active[0]) if state.pulls[state.active[0]] >= 50 else np.int64(-1)


@policy
class Short(EliminationPolicy, ConfidencePolicy):
    """Successive elimination that ends a sweep with every fifth pull of an arm."""

    label = "Short"

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        if rank % 5 == 4:
            state.register[elimination.CURSOR] = state.arms - state.register[elimination.GONE]


@policy
class Wider(OptimisticPessimisticElimination):
    """OPSE with an upper bound that is not in the order of OPSE's keys."""

    label = "Wider"

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return 1.0


def bernoulli_arms(means: list[float]) -> list[Any]:
    return [Bernoulli(mean) for mean in means]


SPREAD = [0.1, 0.5, 0.3, 0.7, 0.45, 0.2]
PROBLEMS: dict[str, Problem] = {
    "a ring": Problem(bernoulli_arms(SPREAD), Fixed(30)),
    "no delay": Problem(bernoulli_arms(SPREAD), Fixed(0)),
    "a delay shorter than a sweep": Problem(bernoulli_arms(SPREAD), Fixed(3)),
    "a delay as long as a sweep, but for one": Problem(bernoulli_arms(SPREAD), Fixed(5)),
    "a wheel": Problem(bernoulli_arms(SPREAD), [Pareto(1), Fixed(9), PacketLoss(0.9), Fixed(0), Pareto(0.5), Fixed(1)]),
    "other rewards": Problem([Beta(2, 3), Beta(5, 1), Bernoulli(0.4)], Mixture([(1, Fixed(2)), (1, Fixed(40))])),
}


def test_which_bounds_have_keys() -> None:
    every = [
        OptimisticPessimisticElimination,
        SuccessiveElimination,
        PhasedElimination,
        PrefixElimination,
        Written,
        Wider,
    ]
    assert [cls for cls in every if cls.has_bound_keys] == every[:1]


@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_found_by_keys_eliminate_as_those_of_the_paper(name: str) -> None:
    policies = [OptimisticPessimisticElimination(confidence=0.1), Written(confidence=0.1)]
    result = simulate(PROBLEMS[name], policies, horizon=4000, runs=20, seed=3)
    for array in (result.final, result.pulls, result.observed, result.eliminated_at):
        assert np.array_equal(array[0], array[1])
    assert (result.eliminated_at[0] >= 0).any()


@pytest.mark.parametrize("seed", range(20))
def test_bounds_found_by_keys_where_pulls_were_retracted(seed: int) -> None:
    """Then arms of a sweep may have been pulled unequally often."""
    chance = random.Random(seed)
    learners = [Learner(5, cls(confidence=0.2), seed) for cls in (OptimisticPessimisticElimination, Written)]
    pending: list[tuple[int, int, int]] = []
    uneven = False
    for number in range(1500):
        (arm, rank), other = [learner.decide() for learner in learners]
        assert (arm, rank) == other
        pending.append((arm, rank, number))
        for _ in range(chance.choice([0, 1, 1, 2])):
            if pending:
                pull = pending.pop(chance.randrange(len(pending)))
                reward = float(chance.random() < 0.2 + 0.15 * pull[0])
                lost = chance.random() < 0.2
                for learner in learners:
                    if lost:
                        learner.retract(*pull)
                    else:
                        learner.observe(pull[0], reward, *pull[1:])
        state = learners[0].state
        uneven |= np.ptp(state.pulls[:5][state.eliminated_at < 0]) > 1
        assert np.array_equal(state.eliminated_at, learners[1].state.eliminated_at)
    assert uneven
    assert (learners[0].state.eliminated_at >= 0).any()


def test_who_sweeps() -> None:
    """A policy that keeps notes of its answers is asked in every round."""
    sweeping = {name for name, cls in POLICIES.items() if cls.sweeps and cls.__module__.startswith("belated.")}
    assert sweeping == {"SuccessiveElimination", "PhasedElimination", "OptimisticPessimisticElimination"}


@pytest.mark.parametrize("name", ["a ring", "no delay", "a delay shorter than a sweep"])
def test_who_brings_an_own_choice_is_asked_in_every_round(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = [Backwards(confidence=0.05), Hasty(confidence=0.05), Short(confidence=0.05)]
    assert not any(policy.sweeps for policy in own)
    called = watch_loops(monkeypatch)
    options = {"horizon": 3000, "runs": 5, "checkpoints": 1}
    result = simulate(PROBLEMS[name], own, **options)
    assert set(called) == {"play_ring"}
    called.clear()
    only_timing_wheel(monkeypatch)
    assert_same_bits(result, simulate(PROBLEMS[name], own, **options))
    assert set(called) == {"play_wheel"}
    first = simulate(PROBLEMS[name], own[:1], horizon=6, runs=1, checkpoints=6)
    assert first.curves is not None
    gaps = PROBLEMS[name].gaps
    assert np.allclose(np.diff(first.curves[0, 0], prepend=0.0), gaps[::-1])
