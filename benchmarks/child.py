"""What a fresh process is measured at: ``child.py first | cold | own FOLDER | memory HORIZON RUNS``; prints JSON."""

from __future__ import annotations

import importlib
import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import subject
from task import TASK


def first() -> dict[str, object]:
    """Give a first result: the task, a hundred runs."""
    result = subject.play(subject.problem(), [subject.ucb()], horizon=TASK.horizon, runs=100)
    return {"regret": float(result.mean[0, -1])}


def cold() -> dict[str, object]:
    """Compile all there is, on all cores: every policy, few arms and many, delays with and without the reward."""
    policies = subject.everything()
    for delays in (None, subject.laws()["ByReward(table)"]):
        subject.play(subject.problem(delays), policies, horizon=2 * TASK.delay, runs=2, workers=None)
    subject.play(subject.problem(arms=1000), policies, horizon=2 * TASK.delay, runs=2, workers=None)
    return {"policies": len(policies)}


def own(folder: str) -> dict[str, object]:
    """Play a policy of a user's own, which is in a folder, and tell the CPU time of the process."""
    sys.path.insert(0, folder)
    policy = importlib.import_module("own_policy").OwnUCB()
    subject.play(subject.problem(subject.laws()["Geometric(200)"]), [policy], horizon=2 * TASK.delay, runs=2)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu": used.ru_utime + used.ru_stime}


def memory(horizon: int, runs: int) -> dict[str, object]:
    """Play long runs, or many, and tell the peak of the process's resident memory."""
    subject.play(subject.problem(), [subject.ucb()], horizon=horizon, runs=runs, workers=None)
    return {"peak_mb": peak_mb()}


def peak_mb() -> float:
    """Return the peak resident memory of this process.

    Linux's own count is preferred: ``ru_maxrss`` includes the parent's memory before the exec.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main(task: str, *arguments: str) -> None:
    """Do one task and print what it found."""
    tasks: dict[str, Callable[[], dict[str, object]]] = {
        "first": first,
        "cold": cold,
        "own": lambda: own(*arguments),
        "memory": lambda: memory(*map(int, arguments)),
    }
    print(json.dumps(tasks[task]()))


if __name__ == "__main__":
    main(*sys.argv[1:])
