"""Prefix brackets: bounds on an arm's mean from its first M pulls, whatever the missing answers are.

The rewards of an arm's first M pulls are independent of what arrived and when. With S_M the sum of those that came and
x_M the number of those that did not, their mean lies between S_M / M and (S_M + x_M) / M; so

    U = min over M of p + r_M(p), p = (S_M + x_M) / M,        L = max over M of p - r_M(1 - p), p = S_M / M

contain the arm's mean wherever the radius r_M(p) = min(sqrt(2c/M), b + sqrt(b (b + 2p))), b = 4c/M, holds for all M at
once; the regret bounds of the policies need c = ln T (``confidence=None`` with a horizon). M runs over the right
ends of cells of pulls, which grow by a fifth, and over all pulls; for each cell the policy's memory
holds its pulls, its answers and their sum.

Most pulls and answers change the last cell alone. So what the prefixes before it come to is kept, and found anew when
one of them changed, or when there is another last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.kernel.jit import inline
from belated.policies._base.confidence import ConfidencePolicy, radius, sharp
from belated.policies._base.state import Arm, State

CELLS = 96
"""The last one has no end: it begins after 57,512,483 pulls."""


LAST = 3 * CELLS
"""Place in the memory of an arm: the number of the last cell with pulls, from 1 on; 0 before one was looked for."""
UPPER, LOWER, SPREAD, SURVEYS = 0, 1, 2, 3
OLD = LAST + 1
"""Whether what was found for the upper bound, the lower bound, the spread index is out of date."""
HIGH, HIGH_FROM, MOST, LOW, LOW_FROM, LEAST = (OLD + SURVEYS + place for place in range(6))
"""Of the prefixes before the last cell: the least upper and the largest lower bound with the pulls that give them, and
the sums of all."""
WIDE, TELLING, TOLD, TOLD_FROM, DOUBTED, MISSING = (OLD + SURVEYS + 6 + place for place in range(6))
"""The same for the spread index."""
SIZE = OLD + SURVEYS + 12


def _ends() -> list[int]:
    """ceil(1.2^k), each once, in whole numbers."""
    found: list[int] = []
    power = 0
    while len(found) < CELLS:
        end = -(-(6**power) // 5**power)
        if not found or end > found[-1]:
            found.append(end)
        power += 1
    return found


ENDS = np.array(_ends(), np.int64)
"""The number of the last pull (1, 2, ...) of each cell."""


@inline
def cell_of(rank: Any) -> Any:
    """The cell of the pull with so many before it."""
    low = 0
    high = CELLS - 1
    while low < high:
        middle = (low + high) >> 1
        if ENDS[middle] > rank:
            high = middle
        else:
            low = middle + 1
    return low


@inline
def count(state: State, arm: Any, rank: Any, pulls: Any, answers: Any, total: Any) -> None:
    """Add to the counts of the cell of a pull."""
    cell = cell_of(rank)
    place = 3 * cell
    state.memory[arm, place] += pulls
    state.memory[arm, place + 1] += answers
    state.memory[arm, place + 2] += total
    if cell + 1.0 != state.memory[arm, LAST]:
        outdate(state, arm)


@inline
def outdate(state: State, arm: Any) -> None:
    """What was found of the cells before the last is no longer so."""
    for place in range(OLD, OLD + SURVEYS):
        state.memory[arm, place] = 1.0


@inline
def prefix_upper(policy: Any, arm: Arm) -> Any:
    """(U, the number of pulls that give it)."""
    if arm.pulls < 1.0:
        return np.inf, 0.0
    row, memory = arm.number, arm.memory
    if memory[row, OLD + UPPER] > 0.0:
        best, given = np.inf, 0.0
        pulls, most = 0.0, 0.0  # S + missing
        place = 0
        while pulls + memory[row, place] < arm.pulls:
            here = memory[row, place]
            pulls += here
            most += memory[row, place + 2] + (here - memory[row, place + 1])
            place += 3
            if here > 0.0:
                mean = most / pulls
                high = mean + sharp(mean, radius(policy, pulls))
                given = pulls if high <= best else given
                best = high if high <= best else best
        close(arm, UPPER, place)
        memory[row, HIGH], memory[row, HIGH_FROM], memory[row, MOST] = best, given, most
    place = opened(arm)
    most = memory[row, MOST] + (memory[row, place + 2] + (memory[row, place] - memory[row, place + 1]))
    mean = most / arm.pulls
    high = mean + sharp(mean, radius(policy, arm.pulls))
    if high <= memory[row, HIGH]:
        return high, arm.pulls
    return memory[row, HIGH], memory[row, HIGH_FROM]


@inline
def prefix_lower(policy: Any, arm: Arm) -> Any:
    """(L, the number of pulls that give it)."""
    if arm.pulls < 1.0:
        return -np.inf, 0.0
    row, memory = arm.number, arm.memory
    if memory[row, OLD + LOWER] > 0.0:
        best, given = -np.inf, 0.0
        pulls, total = 0.0, 0.0
        place = 0
        while pulls + memory[row, place] < arm.pulls:
            here = memory[row, place]
            pulls += here
            total += memory[row, place + 2]
            place += 3
            if here > 0.0:
                mean = total / pulls
                low = mean - sharp(1.0 - mean, radius(policy, pulls))
                given = pulls if low >= best else given
                best = low if low >= best else best
        close(arm, LOWER, place)
        memory[row, LOW], memory[row, LOW_FROM], memory[row, LEAST] = best, given, total
    mean = (memory[row, LEAST] + memory[row, opened(arm) + 2]) / arm.pulls
    low = mean - sharp(1.0 - mean, radius(policy, arm.pulls))
    if low >= memory[row, LOW]:
        return low, arm.pulls
    return memory[row, LOW], memory[row, LOW_FROM]


@inline
def close(arm: Arm, survey: Any, place: Any) -> None:
    """The cells before the one at ``place``, the last, were gone through."""
    arm.memory[arm.number, LAST] = place // 3 + 1.0
    arm.memory[arm.number, OLD + survey] = 0.0


@inline
def opened(arm: Arm) -> Any:
    """Where the last cell with pulls is."""
    return 3 * (int(arm.memory[arm.number, LAST]) - 1)


@dataclass(frozen=True, kw_only=True)
class PrefixPolicy(ConfidencePolicy):
    """A policy whose bounds are prefix brackets."""

    memory = SIZE

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        count(state, arm, rank, 1.0, 0.0, 0.0)

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        count(state, arm, rank, 0.0, 1.0, reward)

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, answers: Any, total: Any
    ) -> Any:
        count(state, arm, rank, pulls, answers, total)
        place = 3 * cell_of(rank)  # what is taken away in another order may come out as less than nothing, or too much
        state.memory[arm, place + 2] = min(max(state.memory[arm, place + 2], 0.0), state.memory[arm, place + 1])
        outdate(state, arm)  # the last cell may be empty now

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm)[0]

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return prefix_upper(policy, arm)[0]

    @staticmethod
    def bound_prefixes(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm)[1], prefix_upper(policy, arm)[1]
