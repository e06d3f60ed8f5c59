"""Problems: arms with reward and delay laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays._base import DelayLaw
from belated.errors import InvalidParameter
from belated.rewards._base import RewardLaw
from belated.validation import check_integer


class Problem:
    """K arms, each with a reward law and a delay law. ``delays`` is one law for all arms or one for each.

    >>> from belated.delays import Pareto
    >>> from belated.rewards import Bernoulli
    >>> problem = Problem(rewards=[Bernoulli(0.4), Bernoulli(0.6)], delays=[Pareto(1.0), Pareto(0.2)])
    >>> problem.arms, problem.best, problem.gaps.round(3).tolist()
    (2, 1, [0.2, 0.0])
    >>> problem.delay_quantile(1, 0.5)
    31
    """

    def __init__(self, rewards: Sequence[RewardLaw], delays: DelayLaw | Sequence[DelayLaw]) -> None:
        if isinstance(rewards, RewardLaw):
            raise InvalidParameter(f"Problem: rewards is one law, {rewards!r}; give a list with one law for each arm.")
        self.rewards: tuple[RewardLaw, ...] = _check_laws("rewards", rewards, RewardLaw, "Bernoulli(0.5)")
        if isinstance(delays, DelayLaw):
            self.delays: tuple[DelayLaw, ...] = (delays,) * len(self.rewards)
        else:
            self.delays = _check_laws("delays", delays, DelayLaw, "Fixed(10)")
        if len(self.delays) != len(self.rewards):
            raise InvalidParameter(
                f"Problem: {len(self.rewards)} reward laws and {len(self.delays)} delay laws; give one delay law for "
                "all arms or one for each."
            )
        self._marginals = tuple(
            _marginal(arm, delay, reward)
            for arm, (delay, reward) in enumerate(zip(self.delays, self.rewards, strict=True))
        )

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return len(self.rewards)

    @cached_property
    def means(self) -> npt.NDArray[np.float64]:
        """The expected reward of each arm, (K,)."""
        return _frozen(np.array([law.mean for law in self.rewards]))

    @cached_property
    def gaps(self) -> npt.NDArray[np.float64]:
        """The best mean minus that of each arm, (K,)."""
        return _frozen(self.means.max() - self.means)

    @cached_property
    def best(self) -> int:
        """The arm with the largest mean; the first if several are equal."""
        return int(np.argmax(self.means))

    @property
    def reward_dependent(self) -> bool:
        """Whether some arm's delay depends on its reward."""
        return any(law.depends_on_reward for law in self.delays)

    @cached_property
    def longest_delay(self) -> float:
        """The longest delay of any feedback that comes; ``math.inf`` if there is none."""
        return max(law.longest for law in set(self._marginals))

    def delay_law(self, arm: int) -> DelayLaw:
        """The marginal law of an arm's delay."""
        return self._marginals[self._arm(arm)]

    def delay_quantile(self, arm: int, q: float) -> float:
        """The paper's d_i(q) = min { g : P(D_i <= g) >= q } of the marginal law; ``math.inf`` if q is never reached."""
        return self.delay_law(arm).quantile(q)

    def delay_cdf(self, arm: int, rounds: npt.ArrayLike) -> Any:
        """P(D_i <= rounds) of the marginal law; a float for a number, an array for an array."""
        probability = self.delay_law(arm).cdf(rounds)
        return float(probability) if np.ndim(rounds) == 0 else probability

    def _arm(self, arm: int) -> int:
        return check_integer("arm", arm, 0, self.arms - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and (self.rewards, self.delays) == (other.rewards, other.delays)

    def __hash__(self) -> int:
        return hash((self.rewards, self.delays))

    def __repr__(self) -> str:
        delays = repr(self.delays[0]) if len(set(map(id, self.delays))) == 1 else repr(list(self.delays))
        return f"Problem(rewards={list(self.rewards)!r}, delays={delays})"


Family = Callable[[np.random.Generator], Problem]
"""A function that draws the problem of a run."""


def _check_laws(name: str, laws: Any, base: type[Any], example: str) -> tuple[Any, ...]:
    if isinstance(laws, str) or not isinstance(laws, Sequence | np.ndarray) or len(laws) == 0:
        raise InvalidParameter(f"Problem: {name} is {laws!r}; give a list of at least one law, such as [{example}].")
    for arm, law in enumerate(laws):
        if not isinstance(law, base):
            raise InvalidParameter(f"Problem: {name}[{arm}] is {law!r}; give a law, such as {example}.")
    return tuple(laws)


def _marginal(arm: int, delay: DelayLaw, reward: RewardLaw) -> DelayLaw:
    try:
        return delay.given(reward)
    except InvalidParameter as error:
        raise InvalidParameter(f"Problem: arm {arm}: {error}") from None


def _frozen(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    values.flags.writeable = False
    return values
