"""Laws as numbers: what compiled code needs to draw a reward and a delay.

A law becomes a *row* of a few numbers, with tables beside it where it needs them; a law made of others (a mixture, a
delay that depends on the reward) points to their rows. Rows are drawn from by inversion, one uniform a draw, so that a
law's quantile function is all that matters, and equal laws share a row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.kernel import compiled, entry, outlined
from belated.numerics import beta_draw, exp, log, normal_quantile
from belated.rng import uniform

NEVER = 2**62
"""The delay of feedback that never comes."""
BEYOND = 2**31 - 1
"""A finite delay beyond every horizon; longer ones are cut to it."""

# Kinds of reward rows, and what their numbers a, b, lo, hi are.
BERNOULLI, CONSTANT, SPREAD, BETA, CHOICE = range(5)
# Kinds of delay rows.
FIXED, SPAN, SAMPLE, STEPS, GEOMETRIC, POWER, LOGNORMAL, SPLIT, BY_VALUE, BY_CELL = range(10)

_TINY = 2.0**-53

GUIDE = 256
"""Cells of the guide that shortens the search in a table of cumulative probabilities."""
CELLS = 4096
"""Cells of the guide of a smooth law: most have one delay, which is then looked up instead of computed."""


class Laws(NamedTuple):
    """All rows of a set of problems. ``real`` and ``whole`` hold the tables."""

    kind: npt.NDArray[np.int64]
    a: npt.NDArray[np.float64]
    b: npt.NDArray[np.float64]
    lo: npt.NDArray[np.int64]
    hi: npt.NDArray[np.int64]
    real: npt.NDArray[np.float64]
    whole: npt.NDArray[np.int32]


class LawsBuilder:
    """Collects rows and tables; laws add themselves with :meth:`row`, :meth:`reals` and :meth:`wholes`.

    The first ``roots`` rows are kept for those that the engine asks for by their place. ``guided`` laws cost a tenth of
    a millisecond each and draw faster: for one problem that many runs share."""

    def __init__(self, horizon: int, *, roots: int = 0, guided: bool = True) -> None:
        self.horizon = horizon
        self.guided = guided
        self._rows: list[tuple[int, float, float, int, int]] = [(FIXED, 0.0, 0.0, 0, 0)] * roots
        self._known: dict[Any, int] = {}
        self._real: list[npt.NDArray[np.float64]] = []
        self._whole: list[npt.NDArray[np.int32]] = []
        self._reals = 0
        self._wholes = 0

    def once(self, law: Any, *context: Any) -> int:
        """The row of ``law``, added by ``law.encode(self, *context)`` if it is not there yet."""
        key = (law, *context)
        if key not in self._known:
            self._known[key] = law.encode(self, *context)
        return self._known[key]

    def row(self, kind: int, a: float = 0.0, b: float = 0.0, lo: int = 0, hi: int = 0) -> int:
        """Add a row; its number."""
        self._rows.append((kind, a, b, lo, hi))
        return len(self._rows) - 1

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

    def steps(self, cumulative: npt.NDArray[np.float64], first: int = 0) -> int:
        """Add a delay row for a table of P(D <= first), P(D <= first + 1), ...; what is beyond it is beyond the
        horizon."""
        edges = np.searchsorted(cumulative, np.arange(GUIDE) / GUIDE, side="right")
        guide = self.wholes(np.append(edges, cumulative.size))
        return self.row(STEPS, first, guide, self.reals(cumulative), cumulative.size)

    def fixed(self, rounds: int) -> int:
        """Add a row for one delay."""
        return self.row(FIXED, lo=rounds)

    def split(self, parts: Any, reward: Any) -> int:
        """Add a row that draws from one of several delay laws; ``parts`` are (weight, law), the weights' sum 1."""
        return self.choose_row([(weight, self.once(law, reward)) for weight, law in parts])

    def choose_row(self, parts: list[tuple[float, int]]) -> int:
        """Add a row that leads to one of several rows; ``parts`` are (weight, row), the weights' sum 1."""
        present = [(weight, row) for weight, row in parts if weight > 0.0]
        if len(present) == 1:
            return present[0][1]
        cumulative = np.cumsum([weight for weight, _ in present])
        cumulative[-1] = 1.0
        rows = self.wholes([row for _, row in present])
        return self.row(SPLIT, a=rows, lo=self.reals(cumulative), hi=len(present))

    def root(self, place: int, row: int) -> None:
        """Copy a row to one of the places that were kept free in front."""
        self._rows[place] = self._rows[row]

    def smooth(self, kind: int, a: float, b: float = 0.0) -> int:
        """Add a delay row whose quantile function is a formula."""
        if not self.guided:
            return self.row(kind, a, b)
        guide = np.empty(CELLS, np.int32)
        fill_guide(kind, float(a), float(b), self.horizon, guide)
        return self.row(kind, a, b, self.wholes(guide), CELLS)

    def build(self) -> Laws:
        """The rows as arrays."""
        kind, a, b, lo, hi = zip(*self._rows, strict=True)
        return Laws(
            np.array(kind, np.int64),
            np.array(a, np.float64),
            np.array(b, np.float64),
            np.array(lo, np.int64),
            np.array(hi, np.int64),
            np.concatenate(self._real) if self._real else np.zeros(0),
            np.concatenate(self._whole) if self._whole else np.zeros(0, np.int32),
        )


