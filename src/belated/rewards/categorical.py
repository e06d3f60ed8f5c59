"""Rewards on a few values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter, UnsupportedSupport
from belated.kernel.law_table import LawRow, LawTable, LawTableBuilder, cumulative_before, last_at_most
from belated.kernel.rng import to_unit
from belated.rewards._base import RewardLaw, discrete_cdf, reward_law
from belated.validation import Domain, check_number

_NUMBER = Domain()


@reward_law
class Categorical(RewardLaw):
    """``values`` in [0, 1], each with its probability.

    Parameters
    ----------
    values : list of numbers
        The rewards, numbers in [0, 1], each once.
    probabilities : list of numbers
        The probability of each of them; they add up to 1.

    Examples
    --------
    >>> Categorical([0.0, 0.5, 1.0], [0.2, 0.5, 0.3]).mean
    0.55
    """

    formula = "P(values[j]) = probabilities[j]"

    values: Sequence[float]
    probabilities: Sequence[float]

    def _validate(self) -> None:
        for name in ("values", "probabilities"):
            numbers = getattr(self, name)
            if isinstance(numbers, str) or not isinstance(numbers, Sequence | np.ndarray) or len(numbers) == 0:
                raise InvalidParameter(f"Categorical: {name} is {numbers!r}; give a list of at least one number.")
            checked = tuple(check_number(f"Categorical: {name}[{j}]", v, _NUMBER) + 0.0 for j, v in enumerate(numbers))
            object.__setattr__(self, name, checked)
        if len(self.values) != len(self.probabilities):
            raise InvalidParameter(
                f"Categorical: {len(self.values)} values and {len(self.probabilities)} probabilities; give one "
                "probability for each value."
            )
        outside = [v for v in self.values if not 0.0 <= v <= 1.0]
        if outside:
            raise UnsupportedSupport(
                f"Categorical: the value {outside[0]} is outside [0, 1]; give values in [0, 1], and "
                "Scaled(Categorical(...), low, high) for another unit."
            )
        if len(set(self.values)) != len(self.values):
            raise InvalidParameter(f"Categorical: values are {list(self.values)}; give each value once.")
        total = math.fsum(self.probabilities)
        if min(self.probabilities) < 0.0 or abs(total - 1.0) > 1e-9:
            raise InvalidParameter(
                f"Categorical: probabilities are {list(self.probabilities)}, their sum {total:.12g}; give numbers >= "
                "0 with sum 1."
            )

    @property
    def mean(self) -> float:
        return math.fsum(v * p for v, p in zip(self.values, self.probabilities, strict=True))

    @property
    def atoms(self) -> dict[float, float]:
        return {v: p for v, p in sorted(zip(self.values, self.probabilities, strict=True)) if p > 0.0}

    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        return discrete_cdf(self.atoms, x)

    def encode(self, builder: LawTableBuilder) -> LawRow:
        below = cumulative_before(list(self.atoms.values()))
        start = builder.reals(np.concatenate([below, list(self.atoms)]))
        return builder.own(Categorical, i=start, j=len(self.atoms))

    @staticmethod
    def draw(row: LawRow, laws: LawTable, word: Any) -> Any:
        start, size = row.i, row.j  # P(a smaller value) of each value, then the values
        return laws.real[start + size + last_at_most(laws.real, start, size, to_unit(word))]
