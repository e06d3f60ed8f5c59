"""BanditLab: its delay-aware UCB of Joulani et al. and its own delayed environment."""

from __future__ import annotations

import numpy as np
from harness import TASK, Peer, main
from mab_framework.algorithms import JoulaniDelayedUCB
from mab_framework.environments.base import BaseEnvironment

CANNOT = "delays fixed or geometric only, one law for all arms and rewards; no lost feedback"
GAPS, BEST = TASK.gaps, max(TASK.means)


class Arms(BaseEnvironment):
    """The task's Bernoulli arms; the delay is the base class's."""

    def __init__(self) -> None:
        """Set the delay."""
        super().__init__(delay_config={"type": "fixed", "value": TASK.delay})
        self.regret = 0.0
        self.empty = np.zeros(1)

    def reset(self) -> None:
        """Nothing to draw anew."""

    def get_context(self) -> np.ndarray:
        """Return a context that says nothing."""
        return self.empty

    def _step_raw(self, action: int) -> tuple[float, float]:
        self.regret += GAPS[action]
        return float(np.random.random() < TASK.means[action]), BEST


def play(horizon: int, seed: int) -> list[float]:
    """Play the library's loop of ``select_arm``, ``step`` and ``update``, less its bookkeeping."""
    np.random.seed(seed)
    arms, policy = Arms(), JoulaniDelayedUCB(TASK.arms)
    context = arms.get_context()
    for _ in range(horizon):
        outcome = arms.step(policy.select_arm(context), context=context)
        policy.update(outcome["available_rewards"])
    return [arms.regret]


if __name__ == "__main__":
    main(Peer("BanditLab, JoulaniDelayedUCB", "banditlab", "ucb1", "native", play, 6, cannot=CANNOT))
