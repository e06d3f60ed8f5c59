"""Delays from a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.errors import InvalidParameter
from belated.formatting import shorten
from belated.kernel.law_table import BEYOND, NEVER, LawTable
from belated.rewards import RewardLaw
from belated.validation import Probability


@delay_law
class Empirical(DelayLaw):
    """A sample of delays, all equally likely, and the share ``never`` of feedback that never came.

    >>> log = Empirical([0, 3, 3, 10], never=0.2)
    >>> log.quantile(0.5), log.quantile(0.8), log.quantile(0.9)
    (3, 10, inf)
    """

    formula = "P(D = g) = (1 - never) (share of g in delays), P(never) = never"

    delays: Sequence[int]
    never: Probability = 0.0

    def _validate(self) -> None:
        try:
            sample = np.asarray(self.delays, np.float64)
            sample = np.sort(sample) if sample.ndim == 1 else np.zeros(0)
        except (TypeError, ValueError, OverflowError):
            sample = np.array([np.nan])
        good = sample.size > 0 and np.all(np.isfinite(sample)) and sample[0] >= 0 and sample[-1] <= 2**53
        if not good or np.any(sample != np.floor(sample)):
            raise InvalidParameter(
                f"Empirical: delays are {shorten(repr(self.delays), 80)}; give a list of at least one whole number "
                ">= 0. Feedback that never came goes into never, as a share."
            )
        object.__setattr__(self, "delays", tuple(sample.astype(np.int64).tolist()))

    @property
    def longest(self) -> float:
        return self.delays[-1] if self.never < 1.0 else 0

    @property
    def expected(self) -> float:
        return math.inf if self.never > 0.0 else math.fsum(self.delays) / len(self.delays)

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        below = np.searchsorted(np.asarray(self.delays), floor_rounds(rounds), side="right")
        return np.asarray((1.0 - self.never) * (below / len(self.delays)))

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        sample = np.minimum(np.asarray(self.delays), BEYOND)
        if self.never == 1.0:
            return builder.fixed(NEVER)
        rest = NEVER if self.never > 0.0 else sample[-1]  # what a uniform beyond the sample gives
        start = builder.ints([*sample, rest])
        return builder.own(Empirical, x=sample.size / (1.0 - self.never), i=start, j=sample.size)

    @staticmethod
    def draw(row: LawRow, laws: LawTable, u: Any) -> Any:
        start, size = np.uint32(row.i), float(row.j)
        return np.int64(laws.whole[start + np.uint32(min(u * row.x, size))])
