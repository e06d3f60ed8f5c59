"""A ring buffer for feedback under one fixed delay for all arms.

Each round reads the feedback that is due and puts its own into the slot that becomes free; nothing is looked up. Where
rewards are 0 or 1, an arm and its reward are one number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from belated.engine.run_io import ONE, by_device
from belated.kernel.jit import inline, select
from belated.policies._base import interface


class RingCursor(NamedTuple):
    """Kept in registers from round to round."""

    slot: Any  # of the present round: it holds the feedback that is due until that of this round is sent
    arm: Any  # on a GPU: the feedback that is due, as it is stored, prefetched in the round before
    reward: Any


class RingBuffer(NamedTuple):
    """Feedback on its way for ``delay`` rounds, in ``delay + 1`` slots."""

    delay: Any
    arm: Any  # where every reward is 0 or 1: 2 arm + reward
    reward: Any  # () where every reward is 0 or 1

    @staticmethod
    def clear(channel: Any) -> Any:
        """A slot is written before it is read."""

    @staticmethod
    def first_cursor(channel: Any) -> Any:
        return RingCursor(np.uint32(0), np.uint32(0), 0.0)

    @staticmethod
    def has_room(channel: Any, now: Any) -> Any:
        return True

    @staticmethod
    def span_end(channel: Any, now: Any) -> Any:
        return np.int64(2**62)

    @staticmethod
    def deliver(channel: Any, policy: Any, run: Any, state: Any, cursor: Any, now: Any) -> Any:
        stored_arm, stored_reward = _due(channel, run, cursor)
        cursor = _prefetch(channel, run, cursor)
        if now > channel.delay + 1:
            arm, reward = _unpack(channel, run, stored_arm, stored_reward)
            rank = np.int64(state.observed[arm])  # feedback of an arm comes in the order of its pulls
            interface.record_feedback(policy, state, arm, reward, rank, np.int64(now - 1 - channel.delay), now)
        return cursor

    @staticmethod
    def send(
        channel: Any, policy: Any, run: Any, cursor: Any, arm: Any, rank: Any, now: Any, reward: Any, delay: Any
    ) -> Any:
        _write(channel, cursor.slot, arm, reward)
        return RingCursor(_after(channel, cursor.slot), cursor.arm, cursor.reward)

    @staticmethod
    def count_pending(channel: Any, run: Any, state: Any, cursor: Any, due: Any, now: Any) -> Any:
        slot = cursor.slot  # of round now: it holds what is due at the end of round now - 1
        slot = _after(channel, slot) if due == now else slot
        while due <= run.horizon and due - channel.delay < now:
            if due > channel.delay:
                state.observed[_unpack(channel, run, *_read(channel, slot))[0]] += 1
            slot = _after(channel, slot)
            due += 1


@inline
def _after(channel: RingBuffer, slot: Any) -> Any:
    """The slot of the next round."""
    return np.uint32(slot + ONE) if slot < np.uint32(channel.delay) else np.uint32(0)


def _due_in_slot(channel: RingBuffer, run: Any, cursor: RingCursor) -> Any:
    return _read(channel, cursor.slot)


def _due_in_register(channel: RingBuffer, run: Any, cursor: RingCursor) -> Any:
    if channel.delay == 0:  # it was not sent yet when it would have been prefetched
        return _read(channel, cursor.slot)
    return cursor.arm, cursor.reward


def _no_prefetch(channel: RingBuffer, run: Any, cursor: RingCursor) -> Any:
    """On a CPU the slot is in the cache: read it when it is due."""
    return cursor


def _prefetch_next(channel: RingBuffer, run: Any, cursor: RingCursor) -> Any:
    """On a GPU, where a read takes long: read now what is due in the next round."""
    arm, reward = _read(channel, _after(channel, cursor.slot))
    return RingCursor(cursor.slot, arm, reward)


_due = by_device(cpu=_due_in_slot, gpu=_due_in_register)
"""(channel, run, cursor): the feedback that is due, as it is stored."""
_prefetch = by_device(cpu=_no_prefetch, gpu=_prefetch_next)
"""(channel, run, cursor): the cursor with the feedback that is due in the next round, on a GPU."""


def _write_both(channel: RingBuffer, slot: Any, arm: Any, reward: Any) -> None:
    channel.arm[slot] = arm
    channel.reward[slot] = reward


def _write_packed(channel: RingBuffer, slot: Any, arm: Any, reward: Any) -> None:
    channel.arm[slot] = np.uint32((arm << ONE) | np.uint32(reward))


def _read_both(channel: RingBuffer, slot: Any) -> Any:
    return channel.arm[slot], channel.reward[slot]


def _read_packed(channel: RingBuffer, slot: Any) -> Any:
    return channel.arm[slot], 0.0


def _unpack_both(channel: RingBuffer, run: Any, arm: Any, reward: Any) -> Any:
    return arm, reward


def _unpack_packed(channel: RingBuffer, run: Any, arm: Any, reward: Any) -> Any:
    return np.uint32(arm >> ONE), _bit_as_reward(run, arm & ONE)


_write = select(field="reward", present=_write_both, absent=_write_packed)
"""(channel, slot, arm, reward): store feedback."""
_read = select(field="reward", present=_read_both, absent=_read_packed)
"""(channel, slot): feedback as it is stored."""
_unpack = select(field="reward", present=_unpack_both, absent=_unpack_packed)
"""(channel, run, arm, reward): (arm, reward) of feedback as it is stored."""


def _as_float(run: Any, bit: Any) -> Any:
    return float(bit)


def _as_integer(run: Any, bit: Any) -> Any:
    return np.int32(bit)


_bit_as_reward = by_device(cpu=_as_float, gpu=_as_integer)
"""(run, bit): a reward of 0 or 1, as a float like all other rewards; a GPU sums integers."""
