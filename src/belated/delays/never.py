"""Feedback that never comes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.kernel.law_table import NEVER
from belated.rewards import RewardLaw


@delay_law
class Never(DelayLaw):
    """Feedback never comes.

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
        return np.zeros(floor_rounds(rounds).shape)

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        return builder.fixed(NEVER)
