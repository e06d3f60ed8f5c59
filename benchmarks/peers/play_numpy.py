"""NumPy, 100 replications side by side, one array operation a step."""

from __future__ import annotations

import numpy as np
from harness import TASK, Peer, main

REPLICATIONS = 100


def play(horizon: int, seed: int) -> list[float]:
    """Play the task; the index is cached as in plain Python, for all replications at once."""
    rng = np.random.default_rng(seed)
    means, gaps = np.array(TASK.means), np.array(TASK.gaps)
    arms, delay, twice = TASK.arms, TASK.delay, 2.0 * TASK.confidence
    rows = np.arange(REPLICATIONS)
    seen = np.zeros((REPLICATIONS, arms))
    total = np.zeros((REPLICATIONS, arms))
    index = np.full((REPLICATIONS, arms), np.sqrt(twice))
    pulls = np.zeros((REPLICATIONS, arms))
    ring_arm = np.zeros((delay + 1, REPLICATIONS), dtype=np.intp)
    ring_reward = np.zeros((delay + 1, REPLICATIONS))
    for round_ in range(horizon):
        slot = round_ % (delay + 1)
        if round_ > delay:
            arm = ring_arm[slot]
            seen[rows, arm] += 1.0
            total[rows, arm] += ring_reward[slot]
            count = seen[rows, arm]
            index[rows, arm] = total[rows, arm] / count + np.sqrt(twice / count)
        arm = np.full(REPLICATIONS, round_) if round_ < arms else index.argmax(axis=1)
        ring_arm[slot] = arm
        ring_reward[slot] = rng.random(REPLICATIONS) < means[arm]
        pulls[rows, arm] += 1.0
    return [float(regret) for regret in pulls @ gaps]


if __name__ == "__main__":
    main(Peer("NumPy, 100 replications", "numpy", "task", "own queue", play, 3))
