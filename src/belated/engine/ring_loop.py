"""Runs whose feedback is all equally late: each round takes one answer out of a ring and puts one in.

It is :mod:`belated.engine.run` to the bit. Processors play so where rewards are 0 or 1; GPUs always."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.engine.ring_buffer import Ring, as_round, read, send, told
from belated.engine.run import Outcome, Setting
from belated.engine.run_io import BAD_ARM, FINISHED, ONE, STOPPED, STRIDE, Game, Sink, regret_of, settle
from belated.kernel.jit import inline, select_by_field, select_by_flag
from belated.kernel.law_table import LawTable
from belated.kernel.rng import run_key
from belated.policies._base import interface
from belated.policies._base.elimination import next_of_sweep, rest_of_sweep
from belated.policies._base.state import State, reset


@inline
def play_ring(policy: Any, game: Game, state: State, ring: Ring, sink: Sink) -> Any:
    """Play a run whose feedback waits in a ring; how it ended."""
    horizon, delay = as_round(game, game.horizon), as_round(game, ring.delay)
    points = np.uint32(game.checkpoint.shape[0])
    beyond = ring.first + (delay + 1) * ring.apart
    place = ring.first  # of this round
    now = as_round(game, 1)
    point = np.uint32(0)
    coming, coming_reward = np.uint32(0), 0.0
    only = np.int64(-1)
    while now <= horizon:
        until = as_round(game, min(horizon, now | STRIDE, game.checkpoint[point] if point < points else horizon))
        while now <= until:
            answer, answer_reward = coming, coming_reward
            following = place + ring.apart if place + ring.apart < beyond else ring.first
            coming, coming_reward = read(ring, following)  # early, as it takes long; that of no delay is not there yet
            if now > delay + 1:
                arm, reward = told(game, ring, answer, answer_reward)
                rank = np.int64(state.observed[arm])  # the answers of an arm come in the order of its pulls
                interface.record_feedback(policy, state, arm, reward, rank, np.int64(now - 1 - delay), now)
            chosen = interface.choose(policy, state, now)
            only = np.int64(interface.committed_arm(policy, state))
            if not interface.is_trusted(policy) and (not interface.is_arm(state, chosen) or only >= state.arms):
                return BAD_ARM
            if only >= 0:
                break
            arm = np.uint32(chosen)
            rank = np.int64(state.pulls[arm])
            sent, sent_reward = send(game, ring, place, arm, rank)
            coming = sent if delay == 0 else coming
            coming_reward = sent_reward if delay == 0 else coming_reward
            interface.record_pull(policy, state, arm, rank, now)
            place = following
            now = as_round(game, now + 1)
            place, now, coming, coming_reward = finish_sweep(
                policy, game, state, ring, place, now, until, coming, coming_reward
            )
        if only >= 0:
            break
        if point < points and until == game.checkpoint[point]:
            sink.curve[point] = regret_of(game.gap, state)
            point += ONE
        if game.stop[0] != 0:
            return STOPPED
    if only < 0:
        if horizon > delay:  # that of the last round
            state.observed[told(game, ring, coming, coming_reward)[0]] += 1
    else:
        _count_waiting(game, ring, state, place, now, horizon)
        state.observed[np.uint32(only)] += max(horizon - delay - (now - 1), 0)
        settle(game, state, sink, np.uint32(only), now, point)
    return FINISHED


def _finish_sweep(
    policy: Any, game: Game, state: State, ring: Ring, place: Any, now: Any, until: Any, coming: Any, reward: Any
) -> Any:
    """Play the rounds of a sweep that has begun, until ``until`` at the latest: nobody is asked before it is over.
    Where the next round is then: (place, round, answer as it lies in the ring)."""
    beyond = ring.first + (ring.delay + 1) * ring.apart
    end = now + min(rest_of_sweep(policy, state), until - now + 1)
    while now < end:
        if now > ring.delay + 1:
            answered, told_reward = told(game, ring, coming, reward)
            rank = np.int64(state.observed[answered])
            interface.record_feedback(policy, state, answered, told_reward, rank, now - 1 - ring.delay, now)
        arm = np.uint32(next_of_sweep(policy, state))
        rank = np.int64(state.pulls[arm])
        send(game, ring, place, arm, rank)
        interface.record_pull(policy, state, arm, rank, now)
        place = place + ring.apart if place + ring.apart < beyond else ring.first
        coming, reward = read(ring, place)
        now += 1
    return place, now, coming, reward


def _as_it_is(
    policy: Any, game: Game, state: State, ring: Ring, place: Any, now: Any, until: Any, coming: Any, reward: Any
) -> Any:
    return place, now, coming, reward


finish_sweep = select_by_field("ahead", select_by_flag("sweeps", _finish_sweep, _as_it_is), _as_it_is)
"""For policies that sweep, on processors: the threads of a GPU would wait for each other."""


@inline
def _count_waiting(game: Game, ring: Ring, state: State, place: Any, now: Any, horizon: Any) -> None:
    """Count the answers of the pulls before round ``now``, which has this place, that come until the horizon."""
    beyond = ring.first + (ring.delay + 1) * ring.apart
    pulled = now - ring.delay
    while pulled < now and pulled + ring.delay <= horizon:
        place = place + ring.apart if place + ring.apart < beyond else ring.first
        if pulled > 0:
            state.observed[told(game, ring, *read(ring, place))[0]] += 1
        pulled += 1


def play_rings(
    policy: Any, setting: Setting, laws: LawTable, outcome: Outcome, state: State, places: Any, ahead: Any, batch: Any
) -> Any:
    """Play the runs of a chunk, one after the other; why it returned. The delay is that of the ring's places."""
    problems, arms = setting.gap.shape
    for run in range(outcome.pulls.shape[0]):
        reset(state)
        state.key[0], state.key[1] = run_key(setting.seed[2], setting.seed[3], setting.first + run)
        key_a, key_b = run_key(setting.seed[0], setting.seed[1], setting.first + run)
        problem = run if problems > 1 else 0
        row = problem * arms
        gap, points, horizon = setting.gap[problem], setting.checkpoint, setting.horizon
        game = Game(laws, gap, points, horizon, row, row, key_a, key_b, ahead, batch, setting.stop)
        sink = Sink(outcome.curve[run], outcome.observed[run], outcome.lost[run])
        ended = play_ring(policy, game, state, Ring(places.shape[0] - 1, places, (), 0, 1), sink)
        if ended != FINISHED:
            return ended
        outcome.final[run] = regret_of(gap, state)
        for arm in range(arms):
            outcome.pulls[run, arm] = state.pulls[arm]
            outcome.observed[run, arm] = np.int64(state.observed[arm])
            outcome.eliminated_at[run, arm] = state.eliminated_at[arm]
    return FINISHED
