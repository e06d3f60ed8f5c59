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
from belated.studies.study import Place, Study


@dataclass(frozen=True)
class Evidence:
    """A study and the result of each of its cells. Where some have more runs than others, the first runs of each are
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

    def within(self, place: Place) -> Evidence:
        """The part of it that lies at a place, where a list allows several values of an axis; the axes stay."""
        study, numbers = self.study.within(place)
        return Evidence(study, tuple(self.results[number] for number in numbers))

    def at(self, place: Place) -> Evidence:
        """The part of it that lies at a place; the axes of the place are gone."""
        study, numbers = self.study.at(place)
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
        found: npt.NDArray[np.int32] = getattr(self.results[cell], what)[self.study.policy(label), : self.runs, arm]
        return found

    def along(self, name: str) -> list[tuple[Any, list[int]]]:
        """The numbers of the cells, by value of an axis."""
        return [
            (value, [cell for cell in self.cells if self.study.cells[cell].place[name] == value])
            for value in self.study.axis(name).values
        ]

    def lines(self, name: str) -> list[tuple[Place, list[int]]]:
        """The numbers of the cells, in lines along an axis: of each line the place on the other axes, and its cells."""
        self.study.axis(name)
        found: dict[tuple[Any, ...], tuple[Place, list[int]]] = {}
        for cell in self.cells:
            others = {axis: value for axis, value in self.study.cells[cell].place.items() if axis != name}
            found.setdefault(tuple(others.values()), (others, []))[1].append(cell)
        return list(found.values())

    def named(self, cell: int) -> str:
        """Where a cell lies, in words; nothing where there is but one."""
        return in_words(self.study.cells[cell].place)


def in_words(place: Place) -> str:
    """A place in words.

    >>> in_words({"delay": 2000, "c": "ln T"})
    'delay = 2,000, c = ln T'
    """
    return ", ".join(f"{name} = {shown(value)}" for name, value in place.items())


def shown(value: Any) -> str:
    """A value of an axis as people read it."""
    return f"{value:,}" if isinstance(value, int) else str(value)
