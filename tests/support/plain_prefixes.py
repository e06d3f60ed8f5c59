"""Prefix brackets of the plain simulator: the second text of both prefix policies."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cache
from typing import NamedTuple

from support.plain_simulator import History


class Prefix(NamedTuple):
    """The first ``pulls`` pulls of an arm."""

    pulls: int
    total: float  # of the feedback
    most: float  # with every missing reward as 1
    missing: int


@cache
def grid_of(m: int) -> list[int]:
    """The prefixes of m pulls: ceil(1.2^k) below m, and m itself."""
    ends, power = set(), 0
    while -(-(6**power) // 5**power) < m:
        ends.add(-(-(6**power) // 5**power))
        power += 1
    return [*sorted(ends), m]


class _Cells:
    """The feedback of an arm by cells: (count, sum), added in the order of arrival."""

    def __init__(self) -> None:
        self.read = 0
        self.cells: dict[int, tuple[int, float]] = {}


def prefixes(history: History, arm: int) -> list[Prefix]:
    """Every prefix of an arm; the sums of the cells are added in their order."""
    kept = vars(history).setdefault("cells_by_arm", {}).setdefault(arm, _Cells())
    ends, cells = grid_of(history.m[arm]), kept.cells
    for rank, reward in history.feedback[arm][kept.read :]:
        cell = bisect_right(ends, rank)  # it stays so as pulls are added
        count, total = cells.get(cell, (0, 0.0))
        cells[cell] = count + 1, total + reward
    kept.read = len(history.feedback[arm])
    found, before, total, most, missing = [], 0, 0.0, 0.0, 0
    for cell, end in enumerate(ends):
        count, here = cells.get(cell, (0, 0.0))
        absent = end - before - count
        total, most, missing = total + here, most + (here + absent), missing + absent
        found.append(Prefix(end, total, most, missing))
        before = end
    return found


def width(mean: float, radius: float) -> float:
    """min(r, b + sqrt(b (b + 2 mean))) with b = 2 r^2."""
    b = 2.0 * radius * radius
    return min(radius, b + math.sqrt(b * (b + 2.0 * mean)))


def prefix_upper(history: History, arm: int) -> float:
    values = []
    for m, _, most, _ in prefixes(history, arm):
        values.append(most / m + width(most / m, history.radius(m)))
    return min(values)


def prefix_lower(history: History, arm: int) -> float:
    values = []
    for m, total, _, _ in prefixes(history, arm):
        values.append(total / m - width(1.0 - total / m, history.radius(m)))
    return max(values)
