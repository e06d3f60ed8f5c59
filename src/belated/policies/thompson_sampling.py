"""Thompson sampling on the feedback that arrived.

Most draws cannot be the largest, so they are not finished: bounds on the odds of each draw, from its first words, leave
one arm in most rounds, and the draws of those that they leave are compared otherwise."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from belated.kernel.beta_bounds import MARGIN, odds_bounds
from belated.kernel.jit import outlined
from belated.kernel.math import beta_draw, normal_quantile
from belated.policies import Arm, Policy, State, inline, policy, word
from belated.policies._base.state import Shape
from belated.validation import ShapeNumber


@inline
def beta_parameters(policy: Any, observed: Any, total: Any) -> Any:
    """The parameters of an arm's Beta posterior."""
    return policy.successes + total, policy.failures + (observed - total)


_ARM, _ODDS = np.int64(2**32 - 1), np.int64(-(2**32))
"""Halves of a word: an arm's number, and the odds that it has, as the upper half of a float. As integers such words are
in the order of the odds."""


@inline
def draw(policy: Any, state: State, arm: Any, now: Any) -> Any:
    """The draw from an arm's posterior in round ``now``."""
    a, b = beta_parameters(policy, state.observed[arm], state.total[arm])
    return beta_draw(a, b, word(state.key[0], state.key[1], now, arm))


@outlined
def largest_draw(policy: Any, state: State, now: Any, leader: Any, bar: Any) -> Any:
    """The arm with the largest draw, where the odds of the leader's are above the bar, and those of the other arms are
    at most their score."""
    largest = bar / (1.0 + bar)
    chosen = leader
    for arm in range(state.arms):
        if state.score[arm] > bar and arm != leader:
            drawn = draw(policy, state, arm, now)
            if drawn > largest:
                largest = drawn
                chosen = np.int64(arm)
    if chosen != leader:
        drawn = draw(policy, state, leader, now)
        if drawn > largest or (drawn == largest and leader < chosen):
            chosen = leader
    return chosen


@inline
def posterior(policy: Any, arm: Arm) -> Any:
    """Mean and standard deviation of an arm's posterior."""
    a, b = beta_parameters(policy, arm.observed, arm.total)
    mean = a / (a + b)
    return mean, math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))


@policy
class ThompsonSampling(Policy):
    """Draw a mean for each arm from its posterior and pull the arm with the largest draw; pending pulls are ignored.

    The posterior of an arm with n feedbacks of sum S is Beta(successes + S, failures + n - S); a reward inside (0, 1)
    counts as that share of a success. The draws come from the policy's own random stream. The bounds in a summary are
    those of the posterior: its mean plus and minus 1.96 standard deviations, clipped to [0, 1].

    Thompson (1933); Chapelle and Li (2011); under delays, Wu and Wager (2022).

    Parameters
    ----------
    successes
        The first parameter of the prior Beta(successes, failures): successes that are counted before any feedback.
    failures
        The second one: failures that are counted before any feedback.

    Examples
    --------
    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], ThompsonSampling(), seed=1)
    >>> for _ in range(200):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> bandit.summary()[1].pulls > 180
    True
    """

    label = "Thompson"
    formula = "argmax of draws from Beta(successes + S, failures + n - S)"
    supports_retraction = True
    supports_new_arms = True

    successes: ShapeNumber = 1.0
    failures: ShapeNumber = 1.0

    class KernelParams(NamedTuple):
        """The prior."""

        successes: float
        failures: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return self.successes, self.failures

    @classmethod
    def shape(cls) -> Shape:
        return Shape(scored=True)

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        key_a, key_b = state.key[0], state.key[1]
        best = np.int64(0)
        for arm in range(state.arms):  # vectorised, where the processor can
            a, b = beta_parameters(policy, state.observed[arm], state.total[arm])
            low, high = odds_bounds(a, b, word(key_a, key_b, now, arm))
            state.score[arm] = high
            best = max(best, (np.float64(low).view(np.int64) & _ODDS) | np.int64(arm))
        leader = np.int64(best & _ARM)
        bar = np.int64(best & _ODDS).view(np.float64) * (1.0 - MARGIN)
        close = np.int64(0)
        for arm in range(state.arms):
            close += np.int64(state.score[arm] > bar)
        return leader if close == 1 else largest_draw(policy, state, now, leader, bar)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        mean, deviation = posterior(policy, arm)
        return max(mean - normal_quantile(0.975) * deviation, 0.0)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        mean, deviation = posterior(policy, arm)
        return min(mean + normal_quantile(0.975) * deviation, 1.0)
