"""The task that every program of the benchmark plays; its numbers are in ``task.json``.

UCB on Bernoulli arms under a fixed delay: each arm once in index order, then the arm of the
largest ``S / max(n, 1) + sqrt(2 c / max(n, 1))``, ties to the lowest index. The feedback of round
``s`` counts from round ``s + delay + 1`` on. The regret is the sum of the pulled arms' gaps.
Needs nothing but Python 3.10, so that the peers' environments can import it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Task(NamedTuple):
    """The numbers of ``task.json``."""

    means: list[float]
    horizon: int
    delay: int
    confidence: float

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.means)

    @property
    def gaps(self) -> list[float]:
        """Best mean less each arm's mean."""
        best = max(self.means)
        return [best - mean for mean in self.means]


def load() -> Task:
    """Read ``task.json``."""
    return Task(**json.loads((HERE / "task.json").read_text()))


def spread(arms: int) -> list[float]:
    """Return means evenly spaced over 0.25..0.75 in a fixed shuffled order."""
    means = [0.25 + 0.5 * arm / (arms - 1) for arm in range(arms)]
    random.Random(arms).shuffle(means)
    return means


TASK = load()
