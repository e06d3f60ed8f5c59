"""Which runs still lose at the end, against curves that are made up."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from belated import Problem, simulate
from belated.delays import Fixed, Never
from belated.kernel.rng import family_generator
from belated.policies import UCB, UniformChoice
from belated.rewards import Bernoulli
from belated.studies.arena import Scenario, contestants, play, scenarios
from belated.studies.arena.still_losing import checkpoints, least_gaps, still_losing

HORIZON = 1000
TWO = Problem([Bernoulli(0.5), Bernoulli(0.3)], Fixed(0))


def judged(curve: Callable[[int], float], problem: Problem = TWO) -> bool:
    """Whether a run with this regret still loses."""
    rounds = checkpoints(HORIZON)
    final = np.array([[curve(HORIZON)]])
    curves = np.array([[[curve(now) for now in rounds]]])
    manifest = SimpleNamespace(seed=0)
    result: Any = SimpleNamespace(
        final=final, curves=curves, rounds=np.array(rounds), horizon=HORIZON, runs=1, manifest=manifest
    )
    return bool(still_losing(problem, result)[0, 0])


def test_the_last_tenth_is_looked_at() -> None:
    assert checkpoints(20_000) == [18_000, 20_000]
    assert checkpoints(15) == [14, 15]
    assert checkpoints(1) == [1]


@pytest.mark.parametrize(
    ("curve", "loses"),
    [
        (lambda now: 0.2 * now, True),  # always the worse arm
        (lambda now: 0.1 * now, True),  # each half of the time
        (lambda now: 0.04 * now, False),  # each fifth pull: it looks around
        (lambda now: 20.0 * math.log(now), False),
        (lambda now: 100.0 * math.log(now), False),  # more than a quarter of what the worse arm costs, but it bends
        (lambda now: 150.0, False),  # it lost much, and has learned
        (lambda now: max(0.0, 0.2 * (now - 950)), True),  # it has begun to lose
        (lambda now: 0.0, False),
    ],
)
def test_a_run_still_loses_if_its_regret_is_a_line(curve: Callable[[int], float], loses: bool) -> None:
    assert judged(curve) is loses


def test_the_second_best_arm_is_what_counts() -> None:
    three = Problem([Bernoulli(0.5), Bernoulli(0.5), Bernoulli(0.4), Bernoulli(0.1)], Fixed(0))
    assert least_gaps(three, 0, 3) == pytest.approx([0.1] * 3)
    assert judged(lambda now: 0.04 * now, three)
    assert least_gaps(Problem([Bernoulli(0.5)] * 2, Fixed(0)), 0, 2).tolist() == [0.0, 0.0]


def test_gaps_of_a_family_are_those_of_each_run() -> None:
    (row,) = scenarios(["fixed-0"])
    family: Any = row.problem
    found = least_gaps(family, 7, 5)
    for run, gap in enumerate(found):
        means = np.sort(family(family_generator(7, run)).means)
        assert gap == pytest.approx(means[-1] - means[-2], abs=1e-15)


def test_runs_that_lose_are_counted_when_they_are_played() -> None:
    lost = Problem([Bernoulli(0.5), Bernoulli(0.3)], Never())
    result = simulate(lost, [UniformChoice(), UCB()], horizon=2000, runs=4, checkpoints=checkpoints(2000))
    assert still_losing(lost, result)[0].all()  # nobody can learn without feedback
    result = simulate(TWO, [UniformChoice(), UCB()], horizon=2000, runs=4, checkpoints=checkpoints(2000))
    assert still_losing(TWO, result).tolist() == [[True] * 4, [False] * 4]


@pytest.mark.usefixtures("needs_batches")
def test_batches_of_runs_count_together(row: Callable[..., Scenario]) -> None:
    """Seeds of later batches are beyond those of users, and their families' draws with them."""
    policies = contestants(["UCB", "Uniform"])
    spec = {
        "rewards": {"law": "Bernoulli", "mean": {"uniform": [0.1, 0.9]}, "repeat": 2},
        "delays": {"law": "Fixed", "rounds": 5},
    }
    scores = play([row("one", spec=spec, horizon=100, max_runs=300)], policies)
    assert scores.runs[0, 0] > 120
    assert scores.losing[0, 1] > 0.6  # by chance the last ten rounds may all be right
    assert scores.losing[0, 0] < scores.losing[0, 1]
    assert scores.losing * scores.runs == pytest.approx(np.round(scores.losing * scores.runs))
