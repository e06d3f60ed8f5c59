"""Optimistic-Pessimistic Successive Elimination: the paper's Algorithm 4, for delays that depend on the reward."""

from __future__ import annotations

from belated.policies._base.confidence import BracketPolicy
from belated.policies._base.elimination import EliminationPolicy
from belated.policies._base.policy import policy


@policy
class OptimisticPessimisticElimination(EliminationPolicy, BracketPolicy):
    """Successive elimination whose bounds hold whatever the missing answers are.

    The lower bound takes every missing answer for 0, the upper bound for 1: with m pulls, n answers and their sum S,
    they are S/m - sqrt(2c/m) and (S + m - n)/m + sqrt(2c/m). They contain the interval that a learner without delay
    would have, so they stay valid when the delay depends on the reward, and when answers are lost because of what they
    would have said (Theorem 5).

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
