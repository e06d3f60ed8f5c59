"""The specification of an experiment: validated, with all defaults filled in, and serialized."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from belated.errors import ApiError, BelatedError
from belated.kernel.rng import check_seed, fresh_seed
from belated.live.arm_names import check_arm_names
from belated.live.learner import Learner, pack_events
from belated.policies import POLICIES, Policy, default_policy
from belated.policies._base.encode import supports_replacement
from belated.policies._base.entry_points import DECIDED
from belated.policies._base.names import policy_class, variant_hint
from belated.service.problem_types import ProblemType
from belated.specs.laws import complete_saved
from belated.validation import fields_of

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""Names of experiments."""
ID = r"(?!\.\.?$)[^\x00-\x1f\x7f/]+"
"""Ids of decisions: they are part of paths, and of databases that do not store the character 0."""
LONGEST_ID = 132
MOST_ARMS = 10_000
LONGEST_ARM = 256
LONGEST_SILENCE = 3_650 * 86_400.0


class Silence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What silence means: ``reward`` is imputed ``after`` seconds."""

    after: float
    reward: float


class Spec(msgspec.Struct, frozen=True):
    """An experiment as requested, with defaults filled in."""

    arms: list[str]
    policy: dict[str, Any]
    seed: int = 0
    silence: Silence | None = None

    def warm_up(self) -> None:
        """Make a decision and observe it, and replay nothing, so that the policy is compiled."""
        learner = Learner(len(self.arms), make_policy(self.policy), self.seed)
        arm, rank = learner.decide()
        learner.observe(arm, 0.0, rank, 0)
        learner.replay(pack_events(DECIDED, [], [], [], []))

    def text(self) -> str:
        """As JSON; equal specs give equal texts."""
        return msgspec.json.encode(self, order="deterministic").decode()


def read_spec(text: str) -> Spec:
    """The inverse of :meth:`Spec.text`; the policy of a spec of 0.1.0 is completed."""
    spec = msgspec.json.decode(text, type=Spec)
    cls = policy_class(spec.policy.get("name"))
    return spec if cls is None else msgspec.structs.replace(spec, policy=complete_saved(cls, spec.policy))


def is_well_formed(text: str) -> bool:
    """Whether a spec is valid, and in the form that belated writes, or that 0.1.0 wrote."""
    asked = read_spec(text)
    spec = checked_spec(asked.arms, asked.policy, asked.seed, asked.silence)
    without_theory = {name: value for name, value in spec.policy.items() if (name, value) != ("confidence", "theory")}
    return text in (spec.text(), msgspec.structs.replace(spec, policy=without_theory).text())


def checked_spec(
    arms: Any, policy: dict[str, Any] | None, seed: int | None, silence: Silence | None, *, saved: bool = False
) -> Spec:
    """The spec of an experiment, or the error that says what is invalid. Without a policy it has the default one, which
    depends on whether there is ``silence``; without a seed, a fresh one. For ``saved`` see :func:`make_policy`."""
    try:
        names = check_arm_names(arms)
        if len(names) > MOST_ARMS or any(len(name) > LONGEST_ARM for name in names):
            raise ProblemType.INVALID_ARMS.error(
                f"arms: give at most {MOST_ARMS:,} names of at most {LONGEST_ARM} characters."
            )
        chosen = default_policy(silence is not None) if policy is None else make_policy(policy, saved=saved)
        seed = fresh_seed() if seed is None else check_seed(seed)
    except ApiError:
        raise
    except BelatedError as error:
        raise ProblemType.INVALID_EXPERIMENT.error(str(error)) from error
    if silence is not None:
        _check_silence(silence, chosen)
    parameters = {each.name: getattr(chosen, each.name) for each in fields_of(type(chosen))}
    given = {name: value for name, value in parameters.items() if value is not None}
    return Spec(list(names), {"name": type(chosen).label, **given}, seed, silence)


def _check_silence(silence: Silence, policy: Policy) -> None:
    if not (math.isfinite(silence.after) and 0.0 < silence.after <= LONGEST_SILENCE):
        raise ProblemType.INVALID_SILENCE.error(
            f"silence.after is {silence.after!r}; give seconds above 0 and at most {LONGEST_SILENCE:,.0f} (ten years)."
        )
    if not 0.0 <= silence.reward <= 1.0:
        raise ProblemType.INVALID_SILENCE.error(f"silence.reward is {silence.reward!r}; give a number in [0, 1].")
    if not supports_replacement(policy):
        raise ProblemType.CANNOT_REPLACE.error(
            f"silence needs a policy that can replace feedback, and {policy.label} cannot; leave silence out, or "
            "choose Prefix-UCB."
        )


def make_policy(data: dict[str, Any], *, saved: bool = False) -> Policy:
    """The policy described by a table such as ``{"name": "OPSE", "confidence": 2.0}``. With ``saved`` the table was
    written by a program, perhaps by 0.1.0: see :func:`belated.specs.laws.complete_saved`."""
    name = data.get("name")
    cls = policy_class(name)
    if cls is None:
        labels = ", ".join(sorted({cls.label for cls in POLICIES.values()}))
        hint = variant_hint(name)
        raise ProblemType.UNKNOWN_POLICY.error(
            f"policy.name is {name!r}, which is not a policy.{hint} Give one of {labels}."
        )
    allowed = {parameter.name for parameter in fields_of(cls)}
    for key in data:
        if key != "name" and key not in allowed:
            raise ProblemType.UNKNOWN_PARAMETER.error(
                f"policy.{key}: {cls.label} has no such parameter; it has {', '.join(allowed)}."
            )
    try:
        values = complete_saved(cls, data) if saved else data
        return cls(**{key: value for key, value in values.items() if key != "name"})
    except BelatedError as error:
        in_json = re.sub(r"\bor None\.$", "or null.", str(error))
        raise ProblemType.INVALID_POLICY.error(in_json) from error


def check_name(name: str) -> str:
    """The name of an experiment, or an error if it is invalid."""
    if not re.fullmatch(NAME, name):
        raise ProblemType.INVALID_NAME.error(
            f"name is {name!r}; give 1 to 64 letters, digits, '.', '_' and '-', starting with a letter or digit."
        )
    return name
