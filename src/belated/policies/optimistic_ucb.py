"""Optimistic-UCB: the paper's remark on UCB under reward-dependent delays."""

from __future__ import annotations

from belated.policies._base.confidence import BracketPolicy
from belated.policies._base.index import IndexPolicy
from belated.policies._base.policy import policy


@policy
class OptimisticUCB(IndexPolicy, BracketPolicy):
    """UCB's rule with OPSE's upper bound: every missing answer counts as 1.

    Each arm once in index order, then the arm with the largest (S + m - n)/m + sqrt(2c/m), ties to the lowest index.

    Lancewicki, Segal, Koren, Mansour (2021), Section 4.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], OptimisticUCB(confidence=1.0))
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [3, 97]
    """

    label = "Optimistic-UCB"
    formula = "argmax (S + m - n)/m + sqrt(2c/m)"
