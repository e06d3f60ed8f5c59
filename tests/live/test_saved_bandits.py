"""Bandits as plain data: restored ones go on with the same bits; damaged ones are refused."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from belated import Bandit
from belated.errors import BelatedError, ConflictingFeedback, FeedbackError, StateError
from belated.policies import UCB, Policy, SuccessiveElimination, ThompsonSampling
from support.bandits import NAMES, played
from transcript import PLAYERS

policies = pytest.mark.parametrize("policy", PLAYERS, ids=repr)
REWARDS = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0.0, 1.0))


def through_json(bandit: Bandit) -> Bandit:
    """The bandit after a trip through JSON text."""
    return Bandit.from_dict(json.loads(json.dumps(bandit.to_dict(), allow_nan=False)))


@policies
def test_restored_bandits_continue_with_the_same_bits(policy: Policy) -> None:
    bandit = played(policy, 200)
    other = through_json(bandit)
    assert other.to_dict() == bandit.to_dict()
    assert other.summary() == bandit.summary()
    assert (other.arms, other.policy, other.seed) == (bandit.arms, bandit.policy, bandit.seed)
    rng = np.random.default_rng(0)
    for _ in range(150):
        decision = bandit.choose()
        assert other.choose() == decision
        reward = float(rng.random())
        for one in (bandit, other):
            one.observe(decision.id, reward)
    late = [number for number in range(200) if _unanswered(bandit, number)]
    for one in (bandit, other):
        one.observe_many([(number, 0.5) for number in late])
    assert bandit.choose(50) == other.choose(50)
    assert other.summary() == bandit.summary()


def _unanswered(bandit: Bandit, number: int) -> bool:
    answered = {id for _, id, _ in bandit.to_dict()["answers"]}
    return number not in answered


@pytest.mark.parametrize("arms", [1, 2, 64, 65, 130])
def test_any_number_of_arms(arms: int) -> None:
    bandit = Bandit([f"arm {number}" for number in range(arms)], UCB(confidence=0.3))
    for number in range(300):
        decision = bandit.choose()
        if number % 3:
            bandit.observe(decision.id, (number % 7) / 7)
    other = through_json(bandit)
    assert other.choose(200) == bandit.choose(200)


def test_bandit_without_decisions() -> None:
    bandit = Bandit(NAMES, UCB(), seed=2**90)
    assert through_json(bandit).to_dict() == bandit.to_dict()
    assert through_json(bandit).choose(10) == bandit.choose(10)


class Twins(RuleBasedStateMachine):
    """A bandit and one that is written down and read again at random moments: nobody can tell them apart."""

    @initialize(policy=st.sampled_from(PLAYERS), seed=st.integers(0, 2**70), arms=st.sampled_from([1, 2, 3, 70]))
    def begin(self, policy: Policy, seed: int, arms: int) -> None:
        names = [f"arm {number}" for number in range(arms)]
        self.bandit, self.twin = Bandit(names, policy, seed=seed), Bandit(names, policy, seed=seed)
        self.arms: list[str] = []
        self.rewards: dict[int, float] = {}

    @rule(n=st.one_of(st.none(), st.integers(0, 30)))
    def choose(self, n: int | None) -> None:
        found = self.bandit.choose() if n is None else self.bandit.choose(n)
        assert (self.twin.choose() if n is None else self.twin.choose(n)) == found
        new = [found] if n is None else found
        assert [decision.id for decision in new] == list(range(len(self.arms), len(self.arms) + len(new)))  # type: ignore[union-attr]
        self.arms += [decision.arm for decision in new]  # type: ignore[union-attr]

    @precondition(lambda self: len(self.rewards) < len(self.arms))
    @rule(data=st.data(), reward=REWARDS)
    def observe(self, data: st.DataObject, reward: float) -> None:
        number = data.draw(st.sampled_from([n for n in range(len(self.arms)) if n not in self.rewards]))
        for one in (self.bandit, self.twin):
            one.observe(number, reward)
        self.rewards[number] = reward

    @precondition(lambda self: len(self.rewards) < len(self.arms))
    @rule(data=st.data())
    def observe_many(self, data: st.DataObject) -> None:
        ids = st.sampled_from(range(len(self.arms)))
        numbers = data.draw(st.lists(ids, min_size=1, max_size=10))
        batch = [(number, self.rewards.setdefault(number, data.draw(REWARDS))) for number in numbers]
        assert self.bandit.observe_many(batch) == self.twin.observe_many(batch)

    @precondition(lambda self: self.rewards)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.rewards)))
        self.bandit.observe(number, self.rewards[number])
        other = 0.77 if self.rewards[number] != 0.77 else 0.5
        with pytest.raises(ConflictingFeedback):
            self.bandit.observe(number, other)

    @rule(id=st.one_of(st.integers(-5, -1), st.integers(1000, 2**70)), reward=st.sampled_from([0.5, math.nan, 2.0]))
    def refuse(self, id: int, reward: float) -> None:
        with pytest.raises(FeedbackError):
            self.bandit.observe(id, reward)

    @rule()
    def write_down_and_read(self) -> None:
        self.twin = through_json(self.twin)

    @invariant()
    def alike(self) -> None:
        if not hasattr(self, "bandit"):
            return
        assert self.bandit.summary() == self.twin.summary()
        assert self.bandit.to_dict() == self.twin.to_dict()
        assert self.bandit.decisions == len(self.arms)
        assert self.bandit.pending == len(self.arms) - len(self.rewards)


Twins.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestTwins = Twins.TestCase


# ---- damage ----


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside lists and dictionaries."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(data: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy with another value at the path."""
    found = copy.deepcopy(data)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return found


