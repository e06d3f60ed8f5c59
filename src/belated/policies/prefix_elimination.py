"""Successive elimination with prefix brackets."""

from __future__ import annotations

from belated.policies import EliminationPolicy, PrefixPolicy, policy
from belated.problem import Problem
from belated.theory import Bound, prefix_elimination


@policy
class PrefixElimination(EliminationPolicy, PrefixPolicy):
    """OPSE with tighter bounds, for callers who know which decision feedback belongs to.

    The upper bound is the smallest, over prefixes of the first M pulls of an arm, of p + r(p) with p = (S_M + x_M)/M,
    the lower bound the largest p - r(1 - p) with p = S_M/M; S_M and x_M are the sum of the feedback and the number of
    missing ones among these pulls, and r(p) = min(sqrt(2c/M), b + sqrt(b(b + 2p))) with b = 4c/M. They lie inside
    OPSE's (M = all pulls, sqrt(2c/M)): old pulls, whose feedback has arrived, are not diluted by young ones that are
    still pending.

    With c = ln T (``confidence="theory"`` and a horizon) both hold for every joint law of reward and delay, and regret
    is at most the sum of 346 ln T / gap_i + ln K max of gap_i max(d_i, d_best)(1 - gap_i/4), and a little more: see the
    page on prefix brackets. With another ``confidence`` no such bound is proven.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], PrefixElimination(confidence=0.5))
    >>> for _ in range(40):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 1.0 if decision.arm == "good" else 0.0)
    >>> [(arm.arm, arm.active, arm.eliminated_at) for arm in bandit.summary()]
    [('bad', False, 11), ('good', True, None)]
    """

    label = "Prefix-SE"
    formula = (
        "SE with bounds max_M p - r(1 - p), p = S_M/M, and min_M p + r(p), p = (S_M + x_M)/M, "
        "r(p) = min(sqrt(b/2), b + sqrt(b(b + 2p))), b = 4c/M, M first pulls"
    )
    version = 2  # 0.1.0 might eliminate an arm on an exact tie of its bounds
    introduced_here = True

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        return prefix_elimination(problem, horizon) if self.uses_theory(horizon) else None
