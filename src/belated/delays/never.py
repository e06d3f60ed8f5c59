"""Feedback that never comes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from belated.delays.base import DelayLaw, delay_law, whole
from belated.engine.laws import FIXED, NEVER, LawsBuilder, Row, row
from belated.rewards.base import RewardLaw


@delay_law
class Never(DelayLaw):
    """No feedback at all.

    >>> Never().quantile(0.01)
    inf
    """

    formula = "P(never) = 1"

    @property
    def never(self) -> float:
        return 1.0

    @property
    def longest(self) -> float:
        return 0

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.zeros(whole(rounds).shape)

    def encode(self, builder: LawsBuilder, reward: RewardLaw) -> Row:
        return row(FIXED, lo=NEVER)
