"""Feedback that comes in batches."""

from __future__ import annotations

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import Batch, Fixed, Mixture, Never
from belated.engine.environment import Environment
from belated.errors import InvalidParameter
from belated.policies import UCB, UniformChoice
from belated.rewards import Bernoulli
from support.laws import DelayCase, RoundCase, mixed, step

CASES: list[DelayCase] = []  # it has no distribution without a round
EXAMPLE = Batch(10)
ROUND_CASES = [
    RoundCase(Batch(10), 1, step(9)),
    RoundCase(Batch(10), 10, step(0)),
    RoundCase(Batch(10, offset=3), 3, step(0)),
    RoundCase(Batch(10, offset=3), 4, step(9)),
    RoundCase(Batch(1), 77, step(0)),
    RoundCase(Batch(2**53, offset=2**40), 5, step(2**40 - 5)),
    RoundCase(Mixture([(0.9, Batch(1000)), (0.1, Never())]), 1990, mixed((0.9, step(10))), never=0.1),
]


@pytest.mark.parametrize(("size", "offset"), [(1, 0), (2, 1), (7, 0), (7, 6), (50, 13), (1000, 999)])
def test_the_delay_reaches_to_the_end_of_the_batch(size: int, offset: int) -> None:
    """Batches written down one after the other."""
    ends = [offset] if offset else []
    while not ends or ends[-1] < 300:
        ends.append((ends[-1] if ends else 0) + size)
    environment = Environment(Problem([Bernoulli(0.5)], Batch(size, offset)), horizon=300, seed=0, run=0)
    for now in range(1, 301):
        expected = min(end for end in ends if end >= now) - now
        assert Batch(size, offset).at(now) == Fixed(expected)
        assert environment.pull(0, now - 1, now)[1] == expected
    assert Batch(size, offset).longest == size - 1


@pytest.mark.parametrize("offset", [0, 30])
def test_all_earlier_batches_are_known_and_nothing_of_this_one(offset: int) -> None:
    """Before round t it is known what was pulled up to the last batch's end before t, and nothing else."""
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Batch(100, offset))
    for horizon in (29, 30, 99, 100, 101, 130, 399, 400, 1000):
        result = simulate(problem, [UniformChoice(), UCB(confidence=1.0)], horizon=horizon, runs=3, workers=1)
        known = max(end for end in range(offset - 100, horizon + 1, 100) if end <= horizon)
        assert (result.observed.sum(axis=2) == max(known, 0)).all()
        assert (result.in_flight.sum(axis=2) == horizon - max(known, 0)).all()


def test_ucb_learns_nothing_before_the_first_batch_is_over() -> None:
    """After each arm once it pulls the first one: nothing is known of any."""
    problem = Problem([Bernoulli(0.2), Bernoulli(0.5), Bernoulli(0.9)], Batch(60))
    result = simulate(problem, UCB(confidence=1.0), horizon=60, runs=20)
    assert (result.pulls[0] == [58, 1, 1]).all()
    later = simulate(problem, UCB(confidence=1.0), horizon=61, runs=20)
    assert (later.pulls[0] != [59, 1, 1]).any()


def test_nightly_loads_that_lose_some_feedback() -> None:
    """The mean number known is 0.9 of all but the last batch; four standard errors of a binomial."""
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Mixture([(0.9, Batch(100)), (0.1, Never())]))
    result = simulate(problem, UniformChoice(), horizon=450, runs=2000)
    assert abs(result.observed.sum(axis=2).mean() - 360.0) < 4 * np.sqrt(400 * 0.09 / 2000)
    assert abs(result.lost.sum(axis=2).mean() - 45.0) < 4 * np.sqrt(450 * 0.09 / 2000)


def test_the_offset_is_less_than_the_size() -> None:
    for size, offset in ((10, 10), (1, 5)):
        with pytest.raises(InvalidParameter, match=f"offset is {offset} and size is {size}.*0 <= offset < size"):
            Batch(size, offset)
