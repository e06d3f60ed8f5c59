"""Optimistic-Pessimistic Successive Elimination: the paper's Algorithm 4, for delays that depend on the reward."""

from __future__ import annotations

from typing import Any

from belated.policies import Arm, ConfidencePolicy, EliminationPolicy, policy, radius
from belated.problem import Problem
from belated.theory import Bound, optimistic_pessimistic


@policy
class OptimisticPessimisticElimination(EliminationPolicy, ConfidencePolicy):
    """Successive elimination whose bounds hold whatever the missing feedback is.

    The lower bound counts every missing reward as 0, the upper bound as 1: with m pulls, n feedbacks and their sum S,
    they are S/m - sqrt(2c/m) and (S + m - n)/m + sqrt(2c/m). They contain the interval that a learner without delay
    would have, so they stay valid when the delay depends on the reward, and when feedback is lost because of its
    reward (Theorem 5).

    Lancewicki, Segal, Koren, Mansour (2021), Algorithm 4.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], OptimisticPessimisticElimination(confidence=0.5))
    >>> for _ in range(40):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 1.0 if decision.arm == "good" else 0.0)
    >>> [(arm.arm, arm.active, arm.eliminated_at) for arm in bandit.summary()]
    [('bad', False, 11), ('good', True, None)]
    """

    label = "OPSE"
    formula = "SE with bounds S/m - sqrt(2c/m) and (S + m - n)/m + sqrt(2c/m)"
    covers_missing = True

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return arm.total / m - radius(policy, m)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return (arm.total + (arm.pulls - arm.observed)) / m + radius(policy, m)

    @staticmethod
    def bound_keys(policy: Any, arm: Arm) -> Any:
        return arm.total, arm.total + (arm.pulls - arm.observed)

    @staticmethod
    def bounds_at(policy: Any, pulls: Any, lower_key: Any, upper_key: Any) -> Any:
        m = max(pulls, 1.0)
        return lower_key / m - radius(policy, m), upper_key / m + radius(policy, m)

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        return optimistic_pessimistic(problem, horizon) if self.uses_theory(horizon) else None
