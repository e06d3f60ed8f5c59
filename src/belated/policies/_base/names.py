"""Policies by what people call them: class names, labels, and the labels of variants."""

from __future__ import annotations

import json

from belated.policies._base.policy import POLICIES, Policy


def policy_class(name: object) -> type[Policy] | None:
    """The policy of the package with this class name or label, in any case.

    >>> policy_class("imputed-ucb") is policy_class("ImputedUCB")
    True
    """
    wanted = str(name).lower()
    return next((cls for key, cls in POLICIES.items() if wanted in (key.lower(), cls.label.lower())), None)


def superseded_note(cls: type[Policy]) -> str:
    """Why, and by which policy, a policy is superseded; nothing if it is not.

    >>> superseded_note(POLICIES["PendingUCB"])
    'Pending-UCB is superseded by ImputedUCB: its regret can be linear where feedback is lost or an arm is silent.'
    """
    if not cls.superseded_by:
        return ""
    return f"{cls.label} is superseded by {cls.superseded_by}: {cls.superseded_because}."


def variant_hint(name: object) -> str:
    """What the label of a variant, which is no name of a policy, stands for; else nothing.

    >>> variant_hint("Imputed-UCB anytime")
    ' It is Imputed-UCB with confidence = "anytime".'
    >>> variant_hint("Prefix-UCB(spread)")
    ' It is Prefix-UCB with spread = true.'
    """
    wanted = str(name).lower()
    for cls in POLICIES.values():
        for values in cls.arena_variants:
            variant = cls(**values)
            if wanted in (variant.label.lower(), variant.describe().lower()):
                given = " and ".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
                return f" It is {cls.label} with {given}."
    return ""
