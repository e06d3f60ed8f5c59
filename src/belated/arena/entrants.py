"""Who enters the arena: every policy there is, and a user's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from belated.domains import parameters_of
from belated.errors import ConfigurationError
from belated.forms.base import POLICIES, Policy
from belated.spec.keys import hint

CONFIDENCE = 1.0
"""c of every policy that has one, as in the paper's experiments."""
FORMS: dict[str, tuple[dict[str, Any], ...]] = {
    "PatientBandits": ({"alpha": 1.0, "constant": 0.5},),
    "PrefixUCB": ({}, {"spread": True}),
}
"""Policies that enter in forms of their own."""


def entrants(names: Sequence[str] = (), own: Sequence[str] = ()) -> list[Policy]:
    """The policies of these names or labels, all if there are none, and classes of the user's own, each given as
    ``package.module:MyPolicy``; every one with c = 1 if it has a c.

    >>> [policy.describe() for policy in entrants(["UCB", "Prefix-UCB"])]
    ['UCB(confidence=1)', 'Prefix-UCB(confidence=1)', 'Prefix-UCB(confidence=1, spread)']
    """
    listed = [policy for name in POLICIES for policy in _forms(name, POLICIES[name])]
    chosen = [policy for name in names for policy in _named(name, listed)] if names else listed
    chosen += [policy for name in own for policy in _forms(name, _own(name))]
    return list(dict.fromkeys(chosen))


def _forms(name: str, cls: type[Policy]) -> Iterator[Policy]:
    takes = {parameter.name: parameter for parameter in parameters_of(cls)}
    forms = FORMS.get(name, ({},))
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
    found = [policy for policy in listed if name in (type(policy).__name__, policy.label)]
    if not found:
        known = list(dict.fromkeys(type(policy).__name__ for policy in listed))
        raise ConfigurationError(
            f"policies is {name!r}, which is no policy.{hint(name, known)} There are {', '.join(known)}; your own is "
            "given as --policy package.module:MyPolicy."
        )
    return found


def _own(name: str) -> type[Policy]:
    cls = POLICIES[name]
    if not issubclass(cls, Policy):
        raise ConfigurationError(f"policy is {name!r}, which is no policy; give a class made with @policy.")
    return cls
