"""Rewards in another unit."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter, UnsupportedSupport
from belated.kernel.law_table import LawRow, LawTableBuilder
from belated.rewards._base import RewardLaw, discrete_cdf, reward_law
from belated.validation import AMOUNT

Amount = Annotated[float, AMOUNT]


@reward_law
class Scaled(RewardLaw):
    """``low`` + (``high`` - ``low``) X, where X has a law on [0, 1]: euros, minutes, stars.

    Policies meet the rewards of a :class:`~belated.Problem` mapped to [0, 1] through the problem's ``scale``, which
    holds the rewards of all its arms. Means, gaps and regret are in the unit of the rewards.

    Parameters
    ----------
    law : reward law
        The law of X, any reward law on [0, 1]. In a file its key is ``of``, as ``law`` is the name of this law.
    low
        The reward where X is 0.
    high
        The reward where X is 1; above ``low``.

    Examples
    --------
    >>> from belated.rewards import Beta
    >>> revenue = Scaled(Beta(2.0, 6.0), 0, 200)
    >>> revenue.mean, revenue.support
    (50.0, (0.0, 200.0))
    """

    formula = "R = low + (high - low) X, X ~ law"

    law: RewardLaw
    low: Amount
    high: Amount

    def _validate(self) -> None:
        if not isinstance(self.law, RewardLaw):
            is_delay_law = hasattr(self.law, "depends_on_reward")  # that package is above this one
            mistaken = ", a delay law from belated.delays" if is_delay_law else ""
            raise InvalidParameter(
                f"Scaled: law is {self.law!r}{mistaken}; give a reward law on [0, 1], such as "
                "Scaled(Beta(2, 5), 0, 200)."
            )
        if not self.low < self.high:
            raise InvalidParameter(
                f"Scaled: low is {self.low:g} and high is {self.high:g}; give low < high, such as "
                "Scaled(Beta(2, 5), 0, 200)."
            )
        low, high = self.law.support
        if not 0.0 <= low <= high <= 1.0:
            raise UnsupportedSupport(
                f"Scaled: the rewards of {self.law!r} are in [{low:g}, {high:g}]; give a law on [0, 1]."
            )

    def _value(self, x: float) -> float:
        return self.high if x == 1.0 else self.low + (self.high - self.low) * x

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.law.support
        return self._value(low), self._value(high)

    @property
    def mean(self) -> float:
        return self._value(self.law.mean)

    @property
    def atoms(self) -> dict[float, float] | None:
        return None if self.law.atoms is None else {self._value(x): p for x, p in self.law.atoms.items()}

    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        if self.atoms is not None:
            return discrete_cdf(self.atoms, x)
        return self.law.cdf((np.asarray(x, np.float64) - self.low) / (self.high - self.low))

    def encode(self, builder: LawTableBuilder) -> LawRow:
        return self.encode_scaled(builder, 0.0, 1.0)

    def encode_scaled(self, builder: LawTableBuilder, low: float, high: float) -> LawRow:
        width = self.high - self.low
        return self.law.encode_scaled(builder, (low - self.low) / width, (high - self.low) / width)
