"""The upper bound on the regret of Imputed-UCB in its safe form; the proof is in the documentation, theory/imputed."""

from __future__ import annotations

import math

import numpy as np

from belated.formatting import quantity
from belated.problem import Problem
from belated.theory.bound import (
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
from belated.theory.prefix import LONGEST_PREFIX
from belated.theory.upper import quantile_delays
from belated.validation import check_integer

NAME, SOURCE = "Imputed-UCB safe", "a safe form of Imputed-UCB"


@in_reward_units
def imputed(problem: Problem, horizon: int, safe: int = 100) -> Bound:
    """The regret of SafeImputedUCB with c = ln T, also where delays depend on the reward. With K_best best arms,
    the largest gap gap_max and the least positive one gap_min,

        R_T <= sum over i of (154 ln T / gap_i + gap_i)
               + safe gap_max (sum over i of 39 ln T / gap_i^2 + 154 K_best ln T / gap_min^2 + 2 K)
               + sum over i of gap_i d_i(1 - gap_i/8)
               + gap_max (sum over i of d_i(1 - gap_i/4) + max d_best(1 - gap_min/8)),

    where i runs over the arms that are not best, with quantiles of the marginal laws. The second term, "safe rounds",
    and gap_max times delays are for the rounds before the safe ones have found a best arm; until then the index may be
    wrong in every other round. The delay of each best arm counts: if one of them loses more than gap_min/8 of its
    feedback, or another arm more than gap_i/8, nothing is guaranteed. If gap_min needs a prefix of more than 57,512,483
    pulls, 128 ln T / gap_min^2, the bound is at least gap_max T. With ``safe=1`` :func:`prefix_ucb` applies,
    too, and is smaller.

    Parameters
    ----------
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.
    safe
        Every how many rounds the arm with the largest upper bracket is pulled.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import ByReward, Fixed
    >>> from belated.rewards import Bernoulli
    >>> late = Problem([Bernoulli(0.8), Bernoulli(0.3)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    >>> {name: round(part) for name, part in imputed(late, 10_000_000, safe=100).terms.items()}
    {'learning': 4965, 'safe rounds': 622358, 'waiting': 750}
    """
    rounds = check_horizon(horizon)
    every = check_integer("safe", safe, 1)
    suboptimal, best = split_arms(check_problem(problem))
    if not suboptimal:
        return zero_bound(NAME, SOURCE)
    log_t = math.log(rounds)
    gaps, _, d = quantile_delays(problem, suboptimal)
    q = 1.0 - gaps / 8.0
    later = np.array([quantile(problem, arm, level) for arm, level in zip(suboptimal, q, strict=True)])
    largest, least = float(gaps.max()), float(gaps.min())
    q_best = 1.0 - least / 8.0
    of_best = {arm: (q_best, float(quantile(problem, arm, q_best))) for arm in best}
    d_best = max(wait for _, wait in of_best.values())
    found = float((39.0 * log_t / gaps**2).sum()) + 154.0 * len(best) * log_t / least**2 + 2.0 * problem.arms
    before = every * largest * found
    if 128.0 * log_t / least**2 > LONGEST_PREFIX:
        before = max(before, largest * rounds)
    return sum_of_terms(
        NAME,
        SOURCE,
        {
            "learning": float((154.0 * log_t / gaps + gaps).sum()),
            "safe rounds": before,
            "waiting": float((gaps * later).sum()) + largest * (float(d.sum()) + d_best),
        },
        "R <= sum of (154 ln T / gap + gap) + safe gap_max (sum of 39 ln T / gap^2 + 154 K_best ln T / gap_min^2 "
        "+ 2 K) + sum of gap d_i(1 - gap/8) + gap_max (sum of d_i(1 - gap/4) + d_best(1 - gap_min/8)) = ",
        f", with safe = {every}, K_best = {len(best)}, d_i up to {quantity(float(later.max()))} "
        f"and d_best = {quantity(d_best)}",
        in_arm_order(problem.arms, suboptimal, q, later, of_best),
    )
