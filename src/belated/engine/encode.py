"""From problems to the engine's rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.sampling import BERNOULLI, KINDS
from belated.kernel.law_table import BEYOND, FIXED, LawRow, LawTable, LawTableBuilder
from belated.problem import Problem

ROUNDS_OF_A_LOOKUP = 1 << 18
"""For so many rounds of a problem one lookup is made: it takes as long as it saves in about as many draws."""
MOST_LOOKUPS = 16
"""More than these are too large for the memory that is close to a processor."""


class EncodedProblem(NamedTuple):
    """Problems as the engine plays them."""

    laws: LawTable
    longest: int  # of all delays that come
    gaps: npt.NDArray[np.float64]  # (problems, K)

    def common_delay(self, horizon: int) -> int:
        """The one fixed delay of all arms of all problems, if that is what they have and it is below the horizon; or
        -1."""
        half = self.gaps.size  # delays follow rewards
        kinds, delays = self.laws.kind[half : 2 * half], self.laws.i[half : 2 * half]
        same = bool((kinds == FIXED).all() and (delays == delays[0]).all())
        return int(delays[0]) if same and int(delays[0]) < horizon else -1

    @property
    def binary(self) -> bool:
        """Whether every reward is 0 or 1."""
        return bool((self.laws.kind[: self.gaps.size] == BERNOULLI).all())


def encode_problems(problems: Sequence[Problem], horizon: int, runs: int = 1) -> EncodedProblem:
    """The problems as numbers: one that so many runs share, or one for each run of a chunk."""
    laws, longest = encode_laws(problems, horizon, runs)
    return EncodedProblem(laws, longest, np.array([problem.gaps for problem in problems]))


def encode_laws(problems: Sequence[Problem], horizon: int, runs: int = 1) -> tuple[LawTable, int]:
    """(laws, longest delay): the rewards' rows of all problems' arms, then the delays', then those they lead to. Each
    problem is for so many runs."""
    arms = problems[0].arms
    half = len(problems) * arms
    builder = LawTableBuilder(
        horizon, KINDS, reserved=2 * half, lookups=min(horizon * runs // ROUNDS_OF_A_LOOKUP, MOST_LOOKUPS)
    )
    known: dict[int, LawRow] = {}  # of delay laws that are the very same object, which is quickly seen
    for number, problem in enumerate(problems):
        for place, reward, delay in zip(count(number * arms), problem.rewards, problem.delays, strict=False):
            builder.place(place, builder.row(reward))
            row = known.get(id(delay))
            if row is None:
                row = builder.row(delay, reward if delay.depends_on_reward else None)
                if not delay.depends_on_reward:
                    known[id(delay)] = row
            builder.place(half + place, row)
    longest = max(problem.longest_delay for problem in problems)
    return builder.build(), int(min(longest, BEYOND))
