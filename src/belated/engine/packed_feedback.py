"""An answer, where rewards are 0 or 1 and arms are few: a byte that says whose it is and what it says."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.kernel.jit import inline

MOST_ARMS = 64
"""An arm and its reward fit into a byte, and 0 is no answer."""

_ONE, _PRESENT = np.uint32(1), np.uint32(2 * MOST_ARMS)
_BYTE, _ANSWER = np.uint32(8), np.uint32(255)


@inline
def answer_of(arm: Any, reward: Any) -> Any:
    """An arm and its reward, 0 or 1, in one number that is not 0."""
    return _PRESENT | np.uint32(arm << _ONE) | np.uint32(reward)


@inline
def arm_and_reward(answer: Any) -> Any:
    """What an answer says."""
    number = np.uint32(answer)
    return np.uint32((number >> _ONE) & np.uint32(MOST_ARMS - 1)), np.uint32(number & _ONE)


@inline
def with_delay(answer: Any, delay: Any, longest: Any) -> Any:
    """An answer and its delay in one number. One that comes after more than ``longest`` rounds becomes nothing
    after so many."""
    delay = np.uint32(delay)
    return np.uint32((delay << _BYTE) | answer) if delay <= longest else np.uint32(longest << _BYTE)


@inline
def byte_of(ready: Any) -> Any:
    """The answer of such a number."""
    return ready & _ANSWER


@inline
def due_of(ready: Any, now: Any) -> Any:
    """The round at whose end an answer to a pull of round ``now`` is known."""
    return np.uint32(now + (ready >> _BYTE))
