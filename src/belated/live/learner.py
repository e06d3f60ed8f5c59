"""A policy at work: what it knows, and how that changes with every decision and answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.errors import IncompatibleState, InvalidParameter, StateError
from belated.kernel.jit import JIT, ignore_overflow
from belated.kernel.rng import check_seed, seed_words
from belated.policies._base import entry_points
from belated.policies._base.policy import Policy, check_registered, encode_policy
from belated.policies._base.state import State, allocate

_ARRAYS = tuple(name for name in State._fields if name not in ("arms", "floor"))


class Bounds(NamedTuple):
    """Bounds on an arm's mean, and how many of its first pulls give them, where they come from some."""

    lower: float
    upper: float
    lower_from: int | None = None
    upper_from: int | None = None


class ArmCounts(NamedTuple):
    """Pulls, observed rewards and their sum, per arm."""

    pulls: npt.NDArray[np.int64]
    observed: npt.NDArray[np.int64]
    total: npt.NDArray[np.float64]


class Learner:
    """A policy and its state. The same calls in the same order give the same bits.

    It knows neither ids nor times, and keeps nothing for each decision: whoever answers says which arm was pulled, as
    which of its pulls (``rank``), and which decision that was (``number``: 0, 1, ...)."""

    def __init__(self, arms: int, policy: Policy, seed: int) -> None:
        if not isinstance(policy, Policy):
            hint = f"{policy.__name__}()" if isinstance(policy, type) else "UCB()"
            raise InvalidParameter(f"policy is {policy!r}; give a policy, such as {hint}.")
        check_registered(policy)
        self.policy = policy
        self.seed = check_seed(seed)
        self.decisions = 0
        self._start(arms)

    def _start(self, arms: int) -> None:
        self.arms = arms
        self.parameters = encode_policy(self.policy, arms)
        self.state = allocate(arms, self.policy.shape())[0]
        self._decide = _quiet(entry_points.entry_for(entry_points.decide, type(self.policy)))
        self._answer = _quiet(entry_points.entry_for(entry_points.answer, type(self.policy)))
        with ignore_overflow():
            entry_points.begin(self.state, seed_words(self.seed))

    @classmethod
    def from_counts(cls, policy: Policy, seed: int, counts: ArmCounts, *, decisions: int) -> Learner:
        """A learner with given counts after a number of decisions; for policies that keep nothing else."""
        learner = cls(counts.pulls.size, policy, seed)
        for own, given in zip(learner._count_arrays(), counts, strict=True):
            own[: learner.arms] = given
        learner.decisions = decisions
        return learner

    def counts(self) -> ArmCounts:
        """A copy of the counts of each arm."""
        pulls, observed, total = (array[: self.arms] for array in self._count_arrays())
        return ArmCounts(pulls.astype(np.int64), observed.astype(np.int64), total.astype(np.float64))

    def _count_arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.state.pulls, self.state.observed, self.state.total

    @property
    def supports_retraction(self) -> bool:
        """Whether pulls can be taken back and answers replaced."""
        return supports_retraction(self.policy)

    @property
    def supports_new_arms(self) -> bool:
        """Whether arms can be added."""
        return self.policy.supports_new_arms

    def decide(self) -> tuple[int, int]:
        """(arm, rank) of the next decision."""
        arm, rank = self._decide(self.parameters, self.state, self.decisions + 1)
        if arm < 0:
            raise entry_points.no_such_arm(self.policy, self.arms)
        self.decisions += 1
        return int(arm), int(rank)

    def answer(self, arm: int, reward: float, rank: int, number: int) -> None:
        """The reward of an earlier decision has come."""
        self._answer(self.parameters, self.state, arm, reward, rank, number + 1, self.decisions + 1)

    def take_back(self, arm: int, rank: int, number: int, reward: float | None = None) -> None:
        """An earlier decision was never carried out; it is still pending, or had this answer."""
        assert self.supports_retraction
        if reward is None:
            self._correct(arm, rank, number, -1, 0.0, 0.0)
        else:
            self._correct(arm, rank, number, -1, -1.0, self._change(arm, -1.0, -reward))

    def replace_answer(self, arm: int, rank: int, number: int, before: float, now: float) -> None:
        """The answer to an earlier decision was not ``before`` but ``now``."""
        assert self.supports_retraction
        self._correct(arm, rank, number, 0, 0.0, self._change(arm, 0.0, now - before))

    def _change(self, arm: int, observed: float, total: float) -> float:
        """A change of an arm's sum that leaves it between 0 and the number of answers: what was added in one order and
        is taken away in another may not come out as the same, in the last bit."""
        before, most = float(self.state.total[arm]), float(self.state.observed[arm]) + observed
        return total if 0.0 <= before + total <= most else min(max(before + total, 0.0), most) - before

    def add_arm(self) -> None:
        """There is one arm more from now on, the last."""
        assert self.supports_new_arms
        before, key = self.state, self.state.key.copy()
        self._start(self.arms + 1)
        self.state.key[:] = key
        self.state.memory[: self.arms - 1] = before.memory[: self.arms - 1]
        self.state.memory[self.arms] = before.memory[self.arms - 1]  # of all arms together
        for arm in range(self.arms - 1):
            pulls, observed, total = int(before.pulls[arm]), float(before.observed[arm]), float(before.total[arm])
            self._correct(arm, 0, 0, 0, 0.0, 0.0)  # of its own statistics nothing changes but the number of arms
            self._correct(arm, -1, 0, pulls, observed, total)

    def _correct(self, arm: int, rank: int, number: int, pulls: int, observed: float, total: float) -> None:
        correct = entry_points.entry_for(entry_points.correct, type(self.policy))
        with ignore_overflow():
            correct(self.parameters, self.state, arm, rank, number + 1, pulls, observed, total, self.decisions + 1)

    def bounds(self, arm: int) -> Bounds:
        """The policy's bounds on an arm's mean, cut to [0, 1]. To look changes nothing: what a policy writes down for
        itself on the way is taken back."""
        find = entry_points.entry_for(entry_points.bounds, type(self.policy))
        kept = self.state.memory[arm].copy()
        with ignore_overflow():
            lower, upper, low, high = find(self.parameters, self.state, arm, self.decisions + 1)
        self.state.memory[arm] = kept
        return Bounds(
            min(max(float(lower), 0.0), 1.0), min(max(float(upper), 0.0), 1.0), int(low) or None, int(high) or None
        )

    def to_bytes(self) -> bytes:
        """The state to the bit, for the same version of the code; :meth:`load` takes it in."""
        head = {"arms": self.arms, "decisions": self.decisions, "code": state_key(type(self.policy))}
        body = b"".join(np.ascontiguousarray(array).tobytes() for array in self._arrays())
        text = json.dumps(head).encode()
        whole = len(text).to_bytes(4, "little") + text + body
        return hashlib.sha256(whole).digest() + whole

    def load(self, data: bytes) -> None:
        """Take in what :meth:`to_bytes` gave; an error if it is damaged, or of other code."""
        digest, whole = data[:32], data[32:]
        if hashlib.sha256(whole).digest() != digest:
            raise StateError("the saved state is damaged; play the events again instead.")
        size = int.from_bytes(whole[:4], "little")
        head = json.loads(whole[4 : 4 + size])
        if head["code"] != state_key(type(self.policy)):
            raise IncompatibleState("the saved state is of other code; play the events again instead.")
        self._start(head["arms"])
        self.decisions = head["decisions"]
        place = 4 + size
        for array in self._arrays():
            array[...] = np.frombuffer(whole, array.dtype, array.size, place).reshape(array.shape)
            place += array.nbytes

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [getattr(self.state, name) for name in _ARRAYS]


@cache
def state_key(policy: type[Policy]) -> str:
    """A hash of the code that makes the state of a policy what it is."""
    points = entry_points
    return points.policy_key(policy, points.begin, points.decide, points.answer, points.correct, points.bounds)


def supports_retraction(policy: Policy) -> bool:
    """Whether a policy can take pulls back and replace answers; one with statistics of its own must say how to put them
    right."""
    puts_right = type(policy).on_correction is not Policy.on_correction
    return policy.supports_retraction and (policy.memory == 0 or puts_right)


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is where it is compiled; else without warnings of arithmetic that wraps around."""
    if JIT:
        return function

    def called(*arguments: Any) -> Any:
        with ignore_overflow():
            return function(*arguments)

    return called
