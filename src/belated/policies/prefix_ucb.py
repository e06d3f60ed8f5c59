"""UCB with prefix brackets."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.kernel.jit import inline
from belated.policies._base import interface
from belated.policies._base.confidence import level, radius, sharp
from belated.policies._base.index import IndexPolicy
from belated.policies._base.policy import NO_TABLE, label_with, policy
from belated.policies._base.prefix import (
    DOUBTED,
    MISSING,
    OLD,
    SPREAD,
    TELLING,
    TOLD,
    TOLD_FROM,
    WIDE,
    PrefixPolicy,
    close,
    opened,
)
from belated.policies._base.state import Arm

WIDER = math.sqrt(2.0)
"""How many times the radius inside U is, where pulls are spread: 2c in place of c."""
FURTHER = 4.0
"""How many times the pulls of the most telling prefix a spread index may take for known."""


@inline
def spread_upper(policy: Any, arm: Arm) -> Any:
    """The smaller of U, with a radius wider by the square root of 2, and the bound of the most telling prefix with the
    radius of up to four times its pulls."""
    row, memory = arm.number, arm.memory
    if memory[row, OLD + SPREAD] > 0.0:
        best, telling, told, given = np.inf, np.inf, 0.0, 0.0
        pulls, most, missing = 0.0, 0.0, 0.0
        place = 0
        while pulls + memory[row, place] < arm.pulls:
            here = memory[row, place]
            absent = here - memory[row, place + 1]
            pulls += here
            missing += absent
            most += memory[row, place + 2] + absent
            place += 3
            if here > 0.0:
                width = radius(policy, pulls)
                mean = most / pulls
                high = mean + sharp(mean, WIDER * width)
                best = high if high < best else best
                doubt = missing / pulls + width
                if doubt <= telling:
                    telling, told, given = doubt, mean, pulls
        close(arm, SPREAD, place)
        memory[row, WIDE], memory[row, TELLING], memory[row, TOLD] = best, telling, told
        memory[row, TOLD_FROM], memory[row, DOUBTED], memory[row, MISSING] = given, most, missing
    place = opened(arm)
    absent = memory[row, place] - memory[row, place + 1]
    width = radius(policy, arm.pulls)
    mean = (memory[row, DOUBTED] + (memory[row, place + 2] + absent)) / arm.pulls
    best = min(memory[row, WIDE], mean + sharp(mean, WIDER * width))
    if (memory[row, MISSING] + absent) / arm.pulls + width <= memory[row, TELLING]:
        return min(best, mean + sharp(mean, width))
    mean = memory[row, TOLD]
    return min(best, mean + sharp(mean, radius(policy, min(arm.pulls, FURTHER * memory[row, TOLD_FROM]))))


@policy
class PrefixUCB(IndexPolicy, PrefixPolicy):
    """UCB on the upper prefix bracket, for those who know which decision an answer belongs to.

    Each arm once in index order, then the arm with the largest U, ties to the lowest index. U is the smallest, over
    prefixes of the arm's first M pulls, of p + min(sqrt(2c/M), b + sqrt(b(b + 2p))) with p = (S_M + x_M)/M and b =
    4c/M; S_M and x_M are the sum of the answers and the number of missing ones among these pulls. With c = ln T
    (``confidence=None`` and a horizon) U holds for every joint law of reward and delay, and regret is at most the sum
    of 39 ln T / gap_i + gap_i d_i(1 - gap_i/4), and a little more; it does not depend on the best arm's delay: see the
    page on prefix brackets. With another ``confidence`` no such bound is proven.

    ``spread=True`` (shown as Prefix-UCB spread) spreads the pulls while it waits: of the most telling prefix (that with
    the smallest x_M/M + sqrt(2c/M)) it takes the bound, with the radius of up to 4 M pulls; where that is below U, with
    2c in place of c inside U, it is the index. It has no such guarantee, with any c, and wins where delays are
    harmless.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], PrefixUCB(confidence=1.0))
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [3, 97]
    """

    label = label_with("Prefix-UCB", "spread")
    formula = "argmax min_M p + min(sqrt(b/2), b + sqrt(b(b + 2p))), p = (S_M + x_M)/M, b = 4c/M, M first pulls"

    spread: bool = False

    class KernelParams(NamedTuple):
        """The confidence level; whether pulls are spread."""

        c: float
        growth: float
        spread: float
        table: npt.NDArray[np.float64] = NO_TABLE

    def _validate(self) -> None:
        if not isinstance(self.spread, bool):
            raise InvalidParameter(f"PrefixUCB: spread is {self.spread!r}; give True or False.")

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        c, growth = level(self.confidence, self.horizon, self.delta, arms)
        return c, growth, float(self.spread)

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        return spread_upper(policy, arm) if policy.spread > 0.0 else interface.upper(policy, arm)
