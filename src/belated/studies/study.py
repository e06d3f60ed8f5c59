"""Studies: one set-up, played for every combination of values of a few axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from belated.errors import ConfigurationError
from belated.kernel.rng import family_generator
from belated.policies import Policy
from belated.problem import Family, Problem
from belated.specs.tables import suggest

Place = Mapping[str, Any]
"""Of each axis a value."""
PolicyName = Annotated[str, "policy"]
"""The label of a policy of a study; none if empty."""
AxisName = Annotated[str, "axis"]
"""The name of an axis of a study; none if empty."""


@dataclass(frozen=True)
class Axis:
    """What is varied, and over which values."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Cell:
    """One combination: what is simulated there."""

    place: Place
    problem: Problem | Family
    policies: tuple[Policy, ...]
    horizon: int

    @property
    def name(self) -> str:
        """The combination in words, for messages."""
        return ",".join(f"{axis}={value}" for axis, value in self.place.items()) or "all"


def first_problem(cell: Cell, seed: int = 0) -> Problem:
    """The problem of a cell; where each run has its own, that of the first."""
    return cell.problem if isinstance(cell.problem, Problem) else cell.problem(family_generator(seed, 0))


@dataclass(frozen=True)
class Study:
    """All cells of a set-up. Each is played with the same seed, so that run r of one is paired with run r of another,
    as policies within a cell are."""

    name: str
    about: str
    axes: tuple[Axis, ...]
    labels: tuple[str, ...]
    """Of each policy a name."""
    cells: tuple[Cell, ...]
    runs: int
    """Runs of each cell at first."""
    most: int
    """Runs of each cell at the most, where a claim is undecided."""
    checkpoints: int | tuple[int, ...]

    def axis(self, name: str) -> Axis:
        """The axis of this name."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        names = [axis.name for axis in self.axes]
        raise ConfigurationError(
            f"the study {self.name!r} has no axis {name!r}.{suggest(name, names)} It has {', '.join(names) or 'none'}."
        )

    def policy(self, label: str) -> int:
        """The number of the policy with this label."""
        if label in self.labels:
            return self.labels.index(label)
        raise ConfigurationError(
            f"the study {self.name!r} has no policy {label!r}.{suggest(label, self.labels)} There is "
            f"{', '.join(self.labels)}."
        )

    def where(self, wanted: Place) -> list[int]:
        """The numbers of the cells that lie at a place; a list allows several values of an axis."""
        allowed = {
            name: value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            for name, value in wanted.items()
        }
        for name, values in allowed.items():
            known = self.axis(name).values
            if not values:
                raise ConfigurationError(f"{name} has no value; give one or more of {', '.join(map(str, known))}.")
            for value in values:
                if value not in known:
                    raise ConfigurationError(
                        f"the axis {name!r} of the study {self.name!r} has no value {value!r}; it has "
                        f"{', '.join(map(str, known))}."
                    )
        return [
            number
            for number, cell in enumerate(self.cells)
            if all(cell.place[name] in values for name, values in allowed.items())
        ]

    def within(self, place: Place) -> tuple[Study, list[int]]:
        """The part of it that lies at a place, where a list allows several values of an axis, and the numbers of its
        cells; the axes stay."""
        numbers = self.where(place)
        kept = {name: [self.cells[number].place[name] for number in numbers] for name in place}
        axes = tuple(
            replace(axis, values=tuple(value for value in axis.values if value in kept.get(axis.name, axis.values)))
            for axis in self.axes
        )
        return replace(self, axes=axes, cells=tuple(self.cells[number] for number in numbers)), numbers

    def at(self, place: Place) -> tuple[Study, list[int]]:
        """The part of it that lies at a place, and the numbers of its cells; the axes of the place are gone."""
        numbers = self.where(place)
        cells = tuple(
            replace(cell, place={name: value for name, value in cell.place.items() if name not in place})
            for cell in (self.cells[number] for number in numbers)
        )
        return replace(self, axes=tuple(axis for axis in self.axes if axis.name not in place), cells=cells), numbers

    def looks(self) -> list[int]:
        """The numbers of runs at which claims are judged: from 400 on, as far as there are so many, four times as many
        each time, up to the most.

        >>> Study("s", "", (), ("UCB",), (), 100, 6400, 1).looks(), Study("s", "", (), ("UCB",), (), 40, 40, 1).looks()
        ([400, 1600, 6400], [40])
        """
        found = [max(self.runs, min(ENOUGH, self.most))]
        while found[-1] < self.most:
            found.append(min(4 * found[-1], self.most))
        return found

    def scaled(self, fraction: float) -> Study:
        """The same with a fraction of the runs, but no fewer than a standard error needs."""
        runs, most = (min(number, max(FEWEST, round(number * fraction))) for number in (self.runs, self.most))
        return replace(self, runs=runs, most=most)


ENOUGH = 400
"""Runs from which a claim is judged: an interval does not know of a tail that was not met."""
FEWEST = 8
"""Runs at the least, where a study has as many."""
