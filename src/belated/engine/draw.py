"""Drawing from laws: compiled, the same bits on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from belated.engine.laws import (
    BERNOULLI,
    BETA,
    BEYOND,
    BY_CELL,
    BY_VALUE,
    CONSTANT,
    FIXED,
    GEOMETRIC,
    GUIDE_BITS,
    GUIDES,
    LOGNORMAL,
    NEVER,
    POWER,
    SAMPLE,
    SPAN,
    SPLIT,
    SPREAD,
    STEP_CELLS,
    STEPS,
    Laws,
)
from belated.kernel import entry, inner, outlined
from belated.numerics import beta_draw, exp, log, normal_quantile_straight
from belated.rng import uniform

_12 = np.uint64(12)
_TINY = 2.0**-53
"""Half the distance of two neighbouring uniforms."""
_FEW = 8
"""Tables up to this size are counted through instead of halved: nothing then depends on a branch."""


@inner
def last_at_most(table: Any, start: Any, size: Any, x: Any) -> Any:
    """How many of table[start + 1 : start + size], ascending, are at most x."""
    if size <= _FEW:
        place = 0
        for step in range(1, size):
            place += 1 if table[start + step] <= x else 0
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


@inner
def draw_reward(laws: Laws, row: Any, z: Any) -> Any:
    """The reward of the pull whose word is ``z``."""
    kind = laws.kind[row]
    if kind == BERNOULLI:
        return 1.0 if np.int64(z >> _12) < laws.lo[row] else 0.0  # uniform(z) < mean, in whole numbers
    if kind == CONSTANT:
        return laws.a[row]
    if kind == SPREAD:
        return laws.a[row] + laws.b[row] * uniform(z)
    if kind == BETA:
        return beta_draw(laws.a[row], laws.b[row], z)
    size = laws.hi[row]  # CHOICE: P(value < this one) of each value, then the values
    start = laws.lo[row]
    return laws.real[start + size + last_at_most(laws.real, start, size, uniform(z))]


@inner
def draw_delay(laws: Laws, row: Any, reward: Any, z: Any) -> Any:
    """The delay of the pull with this reward, from the word ``z``."""
    kind = laws.kind[row]
    if kind == FIXED:
        return laws.lo[row]
    if kind == SAMPLE:
        return _sample(laws, row, uniform(z))
    if kind >= BY_VALUE:
        row = _given_reward(laws, row, kind, reward)
    shift = laws.shift[row]
    if shift > 0:  # the cell of uniform(z) is in the first bits of z
        known = np.int64(laws.whole[laws.guide[row] + np.int64(z >> np.uint64(shift))])
        if known >= 0:
            return known
    return _compute(laws, row, reward, uniform(z))


@inner
def draw_rewards(laws: Laws, row: Any, words: Any, rewards: Any) -> None:
    """Rewards from words; the commonest law has a loop of its own, without a branch."""
    if laws.kind[row] == BERNOULLI:
        below = laws.lo[row]
        for place in range(words.shape[0]):
            rewards[place] = 1.0 if np.int64(words[place] >> _12) < below else 0.0
    else:
        for place in range(words.shape[0]):
            rewards[place] = draw_reward(laws, row, words[place])


@inner
def draw_delays(laws: Laws, row: Any, rewards: Any, words: Any, delays: Any) -> None:
    """Delays from words and the rewards of the same pulls; a law that is a formula has a loop of its own, without a
    branch, which the compiler turns into vector code."""
    kind = laws.kind[row]
    a = laws.a[row]
    b = laws.b[row]
    if kind == FIXED:
        for place in range(words.shape[0]):
            delays[place] = laws.lo[row]
    elif kind == SPAN:
        for place in range(words.shape[0]):
            delays[place] = _span(laws.lo[row], laws.hi[row], uniform(words[place]))
    elif kind == GEOMETRIC:
        for place in range(words.shape[0]):
            delays[place] = _geometric(a, uniform(words[place]))
    elif kind == POWER:
        for place in range(words.shape[0]):
            delays[place] = _power(a, b, uniform(words[place]))
    elif kind == LOGNORMAL:
        for place in range(words.shape[0]):
            delays[place] = _lognormal(a, b, uniform(words[place]))
    else:
        for place in range(words.shape[0]):
            delays[place] = draw_delay(laws, row, rewards[place], words[place])


@inner
def _given_reward(laws: Laws, row: Any, kind: Any, reward: Any) -> Any:
    """The row that a row by reward leads to."""
    start = laws.lo[row]
    size = laws.hi[row]
    if kind == BY_VALUE:  # the values, ascending; their rows in ``whole``
        return np.uint32(laws.whole[np.int64(laws.a[row]) + last_at_most(laws.real, start, size, reward)])
    return np.uint32(laws.whole[start + min(np.int64(reward * size), size - 1)])


@inner
def _descend(laws: Laws, row: Any, reward: Any, u: Any) -> Any:
    """(row, u, path) of the simple row that a draw ends at; the path tells apart two ways to the same row."""
    kind = laws.kind[row]
    path = np.int64(0)
    while kind >= SPLIT:
        if kind == SPLIT:  # P(an earlier part) of each part; the rows of the parts in ``whole``
            start = laws.lo[row]
            size = laws.hi[row]
            part = last_at_most(laws.real, start, size, u)
            path = path * size + part
            below = laws.real[start + part]
            above = laws.real[start + part + 1] if part + 1 < size else 1.0
            u = min(max((u - below) / (above - below), _TINY), 1.0 - _TINY)
            row = np.uint32(laws.whole[np.int64(laws.a[row]) + part])
        else:
            row = _given_reward(laws, row, kind, reward)
        kind = laws.kind[row]
    return row, u, path


@inner
def _compute(laws: Laws, row: Any, reward: Any, u: Any) -> Any:
    """The delay at u in (0, 1) without a guide."""
    row, u, _ = _descend(laws, row, reward, u)
    return _quantile(laws, row, u)


@inner
def _quantile(laws: Laws, row: Any, u: Any) -> Any:
    """The quantile function of a simple delay row at u in (0, 1), in whole rounds."""
    kind = laws.kind[row]
    if kind == FIXED:
        return laws.lo[row]
    if kind == SPAN:
        return _span(laws.lo[row], laws.hi[row], u)
    if kind == SAMPLE:
        return _sample(laws, row, u)
    if kind == STEPS:
        return _step(laws, row, u)
    return _formula(kind, laws.a[row], laws.b[row], u)


@outlined
def _formula(kind: Any, a: Any, b: Any, u: Any) -> Any:
    """The quantile function of a smooth law at u in (0, 1), in whole rounds."""
    if kind == GEOMETRIC:
        return _geometric(a, u)
    if kind == POWER:
        return _power(a, b, u)
    return _lognormal(a, b, u)


@inner
def _span(low: Any, high: Any, u: Any) -> Any:
    """Whole numbers from ``low`` to ``high``, all alike."""
    return min(low + np.int64(u * (high - low + 1)), np.int64(BEYOND))


@inner
def _geometric(a: Any, u: Any) -> Any:
    """a = 1 / ln(1 - p)."""
    return np.int64(min(log(u) * a, float(BEYOND)))


@inner
def _power(a: Any, b: Any, u: Any) -> Any:
    """a = scale, b = -1 / alpha."""
    return np.int64(min(a * exp(log(u) * b), float(BEYOND)))


@inner
def _lognormal(a: Any, b: Any, u: Any) -> Any:
    """a = ln median, b = sigma."""
    return np.int64(min(exp(a + b * normal_quantile_straight(u)), float(BEYOND)))


@inner
def _sample(laws: Laws, row: Any, u: Any) -> Any:
    """One of a sorted sample, or never; a = size / (1 - P(never))."""
    place = np.int64(u * laws.a[row])
    known = np.int64(laws.whole[laws.lo[row] + min(place, laws.hi[row] - 1)])
    return known if place < laws.hi[row] else np.int64(NEVER)


@inner
def _step(laws: Laws, row: Any, u: Any) -> Any:
    """The first whole number whose cumulative probability is above u."""
    start = laws.lo[row]
    index = np.int64(laws.b[row]) + np.int64(u * STEP_CELLS)
    low = np.int64(laws.whole[index])
    high = np.int64(laws.whole[index + 1])
    while low < high:
        middle = (low + high) >> 1
        if laws.real[start + middle] > u:
            high = middle
        else:
            low = middle + 1
    return np.int64(laws.a[row]) + low if low < laws.hi[row] else np.int64(BEYOND)


@entry
def fill_guide(laws: Laws, row: Any, horizon: Any, guide: Any) -> None:
    """For each cell of the uniform the delay that all of it has, or -1.

    Within a simple row the delay is monotone in the uniform, so that the two ends decide. Past the horizon all finite
    delays are one.
    """
    cells = guide.shape[0]
    for cell in range(cells):
        low_row, low_u, low_path = _descend(laws, row, 0.0, cell / cells + _TINY)
        high_row, high_u, high_path = _descend(laws, row, 0.0, (cell + 1) / cells - _TINY)
        guide[cell] = -1
        if low_row == high_row and low_path == high_path:
            low = _quantile(laws, low_row, low_u)
            high = _quantile(laws, high_row, high_u)
            if low == high:
                guide[cell] = low
            elif min(low, high) > horizon and max(low, high) != NEVER:
                guide[cell] = BEYOND


def with_guides(laws: Laws, roots: range, horizon: int) -> Laws:
    """The same laws with guides for the first delay rows that draws start from, among ``roots`` and the rows by
    reward."""
    guide, shift = laws.guide.copy(), laws.shift.copy()
    tables = [laws.whole]
    size = laws.whole.size
    known: dict[tuple[float, ...], tuple[int, int]] = {}
    for row, inside in _starts(laws, roots):
        kind = int(laws.kind[row])
        key = (kind, laws.a[row], laws.b[row], laws.lo[row], laws.hi[row])
        if key not in known and (
            len(known) == GUIDES or (kind in (FIXED, SAMPLE) and not inside) or _by_reward(laws, row)
        ):
            continue
        if key not in known:
            bits = 1 if kind == FIXED else GUIDE_BITS
            table: npt.NDArray[np.int32] = np.empty(1 << bits, np.int32)
            fill_guide(laws, np.uint32(row), horizon, table)
            tables.append(table)
            known[key] = (size, 64 - bits)
            size += table.size
        guide[row], shift[row] = known[key]
    return laws._replace(guide=guide, shift=shift, whole=np.concatenate(tables))


def _starts(laws: Laws, roots: range) -> list[tuple[int, bool]]:
    """(row, whether it is reached by a reward) of the rows at which draws start."""
    starts: list[tuple[int, bool]] = []
    for row in roots:
        if laws.kind[row] >= BY_VALUE:
            starts.extend((child, True) for child in _children(laws, row))
        else:
            starts.append((row, False))
    return list(dict.fromkeys(starts))


def _children(laws: Laws, row: int) -> list[int]:
    """The rows that a row leads to."""
    start = int(laws.lo[row]) if laws.kind[row] == BY_CELL else int(laws.a[row])
    return [int(child) for child in laws.whole[start : start + int(laws.hi[row])]]


def _by_reward(laws: Laws, row: int) -> bool:
    """Whether a draw from the row needs the reward."""
    kind = laws.kind[row]
    return bool(kind >= BY_VALUE or (kind == SPLIT and any(_by_reward(laws, child) for child in _children(laws, row))))
