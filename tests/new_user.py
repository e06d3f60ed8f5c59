"""Five policies as a new user would write them, after reading docs/howto/add-a-policy.md once: no decorated helpers, no
bounds, memory as a function. tests/policies/test_new_user.py plays them, and a sixth one with typical mistakes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from belated.policies import Arm, IndexPolicy, Policy, State, exp, log, policy, to_unit, word
from belated.validation import Positive, Probability


def draw(state: State, now: Any, number: Any) -> Any:
    return to_unit(word(state.key[0], state.key[1], now, number))


def mean(state: State, arm: Any) -> Any:
    return state.total[arm] / max(state.observed[arm], 1.0)


def unpulled(state: State) -> Any:
    for arm in range(state.arms):
        if state.pulls[arm] == 0:
            return arm
    return -1


@policy
class EpsGreedy(Policy):
    """A random arm with probability eps, else the arm with the largest observed mean."""

    label = "eps-greedy"
    eps: Probability = 0.1

    class KernelParams(NamedTuple):
        eps: float

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        arm = unpulled(state)
        if arm >= 0:
            return arm
        if draw(state, now, 0) < policy.eps:
            return int(draw(state, now, 1) * state.arms)
        best = 0
        for arm in range(1, state.arms):
            if mean(state, arm) > mean(state, best):
                best = arm
        return best


def divergence(p: Any, q: Any) -> Any:
    """KL divergence of coins."""
    p = min(max(p, 1e-9), 1.0 - 1e-9)
    q = min(max(q, 1e-9), 1.0 - 1e-9)
    return p * log(p / q) + (1.0 - p) * log((1.0 - p) / (1.0 - q))


@policy
class KLUCB(IndexPolicy):
    """Garivier, Cappé (2011): the largest q with n kl(S/n, q) <= c."""

    label = "KL-UCB"
    c: Positive = 3.0

    class KernelParams(NamedTuple):
        c: float

    @staticmethod
    def index(policy: Any, arm: Arm) -> Any:
        if arm.observed < 1.0:
            return math.inf
        low, high = arm.total / arm.observed, 1.0
        p = low
        for _ in range(30):
            middle = (low + high) / 2.0
            if arm.observed * divergence(p, middle) > policy.c:
                high = middle
            else:
                low = middle
        return low


HEAD, TAIL, COUNT, SUM, QUEUE = range(5)


@policy
class QPMD(Policy):
    """Joulani, György, Szepesvári (2013): UCB that sees one feedback of the arm it wants; the rest waits in a queue."""

    label = "QPM-D"

    def memory(self, arms: int, horizon: int | None) -> int:
        if horizon is None:
            raise ValueError("the queue needs a horizon")
        return QUEUE + horizon

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        tail = int(state.memory[arm, TAIL])
        state.memory[arm, QUEUE + tail] = reward
        state.memory[arm, TAIL] = tail + 1

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        steps = state.memory[state.arms, COUNT]  # of the algorithm inside
        while True:
            best, largest = 0, -1.0
            for arm in range(state.arms):
                count = state.memory[arm, COUNT]
                index = 2.0
                if count > 0.0:
                    index = state.memory[arm, SUM] / count + math.sqrt(2.0 * log(max(steps, 1.0)) / count)
                if index > largest:
                    best, largest = arm, index
            head = int(state.memory[best, HEAD])
            if head >= state.memory[best, TAIL]:
                return best
            state.memory[best, HEAD] = head + 1
            state.memory[best, COUNT] += 1.0
            state.memory[best, SUM] += state.memory[best, QUEUE + head]
            steps += 1.0
            state.memory[state.arms, COUNT] = steps


LOSS = 0


def weight(policy: Any, state: State, arm: Any) -> Any:
    """By an arm's estimated loss."""
    return exp(-policy.rate * state.memory[arm, LOSS])


def all_weights(policy: Any, state: State) -> Any:
    whole = 0.0
    for arm in range(state.arms):
        whole += weight(policy, state, arm)
    return whole


def probability(policy: Any, state: State, arm: Any, whole: Any) -> Any:
    """By its weight, and a little of all."""
    return (1.0 - policy.mixing) * weight(policy, state, arm) / whole + policy.mixing / state.arms


@policy
class DelayedExp3(Policy):
    """Exp3 with importance weights of the round of the pull: Cesa-Bianchi, Gentile, Mansour, Minora (2016)."""

    label = "Exp3"
    rate: Positive = 0.05
    mixing: Probability = 0.05

    class KernelParams(NamedTuple):
        rate: float
        mixing: float

    def memory(self, arms: int, horizon: int | None) -> int:
        return 1 + (10_000 if horizon is None else horizon)

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        left = draw(state, now, 0)
        whole = all_weights(policy, state)
        for arm in range(state.arms - 1):
            left -= probability(policy, state, arm, whole)
            if left < 0.0:
                return arm
        return state.arms - 1

    @staticmethod
    def on_pull(policy: Any, state: State, arm: Any, rank: Any, now: Any) -> Any:
        cells = state.memory.shape[1] - 1
        state.memory[arm, 1 + rank % cells] = probability(policy, state, arm, all_weights(policy, state))

    @staticmethod
    def on_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        cells = state.memory.shape[1] - 1
        state.memory[arm, LOSS] += (1.0 - reward) / state.memory[arm, 1 + rank % cells]
        least = state.memory[0, LOSS]
        for other in range(1, state.arms):
            least = min(least, state.memory[other, LOSS])
        for other in range(state.arms):
            state.memory[other, LOSS] -= least


def normal(state: State, now: Any, number: Any) -> Any:
    """Box and Muller's way to a normal number."""
    radius = math.sqrt(-2.0 * log(draw(state, now, 2 * number)))
    return radius * math.cos(2.0 * math.pi * draw(state, now, 2 * number + 1))


@policy
class BatchedThompson(Policy):
    """Gaussian Thompson sampling that chooses an arm for ``batch`` rounds at a time."""

    label = "batched Thompson"
    batch: Positive = 10.0

    class KernelParams(NamedTuple):
        batch: float

    memory = 1

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        if (now - 1) % policy.batch == 0:
            best, largest = 0, -math.inf
            for arm in range(state.arms):
                spread = 1.0 / math.sqrt(state.observed[arm] + 1.0)
                sample = mean(state, arm) + spread * normal(state, now, arm)
                if sample > largest:
                    best, largest = arm, sample
            state.memory[state.arms, 0] = best
        return int(state.memory[state.arms, 0])
