"""The report: tables for the terminal and for the documentation, and the numbers as JSON."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import belated
from contract import Row
from native import FLAGS, compiler_version
from task import TASK


def machine() -> dict[str, str]:
    """Return what the measurements ran on."""
    return {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "Python": platform.python_version(),
        "numba": version("numba"),
        "NumPy": version("numpy"),
        "C compiler": f"{compiler_version()}, {' '.join(FLAGS[:2])}",
    }


def processor() -> str:
    """Return the processor's name, and whether it has AVX-512."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    lines = info.read_text().splitlines()
    name = next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")
    return name + (" (AVX-512)" if any("avx512f" in line for line in lines) else "")


def number(value: float) -> str:
    """Return three significant digits, thousands separated."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def limit(row: Row) -> str:
    """Return a row's limit in words."""
    if row.limit is None:
        return ""
    return f"{'at least' if row.atleast else 'at most'} {number(row.limit)}"


def verdict(row: Row) -> str:
    """Return pass, FAIL, or nothing where there is no limit."""
    if row.limit is None:
        return ""
    return "pass" if row.passed else "**FAIL**"


def table(head: list[str], rows: list[list[str]], align: str) -> str:
    """Return a Markdown table; ``align`` has l or r for each column."""
    marks = {"l": ":--", "r": "--:"}
    lines = [head, [marks[side] for side in align], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def contract_table(rows: list[Row]) -> str:
    """Return the rows that have a limit, and those that explain them."""
    cells = [
        [
            row.section,
            row.what,
            f"{number(row.value)} {row.unit}",
            limit(row),
            verdict(row),
            row.note,
        ]
        for row in rows
    ]
    return table(["", "measured", "value", "limit", "", ""], cells, "llrrll")


def peer_table(peers: list[dict[str, Any]], ours: float) -> str:
    """Return the peers, fastest first, beside our time per round."""
    good = sorted((row for row in peers if "error" not in row), key=lambda row: row["ns_per_round"])
    cells = [["belated", belated.__version__, "native", "task", number(ours), "1", ""]] + [
        [
            row["name"],
            row["version"],
            row["delay_support"],
            row["index"],
            number(row["ns_per_round"]),
            number(row["ns_per_round"] / ours),
            f"{row['mean_regret']:.0f} ± {row['stderr']:.0f}",
        ]
        for row in good
    ]
    head = ["program", "version", "delays", "index", "ns/round", "times belated", "regret"]
    text = table(head, cells, "llllrrr")
    failed = [f"- {row['name']}: {row['error']}" for row in peers if "error" in row]
    return text + ("\n\nDid not run:\n\n" + "\n".join(failed) if failed else "")


INTRODUCTION = """\
# Benchmarks

Written by `{command}`; the numbers are also in `benchmarks/results.json`.

The task: UCB with c = 1 on K = {arms} Bernoulli arms with means evenly spaced over 0.25..0.75,
T = {horizon:,}, every feedback {delay} rounds late. Programs that are compared take turns in one
run of the benchmark, and the minimum of their times counts: CPU time on one pinned core, but wall
clock for two workers and for fresh processes. Ratios carry over to other machines better than
times.
"""

C_NOTE = """\
The C program (`benchmarks/c/ucb.c`) plays one run at a time, keeps each arm's index until its
feedback arrives, holds the feedback in a ring, and notes the regret at 100 rounds as `simulate`
does. It knows one thing: Bernoulli rewards under one fixed delay, with the number of arms fixed when
it is compiled. `portable` is plain C that remembers the leader and scans only when the leader's index
falls; the limit is judged against it. `avx512` is what hand-written vector code adds: the indices of
all arms stay in three registers, and no branch depends on the data.
"""

PEER_NOTE = """\
Each peer runs in an environment of its own with pinned versions (`benchmarks/peers`). *Delays*:
`native` where the program itself knows delays, `own queue` where the benchmark holds the feedback
back for it, `none` where the row was played without delay. *Index*: `task` is the task's formula;
`ucb1` is the peer's UCB1 as shipped (2 ln t in place of 2c), whose regret is another one: compare
it with the row "plain Python, UCB1".
"""


def markdown(command: str, rows: list[Row], peers: list[dict[str, Any]], ours: float) -> str:
    """Return the page of the documentation."""
    facts = "\n".join(f"- {name}: {value}" for name, value in machine().items())
    head = INTRODUCTION.format(command=command, arms=TASK.arms, horizon=TASK.horizon, delay=TASK.delay)
    parts = [
        head,
        "## Machine\n",
        facts,
        "\n## The contract\n",
        contract_table(rows),
        "\n" + C_NOTE,
    ]
    if peers:
        parts += ["## Peers\n", peer_table(peers, ours), "\n" + PEER_NOTE]
    return "\n".join(parts)


def as_json(command: str, rows: list[Row], peers: list[dict[str, Any]]) -> str:
    """Return all numbers."""
    found = [{**asdict(row), "passed": row.passed} for row in rows]
    whole = {"command": command, "machine": machine(), "rows": found, "peers": peers}
    return json.dumps(whole, indent=2) + "\n"
