"""Earlier bounds, and the paper's Table 1 for a problem.

Like Table 1 they leave out constants and factors ln K: they are orders, to be compared with each other. R_MAB, the
regret without delays, is sum over i != i* of ln T / gap_i throughout."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from belated.delays import Fixed, PacketLoss, Pareto
from belated.delays._base import DelayLaw
from belated.errors import InvalidParameter
from belated.problem import Problem
from belated.theory.bound import (
    ROUNDED_GAP,
    Bound,
    check_horizon,
    check_independent,
    check_problem,
    in_reward_units,
    sum_of_terms,
)
from belated.theory.minimise import common_cdf, minimise_delay, sum_of_ratios
from belated.validation import Domain, check_number

_CHECKED = 1_000_000
"""Up to this round a condition on a distribution function is checked in every round."""
_ALPHA = Domain(0, math.inf, open_low=True)
SETTINGS = ("general, reward-independent", "fixed delay", "Pareto delay", "packet loss")
"""The settings of Table 1 without reward-dependent delays."""


@in_reward_units
def without_delays(problem: Problem, horizon: int) -> float:
    """R_MAB = sum over i != i* of ln T / gap_i, the order of the regret without delays.

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
    >>> round(without_delays(Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(0)), 10_000), 2)
    46.05
    """
    gaps = check_problem(problem, uses_delays=False).gaps
    return float((math.log(check_horizon(horizon)) / gaps[gaps > ROUNDED_GAP]).sum())


@in_reward_units
def joulani(problem: Problem, horizon: int) -> Bound:
    """Joulani, György, Szepesvári (2013), for UCB: R_MAB + sum over the arms of E[D_i]; K E[D] where all delays have
    one law. Infinite if an expected delay is.

    Parameters
    ----------
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import Geometric, Pareto
    >>> from belated.rewards import Bernoulli
    >>> arms = [Bernoulli(0.6), Bernoulli(0.4)]
    >>> round(joulani(Problem(arms, Geometric(100)), 10_000).value), joulani(Problem(arms, Pareto(1.0)), 10_000).value
    (246, inf)
    """
    check_independent(check_problem(problem), "joulani")
    learning = without_delays(problem, horizon)
    laws = Counter(problem.delay_law(arm) for arm in range(problem.arms))
    delays = math.fsum(count * law.expected for law, count in laws.items())
    return sum_of_terms(
        "UCB",
        "Joulani, György, Szepesvári (2013)",
        {"learning": learning, "expected delays": delays},
        "R = O(R_MAB + sum of E[D_i]) = ",
        order=True,
    )


@in_reward_units
def dudik(problem: Problem, horizon: int) -> Bound:
    """Dudik et al. (2011), for one fixed delay d: sqrt(T K) + sqrt(K) d.

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
    >>> round(dudik(Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(100)), 10_000).value)
    283
    """
    check_independent(check_problem(problem), "dudik")
    delay = _fixed(problem)
    if delay is None:
        raise InvalidParameter(
            "dudik is about one fixed delay for all arms, and these delays are not; joulani(problem, horizon) takes "
            "any."
        )
    learning = math.sqrt(check_horizon(horizon) * problem.arms)
    waiting = math.sqrt(problem.arms) * delay
    return sum_of_terms(
        "Dudik et al.",
        "Dudik, Hsu, Kale, Karampatziakis, Langford, Reyzin, Zhang (2011)",
        {"learning": learning, "waiting": waiting},
        "R = O(sqrt(T K) + sqrt(K) d) = ",
        order=True,
    )


@in_reward_units
def manegueu(problem: Problem, horizon: int, alpha: float) -> Bound:
    """Gael (Manegueu), Vernade, Carpentier, Valko (2020), for delays whose distribution function is at least that of a
    Pareto law with exponent ``alpha``, P(D <= g) >= 1 - g^-alpha for g = 1, 2, ...: R_MAB + sum over i != i* of
    (8 / gap_i)^((1 - alpha) / alpha).

    The condition is checked at every g up to the horizon or a million, and at 2000 values beyond. A fixed delay above 1
    violates it for every alpha.

    Parameters
    ----------
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.
    alpha
        The exponent of the tail, a number > 0.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import Pareto
    >>> from belated.rewards import Bernoulli
    >>> round(manegueu(Problem([Bernoulli(0.6), Bernoulli(0.4)], Pareto(0.5)), 10_000, 0.5).value)
    86
    """
    check_independent(check_problem(problem), "manegueu")
    exponent = check_number("manegueu: alpha", alpha, _ALPHA)
    horizon = check_horizon(horizon)
    dense = np.arange(1.0, min(horizon, _CHECKED) + 1.0)
    g = np.unique(np.concatenate([dense, np.geomspace(1.0, max(horizon, 1), 2000).round()]))
    firsts = {problem.delay_law(arm): arm for arm in reversed(range(problem.arms))}
    for arm in sorted(firsts.values()):
        short = problem.delay_cdf(arm, g) < 1.0 - g**-exponent - 1e-12
        if np.any(short):
            first = g[np.argmax(short)]
            raise InvalidParameter(
                f"manegueu with alpha={alpha:g} needs P(D <= g) >= 1 - g^-alpha, and for arm {arm} it fails at g = "
                f"{first:,.0f}; give a smaller alpha, or use a bound without this assumption, such as joulani."
            )
    gaps = problem.gaps[problem.gaps > ROUNDED_GAP]
    learning = without_delays(problem, horizon)
    with np.errstate(over="ignore"):
        waiting = float(((8.0 / gaps) ** ((1.0 - exponent) / exponent)).sum())
    return sum_of_terms(
        "Manegueu et al.",
        "Gael, Vernade, Carpentier, Valko (2020)",
        {"learning": learning, "waiting": waiting},
        "R = O(R_MAB + sum of (8/gap_i)^((1 - alpha)/alpha)) = ",
        order=True,
    )


@dataclass(frozen=True)
class TableRow:
    """A row of Table 1: the setting, the earlier bounds, the paper's. None where the setting does not apply."""

    setting: str
    previous: dict[str, float] | None
    paper: dict[str, float] | None


