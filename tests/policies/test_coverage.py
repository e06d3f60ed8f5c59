"""The radius that is valid at all times: the probability that any interval is ever wrong is at most delta."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from belated import Problem, simulate
from belated.delays import ByReward, Fixed, Geometric, Mixture, Never
from belated.rewards import Bernoulli
from own_policies import WatchOPSE, WatchUCB

RUNS = 1200
HORIZON = 10_000
RARE = 1e-4


def runs_with_a_wrong_interval(watch: Any, delay: Any, mean: float, arms: int = 2) -> int:
    """In how many of the runs some interval of some arm missed the mean at some time."""
    problem = Problem([Bernoulli(mean)] * arms, delay)
    result = simulate(problem, watch, horizon=HORIZON, runs=RUNS, seed=8, checkpoints=1)
    assert np.all(result.pulls[0] == HORIZON // arms)
    return int((result.eliminated_at[0] >= 0).any(axis=1).sum())


def most(delta: float) -> int:
    """More wrong runs than this are too many for a probability of at most delta (exact binomial, 1e-4)."""
    return int(binom.isf(RARE, RUNS, delta))


@pytest.mark.parametrize("delta", [0.02, 0.3])
@pytest.mark.parametrize("delay", [Fixed(0), Geometric(200.0)], ids=repr)
@pytest.mark.parametrize("mean", [0.5, 0.1])
def test_ucb_and_se(delta: float, delay: Any, mean: float) -> None:
    """S/n with the radius of n, with and without delays that do not depend on the reward."""
    assert runs_with_a_wrong_interval(WatchUCB(confidence="theory", delta=delta, mean=mean), delay, mean) <= most(delta)


DEPENDENT = [
    Fixed(0),
    ByReward({0: Fixed(0), 1: Never()}),
    ByReward({0: Never(), 1: Fixed(0)}),
    ByReward({0: Fixed(0), 1: Fixed(5000)}),
    Mixture([(1, ByReward({0: Geometric(100), 1: Fixed(3)})), (1, Never())]),
]


@pytest.mark.parametrize("delta", [0.02, 0.3])
@pytest.mark.parametrize("delay", DEPENDENT, ids=["none", "ones lost", "zeros lost", "ones late", "mixed"])
def test_opse(delta: float, delay: Any) -> None:
    """The bounds that divide by m, whatever the delay tells of the reward."""
    assert runs_with_a_wrong_interval(WatchOPSE(confidence="theory", delta=delta), delay, 0.5) <= most(delta)


def test_many_arms() -> None:
    assert runs_with_a_wrong_interval(WatchUCB(confidence="theory", delta=0.1), Fixed(0), 0.5, arms=20) <= most(0.1)


def test_a_radius_that_does_not_grow_is_wrong_in_the_end() -> None:
    """The watch can see: a fixed level of 1 misses the mean in most of the runs, and so does UCB if ones are lost."""
    assert runs_with_a_wrong_interval(WatchUCB(confidence=1.0), Fixed(0), 0.5) > most(0.05)
    assert runs_with_a_wrong_interval(WatchOPSE(confidence=1.0), Fixed(0), 0.5) > most(0.05)
    assert runs_with_a_wrong_interval(WatchUCB(confidence="theory", delta=0.02), DEPENDENT[1], 0.5) == RUNS
