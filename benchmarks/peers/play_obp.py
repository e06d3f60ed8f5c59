"""Open Bandit Pipeline: its simulator knows delays but no UCB, so the policy is a subclass."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from dataclasses import dataclass

import numpy as np
from harness import TASK, Peer, main
from obp.policy import BaseContextFreePolicy
from obp.simulator.simulator import BanditEnvironmentSimulator, BanditPolicySimulator

CANNOT = "no delays that depend on the drawn reward, no delay-aware policy, no UCB without contexts"
"""Its delay function is given expected rewards only; it loses feedback where it returns infinity."""


@dataclass
class CachedUCB(BaseContextFreePolicy):
    """The task's index, kept for each arm and computed when its feedback arrives."""

    def __post_init__(self) -> None:
        """Start with no feedback."""
        super().__post_init__()
        self.policy_name = "ucb"
        self.chosen = 0
        self.twice = 2.0 * TASK.confidence
        self.index = np.full(self.n_actions, self.twice**0.5)

    def select_action(self) -> list[int]:
        """Return a list of one arm."""
        self.chosen += 1
        return [self.chosen - 1 if self.chosen <= self.n_actions else int(self.index.argmax())]

    def update_params(self, action: int, reward: float) -> None:
        """Take in one feedback."""
        self.action_counts[action] += 1
        self.reward_counts[action] += reward
        count = self.action_counts[action]
        self.index[action] = self.reward_counts[action] / count + (self.twice / count) ** 0.5


def fixed_delay(n_rounds: int, n_actions: int, **_: object) -> np.ndarray:
    """Return the task's delay for each round and arm."""
    return np.full((n_rounds, n_actions), TASK.delay)


def means(context: np.ndarray, **_: object) -> np.ndarray:
    """Return the arms' means, whatever the context."""
    return np.tile(TASK.means, (len(context), 1))


def play(horizon: int, seed: int) -> list[float]:
    """Play through the library's simulator, all rounds drawn in one batch (its faster way)."""
    environment = BanditEnvironmentSimulator(
        n_actions=TASK.arms,
        reward_function=means,
        delay_function=fixed_delay,
        random_state=seed,
    )
    simulator = BanditPolicySimulator(policy=CachedUCB(n_actions=TASK.arms))
    with redirect_stderr(io.StringIO()):
        simulator.steps(batch_bandit_rounds=environment.next_bandit_round_batch(horizon))
    return [float(np.array(TASK.gaps)[simulator.selected_actions].sum())]


if __name__ == "__main__":
    main(Peer("obp, own UCB", "obp", "task", "native", play, 10, cannot=CANNOT))
