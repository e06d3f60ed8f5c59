"""Pending pulls that may still be hoped for: what PendingUCB keeps of each arm, and when its index is computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from belated.kernel.jit import inline
from belated.policies._base import age_histogram
from belated.policies._base.index import rescore
from belated.policies._base.state import Arm, State, view

LONGEST, SHARE, CHECK, YOUNG = (age_histogram.SIZE + place for place in range(4))
"""Places in the memory of an arm: the longest delay of its answers and 1, the share of its answers among its pulls that
are not young, the round in which its index is looked at again, and how many pending pulls are young."""
NEXT, SEEN, SHARES, CAME, TOTAL = range(5)
"""Places in the memory of all arms together: the first of these rounds, the number of arms with an answer, the sum of
the shares, the number of answers and their sum; and LONGEST."""
TIMES = 4.0
"""An answer is hoped for until it is so many times as late as the latest that came."""
NEVER = 1e18


@inline
def window(policy: Any, memory: Any, row: Any) -> Any:
    """For how many rounds an answer is hoped for: of an arm, or of a silent one (the row for all arms together); 0 if
    nothing came yet."""
    return policy.patience if policy.patience > 0.0 else TIMES * memory[row, LONGEST]


@inline
def young(policy: Any, arm: Arm) -> Any:
    """The pending pulls that may still be hoped for: all of a silent arm."""
    if arm.observed < 1.0:
        return arm.pulls
    return age_histogram.younger(arm, window(policy, arm.memory, arm.number))


@inline
def refresh(policy: Any, state: State, arm: Any, now: Any) -> None:
    """Compute the index of an arm, and say when to look at it again."""
    everyone = state.arms
    age_histogram.age(state, arm, now)
    seen = view(state, arm, now)
    hoped = young(policy, seen)
    state.memory[arm, YOUNG] = hoped
    if seen.observed > 0.0:
        share = min(seen.observed / max(seen.pulls - hoped, 1.0), 1.0)
        state.memory[everyone, SHARES] += share - state.memory[arm, SHARE]
        state.memory[arm, SHARE] = share
    rescore(policy, state, arm, now)
    rounds = window(policy, state.memory, arm if seen.observed > 0.0 else everyone)
    check = NEVER
    if rounds > 0.0 and hoped > 0.0:
        check = now + max(1.0, math.floor(0.125 * rounds))
    state.memory[arm, CHECK] = check
    state.memory[everyone, NEXT] = min(state.memory[everyone, NEXT], check)


@inline
def refresh_silent(policy: Any, state: State, now: Any) -> None:
    """The index of every silent arm, when the number of these has changed."""
    for arm in range(state.arms):
        if state.observed[arm] == 0.0 and state.pulls[arm] > 0:
            refresh(policy, state, np.uint32(arm), now)
