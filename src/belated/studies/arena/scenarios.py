"""The scenarios of the arena: families of problems, each with its reason, read from files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
FILES = ("independent.toml", "reward-dependent.toml", "lost.toml", "real.toml", "long.toml")
MAX_RUNS = 15_360
"""Runs of a scenario at most."""


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
    twin: str = ""
    """The name of its mirror image: what pays here does not pay there. Empty if it has none."""
    real: bool = False
    """Whether its delays are measured, or made by a known process."""
    long: bool = False
    """Whether it is one of the longest, which are played only if asked for."""
    max_runs: int = MAX_RUNS
    """Runs at most."""

    @property
    def has_few_runs(self) -> bool:
        """Whether it has fewer runs than most scenarios can have, because it is long; asked for or not."""
        return self.max_runs < MAX_RUNS

    @property
    def kind(self) -> str:
        """One of :data:`KINDS`."""
        return LOST if self.loses else DEPENDENT if self.depends else INDEPENDENT

    @property
    def problem(self) -> Problem | Family:
        return read_problem(dict(self.spec), f"{self.name}.problem")

    @property
    def arms(self) -> int:
        return first_problem(Cell({}, self.problem, (), self.horizon)).arms

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
    twin: str = ""
    long: bool = False
    max_runs: Annotated[int, Domain(2, MAX_RUNS, whole=True)] = MAX_RUNS


def scenarios(patterns: Sequence[str] = ("*",), *, long: bool = False) -> list[Scenario]:
    """The scenarios whose names match one of the patterns, such as ``fixed-*``, in their order. With ``long`` those
    that are long, without it the others; a long one also if a pattern is its name.

    >>> [scenario.name for scenario in scenarios(["fixed-?00"])]
    ['fixed-200', 'fixed-500']
    """
    available = [scenario for scenario in _all() if scenario.long == long or scenario.name in patterns]
    names = [scenario.name for scenario in available]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigurationError(
                f"rows is {pattern!r}, which matches no {'long ' if long else ''}scenario.{suggest(pattern, names)} "
                f"There are {', '.join(names)}; * stands for anything."
            )
    return [one for one in available if any(fnmatchcase(one.name, pattern) for pattern in patterns)]


@cache
def _all() -> tuple[Scenario, ...]:
    folder = files("belated.studies.arena") / "data"
    found = tuple(
        replace(read_scenario(name, table), real=file == "real.toml")
        for file in FILES
        for name, table in tomllib.loads((folder / file).read_text(encoding="utf-8")).items()
    )
    check_twins(found)
    return found


def check_twins(scenarios: Sequence[Scenario]) -> None:
    """Check that twins name each other, and have as many rounds and arms."""
    by_name = {scenario.name: scenario for scenario in scenarios}
    for scenario in scenarios:
        if not scenario.twin:
            continue
        twin = by_name.get(scenario.twin)
        if twin is None or twin is scenario:
            raise ConfigurationError(
                f"{scenario.name}.twin is {scenario.twin!r}, which is not another scenario."
                f"{suggest(scenario.twin, list(by_name))} Give the name of one."
            )
        if twin.twin != scenario.name:
            raise ConfigurationError(
                f"{scenario.name}.twin is {twin.name!r}, whose twin is {twin.twin!r}; give {twin.name} the twin "
                f"{scenario.name!r}."
            )
        if (scenario.horizon, scenario.arms) != (twin.horizon, twin.arms):
            raise ConfigurationError(
                f"{scenario.name} and its twin {twin.name} have {scenario.horizon} and {twin.horizon} rounds, "
                f"{scenario.arms} and {twin.arms} arms; give both the same."
            )


def read_scenario(name: str, data: Any) -> Scenario:
    """A scenario from the table of a file."""
    table = from_table(_ScenarioTable, data, name, "A scenario")
    problem = read_problem(table.problem, f"{name}.problem")
    first = first_problem(Cell({}, problem, (), table.horizon))
    return Scenario(
        name,
        table.reason,
        table.horizon,
        table.held,
        depends=first.reward_dependent,
        loses=any(first.delay_law(arm).never > 0.0 for arm in range(first.arms)),
        spec=table.problem,
        twin=table.twin,
        long=table.long,
        max_runs=table.max_runs,
    )
