"""Elimination policies: two bounds and a sweep rule.

Sweep over the arms of the present phase, each once, in index order. After a sweep, drop from the phase the arms that
have had enough; when none is left in it, eliminate every active arm whose upper bound is below the largest lower bound
of an active arm, and begin the next phase with the arms that remain. When one arm remains, the rest of the run is
known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.forms import hooks
from belated.forms.base import Policy
from belated.forms.state import Shape, State, view
from belated.kernel import inner

GONE, DONE, CURSOR, PHASE = range(4)
"""Registers: arms eliminated; arms of the phase that have had enough; place in the sweep; number of phases before this
one."""


@inner
def end_sweep(policy: Any, state: State, now: Any) -> None:
    """Between two sweeps: drop arms that had enough from the phase; if none is left, eliminate and begin the next
    phase."""
    arms = state.arms
    swept = arms - state.register[DONE]
    kept = 0
    phase = state.register[PHASE] + 1
    for place in range(swept):
        arm = state.sweep[place]
        if not hooks.enough(policy, view(state, arm, now), phase):
            state.sweep[kept] = arm
            kept += 1
    if kept == 0:
        before = arms - state.register[GONE]
        kept = eliminate(policy, state, now)
        state.register[GONE] = arms - kept
        state.register[PHASE] = phase
        if kept < before or swept < before:  # else the last sweep went over these very arms
            for place in range(kept):
                state.sweep[place] = state.active[place]
    state.register[DONE] = arms - kept
    state.register[CURSOR] = 0


@inner
def eliminate(policy: Any, state: State, now: Any) -> Any:
    """Remove the active arms whose upper bound is below the largest lower bound; how many remain."""
    active = state.arms - state.register[GONE]
    bar = -np.inf
    lowest = np.inf
    for place in range(active):
        seen = view(state, state.active[place], now)
        bar = max(bar, hooks.lower(policy, seen))
        lowest = min(lowest, hooks.upper(policy, seen))
    if not lowest < bar:
        return active
    kept = 0
    for place in range(active):
        arm = state.active[place]
        if hooks.upper(policy, view(state, arm, now)) < bar:
            state.eliminated_at[arm] = now
        else:
            state.active[kept] = arm
            kept += 1
    return kept


@dataclass(frozen=True, kw_only=True)
class EliminationPolicy(Policy):
    """A policy that is two bounds, :meth:`lower` and :meth:`upper`, and a rule for when an arm has had :meth:`enough`
    of a phase."""

    @classmethod
    def shape(cls) -> Shape:
        return Shape(eliminates=True, memory=cls.memory)

    @staticmethod
    def enough(policy: Any, arm: Any, phase: Any) -> Any:
        """Every sweep is a phase of its own."""
        return True

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        if state.register[CURSOR] == state.arms - state.register[DONE]:
            end_sweep(policy, state, now)
        place = state.register[CURSOR]
        state.register[CURSOR] = place + 1
        return np.int64(state.sweep[np.uint32(place)])

    @staticmethod
    def only_arm(policy: Any, state: State) -> Any:
        if state.register[GONE] == state.arms - 1:
            return np.int64(state.active[0])
        return np.int64(-1)
