"""Bounds: the value of a theorem on a problem, its terms, and a sentence that explains it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.formatting import quantity, shorten
from belated.problem import Problem
from belated.validation import is_integer

Array = npt.NDArray[np.float64]

ANYONE = "any algorithm"
"""The name of a lower bound."""

EQUAL = "every arm is a best one"
"""Why a bound is 0."""

ROUNDED_GAP = 1e-12
"""Smaller gaps are rounding errors, as in 0.1 + 0.2 - 0.3, and count as 0."""


@dataclass(frozen=True)
class Bound:
    """A bound on the expected pseudo-regret."""

    name: str
    """The policy or the paper that it is about."""
    source: str
    """Where it is stated, such as "Theorem 2, eq. (2)"."""
    value: float
    """The bound; ``math.inf`` if nothing is guaranteed."""
    terms: Mapping[str, float]
    """Named terms, whose sum is the value."""
    quantiles: tuple[float, ...] = ()
    """The minimising quantile of each arm's delay, or one for all arms; NaN for an arm that has none."""
    delays: tuple[float, ...] = ()
    """The delay d_i(q_i) at each of these quantiles."""
    statement: str = ""
    """The theorem with its numbers."""
    order: bool = False
    """Whether it is only the order of a bound, with constant 1."""
    forms: Mapping[str, Bound] = field(default_factory=dict)
    """All forms of a theorem that has several; the bound itself is the smallest."""

    @property
    def driver(self) -> str:
        """One sentence on the largest term of the bound."""
        what = "order" if self.order else "bound"
        name = f"the {self.name} {what}" if self.name != ANYONE else "the lower bound"
        if math.isinf(self.value):
            return f"{name} guarantees nothing: {self._why_infinite()}"
        if self.value == 0.0:
            return f"{name} is 0" + (f": {EQUAL}" if EQUAL in self.statement else "")
        largest = max(self.terms, key=lambda term: self.terms[term])
        text = f"{_share(self.terms[largest], self.value)} of {name} is the {largest} term"
        levels = sorted(q for q in self.quantiles if not math.isnan(q))
        if not levels or self.terms.get("waiting", 0.0) == 0.0:
            return text
        return f"{text}; waiting for {_delays(levels[0], levels[-1])} costs {quantity(self.terms['waiting'])}"

    def _why_infinite(self) -> str:
        if math.isinf(self.terms.get("learning", 0.0)):
            return "some arm's feedback never comes"
        if "expected delays" in self.terms:
            return "an expected delay is infinite"
        return "a quantile of a delay that it waits for is never reached"

    def __repr__(self) -> str:
        return f"<Bound for {self.name}: {quantity(self.value)} ({self.source})>"


def _share(part: float, whole: float) -> str:
    """A part in per cent; 100% only if it is everything."""
    return f"{part / whole:.0%}" if part == whole or part / whole < 0.995 else "more than 99%"


def _delays(low: float, high: float) -> str:
    """The delays between two quantiles, in words."""
    if f"{low:.3g}" != f"{high:.3g}":
        return f"the quantiles {low:.3g} to {high:.3g} of the delays"
    names = {"1": "the longest delay", "0.5": "the median delay"}
    return names.get(f"{low:.3g}", f"the {low:.3g} quantile of the delay")


F = TypeVar("F", bound=Callable[..., Any])


def in_reward_units(bound: F) -> F:
    """Decorator of a bound on a problem, whose theorem is about rewards in [0, 1]: rewards in [low, high] are mapped
    there, which divides all gaps by high - low, and the bound is multiplied by it. Refuses rewards that the scale does
    not hold, which policies meet clipped."""

    @wraps(bound)
    def scaled(problem: Problem, *arguments: Any, **named: Any) -> Any:
        check_problem(problem, uses_delays=False)
        if not problem.bounded:
            raise InvalidParameter(
                "theorems assume bounded rewards, and some rewards of this problem lie outside of its scale, "
                f"{problem.scale}, and are clipped; give reward laws that are bounded."
            )
        low, high = problem.scale
        if high - low == 1.0:
            return bound(problem, *arguments, **named)
        return _times(bound(_on_unit_scale(problem), *arguments, **named), high - low)

    return scaled  # type: ignore[return-value]


def _on_unit_scale(problem: Problem) -> Problem:
    """The problem with the means and gaps of the rewards that policies meet, in [0, 1]."""
    low, high = problem.scale
    unit = copy(problem)
    means, gaps = (problem.means - low) / (high - low), problem.gaps / (high - low)
    unit.__dict__.update(scale=(0.0, 1.0), bounded=True, means=means, gaps=gaps)
    return unit


def _times(value: Any, factor: float) -> Any:
    """A bound, a number or a list of rows of Table 1 times a factor."""
    if isinstance(value, list):
        return [_times(item, factor) for item in value]
    if isinstance(value, Mapping):
        return {name: _times(item, factor) for name, item in value.items()}
    if isinstance(value, Bound):
        statement = f"for rewards in [0, 1], {value.statement}; times {factor:g}, the width of the scale"
        parts = {name: _times(getattr(value, name), factor) for name in ("value", "terms", "forms")}
        return replace(value, **parts, statement=statement)
    if hasattr(value, "setting"):  # a row of Table 1
        return replace(value, previous=_times(value.previous, factor), paper=_times(value.paper, factor))
    return None if value is None else value * factor


