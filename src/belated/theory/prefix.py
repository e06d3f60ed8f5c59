"""Bounds of our own on the regret with prefix brackets; proofs are in the documentation, theory/prefix."""

from __future__ import annotations

import math

import numpy as np

from belated.problem import Problem
from belated.theory.bound import Bound, check_horizon, check_problem, number, quantile
from belated.theory.upper import nothing, parted, placed

GROWTH = 1.2
"""How much longer one prefix is than the last."""
SOURCE = "prefix brackets"


def prefix_elimination(problem: Problem, horizon: int) -> Bound:
    """The regret of PrefixElimination with c = ln T, also where delays depend on the reward,

        R_T <= sum over i != i* of (346 ln T / gap_i + 3 gap_i)
               + ln K max over i != i* of gap_i max(d_i(1 - gap_i/4), d_i*(1 - gap_i/4)),

    with the quantiles of the marginal laws. Of several best arms i* is the one with the smaller bound.

    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    >>> {name: round(part) for name, part in prefix_elimination(late, 10_000).terms.items()}
    {'learning': 15917, 'waiting': 69}
    """
    check_problem(problem)
    log_t = math.log(check_horizon(horizon))
    worse, best = parted(problem)
    if not worse:
        return nothing("Prefix-SE", SOURCE)
    gaps = problem.gaps[worse]
    q = 1.0 - gaps / 4.0
    d = np.array([quantile(problem, arm, level) for arm, level in zip(worse, q, strict=True)])
    of_best = {star: np.array([quantile(problem, star, level) for level in q]) for star in best}
    star = min(best, key=lambda arm: float((gaps * np.maximum(d, of_best[arm])).max()))
    waits = np.maximum(d, of_best[star])
    learning = float((288.0 * GROWTH * log_t / gaps + 3.0 * gaps).sum())
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

        R_T <= sum over i != i* of (39 ln T / gap_i + 3 gap_i + gap_i d_i(1 - gap_i/4)),

    with the quantiles of the marginal laws. The best arm's delay does not occur.

    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed, Never
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.6), Bernoulli(0.4)], [Never(), ByReward({0: Fixed(0), 1: Fixed(500)})])
    >>> {name: round(part) for name, part in prefix_ucb(late, 10_000).terms.items()}
    {'learning': 1769, 'waiting': 100}
    """
    check_problem(problem)
    log_t = math.log(check_horizon(horizon))
    worse, _ = parted(problem)
    if not worse:
        return nothing("Prefix-UCB", SOURCE)
    gaps = problem.gaps[worse]
    q = 1.0 - gaps / 4.0
    d = np.array([quantile(problem, arm, level) for arm, level in zip(worse, q, strict=True)])
    learning, waiting = float((32.0 * GROWTH * log_t / gaps + 3.0 * gaps).sum()), float((gaps * d).sum())
    return Bound(
        "Prefix-UCB",
        SOURCE,
        learning + waiting,
        {"learning": learning, "waiting": waiting},
        *placed(problem.arms, worse, q, d, {}),
        statement=(
            f"R <= sum of (39 ln T / gap + 3 gap) + sum of gap d_i(1 - gap/4) = {number(learning)} + "
            f"{number(waiting)} = {number(learning + waiting)}, with d_i up to {number(float(d.max()))}"
        ),
    )
