"""Prefix brackets: bounds on an arm's mean from its first M pulls, whatever the missing feedback is.

The rewards of an arm's first M pulls are independent of what arrived and when. With S_M the sum of those that arrived
and x_M the number of those that did not, their mean lies between S_M / M and (S_M + x_M) / M; so

    U = min over M of p + r_M(p), p = (S_M + x_M) / M,        L = max over M of p - r_M(1 - p), p = S_M / M

contain the arm's mean wherever the radius r_M(p) = min(sqrt(2c/M), b + sqrt(b (b + 2p))), b = 4c/M, holds for all M at
once; the regret bounds of the policies need c = ln T (``confidence="theory"`` with a horizon). M runs over the right
ends of cells of pulls, which grow by a fifth, and over all pulls; for each cell the policy's memory holds its pulls,
its feedbacks and their sum.

Most pulls and feedbacks change only the current cell, the last one with pulls. So the result over the earlier prefixes
is cached, and recomputed when an earlier cell changes or another cell becomes the current one. Most other feedbacks
change one of the cells shortly before it: what is known before these is kept, and the search goes on from there.

The record of an arm takes SIZE columns of its memory, from column ``first`` on."""

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
"""Column of an arm's record, after (pulls, feedbacks, sum) of each cell: the number of the current cell, from 1 on; 0
before it was looked for."""
UPPER, LOWER, SPREAD, CACHES = 0, 1, 2, 3
CHANGED = CURRENT + 1
"""Columns of the first cell that changed since the upper bound, the lower bound, the spread index was cached; CELLS if
none did."""
KEPT_BEFORE = CHANGED + CACHES
"""Columns of the cell before which the search for each was interrupted; 0 if it was not."""
LAG = 3
"""A search is interrupted this many cells before the first that changed: most feedback changes no earlier one."""
_FIRST = KEPT_BEFORE + CACHES
BEST_UPPER, BEST_UPPER_PULLS, UPPER_SUM, BEST_LOWER, BEST_LOWER_PULLS, LOWER_SUM = range(_FIRST, _FIRST + 6)
"""Caches over the prefixes before the current cell: the smallest upper and the largest lower bound, the length of the
prefix of each, and the sums of rewards (missing ones counted as 1 and as 0) of all these cells."""
WIDE_UPPER, LEAST_DOUBT, TRUSTED_MEAN, TRUSTED_PULLS, SPREAD_SUM, MISSING = range(_FIRST + 6, _FIRST + 12)
"""Caches of the spread index, see :mod:`belated.policies.prefix_ucb`."""
KEPT = _FIRST + 12
"""The first of the columns for what was known when a search was interrupted: four numbers for each bound, and as many
as SPREAD_KEPT for the spread index."""
KEPT_UPPER, KEPT_LOWER, KEPT_SPREAD, SPREAD_KEPT = KEPT, KEPT + 4, KEPT + 8, 7
SIZE = KEPT_SPREAD + SPREAD_KEPT


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
def count(memory: Any, row: Any, first: Any, rank: Any, pulls: Any, observed: Any, total: Any) -> None:
    """Add to the counts of the cell of a pull."""
    cell = cell_of(rank)
    column = first + 3 * cell
    memory[row, column] += pulls
    memory[row, column + 1] += observed
    memory[row, column + 2] += total
    if cell + 1.0 != memory[row, first + CURRENT]:
        invalidate(memory, row, first, cell)


@inline
def correct(memory: Any, row: Any, first: Any, rank: Any, pulls: Any, observed: Any, total: Any) -> None:
    """The same for a pull that is retracted, or whose feedback is replaced."""
    count(memory, row, first, rank, pulls, observed, total)
    column = first + 3 * cell_of(rank)  # a sum that is subtracted in another order may come out below 0, or too large
    memory[row, column + 2] = min(max(memory[row, column + 2], 0.0), memory[row, column + 1])
    invalidate(memory, row, first, 0)  # the current cell may be empty now


@inline
def invalidate(memory: Any, row: Any, first: Any, cell: Any) -> None:
    """Mark the caches of an arm as out of date from this cell on."""
    for column in range(first + CHANGED, first + CHANGED + CACHES):
        memory[row, column] = min(memory[row, column], float(cell))


@inline
def is_stale(memory: Any, row: Any, first: Any, cache: Any) -> Any:
    """Whether a cache is out of date."""
    return memory[row, first + CHANGED + cache] < CELLS


@inline
def begin_search(memory: Any, row: Any, first: Any, cache: Any) -> Any:
    """(column of the cell where to begin, column of the cell where to keep what is known by then)."""
    changed = memory[row, first + CHANGED + cache]
    begin = memory[row, first + KEPT_BEFORE + cache]
    begin = begin if begin <= changed else 0.0
    keep = max(begin, changed - LAG)
    memory[row, first + KEPT_BEFORE + cache] = keep
    return first + 3 * int(begin), first + 3 * int(keep)


@inline
def validate(memory: Any, row: Any, first: Any, cache: Any, column: Any) -> None:
    """Mark a cache as up to date; ``column`` is that of the current cell."""
    memory[row, first + CURRENT] = (column - first) // 3 + 1.0
    memory[row, first + CHANGED + cache] = CELLS


