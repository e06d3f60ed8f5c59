"""A timing wheel for feedback with any delays, over a pool of slots.

Feedback that is due at the end of round e waits in a bucket, in the order of its pulls. If the longest delay is below
the wheel's size, each due round of the near future has its own bucket. Otherwise there are several levels of the same
size, like the digits of a number: feedback waits on the level of the highest digit in which its due round differs from
the round before the present one, and moves down a level when that digit is reached. What is sent directly to a bucket
is younger than what moved down into it, so the order of the pulls is kept on every level. Memory grows with what is
pending; feedback moves at most once a level.

A bucket is a linked list of slots that begins with a slot of its own, which carries nothing, so that appending needs no
branch. The first slots are those of the buckets; then comes the slot of a bucket that is never read, for all that is
due after the horizon. Then come as many slots as a level has buckets: feedback for the lowest level takes the slot of
its pull's round, which is free again when the wheel has turned once. The rest are for feedback on higher levels; when
it has moved down to the lowest level, its slots become free with the next block of rounds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.run_io import by_device
from belated.kernel.jit import inline, outlined
from belated.policies._base import interface
from belated.policies._base.state import State

BITS = 10
"""log2 of the buckets of a level where there are several."""

ONE_LEVEL_BITS = 16
"""log2 of the largest wheel of one level."""

FREE, FIRST_FREE, MOVED_DOWN = range(3)
"""Of the slots for higher levels: how many are free; the first free one; the first that has moved down to the lowest
level. The free ones are linked by ``next``, those that moved down by ``due``; 0 ends a list."""


class TimingWheel(NamedTuple):
    """The wheel (``levels << bits`` buckets) and the pool (slots with six numbers each)."""

    bits: int
    levels: int
    above: npt.NDArray[np.int64]  # (3,) FREE, FIRST_FREE, MOVED_DOWN
    last: npt.NDArray[np.uint32]  # (buckets + 1,) the last slot of each bucket's list; of an empty one, its own
    next: npt.NDArray[np.uint32]
    arm: npt.NDArray[np.uint32]
    rank: npt.NDArray[np.uint32]
    pulled_at: npt.NDArray[np.uint32]
    due: npt.NDArray[np.uint32]
    reward: npt.NDArray[np.float64]

    @staticmethod
    def clear(channel: Any) -> Any:
        buckets = channel.last.shape[0] - 1
        for bucket in range(buckets + 1):
            channel.last[bucket] = bucket
        if channel.levels > 1:
            size = channel.next.shape[0]
            first = buckets + 1 + (1 << channel.bits)
            for slot in range(first, size - 1):
                channel.next[slot] = slot + 1
            channel.next[size - 1] = 0
            channel.above[FREE] = size - first
            channel.above[FIRST_FREE] = first
            channel.above[MOVED_DOWN] = 0

    @staticmethod
    def first_cursor(channel: Any) -> Any:
        return ()

    @staticmethod
    def has_room(channel: Any, now: Any) -> Any:
        """At the beginning of a block of rounds, what waits for it on higher levels moves down."""
        size = 1 << channel.bits
        if channel.levels == 1 or (now - 1) & (size - 1) != 0:
            return True
        _free_delivered(channel)
        if channel.above[FREE] < size:
            return False
        _move_down(channel, now - 1)
        return True

    @staticmethod
    def span_end(channel: Any, now: Any) -> Any:
        return ((now - 1) | ((1 << channel.bits) - 1)) + 1 if channel.levels > 1 else np.int64(2**62)

    @staticmethod
    def deliver(channel: Any, policy: Any, run: Any, state: Any, cursor: Any, now: Any) -> Any:
        _deliver(policy, run, state, channel, now)
        return cursor

    @staticmethod
    def send(
        channel: Any, policy: Any, run: Any, cursor: Any, arm: Any, rank: Any, now: Any, reward: Any, delay: Any
    ) -> Any:
        due = now + np.int64(delay)
        if channel.levels > 1 and (due ^ (now - 1)) >> channel.bits != 0:
            _send_above(channel, arm, rank, now, due, reward, run.horizon)
        else:
            buckets = channel.last.shape[0] - 1
            mask = (1 << channel.bits) - 1
            slot = np.uint32(buckets + 1 + (now & mask))
            bucket = np.uint32(due & mask if due <= run.horizon else buckets)
            _write(channel, slot, arm, rank, now, reward, interface.uses_pull_id(policy))
            channel.next[channel.last[bucket]] = slot
            channel.last[bucket] = slot if due <= run.horizon else np.uint32(buckets)  # drop what is due too late
        return cursor

    @staticmethod
    def count_pending(channel: Any, run: Any, state: Any, cursor: Any, due: Any, now: Any) -> Any:
        buckets = channel.last.shape[0] - 1
        rounds = run.horizon - due + 1
        all_buckets = channel.levels > 1 or rounds >= buckets
        for number in range(buckets if all_buckets else rounds):
            bucket = np.uint32(number if all_buckets else (due + number) & (buckets - 1))
            slot = bucket
            while slot != channel.last[bucket]:
                slot = channel.next[slot]
                state.observed[channel.arm[slot]] += 1


def allocate(longest: int, horizon: int) -> TimingWheel:
    """A wheel for delays up to ``longest`` and a first pool; what is due after ``horizon`` needs no room."""
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


def grown(wheel: TimingWheel) -> TimingWheel:
    """The same wheel with a pool of twice the size."""
    size = wheel.next.size
    pool = _pool(2 * size)
    for new, old in zip(pool, wheel[4:], strict=True):
        new[:size] = old
    pool[0][size:-1] = np.arange(size + 1, 2 * size)
    pool[0][-1] = wheel.above[FIRST_FREE]
    above = wheel.above.copy()
    above[FREE] += size
    above[FIRST_FREE] = size
    return TimingWheel(wheel.bits, wheel.levels, above, wheel.last, *pool)


def _pool(slots: int) -> tuple[Any, ...]:
    return (*(np.zeros(slots, np.uint32) for _ in range(5)), np.zeros(slots))


@inline
def _deliver_each(policy: Any, run: Any, state: State, wheel: TimingWheel, now: Any) -> None:
    """Give the policy, in the order of the pulls, the feedback that is due at the end of round ``now - 1``."""
    slot, last = _take(wheel, now - 1)
    while slot != last:
        slot = wheel.next[slot]
        rank, pulled_at = np.int64(wheel.rank[slot]), np.int64(wheel.pulled_at[slot])
        interface.record_feedback(policy, state, wheel.arm[slot], wheel.reward[slot], rank, pulled_at, now)


@inline
def _deliver_or_dummy(policy: Any, run: Any, state: State, wheel: TimingWheel, now: Any) -> None:
    """The same; where nothing is due, a policy that accepts it gets dummy feedback, so that no branch depends on it."""
    slot, last = _take(wheel, now - 1)
    while True:
        following = wheel.next[slot]
        arm = wheel.arm[following]
        is_due = slot != last
        if not is_due and not interface.accepts_dummy_feedback(policy):
            break
        arm = arm if is_due else np.uint32(state.arms)
        slot = following if is_due else slot
        rank, pulled_at = np.int64(wheel.rank[slot]), np.int64(wheel.pulled_at[slot])
        interface.record_feedback(policy, state, arm, wheel.reward[slot], rank, pulled_at, now)
        if slot == last:
            break


_deliver = by_device(cpu=_deliver_or_dummy, gpu=_deliver_each)  # on a GPU a state has no dummy arm


@inline
def _take(wheel: TimingWheel, due: Any) -> Any:
    """(bucket, last slot) of what is due at the end of round ``due``: slots from ``next[bucket]`` to the last. Empties
    the bucket."""
    bucket = np.uint32(due & ((1 << wheel.bits) - 1))
    last = wheel.last[bucket]
    wheel.last[bucket] = bucket
    return bucket, last


@outlined
def _send_above(wheel: TimingWheel, arm: Any, rank: Any, now: Any, due: Any, reward: Any, horizon: Any) -> None:
    """Send feedback that is not due in this block of rounds."""
    if due > horizon:
        return
    slot = np.uint32(wheel.above[FIRST_FREE])
    wheel.above[FIRST_FREE] = wheel.next[slot]
    wheel.above[FREE] -= 1
    wheel.due[slot] = due
    _write(wheel, slot, arm, rank, now, reward, True)
    _append(wheel, _bucket(wheel, due, now - 1), slot)


@inline
def _write(wheel: TimingWheel, slot: Any, arm: Any, rank: Any, now: Any, reward: Any, with_pull_id: Any) -> None:
    wheel.arm[slot] = arm
    if with_pull_id:
        wheel.rank[slot] = rank
        wheel.pulled_at[slot] = now
    wheel.reward[slot] = reward


@inline
def _append(wheel: TimingWheel, bucket: Any, slot: Any) -> None:
    wheel.next[wheel.last[bucket]] = slot
    wheel.last[bucket] = slot


@inline
def _bucket(wheel: TimingWheel, due: Any, ended: Any) -> Any:
    """The bucket of feedback due at the end of round ``due``, after the end of round ``ended``."""
    difference = (due ^ ended) >> wheel.bits
    level = 0
    while difference > 0:
        difference >>= wheel.bits
        level += 1
    return np.uint32((level << wheel.bits) + ((due >> (level * wheel.bits)) & ((1 << wheel.bits) - 1)))


@inline
def _free_delivered(wheel: TimingWheel) -> None:
    """Free the slots of what had moved down for the last block of rounds, and was delivered in it."""
    slot = np.uint32(wheel.above[MOVED_DOWN])
    wheel.above[MOVED_DOWN] = 0
    while slot != 0:
        following = wheel.due[slot]
        wheel.next[slot] = wheel.above[FIRST_FREE]
        wheel.above[FIRST_FREE] = slot
        wheel.above[FREE] += 1
        slot = following


@inline
def _move_down(wheel: TimingWheel, due: Any) -> None:
    """Move down what waits on higher levels for the block of rounds that begins with ``due``, the highest level
    first."""
    for level in range(wheel.levels - 1, 0, -1):
        if due & ((1 << (level * wheel.bits)) - 1) == 0:
            bucket = np.uint32((level << wheel.bits) + ((due >> (level * wheel.bits)) & ((1 << wheel.bits) - 1)))
            last = wheel.last[bucket]
            wheel.last[bucket] = bucket
            following = wheel.next[bucket]
            slot = bucket
            while slot != last:
                slot = following
                following = wheel.next[slot]
                target = _bucket(wheel, np.int64(wheel.due[slot]), due)
                _append(wheel, target, slot)
                if target < 1 << wheel.bits:
                    wheel.due[slot] = wheel.above[MOVED_DOWN]
                    wheel.above[MOVED_DOWN] = slot
