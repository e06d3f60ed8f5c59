"""The compiled episode: one run of one policy by the paper's protocol.

Round t: feedback (arm, reward) of rounds s with s + d = t - 1 becomes known; the policy chooses; the environment draws
reward and delay."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine import flight as air
from belated.engine.draw import draw_delay, draw_reward
from belated.engine.laws import FIXED, NEVER, Laws
from belated.forms import hooks
from belated.forms.state import State, reset
from belated.kernel import inner
from belated.rng import run_key, two_words


class Setting(NamedTuple):
    """What a chunk of runs plays. Row p of the problems is for run p of the chunk, or for all if there is one row."""

    laws: Laws  # the rewards of the arms of problem 0, 1, ..., then their delays, then the rows that those lead to
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
    missing: npt.NDArray[np.int32]  # (runs, 2 K) of each arm's pulls, how many answers are LATE, LOST at the horizon
    eliminated_at: npt.NDArray[np.int32]  # (runs, K)


LATE, LOST = range(2)
"""Feedback that is not there at the horizon: still to come, never to come."""

FINISHED, NO_ROOM, STOPPED, BAD_ARM = range(4)
"""Why :func:`play` returned."""

STRIDE = 2**20 - 1
"""A span ends at the latest where a round's number has all of these bits, so that the stop sign is looked at."""


def play(policy: Any, setting: Setting, outcome: Outcome, state: State, flight: air.Flight, place: Any) -> Any:
    """Play the runs of a chunk from ``place`` = (run, round, checkpoint) on; why it returned. ``place`` says where to
    go on.

    NO_ROOM asks for a larger pool; nothing of the round at ``place`` has happened yet.
    """
    while place[0] < outcome.pulls.shape[0]:
        run = place[0]
        if place[1] == 0:
            _begin(setting, state, flight, run)
            place[1] = 1
            place[2] = 0
        status = _go_on(policy, setting, outcome, state, flight, place)
        if setting.stop[0] != 0:
            return STOPPED
        if status != FINISHED:
            return status
        outcome.final[run] = _regret(setting.gap[run if setting.gap.shape[0] > 1 else 0], state)
        for arm in range(state.pulls.shape[0]):
            outcome.pulls[run, arm] = np.int32(state.pulls[arm])
            outcome.eliminated_at[run, arm] = np.int32(state.eliminated_at[arm])
        place[0] += 1
        place[1] = 0
    return FINISHED


@inner
def _begin(setting: Setting, state: State, flight: air.Flight, run: Any) -> None:
    reset(state)
    air.clear(flight)
    state.key[0], state.key[1] = run_key(setting.seed[2], setting.seed[3], setting.first + run)


@inner
def _go_on(policy: Any, setting: Setting, outcome: Outcome, state: State, flight: air.Flight, place: Any) -> Any:
    """Play on to the horizon, to the one arm left, or until something is wanted from outside.

    Rounds are played in spans; all that does not happen in every round happens between two spans.
    """
    run = place[0]
    problem = run if setting.gap.shape[0] > 1 else 0
    points = setting.checkpoint.shape[0]
    now = place[1]
    checkpoint = place[2]
    while now <= setting.horizon:
        if not air.ready(flight, now):
            place[1] = now
            place[2] = checkpoint
            return NO_ROOM
        until = min(setting.horizon, (now | STRIDE), air.last_round(flight, now))
        if checkpoint < points:
            until = min(until, setting.checkpoint[checkpoint])
        now = _play_span(policy, setting, outcome, state, flight, run, now, until)
        if now < 0:
            return BAD_ARM
        if now <= until:
            return _settle(setting, outcome, state, np.uint32(hooks.only_arm(policy, state)), run, now, checkpoint)
        if checkpoint < points and until == setting.checkpoint[checkpoint]:
            outcome.curve[run, checkpoint] = _regret(setting.gap[problem], state)
            checkpoint += 1
        if setting.stop[0] != 0:
            return STOPPED
    return FINISHED


