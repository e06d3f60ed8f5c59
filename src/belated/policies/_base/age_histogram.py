"""How old the missing answers of an arm are: counters of pending pulls by age, coarse for old ones.

A pull of round s is counted at level j in the block s >> j of 2^j rounds, where j is the smallest level at which that
is the present block or the one before; as rounds pass, counts move up a level. So a block is about as long as its pulls
are old, and whoever knows s and the round of the last count finds the block again."""

from __future__ import annotations

from typing import Any

from belated.kernel.jit import inline
from belated.policies._base.state import Arm, State

LEVELS = 31
COUNTED, AGES = 0, 1
"""Places in the memory of an arm: the round of the last count, the first of the counters."""
SIZE = AGES + 2 * LEVELS


@inline
def place_of(pulled_at: Any, counted: Any) -> Any:
    """Where a pull is counted, when counts are of round ``counted``."""
    level = 0
    while level < LEVELS - 1 and (pulled_at >> level) < (counted >> level) - 1:
        level += 1
    return AGES + 2 * level + ((pulled_at >> level) & 1)


@inline
def age(state: State, arm: Any, now: Any) -> None:
    """Bring the counts of an arm to round ``now``."""
    before = int(state.memory[arm, COUNTED])
    if before == now:
        return
    for level in range(LEVELS - 1):
        last, present = before >> level, now >> level
        if last == present:
            break
        for block in (last - 1, last):
            if block < present - 1 and block >= 0:
                place = AGES + 2 * level + (block & 1)
                count = state.memory[arm, place]
                state.memory[arm, place] = 0.0
                state.memory[arm, AGES + 2 * (level + 1) + ((block >> 1) & 1)] += count
    state.memory[arm, COUNTED] = now


@inline
def count(state: State, arm: Any, pulled_at: Any, pulls: Any) -> None:
    """Add to the pending pulls of a round; counts are brought to a round before."""
    state.memory[arm, place_of(pulled_at, int(state.memory[arm, COUNTED]))] += pulls


@inline
def younger(arm: Arm, rounds: Any) -> Any:
    """How many pending pulls are in blocks that began less than so many rounds ago."""
    counted = int(arm.memory[arm.number, COUNTED])
    found = 0.0
    for level in range(LEVELS):
        present = counted >> level
        if counted - ((present - 1) << level) < rounds:
            found += arm.memory[arm.number, AGES + 2 * level] + arm.memory[arm.number, AGES + 2 * level + 1]
            continue
        if counted - (present << level) < rounds:
            found += arm.memory[arm.number, AGES + 2 * level + (present & 1)]
        break
    return found
