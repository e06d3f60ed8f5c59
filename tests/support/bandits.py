"""Live bandits with a history."""

from __future__ import annotations

import numpy as np

from belated import Bandit
from belated.policies import Policy

NAMES = ["red", "green", "blue"]


def played(policy: Policy, rounds: int = 60, seed: int = 1) -> Bandit:
    """A bandit with late, reordered and missing feedback."""
    rng = np.random.default_rng(seed)
    bandit = Bandit(NAMES, policy, seed=seed)
    waiting: list[int] = []
    for _ in range(rounds):
        waiting.append(bandit.choose().id)
        if len(waiting) > 4:
            number = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.8:
                bandit.observe(number, round(float(rng.random()), 2))
    return bandit
