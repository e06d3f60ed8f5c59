"""The live bandit: the same policies, one decision at a time, while answers are still out."""

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
from belated.kernel.jit import ignore_overflow
from belated.live.learner import Learner
from belated.live.types import (
    ArmSummary,
    Decision,
    check_arm_names,
    check_reward,
    check_same_reward,
    feedback_pairs,
)
from belated.policies._base import entry_points
from belated.policies._base.defaults import default_policy
from belated.policies._base.policy import Policy
from belated.specs import policy_spec, read_policy
from belated.validation import check_integer, is_integer

FORMAT = 1
"""Version of the saved form."""


def summary_of(names: Sequence[str], learner: Learner) -> list[ArmSummary]:
    """What a learner knows of each arm."""
    found = []
    state = learner.state
    for number, name in enumerate(names):
        bounds = learner.bounds(number)
        observed, pulls = int(state.observed[number]), int(state.pulls[number])
        gone = int(state.eliminated_at[number])
        found.append(
            ArmSummary(
                arm=name,
                pulls=pulls,
                observed=observed,
                pending=pulls - observed,
                mean=float(state.total[number]) / observed if observed else None,
                lower=bounds.lower,
                upper=bounds.upper,
                active=gone < 0,
                eliminated_at=None if gone < 0 else gone,
                lower_from=bounds.lower_from,
                upper_from=bounds.upper_from,
            )
        )
    return found


