"""The report: tables for the terminal and for the documentation, and the numbers as JSON."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import belated
import subject
from contract import Row
from native import FLAGS, Program, compiler_version
from task import HERE, TASK

GPU = HERE / "gpu.json"
REGRET_RUNS = 400
C_CANNOT = "Bernoulli rewards and one fixed delay only; one policy per build"


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


class Findings(NamedTuple):
    """All that was measured."""

    rows: list[Row]
    programs: list[dict[str, Any]]  # the table of programs: belated, C, peers
    costs: dict[str, list[tuple[int, float]]]  # ns per round by "arms" and by "horizon"


def our_rows(ns: dict[str, float], programs: dict[str, Program]) -> list[dict[str, Any]]:
    """Return the rows of ``simulate`` and of the C programs, from their nanoseconds per round."""
    result = subject.play(subject.problem(), [subject.ucb()], horizon=TASK.horizon, runs=REGRET_RUNS)
    rows = [
        {
            "name": "belated",
            "version": belated.__version__,
            "cannot": "",
            "mean_regret": float(result.mean[0, -1]),
            "stderr": float(result.stderr[0, -1]),
        }
    ]
    for variant, program in programs.items():
        played = program.play(REGRET_RUNS, seed=1)
        more = {"mean_regret": played.mean_regret, "stderr": played.stderr}
        rows.append({"name": f"C, {variant}", "version": "", "cannot": C_CANNOT, **more})
    common = {"delay_support": "native", "index": "task", "runs": REGRET_RUNS}
    return [{**row, **common, "ns_per_round": ns[str(row["name"])]} for row in rows]


def program_table(programs: list[dict[str, Any]]) -> str:
    """Return all programs, fastest first, beside the C lanes and belated."""
    good = sorted((row for row in programs if "error" not in row), key=lambda row: row["ns_per_round"])
    ours = next(row["ns_per_round"] for row in good if row["name"] == "belated")
    lanes = min(row["ns_per_round"] for row in good if row["name"].endswith("lanes"))
    cells = [
        [
            f"**{row['name']}**" if row["name"] == "belated" else row["name"],
            row["version"],
            number(row["ns_per_round"]),
            number(row["ns_per_round"] / lanes),
            number(row["ns_per_round"] / ours),
            f"{row['mean_regret']:.0f} ± {row['stderr']:.0f}",
            row["index"],
            row["delay_support"],
            row["cannot"],
        ]
        for row in good
    ]
    head = ["program", "version", "ns/round", "/ C lanes", "/ belated", "regret", "index", "delays", "cannot"]
    text = table(head, cells, "llrrrrlll")
    failed = [f"- {row['name']}: {row['error']}" for row in programs if "error" in row]
    return text + ("\n\nDid not run:\n\n" + "\n".join(failed) if failed else "")


def gpu_part() -> str:
    """Return what was last measured on a GPU, by another command on another machine."""
    found = json.loads(GPU.read_text())
    verdicts = {None: "", True: "pass", False: "**FAIL**"}
    cells = [
        [row["what"], f"{row['value']:.3g} {row['unit']}", row["limit"], verdicts[row["passed"]], row["note"]]
        for row in found["rows"]
    ]
    head = f"Written by `{found['command']}` on {found['machine']}.\n\n"
    return head + table(["measured", "value", "limit", "", ""], cells, "lrrll")


INTRODUCTION = """\
# Benchmarks

Written by `{command}`; the numbers are also in `benchmarks/results.json`.

