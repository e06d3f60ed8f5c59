"""Any distribution of scipy.stats as a delay law."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, delay_law, floor_rounds
from belated.delays._scipy_cdf import ScipyCdf, scipy_cdf
from belated.errors import InvalidParameter
from belated.rewards import RewardLaw
from belated.rewards._scipy import describe, freeze, is_discrete

_FIRST_BLOCK, _BLOCK = 1 << 12, 1 << 16
"""Rounds of the distribution function evaluated at a time: few at first, as most laws end early."""
_LONGEST_TABLE = 1 << 25
"""The longest table of a distribution function, in rounds (256 MiB)."""
_SUMMED = 1 << 16
"""Terms of an expectation that are summed one by one."""


@delay_law
class FromScipy(DelayLaw):
    """The integer part of a frozen ``scipy.stats`` distribution, continuous or discrete, on [0, inf).

    The engine draws from a table of its distribution function, up to the horizon or until less than 2^-53 of the mass
    is left.

    Parameters
    ----------
    frozen : distribution of scipy.stats
        A distribution of ``scipy.stats`` with its parameters, such as ``scipy.stats.expon(scale=100)``; in rounds.

    Examples
    --------
    >>> import scipy.stats
    >>> FromScipy(scipy.stats.expon(scale=100)).quantile(0.5)
    69
    """

    formula = "D = floor(X), X ~ frozen"

    frozen: Any

    def _validate(self) -> None:
        try:
            object.__setattr__(self, "frozen", freeze(self.frozen))
            low, high = (float(end) for end in self.frozen.support())
            with np.errstate(all="ignore"):  # a scale of 0, say: its support is no number, as is said below
                float(self.frozen.cdf(1.0))
        except (AttributeError, TypeError, ValueError):
            raise InvalidParameter(
                f"FromScipy: {describe(self.frozen)} is not a single distribution of scipy.stats with its parameters; "
                "give one, such as scipy.stats.expon(scale=100)."
            ) from None
        if math.isnan(low) or math.isnan(high) or low < 0.0:
            raise InvalidParameter(
                f"FromScipy: the distribution's support is [{low:g}, {high:g}]; a delay is >= 0, so give one on "
                "[0, inf)."
            )

    def __repr__(self) -> str:
        return f"FromScipy({describe(self.frozen)})"

    @property
    def longest(self) -> float:
        high = float(self.frozen.support()[1])
        if math.isinf(high):
            return math.inf
        top = math.floor(high)
        return top if is_discrete(self.frozen) or top < high or top == 0 else top - 1

    @property
    def expected(self) -> float:
        """The sum of P(X >= g) over g = 1, 2, ...: the first terms one by one; the rest as the integral of P(X > x)
        from the middle of a step on, which is E[X] minus the integral up to there."""
        mean = float(self.frozen.mean())
        if not math.isfinite(mean):
            return math.inf
        if is_discrete(self.frozen) and float(self.frozen.support()[0]).is_integer():
            return mean
        stop = int(min(self.longest, _SUMMED))
        total = math.fsum(self._function.survival(np.arange(1.0, stop + 1.0)))
        if stop == self.longest or float(self.frozen.sf(stop)) < 1e-16:
            return total
        edges = np.concatenate([[0.0], 2.0 ** np.arange(-20.0, math.log2(stop)), [stop + 0.5]])
        nodes, weights = np.polynomial.legendre.leggauss(48)
        half = np.diff(edges)[:, None] / 2.0
        points = (edges[:-1, None] + half) + half * nodes
        return total + max(mean - float((half * weights * self.frozen.sf(points)).sum()), 0.0)

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        g = floor_rounds(rounds)
        return np.where(g >= 0.0, self._function.at(self._edges(g)), 0.0)

    @cached_property
    def _function(self) -> ScipyCdf:
        return scipy_cdf(self.frozen)

    def _edges(self, g: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Where the distribution function of X is P(floor(X) <= g): floor(X) <= g exactly if X < g + 1."""
        return np.nextafter(g + 1.0, g) if is_discrete(self.frozen) else g + 1.0

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        blocks = []
        start, size = 0, _FIRST_BLOCK
        last = min(self.longest, builder.horizon)
        while start <= last:
            block = self._function.row(self._edges(np.arange(float(start), min(start + size, last + 1))))
            blocks.append(block)
            start, size = start + size, min(2 * size, _BLOCK)
            if block[-1] >= 1.0 - 2.0**-53:
                break
            if start > _LONGEST_TABLE:
                raise InvalidParameter(
                    f"{self!r} has delays beyond {_LONGEST_TABLE:,} rounds, and the horizon is "
                    f"{builder.horizon:,}: its table would be too long. Give a shorter horizon, or another law."
                )
        table = np.concatenate(blocks)
        if math.isfinite(self.longest) and last == self.longest:
            table[-1] = 1.0
        return builder.steps(table)
