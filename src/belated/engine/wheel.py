"""One run whose feedback waits in the timing wheel of :mod:`belated.engine.flight`: as GPUs play it.

It is :mod:`belated.engine.episode` to the bit, with what a thread among many thousands has: nothing drawn ahead, a slot
for every round instead of room that grows, nobody to ask to stop."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.engine import flight as air
from belated.engine.draw import draw_delay, draw_reward
from belated.engine.game import BAD_ARM, FINISHED, Game, Sink, regret_of, settle
from belated.engine.laws import NEVER
from belated.forms import hooks
from belated.forms.state import State
from belated.kernel import inner
from belated.rng import two_words


@inner
def play_wheel(policy: Any, game: Game, state: State, flight: air.Flight, sink: Sink) -> Any:
    """Play a run whose feedback waits in the wheel; how it ended."""
    horizon = game.horizon
    points = game.checkpoint.shape[0]
    air.clear(flight)
    now = 1
    point = 0
    only = np.int64(-1)
    while now <= horizon:
        air.ready(flight, now)
        until = min(horizon, air.last_round(flight, now))
        if point < points:
            until = min(until, game.checkpoint[point])
        while now <= until:
            slot, last = air.land(flight, now - 1)
            while slot != last:
                slot = flight.next[slot]
                rank, pulled_at = np.int64(flight.rank[slot]), np.int64(flight.pulled_at[slot])
                hooks.record_answer(policy, state, flight.arm[slot], flight.reward[slot], rank, pulled_at, now)
            chosen = hooks.choose(policy, state, now)
            only = np.int64(hooks.only_arm(policy, state))
            if not hooks.is_trusted(policy) and (not hooks.is_arm(state, chosen) or only >= state.arms):
                return BAD_ARM
            if only >= 0:
                break
            arm = np.uint32(chosen)
            rank = np.int64(state.pulls[arm])
            reward, delay = draw_pull(game, arm, rank)
            count_fate(sink, arm, now, delay, horizon)
            air.put(flight, arm, rank, now, now + delay, reward, horizon, hooks.reads_origin(policy))
            hooks.record_pull(policy, state, arm, rank, now)
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


@inner
def draw_pull(game: Game, arm: Any, rank: Any) -> Any:
    """(reward, delay) of an arm's pull number ``rank``."""
    word, other = two_words(game.key_a, game.key_b, arm, rank)
    reward = draw_reward(game.laws, np.uint32(game.rewards + arm), word)
    return reward, np.int64(draw_delay(game.laws, np.uint32(game.delays + arm), reward, other))


@inner
def count_fate(sink: Sink, arm: Any, pulled: Any, delay: Any, horizon: Any) -> None:
    """Whether a pull is answered by the end of the last round, or never."""
    if pulled + delay <= horizon:
        sink.observed[arm] += 1
    if delay == NEVER:
        sink.lost[arm] += 1
