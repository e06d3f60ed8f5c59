"""Draws made ahead: the next few rewards and delays of each arm.

What a pull of an arm meets depends on the arm and the pull's number alone, so it may be drawn before it is needed. A
batch is drawn in one go, law by law: the processor overlaps its draws, and a costly law does not hold up a round.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.sampling import draw_delays, draw_rewards
from belated.kernel.function_table import array_at, call_at, called_by_address, table_of
from belated.kernel.jit import JIT, inline, merged
from belated.kernel.law_table import NEVER, LawTable
from belated.kernel.rng import two_words

LARGEST = 7
"""log2 of the largest batch."""
WASTE = 4
"""At most one draw in so many is made in vain: a run ends before it is needed."""


class Scratch(NamedTuple):
    """Numbers that are of use while a batch is drawn."""

    word: npt.NDArray[np.uint64]  # (2 << bits,) for the rewards, then for the delays
    u: npt.NDArray[np.float64]  # (1 << bits,)
    part: npt.NDArray[np.uint32]
    pull: npt.NDArray[np.uint32]
    delay: npt.NDArray[np.int32]
    part_u: npt.NDArray[np.float64]
    unsure: npt.NDArray[np.uint32]


class Source(NamedTuple):
    """What a batch is drawn from and written to."""

    reward: npt.NDArray[np.float64]
    delay: npt.NDArray[np.int32]
    never: npt.NDArray[np.int64]
    laws: LawTable
    scratch: Scratch


class DrawBuffer(NamedTuple):
    """Of each arm the pulls of one batch: those whose numbers differ in the last ``bits`` bits alone."""

    bits: int
    reward: npt.NDArray[np.float64]  # (K << bits,)
    delay: npt.NDArray[np.int32]  # (K << bits,)
    never: npt.NDArray[np.int64]  # (K,) how many of an arm's draws, all batches together, have no answer
    source: Any  # for :func:`draw_batch`: where the source is or, in plain Python, the source


def batch_bits(arms: int, horizon: int, largest: int = LARGEST) -> int:
    """log2 of the batches that a run of this length makes worthwhile, at most ``largest``."""
    return min(max((horizon // (WASTE * arms)).bit_length() - 1, 0), largest)


def allocate(laws: LawTable, arms: int, horizon: int, *, drawn: bool = True) -> tuple[DrawBuffer, Source]:
    """Room for batches as large as a run of this length makes worthwhile; the source must be kept as long as the
    stock. Where nothing is to be drawn, what draws is not compiled."""
    bits = batch_bits(arms, horizon)
    size = 1 << bits
    stored = np.zeros(arms * size), np.zeros(arms * size, np.int32), np.zeros(arms, np.int64)
    scratch = Scratch(
        word=np.zeros(2 * size, np.uint64),
        u=np.zeros(size),
        part=np.zeros(size, np.uint32),
        pull=np.zeros(size, np.uint32),
        delay=np.zeros(size, np.int32),
        part_u=np.zeros(size),
        unsure=np.zeros(size, np.uint32),
    )
    source = Source(*stored, laws, scratch)
    if not JIT:
        return DrawBuffer(bits, *stored, source), source
    return DrawBuffer(bits, *stored, table_of(_refill_at() if drawn else 0, *stored, *laws, *scratch)), source


@inline
def empty(stock: DrawBuffer) -> None:
    """Nothing drawn yet."""
    for arm in range(stock.never.shape[0]):
        stock.never[arm] = 0


@inline
def begins_batch(stock: DrawBuffer, rank: Any) -> Any:
    """Whether an arm's pull number ``rank`` is the first of a batch."""
    return rank & ((1 << stock.bits) - 1) == 0


@inline
def rest_of_batch(stock: DrawBuffer, rank: Any) -> Any:
    """How many pulls of an arm from number ``rank`` on are in the same batch."""
    return (1 << stock.bits) - (rank & ((1 << stock.bits) - 1))


@inline
def place_of(stock: DrawBuffer, arm: Any, rank: Any) -> Any:
    """Where the draws of an arm's pull number ``rank`` are, once its batch is there."""
    return (np.uint32(arm) << np.uint32(stock.bits)) + np.uint32(rank & ((1 << stock.bits) - 1))


@inline
def lost(stock: DrawBuffer, arm: Any, pulls: Any) -> Any:
    """How many of the first ``pulls`` pulls of an arm are never answered, if no later batch was drawn."""
    never = stock.never[arm]
    while not begins_batch(stock, pulls):
        never -= np.int64(stock.delay[place_of(stock, arm, pulls)] == NEVER)
        pulls += 1
    return never


@inline
def lose_all(stock: DrawBuffer, arm: Any, pulls: Any) -> None:
    """An arm without answers is pulled so often in all: as if the batches had been drawn."""
    size = 1 << stock.bits
    stock.never[arm] = -(-pulls // size) * size
    for rank in range(size):
        stock.delay[place_of(stock, arm, rank)] = NEVER


@merged
def refill(source: Source, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any) -> None:
    """Draw the batch of ``arm`` that begins with its pull number ``rank``."""
    laws, scratch = source.laws, source.scratch
    size = scratch.u.shape[0]
    for_reward = scratch.word[:size]
    for_delay = scratch.word[size:]
    for place in range(size):
        for_reward[place], for_delay[place] = two_words(key_a, key_b, arm, rank + place)
    reward = source.reward[arm * size : (arm + 1) * size]
    draw_rewards(laws, reward_row, for_reward, reward)
    delay = source.delay[arm * size : (arm + 1) * size]
    draw_delays(laws, delay_row, reward, for_delay, delay, scratch)
    never: Any = 0
    for place in range(size):
        never += np.int64(delay[place] == NEVER)
    source.never[arm] += never


@called_by_address
def _refill_at(table: Any, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any) -> None:
    """:func:`refill` for the source that the table leads to, its arrays in the order of their fields."""
    source = Source(
        array_at(table, 0, np.float64),
        array_at(table, 1, np.int32),
        array_at(table, 2, np.int64),
        LawTable(
            kind=array_at(table, 3, np.int64),
            x=array_at(table, 4, np.float64),
            y=array_at(table, 5, np.float64),
            i=array_at(table, 6, np.int64),
            j=array_at(table, 7, np.int64),
            k=array_at(table, 8, np.int64),
            real=array_at(table, 9, np.float64),
            whole=array_at(table, 10, np.int32),
        ),
        Scratch(
            word=array_at(table, 11, np.uint64),
            u=array_at(table, 12, np.float64),
            part=array_at(table, 13, np.uint32),
            pull=array_at(table, 14, np.uint32),
            delay=array_at(table, 15, np.int32),
            part_u=array_at(table, 16, np.float64),
            unsure=array_at(table, 17, np.uint32),
        ),
    )
    refill(source, np.uint32(reward_row), np.uint32(delay_row), np.uint64(key_a), np.uint64(key_b), arm, rank)


@inline
def _call_refill(table: Any, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any) -> None:
    rows = np.int64(reward_row), np.int64(delay_row)
    call_at(table, rows[0], rows[1], np.int64(key_a), np.int64(key_b), np.int64(arm), np.int64(rank))


draw_batch = _call_refill if JIT else refill
"""(source, ...): draw a batch. Compiled code calls it by its address, else each policy would have a copy of it."""
