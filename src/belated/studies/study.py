"""Studies: one set-up, played for every combination of the values of its axes. A sweep has one axis, a scenario of the
arena none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Annotated, Any

from belated.errors import ConfigurationError
from belated.formatting import unique_labels
from belated.kernel.rng import family_generator
from belated.policies import Policy
from belated.policies._base.policy import describe_with
from belated.problem import Family, Problem
from belated.specs.tables import suggest

ENOUGH_RUNS = 1600
"""Runs from which on claims are judged, and intervals keep their risk: with fewer, too many samples miss the long tails
of regrets. Measured by ``make coverage-of-intervals``."""

Coordinates = Mapping[str, Any]
"""A value for each axis, by its name."""
PolicyName = Annotated[str, "policy"]
"""The label of a policy of a study; none if empty."""
AxisName = Annotated[str, "axis"]
"""The name of an axis of a study; none if empty."""


@dataclass(frozen=True)
class Axis:
    """What varies, and its values."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Cell:
    """One combination of values: what is simulated there."""

    coordinates: Coordinates
    problem: Problem | Family
    policies: tuple[Policy, ...]
    horizon: int

    @property
    def name(self) -> str:
        """The coordinates in words, for messages."""
        return ",".join(f"{axis}={value}" for axis, value in self.coordinates.items()) or "all"


def first_problem(cell: Cell, seed: int = 0) -> Problem:
    """The problem of a cell; where each run has its own, that of the first run."""
    return cell.problem if isinstance(cell.problem, Problem) else cell.problem(family_generator(seed, 0))


@dataclass(frozen=True)
class Study:
    """All cells of a set-up. Each is played with the same seed, so that run r of one is paired with run r of another,
    as policies within a cell are."""

    name: str
    about: str
    axes: tuple[Axis, ...]
    labels: tuple[str, ...]
    """A label for each policy."""
    cells: tuple[Cell, ...]
    runs: int
    """Runs of each cell at first."""
    max_runs: int
    """Runs of each cell at most, where a claim is undecided."""
    checkpoints: int | Sequence[int]
    shuffle: bool = False
    """Whether the arms are relabelled in each run."""
    check: bool = True
    """Whether policies that are not built in are first played as plain Python, each step checked."""

    def axis(self, name: str) -> Axis:
        for axis in self.axes:
            if axis.name == name:
                return axis
        names = [axis.name for axis in self.axes]
        raise ConfigurationError(
            f"the study {self.name!r} has no axis {name!r}.{suggest(name, names)} It has {', '.join(names) or 'none'}."
        )

    def numbers(self, name: str) -> list[float]:
        """The values of an axis as numbers; an error if one of them is not a number."""
        values = self.axis(name).values
        if not all(isinstance(value, int | float) for value in values):
            raise ConfigurationError(
                f"the axis {name!r} has values that are not numbers: {', '.join(map(str, values))}."
            )
        return [float(value) for value in values]

    def check_several(self, name: str) -> None:
        """Raise an error if an axis has only one value."""
        if len(self.axis(name).values) < 2:
            raise ConfigurationError(f"the axis {name!r} has only one value here; give two or more.")

    def policy(self, label: str) -> int:
        """The number of the policy with this label."""
        if label in self.labels:
            return self.labels.index(label)
        raise ConfigurationError(
            f"the study {self.name!r} has no policy {label!r}.{suggest(label, self.labels)} It has "
            f"{', '.join(self.labels)}."
        )

    def where(self, selection: Coordinates) -> list[int]:
        """The numbers of the cells with these coordinates; a list selects several values of an axis."""
        selected = {
            name: value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            for name, value in selection.items()
        }
        for name, values in selected.items():
            available = self.axis(name).values
            if not values:
                raise ConfigurationError(f"{name} has no value; give one or more of {', '.join(map(str, available))}.")
            for value in values:
                if value not in available:
                    raise ConfigurationError(
                        f"the axis {name!r} of the study {self.name!r} has no value {value!r}; it has "
                        f"{', '.join(map(str, available))}."
                    )
        return [
            number
            for number, cell in enumerate(self.cells)
            if all(cell.coordinates[name] in values for name, values in selected.items())
        ]

    def within(self, selection: Coordinates) -> tuple[Study, list[int]]:
        """The part of the study with these coordinates, and the numbers of its cells; all axes are kept."""
        numbers = self.where(selection)
        kept = {name: [self.cells[number].coordinates[name] for number in numbers] for name in selection}
        axes = tuple(
            replace(axis, values=tuple(value for value in axis.values if value in kept.get(axis.name, axis.values)))
            for axis in self.axes
        )
        return replace(self, axes=axes, cells=tuple(self.cells[number] for number in numbers)), numbers

    def at(self, selection: Coordinates) -> tuple[Study, list[int]]:
        """The part of the study with these coordinates, and the numbers of its cells; their axes are dropped."""
        numbers = self.where(selection)
        cells = tuple(
            replace(cell, coordinates={name: x for name, x in cell.coordinates.items() if name not in selection})
            for cell in (self.cells[number] for number in numbers)
        )
        return replace(self, axes=tuple(axis for axis in self.axes if axis.name not in selection), cells=cells), numbers

    def interim_looks(self) -> list[int]:
        """The numbers of runs at which claims are judged: from 1,600 on, if there are that many, four times as many
        each time, up to the maximum.

        >>> Study("s", "", (), ("UCB",), (), 100, 6400, 1).interim_looks()
        [1600, 6400]
        >>> Study("s", "", (), ("UCB",), (), 40, 40, 1).interim_looks()
        [40]
        """
        looks = [max(self.runs, min(ENOUGH_RUNS, self.max_runs))]
        while looks[-1] < self.max_runs:
            looks.append(min(4 * looks[-1], self.max_runs))
        return looks

    def scaled(self, fraction: float) -> Study:
        """The same study with a fraction of the runs, but at least 8, as a standard error needs, if it has as many."""
        runs, most = (min(n, max(8, round(n * fraction))) for n in (self.runs, self.max_runs))
        return replace(self, runs=runs, max_runs=most)


def column_labels(lists: Sequence[Sequence[Policy]]) -> tuple[str, ...]:
    """A unique label for each column of policies; parameters are added only where all lists agree on them. One that
    varies in a column is shown in the others."""
    columns = list(zip(*lists, strict=True))
    labels = [" / ".join(dict.fromkeys(policy.label for policy in column)) for column in columns]
    varied = {
        field.name
        for column in columns
        for first, policy in pairwise(column)
        if type(first) is type(policy)
        for field in fields(policy)
        if getattr(first, field.name) != getattr(policy, field.name)
    }
    described = [
        sorted({describe_with(policy, varied) if varied else policy.describe() for policy in column})
        for column in columns
    ]
    details = [texts[0] if len(texts) == 1 else label for label, texts in zip(labels, described, strict=True)]
    return tuple(unique_labels(labels, details))
