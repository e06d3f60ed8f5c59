"""The compiled episode: one run of one policy by the paper's protocol.

Round t: feedback (arm, reward) of rounds s with s + d = t - 1 becomes known; the policy chooses; the environment draws
reward and delay."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine import timing_wheel
from belated.engine.draw_buffer import DrawBuffer, begins_batch, draw_batch, empty, lose_all, lost, place_of
from belated.engine.run_io import BAD_ARM, FINISHED, NO_ROOM, STOPPED, STRIDE, regret_of
from belated.kernel.jit import inline, merged
from belated.kernel.law_table import NEVER
from belated.kernel.rng import run_key
from belated.policies._base import interface
from belated.policies._base.state import State, reset


class Setting(NamedTuple):
    """What a chunk of runs plays. Row p of the problems is for run p of the chunk, or for all if there is one row."""

    fixed: npt.NDArray[np.int64]  # (problems x K,) each arm's delay if it is always the same, else -1
    gap: npt.NDArray[np.float64]  # (problems, K)
    checkpoint: npt.NDArray[np.int64]  # (C,) rounds, ascending
    seed: npt.NDArray[np.uint64]  # (4,)
    horizon: int
    first: int  # number of the chunk's first run
    stop: npt.NDArray[np.int64]  # (1,) set to 1 from outside to leave early


class Outcome(NamedTuple):
    """What a chunk of runs gives back; rows are runs."""

    curve: npt.NDArray[np.float64]  # (runs, C) pseudo-regret after each checkpoint
    final: npt.NDArray[np.float64]  # (runs,) pseudo-regret at the horizon
    pulls: npt.NDArray[np.int32]  # (runs, K)
    observed: npt.NDArray[np.int32]  # (runs, K) of these, answered by the end of the last round
    lost: npt.NDArray[np.int32]  # (runs, K) of these, never to be answered
    eliminated_at: npt.NDArray[np.int32]  # (runs, K)


def play(
    policy: Any,
    setting: Setting,
    outcome: Outcome,
    state: State,
    flight: timing_wheel.TimingWheel,
    stock: DrawBuffer,
    place: Any,
) -> Any:
    """Play the runs of a chunk from ``place`` = (run, round, checkpoint) on; why it returned. ``place`` says where to
    go on.

    NO_ROOM asks for a larger pool; nothing of the round at ``place`` has happened yet.
    """
    while place[0] < outcome.pulls.shape[0]:
        run = place[0]
        if place[1] == 0:
            _begin(setting, state, flight, stock, run)
            place[1] = 1
            place[2] = 0
        status = _go_on(policy, setting, outcome, state, flight, stock, place)
        if setting.stop[0] != 0:
            return STOPPED
        if status != FINISHED:
            return status
        take_down(setting, outcome, state, stock, run)
        place[0] += 1
        place[1] = 0
    return FINISHED


@inline
def take_down(setting: Setting, outcome: Outcome, state: State, stock: DrawBuffer, run: Any) -> None:
    """Write down how a run ended."""
    outcome.final[run] = regret_of(setting.gap[run if setting.gap.shape[0] > 1 else 0], state)
    for arm in range(state.arms):
        outcome.pulls[run, arm] = state.pulls[arm]
        outcome.observed[run, arm] = np.int64(state.observed[arm])
        outcome.lost[run, arm] = lost(stock, np.uint32(arm), state.pulls[arm])
        outcome.eliminated_at[run, arm] = state.eliminated_at[arm]


@inline
def _begin(setting: Setting, state: State, flight: timing_wheel.TimingWheel, stock: DrawBuffer, run: Any) -> None:
    reset(state)
    timing_wheel.clear(flight)
    empty(stock)
    state.key[0], state.key[1] = run_key(setting.seed[2], setting.seed[3], setting.first + run)


@merged
def _go_on(
    policy: Any,
    setting: Setting,
    outcome: Outcome,
    state: State,
    flight: timing_wheel.TimingWheel,
    stock: DrawBuffer,
    place: Any,
) -> Any:
    """Play on to the horizon, to the one arm left, or until something is wanted from outside.

    Rounds are played in spans; all that does not happen in every round happens between two spans.
    """
    run = place[0]
    problem = run if setting.gap.shape[0] > 1 else 0
    points = setting.checkpoint.shape[0]
    now = place[1]
    checkpoint = place[2]
    while now <= setting.horizon:
        if not timing_wheel.ready(flight, now):
            place[1] = now
            place[2] = checkpoint
            return NO_ROOM
        until = min(setting.horizon, (now | STRIDE), timing_wheel.last_round(flight, now))
        if checkpoint < points:
            until = min(until, setting.checkpoint[checkpoint])
        now = _play_span(policy, setting, state, flight, stock, run, now, until)
        if now < 0:
            return BAD_ARM
        if now <= until:
            only = np.uint32(interface.committed_arm(policy, state))
            timing_wheel.count_pending(flight, now - 1, setting.horizon, state.observed)
            _settle(setting, outcome, state, stock, only, run, now, checkpoint)
            return FINISHED
        if checkpoint < points and until == setting.checkpoint[checkpoint]:
            outcome.curve[run, checkpoint] = regret_of(setting.gap[problem], state)
            checkpoint += 1
        if setting.stop[0] != 0:
            return STOPPED
    timing_wheel.count_pending(flight, setting.horizon, setting.horizon, state.observed)
    return FINISHED


@merged
def _play_span(
    policy: Any,
    setting: Setting,
    state: State,
    flight: timing_wheel.TimingWheel,
    stock: DrawBuffer,
    run: Any,
    now: Any,
    until: Any,
) -> Any:
    """Play the rounds from ``now`` to ``until``; the round after them, or the round from which one arm is left.

    -1 if the policy chose an arm that does not exist.
    """
    key_a, key_b = run_key(setting.seed[0], setting.seed[1], setting.first + run)
    while now <= until:
        _deliver(policy, state, flight, now)
        chosen = interface.choose(policy, state, now)
        only = interface.committed_arm(policy, state)
        if not interface.is_trusted(policy) and (not interface.is_arm(state, chosen) or only >= state.arms):
            return -1
        if only >= 0:
            return now
        arm = np.uint32(chosen)
        rank = state.pulls[arm]
        if begins_batch(stock, rank):
            draw_next(setting, stock, key_a, key_b, arm, rank, run)
        place = place_of(stock, arm, rank)
        due = now + np.int64(stock.delay[place])
        timing_wheel.put(
            flight, arm, rank, now, due, stock.reward[place], setting.horizon, interface.uses_pull_id(policy)
        )
        interface.record_pull(policy, state, arm, rank, now)
        now += 1
    return now


@inline
def draw_next(setting: Setting, stock: DrawBuffer, key_a: Any, key_b: Any, arm: Any, rank: Any, run: Any) -> None:
    """Draw the rewards and delays of the pulls of ``arm`` from number ``rank`` on."""
    reward_row, delay_row = _rows(setting, arm, run)
    draw_batch(stock.source, reward_row, delay_row, key_a, key_b, np.int64(arm), rank)


@inline
def _rows(setting: Setting, arm: Any, run: Any) -> Any:
    """The rows of an arm's rewards and delays: first the rewards of the arms of problem 0, 1, ..., then the delays."""
    problems, arms = setting.gap.shape
    row = (run if problems > 1 else 0) * arms + arm
    return np.uint32(row), np.uint32(problems * arms + row)


