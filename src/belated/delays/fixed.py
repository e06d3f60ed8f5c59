"""The same delay every time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.rewards import RewardLaw
from belated.validation import Rounds


@delay_law
class Fixed(DelayLaw):
    """Always ``rounds``; 0 is the classical bandit without delay.

    Parameters
    ----------
    rounds
        The delay of all feedback, in rounds.

    Examples
    --------
    >>> Fixed(200).quantile(0.5)
    200
    """

    formula = "P(D = rounds) = 1"

    rounds: Rounds

    @property
    def longest(self) -> float:
        return self.rounds

    @property
    def expected(self) -> float:
        return self.rounds

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return np.where(floor_rounds(rounds) >= self.rounds, 1.0, 0.0)

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        return builder.fixed(self.rounds)
