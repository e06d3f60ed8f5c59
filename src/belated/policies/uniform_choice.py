"""Uniform choice: the control."""

from __future__ import annotations

from typing import Any

import numpy as np

from belated.policies import ConfidencePolicy, State, policy, to_unit, word


@policy
class UniformChoice(ConfidencePolicy):
    """Every arm with the same probability, whatever the feedback: the control that every comparison needs.

    The confidence parameters matter only for the bounds in a summary.

    >>> from belated import Bandit
    >>> bandit = Bandit(["a", "b"], UniformChoice(), seed=3)
    >>> sum(decision.arm == "a" for decision in bandit.choose(1000))
    474
    """

    label = "Uniform"
    formula = "each arm with probability 1/K"
    supports_retraction = True
    supports_new_arms = True

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return np.int64(to_unit(word(state.key[0], state.key[1], now, 0)) * state.arms)
