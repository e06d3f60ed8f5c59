"""Upper bounds on the regret of policies with prefix brackets, which know the pull that feedback belongs to; the proofs
are in the documentation, theory/prefix."""

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
    in_reward_units,
    quantile,
    split_arms,
    sum_of_terms,
    zero_bound,
)
from belated.theory.upper import quantile_delays

PREFIX = "prefix brackets"

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

LONGEST_PREFIX = int(CELL_ENDS[-2])
"""The longest prefix that the policies keep; the last cell has no end."""


@in_reward_units
def prefix_elimination(problem: Problem, horizon: int) -> Bound:
    """The regret of PrefixElimination with c = ln T, also where delays depend on the reward,

        R_T <= sum over i != i* of (346 ln T / gap_i + 3 gap_i)
               + ln K max over i != i* of gap_i max(d_i(1 - gap_i/4), d_i*(1 - gap_i/4)),

    with quantiles of the marginal laws. Of several best arms, i* is the one with the smaller bound. An arm whose gap
    needs a prefix of more than 57,512,483 pulls, 288 ln T / gap^2, contributes at least gap T.

    Parameters
    ----------
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    >>> {name: round(part) for name, part in prefix_elimination(late, 10_000).terms.items()}
    {'learning': 15934, 'waiting': 69}
    """
    rounds = check_horizon(horizon)
    suboptimal, best = split_arms(check_problem(problem))
    if not suboptimal:
        return zero_bound("Prefix-SE", PREFIX)
    gaps, q, d = quantile_delays(problem, suboptimal)
    of_best = {star: np.array([quantile(problem, star, level) for level in q]) for star in best}
    star = min(best, key=lambda arm: float((gaps * np.maximum(d, of_best[arm])).max()))
    waits = np.maximum(d, of_best[star])
    return sum_of_terms(
        "Prefix-SE",
        PREFIX,
        {
            "learning": _learning(346.0, 3.0, 288.0, gaps, rounds),
            "waiting": math.log(problem.arms) * float((gaps * waits).max()),
        },
        "R <= sum of (346 ln T / gap + 3 gap) + ln K max gap max(d_i, d_best)(1 - gap/4) = ",
        f", with waits up to {quantity(float(waits.max()))}",
        in_arm_order(problem.arms, suboptimal, q, waits),
    )


@in_reward_units
def prefix_ucb(problem: Problem, horizon: int) -> Bound:
    """The regret of PrefixUCB with c = ln T, also where delays depend on the reward,

        R_T <= sum over i != i* of (39 ln T / gap_i + 2 gap_i + gap_i d_i(1 - gap_i/4)),

    with quantiles of the marginal laws. The best arm's delay does not appear. An arm whose gap needs a prefix of more
    than 57,512,483 pulls, 32 ln T / gap^2, contributes at least gap T. With ``spread=True`` nothing is proven.

    Parameters
    ----------
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed, Never
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.6), Bernoulli(0.4)], [Never(), ByReward({0: Fixed(0), 1: Fixed(500)})])
    >>> {name: round(part) for name, part in prefix_ucb(late, 10_000).terms.items()}
    {'learning': 1796, 'waiting': 100}
    """
    rounds = check_horizon(horizon)
    suboptimal, _ = split_arms(check_problem(problem))
    if not suboptimal:
        return zero_bound("Prefix-UCB", PREFIX)
    gaps, q, d = quantile_delays(problem, suboptimal)
    return sum_of_terms(
        "Prefix-UCB",
        PREFIX,
        {"learning": _learning(39.0, 2.0, 32.0, gaps, rounds), "waiting": float((gaps * d).sum())},
        "R <= sum of (39 ln T / gap + 2 gap) + sum of gap d_i(1 - gap/4) = ",
        f", with d_i up to {quantity(float(d.max()))}",
        in_arm_order(problem.arms, suboptimal, q, d),
    )


def _learning(factor: float, more: float, pulls: float, gaps: Array, rounds: int) -> float:
    """Sum of factor ln T / gap + more gap; an arm whose prefix of ``pulls`` ln T / gap^2 is too long to be kept
    contributes at least gap T."""
    log_t = math.log(rounds)
    proven = factor * log_t / gaps + more * gaps
    kept = pulls * log_t / gaps**2 <= LONGEST_PREFIX
    return float(np.where(kept, proven, np.maximum(proven, gaps * float(rounds))).sum())
