"""What the peers' scripts share: the queue for those that have none, the clock, the report.

Each script runs in an environment of its own (``requirements-*.txt``) and prints a JSON list of
rows. ``index`` says which formula was played: ``task`` is the task's own; ``ucb1`` is the peer's
UCB1 as shipped, with ``2 ln t`` in place of ``2 c``. ``delay_support`` is ``native`` where the peer
itself knows delays, ``own queue`` where this file holds the feedback back, ``none`` where the row
was played without delay. ``cannot`` names what the peer, as shipped, does not offer for the job of
the whole library: bandits whose feedback is delayed or lost.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from task import TASK

__all__ = ["TASK", "Peer", "main", "queued"]

Play = Callable[[int, int], list[float]]
"""(horizon, seed) -> the regret of each run it played."""


class Peer(NamedTuple):
    """One row to measure."""

    name: str
    package: str | None
    index: str
    delay_support: str
    play: Play
    runs: int
    cannot: str = ""


def version_of(package: str | None) -> str:
    """Return the installed version of a distribution, or Python's where there is none."""
    if package is None:
        return platform.python_version()
    return version(package)


def queued(
    choose: Callable[[], int],
    observe: Callable[[int, int], None],
    horizon: int,
    seed: int,
    sweep: str = "pulled",
) -> float:
    """Play one run of a policy that knows no delays and return its regret.

    The first rounds go through the arms in index order: until each was pulled once
    (``sweep="pulled"``, the task) or until each was observed (``sweep="observed"``, for policies
    that cannot choose before, or that would wait for arm 0 alone).
    """
    uniform = random.Random(seed).random
    means, gaps, arms, delay = TASK.means, TASK.gaps, TASK.arms, TASK.delay
    forced = arms if sweep == "pulled" else arms + delay
    waiting: deque[tuple[int, int]] = deque()
    regret = 0.0
    for round_ in range(horizon):
        if round_ > delay:
            observe(*waiting.popleft())
        arm = round_ % arms if round_ < forced else choose()
        waiting.append((arm, 1 if uniform() < means[arm] else 0))
        regret += gaps[arm]
    return regret


def measure(peer: Peer, horizon: int, runs: int) -> dict[str, object]:
    """Time runs of a peer; the row has the fastest one and the mean regret of all."""
    peer.play(2 * TASK.delay, 0)
    fastest, regrets = float("inf"), []
    for seed in range(runs):
        begin = time.process_time()
        played = peer.play(horizon, seed + 1)
        elapsed = time.process_time() - begin
        fastest = min(fastest, elapsed / (horizon * len(played)))
        regrets += played
    spread = statistics.stdev(regrets) if len(regrets) > 1 else float("nan")
    return {
        "name": peer.name,
        "version": version_of(peer.package),
        "python": platform.python_version(),
        "index": peer.index,
        "delay_support": peer.delay_support,
        "cannot": peer.cannot,
        "ns_per_round": 1e9 * fastest,
        "mean_regret": statistics.mean(regrets),
        "stderr": spread / len(regrets) ** 0.5,
        "runs": len(regrets),
        "horizon": horizon,
    }


def main(*peers: Peer) -> None:
    """Measure the rows of one script and print them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--horizon", type=int, default=TASK.horizon)
    parser.add_argument("--runs", type=int, default=0, help="at most so many")
    options = parser.parse_args()
    rows = [measure(peer, options.horizon, min(peer.runs, options.runs or peer.runs)) for peer in peers]
    print(json.dumps(rows))
