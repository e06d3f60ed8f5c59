"""SMPyBandits: ``Policies.UCB`` as shipped; it has no notion of delay, so the queue is ours."""

from __future__ import annotations

import numpy as np
from harness import TASK, Peer, main, queued
from SMPyBandits.Policies import UCB


def play(horizon: int, seed: int) -> list[float]:
    """Play UCB1 through ``choice`` and ``getReward``; its time counts the rewards it was given.

    Ties are broken by NumPy's global generator. While arms are unobserved it draws among them, so
    the first rounds go through the arms in turn, as for the other UCB1 rows.
    """
    np.random.seed(seed)
    policy = UCB(TASK.arms)
    policy.startGame()
    return [queued(policy.choice, policy.getReward, horizon, seed, sweep="observed")]


if __name__ == "__main__":
    main(Peer("SMPyBandits", "SMPyBandits", "ucb1", "own queue", play, 10, cannot="no delays, no lost feedback"))
