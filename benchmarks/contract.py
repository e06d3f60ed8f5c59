"""The measurements behind the contract: each function returns rows with a limit."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import subject
from measure import Timed, contest, cpu, deviation, one_core, wall
from native import Program
from task import HERE, TASK
from trial_lanes import LANES, simulate_in_lanes


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
    many_runs: int = 1_000_000
    slow_runs: int = 200
    scaling_rounds: int = 100_000_000
    most_arms: int = 100_000
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
    many_runs=20_000,
    slow_runs=20,
    scaling_rounds=2_000_000,
    most_arms=1000,
    peer_horizon=4000,
    peer_runs=2,
)


NO_RING = "fixed delays of 200 and 201"
"""Fixed delays that are not the same for all arms are played as all other laws are."""


def simulated(setting: Any, policy: Any, **options: Any) -> Timed:
    """Return a timed call of the public ``simulate``, set-up included."""
    full = {"horizon": TASK.horizon, **options}
    return lambda: cpu(lambda: subject.play(setting, [policy], **full))


def against_c(size: Size, programs: dict[str, Program]) -> list[Row]:
    """UCB through ``simulate`` against the C program of one run at a time, and that their regrets agree."""
    rows = []
    for runs in size.runs:
        rows += _c_rows("against C", programs, runs, size.repeats, {"portable": 1.2})
    return [*rows, _same_regret("against C", subject.ucb(), max(size.runs), next(iter(programs.values())))]


def against_lanes(size: Size, programs: dict[str, Program]) -> list[Row]:
    """UCB through ``simulate`` against the C program of eight runs side by side."""
    runs = max(size.runs)
    widest = next(reversed(programs))
    rows = _c_rows("lanes", programs, runs, size.repeats, {widest: 1.4})
    rows.append(_tried_lanes(runs, size.law_repeats))
    return [*rows, _same_regret("lanes", subject.ucb(), runs, programs[widest])]


def _tried_lanes(runs: int, repeats: int) -> Row:
    """What was tried and left: the engine's own form in lanes, and that its bits are the same."""
    setting = subject.problem()
    play = partial(simulate_in_lanes, setting, TASK.horizon, TASK.delay)
    result = subject.play(setting, [subject.ucb()], horizon=TASK.horizon, runs=2 * LANES)
    same = bool((play(2 * LANES) == result.final[0]).all())
    with one_core():
        seconds = min(cpu(lambda: play(runs)) for _ in range(repeats))
    what = f"tried: eight lanes compiled by numba, {runs} runs"
    note = "the same regrets" if same else "OTHER regrets"
    return Row("lanes", what, 1e9 * seconds / (runs * TASK.horizon), "ns/round", note=note)


def _c_rows(section: str, programs: dict[str, Program], runs: int, repeats: int, limits: dict[str, float]) -> list[Row]:
    entries: dict[str, Timed] = {"belated": simulated(subject.problem(), subject.ucb(), runs=runs)}
    entries |= {variant: partial(program.seconds, runs) for variant, program in programs.items()}
    with one_core():
        best = contest(entries, repeats)
    per_round = {name: 1e9 * seconds / (runs * TASK.horizon) for name, seconds in best.items()}
    ours = per_round.pop("belated")
    rows = [Row(section, f"simulate, {runs} runs", ours, "ns/round")]
    for name, theirs in per_round.items():
        rows.append(Row(section, f"C, {name}, {runs} runs", theirs, "ns/round"))
        rows.append(Row(section, f"simulate / C {name}, {runs} runs", ours / theirs, "x", limits.get(name)))
    return rows


def _same_regret(section: str, policy: Any, runs: int, program: Program, law: str = "") -> Row:
    setting = subject.problem(subject.laws()[law] if law else None)
    result = subject.play(setting, [policy], horizon=TASK.horizon, runs=runs)
    ours = float(result.mean[0, -1]), float(result.stderr[0, -1])
    played = program.play(runs, seed=1)
    theirs = played.mean_regret, played.stderr
    note = f"{ours[0]:.1f} ± {ours[1]:.1f} and {theirs[0]:.1f} ± {theirs[1]:.1f}"
    under = f" under {law}" if law else ""
    what = f"regret of {policy.label}{under} in simulate and in C differs by"
    return Row(section, what, deviation(ours, theirs), "standard errors", 4.0, note=note)


