"""Live bandits whose rewards are in another unit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from belated import Bandit, Problem
from belated.client.messages import history_payloads
from belated.delays import Fixed
from belated.errors import ConflictingFeedback, InvalidParameter, InvalidReward, StateError
from belated.live.reduction import reduction
from belated.policies import UCB, Policy, PrefixUCB, SuccessiveElimination, ThompsonSampling
from belated.rewards import Bernoulli, Beta, Scaled

LOW, HIGH = -40.0, 160.0
"""The map to [0, 1] of the rewards below, multiples of 25, is exact."""
POLICIES = [UCB(confidence=0.2), SuccessiveElimination(confidence=0.1), ThompsonSampling(), PrefixUCB(confidence=0.3)]


def play(bandit: Bandit, *, low: float, width: float, rounds: int = 200) -> list[str]:
    """Decisions with feedback that comes three decisions late; the arms that were chosen."""
    rng = np.random.default_rng(5)
    chosen, waiting = [], []
    for _ in range(rounds):
        decision = bandit.choose()
        chosen.append(decision.arm)
        share = rng.integers(0, 5 if decision.arm == "a" else 9) / 8
        waiting.append((decision.id, low + width * share))
        if len(waiting) > 3:
            bandit.observe(*waiting.pop(0))
    return chosen


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.label)
def test_it_decides_as_its_twin_and_reports_in_its_unit(policy: Policy) -> None:
    plain = Bandit(["a", "b", "c"], policy, seed=1)
    scaled = Bandit(["a", "b", "c"], policy, seed=1, reward_range=(LOW, HIGH))
    assert play(plain, low=0.0, width=1.0) == play(scaled, low=LOW, width=HIGH - LOW)
    for one, other in zip(plain.summary(), scaled.summary(), strict=True):
        assert (one.pulls, one.observed, one.active) == (other.pulls, other.observed, other.active)
        for name in ("mean", "lower", "upper"):
            assert getattr(other, name) == pytest.approx(LOW + (HIGH - LOW) * getattr(one, name), rel=1e-12)


def test_a_mean_has_no_rounding_errors_of_the_mapping() -> None:
    bandit = Bandit(["a"], UCB(), reward_range=(-10, 60))
    for reward in (0.0, 0.1):
        bandit.observe(bandit.choose().id, reward)
    assert bandit.summary()[0].mean == 0.05


def test_it_is_saved_and_restored() -> None:
    bandit = Bandit(["a", "b"], ThompsonSampling(), seed=3, reward_range=(0, 50))
    play(bandit, low=0.0, width=50.0)
    data = json.loads(json.dumps(bandit.to_dict()))
    assert data["reward_range"] == [0.0, 50.0]
    assert max(reward for _, _, reward in data["answers"]) == 50.0
    again = Bandit.from_dict(data)
    assert again.reward_range == (0.0, 50.0)
    assert again.summary() == bandit.summary()
    assert [again.choose().arm for _ in range(50)] == [bandit.choose().arm for _ in range(50)]


def test_a_bandit_without_a_range_is_saved_as_before() -> None:
    bandit = Bandit(["a", "b"], UCB(confidence=1.0))
    assert "reward_range" not in bandit.to_dict()
    assert Bandit.from_dict(bandit.to_dict()).reward_range == (0.0, 1.0)


def test_saved_rewards_outside_of_the_range_are_damage() -> None:
    bandit = Bandit(["a"], UCB(confidence=1.0), reward_range=(0, 50))
    bandit.observe(bandit.choose().id, 40)
    for reward_range in ([0, 30], [50, 0], "ab"):
        with pytest.raises(StateError):
            Bandit.from_dict({**bandit.to_dict(), "reward_range": reward_range})


@pytest.mark.parametrize("reward", [-0.01, 50.1, float("nan"), "3", None])
def test_other_rewards_are_refused(reward: Any) -> None:
    bandit = Bandit(["a"], UCB(confidence=1.0), reward_range=(0, 50))
    decision = bandit.choose()
    with pytest.raises(InvalidReward, match=r"the reward of decision 0 is .*; give a number in \[0, 50\]\.$"):
        bandit.observe(decision.id, reward)
    assert bandit.pending == 1
    bandit.observe(decision.id, 30)
    bandit.observe(decision.id, 30.0)
    with pytest.raises(ConflictingFeedback, match=r"already has the reward 30\.0, not 31\.0"):
        bandit.observe(decision.id, 31)


def test_who_forgets_the_range_is_told_of_it() -> None:
    bandit = Bandit(["a"], UCB(confidence=1.0))
    with pytest.raises(
        InvalidReward, match=r"is 19\.9; give a number in \[0, 1\], or state .*reward_range=\(low, high"
    ):
        bandit.observe(bandit.choose().id, 19.9)


@pytest.mark.parametrize("given", [(1, 1), (3, 2), 5, "ab", (0, float("inf")), None])
def test_ranges_that_are_none(given: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"reward_range is .*; give \(low, high\) with low < high"):
        Bandit(["a"], UCB(confidence=1.0), reward_range=given)


def test_it_cannot_be_moved_to_a_server() -> None:
    bandit = Bandit(["a"], UCB(confidence=1.0), reward_range=(0, 50))
    with pytest.raises(InvalidParameter, match=r"rewards are in \[0, 50\], and a server takes rewards in \[0, 1\]"):
        next(history_payloads(bandit))


def test_the_reduction_is_in_the_unit_of_the_problem() -> None:
    game = reduction(SuccessiveElimination(confidence=1.0), 0.5)
    for laws in ([Bernoulli(0.8), Bernoulli(0.2)], [Beta(2, 3), Beta(3, 2)]):
        plain = game.play(Problem(laws, Fixed(0)), 400)
        scaled = game.play(Problem([Scaled(law, 0, 64) for law in laws], Fixed(0)), 400)
        assert scaled.rounds == plain.rounds
        assert scaled.regret == pytest.approx(64 * plain.regret)
        assert scaled.lossy_regret == pytest.approx(64 * plain.lossy_regret)
