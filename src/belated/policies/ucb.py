"""UCB with delays: the paper's Algorithm 1."""

from __future__ import annotations

from typing import Any

from belated.policies._base.confidence import ConfidencePolicy, upper_at
from belated.policies._base.index import IndexPolicy
from belated.policies._base.policy import policy


@policy
class UCB(IndexPolicy, ConfidencePolicy):
    """The arm with the largest upper confidence bound on what was observed.

    Each arm once in index order, then the arm with the largest S/n + sqrt(2c/n), ties to the lowest index; n counts the
    arm's answers (at least 1), S is their sum. Under a delay d it pulls what looks best for d rounds before it learns:
    its regret can grow by K d (Theorem 1).

    Auer, Cesa-Bianchi, Fischer (2002); with delays, Joulani, György, Szepesvári (2013); Lancewicki, Segal, Koren,
    Mansour (2021), Algorithm 1.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], UCB(confidence=1.0))
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
        return upper_at(policy, observed, total)
