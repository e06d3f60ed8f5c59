"""Where rewards and delays come from: drawn ahead of time in batches (a CPU), or in their round (a thread of a GPU).

A draw depends only on the run, the arm and the pull's number, so it may be made before it is needed. A batch is drawn
in one go, law by law: the processor overlaps its draws, and a costly law does not hold up a round. Where delays depend
on the round, which is not known before, a batch is one pull."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.batch_sampling import ALL_KINDS, BatchKinds, batch_draws, kinds_in
from belated.engine.sampling import draw_delay, draw_delay_in_round, draw_reward
from belated.kernel.intrinsics import array_at, call_at, table_of
from belated.kernel.jit import JIT, entry, inline, outlined
from belated.kernel.law_table import NEVER, LawTable, depends_on_round
from belated.kernel.rng import two_words, word
from belated.rewards.bernoulli import is_success

LARGEST_BITS = 7
"""log2 of the largest batch."""
WORD_BITS = 6
"""log2 of the largest batch of rewards that are the bits of a word."""
WASTE = 4
"""At most one draw in this many is made in vain, because the run ends first."""


# ---- drawn ahead of time ----


class DrawBuffer(NamedTuple):
    """A source of rewards and delays. Of each arm it holds the batch of pulls whose numbers differ only in the last
    ``bits`` bits."""

    bits: int
    reward: npt.NDArray[np.float64]  # (K << bits,)
    delay: npt.NDArray[np.int32]  # (K << bits,)
    lost: npt.NDArray[np.int64]  # (K,) how many draws of each arm, all batches together, have no feedback
    batch: Any  # for :func:`draw_batch`: a function table or, in plain Python, BatchArrays

    @staticmethod
    def restart(source: Any) -> Any:
        for arm in range(source.lost.shape[0]):
            source.lost[arm] = 0

    @staticmethod
    def draw(source: Any, stream: Any, arm: Any, rank: Any, now: Any) -> Any:
        if begins_batch(source, rank):
            refill(source, stream, arm, rank, now)
        index = entry_of(source, arm, rank)
        return source.reward[index], source.delay[index]

    @staticmethod
    def count_lost(source: Any, arm: Any, pulls: Any) -> Any:
        lost = source.lost[arm]
        while not begins_batch(source, pulls):  # those after the last pull do not count
            lost -= np.int64(source.delay[entry_of(source, arm, pulls)] == NEVER)
            pulls += 1
        return lost


class BitBuffer(NamedTuple):
    """A source for a ring buffer, which knows the delay: rewards that are 0 or 1, up to 64 of an arm in one word."""

    bits: int
    threshold: npt.NDArray[np.int64]  # by row of the laws; see :func:`~belated.rewards.bernoulli.is_success`
    word: npt.NDArray[np.uint64]  # (K,)

    @staticmethod
    def restart(source: Any) -> Any:
        """The first pull of an arm begins a batch."""

    @staticmethod
    def draw(source: Any, stream: Any, arm: Any, rank: Any, now: Any) -> Any:
        index = np.uint64(rank) & np.uint64((1 << source.bits) - 1)
        if index == 0:
            threshold = source.threshold[np.uint32(stream.reward_row + arm)]
            source.word[arm] = _draw_bits(threshold, stream.key_a, stream.key_b, arm, rank, 1 << source.bits)
        return np.uint32((source.word[arm] >> index) & np.uint64(1)), np.int64(0)

    @staticmethod
    def count_lost(source: Any, arm: Any, pulls: Any) -> Any:
        return np.int64(0)


@outlined
def _draw_bits(threshold: Any, key_a: Any, key_b: Any, arm: Any, rank: Any, count: Any) -> Any:
    """The rewards of an arm's pulls from number ``rank`` on, the first in the lowest bit."""
    bits = np.uint64(0)
    for step in range(count):
        z = word(key_a, key_b, arm, np.uint32(rank + step))
        bits |= np.uint64(is_success(threshold, z)) << np.uint64(step)
    return bits


