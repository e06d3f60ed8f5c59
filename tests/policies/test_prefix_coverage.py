"""Prefix brackets hold at every round on every row of the arena, and lie inside OPSE's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from belated import Problem
from belated.engine.environment import Environment, _pull
from belated.kernel.jit import entry, ignore_overflow, inline
from belated.kernel.rng import family_generator
from belated.policies import UCB, Policy, PrefixElimination, PrefixUCB, State, interface, radius, view
from belated.policies._base.encode import memory_size
from belated.policies._base.entry_points import with_table
from belated.policies._base.state import allocate, reset
from belated.studies.arena.scenarios import Scenario, scenarios

RUNS = 6
"""Of each policy on each row."""
RARE = 1e-4
ROUNDING = 1e-12
LOWER, UPPER, OUTSIDE = range(3)
ROWS = scenarios()


@inline
def _look(policy: Any, state: State, arm: Any, now: Any, seen: Any) -> None:
    """Keep the largest lower and the smallest upper bound of an arm, and how far one was ever outside OPSE's."""
    known = view(state, arm, now)
    low, high = interface.lower(policy, known), interface.upper(policy, known)
    width = radius(policy, known.pulls)
    floor = known.total / known.pulls - width
    ceiling = (known.total + known.pulls - known.observed) / known.pulls + width
    seen[arm, LOWER] = max(seen[arm, LOWER], low)
    seen[arm, UPPER] = min(seen[arm, UPPER], high)
    seen[arm, OUTSIDE] = max(seen[arm, OUTSIDE], floor - low, high - ceiling)


@entry
def _watch(policy: Any, state: State, laws: Any, key_a: Any, key_b: Any, late: Any, rewards: Any, seen: Any) -> None:
    """Play one run by the protocol and look at an arm's bounds after each of its pulls and answers, which alone
    change them. Pulls are known by their round; ``late`` has the last one due before each round, then for each pull
    the next one due with it, its arm and its rank."""
    reset(state)
    horizon = late.shape[1] - 1
    interface.fill_table(policy)
    for now in range(1, horizon + 1):
        pulled_at = late[0, now]
        while pulled_at > 0:
            arm = np.uint32(late[2, pulled_at])
            interface.record_feedback(policy, state, arm, rewards[pulled_at], late[3, pulled_at], pulled_at, now)
            _look(policy, state, arm, now, seen)
            pulled_at = late[1, pulled_at]
        arm = np.uint32(interface.choose(policy, state, now))
        rank = np.int64(state.pulls[arm])
        interface.record_pull(policy, state, arm, rank, now)
        _look(policy, state, arm, now, seen)
        reward, delay = _pull(laws, arm, np.uint32(state.arms + arm), key_a, key_b, np.int64(arm), rank, now)
        rewards[now], late[2, now], late[3, now] = reward, np.int64(arm), rank
        due = now + np.int64(delay) + 1
        if due <= horizon:
            late[1, now], late[0, due] = late[0, due], now


def watched(policy: Policy, problem: Problem, horizon: int, run: int) -> npt.NDArray[np.float64]:
    """Of each arm the largest lower and the smallest upper bound of a run, and the furthest it was outside OPSE's."""
    draws = Environment(problem, horizon=horizon, seed=21, run=run)
    parameters = with_table(policy.for_horizon(horizon), problem.arms, horizon + 1)
    state = allocate(problem.arms, policy.shape(), memory_size(policy, problem.arms, None))[0]
    seen = np.tile([-np.inf, np.inf, -np.inf], (problem.arms, 1))
    late, rewards = np.zeros((4, horizon + 1), np.int64), np.zeros(horizon + 1)
    with ignore_overflow():
        _watch(parameters, state, draws._laws, *draws._key, late, rewards, seen)
    assert state.pulls[: problem.arms].sum() == horizon
    return seen


def misses(seen: npt.NDArray[np.float64], problem: Problem) -> bool:
    """Whether some bracket of some arm missed the mean in some round."""
    means = problem.means
    return bool(np.any(seen[:, LOWER] > means + ROUNDING) or np.any(seen[:, UPPER] < means - ROUNDING))


def drawn(row: Scenario, run: int) -> Problem:
    return row.problem if isinstance(row.problem, Problem) else row.problem(family_generator(21, run))


both = pytest.mark.parametrize(
    "policy",
    [PrefixUCB(confidence="theory"), PrefixElimination(confidence="theory")],
    ids=["PrefixUCB", "PrefixElimination"],
)


@both
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_bracket_holds_at_every_round_and_lies_inside_opse(row: Scenario, policy: Policy) -> None:
    """Theorem 1 with c = ln T: but for a probability of 2 / T^2 it contains the mean, for all arms and rounds at
    once; and it is never wider than OPSE's."""
    wrong = 0
    for run in range(RUNS):
        problem = drawn(row, run)
        seen = watched(policy, problem, row.horizon, run)
        assert seen[:, OUTSIDE].max() <= ROUNDING
        wrong += misses(seen, problem)
    assert wrong <= binom.isf(RARE, RUNS, 2.0 / row.horizon**2)


@both
def test_a_narrower_bracket_would_be_noticed(policy: Policy) -> None:
    """The watch can see: with c = 0.05 runs on nearly every row miss a mean."""
    found = []
    for row in ROWS:
        problem = drawn(row, 0)
        seen = watched(replace(cast("Any", policy), confidence=0.05), problem, row.horizon, 0)
        found.append(misses(seen, problem))
    assert sum(found) > 0.8 * len(ROWS)


def test_an_interval_of_what_arrived_would_be_noticed() -> None:
    """UCB's, with the same c = ln T, misses the mean in every run where the delay tells of the reward; and it is at
    times outside OPSE's, which holds."""
    row = next(row for row in ROWS if row.name == "bias-5000")
    for run in range(3):
        problem = drawn(row, run)
        seen = watched(UCB(confidence="theory"), problem, row.horizon, run)
        assert misses(seen, problem)
        assert seen[:, OUTSIDE].max() > 0.01
