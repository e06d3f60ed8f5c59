"""Reward and delay laws as rows of numbers: what compiled code needs to draw from them.

A law's ``encode`` returns one row; tables that the row refers to are added to the :class:`LawTableBuilder`. A law with
a formula brings its own kernel (``draw`` or ``real_delay``, see :class:`belated.delays.DelayLaw`); the others use the
builder's rows: :meth:`~LawTableBuilder.fixed`, :meth:`~LawTableBuilder.steps` for a table of the distribution function,
:meth:`~LawTableBuilder.batch` for delays up to the end of a batch of rounds, and four that lead to other laws
(:meth:`~LawTableBuilder.mixture`, :meth:`~LawTableBuilder.by_value`, :meth:`~LawTableBuilder.by_cell`,
:meth:`~LawTableBuilder.by_round`). Delays are drawn by inversion, one uniform per draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.errors import InvalidParameter
from belated.kernel.jit import inline

NEVER = 2**31 - 1
"""The delay of feedback that never comes."""
BEYOND = 2**31 - 2
"""A finite delay beyond every horizon; longer ones are clipped to it."""

MIXTURE, BY_VALUE, BY_CELL, FIXED, STEPS, BATCH, BY_ROUND = range(7)
"""Kinds of rows that belong to no law. Those up to ``BY_CELL``, and ``BY_ROUND``, lead to other rows; the last two need
the round of the pull. A law with a kernel of its own has a number from ``FIRST_LAW`` on."""
FIRST_LAW = 7
AFFINE = -1
"""The kind of a reward that is another one, mapped by :func:`map_reward`; see :meth:`LawTableBuilder.affine`."""

CELLS_PER_ENTRY, MAX_CELLS = 8, 1 << 14
"""Size of the index that shortens the search in a table of cumulative probabilities: cells per entry, and at most."""
FEW = 8
"""Tables up to this size are counted through instead of halved: no branch then depends on the data."""
LOOKUP_CELLS = 1 << 14
"""Cells of the uniform in which a formula's delay may be looked up."""
UNSURE = -1
"""Entry of a lookup cell that holds several delays."""
MARGIN = 1e-9
"""Relative distance that the ends of a lookup cell must keep from the next delay: far more than rounding may change."""


class LawRow(NamedTuple):
    """One law as numbers: two reals and three integers, whose meaning its ``encode`` and its kernel share."""

    kind: Any  # the number of its kind; while a table is being built, the class of a law with its own kernel
    x: Any = 0.0
    y: Any = 0.0
    i: Any = 0
    j: Any = 0
    k: Any = 0


_COLUMNS = np.dtype([("kind", "i8"), ("x", "f8"), ("y", "f8"), ("i", "i8"), ("j", "i8"), ("k", "i8")])


class LawTable(NamedTuple):
    """All rows of a set of problems, column by column; ``real`` and ``whole`` hold the tables that rows refer to."""

    kind: npt.NDArray[np.int64]
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    i: npt.NDArray[np.int64]
    j: npt.NDArray[np.int64]
    k: npt.NDArray[np.int64]
    real: npt.NDArray[np.float64]
    whole: npt.NDArray[np.int32]


@inline
def row_at(laws: LawTable, row: Any) -> LawRow:
    """One row of the table."""
    return LawRow(laws.kind[row], laws.x[row], laws.y[row], laws.i[row], laws.j[row], laws.k[row])


def depends_on_round(laws: LawTable) -> bool:
    """Whether some delay depends on the round of the pull."""
    return bool(((laws.kind == BATCH) | (laws.kind == BY_ROUND)).any())


@inline
def last_at_most(table: Any, start: Any, size: Any, x: Any) -> Any:
    """The number of entries of table[start + 1 : start + size], ascending, that are at most x."""
    if size <= FEW:
        count: Any = 0
        for step in range(1, size):
            count += np.int64(table[start + step] <= x)
        return count
    low = 0
    high = size - 1
    while low < high:  # table[start + low] <= x or low = 0; table[start + high + 1] > x
        middle = (low + high + 1) >> 1
        if table[start + middle] <= x:
            low = middle
        else:
            high = middle - 1
    return low


