"""One run whose feedback waits in the timing wheel of :mod:`belated.engine.timing_wheel`: as GPUs play it.

It is :mod:`belated.engine.run` to the bit, with what a thread among many thousands has: nothing drawn ahead, a slot
for every round instead of room that grows, nobody to ask to stop."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.engine import timing_wheel
from belated.engine.run_io import BAD_ARM, FINISHED, Game, Sink, regret_of, settle
from belated.engine.sampling import draw_delay, draw_reward
from belated.kernel.jit import inline
from belated.kernel.law_table import NEVER
from belated.kernel.rng import two_words
from belated.policies._base import interface
from belated.policies._base.state import State


@inline
def play_wheel(policy: Any, game: Game, state: State, flight: timing_wheel.TimingWheel, sink: Sink) -> Any:
    """Play a run whose feedback waits in the wheel; how it ended."""
    horizon = game.horizon
    points = game.checkpoint.shape[0]
    timing_wheel.clear(flight)
    now = 1
    point = 0
    only = np.int64(-1)
    while now <= horizon:
        timing_wheel.ready(flight, now)
        until = min(horizon, timing_wheel.last_round(flight, now))
        if point < points:
            until = min(until, game.checkpoint[point])
        while now <= until:
            slot, last = timing_wheel.land(flight, now - 1)
            while slot != last:
                slot = flight.next[slot]
                rank, pulled_at = np.int64(flight.rank[slot]), np.int64(flight.pulled_at[slot])
                interface.record_feedback(policy, state, flight.arm[slot], flight.reward[slot], rank, pulled_at, now)
            chosen = interface.choose(policy, state, now)
            only = np.int64(interface.committed_arm(policy, state))
            if not interface.is_trusted(policy) and (not interface.is_arm(state, chosen) or only >= state.arms):
                return BAD_ARM
            if only >= 0:
                break
            arm = np.uint32(chosen)
            rank = np.int64(state.pulls[arm])
            reward, delay = draw_pull(game, arm, rank)
            count_fate(sink, arm, now, delay, horizon)
            timing_wheel.put(flight, arm, rank, now, now + delay, reward, horizon, interface.uses_pull_id(policy))
            interface.record_pull(policy, state, arm, rank, now)
            now += 1
        if only >= 0:
            break
        if point < points and until == game.checkpoint[point]:
            sink.curve[point] = regret_of(game.gap, state)
            point += 1
    if only >= 0:
        arm = np.uint32(only)
        rank = np.int64(state.pulls[arm])
        for pulled in range(now, horizon + 1):
            _, delay = draw_pull(game, arm, rank)
            count_fate(sink, arm, pulled, delay, horizon)
            rank += 1
        settle(game, state, sink, arm, now, point)
    return FINISHED


@inline
def draw_pull(game: Game, arm: Any, rank: Any) -> Any:
    """(reward, delay) of an arm's pull number ``rank``."""
    word, other = two_words(game.key_a, game.key_b, arm, rank)
    reward = draw_reward(game.laws, np.uint32(game.rewards + arm), word)
    return reward, np.int64(draw_delay(game.laws, np.uint32(game.delays + arm), reward, other))


@inline
def count_fate(sink: Sink, arm: Any, pulled: Any, delay: Any, horizon: Any) -> None:
    """Whether a pull is answered by the end of the last round, or never."""
    if pulled + delay <= horizon:
        sink.observed[arm] += 1
    if delay == NEVER:
        sink.lost[arm] += 1
