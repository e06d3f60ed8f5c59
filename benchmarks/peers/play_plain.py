"""Plain Python, nothing but the standard library; and the yardstick for the UCB1 rows' regret."""

from __future__ import annotations

import random
from math import inf, log, sqrt

from harness import TASK, Peer, main, queued


def task_index(horizon: int, seed: int) -> list[float]:
    """Play the task: an arm's index is computed when its feedback arrives and kept."""
    seen = [0] * TASK.arms
    total = [0] * TASK.arms
    twice = 2.0 * TASK.confidence
    index = [sqrt(twice)] * TASK.arms

    def choose() -> int:
        return index.index(max(index))

    def observe(arm: int, reward: int) -> None:
        seen[arm] += 1
        total[arm] += reward
        index[arm] = total[arm] / seen[arm] + sqrt(twice / seen[arm])

    return [queued(choose, observe, horizon, seed)]


def ucb1(horizon: int, seed: int) -> list[float]:
    """Play UCB1: unobserved arms first, ties at random."""
    rng = random.Random(-seed)
    seen = [0] * TASK.arms
    total = [0] * TASK.arms

    def choose() -> int:
        twice = 2.0 * log(max(1, sum(seen)))
        index = [s / n + sqrt(twice / n) if n else inf for s, n in zip(total, seen, strict=True)]
        top = max(index)
        return rng.choice([arm for arm, value in enumerate(index) if value == top])

    def observe(arm: int, reward: int) -> None:
        seen[arm] += 1
        total[arm] += reward

    return [queued(choose, observe, horizon, seed, sweep="observed")]


if __name__ == "__main__":
    main(
        Peer("plain Python", None, "task", "own queue", task_index, 40),
        Peer("plain Python, UCB1", None, "ucb1", "own queue", ucb1, 40),
    )
