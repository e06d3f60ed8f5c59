"""The paper's lower bounds (Theorems 1, 4 and 6) and the instances that prove them, as problems to simulate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from belated.delays import ByReward, Fixed, Mixture, Never
from belated.delays._base import DelayLaw
from belated.errors import InvalidParameter
from belated.problem import Family, Problem
from belated.rewards import Bernoulli, Categorical, Constant
from belated.rewards._base import RewardLaw
from belated.theory.bound import ANYONE, Bound, check_horizon, sum_of_terms
from belated.validation import Domain, check_number

_ARMS = Domain(2, 10**7, whole=True)
_ROUNDS = Domain(0, 2**53, whole=True)
_LEVEL = Domain(0, 1, open_low=True)
_EXPONENT = Domain(0, 1, open_high=True)
_SMALL = Domain(0, 0.5, open_low=True, open_high=True)
_QUARTER = Domain(0, 0.25)
_CONSTANT = Domain(0, math.inf, open_low=True)
_HALF = Domain(0, 0.5, open_low=True)


# ---- Theorem 1 ----


def ucb_hard_instance(K: int, delay: int, *, epsilon: float = 0.0) -> Problem:  # noqa: N803
    """Theorem 1: under a fixed delay d >= K, UCB's regret on this problem is of the order K d.

    The last arm has mean 1, the others 1/2. In the first round over the arms about half of the others give 1 and tie
    with the best arm's index; each of them is then pulled for d rounds, one after the other, before its second feedback
    lowers it. The best arm comes last in the order that breaks ties (the paper asks for the second half), so all of
    them come before it.

    ``epsilon`` > 0 gives the variant of the paper's remark: the rewards of all arms but the first are multiplied by 1 -
    epsilon, so that the first arm stays ahead until its second feedback, however ties are broken.

    Parameters
    ----------
    K
        The number of arms, at least 2.
    delay
        The delay of all feedback, in rounds.
    epsilon
        0, or a number below 1/2 for the variant of the paper's remark.

    Examples
    --------
    >>> problem = ucb_hard_instance(4, 100)
    >>> problem.means.tolist(), problem.delays[0]
    ([0.5, 0.5, 0.5, 1.0], Fixed(rounds=100))
    """
    count = int(check_number("ucb_hard_instance: K", K, _ARMS))
    wait = Fixed(int(check_number("ucb_hard_instance: delay", delay, _ROUNDS)))
    if epsilon == 0.0:
        rewards: list[RewardLaw] = [*([Bernoulli(0.5)] * (count - 1)), Constant(1.0)]
        return Problem(rewards, wait)
    top = 1.0 - check_number("ucb_hard_instance: epsilon", epsilon, _SMALL)
    scaled = Categorical([0.0, top], [0.5, 0.5])
    return Problem([Bernoulli(0.5), *([scaled] * (count - 2)), Constant(top)], wait)


# ---- Theorem 4 ----


def lower_bound_independent(
    gaps: Sequence[float], q: float, delay: int, horizon: int, alpha: float, *, constant: float = 1.0
) -> Bound:
    """Theorem 4: a lower bound for every algorithm whose regret is at most ``constant`` T^``alpha`` on every instance,
    on :func:`independent_hard_instance` with its arms in the worst order.

    Without delays such an algorithm pulls every arm often (the appendix's Lemma); by the :func:`reduction` a share q of
    feedback costs a factor 1 / q. ``forms["proven"]`` is what this gives, for every T,

        R_T >= 1/2 A^+ + 1/2 mean(gap) d,
        A = (1/32 sum over gaps > 0 of ((1 - alpha) ln T + ln((q/4)^(1 + alpha) gap / (8 C)))^+ / gap - 4) / q;

    ``forms["finite"]`` is the appendix's corollary,

        R_T >= 1/64 (sum over gaps > 0 of ((1 - alpha) ln T - 2 ln(32 C / (q gap)) - 4) / (q gap))^+ + 1/2 mean(gap) d,

    and ``forms["asymptotic"]`` the theorem,

        R_T >= 1/128 sum over gaps > 0 of (1 - alpha) ln T / (q gap) + 1/2 mean(gap) d,

    which the corollary implies from T >= exp(8 / (1 - alpha) (ln(32 C / (q smallest gap)) + 1)) on. The corollary's
    last step takes the 4 into the sum, which is right where the 1 / gap add up to 32 or more: with fewer or larger gaps
    it is not proven. The bound is the largest of the forms that hold. The positive parts are ours: the regret is at
    least its second half in any case, so a sum below 0 need not be subtracted.

    Parameters
    ----------
    gaps
        The gap of each arm, numbers in [0, 1/4], one of them 0.
    q
        The probability that feedback comes, a number in (0, 1].
    delay
        The delay of feedback that comes, in rounds.
    horizon
        T, the number of rounds; at least ``delay``.
    alpha
        The exponent of the regret that the algorithm guarantees on every instance, a number in [0, 1).
    constant
        The constant of that guarantee, a number > 0.

    Examples
    --------
    >>> bound = lower_bound_independent([0.0, 0.25, 0.25], q=0.5, delay=400, horizon=10_000, alpha=0.5)
    >>> {name: round(part, 1) for name, part in bound.terms.items()}
    {'learning': 0.0, 'waiting': 33.3}
    """
    where = "lower_bound_independent"
    sizes = _gaps(gaps, where)
    share = check_number(f"{where}: q", q, _LEVEL)
    wait = check_number(f"{where}: delay", delay, _ROUNDS)
    exponent = check_number(f"{where}: alpha", alpha, _EXPONENT)
    c = check_number(f"{where}: constant", constant, _CONSTANT)
    rounds = check_horizon(horizon)
    if wait > rounds:
        raise InvalidParameter(f"{where}: delay is {delay} and horizon {horizon}; the theorem needs delay <= horizon.")
    log_t = math.log(rounds)
    positive = sizes[sizes > 0.0]
    waiting = 0.5 * float(sizes.mean()) * wait
    parts = ((1.0 - exponent) * log_t - 2.0 * np.log(32.0 * c / (share * positive)) - 4.0) / (share * positive)
    finite = max(float(parts.sum()) / 64.0, 0.0)
    limit = float(((1.0 - exponent) * log_t / (share * positive)).sum()) / 128.0
    pulls = (1.0 - exponent) * log_t + (1.0 + exponent) * math.log(share / 4.0) + np.log(positive / (8.0 * c))
    proven = max((float((np.maximum(pulls, 0.0) / positive).sum()) / 32.0 - 4.0) / share, 0.0) / 2.0
    forms = {
        "proven": _lower("Theorem 4, its proof", proven, waiting, "holds for every T"),
        "finite": _lower("Theorem 4, finite form", finite, waiting, "holds where the 1 / gap add up to 32"),
        "asymptotic": _lower("Theorem 4", limit, waiting, "holds for T large enough"),
    }
    enough = (
        8.0 / (1.0 - exponent) * (math.log(32.0 * c / (share * float(positive.min()))) + 1.0) if positive.size else 0.0
    )
    holding = [forms["proven"]]
    if float((1.0 / positive).sum()) >= 32.0:
        holding += [forms["finite"]] + ([forms["asymptotic"]] if log_t >= enough else [])
    largest = max(holding, key=lambda bound: bound.value)
    return replace(
        largest,
        quantiles=(share,),
        delays=(wait,),
        statement=f"{largest.statement}; the asymptotic form holds from T = e^{enough:.3g} on",
        forms=forms,
    )


def independent_hard_instance(
    gaps: Sequence[float], q: float, delay: int, *, rng: np.random.Generator | None = None
) -> Problem:
    """Theorem 4's instance: Bernoulli arms with means 1/2 - gap; feedback after ``delay`` rounds with probability
    ``q``, else never.

    The theorem is about the worst order of the gaps. With ``rng`` the order is drawn; :func:`independent_hard_family`
    draws it for each run of a simulation, and the bound holds for the average over the orders.

    Parameters
    ----------
    gaps
        The gap of each arm, numbers in [0, 1/4], one of them 0.
    q
        The probability that feedback comes, a number in (0, 1].
    delay
        The delay of feedback that comes, in rounds.
    rng
        Draws the order of the arms; without it they have the order of ``gaps``.

    Examples
    --------
    >>> problem = independent_hard_instance([0.0, 0.25], q=0.5, delay=400)
    >>> problem.means.tolist(), problem.delay_quantile(0, 0.5), problem.delay_quantile(0, 0.51)
    ([0.5, 0.25], 400, inf)
    """
    where = "independent_hard_instance"
    sizes = _gaps(gaps, where)
    share = check_number(f"{where}: q", q, _LEVEL)
    wait = Fixed(int(check_number(f"{where}: delay", delay, _ROUNDS)))
    law: DelayLaw = wait if share == 1.0 else Mixture([(share, wait), (1.0 - share, Never())])
    if rng is not None:
        if not isinstance(rng, np.random.Generator):
            raise InvalidParameter(f"{where}: rng is {rng!r}; give a numpy.random.Generator, or leave it out.")
        sizes = rng.permutation(sizes)
    return Problem([Bernoulli(0.5 - float(gap)) for gap in sizes], law)


def independent_hard_family(gaps: Sequence[float], q: float, delay: int) -> Family:
    """:func:`independent_hard_instance` with the order of its arms drawn for each run.

    Parameters
    ----------
    gaps
        The gap of each arm, numbers in [0, 1/4], one of them 0.
    q
        The probability that feedback comes, a number in (0, 1].
    delay
        The delay of feedback that comes, in rounds.
    """
    independent_hard_instance(gaps, q, delay)  # fail early

    def family(rng: np.random.Generator) -> Problem:
        return independent_hard_instance(gaps, q, delay, rng=rng)

    return family


# ---- Theorem 6 ----


def lower_bound_dependent(
    gap: float, delay: int, horizon: int, alpha: float | None = None, *, constant: float = 1.0
) -> Bound:
    """Theorem 6: on one of the two problems of :func:`dependent_hard_pair`, every learner's regret is at least 1/2 gap
    delay.

    With ``alpha``, for a learner with regret at most ``constant`` T^alpha on every instance, it is also at least what
    it takes to tell two arms apart without delays, 1/32 ((1 - alpha) ln T - ln(8 C / gap))^+ / gap (the appendix's
    Lemma, with its positive part), and so at least half the sum of the two: ``terms``. The last line of the paper's
    proof prints 1/4 d where 1/4 gap d follows.

    Parameters
    ----------
    gap
        The gap of the two arms, a number in (0, 1/2]; at most 1/4 with ``alpha``.
    delay
        The delay of late feedback, in rounds.
    horizon
        T, the number of rounds; at least ``delay``.
    alpha
        The exponent of the regret that the learner guarantees on every instance; without it the bound is for every
        learner.
    constant
        The constant of that guarantee, a number > 0.

    Examples
    --------
    >>> lower_bound_dependent(0.1, 2000, 10_000).value
    100.0
    """
    where = "lower_bound_dependent"
    size = check_number(f"{where}: gap", gap, _HALF)
    wait = check_number(f"{where}: delay", delay, _ROUNDS)
    rounds = check_horizon(horizon)
    if wait > rounds:
        raise InvalidParameter(f"{where}: delay is {delay} and horizon {horizon}; the theorem needs delay <= horizon.")
    waiting = 0.5 * size * wait
    first = _lower("Theorem 6", 0.0, waiting, "1/2 gap d, for every learner")
    if alpha is None:
        return first
    if size > 0.25:
        raise InvalidParameter(
            f"{where}: gap is {gap} and alpha is given; the lemma behind the second part is for gaps up to 1/4. "
            "Leave out alpha for the first part only."
        )
    exponent = check_number(f"{where}: alpha", alpha, _EXPONENT)
    c = check_number(f"{where}: constant", constant, _CONSTANT)
    learning = max(((1.0 - exponent) * math.log(rounds) - math.log(8.0 * c / size)) / (32.0 * size), 0.0)
    both = _lower("Theorem 6, second part", learning / 2.0, waiting / 2.0, "half the sum of the two parts")
    forms = {"waiting": first, "both": both}
    return replace(max(forms.values(), key=lambda bound: bound.value), forms=forms)


def dependent_hard_pair(gap: float, delay: int) -> tuple[Problem, Problem]:
    """Theorem 6's two problems (I1, I2), which no learner can tell apart before the end of round ``delay``.

    Arm 0 has mean 1/2 in both. Arm 1 has mean 1/2 - gap in I1 and 1/2 + gap in I2. Feedback comes at once or after
    ``delay`` rounds. In I1 a failure of arm 1 is late with probability 4 gap / (1 + 2 gap), in I2 a success is: so in
    both the feedback comes at once with probability 1 - 2 gap, and is then 0 or 1 with probability 1/2 each.

    Arm 0 is late with probability 2 gap, whatever its reward. The paper's text has 1 - 2 gap there; but its proof needs
    that "both arms in both instances have the same probability (2 gap) to be delayed", and so does its footnote. By the
    paper's own definition d(1 - 2 gap) is then 0, as exactly that share comes at once, and d(q) = delay for every q
    just above it.

    Parameters
    ----------
    gap
        The gap of the two arms, a number in (0, 1/2].
    delay
        The delay of late feedback, in rounds.

    Examples
    --------
    >>> one, two = dependent_hard_pair(0.1, 2000)
    >>> one.means.round(3).tolist(), two.means.round(3).tolist()
    ([0.5, 0.4], [0.5, 0.6])
    >>> one.delay_quantile(1, 0.79), one.delay_quantile(1, 0.81)
    (0, 2000)
    """
    where = "dependent_hard_pair"
    size = check_number(f"{where}: gap", gap, _HALF)
    late = Fixed(int(check_number(f"{where}: delay", delay, _ROUNDS)))
    at_once = Fixed(0)
    sometimes = _either(4.0 * size / (1.0 + 2.0 * size), late, at_once)
    neutral = _either(2.0 * size, late, at_once)
    one = ByReward({0.0: sometimes, 1.0: at_once})
    two = ByReward({0.0: at_once, 1.0: sometimes})
    return (
        Problem([Bernoulli(0.5), Bernoulli(0.5 - size)], [neutral, one]),
        Problem([Bernoulli(0.5), Bernoulli(0.5 + size)], [neutral, two]),
    )


def _either(probability: float, law: DelayLaw, other: DelayLaw) -> DelayLaw:
    return law if probability == 1.0 else Mixture([(probability, law), (1.0 - probability, other)])


def _gaps(gaps: Sequence[float], where: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Gaps in [0, 1/4], one of them 0."""
    if isinstance(gaps, str) or not isinstance(gaps, Sequence | np.ndarray) or len(gaps) == 0:
        raise InvalidParameter(f"{where}: gaps are {gaps!r}; give a list of numbers in [0, 1/4], one of them 0.")
    sizes = np.array([check_number(f"{where}: gaps[{place}]", gap, _QUARTER) for place, gap in enumerate(gaps)])
    if not np.any(sizes == 0.0):
        raise InvalidParameter(f"{where}: gaps are {list(gaps)!r}; one of them, the best arm's, must be 0.")
    return sizes


def _lower(source: str, learning: float, waiting: float, when: str) -> Bound:
    return sum_of_terms(ANYONE, source, {"learning": learning, "waiting": waiting}, "R >= ", f" ({when})")
