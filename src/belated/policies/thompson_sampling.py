"""Thompson sampling on the feedback that arrived."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from belated.kernel.math import beta_draw, beta_draw_straight, normal_quantile
from belated.policies import Arm, Policy, State, inline, policy, word
from belated.policies._base.state import Shape
from belated.validation import ShapeNumber


@inline
def beta_parameters(policy: Any, observed: Any, total: Any) -> Any:
    """The parameters of an arm's Beta posterior."""
    return policy.successes + total, policy.failures + (observed - total)


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
        for arm in range(state.total.shape[0]):  # vectorised, where the processor can
            a, b = beta_parameters(policy, state.observed[arm], state.total[arm])
            state.score[arm] = beta_draw_straight(a, b, word(key_a, key_b, now, arm))
        best = -1.0
        chosen = 0
        for arm in range(state.arms):
            draw = state.score[arm]
            if math.isnan(draw):
                a, b = beta_parameters(policy, state.observed[arm], state.total[arm])
                draw = beta_draw(a, b, word(key_a, key_b, now, arm))
            if draw > best:
                best = draw
                chosen = arm
        return np.int64(chosen)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        mean, deviation = posterior(policy, arm)
        return max(mean - normal_quantile(0.975) * deviation, 0.0)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        mean, deviation = posterior(policy, arm)
        return min(mean + normal_quantile(0.975) * deviation, 1.0)
