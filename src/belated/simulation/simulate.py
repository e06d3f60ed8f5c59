"""simulate(): any problem x any policies, many runs, all cores, the same bits however they are spread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from belated.engine.encode import encode_problems
from belated.engine.run import Outcome
from belated.engine.runner import Chunk, Plan, run_chunk
from belated.errors import Interrupted, InvalidParameter
from belated.kernel.rng import check_seed, family_generator
from belated.policies._base.policy import Policy, check_registered
from belated.problem import Family, Problem
from belated.simulation.progress import Progress, progress_reporter
from belated.simulation.result import Result
from belated.simulation.result_builder import ResultBuilder
from belated.validation import MAX_HORIZON, check_integer, is_integer

ROUNDS_PER_CHUNK, LEAST_ROUNDS = 16_000_000, 200_000
"""About how many rounds a chunk plays, and how many at the least, if every thread then has one: some tenths of a
second, and a few times as long as it takes to begin."""
CHUNKS_ON_DEVICE = 8
"""Chunks that are on the device, or being collected, at a time."""
RUNS_LOOKED_AT = 512
"""Runs whose problems say how much of the device's memory a run takes."""


class Playing(NamedTuple):
    """What there is to play, and how."""

    chunks: Iterator[Chunk]
    play: Callable[[Chunk], list[Outcome] | None]  # None: collected already, or stopped
    pool: AbstractContextManager[ThreadPoolExecutor]
    at_a_time: int


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
) -> Result:
    """Play ``runs`` independent runs of each policy for ``horizon`` rounds, by the paper's protocol.

    ``problem`` is a problem, or a function that draws one from a ``numpy.random.Generator`` anew for each run. All
    policies of a run meet the same rewards and delays, so that their differences are paired. ``checkpoints`` is a
    number of evenly spaced rounds ending at the horizon, or an array of rounds. ``workers`` is the number of threads
    (None: all cores); the result does not depend on it. ``device`` is "cpu" or "cuda"; a GPU gives the same bits, and
    has no use for ``workers``. ``progress`` is True or False for a bar or none, None for a bar
    on a terminal after two seconds, or a function that is called with a :class:`~belated.simulation.progress.Progress`.

    Ctrl-C raises :class:`~belated.errors.Interrupted`, whose ``result`` holds the runs finished by then.

    >>> from belated.delays import Fixed
    >>> from belated.policies import UCB, SuccessiveElimination
    >>> from belated.rewards import Bernoulli
    >>> problem = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(50))
    >>> result = simulate(problem, [UCB(), SuccessiveElimination()], horizon=2000, runs=20, seed=1)
    >>> result.mean[:, -1].round(1).tolist()
    [35.7, 166.6]
    """
    chosen = _policies(policies, horizon := check_integer("horizon", horizon, 1, MAX_HORIZON))
    if not isinstance(problem, Problem) and not callable(problem):
        raise InvalidParameter(
            f"problem is {problem!r}; give a Problem, or a function from a numpy.random.Generator to a Problem."
        )
    check_device(device)
    runs = check_integer("runs", runs, 1, 2**31)
    threads = check_integer("workers", workers, 1, 4096) if workers is not None else available_cores()
    rounds, stop = rounds_of(checkpoints, horizon), np.zeros(1, np.int64)
    plan = Plan(horizon, rounds, check_seed(seed), stop, min(threads, available_cores()))
    first = problem if isinstance(problem, Problem) else _drawn(problem, plan.seed, 0)
    collector = ResultBuilder(problem, chosen, plan, runs, first.arms)
    started = time.perf_counter()
    with progress_reporter(progress, total=runs * horizon * len(chosen)) as report:
        try:
            if device == "cuda":
                playing = _on_device(problem, chosen, plan, runs, collector)
            else:
                playing = _on_cores(problem, chosen, plan, runs, threads, collector)
            _play_all(playing, plan, collector, lambda rounds: report(rounds * len(chosen)))
        except KeyboardInterrupt:
            plan.stop[0] = 1
            done = collector.finished
            message = (
                f"interrupted after {done} of {runs} runs; they are in this error's .result."
                if done
                else "interrupted before a run was finished."
            )
            raise Interrupted(message, collector.result(time.perf_counter() - started) if done else None) from None
    return collector.result(time.perf_counter() - started)


def _on_cores(
    problem: Problem | Family, policies: Sequence[Policy], plan: Plan, runs: int, threads: int, collector: ResultBuilder
) -> Playing:
    """The chunks for the processor, and how one is played."""
    size = collector.block or _chunk_runs(plan.horizon, runs, threads)

    def play(chunk: Chunk) -> list[Outcome] | None:
        return run_chunk(policies, chunk, plan)

    chunks = _chunks(problem, plan, range(runs), collector.arms, size, lookups=True)
    return Playing(chunks, play, ThreadPoolExecutor(threads), 2 * threads)


