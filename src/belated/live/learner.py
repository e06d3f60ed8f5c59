"""The learner: a policy with its state, updated by every decision and feedback."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.errors import IncompatibleState, StateError
from belated.kernel.jit import JIT, ignore_overflow
from belated.kernel.rng import check_seed, seed_words
from belated.live.types import UNIT_RANGE, ArmSummary, Name
from belated.policies import Policy, State
from belated.policies._base import entry_points
from belated.policies._base.encode import (
    check_registered,
    encode_policy,
    memory_size,
    supports_replacement,
    supports_retraction,
)
from belated.policies._base.entry_points import NO_REWARD
from belated.policies._base.state import allocate
from belated.policies._check.play import check_once
from belated.policies._check.run_errors import check_not_nan, no_such_arm, short_errors
from belated.rewards._base import in_unit

_ARRAYS = tuple(name for name in State._fields if name not in ("arms", "floor"))


class ArmBounds(NamedTuple):
    """Bounds on an arm's mean and, for prefix brackets, how many of its first pulls give each."""

    lower: float
    upper: float
    lower_from: int | None = None
    upper_from: int | None = None


class ArmCounts(NamedTuple):
    """Pulls, observed rewards and their sum as the policy meets them, per arm."""

    pulls: npt.NDArray[np.int64]
    observed: npt.NDArray[np.int64]
    total: npt.NDArray[np.float64]


