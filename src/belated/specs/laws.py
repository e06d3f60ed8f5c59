"""Laws and policies from plain data, where each error names the key, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from belated import rewards
from belated.delays import DELAYS, ByReward, ByRound, DelayLaw, FromScipy, Mixture
from belated.delays.by_reward import Steps
from belated.errors import BelatedError, ConfigurationError, InvalidParameter, NotReproducible
from belated.policies import POLICIES, Policy
from belated.policies._base.names import policy_class, variant_hint
from belated.registry import Registry
from belated.rewards import REWARDS, RewardLaw
from belated.specs.tables import fmt, integer, mapping, reject_unknown, suggest
from belated.validation import MAX_HORIZON, Parameter, fields_of

T = TypeVar("T")

EXAMPLES = {
    "Mixture": 'parts = [[0.7, {law = "Fixed", rounds = 10}], [0.3, {law = "Never"}]]',
    "ByReward": 'laws = {0 = {law = "Fixed", rounds = 0}, 1 = {law = "Fixed", rounds = 500}}',
    "Scaled": 'of = {law = "Beta", a = 2.0, b = 6.0}, low = 0, high = 200',
    "ByRound": 'laws = {1 = {law = "Fixed", rounds = 10}, 5001 = {law = "Pareto", alpha = 0.5}}',
    "FromScipy": 'distribution = "expon", scale = 100',
}
"""How to write the laws whose parameters are more than numbers."""


def read_policy(data: Any, at: str = "policy", *, saved: bool = False) -> Policy:
    """A policy from plain data; errors name its key, ``at``. With ``saved`` the data was written by a program, perhaps
    by 0.1.0: see :func:`complete_saved`.

    >>> read_policy({"policy": "UCB"}).confidence, read_policy({"policy": "UCB"}, saved=True).confidence
    (1.0, 'theory')
    """
    return _read(POLICIES, Policy, "policy", data, at, saved=saved)


def complete_saved(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a saved policy. 0.1.0 left ``confidence`` out where it was None, which means "theory"; later
    versions always write it. What people write is not completed: there the default, 1, is meant."""
    words = {
        each.name: each.domain.words[0] for each in fields_of(cls) if each.domain is not None and each.domain.words
    }
    return {**words, **values}


def read_reward(data: Any, at: str) -> RewardLaw:
    """A reward law from plain data."""
    if isinstance(data, Mapping) and data.get("law") == "FromScipy":
        data = {"law": "FromScipy", "frozen": _frozen(data, at)}
    elif isinstance(data, Mapping) and data.get("law") == "Scaled":
        if "of" not in data:
            raise ConfigurationError(f"{at}.of is missing; Scaled needs it, such as {EXAMPLES['Scaled']}.")
        data = {**data, "of": read_reward(data["of"], f"{at}.of")}
    return _read(REWARDS, RewardLaw, "law", data, at)


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
    elif name == "ByRound" and "laws" in values:
        values["laws"] = _by_first_round(values["laws"], f"{at}.laws")
    elif name == "FromScipy":
        values = {"law": name, "frozen": _frozen(values, at)}
    return _read(DELAYS, DelayLaw, "law", values, at)


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


def _read_steps(values: Mapping[str, Any], at: str) -> ByReward:
    """A function of the reward that is constant on equal cells of its range, as [cells, law] of its steps."""
    reject_unknown(values, ("law", "steps"), at, "ByReward with steps")
    counts, laws = [], []
    for j, (cells, law) in enumerate(_pairs(values["steps"], f"{at}.steps", "cells")):
        counts.append(integer(cells, f"{at}.steps[{j}][0]", 1, 1_000_000))
        laws.append(read_delay(law, f"{at}.steps[{j}][1]"))
    steps = Steps(counts, laws)
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
            raise ConfigurationError(f"{at}: the key {value!r} is not a reward; give a number.") from None
        by_reward[reward] = read_delay(law, f"{at}.{value}")
    return by_reward


def _by_first_round(laws: Any, at: str) -> dict[int, DelayLaw]:
    pairs = list(laws.items()) if isinstance(laws, Mapping) else _pairs(laws, at, "first round")
    by_round: dict[int, DelayLaw] = {}
    for key, law in pairs:
        try:
            first = integer(int(key) if isinstance(key, str) else key, at, 1, MAX_HORIZON)
        except (ConfigurationError, ValueError):
            raise ConfigurationError(
                f"{at}: the key {key!r} is not a round; give a whole number from 1 to {MAX_HORIZON:,}."
            ) from None
        if first in by_round:
            raise ConfigurationError(f"{at} has round {first} twice; give each round once.")
        by_round[first] = read_delay(law, f"{at}.{key}")
    return by_round


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


