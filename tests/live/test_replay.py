"""A replay of recorded events takes their arms, and gives the state that living them gave, to the bit."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import Bandit
from belated.errors import BelatedWarning, StateError
from belated.live.learner import Learner, pack_events
from belated.policies import UCB, Policy, ThompsonSampling
from belated.policies._base.entry_points import CANCELLED, DECIDED, NO_REWARD, OBSERVED, REPLACED
from strategies import examples
from support.policies import every_variant

EVERY = every_variant()
IMPUTED = 0.25
Events = list[npt.NDArray[np.float64]]


class RecordedLife:
    """A learner that lives at random, with corrections as far as its policy supports them, and what happened to it."""

    def __init__(self, policy: Policy, arms: int, seed: int) -> None:
        self.learner = Learner(arms, policy, seed)
        self.chance = random.Random(f"{policy} {arms} {seed}")
        self.events: Events = []
        self.pending: list[tuple[int, int, int]] = []
        self.imputed: list[tuple[int, int, int]] = []

    def note(self, kind: int, pull: tuple[int, int, int], reward: float = NO_REWARD) -> None:
        arm, rank, number = pull
        self.events.append(pack_events(kind, arm, number, rank, reward))

    def step(self) -> None:
        chance, learner = self.chance, self.learner
        what = chance.choice(["decide"] * 5 + ["observe"] * 4 + ["impute", "cancel", "cancel imputed", "replace"])
        if what == "decide" or not self.pending:
            number = learner.decisions
            arm, rank = learner.decide()
            self.pending.append((arm, rank, number))
            self.note(DECIDED, (arm, rank, number))
        elif what in ("observe", "impute"):
            pull = self.pending.pop(chance.randrange(len(self.pending)))
            reward = IMPUTED if what == "impute" else chance.choice([0.0, 1.0, chance.random()])
            learner.observe(pull[0], reward, pull[1], pull[2])
            self.note(OBSERVED, pull, reward)
            if what == "impute":
                self.imputed.append(pull)
        elif what == "cancel" and learner.supports_retraction:
            pull = self.pending.pop(chance.randrange(len(self.pending)))
            learner.retract(*pull)
            self.note(CANCELLED, pull)
        elif self.imputed and learner.supports_replacement:
            pull = self.imputed.pop(chance.randrange(len(self.imputed)))
            if what == "replace":
                reward = chance.random()
                learner.replace_reward(*pull, IMPUTED, reward)
                self.note(REPLACED, pull, reward)
            elif what == "cancel imputed":
                learner.retract(*pull, IMPUTED)
                self.note(CANCELLED, pull, IMPUTED)


def replayed(life: RecordedLife, parts: int) -> Learner:
    """Another learner after the same events, in parts."""
    learner = Learner(life.learner.arms, life.learner.policy, life.learner.seed)
    for part in np.array_split(np.concatenate(life.events), parts):
        assert learner.replay(part, imputed=IMPUTED) == (len(part), None)
    return learner


@pytest.mark.parametrize("policy", EVERY, ids=repr)
@given(data=st.data())
@examples(20)
def test_a_replay_gives_the_state_that_living_gave(policy: Policy, data: st.DataObject) -> None:
    arms, seed = data.draw(st.sampled_from([1, 2, 3, 5, 66])), data.draw(st.integers(0, 2**16))
    life = RecordedLife(policy, arms, seed)
    for _ in range(data.draw(st.integers(1, 400))):
        life.step()
    learner = replayed(life, data.draw(st.integers(1, 4)))
    assert learner.to_bytes() == life.learner.to_bytes()
    assert [learner.decide() for _ in range(5)] == [life.learner.decide() for _ in range(5)]


@pytest.mark.parametrize("policy", EVERY, ids=repr)
def test_decisions_that_the_policy_would_not_make_are_taken(policy: Policy) -> None:
    """Whatever another version decided, this one goes on from it, and every arm's counts are those of the events."""
    chance, learner, arms = random.Random(f"{policy}"), Learner(4, policy, 1), 4
    pulls, observed, events = [0] * arms, [0] * arms, []
    for number in range(300):
        arm = chance.randrange(arms)
        events.append(pack_events(DECIDED, arm, number, pulls[arm], NO_REWARD))
        if chance.random() < 0.7:
            events.append(pack_events(OBSERVED, arm, number, pulls[arm], chance.random()))
            observed[arm] += 1
        pulls[arm] += 1
    done, other = learner.replay(np.concatenate(events))
    assert done == len(events)
    assert other is not None
    assert learner.decisions == 300
    assert (learner.counts().pulls.tolist(), learner.counts().observed.tolist()) == (pulls, observed)
    for _ in range(50):
        arm, rank = learner.decide()
        assert rank == pulls[arm]
        pulls[arm] += 1
        learner.observe(arm, 1.0, rank, learner.decisions - 1)


def test_the_first_decision_that_differs_is_told() -> None:
    life = RecordedLife(ThompsonSampling(), 3, 1)
    for _ in range(200):
        life.step()
    events = np.concatenate(life.events)
    other = Learner(3, ThompsonSampling(), 2)
    done, place = other.replay(events, imputed=IMPUTED)
    assert done == len(events)
    assert place is not None
    again = Learner(3, ThompsonSampling(), 2)
    assert again.replay(events[:place], imputed=IMPUTED) == (place, None)
    assert again.decide()[0] != int(events[place, 0]) % 2**32


@pytest.mark.parametrize(
    "wrong",
    [
        pack_events(DECIDED, 0, 3, 1, NO_REWARD),
        pack_events(DECIDED, 0, 2, 0, NO_REWARD),
        pack_events(DECIDED, 2, 2, 0, NO_REWARD),
        pack_events(OBSERVED, 0, 2, 0, 0.5),
        pack_events(OBSERVED, 0, 0, -1, 0.5),
        pack_events(OBSERVED, 0, 0, 1, 0.5),
        pack_events(OBSERVED, 0, 0, 0, NO_REWARD),
        pack_events(OBSERVED, 0, 0, 0, 1.5),
        pack_events(CANCELLED, 0, 0, 0, 2.0),
        pack_events(REPLACED, 0, 0, 0, 0.5),
        pack_events(REPLACED + 1, 0, 0, 0, 0.5),
    ],
    ids=str,
)
def test_an_event_that_cannot_follow_stops_the_replay(wrong: npt.NDArray[np.float64]) -> None:
    learner = Learner(2, UCB(), 0)
    start = np.concatenate([pack_events(DECIDED, arm, arm, 0, NO_REWARD) for arm in (0, 1)])
    assert learner.replay(start) == (2, None)
    before = learner.to_bytes()
    assert learner.replay(wrong)[0] == 0
    assert learner.to_bytes() == before


def test_a_bandit_of_another_version_goes_on_from_its_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit = Bandit(["a", "b", "c"], ThompsonSampling(), seed=1)
    for decision in bandit.choose(40):
        bandit.observe(decision.id, 0.5)
    saved = bandit.to_dict()
    assert "policy_version" not in saved
    saved["seed"] = 2  # as if it decided otherwise
    with pytest.raises(StateError, match="decides otherwise"):
        Bandit.from_dict(saved)
    monkeypatch.setattr(ThompsonSampling, "version", 2)
    with pytest.warns(BelatedWarning, match="version 1 of Thompson made the decisions"):
        restored = Bandit.from_dict(saved)
    assert restored.summary()[0].pulls == bandit.summary()[0].pulls
    assert restored.to_dict() == {**saved, "policy_version": 2}
