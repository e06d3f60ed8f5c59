"""Laws, problems, families and policies as plain data, and back: for manifests and for files.

A law is ``{"law": "Pareto", "alpha": 1.0}``, a policy ``{"policy": "UCB", "confidence": 1.0}``. In a problem, any
number may be ``{"uniform": [low, high]}``, drawn anew for each run, and an arm may be ``"repeat"``-ed; ``{"best": 0.6,
"gap": 0.1, "arms": 10}`` is short for Bernoulli arms of which the first is best."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from belated.delays import ByReward, FromScipy, Mixture
from belated.delays.base import DELAYS, DelayLaw
from belated.errors import BelatedError, ConfigurationError, NotReproducible
from belated.forms.base import POLICIES, Policy
from belated.problem import Family, Problem
from belated.rewards import Bernoulli
from belated.rewards.base import REWARDS, RewardLaw

# ---- writing ----


def policy_spec(policy: Policy) -> dict[str, Any]:
    """A policy as plain data."""
    values = {field.name: getattr(policy, field.name) for field in fields(policy)}
    return {
        "policy": POLICIES.name_of(type(policy)),
        **{name: value for name, value in values.items() if value is not None},
    }


def problem_spec(problem: Problem | Family) -> dict[str, Any]:
    """A problem or a family as plain data; ``{"unknown": why}`` where it cannot be written down."""
    if isinstance(problem, DeclaredFamily):
        return dict(problem.data)
    try:
        if isinstance(problem, Problem):
            rewards = [reward_spec(law) for law in problem.rewards]
            return {
                "rewards": rewards,
                "delays": [delay_spec(d, r) for d, r in zip(problem.delays, problem.rewards, strict=True)],
            }
        return {"family": _name_of(problem)}
    except NotReproducible as error:
        return {"unknown": str(error)}


def reward_spec(law: RewardLaw) -> dict[str, Any]:
    """A reward law as plain data."""
    return {
        "law": REWARDS.name_of(type(law)),
        **{field.name: _plain(getattr(law, field.name)) for field in fields(law)},
    }


def delay_spec(law: DelayLaw, reward: RewardLaw) -> dict[str, Any]:
    """A delay law as plain data; functions of the reward are written down for this arm's rewards."""
    if isinstance(law, Mixture):
        return {"law": "Mixture", "parts": [[weight, delay_spec(part, reward)] for weight, part in law.parts]}
    if isinstance(law, ByReward):
        if reward.atoms is not None:
            return {
                "law": "ByReward",
                "laws": [[value, delay_spec(part, reward)] for value, part in law.by_value(reward).items()],
            }
        return {"law": "ByReward", "steps": _steps(law, reward)}
    if isinstance(law, FromScipy):
        return {"law": "FromScipy", **_scipy_spec(law.frozen)}
    return {"law": DELAYS.name_of(type(law)), **{field.name: _plain(getattr(law, field.name)) for field in fields(law)}}


def _steps(law: ByReward, reward: RewardLaw) -> list[list[Any]]:
    """A function of a continuous reward as [cells, law] of its steps."""
    steps: list[list[Any]] = []
    for part in law.by_value(reward).values():
        spec = delay_spec(part, reward)
        if steps and steps[-1][1] == spec:
            steps[-1][0] += 1
        else:
            steps.append([1, spec])
    return steps


def _scipy_spec(frozen: Any) -> dict[str, Any]:
    import scipy.stats

    name = getattr(frozen.dist, "name", None)
    if not isinstance(name, str) or type(getattr(scipy.stats, name, None)) is not type(frozen.dist):
        raise NotReproducible(f"{frozen!r} is no distribution of scipy.stats itself.")
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


