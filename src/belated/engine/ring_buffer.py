"""A ring for feedback that is all equally late.

Where every arm of every problem has one and the same fixed delay, nothing has to be looked up: the answer of a round
takes the place of the one that is told in it. Where rewards are 0 or 1, an answer is one number, and on processors
rewards are drawn ahead, 64 pulls of an arm in one word."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from belated.engine.run_io import ONE, Game
from belated.engine.sampling import draw_reward
from belated.kernel.jit import outlined, select_by_field
from belated.kernel.rng import two_words, word
from belated.rewards.bernoulli import is_success


class Ring(NamedTuple):
    """Feedback on its way, all of it equally long: that of a round lies where the last of that place was read.

    The rings of several runs may lie side by side: a run's places are ``apart`` from each other."""

    delay: Any
    arm: Any  # where every reward is 0 or 1, the arm and its reward in one number: 2 arm + reward
    reward: Any  # nothing where every reward is 0 or 1
    first: Any
    apart: Any


def _draw_now(game: Game, arm: Any, rank: Any) -> Any:
    """The reward, 0 or 1, of an arm's pull number ``rank``."""
    first, _ = two_words(game.key_a, game.key_b, arm, np.uint32(rank))
    return np.uint32(is_success(game.laws.i[np.uint32(game.rewards + arm)], first))


def _draw_ahead(game: Game, arm: Any, rank: Any) -> Any:
    place = np.uint64(rank) & np.uint64((1 << game.batch) - 1)
    if place == 0:
        below = game.laws.i[np.uint32(game.rewards + arm)]
        game.ahead[arm] = draw_bits(below, game.key_a, game.key_b, arm, rank, 1 << game.batch)
    return np.uint32((game.ahead[arm] >> place) & np.uint64(1))


@outlined
def draw_bits(below: Any, key_a: Any, key_b: Any, arm: Any, rank: Any, count: Any) -> Any:
    """The rewards, 0 or 1, of an arm's pulls from number ``rank`` on, the first in the lowest bit."""
    bits = np.uint64(0)
    for step in range(count):
        z = word(key_a, key_b, arm, np.uint32(rank + step))
        bits |= np.uint64(is_success(below, z)) << np.uint64(step)
    return bits


draw_bit = select_by_field("ahead", _draw_ahead, _draw_now)


def _send_reward(game: Game, ring: Ring, place: Any, arm: Any, rank: Any) -> Any:
    """The answer of a pull goes into the ring; as it lies there."""
    first, _ = two_words(game.key_a, game.key_b, arm, rank)
    reward = draw_reward(game.laws, np.uint32(game.rewards + arm), first)
    ring.arm[place] = arm
    ring.reward[place] = reward
    return arm, reward


def _send_bit(game: Game, ring: Ring, place: Any, arm: Any, rank: Any) -> Any:
    sent = np.uint32((arm << ONE) | draw_bit(game, arm, rank))
    ring.arm[place] = sent
    return sent, 0.0


def _read_both(ring: Ring, place: Any) -> Any:
    """An answer as it lies in the ring."""
    return ring.arm[place], ring.reward[place]


def _read_one(ring: Ring, place: Any) -> Any:
    return ring.arm[place], 0.0


def _told_reward(game: Game, ring: Ring, sent: Any, reward: Any) -> Any:
    """(arm, reward) of an answer that lay in the ring."""
    return sent, reward


def _told_bit(game: Game, ring: Ring, sent: Any, reward: Any) -> Any:
    return np.uint32(sent >> ONE), bit_as_reward(game, sent & ONE)


def _real_bit(game: Game, bit: Any) -> Any:
    """A reward that is 0 or 1: on processors a real number, as all functions that see it are compiled for those."""
    return float(bit)


def _whole_bit(game: Game, bit: Any) -> Any:
    return np.int32(bit)


def _wide_round(game: Game, number: Any) -> Any:
    """The number of a round: on processors of 64 bits, likewise."""
    return np.int64(number)


def _narrow_round(game: Game, number: Any) -> Any:
    return np.int32(number)


bit_as_reward = select_by_field("ahead", _real_bit, _whole_bit)
as_round = select_by_field("ahead", _wide_round, _narrow_round)


send = select_by_field("reward", _send_reward, _send_bit)
read = select_by_field("reward", _read_both, _read_one)
told = select_by_field("reward", _told_reward, _told_bit)
