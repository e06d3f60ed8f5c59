"""Imputed-UCB: its estimates, silent arms, one-sided feedback, corrections, and delays that depend on rewards."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from belated import ArmSummary, Bandit
from belated.policies import ImputedUCB
from support.plain_imputed import by_imputed_index
from support.plain_simulator import argmax

VARIANTS = [
    ImputedUCB(confidence=0.2),
    ImputedUCB(confidence=0.2, patience=12),
    ImputedUCB(confidence="anytime"),
]

rule = by_imputed_index(lambda history, indices: argmax(indices))


# ---- the summary ----


def played(late: dict[float, int | None]) -> ArmSummary[str]:
    """One arm that succeeds in three of ten decisions, 1,000 of them. Rewards are late by this many decisions, or never
    come (None)."""
    bandit = Bandit(["only"], ImputedUCB(confidence="anytime"))
    coming: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for number in range(1000):
        reward = float(number % 10 < 3)
        lateness = late[reward]
        if lateness is not None:
            coming[number + lateness].append((bandit.choose().id, reward))
        else:
            bandit.choose()
        bandit.observe_many(coming.pop(number, []))
    (arm,) = bandit.summary()
    return arm


@pytest.mark.parametrize("late", [{1.0: 500, 0.0: 0}, {1.0: 0, 0.0: 500}], ids=["successes late", "failures late"])
def test_late_rewards_are_missed_and_corrected(late: dict[float, int | None]) -> None:
    arm = played(late)
    assert arm.mean is not None
    assert abs(arm.mean - 0.3) > 0.08
    assert arm.corrected_mean == pytest.approx(0.3, abs=0.02)
    assert arm.dependence == pytest.approx(1.0, abs=1e-6)


def test_delays_that_do_not_depend_on_rewards_correct_nothing() -> None:
    arm = played({1.0: 500, 0.0: 500})
    assert arm.corrected_mean == (150 + 0.5) / (500 + 1)
    assert arm.dependence == 0.0


def test_dependence_is_rarely_found_where_there_is_none() -> None:
    """1 minus a p-value: of 200 arms about 10 are above 0.95; more than 21 or fewer than 2 with probability 1e-3."""
    chance = np.random.default_rng(0)
    found = 0
    for _ in range(200):
        bandit = Bandit(["only"], ImputedUCB())
        coming: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for number in range(500):
            late = int(chance.lognormal(4.0, 1.2))
            coming[number + late].append((bandit.choose().id, float(chance.random() < 0.3)))
            bandit.observe_many(coming.pop(number, []))
        (arm,) = bandit.summary()
        assert arm.dependence is not None
        found += arm.dependence > 0.95
    assert 2 <= found <= 21


@pytest.mark.parametrize(("late", "mean"), [({1.0: 50, 0.0: None}, 1.0), ({1.0: None, 0.0: 50}, 0.0)])
def test_silence_corrects_the_mean_while_all_feedback_is_the_same(late: dict[float, int | None], mean: float) -> None:
    arm = played(late)
    assert arm.mean == mean
    assert arm.corrected_mean == pytest.approx(0.3, abs=0.03)
    assert arm.lower < arm.corrected_mean < arm.upper
    assert arm.dependence == 0.0
