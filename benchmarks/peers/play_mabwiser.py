"""MABWiser: ``LearningPolicy.UCB1`` as shipped; no notion of delay, so the queue is ours."""

from __future__ import annotations

from harness import TASK, Peer, main, queued
from mabwiser.mab import MAB, LearningPolicy


def play(horizon: int, seed: int) -> list[float]:
    """Play UCB1 through ``fit``, ``predict`` and ``partial_fit``.

    An arm without feedback has expectation 0 and is never chosen, and nothing can be predicted
    before the first ``fit``: the first rounds therefore go through the arms in turn.
    """
    mab = MAB(list(range(TASK.arms)), LearningPolicy.UCB1(alpha=1.0), seed=seed)
    started = False

    def observe(arm: int, reward: int) -> None:
        nonlocal started
        (mab.partial_fit if started else mab.fit)([arm], [reward])
        started = True

    return [queued(mab.predict, observe, horizon, seed, sweep="observed")]


if __name__ == "__main__":
    main(Peer("MABWiser", "mabwiser", "ucb1", "own queue", play, 4, cannot="no delays, no lost feedback"))
