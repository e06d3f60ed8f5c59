"""Draws made ahead: the next few rewards and delays of each arm.

What a pull of an arm meets depends on the arm and the pull's number alone, so it may be drawn before it is needed. A
batch is drawn in one go, law by law: the processor overlaps its draws, and a costly law does not hold up a round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.draw import draw_delays, draw_rewards
from belated.engine.laws import NEVER, Laws
from belated.kernel import inner
from belated.rng import two_words

LARGEST = 6
"""log2 of the largest batch."""
WASTE = 8
"""At most one draw in so many is made in vain: a run ends before it is needed."""


class Scratch(NamedTuple):
    """Numbers that are of use while a batch is drawn."""

    word: npt.NDArray[np.uint64]  # (2 << bits,) for the rewards, then for the delays
    u: npt.NDArray[np.float64]  # (1 << bits,)
    row: npt.NDArray[np.uint32]
    place: npt.NDArray[np.uint32]
    delay: npt.NDArray[np.int32]


class Stock(NamedTuple):
    """Of each arm the pulls of one batch: those whose numbers differ in the last ``bits`` bits alone."""

    bits: int
    reward: npt.NDArray[np.float64]  # (K << bits,)
    delay: npt.NDArray[np.int32]  # (K << bits,)
    never: npt.NDArray[np.int64]  # (K,) how many of an arm's draws, all batches together, have no answer
    scratch: Scratch


def allocate(arms: int, horizon: int) -> Stock:
    """Room for batches as large as a run of this length makes worthwhile."""
    bits = min(max((horizon // (WASTE * arms)).bit_length() - 1, 0), LARGEST)
    return Stock(
        bits,
        reward=np.zeros(arms << bits),
        delay=np.zeros(arms << bits, np.int32),
        never=np.zeros(arms, np.int64),
        scratch=Scratch(
            word=np.zeros(2 << bits, np.uint64),
            u=np.zeros(1 << bits),
            row=np.zeros(1 << bits, np.uint32),
            place=np.zeros(1 << bits, np.uint32),
            delay=np.zeros(1 << bits, np.int32),
        ),
    )


@inner
def empty(stock: Stock) -> None:
    """Nothing drawn yet."""
    for arm in range(stock.never.shape[0]):
        stock.never[arm] = 0


@inner
def begins_batch(stock: Stock, rank: Any) -> Any:
    """Whether an arm's pull number ``rank`` is the first of a batch."""
    return rank & ((1 << stock.bits) - 1) == 0


@inner
def place_of(stock: Stock, arm: Any, rank: Any) -> Any:
    """Where the draws of an arm's pull number ``rank`` are, once its batch is there."""
    return (np.uint32(arm) << np.uint32(stock.bits)) + np.uint32(rank & ((1 << stock.bits) - 1))


@inner
def lost(stock: Stock, arm: Any, pulls: Any) -> Any:
    """How many of the first ``pulls`` pulls of an arm are never answered, if no later batch was drawn."""
    never = stock.never[arm]
    while not begins_batch(stock, pulls):
        never -= np.int64(stock.delay[place_of(stock, arm, pulls)] == NEVER)
        pulls += 1
    return never


@inner
def lose_all(stock: Stock, arm: Any, pulls: Any) -> None:
    """An arm without answers is pulled so often in all: as if the batches had been drawn."""
    size = 1 << stock.bits
    stock.never[arm] = -(-pulls // size) * size
    for rank in range(size):
        stock.delay[place_of(stock, arm, rank)] = NEVER


@inner
def refill(
    stock: Stock, laws: Laws, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any
) -> None:
    """Draw the batch of ``arm`` that begins with its pull number ``rank``."""
    size = 1 << stock.bits
    first = np.int64(arm) << stock.bits
    for_reward = stock.scratch.word[:size]
    for_delay = stock.scratch.word[size:]
    for place in range(size):
        for_reward[place], for_delay[place] = two_words(key_a, key_b, arm, rank + place)
    reward = stock.reward[first : first + size]
    draw_rewards(laws, reward_row, for_reward, reward)
    delay = stock.delay[first : first + size]
    draw_delays(laws, delay_row, reward, for_delay, delay, stock.scratch)
    never: Any = 0
    for place in range(size):
        never += np.int64(delay[place] == NEVER)
    stock.never[arm] += never
