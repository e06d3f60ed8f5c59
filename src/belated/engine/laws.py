"""Laws as numbers: what compiled code needs to draw a reward and a delay.

A law becomes a *row* of a few numbers, with tables beside it where it needs them; a law made of others (a mixture, a
delay that depends on the reward) points to their rows. Delays are drawn by inversion, one uniform a draw, so that a
law's quantile function is all that matters.
"""

from __future__ import annotations

from collections.abc import Sequence
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


class Laws(NamedTuple):
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


Row = tuple[int, float, float, int, int]
"""One row: its kind and what the kind makes of four numbers."""


class LawsBuilder:
    """Collects rows and tables; laws add themselves with :meth:`row`, :meth:`reals` and :meth:`wholes`.

    The first ``roots`` rows are kept for those that the engine asks for by their place.
    """

    def __init__(self, horizon: int, *, roots: int = 0) -> None:
        self.horizon = horizon
        self._rows: list[Row] = [(FIXED, 0.0, 0.0, 0, 0)] * roots
        self._known: dict[Any, int] = {}
        self._real: list[npt.NDArray[np.float64]] = []
        self._whole: list[npt.NDArray[np.int32]] = []
        self._reals = 0
        self._wholes = 0

    def once(self, law: Any, *context: Any) -> int:
        """The row of ``law``, added by ``law.encode(self, *context)`` if it is not there yet."""
        key = (law, *context)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = law.encode(self, *context)
        return found

    def row(self, kind: int, a: float = 0.0, b: float = 0.0, lo: int = 0, hi: int = 0) -> int:
        """Add a row; its number."""
        self._rows.append((kind, a, b, lo, hi))
        return len(self._rows) - 1

    def root(self, place: int, row: int) -> None:
        """Copy a row to one of the places that were kept free in front."""
        self._rows[place] = self._rows[row]

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

    def fixed(self, rounds: int) -> int:
        """Add a row for one delay."""
        return self.row(FIXED, lo=rounds)

    def steps(self, cumulative: npt.NDArray[np.float64], first: int = 0) -> int:
        """Add a delay row for a table of P(D <= first), P(D <= first + 1), ...; what is left is beyond the horizon."""
        cells = min(1 << (CELLS * cumulative.size).bit_length(), MOST_CELLS)
        edges = np.searchsorted(cumulative, np.arange(cells + 1) / cells, side="right")
        edges[-1] = cumulative.size
        index = self.wholes(np.concatenate([[cells], 2 * edges + (np.diff(edges, append=edges[-1]) > 1)]))
        return self.row(STEPS, first, index, self.reals(np.append(cumulative, np.inf)), cumulative.size)

    def split(self, parts: Any, reward: Any) -> int:
        """Add a row that draws from one of several delay laws; ``parts`` are (weight, law), the weights' sum 1."""
        return self.choose_row([(weight, self.once(law, reward)) for weight, law in parts])

    def choose_row(self, parts: list[tuple[float, int]]) -> int:
        """Add a row that leads to one of several rows; ``parts`` are (weight, row), the weights' sum 1."""
        present = [(weight, row) for weight, row in parts if weight > 0.0]
        if len(present) == 1:
            return present[0][1]
        rows = self.wholes([row for _, row in present])
        before = probabilities_before([weight for weight, _ in present])
        return self.row(SPLIT, a=rows, lo=self.reals([*before, 1.0]), hi=len(present))

    def build(self) -> Laws:
        """The rows as arrays."""
        kind, a, b, lo, hi = zip(*self._rows, strict=True)
        return Laws(
            kind=np.array(kind, np.int64),
            a=np.array(a, np.float64),
            b=np.array(b, np.float64),
            lo=np.array(lo, np.int64),
            hi=np.array(hi, np.int64),
            real=np.concatenate(self._real) if self._real else np.zeros(0),
            whole=np.concatenate(self._whole) if self._whole else np.zeros(0, np.int32),
        )
