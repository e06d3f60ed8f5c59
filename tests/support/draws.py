"""Many draws of an arm, and a chi-square test of their frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats as ss

from belated import Problem
from belated.delays import Fixed
from belated.engine.environment import Environment
from belated.rewards import Bernoulli
from sampling import sample

RARE = 1e-4
"""How rarely a test fails by chance under another seed."""
COUNT = 200_000
HORIZON = 20_000


def draw(
    reward: Any,
    delay: Any,
    *,
    seed: int = 1,
    horizon: int = HORIZON,
    now: int = 1,
    reward_range: tuple[float, float] | None = None,
) -> tuple[Any, Any]:
    """Many rewards, in the unit of the law, and delays of an arm, the second of two, as if all pulls were in round
    ``now``."""
    problem = Problem([Bernoulli(0.5), reward], [Fixed(1), delay], reward_range=reward_range)
    rewards, delays = sample(Environment(problem, horizon=horizon, seed=seed, run=3), 1, COUNT, now=now)
    assert np.all((rewards >= 0.0) & (rewards <= 1.0)), "what policies meet"
    low, high = problem.scale
    return rewards if problem.scale == (0.0, 1.0) else low + (high - low) * rewards, delays


def assert_frequencies(found: npt.NDArray[np.int64], expected: npt.NDArray[np.float64]) -> None:
    """Chi-square; what cannot happen does not, and what is rare is put together."""
    assert found.sum() == COUNT
    assert not found[expected == 0.0].any()
    rare = expected * COUNT < 20
    common = [found[~rare], np.array([found[rare].sum()])], [expected[~rare], np.array([expected[rare].sum()])]
    counts, shares = (np.concatenate(part) for part in common)
    keep = shares * COUNT >= 1
    assert counts[~keep].sum() <= ss.poisson(max(shares[~keep].sum() * COUNT, 1e-9)).isf(RARE)
    if keep.sum() > 1:
        assert ss.chisquare(counts[keep], shares[keep] / shares[keep].sum() * counts[keep].sum()).pvalue > RARE