class Bandit:
    """A live bandit. Choose arms, and report rewards later, in any order, or never.

    Where no policy is given it is :func:`belated.policies.default_policy`, for delays that do not depend on the answer.
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

    def __init__(self, arms: Sequence[str], policy: Policy | None = None, *, seed: int = 0) -> None:
        self.arms = check_arm_names(arms)
        self._learner = Learner(len(self.arms), default_policy() if policy is None else policy, seed)
        self.policy, self.seed = self._learner.policy, self._learner.seed
        self._arm_of = array("i")  # of each decision
        self._rank_of = array("q")  # of each decision: how often its arm was pulled before
        self._reward_of = array("d")  # of each decision; NaN while it is pending
        self._answers = array("q")  # the decisions answered, in the order of the answers
        self._before = array("q")  # of each answer: how many decisions were made before it came

    @property
    def decisions(self) -> int:
        """How many decisions were made."""
        return len(self._arm_of)

    @property
    def pending(self) -> int:
        """How many decisions have no feedback yet."""
        return self.decisions - len(self._answers)

    @overload
    def choose(self) -> Decision[int]: ...

    @overload
    def choose(self, n: int) -> list[Decision[int]]: ...

    def choose(self, n: int | None = None) -> Decision[int] | list[Decision[int]]:
        """The next decision; with ``n``, a list of the next n, made one after the other without feedback in between."""
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
        """The reward of a decision has come. Once for each decision; the same reward again is accepted and counted
        once."""
        number, value = self._checked(id, reward)
        if math.isnan(self._reward_of[number]):
            self._take_in(number, value)

    def observe_many(self, feedback: Mapping[int, float] | Iterable[tuple[int, float]]) -> int:
        """Many rewards at once, (id, reward) in this order: all, or on an error none. How many were new."""
        new: dict[int, float] = {}
        for id, reward in feedback_pairs(feedback):
            number, value = self._checked(id, reward)
            check_same_reward(id, value, new.get(number, value))
            if math.isnan(self._reward_of[number]):
                new[number] = value
        for number, value in new.items():
            self._take_in(number, value)
        return len(new)

    def _checked(self, id: Any, reward: Any) -> tuple[int, float]:
        """Decision number and reward, or the error that says why not."""
        if not is_integer(id) or not 0 <= id < self.decisions:
            known = f"ids from 0 to {self.decisions - 1}" if self.decisions else "no decision yet"
            raise UnknownDecision(
                f"there is no decision {id!r}: this bandit has made {known}. Give the id of a decision that choose() "
                "returned."
            )
        number, value = int(id), check_reward(id, reward)
        before = self._reward_of[number]
        if not math.isnan(before) and before != value:
            raise ConflictingFeedback(
                f"decision {id} already has the reward {before!r}, now {value!r} is given; a decision is answered once."
            )
        return number, value

    def _take_in(self, number: int, value: float) -> None:
        self._learner.answer(self._arm_of[number], value, self._rank_of[number], number)
        self._reward_of[number] = value
        self._answers.append(number)
        self._before.append(self.decisions)

    def summary(self) -> list[ArmSummary]:
        """What is known of each arm."""
        return summary_of(self.arms, self._learner)

    def to_dict(self) -> dict[str, Any]:
        """Everything that happened, as plain data that JSON can hold: the decisions' arms, and the answers in their
        order.

        An answer is [how many decisions were made before it, the decision's id, the reward].
        """
        answers = zip(self._before, self._answers, strict=True)
        return {
            "format": FORMAT,
            "version": __version__,
            "arms": list(self.arms),
            "policy": policy_spec(self.policy),
            "seed": self.seed,
            "decisions": list(self._arm_of),
            "answers": [[before, number, self._reward_of[number]] for before, number in answers],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Bandit:
        """The bandit that :meth:`to_dict` wrote down. It lives again all that happened, and goes on with the same
        bits."""
        try:
            if data["format"] != FORMAT:
                raise StateError(
                    f"the saved bandit has format {data['format']!r}; this version of belated reads format {FORMAT}."
                )
            bandit = cls(data["arms"], read_policy(data["policy"]), seed=data["seed"])
            bandit._live_again(data["decisions"], data["answers"])
        except StateError:
            raise
        except (ConfigurationError, UnknownName) as error:
            raise StateError(f"the saved bandit's policy cannot be made anew: {error}") from error
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, BelatedError) as error:
            raise StateError(
                f"this is no saved bandit, or it is damaged: {error!r}. Give what to_dict() returned."
            ) from error
        return bandit

    def _live_again(self, decisions: Sequence[int], answers: Sequence[Sequence[Any]]) -> None:
        arms = _whole_numbers("decisions", decisions, 0, len(self.arms) - 1)
        ids = _whole_numbers("ids", [id for _, id, _ in answers], 0, arms.size - 1)
        before = _whole_numbers("counts of decisions", [count for count, _, _ in answers], 0, arms.size)
        rewards = np.array([check_reward(id, reward) for _, id, reward in answers])
        if np.any(np.diff(before) < 0) or np.any(before <= ids) or np.unique(ids).size != ids.size:
            raise StateError(
                "the answers are out of order, or answer decisions that were not made, or answered, by then."
            )
        ranks = np.zeros(arms.size, np.int64)
        replay = entry_points.entry_for(entry_points.replay, type(self.policy))
        learner = self._learner
        with ignore_overflow():
            other = int(replay(learner.parameters, learner.state, arms, ranks, ids, before, rewards))
        learner.decisions = arms.size
        if other >= 0:
            raise StateError(
                f"decision {other} was {self.arms[int(arms[other])]!r}, and this version of the policy decides "
                "otherwise: "
                "the bandit was saved by another version, or is damaged."
            )
        known = np.full(arms.size, np.nan)
        known[ids] = rewards
        self._arm_of, self._rank_of = array("i", arms.tolist()), array("q", ranks.tolist())
        self._reward_of = array("d", known.tolist())
        self._answers, self._before = array("q", ids.tolist()), array("q", before.tolist())


def _whole_numbers(name: str, values: Sequence[Any], low: int, high: int) -> npt.NDArray[np.int64]:
    """A list of whole numbers in a range, as an array."""
    for value in values:
        check_integer(f"one of the {name}", value, low, high, error=StateError)
    return np.array(values, np.int64)
