"""Play a chunk of runs on a CPU: choose the channel and the source, allocate, call the compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine import sources, timing_wheel
from belated.engine.compile_pool import compile_missing
from belated.engine.compile_status import CompileStatus
from belated.engine.encode import EncodedProblem
from belated.engine.ring_buffer import RingBuffer
from belated.engine.run import play_ring, play_ring_shuffled, play_wheel, play_wheel_shuffled
from belated.engine.run_io import BAD_ARM, BAD_NUMBER, FINISHED, NO_ROOM, STOPPED, RunInput, RunOutput
from belated.engine.sources import BitBuffer, DrawBuffer
from belated.engine.speculative import packed_wheel
from belated.engine.speculative.play import LONGEST, play_speculatively, play_speculatively_shuffled
from belated.kernel.jit import compile_for, ignore_overflow
from belated.kernel.rng import seed_words
from belated.policies._base.encode import memory_size
from belated.policies._base.entry_points import entry_for, with_table
from belated.policies._base.policy import Policy
from belated.policies._base.state import State, allocate
from belated.policies._check.run_errors import no_such_arm, not_a_number, short_errors

TABLE_SIZE = 1 << 16
"""Counts up to which a policy's bonus is looked up in a table."""
LONGEST_RING = 1 << 20
"""Longer delays wait in a timing wheel."""

Loop = Callable[..., Any]
"""A compiled loop: :func:`play_ring`, :func:`play_wheel` or :func:`play_speculatively`, or the same with shuffled
arms."""


@dataclass(frozen=True)
class Chunk:
    """Runs ``first``, ``first + 1``, ... of a simulation: one problem for all, or one for each."""

    first: int
    runs: int
    problem: EncodedProblem
    played: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    """Rounds of the finished runs and of the present one, all policies together, while they are played."""


@dataclass(frozen=True)
class Plan:
    """What all chunks of a simulation share."""

    horizon: int
    checkpoints: npt.NDArray[np.int64]
    seed: int
    stop: npt.NDArray[np.int64]
    workers: int = 1  # processes that may compile
    records_pulls: bool = True  # whether the pulls at the checkpoints are summed
    shuffle: bool = False  # whether the arms are relabelled in each run
    compiling: CompileStatus = field(default_factory=CompileStatus)

    def request_stop(self) -> None:
        """Ask all threads to stop playing soon."""
        self.stop[0] = 1

    @property
    def stop_requested(self) -> bool:
        """Whether threads were asked to stop."""
        return bool(self.stop[0])

    @property
    def pull_rows(self) -> int:
        """Rows of the sums of pulls: one for each checkpoint, or a single one if they are not recorded."""
        return self.checkpoints.size if self.records_pulls else 1


def run_chunk(policies: Sequence[Policy], chunk: Chunk, plan: Plan) -> list[RunOutput] | None:
    """The output of each policy on the chunk's runs, or None if the simulation was stopped."""
    run = _run_input(chunk, plan)
    outputs = []
    tasks = [(_loop_for(policy, chunk.problem, plan), policy) for policy in policies]
    plan.compiling.add_entries(tasks)
    compile_missing(tasks, lambda task: compile_loop(*task, chunk, plan), plan.workers, plan.stop)
    for loop, policy in tasks:
        if plan.stop_requested:
            return None
        output = _allocate_output(chunk.runs, run, plan)
        with ignore_overflow():
            status = _play(loop, policy, chunk.problem, run, output, np.zeros(3, np.int64))
        if status == BAD_ARM:
            raise no_such_arm(policy, run.gap.shape[1])
        if status == BAD_NUMBER:
            raise not_a_number(policy)
        if status == STOPPED:
            return None
        outputs.append(output)
    return outputs


def compile_loop(loop: Loop, policy: Policy, chunk: Chunk, plan: Plan) -> None:
    """Compile a loop for a policy and such a chunk, without playing it."""
    run = _run_input(chunk, plan)
    state, channel, source, _ = LOOPS[loop].allocate(policy, chunk.problem, plan.horizon, False)
    output, position = _allocate_output(chunk.runs, run, plan), np.zeros(3, np.int64)
    compile_for(entry_for(loop, type(policy)), _parameters(policy, run), run, output, state, channel, source, position)


def _run_input(chunk: Chunk, plan: Plan) -> RunInput:
    problem = chunk.problem
    return RunInput(
        gap=problem.gaps,
        fixed_delay=problem.fixed_delays,
        checkpoint=plan.checkpoints,
        seed=seed_words(plan.seed),
        horizon=plan.horizon,
        first_run=chunk.first,
        stop=plan.stop,
        played=chunk.played,
        order=np.zeros(2 * problem.gaps.shape[1], np.uint32) if plan.shuffle else (),
    )


def _allocate_output(runs: int, run: RunInput, plan: Plan) -> RunOutput:
    arms = run.gap.shape[1]
    return RunOutput(
        curve=np.zeros((runs, run.checkpoint.size)),
        final=np.zeros(runs),
        pulls=np.zeros((runs, arms), np.int32),
        observed=np.zeros((runs, arms), np.int32),
        lost=np.zeros((runs, arms), np.int32),
        eliminated_at=np.zeros((runs, arms), np.int32),
        pull_sums=np.zeros((plan.pull_rows, arms), np.int64),
    )


