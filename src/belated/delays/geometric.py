"""Geometric delays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.kernel.law_table import BEYOND
from belated.kernel.math import log
from belated.rewards import RewardLaw
from belated.validation import NonNegative


@delay_law
class Geometric(DelayLaw):
    """The geometric distribution on 0, 1, 2, ... with this ``mean``: in each round the feedback arrives with
    probability 1 / (1 + mean).

    Parameters
    ----------
    mean
        The mean delay, in rounds.

    Examples
    --------
    >>> Geometric(200).quantile(0.5)
    138
    """

    formula = "P(D > g) = (mean / (1 + mean))^(g + 1)"

    mean: NonNegative

    @property
    def longest(self) -> float:
        return math.inf if self.mean > 0.0 else 0

    @property
    def expected(self) -> float:
        return self.mean

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        g = floor_rounds(rounds)
        if self.mean == 0.0:
            return np.where(g >= 0.0, 1.0, 0.0)
        return np.where(g >= 0.0, -np.expm1((np.maximum(g, 0.0) + 1.0) * self._log_stay), 0.0)

    @property
    def _log_stay(self) -> float:
        """Log of the probability that the feedback does not arrive in a round."""
        return -math.log1p(1.0 / self.mean)

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        if self.mean == 0.0:
            return builder.fixed(0)
        return builder.own(Geometric, x=1.0 / self._log_stay)

    @staticmethod
    def real_delay(row: LawRow, u: Any) -> Any:
        return min(log(u) * row.x, float(BEYOND))
