"""A histogram of the ages of an arm's pending pulls, with bins that grow with age.

A pull of round s is counted at level j in the block s >> j of 2^j rounds, where j is the smallest level at which that
is the present block or the one before; as rounds pass, counts move up a level. So a block is about as long as its pulls
are old, and its number follows from s and the round of the last update."""

from __future__ import annotations

from typing import Any

from belated.kernel.jit import inline
from belated.policies._base.state import Arm, State

LEVELS = 31
UPDATED, COUNTS = 0, 1
"""Columns of an arm's memory: the round of the last update; the first of the counts, two for each level."""
SIZE = COUNTS + 2 * LEVELS


@inline
def column_of(pulled_at: Any, updated: Any) -> Any:
    """The column that counts a pull in a histogram of round ``updated``."""
    level = 0
    while level < LEVELS - 1 and (pulled_at >> level) < (updated >> level) - 1:
        level += 1
    return COUNTS + 2 * level + ((pulled_at >> level) & 1)


@inline
def advance(state: State, arm: Any, now: Any) -> None:
    """Bring the histogram of an arm to round ``now``."""
    before = int(state.memory[arm, UPDATED])
    if before == now:
        return
    for level in range(LEVELS - 1):
        last, present = before >> level, now >> level
        if last == present:
            break
        for block in (last - 1, last):
            if block < present - 1 and block >= 0:
                column = COUNTS + 2 * level + (block & 1)
                count = state.memory[arm, column]
                state.memory[arm, column] = 0.0
                state.memory[arm, COUNTS + 2 * (level + 1) + ((block >> 1) & 1)] += count
    state.memory[arm, UPDATED] = now


@inline
def add(state: State, arm: Any, pulled_at: Any, pulls: Any) -> None:
    """Add ``pulls`` pending pulls of round ``pulled_at``, to a histogram that was advanced."""
    state.memory[arm, column_of(pulled_at, int(state.memory[arm, UPDATED]))] += pulls


@inline
def younger(arm: Arm, rounds: Any) -> Any:
    """The number of pending pulls in blocks that began less than ``rounds`` rounds ago."""
    updated = int(arm.memory[arm.number, UPDATED])
    pulls = 0.0
    for level in range(LEVELS):
        present = updated >> level
        if updated - ((present - 1) << level) < rounds:
            pulls += arm.memory[arm.number, COUNTS + 2 * level] + arm.memory[arm.number, COUNTS + 2 * level + 1]
            continue
        if updated - (present << level) < rounds:
            pulls += arm.memory[arm.number, COUNTS + 2 * level + (present & 1)]
        break
    return pulls
