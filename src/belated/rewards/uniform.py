"""Uniform rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.kernel.law_table import LawRow, LawTable, LawTableBuilder
from belated.kernel.rng import to_unit
from belated.rewards._base import RewardLaw, reward_law
from belated.validation import Probability


@reward_law
class Uniform(RewardLaw):
    """Uniform on [``low``, ``high``].

    Parameters
    ----------
    low
        The smallest reward.
    high
        The largest reward; above ``low``.

    Examples
    --------
    >>> Uniform(0.25, 0.75).mean, float(Uniform(0.25, 0.75).cdf(0.5))
    (0.5, 0.5)
    """

    formula = "density 1 / (high - low) on [low, high]"

    low: Probability
    high: Probability

    def _validate(self) -> None:
        if not self.low < self.high:
            raise InvalidParameter(f"Uniform: low is {self.low} and high is {self.high}; give 0 <= low < high <= 1.")

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2.0

    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.clip((np.asarray(x, np.float64) - self.low) / (self.high - self.low), 0.0, 1.0)

    def encode(self, builder: LawTableBuilder) -> LawRow:
        return builder.own(Uniform, self.low, self.high - self.low)

    @staticmethod
    def draw(row: LawRow, laws: LawTable, word: Any) -> Any:
        low, width = row.x, row.y
        return low + width * to_unit(word)
