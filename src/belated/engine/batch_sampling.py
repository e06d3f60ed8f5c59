"""Draw the rewards and delays of a batch of pulls: the bits of :mod:`belated.engine.sampling` (except how far a delay
lies beyond the horizon), in loops that the compiler vectorises where a law allows it.

Code for the laws that a problem does not use takes seconds to compile: it is left out (:class:`BatchKinds`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from belated.engine.sampling import (
    BERNOULLI,
    DRAWS,
    FORMULAS,
    KINDS,
    delay_of,
    descend,
    draw_delay_in_round,
    fixed_delay,
    reward_of,
    step_delay,
    transform_of,
    within,
)
from belated.kernel.jit import inline, outlined
from belated.kernel.law_table import (
    AFFINE,
    BY_CELL,
    FEW,
    FIRST_LAW,
    FIXED,
    MIXTURE,
    STEPS,
    UNSURE,
    LawRow,
    LawTable,
    depends_on_round,
    map_reward,
    row_at,
)
from belated.kernel.rng import to_unit
from belated.rewards.bernoulli import is_success

_VECTOR_MASK = 7
"""One less than the draws that a vectorised loop makes at a time."""


# ---- rewards ----


@inline
def _draw_successes(laws: LawTable, row: Any, words: Any, rewards: Any) -> None:
    """The rewards of a batch of pulls of a Bernoulli law: a vectorised loop."""
    threshold = laws.i[row]
    for index in range(words.shape[0]):
        rewards[index] = 1.0 if is_success(threshold, words[index]) else 0.0


@inline
def _draw_rewards(laws: LawTable, row: Any, words: Any, rewards: Any) -> None:
    """The rewards of a batch of pulls."""
    mapped = row_at(laws, row)
    if mapped.kind == AFFINE:
        row = np.uint32(mapped.i)
    law = row_at(laws, row)
    if law.kind == BERNOULLI:
        _draw_successes(laws, row, words, rewards)
    else:
        for index in range(words.shape[0]):
            rewards[index] = reward_of(law, laws, words[index])
    if mapped.kind == AFFINE:
        for index in range(words.shape[0]):
            rewards[index] = map_reward(mapped, rewards[index])


# ---- delays of rows that lead to no other ----


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
    transform, real_delay = transform_of(law), inline(law.real_delay)

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


_fills = [
    *((KINDS[law], _fill_by_formula(law)) for law in FORMULAS),
    *((number, _fill_with(draw)) for number, draw in DRAWS),
]


def _simple_delays(kinds: tuple[int, ...]) -> Any:
    """``(laws, row, u, count, delays, unsure)``: the delays of one row that leads to no other, of one of these kinds or
    without a kernel of its own, at the first ``count`` uniforms, which are overwritten. Of a row with a lookup,
    ``BEYOND`` may stand for any delay beyond the horizon. ``unsure`` has room for as many indices."""
    own = [(number, fill) for number, fill in _fills if number in kinds]
    fill_delays = _fill_by_kind([*own, (STEPS, _fill_with(step_delay))], otherwise=_fill_with(fixed_delay))

    def draw_simple_delays(laws: LawTable, row: Any, u: Any, count: Any, delays: Any, unsure: Any) -> None:
        fill_delays(row_at(laws, row), laws, u, count, delays, unsure)

    return outlined(draw_simple_delays)


# ---- delays of rows that lead to others ----


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
def _draw_part_by_part(
    laws: LawTable, law: LawRow, rewards: Any, count: Any, delays: Any, scratch: Any, draw_simple_delays: Any
) -> None:
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
            scratch.part_u[other] = within(laws, law, part, u) if is_mixture else u
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
        last, u = descend(laws, law, rewards[index], scratch.u[index])
        delays[index] = delay_of(last, laws, u)


# ---- batches of any row ----


class BatchKinds(NamedTuple):
    """The laws that a batch may be drawn from. Code for all others is left out, since it takes seconds to compile."""

    only_bernoulli: bool  # all rewards
    delays: tuple[int, ...]  # numbers of delay laws with their own kernel
    leads: bool  # whether some rows lead to others
    by_round: bool = False  # whether some delays depend on the round: then a batch is one pull


ALL_KINDS = BatchKinds(only_bernoulli=False, delays=tuple(number for number, _ in _fills), leads=True)


def kinds_in(laws: LawTable, rewards: int) -> BatchKinds:
    """The kinds of a table whose first rows, as many as ``rewards``, are the rewards. Rare combinations count as all,
    so that few are ever compiled."""
    if depends_on_round(laws):
        return ALL_KINDS._replace(by_round=True)
    own = {int(kind) for kind in laws.kind[rewards:] if kind >= FIRST_LAW}
    leads = bool((laws.kind[rewards:] <= BY_CELL).any())
    is_common = (laws.kind[:rewards] == BERNOULLI).all() and len(own) + leads <= 1
    return BatchKinds(only_bernoulli=True, delays=tuple(own), leads=leads) if is_common else ALL_KINDS


def batch_draws(kinds: BatchKinds) -> tuple[Any, Any]:
    """Two kernel functions for batches of pulls: ``(laws, row, words, rewards)`` draws their rewards,
    ``(laws, row, rewards, words, delays, scratch, now)`` their delays."""
    draw_simple_delays = _simple_delays(kinds.delays)

    def draw_delays_in_round(
        laws: LawTable, row: Any, rewards: Any, words: Any, delays: Any, scratch: Any, now: Any
    ) -> None:
        for index in range(words.shape[0]):
            delays[index] = draw_delay_in_round(laws, row, rewards[index], words[index], now)

    def draw_delays_of_parts(
        laws: LawTable, row: Any, rewards: Any, words: Any, delays: Any, scratch: Any, now: Any
    ) -> None:
        count = words.shape[0]
        for index in range(count):
            scratch.u[index] = to_unit(words[index])
        law = row_at(laws, row)
        if law.kind > BY_CELL:
            draw_simple_delays(laws, row, scratch.u, count, delays, scratch.unsure)
        elif _is_flat(laws, law):
            _draw_part_by_part(laws, law, rewards, count, delays, scratch, draw_simple_delays)
        else:
            _draw_nested(laws, law, rewards, count, delays, scratch)

    def draw_delays(laws: LawTable, row: Any, rewards: Any, words: Any, delays: Any, scratch: Any, now: Any) -> None:
        for index in range(words.shape[0]):
            scratch.u[index] = to_unit(words[index])
        draw_simple_delays(laws, row, scratch.u, words.shape[0], delays, scratch.unsure)

    draw_rewards = _draw_successes if kinds.only_bernoulli else _draw_rewards
    if kinds.by_round:
        return draw_rewards, inline(draw_delays_in_round)
    return draw_rewards, inline(draw_delays_of_parts if kinds.leads else draw_delays)
