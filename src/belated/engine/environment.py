"""The environment of one run in plain Python: what the engine draws, one pull at a time.

It is all that another simulator needs to see the same rewards and delays, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from belated.engine.encode import encode_laws
from belated.engine.run_io import ORDER
from belated.engine.sampling import draw_delay_in_round, draw_reward
from belated.errors import InvalidParameter
from belated.kernel.jit import entry, ignore_overflow
from belated.kernel.law_table import NEVER
from belated.kernel.rng import run_key, seed_words, to_unit, two_words, word
from belated.problem import Problem


@entry
def _pull(laws: Any, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any, now: Any) -> Any:
    for_reward, for_delay = two_words(key_a, key_b, arm, rank)
    reward = draw_reward(laws, reward_row, for_reward)
    return reward, draw_delay_in_round(laws, delay_row, reward, for_delay, now)


@entry
def _pull_many(
    laws: Any, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, now: Any, rewards: Any, delays: Any
) -> None:
    for rank in range(rewards.shape[0]):
        for_reward, for_delay = two_words(key_a, key_b, arm, rank)
        reward = draw_reward(laws, reward_row, for_reward)
        rewards[rank] = reward
        delays[rank] = draw_delay_in_round(laws, delay_row, reward, for_delay, now)


class Environment:
    """The rewards and delays of run number ``run`` under a seed. Rewards are those that policies meet, mapped to [0, 1]
    through the ``scale`` of the problem. With ``shuffle``, arms have the numbers by which the policies of this run know
    them: ``order[i]`` is the problem's number of arm i.

    >>> from belated.delays import Fixed
    >>> from belated.rewards import Bernoulli
    >>> environment = Environment(Problem([Bernoulli(1.0)], Fixed(7)), horizon=100, seed=0, run=0)
    >>> environment.pull(arm=0, rank=0, now=1)
    (1.0, 7)
    """

    def __init__(self, problem: Problem, *, horizon: int, seed: int, run: int, shuffle: bool = False) -> None:
        self._arms = problem.arms
        self._laws = encode_laws([problem], horizon)[0]
        words = seed_words(seed)
        with ignore_overflow():
            self._key = tuple(np.uint64(part) for part in run_key(words[0], words[1], run))
            self._own = tuple(np.uint64(part) for part in run_key(words[2], words[3], run))
        self.order = list(range(problem.arms))
        for left in range(problem.arms, 1, -1) if shuffle else ():
            with ignore_overflow():
                high = int(word(self._key[0], self._key[1], ORDER, left)) >> 32
            chosen = high * left >> 32
            self.order[left - 1], self.order[chosen] = self.order[chosen], self.order[left - 1]

    def pull(self, arm: int, rank: int, now: int) -> tuple[float, int | None]:
        """Reward and delay of an arm's pull number ``rank`` (0, 1, ...) in round ``now`` (1, 2, ...); the delay is None
        for never. Only delays that depend on the round depend on ``now``."""
        if not 0 <= arm < self._arms or not 0 <= rank < 2**32 or not 1 <= now < 2**31:
            raise InvalidParameter(
                f"arm {arm}, rank {rank} and round {now}; give an arm below {self._arms}, a rank from 0 to 2^32 - 1 "
                "and a round from 1 to 2^31 - 1."
            )
        drawn = self.order[arm]
        with ignore_overflow():
            reward, delay = _pull(
                self._laws,
                np.uint32(drawn),
                np.uint32(self._arms + drawn),
                self._key[0],
                self._key[1],
                drawn,
                rank,
                now,
            )
        return float(reward), None if delay == NEVER else int(delay)

    def pull_many(self, arm: int, count: int, now: int = 1) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Rewards and delays of an arm's first ``count`` pulls, each as if it were in round ``now``; the delay is
        ``NEVER`` for never."""
        rewards, delays = np.empty(count), np.empty(count, np.int64)
        drawn = self.order[arm]
        rows = np.uint32(drawn), np.uint32(self._arms + drawn)
        with ignore_overflow():
            _pull_many(self._laws, *rows, self._key[0], self._key[1], drawn, now, rewards, delays)
        return rewards, delays

    def own_word(self, now: int, number: int) -> Any:
        """The policy's own random word number ``number`` in round ``now``."""
        with ignore_overflow():
            return np.uint64(word(self._own[0], self._own[1], now, number))

    def own_uniform(self, now: int, number: int) -> float:
        """The same as a number between 0 and 1."""
        with ignore_overflow():
            return float(to_unit(self.own_word(now, number)))
