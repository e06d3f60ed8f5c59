"""Poisson delays."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.rewards import RewardLaw
from belated.validation import NonNegative


@delay_law
class Poisson(DelayLaw):
    """The Poisson distribution with this ``mean``.

    Parameters
    ----------
    mean
        The mean delay, in rounds.

    Examples
    --------
    >>> Poisson(200).quantile(0.5)
    200
    """

    formula = "P(D = g) = mean^g e^-mean / g!"

    mean: NonNegative

    @property
    def longest(self) -> float:
        return math.inf if self.mean > 0.0 else 0

    @property
    def expected(self) -> float:
        return self.mean

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        from scipy.special import pdtr

        g = floor_rounds(rounds)
        return np.where(g >= 0.0, pdtr(np.maximum(g, 0.0), self.mean), 0.0)

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        if self.mean == 0.0:
            return builder.fixed(0)
        width = 12.0 * math.sqrt(self.mean) + 60.0  # beyond it less than 2^-53 of the mass
        first = max(math.floor(self.mean - width), 0)
        stop = min(math.ceil(self.mean + width), builder.horizon) + 1
        return builder.steps(np.asarray(self.cdf(np.arange(first, max(stop, first + 1)))), first)
