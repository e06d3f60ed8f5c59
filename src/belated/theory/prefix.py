"""Bounds of our own on the regret with prefix brackets; proofs are in the documentation, theory/prefix."""

from __future__ import annotations

import math

import numpy as np

from belated.policies._base.prefix import ENDS
from belated.problem import Problem
from belated.theory.bound import Bound, check_horizon, check_problem, number, quantile
from belated.theory.minimise import Array
from belated.theory.upper import nothing, parted, placed

SOURCE = "prefix brackets"
LONGEST = int(ENDS[-2])
"""The longest prefix that is kept once it is over; the last cell has no end."""


def prefix_elimination(problem: Problem, horizon: int) -> Bound:
    """The regret of PrefixElimination with c = ln T, also where delays depend on the reward,

        R_T <= sum over i != i* of (346 ln T / gap_i + 3 gap_i)
               + ln K max over i != i* of gap_i max(d_i(1 - gap_i/4), d_i*(1 - gap_i/4)),

    with the quantiles of the marginal laws. Of several best arms i* is the one with the smaller bound. An arm whose
    gap asks for a prefix of more than 57,512,483 pulls, 288 ln T / gap^2, counts with gap T at least.

    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    >>> {name: round(part) for name, part in prefix_elimination(late, 10_000).terms.items()}
    {'learning': 15934, 'waiting': 69}
    """
    check_problem(problem)
    rounds = check_horizon(horizon)
    worse, best = parted(problem)
    if not worse:
        return nothing("Prefix-SE", SOURCE)
    gaps, q, d = _waited_for(problem, worse)
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
        *placed(problem.arms, worse, q, waits, {}),
        statement=(
            f"R <= sum of (346 ln T / gap + 3 gap) + ln K max gap max(d_i, d_best)(1 - gap/4) = {number(learning)} + "
            f"{number(waiting)} = {number(learning + waiting)}, with waits up to {number(float(waits.max()))}"
        ),
    )


def prefix_ucb(problem: Problem, horizon: int) -> Bound:
    """The regret of PrefixUCB with c = ln T, also where delays depend on the reward,

        R_T <= sum over i != i* of (39 ln T / gap_i + 2 gap_i + gap_i d_i(1 - gap_i/4)),

    with the quantiles of the marginal laws. The best arm's delay does not occur. An arm whose gap asks for a prefix of
    more than 57,512,483 pulls, 32 ln T / gap^2, counts with gap T at least. With ``spread=True`` nothing is proven.

    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed, Never
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.6), Bernoulli(0.4)], [Never(), ByReward({0: Fixed(0), 1: Fixed(500)})])
    >>> {name: round(part) for name, part in prefix_ucb(late, 10_000).terms.items()}
    {'learning': 1796, 'waiting': 100}
    """
    check_problem(problem)
    rounds = check_horizon(horizon)
    worse, _ = parted(problem)
    if not worse:
        return nothing("Prefix-UCB", SOURCE)
    gaps, q, d = _waited_for(problem, worse)
    learning, waiting = _learning(39.0, 2.0, 32.0, gaps, rounds), float((gaps * d).sum())
    return Bound(
        "Prefix-UCB",
        SOURCE,
        learning + waiting,
        {"learning": learning, "waiting": waiting},
        *placed(problem.arms, worse, q, d, {}),
        statement=(
            f"R <= sum of (39 ln T / gap + 2 gap) + sum of gap d_i(1 - gap/4) = {number(learning)} + "
            f"{number(waiting)} = {number(learning + waiting)}, with d_i up to {number(float(d.max()))}"
        ),
    )


def _waited_for(problem: Problem, worse: list[int]) -> tuple[Array, Array, Array]:
    """Of each worse arm its gap, 1 - gap / 4, and that quantile of its delay."""
    gaps = problem.gaps[worse]
    q = 1.0 - gaps / 4.0
    return gaps, q, np.array([quantile(problem, arm, level) for arm, level in zip(worse, q, strict=True)])


def _learning(factor: float, more: float, pulls: float, gaps: Array, rounds: int) -> float:
    """Sum of factor ln T / gap + more gap; an arm whose prefix of ``pulls`` ln T / gap^2 may not be kept counts with
    gap T, if that is more."""
    log_t = math.log(rounds)
    proven = factor * log_t / gaps + more * gaps
    kept = pulls * log_t / gaps**2 <= LONGEST
    return float(np.where(kept, proven, np.maximum(proven, gaps * float(rounds))).sum())
