"""Elimination policies: two bounds and a sweep rule.

Sweep over the arms of the present phase, each once, in index order. After a sweep, drop from the phase the arms that
have had enough; when none is left in it, eliminate every active arm whose upper bound is below the largest lower bound
of an active arm, and begin the next phase with the arms that remain. When one arm remains, the rest of the run is
known.

The choices of a sweep are settled when it begins; so they are known before the answers that come meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from belated.kernel.jit import inline
from belated.policies._base import interface
from belated.policies._base.elimination_bounds import ONE, bounds_of, extremes, keep_bounds
from belated.policies._base.policy import Policy, decides_as, ignores_pull_id
from belated.policies._base.state import Shape, State, view

GONE, DONE, CURSOR, PHASE = range(4)
"""Registers: arms eliminated; arms of the phase that have had enough; place in the sweep; number of phases before this
one. The second and the last are for phases of several sweeps; elsewhere a sweep goes over the active arms."""


@inline
def rest_of_sweep(policy: Any, state: State) -> Any:
    """How many arms of the sweep are yet to be pulled."""
    return state.arms - state.register[DONE if interface.is_phased(policy) else GONE] - state.register[CURSOR]


@inline
def next_of_sweep(policy: Any, state: State) -> Any:
    """The next arm of the sweep; it counts as pulled then."""
    place = state.register[CURSOR]
    state.register[CURSOR] = place + 1
    return np.int64((state.sweep if interface.is_phased(policy) else state.active)[np.uint32(place)])


@inline
def end_sweep(policy: Any, state: State, now: Any) -> None:
    """Between two sweeps: eliminate and begin the next phase, unless arms of this one have not had enough."""
    if interface.is_phased(policy):
        if _goes_on(policy, state, now):
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
def _goes_on(policy: Any, state: State, now: Any) -> Any:
    """Drop arms that had enough from the phase; whether some are left."""
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
    """Remove the active arms whose upper bound is below the largest lower bound; how many remain."""
    active = np.uint32(state.arms - state.register[GONE])
    bar, lowest = extremes(policy, state, active, now)
    if not lowest < bar:
        return active
    kept = np.uint32(0)
    place = np.uint32(0)
    while place < active:
        arm = state.active[place]
        low, high = bounds_of(policy, state, arm, now)
        if high < bar and low < bar:  # bounds of different pulls may cross, and the largest lower one's arm stays
            state.eliminated_at[arm] = now
        else:
            state.active[kept] = arm
            kept += ONE
        place += ONE
    return kept


_OF_LEVEL_BOUNDS = ("sums", "bounds_at", "lower", "upper")
"""What speaks of the same bounds if one class has all of it."""


@dataclass(frozen=True, kw_only=True)
class EliminationPolicy(Policy):
    """A policy that is two bounds, :meth:`lower` and :meth:`upper`, and a rule, :meth:`phase_done`, for
    when an arm has had enough of a phase.

    The bounds depend on what a pull or an answer of the arm changes, and on nothing else."""

    supports_retraction = True
    is_phased: ClassVar[bool] = False
    """Whether a phase may have several sweeps: the policy has a rule of its own for when an arm has had
    :meth:`phase_done`."""
    is_level: ClassVar[bool] = False
    """Whether the bounds of equally many pulls are in the order of ``sums``: the class with these has the bounds."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.is_phased = cls.phase_done is not EliminationPolicy.phase_done
        cls.sweeps = decides_as(cls, EliminationPolicy)
        owners = {next((base for base in cls.__mro__ if name in vars(base)), None) for name in _OF_LEVEL_BOUNDS}
        cls.is_level = len(owners) == 1

    @classmethod
    def shape(cls) -> Shape:
        return Shape(eliminates=True, bounded=not cls.is_phased, memory=cls.memory)

    @staticmethod
    def phase_done(policy: Any, arm: Any, phase: Any) -> Any:
        """Every sweep is a phase of its own."""
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
            keep_bounds(policy, state, arm, now)

    @staticmethod
    @ignores_pull_id
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        keep_bounds(policy, state, arm, now)

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        keep_bounds(policy, state, arm, now)
