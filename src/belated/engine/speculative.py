"""Runs of policies that stay with an arm until an answer changes their mind: many rounds are played at once.

It is :mod:`belated.engine.run` to the bit, where rewards are 0 or 1. A *stretch* of rounds is played as if the
present choice stayed: all their pulls, then all answers that come in these rounds, one behind the other. Where an
answer changes the choice, the answers of its round are told to the end, and the pulls of later rounds are taken back.
How many answers a round has cannot be guessed by the processor; here nothing depends on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.engine import feedback_boxes
from belated.engine.draw_buffer import DrawBuffer, begins_batch, empty, place_of, rest_of_batch
from belated.engine.packed_feedback import answer_of, arm_and_reward, with_delay
from belated.engine.run import Outcome, Setting, draw_next, take_down
from belated.engine.run_io import FINISHED, NO_ROOM, ONE, STOPPED, STRIDE, regret_of
from belated.kernel.jit import inline, merged
from belated.kernel.rng import run_key
from belated.policies._base import interface
from belated.policies._base.index import set_score
from belated.policies._base.state import State, reset

SHORTEST, LONGEST = 4, 16
"""Rounds of a stretch, if nothing ends it earlier: few after the choice changed, and then twice as many each time."""

_COUNT, _SUM = np.uint64(32), np.uint64(2**32 - 1)
"""Where a tally has its count, and which of its bits are the sum."""


def play_stretches(
    policy: Any,
    setting: Setting,
    outcome: Outcome,
    state: State,
    tally: Any,
    boxes: feedback_boxes.Boxes,
    stock: DrawBuffer,
) -> Any:
    """Play the runs of a chunk, one after the other; why it returned. NO_ROOM: too many answers find their
    boxes full.

    ``tally`` has room for each arm's answers, their count and their sum in one number: that is brought up to date
    sooner than two real ones."""
    for run in range(outcome.pulls.shape[0]):
        reset(state)
        feedback_boxes.clear(boxes)
        empty(stock)
        for arm in range(state.arms):
            tally[arm] = np.uint64(0)
        state.key[0], state.key[1] = run_key(setting.seed[2], setting.seed[3], setting.first + run)
        ended = _play_run(policy, setting, outcome, state, tally, boxes, stock, run)
        if ended != FINISHED:
            return ended
        for arm in range(state.arms):
            state.observed[arm] = np.int64(tally[arm] >> _COUNT)
        take_down(setting, outcome, state, stock, run)
    return FINISHED


@merged
def _play_run(
    policy: Any,
    setting: Setting,
    outcome: Outcome,
    state: State,
    tally: Any,
    boxes: feedback_boxes.Boxes,
    stock: DrawBuffer,
    run: Any,
) -> Any:
    key_a, key_b = run_key(setting.seed[0], setting.seed[1], setting.first + run)
    problem = run if setting.gap.shape[0] > 1 else 0
    points = setting.checkpoint.shape[0]
    point = 0
    now: Any = 1
    reach: Any = LONGEST
    while now <= setting.horizon:
        until = min(setting.horizon, now | STRIDE)
        if point < points:
            until = min(until, setting.checkpoint[point])
        while now <= until:
            arm = np.uint32(interface.choose(policy, state, now))
            rank = state.pulls[arm]
            if begins_batch(stock, rank):
                draw_next(setting, stock, key_a, key_b, arm, rank, run)
                _make_ready(stock, boxes, arm, rank)
            rounds = np.uint32(min(reach, until - now + 1, rest_of_batch(stock, rank)) if rank > 0 else 1)
            if not _pull(stock, boxes, arm, rank, np.uint32(now), rounds):
                return NO_ROOM
            if rank == 0:
                interface.record_pull(policy, state, arm, rank, now)
            stayed = _tell(policy, state, tally, boxes, arm, np.uint32(now), rounds)
            if stayed < rounds:
                _take_back(stock, boxes, arm, rank, np.uint32(now), stayed, rounds)
            state.pulls[arm] = rank + stayed
            feedback_boxes.forget(boxes, np.uint32(now), stayed)
            now += stayed
            reach = min(2 * reach, LONGEST) if stayed == rounds else SHORTEST
        if point < points and until == setting.checkpoint[point]:
            outcome.curve[run, point] = regret_of(setting.gap[problem], state)
            point += 1
        if setting.stop[0] != 0:
            return STOPPED
    return FINISHED


@inline
def _make_ready(stock: DrawBuffer, boxes: feedback_boxes.Boxes, arm: Any, rank: Any) -> None:
    """The answers of a batch, from pull number ``rank`` on, as they are put into boxes."""
    first = place_of(stock, arm, rank)
    for step in range(1 << stock.bits):
        place = first + np.uint32(step)
        answer = answer_of(arm, stock.reward[place])
        boxes.ready[place] = with_delay(answer, stock.delay[place], boxes.longest)


@inline
def _pull(stock: DrawBuffer, boxes: feedback_boxes.Boxes, arm: Any, rank: Any, now: Any, rounds: Any) -> Any:
    """Pull an arm in round ``now`` and the next ones, so many rounds; False if there is no room for an answer."""
    place = place_of(stock, arm, rank)
    step = np.uint32(0)
    while step < rounds:
        if not feedback_boxes.put(boxes, now + step, boxes.ready[place + step]):
            return False
        step += ONE
    return True


@inline
def _take_back(
    stock: DrawBuffer, boxes: feedback_boxes.Boxes, arm: Any, rank: Any, now: Any, first: Any, end: Any
) -> None:
    """Take back the pulls of rounds ``now + first`` to ``now + end - 1``, the last one first."""
    place = place_of(stock, arm, rank)
    step = np.uint32(end)
    while step > first:
        step -= ONE
        feedback_boxes.take_back(boxes, now + step, boxes.ready[place + step])


@inline
def _tell(policy: Any, state: State, tally: Any, boxes: feedback_boxes.Boxes, arm: Any, now: Any, rounds: Any) -> Any:
    """Tell the answers that come in the rounds of a stretch until one of them changes the choice, and the others of its
    round; after how many rounds that is, or all."""
    end = feedback_boxes.lay_out(boxes, now, rounds)
    stayed = rounds
    choice = arm
    place = np.int64(0)
    while place < end:
        answered, reward = arm_and_reward(boxes.told[np.uint32(place)])
        both = tally[answered] + ((np.uint64(1) << _COUNT) | np.uint64(reward))
        tally[answered] = both
        set_score(state, answered, interface.index_at(policy, np.int64(both >> _COUNT), float(np.int64(both & _SUM))))
        if np.uint32(interface.choose(policy, state, now)) != choice:
            choice = np.uint32(interface.choose(policy, state, now))
            if stayed == rounds:
                stayed, end = feedback_boxes.until_round_of(boxes, now, place)
        place += 1
    return stayed
