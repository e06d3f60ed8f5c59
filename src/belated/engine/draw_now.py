"""Draws made in their round, one pull at a time: what a thread of a GPU does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from belated.engine.sampling import draw_delay, draw_reward
from belated.kernel.law_table import NEVER, LawTable
from belated.kernel.rng import two_words
from belated.rewards.bernoulli import is_success


class DrawNow(NamedTuple):
    """A source that draws reward and delay."""

    laws: LawTable
    lost: Any  # (K,) how many of each arm's pulls so far have no feedback

    @staticmethod
    def restart(source: Any) -> Any:
        arm = np.uint32(0)
        while arm < source.lost.shape[0]:
            source.lost[arm] = 0
            arm += np.uint32(1)

    @staticmethod
    def draw(source: Any, stream: Any, arm: Any, rank: Any) -> Any:
        for_reward, for_delay = two_words(stream.key_a, stream.key_b, arm, rank)
        reward = draw_reward(source.laws, np.uint32(stream.reward_row + arm), for_reward)
        delay = np.int64(draw_delay(source.laws, np.uint32(stream.delay_row + arm), reward, for_delay))
        if delay == NEVER:
            source.lost[arm] += 1
        return reward, delay

    @staticmethod
    def count_lost(source: Any, arm: Any, pulls: Any) -> Any:
        return np.int64(source.lost[arm])


class DrawRewardNow(NamedTuple):
    """A source for a ring buffer, which knows the delay: draws the reward."""

    laws: LawTable

    @staticmethod
    def restart(source: Any) -> Any:
        """It keeps nothing."""

    @staticmethod
    def draw(source: Any, stream: Any, arm: Any, rank: Any) -> Any:
        for_reward, _ = two_words(stream.key_a, stream.key_b, arm, rank)
        return draw_reward(source.laws, np.uint32(stream.reward_row + arm), for_reward), np.int64(0)

    @staticmethod
    def count_lost(source: Any, arm: Any, pulls: Any) -> Any:
        return np.int64(0)


class DrawBitNow(NamedTuple):
    """The same where every reward is 0 or 1."""

    laws: LawTable

    @staticmethod
    def restart(source: Any) -> Any:
        """It keeps nothing."""

    @staticmethod
    def draw(source: Any, stream: Any, arm: Any, rank: Any) -> Any:
        for_reward, _ = two_words(stream.key_a, stream.key_b, arm, np.uint32(rank))
        threshold = source.laws.i[np.uint32(stream.reward_row + arm)]
        return np.uint32(is_success(threshold, for_reward)), np.int64(0)

    @staticmethod
    def count_lost(source: Any, arm: Any, pulls: Any) -> Any:
        return np.int64(0)
