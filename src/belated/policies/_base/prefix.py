"""Prefix brackets: bounds on an arm's mean from its first M pulls, whatever the missing feedback is.

The rewards of an arm's first M pulls are independent of what arrived and when. With S_M the sum of those that arrived
and x_M the number of those that did not, their mean lies between S_M / M and (S_M + x_M) / M; so

    U = min over M of p + r_M(p), p = (S_M + x_M) / M,        L = max over M of p - r_M(1 - p), p = S_M / M

contain the arm's mean wherever the radius r_M(p) = min(sqrt(2c/M), b + sqrt(b (b + 2p))), b = 4c/M, holds for all M at
once; the regret bounds of the policies need c = ln T (``confidence="theory"`` with a horizon). M runs over the right
ends of cells of pulls, which grow by a fifth, and over all pulls; for each cell the policy's memory holds its pulls,
its feedbacks and their sum.

Most pulls and feedbacks change only the current cell, the last one with pulls. So the result over the earlier prefixes
is cached, and recomputed when an earlier cell changes or another cell becomes the current one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.kernel.jit import inline
from belated.policies._base.interface import radius
from belated.policies._base.policy import ConfidencePolicy
from belated.policies._base.state import Arm, State
from belated.theory.prefix import CELL_ENDS, CELLS

CURRENT = 3 * CELLS
"""Column of an arm's memory, after (pulls, feedbacks, sum) of each cell: the number of the current cell, from 1 on; 0
before it was looked for."""
UPPER, LOWER, SPREAD, CACHES = 0, 1, 2, 3
STALE = CURRENT + 1
"""Columns that say whether the cache of the upper bound, the lower bound, the spread index is out of date."""
BEST_UPPER, BEST_UPPER_PULLS, UPPER_SUM, BEST_LOWER, BEST_LOWER_PULLS, LOWER_SUM = range(
    STALE + CACHES, STALE + CACHES + 6
)
"""Caches over the prefixes before the current cell: the smallest upper and the largest lower bound, the length of the
prefix of each, and the sums of rewards (missing ones counted as 1 and as 0) of all these cells."""
WIDE_UPPER, LEAST_DOUBT, TRUSTED_MEAN, TRUSTED_PULLS, SPREAD_SUM, MISSING = range(
    STALE + CACHES + 6, STALE + CACHES + 12
)
"""Caches of the spread index, see :mod:`belated.policies.prefix_ucb`."""
SIZE = STALE + CACHES + 12


@inline
def prefix_radius(mean: Any, width: Any) -> Any:
    """How far above a mean of M rewards in [0, 1] the true one may be, where sqrt(2c/M) is ``width``: the smaller
    solution of two lower bounds for M kl(mean, q) <= 4c, kl(p, q) >= 2 (q - p)^2 and kl(p, q) >= (q - p)^2 / 2q."""
    budget = 2.0 * width * width
    return min(width, budget + math.sqrt(budget * (budget + 2.0 * mean)))


@inline
def cell_of(rank: Any) -> Any:
    """The cell of the pull that follows ``rank`` others."""
    low = 0
    high = CELLS - 1
    while low < high:
        middle = (low + high) >> 1
        if CELL_ENDS[middle] > rank:
            high = middle
        else:
            low = middle + 1
    return low


@inline
def count(state: State, arm: Any, rank: Any, pulls: Any, observed: Any, total: Any) -> None:
    """Add to the counts of the cell of a pull."""
    cell = cell_of(rank)
    column = 3 * cell
    state.memory[arm, column] += pulls
    state.memory[arm, column + 1] += observed
    state.memory[arm, column + 2] += total
    if cell + 1.0 != state.memory[arm, CURRENT]:
        invalidate(state, arm)


@inline
def invalidate(state: State, arm: Any) -> None:
    """Mark the caches of an arm as out of date."""
    for column in range(STALE, STALE + CACHES):
        state.memory[arm, column] = 1.0


@inline
def validate(arm: Arm, cache: Any, column: Any) -> None:
    """Mark a cache as up to date; ``column`` is that of the current cell."""
    arm.memory[arm.number, CURRENT] = column // 3 + 1.0
    arm.memory[arm.number, STALE + cache] = 0.0


@inline
def current_column(arm: Arm) -> Any:
    """The column of the current cell."""
    return 3 * (int(arm.memory[arm.number, CURRENT]) - 1)


@inline
def prefix_upper(policy: Any, arm: Arm) -> Any:
    """(U, the length of the prefix that gives it)."""
    if arm.pulls < 1.0:
        return np.inf, 0.0
    row, memory = arm.number, arm.memory
    if memory[row, STALE + UPPER] > 0.0:
        best, best_pulls = np.inf, 0.0
        pulls, most = 0.0, 0.0  # most: S + x
        column = 0
        while pulls + memory[row, column] < arm.pulls:
            here = memory[row, column]
            pulls += here
            most += memory[row, column + 2] + (here - memory[row, column + 1])
            column += 3
            if here > 0.0:
                mean = most / pulls
                high = mean + prefix_radius(mean, radius(policy, pulls))
                best_pulls = pulls if high <= best else best_pulls
                best = high if high <= best else best
        validate(arm, UPPER, column)
        memory[row, BEST_UPPER], memory[row, BEST_UPPER_PULLS], memory[row, UPPER_SUM] = best, best_pulls, most
    column = current_column(arm)
    most = memory[row, UPPER_SUM] + (memory[row, column + 2] + (memory[row, column] - memory[row, column + 1]))
    mean = most / arm.pulls
    high = mean + prefix_radius(mean, radius(policy, arm.pulls))
    if high <= memory[row, BEST_UPPER]:
        return high, arm.pulls
    return memory[row, BEST_UPPER], memory[row, BEST_UPPER_PULLS]


@inline
def prefix_lower(policy: Any, arm: Arm) -> Any:
    """(L, the length of the prefix that gives it)."""
    if arm.pulls < 1.0:
        return -np.inf, 0.0
    row, memory = arm.number, arm.memory
    if memory[row, STALE + LOWER] > 0.0:
        best, best_pulls = -np.inf, 0.0
        pulls, total = 0.0, 0.0
        column = 0
        while pulls + memory[row, column] < arm.pulls:
            here = memory[row, column]
            pulls += here
            total += memory[row, column + 2]
            column += 3
            if here > 0.0:
                mean = total / pulls
                low = mean - prefix_radius(1.0 - mean, radius(policy, pulls))
                best_pulls = pulls if low >= best else best_pulls
                best = low if low >= best else best
        validate(arm, LOWER, column)
        memory[row, BEST_LOWER], memory[row, BEST_LOWER_PULLS], memory[row, LOWER_SUM] = best, best_pulls, total
    mean = (memory[row, LOWER_SUM] + memory[row, current_column(arm) + 2]) / arm.pulls
    low = mean - prefix_radius(1.0 - mean, radius(policy, arm.pulls))
    if low >= memory[row, BEST_LOWER]:
        return low, arm.pulls
    return memory[row, BEST_LOWER], memory[row, BEST_LOWER_PULLS]


@dataclass(frozen=True, kw_only=True)
class PrefixPolicy(ConfidencePolicy):
    """A policy whose bounds are prefix brackets."""

    memory = SIZE
    covers_missing = True
    rounds_bounds = True

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        count(state, arm, rank, 1.0, 0.0, 0.0)

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        count(state, arm, rank, 0.0, 1.0, reward)

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any
    ) -> Any:
        count(state, arm, rank, pulls, observed, total)
        column = 3 * cell_of(rank)  # a sum that is subtracted in another order may come out below 0, or too large
        state.memory[arm, column + 2] = min(max(state.memory[arm, column + 2], 0.0), state.memory[arm, column + 1])
        invalidate(state, arm)  # the current cell may be empty now

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm)[0]

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return prefix_upper(policy, arm)[0]

    @staticmethod
    def bound_prefixes(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm)[1], prefix_upper(policy, arm)[1]
