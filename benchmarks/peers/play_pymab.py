"""PyMAB: its UCB policy (Rust state) behind our queue, and its experiment, which has no delays."""

from __future__ import annotations

import numpy as np
from harness import TASK, Peer, main, queued
from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
from pymab.policies import UCBPolicy

CANNOT = "no delays, no lost feedback"


def policy(horizon: int, seed: int) -> list[float]:
    """Play UCB1 through ``select_action`` and ``update``.

    The policy waits for the lowest unobserved arm, which would pull each arm for a whole delay;
    the first rounds therefore go through the arms in turn.
    """
    chosen = UCBPolicy(n_arms=TASK.arms, c=2.0)
    rng = np.random.default_rng(seed)

    def observe(arm: int, reward: int) -> None:
        chosen.update(action=arm, reward=reward)

    def choose() -> int:
        return int(chosen.select_action(rng=rng))

    return [queued(choose, observe, horizon, seed, sweep="observed")]


def experiment(horizon: int, seed: int) -> list[float]:
    """Play UCB1 without delay through the public experiment, ten replications."""
    result = Experiment(
        environment=BanditEnvironment(means=np.array(TASK.means), reward_model=BernoulliReward()),
        policies={"ucb": UCBPolicy(n_arms=TASK.arms, c=2.0)},
        config=ExperimentConfig(horizon=horizon, n_replicates=10, seed=seed),
    ).run()
    actions = np.asarray(result.actions).reshape(10, horizon)
    return [float(regret) for regret in np.array(TASK.gaps)[actions].sum(axis=1)]


if __name__ == "__main__":
    main(
        Peer("pymab, policy", "pymab", "ucb1", "own queue", policy, 10, cannot=CANNOT),
        Peer("pymab, experiment", "pymab", "ucb1", "none", experiment, 2, cannot=CANNOT),
    )
