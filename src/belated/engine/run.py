"""The protocol, once: the compiled loop that plays a run of one policy, on a CPU and on a GPU.

In round t, feedback (arm, reward) of the rounds s with s + d = t - 1 becomes known; then the policy chooses an arm;
then the environment draws its reward and its delay d. See :func:`play_run`.

Feedback is on its way in a *channel*: :class:`~belated.engine.ring_buffer.RingBuffer` where all delays are one and the
same, else :class:`~belated.engine.timing_wheel.TimingWheel`. Rewards and delays come from a *source*, ahead of time in
batches or in their round (:mod:`belated.engine.sources`). Both are named tuples; the loop is compiled for their types,
so that choosing costs nothing in a round."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.engine.ring_buffer import RingBuffer
from belated.engine.run_io import (
    BAD_ARM,
    BAD_NUMBER,
    FINISHED,
    NO_ROOM,
    ONE,
    STOPPED,
    STRIDE,
    RunInput,
    RunOutput,
    Stream,
    as_round,
    count_rounds,
    count_run,
    policy_arm,
    problem_arm,
    problem_of,
    record_checkpoint,
    regret,
    shuffle_arms,
    stop_requested,
    stream_of,
)
from belated.engine.sources import BitBuffer, DrawBitNow, DrawBuffer, DrawInRound, DrawNow, DrawRewardNow
from belated.engine.timing_wheel import TimingWheel
from belated.kernel.jit import dispatch, inline, select
from belated.kernel.law_table import NEVER
from belated.kernel.rng import run_key
from belated.policies._base import interface
from belated.policies._base.elimination import next_of_sweep, rest_of_sweep
from belated.policies._base.state import State, reset


@inline
def play_run(
    policy: Any,
    run: RunInput,
    output: RunOutput,
    number: Any,
    state: State,
    channel: Any,
    source: Any,
    now: Any,
    point: Any,
) -> Any:
    """Play run ``number`` of the chunk from round ``now`` and checkpoint ``point`` on; (why it ended, round,
    checkpoint).

    Rounds are played in spans: all that does not happen in every round happens between two spans."""
    stream = stream_of(run, number)
    cursor = first_cursor(channel)
    points = run.checkpoint.shape[0]
    committed = np.int64(-1)
    last = np.uint32(0)
    while now <= run.horizon:
        if not has_room(channel, now):
            return NO_ROOM, now, point
        until = min(run.horizon, now | STRIDE, span_end(channel, now))
        until = as_round(run, min(until, run.checkpoint[point]) if point < points else until)
        while now <= until:
            # 1. the feedback of rounds s with s + d = now - 1 becomes known
            cursor = deliver(channel, policy, run, state, cursor, now)
            # 2. the policy chooses
            chosen = interface.choose(policy, state, now)
            committed = np.int64(interface.committed_arm(policy, state))
            if not interface.is_built_in(policy) and (not interface.is_arm(state, chosen) or committed >= state.arms):
                return BAD_ARM, now, point
            if committed >= 0:
                break
            # 3. the environment draws reward and delay, and the feedback is sent
            last = np.uint32(chosen)
            cursor = _pull(policy, run, state, channel, source, stream, cursor, last, now)
            now = as_round(run, now + 1)
            cursor, now = _play_decided(policy, run, state, channel, source, stream, cursor, now, until)
        if committed >= 0:
            break
        if point < points and until == run.checkpoint[point]:
            record_checkpoint(run, output, number, state, point, last)
            point += 1
        if now & STRIDE == 0:
            count_rounds(run, now)
        if stop_requested(run):
            return STOPPED, now, point
    # What is left of a run is counted behind the loop, where the threads of a GPU do it together.
    if committed < 0:
        count_pending(channel, run, state, cursor, run.horizon, now)
        return FINISHED, now, point
    count_pending(channel, run, state, cursor, now, now)
    _play_committed(run, output, number, state, source, stream, np.uint32(committed), now, point)
    return STOPPED if stop_requested(run) else FINISHED, now, point


@inline
def _pull(
    policy: Any, run: RunInput, state: State, channel: Any, source: Any, stream: Stream, cursor: Any, arm: Any, now: Any
) -> Any:
    """Pull ``arm`` in round ``now``: draw, send the feedback, record. Returns the cursor of the next round."""
    rank = np.int64(state.pulls[arm])
    reward, delay = draw(source, stream, problem_arm(run, arm), rank, now)
    cursor = send(channel, policy, run, cursor, arm, rank, now, reward, delay)
    interface.record_pull(policy, state, arm, rank, now)
    return cursor


def _play_sweep(
    policy: Any,
    run: RunInput,
    state: State,
    channel: Any,
    source: Any,
    stream: Stream,
    cursor: Any,
    now: Any,
    until: Any,
) -> Any:
    """Play the rounds up to ``until`` whose arms were decided with the last choice, since nothing can change them: the
    rest of a sweep. (cursor, round) after them."""
    end = now + min(rest_of_sweep(policy, state), until - now + 1)
    while now < end:
        cursor = deliver(channel, policy, run, state, cursor, now)
        arm = np.uint32(next_of_sweep(policy, state))
        cursor = _pull(policy, run, state, channel, source, stream, cursor, arm, now)
        now += 1
    return cursor, now


def _play_nothing(
    policy: Any,
    run: RunInput,
    state: State,
    channel: Any,
    source: Any,
    stream: Stream,
    cursor: Any,
    now: Any,
    until: Any,
) -> Any:
    return cursor, now


_play_decided = select(
    field="word", present=select(flag="sweeps", present=_play_sweep, absent=_play_nothing), absent=_play_nothing
)
"""For policies that sweep, with a ring buffer on a CPU, whose source is a BitBuffer. With a timing wheel it gains less
than it takes to compile; the threads of a GPU would wait for each other."""


@inline
def begin_run(run: RunInput, state: State, source: Any, number: Any) -> None:
    """The state, the source and the order of the arms before the first round."""
    reset(state)
    shuffle_arms(run, number)
    state.key[0], state.key[1] = run_key(run.seed[2], run.seed[3], run.first_run + number)
    restart(source)


@inline
def end_run(run: RunInput, output: RunOutput, state: State, source: Any, number: Any) -> None:
    """Write down how a run ended."""
    problem = problem_of(run, number)
    output.final[number] = regret(run, number, state)
    arm = np.uint32(0)
    while arm < np.uint32(state.arms):
        own = policy_arm(run, arm)
        pulls = np.int64(state.pulls[own])
        delay = run.fixed_delay[problem, arm]
        output.pulls[number, arm] = pulls
        output.observed[number, arm] = np.int64(state.observed[own])
        if delay < 0:
            output.lost[number, arm] = count_lost(source, arm, pulls)
        else:
            output.lost[number, arm] = pulls if delay == NEVER else 0
        output.eliminated_at[number, arm] = state.eliminated_at[own]
        arm += ONE
    count_run(run)


@inline
def _play_committed(
    run: RunInput,
    output: RunOutput,
    number: Any,
    state: State,
    source: Any,
    stream: Stream,
    arm: Any,
    now: Any,
    point: Any,
) -> None:
    """``arm`` is pulled in all rounds from ``now`` on: nothing is left to decide, only its feedback to count."""
    pulls_before = np.int64(state.pulls[arm])
    rank = pulls_before
    drawn = problem_arm(run, arm)
    delay = run.fixed_delay[problem_of(run, number), drawn]
    if delay >= 0:
        state.observed[arm] += max(run.horizon - delay - (now - 1), 0)
    else:
        observed = np.int64(0)
        pulled_at = np.int64(now)
        while pulled_at <= run.horizon:
            if pulled_at & STRIDE == STRIDE:
                count_rounds(run, pulled_at)
                if stop_requested(run):
                    break
            _, delay = draw(source, stream, drawn, rank, pulled_at)
            observed += np.int64(pulled_at + delay <= run.horizon)
            pulled_at += 1
            rank += 1
        state.observed[arm] += observed
    while point < run.checkpoint.shape[0]:
        state.pulls[arm] = pulls_before + (run.checkpoint[point] - (now - 1))
        record_checkpoint(run, output, number, state, point, arm)
        point += 1
    state.pulls[arm] = pulls_before + (run.horizon - (now - 1))


_for_channels = dispatch(among=(RingBuffer, TimingWheel))
_for_sources = dispatch(among=(BitBuffer, DrawBuffer, DrawBitNow, DrawInRound, DrawNow, DrawRewardNow))


# ---- what a channel does ----


@_for_channels
def clear(channel: Any) -> Any:
    """Drop all feedback."""


@_for_channels
def first_cursor(channel: Any) -> Any:
    """What the channel keeps in registers from round to round, before round 1."""


@_for_channels
def has_room(channel: Any, now: Any) -> Any:
    """Whether the rounds from ``now`` to :func:`span_end` can be played; call it before them."""


@_for_channels
def span_end(channel: Any, now: Any) -> Any:
    """The last round that may be played before :func:`has_room` is called again."""


@_for_channels
def deliver(channel: Any, policy: Any, run: RunInput, state: State, cursor: Any, now: Any) -> Any:
    """Give the policy all feedback that became known at the end of round ``now - 1``; returns the cursor."""


@_for_channels
def send(
    channel: Any, policy: Any, run: RunInput, cursor: Any, arm: Any, rank: Any, now: Any, reward: Any, delay: Any
) -> Any:
    """Put the feedback of the pull of round ``now`` on its way; returns the cursor of the next round."""


@_for_channels
def count_pending(channel: Any, run: RunInput, state: State, cursor: Any, due: Any, now: Any) -> Any:
    """Add to ``state.observed`` what becomes known at the end of the rounds from ``due`` to the horizon. The rounds
    before ``now`` were played."""


# ---- what a source does ----


@_for_sources
def restart(source: Any) -> Any:
    """Forget the draws of the last run."""


@_for_sources
def draw(source: Any, stream: Stream, arm: Any, rank: Any, now: Any) -> Any:
    """(reward, delay) of an arm's pull number ``rank`` (0, 1, ...), the next one of this arm, in round ``now``."""


