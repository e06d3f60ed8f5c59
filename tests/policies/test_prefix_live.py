"""Prefix brackets of a live bandit against sums over a plain log of its pulls and answers."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Bandit
from belated.kernel.jit import ignore_overflow
from belated.live.learner import Learner
from belated.policies import PrefixElimination, PrefixUCB, SafeImputedUCB
from belated.policies._base import entry_points
from support.live import REWARDS, Log, lived

CLOSE = 1e-9

POLICIES = [
    PrefixUCB(confidence=0.01),
    PrefixUCB(confidence=0.3, spread=True),
    PrefixUCB(confidence="theory", delta=0.2),
    PrefixElimination(confidence=0.05),
    PrefixElimination(confidence="theory", horizon=50),
]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=repr)


@cache
def grid() -> list[int]:
    """ceil(1.2^k) below a million, each once."""
    found = {math.ceil(Fraction(6, 5) ** k) for k in range(76)}
    return sorted(end for end in found if end < 10**6)


def level(policy: Any, arms: int, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """c after x pulls, as the documentation has it."""
    if policy.confidence != "theory":
        return np.full(x.shape, policy.confidence)
    if policy.horizon is not None:
        return np.full(x.shape, math.log(policy.horizon))
    return np.log(np.pi**2 * arms * x**2 / (3.0 * policy.delta)) / 4.0


def by_hand(policy: Any, arms: int, log: Log) -> list[tuple[float, set[int]]]:
    """(lower bound, lengths of prefixes that give it), and the same of the upper bound, from all pulls of an arm."""
    log_by_rank = sorted(log.values(), key=itemgetter(0))
    ranks = [rank for rank, _ in log_by_rank]
    total = [0.0, *accumulate(reward or 0.0 for _, reward in log_by_rank)]
    unanswered = [0, *accumulate(reward is None for _, reward in log_by_rank)]
    counts = [bisect_left(ranks, end) for end in [*grid(), math.inf]]
    sums, missing = np.array([total[count] for count in counts]), np.array([unanswered[count] for count in counts])
    lengths, place = np.unique(np.array(counts, float), return_index=True)
    place, lengths = place[lengths > 0], lengths[lengths > 0]
    low, high = sums[place] / lengths, (sums + missing)[place] / lengths
    b = 4.0 * level(policy, arms, lengths) / lengths
    above = high + np.minimum(np.sqrt(b / 2), b + np.sqrt(b * (b + 2 * high)))
    below = low - np.minimum(np.sqrt(b / 2), b + np.sqrt(b * (b + 2 * (1 - low))))
    found = []
    for values, best in ((below, below.max()), (above, above.min())):
        found.append((float(best), set(lengths[np.abs(values - best) <= CLOSE].astype(int).tolist())))
    return found


def raw_bounds(learner: Learner, arm: int) -> tuple[float, float, float, float]:
    """The bounds as they are, not cut to [0, 1], and the lengths of their prefixes. To look changes nothing."""
    find = entry_points.entry_for(entry_points.bounds, type(learner.policy))
    kept = learner.state.memory[arm].copy()
    with ignore_overflow():
        found: tuple[float, float, float, float] = find(learner.parameters, learner.state, arm, learner.decisions + 1)
    learner.state.memory[arm] = kept
    return found


def assert_same(policy: Any, learner: Learner, logs: list[Log]) -> None:
    for arm, log in enumerate(logs):
        lower, upper, lower_from, upper_from = raw_bounds(learner, arm)
        if not log:
            assert (lower, upper, lower_from, upper_from) == (-math.inf, math.inf, 0, 0)
            continue
        (low, low_from), (high, high_from) = by_hand(policy, len(logs), log)
        assert lower == pytest.approx(low, abs=CLOSE)
        assert upper == pytest.approx(high, abs=CLOSE)
        assert lower_from in low_from
        assert upper_from in high_from


@pytest.mark.parametrize("policy", [*POLICIES, SafeImputedUCB(confidence=0.3, safe=4)], ids=repr)
@strategies.examples(25)
@given(data=st.data())
def test_the_summary_is_what_the_log_says(policy: Any, data: st.DataObject) -> None:
    """Random histories: some decisions, then some answers in any order, over and over."""
    arms = data.draw(st.integers(1, 3))
    names = [str(arm) for arm in range(arms)]
    bandit = Bandit(names, policy)
    logs: list[Log] = [{} for _ in names]
    pending: dict[int, int] = {}
    for _ in range(data.draw(st.integers(1, 6))):
        for decision in bandit.choose(data.draw(st.integers(0, 40))):
            arm = int(decision.arm)
            logs[arm][decision.id] = (len(logs[arm]), None)
            pending[decision.id] = arm
        ids = data.draw(st.permutations(sorted(pending)))
        for id in ids[: data.draw(st.integers(0, len(ids)))]:
            reward = data.draw(REWARDS)
            bandit.observe(id, reward)
            log = logs[pending.pop(id)]
            log[id] = (log[id][0], reward)
        assert_same(policy, bandit._learner, logs)
        for shown, log in zip(bandit.summary(), logs, strict=True):
            assert (shown.pulls, shown.observed) == (len(log), sum(reward is not None for _, reward in log.values()))
            if log:
                (low, low_from), (high, high_from) = by_hand(policy, arms, log)
                assert shown.lower == pytest.approx(min(max(low, 0.0), 1.0), abs=CLOSE)
                assert shown.upper == pytest.approx(min(max(high, 0.0), 1.0), abs=CLOSE)
                assert shown.lower_from in low_from
                assert shown.upper_from in high_from


@every_policy
@strategies.examples(25)
@given(data=st.data())
def test_what_is_retracted_or_replaced_leaves_no_trace(policy: Any, data: st.DataObject) -> None:
    learner = Learner(data.draw(st.integers(1, 3)), policy, 0)
    for logs in lived(learner, data):
        assert_same(policy, learner, logs)


def test_a_hundred_pulls_by_hand() -> None:
    """The first 67 of 100 pulls but the tenth are answered with 1/2, the others are out; c = 1/8. The prefixes 56, 67,
    80, 96 and 100 miss 1, 1, 14, 30 and 34 answers: 67 is the longest of which little is missing."""
    bandit = Bandit(["one"], PrefixUCB(confidence=0.125))
    bandit.observe_many([(decision.id, 0.5) for decision in bandit.choose(100)[:67] if decision.id != 9])
    (shown,) = bandit.summary()
    assert (shown.lower_from, shown.upper_from) == (67, 67)
    assert shown.upper == pytest.approx((33 + 1) / 67 + math.sqrt(0.25 / 67))
    assert shown.lower == pytest.approx(33 / 67 - math.sqrt(0.25 / 67))


@pytest.mark.parametrize("kind", [PrefixUCB, PrefixElimination, partial(PrefixUCB, spread=True)])
@pytest.mark.parametrize(("kept", "other"), [(0.0, 0.2), (1.0, 0.4)])
def test_sums_that_round_beyond_what_they_can_be_harm_nothing(kind: Any, kept: float, other: float) -> None:
    """Three pulls of one cell are answered and two of them taken back: of 0 and 1 that leaves less and more, unless it
    is put right. With the first pull the sum of the whole arm rounds otherwise; then that is taken back too."""
    learner = Learner(1, kind(confidence=1e-25), 0)
    answers = {0: 0.05, 13: kept, 14: 0.05, 15: other}
    assert not 0.0 <= kept + 0.05 + other - other - 0.05 <= 1.0
    ranks = [learner.decide()[1] for _ in range(16)]
    for rank, reward in answers.items():
        learner.observe(0, reward, rank, rank)
    for rank in [15, 14, *ranks[:13]]:
        learner.retract(0, rank, rank, answers.get(rank))
    lower, upper, *_ = raw_bounds(learner, 0)
    assert abs(upper if kept == 0.0 else 1.0 - lower) < 1e-20  # 8c; sqrt(2c) if the root of a negative number came up
    assert learner.state.score[:1] == pytest.approx(kept, abs=1e-20 if kept == 0.0 else 1e-11)
