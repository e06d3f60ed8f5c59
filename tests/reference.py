"""A plain per-round simulator: the protocol and the algorithms to the letter, sharing nothing with the engine but the
random draws.

Written from the paper's text with lists, dictionaries and loops; slow, and easy to check by eye. What the
text leaves open is settled as the documentation of the policies says: a level c = ln T is the logarithm of libm, one
that grows with the samples x uses ``belated.kernel.math.log``, and the two bonuses of PatientBandits are added before
they are added to the mean.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from belated import Problem
from belated.kernel.jit import ignore_overflow
from belated.kernel.math import exp, log
from belated.kernel.samplers import beta_draw
from belated.policies._base.kl_bernoulli import kl_upper
from belated.policies._base.policy import Policy


class Environment(Protocol):
    """What is shared: ``belated.engine.environment.Environment``."""

    def pull(self, arm: int, rank: int) -> tuple[float, int | None]: ...
    def own_word(self, now: int, number: int) -> Any: ...
    def own_uniform(self, now: int, number: int) -> float: ...


@dataclass
class Known:
    """What a policy of the paper may use before round ``now``: pulls m, observed feedback n, sum of rewards S."""

    arms: int
    policy: Any
    environment: Environment
    now: int = 0
    m: list[int] = field(default_factory=list)
    n: list[int] = field(default_factory=list)
    S: list[float] = field(default_factory=list)
    eliminated_at: list[int] = field(default_factory=list)
    log: list[tuple[int, int, int, int, float]] = field(default_factory=list)
    """Every answer as it came, (arm, rank, round of the pull, round before which it came, reward): more than the
    paper's policies may use."""
    answers: list[list[tuple[int, float]]] = field(default_factory=list)
    """(rank, reward) of each arm's answers as they came."""
    cells: list[dict[int, tuple[int, float]]] = field(default_factory=list)
    """Of each arm and each cell of its pulls the answers that were counted, and their sum."""
    counted: list[int] = field(default_factory=list)
    """How many of the answers of each arm are in its cells."""

    def __post_init__(self) -> None:
        self.m, self.n, self.S = [0] * self.arms, [0] * self.arms, [0.0] * self.arms
        self.eliminated_at = [-1] * self.arms
        self.answers = [[] for _ in range(self.arms)]
        self.cells, self.counted = [{} for _ in range(self.arms)], [0] * self.arms

    def c(self, x: float) -> float:
        """The level of the radius sqrt(2 c / x): given, ln T, or ln(pi^2 K x^2 / (3 delta)) / 4 without a horizon."""
        if self.policy.confidence is not None:
            return float(self.policy.confidence)
        if self.policy.horizon is not None:
            return math.log(self.policy.horizon)
        return math.log(math.pi**2 * self.arms / (3.0 * self.policy.delta)) / 4.0 + 0.5 * float(log(float(x)))


Bound = Callable[[Known, int], float]


def mean_and_radius(k: Known, arm: int) -> tuple[float, float]:
    """S / max(n, 1) and sqrt(2c / max(n, 1))."""
    x = max(k.n[arm], 1)
    return k.S[arm] / x, math.sqrt(2.0 * k.c(x) / x)


def ucb_upper(k: Known, arm: int) -> float:
    mean, radius = mean_and_radius(k, arm)
    return mean + radius


def ucb_lower(k: Known, arm: int) -> float:
    mean, radius = mean_and_radius(k, arm)
    return mean - radius


def opse_upper(k: Known, arm: int) -> float:
    m, n = k.m[arm], k.n[arm]
    return (k.S[arm] + (m - n)) / m + math.sqrt(2.0 * k.c(m) / m)


def opse_lower(k: Known, arm: int) -> float:
    m = k.m[arm]
    return k.S[arm] / m - math.sqrt(2.0 * k.c(m) / m)


