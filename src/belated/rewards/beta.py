"""Beta rewards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from belated.kernel.law_table import LawRow, LawTable, LawTableBuilder
from belated.kernel.math import beta_draw
from belated.rewards._base import RewardLaw, reward_law
from belated.validation import ShapeNumber


@reward_law
class Beta(RewardLaw):
    """The Beta distribution with shapes ``a`` and ``b``.

    Parameters
    ----------
    a
        The first shape: the larger it is compared with ``b``, the closer to 1 are the rewards.
    b
        The second shape. The mean is a / (a + b), and rewards vary less the larger a + b is.

    Examples
    --------
    >>> Beta(2.0, 6.0).mean
    0.25
    """

    formula = "density proportional to x^(a-1) (1-x)^(b-1) on [0, 1]"

    a: ShapeNumber
    b: ShapeNumber

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        from scipy.special import betainc

        return np.asarray(betainc(self.a, self.b, np.clip(np.asarray(x, np.float64), 0.0, 1.0)))

    def encode(self, builder: LawTableBuilder) -> LawRow:
        return builder.own(Beta, self.a, self.b)

    @staticmethod
    def draw(row: LawRow, laws: LawTable, word: Any) -> Any:
        return beta_draw(row.x, row.y, word)
