"""simulate(): many runs of policies on a problem, on all cores or a GPU, with the same bits either way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.encode import encode_problems
from belated.engine.run_io import RunOutput
from belated.engine.runner import Chunk, Plan, run_chunk
from belated.errors import Interrupted, InvalidParameter, PolicyError
from belated.interrupts import DelayedInterrupt
from belated.kernel.rng import check_seed, family_generator
from belated.policies import Policy
from belated.policies._base.encode import check_registered
from belated.policies._check.play import check_once
from belated.problem import Family, Problem
from belated.simulation.progress import Progress, Report, progress_reporter
from belated.simulation.result import MAX_PULL_NUMBERS, Result
from belated.simulation.result_builder import ResultBuilder
from belated.validation import MAX_HORIZON, check_bool, check_choice, check_integer, is_integer

ROUNDS_PER_CHUNK, OWN_ROUNDS_PER_CHUNK, LEAST_ROUNDS = 16_000_000, 1_000_000, 200_000
"""The usual number of rounds in a chunk, that of policies that are not built in and may be slow, and the smallest one:
a few tenths of a second, and a few times the overhead of starting one."""
CHUNKS_ON_DEVICE = 8
"""Chunks that are on the device, or being collected, at a time."""
POLL_SECONDS = 0.1
"""How long is waited for a chunk before the progress is reported."""
SAMPLED_RUNS = 512
"""Runs whose problems are encoded to estimate the device memory of a run."""


class Execution(NamedTuple):
    """The chunks of a simulation, and how to run them."""

    chunks: Iterator[Chunk]
    run: Callable[[Chunk], list[RunOutput] | None]  # None: collected already, or stopped
    pool: AbstractContextManager[ThreadPoolExecutor]
    max_submitted: int


def simulate(
    problem: Problem | Family,
    policies: Policy | Sequence[Policy],
    *,
    horizon: int,
    runs: int,
    seed: int = 0,
    checkpoints: int | npt.ArrayLike = 100,
    workers: int | None = None,
    device: str = "cpu",
    progress: bool | Callable[[Progress], None] | None = None,
    shuffle: bool = False,
    check: bool = True,
) -> Result:
    """Simulate independent runs of each policy.

    In each run all policies face the same rewards and delays, so their differences are paired. Ctrl-C raises
    :class:`~belated.errors.Interrupted`, whose ``result`` holds the finished runs.

    Parameters
    ----------
    problem
        A problem, or a function that draws one for each run from a ``numpy.random.Generator``.
    policies
        A policy, or a list of policies.
    horizon
        T, the number of rounds of a run.
    runs
        The number of runs of each policy.
    seed
        Determines all random draws: the same seed gives the same result.
    checkpoints
        A number of evenly spaced rounds that end at the horizon, or an array of rounds, at which regret is recorded.
    workers
        The number of threads; by default one for each core. The result does not depend on it.
    device
        "cpu", or "cuda" for a GPU, which gives the same bits and ignores ``workers``.
    progress
        True or False for a progress bar or none; None for one that appears after a second on a terminal and in a
        notebook; or a function that is called with a :class:`~belated.simulation.progress.Progress`.
    shuffle
        Whether the arms are relabelled in each run, for all policies alike; the result keeps the problem's order.
        Policies break ties by the number of the arm, so that the order in which a problem lists its arms can favour
        some of them.
    check
        Whether a policy of your own is first played for some hundred rounds as plain Python, each step checked; a
        :class:`~belated.errors.PolicyError` names the file and line of a mistake. Code that changed after it was
        compiled is refused in any case.

    Examples
    --------
    >>> from belated.delays import Fixed
    >>> from belated.policies import UCB, SuccessiveElimination
    >>> from belated.rewards import Bernoulli
    >>> problem = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(50))
    >>> result = simulate(problem, [UCB(), SuccessiveElimination()], horizon=2000, runs=20, seed=1)
    >>> result.mean[:, -1].round(1).tolist()
    [20.7, 31.0]
    """
    chosen = _check_policies(policies, horizon := check_integer("horizon", horizon, 1, MAX_HORIZON))
    if not isinstance(problem, Problem) and not callable(problem):
        raise InvalidParameter(
            f"problem is {problem!r}; give a Problem, or a function from a numpy.random.Generator to a Problem."
        )
    check_device(device)
    runs = check_integer("runs", runs, 1, 2**31)
    threads = check_integer("workers", workers, 1, 4096) if workers is not None else available_cores()
    rounds, stop = rounds_of(checkpoints, horizon), np.zeros(1, np.int64)
    first = problem if isinstance(problem, Problem) else _draw_problem(problem, check_seed(seed), 0)
    try:
        plays = check_bool("check", check)
        for policy in chosen:
            check_once(policy, first.arms, horizon, plays=plays)
    except PolicyError as error:
        raise error.with_traceback(None) from error.__cause__  # the message names the user's line
    plan = Plan(
        horizon,
        rounds,
        check_seed(seed),
        stop,
        workers=min(threads, available_cores()),
        records_pulls=len(chosen) * rounds.size * first.arms <= MAX_PULL_NUMBERS,
        shuffle=check_bool("shuffle", shuffle),
    )
    builder = ResultBuilder(problem, chosen, plan, runs, first.arms)
    started = time.perf_counter()
    with progress_reporter(progress, runs * horizon * len(chosen), runs) as report:
        try:
            if device == "cuda":
                execution = _on_device(problem, chosen, plan, runs, builder)
            else:
                execution = _on_cores(problem, chosen, plan, runs, threads, builder)
            _run_all(execution, plan, builder, len(chosen), report)
        except PolicyError as error:
            raise error.with_traceback(None) from error.__cause__
        except KeyboardInterrupt:
            done = builder.finished
            message = (
                f"interrupted after {done} of {runs} runs; they are in this error's .result."
                if done
                else "interrupted before a run was finished."
            )
            raise Interrupted(message, builder.result(time.perf_counter() - started) if done else None) from None
    return builder.result(time.perf_counter() - started)


def _on_cores(
    problem: Problem | Family, policies: Sequence[Policy], plan: Plan, runs: int, threads: int, builder: ResultBuilder
) -> Execution:
    most = ROUNDS_PER_CHUNK if all(type(policy).is_built_in for policy in policies) else OWN_ROUNDS_PER_CHUNK
    size = builder.block or _chunk_runs(plan.horizon, runs, threads, most)
    chunks = _chunks(problem, plan, range(runs), builder.arms, size, lookups=True)
    return Execution(chunks, partial(run_chunk, policies, plan=plan), ThreadPoolExecutor(threads), 2 * threads)


def _on_device(
    problem: Problem | Family, policies: Sequence[Policy], plan: Plan, runs: int, builder: ResultBuilder
) -> Execution:
    """Chunks on the GPU; each is collected at once, because its outcomes are in memory that is reused."""
    from belated.engine.gpu.launch import launch_runs, played_on_device, threads
    from belated.engine.gpu.layout import THREADS

    first = next(_chunks(problem, plan, range(runs), builder.arms, builder.block or SAMPLED_RUNS))
    size = launch_runs(policies, first.problem, plan, min(builder.block or THREADS, runs))
    chunks: Iterator[Chunk]
    if size >= first.runs and not isinstance(problem, Problem):  # reuse what was drawn
        chunks = chain([first], _chunks(problem, plan, range(first.runs, runs), builder.arms, size))
    else:
        chunks = _chunks(problem, plan, range(runs), builder.arms, size)

    def run(chunk: Chunk) -> None:
        if not plan.stop_requested:
            with played_on_device(policies, chunk, plan) as outcomes:
                builder.add(chunk, outcomes)

    return Execution(chunks, run, nullcontext(threads()), CHUNKS_ON_DEVICE)


def _run_all(execution: Execution, plan: Plan, builder: ResultBuilder, policies: int, report: Report) -> None:
    """Run all chunks; after an interruption wait until no thread is at work."""
    with DelayedInterrupt(plan.request_stop) as interrupt, execution.pool as pool:
        pending: dict[Future[list[RunOutput] | None], Chunk] = {}
        played = 0

        def tell() -> None:
            report(played + _rounds_so_far(pending), plan.compiling.text(), plan.compiling.missing())

        try:
            while not interrupt.pending:
                for chunk in islice(execution.chunks, execution.max_submitted - len(pending)):
                    pending[pool.submit(execution.run, chunk)] = chunk
                if not pending:
                    return
                finished, _ = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=lambda done: pending[done].first):
                    chunk = pending.pop(future)
                    outcomes = future.result()
                    if outcomes is not None:
                        builder.add(chunk, outcomes)
                    elif interrupt.pending:
                        continue  # it was stopped, or came too late to be told of
                    played += chunk.runs * plan.horizon * policies
                    tell()
                if not finished:
                    tell()
        finally:
            plan.request_stop()
            wait([future for future in pending if not future.cancel()])


def _rounds_so_far(chunks: Mapping[Future[Any], Chunk]) -> int:
    """The rounds that were played of chunks that are not finished."""
    return sum(int(chunk.played.sum()) for chunk in chunks.values())


def _chunks(
    problem: Problem | Family, plan: Plan, runs: range, arms: int, size: int, *, lookups: bool = False
) -> Iterator[Chunk]:
    """Yield chunks of ``size`` runs; ``lookups`` allows lookup tables for delays that are drawn in batches."""
    shared = (
        encode_problems([problem], plan.horizon, len(runs) if lookups else 1) if isinstance(problem, Problem) else None
    )
    for first in runs[::size]:
        count = min(size, runs.stop - first)
        if shared is not None:
            yield Chunk(first, count, shared)
        elif not isinstance(problem, Problem):
            drawn = []
            for run in range(first, first + count):
                if plan.stop_requested:  # while a slow family draws
                    return
                drawn.append(_draw_problem(problem, plan.seed, run, arms))
            yield Chunk(first, count, encode_problems(drawn, plan.horizon))


def _draw_problem(family: Family, seed: int, run: int, arms: int | None = None) -> Problem:
    problem = family(family_generator(seed, run))
    if not isinstance(problem, Problem):
        raise InvalidParameter(f"the family of problems returned {problem!r} for run {run}; it must return a Problem.")
    if arms is not None and problem.arms != arms:
        raise InvalidParameter(
            f"the family of problems has {arms} arms in run 0 and {problem.arms} in run {run}; it must always have "
            "the same number."
        )
    return problem


def _chunk_runs(horizon: int, runs: int, threads: int, most_rounds: int) -> int:
    parts = 4 * threads if threads > 1 else 1
    fair = max(-(-runs // parts), min(LEAST_ROUNDS // horizon, -(-runs // threads)))
    return max(1, min(most_rounds // horizon, fair, 1024))


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rounds_of(checkpoints: int | npt.ArrayLike, horizon: int) -> npt.NDArray[np.int64]:
    """The checkpoints: evenly spaced rounds ending at the horizon, or the given ones."""
    if is_integer(checkpoints):
        count = min(check_integer("checkpoints", checkpoints, 1, 10_000_000), horizon)
        return (np.arange(1, count + 1) * horizon + count - 1) // count
    try:
        values = np.asarray(checkpoints)
    except ValueError:
        values = np.zeros(0)
    good = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iuf"
    if not (good and np.all(np.isfinite(values)) and np.all(values == np.floor(values))):
        raise InvalidParameter(f"checkpoints is {checkpoints!r}; give a number of checkpoints, or a list of rounds.")
    rounds = np.unique(values.astype(np.int64))
    if rounds[0] < 1 or rounds[-1] > horizon:
        raise InvalidParameter(
            f"checkpoints run from {rounds[0]} to {rounds[-1]}; give rounds from 1 to the horizon, {horizon}."
        )
    return rounds


def _check_policies(policies: Policy | Sequence[Policy], horizon: int) -> list[Policy]:
    listed = [policies] if isinstance(policies, Policy | type) else policies
    if isinstance(listed, str) or not isinstance(listed, Sequence) or len(listed) == 0:
        raise InvalidParameter(f"policies is {policies!r}; give a list of at least one policy, such as [UCB()].")
    for index, policy in enumerate(listed):
        if isinstance(policy, type) and issubclass(policy, Policy):
            raise InvalidParameter(
                f"policies[{index}] is the class {policy.__name__}; give an object, such as {policy.__name__}()."
            )
        if not isinstance(policy, Policy):
            raise InvalidParameter(f"policies[{index}] is {policy!r}; give a policy, such as UCB().")
        check_registered(policy)
    return [policy.for_horizon(horizon) for policy in listed]


def check_device(device: str) -> None:
    """Raise an error if the device is unknown or not available."""
    if check_choice("device", device, ("cpu", "cuda")) == "cuda":
        from belated.engine.gpu.launch import check_available

        check_available()