def patient_index(k: Known, arm: int) -> float:
    """S/m + (sqrt(constant L / m) + 2 m^(-min(alpha, 1/2))), L = ln(2 K T^3)."""
    policy, m = k.policy, k.m[arm]
    ln_m = float(log(float(m)))
    if policy.horizon is not None:
        level = policy.constant * (math.log(2.0 * k.arms) + 3.0 * math.log(policy.horizon))
    else:
        level = policy.constant * math.log(math.pi**2 * k.arms / (3.0 * policy.delta)) + 2.0 * policy.constant * ln_m
    return k.S[arm] / m + (math.sqrt(level / m) + 2.0 * float(exp(-min(policy.alpha, 0.5) * ln_m)))


@cache
def grid_of(m: int) -> list[int]:
    """The prefixes of m pulls: ceil(1.2^k) below m, and m itself."""
    ends, power = set(), 0
    while -(-(6**power) // 5**power) < m:
        ends.add(-(-(6**power) // 5**power))
        power += 1
    return [*sorted(ends), m]


def prefixes(k: Known, arm: int) -> list[tuple[int, float, float, int]]:
    """(M, sum of the answers, sum with every missing one as 1, number of these) of each prefix; a cell's answers are
    added as they came, and cells in their order."""
    ends, cells = grid_of(k.m[arm]), k.cells[arm]
    for rank, reward in k.answers[arm][k.counted[arm] :]:
        cell = bisect_right(ends, rank)  # it stays so as pulls are added
        came, here = cells.get(cell, (0, 0.0))
        cells[cell] = came + 1, here + reward
    k.counted[arm] = len(k.answers[arm])
    found, before, total, most, missing = [], 0, 0.0, 0.0, 0
    for cell, end in enumerate(ends):
        came, here = cells.get(cell, (0, 0.0))
        absent = end - before - came
        total, most, missing = total + here, most + (here + absent), missing + absent
        found.append((end, total, most, missing))
        before = end
    return found


def width(mean: float, radius: float) -> float:
    """min(r, b + sqrt(b (b + 2 mean))) with b = 2 r^2."""
    b = 2.0 * radius * radius
    return min(radius, b + math.sqrt(b * (b + 2.0 * mean)))


def prefix_upper(k: Known, arm: int) -> float:
    values = []
    for m, _, most, _ in prefixes(k, arm):
        values.append(most / m + width(most / m, math.sqrt(2.0 * k.c(m) / m)))
    return min(values)


def prefix_lower(k: Known, arm: int) -> float:
    values = []
    for m, total, _, _ in prefixes(k, arm):
        values.append(total / m - width(1.0 - total / m, math.sqrt(2.0 * k.c(m) / m)))
    return max(values)


def prefix_index(k: Known, arm: int) -> float:
    if not k.policy.spread:
        return prefix_upper(k, arm)
    high, doubts = math.inf, []
    for m, _, most, missing in prefixes(k, arm):
        radius = math.sqrt(2.0 * k.c(m) / m)
        high = min(high, most / m + width(most / m, math.sqrt(2.0) * radius))
        further = min(k.m[arm], 4 * m)
        told = most / m + width(most / m, math.sqrt(2.0 * k.c(further) / further))
        doubts.append((missing / m + radius, -m, told))  # of equals the longest
    return min(high, min(doubts)[2])


def argmax(values: Sequence[float]) -> int:
    """The place of the largest value, the first of equals."""
    best = 0
    for place in range(1, len(values)):
        if values[place] > values[best]:
            best = place
    return best


def by_index(index: Bound) -> Callable[[Known], Iterator[int]]:
    """Each arm once in index order, then the argmax of the index."""

    def play(k: Known) -> Iterator[int]:
        yield from range(k.arms)
        while True:
            yield argmax([index(k, arm) for arm in range(k.arms)])

    return play


def without_losers(k: Known, active: list[int], lower: Bound, upper: Bound) -> list[int]:
    """Remove each arm whose upper bound is below the largest lower bound of an active arm, but for that arm itself."""
    bar = max(lower(k, arm) for arm in active)
    for arm in active:
        if upper(k, arm) < bar and lower(k, arm) < bar:
            k.eliminated_at[arm] = k.now
    return [arm for arm in active if k.eliminated_at[arm] < 0]


def by_elimination(lower: Bound, upper: Bound) -> Callable[[Known], Iterator[int]]:
    """Pull every active arm once, in index order; then eliminate."""

    def play(k: Known) -> Iterator[int]:
        active = list(range(k.arms))
        while True:
            yield from active
            active = without_losers(k, active, lower, upper)

    return play


def phased(k: Known) -> Iterator[int]:
    """Phase l: sweep over S_l, dropping the arms with n >= 16 c 4^l, until it is empty; then eliminate."""
    active = list(range(k.arms))
    phase = 1
    while True:
        wanting = list(active)
        while wanting:
            yield from wanting
            wanting = [arm for arm in wanting if not k.n[arm] >= 16.0 * k.c(max(k.n[arm], 1)) * 4.0**phase]
        active = without_losers(k, active, ucb_lower, ucb_upper)
        phase += 1


def thompson(k: Known) -> Iterator[int]:
    """The argmax of draws from Beta(successes + S, failures + n - S)."""
    policy = k.policy
    while True:
        draws = []
        for arm in range(k.arms):
            a, b = policy.successes + k.S[arm], policy.failures + (k.n[arm] - k.S[arm])
            with ignore_overflow():
                draws.append(float(beta_draw(a, b, k.environment.own_word(k.now, arm))))
        yield argmax(draws)


def uniformly(k: Known) -> Iterator[int]:
    while True:
        yield int(k.environment.own_uniform(k.now, 0) * k.arms)


def block_start(pulled_at: int, now: int) -> int:
    """The first round of the block in which a pull is counted: the present one of 2^j rounds, or the one before."""
    level = 0
    while (pulled_at >> level) < (now >> level) - 1:
        level += 1
    return (pulled_at >> level) << level


@dataclass
class Pending:
    """What PendingUCB knows of one arm, with its index as it was last computed."""

    n: int = 0
    S: float = 0.0
    out: list[int] = field(default_factory=list)  # the rounds of the pulls that have no answer
    late: int = 0  # the longest delay and 1
    share: float = 0.0
    index: float = math.inf
    check: float = math.inf

    def younger(self, rounds: float, now: int) -> int:
        first = bisect_right(self.out, now - rounds)  # a block is as old as its pulls, or older
        return sum(now - block_start(at, now) < rounds for at in self.out[first:])


def pending(k: Known) -> Iterator[int]:
    """The coin's bound, computed when an arm is pulled, answered, looked at again; if silent, at a first answer too."""
    arms = [Pending() for _ in range(k.arms)]
    shares, came, read = 0.0, 0.0, 0

    def refresh(arm: Pending, now: int) -> None:
        nonlocal shares
        rounds = float(k.policy.patience or 4 * max(of.late for of in ([arm] if arm.n else arms)))
        hoped = arm.younger(rounds, now) if arm.n else len(arm.out)
        x = float(arm.n + hoped)
        if arm.n:
            share = min(arm.n / max(arm.n + len(arm.out) - hoped, 1), 1.0)
            shares += share - arm.share
            arm.share = share
            mean = (arm.S + 0.5) / (arm.n + 1.0)
            x *= max(min(4.0, k.arms / max(shares, 1e-9), 1.0 / max(share, 1e-9)), 1.0)
        else:
            silent = sum(other.n == 0 for other in arms)
            old = len(arm.out) - arm.younger(rounds, now) if rounds else 0
            usual = min((came + 0.5) / (sum(of.n for of in arms) + 1.0), 0.5)
            mean = usual * 300.0 / (300.0 + old) if old else 0.5 + 0.5 / silent
        x = max(x, 1.0)
        with ignore_overflow():
            arm.index = float(kl_upper(mean, 4.0 * k.c(x) / x))
        looked_at = rounds > 0.0 and hoped > 0 and arm.out
        arm.check = now + max(1.0, math.floor(0.125 * rounds)) if looked_at else math.inf

    while True:
        for number, _, pulled_at, now, reward in k.log[read:]:
            arm = arms[number]
            arm.n, arm.S, arm.late = arm.n + 1, arm.S + reward, max(arm.late, now - pulled_at)
            arm.out.remove(pulled_at)
            came += reward
            if arm.n == 1:
                for other in arms:
                    if other.n == 0 and other.out:
                        refresh(other, now)
            refresh(arm, now)
        read = len(k.log)
        now = k.now
        for arm in arms:
            if now >= arm.check:
                refresh(arm, now)
        chosen = argmax([arm.index for arm in arms])
        yield chosen
        arm = arms[chosen]
        if not arm.n and not arm.out:
            arm.share = 1.0
            shares += 1.0
        arm.out.append(now)
        refresh(arm, now)


ALGORITHMS: dict[str, Callable[[Known], Iterator[int]]] = {
    "UCB": by_index(ucb_upper),
    "OptimisticUCB": by_index(opse_upper),
    "PatientBandits": by_index(patient_index),
    "SuccessiveElimination": by_elimination(ucb_lower, ucb_upper),
    "OptimisticPessimisticElimination": by_elimination(opse_lower, opse_upper),
    "PhasedElimination": phased,
    "ThompsonSampling": thompson,
    "UniformChoice": uniformly,
    "PrefixElimination": by_elimination(prefix_lower, prefix_upper),
    "PrefixUCB": by_index(prefix_index),
    "PendingUCB": pending,
}


@dataclass
class Played:
    """One run: what the engine reports, and beyond it every choice and every arrival in the order of arrival."""

    curve: list[float]
    pulls: list[int]
    observed: list[int]
    in_flight: list[int]
    lost: list[int]
    eliminated_at: list[int]
    choices: list[int]
    arrivals: list[list[tuple[int, float]]]  # at place t - 1: (round of the pull, reward) known before round t
    known: Known


def play(
    problem: Problem,
    policy: Policy,
    environment: Environment,
    horizon: int,
    checkpoints: Sequence[int],
    algorithm: Callable[[Known], Iterator[int]] | None = None,
) -> Played:
    """One run of ``policy`` by the protocol. Its horizon is its own: a policy without one is played without."""
    means = [law.mean for law in problem.rewards]
    gaps = [max(means) - mean for mean in means]
    known = Known(problem.arms, policy, environment)
    chooser = (algorithm or ALGORITHMS[type(policy).__name__])(known)
    due: dict[int, list[tuple[int, int, int, float]]] = {}  # by the round at whose end it is known; in the pulls' order
    marks = set(checkpoints)
    nothing = [[0] * problem.arms for _ in range(3)]
    played = Played([], known.m, *nothing, known.eliminated_at, [], [], known)
    for now in range(1, horizon + 1):
        arrived = due.pop(now - 1, [])
        for pulled_at, arm, rank, reward in arrived:
            known.n[arm] += 1
            known.S[arm] += reward
            known.log.append((arm, rank, pulled_at, now, reward))
            known.answers[arm].append((rank, reward))
        played.arrivals.append([(pulled_at, reward) for pulled_at, _, _, reward in arrived])
        known.now = now
        arm = next(chooser)
        rank = known.m[arm]
        reward, delay = environment.pull(arm, rank)
        known.m[arm] += 1
        played.choices.append(arm)
        if delay is None:
            played.lost[arm] += 1
        elif now + delay > horizon:
            played.in_flight[arm] += 1
        else:
            played.observed[arm] += 1
            due.setdefault(now + delay, []).append((now, arm, rank, reward))
        if now in marks:
            played.curve.append(_regret(gaps, known.m))
    return played


def _regret(gaps: Sequence[float], pulls: Sequence[int]) -> float:
    total = 0.0
    for gap, count in zip(gaps, pulls, strict=True):
        total += gap * count
    return total
