"""The measurements behind the contract: each function returns rows with a limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from typing import Any

import subject
from measure import Timed, contest, cpu, deviation, one_core, wall
from native import Program
from task import HERE, TASK


@dataclass(frozen=True)
class Row:
    """One measured value: at most ``limit``, at least where ``atleast``; None: for information."""

    section: str
    what: str
    value: float
    unit: str
    limit: float | None = None
    atleast: bool = False
    note: str = ""

    @property
    def passed(self) -> bool:
        """Tell whether the limit is kept."""
        if self.limit is None:
            return True
        return self.value >= self.limit if self.atleast else self.value <= self.limit


@dataclass(frozen=True)
class Size:
    """How much is played."""

    runs: tuple[int, ...] = (100, 300, 1000)
    repeats: int = 15
    law_runs: int = 300
    law_repeats: int = 7
    worker_runs: int = 4000
    many_arms: int = 10_000
    many_arms_horizon: int = 200_000
    many_arms_runs: int = 32
    long_horizon: int = 100_000_000
    peer_horizon: int = TASK.horizon
    peer_runs: int = 0


FULL = Size()
QUICK = Size(
    runs=(100,),
    repeats=7,
    law_runs=100,
    law_repeats=4,
    worker_runs=1500,
    many_arms_horizon=100_000,
    many_arms_runs=8,
    long_horizon=10_000_000,
    peer_horizon=4000,
    peer_runs=2,
)


def simulated(setting: Any, policy: Any, **options: Any) -> Timed:
    """Return a timed call of the public ``simulate``, set-up included."""
    full = {"horizon": TASK.horizon, **options}
    return lambda: cpu(lambda: subject.play(setting, [policy], **full))


def against_c(size: Size, programs: dict[str, Program]) -> list[Row]:
    """UCB through ``simulate`` against the C program, and that their regrets agree."""
    rows = []
    for runs in size.runs:
        entries: dict[str, Timed] = {"belated": simulated(subject.problem(), subject.ucb(), runs=runs)}
        for variant, program in programs.items():
            entries[variant] = partial(_c_seconds, program, runs)
        with one_core():
            best = contest(entries, size.repeats)
        rows += _c_rows(best, runs)
    return [*rows, _same_regret(max(size.runs), next(iter(programs.values())))]


def _c_seconds(program: Program, runs: int) -> float:
    return program.play(runs).cpu_s


def _c_rows(best: dict[str, float], runs: int) -> list[Row]:
    per_round = {name: 1e9 * seconds / (runs * TASK.horizon) for name, seconds in best.items()}
    ours = per_round.pop("belated")
    rows = [Row("against C", f"simulate, {runs} runs", ours, "ns/round")]
    for name, theirs in per_round.items():
        rows.append(Row("against C", f"C, {name}, {runs} runs", theirs, "ns/round"))
        judged = 1.2 if name == "portable" else None
        what = f"simulate / C {name}, {runs} runs"
        rows.append(Row("against C", what, ours / theirs, "x", judged))
    return rows


def _same_regret(runs: int, program: Program) -> Row:
    result = subject.play(subject.problem(), [subject.ucb()], horizon=TASK.horizon, runs=runs)
    ours = float(result.mean[0, -1]), float(result.stderr[0, -1])
    played = program.play(runs, seed=1)
    theirs = played.mean_regret, played.stderr
    note = f"{ours[0]:.1f} ± {ours[1]:.1f} and {theirs[0]:.1f} ± {theirs[1]:.1f}"
    what = "regret of simulate and of C differ by"
    return Row("against C", what, deviation(ours, theirs), "standard errors", 4.0, note=note)


def delay_laws(size: Size) -> list[Row]:
    """Every delay law against the fixed one."""
    laws = subject.laws()
    entries = {name: simulated(subject.problem(law), subject.ucb(), runs=size.law_runs) for name, law in laws.items()}
    with one_core():
        best = contest(entries, size.law_repeats)
    fixed = best.pop("Fixed(200)")
    return [Row("delay laws", f"{name} / Fixed(200)", seconds / fixed, "x", 2.0) for name, seconds in best.items()]


def eliminations(size: Size) -> list[Row]:
    """SE, PSE and OPSE against UCB."""
    entries = {"UCB": simulated(subject.problem(), subject.ucb(), runs=size.law_runs)}
    for name, policy in subject.eliminations().items():
        entries[name] = simulated(subject.problem(), policy, runs=size.law_runs)
    with one_core():
        best = contest(entries, size.law_repeats)
    base = best.pop("UCB")
    rows = [Row("policies", f"{name} / UCB", seconds / base, "x", 1.0) for name, seconds in best.items()]
    return [*rows, *early_stop(size)]


def early_stop(size: Size) -> list[Row]:
    """A hundred times the horizon must cost little more once one arm is left."""
    short, long = TASK.horizon, 100 * TASK.horizon
    rows = []
    for name, policy in subject.eliminations().items():
        entries = {
            str(horizon): simulated(subject.easy(), policy, runs=100, horizon=horizon) for horizon in (short, long)
        }
        with one_core():
            best = contest(entries, size.law_repeats)
        ratio = best[str(long)] / best[str(short)]
        what = f"{name}, two arms with gap 0.5, T = {long:,} / T = {short:,}"
        rows.append(Row("policies", what, ratio, "x", 10.0))
    return rows


def workers(size: Size) -> list[Row]:
    """Two workers against one, on the wall clock, not pinned."""
    setting, policy = subject.problem(), subject.ucb()
    options = {"horizon": TASK.horizon, "runs": size.worker_runs}

    def timed(count: int) -> float:
        return wall(lambda: subject.play(setting, [policy], workers=count, **options))

    best = contest({"1": partial(timed, 1), "2": partial(timed, 2)}, 7)
    what = f"one worker / two workers, {size.worker_runs} runs"
    return [Row("workers", what, best["1"] / best["2"], "x", 1.8, atleast=True)]


def many_arms(size: Size) -> list[Row]:
    """Time per round of many arms against the task's number, same horizon and runs."""
    options = {"horizon": size.many_arms_horizon, "runs": size.many_arms_runs}
    entries = {
        "few": simulated(subject.problem(), subject.ucb(), **options),
        "many": simulated(subject.problem(arms=size.many_arms), subject.ucb(), **options),
    }
    with one_core():
        best = contest(entries, 3)
    what = f"K = {size.many_arms:,} / K = {TASK.arms}, T = {size.many_arms_horizon:,}"
    note = f"{size.many_arms_runs} runs each"
    return [Row("arms", what, best["many"] / best["few"], "x", 6.0, note=note)]


def child(*arguments: str, cache: str) -> dict[str, Any]:
    """Run ``child.py`` in a fresh process with its own folder of compiled code."""
    command = [sys.executable, str(HERE / "child.py"), *arguments]
    env = {**os.environ, "BELATED_CACHE_DIR": cache}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        raise RuntimeError(f"child.py {' '.join(arguments)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def fresh_process(size: Size) -> list[Row]:
    """First result with a warm cache, compilation with an empty one, memory of a long run."""
    with tempfile.TemporaryDirectory() as cache:
        compiling = wall(lambda: child("cold", cache=cache))
        child("first", cache=cache)
        starting = min(wall(lambda: child("first", cache=cache)) for _ in range(5))
        peak = child("memory", str(size.long_horizon), cache=cache)["peak_mb"]
    return [
        Row("fresh process", "start to first result, warm cache", starting, "s", 1.5),
        Row("fresh process", "start to end, every policy, empty cache", compiling, "s", 30.0),
        Row("memory", f"peak at T = {size.long_horizon:,}, delay 200", peak, "MB", 300.0),
    ]
