"""Distribution functions of scipy.stats at many integers in little time.

Most are formulas, and are called as they are. Where scipy has none, it computes every point from scratch: a sum of the
probabilities of a discrete distribution, an integral of the density of a continuous one. A table of a million rounds
would take hours. Here the probabilities are added up once, and smooth integrals are interpolated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_PAIRWISE = 1 << 15
"""First sums of probabilities, each computed as scipy does: a sum of its own, which numpy adds up in pairs."""
_KEPT, _MAX_SUMMED = 1 << 20, 1 << 25
"""Probabilities that are added up one by one for a few points, and for a row; beyond, blocks of them are."""
_PIECE = 1 << 12
"""Probabilities that are added one after the other, so that rounding does not accumulate."""
_NODES = 33
"""Points of an interpolation."""
_PRECISION = 1e-12
"""Of an interpolation. The integrals themselves are hardly better."""
_DIRECT = 1 << 12
"""Values of an integral that are not interpolated."""
_SLOW = {"geninvgauss": _DIRECT, "studentized_range": 1 << 6}
"""Distributions of scipy that integrate in a function of their own: the values that are not interpolated. The second
takes 5 ms for each."""


class ScipyCdf:
    """P(X <= x) of a frozen distribution, by its own function."""

    def __init__(self, frozen: Any) -> None:
        self._frozen = frozen

    def at(self, x: Values) -> Values:
        """P(X <= x) at any points."""
        return np.asarray(self._frozen.cdf(x), np.float64)

    def row(self, edges: Values) -> Values:
        """P(X <= x) at ascending points that are 1 apart."""
        pieces, start, size = [np.zeros(0)], 0, 64
        while start < edges.size:
            pieces.append(self.at(edges[start : start + size]))
            start, size = start + size, 2 * size
            if pieces[-1][-1] == 1.0:  # so are the others
                pieces.append(np.ones(max(edges.size - start, 0)))
                break
        return np.concatenate(pieces)

    def survival(self, x: Values) -> Values:
        """P(X > x) at ascending points that are 1 apart."""
        return np.asarray(self._frozen.sf(x), np.float64)


class _SummedCdf(ScipyCdf):
    """Sums of the probabilities of a discrete distribution, which are computed once and kept."""

    def __init__(self, frozen: Any) -> None:
        super().__init__(frozen)
        self._args, self._loc, _ = frozen.dist._parse_args(*frozen.args, **frozen.kwds)
        low, self._high = (float(end) for end in frozen.dist._get_support(*self._args))
        self._low = int(low)
        self._sums = np.zeros(1)
        """The sum of the first 0, 1, 2, ... probabilities."""

    def at(self, x: Values) -> Values:
        return self._up_to(x, max(_KEPT, self._sums.size - 1))

    def row(self, edges: Values) -> Values:
        return self._up_to(edges, _MAX_SUMMED)

    def survival(self, x: Values) -> Values:
        return 1.0 - self.at(x)

    def _up_to(self, x: Values, max_summed: int) -> Values:
        last = np.floor(np.asarray(x, np.float64) - float(self._loc))
        counts = np.clip(last - self._low + 1.0, 0.0, None)
        near = np.minimum(counts, max_summed)
        self._extend(int(near.max(initial=0.0)))
        near = np.minimum(near, self._sums.size - 1).astype(np.int64)
        found = np.asarray(self._sums[near])
        for place in np.argwhere((counts > near) & (last < self._high)):
            found[tuple(place)] += self._blocks(float(near[tuple(place)]), float(last[tuple(place)]))
        return np.where(last >= self._high, 1.0, np.clip(found, 0.0, 1.0))

    def _mass(self, numbers: Values) -> Values:
        return np.asarray(self._frozen.dist._pmf(numbers, *self._args), np.float64)

    def _extend(self, count: int) -> None:
        """Add up probabilities until there are at least ``count``; twice as many, as more will be asked for."""
        known = self._sums.size - 1
        if count <= known:
            return
        count = min(max(count, 2 * known, 64), _MAX_SUMMED)
        if math.isfinite(self._high):
            count = min(count, int(self._high) - self._low + 1)
        begin = known if known >= _PAIRWISE else 0
        mass = self._mass(np.arange(float(self._low + begin), float(self._low + count)))
        if begin == 0:
            stop = min(count, _PAIRWISE)
            sums = [np.sum(mass[: number + 1]) for number in range(known, stop)]
            self._sums = np.concatenate([self._sums, sums])
            mass = mass[stop:]
        base = float(self._sums[-1])
        parts = [self._sums[-1:]]
        for start in range(0, mass.size, _PIECE):
            parts.append(base + np.cumsum(mass[start : start + _PIECE]))
            base = math.fsum([base, *mass[start : start + _PIECE]])
        self._sums = np.concatenate([self._sums, np.maximum.accumulate(np.concatenate(parts))[1:]])

    def _blocks(self, count: float, last: float) -> float:
        """The sum of the probabilities behind the first ``count``, up to number ``last``: block by block, each twice as
        long as the one before. In a block they are interpolated, and the sum of the polynomial is its integral with
        the first correction of Euler and Maclaurin."""
        start, total = self._low + count - 1.0, 0.0
        while start < last:
            stop = min(2.0 * start, last)
            numbers = np.unique(np.rint((start + stop + 1.0 - (stop - start - 1.0) * _cheb()) / 2.0))
            fit = np.polynomial.chebyshev.Chebyshev.fit(
                numbers, self._mass(numbers), min(numbers.size - 1, _NODES // 2), domain=[start + 0.5, stop + 0.5]
            )
            area, slope = fit.integ(), fit.deriv()
            high, low = stop + 0.5, start + 0.5
            total += float(area(high) - area(low)) - float(slope(high) - slope(low)) / 24.0
            start = stop
            if float(fit(stop)) * stop < 1e-30:
                break
        return total


class _InterpolatedCdf(ScipyCdf):
    """An integral that is computed at a few points of a row, and interpolated between them where it is smooth."""

    def __init__(self, frozen: Any, direct: int) -> None:
        super().__init__(frozen)
        self._direct = direct

    def row(self, edges: Values) -> Values:
        direct = edges[edges <= self._direct]
        pieces = [super().row(direct)]
        start = direct.size
        while start < edges.size:
            stop = min(max(2 * start, 1 << 10), edges.size)
            pieces.append(self._smooth(edges[start:stop]))
            start = stop
            if pieces[-1][-1] == 1.0:
                pieces.append(np.ones(edges.size - start))
                break
        return np.clip(np.maximum.accumulate(np.concatenate(pieces)), 0.0, 1.0)

    def survival(self, x: Values) -> Values:
        return 1.0 - self.row(x)

    def _smooth(self, edges: Values) -> Values:
        if edges.size <= 2 * _NODES:
            return self.at(edges)
        ends = [float(edges[0]), float(edges[-1])]
        nodes = (ends[0] + ends[1] - (ends[1] - ends[0]) * _cheb()) / 2.0
        fit = np.polynomial.chebyshev.Chebyshev.fit(nodes, self.at(nodes), _NODES - 1, domain=ends)
        if np.abs(fit.coef[-4:]).max() <= _PRECISION:
            return np.asarray(fit(edges), np.float64)
        middle = edges.size // 2
        return np.concatenate([self._smooth(edges[:middle]), self._smooth(edges[middle:])])


def _cheb() -> Values:
    """The points of an interpolation in [-1, 1]."""
    return np.asarray(np.cos(np.pi * (2.0 * np.arange(_NODES) + 1.0) / (2.0 * _NODES)), np.float64)


def scipy_cdf(frozen: Any) -> ScipyCdf:
    """The distribution function of a frozen distribution, in the way that is fast enough."""
    from scipy.stats import rv_continuous, rv_discrete

    dist = getattr(frozen, "dist", None)
    if isinstance(dist, rv_discrete) and _has_no_formula(dist, rv_discrete):
        return _SummedCdf(frozen)
    if isinstance(dist, rv_continuous):
        if _has_no_formula(dist, rv_continuous):
            return _InterpolatedCdf(frozen, _DIRECT)
        if dist.name in _SLOW:
            return _InterpolatedCdf(frozen, _SLOW[dist.name])
    return ScipyCdf(frozen)


def _has_no_formula(dist: Any, base: Any) -> bool:
    """Whether a distribution leaves the distribution function to scipy, which computes it point by point."""
    return type(dist)._cdf is base._cdf and type(dist).cdf is base.cdf and "_cdf" not in vars(dist)
