"""Play a chunk of runs on a CPU: choose the channel and the source, allocate, call the compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.engine import sources, timing_wheel
from belated.engine.compile_errors import cannot_compile
from belated.engine.compile_pool import compile_missing
from belated.engine.encode import EncodedProblem
from belated.engine.ring_buffer import RingBuffer
from belated.engine.run import play_ring, play_wheel
from belated.engine.run_io import BAD_ARM, NO_ROOM, STOPPED, RunInput, RunOutput
from belated.engine.sources import BitBuffer, DrawBuffer
from belated.engine.speculative import packed_wheel
from belated.engine.speculative.play import LONGEST, play_speculatively
from belated.kernel.jit import COMPILE_ERRORS, compile_for, ignore_overflow
from belated.kernel.rng import seed_words
from belated.policies._base.entry_points import entry_for, no_such_arm, with_table
from belated.policies._base.policy import Policy
from belated.policies._base.state import State, allocate

TABLE_SIZE = 1 << 16
"""Counts up to which a policy's bonus is looked up in a table."""
LONGEST_RING = 1 << 20
"""Longer delays wait in a timing wheel."""

Loop = Callable[..., Any]
"""A compiled loop: :func:`play_ring`, :func:`play_wheel` or :func:`play_speculatively`."""


@dataclass(frozen=True)
class Chunk:
    """Runs ``first``, ``first + 1``, ... of a simulation: one problem for all, or one for each."""

    first: int
    runs: int
    problem: EncodedProblem


@dataclass(frozen=True)
class Plan:
    """What all chunks of a simulation share."""

    horizon: int
    checkpoints: npt.NDArray[np.int64]
    seed: int
    stop: npt.NDArray[np.int64]
    workers: int = 1  # processes that may compile


