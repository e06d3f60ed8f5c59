"""River: ``bandit.UCB`` as shipped; it has no notion of delay, so the queue is ours."""

from __future__ import annotations

from harness import TASK, Peer, main, queued
from river import bandit


def play(horizon: int, seed: int) -> list[float]:
    """Play UCB1 through ``pull`` and ``update``."""
    policy = bandit.UCB(delta=1, seed=seed)
    arms = list(range(TASK.arms))
    return [
        queued(lambda: policy.pull(arms), policy.update, horizon, seed, sweep="observed"),
    ]


if __name__ == "__main__":
    main(Peer("river", "river", "ucb1", "own queue", play, 10, cannot="no delays, no lost feedback"))