def _name_of(function: Callable[..., Any]) -> str:
    """``module:name`` of a function that another process can import."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or "<" in name:
        raise NotReproducible(f"the family {name or function!r} is defined in no module that can be imported.")
    return f"{module}:{name}"


# ---- reading ----


def read_policy(data: Any, at: str = "policy") -> Policy:
    """A policy from plain data; errors name the key ``at`` which it stands."""
    return _read(POLICIES, "policy", data, at)  # type: ignore[no-any-return]


def read_problem(data: Any, at: str = "problem") -> Problem | Family:
    """A problem or a family from plain data."""
    if not isinstance(data, Mapping):
        raise ConfigurationError(f"{at} is {data!r}; give a table with rewards and delays.")
    if "family" in data:
        return _imported_family(data, at)
    unknown = sorted(set(data) - {"rewards", "delays"})
    if unknown:
        raise ConfigurationError(f"{at}.{unknown[0]} is not known; a problem has rewards and delays.")
    for key in ("rewards", "delays"):
        if key not in data:
            raise ConfigurationError(f"{at}.{key} is missing; a problem needs rewards and delays.")
    if _is_random(data):
        return DeclaredFamily(dict(data), at)
    return _problem(data, at)


class DeclaredFamily:
    """A family of problems that is declared as data: numbers given as ``{"uniform": [low, high]}`` are drawn anew for
    each run.

    >>> family = DeclaredFamily({"rewards": {"law": "Bernoulli", "mean": {"uniform": [0.25, 0.75]}, "repeat": 3},
    ...                          "delays": {"law": "Fixed", "rounds": 200}})
    >>> family(np.random.default_rng(0)).arms
    3
    """

    def __init__(self, data: dict[str, Any], at: str = "problem") -> None:
        self.data = data
        self._at = at
        self(np.random.default_rng(0))  # a mistake shows here, not in the middle of a simulation

    def __call__(self, rng: np.random.Generator) -> Problem:
        """A problem of the family."""
        return _problem(
            {key: _sampled(_repeated(value), rng, f"{self._at}.{key}") for key, value in self.data.items()}, self._at
        )


def _problem(data: Mapping[str, Any], at: str) -> Problem:
    rewards = _read_rewards(data["rewards"], f"{at}.rewards")
    delays = data["delays"]
    try:
        if isinstance(delays, Mapping) and "repeat" not in delays:
            return Problem(rewards, read_delay(delays, f"{at}.delays"))
        laws = [
            read_delay(law, f"{at}.delays[{arm}]")
            for arm, law in enumerate(_as_list(_repeated(delays), f"{at}.delays"))
        ]
        return Problem(rewards, laws)
    except ConfigurationError:
        raise
    except BelatedError as error:
        raise ConfigurationError(f"{at}: {error}") from error


def _read_rewards(data: Any, at: str) -> list[RewardLaw]:
    if isinstance(data, Mapping) and "best" in data:
        unknown = sorted(set(data) - {"best", "gap", "arms"})
        if unknown or not {"gap", "arms"} <= set(data):
            raise ConfigurationError(
                f"{at} is {dict(data)!r}; with best it takes best, gap and arms, such as {{best = 0.6, gap = 0.1, arms = 10}}."
            )
        arms = data["arms"]
        if isinstance(arms, bool) or not isinstance(arms, int) or arms < 1:
            raise ConfigurationError(f"{at}.arms is {arms!r}; give a whole number >= 1.")
        gaps = data["gap"] if isinstance(data["gap"], list) else [data["gap"]] * (arms - 1)
        try:
            return [Bernoulli(data["best"]), *(Bernoulli(data["best"] - gap) for gap in gaps)]
        except (BelatedError, TypeError) as error:
            raise ConfigurationError(f"{at}: {error}") from error
    return [_read(REWARDS, "law", law, f"{at}[{arm}]") for arm, law in enumerate(_as_list(_repeated(data), at))]


def read_delay(data: Any, at: str) -> DelayLaw:
    """A delay law from plain data."""
    if not isinstance(data, Mapping):
        raise ConfigurationError(f'{at} is {data!r}; give a law, such as {{law = "Fixed", rounds = 200}}.')
    values = dict(data)
    kind = values.get("law")
    if kind == "Mixture" and isinstance(values.get("parts"), list):
        values["parts"] = [_part(part, f"{at}.parts[{j}]") for j, part in enumerate(values["parts"])]
    elif kind == "ByReward" and "steps" in values:
        return ByReward(
            _Steps(
                [(int(count), read_delay(law, f"{at}.steps[{j}]")) for j, (count, law) in enumerate(values["steps"])]
            ),
            **_steps_cells(values),
        )
    elif kind == "ByReward" and "laws" in values:
        values["laws"] = _by_value(values["laws"], f"{at}.laws")
    elif kind == "FromScipy" and "distribution" in values:
        values = {"law": kind, "frozen": _frozen(values, at)}
    return _read(DELAYS, "law", values, at)  # type: ignore[no-any-return]


class _Steps:
    """A function of the reward that is constant on cells of [0, 1]."""

    def __init__(self, steps: list[tuple[int, DelayLaw]]) -> None:
        self._ends = np.cumsum([count for count, _ in steps])
        self._laws = [law for _, law in steps]

    def __call__(self, reward: float) -> DelayLaw:
        cells = int(self._ends[-1])
        return self._laws[int(np.searchsorted(self._ends, min(int(reward * cells), cells - 1), side="right"))]


def _steps_cells(values: Mapping[str, Any]) -> dict[str, int]:
    return {"cells": sum(int(count) for count, _ in values["steps"])}


def _part(part: Any, at: str) -> tuple[Any, DelayLaw]:
    if not isinstance(part, list) or len(part) != 2:
        raise ConfigurationError(
            f'{at} is {part!r}; give [weight, law], such as [0.5, {{law = "Fixed", rounds = 10}}].'
        )
    return part[0], read_delay(part[1], f"{at}[1]")


def _by_value(laws: Any, at: str) -> dict[float, DelayLaw]:
    pairs = list(laws.items()) if isinstance(laws, Mapping) else laws
    if not isinstance(pairs, list) or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ConfigurationError(
            f'{at} is {laws!r}; give a law for each reward, such as {{0 = {{law = "Fixed", rounds = 0}}}}.'
        )
    found = {}
    for value, law in pairs:
        try:
            found[float(value)] = read_delay(law, f"{at}.{value}")
        except (TypeError, ValueError) as error:
            if isinstance(error, BelatedError):
                raise
            raise ConfigurationError(f"{at}: the key {value!r} is no reward; give a number in [0, 1].") from None
    return found


def _frozen(values: Mapping[str, Any], at: str) -> Any:
    import scipy.stats

    name = values["distribution"]
    maker = getattr(scipy.stats, str(name), None)
    if not isinstance(maker, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        raise ConfigurationError(
            f"{at}.distribution is {name!r}; give the name of a distribution of scipy.stats, such as 'expon'."
        )
    given = {key: value for key, value in values.items() if key not in ("law", "distribution", "args", "kwds")}
    try:
        return maker(*values.get("args", []), **values.get("kwds", {}), **given)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{at}: scipy.stats.{name} does not take these parameters: {error}.") from error


def _read(registry: Any, key: str, data: Any, at: str) -> Any:
    """An object of a registry from ``{key: name, parameter: value, ...}``."""
    if not isinstance(data, Mapping) or key not in data:
        names = ", ".join(registry)
        raise ConfigurationError(
            f'{at} is {data!r}; give a table with {key} = "NAME" and its parameters. Names: {names}.'
        )
    values = {name: value for name, value in data.items() if name != key}
    try:
        return registry.build(data[key], values)
    except ConfigurationError:
        raise
    except BelatedError as error:
        raise ConfigurationError(f"{at}: {error}") from error


def _as_list(data: Any, at: str) -> list[Any]:
    if not isinstance(data, list) or not data:
        raise ConfigurationError(f"{at} is {data!r}; give a law, or a list with one for each arm.")
    return data


def _repeated(data: Any) -> Any:
    """Laws with ``repeat = n`` written out n times."""
    if isinstance(data, Mapping) and "repeat" in data and "law" in data:
        return _copies(data)
    if isinstance(data, list):
        return [
            copy for law in data for copy in (_copies(law) if isinstance(law, Mapping) and "repeat" in law else [law])
        ]
    if isinstance(data, Mapping) and "law" in data:
        return data
    return data


def _copies(law: Mapping[str, Any]) -> list[dict[str, Any]]:
    count = law["repeat"]
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 1_000_000:
        raise ConfigurationError(f"repeat is {count!r}; give a whole number from 1 to 1,000,000.")
    return [{key: value for key, value in law.items() if key != "repeat"} for _ in range(count)]


def _is_random(data: Any) -> bool:
    if isinstance(data, Mapping):
        return set(data) == {"uniform"} or any(_is_random(value) for value in data.values())
    return isinstance(data, list) and any(_is_random(value) for value in data)


def _sampled(data: Any, rng: np.random.Generator, at: str) -> Any:
    """The data with every ``{"uniform": [low, high]}`` drawn, in order."""
    if isinstance(data, Mapping):
        if set(data) == {"uniform"}:
            return _uniform(data["uniform"], rng, at)
        if "best" in data and isinstance(data.get("gap"), Mapping) and isinstance(data.get("arms"), int):
            gaps = [_sampled(data["gap"], rng, f"{at}.gap") for _ in range(data["arms"] - 1)]
            return {"best": _sampled(data["best"], rng, f"{at}.best"), "gap": gaps, "arms": data["arms"]}
        return {key: _sampled(value, rng, f"{at}.{key}") for key, value in data.items()}
    if isinstance(data, list):
        return [_sampled(value, rng, f"{at}[{place}]") for place, value in enumerate(data)]
    return data


def _uniform(ends: Any, rng: np.random.Generator, at: str) -> float | int:
    """A number between two ends; a whole one, both ends included, where both are whole and not written as decimals."""
    good = (
        isinstance(ends, list)
        and len(ends) == 2
        and all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
    )
    if not good or not ends[0] <= ends[1]:
        raise ConfigurationError(f"{at}.uniform is {ends!r}; give [low, high] with low <= high.")
    if all(isinstance(end, int) for end in ends):
        return int(rng.integers(ends[0], ends[1], endpoint=True))
    return float(rng.uniform(ends[0], ends[1]))


def _imported_family(data: Mapping[str, Any], at: str) -> Family:
    name = data["family"]
    if len(data) > 1:
        raise ConfigurationError(f"{at} has family and {sorted(set(data) - {'family'})}; a family stands alone.")
    module, _, function = str(name).partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"{at}.family is {name!r}, which cannot be imported: {error}. Give 'package.module:function'."
        ) from error
    if not callable(found):
        raise ConfigurationError(f"{at}.family is {name!r}, which is no function.")
    return found  # type: ignore[no-any-return]
