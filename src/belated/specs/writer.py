"""Laws, problems, families and policies as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from belated.delays import ByReward, FromScipy, Mixture
from belated.delays._base import DELAYS, DelayLaw
from belated.errors import NotReproducible
from belated.policies import POLICIES, Policy
from belated.problem import Family, Problem
from belated.rewards._base import REWARDS, RewardLaw
from belated.specs.problems import DeclaredFamily


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


def _name_of(function: Callable[..., Any]) -> str:
    """``module:name`` of a function that another process can import."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module in (None, "__main__") or "<" in name:
        raise NotReproducible(f"the family {name or function!r} is defined in no module that can be imported.")
    return f"{module}:{name}"
