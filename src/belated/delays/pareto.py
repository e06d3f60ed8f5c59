"""Heavy-tailed delays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.delays._base import check_level
from belated.kernel.law_table import BEYOND
from belated.kernel.math import LARGEST_EXPONENT, exp, log
from belated.rewards import RewardLaw
from belated.validation import Positive


@delay_law
class Pareto(DelayLaw):
    """The integer part of a Pareto variable: P(X > x) = (x / scale)^-alpha for x >= scale.

    The mean is infinite for alpha <= 1.

    Parameters
    ----------
    alpha
        The exponent of the tail: the smaller, the heavier. To be twice as late is 2^alpha times rarer.
    scale
        The smallest value of the variable before it is rounded down, in rounds.

    Examples
    --------
    >>> Pareto(0.2).quantile(0.5), Pareto(0.2).quantile(1.0)
    (31, inf)
    """

    formula = "D = floor(X), P(X > x) = (x / scale)^-alpha for x >= scale"

    alpha: Positive
    scale: Positive = 1.0

    @property
    def expected(self) -> float:
        """The sum of P(X >= g) over g = 1, 2, ...: 1 up to the scale, then a Hurwitz zeta function."""
        if self.alpha <= 1.0:
            return math.inf
        from scipy.special import zeta

        sure = math.floor(self.scale)
        return float(sure + self.scale**self.alpha * zeta(self.alpha, sure + 1))

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        edge = np.maximum((floor_rounds(rounds) + 1.0) / self.scale, 1.0)  # floor(X) <= g exactly if X < g + 1
        return np.asarray(-np.expm1(-self.alpha * np.log(edge)))

    def quantile(self, q: float) -> float:
        q = check_level(q)
        if q == 1.0:
            return math.inf
        exponent = -math.log1p(-q) / self.alpha
        if exponent > 36.0:  # beyond 2^52 whole numbers are no longer told apart
            return math.inf if exponent > LARGEST_EXPONENT else math.ceil(self.scale * math.exp(exponent)) - 1
        return super().quantile(q)

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        exponent, most = -1.0 / self.alpha, math.exp(LARGEST_EXPONENT)
        return builder.formula(
            Pareto, self.scale, exponent, lambda u: self.scale * np.minimum(u**exponent, most), max_unsure=0.25
        )

    @staticmethod
    def real_delay(row: LawRow, u: Any) -> Any:
        return min(row.x * exp(log(u) * row.y), float(BEYOND))