@inline
def step_at(row: LawRow, laws: LawTable, u: Any) -> Any:
    """The first step of a table whose cumulative probability is above u; see :meth:`LawTableBuilder.steps`."""
    cell = np.uint32(row.k) + np.uint32(u * row.y)
    entry = np.uint32(laws.whole[cell])
    step = np.uint32(entry >> np.uint32(1))
    start = np.uint32(row.i)
    if entry & np.uint32(1):
        end = np.uint32(np.uint32(laws.whole[cell + np.uint32(1)]) >> np.uint32(1))
        while step < end:
            middle = np.uint32((step + end) >> np.uint32(1))
            if laws.real[start + middle] > u:
                end = middle
            else:
                step = np.uint32(middle + np.uint32(1))
    else:
        step += np.uint32(laws.real[start + step] <= u)
    return step


@inline
def map_reward(row: LawRow, reward: Any) -> Any:
    """The reward of a row of kind ``AFFINE`` where the law that it leads to draws ``reward``."""
    return min(max(row.x + row.y * reward, 0.0), 1.0)


def cumulative_before(weights: Sequence[float]) -> npt.NDArray[np.float64]:
    """The sum of all earlier weights, for each weight."""
    return np.concatenate([[0.0], np.cumsum(weights)[:-1]])


class LawTableBuilder:
    """Collects rows and tables. ``kinds`` numbers the law classes that have their own kernel.

    The first ``reserved`` rows are filled by :meth:`place`, so that the engine finds them by position. At most
    ``lookups`` formulas get a lookup table.
    """

    def __init__(
        self, horizon: int, kinds: Mapping[type, int] | None = None, *, reserved: int = 0, lookups: int = 0
    ) -> None:
        self.horizon = horizon
        self._kinds = kinds or {}
        self._lookups = lookups
        self._rows: list[LawRow] = [LawRow(FIXED)] * reserved
        self._row_of_law: dict[Any, LawRow] = {}
        self._row_of_formula: dict[LawRow, LawRow] = {}
        self._row_number: dict[LawRow, int] = {}
        self._real: list[npt.NDArray[np.float64]] = []
        self._whole: list[npt.NDArray[np.int32]] = []
        self._real_size = 0
        self._whole_size = 0

    # ---- what a law's ``encode`` calls ----

    def own(self, law: type, x: float = 0.0, y: float = 0.0, i: int = 0, j: int = 0, k: int = 0) -> LawRow:
        """A row that the kernel of this law class draws from."""
        return LawRow(law, x, y, i, j, k)

    def fixed(self, delay: int) -> LawRow:
        """A delay that is always the same; ``NEVER`` for feedback that never comes."""
        return LawRow(FIXED, i=delay if delay == NEVER else min(delay, BEYOND))

    def steps(
        self, cumulative: npt.NDArray[np.float64], first: int = 0, columns: npt.NDArray[np.float64] | None = None
    ) -> LawRow:
        """A delay with P(D <= first), P(D <= first + 1), ... in a table; what is left lies beyond the horizon.
        ``columns`` are numbers for each step, for a law with a kernel of its own: they follow the table."""
        cells = min(1 << (CELLS_PER_ENTRY * cumulative.size).bit_length(), MAX_CELLS)
        edges = np.searchsorted(cumulative, np.arange(cells + 1) / cells, side="right")
        edges[-1] = cumulative.size
        # Per cell of the uniform: twice the first entry that may be drawn, plus 1 if the cell has three or more.
        index = self.ints(2 * edges + (np.diff(edges, append=edges[-1]) > 1))
        table = self.reals(np.concatenate([cumulative, [np.inf], *([] if columns is None else [columns.ravel()])]))
        return LawRow(STEPS, first, cells, table, cumulative.size, index)

    def formula(
        self,
        law: type,
        x: float,
        y: float,
        at: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
        *,
        max_unsure: float,
    ) -> LawRow:
        """A row of a law with ``real_delay``; ``at`` computes the same real number with numpy.

        Where it pays off, a lookup is added: the formula's delay in each of many cells of the uniform, if that is a
        single one or beyond the horizon. It is slower than the formula if more than ``max_unsure`` of the cells are
        left to the formula."""
        plain = self.own(law, x, y)
        if plain not in self._row_of_formula:
            self._row_of_formula[plain] = plain
            if self._lookups > 0:
                self._lookups -= 1
                delays = _delay_per_cell(at, self.horizon)
                if np.mean(delays == UNSURE) <= max_unsure:
                    self._row_of_formula[plain] = plain._replace(i=self.ints(delays), j=LOOKUP_CELLS)
        return self._row_of_formula[plain]

    def mixture(self, parts: Iterable[tuple[float, Any]], reward: Any) -> LawRow:
        """Draws from one of several delay laws, given as (weight, law) with weights that sum to 1."""
        present = [(weight, law) for weight, law in parts if weight > 0.0]
        if len(present) == 1:
            return self.row(present[0][1], reward)
        rows = self._rows_of([law for _, law in present], reward)
        return LawRow(MIXTURE, i=self.reals([*cumulative_before([w for w, _ in present]), 1.0]), j=len(present), k=rows)

    def by_value(self, starts: Sequence[float], laws: Iterable[Any], reward: Any) -> LawRow:
        """A delay law for the rewards from each of these numbers in [0, 1], ascending, up to the next."""
        return LawRow(BY_VALUE, i=self.reals(starts), j=len(starts), k=self._rows_of(laws, reward))

    def by_cell(self, laws: Iterable[Any], reward: Any) -> LawRow:
        """A delay law for each of equal cells of the reward."""
        numbered = list(laws)
        return LawRow(BY_CELL, j=len(numbered), k=self._rows_of(numbered, reward))

    def affine(self, row: LawRow, offset: float, factor: float) -> LawRow:
        """The reward of a row, times a factor, plus an offset, clipped to [0, 1]."""
        return LawRow(AFFINE, offset, factor, self._number(row))

    def batch(self, size: int, offset: int) -> LawRow:
        """A delay up to the end of the pull's batch of ``size`` rounds; the first batch ends with round ``offset``."""
        return LawRow(BATCH, i=size, j=size - offset)

    def by_round(self, laws: Mapping[int, Any], drift: bool, reward: Any) -> LawRow:
        """A delay law from each of several rounds on, ascending, the first of them 1; with ``drift`` a mixture of two
        neighbouring ones."""
        return LawRow(
            BY_ROUND, x=float(drift), i=self.reals(list(laws)), j=len(laws), k=self._rows_of(laws.values(), reward)
        )

    def reals(self, values: npt.ArrayLike) -> int:
        """Add a table of reals; returns where it starts."""
        self._real.append(np.asarray(values, np.float64))
        self._real_size += self._real[-1].size
        return self._real_size - self._real[-1].size

    def ints(self, values: npt.ArrayLike) -> int:
        """Add a table of integers; returns where it starts."""
        self._whole.append(np.asarray(values, np.int32))
        self._whole_size += self._whole[-1].size
        return self._whole_size - self._whole[-1].size

    # ---- what the engine calls ----

    def row(self, law: Any, *context: Any) -> LawRow:
        """The row of a law, ``law.encode(self, *context)``; encoded once for equal laws."""
        key = (law, *context)
        row = self._row_of_law.get(key)
        if row is None:
            row = self._row_of_law[key] = law.encode(self, *context)
        return row

    def place(self, position: int, row: LawRow) -> None:
        """Put a row at a reserved position."""
        self._rows[position] = row

    def build(self) -> LawTable:
        """The rows as arrays."""
        numbered = [row if isinstance(row.kind, int) else (self._kind_of(row.kind), *row[1:]) for row in self._rows]
        columns = np.array(numbered, _COLUMNS)
        return LawTable(
            **{name: columns[name].copy() for name in LawRow._fields},
            real=np.concatenate(self._real) if self._real else np.zeros(0),
            whole=np.concatenate(self._whole) if self._whole else np.zeros(0, np.int32),
        )

    def _rows_of(self, laws: Iterable[Any], reward: Any) -> int:
        """Add the rows of several laws and a table of their numbers; returns where that starts."""
        return self.ints([self._number(self.row(law, reward)) for law in laws])

    def _number(self, row: LawRow) -> int:
        if row not in self._row_number:
            self._row_number[row] = len(self._rows)
            self._rows.append(row)
        return self._row_number[row]

    def _kind_of(self, law: type) -> int:
        if law not in self._kinds:
            raise InvalidParameter(
                f"{law.__name__}.encode asks for a kernel of its own, which only built-in laws have; return one of "
                "the builder's rows instead, such as builder.steps(self.cdf(...))."
            )
        return self._kinds[law]


def _delay_per_cell(
    at: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]], horizon: int
) -> npt.NDArray[np.float64]:
    """The delay in each cell of the uniform: ``BEYOND`` if beyond the horizon, ``UNSURE`` if there are several."""
    with np.errstate(all="ignore"):  # at 0 and 1
        ends = at(np.arange(LOOKUP_CELLS + 1) / LOOKUP_CELLS)
        low = np.minimum(ends[1:], ends[:-1]) * (1.0 - MARGIN)
        high = np.maximum(ends[1:], ends[:-1]) * (1.0 + MARGIN)
    delays = np.where(np.floor(low) == np.floor(high), np.minimum(low, BEYOND), UNSURE)
    return np.where(low >= horizon + 1, BEYOND, np.floor(delays))
