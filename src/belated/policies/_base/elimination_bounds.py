"""The bounds of elimination policies, and which of them decide.

Bounds are computed when they are compared. Where the state has room for them (on a GPU, of a policy whose sweeps all
end with an elimination) they are kept instead and brought up to date when an arm is pulled or answered, as an index is:
the threads of a warp, which end their sweeps in different rounds, do not wait for each other's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.kernel.jit import inline, select_by_field, select_by_flag
from belated.policies._base import interface
from belated.policies._base.state import State, view

ONE = np.uint32(1)
"""Arms are counted in unsigned numbers, and in loops without a range: a GPU's compiler makes half the code of them."""


def _computed_bounds(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """(lower, upper) bound of an arm."""
    seen = view(state, arm, now)
    return interface.lower(policy, seen), interface.upper(policy, seen)


def _kept_bounds(policy: Any, state: State, arm: Any, now: Any) -> Any:
    return state.floor[arm], state.score[arm]


def _keep_bounds(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """Compute the bounds of an arm anew."""
    seen = view(state, arm, now)
    state.floor[arm] = interface.lower(policy, seen)
    state.score[arm] = interface.upper(policy, seen)


def _keep_nothing(policy: Any, state: State, arm: Any, now: Any) -> Any:
    pass


bounds_of = select_by_field("floor", _kept_bounds, _computed_bounds)
keep_bounds = select_by_field("floor", _keep_bounds, _keep_nothing)


@inline
def _extremes(policy: Any, state: State, active: Any, now: Any) -> Any:
    """The largest lower and the smallest upper bound of the active arms."""
    bar = -np.inf
    lowest = np.inf
    place = np.uint32(0)
    while place < active:
        low, high = bounds_of(policy, state, state.active[place], now)
        bar = low if low > bar else bar
        lowest = high if high < lowest else lowest
        place += ONE
    return bar, lowest


def _extremes_by_sums(policy: Any, state: State, active: Any, now: Any) -> Any:
    """``_extremes`` where the bounds of arms that were pulled equally often are in the order of their sums: division
    and subtraction keep the order of numbers."""
    largest = -np.inf
    smallest = np.inf
    pulls = state.pulls[state.active[0]]
    differ = np.int64(0)
    place = np.uint32(0)
    while place < active:
        arm = state.active[place]
        low, high = interface.sums(policy, view(state, arm, now))
        largest = low if low > largest else largest
        smallest = high if high < smallest else smallest
        differ |= state.pulls[arm] ^ pulls
        place += ONE
    if differ != 0:  # after corrections
        return _extremes(policy, state, active, now)
    return interface.bounds_at(policy, float(pulls), largest, smallest)


extremes = select_by_field("floor", _extremes, select_by_flag("is_level", _extremes_by_sums, _extremes))
