"""Compare the speed of this tree with another revision: every delay law and every policy, in turns on one core.

    python benchmarks/compare.py REVISION [--repeats N] [--limit RATIO] [--only TEXT]

Prints nanoseconds a round of both, and exits with 1 where this tree is slower by more than the limit. Each tree is
played by a process of its own; the two take turns row by row, and the fastest of each counts.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import contest, cpu, one_core
from task import HERE, TASK

SECONDS = 0.3
"""What one timing takes, at least about."""


def rows() -> dict[str, tuple[Any, Any]]:
    """Return (problem, policy) by name."""
    import subject

    laws = subject.laws()
    found = {f"UCB, {name}": (subject.problem(law), subject.ucb()) for name, law in laws.items()}
    for name in ("Fixed(200)", "Geometric(200)"):
        found |= {f"{policy.label}, {name}": (subject.problem(laws[name]), policy) for policy in subject.everything()}
    found["UCB, two fixed delays"] = subject.two_delays(), subject.ucb()
    found["UCB, 1,000 arms"] = subject.problem(arms=1000), subject.ucb()
    found["SE, two arms, soon over"] = subject.easy(), subject.eliminations()["SE"]
    return found


def play() -> None:
    """Answer each line "NAME<tab>RUNS" with the CPU seconds of such a simulation."""
    import subject

    settings = rows()
    for line in sys.stdin:
        name, runs = line.rstrip("\n").split("\t")
        problem, policy = settings[name]

        def work(problem: Any = problem, policy: Any = policy, runs: str = runs) -> None:
            subject.play(problem, [policy], horizon=TASK.horizon, runs=int(runs))

        print(cpu(work), flush=True)


class Player:
    """A process that plays with the package of one tree."""

    def __init__(self, tree: Path) -> None:
        path = os.pathsep.join([str(tree / "src"), str(HERE)])
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "compare.py"), "--play"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def seconds(self, name: str, runs: int) -> float:
        """Return the CPU seconds of one simulation."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, runs, sep="\t", file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def timed(self, name: str, runs: int) -> Callable[[], float]:
        """Return what times one simulation, for a contest."""
        return lambda: self.seconds(name, runs)

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


def compare(old: Player, new: Player, names: list[str], repeats: int) -> dict[str, float]:
    """Print a line for each row; return the ratios."""
    ratios = {}
    width = max(map(len, names))
    print(f"{'':{width}}    old    new  ratio   (ns a round)")
    for name in names:
        for player in (old, new):
            player.seconds(name, 2)  # compiles
        runs = math.ceil(2 * SECONDS / max(new.seconds(name, 2), 1e-4))
        best = contest({"old": old.timed(name, runs), "new": new.timed(name, runs)}, repeats)
        before, after = (1e9 * best[key] / (runs * TASK.horizon) for key in ("old", "new"))
        ratios[name] = after / before
        print(f"{name:{width}} {before:6.2f} {after:6.2f} {ratios[name]:6.3f}", flush=True)
    return ratios


def main() -> int:
    """Play both trees and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("revision", help="what git knows the other revision by")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each tree a row (default %(default)s)")
    parser.add_argument("--limit", type=float, default=1.15, help="the largest ratio new / old (default %(default)s)")
    parser.add_argument("--only", default="", help="rows whose names contain this text")
    chosen = parser.parse_args()
    here = HERE.parent
    with tempfile.TemporaryDirectory() as folder, one_core():
        tree = Path(folder, "tree")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, chosen.revision], cwd=here, check=True)
        players = [Player(tree), Player(here)]
        try:
            names = [name for name in rows() if chosen.only in name]
            ratios = compare(*players, names, chosen.repeats)
        finally:
            for player in players:
                player.end()
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=here, check=True)
    slower = [name for name, ratio in ratios.items() if ratio > chosen.limit]
    print(f"{len(ratios)} rows, {len(slower)} slower by more than {chosen.limit}: {', '.join(slower) or 'none'}")
    return 1 if slower else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--play"]:
        play()
    else:
        sys.exit(main())
