"""The rows of the arena: families of problems, each with its reason, read from files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from belated.errors import ConfigurationError
from belated.problem import Family, Problem
from belated.specs import read_problem
from belated.specs.tables import integer, mapping, reject_unknown, suggest

INDEPENDENT, DEPENDENT, LOST = "independent", "reward-dependent", "lost"
KINDS = (INDEPENDENT, DEPENDENT, LOST)
"""Rows whose delays do not depend on the reward, whose delays do, and in which answers are lost for good."""
FILES = ("independent.toml", "reward-dependent.toml", "lost.toml")
_KEYS = ("reason", "horizon", "held", "problem")


@dataclass(frozen=True, eq=False)
class Scenario:
    """A family of problems on which policies are compared; plain data."""

    name: str
    reason: str
    """Why it is there."""
    horizon: int
    held: bool
    """Whether it was held out while policies were made."""
    depends: bool
    """Whether some delay depends on the reward."""
    loses: bool
    """Whether some answer never comes."""
    spec: Mapping[str, Any]
    """The problem, as a file says it."""

    @property
    def kind(self) -> str:
        """One of :data:`KINDS`."""
        return LOST if self.loses else DEPENDENT if self.depends else INDEPENDENT

    @property
    def problem(self) -> Problem | Family:
        """What is played."""
        return read_problem(dict(self.spec), f"{self.name}.problem")


def scenarios(patterns: Sequence[str] = ("*",)) -> list[Scenario]:
    """The rows whose names match one of the patterns, such as ``fixed-*``, in their order.

    >>> [row.name for row in rows(["fixed-?00"])]
    ['fixed-200', 'fixed-500']
    """
    names = [row.name for row in _all()]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigurationError(
                f"rows is {pattern!r}, which names no row.{suggest(pattern, names)} There are {', '.join(names)}; * "
                "stands for anything."
            )
    return [row for row in _all() if any(fnmatchcase(row.name, pattern) for pattern in patterns)]


@cache
def _all() -> tuple[Scenario, ...]:
    return tuple(_row(name, data) for file in FILES for name, data in tomllib.loads(_text(file)).items())


def _text(file: str) -> str:
    return (files("belated.studies.arena") / "data" / file).read_text(encoding="utf-8")


def _row(name: str, data: Any) -> Scenario:
    values = mapping(data, name, "a table with reason, horizon and problem")
    reject_unknown(values, _KEYS, name, "A row")
    problem = read_problem(values["problem"], f"{name}.problem")
    drawn = problem if isinstance(problem, Problem) else problem(np.random.default_rng(0))
    return Scenario(
        name,
        str(values["reason"]),
        integer(values["horizon"], f"{name}.horizon", 1),
        bool(values.get("held", False)),
        drawn.reward_dependent,
        any(drawn.delay_law(arm).never > 0.0 for arm in range(drawn.arms)),
        values["problem"],
    )