def _on_device(
    problem: Problem | Family, policies: Sequence[Policy], plan: Plan, runs: int, collector: ResultBuilder
) -> Playing:
    """The chunks for the device, and how one is played, and collected at once: its outcomes lie in lent memory."""
    from belated.engine.gpu.launch import launch_runs, played_on_device, threads
    from belated.engine.gpu.layout import THREADS

    first = next(_chunks(problem, plan, range(runs), collector.arms, collector.block or RUNS_LOOKED_AT))
    size = launch_runs(policies, first.board, plan, min(collector.block or THREADS, runs))
    chunks: Iterator[Chunk]
    if size >= first.runs and not isinstance(problem, Problem):  # what was drawn is used
        chunks = chain([first], _chunks(problem, plan, range(first.runs, runs), collector.arms, size))
    else:
        chunks = _chunks(problem, plan, range(runs), collector.arms, size)

    def play(chunk: Chunk) -> None:
        if plan.stop[0] == 0:
            with played_on_device(policies, chunk, plan) as outcomes:
                collector.add(chunk, outcomes)

    return Playing(chunks, play, nullcontext(threads()), CHUNKS_ON_DEVICE)


def _play_all(playing: Playing, plan: Plan, collector: ResultBuilder, report: Callable[[int], None]) -> None:
    """Play all chunks; an interruption leaves nothing behind that is still at work."""
    with playing.pool as pool:
        waiting: dict[Future[list[Outcome] | None], Chunk] = {}
        try:
            while True:
                for chunk in islice(playing.chunks, playing.at_a_time - len(waiting)):
                    waiting[pool.submit(playing.play, chunk)] = chunk
                if not waiting:
                    return
                finished, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in sorted(finished, key=lambda done: waiting[done].first):
                    chunk = waiting.pop(future)
                    outcomes = future.result()
                    if outcomes is not None:
                        collector.add(chunk, outcomes)
                    report(chunk.runs * plan.horizon)
        except BaseException:
            plan.stop[0] = 1
            wait([future for future in waiting if not future.cancel()])
            raise


def _chunks(
    problem: Problem | Family, plan: Plan, runs: range, arms: int, size: int, *, lookups: bool = False
) -> Iterator[Chunk]:
    """Chunks of so many runs; with lookups, if the delays are drawn in batches."""
    shared = (
        encode_problems([problem], plan.horizon, len(runs) if lookups else 1) if isinstance(problem, Problem) else None
    )
    for first in runs[::size]:
        count = min(size, runs.stop - first)
        if shared is not None:
            yield Chunk(first, count, shared)
        elif not isinstance(problem, Problem):
            drawn = [_drawn(problem, plan.seed, run, arms) for run in range(first, first + count)]
            yield Chunk(first, count, encode_problems(drawn, plan.horizon))


def _drawn(family: Family, seed: int, run: int, arms: int | None = None) -> Problem:
    """The family's problem of one run."""
    problem = family(family_generator(seed, run))
    if not isinstance(problem, Problem):
        raise InvalidParameter(f"the family of problems returned {problem!r} for run {run}; it must return a Problem.")
    if arms is not None and problem.arms != arms:
        raise InvalidParameter(
            f"the family of problems has {arms} arms in run 0 and {problem.arms} in run {run}; it must always have "
            "the same number."
        )
    return problem


def _chunk_runs(horizon: int, runs: int, threads: int) -> int:
    parts = 4 * threads if threads > 1 else 1
    fair = max(-(-runs // parts), min(LEAST_ROUNDS // horizon, -(-runs // threads)))
    return max(1, min(ROUNDS_PER_CHUNK // horizon, fair, 1024))


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rounds_of(checkpoints: int | npt.ArrayLike, horizon: int) -> npt.NDArray[np.int64]:
    """The rounds at which curves are noted: evenly spaced ones ending at the horizon, or those given."""
    if is_integer(checkpoints):
        count = min(check_integer("checkpoints", checkpoints, 1, 10_000_000), horizon)
        return (np.arange(1, count + 1) * horizon + count - 1) // count
    try:
        given = np.asarray(checkpoints)
    except ValueError:
        given = np.zeros(0)
    good = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iuf"
    if not (good and np.all(np.isfinite(given)) and np.all(given == np.floor(given))):
        raise InvalidParameter(f"checkpoints is {checkpoints!r}; give a number of checkpoints, or a list of rounds.")
    rounds = np.unique(given.astype(np.int64))
    if rounds[0] < 1 or rounds[-1] > horizon:
        raise InvalidParameter(
            f"checkpoints run from {rounds[0]} to {rounds[-1]}; give rounds from 1 to the horizon, {horizon}."
        )
    return rounds


def _policies(policies: Policy | Sequence[Policy], horizon: int) -> list[Policy]:
    given = [policies] if isinstance(policies, Policy | type) else policies
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) == 0:
        raise InvalidParameter(
            f"policies is {policies!r}; give a list of at least one policy, such as [UCB(confidence=1.0)]."
        )
    for place, policy in enumerate(given):
        if isinstance(policy, type) and issubclass(policy, Policy):
            raise InvalidParameter(
                f"policies[{place}] is the class {policy.__name__}; give an object, such as {policy.__name__}()."
            )
        if not isinstance(policy, Policy):
            raise InvalidParameter(f"policies[{place}] is {policy!r}; give a policy, such as UCB(confidence=1.0).")
        check_registered(policy)
    return [policy.for_horizon(horizon) for policy in given]


def check_device(device: str) -> None:
    """An error if nothing can be played there."""
    if device == "cuda":
        from belated.engine.gpu.launch import check_available

        check_available()
    elif device != "cpu":
        raise InvalidParameter(f"device is {device!r}; give 'cpu' or 'cuda'.")