@_for_sources
def count_lost(source: Any, arm: Any, pulls: Any) -> Any:
    """How many of the arm's pulls, ``pulls`` in all, have no feedback."""


# ---- chunks of runs on a CPU ----


@inline
def _play_chunk(
    policy: Any, run: RunInput, output: RunOutput, state: State, channel: Any, source: Any, position: Any
) -> Any:
    interface.fill_table(policy)
    while position[0] < output.final.shape[0]:
        number = position[0]
        if position[1] == 0:
            begin_run(run, state, source, number)
            clear(channel)
            position[1] = 1
            position[2] = 0
        status, now, point = play_run(policy, run, output, number, state, channel, source, position[1], position[2])
        if status != FINISHED:
            position[1] = now
            position[2] = point
            return status
        if interface.has_nan(policy, state):
            return BAD_NUMBER
        end_run(run, output, state, source, number)
        position[0] += 1
        position[1] = 0
    return FINISHED


def play_ring(
    policy: Any, run: RunInput, output: RunOutput, state: State, channel: Any, source: Any, position: Any
) -> Any:
    """Play the runs of a chunk from ``position`` = (run, round, checkpoint) on, their feedback in a ring buffer; why it
    returned. ``position`` then says where to go on; round 0 is before a run."""
    return _play_chunk(policy, run, output, state, channel, source, position)


def play_wheel(
    policy: Any, run: RunInput, output: RunOutput, state: State, channel: Any, source: Any, position: Any
) -> Any:
    """The same with a timing wheel. Each has its own name because compiled code is kept by name."""
    return _play_chunk(policy, run, output, state, channel, source, position)


def play_ring_shuffled(
    policy: Any, run: RunInput, output: RunOutput, state: State, channel: Any, source: Any, position: Any
) -> Any:
    """:func:`play_ring` where the arms are shuffled."""
    return _play_chunk(policy, run, output, state, channel, source, position)


def play_wheel_shuffled(
    policy: Any, run: RunInput, output: RunOutput, state: State, channel: Any, source: Any, position: Any
) -> Any:
    """:func:`play_wheel` where the arms are shuffled."""
    return _play_chunk(policy, run, output, state, channel, source, position)
