"""Decisions and arm summaries, and the checks of what callers pass to a live bandit or to a client.

Nothing here needs a policy or a compiler, so that a client starts without them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from belated.errors import ConflictingFeedback, InvalidParameter, InvalidReward
from belated.validation import HUGE, is_bool, is_number

if TYPE_CHECKING:
    import typing_extensions

    Name = typing_extensions.TypeVar("Name", bound=Hashable, default=str)  # in typing from Python 3.13 on
else:
    Name = TypeVar("Name", bound=Hashable)

Id = TypeVar("Id", int, str)

UNIT_RANGE = (0.0, 1.0)
"""The range of rewards, unless another is stated."""


class Decision(NamedTuple, Generic[Id, Name]):
    """A decision: the arm, and an id to pass back with the feedback. Ids are integers, and strings on a server."""

    id: Id
    arm: Name


@dataclass(frozen=True)
class ArmSummary(Generic[Name]):
    """Statistics of one arm. ``lower`` and ``upper`` are the policy's bounds on its mean, clipped to the range of
    rewards; if they come from different pulls and the confidence is small they may cross."""

    arm: Name
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
    lower_from: int | None = None
    """For a policy with prefix brackets: how many of the arm's first pulls give the lower bound."""
    upper_from: int | None = None
    """The same for the upper bound."""
    corrected_mean: float | None = None
    """For a policy that corrects means, and an arm with feedback: the mean as the policy takes it."""
    dependence: float | None = None
    """For such a policy: how sure it is that the arm's delays depend on its rewards, from 0 to 1; 1 minus the p-value
    of the test."""


def check_reward(id: Any, reward: Any, reward_range: tuple[float, float] | None = None) -> float:
    """Return the reward of a decision as a float in a range, [0, 1] unless another may be stated."""
    low, high = reward_range or UNIT_RANGE
    if not (is_number(reward) or is_bool(reward)) or not low <= reward <= high:
        has_other_unit = reward_range == UNIT_RANGE and is_number(reward) and -HUGE < reward < HUGE
        advice = (
            ", or state the range of the rewards, as Bandit(..., reward_range=(low, high))" if has_other_unit else ""
        )
        raise InvalidReward(f"the reward of decision {id} is {reward!r}; give a number in [{low:g}, {high:g}]{advice}.")
    return float(reward)


def feedback_pairs(feedback: Any) -> list[tuple[Any, Any]]:
    """Return many rewards, given as pairs or as a mapping, as a list of (id, reward)."""
    try:
        items = list(feedback.items() if isinstance(feedback, Mapping) else feedback)
    except TypeError:
        raise InvalidParameter(f"feedback is {feedback!r}; give (id, reward) pairs, or {{id: reward}}.") from None
    pairs = []
    for index, item in enumerate(items):
        try:
            id, reward = item
        except (TypeError, ValueError):
            raise InvalidParameter(f"feedback[{index}] is {item!r}; give (id, reward).") from None
        pairs.append((id, reward))
    return pairs


def check_same_reward(id: Any, reward: float, other: float) -> None:
    """Raise an error if one call gives a decision two different rewards."""
    if other != reward:
        raise ConflictingFeedback(f"decision {id!r} has two rewards in one call, {other!r} and {reward!r}; give one.")