JUNK = [None, "x", math.nan, -1, 10**9, 10**30, [], {}, [[]], 0.5j]


@pytest.mark.parametrize("policy", [SuccessiveElimination(confidence=0.1), UCB(), ThompsonSampling()], ids=repr)
def test_damage_is_detected(policy: Policy) -> None:
    """Anything that cannot be there, anywhere but in the version and the names, is refused."""
    saved = json.loads(json.dumps(played(policy, 12).to_dict()))
    skipped = {"version", "policy", "arms", "seed"}
    tried = 0
    for path in places(saved):
        if path[0] in skipped and path not in (("policy",), ("arms",)):
            continue
        for junk in JUNK:
            tried += 1
            with pytest.raises(StateError) as caught:
                Bandit.from_dict(changed(saved, path, junk))
            assert isinstance(caught.value, BelatedError)
            assert isinstance(caught.value, ValueError)
    assert tried > 100


def test_missing_keys_are_detected() -> None:
    saved = played(UCB()).to_dict()
    assert set(saved) >= {"format", "version", "arms", "policy", "seed"}
    for name in set(saved) - {"version"}:
        with pytest.raises(StateError, match=name):
            Bandit.from_dict({other: value for other, value in saved.items() if other != name})


@pytest.mark.parametrize("format", [0, 2**40, "1", None, -1])
def test_other_formats(format: Any) -> None:
    with pytest.raises(StateError, match="format"):
        Bandit.from_dict({**played(UCB()).to_dict(), "format": format})


@pytest.mark.parametrize("data", [None, [], 5, "abc", {}, b"", [1, 2]], ids=repr)
def test_not_a_bandit(data: Any) -> None:
    with pytest.raises(StateError, match="not a saved bandit"):
        Bandit.from_dict(data)


@pytest.mark.parametrize(
    "spec",
    [
        {"policy": "Nobody"},
        {},
        {"policy": "UCB", "confidence": -1.0},
        {"policy": "UCB", "colour": 3},
        {"policy": 5},
        {"policy": "os:system"},
        {"policy": "json:loads"},
        {"policy": "json:JSONDecoder"},
        {"policy": "no.such.module:Policy"},
    ],
    ids=repr,
)
def test_unknown_policies(spec: dict[str, Any]) -> None:
    with pytest.raises(StateError):
        Bandit.from_dict({**played(UCB()).to_dict(), "policy": spec})


@pytest.mark.parametrize("arms", [["red"], ["red", "green"], [*NAMES, "white"], ["a", "a", "b"], "rgb"], ids=repr)
def test_other_arms(arms: Any) -> None:
    with pytest.raises(StateError):
        Bandit.from_dict({**played(UCB()).to_dict(), "arms": arms})


@pytest.mark.parametrize("seed", [-1, 0.5, "0", None, True])
def test_other_seeds(seed: Any) -> None:
    with pytest.raises(StateError):
        Bandit.from_dict({**played(ThompsonSampling()).to_dict(), "seed": seed})
    with pytest.raises(StateError):
        Bandit.from_dict({**played(ThompsonSampling(), 60).to_dict(), "seed": 12345})


def test_data_is_not_modified() -> None:
    saved = played(UCB()).to_dict()
    before = copy.deepcopy(saved)
    bandit = Bandit.from_dict(saved)
    bandit.choose(10)
    bandit.observe(60, 1.0)
    assert saved == before
