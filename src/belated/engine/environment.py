"""The environment of one run in plain Python: what the engine draws, one pull at a time.

It is all that another simulator needs to see the same rewards and delays, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.engine.encode import encode_laws
from belated.engine.sampling import draw_delay, draw_reward
from belated.errors import InvalidParameter
from belated.kernel.jit import entry, ignore_overflow
from belated.kernel.law_table import NEVER
from belated.kernel.rng import run_key, seed_words, to_unit, two_words, word
from belated.problem import Problem


@entry
def _pull(laws: Any, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any) -> Any:
    for_reward, for_delay = two_words(key_a, key_b, arm, rank)
    reward = draw_reward(laws, reward_row, for_reward)
    return reward, draw_delay(laws, delay_row, reward, for_delay)


class Environment:
    """The rewards and delays of run number ``run`` under a seed.

    >>> from belated.delays import Fixed
    >>> from belated.rewards import Bernoulli
    >>> environment = Environment(Problem([Bernoulli(1.0)], Fixed(7)), horizon=100, seed=0, run=0)
    >>> environment.pull(arm=0, rank=0)
    (1.0, 7)
    """

    def __init__(self, problem: Problem, *, horizon: int, seed: int, run: int) -> None:
        self._arms = problem.arms
        self._laws = encode_laws([problem], horizon)[0]
        words = seed_words(seed)
        with ignore_overflow():
            self._key = tuple(np.uint64(part) for part in run_key(words[0], words[1], run))
            self._own = tuple(np.uint64(part) for part in run_key(words[2], words[3], run))

    def pull(self, arm: int, rank: int) -> tuple[float, int | None]:
        """Reward and delay of an arm's pull number ``rank`` (0, 1, ...); the delay is None for never."""
        if not 0 <= arm < self._arms or not 0 <= rank < 2**32:
            raise InvalidParameter(
                f"arm {arm} and rank {rank}; give an arm below {self._arms} and a rank from 0 to 2^32 - 1."
            )
        with ignore_overflow():
            reward, delay = _pull(
                self._laws, np.uint32(arm), np.uint32(self._arms + arm), self._key[0], self._key[1], arm, rank
            )
        return float(reward), None if delay == NEVER else int(delay)

    def own_word(self, now: int, number: int) -> Any:
        """The policy's own random word number ``number`` in round ``now``."""
        with ignore_overflow():
            return np.uint64(word(self._own[0], self._own[1], now, number))

    def own_uniform(self, now: int, number: int) -> float:
        """The same as a number between 0 and 1."""
        with ignore_overflow():
            return float(to_unit(self.own_word(now, number)))
