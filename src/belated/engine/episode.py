"""The compiled episode: one run of one policy by the paper's protocol.

Round t: feedback (arm, reward) of rounds s with s + d = t - 1 becomes known; the policy chooses; the environment draws
reward and delay."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine import flight as air
from belated.engine.laws import FIXED, NEVER, Laws, draw_delay, draw_reward
from belated.forms import hooks
from belated.forms.state import State, reset
from belated.kernel import compiled
from belated.rng import following, run_key, word


class Setting(NamedTuple):
    """What a chunk of runs plays. Row p of the problems is for run p of the chunk, or for all if there is one row."""

    laws: Laws  # rows of the rewards of arm 0, 1, ... of problem 0, 1, ..., then the rows of the delays likewise, then others
    gap: npt.NDArray[np.float64]  # (problems, K)
    checkpoint: npt.NDArray[np.int64]  # (C,) rounds, ascending, the last is the horizon
    seed: npt.NDArray[np.uint64]  # (4,)
    horizon: int
    first: int  # number of the chunk's first run
    stop: npt.NDArray[np.int64]  # (1,) set to 1 from outside to leave early


class Outcome(NamedTuple):
    """What a chunk of runs gives back; rows are runs."""

    curve: npt.NDArray[np.float64]  # (runs, C) pseudo-regret after each checkpoint
    pulls: npt.NDArray[np.int32]  # (runs, K)
    late: npt.NDArray[np.int32]  # (runs, K) feedback that comes after the horizon
    lost: npt.NDArray[np.int32]  # (runs, K) feedback that never comes
    eliminated_at: npt.NDArray[np.int32]  # (runs, K)


FINISHED, NO_ROOM, STOPPED = range(3)
"""Why :func:`play` returned."""

STRIDE = 2**20 - 1
"""The stop sign is looked at where a round's number has none of these bits."""


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
        for arm in range(state.pulls.shape[0]):
            outcome.pulls[run, arm] = np.int32(state.pulls[arm])
            outcome.eliminated_at[run, arm] = np.int32(state.eliminated_at[arm])
        place[0] += 1
        place[1] = 0
    return FINISHED


@compiled
def _begin(setting: Setting, state: State, flight: air.Flight, run: Any) -> None:
    reset(state)
    air.clear(flight)
    state.key[0], state.key[1] = run_key(setting.seed[2], setting.seed[3], setting.first + run)


@compiled
def _go_on(policy: Any, setting: Setting, outcome: Outcome, state: State, flight: air.Flight, place: Any) -> Any:
    """Play on to the horizon, to the one arm left, or until something is wanted from outside."""
    run = place[0]
    problem = run if setting.gap.shape[0] > 1 else 0
    arms = setting.gap.shape[1]
    reward_row = np.uint32(problem * arms)
    delay_row = np.uint32((setting.gap.shape[0] + problem) * arms)
    landmark = setting.checkpoint[place[2]]
    lost = outcome.lost[run]
    late = outcome.late[run]
    key_a, key_b = run_key(setting.seed[0], setting.seed[1], setting.first + run)
    now = place[1]
    checkpoint = place[2]
    while now <= setting.horizon:
        if not air.has_room(flight):
            place[1] = now
            place[2] = checkpoint
            return NO_ROOM
        _deliver(policy, state, flight, now)
        arm = np.uint32(hooks.choose(policy, state, now))
        if hooks.only_arm(policy, state) >= 0:
            return _settle(setting, outcome, state, run, arm, now, checkpoint)
        rank = np.int64(state.pulls[arm])
        z = word(key_a, key_b, arm, rank)
        reward = draw_reward(setting.laws, np.uint32(reward_row + arm), z)
        delay = draw_delay(setting.laws, np.uint32(delay_row + arm), reward, following(z))
        due = now + delay
        if due < setting.horizon:
            air.put(flight, arm, rank, now, due, reward)
        elif delay == NEVER:
            lost[arm] += 1
        elif due > setting.horizon:
            late[arm] += 1
        hooks.record_pull(policy, state, arm, rank, now)
        if now == landmark:
            outcome.curve[run, checkpoint] = _regret(setting.gap[problem], state)
            checkpoint += 1
            landmark = setting.checkpoint[min(checkpoint, setting.checkpoint.shape[0] - 1)]
        if now & STRIDE == 0 and setting.stop[0] != 0:
            return STOPPED
        now += 1
    return FINISHED


@compiled
def _settle(setting: Setting, outcome: Outcome, state: State, run: Any, arm: Any, now: Any, checkpoint: Any) -> Any:
    """``arm`` is pulled in all rounds from ``now`` on: nothing is left to decide, only its feedback to count."""
    problem = run if setting.gap.shape[0] > 1 else 0
    before = state.pulls[arm]
    _count_missing(setting, outcome, run, problem, arm, np.int64(before), now)
    for point in range(checkpoint, setting.checkpoint.shape[0]):
        state.pulls[arm] = before + (setting.checkpoint[point] - (now - 1))
        outcome.curve[run, point] = _regret(setting.gap[problem], state)
    return FINISHED


@compiled
def _count_missing(setting: Setting, outcome: Outcome, run: Any, problem: Any, arm: Any, rank: Any, now: Any) -> None:
    """Count what of the pulls of ``arm`` from round ``now`` on comes after the horizon, or never."""
    laws = setting.laws
    arms = setting.gap.shape[1]
    reward_row = np.uint32(problem * arms + arm)
    delay_row = np.uint32((setting.gap.shape[0] + problem) * arms + arm)
    if laws.kind[delay_row] == FIXED:
        delay = laws.lo[delay_row]
        if delay == NEVER:
            outcome.lost[run, arm] += setting.horizon - (now - 1)
        else:
            outcome.late[run, arm] += max(setting.horizon - max(now - 1, setting.horizon - delay), 0)
        return
    key_a, key_b = run_key(setting.seed[0], setting.seed[1], setting.first + run)
    while now <= setting.horizon:
        z = word(key_a, key_b, arm, rank)
        delay = draw_delay(laws, delay_row, draw_reward(laws, reward_row, z), following(z))
        if delay == NEVER:
            outcome.lost[run, arm] += 1
        elif now + delay > setting.horizon:
            outcome.late[run, arm] += 1
        if now & STRIDE == 0 and setting.stop[0] != 0:
            return
        now += 1
        rank += 1


@compiled
def _deliver(policy: Any, state: State, flight: air.Flight, now: Any) -> None:
    """Tell the policy, in the order of the pulls, all feedback that became known at the end of the round before
    ``now``."""
    bucket, last = air.land(flight, now - 1)
    slot = bucket
    while slot != last:
        slot = flight.next[slot]
        rank = np.int64(flight.rank[slot])
        hooks.record_answer(
            policy, state, flight.arm[slot], flight.reward[slot], rank, np.int64(flight.pulled_at[slot]), now
        )
    air.give_back(flight, bucket, last)


@compiled
def _regret(gap: Any, state: State) -> Any:
    """The pseudo-regret so far: gaps times pulls."""
    regret = 0.0
    for arm in range(state.pulls.shape[0]):
        regret += gap[arm] * state.pulls[arm]
    return regret