class Scratch(NamedTuple):
    """Working memory while a batch is drawn."""

    word: npt.NDArray[np.uint64]  # (2 << bits,) for the rewards, then for the delays
    u: npt.NDArray[np.float64]  # (1 << bits,)
    part: npt.NDArray[np.uint32]
    pull: npt.NDArray[np.uint32]
    delay: npt.NDArray[np.int32]
    part_u: npt.NDArray[np.float64]
    unsure: npt.NDArray[np.uint32]


class BatchArrays(NamedTuple):
    """What a batch is written to and drawn from."""

    reward: npt.NDArray[np.float64]
    delay: npt.NDArray[np.int32]
    lost: npt.NDArray[np.int64]
    laws: LawTable
    scratch: Scratch


def batch_bits(arms: int, horizon: int, largest: int = LARGEST_BITS) -> int:
    """log2 of the batches that are worthwhile in a run of this length, at most ``largest``."""
    return min(max((horizon // (WASTE * arms)).bit_length() - 1, 0), largest)


def allocate_draw_buffer(
    laws: LawTable, arms: int, horizon: int, *, problems: int = 1, compiles: bool = True
) -> tuple[DrawBuffer, BatchArrays]:
    """A buffer for a run of this length, and arrays that must be kept alive as long. Without ``compiles`` the buffer
    has its type, but :func:`draw_batch` is not compiled and must not be called."""
    bits = 0 if depends_on_round(laws) else batch_bits(arms, horizon)
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
    batch = BatchArrays(*stored, laws, scratch)
    if not JIT:
        return DrawBuffer(bits, *stored, batch), batch
    address = _batch_drawer(kinds_in(laws, problems * arms))() if compiles else 0
    arrays = (*stored, *laws, *scratch)
    assert tuple(array.dtype.type for array in arrays) == _TABLE_TYPES
    table = table_of(address, *arrays)
    return DrawBuffer(bits, *stored, table), batch


@inline
def begins_batch(source: DrawBuffer, rank: Any) -> Any:
    """Whether an arm's pull number ``rank`` is the first of a batch."""
    return rank & ((1 << source.bits) - 1) == 0


@inline
def rest_of_batch(source: DrawBuffer, rank: Any) -> Any:
    """How many pulls of an arm from number ``rank`` on are in the same batch."""
    return (1 << source.bits) - (rank & ((1 << source.bits) - 1))


@inline
def entry_of(source: DrawBuffer, arm: Any, rank: Any) -> Any:
    """Where the draws of an arm's pull number ``rank`` are, once its batch is drawn."""
    return (np.uint32(arm) << np.uint32(source.bits)) + np.uint32(rank & ((1 << source.bits) - 1))


@inline
def refill(source: DrawBuffer, stream: Any, arm: Any, rank: Any, now: Any) -> None:
    """Draw the batch of an arm that begins with its pull number ``rank``, the pull of round ``now``."""
    reward_row, delay_row = np.uint32(stream.reward_row + arm), np.uint32(stream.delay_row + arm)
    draw_batch(source.batch, reward_row, delay_row, stream.key_a, stream.key_b, np.int64(arm), rank, now)


@cache
def _batch_function(kinds: BatchKinds) -> Any:
    """What draws a batch from laws of these kinds, in plain Python."""
    draw_rewards, draw_delays = batch_draws(kinds)

    def draw_batch(
        batch: BatchArrays, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any, now: Any
    ) -> None:
        laws, scratch = batch.laws, batch.scratch
        size = scratch.u.shape[0]
        for_reward = scratch.word[:size]
        for_delay = scratch.word[size:]
        for index in range(size):
            for_reward[index], for_delay[index] = two_words(key_a, key_b, arm, rank + index)
        reward = batch.reward[arm * size : (arm + 1) * size]
        draw_rewards(laws, reward_row, for_reward, reward)
        delay = batch.delay[arm * size : (arm + 1) * size]
        draw_delays(laws, delay_row, reward, for_delay, delay, scratch, now)
        lost: Any = 0
        for index in range(size):
            lost += np.int64(delay[index] == NEVER)
        batch.lost[arm] += lost

    return draw_batch


_TABLE_TYPES = (
    *(np.float64, np.int32, np.int64),
    *(np.int64, np.float64, np.float64, np.int64, np.int64, np.int64, np.float64, np.int32),
    *(np.uint64, np.float64, np.uint32, np.uint32, np.int32, np.float64, np.uint32),
)
"""Of the arrays of a function table, in the order of the fields of BatchArrays, LawTable and Scratch."""


@cache
def _batch_drawer(kinds: BatchKinds) -> Callable[[], int]:
    """The address of the same, for the arrays of a function table, which are in the order of their fields."""
    draw = inline(_batch_function(kinds))

    def draw_batch(
        table: Any, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any, now: Any
    ) -> None:
        batch = BatchArrays(
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
        draw(batch, np.uint32(reward_row), np.uint32(delay_row), np.uint64(key_a), np.uint64(key_b), arm, rank, now)

    return entry(by_address=True)(draw_batch)


@inline
def _call_draw_batch(
    table: Any, reward_row: Any, delay_row: Any, key_a: Any, key_b: Any, arm: Any, rank: Any, now: Any
) -> None:
    call_at(
        table,
        np.int64(reward_row),
        np.int64(delay_row),
        np.int64(key_a),
        np.int64(key_b),
        np.int64(arm),
        np.int64(rank),
        np.int64(now),
    )


def _draw_batch_in_python(batch: BatchArrays, *pull: Any) -> None:
    kinds = ALL_KINDS._replace(by_round=depends_on_round(batch.laws))
    _batch_function(kinds)(batch, *pull)


draw_batch = _call_draw_batch if JIT else _draw_batch_in_python
"""(batch, ...): draw a batch. Compiled code calls it by its address, else each policy would have its own copy."""


# ---- drawn in its round ----


@inline
def _forget_lost(source: Any) -> None:
    arm = np.uint32(0)
    while arm < source.lost.shape[0]:
        source.lost[arm] = 0
        arm += np.uint32(1)


@inline
def _draw_reward_now(source: Any, stream: Any, arm: Any, rank: Any) -> Any:
    """(reward, the random word for its delay, the row of the law of the delay)."""
    for_reward, for_delay = two_words(stream.key_a, stream.key_b, arm, rank)
    reward = draw_reward(source.laws, np.uint32(stream.reward_row + arm), for_reward)
    return reward, for_delay, np.uint32(stream.delay_row + arm)


@inline
def _count_if_lost(source: Any, arm: Any, delay: Any) -> None:
    if delay == NEVER:
        source.lost[arm] += 1


class DrawNow(NamedTuple):
    """A source that draws reward and delay."""

    laws: LawTable
    lost: Any  # (K,) how many of each arm's pulls so far have no feedback

    @staticmethod
    def restart(source: Any) -> Any:
        _forget_lost(source)

    @staticmethod
    def draw(source: Any, stream: Any, arm: Any, rank: Any, now: Any) -> Any:
        reward, word, row = _draw_reward_now(source, stream, arm, rank)
        delay = np.int64(draw_delay(source.laws, row, reward, word))
        _count_if_lost(source, arm, delay)
        return reward, delay

    @staticmethod
    def count_lost(source: Any, arm: Any, pulls: Any) -> Any:
        return np.int64(source.lost[arm])


class DrawInRound(NamedTuple):
    """The same where delays depend on the round."""

    laws: LawTable
    lost: Any

    @staticmethod
    def restart(source: Any) -> Any:
        _forget_lost(source)

    @staticmethod
    def draw(source: Any, stream: Any, arm: Any, rank: Any, now: Any) -> Any:
        reward, word, row = _draw_reward_now(source, stream, arm, rank)
        delay = np.int64(draw_delay_in_round(source.laws, row, reward, word, now))
        _count_if_lost(source, arm, delay)
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
    def draw(source: Any, stream: Any, arm: Any, rank: Any, now: Any) -> Any:
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
    def draw(source: Any, stream: Any, arm: Any, rank: Any, now: Any) -> Any:
        for_reward, _ = two_words(stream.key_a, stream.key_b, arm, np.uint32(rank))
        threshold = source.laws.i[np.uint32(stream.reward_row + arm)]
        return np.uint32(is_success(threshold, for_reward)), np.int64(0)

    @staticmethod
    def count_lost(source: Any, arm: Any, pulls: Any) -> Any:
        return np.int64(0)
