"""Elimination policies: two bounds and a sweep rule.

Sweep over the arms of the present phase, each once, in index order. After a sweep, drop from the phase the arms that
are done with it; when none is left, eliminate every active arm whose upper bound is below the largest lower bound of an
active arm, and begin the next phase with the arms that remain. When one arm remains, the rest of the run is known.

The choices of a sweep are fixed when it begins, before the feedback that arrives meanwhile.

Bounds are computed when they are compared. Where the state has room for them (on a GPU, for a policy whose sweeps all
end with an elimination) they are cached instead, and updated when an arm is pulled or has feedback, as an index is: the
threads of a warp end their sweeps in different rounds, and would wait for each other's formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from belated.kernel.jit import inline, select
from belated.policies._base import interface
from belated.policies._base.policy import Policy, decides_as, ignores_pull_id
from belated.policies._base.state import Shape, State, view
from belated.policies._mistakes import location_of_class, policy_error

GONE, DONE, CURSOR, PHASE = range(4)
"""Registers: arms eliminated; arms done with the phase; position in the sweep; number of earlier phases. DONE and PHASE
are for phases of several sweeps; otherwise a sweep goes over the active arms."""

ONE = np.uint32(1)
"""Arms are counted in unsigned integers, in loops without a range: half as much code on a GPU."""

ROUNDING = 2.0**-48
"""How far an upper bound must be below a lower one, as computed, where a policy ``rounds_bounds``: 32 units of 2^-53.

