"""The index of Imputed-UCB in the plain simulator: the second text of both of its forms."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise, takewhile

from belated.kernel.jit import ignore_overflow
from belated.kernel.math import exp, log
from belated.policies._base.kl_bound import kl_upper
from support.plain_simulator import History, Rule


def starts() -> Iterator[int]:
    """Where half-octaves of lateness begin."""
    for octave in count():
        yield 2**octave
        yield math.ceil(2 ** (octave + 0.5)) if octave else 2


STARTS = list(takewhile(lambda start: start < 1e6, starts()))
BINS = list(pairwise(STARTS))


def block_of(pulled_at: int, now: int) -> tuple[int, int]:
    """(level, number) of the block of 2^level rounds that a pull is counted in: among the last four of the smallest
    level."""
    level = 0
    while (pulled_at >> level) <= (now >> level) - 4:
        level += 1
    return level, pulled_at >> level


def youngest(block: tuple[int, int], now: int) -> int:
    """The age of a pull in the last round of a block."""
    level, number = block
    return now - (((number + 1) << level) - 1)


def in_blocks(pending: list[int], now: int) -> list[tuple[tuple[int, int], int]]:
    """How many of these pulls are in each block, the youngest block first."""
    blocks = Counter(block_of(at, now) for at in pending)
    return sorted(blocks.items(), key=lambda item: (item[0][0], -item[0][1]))


@dataclass
class ArmRecord:
    """What the policy knows of one arm, with its index as it was last computed."""

    n: int = 0
    S: float = 0.0
    pending: list[int] = field(default_factory=list)  # the rounds of the pulls without feedback
    longest: int = 0  # 1 + the longest delay
    rewards: dict[int, float] = field(default_factory=lambda: defaultdict(float))  # by the start of the bin
    losses: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    share: float = 0.0
    index: float = math.inf
    check: float = math.inf
    due: float = 0.0

    @property
    def m(self) -> int:
        return self.n + len(self.pending)

    def add(self, late: int, reward: float, pulled_at: int) -> None:
        start = STARTS[bisect_right(STARTS, late) - 1]
        self.n, self.S, self.longest = self.n + 1, self.S + reward, max(self.longest, late)
        self.rewards[start] += reward
        self.losses[start] += 1.0 - reward
        self.pending.remove(pulled_at)

    def younger(self, rounds: float, now: int) -> int:
        """Those whose delay may be no more, or that share a block with one: a delay of d is d + 1 rounds late."""
        return sum(youngest(block_of(at, now), now) <= rounds + 1 for at in self.pending)


def estimated(
    arms: list[ArmRecord], waiting: ArmRecord, now: int, half: bool, middle: bool = False
) -> tuple[float, ...]:
    """Kaplan-Meier and Aalen-Johansen over the pulls of ``arms``; what was, and is, to be expected of ``waiting``.
    Pulls are as old as the youngest of their block, or as its ``middle``, where the last bin ends with the latest
    feedback."""

    def age(block: tuple[int, int]) -> int:
        return youngest(block, now) + (2 ** block[0] // 2 if middle else 0)

    observed, pending = sum(arm.n for arm in arms), sum(len(arm.pending) for arm in arms)
    own = in_blocks([at for arm in arms for at in arm.pending], now)
    others = in_blocks(waiting.pending, now)
    rewards, losses, spread, left = 0.0, 0.0, 0.0, 1.0
    expected, young, weighed = 0.0, 0.0, 0.0
    later, before, done = float(observed), 0, 0
    longest = max(arm.longest for arm in arms)
    for low, high in BINS:
        if low > 4 * longest:
            break
        end = longest + 1 if middle and low <= longest < high else high
        while done < len(others) and age(others[done][0]) + 1 < end:
            pulls = others[done][1]
            expected += pulls * (1.0 - left)
            if left > 0.0:
                young += pulls
                weighed += pulls / left
            done += 1
        younger = sum(pulls for block, pulls in own if age(block) + 1 < end)
        reward = sum((arm.rewards[low] for arm in arms if low < high), 0.0)
        loss = sum((arm.losses[low] for arm in arms if low < high), 0.0)
        came = reward + loss
        if came > 0.0:
            later -= came
            at_risk = came + max(later + (pending - younger), 0.0) + (0.5 * (younger - before) if half else 0.0)
            weight = left / at_risk
            rewards += weight * reward
            losses += weight * loss
            spread += weight * weight * came
            left *= max(1.0 - came / at_risk, 0.0)
        before = younger
    for _, pulls in others[done:]:
        expected += pulls * (1.0 - left)
    return rewards, losses, left, spread, expected, young, young - observed / (observed + 20.0) * left * weighed


Choice = Callable[[History, list[float]], int]
"""The arm to pull, by the indices of all arms."""


def by_imputed_index(choice: Choice, anytime: bool | None = None) -> Rule:
    """The arm that ``choice`` takes by the indices of Imputed-UCB; with the level "anytime" if the policy says so,
    unless ``anytime`` does."""

    def rule(history: History) -> Iterator[int]:
        is_anytime = history.policy.confidence == "anytime" if anytime is None else anytime
        return play_by_indices(history, choice, is_anytime)

    return rule


def play_by_indices(history: History, choice: Choice, anytime: bool) -> Iterator[int]:
    """The index is the Bernoulli bound of the corrected mean, computed before a choice when the counts of the arm have
    grown by 1/32, and when it is due; of silent arms also when another has its first feedback."""
    arms = [ArmRecord() for _ in range(history.arms)]
    shares, total, read = 0.0, 0.0, 0
    patience = history.policy.patience

    def reported() -> int:
        known = sum(arm.n for arm in arms)
        return 0 if known < 3 else int((known - total) ** 2 <= 0.04 * known) - int(total <= 0.0)

    def heard(arm: ArmRecord, now: int) -> tuple[float, float, float, float]:
        nonlocal shares
        side = reported()
        rewards, losses, left, spread, _, young, hoped_for = estimated([arm], arm, now, side != 0)
        share = max(1.0 - left, 1e-9)
        shares += share - arm.share
        arm.share = share
        if patience:
            young = hoped_for = float(arm.younger(patience, now))
        check = now + max(1.0, math.floor(0.5 * arm.longest)) if 32 * young > arm.n else math.inf
        if side:
            return ((rewards if side > 0 else rewards + left) * arm.m + 0.5) / (arm.m + 1.0), arm.m, 1.0, check
        mean = (arm.S + 0.5) / (arm.n + 1.0)
        came = rewards + losses
        change = rewards / came - arm.S / arm.n
        variance = mean * (1.0 - mean) * max(spread / (came * came) - 1.0 / arm.n, 0.0)
        square = change * change
        if square > 4.0 * variance:
            mean = min(max(mean + change * (1.0 - 4.0 * variance / square), 0.0), 1.0)
        x = arm.n + hoped_for
        return mean, x, max(min(1.0 / share, history.arms / max(shares, 1e-9)), 1.0), check

    def silent(arm: ArmRecord, now: int) -> tuple[float, float, float]:
        others = [other for other in arms if other.n]
        missing, check, side = 0.0, math.inf, reported()
        observed, pulls = sum(other.n for other in others), sum(other.m for other in others)
        if others and patience and side <= 0:
            missing = arm.m - arm.younger(patience, now)
            check = now + max(1.0, math.floor(0.125 * patience))
        elif others:
            rewards, _, _, _, expected, _, _ = estimated(others, arm, now, side != 0, middle=True)
            missing = expected - 5.0
            check = now + max(1.0, math.floor(now / 32.0))
            if side > 0:
                return (rewards * pulls + 0.5) / (pulls + 1.0) * 5.0 / (5.0 + expected), arm.m, check
        if missing <= 0.0:
            return 0.5 + 0.5 / (history.arms - len(others)), arm.m, check
        asked = math.ceil(exp(log(float(arm.m)) / 0.6))
        mean = min((total + 0.5) / (observed + 1.0), 0.5) * 1000.0 / (1000.0 + missing)
        return mean, arm.m, 0.0 if now >= asked else min(check, asked)

    def refresh(arm: ArmRecord, now: int) -> None:
        cost = 1.0
        with ignore_overflow():
            if arm.n:
                mean, x, cost, check = heard(arm, now)
            else:
                mean, x, check = silent(arm, now)
            if check > 0.0:
                x = max(float(x), 1.0)
                level = float(log(1.0 + (now / history.arms + 100.0) / (x * cost))) if anytime else 4.0 * history.c(x)
                arm.index = float(kl_upper(mean, level / x))
                arm.check = min(check, math.floor(1.1 * now) + 1.0) if anytime else check
            else:
                arm.index, arm.check = 2.0, math.inf
        counts = arm.m + arm.n
        arm.due = counts + max(math.floor(counts / 32.0), 1)

    due: list[ArmRecord] = []  # whose indices are computed before the next choice, the last one first

    def list_as_due(arm: ArmRecord) -> None:
        if not any(arm is other for other in due):
            due.append(arm)

    def list_if_due(arm: ArmRecord) -> None:
        if arm.m + arm.n >= arm.due or arm.index == 2.0:
            list_as_due(arm)

    while True:
        silent_due = all_due = False
        for number, _, pulled_at, now, reward in history.log[read:]:
            arm, side = arms[number], reported()
            arm.add(now - pulled_at, reward, pulled_at)
            total += reward
            all_due |= reported() != side
            if arm.n == 1:
                silent_due = True
                list_as_due(arm)
            else:
                list_if_due(arm)
        read = len(history.log)
        now = history.now
        for arm in arms:
            if now >= arm.check or (arm.m and (all_due or (silent_due and not arm.n))):
                list_as_due(arm)
        while due:
            refresh(due.pop(), now)
        chosen = choice(history, [arm.index for arm in arms])
        yield chosen
        arm = arms[chosen]
        if not arm.n and not arm.pending:
            arm.share = 1.0
            shares += 1.0
        arm.pending.append(now)
        list_if_due(arm)
