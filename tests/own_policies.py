"""Policies beyond the paper, as a user would write them: own memory, ages, ranks, an own random stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from belated.policies import (
    UCB,
    Arm,
    ConfidencePolicy,
    IndexPolicy,
    OptimisticPessimisticElimination,
    Policy,
    State,
    interface,
    observed_mean,
    policy,
    radius,
    to_unit,
    view,
    word,
)
from support.plain_simulator import History, by_index

AGES, RANKS, LAST, ROUNDS = range(4)
PRIME = 65521


@policy
class PullsUCB(IndexPolicy, ConfidencePolicy):
    """UCB whose radius counts pulls: S/n + sqrt(2c/m)."""

    label = "PullsUCB"

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        return observed_mean(arm) + radius(policy, max(arm.pulls, 1.0))


@policy
class Impatient(Policy):
    """Nine times of ten the arm with the smallest sum of ages, ranks and the like; else an arm by chance.

    Its memory of an arm: the sum of the ages of its answers; the sum of their ranks, weighted by the reward; the rank
    of the answer that came last; the sum of the rounds in which it was pulled, each times its rank. The choice depends
    on all of them, so that a wrong age or rank anywhere shows.
    """

    label = "Impatient"
    memory = 4

    class KernelParams(NamedTuple):
        """How often chance decides."""

        chance: float

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return (0.1,)

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        state.memory[arm, ROUNDS] += 1e-3 * now * rank

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        state.memory[arm, AGES] += now - 1 - pulled_at
        state.memory[arm, RANKS] += rank * reward
        state.memory[arm, LAST] = rank

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        arms = state.arms
        if to_unit(word(state.key[0], state.key[1], now, 0)) < policy.chance:
            return np.int64(to_unit(word(state.key[0], state.key[1], now, 1)) * arms)
        best = np.inf
        chosen = 0
        for arm in range(arms):
            known = state.memory[arm]
            score = known[AGES] + known[RANKS] - 0.1 * known[LAST] + known[ROUNDS]
            if score < best:
                best = score
                chosen = arm
        return np.int64(chosen)

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return 0.0

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return 1.0


@policy
class Ordered(Policy):
    """Chooses by a checksum of all answers in the order in which they came: every swap of two shows."""

    label = "Ordered"
    memory = 1

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return ()

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        told = np.int64(arm) + 7 * np.int64(rank) + 11 * np.int64(pulled_at) + 13 * np.int64(now)
        state.memory[0, 0] = (np.int64(state.memory[0, 0]) * 31 + told) % PRIME

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return (np.int64(state.memory[0, 0]) + now) % state.arms

    @staticmethod
    def lower(policy: Any, arm: Arm) -> Any:
        return 0.0

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return 1.0


def ordered(history: History) -> Iterator[int]:
    """The same, for the plain simulator."""
    checksum = read = 0
    while True:
        for arm, rank, pulled_at, now, _ in history.log[read:]:
            checksum = (checksum * 31 + arm + 7 * rank + 11 * pulled_at + 13 * now) % PRIME
        read = len(history.log)
        yield (checksum + history.now) % history.arms


def pulls_index(history: History, arm: int) -> float:
    """The index of PullsUCB, for the plain simulator."""
    return history.S[arm] / max(history.n[arm], 1) + history.radius(history.m[arm])


Ordered.rule = ordered  # type: ignore[attr-defined]
PullsUCB.rule = by_index(pulls_index)  # type: ignore[attr-defined]


class Watched(NamedTuple):
    """The confidence level, and the mean of all arms."""

    c: float
    growth: float
    mean: float


@policy
class WatchUCB(ConfidencePolicy):
    """Plays the arms in turn and notes in ``eliminated_at`` the first round in which UCB's interval misses the mean."""

    label = "watch UCB"
    mean: float = 0.5

    class KernelParams(Watched):
        """See Watched."""

        __slots__ = ()

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        return (*UCB(confidence=self.confidence, delta=self.delta).kernel_params(arms), self.mean)

    def for_horizon(self, horizon: int) -> Self:
        return self

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return np.int64((now - 1) % state.arms)

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        seen = view(state, arm, now)
        wrong = interface.lower(policy, seen) > policy.mean or interface.upper(policy, seen) < policy.mean
        if wrong and state.eliminated_at[arm] < 0:
            state.eliminated_at[arm] = now


@policy
class WatchOPSE(ConfidencePolicy):
    """The same for OPSE's interval, which changes with every pull and every answer."""

    label = "watch OPSE"
    mean: float = 0.5

    class KernelParams(Watched):
        """See Watched."""

        __slots__ = ()

    def kernel_params(self, arms: int) -> tuple[float, ...]:
        bounds = OptimisticPessimisticElimination(confidence=self.confidence, delta=self.delta)
        return (*bounds.kernel_params(arms), self.mean)

    def for_horizon(self, horizon: int) -> Self:
        return self

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        for arm in range(state.arms):  # all that is known before this round is in the state
            if state.pulls[arm] > 0.0 and state.eliminated_at[arm] < 0:
                seen = view(state, np.uint32(arm), now)
                if interface.lower(policy, seen) > policy.mean or interface.upper(policy, seen) < policy.mean:
                    state.eliminated_at[arm] = now
        return np.int64((now - 1) % state.arms)

    lower = staticmethod(OptimisticPessimisticElimination.lower)
    upper = staticmethod(OptimisticPessimisticElimination.upper)
