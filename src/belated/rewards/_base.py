"""The base of all reward laws: a distribution with its mean, distribution function and support; and the same law as
policies meet it, on the scale of a problem."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt

from belated.kernel.law_table import LawRow, LawTableBuilder
from belated.registry import Registry, import_object
from belated.validation import Validated

SAMPLE, PLOT = "belated.engine.law_samples:sample_rewards", "belated.simulation.law_figures:plot_rewards"
"""Functions of higher layers, which are loaded when they are first used."""
UNIT = (0.0, 1.0)
"""The range of rewards of most laws, and inside of the engine."""
_LEVELS = np.array([1e-15, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5])
_CELLS, _POINTS = 8, 8
"""The mean of clipped rewards is integrated between their quantiles of these levels and of 1 minus these: cells between
two neighbours, and points in each."""


@dataclass(frozen=True)
class RewardLaw(Validated, ABC):
    """A distribution of rewards. A concrete law is a frozen dataclass of its parameters.

    A law of the package may have a kernel of its own, compiled into the engine: a static method
    ``draw(row, laws, word)``, the reward in [0, 1] of the pull with this random word."""

    formula: ClassVar[str] = ""
    """The distribution in one line, shown by ``belated laws``."""

    if TYPE_CHECKING:  # a field of some laws, a property of others

        @property
        def mean(self) -> float:
            """The expected reward."""

    @abstractmethod
    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P(reward <= x).

        Parameters
        ----------
        x
            A reward, or an array of rewards.
        """

    @property
    def atoms(self) -> dict[float, float] | None:
        """The values and their probabilities, or None for a continuous law."""
        return None

    def sample(self, n: int, seed: int | None = None) -> npt.NDArray[np.float64]:
        """``n`` rewards, drawn as the engine draws them. Without a seed, other ones each time.

        Parameters
        ----------
        n
            How many.
        seed
            A whole number >= 0: the same seed gives the same rewards.

        Examples
        --------
        >>> from belated.rewards import Bernoulli
        >>> Bernoulli(0.5).sample(6, seed=1).tolist()
        [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
        """
        sampled: npt.NDArray[np.float64] = import_object(SAMPLE)(self, n, seed)
        return sampled

    def plot(self, ax: Any = None) -> Any:
        """The probabilities of the values, or the density, and the mean. Returns a figure, or ``ax`` if it is given.

        Parameters
        ----------
        ax
            The axes to draw into; by default those of a new figure.
        """
        return import_object(PLOT)(self, ax)

    @property
    def support(self) -> tuple[float, float]:
        """(low, high): an interval that holds all rewards; its ends may be infinite."""
        return UNIT

    def quantile_range(self, share: float) -> tuple[float, float]:
        """An interval that holds at least a share of the rewards: the support, or between two quantiles if that is
        unbounded.

        Parameters
        ----------
        share
            The share, a number in (0, 1).
        """
        return self.support

    @abstractmethod
    def encode(self, builder: LawTableBuilder) -> LawRow:
        """The law as a row for the engine, ``builder.own(...)``, which draws rewards in [0, 1]; tables that the row
        refers to are added to the builder."""

    def encode_scaled(self, builder: LawTableBuilder, low: float, high: float) -> LawRow:
        """The row of the reward as policies meet it: clipped to [low, high], which is mapped to [0, 1].

        Parameters
        ----------
        builder
            Collects the rows and tables of a problem.
        low
            The lower end of the problem's scale.
        high
            Its upper end.
        """
        if (low, high) == UNIT:
            return builder.row(self)
        return builder.affine(builder.row(self), -low / (high - low), 1.0 / (high - low))


def in_unit(mapped: Any, scale: tuple[float, float]) -> Any:
    """Rewards that policies meet, in [0, 1], in the user's unit: an array or a number.

    They are rounded to 14 digits of the scale's largest number, which are those that mapping to [0, 1] and back keeps:
    a reward of 50 comes back as 50, and not as 50.00000000000001.

    >>> float(in_unit((0.1 - -10.0) / 70.0, (-10.0, 60.0)))
    0.1
    """
    if scale == UNIT:
        return mapped
    low, high = scale
    plain = low + (high - low) * np.asarray(mapped, np.float64)
    decimals = 14 - math.ceil(math.log10(max(-low, high, high - low)))
    rounded = np.round(plain, decimals) if abs(decimals) < 300 else plain
    return np.where(mapped == 0.0, low, np.where(mapped == 1.0, high, np.clip(rounded, low, high)))


REWARDS: Registry[RewardLaw] = Registry("reward law", "belated.rewards")
L = TypeVar("L", bound=RewardLaw)


@dataclass_transform(frozen_default=True)
def reward_law(cls: type[L]) -> type[L]:
    """Decorator of a concrete reward law: makes it a frozen dataclass and registers it."""
    return REWARDS.register(cls)


@dataclass(frozen=True)
class RewardOnScale(RewardLaw):
    """An arm's rewards as policies meet them, in the unit of the user: clipped to the scale of the problem."""

    law: RewardLaw
    low: float
    high: float

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    @property
    def mean(self) -> float:
        if self.atoms is not None:
            return math.fsum(value * probability for value, probability in self.atoms.items())
        low, high = self.law.support
        if self.low <= low and high <= self.high:
            return self.law.mean
        nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
        shares = (np.arange(_CELLS)[:, None] + (nodes + 1.0) / 2.0) / _CELLS
        ends = np.concatenate([[self.low], self._quantiles(np.union1d(_LEVELS, 1.0 - _LEVELS)), [self.high]])
        widths = np.diff(ends)[:, None, None]
        above = 1.0 - self.law.cdf(ends[:-1, None, None] + widths * shares)
        return self.low + float((widths * above * weights).sum()) / (2.0 * _CELLS)

    def _quantiles(self, levels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Quantiles by bisection, clipped to the scale."""
        lower, upper = np.full(levels.shape, self.low), np.full(levels.shape, self.high)
        for _ in range(60):
            middle = (lower + upper) / 2.0
            is_below = self.law.cdf(middle) < levels
            lower, upper = np.where(is_below, middle, lower), np.where(is_below, upper, middle)
        return upper

    @property
    def atoms(self) -> dict[float, float] | None:
        if self.law.atoms is None:
            return None
        clipped: dict[float, float] = {}
        for value, probability in self.law.atoms.items():
            met = min(max(value, self.low), self.high)
            clipped[met] = clipped.get(met, 0.0) + probability
        return clipped

    def cdf(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        points = np.asarray(x, np.float64)
        return np.where(points < self.low, 0.0, np.where(points >= self.high, 1.0, self.law.cdf(points)))

    @property
    def clipped(self) -> float:
        """The probability of a reward outside of the scale."""
        low, high = self.law.support
        below = float(self.law.cdf(np.nextafter(self.low, -np.inf))) if low < self.low else 0.0
        return below + (1.0 - float(self.law.cdf(self.high)) if high > self.high else 0.0)

    def encode(self, builder: LawTableBuilder) -> LawRow:
        return self.law.encode_scaled(builder, self.low, self.high)


def discrete_cdf(atoms: dict[float, float], x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """P(reward <= x) of a discrete law."""
    points = np.asarray(x, np.float64)
    total = np.zeros(points.shape)
    for value, probability in atoms.items():
        total += probability * (points >= value)
    return total
