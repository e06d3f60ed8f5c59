"""From a policy and problems to the outcome of a chunk of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.engine import draw_buffer, feedback_boxes, timing_wheel
from belated.engine.compile_errors import cannot_compile
from belated.engine.compile_pool import crew_for, missing_for
from belated.engine.encode import EncodedProblem
from belated.engine.packed_feedback import MOST_ARMS
from belated.engine.ring_loop import play_rings
from belated.engine.run import Outcome, Setting, play
from belated.engine.run_io import BAD_ARM, NO_ROOM, STOPPED
from belated.engine.speculative import LONGEST, play_stretches
from belated.kernel.compile import compile_for
from belated.kernel.jit import COMPILE_ERRORS, ignore_overflow
from belated.kernel.law_table import FIXED
from belated.kernel.rng import seed_words
from belated.policies._base.entry_points import entry_for, no_such_arm, with_table
from belated.policies._base.policy import Policy
from belated.policies._base.state import allocate

TABULATED = 1 << 16
"""Counts up to which a policy's bonus is looked up."""
LARGEST_IN_RING = 6
"""log2 of the rewards that are drawn ahead in a ring: the bits of a word."""
LONGEST_RING = 1 << 20
"""Longer delays wait in the wheel."""


@dataclass(frozen=True)
class Chunk:
    """Runs ``first``, ``first + 1``, ... of a simulation: one problem for all, or one for each."""

    first: int
    runs: int
    board: EncodedProblem


@dataclass(frozen=True)
class Plan:
    """What all chunks of a simulation share."""

    horizon: int
    checkpoints: npt.NDArray[np.int64]
    seed: int
    stop: npt.NDArray[np.int64]
    workers: int = 1  # processes that may compile


