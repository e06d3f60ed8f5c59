"""Log-normal delays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.kernel.law_table import BEYOND
from belated.kernel.math import exp, normal_quantile_straight
from belated.rewards import RewardLaw
from belated.validation import Positive


@delay_law
class LogNormal(DelayLaw):
    """The integer part of a log-normal variable with this ``median``; ``sigma`` is the standard deviation of its
    logarithm.

    Parameters
    ----------
    median
        The median of the variable before it is rounded down, in rounds.
    sigma
        The standard deviation of its logarithm: 1 makes the longest of ten delays about five times the median, 2 about
        twenty times.

    Examples
    --------
    >>> LogNormal(100.0, 1.5).quantile(0.5)
    99
    """

    formula = "D = floor(X), ln X ~ Normal(ln median, sigma^2)"

    median: Positive
    sigma: Positive

    @property
    def expected(self) -> float:
        """The sum of P(X >= g) over g = 1, 2, ...: the first terms one by one, the rest as an integral that starts at
        the middle of a step."""
        from scipy.special import ndtr

        start = 100_000
        z = (np.log(np.arange(1.0, start)) - math.log(self.median)) / self.sigma
        edge = start - 0.5
        above = (math.log(self.median) - math.log(edge)) / self.sigma
        mean = math.log(self.median) + self.sigma**2 / 2.0
        rest = math.exp(min(mean, 700.0)) * ndtr(above + self.sigma) - edge * ndtr(above)
        return math.fsum(ndtr(-z)) + max(float(rest), 0.0)

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        from scipy.special import ndtr

        edge = np.maximum(floor_rounds(rounds) + 1.0, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((np.log(edge) - math.log(self.median)) / self.sigma))

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        from scipy.special import ndtri

        mean, sigma = math.log(self.median), self.sigma
        return builder.formula(LogNormal, mean, sigma, lambda u: np.exp(mean + sigma * ndtri(u)), max_unsure=0.5)

    @staticmethod
    def transform(u: Any) -> Any:
        return normal_quantile_straight(u)

    @staticmethod
    def real_delay(row: LawRow, z: Any) -> Any:
        return min(exp(row.x + row.y * z), float(BEYOND))
