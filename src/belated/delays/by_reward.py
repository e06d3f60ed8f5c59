"""Delays that depend on the reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, Mixture, delay_law
from belated.delays._base import what_law_is
from belated.errors import InvalidParameter
from belated.rewards import RewardLaw
from belated.rewards._base import RewardOnScale
from belated.validation import Domain, check_number

_VALUE = Domain()


class Steps:
    """A law for each of equal cells of the range of the rewards: what a file holds of a function of the reward."""

    def __init__(self, counts: Sequence[int], laws: Sequence[DelayLaw]) -> None:
        self._ends, self._laws = np.cumsum(counts), list(laws)
        self.cells = int(self._ends[-1])

    def in_round(self, now: int) -> Steps:
        """The same with the laws of one round."""
        steps = copy(self)
        steps._laws = [law.at(now) for law in self._laws]
        return steps

    def law_at(self, share: float) -> DelayLaw:
        """The law at a reward that is this share of the range above its low end."""
        cell = min(max(int(share * self.cells), 0), self.cells - 1)
        return self._laws[int(np.searchsorted(self._ends, cell, side="right"))]


@delay_law
class ByReward(DelayLaw):
    """One law for each reward: ``{value: law, ...}``, or a function from the reward to a law.

    For discrete rewards (Bernoulli, categorical, constant) the function is called once per value. For continuous
    rewards it is called at the midpoints of ``cells`` equal cells of their range, which is [0, 1] or the ``scale`` of
    the problem, and all rewards of a cell share that law; steps at the ends of cells are therefore exact. Rewards are
    in the unit of the problem, clipped to its scale.

    Parameters
    ----------
    laws : mapping or function
        ``{reward: law, ...}`` with every reward of the arm, or a function from a reward to a law.
    cells
        For continuous rewards: into how many equal cells their range is divided.

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import Fixed
    >>> from belated.rewards import Bernoulli
    >>> problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(5000)}))
    >>> problem.delay_quantile(0, 0.4), problem.delay_quantile(0, 0.5)
    (0, 5000)
    """

    formula = "D ~ laws[reward], or laws(reward)"

    laws: Mapping[float, DelayLaw] | Callable[[float], DelayLaw] | Steps
    cells: Annotated[int, Domain(1, 1_000_000, whole=True)] = 1000

    def _validate(self) -> None:
        if isinstance(self.laws, Mapping):
            if not self.laws:
                raise InvalidParameter(
                    "ByReward: the mapping is empty; give {reward: law, ...}, such as {0: Fixed(0), 1: Fixed(100)}."
                )
            checked = {
                check_number("ByReward: a reward", value, _VALUE): _law(value, law) for value, law in self.laws.items()
            }
            object.__setattr__(self, "laws", dict(sorted(checked.items())))
        elif not callable(self.laws) and not isinstance(self.laws, Steps):
            raise InvalidParameter(
                f"ByReward: {self.laws!r} is neither a mapping nor a function; give {{reward: law, ...}} or a function."
            )

    def __hash__(self) -> int:
        return hash((tuple(self.laws.items()) if isinstance(self.laws, Mapping) else self.laws, self.cells))

    @property
    def depends_on_reward(self) -> bool:
        return True

    @property
    def depends_on_round(self) -> bool:
        """Whether some law of the mapping does. For a function, only ``law.given(reward_law)`` knows."""
        if not isinstance(self.laws, Mapping):
            raise self._needs_reward()
        return any(law.depends_on_round for law in self.laws.values())

    def at(self, now: int) -> DelayLaw:
        laws = self.laws
        if isinstance(laws, Mapping):
            return ByReward({value: law.at(now) for value, law in laws.items()}, self.cells)
        if isinstance(laws, Steps):
            return ByReward(laws.in_round(now), self.cells)
        return ByReward(lambda reward: _law(reward, laws(reward)).at(now), self.cells)

    @property
    def never(self) -> float:
        raise self._needs_reward()

    @property
    def expected(self) -> float:
        raise self._needs_reward()

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        raise self._needs_reward()

    @staticmethod
    def _needs_reward() -> InvalidParameter:
        return InvalidParameter(
            "ByReward has no distribution without a reward law: it depends on the arm's rewards. "
            "Use law.given(reward_law), Problem.delay_cdf or Problem.delay_quantile for the marginal distribution."
        )

    def by_value(self, reward: RewardLaw) -> dict[float, DelayLaw]:
        """The delay law of each possible reward; of each cell's midpoint if rewards are continuous."""
        values = reward.atoms
        low, high = reward.support
        if not isinstance(self.laws, Mapping):
            midpoints = low + (high - low) * ((np.arange(self.cells) + 0.5) / self.cells)
            points = list(values) if values is not None else midpoints.tolist()
            if isinstance(self.laws, Steps):
                return {point: self.laws.law_at((point - low) / (high - low)) for point in points}
            return {point: _law(point, self.laws(point)) for point in points}
        if values is None:
            raise InvalidParameter(
                f"ByReward: a mapping of values does not fit continuous rewards ({_name(reward)}); give a "
                "function of the reward instead."
            )
        return {value: self._law_of(value, reward, 1e-9 * (high - low)) for value in values}

    def _law_of(self, value: float, reward: RewardLaw, rounding: float) -> DelayLaw:
        """The mapping's law for a reward that was computed, and may differ from its key by rounding."""
        assert isinstance(self.laws, Mapping)
        key = value if value in self.laws else min(self.laws, key=lambda key: abs(key - value))
        if not abs(key - value) <= rounding:
            raise InvalidParameter(
                f"ByReward: {_name(reward)} rewards can be {value!r}, and the mapping has laws for "
                f"{', '.join(map(repr, self.laws))} only; add one for {value!r}."
            )
        return self.laws[key]

    def given(self, reward: RewardLaw) -> DelayLaw:
        laws = self.by_value(reward)
        if reward.atoms is not None:
            return Mixture([(probability, laws[value].given(reward)) for value, probability in reward.atoms.items()])
        low, high = reward.support
        edges = np.asarray(reward.cdf(low + (high - low) * (np.arange(self.cells + 1) / self.cells)))
        edges[0] = 0.0
        merged: dict[DelayLaw, float] = {}
        for law, share in zip(laws.values(), np.diff(edges), strict=True):
            merged[law] = merged.get(law, 0.0) + float(share)
        return Mixture([(share, law) for law, share in merged.items()])

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        laws = self.by_value(reward)
        if reward.atoms is None:
            return builder.by_cell(laws.values(), reward)
        low, high = reward.support
        values = np.array(list(laws))
        # the engine's rewards may be rounded: what tells two values apart is their middle, on the scale of policies
        middles = ((values[1:] + values[:-1]) / 2.0 - low) / (high - low)
        return builder.by_value([0.0, *middles.tolist()], laws.values(), reward)


def _name(reward: RewardLaw) -> str:
    return type(reward.law if isinstance(reward, RewardOnScale) else reward).__name__


def _law(value: Any, law: Any) -> DelayLaw:
    if not isinstance(law, DelayLaw) or law.depends_on_reward:
        mistaken = f", {what_law_is(law)}" if isinstance(law, RewardLaw) else ""
        raise InvalidParameter(
            f"ByReward: the law for reward {value} is {law!r}{mistaken}; give a delay law that does not depend on the "
            "reward."
        )
    return law