def _read(registry: Registry[T], base: type, key: str, data: Any, at: str, *, saved: bool = False) -> T:
    """An object of a registry from ``{key: name, parameter: value, ...}``."""
    names = ", ".join(registry)
    values = dict(mapping(data, at, f'a table with {key} = "NAME" and its parameters. Names: {names}'))
    name = values.pop(key, None)
    if not isinstance(name, str):
        is_what = "is missing" if name is None else f"is {fmt(name)}"
        raise ConfigurationError(f"{at}.{key} {is_what}; give the name of a {registry.kind}: {names}.")
    cls = _class_of(registry, base, name, f"{at}.{key}")
    values = complete_saved(cls, values) if saved else values
    parameters = {("of" if parameter.name == key else parameter.name): parameter for parameter in fields_of(cls)}
    reject_unknown(values, parameters, at, name)
    if "of" in values and "of" in parameters:  # a parameter that is called law, as the key of the name is
        values[key] = values.pop("of")
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


def _class_of(registry: Registry[T], base: type, name: str, at: str) -> type[T]:
    """The class of this name, or a policy's label; a user's own class is imported."""
    if ":" not in name and name not in registry:
        labelled: Any = policy_class(name) if base is Policy else None
        if labelled is not None:
            return labelled  # type: ignore[no-any-return]
        near = (variant_hint(name) if base is Policy else "") or suggest(name, registry)
        other = next((kind for kind in (REWARDS, DELAYS) if kind is not registry and name in kind), None)
        near = f" It is a {other.kind}." if other is not None and base is not Policy else near
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
    allowed = replace(domain, optional=False).describe() if domain is not None else ""
    if parameter.name not in values:
        if parameter.required:
            example = f", such as {EXAMPLES[owner]}" if owner in EXAMPLES else ""
            give = f"give {allowed}" if domain is not None else f"{owner} needs it{example}"
            raise ConfigurationError(f"{at}.{parameter.name} is missing; {give}.")
    elif domain is not None:
        try:
            domain.check(owner, parameter.name, values[parameter.name])
        except InvalidParameter:
            optional = ", or leave it out" if not parameter.required else ""
            value = values[parameter.name]
            drawn = ", or {uniform = [low, high]}" if may_be_drawn and isinstance(value, Mapping) else ""
            allowed = replace(domain, optional=False).describe(value)
            raise ConfigurationError(
                f"{at}.{parameter.name} is {fmt(value)}; give {allowed}{drawn}{optional}."
            ) from None


# ---- as plain data ----


def policy_spec(policy: Policy) -> dict[str, Any]:
    """A policy as plain data, without what is None; ``confidence`` never is."""
    values = {field.name: getattr(policy, field.name) for field in fields(policy)}
    given = {name: value for name, value in values.items() if value is not None}
    return {"policy": POLICIES.name_of(type(policy)), **given}


def reward_spec(law: RewardLaw) -> dict[str, Any]:
    """A reward law as plain data."""
    if isinstance(law, rewards.Scaled):
        return {"law": "Scaled", "of": reward_spec(law.law), "low": law.low, "high": law.high}
    if isinstance(law, rewards.FromScipy):
        return {"law": "FromScipy", **_scipy_spec(law.frozen)}
    return _law_spec(REWARDS, law)


def delay_spec(law: DelayLaw, reward: RewardLaw) -> dict[str, Any]:
    """A delay law as plain data; functions of the reward are written down for this arm's rewards."""
    if isinstance(law, Mixture):
        return {"law": "Mixture", "parts": [[weight, delay_spec(part, reward)] for weight, part in law.parts]}
    if isinstance(law, ByReward):
        laws = [[value, delay_spec(part, reward)] for value, part in law.by_value(reward).items()]
        return {"law": "ByReward", **({"laws": laws} if reward.atoms is not None else {"steps": _steps_of(laws)})}
    if isinstance(law, ByRound):
        laws_by_round = {str(first): delay_spec(part, reward) for first, part in law.laws.items()}
        return {"law": "ByRound", "laws": laws_by_round, "drift": law.drift}
    if isinstance(law, FromScipy):
        return {"law": "FromScipy", **_scipy_spec(law.frozen)}
    return _law_spec(DELAYS, law)


def _law_spec(registry: Registry[Any], law: RewardLaw | DelayLaw) -> dict[str, Any]:
    parameters = {field.name: _plain(getattr(law, field.name)) for field in fields(law)}
    return {"law": registry.name_of(type(law)), **parameters}


def _steps_of(laws: list[list[Any]]) -> list[list[Any]]:
    """[cells, law] of the steps of a function whose law in each cell is given."""
    steps: list[list[Any]] = []
    for _, spec in laws:
        if steps and steps[-1][1] == spec:
            steps[-1][0] += 1
        else:
            steps.append([1, spec])
    return steps


def _scipy_spec(frozen: Any) -> dict[str, Any]:
    import scipy.stats

    name = getattr(getattr(frozen, "dist", None), "name", None)
    if not isinstance(name, str) or type(getattr(scipy.stats, name, None)) is not type(frozen.dist):
        raise NotReproducible(f"{frozen!r} is not a distribution of scipy.stats itself.")
    return {
        "distribution": name,
        "args": [_plain(v) for v in frozen.args],
        "kwds": {k: _plain(v) for k, v in frozen.kwds.items()},
    }


def _plain(value: Any) -> Any:
    """Numbers and lists of numbers as JSON has them."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, int | float | str) or value is None:
        return value
    raise NotReproducible(f"{value!r} cannot be written down.")