@inline
def _settle(
    setting: Setting, outcome: Outcome, state: State, stock: DrawBuffer, arm: Any, run: Any, now: Any, checkpoint: Any
) -> None:
    """``arm`` is pulled in all rounds from ``now`` on: nothing is left to decide, only its feedback to count."""
    problem = run if setting.gap.shape[0] > 1 else 0
    before = state.pulls[arm]
    _count_rest(setting, state, stock, arm, run, now)
    for point in range(checkpoint, setting.checkpoint.shape[0]):
        state.pulls[arm] = before + (setting.checkpoint[point] - (now - 1))
        outcome.curve[run, point] = regret_of(setting.gap[problem], state)
    state.pulls[arm] = before + (setting.horizon - (now - 1))


@inline
def _count_rest(setting: Setting, state: State, stock: DrawBuffer, arm: Any, run: Any, now: Any) -> None:
    """Count the answers of ``arm``, pulled in all rounds from ``now`` on."""
    key_a, key_b = run_key(setting.seed[0], setting.seed[1], setting.first + run)
    rank = state.pulls[arm]
    observed: Any = 0
    delay = setting.fixed[_rows(setting, arm, run)[0]]
    if delay >= 0:
        rounds = setting.horizon - (now - 1)
        state.observed[arm] += max(rounds - delay, 0)
        if delay == NEVER:
            lose_all(stock, arm, rank + rounds)
        return
    while now <= setting.horizon:
        if begins_batch(stock, rank):
            if setting.stop[0] != 0:
                return
            draw_next(setting, stock, key_a, key_b, arm, rank, run)
        observed += np.int64(now + stock.delay[place_of(stock, arm, rank)] <= setting.horizon)
        now += 1
        rank += 1
    state.observed[arm] += observed


@merged
def _deliver(policy: Any, state: State, flight: timing_wheel.TimingWheel, now: Any) -> None:
    """Tell the policy, in the order of the pulls, all feedback that became known at the end of the round before
    ``now``."""
    bucket, last = timing_wheel.land(flight, now - 1)
    slot = bucket
    while True:
        following = flight.next[slot]
        arm = flight.arm[following]
        found = slot != last
        if not found and not interface.accepts_dummy_feedback(policy):
            break
        arm = arm if found else np.uint32(state.arms)
        slot = following if found else slot
        rank = np.int64(flight.rank[slot])
        pulled_at = np.int64(flight.pulled_at[slot])
        interface.record_feedback(policy, state, arm, flight.reward[slot], rank, pulled_at, now)
        if slot == last:
            break
