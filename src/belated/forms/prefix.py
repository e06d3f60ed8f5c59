"""Prefix brackets: bounds on an arm's mean from its first M pulls, whatever the missing answers are.

The rewards of an arm's first M pulls are independent of what arrived and when. With S_M the sum of those that came and
x_M the number of those that did not, their mean lies between S_M / M and (S_M + x_M) / M; so

    U = min over M of (S_M + x_M) / M + r(M),        L = max over M of S_M / M - r(M)

contain the arm's mean wherever the radius r holds for all M at once. M runs over the right ends of cells of pulls,
which grow by a fifth, and over all pulls; for each cell the policy's memory holds its pulls, its answers and their
sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.forms.confidence import ConfidencePolicy, radius
from belated.forms.state import Arm, State
from belated.kernel import inner

CELLS = 96
"""The last one has no end: it begins after about 10^8 pulls."""


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


@inner
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


@inner
def count(state: State, arm: Any, rank: Any, pulls: Any, answers: Any, total: Any) -> None:
    """Add to the counts of the cell of a pull."""
    place = 3 * cell_of(rank)
    state.memory[arm, place] += pulls
    state.memory[arm, place + 1] += answers
    state.memory[arm, place + 2] += total


@inner
def sharp(mean: Any, width: Any) -> Any:
    """How far above a mean of rewards in [0, 1] the true one may be, where sqrt(2c/M) is ``width``: the less of two
    solutions of M kl(mean, q) <= 4c, as kl(p, q) is at least 2 (q - p)^2, and (q - p)^2 / 2q."""
    budget = 2.0 * width * width
    return min(width, budget + math.sqrt(budget * (budget + 2.0 * mean)))


@inner
def prefix_upper(policy: Any, arm: Arm) -> Any:
    """(U, the number of pulls that give it)."""
    best = np.inf
    given = 0.0
    pulls = 0.0
    most = 0.0  # S + missing
    place = 0
    while pulls < arm.pulls:
        here = arm.memory[arm.number, place]
        pulls += here
        most += arm.memory[arm.number, place + 2] + (here - arm.memory[arm.number, place + 1])
        place += 3
        if here > 0.0:
            mean = most / pulls
            high = mean + sharp(mean, radius(policy, pulls))
            given = pulls if high <= best else given
            best = high if high <= best else best
    return best, given


@inner
def prefix_lower(policy: Any, arm: Arm) -> Any:
    """(L, the number of pulls that give it)."""
    best = -np.inf
    given = 0.0
    pulls = 0.0
    total = 0.0
    place = 0
    while pulls < arm.pulls:
        here = arm.memory[arm.number, place]
        pulls += here
        total += arm.memory[arm.number, place + 2]
        place += 3
        if here > 0.0:
            mean = total / pulls
            low = mean - sharp(1.0 - mean, radius(policy, pulls))
            given = pulls if low >= best else given
            best = low if low >= best else best
    return best, given


@dataclass(frozen=True, kw_only=True)
class PrefixPolicy(ConfidencePolicy):
    """A policy whose bounds are prefix brackets."""

    memory = 3 * CELLS

    @staticmethod
    def note_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        count(state, arm, rank, 1.0, 0.0, 0.0)

    @staticmethod
    def note_answer(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        count(state, arm, rank, 0.0, 1.0, reward)

    @staticmethod
    def note_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, answers: Any, total: Any
    ) -> Any:
        count(state, arm, rank, pulls, answers, total)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm)[0]

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return prefix_upper(policy, arm)[0]

    @staticmethod
    def sources(policy: Any, arm: Arm) -> Any:
        return prefix_lower(policy, arm)[1], prefix_upper(policy, arm)[1]
