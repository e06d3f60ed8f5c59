"""Delays from a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
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

    Parameters
    ----------
    delays : list of whole numbers >= 0
        The delays that were seen, in rounds, in any order; repeated ones count as often as they occur.
    never
        The share of feedback that never came.

    Examples
    --------
    >>> log = Empirical([0, 3, 3, 10], never=0.2)
    >>> log.quantile(0.5), log.quantile(0.8), log.quantile(0.9)
    (3, 10, inf)
    """

    formula = "P(D = g) = (1 - never) (share of g in delays), P(never) = never"

    delays: Sequence[int]
    never: Probability = 0.0

    def _validate(self) -> None:
        _refuse_times(self.delays)
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

    def __repr__(self) -> str:
        low, high = self.delays[0], self.delays[-1]
        sample = (
            list(self.delays) if len(self.delays) <= 20 else f"<{len(self.delays):,} delays from {low} to {high:,}>"
        )
        return f"Empirical({sample}, never={self.never:g})" if self.never else f"Empirical({sample})"

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


def _refuse_times(delays: Any) -> None:
    """Refuse durations and points in time, of Python, numpy or pandas, with advice on how to make rounds of them."""
    kind = getattr(getattr(delays, "dtype", None), "kind", "O")  # "M" and "m" are numpy's letters for the two
    listed = isinstance(delays, Sequence) or (kind == "O" and hasattr(delays, "__iter__"))
    types = {type(delay) for delay in delays} if listed and not isinstance(delays, str | dict) else set()
    shown = shorten(" ".join(repr(delays).split()), 80)
    if kind == "M" or any(issubclass(cls, date | np.datetime64) for cls in types):
        raise InvalidParameter(
            f"Empirical: delays are points in time, {shown}; give delays in rounds. Subtract the "
            "time of each decision from that of its feedback, and divide by the time between two decisions, rounded "
            "down: ((feedback - decided) / between).astype(int)."
        )
    if kind == "m" or any(issubclass(cls, timedelta | np.timedelta64) for cls in types):
        raise InvalidParameter(
            f"Empirical: delays are durations, {shown}; give delays in rounds. Divide them by the "
            "time between two decisions, rounded down: [delay // timedelta(seconds=30) for delay in delays], or "
            "(delays / np.timedelta64(30, 's')).astype(int)."
        )