def policies_in_c(size: Size, programs: dict[str, Program]) -> list[Row]:
    """Every other policy against its C program, which plays one run at a time."""
    rows = []
    for policy in subject.written_in_c():
        program = programs[policy.label]
        slow = policy.label == "Thompson"
        runs = size.slow_runs if slow else max(size.runs)
        entries: dict[str, Timed] = {
            "belated": simulated(subject.problem(), policy, runs=runs),
            "C": partial(program.seconds, runs),
        }
        with one_core():
            best = contest(entries, size.law_repeats)
        note = " and ".join(f"{1e9 * seconds / (runs * TASK.horizon):.3g}" for seconds in best.values()) + " ns/round"
        ratio = best["belated"] / best["C"]
        rows.append(Row("policies in C", f"{policy.label}: simulate / C", ratio, "x", 3.0 if slow else 2.0, note=note))
        rows.append(_same_regret("policies in C", policy, runs, program))
    return rows


def delay_laws(size: Size) -> list[Row]:
    """Every delay law against the fixed one."""
    laws = subject.laws()
    entries = {name: simulated(subject.problem(law), subject.ucb(), runs=size.law_runs) for name, law in laws.items()}
    entries[NO_RING] = simulated(subject.two_delays(), subject.ucb(), runs=size.law_runs)
    with one_core():
        best = contest(entries, size.law_repeats)
    fixed, no_ring = best.pop("Fixed(200)"), best.pop(NO_RING)
    rounds = size.law_runs * TASK.horizon
    rows = [Row("delay laws", f"{NO_RING} / Fixed(200)", no_ring / fixed, "x", note=f"{1e9 * no_ring / rounds:.3g} ns")]
    for name, seconds in best.items():
        note = f"{1e9 * seconds / rounds:.3g} ns; {seconds / no_ring:.2f} x {NO_RING}"
        rows.append(Row("delay laws", f"{name} / Fixed(200)", seconds / fixed, "x", 2.0, note=note))
    return rows


def laws_in_c(size: Size, fixed: dict[str, Program], programs: dict[str, dict[str, Program]]) -> list[Row]:
    """UCB under some delay laws against C programs for them; and how these stand to the one for a fixed delay."""
    rows = []
    for name, builds in programs.items():
        setting = subject.problem(subject.laws()[name])
        entries: dict[str, Timed] = {"belated": simulated(setting, subject.ucb(), runs=size.law_runs)}
        entries |= {variant: partial(program.seconds, size.law_runs) for variant, program in builds.items()}
        entries |= {f"fixed {variant}": partial(program.seconds, size.law_runs) for variant, program in fixed.items()}
        with one_core():
            best = contest(entries, size.law_repeats)
        for variant in builds:
            note = f"C: {best[variant] / best[f'fixed {variant}']:.2f} x its time for a fixed delay"
            ratio = best["belated"] / best[variant]
            limit = 1.2 if variant == "portable" else None
            rows.append(Row("delay laws", f"{name}: simulate / C {variant}", ratio, "x", limit, note=note))
        rows.append(_same_regret("delay laws", subject.ucb(), size.law_runs, next(iter(builds.values())), name))
    return rows


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


def limited(size: Size) -> list[Row]:
    """Nanoseconds per round of the policies that are not formulas of UCB or SE; twice as many under random delays."""
    laws = {name: subject.laws()[name] for name in ("Fixed(200)", "Geometric(200)", "LogNormal(200, 1)")}
    rows = []
    for name, (policy, limit) in subject.limited().items():
        entries = {law: simulated(subject.problem(delays), policy, runs=50) for law, delays in laws.items()}
        with one_core():
            best = contest(entries, size.law_repeats)
        for law, seconds in best.items():
            most = limit if law == "Fixed(200)" else 2.0 * limit
            rows.append(Row("policies", f"{name}, {law}", 1e9 * seconds / (50 * TASK.horizon), "ns/round", most))
    return rows


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
    return [Row("workers", what, best["1"] / best["2"], "x", 1.9, atleast=True)]


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


