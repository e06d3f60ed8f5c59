"""Evidence: the results of a study as numbers for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.errors import ConfigurationError
from belated.simulation.result import Result
from belated.studies.claims.estimate import Samples
from belated.studies.study import Coordinates, Study


@dataclass(frozen=True)
class Evidence:
    """A study and the result of each of its cells. Where some have more runs than others, the runs that all have are
    compared, so that they are paired."""

    study: Study
    results: tuple[Result, ...]

    @property
    def runs(self) -> int:
        """Runs that all cells have."""
        return min(result.runs for result in self.results)

    @property
    def cells(self) -> range:
        """The numbers of all cells."""
        return range(len(self.results))

    def within(self, selection: Coordinates) -> Evidence:
        """The part with these coordinates, where a list selects several values of an axis; all axes are kept."""
        study, numbers = self.study.within(selection)
        return Evidence(study, tuple(self.results[number] for number in numbers))

    def at(self, selection: Coordinates) -> Evidence:
        """The part with these coordinates; their axes are dropped."""
        study, numbers = self.study.at(selection)
        return Evidence(study, tuple(self.results[number] for number in numbers))

    def regret(self, label: str, cell: int) -> Samples:
        """(R,) pseudo-regret of a policy at the horizon."""
        return self.results[cell].final[self.study.policy(label), : self.runs]

    def pooled(self, label: str, cells: Sequence[int]) -> Samples:
        """(R,) its mean over several cells."""
        return np.asarray(np.mean([self.regret(label, cell) for cell in cells], axis=0))

    def curve(self, label: str, cell: int) -> Samples:
        """(R, C) pseudo-regret at the checkpoints."""
        kept = self.results[cell].curves
        if kept.shape[1] < self.runs:
            raise ConfigurationError(
                f"the study {self.study.name!r} keeps the curves of {kept.shape[1]:,} of {self.runs:,} runs, and a "
                "claim is about all; give fewer checkpoints."
            )
        return kept[self.study.policy(label), : self.runs]

    def counts(self, what: str, label: str, cell: int, arm: int) -> npt.NDArray[np.int32]:
        """(R,) an arm's ``pulls``, or the round in which it was eliminated (``eliminated_at``)."""
        counts: npt.NDArray[np.int32] = getattr(self.results[cell], what)[self.study.policy(label), : self.runs, arm]
        return counts

    def along(self, name: str) -> list[tuple[Any, list[int]]]:
        """The numbers of the cells, by value of an axis."""
        return [
            (value, [cell for cell in self.cells if self.study.cells[cell].coordinates[name] == value])
            for value in self.study.axis(name).values
        ]

    def lines(self, name: str) -> list[tuple[Coordinates, list[int]]]:
        """The numbers of the cells, in lines along an axis: for each line its coordinates on the other axes, and its
        cells."""
        self.study.axis(name)
        lines: dict[tuple[Any, ...], tuple[Coordinates, list[int]]] = {}
        for cell in self.cells:
            others = {axis: value for axis, value in self.study.cells[cell].coordinates.items() if axis != name}
            lines.setdefault(tuple(others.values()), (others, []))[1].append(cell)
        return list(lines.values())

    def describe(self, cell: int) -> str:
        """The coordinates of a cell in words; nothing where there is only one cell."""
        return in_words(self.study.cells[cell].coordinates)


def in_words(coordinates: Coordinates) -> str:
    """Coordinates in words.

    >>> in_words({"delay": 2000, "c": "ln T"})
    'delay = 2,000, c = ln T'
    """
    return ", ".join(f"{name} = {axis_value(value)}" for name, value in coordinates.items())


def axis_value(value: Any) -> str:
    """A value of an axis as people read it."""
    return f"{value:,}" if isinstance(value, int) else str(value)
