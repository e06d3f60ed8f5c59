"""UCB with prefix brackets."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from belated.errors import InvalidParameter
from belated.policies import Arm, IndexPolicy, PrefixPolicy, inline, interface, label_with, policy, radius
from belated.policies._base.prefix import (
    KEPT_SPREAD,
    LEAST_DOUBT,
    MISSING,
    SPREAD,
    SPREAD_SUM,
    TRUSTED_MEAN,
    TRUSTED_PULLS,
    WIDE_UPPER,
    begin_search,
    current_column,
    is_stale,
    prefix_radius,
    validate,
)
from belated.problem import Problem
from belated.theory import Bound, prefix_ucb

WIDER = math.sqrt(2.0)
"""With ``spread``, the radius inside U is wider by this factor: 2c in place of c."""
EXTRAPOLATED = 4.0
"""With ``spread``, the trusted prefix counts as up to this many times its pulls."""


@inline
def spread_index(policy: Any, arm: Arm) -> Any:
    """The smaller of U with the wider radius, and the bound of the trusted prefix, the one with the smallest doubt
    x_M/M + sqrt(2c/M), with the radius of up to four times its pulls."""
    row, memory = arm.number, arm.memory
    if is_stale(memory, row, 0, SPREAD):
        wide_upper, least_doubt, trusted_mean, trusted_pulls = np.inf, np.inf, 0.0, 0.0
        pulls, most, missing = 0.0, 0.0, 0.0
        column, keep = begin_search(memory, row, 0, SPREAD)
        if column > 0:
            wide_upper, least_doubt = memory[row, KEPT_SPREAD], memory[row, KEPT_SPREAD + 1]
            trusted_mean, trusted_pulls = memory[row, KEPT_SPREAD + 2], memory[row, KEPT_SPREAD + 3]
            pulls, most = memory[row, KEPT_SPREAD + 4], memory[row, KEPT_SPREAD + 5]
            missing = memory[row, KEPT_SPREAD + 6]
        while pulls + memory[row, column] < arm.pulls:
            if column == keep:
                memory[row, KEPT_SPREAD], memory[row, KEPT_SPREAD + 1] = wide_upper, least_doubt
                memory[row, KEPT_SPREAD + 2], memory[row, KEPT_SPREAD + 3] = trusted_mean, trusted_pulls
                memory[row, KEPT_SPREAD + 4], memory[row, KEPT_SPREAD + 5] = pulls, most
                memory[row, KEPT_SPREAD + 6] = missing
            here = memory[row, column]
            missing_here = here - memory[row, column + 1]
            pulls += here
            missing += missing_here
            most += memory[row, column + 2] + missing_here
            column += 3
            if here > 0.0:
                width = radius(policy, pulls)
                mean = most / pulls
                high = mean + prefix_radius(mean, WIDER * width)
                wide_upper = high if high < wide_upper else wide_upper
                doubt = missing / pulls + width
                if doubt <= least_doubt:
                    least_doubt, trusted_mean, trusted_pulls = doubt, mean, pulls
        validate(memory, row, 0, SPREAD, column)
        memory[row, WIDE_UPPER], memory[row, LEAST_DOUBT], memory[row, TRUSTED_MEAN] = (
            wide_upper,
            least_doubt,
            trusted_mean,
        )
        memory[row, TRUSTED_PULLS], memory[row, SPREAD_SUM], memory[row, MISSING] = trusted_pulls, most, missing
    column = current_column(memory, row, 0)
    missing_here = memory[row, column] - memory[row, column + 1]
    width = radius(policy, arm.pulls)
    mean = (memory[row, SPREAD_SUM] + (memory[row, column + 2] + missing_here)) / arm.pulls
    wide_upper = min(memory[row, WIDE_UPPER], mean + prefix_radius(mean, WIDER * width))
    if (memory[row, MISSING] + missing_here) / arm.pulls + width <= memory[row, LEAST_DOUBT]:
        return min(wide_upper, mean + prefix_radius(mean, width))
    trusted_mean = memory[row, TRUSTED_MEAN]
    pulls = min(arm.pulls, EXTRAPOLATED * memory[row, TRUSTED_PULLS])
    return min(wide_upper, trusted_mean + prefix_radius(trusted_mean, radius(policy, pulls)))


@policy
class PrefixUCB(IndexPolicy, PrefixPolicy):
    """UCB on the upper prefix bracket, for callers who know which decision feedback belongs to.

    Each arm once in index order, then the arm with the largest U, ties to the lowest index. U is the smallest, over
    prefixes of the arm's first M pulls, of p + min(sqrt(2c/M), b + sqrt(b(b + 2p))) with p = (S_M + x_M)/M and b =
    4c/M; S_M and x_M are the sum of the feedback and the number of missing ones among these pulls. With c = ln T
    (``confidence="theory"`` and a horizon) U holds for every joint law of reward and delay, and regret is at most the
    sum of 39 ln T / gap_i + gap_i d_i(1 - gap_i/4), and a little more; it does not depend on the best arm's delay: see
    the page on prefix brackets. With another ``confidence`` no such bound is proven.

    ``spread=True`` (shown as Prefix-UCB spread) spreads the pulls while feedback is pending: the index is the smaller
    of U, with 2c in place of c, and the bound of the prefix with the smallest x_M/M + sqrt(2c/M), with the radius of up
    to 4 M pulls. It has no such guarantee, with any c, and wins where delays are harmless.

    Parameters
    ----------
    spread
        Whether to spread the pulls over the arms while feedback is pending: better where delays are harmless, without a
        guarantee.

    Examples
    --------
    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], PrefixUCB())
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [3, 97]
    """

    label = label_with("Prefix-UCB", "spread")
    formula = "argmax min_M p + min(sqrt(b/2), b + sqrt(b(b + 2p))), p = (S_M + x_M)/M, b = 4c/M, M first pulls"
    arena_variants = ({}, {"spread": True})
    introduced_here = True

    spread: bool = False

    class KernelParams(NamedTuple):
        """The confidence level; whether pulls are spread."""

        c: float
        growth: float
        spread: float

    def _validate(self) -> None:
        if not isinstance(self.spread, bool):
            raise InvalidParameter(f"PrefixUCB: spread is {self.spread!r}; give True or False.")

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return (*super().kernel_params(arms), float(self.spread))

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        return spread_index(policy, arm) if policy.spread > 0.0 else interface.upper(policy, arm)

    def regret_bound(self, problem: Problem, horizon: int) -> Bound | None:
        return prefix_ucb(problem, horizon) if self.uses_theory(horizon) and not self.spread else None
