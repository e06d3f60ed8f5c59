"""What a chunk of runs plays and returns, the same on a CPU and on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from belated.kernel.jit import inline, select
from belated.kernel.rng import run_key
from belated.policies._base.state import State

FINISHED, NO_ROOM, STOPPED, BAD_ARM = range(4)
"""Why playing ended. After NO_ROOM a timing wheel goes on where it stopped, with a larger pool; what was played
speculatively is played again."""

STRIDE = 2**20 - 1
"""Spans of rounds end at the latest where a round's number has all of these bits: then the stop flag is read."""
ONE = np.uint32(1)

F = TypeVar("F", bound=Callable[..., Any])


class RunInput(NamedTuple):
    """What a chunk of runs plays. Row p of a problem's arrays is for run p of the chunk, or for all if there is one."""

    gap: npt.NDArray[np.float64]  # (problems, K)
    fixed_delay: npt.NDArray[np.int64]  # (problems, K) the arm's delay if it is always the same, else -1
    checkpoint: npt.NDArray[np.int64]  # (C,) rounds, ascending
    seed: npt.NDArray[np.uint64]  # (4,)
    horizon: Any
    first_run: Any  # number of the chunk's first run
    stop: Any  # (1,) set to 1 by another thread to stop early; () on a GPU


class RunOutput(NamedTuple):
    """What a chunk of runs returns; rows are runs."""

    curve: npt.NDArray[np.float64]  # (runs, C) pseudo-regret after each checkpoint
    final: npt.NDArray[np.float64]  # (runs,) pseudo-regret at the horizon
    pulls: npt.NDArray[np.int32]  # (runs, K)
    observed: npt.NDArray[np.int32]  # (runs, K) feedback that came by the end of the last round
    lost: npt.NDArray[np.int32]  # (runs, K) pulls whose feedback never comes
    eliminated_at: npt.NDArray[np.int32]  # (runs, K)


class Stream(NamedTuple):
    """The environment of one run: its random key, and where its arms are in the table of laws."""

    key_a: Any
    key_b: Any
    reward_row: Any  # of arm 0
    delay_row: Any


@inline
def stream_of(run: RunInput, number: Any) -> Stream:
    """The environment of run ``number`` of the chunk. The table of laws begins with the rewards of all problems' arms;
    their delays follow."""
    problems, arms = run.gap.shape
    key_a, key_b = run_key(run.seed[0], run.seed[1], run.first_run + number)
    row = problem_of(run, number) * arms
    return Stream(key_a, key_b, row, problems * arms + row)


@inline
def problem_of(run: RunInput, number: Any) -> Any:
    """Which row of the problems run ``number`` of the chunk plays."""
    return np.int64(number if run.gap.shape[0] > 1 else 0)


@inline
def regret(run: RunInput, number: Any, state: State) -> Any:
    """The pseudo-regret so far: gaps times pulls."""
    gap = run.gap[problem_of(run, number)]
    total = 0.0
    arms = np.uint32(state.arms)  # of the same type as the arm: else both are compared as real numbers
    arm = np.uint32(0)
    while arm < arms:
        total += gap[arm] * state.pulls[arm]
        arm += ONE
    return total


def by_device(*, cpu: F, gpu: F) -> F:
    """Make a kernel function that is ``cpu`` or ``gpu``, by where the run is played that is one of its arguments."""
    return select(field="stop", present=cpu, absent=gpu)


def _read_flag(run: RunInput) -> Any:
    return run.stop[0] != 0


def _never(run: RunInput) -> Any:
    return False


def _64_bits(run: RunInput, number: Any) -> Any:
    return np.int64(number)


def _32_bits(run: RunInput, number: Any) -> Any:
    return np.int32(number)


stop_requested = by_device(cpu=_read_flag, gpu=_never)
"""(run): whether another thread asked to stop."""
as_round = by_device(cpu=_64_bits, gpu=_32_bits)
"""(run, number): the number of a round as the device computes fastest with it."""
