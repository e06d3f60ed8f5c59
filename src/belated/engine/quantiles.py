"""The quantile functions of simple delay rows, in whole rounds: one by one, and of a batch in vector code."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.kernel.jit import inline, outlined
from belated.kernel.law_table import BEYOND, FIXED, GEOMETRIC, POWER, SAMPLE, SPAN, STEPS, UNSURE, LawTable
from belated.kernel.math import exp, log, normal_quantile_straight

_WIDE = 7
"""One less than the draws that a loop in vector code makes at a time."""


@inline
def quantile(laws: LawTable, row: Any, u: Any) -> Any:
    """The quantile function of a simple delay row at u in (0, 1), in whole rounds."""
    kind = laws.kind[row]
    a = laws.a[row]
    b = laws.b[row]
    low = laws.lo[row]
    high = laws.hi[row]
    if kind == FIXED:
        return low
    if kind == SPAN:
        return _span(low, high, u)
    if kind == SAMPLE:
        return _sample(laws, a, low, high, u)
    if kind == STEPS:
        return _step(laws, a, b, low, high, _cells(laws, b), u)
    return _formula(kind, a, b, u)


@outlined
def _formula(kind: Any, a: Any, b: Any, u: Any) -> Any:
    """The quantile function of a smooth law."""
    if kind == GEOMETRIC:
        return _geometric(a, u)
    if kind == POWER:
        return _power(a, b, u)
    return _lognormal(a, b, u)


@inline
def _span(low: Any, high: Any, u: Any) -> Any:
    """Whole numbers from ``low`` to ``high``, all alike."""
    return min(low + np.int64(u * (high - low + 1)), np.int64(BEYOND))


@inline
def _geometric(a: Any, u: Any) -> Any:
    """a = 1 / ln(1 - p)."""
    return np.int64(min(log(u) * a, float(BEYOND)))


@inline
def _power(a: Any, b: Any, u: Any) -> Any:
    """a = scale, b = -1 / alpha."""
    return np.int64(_real_power(a, b, u))


@inline
def _real_power(a: Any, b: Any, u: Any) -> Any:
    """The number whose integer part is the delay."""
    return min(a * exp(log(u) * b), float(BEYOND))


@inline
def _lognormal(a: Any, b: Any, u: Any) -> Any:
    """a = ln median, b = sigma."""
    return np.int64(_real_scaled(a, b, normal_quantile_straight(u)))


@inline
def _real_scaled(a: Any, b: Any, x: Any) -> Any:
    """The number whose integer part is the delay, where the normal is x."""
    return min(exp(a + b * x), float(BEYOND))


@inline
def _sample(laws: LawTable, a: Any, low: Any, high: Any, u: Any) -> Any:
    """One of a sorted sample, behind which ``whole`` holds what comes else; a = size / (1 - P(never))."""
    return np.int64(laws.whole[np.uint32(low) + np.uint32(min(u * a, float(high)))])


@inline
def _cells(laws: LawTable, b: Any) -> Any:
    """STEPS: how many cells the index has."""
    return float(laws.whole[np.int64(b)])


@inline
def _step(laws: LawTable, a: Any, b: Any, low: Any, high: Any, cells: Any, u: Any) -> Any:
    """STEPS: the first whole number, from a on, whose cumulative probability is above u.

    ``whole`` holds at b the number of cells, then for each cell of the uniform twice the first place that may be it,
    and 1 more where the cell has three or more."""
    cell = np.uint32(b) + np.uint32(1) + np.uint32(u * cells)
    entry = np.uint32(laws.whole[cell])
    place = np.uint32(entry >> np.uint32(1))
    start = np.uint32(low)
    if entry & np.uint32(1):
        end = np.uint32(np.uint32(laws.whole[cell + np.uint32(1)]) >> np.uint32(1))
        while place < end:
            middle = np.uint32((place + end) >> np.uint32(1))
            if laws.real[start + middle] > u:
                end = middle
            else:
                place = np.uint32(middle + np.uint32(1))
    else:
        place += np.uint32(laws.real[start + place] <= u)
    return np.int64(a) + np.int64(place) if np.int64(place) < high else np.int64(BEYOND)


@inline
def _look_up(laws: LawTable, low: Any, cells: Any, u: Any, count: Any, delays: Any, unsure: Any) -> Any:
    """The delays of a smooth law from its cells; of how many this is not known. Their places are then the
    first of ``unsure``, and their uniforms of ``u``."""
    start = np.uint32(low)
    scale = float(cells)
    for place in range(count):
        delays[place] = laws.whole[start + np.uint32(u[place] * scale)]
    listed = np.uint32(0)
    for place in range(count):
        unsure[listed] = place
        listed += np.uint32(delays[place] == UNSURE)
    for place in range(listed):
        u[place] = u[unsure[place]]
    return np.int64(listed)


@inline
def fill_up(u: Any, listed: Any, count: Any) -> Any:
    """Fill up the first ``listed`` uniforms of ``count`` so that they fill vectors; how many they are then."""
    wide = min((listed + _WIDE) & ~_WIDE, count)
    for place in range(listed, wide):
        u[place] = 0.5
    return wide


@outlined
def quantiles(laws: LawTable, row: Any, u: Any, count: Any, delays: Any, unsure: Any) -> None:
    """``quantile`` of one row at several places ``u``, which are not kept; of a row with a lookup, BEYOND may stand for
    a delay beyond the horizon. ``unsure`` has room for as many places."""
    kind = laws.kind[row]
    a = laws.a[row]
    b = laws.b[row]
    low = laws.lo[row]
    high = laws.hi[row]
    if kind == FIXED:
        for place in range(count):
            delays[place] = low
    elif kind == SPAN:
        for place in range(count):
            delays[place] = _span(low, high, u[place])
    elif kind == SAMPLE:
        for place in range(count):
            delays[place] = _sample(laws, a, low, high, u[place])
    elif kind == STEPS:
        cells = _cells(laws, b)
        for place in range(count):
            delays[place] = _step(laws, a, b, low, high, cells, u[place])
    elif kind == GEOMETRIC:
        for place in range(count):
            delays[place] = _geometric(a, u[place])
    else:
        listed = count
        if high > 0:
            listed = _look_up(laws, low, high, u, count, delays, unsure)
            count = fill_up(u, listed, count)
        if kind == POWER:
            for place in range(count):
                u[place] = _real_power(a, b, u[place])
        else:
            for place in range(count):  # two short loops are faster than a long one
                u[place] = normal_quantile_straight(u[place])
            for place in range(count):
                u[place] = _real_scaled(a, b, u[place])
        if high > 0:
            for place in range(listed):
                delays[unsure[place]] = np.int32(u[place])
        else:
            for place in range(count):
                delays[place] = np.int32(u[place])