@in_reward_units
def table(problem: Problem, horizon: int) -> list[TableRow]:
    """The paper's Table 1 evaluated on a problem, without constants and factors ln K.

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
    >>> for row in table(Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(100)), 10_000)[:2]:
    ...     print(row.setting, {name: round(value) for name, value in (row.paper or {}).items()})
    general, reward-independent {'min over q of R_MAB/q + d(q)': 146}
    fixed delay {'R_MAB + d': 146}
    """
    check_problem(problem)
    horizon = check_horizon(horizon)
    mab = without_delays(problem, horizon)
    rows = {setting: TableRow(setting, None, None) for setting in SETTINGS}

    def fill(setting: str, previous: dict[str, float], paper: dict[str, float]) -> None:
        rows[setting] = TableRow(setting, previous, paper)

    if not problem.reward_dependent:
        fill(
            "general, reward-independent",
            {"R_MAB + K E[D]": joulani(problem, horizon).value},
            {"min over q of R_MAB/q + d(q)": _best_quantile(problem, mab)},
        )
        delay = _fixed(problem)
        if delay is not None:
            previous = {
                "R_MAB + K d": mab + problem.arms * delay,
                "sqrt(TK) + sqrt(K) d": dudik(problem, horizon).value,
            }
            fill("fixed delay", previous, {"R_MAB + d": mab + delay})
        alphas = [law.alpha for law in problem.delays if isinstance(law, Pareto) and law.scale == 1.0]
        if len(alphas) == problem.arms:
            alpha = min(alphas)
            median = float(np.exp2(min(1.0 / alpha, 1023.0))) if alpha > 1 / 1023 else math.inf
            fill(
                "Pareto delay",
                {"R_MAB + sum of (8/gap)^((1-alpha)/alpha)": manegueu(problem, horizon, alpha).value},
                {"R_MAB + 2^(1/alpha)": mab + median},
            )
        rates = [law.observed for law in problem.delays if isinstance(law, PacketLoss)]
        if len(rates) == problem.arms:
            p = min(rates)
            fill("packet loss", {"(1 - p) T": (1.0 - p) * horizon}, {"R_MAB / p": mab / p if p > 0.0 else math.inf})
    gaps = problem.gaps[problem.gaps > ROUNDED_GAP]
    longest = 0.0
    if gaps.size:
        level = max(1.0 - float(gaps.min()) - 1e-12, 0.0)  # a share that reaches it up to rounding reaches it
        worse, best = _laws(problem)
        longest = max(*(law.quantile(level) for law in worse), min(law.quantile(level) for law in best))
    dependent = TableRow("general, reward-dependent", None, {"R_MAB + d(1 - gap_min)": mab + longest})
    return [*rows.values(), dependent]


def _best_quantile(problem: Problem, mab: float) -> float:
    """min over q of R_MAB / q + max of d_i(q), over the arms with a gap and one best arm; 0 if every arm is best."""
    if mab == 0.0:
        return 0.0
    worse, best = _laws(problem)

    def with_best(law: DelayLaw) -> float:
        common = common_cdf([*worse, law])
        d = minimise_delay(lambda d: sum_of_ratios(np.array([mab]), common(d)[:, None]), 1.0)
        return math.inf if math.isinf(d) else mab / float(common(np.array([d]))[0]) + d

    return min(map(with_best, best))


def _laws(problem: Problem) -> tuple[list[DelayLaw], list[DelayLaw]]:
    """The distinct delay laws of the suboptimal arms, and of the best arms."""
    pairs = [(problem.delay_law(arm), bool(problem.gaps[arm] > ROUNDED_GAP)) for arm in range(problem.arms)]
    return list({law: 0 for law, worse in pairs if worse}), list({law: 0 for law, worse in pairs if not worse})


def _fixed(problem: Problem) -> float | None:
    """The fixed delay that all arms share; None if they do not."""
    delays = {law.rounds if isinstance(law, Fixed) else None for law in problem.delays}
    return delays.pop() if len(delays) == 1 else None
