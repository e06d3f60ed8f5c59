"""What a theorem says about a problem: a number, its parts, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from belated.errors import InvalidParameter
from belated.problem import Problem

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
        if math.isinf(self.value):
            return f"nothing is guaranteed by {self.name}'s bound: {self._why_infinite()}"
        if self.value == 0.0:
            return f"the {self.name} bound is 0: every arm is a best one"
        largest = max(self.terms, key=lambda name: self.terms[name])
        share = f"{self.terms[largest] / self.value:.0%} of the {self.name} bound is the {largest} term"
        levels = [q for q in self.quantiles if not math.isnan(q)]
        if not levels or self.terms.get("waiting", 0.0) == 0.0:
            return share
        ends = sorted({f"{min(levels):.3g}", f"{max(levels):.3g}"})
        which = f"the {ends[0]} quantile of the delay" if len(ends) == 1 else f"quantiles {ends[0]} to {ends[1]}"
        return f"{share}; waiting for {which} costs {number(self.terms['waiting'])}"

    def _why_infinite(self) -> str:
        names = [name for name, part in self.terms.items() if math.isinf(part)]
        return f"the {' and the '.join(names)} term is infinite" if names else "no quantile of a delay is finite"

    def __repr__(self) -> str:
        return f"<Bound for {self.name}: {number(self.value)} ({self.source})>"


def number(value: float) -> str:
    """A bound as text: four digits, or "infinite"."""
    if math.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if abs(value) >= 1000.0 or value == 0.0 else f"{value:.4g}"


def check_horizon(horizon: int) -> int:
    """A horizon is a whole number >= 1."""
    if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 1:
        raise InvalidParameter(f"horizon is {horizon!r}; give a whole number >= 1, such as horizon=10_000.")
    return int(horizon)


def check_problem(problem: Problem) -> Problem:
    """A problem, or a clear error."""
    if not isinstance(problem, Problem):
        raise InvalidParameter(f"problem is {problem!r}; give a Problem(rewards, delays).")
    return problem


def check_independent(problem: Problem, name: str) -> None:
    """Theorems of the reward-independent setting refuse delays that depend on the reward."""
    if problem.reward_dependent:
        raise InvalidParameter(
            f"{name} assumes delays that do not depend on the reward, and here an arm's delay does; "
            "optimistic_pessimistic(problem, horizon) is the bound that applies (OPSE, Theorem 5)."
        )