def run_chunk(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> list[Outcome] | None:
    """The outcome of each policy on the chunk's runs, or None if the simulation was stopped."""
    setting = _setting(chunk, plan)
    outcomes = []
    ways = [_way(policy, chunk, plan) for policy in policies]
    most = max(reversed(ways), key=ways.count)
    helped = [policy for policy, way in zip(policies, ways, strict=True) if way is most]
    busy = any(way is not most and missing_for(way, [policy]) for policy, way in zip(policies, ways, strict=True))
    with crew_for(most, helped, plan.workers, busy=busy) as crew:
        for policy, way in zip(policies, ways, strict=True):
            if way is most:
                crew.wait_for(way, policy, plan.stop)
            if plan.stop[0] != 0:
                return None
            outcome = _outcome(chunk.runs, setting)
            with ignore_overflow():
                status = _played(way, policy, chunk, setting, outcome)
            if status == BAD_ARM:
                raise no_such_arm(policy, setting.gap.shape[1])
            if status == STOPPED:
                return None
            outcomes.append(outcome)
    return outcomes


def compile_policy(name: str, policy: Policy, chunk: Chunk, plan: Plan) -> None:
    """Compile the function of this name that plays a policy on such a chunk, without playing it."""
    way = next(way for way in _ARGUMENTS if way.__name__ == name)
    setting = _setting(chunk, plan)
    arguments = _ARGUMENTS[way](policy, chunk, setting, _outcome(chunk.runs, setting), drawn=False)[0]
    compile_for(entry_for(way, type(policy)), *arguments)


def _setting(chunk: Chunk, plan: Plan) -> Setting:
    """What the chunk plays."""
    laws, _, gaps = chunk.board
    half = gaps.size  # delays follow rewards
    fixed = np.where(laws.kind[half : 2 * half] == FIXED, laws.i[half : 2 * half], -1)
    return Setting(fixed, gaps, plan.checkpoints, seed_words(plan.seed), plan.horizon, chunk.first, plan.stop)


def _way(policy: Policy, chunk: Chunk, plan: Plan) -> Callable[..., Any]:
    """The function that plays a policy on the chunk: in a ring where every arm has the same fixed delay, in stretches
    where the policy stays with its choice; both where rewards are 0 or 1."""
    board, horizon = chunk.board, plan.horizon
    if board.binary and 0 <= board.common_delay(horizon) < LONGEST_RING:
        return play_rings
    stays = (
        board.binary
        and type(policy).changes_on_feedback_only
        and feedback_boxes.suits(board.gaps.shape[1], board.longest, horizon)
    )
    return play_stretches if stays else play


def _outcome(runs: int, setting: Setting) -> Outcome:
    arms = setting.gap.shape[1]
    return Outcome(
        curve=np.zeros((runs, setting.checkpoint.size)),
        final=np.zeros(runs),
        pulls=np.zeros((runs, arms), np.int32),
        observed=np.zeros((runs, arms), np.int32),
        lost=np.zeros((runs, arms), np.int32),
        eliminated_at=np.zeros((runs, arms), np.int32),
    )


def _played(way: Callable[..., Any], policy: Policy, chunk: Chunk, setting: Setting, outcome: Outcome) -> int:
    """Play a chunk; why it ended."""
    arguments, _source = _ARGUMENTS[way](policy, chunk, setting, outcome)  # the source of draws lives as long as needed
    status = _call(way, policy, *arguments)
    while status == NO_ROOM:
        if way is not play:  # from the beginning, in a wheel
            return _played(play, policy, chunk, setting, outcome)
        *given, flight, stock, place = arguments
        arguments = (*given, timing_wheel.grown(flight), stock, place)
        status = _call(way, policy, *arguments)
    return status


def _for_wheel(
    policy: Policy, chunk: Chunk, setting: Setting, outcome: Outcome, *, drawn: bool = True
) -> tuple[tuple[Any, ...], Any]:
    """The arguments of :func:`play`, and what must outlive them; with what draws, if something is drawn."""
    arms, horizon = setting.gap.shape[1], setting.horizon
    state = allocate(arms, policy.shape())[0]
    flight = timing_wheel.allocate(chunk.board.longest, horizon)
    stock, source = draw_buffer.allocate(chunk.board.laws, arms, horizon, drawn=drawn)
    return (_parameters(policy, setting), setting, outcome, state, flight, stock, np.zeros(3, np.int64)), source


def _for_stretches(
    policy: Policy, chunk: Chunk, setting: Setting, outcome: Outcome, *, drawn: bool = True
) -> tuple[tuple[Any, ...], Any]:
    """The arguments of :func:`play_stretches`, likewise."""
    arms, horizon = setting.gap.shape[1], setting.horizon
    state, (tally,) = allocate(arms, policy.shape(), (np.uint64, (MOST_ARMS,)))
    stock, source = draw_buffer.allocate(chunk.board.laws, arms, horizon, drawn=drawn)
    waiting = feedback_boxes.allocate(chunk.board.longest, horizon, LONGEST, stock.delay.size)
    return (_parameters(policy, setting), setting, outcome, state, tally, waiting, stock), source


def _for_ring(
    policy: Policy, chunk: Chunk, setting: Setting, outcome: Outcome, *, drawn: bool = True
) -> tuple[tuple[Any, ...], Any]:
    """The arguments of :func:`play_rings`, which draws by itself."""
    arms, horizon = setting.gap.shape[1], setting.horizon
    ring = chunk.board.common_delay(horizon) + 1
    state, (places, ahead) = allocate(arms, policy.shape(), (np.uint32, (ring,)), (np.uint64, (arms,)))
    batch = draw_buffer.batch_bits(arms, horizon, LARGEST_IN_RING)
    return (_parameters(policy, setting), setting, chunk.board.laws, outcome, state, places, ahead, batch), None


_ARGUMENTS: dict[Callable[..., Any], Callable[..., tuple[tuple[Any, ...], Any]]] = {
    play_rings: _for_ring,
    play_stretches: _for_stretches,
    play: _for_wheel,
}
"""The ways to play a chunk, and what gives their arguments."""
WAYS = tuple(_ARGUMENTS)


def _parameters(policy: Policy, setting: Setting) -> Any:
    return with_table(policy, setting.gap.shape[1], min(setting.horizon, TABULATED) + 1)


def _call(function: Callable[..., Any], policy: Policy, *arguments: Any) -> int:
    """Call a function compiled for the policy."""
    entry = entry_for(function, type(policy))
    try:
        compile_for(entry, *arguments)
        return int(entry(*arguments))
    except (*COMPILE_ERRORS, AttributeError) as error:  # the last: such as np.nothing
        raise cannot_compile(policy, error) from error