class Learner:
    """A policy and its state. The same calls in the same order give the same bits.

    It stores neither ids nor times nor individual decisions: feedback says which arm was pulled, which of its pulls it
    was (``rank``), and which decision (``number``: 0, 1, ...). Rewards, and statistics of them, are in the unit of
    ``reward_range``, which the policy meets mapped to [0, 1]. A policy of your own is played as plain Python first, and
    checked, unless ``check`` is False; code that changed after it was compiled is refused in any case."""

    def __init__(
        self,
        arms: int,
        policy: Policy,
        seed: int,
        reward_range: tuple[float, float] = UNIT_RANGE,
        *,
        check: bool = True,
    ) -> None:
        check_registered(policy)
        self.policy = policy
        self.seed = check_seed(seed)
        self.reward_range = reward_range
        check_once(policy, arms, policy.horizon, plays=check)
        self.decisions = 0
        self._start(arms)

    def _start(self, arms: int) -> None:
        parameters = encode_policy(self.policy, arms)
        state = allocate(arms, self.policy.shape(), memory_size(self.policy, arms, self.policy.horizon))[0]
        self.arms, self.parameters, self.state = arms, parameters, state
        self._decide = self._entry(entry_points.decide)
        self._observe = self._entry(entry_points.add_feedback)
        _quiet(entry_points.begin)(self.state, seed_words(self.seed))

    def _entry(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of :mod:`~belated.policies._base.entry_points`, compiled for the policy."""
        return _quiet(entry_points.entry_for(function, type(self.policy)))

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call an entry with the policy's parameters and state; one short error if it cannot be compiled, or has a
        wrong index."""
        with short_errors(self.policy):
            return function(self.parameters, self.state, *arguments)

    @classmethod
    def from_counts(cls, policy: Policy, seed: int, counts: ArmCounts, *, decisions: int) -> Learner:
        """Make a learner with these counts after a number of decisions; for policies that store nothing else."""
        learner = cls(counts.pulls.size, policy, seed)
        for array, values in zip(learner._count_arrays(), counts, strict=True):
            array[: learner.arms] = values
        learner.decisions = decisions
        return learner

    def counts(self) -> ArmCounts:
        """Return a copy of the counts of each arm."""
        pulls, observed, total = (array[: self.arms] for array in self._count_arrays())
        return ArmCounts(pulls.astype(np.int64), observed.astype(np.int64), total.astype(np.float64))

    def _count_arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.state.pulls, self.state.observed, self.state.total

    @property
    def supports_retraction(self) -> bool:
        """Whether pulls can be retracted."""
        return supports_retraction(self.policy)

    @property
    def supports_replacement(self) -> bool:
        """Whether rewards can be replaced, and pulls be retracted that had one."""
        return supports_replacement(self.policy)

    @property
    def supports_new_arms(self) -> bool:
        """Whether arms can be added: not if the policy's memory of an arm would become larger or smaller."""
        if not self.policy.supports_new_arms:
            return False
        return memory_size(self.policy, self.arms + 1, self.policy.horizon) == int(self.state.memory.shape[1])

    def decide(self) -> tuple[int, int]:
        """Make the next decision; return (arm, rank)."""
        if callable(self.policy.memory):
            self._check_memory_lasts()
        check_not_nan(self.policy, self.state, self.decisions)
        arm, rank = self._call(self._decide, self.decisions + 1)
        if arm < 0:
            raise no_such_arm(self.policy, self.arms)
        self.decisions += 1
        return int(arm), int(rank)

    def _check_memory_lasts(self) -> None:
        """Raise an error after the horizon that the policy's memory was made for."""
        horizon = self.policy.horizon
        if horizon is None or self.decisions < horizon:
            return
        if memory_size(self.policy, self.arms, self.decisions + 1) != self.state.memory.shape[1]:
            name = type(self.policy).__name__
            raise StateError(
                f"this bandit made {self.decisions} decisions, and {name}.memory was sized for its horizon of "
                f"{horizon}; start one with a larger horizon, or without one if {name}.memory accepts None."
            )

    def observe(self, arm: int, reward: float, rank: int, number: int) -> None:
        """Process the reward of an earlier decision."""
        self._call(self._observe, arm, self._mapped(reward), rank, number + 1, self.decisions + 1)

    def retract(self, arm: int, rank: int, number: int, reward: float | None = None) -> None:
        """Undo an earlier decision, which is still pending or had this reward."""
        assert self.supports_retraction
        if reward is None:
            self._correct(arm, rank, number, -1, 0.0, 0.0)
        else:
            assert self.supports_replacement
            self._correct(arm, rank, number, -1, -1.0, self.change_of_total(arm, -1.0, -self._mapped(reward)))

    def replace_reward(self, arm: int, rank: int, number: int, before: float, now: float) -> None:
        """Change the reward of an earlier decision from ``before`` to ``now``."""
        assert self.supports_replacement
        change = self._mapped(now) - self._mapped(before)
        self._correct(arm, rank, number, 0, 0.0, self.change_of_total(arm, 0.0, change))

    def _mapped(self, reward: Any) -> Any:
        """A reward, or an array of them, as the policy meets it, in [0, 1]."""
        low, high = self.reward_range
        return (reward - low) / (high - low)

    def change_of_total(self, arm: int, observed: float, total: float) -> float:
        """What a correction adds to an arm's sum; see :func:`~belated.policies._base.entry_points.change_of_total`."""
        before, largest = float(self.state.total[arm]), float(self.state.observed[arm]) + observed
        return float(entry_points.change_of_total(before, largest, float(total)))

    def add_arm(self) -> None:
        """Add an arm, the last one; StateError, and no change, if the policy needs to know all arms from the start."""
        if not self.supports_new_arms:
            name = type(self.policy).__name__
            why = (
                "memory depends on the number of arms"
                if self.policy.supports_new_arms
                else "supports_new_arms is False"
            )
            raise StateError(f"{name}.{why}: no arm can be added to its {self.arms}; start again with all arms.")
        before, key = self.state, self.state.key.copy()
        self._start(self.arms + 1)
        self.state.key[:] = key
        self.state.memory[: self.arms - 1] = before.memory[: self.arms - 1]
        self.state.memory[self.arms] = before.memory[self.arms - 1]  # of all arms together
        for arm in range(self.arms - 1):
            pulls, observed, total = int(before.pulls[arm]), float(before.observed[arm]), float(before.total[arm])
            self._correct(arm, 0, 0, 0, 0.0, 0.0)  # its own statistics change only with the number of arms
            self._correct(arm, -1, 0, pulls, observed, total)

    def _correct(self, arm: int, rank: int, number: int, pulls: int, observed: float, total: float) -> None:
        correct = self._entry(entry_points.correct)
        self._call(correct, arm, rank, number + 1, pulls, observed, total, self.decisions + 1)

    def bounds(self, arm: int) -> ArmBounds:
        """The policy's bounds on an arm's mean, clipped to the range of rewards. Read-only: caches written while
        computing them are restored."""
        memory = self.state.memory[arm].copy()
        *bounds, low, high = self._call(self._entry(entry_points.bounds), arm, self.decisions + 1)
        self.state.memory[arm] = memory
        lower, upper = (float(in_unit(min(max(float(bound), 0.0), 1.0), self.reward_range)) for bound in bounds)
        return ArmBounds(lower, upper, int(low) or None, int(high) or None)

    def summary(self, names: Sequence[Name]) -> list[ArmSummary[Name]]:
        """Statistics of each arm."""
        return [self.arm_summary(arm, name) for arm, name in enumerate(names)]

    def arm_summary(self, arm: int, name: Name) -> ArmSummary[Name]:
        """Statistics of one arm."""
        pulls, observed, total = (array[arm] for array in self._count_arrays())
        eliminated_at = int(self.state.eliminated_at[arm])
        mean, dependence = self._correction(arm) if observed and self.policy.corrects_mean else (None, None)
        return ArmSummary(
            arm=name,
            pulls=int(pulls),
            observed=int(observed),
            pending=int(pulls) - int(observed),
            mean=float(in_unit(float(total) / int(observed), self.reward_range)) if observed else None,
            active=eliminated_at < 0,
            eliminated_at=None if eliminated_at < 0 else eliminated_at,
            **self.bounds(arm)._asdict(),
            corrected_mean=mean,
            dependence=dependence,
        )

    def _correction(self, arm: int) -> tuple[float, float]:
        """What a policy that corrects means says of an arm with feedback: its mean, and how sure it is that delays
        depend on rewards. Read-only, as :meth:`bounds`."""
        memory = self.state.memory[arm].copy()
        mean, deviations = self._call(self._entry(entry_points.correction), arm, self.decisions + 1)
        self.state.memory[arm] = memory
        return float(in_unit(float(mean), self.reward_range)), math.erf(float(deviations) / math.sqrt(2.0))

    def replay(self, events: npt.NDArray[np.float64], *, imputed: float | None = None) -> tuple[int, int | None]:
        """Repeat recorded events, rows of :func:`pack_events`; ``imputed`` is the reward that replaced ones had before.

        The arms are those of the events, whatever this version of the policy would choose, and the state is what
        deciding and observing them one at a time gives, to the bit. Returns how many events were repeated, fewer than
        there are if one is out of place, and the first decision for which the policy chooses another arm, if any.
        """
        points = entry_points
        last = points.CANCELLED if self.supports_retraction else points.OBSERVED
        if self.supports_replacement and imputed is not None:
            last = points.REPLACED
        before = math.nan if imputed is None else self._mapped(imputed)
        if self.reward_range != UNIT_RANGE:
            events = events.copy()
            events[:, 3] = np.where(events[:, 3] == NO_REWARD, NO_REWARD, self._mapped(events[:, 3]))
        done, decisions, other = self._call(self._entry(points.replay), events, before, last, self.decisions)
        self.decisions = int(decisions)
        check_not_nan(self.policy, self.state, self.decisions)
        return int(done), None if other < 0 else int(other)

    def to_bytes(self) -> bytes:
        """The exact state, for :meth:`load` in the same version of the policy."""
        head = {"arms": self.arms, "decisions": self.decisions, "state": state_key(type(self.policy))}
        body = b"".join(np.ascontiguousarray(array).tobytes() for array in self._arrays())
        text = json.dumps(head).encode()
        content = len(text).to_bytes(4, "little") + text + body
        return hashlib.sha256(content).digest() + content

    def load(self, data: bytes) -> None:
        """Restore the state from :meth:`to_bytes`; an error if it is damaged or of another version of the policy."""
        digest, content = data[:32], data[32:]
        if hashlib.sha256(content).digest() != digest:
            raise StateError("the saved state is damaged; replay the events instead.")
        size = int.from_bytes(content[:4], "little")
        head = json.loads(content[4 : 4 + size])
        if head.get("state") != state_key(type(self.policy)):
            raise IncompatibleState(
                "the saved state is of another version of the policy, or of other code; replay the events instead."
            )
        self._start(head["arms"])
        self.decisions = head["decisions"]
        offset = 4 + size
        if len(content) != offset + sum(array.nbytes for array in self._arrays()):
            raise IncompatibleState("the saved state has another layout; replay the events instead.")
        for array in self._arrays():
            array[...] = np.frombuffer(content, array.dtype, array.size, offset).reshape(array.shape)
            offset += array.nbytes

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [getattr(self.state, name) for name in _ARRAYS]


STATE_FORMAT = 1
"""To be raised when the state of a policy changes its meaning, or a bit, and its decisions do not."""


@cache
def state_key(policy: type[Policy]) -> str:
    """What a saved state is valid for: the version of the policy and the format of its state; for a policy that is not
    built in, a hash of all code that determines its state."""
    if policy.is_built_in:
        return f"{policy.__name__} {policy.version}, format {STATE_FORMAT}"
    points = entry_points
    return points.policy_key(policy, points.begin, points.decide, points.add_feedback, points.correct, points.bounds)


def pack_events(
    kind: int, arms: npt.ArrayLike, numbers: npt.ArrayLike, ranks: npt.ArrayLike, rewards: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Events of a kind of :mod:`~belated.policies._base.entry_points` as :meth:`Learner.replay` takes them; the reward
    of an event without one is ``NO_REWARD``."""
    codes = (kind << entry_points.ARM_BITS) + np.asarray(arms, np.int64)
    columns = np.broadcast_arrays(*np.atleast_1d(codes, numbers, ranks, rewards))
    return np.column_stack([np.asarray(column, np.float64) for column in columns])


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without warnings about integer overflow, which compiled code does not give."""
    if JIT:
        return function

    def quiet(*arguments: Any) -> Any:
        with ignore_overflow():
            return function(*arguments)

    return quiet
