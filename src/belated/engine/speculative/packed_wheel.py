"""A timing wheel whose buckets are 64-bit words, for rewards of 0 or 1 and few arms.

Feedback is one byte: an arm and its reward. A bucket, one for each due round of the near future, holds up to eight of
them, the youngest in the lowest byte. So feedback is sent by one shift and unsent by another, and the feedback of
several rounds is unpacked into one list without a branch that the processor could mispredict. The rare ninth feedback
of a round waits in an overflow list. The order within a round is not kept: sums of integers do not depend on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.kernel.intrinsics import BYTE, FULL, byte_count, write_bytes
from belated.kernel.jit import inline, outlined

MAX_ARMS = 64
"""An arm and its reward fit into 7 bits; the eighth is set, so that no feedback is 0."""
MAX_DELAY_BITS = 16
"""Bits of the longest delay that such a wheel is made for."""
OVERFLOW = 256
"""Entries of the overflow list."""

_ONE, _PRESENT = np.uint32(1), np.uint32(2 * MAX_ARMS)
_DELAY, _FEEDBACK = np.uint32(8), np.uint32(255)


class PackedWheel(NamedTuple):
    """Feedback on its way, and that of the rounds that are being played."""

    longest: Any  # the longest delay of feedback that is kept. Later feedback becomes nothing, with this delay
    mask: Any  # number of buckets - 1: the longest delay and the rounds listed at a time
    bucket: npt.NDArray[np.uint64]
    packed: npt.NDArray[np.uint32]  # the feedback of drawn pulls, with its delay (see :func:`pack`)
    overflow: npt.NDArray[np.uint32]  # (OVERFLOW, 2) (due, feedback) that found its bucket full, in the order of pulls
    overflowing: npt.NDArray[np.int64]  # (1,) how many entries it has
    tally: npt.NDArray[np.uint64]  # (MAX_ARMS,) the feedback of each arm that was delivered: its count, then its sum
    known: npt.NDArray[np.uint8]  # the feedback of several rounds
    extra: npt.NDArray[np.int64]  # (rounds,) how much feedback of each round came from the overflow list


def fits(arms: int, longest: int, horizon: int) -> bool:
    """Whether there are few enough arms, and short enough delays."""
    return arms <= MAX_ARMS and min(longest, horizon).bit_length() <= MAX_DELAY_BITS


def allocate(longest: int, horizon: int, rounds: int, pulls: int, tally: npt.NDArray[np.uint64]) -> PackedWheel:
    """A wheel for delays up to ``longest``, of which ``rounds`` rounds are listed at a time, with room for the packed
    feedback of ``pulls`` drawn pulls. What is due after ``horizon`` needs no room. ``tally`` has MAX_ARMS numbers."""
    size = 1 << (min(longest, horizon) + rounds).bit_length()
    return PackedWheel(
        longest=np.uint32(size - 1 - rounds),
        mask=np.uint32(size - 1),
        bucket=np.zeros(size, np.uint64),
        packed=np.zeros(pulls, np.uint32),
        overflow=np.zeros((OVERFLOW, 2), np.uint32),
        overflowing=np.zeros(1, np.int64),
        tally=tally,
        known=np.zeros(8 * (rounds + 1) + OVERFLOW, np.uint8),
        extra=np.zeros(rounds, np.int64),
    )


@inline
def clear(wheel: PackedWheel) -> None:
    """Drop all feedback."""
    for bucket in range(wheel.bucket.shape[0]):
        wheel.bucket[bucket] = np.uint64(0)
    for arm in range(wheel.tally.shape[0]):
        wheel.tally[arm] = np.uint64(0)
    wheel.overflowing[0] = 0


@inline
def pack(arm: Any, reward: Any, delay: Any, longest: Any) -> Any:
    """Feedback and its delay in one number; see :func:`with_delay`."""
    return with_delay(_PRESENT | np.uint32(arm << _ONE) | np.uint32(reward), delay, longest)


@inline
def with_delay(feedback: Any, delay: Any, longest: Any) -> Any:
    """A byte of feedback and its delay in one number; where the delay is above ``longest``, no feedback and this
    delay."""
    delay = np.uint32(delay)
    return np.uint32((delay << _DELAY) | feedback) if delay <= longest else np.uint32(longest << _DELAY)


@inline
def unpack(feedback: Any) -> Any:
    """(arm, reward)."""
    number = np.uint32(feedback)
    return np.uint32((number >> _ONE) & np.uint32(MAX_ARMS - 1)), np.uint32(number & _ONE)


@inline
def send(wheel: PackedWheel, now: Any, packed: Any) -> Any:
    """Put feedback of a pull in round ``now`` on its way; False if there is no room for it."""
    due = _due(packed, now)
    bucket = due & wheel.mask
    before = wheel.bucket[bucket]
    if before >> FULL != 0:
        return _send_to_overflow(wheel, due, packed & _FEEDBACK)
    wheel.bucket[bucket] = (before << BYTE) | np.uint64(packed & _FEEDBACK)
    return True


@inline
def unsend(wheel: PackedWheel, now: Any, packed: Any) -> None:
    """Undo the last :func:`send`, that of round ``now``."""
    due = _due(packed, now)
    overflowing = wheel.overflowing[0]
    if overflowing > 0 and wheel.overflow[overflowing - 1, 0] == due:
        wheel.overflowing[0] = overflowing - 1
    else:
        wheel.bucket[due & wheel.mask] >>= BYTE


@inline
def _due(packed: Any, now: Any) -> Any:
    """The round at whose end feedback of a pull in round ``now`` becomes known."""
    return np.uint32(now + (packed >> _DELAY))


@outlined
def _send_to_overflow(wheel: PackedWheel, due: Any, feedback: Any) -> Any:
    overflowing = wheel.overflowing[0]
    if overflowing == wheel.overflow.shape[0]:
        return False
    wheel.overflow[overflowing, 0] = due
    wheel.overflow[overflowing, 1] = feedback
    wheel.overflowing[0] = overflowing + 1
    return True


@inline
def list_known(wheel: PackedWheel, first: Any, rounds: Any) -> Any:
    """Write into ``known`` what becomes known at the end of ``rounds`` rounds from ``first`` on; how much that is."""
    if wheel.overflowing[0] > 0:
        return _list_with_overflow(wheel, first, rounds)
    end = np.int64(0)
    step = np.uint32(0)
    while step < rounds:
        end = _list_bucket(wheel, first, step, end)
        step += _ONE
    return end


@inline
def _list_bucket(wheel: PackedWheel, first: Any, step: Any, end: Any) -> Any:
    word = wheel.bucket[_bucket(wheel, first, step)]
    write_bytes(wheel.known, end, word)
    return end + byte_count(word)


@inline
def _bucket(wheel: PackedWheel, first: Any, step: Any) -> Any:
    """The bucket of round ``first + step``."""
    return np.uint32(first + step) & wheel.mask


@outlined
def _list_with_overflow(wheel: PackedWheel, first: Any, rounds: Any) -> Any:
    end = np.int64(0)
    step = np.uint32(0)
    while step < rounds:
        end = _list_bucket(wheel, first, step, end)
        wheel.extra[step] = 0
        for entry in range(wheel.overflowing[0]):
            if wheel.overflow[entry, 0] == np.uint32(first + step):
                wheel.known[end] = wheel.overflow[entry, 1]
                wheel.extra[step] += 1
                end += 1
        step += _ONE
    return end


@inline
def round_end(wheel: PackedWheel, first: Any, entry: Any) -> Any:
    """(rounds, entries): how many of the rounds from ``first`` on, and of the entries of ``known``, end with the round
    that ``known[entry]`` is of."""
    step = np.uint32(0)
    end = np.int64(0)
    while end <= entry:
        end += byte_count(wheel.bucket[_bucket(wheel, first, step)])
        if wheel.overflowing[0] > 0:
            end += wheel.extra[step]
        step += _ONE
    return step, end


@inline
def drop(wheel: PackedWheel, first: Any, rounds: Any) -> None:
    """Drop the feedback of ``rounds`` rounds from ``first`` on: it was delivered."""
    bucket = _bucket(wheel, first, np.uint32(0))
    end = np.uint32(bucket + rounds)
    if end <= wheel.mask:  # contiguous: with the mask in this loop too, the compiler would scatter, which is slow
        while bucket < end:
            wheel.bucket[bucket] = np.uint64(0)
            bucket += _ONE
    else:
        step = np.uint32(0)
        while step < rounds:
            wheel.bucket[_bucket(wheel, first, step)] = np.uint64(0)
            step += _ONE
    if wheel.overflowing[0] > 0:
        _drop_overflow(wheel, np.uint32(first + rounds))


@outlined
def _drop_overflow(wheel: PackedWheel, until: Any) -> None:
    kept: Any = 0
    for entry in range(wheel.overflowing[0]):
        wheel.overflow[kept, 0] = wheel.overflow[entry, 0]
        wheel.overflow[kept, 1] = wheel.overflow[entry, 1]
        kept += np.int64(wheel.overflow[entry, 0] >= until)
    wheel.overflowing[0] = kept
