"""Bernoulli rewards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.kernel.jit import inline
from belated.kernel.law_table import LawRow, LawTable, LawTableBuilder
from belated.rewards._base import RewardLaw, discrete_cdf, reward_law
from belated.validation import Probability


@reward_law
class Bernoulli(RewardLaw):
    """1 with probability ``mean``, else 0.

    Parameters
    ----------
    mean
        The probability of the reward 1.

    Examples
    --------
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
        return builder.own(Bernoulli, i=math.ceil(self.mean * 2.0**52 - 0.5))

    @staticmethod
    def draw(row: LawRow, laws: LawTable, word: Any) -> Any:
        return 1.0 if is_success(row.i, word) else 0.0


@inline
def is_success(threshold: Any, word: Any) -> Any:
    """Whether ``to_unit(word) < mean``, in integers."""
    return np.int64(word >> np.uint64(12)) < threshold
