"""Optimistic-UCB: the paper's remark on UCB under reward-dependent delays."""

from __future__ import annotations

from typing import Any

from belated.policies import Arm, ConfidencePolicy, IndexPolicy, policy, radius
from belated.problem import Problem
from belated.theory import Bound, optimistic_ucb


@policy
class OptimisticUCB(IndexPolicy, ConfidencePolicy):
    """UCB's rule with OPSE's upper bound: every missing reward counts as 1.

    Each arm once in index order, then the arm with the largest (S + m - n)/m + sqrt(2c/m), ties to the lowest index; m
    counts the arm's pulls, n its feedbacks, S is their sum.

    Lancewicki, Segal, Koren, Mansour (2021), Section 4.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], OptimisticUCB())
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [3, 97]
    """

    label = "Optimistic-UCB"
    formula = "argmax (S + m - n)/m + sqrt(2c/m)"
    covers_missing = True

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return arm.total / m - radius(policy, m)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return (arm.total + (arm.pulls - arm.observed)) / m + radius(policy, m)

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        return optimistic_ucb(problem, horizon) if self.uses_theory(horizon) else None
