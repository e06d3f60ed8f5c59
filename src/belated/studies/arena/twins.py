"""Twins of the arena: two scenarios that look alike for some rounds and have different best arms, and what no policy
can have on both of them.

The twin lemma. Up to round tau a policy sees the same in A and in B, so its choices have the same law. Let arm s be the
best of A by gap a (to every other arm), in B worse than the best by gap b, and N the expected pulls of s up to tau:

    R_A >= a (tau - N)    and    R_B >= b N.

So R_A / a + R_B / b >= tau for every policy. In a family of problems this holds for each draw; with the least gaps that
can be drawn it holds for the means.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from belated.delays import ByReward
from belated.errors import InvalidParameter
from belated.problem import Problem
from belated.specs.problems import DeclaredFamily
from belated.studies.arena.scenarios import Scenario

TOLERANCE = 1e-9
"""Probabilities that differ by less are the same."""
POSITIONS = (0.0, 0.5, 1.0)
"""Where in their ranges families of problems are compared."""


@dataclass(frozen=True)
class TwinLimit:
    """What the twin lemma says about a pair of scenarios: for every policy there is an N from 0 to ``rounds`` with
    R_first >= first_gap (rounds - N) and R_second >= second_gap N."""

    rounds: int
    """For how many rounds the two look alike, tau; 1 if they differ from the first feedback on."""
    first_gap: float = 0.0
    second_gap: float = 0.0
    """Both are 0 if the same arm is the best."""

    @property
    def regret(self) -> float:
        """The least that the larger of a policy's two regrets can be: tau a b / (a + b), where both bounds are equal.

        >>> TwinLimit(1000, 0.2, 0.3).regret
        120.0
        """
        total = self.first_gap + self.second_gap
        return self.rounds * self.first_gap * self.second_gap / total if total > 0.0 else 0.0

    def ratio(self, first_best: float, second_best: float) -> float:
        """The least that the geometric mean of a policy's two ratios can be, where a ratio is a regret divided by the
        least of its scenario, ``first_best`` and ``second_best``:

            sqrt( min over N of  max(1, a (tau - N) / first_best) max(1, b N / second_best) ).

        A ratio is never below 1, as it is one to the least. Where both factors are above 1, the product of a falling
        and a rising line is concave in N, so the minimum is at an end: either ratio is 1 there.

        >>> round(TwinLimit(1000, 0.2, 0.3).ratio(20.0, 30.0), 12)  # N = 100 or N = 900: one is 1, the other 9
        3.0
        """
        first_line, second_line = self.first_gap / first_best, self.second_gap / second_best
        if first_line == 0.0 or second_line == 0.0:
            return 1.0
        low, high = 1.0 / second_line, self.rounds - 1.0 / first_line  # between them both are above 1
        if low >= high:
            return 1.0
        return math.sqrt(max(1.0, min(first_line * (self.rounds - low), second_line * high)))


def pairs(scenarios: Sequence[Scenario]) -> Iterator[tuple[int, int]]:
    """The numbers of twins of which both are there, in the order of the first."""
    number_of = {scenario.name: number for number, scenario in enumerate(scenarios)}
    for number, scenario in enumerate(scenarios):
        other = number_of.get(scenario.twin, -1)
        if other > number:
            yield number, other


@cache
def twin_limit(first: Scenario, second: Scenario) -> TwinLimit:
    """The twin lemma's limit of a pair, from its problems alone. Where the lemma holds for more than one arm, that with
    the largest limit on the regrets."""
    rounds = rounds_alike(first, second)
    (low_1, high_1), (low_2, high_2) = (mean_ranges(scenario) for scenario in (first, second))
    limits = [TwinLimit(rounds)]
    for arm in range(first.arms):
        lead, behind = _lead(low_1, high_1, arm), _behind(low_2, high_2, arm)
        if lead > 0.0 and behind > 0.0:
            limits.append(TwinLimit(rounds, lead, behind))
        lead, behind = _lead(low_2, high_2, arm), _behind(low_1, high_1, arm)
        if lead > 0.0 and behind > 0.0:
            limits.append(TwinLimit(rounds, behind, lead))
    return max(limits, key=lambda limit: limit.regret)


def _lead(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], arm: int) -> float:
    """By how much an arm is better than every other one, at least."""
    return float(low[arm] - np.delete(high, arm).max())


def _behind(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], arm: int) -> float:
    """By how much an arm is worse than the best one, at least."""
    return float(np.delete(low, arm).max() - high[arm])


def problem_at(scenario: Scenario, position: float) -> Problem:
    """The problem of a scenario whose drawn numbers all have this position in their ranges, from 0 to 1."""
    problem = scenario.problem
    if isinstance(problem, DeclaredFamily):
        return problem.at(position)
    if isinstance(problem, Problem):
        return problem
    raise InvalidParameter(f"{scenario.name} is a family of its own, and its ranges are not known; give it no twin.")


def mean_ranges(scenario: Scenario) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The least and the largest mean that each arm can have."""
    ends = np.array([problem_at(scenario, position).means for position in (0.0, 1.0)])
    return ends.min(axis=0), ends.max(axis=0)


def rounds_alike(first: Scenario, second: Scenario) -> int:
    """For how many rounds two scenarios look alike, whatever is drawn: if their feedback has the same law up to delay
    g - 1, choices up to round g + 1 have. Problems are compared arm by arm, at both ends of their ranges and in the
    middle. A range may be written the other way round in one of them: as a mean here, as a gap there."""
    return max(
        min(
            _rounds_alike(problem_at(first, position), problem_at(second, other), first.horizon)
            for position, other in zip(POSITIONS, others, strict=True)
        )
        for others in (POSITIONS, POSITIONS[::-1])
    )


def _rounds_alike(one: Problem, other: Problem, horizon: int) -> int:
    alike = horizon - 1
    for arm in range(one.arms):
        apart = np.abs(_seen(one, arm, alike) - _seen(other, arm, alike)).max(axis=0) > TOLERANCE
        alike = int(apart.argmax()) if apart.any() else alike
    return alike + 1


def _seen(problem: Problem, arm: int, rounds: int) -> npt.NDArray[np.float64]:
    """P(reward = v, delay <= g) for each possible reward v (line) and each g below ``rounds`` (column)."""
    reward, law = problem.rewards[arm], problem.delays[arm]
    if reward.atoms is None:
        raise InvalidParameter(f"arm {arm} has rewards between others; twins need rewards of few values.")
    laws = law.by_value(reward) if isinstance(law, ByReward) else dict.fromkeys(reward.atoms, law)
    delays = np.arange(max(rounds, 1))
    return np.array([share * laws[value].cdf(delays) for value, share in sorted(reward.atoms.items())])
