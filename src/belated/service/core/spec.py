"""What an experiment is asked to be, checked and written down."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from belated.errors import ApiError, BelatedError
from belated.kernel.rng import check_seed
from belated.live.learner import Learner, supports_retraction
from belated.live.types import check_arm_names
from belated.policies._base.defaults import default_policy
from belated.policies._base.policy import POLICIES, Policy
from belated.validation import fields_of

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""Names of experiments."""
MOST_ARMS = 10_000
LONGEST_ARM = 256
LONGEST_SILENCE = 3_650 * 86_400.0


class Silence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What no answer means: after so many seconds, this reward."""

    after: float
    reward: float


class Spec(msgspec.Struct, frozen=True):
    """An experiment as it was asked for; all that was left out is filled in."""

    arms: list[str]
    policy: dict[str, Any]
    seed: int = 0
    silence: Silence | None = None

    def make_policy(self) -> Policy:
        """The policy."""
        return make_policy(self.policy)

    def try_out(self) -> None:
        """Make a decision and answer it, so that the policy is compiled."""
        learner = Learner(len(self.arms), self.make_policy(), self.seed)
        arm, rank = learner.decide()
        learner.answer(arm, 0.0, rank, 0)

    def text(self) -> str:
        """As JSON; equal specs give equal texts."""
        return msgspec.json.encode(self, order="deterministic").decode()


def read_spec(text: str) -> Spec:
    """What :meth:`Spec.text` wrote."""
    return msgspec.json.decode(text, type=Spec)


def checked_spec(arms: Any, policy: dict[str, Any] | None, seed: int, silence: Silence | None) -> Spec:
    """The spec of an experiment, or why it cannot be. Without a policy it has the usual one (with silence, the
    one for that), written down as any other."""
    try:
        names = check_arm_names(arms)
        if len(names) > MOST_ARMS or any(len(name) > LONGEST_ARM for name in names):
            raise ApiError(
                422, "invalid-arms", f"arms: give at most {MOST_ARMS:,} names of at most {LONGEST_ARM} characters."
            )
        made = default_policy(silence is not None) if policy is None else make_policy(policy)
        check_seed(seed)
    except ApiError:
        raise
    except BelatedError as error:
        raise ApiError(422, "invalid-experiment", str(error)) from error
    if silence is not None:
        _check_silence(silence, made)
    given = {"name": type(made).label, **_parameters(made)}
    return Spec(list(names), given, seed, silence)


def _check_silence(silence: Silence, policy: Policy) -> None:
    if not (math.isfinite(silence.after) and 0.0 < silence.after <= LONGEST_SILENCE):
        raise ApiError(
            422,
            "invalid-silence",
            f"silence.after is {silence.after!r}; give seconds above 0 and at most {LONGEST_SILENCE:,.0f} (ten years).",
        )
    if not 0.0 <= silence.reward <= 1.0:
        raise ApiError(422, "invalid-silence", f"silence.reward is {silence.reward!r}; give a number in [0, 1].")
    if not supports_retraction(policy):
        raise ApiError(
            422,
            "invalid-silence",
            f"{policy.label} cannot replace an answer, so that silence cannot be one; leave silence out.",
        )


def _parameters(policy: Policy) -> dict[str, Any]:
    found = {parameter.name: getattr(policy, parameter.name) for parameter in fields_of(type(policy))}
    return {name: value for name, value in found.items() if value is not None}


def policy_names() -> dict[str, type[Policy]]:
    """The package's policies by label and by class name, in small letters."""
    return {name.lower(): cls for key, cls in POLICIES.items() for name in (cls.label, key)}


def make_policy(data: dict[str, Any]) -> Policy:
    """The policy that ``{"name": "OPSE", "confidence": 2.0}`` asks for."""
    name = data.get("name")
    known = policy_names()
    cls = known.get(name.lower()) if isinstance(name, str) else None
    if cls is None:
        labels = ", ".join(sorted({cls.label for cls in known.values()}))
        raise ApiError(422, "unknown-policy", f"policy.name is {name!r}; give one of {labels}.")
    allowed = {parameter.name for parameter in fields_of(cls)}
    for key in data:
        if key != "name" and key not in allowed:
            raise ApiError(
                422,
                "unknown-parameter",
                f"policy.{key}: {cls.label} has no such parameter; it has {', '.join(allowed)}.",
            )
    try:
        return cls(**{key: value for key, value in data.items() if key != "name"})
    except BelatedError as error:
        raise ApiError(422, "invalid-policy", str(error)) from error


def check_name(name: str) -> str:
    """The name of an experiment, or an error."""
    if not re.fullmatch(NAME, name):
        raise ApiError(
            422,
            "invalid-name",
            f"name is {name!r}; give 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit.",
        )
    return name
