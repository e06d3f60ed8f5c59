"""What a chunk of runs plays and returns, the same on a CPU and on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from belated.kernel.intrinsics import atomic_add
from belated.kernel.jit import inline, select
from belated.kernel.rng import run_key, word
from belated.policies._base.state import State

FINISHED, NO_ROOM, STOPPED, BAD_ARM, BAD_NUMBER = range(5)
"""Why playing ended. After NO_ROOM a timing wheel goes on where it stopped, with a larger pool; what was played
speculatively is played again."""

STRIDE = 2**20 - 1
"""Spans of rounds end at the latest where a round's number has all of these bits: then the stop flag is read."""
ONE = np.uint32(1)
ORDER = np.uint32(2**32 - 1)
"""In place of an arm: the counter of the draws that shuffle the arms."""

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
    played: Any  # (2,) rounds of finished runs, and of the present one, for the progress bar; () on a GPU
    order: Any  # (2K,) shuffled arms: the problem's arm of each of the policy's, and the reverse; () if not shuffled


class RunOutput(NamedTuple):
    """What a chunk of runs returns; rows are runs."""

    curve: npt.NDArray[np.float64]  # (runs, C) pseudo-regret after each checkpoint
    final: npt.NDArray[np.float64]  # (runs,) pseudo-regret at the horizon
    pulls: npt.NDArray[np.int32]  # (runs, K)
    observed: npt.NDArray[np.int32]  # (runs, K) feedback that came by the end of the last round
    lost: npt.NDArray[np.int32]  # (runs, K) pulls whose feedback never comes
    eliminated_at: npt.NDArray[np.int32]  # (runs, K)
    pull_sums: Any  # (C, K) sums over the runs, see :func:`total_pulls`; (1, K), of no use, if not recorded


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
        total += gap[arm] * state.pulls[policy_arm(run, arm)]
        arm += ONE
    return total


@inline
def record_checkpoint(run: RunInput, output: RunOutput, number: Any, state: State, point: Any, last: Any) -> None:
    """Write down the pseudo-regret after checkpoint ``point``, and add the pulls to their sums. ``last`` is the arm of
    this round."""
    output.curve[number, point] = regret(run, number, state)
    row = min(point, output.pull_sums.shape[0] - 1)
    if run.checkpoint[point] == 1 + (run.checkpoint[point - 1] if point > 0 else 0):
        _add_pulls(run, output, row, problem_arm(run, last), np.int64(1))
    else:
        for arm in range(state.arms):
            _add_pulls(run, output, row, np.uint32(arm), np.int64(state.pulls[policy_arm(run, np.uint32(arm))]))


def total_pulls(pull_sums: npt.NDArray[np.int64], checkpoints: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The sums of pulls up to each checkpoint, on the axis before the last, from those that were recorded: where a
    checkpoint is in the round after the one before, only the pull of its round was.

    >>> total_pulls(np.array([[1, 0], [0, 1], [4, 3]]), np.array([1, 2, 7])).tolist()
    [[1, 0], [1, 1], [4, 3]]
    """
    alone = (np.diff(checkpoints, prepend=0) == 1)[:, None]
    if not alone.any():
        return pull_sums
    ones = np.cumsum(np.where(alone, pull_sums, 0), axis=-2)
    before = np.maximum.accumulate(np.where(alone[:, 0], -1, np.arange(alone.size)))  # the last row with all pulls
    return np.where(before[:, None] < 0, ones, pull_sums[..., before, :] + ones - ones[..., before, :])


# ---- the order of the arms ----


def _as_relabelled(run: RunInput, arm: Any) -> Any:
    return run.order[arm]


def _as_labelled(run: RunInput, arm: Any) -> Any:
    return run.order[np.uint32(np.uint32(run.gap.shape[1]) + arm)]


def _unchanged(run: RunInput, arm: Any) -> Any:
    return arm


def _shuffle(run: RunInput, number: Any) -> None:
    key_a, key_b = run_key(run.seed[0], run.seed[1], run.first_run + number)
    arms = np.uint32(run.gap.shape[1])
    arm = np.uint32(0)
    while arm < arms:
        run.order[arm] = arm
        arm = np.uint32(arm + ONE)
    left = arms
    while left > ONE:  # Fisher and Yates: the last of those that are left changes places with any of them
        drawn = (word(key_a, key_b, ORDER, left) >> np.uint64(32)) * np.uint64(left)
        chosen = np.uint32(drawn >> np.uint64(32))
        left = np.uint32(left - ONE)
        arm = run.order[chosen]
        run.order[chosen] = run.order[left]
        run.order[left] = arm
    arm = np.uint32(0)
    while arm < arms:
        run.order[np.uint32(arms + run.order[arm])] = arm
        arm = np.uint32(arm + ONE)


def _keep_order(run: RunInput, number: Any) -> None:
    pass


problem_arm = select(field="order", present=_as_relabelled, absent=_unchanged)
"""(run, arm): the number in the problem of an arm that the policy knows by this number."""
policy_arm = select(field="order", present=_as_labelled, absent=_unchanged)
"""(run, arm): the number by which the policy knows the problem's arm."""
shuffle_arms = select(field="order", present=_shuffle, absent=_keep_order)
"""(run, number): relabel the arms for run ``number`` of the chunk, where they are shuffled."""


# ---- what differs between a CPU and a GPU ----


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


def _add_alone(run: RunInput, output: RunOutput, row: Any, arm: Any, pulls: Any) -> None:
    output.pull_sums[row, arm] += pulls


def _add_with_others(run: RunInput, output: RunOutput, row: Any, arm: Any, pulls: Any) -> None:
    atomic_add(output.pull_sums, np.int64(row), np.int64(arm), np.uint64(pulls))


_add_pulls = by_device(cpu=_add_alone, gpu=_add_with_others)
"""(run, output, row, arm, pulls): add to the sums of pulls, which the threads of a GPU share."""


def _write_round(run: RunInput, now: Any) -> None:
    run.played[1] = now


def _write_run(run: RunInput) -> None:
    run.played[0] += run.horizon
    run.played[1] = 0


def _no_round(run: RunInput, now: Any) -> None:
    pass


def _no_run(run: RunInput) -> None:
    pass


count_rounds = by_device(cpu=_write_round, gpu=_no_round)
"""(run, now): tell the progress bar that the rounds of this run before ``now`` were played."""
count_run = by_device(cpu=_write_run, gpu=_no_run)
"""(run): tell the progress bar that a run is finished."""
stop_requested = by_device(cpu=_read_flag, gpu=_never)
"""(run): whether another thread asked to stop."""
as_round = by_device(cpu=_64_bits, gpu=_32_bits)
"""(run, number): the number of a round as the device computes fastest with it."""