The task is UCB with c = 1 on K = {arms} Bernoulli arms with means evenly spaced over 0.25..0.75, shuffled, T =
{horizon:,}, and a delay of {delay} rounds. Programs that are compared take turns in one run of the benchmark, and
the minimum of their times counts: CPU time on one pinned core, but wall-clock time for two workers and for fresh
processes. Ratios carry over to other machines better than times do.
"""

LAWS_NOTE = """\
The limit on delay laws is relative to `Fixed(200)`, which has a faster path because all feedback is equally late:
the ring buffer. The note of each row gives the ratio to fixed delays that differ between arms, which take the same
path as all other laws. For three of the laws there is also a C program, with a timing wheel instead of the ring
buffer; its own ratios to a fixed delay are in the notes. When failures arrive immediately and successes late, the
leader changes every ninth to fourteenth round, and each change is a branch that no processor predicts.
"""

GPU_NOTE = """\
Only simulated rounds count: the run of an elimination policy ends when one arm is left. Through `simulate`, the
curves, counts and moments of all runs are on the host and summed when the clock stops; the kernel only writes them
to device memory. [The notes on the engine](notes/engine.md#on-a-gpu) say what holds back the policies that miss their
limit, and what was tried.
"""

LANES_NOTE = """\
The C program in lanes (`benchmarks/c/lanes.c`) plays eight runs side by side, with their state in [arm][lane]
order: one AVX-512 register of eight doubles (`avx512 lanes`), two of AVX2, or plain loops. `simulate` plays one run
at a time and is as fast: it caches each index until feedback arrives and remembers the leader, whereas lanes must
look at all arms in every round; it draws rewards ahead, 64 pulls of an arm at a time, and LLVM vectorises that
loop. Lanes were also tried inside the engine (`benchmarks/trial_lanes.py`, measured above): LLVM vectorises them
only if small arrays are on the stack, so that it knows that nothing overlaps, and if the argmax is written in
vector instructions. The result is slower than one run at a time, and works for index policies only.

The other policies in C (`benchmarks/c/policies.c`) play one run at a time, with a separate build for each policy: one
counter update per feedback, bounds once per sweep, a tree of integer keys where the leader changes in every round, and
Thompson sampling's Gamma draws eight at a time.
"""

C_NOTE = """\
The C program (`benchmarks/c/ucb.c`) plays one run at a time, caches each arm's index until its feedback arrives,
holds pending feedback in a ring buffer, and records the regret at 100 checkpoints, as `simulate` does. It supports
only Bernoulli rewards with one fixed delay, and the number of arms is fixed at compile time. `portable` is plain C
that remembers the leader and scans only when the leader's index falls; the limit is relative to it. `avx512` adds
hand-written vector code: the indices of all arms stay in three registers, and no branch depends on the data.
"""

PEER_NOTE = """\
Each peer runs in its own environment with pinned versions (`benchmarks/peers`). *Delays*: `native` if the program
supports delays, `own queue` if the benchmark holds the feedback back for it, `none` if it was run without delay.
*Index*: `task` is the task's formula; `ucb1` is the peer's UCB1 as shipped (2 ln t instead of 2c), which has a
different regret: compare it with "plain Python, UCB1". *Cannot*: what the program, as shipped, cannot do.
"""

SCALING_NOTE = """\
Left: the table as a picture. Right: the cost of a round against the number of arms (each arm is pulled at least 20
times) and against the horizon, excluding set-up. From 65 arms on, the largest index is found in a tree. Short runs
draw fewer rewards ahead.

![Nanoseconds per round of every program, and of belated against arms and horizon](images/benchmarks.png)
"""


def markdown(command: str, found: Findings) -> str:
    """Return the page of the documentation."""
    facts = "\n".join(f"- {name}: {value}" for name, value in machine().items())
    head = INTRODUCTION.format(command=command, arms=TASK.arms, horizon=TASK.horizon, delay=TASK.delay)
    parts = [head, "## Machine\n", facts]
    if found.programs:
        parts += ["\n## Comparison\n", program_table(found.programs), "\n" + PEER_NOTE, SCALING_NOTE]
    parts += ["\n## Limits\n", contract_table(found.rows), "\n" + C_NOTE, LANES_NOTE, LAWS_NOTE]
    if GPU.exists():
        parts += ["## On a GPU\n", gpu_part(), "\n" + GPU_NOTE]
    return "\n".join(parts)


def as_json(command: str, found: Findings) -> str:
    """Return all numbers."""
    rows = [{**asdict(row), "passed": row.passed} for row in found.rows]
    whole = {"command": command, "machine": machine(), "rows": rows, "programs": found.programs, "costs": found.costs}
    return json.dumps(whole, indent=2) + "\n"
