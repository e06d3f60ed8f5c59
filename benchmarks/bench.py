"""Measure belated against its contract, a C program and its peers.

    python benchmarks/bench.py [--quick] [--no-peers] [--only SECTION ...] [--out FILE]

Prints the table, writes it to ``--out`` and the numbers to ``benchmarks/results.json``, and exits
with 1 where a limit is missed. ``--quick`` and ``--only`` measure less and write nothing unless
``--out`` is given.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import contract
import native
import peer_runs
import report
import subject
from contract import Row, Size
from measure import one_core
from task import HERE, TASK

SECTIONS = ("c", "laws", "policies", "workers", "fresh", "arms", "peers")


def options(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a first look")
    parser.add_argument("--no-peers", action="store_true", help="leave the peers out")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="these sections only")
    parser.add_argument("--out", type=Path, help="the page to write (default docs/benchmarks.md)")
    chosen = parser.parse_args(arguments)
    chosen.sections = [name for name in chosen.only or SECTIONS if not (name == "peers" and chosen.no_peers)]
    return chosen


def spelled(chosen: argparse.Namespace) -> str:
    """Return the command that measures the same, without where it writes."""
    words = ["python", "benchmarks/bench.py"]
    words += ["--quick"] * chosen.quick + ["--no-peers"] * chosen.no_peers
    return " ".join([*words, *(["--only", *chosen.only] if chosen.only else [])])


def warm_up() -> None:
    """Compile what is timed before it is timed."""
    for setting in (subject.problem(), subject.problem(arms=1000)):
        subject.play(setting, subject.everything(), horizon=50, runs=2)


def say(message: str) -> None:
    """Tell what is going on; the table alone goes to standard output."""
    print(message, file=sys.stderr, flush=True)


def peers(size: Size) -> tuple[list[Row], list[dict[str, Any]], float]:
    """Let every peer take its turn beside ``simulate``; our nanoseconds per round."""
    runs = max(size.runs)
    timed = contract.simulated(subject.problem(), subject.ucb(), runs=runs)
    found: list[dict[str, Any]] = []
    ours = float("inf")
    for peer in (*peer_runs.LOCAL, *peer_runs.PEERS):
        say(f"  {peer}")
        with one_core():
            found += peer_runs.play(peer, horizon=size.peer_horizon, runs=size.peer_runs)
            ours = min(ours, 1e9 * timed() / (runs * TASK.horizon))
    return peer_rows(found, ours), found, ours


def peer_rows(found: list[dict[str, Any]], ours: float) -> list[Row]:
    """Return the peers' part of the contract."""
    fastest = peer_runs.fastest_delay_aware(found)
    if fastest is None:
        return [Row("peers", "no delay-aware peer ran", 0.0, "x", 500.0, atleast=True)]
    ratio = fastest["ns_per_round"] / ours
    what = f"fastest delay-aware peer ({fastest['name']} {fastest['version']}) / simulate"
    return [Row("peers", what, ratio, "x", 500.0, atleast=True), *regret_rows(found)]


def regret_rows(found: list[dict[str, Any]]) -> list[Row]:
    """Check that the peers that play the task's index have the regret of the row of most runs."""
    same = [row for row in found if row.get("index") == "task"]
    yard = max(same, key=lambda row: row["runs"])
    spread = yard["stderr"] * math.sqrt(yard["runs"])
    rows = []
    for row in same:
        error = spread * math.hypot(1 / math.sqrt(row["runs"]), 1 / math.sqrt(yard["runs"]))
        apart = abs(row["mean_regret"] - yard["mean_regret"]) / error
        what = f"regret of {row['name']} and of {yard['name']} differ by"
        if row is not yard:
            rows.append(Row("peers", what, apart, "standard errors", 4.0))
    return rows


def measure(sections: list[str], size: Size) -> tuple[list[Row], list[dict[str, Any]], float]:
    """Measure the sections one after the other."""
    steps: dict[str, Callable[[], list[Row]]] = {
        "c": lambda: contract.against_c(size, native.build()),
        "laws": lambda: contract.delay_laws(size),
        "policies": lambda: contract.eliminations(size),
        "workers": lambda: contract.workers(size),
        "fresh": lambda: contract.fresh_process(size),
        "arms": lambda: contract.many_arms(size),
    }
    rows: list[Row] = []
    found: list[dict[str, Any]] = []
    ours = float("nan")
    for name in sections:
        say(name)
        if name == "peers":
            more, found, ours = peers(size)
            rows += more
        else:
            rows += steps[name]()
    return rows, found, ours


def main(arguments: list[str]) -> int:
    """Measure, print, write; 1 where a limit is missed."""
    chosen = options(arguments)
    command = spelled(chosen)
    warm_up()
    rows, found, ours = measure(chosen.sections, contract.QUICK if chosen.quick else contract.FULL)
    page = report.markdown(command, rows, found, ours)
    print(page)
    partial = chosen.quick or chosen.only
    target = chosen.out or (None if partial else HERE.parent / "docs" / "benchmarks.md")
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page)
    if not partial:
        (HERE / "results.json").write_text(report.as_json(command, rows, found))
    missed = [row for row in rows if not row.passed]
    for row in missed:
        say(f"missed: {row.what}: {report.number(row.value)} {row.unit}, {report.limit(row)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
