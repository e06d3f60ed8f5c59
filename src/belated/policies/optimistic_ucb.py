"""Optimistic-UCB: the paper's remark on UCB under reward-dependent delays."""

from __future__ import annotations

from typing import Any

from belated.forms import hooks
from belated.forms.base import policy
from belated.forms.confidence import ConfidencePolicy, radius
from belated.forms.index import IndexPolicy
from belated.forms.state import Arm


@policy
class OptimisticUCB(IndexPolicy, ConfidencePolicy):
    """UCB's rule with OPSE's upper bound: every missing answer counts as 1.

    Each arm once in index order, then the arm with the largest S/m + (m - n)/m + sqrt(2c/m), ties to the lowest index.

    Lancewicki, Segal, Koren, Mansour (2021), Section 4.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], OptimisticUCB(confidence=1.0))
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [7, 93]
    """

    label = "Optimistic-UCB"
    formula = "argmax (S + m - n)/m + sqrt(2c/m)"

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return arm.total / m - radius(policy, m)

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        m = max(arm.pulls, 1.0)
        return arm.total / m + (arm.pulls - arm.observed) / m + radius(policy, m)

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        return hooks.upper(policy, arm)
