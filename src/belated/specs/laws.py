"""Reading laws and policies from plain data; each error names the key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import belated.policies  # noqa: F401  (registers them)
from belated.delays import ByReward
from belated.delays._base import DELAYS, DelayLaw
from belated.errors import BelatedError, ConfigurationError, InvalidParameter
from belated.policies import POLICIES, Policy
from belated.registry import Registry
from belated.rewards._base import REWARDS, RewardLaw
from belated.specs.tables import fmt, integer, mapping, reject_unknown, suggest
from belated.validation import Parameter, fields_of

EXAMPLES = {
    "Mixture": 'parts = [[0.7, {law = "Fixed", rounds = 10}], [0.3, {law = "Never"}]]',
    "ByReward": 'laws = {0 = {law = "Fixed", rounds = 0}, 1 = {law = "Fixed", rounds = 500}}',
    "FromScipy": 'distribution = "expon", scale = 100',
}
"""How to write the laws whose parameters are more than numbers."""


def read_policy(data: Any, at: str = "policy") -> Policy:
    """A policy from plain data; errors name its key, ``at``."""
    policy: Policy = _read(POLICIES, Policy, "policy", data, at)
    return policy


def read_reward(data: Any, at: str) -> RewardLaw:
    """A reward law from plain data."""
    law: RewardLaw = _read(REWARDS, RewardLaw, "law", data, at)
    return law


def read_delay(data: Any, at: str) -> DelayLaw:
    """A delay law from plain data."""
    values = dict(mapping(data, at, 'a law, such as {law = "Fixed", rounds = 200}, or a list with one for each arm'))
    name = values.get("law")
    if name == "Mixture" and "parts" in values:
        values["parts"] = [
            (weight, read_delay(law, f"{at}.parts[{j}][1]"))
            for j, (weight, law) in enumerate(_pairs(values["parts"], f"{at}.parts", "weight"))
        ]
    elif name == "ByReward" and "steps" in values:
        return _read_steps(values, at)
    elif name == "ByReward" and "laws" in values:
        values["laws"] = _by_value(values["laws"], f"{at}.laws")
    elif name == "FromScipy":
        values = {"law": name, "frozen": _frozen(values, at)}
    law: DelayLaw = _read(DELAYS, DelayLaw, "law", values, at)
    return law


def _pairs(data: Any, at: str, first: str) -> list[tuple[Any, Any]]:
    """A list of [something, law]."""
    if not isinstance(data, list) or not data:
        raise ConfigurationError(f"{at} is {fmt(data)}; give a list of [{first}, law].")
    for j, pair in enumerate(data):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ConfigurationError(
                f'{at}[{j}] is {fmt(pair)}; give [{first}, law], such as [0.5, {{law = "Fixed", rounds = 10}}].'
            )
    return [(pair[0], pair[1]) for pair in data]


class _Steps:
    """A function of the reward that is constant on cells of [0, 1]."""

    def __init__(self, steps: list[tuple[int, DelayLaw]]) -> None:
        self._ends = np.cumsum([count for count, _ in steps])
        self._laws = [law for _, law in steps]
        self.cells = int(self._ends[-1])

    def __call__(self, reward: float) -> DelayLaw:
        cell = min(int(reward * self.cells), self.cells - 1)
        return self._laws[int(np.searchsorted(self._ends, cell, side="right"))]


def _read_steps(values: Mapping[str, Any], at: str) -> ByReward:
    """A function of the reward as [cells, law] of its steps."""
    reject_unknown(values, ("law", "steps"), at, "ByReward with steps")
    steps = _Steps(
        [
            (integer(cells, f"{at}.steps[{j}][0]", 1, 1_000_000), read_delay(law, f"{at}.steps[{j}][1]"))
            for j, (cells, law) in enumerate(_pairs(values["steps"], f"{at}.steps", "cells"))
        ]
    )
    try:
        return ByReward(steps, cells=steps.cells)
    except InvalidParameter as error:
        raise ConfigurationError(f"{at}: {error}") from error


def _by_value(laws: Any, at: str) -> dict[float, DelayLaw]:
    pairs = list(laws.items()) if isinstance(laws, Mapping) else _pairs(laws, at, "reward")
    by_reward = {}
    for value, law in pairs:
        try:
            reward = float(value)
        except (TypeError, ValueError):
            raise ConfigurationError(f"{at}: the key {value!r} is not a reward; give a number in [0, 1].") from None
        by_reward[reward] = read_delay(law, f"{at}.{value}")
    return by_reward


def _frozen(values: Mapping[str, Any], at: str) -> Any:
    """A distribution of scipy.stats: its name, and its parameters beside it or in args and kwds."""
    import scipy.stats

    name = values.get("distribution")
    maker = getattr(scipy.stats, name, None) if isinstance(name, str) else None
    if not isinstance(maker, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        is_what = f"is {fmt(name)}" if "distribution" in values else "is missing"
        raise ConfigurationError(
            f"{at}.distribution {is_what}; give the name of a distribution of scipy.stats with its parameters, such as "
            f'{{law = "FromScipy", {EXAMPLES["FromScipy"]}}}.'
        )
    parameters = {key: value for key, value in values.items() if key not in ("law", "distribution", "args", "kwds")}
    try:
        return maker(*values.get("args", []), **values.get("kwds", {}), **parameters)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{at}: scipy.stats.{name} does not take these parameters: {error}.") from error


def _read(registry: Registry[Any], base: type, key: str, data: Any, at: str) -> Any:
    """An object of a registry from ``{key: name, parameter: value, ...}``."""
    names = ", ".join(registry)
    values = dict(mapping(data, at, f'a table with {key} = "NAME" and its parameters. Names: {names}'))
    name = values.pop(key, None)
    if not isinstance(name, str):
        is_what = "is missing" if name is None else f"is {fmt(name)}"
        raise ConfigurationError(f"{at}.{key} {is_what}; give the name of a {registry.kind}: {names}.")
    cls = _class_of(registry, base, name, f"{at}.{key}")
    parameters = {parameter.name: parameter for parameter in fields_of(cls)}
    reject_unknown(values, parameters, at, name)
    for parameter in parameters.values():
        _check(parameter, values, at, name, may_be_drawn=base is not Policy)
    try:
        return cls(**values)
    except ConfigurationError:
        raise
    except BelatedError as error:
        raise ConfigurationError(f"{at}: {error}") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigurationError(f"{at}: {name} does not take these parameters: {error}.") from error


def _class_of(registry: Registry[Any], base: type, name: str, at: str) -> Any:
    """The class of this name; a user's own class is imported."""
    if ":" not in name and name not in registry:
        labels = {getattr(cls, "label", ""): cls.__name__ for cls in registry.values()}
        near = f" Did you mean {labels[name]!r}?" if name in labels else suggest(name, registry)
        raise ConfigurationError(
            f"{at} is {name!r}, which is not a {registry.kind}.{near} There are {', '.join(registry)}, and your own as "
            "'package.module:ClassName'."
        )
    try:
        cls = registry[name]
    except BelatedError as error:
        raise ConfigurationError(f"{at}: {error}") from error
    except Exception as error:  # a user's module may fail in any way
        raise ConfigurationError(f"{at} is {name!r}, which cannot be imported: {error!r}.") from error
    if not issubclass(cls, base):
        raise ConfigurationError(f"{at} is {name!r}, which is not a {registry.kind}; derive it from {base.__name__}.")
    return cls


def _check(parameter: Parameter, values: Mapping[str, Any], at: str, owner: str, may_be_drawn: bool) -> None:
    """Raise an error that names the parameter's key if it is missing or outside its domain."""
    domain = parameter.domain

    def allowed() -> str:
        return replace(domain, optional=False).describe() if domain is not None else ""

    if parameter.name not in values:
        if parameter.required:
            example = f", such as {EXAMPLES[owner]}" if owner in EXAMPLES else ""
            give = f"give {allowed()}" if domain is not None else f"{owner} needs it{example}"
            raise ConfigurationError(f"{at}.{parameter.name} is missing; {give}.")
    elif domain is not None:
        try:
            domain.check(owner, parameter.name, values[parameter.name])
        except InvalidParameter:
            optional = ", or leave it out" if not parameter.required else ""
            value = values[parameter.name]
            drawn = ", or {uniform = [low, high]}" if may_be_drawn and isinstance(value, Mapping) else ""
            raise ConfigurationError(
                f"{at}.{parameter.name} is {fmt(value)}; give {allowed()}{drawn}{optional}."
            ) from None
