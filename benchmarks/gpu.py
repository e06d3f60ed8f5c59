"""Measure belated on a GPU: ``python benchmarks/gpu.py``; writes ``benchmarks/gpu.json``, which the page shows.

Needs an NVIDIA GPU and numba-cuda; nothing else than the package itself needs.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import subject
from belated import simulate
from belated.engine.encode import encode_problems
from belated.engine.gpu.kernel import device
from belated.engine.gpu.launch import call, finish, start
from belated.engine.gpu.layout import plan_launch
from belated.engine.gpu.memory import BUFFERS
from belated.engine.runner import Chunk, Plan
from belated.studies.arena import contestants, play
from belated.studies.arena import scenarios as arena_rows
from belated.studies.experiments import PAPER, load
from belated.studies.report import Report, summarize
from belated.studies.reproduce import reproduce
from task import HERE, TASK

RUNS = 262_144
POINTS = 100
LONG = 100_000


def best(work: Callable[[], object], repeats: int = 2, *, compiled: bool = False) -> float:
    """Return the least time of several, after one that compiles."""
    if not compiled:
        work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def kernel(policy: Any) -> tuple[float, float]:
    """Return (rounds a second of the kernel alone, share of the rounds that were really played)."""
    horizon = TASK.horizon
    policy = policy.for_horizon(horizon)
    rounds = (np.arange(1, POINTS + 1) * horizon) // POINTS
    plan = Plan(horizon, rounds, 0, np.zeros(1, np.int64))
    prepared = plan_launch(policy, Chunk(0, RUNS, encode_problems([subject.problem()], horizon)), plan)
    with BUFFERS.borrow([(prepared.region.bytes, prepared.region.bytes)]) as (buffer,):
        start(prepared, buffer)
        finish(prepared, buffer)

        def work() -> None:
            call(prepared, buffer)
            buffer.stream.synchronize()

        seconds = best(work, compiled=True)
    result = simulate(subject.problem(), policy, horizon=horizon, runs=4096, seed=0)
    return RUNS * horizon * played(result) / seconds, played(result)


def played(result: Any) -> float:
    """Return the share of the rounds that are played until one arm is left."""
    gone = result.eliminated_at[0]
    alone = (gone < 0).sum(axis=1) == 1
    last = np.where(alone & (gone.shape[1] > 1), gone.max(axis=1) - 1, result.horizon)
    return float(last.mean() / result.horizon)


def through_simulate(policy: Any, horizon: int) -> float:
    """Return the rounds a second of ``simulate``, all of it."""
    work = lambda: simulate(subject.problem(), policy, horizon=horizon, runs=RUNS, checkpoints=POINTS, device="cuda")  # noqa: E731
    return RUNS * horizon / best(work)


def paper(folder: Path) -> float:
    """Return the seconds of ``belated reproduce --device cuda``, once all is compiled."""

    def work() -> None:
        with Report(folder) as report:
            outcomes = reproduce(map(load, PAPER), out=folder, device="cuda", fresh=True, done=report.add)
            report.finish(summarize(outcomes, 0, 1.0, 0.0, False), outcomes)

    return best(work)


def arena() -> float:
    """Return the seconds of the whole arena, once all is compiled."""
    return best(lambda: play(arena_rows(), contestants(), device="cuda"), repeats=1)


def main(folder: str, output: Path) -> None:
    """Measure and write, after each row: a machine may be lent for less time than it takes."""
    rows: list[dict[str, Any]] = []
    name = device().get_current_device().name
    text = name.decode() if isinstance(name, bytes) else str(name)
    machine = f"one {text}, Python {platform.python_version()}, numpy {np.__version__}"

    def add(what: str, value: float, unit: str, limit: float, note: str = "") -> None:
        limited = f"at {'most' if unit == 's' else 'least'} {limit:g}" if limit else ""
        passed = None if not limit else value <= limit if unit == "s" else value >= limit
        rows.append({"what": what, "value": value, "unit": unit, "limit": limited, "passed": passed, "note": note})
        print(rows[-1], flush=True)
        found = {"command": "python benchmarks/gpu.py out/gpu", "machine": machine, "rows": rows}
        output.write_text(json.dumps(found, indent=2) + "\n")

    task = f"K = {TASK.arms}, delay {TASK.delay}, T = {TASK.horizon:,}, {RUNS:,} runs, {POINTS} checkpoints"
    limited = [policy for policy, _ in subject.limited().values()]
    limits = {"UCB": 7e10, "SE": 3e10, **{policy.label: 5e9 for policy in limited}}
    of_c = [policy for policy in subject.written_in_c() if policy not in limited]
    for policy in (subject.ucb(), *of_c, *limited):
        rate, share = kernel(policy)
        note = "" if share == 1.0 else f"{100 * share:.0f} % of the rounds until one arm is left"
        add(f"{policy.label}, the kernel, {task}", rate, "rounds/s", limits.get(policy.label, 0.0), note)
    for horizon in (TASK.horizon, LONG):
        add(f"UCB through simulate, T = {horizon:,}", through_simulate(subject.ucb(), horizon), "rounds/s", 0.0)
    add("belated reproduce --device cuda, all of the paper with its report", paper(Path(folder)), "s", 10.0)
    add("belated arena --device cuda, all rows, all policies", arena(), "s", 0.0)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "out/gpu", Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "gpu.json")
