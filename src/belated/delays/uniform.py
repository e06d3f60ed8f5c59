"""Uniform delays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.errors import InvalidParameter
from belated.kernel.law_table import BEYOND, LawTable
from belated.rewards import RewardLaw
from belated.validation import Rounds


@delay_law
class Uniform(DelayLaw):
    """Every integer from ``low`` to ``high``, both included, with the same probability.

    Parameters
    ----------
    low
        The shortest delay, in rounds.
    high
        The longest delay, in rounds; not below ``low``.

    Examples
    --------
    >>> Uniform(10, 19).quantile(0.5)
    14
    """

    formula = "P(D = g) = 1 / (high - low + 1) for g = low, ..., high"

    low: Rounds
    high: Rounds

    def _validate(self) -> None:
        if self.low > self.high:
            raise InvalidParameter(
                f"Uniform: low is {self.low} and high is {self.high}; give whole numbers 0 <= low <= high."
            )

    @property
    def longest(self) -> float:
        return self.high

    @property
    def expected(self) -> float:
        return (self.low + self.high) / 2.0

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.clip((floor_rounds(rounds) - self.low + 1.0) / (self.high - self.low + 1.0), 0.0, 1.0)

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        return builder.own(Uniform, i=self.low, j=self.high)

    @staticmethod
    def draw(row: LawRow, laws: LawTable, u: Any) -> Any:
        low, high = row.i, row.j
        return min(low + np.int64(u * (high - low + 1)), np.int64(BEYOND))