@compiled
def first_above(table: Any, start: Any, stop: Any, x: Any) -> Any:
    """The first place in table[start:stop], ascending, whose value is above x; stop if there is none."""
    while start < stop:
        middle = (start + stop) >> 1
        if table[middle] > x:
            stop = middle
        else:
            start = middle + 1
    return start


@compiled
def draw_reward(laws: Laws, row: Any, z: Any) -> Any:
    """The reward of the pull whose word is ``z``."""
    kind = laws.kind[row]
    if kind == BERNOULLI:
        return 1.0 if uniform(z) < laws.a[row] else 0.0
    if kind == CONSTANT:
        return laws.a[row]
    if kind == SPREAD:
        return laws.a[row] + laws.b[row] * uniform(z)
    if kind == BETA:
        return beta_draw(laws.a[row], laws.b[row], z)
    size = laws.hi[row]  # CHOICE: cumulative probabilities, then the values
    start = laws.lo[row]
    place = min(first_above(laws.real, start, start + size, uniform(z)), start + size - 1)
    return laws.real[place + size]


@compiled
def draw_delay(laws: Laws, row: Any, reward: Any, z: Any) -> Any:
    """The delay of the pull with this reward, from the word ``z``."""
    kind = laws.kind[row]
    if kind == FIXED:
        return laws.lo[row]
    u = uniform(z)
    while kind >= SPLIT:
        start = laws.lo[row]
        size = laws.hi[row]
        if kind == SPLIT:  # cumulative weights, the last 1; the rows of the parts in ``whole``
            place = min(first_above(laws.real, start, start + size, u), start + size - 1)
            below = laws.real[place - 1] if place > start else 0.0
            u = min(max((u - below) / (laws.real[place] - below), _TINY), 1.0 - _TINY)
            row = np.uint32(laws.whole[np.int64(laws.a[row]) + place - start])
        elif kind == BY_VALUE:  # the values, ascending
            place = first_above(laws.real, start, start + size, reward) - 1
            row = np.uint32(laws.whole[np.int64(laws.a[row]) + place - start])
        else:  # BY_CELL
            row = np.uint32(laws.whole[start + min(np.int64(reward * size), size - 1)])
        kind = laws.kind[row]
    return _invert(laws, row, kind, u)


@compiled
def _invert(laws: Laws, row: Any, kind: Any, u: Any) -> Any:
    """The quantile function of a simple delay row at u in (0, 1)."""
    if kind == FIXED:
        return laws.lo[row]
    if kind == SPAN:
        return laws.lo[row] + np.int64(u * (laws.hi[row] - laws.lo[row] + 1))
    if kind == SAMPLE:
        return laws.whole[laws.lo[row] + np.int64(u * laws.hi[row])]
    if kind == STEPS:
        start = laws.lo[row]
        guide = np.int64(laws.b[row]) + np.int64(u * GUIDE)
        place = first_above(laws.real, start + laws.whole[guide], start + laws.whole[guide + 1], u)
        if place == start + laws.hi[row]:
            return np.int64(BEYOND)
        return np.int64(laws.a[row]) + place - start
    if laws.hi[row] > 0:
        known = laws.whole[laws.lo[row] + np.int64(u * laws.hi[row])]
        if known >= 0:
            return np.int64(known)
    return formula(kind, laws.a[row], laws.b[row], u)


@outlined
def formula(kind: Any, a: Any, b: Any, u: Any) -> Any:
    """The quantile function of a smooth law at u in (0, 1), in whole rounds."""
    if kind == GEOMETRIC:  # a = 1 / ln(1 - p)
        x = log(u) * a
    elif kind == POWER:  # a = scale, b = -1 / alpha
        x = a * exp(log(u) * b)
    else:  # LOGNORMAL: a = ln median, b = sigma
        x = exp(a + b * normal_quantile(u))
    return np.int64(x) if x < BEYOND else np.int64(BEYOND)


@entry
def fill_guide(kind: Any, a: Any, b: Any, horizon: Any, guide: Any) -> None:
    """For each cell of u the delay that all of it has, or -1; the formula is monotone, so its ends decide. Past the
    horizon all are one."""
    cells = guide.shape[0]
    left = formula(kind, a, b, _TINY)
    for cell in range(cells):
        right = formula(kind, a, b, min((cell + 1) / cells, 1.0 - _TINY))
        low = min(left, right)
        if left == right:
            guide[cell] = left
        elif low > horizon:
            guide[cell] = BEYOND
        else:
            guide[cell] = -1
        left = right
