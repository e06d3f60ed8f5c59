"""Mixtures of delay laws."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.delays._base import what_law_is
from belated.errors import InvalidParameter
from belated.rewards import RewardLaw
from belated.validation import Domain, check_number

_WEIGHT = Domain(0, 1e12)


@delay_law
class Mixture(DelayLaw):
    """One of several laws, drawn with probability proportional to its weight (>= 0).

    Parameters
    ----------
    parts : list of (weight, law)
        The laws and their weights, which need not add up to 1.

    Examples
    --------
    >>> from belated.delays import Fixed, Never
    >>> late_or_lost = Mixture([(0.7, Fixed(100)), (0.3, Never())])
    >>> late_or_lost.quantile(0.7), late_or_lost.quantile(0.71)
    (100, inf)
    """

    formula = "P(D <= g) = sum of weight_j P(D_j <= g) / sum of weights"

    parts: Sequence[tuple[float, DelayLaw]]

    def _validate(self) -> None:
        if isinstance(self.parts, str) or not isinstance(self.parts, Sequence) or len(self.parts) == 0:
            raise InvalidParameter(f"Mixture: parts are {self.parts!r}; give a list of at least one (weight, law).")
        parts = []
        for j, part in enumerate(self.parts):
            if not isinstance(part, Sequence) or len(part) != 2 or not isinstance(part[1], DelayLaw):
                is_reward = isinstance(part, Sequence) and len(part) == 2 and isinstance(part[1], RewardLaw)
                mistaken = f", whose law is {what_law_is(part[1])}" if is_reward else ""
                raise InvalidParameter(
                    f"Mixture: part {j} is {part!r}{mistaken}; give (weight, delay law), such as (0.5, Fixed(10))."
                )
            parts.append((check_number(f"Mixture: the weight of part {j}", part[0], _WEIGHT), part[1]))
        total = math.fsum(weight for weight, _ in parts)
        if not total > 0.0:
            raise InvalidParameter("Mixture: all weights are 0; give at least one weight > 0.")
        if abs(total - 1.0) > 1e-12:
            parts = [(weight / total, law) for weight, law in parts]
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def _present(self) -> list[tuple[float, DelayLaw]]:
        return [(weight, law) for weight, law in self.parts if weight > 0.0]

    @property
    def never(self) -> float:
        return min(math.fsum(weight * law.never for weight, law in self._present), 1.0)  # weights are rounded

    @property
    def longest(self) -> float:
        return max(law.longest for _, law in self._present)

    @property
    def expected(self) -> float:
        return math.fsum(weight * law.expected for weight, law in self._present)

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        total = np.zeros(np.shape(rounds))
        rest = np.zeros(np.shape(rounds))  # compensated summation: ten parts of 0.1 sum to 1
        for weight, law in self._present:
            term = weight * law.cdf(rounds)
            grown = total + term
            rest = rest + np.where(total >= term, (total - grown) + term, (term - grown) + total)
            total = grown
        return np.where(
            floor_rounds(rounds) >= self.longest, 1.0 - self.never, np.minimum(total + rest, 1.0 - self.never)
        )

    @property
    def depends_on_reward(self) -> bool:
        return any(law.depends_on_reward for _, law in self._present)

    @property
    def depends_on_round(self) -> bool:
        return any(law.depends_on_round for _, law in self._present)

    def at(self, now: int) -> DelayLaw:
        return Mixture([(weight, law.at(now)) for weight, law in self.parts])

    def given(self, reward: RewardLaw) -> DelayLaw:
        if not self.depends_on_reward:
            return self
        return Mixture([(weight, law.given(reward)) for weight, law in self._present])

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        return builder.mixture(self._present, reward)
