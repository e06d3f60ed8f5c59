"""Feedback in flight: a timing wheel over a pool of slots.

Feedback that is due at the end of round e waits in a bucket, in the order of its pulls. If the longest delay is below
the wheel's size, each due round of the near future has a bucket of its own. Otherwise wheels of the same size stand
above each other, as the digits of a number do: feedback waits on the level of the highest digit in which its due round
differs from the round before the present one, and comes down a level when that digit is reached. What is put directly
into a bucket is younger than what came down into it, so the order of the pulls is kept at every level. Memory grows
with what is in flight; each feedback moves at most once a level.

A bucket is a chain of slots that starts at a slot of its own, which carries nothing; so nothing is asked when one more
is appended. The first slots are those of the buckets; then comes that of a bucket for all that will not matter before
the horizon, into which everything may be written and which is never read. Then come as many slots as a level has
buckets: feedback for the lowest level takes the slot of its pull's round, which is free again when that round's number
comes round. The rest are for feedback that waits above; those of it that have come down to the lowest level are free
again when the next block of rounds begins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.kernel.jit import inline, outlined

BITS = 10
"""log2 of the buckets of one level where there are several."""

ONE_LEVEL_BITS = 16
"""log2 of the largest wheel that stands alone."""


FREE, FIRST_FREE, COMING = range(3)
"""Of the slots for what waits above: how many are free; the first of them; the first that is coming down. Each of these
leads to the next one, the free ones by ``next``, those coming down by ``due``; 0 ends the chain."""


class TimingWheel(NamedTuple):
    """The wheel (``levels << bits`` buckets) and the pool (slots with six numbers each)."""

    bits: int
    levels: int
    above: npt.NDArray[np.int64]  # (3,) FREE, FIRST_FREE, COMING
    last: npt.NDArray[np.uint32]  # (buckets + 1,) the last slot of each chain; of an empty one, the bucket's own
    next: npt.NDArray[np.uint32]
    arm: npt.NDArray[np.uint32]
    rank: npt.NDArray[np.uint32]
    pulled_at: npt.NDArray[np.uint32]
    due: npt.NDArray[np.uint32]
    reward: npt.NDArray[np.float64]


def allocate(longest: int, horizon: int) -> TimingWheel:
    """A wheel for delays up to ``longest`` that matter before ``horizon``, and a first pool; :func:`clear` makes it
    ready."""
    longest = min(longest, horizon)
    bits, levels = max(longest.bit_length(), 3), 1
    if bits > ONE_LEVEL_BITS:
        bits, levels = BITS, -(-horizon.bit_length() // BITS)
    buckets = levels << bits
    above = buckets if levels > 1 else 0
    return TimingWheel(
        bits,
        levels,
        np.zeros(3, np.int64),
        np.zeros(buckets + 1, np.uint32),
        *_pool(buckets + 1 + (1 << bits) + above),
    )


def grown(flight: TimingWheel) -> TimingWheel:
    """The same flight with a pool of twice the size; to be called when there is no room."""
    size = flight.next.size
    pool = _pool(2 * size)
    for new, old in zip(pool, flight[4:], strict=True):
        new[:size] = old
    pool[0][size:-1] = np.arange(size + 1, 2 * size)
    pool[0][-1] = flight.above[FIRST_FREE]
    above = flight.above.copy()
    above[FREE] += size
    above[FIRST_FREE] = size
    return TimingWheel(flight.bits, flight.levels, above, flight.last, *pool)


def _pool(slots: int) -> tuple[Any, ...]:
    return (*(np.zeros(slots, np.uint32) for _ in range(5)), np.zeros(slots))


@inline
def clear(flight: TimingWheel) -> None:
    """Nothing in flight."""
    buckets = flight.last.shape[0] - 1
    for bucket in range(buckets + 1):
        flight.last[bucket] = bucket
    if flight.levels > 1:
        size = flight.next.shape[0]
        first = buckets + 1 + (1 << flight.bits)
        for slot in range(first, size - 1):
            flight.next[slot] = slot + 1
        flight.next[size - 1] = 0
        flight.above[FREE] = size - first
        flight.above[FIRST_FREE] = first
        flight.above[COMING] = 0


@inline
def ready(flight: TimingWheel, now: Any) -> Any:
    """To be called before round ``now``, at least where :func:`last_round` says: whether there is room up to there.

    At the beginning of a block of rounds, what waits for it on higher levels comes down.
    """
    size = 1 << flight.bits
    if flight.levels == 1 or (now - 1) & (size - 1) != 0:
        return True
    _free_landed(flight)
    if flight.above[FREE] < size:
        return False
    _come_down(flight, now - 1)
    return True


@inline
def last_round(flight: TimingWheel, now: Any) -> Any:
    """The last round that may be played before :func:`ready` is called again."""
    return ((now - 1) | ((1 << flight.bits) - 1)) + 1 if flight.levels > 1 else np.int64(2**62)


@inline
def put(flight: TimingWheel, arm: Any, rank: Any, now: Any, due: Any, reward: Any, horizon: Any, origin: Any) -> None:
    """Feedback of round ``now`` takes off; it is known at the end of round ``due`` >= ``now``, if that matters."""
    if flight.levels > 1 and (due ^ (now - 1)) >> flight.bits != 0:
        _put_above(flight, arm, rank, now, due, reward, horizon)
        return
    buckets = flight.last.shape[0] - 1
    here = (1 << flight.bits) - 1
    slot = np.uint32(buckets + 1 + (now & here))
    bucket = np.uint32(due & here if due <= horizon else buckets)
    _write(flight, slot, arm, rank, now, reward, origin)
    flight.next[flight.last[bucket]] = slot
    flight.last[bucket] = slot if due <= horizon else np.uint32(buckets)  # nothing is kept of what will not matter


@outlined
def _put_above(flight: TimingWheel, arm: Any, rank: Any, now: Any, due: Any, reward: Any, horizon: Any) -> None:
    """``put`` for feedback that is not due in this block of rounds."""
    if due > horizon:
        return
    slot = np.uint32(flight.above[FIRST_FREE])
    flight.above[FIRST_FREE] = flight.next[slot]
    flight.above[FREE] -= 1
    flight.due[slot] = due
    _write(flight, slot, arm, rank, now, reward, True)
    _append(flight, _bucket(flight, due, now - 1), slot)


@inline
def _write(flight: TimingWheel, slot: Any, arm: Any, rank: Any, now: Any, reward: Any, origin: Any) -> None:
    flight.arm[slot] = arm
    if origin:
        flight.rank[slot] = rank
        flight.pulled_at[slot] = now
    flight.reward[slot] = reward


@inline
def _append(flight: TimingWheel, bucket: Any, slot: Any) -> None:
    flight.next[flight.last[bucket]] = slot
    flight.last[bucket] = slot


@inline
def _bucket(flight: TimingWheel, due: Any, over: Any) -> Any:
    """The bucket in which feedback due at ``due`` waits when the round ``over`` is over."""
    apart = (due ^ over) >> flight.bits
    level = 0
    while apart > 0:
        apart >>= flight.bits
        level += 1
    return np.uint32((level << flight.bits) + ((due >> (level * flight.bits)) & ((1 << flight.bits) - 1)))


@inline
def land(flight: TimingWheel, due: Any) -> Any:
    """(bucket, last slot) of all that is known at the end of round ``due``; the slots follow each other from
    ``next[bucket]`` to the last."""
    bucket = np.uint32(due & ((1 << flight.bits) - 1))
    last = flight.last[bucket]
    flight.last[bucket] = bucket
    return bucket, last


@inline
def count_pending(flight: TimingWheel, first: Any, last: Any, answers: Any) -> None:
    """Add to ``answers`` of each arm what is still to land, where that is at the end of rounds ``first`` to ``last``
    alone."""
    buckets = flight.last.shape[0] - 1
    rounds = last - first + 1
    everywhere = flight.levels > 1 or rounds >= buckets
    for number in range(buckets if everywhere else rounds):
        bucket = np.uint32(number if everywhere else (first + number) & (buckets - 1))
        slot = bucket
        while slot != flight.last[bucket]:
            slot = flight.next[slot]
            answers[flight.arm[slot]] += 1.0


@inline
def _free_landed(flight: TimingWheel) -> None:
    """What came down to the lowest level for the block of rounds that is over has landed: its slots are free."""
    slot = np.uint32(flight.above[COMING])
    flight.above[COMING] = 0
    while slot != 0:
        following = flight.due[slot]
        flight.next[slot] = flight.above[FIRST_FREE]
        flight.above[FIRST_FREE] = slot
        flight.above[FREE] += 1
        slot = following


@inline
def _come_down(flight: TimingWheel, due: Any) -> None:
    """A block of rounds begins with ``due``: what waits for it on higher levels comes down, the highest first."""
    for level in range(flight.levels - 1, 0, -1):
        if due & ((1 << (level * flight.bits)) - 1) == 0:
            bucket = np.uint32((level << flight.bits) + ((due >> (level * flight.bits)) & ((1 << flight.bits) - 1)))
            last = flight.last[bucket]
            flight.last[bucket] = bucket
            following = flight.next[bucket]
            slot = bucket
            while slot != last:
                slot = following
                following = flight.next[slot]
                goal = _bucket(flight, np.int64(flight.due[slot]), due)
                _append(flight, goal, slot)
                if goal < 1 << flight.bits:
                    flight.due[slot] = flight.above[COMING]
                    flight.above[COMING] = slot
