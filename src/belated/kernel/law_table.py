"""Laws as numbers: what compiled code needs to draw a reward and a delay.

A law becomes a *row* of a few numbers, with tables beside it where it needs them; a law made of others (a mixture, a
delay that depends on the reward) points to their rows. Delays are drawn by inversion, one uniform a draw, so that a
law's quantile function is all that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

NEVER = 2**31 - 1
"""The delay of feedback that never comes."""
BEYOND = 2**31 - 2
"""A finite delay beyond every horizon; longer ones are cut to it."""

# Kinds of reward rows.
BERNOULLI, CONSTANT, SPREAD, BETA, CHOICE = range(5)
# Kinds of delay rows: simple ones; those whose quantile function is a formula; those that lead to other rows.
FIXED, SPAN, SAMPLE, STEPS, GEOMETRIC, POWER, LOGNORMAL, SPLIT, BY_VALUE, BY_CELL = range(10)

CELLS, MOST_CELLS = 8, 1 << 14
"""The index that shortens the search in a table of cumulative probabilities has so many cells for each entry, and at
most so many."""
FINE = 1 << 14
"""Cells of the uniform in which a smooth law may be looked up."""
UNSURE = -1
"""What is looked up in a cell with several delays."""
MARGIN = 1e-9
"""How far, in relation to it, an end of a cell must be from the next delay: far more than what rounding may change."""


class LawTable(NamedTuple):
    """All rows of a set of problems, column by column. ``real`` and ``whole`` hold the tables."""

    kind: npt.NDArray[np.int64]
    a: npt.NDArray[np.float64]
    b: npt.NDArray[np.float64]
    lo: npt.NDArray[np.int64]
    hi: npt.NDArray[np.int64]
    real: npt.NDArray[np.float64]
    whole: npt.NDArray[np.int32]


def probabilities_before(weights: Sequence[float]) -> npt.NDArray[np.float64]:
    """The probability of all earlier values, for each of several with these probabilities."""
    return np.concatenate([[0.0], np.cumsum(weights)[:-1]])


LawRow = tuple[int, float, float, int, int]
"""One row: its kind and what the kind makes of four numbers."""
_COLUMNS = np.dtype([("kind", np.int64), ("a", np.float64), ("b", np.float64), ("lo", np.int64), ("hi", np.int64)])


def law_row(kind: int, a: float = 0.0, b: float = 0.0, lo: int = 0, hi: int = 0) -> LawRow:
    """A row of this kind."""
    return kind, a, b, lo, hi


def _delays_in_cells(
    at: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]], horizon: int
) -> npt.NDArray[np.float64]:
    """The delay in each cell of the uniform; see :meth:`LawsBuilder.smooth`."""
    with np.errstate(all="ignore"):  # at 0 and 1
        ends = at(np.arange(FINE + 1) / FINE)
        low = np.minimum(ends[1:], ends[:-1]) * (1.0 - MARGIN)
        high = np.maximum(ends[1:], ends[:-1]) * (1.0 + MARGIN)
    found = np.where(np.floor(low) == np.floor(high), np.minimum(low, BEYOND), UNSURE)
    return np.where(low >= horizon + 1, BEYOND, np.floor(found))


class LawTableBuilder:
    """Collects rows and tables. A law gives its row, and adds what the row speaks of: tables with :meth:`reals` and
    :meth:`wholes`, other laws' rows with :meth:`number`.

    The first ``roots`` rows are kept for those that the engine asks for by their place. So many ``lookups`` pay off.
    """

    def __init__(self, horizon: int, *, roots: int = 0, lookups: int = 0) -> None:
        self.horizon = horizon
        self._lookups = lookups
        self._rows: list[LawRow] = [law_row(FIXED)] * roots
        self._known: dict[Any, LawRow] = {}
        self._smooth: dict[tuple[int, float, float], LawRow] = {}
        self._numbers: dict[LawRow, int] = {}
        self._real: list[npt.NDArray[np.float64]] = []
        self._whole: list[npt.NDArray[np.int32]] = []
        self._reals = 0
        self._wholes = 0

    def row(self, law: Any, *context: Any) -> LawRow:
        """The row of ``law``, which is ``law.encode(self, *context)``; the same for equal laws."""
        key = (law, *context)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = law.encode(self, *context)
        return found

    def number(self, law: Any, *context: Any) -> int:
        """The number of the row of ``law``, to which another row may lead."""
        wanted = self.row(law, *context)
        if wanted not in self._numbers:
            self._numbers[wanted] = len(self._rows)
            self._rows.append(wanted)
        return self._numbers[wanted]

    def root(self, place: int, wanted: LawRow) -> None:
        """Put a row at one of the places that were kept free in front."""
        self._rows[place] = wanted

    def reals(self, values: npt.ArrayLike) -> int:
        """Add a table of numbers; where it starts."""
        self._real.append(np.asarray(values, np.float64))
        self._reals += self._real[-1].size
        return self._reals - self._real[-1].size

    def wholes(self, values: npt.ArrayLike) -> int:
        """Add a table of whole numbers; where it starts."""
        self._whole.append(np.asarray(values, np.int32))
        self._wholes += self._whole[-1].size
        return self._wholes - self._whole[-1].size

    def steps(self, cumulative: npt.NDArray[np.float64], first: int = 0) -> LawRow:
        """A delay row for a table of P(D <= first), P(D <= first + 1), ...; what is left is beyond the horizon."""
        cells = min(1 << (CELLS * cumulative.size).bit_length(), MOST_CELLS)
        edges = np.searchsorted(cumulative, np.arange(cells + 1) / cells, side="right")
        edges[-1] = cumulative.size
        index = self.wholes(np.concatenate([[cells], 2 * edges + (np.diff(edges, append=edges[-1]) > 1)]))
        return law_row(STEPS, first, index, self.reals(np.append(cumulative, np.inf)), cumulative.size)

    def smooth(
        self,
        kind: int,
        a: float,
        b: float,
        at: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
        *,
        unsure: float,
    ) -> LawRow:
        """A delay row for a law with a formula; ``at`` gives the real number at a uniform of which the delay is the
        integer part. Where that pays off, there is a lookup beside it: what the formula gives in each of many cells of
        the uniform, if it is one delay alone or none before the horizon. That is slower than the formula if it leaves
        more than ``unsure`` of the cells to it."""
        key = (kind, a, b)
        if key not in self._smooth:
            self._smooth[key] = law_row(kind, a, b)
            if self._lookups > 0:
                self._lookups -= 1
                cells = _delays_in_cells(at, self.horizon)
                if np.mean(cells == UNSURE) <= unsure:
                    self._smooth[key] = law_row(kind, a, b, self.wholes(cells), FINE)
        return self._smooth[key]

    def split(self, parts: Any, reward: Any) -> LawRow:
        """A row that draws from one of several delay laws; ``parts`` are (weight, law), the weights' sum 1."""
        present = [(weight, law) for weight, law in parts if weight > 0.0]
        if len(present) == 1:
            return self.row(present[0][1], reward)
        rows = self.wholes([self.number(law, reward) for _, law in present])
        before = probabilities_before([weight for weight, _ in present])
        return law_row(SPLIT, a=rows, lo=self.reals([*before, 1.0]), hi=len(present))

    def build(self) -> LawTable:
        """The rows as arrays."""
        table = np.array(self._rows, _COLUMNS)
        return LawTable(
            kind=table["kind"].copy(),
            a=table["a"].copy(),
            b=table["b"].copy(),
            lo=table["lo"].copy(),
            hi=table["hi"].copy(),
            real=np.concatenate(self._real) if self._real else np.zeros(0),
            whole=np.concatenate(self._whole) if self._whole else np.zeros(0, np.int32),
        )
