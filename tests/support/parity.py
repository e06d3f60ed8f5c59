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
from support.plain_simulator import play
from support.policies import rule_of

COUNTS = ("pulls", "observed", "in_flight", "lost", "eliminated_at")


def assert_agree(
    problem: Problem | Family,
    policies: Sequence[Policy],
    *,
    horizon: int,
    seed: int = 0,
    runs: int = 1,
    checkpoints: Any = 17,
) -> Result:
    """Every number of the engine's result is the plain simulator's."""
    result = simulate(problem, policies, horizon=horizon, runs=runs, seed=seed, checkpoints=checkpoints, workers=1)
    for run in range(runs):
        drawn = problem if isinstance(problem, Problem) else problem(family_generator(seed, run))
        environment = Prefetched(drawn, horizon=horizon, seed=seed, run=run)
        for number, policy in enumerate(policies):
            with_horizon = policy.for_horizon(horizon)
            expected = play(drawn, with_horizon, rule_of(policy), environment, horizon, result.rounds.tolist())
            where = f"{policy} in run {run}"
            assert np.array_equal(result.curves[number, run], expected.curve), where
            assert result.final[number, run] == expected.curve[-1], where
            for name in COUNTS:
                found = getattr(result, name)[number, run]
                assert np.array_equal(found, getattr(expected, name)), f"{name} of {where}: {found}"
    return result
