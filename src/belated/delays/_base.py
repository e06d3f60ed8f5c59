"""The base of all delay laws: a distribution on {0, 1, 2, ..., never} that may depend on the reward and the round."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.kernel.law_table import LawRow, LawTableBuilder
from belated.registry import Registry, import_object
from belated.rewards._base import RewardLaw
from belated.validation import Domain, Validated, check_integer, check_number

SAMPLE, PLOT = "belated.engine.law_samples:sample_delays", "belated.simulation.law_figures:plot_delays"
"""Functions of higher layers, which are loaded when they are first used."""
_LONGEST_SUM = 10_000_000
"""The longest delay up to which an expectation is summed term by term."""


@dataclass(frozen=True)
class DelayLaw(Validated, ABC):
    """A distribution of delays in rounds, which may put mass on "never". A concrete law is a frozen dataclass of its
    parameters."""

    formula: ClassVar[str] = ""
    """The distribution in one line, shown by ``belated laws``."""

    @abstractmethod
    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """P(delay <= rounds); tends to 1 - P(never).

        Parameters
        ----------
        rounds
            A number of rounds, or an array of them.
        """

    @property
    def never(self) -> float:
        """P(never)."""
        return 0.0

    @property
    def longest(self) -> float:
        """The longest finite delay; ``math.inf`` if delays are unbounded."""
        return math.inf

    def quantile(self, q: float) -> float:
        """min { g : P(delay <= g) >= q }, the paper's d(q): an integer, or ``math.inf`` if the level is not reached.

        Parameters
        ----------
        q
            The level, a number in [0, 1]; 0.5 gives the median.
        """
        q = check_level(q)
        if q == 0.0 or float(self.cdf(0)) >= q:
            return 0
        if not self._reaches(q):
            return math.inf
        high = 1
        while float(self.cdf(high)) < q:
            high *= 2
            if high > 2**1000:
                return math.inf
        low = high // 2  # cdf(low) < q <= cdf(high)
        while high - low > 1:
            middle = (low + high) // 2
            if float(self.cdf(middle)) >= q:
                high = middle
            else:
                low = middle
        return high

    def _reaches(self, q: float) -> bool:
        """Whether P(delay <= g) >= q for some g. The limit itself is reached only if delays are bounded."""
        if math.isfinite(self.longest):
            return float(self.cdf(self.longest)) >= q
        return q < 1.0 - self.never

    @property
    def expected(self) -> float:
        """E[delay]; ``math.inf`` if feedback may never come or the tail is too heavy."""
        if self.never > 0.0:
            return math.inf
        if self.longest > _LONGEST_SUM:
            raise InvalidParameter(
                f"{type(self).__name__} does not define ``expected``, and its delays are too long to sum; define it."
            )
        return math.fsum(1.0 - self.cdf(np.arange(int(self.longest))))

    @property
    def depends_on_reward(self) -> bool:
        """Whether the delay depends on the reward of the same pull."""
        return False

    def given(self, reward: RewardLaw) -> DelayLaw:
        """The marginal law of the delay for an arm with this reward law; raises if the two do not fit together.

        Parameters
        ----------
        reward
            The reward law of the arm.
        """
        return self

    def sample(
        self, n: int, seed: int | None = None, *, reward: RewardLaw | float | None = None, round: int = 1
    ) -> npt.NDArray[np.float64]:
        """``n`` delays, drawn as the engine draws them; inf for never. Without a seed, other ones each time.

        Delays beyond 2^31 - 2 rounds, the longest horizon, come out as that.

        Parameters
        ----------
        n
            How many.
        seed
            A whole number >= 0: the same seed gives the same delays.
        reward
            A reward law, or one reward, for delays that depend on it.
        round
            The round of the pulls, for delays that depend on it.

        Examples
        --------
        >>> from belated.delays import Empirical
        >>> Empirical([0, 3, 10], never=0.5).sample(6, seed=2).tolist()
        [10.0, inf, 10.0, 0.0, inf, inf]
        """
        sampled: npt.NDArray[np.float64] = import_object(SAMPLE)(self, n, seed, reward, round)
        return sampled

    def plot(self, ax: Any = None, *, reward: RewardLaw | float | None = None, round: int = 1) -> Any:
        """P(delay > g) against g, with the share that never comes. Returns a figure, or ``ax`` if it is given.

        Parameters
        ----------
        ax
            The axes to draw into; by default those of a new figure.
        reward
            A reward law, or one reward, for delays that depend on it.
        round
            The round of the pulls, for delays that depend on it.
        """
        return import_object(PLOT)(self, ax, reward, round)

    @property
    def depends_on_round(self) -> bool:
        """Whether the law of the delay is not the same in all rounds."""
        return False

    def at(self, now: int) -> DelayLaw:
        """The law of the delay of a pull in one round, which does not depend on the round.

        Parameters
        ----------
        now
            The round of the pull, from 1 on.
        """
        check_round(now)
        return self

    @abstractmethod
    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        """The law as a row for the engine; tables that the row refers to are added to the builder.

        A law of the package may have a kernel of its own, compiled into the engine, and return ``builder.own(...)``:
        a static method ``draw(row, laws, u)``, the delay at a uniform u; or, with ``builder.formula(...)``, a static
        method ``real_delay(row, u)``, the real number whose integer part is the delay. With ``transform(u)`` beside
        it, ``real_delay`` is called with that instead of u. Other laws return one of the builder's own rows, such as
        ``builder.steps(...)``."""


class RoundDependentLaw(DelayLaw):
    """The base of delay laws that differ from round to round: they have no distribution but that of a round,
    :meth:`at`."""

    @property
    def depends_on_round(self) -> bool:
        return True

    @property
    def expected(self) -> float:
        raise self._needs_round()

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        raise self._needs_round()

    @abstractmethod
    def at(self, now: int) -> DelayLaw: ...

    def _needs_round(self) -> InvalidParameter:
        return InvalidParameter(
            f"{type(self).__name__} has no single distribution: the delay depends on the round. Use law.at(round) for "
            "the law of one round."
        )


DELAYS: Registry[DelayLaw] = Registry("delay law", "belated.delays")
L = TypeVar("L", bound=DelayLaw)


@dataclass_transform(frozen_default=True)
def delay_law(cls: type[L]) -> type[L]:
    """Decorator of a concrete delay law: makes it a frozen dataclass and registers it."""
    return DELAYS.register(cls)


def what_law_is(law: RewardLaw | DelayLaw) -> str:
    """What kind of law was given, where the other kind belongs: "a reward law from belated.rewards"."""
    return "a reward law from belated.rewards" if isinstance(law, RewardLaw) else "a delay law from belated.delays"


_LEVEL = Domain(0, 1)


def check_level(q: float) -> float:
    """Check that a quantile level is a number in [0, 1]."""
    return check_number("the quantile's level", q, _LEVEL)


def check_round(now: int) -> int:
    """Check that this is the number of a round."""
    return check_integer("the round", now, 1)


def floor_rounds(rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Round down to integers: a delay is at most 2.7 if and only if it is at most 2."""
    try:
        values = np.asarray(rounds, np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if np.any(np.isnan(values)):
        raise InvalidParameter(f"rounds is {rounds!r}; give a number of rounds, or an array of them.")
    return np.asarray(np.floor(values))
