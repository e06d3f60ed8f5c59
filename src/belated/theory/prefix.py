"""Regret bounds of the policies with prefix brackets; the proofs are in the documentation, theory/prefix."""

from __future__ import annotations

import math

import numpy as np

from belated.formatting import quantity
from belated.problem import Problem
from belated.theory.bound import (
    Array,
    Bound,
    check_horizon,
    check_problem,
    in_arm_order,
    quantile,
    split_arms,
    zero_bound,
)

SOURCE = "prefix brackets"

CELLS = 96
"""Into how many cells the pulls of an arm are divided. The last one has no end: it begins after 57,512,483 pulls."""


def _cell_ends() -> list[int]:
    """ceil(1.2^k) for k = 0, 1, ..., without repetitions, in exact arithmetic."""
    ends: list[int] = []
    power = 0
    while len(ends) < CELLS:
        end = -(-(6**power) // 5**power)
        if not ends or end > ends[-1]:
            ends.append(end)
        power += 1
    return ends


CELL_ENDS = np.array(_cell_ends(), np.int64)
"""The number of the last pull (1, 2, ...) of each cell: the prefixes that the policies use."""

LONGEST = int(CELL_ENDS[-2])
"""The longest prefix that the policies keep; the last cell has no end."""


def prefix_elimination(problem: Problem, horizon: int) -> Bound:
    """The regret of PrefixElimination with c = ln T, also where delays depend on the reward,

        R_T <= sum over i != i* of (346 ln T / gap_i + 3 gap_i)
               + ln K max over i != i* of gap_i max(d_i(1 - gap_i/4), d_i*(1 - gap_i/4)),

    with quantiles of the marginal laws. Of several best arms, i* is the one with the smaller bound. An arm whose gap
    needs a prefix of more than 57,512,483 pulls, 288 ln T / gap^2, contributes at least gap T.

    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    >>> {name: round(part) for name, part in prefix_elimination(late, 10_000).terms.items()}
    {'learning': 15934, 'waiting': 69}
    """
    check_problem(problem)
    rounds = check_horizon(horizon)
    suboptimal, best = split_arms(problem)
    if not suboptimal:
        return zero_bound("Prefix-SE", SOURCE)
    gaps, q, d = _quantile_delays(problem, suboptimal)
    of_best = {star: np.array([quantile(problem, star, level) for level in q]) for star in best}
    star = min(best, key=lambda arm: float((gaps * np.maximum(d, of_best[arm])).max()))
    waits = np.maximum(d, of_best[star])
    learning = _learning(346.0, 3.0, 288.0, gaps, rounds)
    waiting = math.log(problem.arms) * float((gaps * waits).max())
    return Bound(
        "Prefix-SE",
        SOURCE,
        learning + waiting,
        {"learning": learning, "waiting": waiting},
        *in_arm_order(problem.arms, suboptimal, q, waits, {}),
        statement=(
            f"R <= sum of (346 ln T / gap + 3 gap) + ln K max gap max(d_i, d_best)(1 - gap/4) = {quantity(learning)} + "
            f"{quantity(waiting)} = {quantity(learning + waiting)}, with waits up to {quantity(float(waits.max()))}"
        ),
    )


def prefix_ucb(problem: Problem, horizon: int) -> Bound:
    """The regret of PrefixUCB with c = ln T, also where delays depend on the reward,

        R_T <= sum over i != i* of (39 ln T / gap_i + 2 gap_i + gap_i d_i(1 - gap_i/4)),

    with quantiles of the marginal laws. The best arm's delay does not appear. An arm whose gap needs a prefix of more
    than 57,512,483 pulls, 32 ln T / gap^2, contributes at least gap T. With ``spread=True`` nothing is proven.

    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed, Never
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.6), Bernoulli(0.4)], [Never(), ByReward({0: Fixed(0), 1: Fixed(500)})])
    >>> {name: round(part) for name, part in prefix_ucb(late, 10_000).terms.items()}
    {'learning': 1796, 'waiting': 100}
    """
    check_problem(problem)
    rounds = check_horizon(horizon)
    suboptimal, _ = split_arms(problem)
    if not suboptimal:
        return zero_bound("Prefix-UCB", SOURCE)
    gaps, q, d = _quantile_delays(problem, suboptimal)
    learning, waiting = _learning(39.0, 2.0, 32.0, gaps, rounds), float((gaps * d).sum())
    return Bound(
        "Prefix-UCB",
        SOURCE,
        learning + waiting,
        {"learning": learning, "waiting": waiting},
        *in_arm_order(problem.arms, suboptimal, q, d, {}),
        statement=(
            f"R <= sum of (39 ln T / gap + 2 gap) + sum of gap d_i(1 - gap/4) = {quantity(learning)} + "
            f"{quantity(waiting)} = {quantity(learning + waiting)}, with d_i up to {quantity(float(d.max()))}"
        ),
    )


def _quantile_delays(problem: Problem, suboptimal: list[int]) -> tuple[Array, Array, Array]:
    """Of each suboptimal arm: its gap, the level 1 - gap / 4, and that quantile of its delay."""
    gaps = problem.gaps[suboptimal]
    q = 1.0 - gaps / 4.0
    return gaps, q, np.array([quantile(problem, arm, level) for arm, level in zip(suboptimal, q, strict=True)])


def _learning(factor: float, more: float, pulls: float, gaps: Array, rounds: int) -> float:
    """Sum of factor ln T / gap + more gap; an arm whose prefix of ``pulls`` ln T / gap^2 is too long to be kept
    contributes at least gap T."""
    log_t = math.log(rounds)
    proven = factor * log_t / gaps + more * gaps
    kept = pulls * log_t / gaps**2 <= LONGEST
    return float(np.where(kept, proven, np.maximum(proven, gaps * float(rounds))).sum())
