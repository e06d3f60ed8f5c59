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
from functools import partial
from pathlib import Path
from typing import Any

import contract
import native
import peer_runs
import picture
import report
import subject
from contract import Row, Size
from measure import one_core
from task import HERE, TASK

SECTIONS = ("c", "lanes", "c-policies", "laws", "policies", "workers", "fresh", "arms", "scaling", "peers")


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
    for setting in (subject.problem(), subject.problem(subject.laws()["Pareto(1.0)"])):
        subject.play(setting, subject.everything(), horizon=2 * TASK.delay, runs=2)


def say(message: str) -> None:
    """Tell what is going on; the table alone goes to standard output."""
    print(message, file=sys.stderr, flush=True)


def peers(size: Size) -> tuple[list[Row], list[dict[str, Any]]]:
    """Let every peer take its turn beside ``simulate`` and the C programs; the rows of the table are all of them."""
    runs = max(size.runs)
    entries = {"belated": contract.simulated(subject.problem(), subject.ucb(), runs=runs)}
    programs = native.streams() | native.lanes()
    entries |= {f"C, {variant}": partial(program.seconds, runs) for variant, program in programs.items()}
    found: list[dict[str, Any]] = []
    best = dict.fromkeys(entries, math.inf)
    for peer in (*peer_runs.LOCAL, *peer_runs.PEERS):
        say(f"  {peer}")
        with one_core():
            found += peer_runs.play(peer, horizon=size.peer_horizon, runs=size.peer_runs)
            for name, timed in entries.items():
                best[name] = min(best[name], timed())
    ours = {name: 1e9 * seconds / (runs * TASK.horizon) for name, seconds in best.items()}
    rows = peer_rows(found, ours["belated"])
    return rows, [*report.our_rows(ours, programs), *found]


def peer_rows(found: list[dict[str, Any]], ours: float) -> list[Row]:
    """Return the peers' part of the contract."""
    fastest = peer_runs.fastest_delay_aware(found)
    if fastest is None:
        return [Row("peers", "no delay-aware peer ran", 0.0, "x", 500.0, atleast=True)]
    ratio = fastest["ns_per_round"] / ours
    what = f"fastest delay-aware peer ({fastest['name']} {fastest['version']}) / simulate"
    return [Row("peers", what, ratio, "x", 500.0, atleast=True), *regret_rows(found)]


def regret_rows(found: list[dict[str, Any]]) -> list[Row]:
    """Check that those that play one index under the delay have the regret of the one with the most runs."""
    rows = []
    for index in ("task", "ucb1"):
        same = [row for row in found if row.get("index") == index and row["delay_support"] != "none"]
        yard = max(same, key=lambda row: row["runs"])
        spread = yard["stderr"] * math.sqrt(yard["runs"])
        for row in same:
            error = spread * math.hypot(1 / math.sqrt(row["runs"]), 1 / math.sqrt(yard["runs"]))
            apart = abs(row["mean_regret"] - yard["mean_regret"]) / error
            what = f"regret of {row['name']} and of {yard['name']} differ by"
            if row is not yard:
                rows.append(Row("peers", what, apart, "standard errors", 4.0))
    return rows


def measure(sections: list[str], size: Size) -> report.Findings:
    """Measure the sections one after the other."""
    steps: dict[str, Callable[[], list[Row]]] = {
        "c": lambda: contract.against_c(size, native.streams()),
        "lanes": lambda: contract.against_lanes(size, native.lanes()),
        "c-policies": lambda: contract.policies_in_c(size, native.policies()),
        "laws": lambda: [*contract.delay_laws(size), *contract.laws_in_c(size, native.streams(), native.wheels())],
        "policies": lambda: [*contract.eliminations(size), *contract.limited(size)],
        "workers": lambda: contract.workers(size),
        "fresh": lambda: contract.fresh_process(size),
        "arms": lambda: contract.many_arms(size),
    }
    found = report.Findings([], [], {})
    for name in sections:
        say(name)
        if name == "peers":
            rows, programs = peers(size)
            found.programs.extend(programs)
        elif name == "scaling":
            rows, costs = contract.scaling(size)
            found.costs.update(costs)
        else:
            rows = steps[name]()
        found.rows.extend(rows)
    return found


def main(arguments: list[str]) -> int:
    """Measure, print, write; 1 where a limit is missed."""
    chosen = options(arguments)
    command = spelled(chosen)
    warm_up()
    found = measure(chosen.sections, contract.QUICK if chosen.quick else contract.FULL)
    page = report.markdown(command, found)
    print(page)
    partial_run = chosen.quick or chosen.only
    target = chosen.out or (None if partial_run else HERE.parent / "docs" / "benchmarks.md")
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page)
        if found.costs and found.programs:
            picture.draw(found.programs, found.costs, target.parent / "images" / "benchmarks.png")
    if not partial_run:
        (HERE / "results.json").write_text(report.as_json(command, found))
    missed = [row for row in found.rows if not row.passed]
    for row in missed:
        say(f"missed: {row.what}: {report.number(row.value)} {row.unit}, {report.limit(row)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