def run_chunk(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> list[RunOutput] | None:
    """The output of each policy on the chunk's runs, or None if the simulation was stopped."""
    run = _run_input(chunk, plan)
    outputs = []
    tasks = [(_loop_for(policy, chunk.problem, plan.horizon), policy) for policy in policies]
    compile_missing(tasks, lambda task: compile_loop(*task, chunk, plan), plan.workers, plan.stop)
    for loop, policy in tasks:
        if plan.stop[0] != 0:
            return None
        output = _allocate_output(chunk.runs, run)
        with ignore_overflow():
            status = _play(loop, policy, chunk.problem, run, output, np.zeros(3, np.int64))
        if status == BAD_ARM:
            raise no_such_arm(policy, run.gap.shape[1])
        if status == STOPPED:
            return None
        outputs.append(output)
    return outputs


def compile_loop(loop: Loop, policy: Policy, chunk: Chunk, plan: Plan) -> None:
    """Compile a loop for a policy and such a chunk, without playing it."""
    run = _run_input(chunk, plan)
    state, channel, source, _ = _ALLOCATORS[loop](policy, chunk.problem, plan.horizon, False)
    output, position = _allocate_output(chunk.runs, run), np.zeros(3, np.int64)
    compile_for(entry_for(loop, type(policy)), _parameters(policy, run), run, output, state, channel, source, position)


def _run_input(chunk: Chunk, plan: Plan) -> RunInput:
    problem = chunk.problem
    seed = seed_words(plan.seed)
    return RunInput(problem.gaps, problem.fixed_delays, plan.checkpoints, seed, plan.horizon, chunk.first, plan.stop)


def _allocate_output(runs: int, run: RunInput) -> RunOutput:
    arms = run.gap.shape[1]
    return RunOutput(
        curve=np.zeros((runs, run.checkpoint.size)),
        final=np.zeros(runs),
        pulls=np.zeros((runs, arms), np.int32),
        observed=np.zeros((runs, arms), np.int32),
        lost=np.zeros((runs, arms), np.int32),
        eliminated_at=np.zeros((runs, arms), np.int32),
    )


def _loop_for(policy: Policy, problem: EncodedProblem, horizon: int) -> Loop:
    """The fastest loop that can play a policy on a problem."""
    if problem.binary and 0 <= problem.common_delay(horizon) < LONGEST_RING:
        return play_ring
    speculates = type(policy).changes_on_feedback_only and problem.binary
    if speculates and packed_wheel.fits(problem.gaps.shape[1], problem.longest, horizon):
        return play_speculatively
    return play_wheel


def _play(
    loop: Loop,
    policy: Policy,
    problem: EncodedProblem,
    run: RunInput,
    output: RunOutput,
    position: npt.NDArray[np.int64],
) -> int:
    """Play the runs from ``position`` on; why it ended."""
    parameters = _parameters(policy, run)
    state, channel, source, _keep = _ALLOCATORS[loop](policy, problem, run.horizon, True)
    status = _call(loop, policy, parameters, run, output, state, channel, source, position)
    parameters.table[0] = 0.0  # so that it is not filled again
    while status == NO_ROOM:
        if loop is not play_wheel:
            return _play(play_wheel, policy, problem, run, output, position)
        channel = timing_wheel.grown(channel)
        status = _call(loop, policy, parameters, run, output, state, channel, source, position)
    return status


Allocated = tuple[State, Any, Any, Any]
"""(state, channel, source, what must be kept alive with them)."""


def _allocate_wheel(policy: Policy, problem: EncodedProblem, horizon: int, compiles: bool) -> Allocated:
    arms = problem.gaps.shape[1]
    state = allocate(arms, policy.shape())[0]
    source, batch = _draw_buffer(problem, horizon, compiles)
    return state, timing_wheel.allocate(problem.longest, horizon), source, batch


def _draw_buffer(problem: EncodedProblem, horizon: int, compiles: bool) -> tuple[DrawBuffer, Any]:
    problems, arms = problem.gaps.shape
    return sources.allocate_draw_buffer(problem.laws, arms, horizon, problems=problems, compiles=compiles)


def _allocate_speculative(policy: Policy, problem: EncodedProblem, horizon: int, compiles: bool) -> Allocated:
    arms = problem.gaps.shape[1]
    state, (tally,) = allocate(arms, policy.shape(), (np.uint64, (packed_wheel.MAX_ARMS,)))
    source, batch = _draw_buffer(problem, horizon, compiles)
    channel = packed_wheel.allocate(problem.longest, horizon, LONGEST, source.delay.size, tally)
    return state, channel, source, batch


def _allocate_ring(policy: Policy, problem: EncodedProblem, horizon: int, compiles: bool) -> Allocated:
    arms, delay = problem.gaps.shape[1], problem.common_delay(horizon)
    state, (slots, words) = allocate(arms, policy.shape(), (np.uint32, (delay + 1,)), (np.uint64, (arms,)))
    bits = sources.batch_bits(arms, horizon, sources.WORD_BITS)
    return state, RingBuffer(delay, slots, ()), BitBuffer(bits, problem.laws.i, words), None


_ALLOCATORS: dict[Loop, Callable[[Policy, EncodedProblem, int, bool], Allocated]] = {
    play_ring: _allocate_ring,
    play_speculatively: _allocate_speculative,
    play_wheel: _allocate_wheel,
}
LOOPS = tuple(_ALLOCATORS)


def _parameters(policy: Policy, run: RunInput) -> Any:
    return with_table(policy, run.gap.shape[1], min(run.horizon, TABLE_SIZE) + 1)


def _call(loop: Loop, policy: Policy, *arguments: Any) -> int:
    """Call a loop compiled for the policy."""
    entry = entry_for(loop, type(policy))
    try:
        compile_for(entry, *arguments)
    except (*COMPILE_ERRORS, AttributeError) as error:  # the last: such as np.nothing
        raise cannot_compile(policy, error) from error
    return int(entry(*arguments))
