"""Draw rewards and delays from a table of laws: compiled, with the same bits on every machine.

:func:`draw_reward` and :func:`draw_delay` define a draw. :func:`draw_rewards` and :func:`draw_delays` draw a batch: the
same bits (except how far a delay lies beyond the horizon), in loops that the compiler vectorises where a law allows it.

The kernels of the laws are static methods of their classes (see :class:`belated.delays.DelayLaw`). Here they are
numbered in the order of the laws' names and put into chains that compare a row's kind with one number after the
other."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.delays._base import DELAYS
from belated.kernel.jit import inline, outlined
from belated.kernel.law_table import (
    BEYOND,
    BY_CELL,
    FEW,
    FIRST_LAW,
    FIXED,
    MIXTURE,
    STEPS,
    UNSURE,
    LawRow,
    LawTable,
    last_at_most,
    row_at,
)
from belated.kernel.rng import to_unit
from belated.rewards._base import REWARDS
from belated.rewards.bernoulli import Bernoulli, is_success

_TINY = 2.0**-53
"""Half the distance of two neighbouring uniforms."""
_VECTOR_MASK = 7
"""One less than the draws that a vectorised loop makes at a time."""

_REWARD_LAWS: list[Any] = list(REWARDS.values())
_DRAWN: list[Any] = [law for law in DELAYS.values() if hasattr(law, "draw")]
_FORMULAS: list[Any] = [law for law in DELAYS.values() if hasattr(law, "real_delay")]

KINDS: dict[type, int] = {
    law: FIRST_LAW + number for laws in (_REWARD_LAWS, [*_DRAWN, *_FORMULAS]) for number, law in enumerate(laws)
}
"""The number of each law with its own kernel; rewards and delays are numbered separately."""
BERNOULLI = KINDS[Bernoulli]


def _draw_by_kind(draws: list[tuple[int, Any]], otherwise: Any) -> Any:
    """A kernel function ``(row, laws, x)`` that calls the one with the number of the row's kind, or ``otherwise``."""
    for number, draw in draws:
        otherwise = _draw_if(number, draw, otherwise)
    return otherwise


def _draw_if(number: int, draw: Any, otherwise: Any) -> Any:
    def draw_by_kind(row: LawRow, laws: LawTable, x: Any) -> Any:
        if row.kind == number:
            return draw(row, laws, x)
        return otherwise(row, laws, x)

    return inline(draw_by_kind)


# ---- rewards ----

_reward_of = _draw_by_kind(
    [(KINDS[law], inline(law.draw)) for law in _REWARD_LAWS[1:]], otherwise=inline(_REWARD_LAWS[0].draw)
)


@inline
def draw_reward(laws: LawTable, row: Any, word: Any) -> Any:
    """The reward of the pull with this random word."""
    return _reward_of(row_at(laws, row), laws, word)


@inline(merge=True)
def draw_rewards(laws: LawTable, row: Any, words: Any, rewards: Any) -> None:
    """The rewards of a batch of pulls."""
    law = row_at(laws, row)
    if law.kind == BERNOULLI:  # a vectorised loop: no test of the kind in it
        for index in range(words.shape[0]):
            rewards[index] = 1.0 if is_success(law.i, words[index]) else 0.0
    else:
        for index in range(words.shape[0]):
            rewards[index] = _reward_of(law, laws, words[index])


# ---- delays of rows that lead to no other ----


@inline
def _fixed_delay(row: LawRow, laws: LawTable, u: Any) -> Any:
    return row.i


@inline
def _step_delay(row: LawRow, laws: LawTable, u: Any) -> Any:
    """The first delay whose cumulative probability is above u; see :meth:`LawTableBuilder.steps`."""
    cell = np.uint32(row.k) + np.uint32(u * row.y)
    entry = np.uint32(laws.whole[cell])
    step = np.uint32(entry >> np.uint32(1))
    start = np.uint32(row.i)
    if entry & np.uint32(1):
        end = np.uint32(np.uint32(laws.whole[cell + np.uint32(1)]) >> np.uint32(1))
        while step < end:
            middle = np.uint32((step + end) >> np.uint32(1))
            if laws.real[start + middle] > u:
                end = middle
            else:
                step = np.uint32(middle + np.uint32(1))
    else:
        step += np.uint32(laws.real[start + step] <= u)
    return np.int64(row.x) + np.int64(step) if np.int64(step) < row.j else np.int64(BEYOND)


def _transform_of(law: Any) -> Any:
    return inline(law.transform) if hasattr(law, "transform") else None


