"""UCB with delays: the paper's Algorithm 1."""

from __future__ import annotations

from typing import Any

from belated.policies import Arm, ConfidencePolicy, IndexPolicy, interface, policy, radius
from belated.problem import Problem
from belated.theory import Bound, joulani


@policy
class UCB(IndexPolicy, ConfidencePolicy):
    """The arm with the largest upper confidence bound, computed from the feedback that arrived.

    Each arm once in index order, then the arm with the largest S/n + sqrt(2c/n), ties to the lowest index; n counts the
    arm's feedbacks (at least 1), S is their sum. Under a delay d it pulls what looks best for d rounds before it learns
    more: its regret can grow by K d (Theorem 1).

    Auer, Cesa-Bianchi, Fischer (2002); with delays, Joulani, György, Szepesvári (2013); Lancewicki, Segal, Koren,
    Mansour (2021), Algorithm 1.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], UCB())
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [3, 97]
    """

    label = "UCB"
    formula = "argmax S/n + sqrt(2c/n)"
    reads_pulls = False

    @staticmethod
    def index_at(policy: Any, observed: Any, total: Any) -> Any:
        return total / observed + radius(policy, observed)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return interface.index_at(policy, max(arm.observed, 1.0), arm.total)

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        applies = self.uses_theory(horizon) and not problem.reward_dependent
        return joulani(problem, horizon) if applies else None
