"""Draw rewards and delays from a table of laws: compiled, with the same bits on every machine.

Here is one draw; :mod:`belated.engine.batch_sampling` draws many.

The kernels of the laws are static methods of their classes (see :class:`belated.delays.DelayLaw`). Here they are
numbered in the order of the laws' names and put into chains that compare a row's kind with one number after the
other."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.delays._base import DELAYS
from belated.kernel.jit import inline, outlined
from belated.kernel.law_table import (
    AFFINE,
    BATCH,
    BEYOND,
    BY_CELL,
    BY_ROUND,
    FIRST_LAW,
    FIXED,
    MIXTURE,
    STEPS,
    LawRow,
    LawTable,
    last_at_most,
    map_reward,
    row_at,
    step_at,
)
from belated.kernel.rng import to_unit
from belated.rewards._base import REWARDS
from belated.rewards.bernoulli import Bernoulli

_TINY = 2.0**-53
"""Half the distance of two neighbouring uniforms."""

_REWARD_LAWS: list[Any] = [law for law in REWARDS.values() if hasattr(law, "draw")]
_DRAWN: list[Any] = [law for law in DELAYS.values() if hasattr(law, "draw")]
FORMULAS: list[Any] = [law for law in DELAYS.values() if hasattr(law, "real_delay")]

KINDS: dict[type, int] = {
    law: FIRST_LAW + number for laws in (_REWARD_LAWS, [*_DRAWN, *FORMULAS]) for number, law in enumerate(laws)
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

reward_of = _draw_by_kind(
    [(KINDS[law], inline(law.draw)) for law in _REWARD_LAWS[1:]], otherwise=inline(_REWARD_LAWS[0].draw)
)


@inline
def draw_reward(laws: LawTable, row: Any, word: Any) -> Any:
    """The reward of the pull with this random word, on the scale of its problem."""
    law = row_at(laws, row)
    is_affine = law.kind == AFFINE
    reward = reward_of(row_at(laws, np.uint32(law.i)) if is_affine else law, laws, word)
    return map_reward(law, reward) if is_affine else reward


# ---- delays of rows that lead to no other ----


@inline
def fixed_delay(row: LawRow, laws: LawTable, u: Any) -> Any:
    """The delay of a row that has only one."""
    return row.i


@inline
def step_delay(row: LawRow, laws: LawTable, u: Any) -> Any:
    """The first delay whose cumulative probability is above u."""
    step = step_at(row, laws, u)
    return np.int64(row.x) + np.int64(step) if np.int64(step) < row.j else np.int64(BEYOND)


def transform_of(law: Any) -> Any:
    """The kernel of a law that transforms uniforms before its formula; None if it has none."""
    return inline(law.transform) if hasattr(law, "transform") else None


def _formula_delay(law: Any) -> Any:
    """``(row, laws, u)``: the delay of a law with ``real_delay``."""
    transform, real_delay = transform_of(law), inline(law.real_delay)

    def delay(row: LawRow, laws: LawTable, u: Any) -> Any:
        return np.int64(real_delay(row, u))

    def delay_of_transformed(row: LawRow, laws: LawTable, u: Any) -> Any:
        return np.int64(real_delay(row, transform(u)))

    return inline(delay_of_transformed if transform else delay)


_formula_of = _draw_by_kind(
    [(KINDS[law], _formula_delay(law)) for law in FORMULAS[1:]], otherwise=_formula_delay(FORMULAS[0])
)


@outlined
def _by_formula(row: LawRow, laws: LawTable, u: Any) -> Any:
    return _formula_of(row, laws, u)


DRAWS = [(KINDS[law], inline(law.draw)) for law in _DRAWN]
"""Of the delay laws that bring their ``draw``."""
delay_of = _draw_by_kind([*DRAWS, (STEPS, step_delay), (FIXED, fixed_delay)], otherwise=_by_formula)


# ---- delays of any row ----


@inline
def draw_delay(laws: LawTable, row: Any, reward: Any, word: Any) -> Any:
    """The delay of the pull with this reward and random word."""
    law, u = descend(laws, row_at(laws, row), reward, to_unit(word))
    return delay_of(law, laws, u)


@inline
def descend(laws: LawTable, law: LawRow, reward: Any, u: Any) -> Any:
    """Follow rows that lead to others: (the last row, the uniform within it)."""
    while law.kind <= BY_CELL:
        part = _part_of(laws, law, reward, u)
        if law.kind == MIXTURE:
            u = within(laws, law, part, u)
        law = row_at(laws, np.uint32(laws.whole[law.k + part]))
    return law, u


@inline
def _part_of(laws: LawTable, law: LawRow, reward: Any, u: Any) -> Any:
    """Which of its rows a row leads to."""
    if law.kind == BY_CELL:
        return min(np.int64(reward * law.j), law.j - 1)
    return last_at_most(laws.real, law.i, law.j, u if law.kind == MIXTURE else reward)


@inline
def within(laws: LawTable, law: LawRow, part: Any, u: Any) -> Any:
    """Rescale a uniform from its part of a mixture to (0, 1); the table has P(an earlier part) of each part, then 1."""
    below = laws.real[law.i + part]
    return min(max((u - below) / (laws.real[law.i + part + 1] - below), _TINY), 1.0 - _TINY)


# ---- delays that may depend on the round ----


@inline
def draw_delay_in_round(laws: LawTable, row: Any, reward: Any, word: Any, now: Any) -> Any:
    """:func:`draw_delay` of a pull in round ``now``, for all rows."""
    law, u = descend(laws, row_at(laws, row), reward, to_unit(word))
    while law.kind == BY_ROUND:
        part, u = _part_in_round(laws, law, u, now)
        law, u = descend(laws, row_at(laws, np.uint32(laws.whole[law.k + part])), reward, u)
    if law.kind == BATCH:
        return min(law.i - 1 - (np.int64(now) - 1 + law.j) % law.i, np.int64(BEYOND))
    return delay_of(law, laws, u)


@inline
def _part_in_round(laws: LawTable, law: LawRow, u: Any, now: Any) -> Any:
    """(which of its rows a row leads to in round ``now``, the uniform within it). A law that drifts is the mixture of
    the last law and the next, in this order."""
    moment = float(now)
    part = last_at_most(laws.real, law.i, law.j, moment)
    if law.x == 0.0 or part == law.j - 1:
        return part, u
    first, end = laws.real[law.i + part], laws.real[law.i + part + 1]
    share = (end - moment) / (end - first)  # of the last law
    if u < share:
        return part, min(max(u / share, _TINY), 1.0 - _TINY)
    return part + 1, min(max((u - share) / (1.0 - share), _TINY), 1.0 - _TINY)