@inline
def current_column(memory: Any, row: Any, first: Any) -> Any:
    """The column of the current cell."""
    return first + 3 * (int(memory[row, first + CURRENT]) - 1)


@inline
def prefix_upper(policy: Any, arm: Arm, first: Any) -> Any:
    """(U, the length of the prefix that gives it)."""
    if arm.pulls < 1.0:
        return np.inf, 0.0
    row, memory = arm.number, arm.memory
    if is_stale(memory, row, first, UPPER):
        best, best_pulls = np.inf, 0.0
        pulls, most = 0.0, 0.0  # most: S + x
        column, keep = begin_search(memory, row, first, UPPER)
        if column > first:
            best, best_pulls = memory[row, first + KEPT_UPPER], memory[row, first + KEPT_UPPER + 1]
            pulls, most = memory[row, first + KEPT_UPPER + 2], memory[row, first + KEPT_UPPER + 3]
        while pulls + memory[row, column] < arm.pulls:
            if column == keep:
                memory[row, first + KEPT_UPPER], memory[row, first + KEPT_UPPER + 1] = best, best_pulls
                memory[row, first + KEPT_UPPER + 2], memory[row, first + KEPT_UPPER + 3] = pulls, most
            here = memory[row, column]
            pulls += here
            most += memory[row, column + 2] + (here - memory[row, column + 1])
            column += 3
            if here > 0.0:
                mean = most / pulls
                high = mean + prefix_radius(mean, radius(policy, pulls))
                best_pulls = pulls if high <= best else best_pulls
                best = high if high <= best else best
        validate(memory, row, first, UPPER, column)
        memory[row, first + BEST_UPPER], memory[row, first + BEST_UPPER_PULLS], memory[row, first + UPPER_SUM] = (
            best,
            best_pulls,
            most,
        )
    column = current_column(memory, row, first)
    most = memory[row, first + UPPER_SUM] + (memory[row, column + 2] + (memory[row, column] - memory[row, column + 1]))
    mean = most / arm.pulls
    high = mean + prefix_radius(mean, radius(policy, arm.pulls))
    if high <= memory[row, first + BEST_UPPER]:
        return high, arm.pulls
    return memory[row, first + BEST_UPPER], memory[row, first + BEST_UPPER_PULLS]


@inline
def prefix_lower(policy: Any, arm: Arm, first: Any) -> Any:
    """(L, the length of the prefix that gives it)."""
    if arm.pulls < 1.0:
        return -np.inf, 0.0
    row, memory = arm.number, arm.memory
    if is_stale(memory, row, first, LOWER):
        best, best_pulls = -np.inf, 0.0
        pulls, total = 0.0, 0.0
        column, keep = begin_search(memory, row, first, LOWER)
        if column > first:
            best, best_pulls = memory[row, first + KEPT_LOWER], memory[row, first + KEPT_LOWER + 1]
            pulls, total = memory[row, first + KEPT_LOWER + 2], memory[row, first + KEPT_LOWER + 3]
        while pulls + memory[row, column] < arm.pulls:
            if column == keep:
                memory[row, first + KEPT_LOWER], memory[row, first + KEPT_LOWER + 1] = best, best_pulls
                memory[row, first + KEPT_LOWER + 2], memory[row, first + KEPT_LOWER + 3] = pulls, total
            here = memory[row, column]
            pulls += here
            total += memory[row, column + 2]
            column += 3
            if here > 0.0:
                mean = total / pulls
                low = mean - prefix_radius(1.0 - mean, radius(policy, pulls))
                best_pulls = pulls if low >= best else best_pulls
                best = low if low >= best else best
        validate(memory, row, first, LOWER, column)
        memory[row, first + BEST_LOWER], memory[row, first + BEST_LOWER_PULLS], memory[row, first + LOWER_SUM] = (
            best,
            best_pulls,
            total,
        )
    mean = (memory[row, first + LOWER_SUM] + memory[row, current_column(memory, row, first) + 2]) / arm.pulls
    low = mean - prefix_radius(1.0 - mean, radius(policy, arm.pulls))
    if low >= memory[row, first + BEST_LOWER]:
        return low, arm.pulls
    return memory[row, first + BEST_LOWER], memory[row, first + BEST_LOWER_PULLS]


@dataclass(frozen=True, kw_only=True)
class PrefixPolicy(ConfidencePolicy):
    """A policy whose bounds are prefix brackets."""

    memory = SIZE
    cached_memory = range(CURRENT, SIZE)
    covers_missing = True
    rounds_bounds = True

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        count(state.memory, arm, 0, rank, 1.0, 0.0, 0.0)

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        count(state.memory, arm, 0, rank, 0.0, 1.0, reward)

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, observed: Any, total: Any
    ) -> Any:
        correct(state.memory, arm, 0, rank, pulls, observed, total)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm, 0)[0]

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return prefix_upper(policy, arm, 0)[0]

    @staticmethod
    def bound_prefixes(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm, 0)[1], prefix_upper(policy, arm, 0)[1]