def _formula_delay(law: Any) -> Any:
    """``(row, laws, u)``: the delay of a law with ``real_delay``."""
    transform, real_delay = _transform_of(law), inline(law.real_delay)

    def delay(row: LawRow, laws: LawTable, u: Any) -> Any:
        return np.int64(real_delay(row, u))

    def delay_of_transformed(row: LawRow, laws: LawTable, u: Any) -> Any:
        return np.int64(real_delay(row, transform(u)))

    return inline(delay_of_transformed if transform else delay)


_formula_of = _draw_by_kind(
    [(KINDS[law], _formula_delay(law)) for law in _FORMULAS[1:]], otherwise=_formula_delay(_FORMULAS[0])
)


@outlined
def _by_formula(row: LawRow, laws: LawTable, u: Any) -> Any:
    return _formula_of(row, laws, u)


_drawn = [(KINDS[law], inline(law.draw)) for law in _DRAWN]
_delay_of = _draw_by_kind([*_drawn, (STEPS, _step_delay), (FIXED, _fixed_delay)], otherwise=_by_formula)


# ---- batches of such delays ----


def _fill_by_kind(fills: list[tuple[int, Any]], otherwise: Any) -> Any:
    """``_draw_by_kind`` for kernel functions ``(row, laws, u, count, delays, unsure)``."""
    for number, fill in fills:
        otherwise = _fill_if(number, fill, otherwise)
    return otherwise


def _fill_if(number: int, fill: Any, otherwise: Any) -> Any:
    def fill_by_kind(row: LawRow, laws: LawTable, u: Any, count: Any, delays: Any, unsure: Any) -> None:
        if row.kind == number:
            fill(row, laws, u, count, delays, unsure)
        else:
            otherwise(row, laws, u, count, delays, unsure)

    return inline(fill_by_kind)


def _fill_with(draw: Any) -> Any:
    """Fill ``delays`` with draws at each of the first ``count`` uniforms."""

    def fill(row: LawRow, laws: LawTable, u: Any, count: Any, delays: Any, unsure: Any) -> None:
        for index in range(count):
            delays[index] = draw(row, laws, u[index])

    return inline(fill)


def _fill_by_formula(law: Any) -> Any:
    """The same for a law with ``real_delay``: looked up where the row has a lookup, and else computed in place."""
    transform, real_delay = _transform_of(law), inline(law.real_delay)

    def compute(row: LawRow, u: Any, count: Any) -> None:
        for index in range(count):
            u[index] = real_delay(row, u[index])

    def compute_in_two_loops(row: LawRow, u: Any, count: Any) -> None:  # which is faster than one long loop
        for index in range(count):
            u[index] = transform(u[index])
        for index in range(count):
            u[index] = real_delay(row, u[index])

    compute_all = inline(compute_in_two_loops if transform else compute)

    def fill(row: LawRow, laws: LawTable, u: Any, count: Any, delays: Any, unsure: Any) -> None:
        if row.j > 0:
            listed = _look_up(row, laws, u, count, delays, unsure)
            compute_all(row, u, pad_to_vectors(u, listed, count))
            for index in range(listed):
                delays[unsure[index]] = np.int32(u[index])
        else:
            compute_all(row, u, count)
            for index in range(count):
                delays[index] = np.int32(u[index])

    return inline(fill)


@inline
def _look_up(row: LawRow, laws: LawTable, u: Any, count: Any, delays: Any, unsure: Any) -> Any:
    """Look delays up in the cells of their uniforms; returns for how many the cell does not tell. Their indices are
    then the first of ``unsure``, and their uniforms the first of ``u``."""
    start = np.uint32(row.i)
    cells = float(row.j)
    for index in range(count):
        delays[index] = laws.whole[start + np.uint32(u[index] * cells)]
    listed = np.uint32(0)
    for index in range(count):
        unsure[listed] = index
        listed += np.uint32(delays[index] == UNSURE)
    for index in range(listed):
        u[index] = u[unsure[index]]
    return np.int64(listed)


@inline
def pad_to_vectors(u: Any, listed: Any, count: Any) -> Any:
    """Extend the first ``listed`` of ``count`` uniforms so that they fill vectors; returns how many they are then."""
    padded = min((listed + _VECTOR_MASK) & ~_VECTOR_MASK, count)
    for index in range(listed, padded):
        u[index] = 0.5
    return padded


_fill_delays = _fill_by_kind(
    [
        *((KINDS[law], _fill_by_formula(law)) for law in _FORMULAS),
        *((number, _fill_with(draw)) for number, draw in _drawn),
        (STEPS, _fill_with(_step_delay)),
    ],
    otherwise=_fill_with(_fixed_delay),
)