Both bounds of a prefix are off by less: with u = 2^-53, sqrt(2c/M) by 1.5 u of its size, b by 4 u, p by u, so that
b (b + 2p) is off by 10 u, its root by 6 u, the radius by 7 u and U = p + r by 8 u, and it is below 1 where it matters.
1 - p is off by u absolutely, which adds u to the root, as its derivative in p is at most 1: L = p - r, with r and p at
most 1 where L > 0, is off by 10 u. So U < L is certain, and a tie never eliminates an arm."""


def _computed_bounds(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """(lower, upper) bound of an arm."""
    arm_view = view(state, arm, now)
    return interface.lower(policy, arm_view), interface.upper(policy, arm_view)


def _cached_bounds(policy: Any, state: State, arm: Any, now: Any) -> Any:
    return state.floor[arm], state.score[arm]


def _update_cache(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """Update the cached bounds of an arm, where bounds are cached."""
    arm_view = view(state, arm, now)
    state.floor[arm] = interface.lower(policy, arm_view)
    state.score[arm] = interface.upper(policy, arm_view)


def _no_cache(policy: Any, state: State, arm: Any, now: Any) -> Any:
    pass


bounds_of = select(field="floor", present=_cached_bounds, absent=_computed_bounds)
update_bounds = select(field="floor", present=_update_cache, absent=_no_cache)


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


def _extremes_by_keys(policy: Any, state: State, active: Any, now: Any) -> Any:
    """``_extremes`` for bounds in the order of ``bound_keys`` where all arms have equally many pulls."""
    largest = -np.inf
    smallest = np.inf
    pulls = state.pulls[state.active[0]]
    differ = np.int64(0)
    place = np.uint32(0)
    while place < active:
        arm = state.active[place]
        low, high = interface.bound_keys(policy, view(state, arm, now))
        largest = low if low > largest else largest
        smallest = high if high < smallest else smallest
        differ |= state.pulls[arm] ^ pulls
        place += ONE
    if differ != 0:  # after corrections
        return _extremes(policy, state, active, now)
    return interface.bounds_at(policy, float(pulls), largest, smallest)


extremes = select(
    field="floor", present=_extremes, absent=select(flag="has_bound_keys", present=_extremes_by_keys, absent=_extremes)
)


def _below(policy: Any, high: Any, bar: Any) -> Any:
    """Whether an upper bound is below the largest lower bound."""
    return high < bar


def _below_despite_rounding(policy: Any, high: Any, bar: Any) -> Any:
    return high + ROUNDING < bar


below = select(flag="rounds_bounds", present=_below_despite_rounding, absent=_below)


@inline
def rest_of_sweep(policy: Any, state: State) -> Any:
    """How many arms of the sweep are still to be pulled."""
    return state.arms - state.register[DONE if interface.is_phased(policy) else GONE] - state.register[CURSOR]


@inline
def next_of_sweep(policy: Any, state: State) -> Any:
    """Advance the sweep: the next arm to pull."""
    place = state.register[CURSOR]
    state.register[CURSOR] = place + 1
    return np.int64((state.sweep if interface.is_phased(policy) else state.active)[np.uint32(place)])


@inline
def end_sweep(policy: Any, state: State, now: Any) -> None:
    """Between two sweeps: eliminate and begin the next phase, unless arms need another sweep of this one."""
    if interface.is_phased(policy):
        if _phase_continues(policy, state, now):
            return
        state.register[PHASE] += 1
    kept = eliminate(policy, state, now)
    state.register[GONE] = state.arms - kept
    if interface.is_phased(policy):
        state.register[DONE] = state.arms - kept
        place = np.uint32(0)
        while place < kept:
            state.sweep[place] = state.active[place]
            place += ONE


@inline
def _phase_continues(policy: Any, state: State, now: Any) -> Any:
    """Drop the arms that are done from the phase; whether some are left."""
    swept = np.uint32(state.arms - state.register[DONE])
    phase = state.register[PHASE] + 1
    kept = np.uint32(0)
    place = np.uint32(0)
    while place < swept:
        arm = state.sweep[place]
        if not interface.phase_done(policy, view(state, arm, now), phase):
            state.sweep[kept] = arm
            kept += ONE
        place += ONE
    state.register[DONE] = state.arms - kept
    return kept > 0


@inline
def eliminate(policy: Any, state: State, now: Any) -> Any:
    """Eliminate the active arms whose upper bound is below the largest lower bound; how many remain."""
    active = np.uint32(state.arms - state.register[GONE])
    bar, lowest = extremes(policy, state, active, now)
    if not below(policy, lowest, bar):
        return active
    kept = np.uint32(0)
    place = np.uint32(0)
    while place < active:
        arm = state.active[place]
        low, high = bounds_of(policy, state, arm, now)
        # bounds of different prefixes may cross; the arm with the largest lower one stays
        if below(policy, high, bar) and low < bar:
            state.eliminated_at[arm] = now
        else:
            state.active[kept] = arm
            kept += ONE
        place += ONE
    return kept


@dataclass(frozen=True, kw_only=True)
class EliminationPolicy(Policy):
    """A policy that sweeps over the active arms and eliminates those whose upper bound is below another's lower bound.

    Override :meth:`lower` and :meth:`upper`, and :meth:`phase_done` for phases of several sweeps. The bounds of an arm
    may depend only on what a pull or feedback of that arm changes. With ``bound_keys`` and ``bounds_at`` beside them
    sweeps end faster."""

    supports_retraction = True
    is_phased: ClassVar[bool] = False
    """Derived: whether a phase may have several sweeps, as :meth:`phase_done` is overridden."""
    has_bound_keys: ClassVar[bool] = False
    """Derived: whether ``bound_keys`` and ``bounds_at`` are of the same class as the bounds."""

    @classmethod
    def _derive_flags(cls) -> None:
        super()._derive_flags()
        if cls.lower is Policy.lower or cls.upper is Policy.upper:
            raise policy_error(
                f"{cls.__name__} has no formula",
                location_of_class(cls),
                "Write static methods lower(policy, arm) and upper(policy, arm), or derive from ConfidencePolicy, too.",
            )
        cls.is_phased = cls.phase_done is not EliminationPolicy.phase_done
        cls.sweeps = decides_as(cls, EliminationPolicy)
        names = ("bound_keys", "bounds_at", "lower", "upper")
        owners = {next((base for base in cls.__mro__ if name in vars(base)), None) for name in names}
        cls.has_bound_keys = len(owners) == 1

    @classmethod
    def shape(cls) -> Shape:
        return Shape(eliminates=True, bounded=not cls.is_phased)

    @staticmethod
    def phase_done(policy: Any, arm: Any, phase: Any) -> Any:
        """Every sweep is a phase."""
        return True

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        if rest_of_sweep(policy, state) == 0:
            end_sweep(policy, state, now)
            state.register[CURSOR] = 0
        return next_of_sweep(policy, state)

    @staticmethod
    def committed_arm(policy: Any, state: State) -> Any:
        if state.register[GONE] == state.arms - 1:
            return np.int64(state.active[0])
        return np.int64(-1)

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        if rank == 0 or interface.reads_pulls(policy):
            update_bounds(policy, state, arm, now)

    @staticmethod
    @ignores_pull_id
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        update_bounds(policy, state, arm, now)

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        update_bounds(policy, state, arm, now)
