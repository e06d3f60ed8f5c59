"""The contestants of the arena: every registered policy, and a user's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from inspect import isabstract
from typing import Any

from belated.errors import ConfigurationError
from belated.formatting import unique_labels
from belated.policies import POLICIES, Policy
from belated.policies._base.defaults import CONFIDENCE
from belated.specs.tables import suggest
from belated.validation import fields_of


def contestants(names: Sequence[str] = (), own: Sequence[str] = ()) -> list[Policy]:
    """The policies of these names or labels, all if there are none, and the user's own classes, each given as
    ``package.module:MyPolicy``; every one with c = 1 if it has a c.

    >>> [policy.describe() for policy in contestants(["UCB", "Prefix-UCB"])]
    ['UCB(confidence=1)', 'Prefix-UCB(confidence=1)', 'Prefix-UCB(confidence=1, spread)']
    """
    registered = [policy for name in POLICIES for policy in variants(name, POLICIES[name])]
    chosen = [policy for name in names for policy in _named(name, registered)] if names else registered
    chosen += [policy for name in own for policy in variants(name, _own_class(name))]
    return list(dict.fromkeys(chosen))


def labels_of(policies: Sequence[Policy]) -> tuple[str, ...]:
    """A unique label for each policy: where classes or instances share one, with the parameters in which they differ,
    the name of a user's own class, and finally a number.

    >>> labels_of(contestants(["UCB", "PrefixUCB"]))
    ('UCB', 'Prefix-UCB', 'Prefix-UCB spread')
    """
    return tuple(unique_labels([_label(policy, policies) for policy in policies]))


def _label(policy: Policy, policies: Sequence[Policy]) -> str:
    cls = type(policy)
    namesakes = [other for other in policies if type(other).label == cls.label]
    parts = [cls.label]
    always = policy.label.removeprefix(cls.label).split()  # a parameter that its own label names
    if any(type(other) is not cls for other in namesakes) and ":" in POLICIES.name_of(cls):
        parts.append(f"({cls.__name__})")
    same_class = [other for other in namesakes if type(other) is cls]
    for field in fields(policy):
        value = getattr(policy, field.name)
        differs = field.name in always or any(getattr(other, field.name) != value for other in same_class)
        if differs and value is not None and value is not False:
            parts.append(field.name if value is True else f"{field.name}={value:g}")
    return " ".join(parts)


def variants(name: str, cls: type[Policy]) -> Iterator[Policy]:
    """The forms in which a class enters: those that it declares itself (and does not inherit)."""
    parameters = {parameter.name: parameter for parameter in fields_of(cls)}
    for values in cls.__dict__.get("arena_variants", ({},)):
        missing = [key for key, parameter in parameters.items() if parameter.required and key not in values]
        if missing:
            raise ConfigurationError(
                f"policy is {name!r}, which needs {', '.join(missing)}; give a class whose parameters all have "
                "defaults, or declare its arena_variants."
            )
        defaults: dict[str, Any] = {"confidence": CONFIDENCE} if "confidence" in parameters else {}
        yield cls(**(defaults | values))


def _named(name: str, registered: Sequence[Policy]) -> list[Policy]:
    labelled = zip(registered, labels_of(registered), strict=True)
    matching = [policy for policy, label in labelled if name in (type(policy).__name__, type(policy).label, label)]
    if not matching:
        classes = list(dict.fromkeys(type(policy).__name__ for policy in registered))
        raise ConfigurationError(
            f"policies is {name!r}, which is not a policy.{suggest(name, classes)} There are {', '.join(classes)}; "
            "give your own as --policy package.module:MyPolicy."
        )
    return matching


def _own_class(name: str) -> type[Policy]:
    cls = POLICIES[name]
    if not issubclass(cls, Policy):
        raise ConfigurationError(f"policy is {name!r}, which is not a policy; give a class decorated with @policy.")
    if isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise ConfigurationError(
            f"policy is {name!r}, which has no {missing}; add what is missing, as docs/howto/add-a-policy.md says."
        )
    return cls
