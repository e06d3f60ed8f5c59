"""Feedback immediately, or never."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, Fixed, LawRow, LawTableBuilder, Never, delay_law, floor_rounds
from belated.rewards import RewardLaw
from belated.validation import Probability


@delay_law
class PacketLoss(DelayLaw):
    """Delay 0 with probability ``observed``, else never: the paper's packet loss.

    Parameters
    ----------
    observed
        The probability that feedback comes; it then comes at once.

    Examples
    --------
    >>> PacketLoss(0.1).quantile(0.1), PacketLoss(0.1).quantile(0.2)
    (0, inf)
    """

    formula = "P(D = 0) = observed, P(never) = 1 - observed"

    observed: Probability

    @property
    def never(self) -> float:
        return 1.0 - self.observed

    @property
    def longest(self) -> float:
        return 0

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.where(floor_rounds(rounds) >= 0.0, self.observed, 0.0)

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        return builder.mixture([(self.observed, Fixed(0)), (1.0 - self.observed, Never())], reward)