@outlined
def draw_simple_delays(laws: LawTable, row: Any, u: Any, count: Any, delays: Any, unsure: Any) -> None:
    """The delays of one row that leads to no other at the first ``count`` uniforms, which are overwritten. Of a row
    with a lookup, ``BEYOND`` may stand for any delay beyond the horizon. ``unsure`` has room for as many indices."""
    _fill_delays(row_at(laws, row), laws, u, count, delays, unsure)


# ---- delays of any row ----


@inline
def draw_delay(laws: LawTable, row: Any, reward: Any, word: Any) -> Any:
    """The delay of the pull with this reward and random word."""
    law, u = _descend(laws, row_at(laws, row), reward, to_unit(word))
    return _delay_of(law, laws, u)


@inline
def _descend(laws: LawTable, law: LawRow, reward: Any, u: Any) -> Any:
    """Follow rows that lead to others: (the last row, the uniform within it)."""
    while law.kind <= BY_CELL:
        part = _part_of(laws, law, reward, u)
        if law.kind == MIXTURE:
            u = _within(laws, law, part, u)
        law = row_at(laws, np.uint32(laws.whole[law.k + part]))
    return law, u


@inline
def _part_of(laws: LawTable, law: LawRow, reward: Any, u: Any) -> Any:
    """Which of its rows a row leads to."""
    if law.kind == BY_CELL:
        return min(np.int64(reward * law.j), law.j - 1)
    return last_at_most(laws.real, law.i, law.j, u if law.kind == MIXTURE else reward)


@inline
def _within(laws: LawTable, law: LawRow, part: Any, u: Any) -> Any:
    """Rescale a uniform from its part of a mixture to (0, 1); the table has P(an earlier part) of each part, then 1."""
    below = laws.real[law.i + part]
    return min(max((u - below) / (laws.real[law.i + part + 1] - below), _TINY), 1.0 - _TINY)


@inline(merge=True)
def draw_delays(laws: LawTable, row: Any, rewards: Any, words: Any, delays: Any, scratch: Any) -> None:
    """The delays of a batch of pulls."""
    count = words.shape[0]
    for index in range(count):
        scratch.u[index] = to_unit(words[index])
    law = row_at(laws, row)
    if law.kind > BY_CELL:
        draw_simple_delays(laws, row, scratch.u, count, delays, scratch.unsure)
    elif _is_flat(laws, law):
        _draw_part_by_part(laws, law, rewards, count, delays, scratch)
    else:
        _draw_nested(laws, law, rewards, count, delays, scratch)


@inline
def _is_flat(laws: LawTable, law: LawRow) -> Any:
    """Whether a row leads by a table to a few rows that lead no further."""
    if law.kind == BY_CELL or law.j > FEW:
        return False
    nested = False
    for part in range(law.j):
        nested |= laws.kind[laws.whole[law.k + part]] <= BY_CELL
    return not nested


@inline
def _draw_part_by_part(laws: LawTable, law: LawRow, rewards: Any, count: Any, delays: Any, scratch: Any) -> None:
    """The delays of a flat row: a fixed part is written for all, the others are drawn for their own pulls only."""
    is_mixture = law.kind == MIXTURE
    _find_parts(laws, law, scratch.u if is_mixture else rewards, count, scratch.part)
    for part in range(law.j):
        row = np.uint32(laws.whole[law.k + part])
        if laws.kind[row] == FIXED:
            delay = np.int32(laws.i[row])
            for index in range(count):
                delays[index] = delay if scratch.part[index] == np.uint32(part) else delays[index]
            continue
        listed: Any = 0
        for index in range(count):
            scratch.pull[listed] = index
            listed += np.int64(scratch.part[index] == np.uint32(part))
        for other in range(listed):
            u = scratch.u[scratch.pull[other]]
            scratch.part_u[other] = _within(laws, law, part, u) if is_mixture else u
        padded = pad_to_vectors(scratch.part_u, listed, count)
        draw_simple_delays(laws, row, scratch.part_u, padded, scratch.delay, scratch.unsure)
        for other in range(listed):
            delays[scratch.pull[other]] = scratch.delay[other]


@inline
def _find_parts(laws: LawTable, law: LawRow, x: Any, count: Any, parts: Any) -> None:
    """``last_at_most`` of several numbers, for a small table."""
    for index in range(count):
        parts[index] = 0
    for step in range(1, law.j):
        bound = laws.real[law.i + step]
        for index in range(count):
            parts[index] += np.uint32(bound <= x[index])


@inline
def _draw_nested(laws: LawTable, law: LawRow, rewards: Any, count: Any, delays: Any, scratch: Any) -> None:
    """The delays of any row that leads to others: each draw descends on its own."""
    for index in range(count):
        last, u = _descend(laws, law, rewards[index], scratch.u[index])
        delays[index] = _delay_of(last, laws, u)
