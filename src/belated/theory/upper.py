"""Upper bounds on the regret: the paper's Theorems 2, 3 and 5, and the order of Optimistic-UCB."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from belated.formatting import quantity
from belated.problem import Problem
from belated.theory.bound import (
    Array,
    Bound,
    check_horizon,
    check_independent,
    check_problem,
    in_arm_order,
    in_reward_units,
    quantile,
    split_arms,
    sum_of_terms,
    zero_bound,
)
from belated.theory.minimise import (
    DelayCdfs,
    common_cdf,
    group_arms,
    minimise_delay,
    minimise_largest,
    minimise_pair,
    sum_by_group,
    sum_of_ratios,
)


@in_reward_units
def successive_elimination(problem: Problem, horizon: int) -> Bound:
    """Theorem 2: the regret of SE with c = ln T under delays that do not depend on the reward.

    With the best choice of a quantile q_i for each arm,

        R_T <= sum over i != i* of (40 ln T / gap_i) (1/q_i + 1/q_i*)
               + ln K max over i != i* of (d_i(q_i) + d_i*(q_i*)) gap_i,

    and with the best single quantile q,

        R_T <= sum over i != i* of 325 ln T / (q gap_i) + 4 max over i of d_i(q).

    Both are in ``forms``; the bound is the smaller one. Arms with gap 0 add nothing: their pulls cost nothing, and the
    proof compares each arm only with i*. Where several arms are best, i* is the one with the smaller bound.

    Parameters
    ----------
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import Fixed
    >>> from belated.rewards import Bernoulli
    >>> bound = successive_elimination(Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(200)), 10_000)
    >>> {name: round(part) for name, part in bound.terms.items()}, bound.quantiles
    ({'learning': 3684, 'waiting': 55}, (1.0, 1.0))
    """
    check_independent(check_problem(problem), "successive_elimination (Theorem 2)")
    log_t = math.log(check_horizon(horizon))
    suboptimal, best = split_arms(problem)
    if not suboptimal:
        return zero_bound("SE", "Theorem 2")
    stars = list({problem.delay_law(star): star for star in reversed(best)}.values())  # one for each law
    forms = {
        name: min((form(problem, suboptimal, star, log_t) for star in stars), key=lambda bound: bound.value)
        for name, form in {"per arm": _per_arm, "single": _single}.items()
    }
    return replace(min(forms.values(), key=lambda bound: bound.value), forms=forms)


def _per_arm(problem: Problem, suboptimal: list[int], star: int, log_t: float) -> Bound:
    gaps = problem.gaps[suboptimal]
    weights = 40.0 * log_t / gaps
    laws = [problem.delay_law(arm) for arm in suboptimal]
    law = problem.delay_law(star)
    log_k = math.log(problem.arms)
    first, group = group_arms(laws, gaps)
    minimum = minimise_pair(
        DelayCdfs([laws[arm] for arm in first]),
        sum_by_group(group, weights),
        gaps[first],
        law,
        float(weights.sum()),
        log_k,
    )
    source = "Theorem 2, a quantile for each arm"
    if minimum is None:
        return _unbounded("SE", source)
    d_star, d = minimum[0], minimum[1][group]
    q_star = float(law.cdf(d_star))
    q = DelayCdfs(laws)(d)
    return sum_of_terms(
        "SE",
        source,
        {
            "learning": float((weights * (1.0 / q + 1.0 / q_star)).sum()),
            "waiting": log_k * float(((d + d_star) * gaps).max()),
        },
        "R <= sum of 40 ln T / gap (1/q_i + 1/q_best) + ln K max (d_i(q_i) + d_best(q_best)) gap = ",
        f", with q_best = {q_star:.4g} (d = {d_star:,.0f}) and q_i {_range(q, d)}",
        in_arm_order(problem.arms, suboptimal, q, d, {star: (q_star, d_star)}),
    )


def _single(problem: Problem, suboptimal: list[int], star: int, log_t: float) -> Bound:
    common = common_cdf([problem.delay_law(arm) for arm in (*suboptimal, star)])
    weight = float((325.0 * log_t / problem.gaps[suboptimal]).sum())
    d = minimise_delay(lambda d: sum_of_ratios(np.array([weight]), common(d)[:, None]), 4.0)
    source = "Theorem 2, one quantile for all"
    if math.isinf(d):
        return _unbounded("SE", source)
    q = float(common(np.array([d]))[0])
    return sum_of_terms(
        "SE",
        source,
        {"learning": weight / q, "waiting": 4.0 * d},
        "R <= sum of 325 ln T / (q gap) + 4 max d_i(q) = ",
        f", with q = {q:.4g} (d = {d:,.0f})",
        ((q,), (d,)),
    )


@in_reward_units
def phased_elimination(problem: Problem, horizon: int) -> Bound:
    """Theorem 3: the regret of PSE with c = ln T under delays that do not depend on the reward,

        R_T <= sum over i != i* of 290 ln T / (q_i gap_i) + ln T ln K max over i != i* of d_i(q_i) gap_i,

    with the best choice of the quantiles. The best arm's delay does not appear.

    The last line of the paper's proof has ln T (ln K + 1) in place of ln T ln K: near the end of a phase a sweep
    may consist of one arm. ``forms["proof"]`` is the bound with that factor.

    Parameters
    ----------
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import Fixed, PacketLoss
    >>> from belated.rewards import Bernoulli
    >>> bound = phased_elimination(Problem([Bernoulli(0.6), Bernoulli(0.4)], [PacketLoss(0.01), Fixed(0)]), 10_000)
    >>> round(bound.value), bound.quantiles
    (13355, (nan, 1.0))
    """
    check_independent(check_problem(problem), "phased_elimination (Theorem 3)")
    log_t = math.log(check_horizon(horizon))
    suboptimal, _ = split_arms(problem)
    if not suboptimal:
        return zero_bound("PSE", "Theorem 3")
    log_k = math.log(problem.arms)
    theorem = _phased(problem, suboptimal, log_t, log_t * log_k, "Theorem 3", "ln T ln K")
    proof = _phased(problem, suboptimal, log_t, log_t * (log_k + 1.0), "Theorem 3, its proof", "ln T (ln K + 1)")
    return replace(theorem, forms={"theorem": theorem, "proof": proof})


def _phased(problem: Problem, suboptimal: list[int], log_t: float, slope: float, source: str, factor: str) -> Bound:
    gaps = problem.gaps[suboptimal]
    weights = 290.0 * log_t / gaps
    laws = [problem.delay_law(arm) for arm in suboptimal]
    first, group = group_arms(laws, gaps)
    minimum = minimise_largest(
        DelayCdfs([laws[arm] for arm in first]), sum_by_group(group, weights), gaps[first], slope
    )
    if minimum is None:
        return _unbounded("PSE", source)
    d = minimum[group]
    q = DelayCdfs(laws)(d)
    return sum_of_terms(
        "PSE",
        source,
        {"learning": float((weights / q).sum()), "waiting": slope * float((d * gaps).max())},
        f"R <= sum of 290 ln T / (q_i gap) + {factor} max d_i(q_i) gap = ",
        f", with q_i {_range(q, d)}",
        in_arm_order(problem.arms, suboptimal, q, d),
    )


def _range(q: Array, d: Array) -> str:
    return f"from {q.min():.4g} to {q.max():.4g} (d up to {d.max():,.0f})"


def _unbounded(name: str, source: str) -> Bound:
    """The bound where some delay has no finite quantile."""
    terms = {"learning": math.inf, "waiting": 0.0}
    return Bound(
        name, source, math.inf, terms, statement="nothing is guaranteed: some arm's feedback never comes at all"
    )


@in_reward_units
def optimistic_pessimistic(problem: Problem, horizon: int) -> Bound:
    """Theorem 5: the regret of OPSE with c = ln T, also where delays depend on the reward,

        R_T <= sum over i != i* of 1166 ln T / gap_i + 4 ln K (max over i != i* of d_i(q_i) + d_i*(q_i*))

    with q_i = 1 - gap_i / 4 and q_i* = 1 - (smallest gap) / 4, of the marginal laws. There is no quantile to
    choose, so an arm that loses more than a quarter of its gap makes the bound infinite. Of several best arms, i* is
    the one with the shorter delay.

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
    >>> {name: round(part) for name, part in optimistic_pessimistic(late, 10_000).terms.items()}
    {'learning': 53696, 'waiting': 2773}
    """
    log_t = math.log(check_horizon(horizon))
    suboptimal, best = split_arms(check_problem(problem))
    if not suboptimal:
        return zero_bound("OPSE", "Theorem 5")
    gaps, q, d = quantile_delays(problem, suboptimal)
    q_star = 1.0 - float(gaps.min()) / 4.0
    star = min(best, key=lambda arm: quantile(problem, arm, q_star))
    d_star = quantile(problem, star, q_star)
    return sum_of_terms(
        "OPSE",
        "Theorem 5",
        {
            "learning": float((1166.0 * log_t / gaps).sum()),
            "waiting": 4.0 * math.log(problem.arms) * (float(d.max()) + d_star),
        },
        "R <= sum of 1166 ln T / gap + 4 ln K (max d_i(1 - gap_i/4) + d_best(1 - gap_min/4)) = ",
        f", with the longest d_i = {quantity(float(d.max()))} and d_best({q_star:.4g}) = {quantity(d_star)}",
        in_arm_order(problem.arms, suboptimal, q, d, {star: (q_star, d_star)}),
    )


@in_reward_units
def optimistic_ucb(problem: Problem, horizon: int) -> Bound:
    """The order of Optimistic-UCB's regret, also where delays depend on the reward:

        sum over i != i* of ln T / gap_i + sum over i != i* of d_i(1 - gap_i / 4).

    The paper gives it up to a constant, in the equation after Theorem 5. The constant is 1 here, so this is the
    order of a bound, not a bound.

    Parameters
    ----------
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import Fixed
    >>> from belated.rewards import Bernoulli
    >>> round(optimistic_ucb(Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(100)), 10_000).value, 1)
    146.1
    """
    log_t = math.log(check_horizon(horizon))
    suboptimal, _ = split_arms(check_problem(problem))
    source = "equation after Theorem 5, constant 1"
    if not suboptimal:
        return zero_bound("Optimistic-UCB", source)
    gaps, q, d = quantile_delays(problem, suboptimal)
    return sum_of_terms(
        "Optimistic-UCB",
        source,
        {"learning": float((log_t / gaps).sum()), "waiting": float(d.sum())},
        "R = O(sum of ln T / gap + sum of d_i(1 - gap_i/4)); with constant 1, which the paper does not give: ",
        levels=in_arm_order(problem.arms, suboptimal, q, d),
        order=True,
    )


def quantile_delays(problem: Problem, suboptimal: list[int]) -> tuple[Array, Array, Array]:
    """Of each suboptimal arm: its gap, the level 1 - gap / 4, and that quantile of its delay."""
    gaps = problem.gaps[suboptimal]
    q = 1.0 - gaps / 4.0
    return gaps, q, np.array([quantile(problem, arm, level) for arm, level in zip(suboptimal, q, strict=True)])
