"""The engine against the plain simulator, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from belated import Problem, Result, simulate
from belated.kernel.rng import family_generator
from belated.policies import Policy
from belated.problem import Family
from sampling import Prefetched
from support.plain_simulator import play, shuffled
from support.policies import rule_of
from support.round_by_round import RoundByRound

COUNTS = ("pulls", "observed", "in_flight", "lost", "eliminated_at")


def assert_agree(
    problem: Problem | Family,
    policies: Sequence[Policy],
    *,
    horizon: int,
    seed: int = 0,
    runs: int = 1,
    checkpoints: Any = 17,
    shuffle: bool = False,
) -> Result:
    """Every number of the engine's result is the plain simulator's."""
    options = {"horizon": horizon, "runs": runs, "seed": seed, "checkpoints": checkpoints, "shuffle": shuffle}
    result = simulate(problem, policies, workers=1, **options)
    pulls = np.zeros(result.mean_pulls.shape, np.int64)
    for run in range(runs):
        drawn = problem if isinstance(problem, Problem) else problem(family_generator(seed, run))
        order = shuffled(drawn.arms, seed, run) if shuffle else ()
        environment = (RoundByRound if drawn.round_dependent else Prefetched)(
            drawn, horizon=horizon, seed=seed, run=run
        )
        for number, policy in enumerate(policies):
            with_horizon = policy.for_horizon(horizon)
            expected = play(drawn, with_horizon, rule_of(policy), environment, horizon, result.rounds.tolist(), order)
            pulls[number] += expected.counts
            where = f"{policy} in run {run}"
            assert np.array_equal(result.curves[number, run], expected.curve), where
            assert result.final[number, run] == expected.curve[-1], where
            for name in COUNTS:
                found = getattr(result, name)[number, run]
                assert np.array_equal(found, getattr(expected, name)), f"{name} of {where}: {found}"
    assert np.array_equal(result.pull_sums, pulls)
    return result
