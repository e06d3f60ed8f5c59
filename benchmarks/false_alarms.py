"""How often the dashboard would say by chance that delays depend on rewards: the table of docs/notes/statistics.md.

    python benchmarks/false_alarms.py            about two minutes on one core

Arms whose delays do not depend on rewards are played live, each alone; ``dependence`` is read every 50 decisions."""

from __future__ import annotations

import numpy as np

from belated import Bandit, Problem
from belated.delays import Geometric, LogNormal, Pareto
from belated.policies import ImputedUCB
from belated.rewards import Bernoulli

ARMS, DECISIONS, EVERY = 1000, 1500, 50
LEVELS = (0.95, 0.99, 0.999, 0.9999)
SETTINGS = {
    "mean 0.3, log-normal": Problem([Bernoulli(0.3)], LogNormal(55.0, 1.2)),
    "mean 0.05, log-normal": Problem([Bernoulli(0.05)], LogNormal(55.0, 1.2)),
    "mean 0.5, geometric": Problem([Bernoulli(0.5)], Geometric(100.0)),
    "mean 0.3, Pareto": Problem([Bernoulli(0.3)], Pareto(0.5)),
}


def looks(problem: Problem, seed: int) -> list[float]:
    """The dependence of an arm at each look."""
    rewards, delays = problem.sample(0, DECISIONS, seed)
    bandit = Bandit(["arm"], ImputedUCB(confidence="anytime"), seed=0)
    due: dict[int, list[tuple[int, float]]] = {}
    seen = []
    for now in range(DECISIONS):
        number = bandit.choose().id
        if now + delays[now] < DECISIONS:
            due.setdefault(int(now + delays[now]), []).append((number, float(rewards[now])))
        bandit.observe_many(due.pop(now, []))
        if (now + 1) % EVERY == 0:
            seen.append(bandit.summary()[0].dependence or 0.0)
    return seen


def main() -> None:
    """Print the table: the share of arms above each level at the end, and at one look or another."""
    print(f"| {ARMS:,} arms, {DECISIONS // EVERY} looks | " + " | ".join(f"above {level:g}" for level in LEVELS) + " |")
    print("|:--|" + "--:|" * len(LEVELS))
    for name, problem in SETTINGS.items():
        found = np.array([looks(problem, seed) for seed in range(ARMS)])
        cells = (
            f"{100 * np.mean(found[:, -1] > y):.1f} %, {100 * np.mean(found.max(axis=1) > y):.1f} %" for y in LEVELS
        )
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
