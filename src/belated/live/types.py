"""Decisions and arm summaries, and the checks of what callers pass to a live bandit or to a client.

Nothing here needs a policy or a compiler, so that a client starts without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from belated.errors import ConflictingFeedback, InvalidParameter, InvalidReward
from belated.validation import is_bool, is_number

Id = TypeVar("Id", int, str)


class Decision(NamedTuple, Generic[Id]):
    """A decision: the arm, and an id to pass back with the feedback. Ids are integers, and strings on a server."""

    id: Id
    arm: str


@dataclass(frozen=True)
class ArmSummary:
    """Statistics of one arm. ``lower`` and ``upper`` are the policy's bounds on its mean, clipped to [0, 1]; if they
    come from different pulls and the confidence is small they may cross."""

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
    lower_from: int | None = None
    """For a policy with prefix brackets: how many of the arm's first pulls give the lower bound."""
    upper_from: int | None = None
    """The same for the upper bound."""


def check_arm_names(arms: Any) -> tuple[str, ...]:
    """Return the names of the arms, which must be unique and not empty."""
    if isinstance(arms, str) or not isinstance(arms, Sequence) or len(arms) == 0:
        raise InvalidParameter(f"arms is {arms!r}; give a list of at least one name, such as ['red', 'green'].")
    for index, name in enumerate(arms):
        if not isinstance(name, str) or not name:
            raise InvalidParameter(f"arms[{index}] is {name!r}; give a name, a string that is not empty.")
    if len(set(arms)) != len(arms):
        raise InvalidParameter(f"arms are {list(arms)!r}; give each name once.")
    return tuple(arms)


def check_reward(id: Any, reward: Any) -> float:
    """Return the reward of a decision as a float in [0, 1]."""
    if not (is_number(reward) or is_bool(reward)) or not 0.0 <= reward <= 1.0:
        raise InvalidReward(f"the reward of decision {id} is {reward!r}; give a number in [0, 1].")
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
