"""What one run plays, and what it gives back: for the ways of playing that take one run at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from belated.kernel.jit import inline
from belated.kernel.law_table import LawTable
from belated.policies._base.state import State

ONE = np.uint32(1)


class Game(NamedTuple):
    """What a run plays."""

    laws: LawTable
    gap: Any  # (K,) of its problem
    checkpoint: Any  # (C,) rounds, ascending
    horizon: Any
    rewards: Any  # row of the first arm's rewards in the laws
    delays: Any  # row of the first arm's delays
    key_a: Any  # the environment's random stream
    key_b: Any
    ahead: (
        Any  # (K,) the rewards of each arm's pulls of a batch, a bit each; or nothing, and each is drawn in its round
    )
    batch: Any  # log2 of the pulls of a batch
    stop: Any  # (1,) set to 1 from outside to leave early


class Sink(NamedTuple):
    """What a run gives back."""

    curve: Any  # (C,) pseudo-regret after each checkpoint
    observed: Any  # (K,) answers that come until the horizon; of a ring, the state has them
    lost: Any  # (K,)


FINISHED, NO_ROOM, STOPPED, BAD_ARM = range(4)
"""Why playing ended."""

STRIDE = 2**20 - 1
"""A span ends at the latest where a round's number has all of these bits, so that the stop sign is looked at."""


@inline
def regret_of(gap: Any, state: State) -> Any:
    """The pseudo-regret so far: gaps times pulls."""
    regret = 0.0
    arms = np.uint32(state.arms)  # of the same type as the arm: else both are compared as real numbers
    arm = np.uint32(0)
    while arm < arms:
        regret += gap[arm] * state.pulls[arm]
        arm += ONE
    return regret


@inline
def settle(game: Game, state: State, sink: Sink, arm: Any, now: Any, point: Any) -> None:
    """``arm`` is pulled in all rounds from ``now`` on."""
    before = state.pulls[arm] - (now - 1)
    while point < game.checkpoint.shape[0]:
        state.pulls[arm] = before + game.checkpoint[point]
        sink.curve[point] = regret_of(game.gap, state)
        point += ONE
    state.pulls[arm] = before + game.horizon
