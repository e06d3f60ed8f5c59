"""A learner whose past is put right knows what one knows that lived it rightly, and decides by the formulas."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from belated.errors import StateError
from belated.live.learner import Learner
from belated.policies import (
    UCB,
    ImputedUCB,
    IndexPolicy,
    PendingUCB,
    Policy,
    PrefixPolicy,
    SafeImputedUCB,
    SuccessiveElimination,
    ThompsonSampling,
    pending_ucb,
    view,
)
from belated.policies import policy as register
from belated.policies._base import delay_record, imputed_index
from belated.policies._base.entry_points import entry_for
from belated.policies._base.interface import index as index_of
from belated.policies.pending_ucb import AGES, LONGEST_DELAY
from support.policies import every_variant

EVERY = every_variant()
BY_FORMULA = [
    policy for policy in every_variant(IndexPolicy) if type(policy).after_feedback is IndexPolicy.after_feedback
]
"""Index policies whose index depends only on the arm: not Pending-UCB, which depends on the other arms and on ages too,
and is refreshed after a while."""
ARMS = (1, 2, 7, 64, 65, 100)


def _index(policy: Any, state: Any, arm: Any, now: Any) -> Any:
    return index_of(policy, view(state, np.uint32(arm), now))


def by_the_formula(learner: Learner) -> int:
    """The arm of an index policy: the first that was never pulled, else the first of the largest indices."""
    state = learner.state
    compute = entry_for(_index, type(learner.policy))
    scores = [
        compute(learner.parameters, state, arm, learner.decisions + 1) if state.pulls[arm] else np.inf
        for arm in range(learner.arms)
    ]
    return int(np.argmax(scores))


class Life:
    """A learner with a past that is put right at random: what happened, so far as it still counts."""

    def __init__(self, policy: Policy, arms: int, seed: int, rewards: tuple[float, ...]) -> None:
        self.learner = Learner(arms, policy, seed)
        self.chance = random.Random(f"{policy} {arms} {seed}")
        self.rewards = rewards
        self.pending: list[tuple[int, int, int]] = []
        self.answered: list[tuple[int, int, int, float]] = []

    def counts(self) -> list[list[float]]:
        arms = range(self.learner.arms)
        pulls = [sum(arm == each for arm, _, _ in self.pending) for each in arms]
        answers = [[reward for arm, _, _, reward in self.answered if arm == each] for each in arms]
        return [[pulls[arm] + len(answers[arm]), len(answers[arm]), sum(answers[arm])] for arm in arms]

    def known(self) -> list[list[float]]:
        state = self.learner.state
        return [
            [float(state.pulls[arm]), float(state.observed[arm]), float(state.total[arm])]
            for arm in range(self.learner.arms)
        ]

    def step(self) -> None:
        chance, learner = self.chance, self.learner
        what = chance.random()
        if what < 0.45 or not (self.pending or self.answered):
            number = learner.decisions
            self.pending.append((*learner.decide(), number))
        elif what < 0.7 and self.pending:
            arm, rank, number = self.pending.pop(chance.randrange(len(self.pending)))
            reward = chance.choice(self.rewards)
            learner.observe(arm, reward, rank, number)
            self.answered.append((arm, rank, number, reward))
        elif what < 0.8 and self.pending:
            learner.retract(*self.pending.pop(chance.randrange(len(self.pending))))
        elif self.answered and not learner.supports_replacement:
            return
        elif what < 0.9 and self.answered:
            learner.retract(*self.answered.pop(chance.randrange(len(self.answered))))
        elif self.answered:
            place = chance.randrange(len(self.answered))
            arm, rank, number, before = self.answered[place]
            now = chance.choice(self.rewards)
            learner.replace_reward(arm, rank, number, before, now)
            self.answered[place] = arm, rank, number, now


EXACT = (0.0, 0.25, 0.5, 1.0)


@pytest.mark.parametrize("policy", BY_FORMULA, ids=repr)
@pytest.mark.parametrize("arms", ARMS)
def test_an_index_policy_decides_by_its_formula_whatever_was_put_right(policy: Policy, arms: int) -> None:
    life = Life(policy, arms, 1, EXACT)
    for step in range(400):
        life.step()
        if step == 200:
            life.learner.add_arm()
        assert life.learner.decide()[0] == expected(life)


def expected(life: Life) -> int:
    """What the formula says before the decision that was just made, which is taken back."""
    learner = life.learner
    arm = int(
        np.flatnonzero([known[0] != count[0] for known, count in zip(life.known(), life.counts(), strict=True)])[0]
    )
    learner.decisions -= 1
    learner.retract(arm, int(learner.state.pulls[arm]) - 1, learner.decisions)
    assert life.known() == life.counts()
    return by_the_formula(learner)


def to_look_changes_nothing(learner: Learner, arm: int) -> bool:
    """So that what was looked at is to the bit what is played again."""
    before = learner.to_bytes()
    learner.bounds(arm)
    return learner.to_bytes() == before


@pytest.mark.parametrize("policy", EVERY, ids=repr)
@pytest.mark.parametrize("arms", [2, 7, 70])
def test_counts_after_corrections(policy: Policy, arms: int) -> None:
    life = Life(policy, arms, 2, EXACT)
    assert life.learner.supports_retraction
    for _ in range(500):
        life.step()
        assert life.known() == life.counts()
    for arm in range(arms):
        assert to_look_changes_nothing(life.learner, arm)
        lower, upper, lower_from, upper_from = life.learner.bounds(arm)
        assert 0.0 <= lower <= 1.0
        assert lower <= upper or isinstance(policy, PrefixPolicy)  # bounds of different prefixes may cross
        assert 0.0 <= upper <= 1.0
        assert (lower_from is None, upper_from is None) == (
            not isinstance(policy, PrefixPolicy) or not life.known()[arm][0],
        ) * 2


def lasting(learner: Learner) -> Any:
    """What a policy's own statistics hold of pulls and answers. Pending-UCB never forgets the longest delays and when
    it looks again, and prefix policies keep what cells came to."""
    if isinstance(learner.policy, PrefixPolicy):
        return np.delete(learner.state.memory, learner.policy.cached_memory, axis=1)
    if not isinstance(learner.policy, PendingUCB):
        return learner.state.memory
    counted = learner.state.memory[:-1, AGES:LONGEST_DELAY].ravel()
    shares = learner.state.memory[:-1, pending_ucb.SHARE]
    together = learner.state.memory[-1, [pending_ucb.ARMS_WITH_FEEDBACK, pending_ucb.SUM_OF_SHARES]]
    return np.concatenate([counted, shares, together])


@pytest.mark.parametrize("policy", [policy for policy in EVERY if policy.supports_replacement], ids=repr)
def test_retraction_leaves_no_trace(policy: Policy) -> None:
    """After everything is taken back, counts and bounds are those before the first decision."""
    life, fresh = Life(policy, 5, 3, (0.1, 0.2, 0.3, 0.7, 1.0, 0.0)), Learner(5, policy, 3)
    for _ in range(300):
        life.step()
    for pull in life.pending:
        life.learner.retract(*pull)
    life.chance.shuffle(life.answered)
    for answered in life.answered:
        life.learner.retract(*answered)
    assert life.known() == [[0.0, 0.0, 0.0]] * 5
    assert lasting(life.learner) == pytest.approx(0.0, abs=1e-12)
    fresh.decisions = life.learner.decisions
    assert [life.learner.bounds(arm) for arm in range(5)] == [fresh.bounds(arm) for arm in range(5)]


@pytest.mark.parametrize("policy", [ImputedUCB(), SafeImputedUCB(safe=7)], ids=repr)
def test_retraction_of_pending_pulls_leaves_no_trace(policy: Policy) -> None:
    """Imputed-UCB, which cannot retract feedback: its ages are those of the pulls that are left, and with none left its
    next decisions are those of a fresh learner."""
    learner, fresh = Learner(3, policy, 0), Learner(3, policy, 0)
    pulls = [(*learner.decide(), number) for number in range(50)]
    for pull in pulls:
        learner.retract(*pull)
    ages = [delay_record.RECORD + delay_record.WIDTH * octave for octave in range(delay_record.OCTAVES)]
    assert all(not learner.state.memory[:, column : column + delay_record.BLOCKS].any() for column in ages)
    assert learner.state.memory[-1, imputed_index.SUM_OF_SHARES] == 0.0
    fresh.decisions = learner.decisions
    assert [learner.decide() for _ in range(50)] == [fresh.decide() for _ in range(50)]


@pytest.mark.parametrize("policy", EVERY, ids=repr)
def test_sums_stay_in_range(policy: Policy) -> None:
    """Rewards that are no whole parts of 2: what was added in one order and taken away in another is off by the last
    bit, and must not leave the range for all that."""
    for seed in range(20):
        life = Life(policy, 3, seed, (0.1, 0.2, 0.3, 0.7, 1.0 / 3.0, 0.0, 1.0))
        for _ in range(200):
            life.step()
            for (pulls, observed, total), (m, n, s) in zip(life.known(), life.counts(), strict=True):
                assert (pulls, observed) == (m, n)
                assert 0.0 <= total <= observed
                assert total == pytest.approx(s, abs=1e-12)


def test_an_answer_that_silence_gave_and_nothing_else_is_replaced() -> None:
    learner = Learner(1, ThompsonSampling(successes=1e-100, failures=1e-100), 0)
    for number in range(3):
        arm, rank = learner.decide()
        learner.observe(arm, 0.1, rank, number)
    for number in range(3):
        learner.replace_reward(0, number, number, 0.1, 0.0)
    assert 0.0 <= learner.state.total[0] < 1e-16
    lower, upper, _, _ = learner.bounds(0)
    assert 0.0 <= lower <= upper <= 1.0
    assert learner.decide()[0] == 0


@pytest.mark.parametrize("policy", [policy for policy in EVERY if policy.supports_new_arms], ids=repr)
@pytest.mark.parametrize("arms", [1, 3, 64, 70])
def test_added_arm_equals_an_original_one(policy: Policy, arms: int) -> None:
    """A learner that got an arm later is to the bit one that is told the same counts at the larger size."""
    life = Life(policy, arms, 4, EXACT)
    for _ in range(200):
        life.step()
    before, kept = life.known(), life.learner.state.memory.copy()
    life.learner.add_arm()
    assert life.learner.arms == arms + 1
    assert life.known() == [*before, [0.0, 0.0, 0.0]]
    other = Learner(arms + 1, policy, 4)
    other.decisions = life.learner.decisions
    other.state.memory[:arms], other.state.memory[arms + 1] = kept[:arms], kept[arms]
    for arm, (pulls, observed, total) in enumerate(before):
        other._correct(arm, 0, 0, 0, 0.0, 0.0)
        other._correct(arm, -1, 0, int(pulls), observed, total)
    assert [life.learner.decide() for _ in range(50)] == [other.decide() for _ in range(50)]
    assert life.learner.to_bytes() == other.to_bytes()
    if isinstance(policy, IndexPolicy):
        assert life.learner.state.pulls[arms] > 0  # it is tried before all others


@register
class KnowsAllArms(IndexPolicy):
    """Keeps a number for each pair of arms."""

    label = "knows all arms"

    def memory(self, arms: int, horizon: int | None) -> int:
        return arms

    @staticmethod
    def index(policy: Any, arm: Any) -> Any:
        return -arm.pulls


@pytest.mark.parametrize("policy", [KnowsAllArms(), SuccessiveElimination()], ids=repr)
def test_an_arm_that_cannot_be_added_changes_nothing(policy: Policy) -> None:
    learner = Learner(2, policy, 0)
    before = learner.to_bytes()
    assert not learner.supports_new_arms
    with pytest.raises(StateError, match="no arm can be added to its 2; start again with all arms"):
        learner.add_arm()
    assert learner.to_bytes() == before


@pytest.mark.parametrize("policy", EVERY, ids=repr)
@pytest.mark.parametrize("arms", [1, 4, 70])
def test_saved_learner_continues_with_the_same_bits(policy: Policy, arms: int) -> None:
    life = Life(policy, arms, 5, (0.1, 0.2, 0.7))
    for _ in range(150):
        life.step()
    data = life.learner.to_bytes()
    other = Life(policy, arms, 5, (0.1, 0.2, 0.7))
    other.learner = Learner(arms + 3, policy, 5)
    other.learner.load(data)
    assert other.learner.to_bytes() == data
    other.chance.setstate(life.chance.getstate())
    other.pending, other.answered = life.pending.copy(), life.answered.copy()
    for _ in range(150):
        life.step()
        other.step()
        assert life.learner.to_bytes() == other.learner.to_bytes()


def test_damaged_state_is_refused() -> None:
    learner = Learner(3, UCB(confidence=0.05), 0)
    data = learner.to_bytes()
    for place in range(0, len(data), 7):
        wrong = bytearray(data)
        wrong[place] ^= 1
        with pytest.raises(StateError, match="damaged"):
            learner.load(bytes(wrong))
    for wrong_size in (b"", data[:40], data[:-1], data + b"x"):
        with pytest.raises(StateError, match="damaged"):
            learner.load(wrong_size)
    assert learner.to_bytes() == data
    code = data.index(b'"state": "') + len(b'"state": "')
    whole = data[32:code] + b"UCB 0, for" + data[code + len(b"UCB 0, for") :]
    with pytest.raises(StateError, match="another version of the policy"):
        learner.load(hashlib.sha256(whole).digest() + whole)


def digest() -> str:
    """Of all states on the way of lives with every policy."""
    found = hashlib.sha256()
    for policy in EVERY:
        for arms in (3, 66):
            life = Life(policy, arms, 6, (0.1, 0.25, 1.0))
            for step in range(60):
                life.step()
                if step == 30 and life.learner.supports_new_arms:
                    life.learner.add_arm()
                for array in life.learner.state:
                    found.update(np.asarray(array).tobytes())
    return found.hexdigest()


def test_same_bits_without_compilation() -> None:
    code = "import sys; sys.path[:0] = sys.argv[1:]; import test_learner; print(test_learner.digest())"
    ended = subprocess.run(
        [sys.executable, "-c", code, *sys.path],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == digest()
