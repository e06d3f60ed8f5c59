"""Bernoulli rewards."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from belated.kernel.law_table import BERNOULLI, LawRow, LawTableBuilder, law_row
from belated.rewards._base import RewardLaw, discrete_cdf, reward_law
from belated.validation import Probability


@reward_law
class Bernoulli(RewardLaw):
    """1 with probability ``mean``, else 0.

    >>> Bernoulli(0.3).mean, float(Bernoulli(0.3).cdf(0.5))
    (0.3, 0.7)
    """

    formula = "P(1) = mean, P(0) = 1 - mean"

    mean: Probability

    @property
    def atoms(self) -> dict[float, float]:
        return {value: p for value, p in ((0.0, 1.0 - self.mean), (1.0, self.mean)) if p > 0.0}

    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return discrete_cdf(self.atoms, x)

    def encode(self, builder: LawTableBuilder) -> LawRow:
        return law_row(BERNOULLI, lo=math.ceil(self.mean * 2.0**52 - 0.5))
