"""Constant rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from belated.kernel.law_table import LawRow, LawTable, LawTableBuilder
from belated.rewards._base import RewardLaw, discrete_cdf, reward_law
from belated.validation import Probability


@reward_law
class Constant(RewardLaw):
    """Always ``value``.

    Parameters
    ----------
    value
        The reward of every pull.

    Examples
    --------
    >>> Constant(0.25).mean
    0.25
    """

    formula = "P(value) = 1"

    value: Probability

    @property
    def mean(self) -> float:
        return self.value

    @property
    def atoms(self) -> dict[float, float]:
        return {self.value: 1.0}

    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return discrete_cdf(self.atoms, x)

    def encode(self, builder: LawTableBuilder) -> LawRow:
        return builder.own(Constant, self.value)

    @staticmethod
    def draw(row: LawRow, laws: LawTable, word: Any) -> Any:
        return row.x
