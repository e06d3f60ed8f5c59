"""The kernel interface of a policy: every function of it that compiled code calls.

The first argument of each is the policy as :func:`~belated.policies._base.encode.encode_policy` gives it; the body is
the static method of this name in the policy's class. ``now`` is the round that is being decided or, for feedback, the
one about to be decided. ``rank`` counts the earlier pulls of the arm, so that feedback names its pull, and
``now - 1 - pulled_at`` is its delay."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.kernel.jit import class_constant, dispatch, inline, select
from belated.policies._base.state import Arm, State


@dispatch
def choose(policy: Any, state: State, now: Any) -> Any:
    """The arm to pull in round ``now``."""


@dispatch
def committed_arm(policy: Any, state: State) -> Any:
    """The arm that will be pulled for the rest of the run, or -1 while that is open."""


@dispatch
def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
    """``arm`` was pulled in round ``now`` (and counted): update the state that decides."""


@dispatch
def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
    """Feedback of the pull of round ``pulled_at`` arrived (and was counted): update the state that decides."""


@dispatch
def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """The counts of an arm were corrected (a pull retracted, feedback replaced): update the state that decides. Only in
    a live service."""


@dispatch
def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
    """Update the policy's own statistics, ``state.memory[arm]``, after a pull."""


@dispatch
def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
    """Update the policy's own statistics, ``state.memory[arm]``, after feedback."""


@dispatch
def on_correction(
    policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any
) -> Any:
    """Correct what ``state.memory[arm]`` holds of the pull of round ``pulled_at``: it is retracted (``pulls`` is -1,
    and so is ``observed`` if it had feedback), or its feedback is replaced (0, 0 and the difference). Only in a live
    service."""


@class_constant
def is_built_in(policy: Any) -> Any:
    """Whether the policy is one of the package's own: its ``choose`` is known to give an arm that exists."""


@class_constant
def uses_pull_id(policy: Any) -> Any:
    """Whether ``after_feedback`` or ``on_feedback`` reads ``rank`` or ``pulled_at``."""


@inline
def accepts_dummy_feedback(policy: Any) -> Any:
    """Whether feedback of the dummy arm (see :class:`State`) may be recorded in a round without feedback."""
    return is_built_in(policy) and not uses_pull_id(policy)


@dispatch
def index(policy: Any, arm: Arm) -> Any:
    """Index policies: the number whose largest value wins."""


@dispatch
def keep_index(policy: Any, state: State, arm: Any, index: Any, now: Any) -> Any:
    """Policies with the index of Imputed-UCB: keep an arm's index, which was computed in round ``now``."""


@dispatch
def index_at(policy: Any, observed: Any, total: Any) -> Any:
    """Index policies whose index is a function of feedback only: its value after ``observed`` >= 1 feedbacks with this
    sum."""


@class_constant
def reads_pulls(policy: Any) -> Any:
    """Whether the index, or the bounds, depend on anything that a pull changes."""


@dispatch
def bonus(policy: Any, x: Any) -> Any:
    """The part of the formulas that is a function of one count x = 1, 2, ... and costly, so that a table of it pays:
    the confidence radius."""


def _table_lookup(policy: Any, x: Any) -> Any:
    """The policy's ``bonus`` at a count x >= 1, such as the confidence radius after x samples; from a table where there
    is one."""
    row = np.int64(x)
    if np.uint64(row - 1) < np.uint64(policy.table.shape[0] - 1):  # row 0 and below wrap around: not in the table
        return policy.table[row]
    return bonus(policy, x)


def _computed(policy: Any, x: Any) -> Any:
    return bonus(policy, x)


radius = select(field="table", present=_table_lookup, absent=_computed)


@inline
def fill_table(policy: Any) -> None:
    """Compute the table of the ``bonus``, unless its row 0, which is never looked up, says that this was done."""
    if policy.table[0] != 0.0:
        for x in range(1, policy.table.shape[0]):
            policy.table[x] = bonus(policy, float(x))


@dispatch
def lower(policy: Any, arm: Arm) -> Any:
    """A lower confidence bound on the arm's mean."""


@dispatch
def upper(policy: Any, arm: Arm) -> Any:
    """An upper confidence bound on the arm's mean."""


@dispatch
def bound_prefixes(policy: Any, arm: Arm) -> Any:
    """How many of the arm's first pulls the lower and the upper bound are computed from; 0 for bounds that are not
    computed from a prefix."""


@dispatch
def correction(policy: Any, arm: Arm) -> Any:
    """Policies that correct means: (corrected mean, by how many standard deviations its two estimates differ) of an arm
    with feedback."""


@class_constant
def is_phased(policy: Any) -> Any:
    """Elimination: whether a phase may have several sweeps."""


@dispatch
def bound_keys(policy: Any, arm: Arm) -> Any:
    """Elimination: two numbers that order the lower, and the upper, bounds of arms with equally many pulls."""


@dispatch
def bounds_at(policy: Any, pulls: Any, lower_key: Any, upper_key: Any) -> Any:
    """Elimination: (lower, upper) bound of an arm with this number of pulls and these ``bound_keys``."""


@dispatch
def phase_done(policy: Any, arm: Arm, phase: Any) -> Any:
    """Elimination: whether the arm needs no further sweep in this phase (1, 2, ...)."""


@inline
def is_arm(state: State, chosen: Any) -> Any:
    """Whether a choice is an arm: a whole number from 0 to K - 1 (NaN is not)."""
    return chosen >= 0 and chosen < state.arms and chosen == np.int64(chosen)


@inline
def record_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> None:
    """Count a pull and call the policy's hooks."""
    state.pulls[arm] += 1
    on_pull(policy, state, arm, rank, now)
    after_pull(policy, state, arm, rank, now)


@inline
def record_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> None:
    """Count feedback and call the policy's hooks."""
    state.total[arm] += reward
    state.observed[arm] += 1
    on_feedback(policy, state, arm, reward, rank, pulled_at, now)
    after_feedback(policy, state, arm, reward, rank, pulled_at, now)


def _find_nan(policy: Any, state: State) -> Any:
    for arm in range(min(state.arms, state.score.shape[0])):
        if state.score[arm] != state.score[arm]:
            return True
    for row in range(state.memory.shape[0]):
        for column in range(state.memory.shape[1]):
            if state.memory[row, column] != state.memory[row, column]:
                return True
    return False


def _no_nan(policy: Any, state: State) -> Any:
    return False


has_nan = select(flag="is_built_in", present=_no_nan, absent=_find_nan)
"""(policy, state): whether a policy that is not built in has NaN among its cached indices, or in its memory."""
