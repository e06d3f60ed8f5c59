"""A plain simulator: the protocol round by round, sharing nothing with the engine but the random draws.

It plays a policy by a second text of its rule, which stands in the policy's own test file: written from the paper's
text with lists, dictionaries and loops, slow, and easy to check by eye. What the text leaves open is settled as the
documentation of the policies says: a level c = ln T is the logarithm of libm, one that grows with the samples x uses
``belated.kernel.math.log``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from belated import Problem
from belated.kernel.math import log
from belated.kernel.rng import run_key, seed_words, word


class Environment(Protocol):
    """What is shared with the engine: ``belated.engine.environment.Environment``."""

    def pull(self, arm: int, rank: int, now: int) -> tuple[float, int | None]: ...
    def own_word(self, now: int, number: int) -> Any: ...
    def own_uniform(self, now: int, number: int) -> float: ...


@dataclass
class History:
    """What a policy of the paper may use before round ``now``: pulls m, feedback count n, sum of rewards S."""

    arms: int
    policy: Any
    environment: Environment
    now: int = 0
    m: list[int] = field(default_factory=list)
    n: list[int] = field(default_factory=list)
    S: list[float] = field(default_factory=list)
    eliminated_at: list[int] = field(default_factory=list)
    log: list[tuple[int, int, int, int, float]] = field(default_factory=list)
    """Every feedback in the order of arrival, (arm, rank, round of the pull, round before which it came, reward): more
    than the paper's policies may use."""
    feedback: list[list[tuple[int, float]]] = field(default_factory=list)
    """(rank, reward) of each arm's feedback in the order of arrival."""

    def __post_init__(self) -> None:
        self.m, self.n, self.S = [0] * self.arms, [0] * self.arms, [0.0] * self.arms
        self.eliminated_at = [-1] * self.arms
        self.feedback = [[] for _ in range(self.arms)]

    def c(self, x: float) -> float:
        """The level of the radius sqrt(2 c / x): given, ln T, or ln(pi^2 K x^2 / (3 delta)) / 4 without a horizon."""
        if self.policy.confidence != "theory":
            return float(self.policy.confidence)
        if self.policy.horizon is not None:
            return math.log(self.policy.horizon)
        return math.log(math.pi**2 * self.arms / (3.0 * self.policy.delta)) / 4.0 + 0.5 * float(log(float(x)))

    def radius(self, x: float) -> float:
        """sqrt(2 c / x)."""
        return math.sqrt(2.0 * self.c(x) / x)


Rule = Callable[[History], Iterator[int]]
"""The second text of a policy: yields the arm of each round."""
Formula = Callable[[History, int], float]
"""The index or a bound of an arm."""


def argmax(values: Sequence[float]) -> int:
    """The index of the largest value, the first of equals."""
    best = 0
    for index in range(1, len(values)):
        if values[index] > values[best]:
            best = index
    return best


def by_index(index: Formula) -> Rule:
    """Each arm once in index order, then the argmax of the index."""

    def rule(history: History) -> Iterator[int]:
        yield from range(history.arms)
        while True:
            yield argmax([index(history, arm) for arm in range(history.arms)])

    return rule


def eliminate(history: History, active: list[int], lower: Formula, upper: Formula, rounding: float = 0.0) -> list[int]:
    """Remove each arm whose upper bound is below the largest lower bound of an active arm, by more than ``rounding``,
    but for that arm itself."""
    bar = max(lower(history, arm) for arm in active)
    for arm in active:
        if upper(history, arm) + rounding < bar and lower(history, arm) < bar:
            history.eliminated_at[arm] = history.now
    return [arm for arm in active if history.eliminated_at[arm] < 0]


def by_elimination(lower: Formula, upper: Formula, rounding: float = 0.0) -> Rule:
    """Pull every active arm once, in index order; then eliminate."""

    def rule(history: History) -> Iterator[int]:
        active = list(range(history.arms))
        while True:
            yield from active
            active = eliminate(history, active, lower, upper, rounding)

    return rule


@dataclass
class Played:
    """One run: what the engine reports, and every choice and every arrival in the order of arrival."""

    curve: list[float]
    pulls: list[int]
    observed: list[int]
    in_flight: list[int]
    lost: list[int]
    eliminated_at: list[int]
    choices: list[int]
    arrivals: list[list[tuple[int, float]]]  # at index t - 1: (round of the pull, reward) known before round t
    history: History
    counts: list[list[int]] = field(default_factory=list)
    """The pulls of each arm at the checkpoints."""


def shuffled(arms: int, seed: int, run: int) -> list[int]:
    """The problem's arm of each arm that the policies see: those that are left, a random one of them last."""
    first, second = seed_words(seed)[:2]
    key = [np.uint64(part) for part in run_key(first, second, run)]
    left, drawn = list(range(arms)), []
    while left:
        high = int(word(*key, 2**32 - 1, len(left))) // 2**32
        place = high * len(left) // 2**32
        drawn.append(left[place])
        left[place] = left[-1]
        left.pop()
    return drawn[::-1]


def play(
    problem: Problem,
    policy: Any,
    rule: Rule,
    environment: Environment,
    horizon: int,
    checkpoints: Sequence[int],
    order: Sequence[int] = (),
) -> Played:
    """One run of ``policy`` by the protocol. Its horizon is its own: a policy without one is played without. It sees
    arm ``order[i]`` of the problem as arm i; what is returned has the problem's order, but for
    its history and choices."""
    order = order or range(problem.arms)
    names = [list(order).index(arm) for arm in range(problem.arms)]  # what the policy calls the problem's arms
    means = [law.mean for law in problem.rewards]
    gaps = [max(means) - mean for mean in means]
    history = History(problem.arms, policy, environment)
    chooser = rule(history)
    due: dict[int, list[tuple[int, int, int, float]]] = {}  # by the round at whose end it is known; in the pulls' order
    marks = set(checkpoints)
    counts = [[0] * problem.arms for _ in range(3)]
    played = Played([], history.m, *counts, history.eliminated_at, [], [], history)
    for now in range(1, horizon + 1):
        arrived = due.pop(now - 1, [])
        for pulled_at, arm, rank, reward in arrived:
            history.n[arm] += 1
            history.S[arm] += reward
            history.log.append((arm, rank, pulled_at, now, reward))
            history.feedback[arm].append((rank, reward))
        played.arrivals.append([(pulled_at, reward) for pulled_at, _, _, reward in arrived])
        history.now = now
        arm = next(chooser)
        rank = history.m[arm]
        reward, delay = environment.pull(order[arm], rank, now)
        history.m[arm] += 1
        played.choices.append(arm)
        if delay is None:
            played.lost[arm] += 1
        elif now + delay > horizon:
            played.in_flight[arm] += 1
        else:
            played.observed[arm] += 1
            due.setdefault(now + delay, []).append((now, arm, rank, reward))
        if now in marks:
            played.counts.append([history.m[name] for name in names])
            played.curve.append(_regret(gaps, played.counts[-1]))
    for each in ("pulls", "observed", "in_flight", "lost", "eliminated_at"):
        setattr(played, each, [getattr(played, each)[name] for name in names])
    return played


def _regret(gaps: Sequence[float], pulls: Sequence[int]) -> float:
    total = 0.0
    for gap, count in zip(gaps, pulls, strict=True):
        total += gap * count
    return total
