"""Pending-UCB: the Bernoulli bound without delays, silent arms, patience, lost feedback, retracted pulls."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Bandit, Problem, simulate
from belated.delays import Fixed, Never, PacketLoss
from belated.errors import BelatedWarning
from belated.kernel.jit import ignore_overflow
from belated.live.learner import Learner
from belated.policies import UCB, PendingUCB
from belated.policies._base.kl_bound import kl_upper
from belated.policies.pending_ucb import (
    AGES,
    ARMS_WITH_FEEDBACK,
    BUDGET,
    FEEDBACK_COUNT,
    FEEDBACK_TOTAL,
    LONGEST_DELAY,
    LOWEST,
    MEAN,
    SHARE,
    SUM_OF_SHARES,
)
from belated.rewards import Bernoulli, Beta, Uniform
from sampling import Prefetched
from support.bernoulli_kl import ERROR, entropy, searched
from support.live import lived
from support.plain_simulator import History, argmax
from support.problems import choices_of

VARIANTS = [PendingUCB(confidence=0.2), PendingUCB(confidence=0.2, patience=12)]


def block_start(pulled_at: int, now: int) -> int:
    """The first round of the block in which a pull is counted: the present one of 2^j rounds, or the one before."""
    level = 0
    while (pulled_at >> level) < (now >> level) - 1:
        level += 1
    return (pulled_at >> level) << level


@dataclass
class ArmRecord:
    """What the policy knows of one arm, with its index as it was last computed."""

    n: int = 0
    S: float = 0.0
    pending: list[int] = field(default_factory=list)  # the rounds of the pulls without feedback
    longest: int = 0  # 1 + the longest delay
    share: float = 0.0
    index: float = math.inf
    check: float = math.inf

    def younger(self, rounds: float, now: int) -> int:
        first = bisect_right(self.pending, now - rounds)  # a block is as old as its pulls, or older
        return sum(now - block_start(at, now) < rounds for at in self.pending[first:])


def rule(history: History) -> Iterator[int]:
    """The Bernoulli bound, computed when an arm is pulled, has feedback or is checked; if silent, also when another arm
    has its first feedback."""
    arms = [ArmRecord() for _ in range(history.arms)]
    shares, total, read = 0.0, 0.0, 0

    def refresh(arm: ArmRecord, now: int) -> None:
        nonlocal shares
        rounds = float(history.policy.patience or 4 * max(of.longest for of in ([arm] if arm.n else arms)))
        young = arm.younger(rounds, now) if arm.n else len(arm.pending)
        x = float(arm.n + young)
        if arm.n:
            share = min(arm.n / max(arm.n + len(arm.pending) - young, 1), 1.0)
            shares += share - arm.share
            arm.share = share
            mean = (arm.S + 0.5) / (arm.n + 1.0)
            x *= max(min(4.0, history.arms / max(shares, 1e-9), 1.0 / max(share, 1e-9)), 1.0)
        else:
            silent = sum(other.n == 0 for other in arms)
            old = len(arm.pending) - arm.younger(rounds, now) if rounds else 0
            average = min((total + 0.5) / (sum(of.n for of in arms) + 1.0), 0.5)
            mean = average * 300.0 / (300.0 + old) if old else 0.5 + 0.5 / silent
        x = max(x, 1.0)
        with ignore_overflow():
            arm.index = float(kl_upper(mean, 4.0 * history.c(x) / x))
        checked = rounds > 0.0 and young > 0 and arm.pending
        arm.check = now + max(1.0, math.floor(0.125 * rounds)) if checked else math.inf

    while True:
        for number, _, pulled_at, now, reward in history.log[read:]:
            arm = arms[number]
            arm.n, arm.S, arm.longest = arm.n + 1, arm.S + reward, max(arm.longest, now - pulled_at)
            arm.pending.remove(pulled_at)
            total += reward
            if arm.n == 1:
                for other in arms:
                    if other.n == 0 and other.pending:
                        refresh(other, now)
            refresh(arm, now)
        read = len(history.log)
        now = history.now
        for arm in arms:
            if now >= arm.check:
                refresh(arm, now)
        chosen = argmax([arm.index for arm in arms])
        yield chosen
        arm = arms[chosen]
        if not arm.n and not arm.pending:
            arm.share = 1.0
            shares += 1.0
        arm.pending.append(now)
        refresh(arm, now)


def indices(state: Any) -> list[float]:
    """The index of each arm that was pulled, infinite of another: the state has bounds of it."""
    with ignore_overflow():
        return [
            float(kl_upper(state.memory[arm, MEAN], state.memory[arm, BUDGET])) if state.pulls[arm] else math.inf
            for arm in range(state.arms)
        ]


@pytest.mark.parametrize("c", [0.1, 1.0])
def test_without_delays_each_index_is_the_coins_bound(c: float) -> None:
    """Each arm once, then the largest q with n kl((S + 1/2) / (n + 1), q) <= 4c."""
    problem, horizon = Problem([Beta(2, 3), Uniform(0.3, 0.9), Beta(5, 4)], Fixed(0)), 400
    draws = Prefetched(problem, horizon=horizon, seed=3, run=0)
    seen: list[list[float]] = [[] for _ in range(problem.arms)]
    chosen = []
    for now in range(1, horizon + 1):
        found = [
            searched((math.fsum(values) + 0.5) / (len(values) + 1), 4.0 * c / len(values)) if values else math.inf
            for values in seen
        ]
        arm = found.index(max(found))
        seen[arm].append(draws.pull(arm, len(seen[arm]), now)[0])
        chosen.append(arm)
    result = simulate(problem, PendingUCB(confidence=c), horizon=horizon, runs=1, seed=3, checkpoints=horizon)
    assert choices_of(problem, result.curves[0, 0]) == chosen
    assert min(chosen.count(arm) for arm in range(3)) > 5


# ---- silence ----


def pulls_of_a_silent_arm(policy: PendingUCB, rounds: int, quick: float = 0.9) -> int:
    """One arm never answers, three do at once."""
    bandit = Bandit(["silent", "a", "b", "c"], policy)
    for _ in range(rounds):
        decision = bandit.choose()
        if decision.arm != "silent":
            bandit.observe(decision.id, quick)
    return bandit.summary()[0].pulls


@pytest.mark.parametrize("patience", [8, 40, 200, 1000])
def test_a_silent_arm_is_pulled_about_as_often_as_patience_has_rounds(patience: int) -> None:
    """While there is hope it is taken for perfect; then for 1/2 at most, and its pulls count as answers."""
    pulls = pulls_of_a_silent_arm(PendingUCB(confidence=0.2, patience=patience), 6000)
    assert patience / 3 <= pulls <= patience + 8


def test_without_patience_hope_ends_with_the_delays_of_the_others() -> None:
    assert pulls_of_a_silent_arm(PendingUCB(confidence=0.2), 6000) <= 12


def test_hope_ends_by_waiting_alone() -> None:
    """The index of an arm that is silent falls once without a pull of it, when its pulls are older than patience."""
    bandit = Bandit(["silent", "silent too", "quick"], PendingUCB(confidence=0.01, patience=30))
    state = bandit._learner.state
    fallen = []
    for now in range(1, 100):
        before = indices(state)
        decision = bandit.choose()
        if decision.arm == "quick":
            bandit.observe(decision.id, 0.9)
            fallen += [(now, arm) for arm in range(2) if indices(state)[arm] < before[arm] - 0.1]
    assert [arm for _, arm in fallen] == [0, 1]
    assert all(10 <= now <= 40 for now, _ in fallen)
    assert state.pulls[:2].max() < 10


def test_an_answer_after_all_brings_an_arm_back() -> None:
    bandit = Bandit(["late", "quick"], PendingUCB(confidence=0.05, patience=10))
    waiting = []
    for _ in range(300):
        decision = bandit.choose()
        if decision.arm == "quick":
            bandit.observe(decision.id, 0.6)
        else:
            waiting.append(decision.id)
    assert 3 <= len(waiting) <= 30
    bandit.observe_many([(id, 1.0) for id in waiting])
    assert [decision.arm for decision in bandit.choose(5)] == ["late"] * 5


@pytest.mark.parametrize("best", [0.9, 0.45, 0.05, 0.01])
@pytest.mark.parametrize("patience", [None, 100])
def test_an_arm_that_never_answers_is_given_up_whatever_the_rates_are(best: float, patience: float | None) -> None:
    problem = Problem([Bernoulli(best), Bernoulli(best / 2)], [Fixed(20), Never()])
    result = simulate(problem, PendingUCB(confidence=1.0, patience=patience), horizon=20_000, runs=10)
    assert result.pulls[0, :, 1].max() < 1500  # of 20,000; taken for 1/2 for ever, nearly all where the rates are low


@pytest.mark.parametrize(("patience", "most"), [(None, 1300), (500, 600)])
def test_a_new_arm_whose_answers_are_lost_takes_as_much_as_the_page_on_the_service_says(
    patience: float | None, most: int
) -> None:
    """Arms of 3 to 5 %, every answer 500 decisions late; the fourth arm is added after 4,000 and never answers."""
    learner, rng = Learner(3, PendingUCB(confidence=1.0, patience=patience), 0), np.random.default_rng(0)
    due: dict[int, tuple[int, float, int, int]] = {}
    new = 0
    for now in range(8000):
        if now == 4000:
            learner.add_arm()
        if now in due:
            learner.observe(*due.pop(now))
        arm, rank = learner.decide()
        if arm < 3:
            due[now + 501] = (arm, float(rng.random() < (0.05, 0.04, 0.03)[arm]), rank, now)
        new += arm == 3
    assert 450 < new < most


# ---- lost answers ----


def times_counted(answered: list[Callable[[int], bool]], c: float = 1.0) -> list[float]:
    """By how much the answers of each arm are counted: from its index, as it is after its last answer."""
    learner = Learner(len(answered), PendingUCB(confidence=c, patience=1), 0)
    state = learner.state
    found = [0.0] * len(answered)
    for number in range(1500 * len(answered)):
        arm, rank = learner.decide()
        if answered[arm](rank):
            learner.observe(arm, 0.5, rank, number)
            n, mean = state.observed[arm], (state.total[arm] + 0.5) / (state.observed[arm] + 1.0)
            found[arm] = 4.0 * c / entropy(mean, indices(state)[arm]) / n
    return found


def every(step: int) -> Callable[[int], bool]:
    return lambda rank: rank % step == step - 1


@pytest.mark.parametrize(("step", "times"), [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (8, 4.0), (20, 4.0)])
def test_where_all_arms_lose_answers_they_count_for_the_lost_up_to_four_times(step: int, times: float) -> None:
    assert times_counted([every(step)] * 3) == pytest.approx([times] * 3, rel=0.04)


def test_where_one_arm_alone_loses_answers_it_counts_for_little_more_than_came() -> None:
    """1 / the average share: 5 / (4 + 1/4)."""
    alone, *others = times_counted([every(4)] + [every(1)] * 4)
    assert alone == pytest.approx(5 / 4.25, rel=0.04)
    assert others == pytest.approx([1.0] * 4, rel=0.001)


def test_lost_answers_are_not_made_up_for() -> None:
    """Where three of four answers are lost, UCB pulls the worse arms almost four times as often in most of the runs,
    and this policy does not."""
    rewards = [Bernoulli(mean) for mean in (0.5, 0.6, 0.7)]
    policies = [PendingUCB(confidence=1.0), UCB(confidence=1.0)]
    problems = [Problem(rewards, law) for law in (Fixed(0), PacketLoss(0.25))]
    full, quarter = (simulate(problem, policies, horizon=6000, runs=200, seed=1) for problem in problems)
    more = np.median(quarter.final, axis=1) / np.median(full.final, axis=1)
    assert more[0] < 1.7
    assert more[1] > 2.2


def test_low_rates_are_told_apart_with_far_fewer_pulls() -> None:
    problem = Problem([Bernoulli(mean) for mean in (0.01, 0.02, 0.06)], Fixed(20))
    result = simulate(problem, [PendingUCB(confidence=1.0), UCB(confidence=1.0)], horizon=20_000, runs=60, seed=2)
    apart = result.difference("UCB", "Pending-UCB")
    assert apart.mean - 4 * apart.stderr > 0
    assert result.mean[0, -1] < result.mean[1, -1] / 3


# ---- what is taken back ----

PATIENCE: Any = st.sampled_from([None, 3.0, 50.0])
EXTRA = st.lists(st.sampled_from(["keep", "keep", "take back", "answer, take back"]), min_size=5, max_size=60)


@strategies.examples(80)
@given(plan=EXTRA, arms=st.sampled_from([1, 2, 3, 66]), data=st.data())
def test_a_pull_that_is_taken_back_leaves_the_choices_as_if_it_had_not_been(
    plan: list[str], arms: int, data: st.DataObject
) -> None:
    """Where all feedback comes at once, no delay and no age is left of it: only rounds have passed. The first pull is
    kept, as the longest delay is never forgotten, and none is known before the first feedback."""
    policy = PendingUCB(confidence=data.draw(st.sampled_from([0.05, 1.0])), patience=data.draw(PATIENCE))
    one, other = Learner(arms, policy, 0), Learner(arms, policy, 0)
    for what in ("keep", *plan):
        number = one.decisions
        arm, rank = one.decide()
        if what == "keep":
            assert other.decide() == (arm, rank)
            reward = data.draw(st.sampled_from([0.0, 0.25, 1.0]))
            one.observe(arm, reward, rank, number)
            other.observe(arm, reward, rank, number)
            continue
        other.decisions += 1
        if what == "take back":
            one.retract(arm, rank, number)
        else:
            one.observe(arm, 0.5, rank, number)
            one.retract(arm, rank, number, 0.5)
    assert [one.decide() for _ in range(arms + 3)] == [other.decide() for _ in range(arms + 3)]


@strategies.examples(80)
@given(data=st.data())
def test_what_is_kept_of_the_arms_is_what_their_pulls_say(data: st.DataObject) -> None:
    """Random histories in which pulls are taken back, answers replaced and arms added."""
    policy = PendingUCB(confidence=data.draw(st.sampled_from([0.01, 1.0])), patience=data.draw(PATIENCE))
    learner = Learner(data.draw(st.integers(1, 3)), policy, 0)
    for logs in lived(learner, data):
        arms, memory = learner.arms, learner.state.memory
        pulls = np.array([len(log) for log in logs])
        observed = np.array([sum(reward is not None for _, reward in log.values()) for log in logs])
        shares = memory[:arms, SHARE]
        assert (shares[(pulls > 0) & (observed == 0)] == 1.0).all()
        assert (shares[pulls == 0] == 0.0).all()
        assert memory[arms, SUM_OF_SHARES] == pytest.approx(shares.sum(), abs=1e-9)
        assert memory[arms, ARMS_WITH_FEEDBACK] == (observed > 0).sum()
        assert memory[arms, FEEDBACK_COUNT] == observed.sum()
        came = math.fsum(reward for log in logs for _, reward in log.values() if reward is not None)
        assert memory[arms, FEEDBACK_TOTAL] == pytest.approx(came, abs=1e-9)
        assert memory[:arms, AGES:LONGEST_DELAY].sum(axis=1).tolist() == (pulls - observed).tolist()


@strategies.examples(80)
@given(data=st.data())
def test_each_index_is_within_its_bounds(data: st.DataObject) -> None:
    policy = PendingUCB(confidence=data.draw(st.sampled_from([0.001, 0.1, 1.0])), patience=data.draw(PATIENCE))
    learner = Learner(data.draw(st.integers(1, 4)), policy, 0)
    for _ in lived(learner, data):
        for arm, index in enumerate(indices(learner.state)):
            if index < math.inf:
                assert learner.state.memory[arm, LOWEST] <= index <= learner.state.score[arm]


@pytest.mark.parametrize("means", [(0.4, 0.6), (0.002, 0.01), (0.99, 0.95)])
@pytest.mark.parametrize("delay", [0, 7])
def test_each_index_is_within_its_bounds_in_a_long_game(means: tuple[float, float], delay: int) -> None:
    learner, rng = Learner(2, PendingUCB(confidence=0.5), 0), np.random.default_rng(1)
    late: list[tuple[int, float, int, int]] = []
    for number in range(3000):
        arm, rank = learner.decide()
        late.append((arm, float(rng.random() < means[arm]), rank, number))
        if number >= delay:
            learner.observe(*late.pop(0))
        low, high = learner.state.memory[:2, LOWEST], learner.state.score[:2]
        if number > 1:
            assert (low <= indices(learner.state)).all()
            assert (indices(learner.state) <= high).all()


def test_where_an_arm_is_silent_again_the_other_silent_ones_are_one_of_more() -> None:
    """Each has a mean of 1/2 + 1/(2 U); U is 4, 3 when one arm has answered, and 4 when that is taken back."""
    learner = Learner(4, PendingUCB(confidence=0.3, patience=1000), 0)
    assert [learner.decide()[0] for _ in range(3)] == [0, 1, 2]
    learner.observe(2, 1.0, 0, 2)
    assert indices(learner.state)[:2] == pytest.approx([searched(0.5 + 0.5 / 3, 1.2)] * 2, abs=ERROR)
    learner.retract(2, 0, 2, 1.0)
    assert indices(learner.state)[:2] == pytest.approx([searched(0.5 + 0.5 / 4, 1.2)] * 2, abs=ERROR)


def test_what_is_taken_back_is_no_longer_hoped_for() -> None:
    """Three pulls of an arm are out and make its index small; without two of them it is chosen again."""
    learner = Learner(2, PendingUCB(confidence=0.3, patience=1000), 0)
    out: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for number in range(40):
        arm, rank = learner.decide()
        if len(out[arm]) < 1 or number > 20:
            out[arm].append((rank, number))
        else:
            learner.observe(arm, 0.5, rank, number)
    before = learner.state.score[:2].copy()
    for rank, number in out[1][1:]:
        learner.retract(1, rank, number)
    after = learner.state.score[:2]
    assert after[0] == before[0]
    assert after[1] > before[1] + 0.02
    assert learner.decide()[0] == 1


SUPERSEDED = (
    r"^Pending-UCB is superseded by ImputedUCB: its regret can be linear where feedback is lost or an arm is silent\. "
    r"Use ImputedUCB, or give no policy for the default\.$"
)


def test_a_new_bandit_is_told_that_it_is_superseded_and_an_old_one_is_not() -> None:
    with pytest.warns(BelatedWarning, match=SUPERSEDED) as seen:
        bandit = Bandit(["a", "b"], PendingUCB(), seed=1)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    for _ in range(5):
        bandit.choose()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = Bandit.from_dict(bandit.to_dict())
        Bandit(["a", "b"], UCB())
        problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(3))
        simulate(problem, [PendingUCB()], horizon=20, runs=2, progress=False)
    assert again.choose() == bandit.choose()
