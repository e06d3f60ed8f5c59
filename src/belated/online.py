"""The live bandit: the same policies, one decision at a time, while answers are still out."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from belated._version import __version__
from belated.errors import (
    BelatedError,
    ConflictingFeedback,
    InvalidParameter,
    InvalidReward,
    StateError,
    UnknownDecision,
)
from belated.forms import calls
from belated.forms.base import Policy
from belated.forms.state import allocate
from belated.kernel import quietly
from belated.rng import check_seed, seed_words
from belated.spec import policy_spec, read_policy

FORMAT = 1
"""Version of the saved form."""


class Decision(NamedTuple):
    """A decision: its id, to be given back with the feedback, and the arm."""

    id: int
    arm: str


@dataclass(frozen=True)
class ArmSummary:
    """What a bandit knows of one arm. ``lower`` and ``upper`` are the policy's bounds on the mean, cut to [0, 1]."""

    arm: str
    pulls: int
    observed: int
    pending: int
    mean: float | None
    """Mean of the observed rewards; None before the first."""
    lower: float
    upper: float
    active: bool
    eliminated_at: int | None
    """The first decision (1, 2, ...) that could no longer be this arm; None while it is active."""


class Bandit:
    """A live bandit. Choose arms, and report rewards later, in any order, or never.

    The horizon need not be known; a policy that has none uses confidence bounds that are valid at all times. Feedback
    is accepted at any time, once for each decision; the same feedback again changes nothing. A refused call leaves the
    bandit as it was.

    >>> from belated.policies import UCB
    >>> bandit = Bandit(["red", "green"], UCB(confidence=1.0), seed=0)
    >>> first, second = bandit.choose(), bandit.choose()
    >>> first.arm, second.arm
    ('red', 'green')
    >>> bandit.observe(second.id, 1.0)
    >>> [(arm.arm, arm.pulls, arm.observed, arm.pending) for arm in bandit.summary()]
    [('red', 1, 0, 1), ('green', 1, 1, 0)]
    """

    def __init__(self, arms: Sequence[str], policy: Policy, *, seed: int = 0) -> None:
        self.arms = _arm_names(arms)
        if not isinstance(policy, Policy):
            hint = f"{policy.__name__}()" if isinstance(policy, type) else "UCB()"
            raise InvalidParameter(f"policy is {policy!r}; give a policy, such as {hint}.")
        self.policy = policy
        self.seed = check_seed(seed)
        self._parameters = policy.parameters(len(self.arms))
        self._decide = calls.entry_for(calls.decide, type(policy))
        self._answer = calls.entry_for(calls.answer, type(policy))
        self._bounds = calls.entry_for(calls.bounds, type(policy))
        self._state = allocate(len(self.arms), policy.shape())
        with quietly():
            calls.begin(self._state, seed_words(self.seed))
        self._arm_of = array("i")  # of each decision
        self._rank_of = array("q")  # of each decision: how often its arm was pulled before
        self._reward_of = array("d")  # of each decision; NaN while it is pending

    @property
    def decisions(self) -> int:
        """How many decisions were made."""
        return len(self._arm_of)

    @property
    def pending(self) -> int:
        """How many decisions have no feedback yet."""
        return int(self._state.pulls.sum() - self._state.observed.sum())

    @overload
    def choose(self) -> Decision: ...

    @overload
    def choose(self, n: int) -> list[Decision]: ...

    def choose(self, n: int | None = None) -> Decision | list[Decision]:
        """The next decision; with ``n``, a list of the next n, made one after the other without feedback in between."""
        if n is None:
            return self._choose_one()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InvalidParameter(f"n is {n!r}; give a whole number >= 0.")
        return [self._choose_one() for _ in range(n)]

    def _choose_one(self) -> Decision:
        now = self.decisions + 1
        with quietly():
            arm, rank = self._decide(self._parameters, self._state, now)
        self._arm_of.append(arm)
        self._rank_of.append(rank)
        self._reward_of.append(math.nan)
        return Decision(now - 1, self.arms[arm])

    def observe(self, id: int, reward: float) -> None:
        """The reward of a decision has come. Once for each decision; the same reward again is accepted and counted
        once."""
        number, value = self._checked(id, reward)
        if math.isnan(self._reward_of[number]):
            self._take_in(number, value)

    def observe_many(self, feedback: Mapping[int, float] | Iterable[tuple[int, float]]) -> int:
        """Many rewards at once, (id, reward) in this order: all, or on an error none. How many were new."""
        pairs = list(feedback.items() if isinstance(feedback, Mapping) else feedback)
        new: dict[int, float] = {}
        for place, pair in enumerate(pairs):
            try:
                id, reward = pair
            except (TypeError, ValueError):
                raise InvalidParameter(f"feedback[{place}] is {pair!r}; give (id, reward).") from None
            number, value = self._checked(id, reward)
            if new.get(number, value) != value:
                raise ConflictingFeedback(
                    f"decision {id!r} has two rewards in one call, {new[number]!r} and {value!r}; give one."
                )
            if math.isnan(self._reward_of[number]):
                new[number] = value
        for number, value in new.items():
            self._take_in(number, value)
        return len(new)

    def _checked(self, id: Any, reward: Any) -> tuple[int, float]:
        """Decision number and reward, or the error that says why not."""
        if isinstance(id, bool) or not isinstance(id, int | np.integer) or not 0 <= id < self.decisions:
            known = f"ids from 0 to {self.decisions - 1}" if self.decisions else "no decision yet"
            raise UnknownDecision(
                f"there is no decision {id!r}: this bandit has made {known}. Give the id of a decision that choose() returned."
            )
        good = isinstance(reward, int | float | np.integer | np.floating | np.bool_) and 0.0 <= float(reward) <= 1.0
        if not good:
            raise InvalidReward(f"the reward of decision {id} is {reward!r}; give a number in [0, 1].")
        number, value = int(id), float(reward)
        before = self._reward_of[number]
        if not math.isnan(before) and before != value:
            raise ConflictingFeedback(
                f"decision {id} already has the reward {before!r}, now {value!r} is given; a decision is answered once."
            )
        return number, value

    def _take_in(self, number: int, value: float) -> None:
        with quietly():
            self._answer(
                self._parameters,
                self._state,
                self._arm_of[number],
                value,
                self._rank_of[number],
                number + 1,
                self.decisions + 1,
            )
        self._reward_of[number] = value

    def summary(self) -> list[ArmSummary]:
        """What is known of each arm."""
        found = []
        state = self._state
        for number, name in enumerate(self.arms):
            with quietly():
                lower, upper = self._bounds(self._parameters, state, number, self.decisions + 1)
            observed, pulls = int(state.observed[number]), int(state.pulls[number])
            gone = int(state.eliminated_at[number])
            found.append(
                ArmSummary(
                    arm=name,
                    pulls=pulls,
                    observed=observed,
                    pending=pulls - observed,
                    mean=float(state.total[number]) / observed if observed else None,
                    lower=min(max(float(lower), 0.0), 1.0),
                    upper=min(max(float(upper), 0.0), 1.0),
                    active=gone < 0,
                    eliminated_at=None if gone < 0 else gone,
                )
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain data that JSON can hold."""
        state = {name: _listed(values) for name, values in self._state._asdict().items() if name != "key"}
        return {
            "format": FORMAT,
            "version": __version__,
            "arms": list(self.arms),
            "policy": policy_spec(self.policy),
            "seed": self.seed,
            "decisions": list(self._arm_of),
            "rewards": [None if math.isnan(reward) else reward for reward in self._reward_of],
            "state": state,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Bandit:
        """The bandit that :meth:`to_dict` wrote down; it goes on with the same bits."""
        try:
            if data["format"] != FORMAT:
                raise StateError(
                    f"the saved bandit has format {data['format']!r}; this version of belated reads format {FORMAT}."
                )
            bandit = cls(data["arms"], read_policy(data["policy"]), seed=data["seed"])
            bandit._restore(data)
        except StateError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, BelatedError) as error:
            raise StateError(
                f"this is no saved bandit, or it is damaged: {error!r}. Give what to_dict() returned."
            ) from error
        return bandit

    def _restore(self, data: Mapping[str, Any]) -> None:
        self._arm_of = array("i", data["decisions"])
        self._reward_of = array("d", (math.nan if reward is None else reward for reward in data["rewards"]))
        if len(self._arm_of) != len(self._reward_of):
            raise StateError(f"{len(self._arm_of)} decisions and {len(self._reward_of)} rewards; they must be as many.")
        seen = [0] * len(self.arms)
        self._rank_of = array("q")
        for arm in self._arm_of:
            self._rank_of.append(seen[arm])
            seen[arm] += 1
        for name, values in self._state._asdict().items():
            if name != "key":
                values[...] = _unlisted(data["state"][name], values)
        if seen != self._state.pulls.astype(int).tolist():
            raise StateError("the decisions and the counts of pulls do not agree.")


def _arm_names(arms: Any) -> tuple[str, ...]:
    if isinstance(arms, str) or not isinstance(arms, Sequence) or len(arms) == 0:
        raise InvalidParameter(f"arms is {arms!r}; give a list of at least one name, such as ['red', 'green'].")
    for place, name in enumerate(arms):
        if not isinstance(name, str) or not name:
            raise InvalidParameter(f"arms[{place}] is {name!r}; give a name, a text that is not empty.")
    if len(set(arms)) != len(arms):
        raise InvalidParameter(f"arms are {list(arms)!r}; give each name once.")
    return tuple(arms)


def _listed(values: Any) -> list[Any]:
    """An array as lists that JSON can hold: infinity becomes a text."""
    return [_listed(value) if value.ndim else _finite(value.item()) for value in values]


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def _unlisted(data: Any, like: Any) -> Any:
    """What :func:`_listed` wrote, as an array of the same form as ``like``."""
    read = np.array(data, dtype=object).reshape(like.shape)
    return np.array([float(value) for value in read.ravel()]).reshape(like.shape).astype(like.dtype)
