"""Who enters the arena: every policy there is, and a user's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from inspect import isabstract
from typing import Any

from belated.errors import ConfigurationError
from belated.policies import POLICIES, Policy
from belated.policies._base.defaults import CONFIDENCE
from belated.specs.tables import suggest
from belated.validation import fields_of

VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "PatientBandits": ({"alpha": 1.0, "constant": 0.5},),
    "PrefixUCB": ({}, {"spread": True}),
}
"""Policies that enter in forms of their own."""


def contestants(names: Sequence[str] = (), own: Sequence[str] = ()) -> list[Policy]:
    """The policies of these names or labels, all if there are none, and classes of the user's own, each given as
    ``package.module:MyPolicy``; every one with c = 1 if it has a c.

    >>> [policy.describe() for policy in entrants(["UCB", "Prefix-UCB"])]
    ['UCB(confidence=1)', 'Prefix-UCB(confidence=1)', 'Prefix-UCB(confidence=1, spread)']
    """
    listed = [policy for name in POLICIES for policy in _forms(name, POLICIES[name])]
    chosen = [policy for name in names for policy in _named(name, listed)] if names else listed
    chosen += [policy for name in own for policy in _forms(name, _own(name))]
    return list(dict.fromkeys(chosen))


def labels_of(policies: Sequence[Policy]) -> tuple[str, ...]:
    """Of each policy its label; where classes or instances have the same, with the parameters in which they differ, the
    name of a class of the user's own, and at last a number.

    >>> labels_of(entrants(["UCB", "PrefixUCB"]))
    ('UCB', 'Prefix-UCB', 'Prefix-UCB spread')
    """
    short = [type(policy).label for policy in policies]
    found = [
        _label(policy, [other for other, its in zip(policies, short, strict=True) if its == label])
        for policy, label in zip(policies, short, strict=True)
    ]
    total, seen = Counter(found), Counter[str]()
    for place, label in enumerate(found):
        seen[label] += 1
        if total[label] > 1:
            found[place] = f"{label} #{seen[label]}"
    return tuple(found)


def _label(policy: Policy, alike: Sequence[Policy]) -> str:
    told = [type(policy).label]
    form = policy.label.removeprefix(told[0]).split()  # what its own label tells of it, it tells in any company
    if any(type(other) is not type(policy) for other in alike) and ":" in POLICIES.name_of(type(policy)):
        told.append(f"({type(policy).__name__})")
    same = [other for other in alike if type(other) is type(policy)]
    for field in fields(policy):
        value = getattr(policy, field.name)
        differs = field.name in form or any(getattr(other, field.name) != value for other in same)
        if differs and value is not None and value is not False:
            told.append(field.name if value is True else f"{field.name}={value:g}")
    return " ".join(told)


def _forms(name: str, cls: type[Policy]) -> Iterator[Policy]:
    takes = {parameter.name: parameter for parameter in fields_of(cls)}
    forms = VARIANTS.get(name, ({},))
    for given in forms:
        missing = [each for each, parameter in takes.items() if parameter.required and each not in given]
        if missing:
            raise ConfigurationError(
                f"policy is {name!r}, which needs {', '.join(missing)}; give a class that can be made without: one "
                "with defaults."
            )
        named: dict[str, Any] = given | ({"confidence": CONFIDENCE} if "confidence" in takes else {})
        yield cls(**named)


def _named(name: str, listed: Sequence[Policy]) -> list[Policy]:
    told = zip(listed, labels_of(listed), strict=True)
    found = [policy for policy, label in told if name in (type(policy).__name__, type(policy).label, label)]
    if not found:
        known = list(dict.fromkeys(type(policy).__name__ for policy in listed))
        raise ConfigurationError(
            f"policies is {name!r}, which is no policy.{suggest(name, known)} There are {', '.join(known)}; yours is "
            "given as --policy package.module:MyPolicy."
        )
    return found


def _own(name: str) -> type[Policy]:
    cls = POLICIES[name]
    if not issubclass(cls, Policy):
        raise ConfigurationError(f"policy is {name!r}, which is no policy; give a class made with @policy.")
    if isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise ConfigurationError(
            f"policy is {name!r}, which has no {missing}; give a class that has all it needs, "
            "as docs/howto/add-a-policy.md says."
        )
    return cls