OWN_POLICY = """
from belated.policies import ConfidencePolicy, IndexPolicy, observed_mean, policy, radius

@policy
class OwnUCB(IndexPolicy, ConfidencePolicy):
    label = "Own-UCB"

    @staticmethod
    def index(policy, arm):
        return observed_mean(arm) + {number} * radius(policy, max(arm.pulls, 1.0))
"""


def edited_policy(cache: str) -> float:
    """CPU time of a process that plays an own policy after an edit: the least of three."""
    with tempfile.TemporaryDirectory() as folder:

        def edited(number: float) -> float:
            Path(folder, "own_policy.py").write_text(OWN_POLICY.format(number=number))
            return float(child("own", folder, cache=cache)["cpu"])

        edited(1.0)
        return min(edited(1.0 + edit / 8) for edit in (1, 2, 3))


def fresh_process(size: Size) -> list[Row]:
    """First result with a warm cache, compilation with an empty one, memory of a long run."""
    with tempfile.TemporaryDirectory() as cache:
        compiling = wall(lambda: child("cold", cache=cache))
        child("first", cache=cache)
        starting = min(wall(lambda: child("first", cache=cache)) for _ in range(5))
        edited = edited_policy(cache)
        peak = child("memory", str(size.long_horizon), "1", cache=cache)["peak_mb"]
        wide = child("memory", "10000", str(size.many_runs), cache=cache)["peak_mb"]
    return [
        Row("fresh process", "start to first result, warm cache", starting, "s", 1.5),
        Row("fresh process", "start to end, every policy, empty cache", compiling, "s", 30.0),
        Row("fresh process", "CPU time, start to end, own policy after an edit", edited, "s", 5.0),
        Row("memory", f"peak at T = {size.long_horizon:,}, delay 200", peak, "MB", 300.0),
        Row("memory", f"peak of {size.many_runs:,} runs of 10,000 rounds, K = {TASK.arms}", wide, "MB", 1000.0),
    ]


def scaling(size: Size) -> tuple[list[Row], dict[str, list[tuple[int, float]]]]:
    """Nanoseconds per round of UCB for numbers of arms and for horizons, and how they grow."""
    arms = {
        count: _per_round(
            subject.problem(arms=count), 20 * max(count, 5000), size.scaling_rounds // (10 if count < 10_000 else 2)
        )
        for count in (2, 5, 20, 100, 1000, 10_000, 100_000)
        if count <= size.most_arms
    }
    horizons = {
        horizon: _per_round(subject.problem(), horizon, size.scaling_rounds // 4)
        for horizon in (10**3, 10**4, 10**5, 10**6, 10**7, 10**8)
        if horizon <= size.scaling_rounds
    }
    few, many = min(arms), max(arms)
    longest = max(horizons)
    growth = max(cost / math.log2(count) for count, cost in arms.items() if count >= 100)
    rows = [
        Row(
            "scaling",
            f"ns per round at T = {longest:,} / at T = 1,000",
            horizons[longest] / horizons[1000],
            "x",
            1.25,
            note=", ".join(f"{cost:.3g}" for cost in horizons.values()) + " ns, T = 10^3, 10^4, ...",
        ),
        Row(
            "scaling",
            f"ns per round and log2 K, the most for K from 100 to {many:,} / that of K = 100",
            growth / (arms[100] / math.log2(100)),
            "x",
            2.0,
            note=f"{arms[few]:.3g} ns with {few} arms, {arms[100]:.3g} with 100, {arms[many]:.3g} with {many:,}",
        ),
    ]
    return rows, {"arms": list(arms.items()), "horizon": list(horizons.items())}


def _per_round(setting: Any, horizon: int, rounds: int) -> float:
    """Return the nanoseconds that one more round takes, set-up apart: twice as many runs less once as many."""
    runs = max(1, rounds // horizon)
    options = {"horizon": horizon, "checkpoints": 10}
    entries = {str(more): simulated(setting, subject.ucb(), runs=more * runs, **options) for more in (1, 2)}
    with one_core():
        best = contest(entries, 3)
    return 1e9 * (best["2"] - best["1"]) / (runs * horizon)
