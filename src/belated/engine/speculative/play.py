"""Play many rounds at once, for policies whose choice changes only with feedback; rewards are 0 or 1.

Same bits as :mod:`belated.engine.run`. A number of rounds is played as if the present choice stayed: all pulls first,
then all feedback of these rounds in one list. Where feedback changes the choice, the feedback of its round is delivered
to the end, and the pulls of the later rounds are undone. How much feedback a round brings is random, and branches on it
would be mispredicted; here nothing branches on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.engine.run import begin_run, end_run
from belated.engine.run_io import (
    BAD_NUMBER,
    FINISHED,
    NO_ROOM,
    ONE,
    STOPPED,
    STRIDE,
    RunInput,
    RunOutput,
    count_rounds,
    problem_arm,
    record_checkpoint,
    stop_requested,
    stream_of,
)
from belated.engine.sources import DrawBuffer, begins_batch, entry_of, refill, rest_of_batch
from belated.engine.speculative.packed_wheel import (
    PackedWheel,
    clear,
    drop,
    list_known,
    pack,
    round_end,
    send,
    unpack,
    unsend,
)
from belated.kernel.jit import inline
from belated.policies._base import interface
from belated.policies._base.index import set_score
from belated.policies._base.state import State

SHORTEST, LONGEST = 8, 32
"""Rounds played at once: the shortest after the choice changed, then twice as many each time."""

_COUNT, _SUM = np.uint64(32), np.uint64(2**32 - 1)
"""Where a tally has its count, and which of its bits are the sum: one integer is updated sooner than two floats."""


def play_speculatively(
    policy: Any, run: RunInput, output: RunOutput, state: State, channel: PackedWheel, source: DrawBuffer, position: Any
) -> Any:
    """:func:`~belated.engine.run.play_wheel` for such policies. NO_ROOM: too much feedback is due in one round; the
    run at ``position`` = (run, 0, checkpoint) has then to be played again with a timing wheel."""
    return _play_chunk(policy, run, output, state, channel, source, position)


def play_speculatively_shuffled(
    policy: Any, run: RunInput, output: RunOutput, state: State, channel: PackedWheel, source: DrawBuffer, position: Any
) -> Any:
    """The same where the arms are shuffled."""
    return _play_chunk(policy, run, output, state, channel, source, position)


@inline
def _play_chunk(
    policy: Any, run: RunInput, output: RunOutput, state: State, channel: PackedWheel, source: DrawBuffer, position: Any
) -> Any:
    interface.fill_table(policy)
    while position[0] < output.final.shape[0]:
        number = position[0]
        begin_run(run, state, source, number)
        clear(channel)
        status, point = _play_run(policy, run, output, number, state, channel, source)
        if status != FINISHED:
            position[2] = point
            return status
        if interface.has_nan(policy, state):
            return BAD_NUMBER
        for arm in range(state.arms):
            state.observed[arm] = np.int64(channel.tally[arm] >> _COUNT)
        end_run(run, output, state, source, number)
        position[0] += 1
    return FINISHED


@inline
def _play_run(
    policy: Any,
    run: RunInput,
    output: RunOutput,
    number: Any,
    state: State,
    wheel: PackedWheel,
    source: DrawBuffer,
) -> Any:
    """(why it ended, checkpoint)."""
    stream = stream_of(run, number)
    points = run.checkpoint.shape[0]
    point = 0
    now: Any = 1
    reach: Any = LONGEST
    arm = np.uint32(0)
    while now <= run.horizon:
        until = min(run.horizon, now | STRIDE)
        if point < points:
            until = min(until, run.checkpoint[point])
        while now <= until:
            arm = np.uint32(interface.choose(policy, state, now))
            drawn = problem_arm(run, arm)
            rank = state.pulls[arm]
            if begins_batch(source, rank):
                refill(source, stream, drawn, rank, now)
                _pack_batch(source, wheel, arm, drawn, rank)
            rounds = np.uint32(min(reach, until - now + 1, rest_of_batch(source, rank)) if rank > 0 else 1)
            if not _pull(source, wheel, drawn, rank, np.uint32(now), rounds):
                return NO_ROOM, point
            if rank == 0:
                interface.record_pull(policy, state, arm, rank, now)
            stayed = _deliver(policy, state, wheel, arm, np.uint32(now), rounds)
            if stayed < rounds:
                _undo(source, wheel, drawn, rank, np.uint32(now), stayed, rounds)
            state.pulls[arm] = rank + stayed
            drop(wheel, np.uint32(now), stayed)
            now += stayed
            reach = min(2 * reach, LONGEST) if stayed == rounds else SHORTEST
        if point < points and until == run.checkpoint[point]:
            record_checkpoint(run, output, number, state, point, arm)
            point += 1
        if now & STRIDE == 0:
            count_rounds(run, now)
        if stop_requested(run):
            return STOPPED, point
    return FINISHED, point


@inline
def _pack_batch(source: DrawBuffer, wheel: PackedWheel, arm: Any, drawn: Any, rank: Any) -> None:
    """Pack the feedback of the batch that begins with pull number ``rank`` of an arm: ``arm`` for the policy, ``drawn``
    in the problem."""
    first = entry_of(source, drawn, rank)
    for step in range(1 << source.bits):
        entry = first + np.uint32(step)
        wheel.packed[entry] = pack(arm, source.reward[entry], source.delay[entry], wheel.longest)


@inline
def _pull(source: DrawBuffer, wheel: PackedWheel, arm: Any, rank: Any, now: Any, rounds: Any) -> Any:
    """Pull an arm of the problem in ``rounds`` rounds from ``now`` on; False if there is no room for its feedback."""
    entry = entry_of(source, arm, rank)
    step = np.uint32(0)
    while step < rounds:
        if not send(wheel, now + step, wheel.packed[entry + step]):
            return False
        step += ONE
    return True


@inline
def _undo(source: DrawBuffer, wheel: PackedWheel, arm: Any, rank: Any, now: Any, first: Any, end: Any) -> None:
    """Undo the pulls of rounds ``now + first`` to ``now + end - 1``, the last one first."""
    entry = entry_of(source, arm, rank)
    step = np.uint32(end)
    while step > first:
        step -= ONE
        unsend(wheel, now + step, wheel.packed[entry + step])


@inline
def _deliver(policy: Any, state: State, wheel: PackedWheel, arm: Any, now: Any, rounds: Any) -> Any:
    """Deliver the feedback of the rounds up to the one in which it changes the choice; how many rounds that are, or all
    of them."""
    end = list_known(wheel, now, rounds)
    stayed = rounds
    choice = arm
    entry = np.int64(0)
    while entry < end:
        pulled, reward = unpack(wheel.known[np.uint32(entry)])
        both = wheel.tally[pulled] + ((np.uint64(1) << _COUNT) | np.uint64(reward))
        wheel.tally[pulled] = both
        set_score(state, pulled, interface.index_at(policy, np.int64(both >> _COUNT), float(np.int64(both & _SUM))))
        if np.uint32(interface.choose(policy, state, now)) != choice:
            choice = np.uint32(interface.choose(policy, state, now))
            if stayed == rounds:
                stayed, end = round_end(wheel, now, entry)
        entry += 1
    return stayed