def _loop_for(policy: Policy, problem: EncodedProblem, plan: Plan) -> Loop:
    """The fastest loop that can play a policy on a problem."""
    if problem.binary and 0 <= problem.common_delay(plan.horizon) < LONGEST_RING:
        return play_ring_shuffled if plan.shuffle else play_ring
    speculates = type(policy).changes_on_feedback_only and problem.binary and not problem.by_round
    if speculates and packed_wheel.fits(problem.gaps.shape[1], problem.longest, plan.horizon):
        return play_speculatively_shuffled if plan.shuffle else play_speculatively
    return play_wheel_shuffled if plan.shuffle else play_wheel


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
    state, channel, source, _keep = LOOPS[loop].allocate(policy, problem, run.horizon, True)
    status = _call(loop, policy, parameters, run, output, state, channel, source, position)
    parameters.table[0] = 0.0  # so that it is not filled again
    while status == NO_ROOM:
        if (fallback := LOOPS[loop].fallback) is not None:
            return _play_on(fallback, policy, problem, run, output, position)
        channel = timing_wheel.grown(channel)
        status = _call(loop, policy, parameters, run, output, state, channel, source, position)
    return status


def _play_on(
    loop: Loop,
    policy: Policy,
    problem: EncodedProblem,
    run: RunInput,
    output: RunOutput,
    position: npt.NDArray[np.int64],
) -> int:
    """Play with a timing wheel what the speculative path had no room for: first the run that it began, whose pulls at
    the first checkpoints it has added to their sums, then the runs after it."""
    number, _, point = position.tolist()
    arrays: Any = [array[: number + 1] for array in output]
    begun = RunOutput(*arrays)._replace(pull_sums=np.zeros_like(output.pull_sums))
    status = _play(loop, policy, problem, run, begun, position)
    output.pull_sums[point:] += begun.pull_sums[point:]
    return _play(loop, policy, problem, run, output, position) if status == FINISHED else status


Allocated = tuple[State, Any, Any, Any]
"""(state, channel, source, what must be kept alive with them)."""


def _allocate_wheel(policy: Policy, problem: EncodedProblem, horizon: int, compiles: bool) -> Allocated:
    arms = problem.gaps.shape[1]
    state = allocate(arms, policy.shape(), memory_size(policy, arms, horizon))[0]
    source, batch = _draw_buffer(problem, horizon, compiles)
    return state, timing_wheel.allocate(problem.longest, horizon), source, batch


def _draw_buffer(problem: EncodedProblem, horizon: int, compiles: bool) -> tuple[DrawBuffer, Any]:
    problems, arms = problem.gaps.shape
    return sources.allocate_draw_buffer(problem.laws, arms, horizon, problems=problems, compiles=compiles)


def _allocate_speculative(policy: Policy, problem: EncodedProblem, horizon: int, compiles: bool) -> Allocated:
    arms = problem.gaps.shape[1]
    state, (tally,) = allocate(
        arms, policy.shape(), memory_size(policy, arms, horizon), (np.uint64, (packed_wheel.MAX_ARMS,))
    )
    source, batch = _draw_buffer(problem, horizon, compiles)
    channel = packed_wheel.allocate(problem.longest, horizon, LONGEST, source.delay.size, tally)
    return state, channel, source, batch


def _allocate_ring(policy: Policy, problem: EncodedProblem, horizon: int, compiles: bool) -> Allocated:
    arms, delay = problem.gaps.shape[1], problem.common_delay(horizon)
    state, (slots, words) = allocate(
        arms, policy.shape(), memory_size(policy, arms, horizon), (np.uint32, (delay + 1,)), (np.uint64, (arms,))
    )
    bits = sources.batch_bits(arms, horizon, sources.WORD_BITS)
    return state, RingBuffer(delay, slots, ()), BitBuffer(bits, problem.laws.i, words), None


class _LoopKind(NamedTuple):
    """What a loop needs."""

    allocate: Callable[[Policy, EncodedProblem, int, bool], Allocated]
    in_ring: bool = False  # whether it plays only problems with one delay for all arms
    shuffled: bool = False
    fallback: Loop | None = None  # what plays on where it has no room; without one, the channel grows


LOOPS: dict[Loop, _LoopKind] = {
    play_ring: _LoopKind(_allocate_ring, in_ring=True),
    play_ring_shuffled: _LoopKind(_allocate_ring, in_ring=True, shuffled=True),
    play_speculatively: _LoopKind(_allocate_speculative, fallback=play_wheel),
    play_speculatively_shuffled: _LoopKind(_allocate_speculative, shuffled=True, fallback=play_wheel_shuffled),
    play_wheel: _LoopKind(_allocate_wheel),
    play_wheel_shuffled: _LoopKind(_allocate_wheel, shuffled=True),
}


def _parameters(policy: Policy, run: RunInput) -> Any:
    return with_table(policy, run.gap.shape[1], min(run.horizon, TABLE_SIZE) + 1)


def _call(loop: Loop, policy: Policy, *arguments: Any) -> int:
    """Call a loop compiled for the policy."""
    entry = entry_for(loop, type(policy))
    with short_errors(policy):
        compile_for(entry, *arguments)
        return int(entry(*arguments))
