"""Drawing from laws: compiled, the same bits on every machine.

:func:`draw_reward` and :func:`draw_delay` are what a draw is. :func:`draw_rewards` and :func:`draw_delays` draw many at
once, to the bit the same (but for how far beyond the horizon a delay is), without a branch that the processor could
guess wrong where a law allows it; the compiler turns their loops into vector code."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.engine.quantiles import fill_up, quantile, quantiles
from belated.kernel.jit import inline, merged
from belated.kernel.law_table import BERNOULLI, BETA, BY_CELL, BY_VALUE, CONSTANT, FIXED, SPLIT, SPREAD, LawTable
from belated.kernel.rng import to_unit
from belated.kernel.samplers import beta_draw

_12 = np.uint64(12)
_TINY = 2.0**-53
"""Half the distance of two neighbouring uniforms."""
_FEW = 8
"""Tables up to this size are counted through instead of halved: nothing then depends on a branch."""


@inline
def last_at_most(table: Any, start: Any, size: Any, x: Any) -> Any:
    """How many of table[start + 1 : start + size], ascending, are at most x."""
    if size <= _FEW:
        place: Any = 0
        for step in range(1, size):
            place += np.int64(table[start + step] <= x)
        return place
    low = 0
    high = size - 1
    while low < high:  # table[start + low] <= x or low = 0; table[start + high + 1] > x
        middle = (low + high + 1) >> 1
        if table[start + middle] <= x:
            low = middle
        else:
            high = middle - 1
    return low


@inline
def draw_binary(laws: LawTable, row: Any, z: Any) -> Any:
    """Whether the reward of the pull whose word is ``z`` is 1, where it is 0 or 1: uniform(z) < mean, in whole
    numbers."""
    return np.int64(z >> _12) < laws.lo[row]


@inline
def draw_reward(laws: LawTable, row: Any, z: Any) -> Any:
    """The reward of the pull whose word is ``z``."""
    kind = laws.kind[row]
    if kind == BERNOULLI:
        return 1.0 if draw_binary(laws, row, z) else 0.0
    if kind == CONSTANT:
        return laws.a[row]
    if kind == SPREAD:
        return laws.a[row] + laws.b[row] * to_unit(z)
    if kind == BETA:
        return beta_draw(laws.a[row], laws.b[row], z)
    size = laws.hi[row]  # CHOICE: P(value < this one) of each value, then the values
    start = laws.lo[row]
    return laws.real[start + size + last_at_most(laws.real, start, size, to_unit(z))]


@merged
def draw_rewards(laws: LawTable, row: Any, words: Any, rewards: Any) -> None:
    """The rewards of pulls from their words."""
    if laws.kind[row] == BERNOULLI:
        for place in range(words.shape[0]):
            rewards[place] = 1.0 if draw_binary(laws, row, words[place]) else 0.0
    else:
        for place in range(words.shape[0]):
            rewards[place] = draw_reward(laws, row, words[place])


@inline
def draw_delay(laws: LawTable, row: Any, reward: Any, z: Any) -> Any:
    """The delay of the pull with this reward, from the word ``z``."""
    row, u = _descend(laws, row, reward, to_unit(z))
    return quantile(laws, row, u)


@merged
def draw_delays(laws: LawTable, row: Any, rewards: Any, words: Any, delays: Any, scratch: Any) -> None:
    """The delays of pulls from their rewards and words."""
    count = words.shape[0]
    for place in range(count):
        scratch.u[place] = to_unit(words[place])
    if laws.kind[row] < SPLIT:
        quantiles(laws, row, scratch.u, count, delays, scratch.unsure)
        return
    if _is_flat(laws, row):
        _draw_parts(laws, row, rewards, count, delays, scratch)
        return
    _find_rows(laws, row, rewards, count, scratch)
    # Which row a draw ends at cannot be guessed: fixed delays are written down for all, the others are listed.
    others: Any = 0
    first = np.uint32(0)
    alike = True
    for place in range(count):
        found, u = _descend(laws, scratch.row[place], rewards[place], scratch.u[place])
        delays[place] = laws.lo[found]
        scratch.u[others] = u
        scratch.row[others] = found
        scratch.place[others] = place
        first = found if others == 0 else first
        other = laws.kind[found] != FIXED
        alike &= (found == first) | (not other)
        others += np.int64(other)
    if alike:
        quantiles(laws, first, scratch.u, others, scratch.delay, scratch.unsure)
        for other in range(others):
            delays[scratch.place[other]] = scratch.delay[other]
    else:
        for other in range(others):
            delays[scratch.place[other]] = quantile(laws, scratch.row[other], scratch.u[other])


@inline
def _is_flat(laws: LawTable, row: Any) -> Any:
    """Whether a row leads by a table to few others, all of them simple."""
    size = laws.hi[row]
    if laws.kind[row] == BY_CELL or size > _FEW:
        return False
    nested = False
    for part in range(size):
        nested |= laws.kind[laws.whole[np.int64(laws.a[row]) + part]] >= SPLIT
    return not nested


@inline
def _draw_parts(laws: LawTable, row: Any, rewards: Any, count: Any, delays: Any, scratch: Any) -> None:
    """The delays of a flat row, part by part: a fixed one is written down, others are drawn for their draws alone."""
    start = laws.lo[row]
    rows = np.int64(laws.a[row])
    is_split = laws.kind[row] == SPLIT
    _count_below(laws.real, start, laws.hi[row], scratch.u if is_split else rewards, count, scratch.row)
    for part in range(laws.hi[row]):
        found = np.uint32(laws.whole[rows + part])
        if laws.kind[found] == FIXED:
            always = np.int32(laws.lo[found])
            for place in range(count):
                delays[place] = always if scratch.row[place] == np.uint32(part) else delays[place]
            continue
        others: Any = 0
        for place in range(count):
            scratch.place[others] = place
            others += np.int64(scratch.row[place] == np.uint32(part))
        for other in range(others):
            u = scratch.u[scratch.place[other]]
            scratch.part_u[other] = _within(laws, start, part, u) if is_split else u
        wide = fill_up(scratch.part_u, others, count)
        quantiles(laws, found, scratch.part_u, wide, scratch.delay, scratch.unsure)
        for other in range(others):
            delays[scratch.place[other]] = scratch.delay[other]


@merged
def _find_rows(laws: LawTable, row: Any, rewards: Any, count: Any, scratch: Any) -> None:
    """The rows that a row leads to in several draws, with the uniforms within them."""
    kind = laws.kind[row]
    start = laws.lo[row]
    size = laws.hi[row]
    rows = np.int64(laws.a[row])
    if kind == SPLIT:
        _count_below(laws.real, start, size, scratch.u, count, scratch.place)
        for place in range(count):
            scratch.row[place], scratch.u[place] = _part_of(laws, start, rows, scratch.place[place], scratch.u[place])
    elif kind == BY_VALUE:
        _count_below(laws.real, start, size, rewards, count, scratch.place)
        for place in range(count):
            scratch.row[place] = laws.whole[rows + scratch.place[place]]
    else:
        for place in range(count):
            scratch.row[place] = _row_of_cell(laws, start, size, rewards[place])


@inline
def _count_below(table: Any, start: Any, size: Any, x: Any, count: Any, found: Any) -> None:
    """``last_at_most`` of several numbers."""
    if size > _FEW:
        for place in range(count):
            found[place] = last_at_most(table, start, size, x[place])
        return
    for place in range(count):
        found[place] = 0
    for step in range(1, size):
        bound = table[start + step]
        for place in range(count):
            found[place] += np.uint32(bound <= x[place])


@inline
def _descend(laws: LawTable, row: Any, reward: Any, u: Any) -> Any:
    """(row, u) of the simple row that a draw ends at."""
    kind = laws.kind[row]
    while kind >= SPLIT:
        start = laws.lo[row]
        size = laws.hi[row]
        rows = np.int64(laws.a[row])
        if kind == SPLIT:
            row, u = _part_of(laws, start, rows, last_at_most(laws.real, start, size, u), u)
        elif kind == BY_VALUE:
            row = np.uint32(laws.whole[rows + last_at_most(laws.real, start, size, reward)])
        else:
            row = _row_of_cell(laws, start, size, reward)
        kind = laws.kind[row]
    return row, u


@inline
def _part_of(laws: LawTable, start: Any, rows: Any, part: Any, u: Any) -> Any:
    """SPLIT: (row of a part, u within it); the table has P(an earlier part) of each part, then 1."""
    return np.uint32(laws.whole[rows + part]), _within(laws, start, part, u)


@inline
def _within(laws: LawTable, start: Any, part: Any, u: Any) -> Any:
    """Where u is between the ends of its part, as a number between 0 and 1."""
    below = laws.real[start + part]
    return min(max((u - below) / (laws.real[start + part + 1] - below), _TINY), 1.0 - _TINY)


@inline
def _row_of_cell(laws: LawTable, start: Any, size: Any, reward: Any) -> Any:
    """BY_CELL: equal cells of the reward."""
    return np.uint32(laws.whole[start + min(np.int64(reward * size), size - 1)])
