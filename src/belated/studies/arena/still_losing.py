"""Which runs still lose at the end: their regret grows by much in the last tenth of the rounds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from belated.kernel.rng import family_generator
from belated.problem import Family, Problem
from belated.simulation.result import Result

LAST = 10
"""The last tenth of the rounds is looked at."""
MEANING = (
    "the share of runs whose regret grows, in the last tenth of the rounds, by more than a quarter of what the "
    "second-best arm would cost in all of these rounds, and by more than a twentieth of the run's whole regret"
)
"""What pages say of the numbers."""


def checkpoints(horizon: int) -> list[int]:
    """The rounds at which regrets are needed: before the last tenth, if there is a round before it, and at the end."""
    start = horizon - _last_rounds(horizon)
    return [start, horizon] if start > 0 else [horizon]


def _last_rounds(horizon: int) -> int:
    return max(horizon // LAST, 1)


def still_losing(problem: Problem | Family, result: Result) -> npt.NDArray[np.bool_]:
    """Whether each policy still loses in each run, (policies, runs); the result has the regrets at :func:`checkpoints`.

    A run still loses if in the last tenth of the rounds its regret grows by more than

    - a quarter of what the second-best arm would cost in all of these rounds: less is the price of looking at other
      arms now and then, while choosing at random between two arms is half of it, and
    - a twentieth of its whole regret: less is a curve that bends, such as a logarithm, of which the last tenth is 1 %;
      of a straight line it is 10 %, of a square root 5 %.
    """
    last = _last_rounds(result.horizon)
    grown = result.final - (result.curves[:, :, 0] if result.rounds.size > 1 else 0.0)
    cost = last * least_gaps(problem, result.manifest.seed, result.runs)
    limit = np.maximum(cost / 4.0, result.final * last / result.horizon / 2.0)
    return np.asarray(grown > limit)


def least_gaps(problem: Problem | Family, seed: int, runs: int) -> npt.NDArray[np.float64]:
    """The gap of the second-best arm in each run."""
    if isinstance(problem, Problem):
        return np.full(runs, _least_gap(problem))
    return np.array([_least_gap(problem(family_generator(seed, run))) for run in range(runs)])


def _least_gap(problem: Problem) -> float:
    worse = problem.gaps[problem.gaps > 0.0]
    return float(worse.min()) if worse.size else 0.0
