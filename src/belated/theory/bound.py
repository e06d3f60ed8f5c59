"""What a theorem says about a problem: a number, its parts, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from belated.errors import InvalidParameter
from belated.problem import Problem

ANYONE = "any algorithm"
"""Whom a lower bound is about."""

EQUAL = "every arm is a best one"
"""Why a bound may be 0."""

ROUNDED_GAP = 1e-12
"""Gaps up to this come from rounding, as 0.1 + 0.2 - 0.3 does, and are taken for 0."""


@dataclass(frozen=True)
class Bound:
    """A bound on the expected pseudo-regret."""

    name: str
    """The policy or the work that it is about."""
    source: str
    """Where it stands, such as "Theorem 2, eq. (2)"."""
    value: float
    """The bound; ``math.inf`` where nothing is guaranteed."""
    terms: Mapping[str, float]
    """Named parts, whose sum is the value."""
    quantiles: tuple[float, ...] = ()
    """The minimising quantile of each arm's delay, or the one quantile of all; NaN for an arm that has none."""
    delays: tuple[float, ...] = ()
    """The delay d_i(q_i) at each of these quantiles."""
    statement: str = ""
    """The theorem with the numbers put in."""
    order: bool = False
    """Whether it is the order of a bound, with constant 1, and not a bound."""
    forms: Mapping[str, Bound] = field(default_factory=dict)
    """Where a theorem has several forms, all of them; the bound itself is the smallest."""

    @property
    def driver(self) -> str:
        """In one sentence, what the bound is made of."""
        kind = "order" if self.order else "bound"
        name = f"the {self.name} {kind}" if self.name != ANYONE else "the lower bound"
        if math.isinf(self.value):
            return f"{name} guarantees nothing: {self._why_infinite()}"
        if self.value == 0.0:
            return f"{name} is 0" + (f": {EQUAL}" if EQUAL in self.statement else "")
        largest = max(self.terms, key=lambda term: self.terms[term])
        text = f"{_share(self.terms[largest], self.value)} of {name} is the {largest} term"
        levels = sorted(q for q in self.quantiles if not math.isnan(q))
        if not levels or self.terms.get("waiting", 0.0) == 0.0:
            return text
        return f"{text}; waiting for {_delays(levels[0], levels[-1])} costs {number(self.terms['waiting'])}"

    def _why_infinite(self) -> str:
        if math.isinf(self.terms.get("learning", 0.0)):
            return "some arm's feedback never comes"
        if "expected delays" in self.terms:
            return "an expected delay is infinite"
        return "a quantile of a delay that it waits for is never reached"

    def __repr__(self) -> str:
        return f"<Bound for {self.name}: {number(self.value)} ({self.source})>"


def _share(part: float, whole: float) -> str:
    """A part in per cent, never 100 where it is not all."""
    return f"{part / whole:.0%}" if part == whole or part / whole < 0.995 else "more than 99%"


def _delays(low: float, high: float) -> str:
    """What is waited for, from a quantile to another."""
    if f"{low:.3g}" != f"{high:.3g}":
        return f"the quantiles {low:.3g} to {high:.3g} of the delays"
    known = {"1": "the longest delay", "0.5": "the median delay"}
    return known.get(f"{low:.3g}", f"the {low:.3g} quantile of the delay")


def number(value: float) -> str:
    """A number as text: four digits at least, thousands set apart, "infinite".

    >>> number(1234567.8), number(999.96), number(0.123456), number(-0.0), number(-math.inf), number(math.nan)
    ('1,234,568', '1,000', '0.1235', '0', '-infinite', 'no number')
    """
    if math.isnan(value):
        return "no number"
    if math.isinf(value):
        return "infinite" if value > 0.0 else "-infinite"
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    short = float(f"{value:.4g}")
    return f"{value:,.0f}" if abs(short) >= 1000.0 else f"{short + 0.0:.4g}"


def check_horizon(horizon: int) -> int:
    """A horizon is a whole number from 1 to 10^300."""
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or not 1 <= horizon <= 10**300:
        raise InvalidParameter(f"horizon is {horizon!r}; give a whole number from 1 to 10^300, such as horizon=10_000.")
    return int(horizon)


def check_problem(problem: Problem) -> Problem:
    """A problem, or a clear error."""
    if not isinstance(problem, Problem):
        raise InvalidParameter(f"problem is {problem!r}; give a Problem(rewards, delays).")
    return problem


def quantile(problem: Problem, arm: int, level: float) -> float:
    """d_i(level), where a share that reaches the level up to rounding reaches it."""
    return problem.delay_quantile(arm, max(level - 1e-12, 0.0))


def check_independent(problem: Problem, name: str) -> None:
    """Theorems of the reward-independent setting refuse delays that depend on the reward."""
    if problem.reward_dependent:
        raise InvalidParameter(
            f"{name} assumes delays that do not depend on the reward, and here an arm's delay does; "
            "optimistic_pessimistic(problem, horizon) is the bound that applies (OPSE, Theorem 5)."
        )