@inner
def _play_span(
    policy: Any, setting: Setting, outcome: Outcome, state: State, flight: air.Flight, run: Any, now: Any, until: Any
) -> Any:
    """Play the rounds from ``now`` to ``until``; the round after them, or the round from which one arm is left.

    -1 if the policy chose an arm that does not exist.
    """
    problem = run if setting.gap.shape[0] > 1 else 0
    arms = setting.gap.shape[1]
    reward_row = np.uint32(problem * arms)
    delay_row = np.uint32((setting.gap.shape[0] + problem) * arms)
    missing = outcome.missing[run]
    key_a, key_b = run_key(setting.seed[0], setting.seed[1], setting.first + run)
    while now <= until:
        _deliver(policy, state, flight, now)
        arm = np.uint32(hooks.choose(policy, state, now))
        if hooks.only_arm(policy, state) >= 0:
            return now
        if not hooks.is_trusted(policy) and arm >= arms:
            return -1
        rank = state.pulls[arm]
        for_reward, for_delay = two_words(key_a, key_b, arm, rank)
        reward = draw_reward(setting.laws, np.uint32(reward_row + arm), for_reward)
        delay = draw_delay(setting.laws, np.uint32(delay_row + arm), reward, for_delay)
        due = now + delay
        if due > setting.horizon:
            missing[2 * arm + (LOST if delay == NEVER else LATE)] += 1
        air.put(flight, arm, rank, now, due, reward, setting.horizon, hooks.reads_origin(policy))
        hooks.record_pull(policy, state, arm, rank, now)
        now += 1
    return now


@inner
def _settle(setting: Setting, outcome: Outcome, state: State, arm: Any, run: Any, now: Any, checkpoint: Any) -> Any:
    """``arm`` is pulled in all rounds from ``now`` on: nothing is left to decide, only its feedback to count."""
    problem = run if setting.gap.shape[0] > 1 else 0
    before = state.pulls[arm]
    _count_rest(setting, outcome, run, problem, arm, np.int64(before), now)
    for point in range(checkpoint, setting.checkpoint.shape[0]):
        state.pulls[arm] = before + (setting.checkpoint[point] - (now - 1))
        outcome.curve[run, point] = _regret(setting.gap[problem], state)
    state.pulls[arm] = before + (setting.horizon - (now - 1))
    return FINISHED


@inner
def _count_rest(setting: Setting, outcome: Outcome, run: Any, problem: Any, arm: Any, rank: Any, now: Any) -> None:
    """Count the fate of the feedback of ``arm``, pulled in all rounds from ``now`` on."""
    laws = setting.laws
    arms = setting.gap.shape[1]
    reward_row = np.uint32(problem * arms + arm)
    delay_row = np.uint32((setting.gap.shape[0] + problem) * arms + arm)
    missing = outcome.missing[run]
    if laws.kind[delay_row] == FIXED:
        delay = laws.lo[delay_row]
        rounds = setting.horizon - (now - 1)
        if delay == NEVER:
            missing[2 * arm + LOST] += rounds
        else:
            missing[2 * arm + LATE] += min(delay, rounds)
        return
    key_a, key_b = run_key(setting.seed[0], setting.seed[1], setting.first + run)
    while now <= setting.horizon:
        for_reward, for_delay = two_words(key_a, key_b, arm, rank)
        delay = draw_delay(laws, delay_row, draw_reward(laws, reward_row, for_reward), for_delay)
        if now + delay > setting.horizon:
            missing[2 * arm + (LOST if delay == NEVER else LATE)] += 1
        if now & STRIDE == 0 and setting.stop[0] != 0:
            return
        now += 1
        rank += 1


@inner
def _deliver(policy: Any, state: State, flight: air.Flight, now: Any) -> None:
    """Tell the policy, in the order of the pulls, all feedback that became known at the end of the round before
    ``now``."""
    bucket, last = air.land(flight, now - 1)
    slot = bucket
    count = 0
    while slot != last:
        count += 1
        slot = flight.next[slot]
        rank = np.int64(flight.rank[slot])
        pulled_at = np.int64(flight.pulled_at[slot])
        hooks.record_answer(policy, state, flight.arm[slot], flight.reward[slot], rank, pulled_at, now)
    air.give_back(flight, bucket, last, count)


@inner
def _regret(gap: Any, state: State) -> Any:
    """The pseudo-regret so far: gaps times pulls."""
    regret = 0.0
    for arm in range(state.pulls.shape[0]):
        regret += gap[arm] * state.pulls[arm]
    return regret
