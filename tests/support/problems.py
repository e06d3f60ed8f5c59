"""Problems that several tests play, and what can be read off their results."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated import Problem
from belated.delays import Fixed
from belated.rewards import Beta, Uniform
from sampling import Prefetched

CONTINUOUS = Problem([Beta(2, 3), Uniform(0.3, 0.9), Beta(5, 4), Uniform(0.0, 0.7), Beta(1, 1)], Fixed(0))


def rewards_of(problem: Problem, horizon: int, seed: int = 0) -> list[list[float]]:
    """The rewards that each arm's pulls will have."""
    draws = Prefetched(problem, horizon=horizon, seed=seed, run=0)
    return [[draws.pull(arm, rank, 1)[0] for rank in range(horizon)] for arm in range(problem.arms)]


def choices_of(problem: Problem, curve: np.ndarray[Any, Any]) -> list[int]:
    """The arms that a curve with a checkpoint in every round tells: its steps are the gaps."""
    assert len(np.unique(problem.gaps.round(9))) == problem.arms, "equal gaps cannot be told apart"
    steps = np.diff(curve, prepend=0.0)
    return [int(arm) for arm in np.abs(steps[:, None] - problem.gaps).argmin(axis=1)]
