"""Delays that depend on the reward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, LawRow, LawTableBuilder, Mixture, delay_law
from belated.errors import InvalidParameter
from belated.rewards import RewardLaw
from belated.validation import Domain, check_number

_VALUE = Domain(0, 1)


@delay_law
class ByReward(DelayLaw):
    """One law for each reward: ``{value: law, ...}``, or a function from the reward to a law.

    For discrete rewards (Bernoulli, categorical, constant) the function is called once per value. For continuous
    rewards it is called at the midpoints of ``cells`` equal cells of [0, 1], and all rewards of a cell share that law;
    steps at multiples of 1/cells are therefore exact.

    >>> from belated import Problem
    >>> from belated.delays import Fixed
    >>> from belated.rewards import Bernoulli
    >>> problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(5000)}))
    >>> problem.delay_quantile(0, 0.4), problem.delay_quantile(0, 0.5)
    (0, 5000)
    """

    formula = "D ~ laws[reward], or laws(reward)"

    laws: Mapping[float, DelayLaw] | Callable[[float], DelayLaw]
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
        elif not callable(self.laws):
            raise InvalidParameter(
                f"ByReward: {self.laws!r} is neither a mapping nor a function; give {{reward: law, ...}} or a function."
            )

    def __hash__(self) -> int:
        return hash((tuple(self.laws.items()) if isinstance(self.laws, Mapping) else self.laws, self.cells))

    @property
    def depends_on_reward(self) -> bool:
        return True

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
        if not isinstance(self.laws, Mapping):
            points = list(values) if values is not None else ((np.arange(self.cells) + 0.5) / self.cells).tolist()
            return {point: _law(point, self.laws(point)) for point in points}
        if values is None:
            raise InvalidParameter(
                f"ByReward: a mapping of values does not fit continuous rewards ({type(reward).__name__}); give a "
                "function of the reward instead."
            )
        missing = [value for value in values if value not in self.laws]
        if missing:
            raise InvalidParameter(
                f"ByReward: {type(reward).__name__} rewards can be {missing[0]!r}, and the mapping has laws for "
                f"{', '.join(map(repr, self.laws))} only; add one for {missing[0]!r}."
            )
        return {value: self.laws[value] for value in values}

    def given(self, reward: RewardLaw) -> DelayLaw:
        laws = self.by_value(reward)
        if reward.atoms is not None:
            return Mixture([(probability, laws[value].given(reward)) for value, probability in reward.atoms.items()])
        edges = np.asarray(reward.cdf(np.arange(self.cells + 1) / self.cells))
        edges[0] = 0.0
        merged: dict[DelayLaw, float] = {}
        for law, share in zip(laws.values(), np.diff(edges), strict=True):
            merged[law] = merged.get(law, 0.0) + float(share)
        return Mixture([(share, law) for law, share in merged.items()])

    def encode(self, builder: LawTableBuilder, reward: RewardLaw) -> LawRow:
        laws = self.by_value(reward)
        if reward.atoms is None:
            return builder.by_cell(laws.values(), reward)
        return builder.by_value(laws, reward)


def _law(value: Any, law: Any) -> DelayLaw:
    if not isinstance(law, DelayLaw) or law.depends_on_reward:
        raise InvalidParameter(
            f"ByReward: the law for reward {value} is {law!r}; give a delay law that does not depend on the reward."
        )
    return law
