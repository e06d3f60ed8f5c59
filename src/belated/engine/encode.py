"""From problems to the engine's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.laws import BERNOULLI, BEYOND, FIXED, Laws, LawsBuilder
from belated.problem import Problem


class Board(NamedTuple):
    """Problems as the engine plays them."""

    laws: Laws
    longest: int  # of all delays that come
    gaps: npt.NDArray[np.float64]  # (problems, K)

    def common_delay(self, horizon: int) -> int:
        """The one fixed delay of all arms of all problems, if that is what they have and it is below the horizon; or
        -1."""
        half = self.gaps.size  # delays follow rewards
        kinds, delays = self.laws.kind[half : 2 * half], self.laws.lo[half : 2 * half]
        same = bool((kinds == FIXED).all() and (delays == delays[0]).all())
        return int(delays[0]) if same and int(delays[0]) < horizon else -1

    @property
    def binary(self) -> bool:
        """Whether every reward is 0 or 1."""
        return bool((self.laws.kind[: self.gaps.size] == BERNOULLI).all())


def board(problems: Sequence[Problem], horizon: int) -> Board:
    """The problems as numbers: one that all runs share, or one for each run of a chunk."""
    laws, longest = encode(problems, horizon)
    return Board(laws, longest, np.array([problem.gaps for problem in problems]))


def encode(problems: Sequence[Problem], horizon: int) -> tuple[Laws, int]:
    """(laws, longest delay): the rewards' rows of all problems' arms, then the delays', then those they lead to."""
    arms = problems[0].arms
    half = len(problems) * arms
    builder = LawsBuilder(horizon, roots=2 * half)
    longest = 0.0
    for number, problem in enumerate(problems):
        for arm, (reward, delay) in enumerate(zip(problem.rewards, problem.delays, strict=True)):
            place = number * arms + arm
            builder.root(place, builder.once(reward))
            builder.root(
                half + place, builder.once(delay, reward) if delay.depends_on_reward else builder.once(delay, None)
            )
            longest = max(longest, problem.delay_law(arm).longest)
    return builder.build(), int(min(longest, BEYOND))
