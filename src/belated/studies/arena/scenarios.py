"""The scenarios of the arena: families of problems, each with its reason, read from files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from belated.errors import ConfigurationError
from belated.problem import Family, Problem
from belated.specs.problems import read_problem
from belated.specs.tables import Key, Text, from_table, suggest
from belated.studies.study import Cell, first_problem
from belated.validation import MAX_HORIZON, Domain

INDEPENDENT, DEPENDENT, LOST = "independent", "reward-dependent", "lost"
KINDS = (INDEPENDENT, DEPENDENT, LOST)
"""Delays that do not depend on the reward, delays that do, and feedback that is lost for good."""
FILES = ("independent.toml", "reward-dependent.toml", "lost.toml")


@dataclass(frozen=True, eq=False)
class Scenario:
    """A family of problems on which policies are compared; plain data."""

    name: str
    reason: str
    """Why it is there."""
    horizon: int
    held_out: bool
    """Whether it was held out while policies were developed."""
    depends: bool
    """Whether some delay depends on the reward."""
    loses: bool
    """Whether some feedback never comes."""
    spec: Mapping[str, Any]
    """The problem as plain data."""

    @property
    def kind(self) -> str:
        """One of :data:`KINDS`."""
        return LOST if self.loses else DEPENDENT if self.depends else INDEPENDENT

    @property
    def problem(self) -> Problem | Family:
        return read_problem(dict(self.spec), f"{self.name}.problem")

    def to_dict(self) -> dict[str, Any]:
        """As plain data, with the names that files use."""
        return {"held" if key == "held_out" else key: value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scenario:
        """Read what :meth:`to_dict` returned."""
        return cls(**{"held_out" if key == "held" else key: value for key, value in data.items()})


@dataclass(frozen=True)
class _ScenarioTable:
    reason: Text
    horizon: Annotated[int, Domain(1, MAX_HORIZON, whole=True)]
    problem: Annotated[Any, Key(give="a table with rewards and delays")]
    held: bool = False


def scenarios(patterns: Sequence[str] = ("*",)) -> list[Scenario]:
    """The scenarios whose names match one of the patterns, such as ``fixed-*``, in their order.

    >>> [scenario.name for scenario in scenarios(["fixed-?00"])]
    ['fixed-200', 'fixed-500']
    """
    names = [scenario.name for scenario in _all()]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigurationError(
                f"rows is {pattern!r}, which matches no scenario.{suggest(pattern, names)} There are "
                f"{', '.join(names)}; * stands for anything."
            )
    return [scenario for scenario in _all() if any(fnmatchcase(scenario.name, pattern) for pattern in patterns)]


@cache
def _all() -> tuple[Scenario, ...]:
    folder = files("belated.studies.arena") / "data"
    return tuple(
        read_scenario(name, table)
        for file in FILES
        for name, table in tomllib.loads((folder / file).read_text(encoding="utf-8")).items()
    )


def read_scenario(name: str, data: Any) -> Scenario:
    """A scenario from the table of a file."""
    table = from_table(_ScenarioTable, data, name, "A scenario")
    problem = read_problem(table.problem, f"{name}.problem")
    first = first_problem(Cell({}, problem, (), table.horizon))
    loses = any(first.delay_law(arm).never > 0.0 for arm in range(first.arms))
    return Scenario(name, table.reason, table.horizon, table.held, first.reward_dependent, loses, table.problem)
