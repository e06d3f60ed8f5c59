"""Any distribution of scipy.stats as a reward law."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.kernel.law_table import LawRow, LawTable, LawTableBuilder, step_at
from belated.kernel.rng import to_unit
from belated.rewards._base import RewardLaw, reward_law
from belated.rewards._scipy import describe, freeze, is_discrete

_NODES, _QUANTILES = 1 << 12, 1 << 10
"""The distribution function is exact at as many equally spaced rewards, and at as many quantiles."""
_TAILS = 2.0 ** -np.arange(10.0, 53.0)
"""Quantiles beyond these, on both sides."""
_MOST_ATOMS = (1 << 8, 1 << 12, 1 << 16)
"""A discrete distribution has atoms if hardly any mass is as many values away from its middle."""
_LONGEST_TABLE = 1 << 20
"""A discrete distribution with more values in its range is sampled like a continuous one."""
_NO_MASS = 1e-17
"""A probability that is neglected."""

Reals = npt.NDArray[np.float64]


@reward_law
class FromScipy(RewardLaw):
    """A frozen ``scipy.stats`` distribution, continuous or discrete: Normal, Poisson, exponential, ...

    An unbounded distribution needs a scale that is stated, ``Problem(..., reward_range=(low, high))``, through which
    policies meet its rewards: clipped to [low, high], then mapped to [0, 1]. Regret is computed with the true means
    of the distribution, and policies learn the means of what they see, so the range should hold nearly all rewards:
    ``Problem.clipped`` is the probability that a reward of each arm is clipped, and a problem that clips more than one
    reward in a hundred, or whose best arm would change, is refused. No theorem covers clipped rewards, so bounds are
    refused as well.

    The engine draws by inversion, one uniform per reward. Of a discrete distribution the draws are exact. Of a
    continuous one the distribution function is exact at 4096 equally spaced rewards in the range, at 1024 quantiles and
    far into the tails, and linear in between.

    Parameters
    ----------
    frozen : distribution of scipy.stats
        The distribution with its parameters, such as ``scipy.stats.norm(100, 20)``; its mean must be finite.

    Examples
    --------
    >>> import scipy.stats
    >>> FromScipy(scipy.stats.norm(100, 20)).mean
    100.0
    >>> from belated import Problem
    >>> from belated.delays import Fixed
    >>> orders = [FromScipy(scipy.stats.poisson(3)), FromScipy(scipy.stats.poisson(4))]
    >>> problem = Problem(orders, Fixed(10), reward_range=(0, 20))
    >>> problem.gaps.tolist(), bool(problem.clipped.max() < 1e-8)
    ([1.0, 0.0], True)
    """

    formula = "R = X, X ~ frozen"

    frozen: Any

    def _validate(self) -> None:
        try:
            object.__setattr__(self, "frozen", freeze(self.frozen))
            low, high = (float(end) for end in self.frozen.support())
            with np.errstate(all="ignore"):  # a scale of 0, say: its support is no number, as is said below
                mean = float(self.frozen.mean())
        except (AttributeError, TypeError, ValueError):
            raise InvalidParameter(
                f"FromScipy: {describe(self.frozen)} is not a single distribution of scipy.stats with its parameters; "
                "give one, such as scipy.stats.norm(100, 20)."
            ) from None
        if math.isnan(low) or math.isnan(high) or not math.isfinite(mean):
            raise InvalidParameter(
                f"FromScipy: the distribution's mean is {mean:g} and its support [{low:g}, {high:g}]; regret needs a "
                "finite mean, so give another distribution, or other parameters."
            )

    def __repr__(self) -> str:
        return f"FromScipy({describe(self.frozen)})"

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.frozen.support()
        return float(low), float(high)

    @property
    def mean(self) -> float:
        return float(self.frozen.mean())

    @property
    def atoms(self) -> dict[float, float] | None:
        values = self._values()
        if values is None:
            return None
        return {v: p for v, p in zip(values.tolist(), self.frozen.pmf(values).tolist(), strict=True) if p > 0.0}

    def _values(self) -> Reals | None:
        """The values of a discrete distribution; None if it has too many or is continuous."""
        if not is_discrete(self.frozen):
            return None
        low, high = self.support
        listed = getattr(getattr(self.frozen, "dist", self.frozen), "xk", None)
        if listed is not None:
            values: Reals = np.sort(np.asarray(listed, np.float64))
            return np.asarray(values + (low - values[0]))  # where the distribution was moved to
        middle = float(self.quantile(0.5))
        for size in _MOST_ATOMS:
            first, last = max(low, middle - size), min(high, middle + size)
            below = float(self.cdf(first - 1.0)) if first > low else 0.0
            if below <= _NO_MASS and (last == high or float(self.frozen.sf(last)) <= _NO_MASS):
                return self._lattice(first, last)
        return None

    def _lattice(self, low: float, high: float) -> Reals:
        """The values from the last one up to ``low`` to the first one from ``high`` on; they are a whole number
        apart."""
        middle = float(self.quantile(0.5))
        return middle + np.arange(math.floor(low - middle), math.ceil(high - middle) + 1.0)

    def quantile(self, q: npt.ArrayLike, *, upper: bool = False) -> Reals:
        """The q quantile; with ``upper``, the 1 - q quantile."""
        old, new = ("isf", "iccdf") if upper else ("ppf", "icdf")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # scipy's, of quantiles far out in a tail
            return np.asarray(getattr(self.frozen, old if hasattr(self.frozen, old) else new)(q), np.float64)

    def quantile_range(self, share: float) -> tuple[float, float]:
        rest = (1.0 - share) / 2.0
        low, high = self.support
        return (
            low if math.isfinite(low) else float(self.quantile(rest)),
            high if math.isfinite(high) else float(self.quantile(rest, upper=True)),
        )

    def cdf(self, x: npt.ArrayLike) -> Reals:
        return np.asarray(self.frozen.cdf(x), np.float64)

    def encode(self, builder: LawTableBuilder) -> LawRow:
        return self.encode_scaled(builder, 0.0, 1.0)

    def encode_scaled(self, builder: LawTableBuilder, low: float, high: float) -> LawRow:
        values = self._values()
        if values is None and is_discrete(self.frozen) and high - low < _LONGEST_TABLE:
            values = self._lattice(max(low, self.support[0]), min(high, self.support[1]))
        if values is None:
            cumulative, columns = self._cells(low, high)
        else:
            masses = self.frozen.pmf(values)
            masses[0] = float(self.cdf(values[0]))
            cumulative, rewards = np.cumsum(masses), np.clip((values - low) / (high - low), 0.0, 1.0)
            columns = np.stack([rewards, np.zeros(values.size), np.zeros(values.size)], axis=1)
        cumulative[-1] = 1.0
        return builder.steps(cumulative, columns=columns)._replace(kind=FromScipy)

    def _cells(self, low: float, high: float) -> tuple[Reals, Reals]:
        """Cells between rewards at which the distribution function is exact: P(up to its end), and its first reward,
        P(up to its begin), and what the reward grows by in proportion to the probability."""
        levels = np.arange(1.0, _QUANTILES) / _QUANTILES
        tails = [] if is_discrete(self.frozen) else [self.quantile(_TAILS), self.quantile(_TAILS, upper=True)]
        nodes = np.concatenate([np.linspace(low, high, _NODES + 1), self.quantile(levels), *tails])
        nodes = np.unique(nodes[(nodes >= low) & (nodes <= high)])
        at = np.maximum.accumulate(np.clip(self.cdf(nodes), 0.0, 1.0))
        rewards = np.clip((nodes - low) / (high - low), 0.0, 1.0)
        begin = np.concatenate([[0.0], at])  # what is clipped is a cell at each end
        cumulative = np.concatenate([at, [1.0]])
        first = np.concatenate([[0.0], rewards])
        mass = cumulative - begin
        width = np.concatenate([[0.0], np.diff(rewards), [0.0]])
        kept = mass > 0.0
        slope = np.divide(width, mass, where=kept, out=np.zeros(mass.size))
        return cumulative[kept], np.stack([first, begin, slope], axis=1)[kept]

    @staticmethod
    def draw(row: LawRow, laws: LawTable, word: Any) -> Any:
        u = to_unit(word)
        columns = np.uint32(row.i) + np.uint32(row.j) + np.uint32(1) + np.uint32(3) * step_at(row, laws, u)
        first, begin, slope = laws.real[columns], laws.real[columns + np.uint32(1)], laws.real[columns + np.uint32(2)]
        return min(first + (u - begin) * slope, 1.0)
