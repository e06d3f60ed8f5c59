"""The contract of the live bandit: what is accepted, what is refused, and that a refused call changes nothing."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from belated import Bandit, Decision
from belated.errors import (
    BelatedError,
    ConflictingFeedback,
    FeedbackError,
    InvalidParameter,
    InvalidReward,
    UnknownDecision,
)
from belated.policies import (
    UCB,
    ImputedUCB,
    OptimisticPessimisticElimination,
    Policy,
    PrefixPolicy,
    SuccessiveElimination,
    ThompsonSampling,
    UniformChoice,
    default_policy,
)
from support.bandits import NAMES, played
from transcript import PLAYERS

policies = pytest.mark.parametrize("policy", PLAYERS, ids=repr)


def first_pending(bandit: Bandit) -> int:
    """The id of a decision without an answer: the last one."""
    return bandit.decisions - 1


# ---- what is accepted ----


@policies
def test_decisions_are_numbered_and_named(policy: Policy) -> None:
    bandit = Bandit(NAMES, policy)
    for number in range(20):
        decision = bandit.choose()
        assert isinstance(decision, Decision)
        assert decision == (number, decision.arm)
        assert decision.arm in NAMES
    assert bandit.decisions == bandit.pending == 20
    bandit.observe(7, 0.5)
    assert (bandit.decisions, bandit.pending) == (20, 19)


@policies
def test_batch_equals_single_decisions(policy: Policy) -> None:
    one, other = played(policy), played(policy)
    assert one.choose(25) == [other.choose() for _ in range(25)]
    assert one.choose(0) == []
    assert one.choose(np.int64(2)) == other.choose(2)
    assert one.to_dict() == other.to_dict()


@policies
def test_same_feedback_twice_counts_once(policy: Policy) -> None:
    bandit = played(policy)
    number = first_pending(bandit)
    bandit.observe(number, 1.0)
    before = bandit.to_dict()
    for again in (1.0, 1, True, np.float32(1.0), np.bool_(True)):
        bandit.observe(number, again)
        assert bandit.observe_many([(number, again)]) == 0
    assert bandit.to_dict() == before


@pytest.mark.parametrize(
    "reward", [0, 1, 0.0, 1.0, -0.0, 0.3, True, np.float32(0.5), np.int8(1), np.bool_(False), 5e-324]
)
def test_rewards_of_every_numeric_type(reward: Any) -> None:
    bandit = Bandit(NAMES, UCB())
    bandit.observe(bandit.choose().id, reward)
    assert bandit.summary()[0].mean == float(reward)


def test_ids_of_numpy() -> None:
    bandit = Bandit(NAMES, UCB())
    bandit.choose(3)
    bandit.observe(np.int64(1), 0.5)
    bandit.observe_many({np.uint8(2): 0.25})
    assert [arm.observed for arm in bandit.summary()] == [0, 1, 1]


def test_observe_many() -> None:
    bandit, other = played(UCB(), 10), played(UCB(), 10)
    pending = [arm.pending for arm in bandit.summary()]
    assert bandit.observe_many([(9, 0.5), (8, 0.25), (9, 0.5)]) == 2
    assert bandit.observe_many({7: 1.0, 9: 0.5}) == 1
    assert bandit.observe_many((id, reward) for id, reward in [(8, 0.25)]) == 0
    assert bandit.observe_many([]) == 0
    assert bandit.observe_many([[6, 1]]) == 1  # type: ignore[list-item]
    for number, reward in ((9, 0.5), (8, 0.25), (7, 1.0), (6, 1)):
        other.observe(number, reward)
    assert bandit.to_dict() == other.to_dict()
    assert sum(pending) - bandit.pending == 4


@pytest.mark.parametrize("policy", [ThompsonSampling(), UniformChoice()], ids=repr)
def test_seeds(policy: Policy) -> None:
    arms = {seed: [d.arm for d in Bandit(NAMES, policy, seed=seed).choose(200)] for seed in (0, 1, 2**80)}
    assert arms[0] != [d.arm for d in Bandit(NAMES, policy).choose(200)]
    assert arms[0] != arms[1] != arms[2**80] != arms[0]


# ---- what is refused ----

BAD_IDS = [-1, 60, 10**30, "0", None, 0.0, 1.0, True, math.nan, (0,), np.float64(1.0)]
BAD_REWARDS = [
    math.nan,
    math.inf,
    -math.inf,
    -0.1,
    1.1,
    2,
    -1,
    1 + 1e-15,
    "1",
    "",
    None,
    [1.0],
    1j,
    10**400,
    -(10**400),
]
BAD_REWARDS += [np.float64("nan"), np.array([0.5]), Decimal("0.5"), Fraction(1, 2), {}]


def assert_refused(bandit: Bandit, error: type[Exception], call: Any, *fragments: str) -> None:
    """The call raises this error, tells what was given, and leaves the bandit as it was."""
    before, twin = bandit.to_dict(), Bandit.from_dict(bandit.to_dict())
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, BelatedError)
    assert isinstance(caught.value, ValueError)
    for fragment in fragments:
        assert fragment in str(caught.value)
    assert bandit.to_dict() == before
    assert bandit.summary() == twin.summary()


@policies
def test_refused_calls_change_nothing(policy: Policy) -> None:
    bandit, twin = played(policy), played(policy)
    assert_refused(bandit, UnknownDecision, lambda: bandit.observe(1000, 0.5))
    assert_refused(bandit, InvalidReward, lambda: bandit.observe(first_pending(bandit), 1.5))
    assert_refused(bandit, InvalidParameter, lambda: bandit.choose(-1))
    assert bandit.choose(30) == twin.choose(30)


@pytest.mark.parametrize("id", BAD_IDS, ids=repr)
def test_unknown_ids(id: Any) -> None:
    bandit = played(UCB())
    assert_refused(bandit, UnknownDecision, lambda: bandit.observe(id, 0.5), repr(id), "from 0 to 59")
    assert_refused(bandit, UnknownDecision, lambda: bandit.observe_many([(59, 0.5), (id, 0.5)]), repr(id))
    assert issubclass(UnknownDecision, FeedbackError)


def test_an_id_before_the_first_decision() -> None:
    bandit = Bandit(NAMES, UCB())
    assert_refused(bandit, UnknownDecision, lambda: bandit.observe(0, 0.5), "0", "no decision")


@pytest.mark.parametrize("reward", BAD_REWARDS, ids=lambda value: repr(value)[:20])
def test_bad_rewards(reward: Any) -> None:
    bandit = played(UCB())
    number = first_pending(bandit)
    assert_refused(bandit, InvalidReward, lambda: bandit.observe(number, reward), repr(reward), str(number), "[0, 1]")
    assert_refused(bandit, InvalidReward, lambda: bandit.observe_many([(58, 0.5), (number, reward)]), repr(reward))
    assert issubclass(InvalidReward, FeedbackError)


def test_another_reward_for_the_same_decision() -> None:
    bandit = played(UCB())
    number = first_pending(bandit)
    bandit.observe(number, 0.25)
    assert_refused(bandit, ConflictingFeedback, lambda: bandit.observe(number, 0.5), str(number), "0.25", "0.5")
    assert_refused(bandit, ConflictingFeedback, lambda: bandit.observe_many([(number, 0.5)]), "0.25", "0.5")
    assert_refused(bandit, InvalidReward, lambda: bandit.observe(number, math.nan), "nan")
    assert issubclass(ConflictingFeedback, FeedbackError)


def test_observe_many_is_all_or_nothing() -> None:
    bandit = played(UCB())
    pending = [number for number in range(55, 60) if is_pending(bandit, number)]
    assert len(pending) >= 2
    good = [(number, 0.5) for number in pending]
    bad: list[tuple[type[Exception], Any]] = [
        (UnknownDecision, [*good, (99, 0.5)]),
        (InvalidReward, [*good, (pending[0], 7.0)]),
        (ConflictingFeedback, [*good, (pending[0], 0.75)]),
        (InvalidParameter, [*good, 5]),
        (InvalidParameter, [*good, (1, 2, 3)]),
        (InvalidParameter, [*good, None]),
        (InvalidParameter, 5),
        (InvalidParameter, None),
        (UnknownDecision, {**dict(good), 99: 0.5}),
    ]
    for error, feedback in bad:
        assert_refused(bandit, error, lambda feedback=feedback: bandit.observe_many(feedback))
    assert bandit.observe_many(good) == len(good)


def is_pending(bandit: Bandit, number: int) -> bool:
    """Whether a decision has no answer, asked of a copy."""
    try:
        return Bandit.from_dict(bandit.to_dict()).observe_many([(number, 0.9871)]) == 1
    except ConflictingFeedback:
        return False


def test_iterator_that_fails() -> None:
    bandit = played(UCB())

    def feed() -> Any:
        yield first_pending(bandit), 0.5
        raise ConnectionError("gone")

    before = bandit.to_dict()
    with pytest.raises(ConnectionError):
        bandit.observe_many(feed())
    assert bandit.to_dict() == before


@pytest.mark.parametrize("n", [-1, 1.5, 2.0, "3", True, [1], math.nan], ids=repr)
def test_bad_batches(n: Any) -> None:
    bandit = played(UCB())
    assert_refused(bandit, InvalidParameter, lambda: bandit.choose(n), repr(n), ">= 0")


@pytest.mark.parametrize(
    ("arms", "fragment"),
    [
        ([], "[]"),
        ("red", "'red'"),
        (None, "None"),
        (3, "3"),
        (["a", "a"], "arms[1] is 'a'"),
        (["a", ""], "arms[1]"),
        (["a", [2]], "arms[1] is [2]"),
        ({"a", "b"}, "arms"),
    ],
)
def test_bad_arms(arms: Any, fragment: str) -> None:
    with pytest.raises(InvalidParameter, match="arms") as caught:
        Bandit(arms, UCB())
    assert fragment in str(caught.value)


@pytest.mark.parametrize("policy", [UCB, "UCB", False, 3], ids=repr)
def test_bad_policies(policy: Any) -> None:
    with pytest.raises(InvalidParameter, match="policy"):
        Bandit(NAMES, policy)
    with pytest.raises(InvalidParameter, match="seed"):
        Bandit(NAMES, UCB(), seed=-1)


def test_default_policy() -> None:
    """The usual one then: to the bit the same, saved and restored too."""
    bandit, named = Bandit(NAMES, seed=2), Bandit(NAMES, ImputedUCB(confidence="anytime"), seed=2)
    assert bandit.policy == named.policy == default_policy()
    chance = np.random.default_rng(0)
    for _ in range(50):
        each = bandit.choose()
        assert named.choose() == each
        reward = float(chance.random())
        if each.id % 3:
            bandit.observe(each.id, reward)
            named.observe(each.id, reward)
    assert bandit.summary() == named.summary()
    assert bandit.to_dict() == named.to_dict()
    assert Bandit.from_dict(bandit.to_dict()).choose(20) == named.choose(20)


# ---- the summary ----


@policies
def test_summary_is_read_only(policy: Policy) -> None:
    """Two that live the same are the same to the bit, whether somebody looks at one of them or not."""
    bandit, twin = (Bandit(NAMES, policy, seed=1) for _ in range(2))
    for number in range(80):
        assert bandit.choose() == twin.choose()
        if number % 3 == 2:  # late, and not all of them
            for each in (bandit, twin):
                each.observe(number // 2, 0.25)
        before = bandit._learner.to_bytes()
        bandit.summary()
        assert bandit._learner.to_bytes() == before == twin._learner.to_bytes()


@policies
def test_summary_names_the_prefixes_of_bounds(policy: Policy) -> None:
    bandit = Bandit(NAMES, policy)
    bandit.observe_many([(decision.id, 0.5) for decision in bandit.choose(200)[:150]])
    for arm in bandit.summary():
        if isinstance(policy, PrefixPolicy):
            assert arm.lower_from in range(1, arm.pulls + 1)
            assert arm.upper_from in range(1, arm.pulls + 1)
        else:
            assert (arm.lower_from, arm.upper_from) == (None, None)


@policies
def test_summary_counts(policy: Policy) -> None:
    bandit = Bandit(NAMES, policy, seed=3)
    decisions = bandit.choose(40)
    answers = {decision.id: 0.125 * (decision.id % 9) for decision in decisions[::3]}
    bandit.observe_many(answers)
    for name, arm in zip(NAMES, bandit.summary(), strict=True):
        ids = [decision.id for decision in decisions if decision.arm == name]
        got = [answers[id] for id in ids if id in answers]
        assert (arm.arm, arm.pulls, arm.observed, arm.pending) == (name, len(ids), len(got), len(ids) - len(got))
        assert arm.mean == (pytest.approx(math.fsum(got) / len(got), rel=1e-15) if got else None)
        assert 0.0 <= arm.lower <= 1.0
        assert 0.0 <= arm.upper <= 1.0
        assert arm.lower <= arm.upper or arm.lower_from is not None  # those of prefixes may cross where c is small
        assert arm.active == (arm.eliminated_at is None)
    assert bandit.pending == sum(arm.pending for arm in bandit.summary())


def test_summary_bounds_are_the_formulas() -> None:
    """S/n and S/m with their radii, valid at all times without a horizon; cut to [0, 1]."""
    for cls in (UCB, SuccessiveElimination, OptimisticPessimisticElimination):
        policy = cls(confidence="theory")
        bandit = Bandit(["a", "b"], policy)
        bandit.observe_many([(decision.id, 0.4) for decision in bandit.choose(4000)[:3000]])
        for arm in bandit.summary():
            m, n = arm.pulls, arm.observed
            total = 0.4 * n
            opse = isinstance(policy, OptimisticPessimisticElimination)
            x = m if opse else max(n, 1)
            radius = math.sqrt(2 * (math.log(math.pi**2 * 2 * x**2 / (3 * 0.05)) / 4) / x)
            lower, upper = total / x - radius, total / x + radius + ((m - n) / m if opse else 0.0)
            assert arm.lower == pytest.approx(min(max(lower, 0.0), 1.0), rel=1e-12)
            assert arm.upper == pytest.approx(min(max(upper, 0.0), 1.0), rel=1e-12)


def test_summary_shows_eliminations() -> None:
    bandit = Bandit(["bad", "good", "fair"], SuccessiveElimination(confidence=0.5))
    means = {"bad": 0.0, "good": 1.0, "fair": 0.7}
    decisions = []
    for _ in range(400):
        decision = bandit.choose()
        decisions.append(decision)
        bandit.observe(decision.id, means[decision.arm])
    bad, good, fair = bandit.summary()
    assert good.active
    for gone in (bad, fair):
        assert gone.eliminated_at is not None
        last = max(decision.id for decision in decisions if decision.arm == gone.arm)
        assert last + 1 < gone.eliminated_at <= last + 4
    assert bad.eliminated_at < fair.eliminated_at  # type: ignore[operator]
    pulls = bad.pulls
    bandit.observe_many([(decision.id, means[decision.arm]) for decision in bandit.choose(10)])
    assert bandit.summary()[0].pulls == pulls


def test_bandit_continues_in_a_fresh_process() -> None:
    """What a service does after a restart."""
    bandit = played(ThompsonSampling(successes=2.0))
    script = "import json, sys; from belated import Bandit; bandit = Bandit.from_dict(json.load(sys.stdin))"
    command = [sys.executable, "-c", f"{script}; print(json.dumps(bandit.choose(50)))"]
    saved = json.dumps(bandit.to_dict())
    found = subprocess.run(command, input=saved, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == [list(decision) for decision in bandit.choose(50)]
