"""UCB that counts the answers it may still hope for (experimental switches)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.domains import Domain, Positive
from belated.forms import ages, hooks
from belated.forms.base import NO_TABLE, policy
from belated.forms.confidence import ConfidencePolicy, level, level_at
from belated.forms.index import LEADER, IndexPolicy, rescore
from belated.forms.state import Arm, State
from belated.kernel import inner, outlined
from belated.numerics import log
from typing import Annotated

CHECK, SHARE = ages.SIZE, ages.SIZE + 1
NEXT, UNSEEN, SHARES = 0, 1, 2
NEVER = 1e18


@outlined
def kl_upper(p: Any, budget: Any) -> Any:
    """The largest q with kl(p, q) <= budget."""
    if p >= 1.0:
        return 1.0
    low = p
    high = min(p + math.sqrt(0.5 * budget), 1.0)
    q = 1.0 - p
    base = (p * log(p) if p > 0.0 else 0.0) + q * log(q)
    for _ in range(16):
        middle = 0.5 * (low + high)
        if base - (p * log(middle) if p > 0.0 else 0.0) - q * log(max(1.0 - middle, 1e-300)) > budget:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@inner
def young_of(policy: Any, arm: Arm) -> Any:
    if policy.patience > 0.0:
        return ages.younger(arm, policy.patience)
    if arm.observed < 1.0:
        return arm.pulls
    return ages.younger(arm, window(policy, arm))


@inner
def window(policy: Any, arm: Arm) -> Any:
    if policy.patience > 0.0:
        return policy.patience
    return policy.factor * (arm.memory[arm.number, ages.LONGEST] + 1.0)


@policy
class PendingUCB(IndexPolicy, ConfidencePolicy):
    """Experimental."""

    label = "Pending-UCB"
    formula = "x"
    memory = ages.SIZE + 2

    patience: Annotated[float | None, Domain(0, open_low=True, optional=True)] = None
    factor: Positive = 4.0
    unseen: float = 0.0
    kl: float = 0.0
    lost: float = 0.0
    smooth: float = 0.0

    class Constants(NamedTuple):
        c: float
        growth: float
        patience: float
        factor: float
        unseen: float
        kl: float
        lost: float
        smooth: float
        table: npt.NDArray[np.float64] = NO_TABLE

    def constants(self, arms: int) -> tuple[float, ...]:
        c, growth = level(self.confidence, self.horizon, self.delta, arms)
        return c, growth, self.patience or 0.0, self.factor, self.unseen, self.kl, self.lost, self.smooth

    @staticmethod
    def note_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        ages.age(state, arm, now)
        state.memory[arm, ages.place_of(now, now)] += 1.0

    @staticmethod
    def note_answer(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        ages.age(state, arm, now)
        state.memory[arm, ages.place_of(pulled_at, now)] -= 1.0
        delay = now - 1 - pulled_at
        state.memory[arm, ages.LONGEST] = max(state.memory[arm, ages.LONGEST], float(delay))

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        k = arm.arms
        n = arm.observed
        young = young_of(policy, arm)
        if n < 1.0 and policy.unseen > 0.0:
            mean = 0.5 + 0.5 / max(k - arm.memory[k, UNSEEN], 1.0)
        elif n < 1.0:
            mean = 1.0
        elif policy.smooth > 0.0:
            mean = (arm.total + 0.5) / (n + 1.0)
        else:
            mean = arm.total / n
        x = n + young
        if policy.lost > 0.0 and n > 0.0:
            share = arm.memory[arm.number, SHARE]
            most = min(policy.lost, k / max(arm.memory[k, SHARES], 1e-9))
            x *= max(min(most, 1.0 / max(share, 1e-9)), 1.0)
        x = max(x, 1.0)
        if policy.kl > 0.0:
            return kl_upper(mean, 4.0 * level_at(policy, x) / x)
        return mean + hooks.bonus(policy, x)

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        k = state.arms
        if now >= state.memory[k, NEXT]:
            first = NEVER
            for arm in range(k):
                if now >= state.memory[arm, CHECK] and state.pulls[arm] > 0:
                    refresh(policy, state, np.uint32(arm), now)
                if state.pulls[arm] > 0:
                    first = min(first, state.memory[arm, CHECK])
            state.memory[k, NEXT] = first
        return state.register[LEADER]

    @staticmethod
    def pulled(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        if rank == 0:
            state.memory[arm, SHARE] = 1.0
            state.memory[state.arms, SHARES] += 1.0
        refresh(policy, state, arm, now)

    @staticmethod
    def answered(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        if state.observed[arm] == 1.0:
            k = state.arms
            state.memory[k, UNSEEN] += 1.0
            if policy.unseen > 0.0:
                for other in range(k):
                    if state.observed[other] == 0.0 and state.pulls[other] > 0:
                        refresh(policy, state, np.uint32(other), now)
        refresh(policy, state, arm, now)


@inner
def refresh(policy: Any, state: State, arm: Any, now: Any) -> None:
    k = state.arms
    ages.age(state, arm, now)
    seen = hooks_view(state, arm, now)
    young = young_of(policy, seen)
    n = seen.observed
    if n > 0.0:
        share = min(n / max(seen.pulls - young, 1.0), 1.0)
        state.memory[k, SHARES] += share - state.memory[arm, SHARE]
        state.memory[arm, SHARE] = share
    rescore(policy, state, arm, now)
    pending = seen.pulls - n
    fixed = n < 1.0 and policy.patience == 0.0
    if pending > 0.0 and young > 0.0 and not fixed:
        check = now + max(1.0, math.floor(window(policy, seen) * 0.125))
    else:
        check = NEVER
    state.memory[arm, CHECK] = check
    state.memory[k, NEXT] = min(state.memory[k, NEXT], check)


from belated.forms.state import view as hooks_view  # noqa: E402
