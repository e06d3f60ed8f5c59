"""Encode problems as arrays for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.sampling import BERNOULLI, KINDS
from belated.kernel.law_table import BEYOND, FIXED, LawRow, LawTable, LawTableBuilder, depends_on_round
from belated.problem import Problem

ROUNDS_OF_A_LOOKUP = 1 << 18
"""One lookup table is built for this many rounds of a problem: it takes as long as it saves in about as many draws."""
MOST_LOOKUPS = 16
"""More lookup tables would not fit into the processor's cache."""


class EncodedProblem(NamedTuple):
    """Problems as the engine plays them."""

    laws: LawTable
    longest: int  # the longest delay of feedback that comes
    gaps: npt.NDArray[np.float64]  # (problems, K), in the unit of the rewards, as regret is

    def common_delay(self, horizon: int) -> int:
        """The fixed delay that all arms of all problems share, if they do and it is below the horizon; else -1."""
        delays = self.fixed_delays
        delay = int(delays.flat[0])
        return delay if delay < horizon and bool((delays == delay).all()) else -1

    @property
    def fixed_delays(self) -> npt.NDArray[np.int64]:
        """(problems, K): each arm's delay if it is always the same, else -1."""
        half = self.gaps.size  # delays follow rewards
        rows = slice(half, 2 * half)
        return np.where(self.laws.kind[rows] == FIXED, self.laws.i[rows], -1).reshape(self.gaps.shape)

    @property
    def by_round(self) -> bool:
        """Whether some delay depends on the round."""
        return depends_on_round(self.laws)

    @property
    def binary(self) -> bool:
        """Whether every reward is 0 or 1."""
        return bool((self.laws.kind[: self.gaps.size] == BERNOULLI).all())


def encode_problems(problems: Sequence[Problem], horizon: int, runs: int = 1) -> EncodedProblem:
    """Encode one problem that ``runs`` runs share, or one for each run of a chunk."""
    laws, longest = encode_laws(problems, horizon, runs)
    return EncodedProblem(laws, longest, np.array([problem.gaps for problem in problems]))


def encode_laws(problems: Sequence[Problem], horizon: int, runs: int = 1) -> tuple[LawTable, int]:
    """(laws, longest delay): the rows of all problems' arms' rewards, then of their delays, then those they lead to.
    Each problem is played in ``runs`` runs."""
    arms = problems[0].arms
    half = len(problems) * arms
    builder = LawTableBuilder(
        horizon, KINDS, reserved=2 * half, lookups=min(horizon * runs // ROUNDS_OF_A_LOOKUP, MOST_LOOKUPS)
    )
    known: dict[int, LawRow] = {}  # of delay laws that are the very same object, which is quickly seen
    for number, problem in enumerate(problems):
        for place, reward, delay in zip(count(number * arms), problem.rewards_on_scale, problem.delays, strict=False):
            builder.place(place, builder.row(reward))
            row = known.get(id(delay))
            if row is None:
                row = builder.row(delay, reward if delay.depends_on_reward else None)
                if not delay.depends_on_reward:
                    known[id(delay)] = row
            builder.place(half + place, row)
    longest = max(problem.longest_delay for problem in problems)
    return builder.build(), int(min(longest, BEYOND))
