"""The live bandit: a policy that makes decisions one at a time while feedback is pending."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from belated._version import __version__
from belated.errors import (
    BelatedError,
    ConfigurationError,
    ConflictingFeedback,
    StateError,
    UnknownDecision,
    UnknownName,
)
from belated.live.learner import Learner
from belated.live.types import ArmSummary, Decision, check_arm_names, check_reward, check_same_reward, feedback_pairs
from belated.policies import Policy, default_policy
from belated.specs.laws import policy_spec, read_policy
from belated.validation import check_integer, is_integer

FORMAT = 1
"""Version of the format of a saved bandit."""


class Bandit:
    """A live bandit. Choose arms, and report rewards later, in any order, or never.

    The default policy is :func:`belated.policies.default_policy`, for delays that do not depend on the reward. The
    horizon may be unknown; a policy without one uses confidence bounds that are valid at all times. Feedback is
    accepted at any time, once for each decision; the same feedback again changes nothing. So does a refused call.

    >>> from belated.policies import UCB
    >>> bandit = Bandit(["red", "green"], UCB(confidence=1.0), seed=0)
    >>> first, second = bandit.choose(), bandit.choose()
    >>> first.arm, second.arm
    ('red', 'green')
    >>> bandit.observe(second.id, 1.0)
    >>> [(arm.arm, arm.pulls, arm.observed, arm.pending) for arm in bandit.summary()]
    [('red', 1, 0, 1), ('green', 1, 1, 0)]
    """

    def __init__(self, arms: Sequence[str], policy: Policy | None = None, *, seed: int = 0) -> None:
        self.arms = check_arm_names(arms)
        self._learner = Learner(len(self.arms), default_policy() if policy is None else policy, seed)
        self.policy, self.seed = self._learner.policy, self._learner.seed
        self._arm_of = array("i")  # by decision
        self._rank_of = array("q")  # by decision: how often its arm was pulled before
        self._reward_of = array("d")  # by decision; NaN while it is pending
        self._observed = array("q")  # the decisions with feedback, in the order of the feedback
        self._decisions_before = array("q")  # by feedback: how many decisions were made before it came

    @property
    def decisions(self) -> int:
        """How many decisions were made."""
        return len(self._arm_of)

    @property
    def pending(self) -> int:
        """How many decisions have no feedback yet."""
        return self.decisions - len(self._observed)

    @overload
    def choose(self) -> Decision[int]: ...

    @overload
    def choose(self, n: int) -> list[Decision[int]]: ...

    def choose(self, n: int | None = None) -> Decision[int] | list[Decision[int]]:
        """Make the next decision; with ``n``, a list of n decisions without feedback in between."""
        if n is None:
            return self._choose_one()
        return [self._choose_one() for _ in range(check_integer("n", n, 0))]

    def _choose_one(self) -> Decision[int]:
        arm, rank = self._learner.decide()
        self._arm_of.append(arm)
        self._rank_of.append(rank)
        self._reward_of.append(math.nan)
        return Decision(self.decisions - 1, self.arms[arm])

    def observe(self, id: int, reward: float) -> None:
        """Report the reward of a decision. The same reward again counts once; another one is an error."""
        number, value = self._checked(id, reward)
        if math.isnan(self._reward_of[number]):
            self._record(number, value)

    def observe_many(self, feedback: Mapping[int, float] | Iterable[tuple[int, float]]) -> int:
        """Report many rewards, (id, reward) in this order: all, or none after an error. Return how many were new."""
        new: dict[int, float] = {}
        for id, reward in feedback_pairs(feedback):
            number, value = self._checked(id, reward)
            check_same_reward(id, value, new.get(number, value))
            if math.isnan(self._reward_of[number]):
                new[number] = value
        for number, value in new.items():
            self._record(number, value)
        return len(new)

    def _checked(self, id: Any, reward: Any) -> tuple[int, float]:
        """Return the decision's number and the reward, or raise the error."""
        if not is_integer(id) or not 0 <= id < self.decisions:
            made = f"decisions from 0 to {self.decisions - 1}" if self.decisions else "no decision yet"
            raise UnknownDecision(
                f"there is no decision {id!r}: this bandit has made {made}. Give the id of a decision that choose() "
                "returned."
            )
        number, value = int(id), check_reward(id, reward)
        before = self._reward_of[number]
        if not math.isnan(before) and before != value:
            raise ConflictingFeedback(
                f"decision {id} already has the reward {before!r}, not {value!r}; report one reward per decision."
            )
        return number, value

    def _record(self, number: int, value: float) -> None:
        self._learner.observe(self._arm_of[number], value, self._rank_of[number], number)
        self._reward_of[number] = value
        self._observed.append(number)
        self._decisions_before.append(self.decisions)

    def summary(self) -> list[ArmSummary]:
        """Statistics of each arm."""
        return self._learner.summary(self.arms)

    def to_dict(self) -> dict[str, Any]:
        """The whole history as plain data for JSON: the arms of the decisions, and the feedback in its order.

        A feedback, in ``answers``, is [how many decisions were made before it, the decision's id, the reward].
        """
        feedback = zip(self._decisions_before, self._observed, strict=True)
        return {
            "format": FORMAT,
            "version": __version__,
            "arms": list(self.arms),
            "policy": policy_spec(self.policy),
            "seed": self.seed,
            "decisions": list(self._arm_of),
            "answers": [[before, number, self._reward_of[number]] for before, number in feedback],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Bandit:
        """Restore a bandit from :meth:`to_dict`: it replays its history and continues with the same bits."""
        try:
            if data["format"] != FORMAT:
                raise StateError(
                    f"the saved bandit has format {data['format']!r}; this version of belated reads format {FORMAT}."
                )
            bandit = cls(data["arms"], read_policy(data["policy"]), seed=data["seed"])
            bandit._replay(data["decisions"], data["answers"])
        except StateError:
            raise
        except (ConfigurationError, UnknownName) as error:
            raise StateError(f"the saved bandit's policy cannot be recreated: {error}") from error
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, BelatedError) as error:
            raise StateError(
                f"this is not a saved bandit, or it is damaged: {error!r}. Give what to_dict() returned."
            ) from error
        return bandit

    def _replay(self, decisions: Sequence[int], feedback: Sequence[Sequence[Any]]) -> None:
        arms = _integers("decisions", decisions, 0, len(self.arms) - 1)
        ids = _integers("ids", [id for _, id, _ in feedback], 0, arms.size - 1)
        before = _integers("counts of decisions", [count for count, _, _ in feedback], 0, arms.size)
        rewards = np.array([check_reward(id, reward) for _, id, reward in feedback])
        if np.any(np.diff(before) < 0) or np.any(before <= ids) or np.unique(ids).size != ids.size:
            raise StateError(
                "the feedback is out of order, or belongs to decisions that did not exist or had feedback by then."
            )
        ranks, differs = self._learner.replay(arms, ids, before, rewards)
        if differs is not None:
            raise StateError(
                f"decision {differs} was {self.arms[int(arms[differs])]!r}, and this version of the policy decides "
                "otherwise: the bandit was saved by another version, or is damaged."
            )
        known = np.full(arms.size, np.nan)
        known[ids] = rewards
        self._arm_of, self._rank_of = array("i", arms.tolist()), array("q", ranks.tolist())
        self._reward_of = array("d", known.tolist())
        self._observed, self._decisions_before = array("q", ids.tolist()), array("q", before.tolist())


def _integers(name: str, values: Sequence[Any], low: int, high: int) -> npt.NDArray[np.int64]:
    """A list of integers in a range, as an array."""
    for value in values:
        check_integer(f"one of the {name}", value, low, high, error=StateError)
    return np.array(values, np.int64)
