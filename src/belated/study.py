"""Studies: one set-up, played for every combination of values of a few axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from belated.errors import ConfigurationError
from belated.forms.base import Policy
from belated.problem import Family, Problem
from belated.spec.keys import hint

Place = Mapping[str, Any]
"""Of each axis a value."""


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
        """The combination in words that fit into a file's name."""
        return ",".join(f"{axis}={value}" for axis, value in self.place.items()) or "all"


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
            f"the study {self.name!r} has no axis {name!r}.{hint(name, names)} There is {', '.join(names) or 'none'}."
        )

    def policy(self, label: str) -> int:
        """The number of the policy with this label."""
        if label in self.labels:
            return self.labels.index(label)
        raise ConfigurationError(
            f"the study {self.name!r} has no policy {label!r}.{hint(label, self.labels)} There is "
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

    def looks(self) -> list[int]:
        """The numbers of runs at which claims are judged: four times as many each time, up to the most.

        >>> Study("s", "", (), ("UCB",), (), 100, 2000, 1).looks()
        [100, 400, 1600, 2000]
        """
        found = [min(self.runs, self.most)]
        while found[-1] < self.most:
            found.append(min(4 * found[-1], self.most))
        return found

    def scaled(self, fraction: float) -> Study:
        """The same with a fraction of the runs, but at least a few."""
        return _with_runs(self, max(_FEWEST, round(self.runs * fraction)), max(_FEWEST, round(self.most * fraction)))


_FEWEST = 8
"""Runs at the least: with fewer there is hardly a standard error."""


def _with_runs(study: Study, runs: int, most: int) -> Study:
    from dataclasses import replace

    return replace(study, runs=runs, most=max(runs, most))
