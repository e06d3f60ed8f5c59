"""Successive Elimination with delays: the paper's Algorithm 2."""

from __future__ import annotations

from typing import Any

from belated.policies import Arm, ConfidencePolicy, EliminationPolicy, policy, radius
from belated.problem import Problem
from belated.theory import Bound, successive_elimination


@policy
class SuccessiveElimination(EliminationPolicy, ConfidencePolicy):
    """Pull every active arm once, in index order; then eliminate each arm whose upper bound is below another active
    arm's lower bound.

    The bounds are S/n ± sqrt(2c/n), where n counts the arm's feedbacks (at least 1) and S is their sum. Delays that do
    not depend on the reward cost it only a quantile of the delay, once for all arms together (Theorem 2). Under
    reward-dependent delays it can eliminate the best arm.

    Lancewicki, Segal, Koren, Mansour (2021), Algorithm 2; without delays, Even-Dar, Mannor, Mansour (2006).

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], SuccessiveElimination(confidence=0.5))
    >>> for _ in range(40):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 1.0 if decision.arm == "good" else 0.0)
    >>> [(arm.arm, arm.active, arm.eliminated_at) for arm in bandit.summary()]
    [('bad', False, 11), ('good', True, None)]
    """

    label = "SE"
    formula = "sweep the active arms; drop i if S_i/n_i + sqrt(2c/n_i) < max_j S_j/n_j - sqrt(2c/n_j)"
    reads_pulls = False

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        n = max(arm.observed, 1.0)
        return arm.total / n - radius(policy, n)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        n = max(arm.observed, 1.0)
        return arm.total / n + radius(policy, n)

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        applies = self.uses_theory(horizon) and not problem.reward_dependent
        return successive_elimination(problem, horizon) if applies else None
