"""The kernel interface of a policy: every function that compiled code asks of it.

Each is called with the policy's ``Parameters`` first and finds its body in the policy's class (see
:func:`kernel.dispatched`). ``now`` is the round that is being decided or, for an answer, the one about to be decided.
``rank`` counts the earlier pulls of the arm, so that an answer names its pull, and ``now - 1 - pulled_at`` is its
delay."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.kernel.jit import class_constant, dispatch, inline, select_by_field
from belated.policies._base.state import Arm, State


@dispatch
def choose(policy: Any, state: State, now: Any) -> Any:
    """The arm to pull in round ``now``."""


@dispatch
def committed_arm(policy: Any, state: State) -> Any:
    """The arm that will be pulled for ever from now on, or -1 while that is open."""


@dispatch
def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
    """``arm`` was pulled in round ``now`` (and is counted): bring the policy's state up to date."""


@dispatch
def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
    """The pull of round ``pulled_at`` was answered (and is counted): bring the policy's state up to date."""


@dispatch
def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """The counts of an arm were put right (a pull taken back, an answer replaced): bring the policy's state up to date.
    In a live service alone."""


@dispatch
def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
    """Update the policy's own statistics, ``state.memory[arm]``, after a pull."""


@dispatch
def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
    """Update the policy's own statistics, ``state.memory[arm]``, after an answer."""


@dispatch
def on_correction(
    policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, answers: Any, total: Any
) -> Any:
    """Add to what ``state.memory[arm]`` holds of the pull of round ``pulled_at``: it was taken back (-1 pull, and -1
    answer if it had one), or has another answer (0, 0, and the difference). In a live service alone."""


@class_constant
def is_trusted(policy: Any) -> Any:
    """Whether ``choose`` is known to give an arm that exists: of the package's own policies, which tests go through."""


@class_constant
def uses_pull_id(policy: Any) -> Any:
    """Whether ``after_feedback`` or ``on_feedback`` looks at ``rank`` and ``pulled_at``; found out at registration."""


@class_constant
def accepts_dummy_feedback(policy: Any) -> Any:
    """Whether an answer of nobody's may be told to the policy where there is none to tell (see :mod:`forms.state`):
    it is trusted and does not look at the origin."""


@dispatch
def index(policy: Any, arm: Arm) -> Any:
    """Index policies: the number whose largest value wins."""


@dispatch
def index_at(policy: Any, observed: Any, total: Any) -> Any:
    """Index policies that stay with an arm until an answer comes: the index after so many answers, at least 1, with
    this sum."""


@class_constant
def reads_pulls(policy: Any) -> Any:
    """Whether the index, or the bounds, depend on anything that a pull alone changes."""


@dispatch
def bonus(policy: Any, x: Any) -> Any:
    """A function of a count x = 1, 2, ... alone that is costly and may be looked up in a table: the confidence
    radius."""


def _looked_up(policy: Any, x: Any) -> Any:
    """``bonus`` at a count x, from ``policy.table`` where there is one and it reaches so far; to the bit the same."""
    place = np.uint64(np.int64(x))  # a negative one is far beyond the table
    if place < np.uint64(policy.table.shape[0]):
        return policy.table[place]
    return bonus(policy, x)


def _computed(policy: Any, x: Any) -> Any:
    return bonus(policy, x)


tabulated = select_by_field("table", _looked_up, _computed)


@dispatch
def lower(policy: Any, arm: Arm) -> Any:
    """A lower confidence bound on the arm's mean."""


@dispatch
def upper(policy: Any, arm: Arm) -> Any:
    """An upper confidence bound on the arm's mean."""


@dispatch
def bound_prefixes(policy: Any, arm: Arm) -> Any:
    """How many of the first pulls of an arm give the lower and the upper bound; 0 where bounds do not come from
    some."""


@class_constant
def is_phased(policy: Any) -> Any:
    """Elimination: whether a phase may have several sweeps."""


@dispatch
def sums(policy: Any, arm: Arm) -> Any:
    """Elimination whose bounds of equally often pulled arms are in the order of sums: (that of the lower bound, that of
    the upper one)."""


@dispatch
def bounds_at(policy: Any, pulls: Any, least: Any, most: Any) -> Any:
    """Elimination, likewise: (lower, upper) bound of so many pulls with these two sums."""


@dispatch
def phase_done(policy: Any, arm: Arm, phase: Any) -> Any:
    """Elimination: whether the arm needs no further sweep in this phase (1, 2, ...)."""


@inline
def is_arm(state: State, chosen: Any) -> Any:
    """Whether what a policy chose is an arm: a whole number from 0 to K - 1 (which NaN is not)."""
    return chosen >= 0 and chosen < state.arms and chosen == np.int64(chosen)


@inline
def record_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> None:
    """Count a pull and tell the policy."""
    state.pulls[arm] += 1
    on_pull(policy, state, arm, rank, now)
    after_pull(policy, state, arm, rank, now)


@inline
def record_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> None:
    """Count an answer and tell the policy."""
    state.total[arm] += reward
    state.observed[arm] += 1
    on_feedback(policy, state, arm, reward, rank, pulled_at, now)
    after_feedback(policy, state, arm, reward, rank, pulled_at, now)
