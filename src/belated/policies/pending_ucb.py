"""UCB that counts the answers it may still hope for."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.policies._base import age_histogram
from belated.policies._base.confidence import ConfidencePolicy, level, level_at
from belated.policies._base.index import LEADER, IndexPolicy, forget
from belated.policies._base.kl_bernoulli import kl_upper
from belated.policies._base.pending import (
    CAME,
    CHECK,
    LONGEST,
    NEVER,
    NEXT,
    SEEN,
    SHARE,
    SHARES,
    TOTAL,
    YOUNG,
    refresh,
    refresh_silent,
    window,
)
from belated.policies._base.policy import NO_TABLE, policy
from belated.policies._base.state import Arm, State
from belated.validation import Domain

MOST = 4.0
"""How many times the answers of an arm its lost ones may count."""
FAITH = 300.0
"""After so many old pulls without an answer a silent arm is taken for half of what it was."""


@policy
class PendingUCB(IndexPolicy, ConfidencePolicy):
    """UCB that counts the answers it may still hope for; for delays that do not depend on the reward.

    Each arm once in index order, then the arm with the largest q such that x kl(mean, q) <= 4c, ties to the lowest
    index; kl is the relative entropy of two coins. With n answers, their sum S, and D the longest delay of an answer of
    the arm:

    - x = n + the pending pulls that are not older than 4 (D + 1): while answers are out there is nothing to gain from
      pulling the same arm again.
    - mean = (S + 1/2) / (n + 1): no arm is taken for perfect or hopeless after a few answers.
    - The bound is a coin's, not sqrt(2c/x): low rates are told apart with far fewer pulls.
    - If a share F of the arm's older pulls was answered, x is times min(1/F, 4, 1 / the average share), the average of
      the arms when this one last changed: lost answers need not be made up for, as long as they are not most of this
      arm's alone.
    - A silent arm (n = 0) has x = m, and mean = 1/2 + 1/(2 U) with U silent arms: at most one is taken for perfect.
      With w of its pulls older than 4 times the longest delay of any arm, its mean is 300 / (300 + w) of the average
      of all answers that came, or of 1/2 if that is less: an arm that never answers is given up.

    ``patience`` is the longest believable delay in rounds, if the operator knows it: it takes the place of 4 (D + 1)
    for all arms. Ages are known to within a factor of 3, and looked at after each eighth of it: hope for an answer ends
    when between a third of the time and an eighth more than all of it is over. An arm that never answers is pulled for
    all that time, and then some hundred times more, the more the lower the rates (100 at a half, 800 at one in a
    hundred).
    Where delays depend on the reward this fails as UCB does: PrefixUCB does not.

    >>> from belated import Bandit
    >>> bandit = Bandit(["bad", "good"], PendingUCB(confidence=1.0))
    >>> for _ in range(100):
    ...     decision = bandit.choose()
    ...     bandit.observe(decision.id, 0.9 if decision.arm == "good" else 0.1)
    >>> [arm.pulls for arm in bandit.summary()]
    [3, 97]
    """

    label = "Pending-UCB"
    formula = "argmax q: x kl((S + 1/2)/(n + 1), q) <= 4c, x = n + young pending"
    memory = age_histogram.SIZE + 4

    patience: Annotated[float | None, Domain(0, open_low=True, optional=True)] = None

    class KernelParams(NamedTuple):
        """The confidence level; the longest believable delay, 0 if it is not given."""

        c: float
        growth: float
        patience: float
        table: npt.NDArray[np.float64] = NO_TABLE

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        c, growth = level(self.confidence, self.horizon, self.delta, arms)
        return c, growth, self.patience or 0.0

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        age_histogram.age(state, arm, now)
        age_histogram.count(state, arm, now, 1.0)
        if rank == 0:
            state.memory[arm, SHARE] = 1.0
            state.memory[state.arms, SHARES] += 1.0

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        age_histogram.age(state, arm, now)
        age_histogram.count(state, arm, pulled_at, -1.0)
        state.memory[state.arms, CAME] += 1.0
        state.memory[state.arms, TOTAL] += reward
        late = float(now - pulled_at)  # its delay and 1
        state.memory[arm, LONGEST] = max(state.memory[arm, LONGEST], late)
        state.memory[state.arms, LONGEST] = max(state.memory[state.arms, LONGEST], late)

    @staticmethod
    def on_correction(
        policy: Any, state: State, arm: Any, rank: Any, pulled_at: Any, pulls: Any, answers: Any, total: Any
    ) -> Any:
        state.memory[state.arms, CAME] += answers
        state.memory[state.arms, TOTAL] += total
        if pulls < 0.0 and answers == 0.0:
            age_histogram.count(state, arm, pulled_at, -1.0)
        if answers < 0.0 and state.observed[arm] == 1.0:
            state.memory[state.arms, SEEN] -= 1.0
            state.memory[state.arms, SHARES] += 1.0 - state.memory[arm, SHARE]
            state.memory[arm, SHARE] = 1.0
        if pulls < 0.0 and state.pulls[arm] == 1:
            state.memory[state.arms, SHARES] -= state.memory[arm, SHARE]
            state.memory[arm, SHARE] = 0.0

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        everyone = arm.arms
        n = arm.observed
        x = n + arm.memory[arm.number, YOUNG]
        if n < 1.0:
            rounds = window(policy, arm.memory, everyone)
            old = arm.pulls - age_histogram.younger(arm, rounds) if rounds > 0.0 else 0.0
            if old > 0.0:
                usual = (arm.memory[everyone, TOTAL] + 0.5) / (arm.memory[everyone, CAME] + 1.0)
                mean = min(usual, 0.5) * FAITH / (FAITH + old)
            else:
                mean = 0.5 + 0.5 / max(everyone - arm.memory[everyone, SEEN], 1.0)
        else:
            mean = (arm.total + 0.5) / (n + 1.0)
            most = min(MOST, everyone / max(arm.memory[everyone, SHARES], 1e-9))
            x *= max(min(most, 1.0 / max(arm.memory[arm.number, SHARE], 1e-9)), 1.0)
        x = max(x, 1.0)
        return kl_upper(mean, 4.0 * level_at(policy, x) / x)

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        everyone = state.arms
        if now >= state.memory[everyone, NEXT]:
            first = NEVER
            for arm in range(everyone):
                if state.pulls[arm] > 0:
                    if now >= state.memory[arm, CHECK]:
                        refresh(policy, state, np.uint32(arm), now)
                    first = min(first, state.memory[arm, CHECK])
            state.memory[everyone, NEXT] = first
        return state.register[LEADER]

    @staticmethod
    def after_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        refresh(policy, state, arm, now)

    @staticmethod
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        if state.observed[arm] == 1.0:
            state.memory[state.arms, SEEN] += 1.0
            refresh_silent(policy, state, now)
        refresh(policy, state, arm, now)

    @staticmethod
    def after_correction(policy: Any, state: State, arm: Any, now: Any) -> Any:
        refresh_silent(policy, state, now)
        if state.pulls[arm] > 0:
            refresh(policy, state, arm, now)
        else:
            forget(state, arm)