def check_horizon(horizon: int) -> int:
    """Check that a horizon is a whole number from 1 to 10^300."""
    if not is_integer(horizon) or not 1 <= horizon <= 10**300:
        raise InvalidParameter(f"horizon is {horizon!r}; give a whole number from 1 to 10^300, such as horizon=10_000.")
    return int(horizon)


def check_problem(problem: Problem, *, uses_delays: bool = True) -> Problem:
    """Check that this is a problem and, for what is about its delays, that none depends on the round: every theorem is
    about delays with one law."""
    if not isinstance(problem, Problem):
        raise InvalidParameter(f"problem is {problem!r}; give a Problem(rewards, delays).")
    for arm in range(problem.arms if uses_delays and problem.round_dependent else 0):
        law = problem.delay_law(arm)
        if law.depends_on_round:
            raise InvalidParameter(
                f"bounds do not apply because the delay of arm {arm} depends on the round "
                f"({shorten(repr(law), 80)}): the theorems are about delays with the same law in all rounds. Simulate "
                "the problem instead, or ask for the bounds of a problem with law.at(round)."
            )
    return problem


def quantile(problem: Problem, arm: int, level: float) -> float:
    """d_i(level), tolerant of rounding errors in the level."""
    return problem.delay_quantile(arm, max(level - 1e-12, 0.0))


def check_independent(problem: Problem, name: str) -> None:
    """Refuse delays that depend on the reward, for theorems of the reward-independent setting."""
    if problem.reward_dependent:
        raise InvalidParameter(
            f"{name} assumes delays that do not depend on the reward, and here an arm's delay does; "
            "optimistic_pessimistic(problem, horizon) is the bound that applies (OPSE, Theorem 5)."
        )


def split_arms(problem: Problem) -> tuple[list[int], list[int]]:
    """(suboptimal arms, best arms); a gap that is only a rounding error counts as 0."""
    suboptimal = problem.gaps > ROUNDED_GAP
    return [int(arm) for arm in np.flatnonzero(suboptimal)], [int(arm) for arm in np.flatnonzero(~suboptimal)]


def zero_bound(name: str, source: str) -> Bound:
    """The bound where every arm is a best one: there is no regret."""
    return Bound(name, source, 0.0, {"learning": 0.0, "waiting": 0.0}, statement=f"R = 0: {EQUAL}")


def sum_of_terms(
    name: str,
    source: str,
    terms: dict[str, float],
    formula: str,
    details: str = "",
    levels: tuple[tuple[float, ...], tuple[float, ...]] = ((), ()),
    order: bool = False,
) -> Bound:
    """The bound with these terms, and quantiles and delays ``levels``. Its statement is the formula, the terms with
    their sum, and the details."""
    value = sum(terms.values())
    numbers = " + ".join(quantity(term) for term in terms.values())
    return Bound(name, source, value, terms, *levels, f"{formula}{numbers} = {quantity(value)}{details}", order)


def in_arm_order(
    arms: int, chosen: list[int], quantiles: Array, delays: Array, best: Mapping[int, tuple[float, float]] | None = None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Quantiles and delays of the arms ``chosen``, and those of ``best`` arms, in arm order; NaN for the others."""
    known = dict(zip(chosen, zip(quantiles.tolist(), delays.tolist(), strict=True), strict=True)) | dict(best or {})
    levels, rounds = zip(*(known.get(arm, (math.nan, math.nan)) for arm in range(arms)), strict=True)
    return levels, rounds


def bound_of(policy: Any, problem: Problem, horizon: int) -> Bound | None:
    """The regret bound of a policy on a problem; None if no theorem applies.

    That is so if there is none for this policy or this variant of it (``PrefixUCB(spread=True)``), if its horizon is
    another or its ``confidence`` is a number, as it is by default (theorems are for c = ln T: ``confidence="theory"``),
    or if the theorem does not allow delays that depend on the reward. A policy names its theorem in ``regret_bound``.
    Where a delay depends on the round, no theorem applies to any policy, and an error says so.

    Parameters
    ----------
    policy
        The policy with its parameters.
    problem
        The problem: its gaps and the laws of its delays.
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import Fixed
    >>> from belated.policies import SuccessiveElimination
    >>> from belated.rewards import Bernoulli
    >>> problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(200))
    >>> bound_of(SuccessiveElimination(confidence="theory"), problem, 10_000)
    <Bound for SE: 3,740 (Theorem 2, a quantile for each arm)>
    >>> bound_of(SuccessiveElimination(), problem, 10_000) is None
    True
    """
    if isinstance(policy, type) or not hasattr(policy, "regret_bound"):
        raise InvalidParameter(f"policy is {policy!r}; give a policy, such as SuccessiveElimination().")
    return _cached_bound(policy, check_problem(problem), horizon)


@lru_cache(1024)
def _cached_bound(policy: Any, problem: Problem, horizon: int) -> Bound | None:
    """Claims, figures and reports ask for the same bounds again and again."""
    bound: Bound | None = policy.regret_bound(problem, horizon)
    return bound
