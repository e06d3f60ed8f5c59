"""Exact minimisation over quantiles.

Every bound of the paper with free quantiles is a sum of terms A / q and a multiple of delays d(q). Two remarks turn its
minimisation into a search over whole numbers. First, d(q) <= d holds exactly if q <= F(d), where F is the distribution
function: among all q with d(q) <= d the largest, F(d), is the best, since A / q falls in q. So quantiles may be
replaced by whole delays d, and q by F(d); only the jumps of F matter, as between two of them F(d) stays and d grows.
Second, once the largest of several weighted delays is fixed, each arm may take the longest delay that fits below it:
its q grows and the maximum does not. What is left is one number (the maximum), or two where the best arm's delay enters
as well.

In these numbers the learning terms only fall and the waiting term only grows. So on an interval (a box) no value is
below "learning at the upper end plus waiting at the lower end", and whole intervals are ruled out by one comparison
with the best value found. What remains is split until the learning terms no longer change within it; its lower end is
then the best of it. This is branch and bound: there is no grid, and the result is the minimum up to rounding
(:func:`minimise_pair` names the one exception).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from belated.delays._base import DelayLaw
from belated.delays.fixed import Fixed
from belated.theory.bound import Array

ROUNDING = 1e-13
"""Relative difference below which two values count as equal."""
SPLIT = 8
"""The number of parts that an interval is split into."""
PATIENCE = 3_000_000
"""Evaluations of the cdf after which the search for a pair relaxes its tolerance; see :func:`minimise_pair`."""


class DelayCdfs:
    """P(D_i <= d) of several arms at once; equal laws are evaluated once."""

    def __init__(self, laws: Sequence[DelayLaw]) -> None:
        self.laws = tuple(laws)
        groups: dict[DelayLaw, list[int]] = {}
        for arm, law in enumerate(laws):
            groups.setdefault(law, []).append(arm)
        self._groups = [(law, np.array(arms)) for law, arms in groups.items()]

    def __call__(self, delays: Array) -> Array:
        """F_i(delays[..., i]); 0 where the delay is negative."""
        shares = np.zeros(delays.shape)
        for law, arms in self._groups:
            at = delays[..., arms]
            shares[..., arms] = np.where(at >= 0.0, law.cdf(np.maximum(at, 0.0)), 0.0)
        return shares

    def shortest(self, delays: Array) -> Array:
        """The smallest delays with the same shares: the jumps of F_i at which the shares are reached."""
        target = self(delays)
        low, high = np.full(delays.shape, -1.0), np.asarray(delays, np.float64)
        while True:
            middle = np.floor((low + high) / 2.0)
            if not np.any((low < middle) & (middle < high)):  # beyond 2^53 neighbouring floats differ by more than 1
                break
            enough = self(middle) >= target
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high


def common_cdf(laws: Sequence[DelayLaw]) -> Callable[[Array], Array]:
    """d -> the smallest of the laws' P(D <= d): the largest q that all of them reach by d."""
    different = list(dict.fromkeys(laws))

    def share(d: Array) -> Array:
        return np.asarray(np.min([law.cdf(d) for law in different], axis=0))

    return share


def sum_of_ratios(weights: Array, shares: Array) -> Array:
    """Sum of weights / shares over the last axis; infinite where a share is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        parts = np.where(shares > 0.0, weights / shares, np.inf)
    return np.asarray(parts.sum(axis=-1))


def minimise_delay(learning: Callable[[Array], Array], slope: float) -> float:
    """The smallest whole number d >= 0 that minimises learning(d) + slope d; infinite if the sum is never finite.

    ``learning`` is a decreasing function, applied to arrays.
    """
    top = _where_finite(learning)
    if top is None:
        return np.inf
    values = learning(np.array([0.0, top])) + slope * np.array([0.0, top])
    best, place = float(values.min()), float([0.0, top][int(values.argmin())])
    low, high = np.array([0.0]), np.array([max(np.ceil(best / slope), 1.0)])
    at_low, at_high = learning(low), learning(high)
    while low.size:
        cuts = np.unique(np.floor(low[:, None] + (high - low)[:, None] * np.arange(1, SPLIT) / SPLIT))
        points, first = np.unique(np.concatenate([low, high, cuts]), return_index=True)
        values_at = np.concatenate([at_low, at_high, learning(cuts)])[first]
        totals = values_at + slope * points
        if totals.min() < best:
            best, place = float(totals.min()), float(points[int(totals.argmin())])
        open_ = _open_intervals(low, high, points)
        a, b = points[:-1][open_], points[1:][open_]
        at_a, at_b = values_at[:-1][open_], values_at[1:][open_]
        keep = (at_b + slope * a < best * (1.0 - ROUNDING)) & (b - a > 1.0) & (at_b < at_a)
        low, high, at_low, at_high = a[keep], b[keep], at_a[keep], at_b[keep]
    return place


def _open_intervals(low: Array, high: Array, points: Array) -> npt.NDArray[np.bool_]:
    """Which gaps between neighbouring points lie within one of the intervals, which are disjoint and ascending."""
    place = np.searchsorted(low, points[:-1], side="right") - 1
    return (place >= 0) & (points[1:] <= high[np.maximum(place, 0)])


def _where_finite(learning: Callable[[Array], Array]) -> float | None:
    """A d at which learning(d) is finite; None if there is none."""
    for d in (0.0, *(2.0**k for k in range(1000))):
        if np.isfinite(learning(np.array([d]))[0]):
            return d
    return None


def group_arms(laws: Sequence[DelayLaw], gaps: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(the first arm of each group, the group of each arm): arms with equal law and gap share the best delay."""
    numbers: dict[tuple[DelayLaw, float], int] = {}
    group = np.array([numbers.setdefault(pair, len(numbers)) for pair in zip(laws, gaps.tolist(), strict=True)])
    return np.array([int(np.argmax(group == number)) for number in range(len(numbers))]), group


def sum_by_group(group: npt.NDArray[np.int64], weights: Array) -> Array:
    """The sum of the weights of each group."""
    return np.asarray(np.bincount(group, weights), np.float64)


def minimise_largest(cdfs: DelayCdfs, weights: Array, scale: Array, slope: float) -> Array | None:
    """The delays d that minimise sum of weights_i / F_i(d_i) + slope max d_i scale_i; None if it is never finite."""
    if slope == 0.0:  # ln T = 0: there is nothing to learn in one round, and no reason to wait
        first = [law.quantile(np.nextafter(0.0, 1.0)) for law in cdfs.laws]
        return np.array(first) if np.all(np.isfinite(first)) else None
    minimum = minimise_pair(cdfs, weights, scale, Fixed(0), 0.0, slope)
    return None if minimum is None else minimum[1]


def minimise_pair(
    cdfs: DelayCdfs, weights: Array, scale: Array, best: DelayLaw, best_weight: float, slope: float
) -> tuple[float, Array] | None:
    """(x, d): the delay of the best arm and those of the others that minimise

        sum of weights_i / F_i(d_i) + best_weight / F(x) + slope max (d_i + x) scale_i

    None if it is never finite. The search is over x and the maximum M: given both, d_i is the largest whole number with
    (d_i + x) scale_i <= M. Where smooth laws with astronomic delays make the sum so flat that rounding is out of reach,
    the tolerance grows, and the search ends with a local one around the best point.
    """
    best_cdf = DelayCdfs([best])

    def fitting(x: Array, m: Array) -> Array:
        return np.floor(m[..., None] / scale * (1.0 + 1e-14) + 1e-9 - x[..., None])

    def learning(x: Array, m: Array, x_best: Array) -> Array:
        others = sum_of_ratios(weights, cdfs(fitting(x, m)))
        return others + sum_of_ratios(np.array([best_weight]), best_cdf(x_best[..., None]))

    def start() -> tuple[float, float, float] | None:
        grid = np.concatenate([[0.0], 4.0 ** np.arange(0.0, 500.0)])
        x_ends = grid[np.isfinite(sum_of_ratios(np.array([1.0]), best_cdf(grid[:, None])))]
        best_start = None
        for x in x_ends[:16]:
            for steps in (grid[:33], grid[33:]):  # up to 2^62, and beyond if need be
                m = (x + steps) * scale.max()
                values = learning(np.full(m.shape, x), m, np.full(m.shape, x)) + slope * m
                place = int(values.argmin())
                if np.isfinite(values[place]) and (best_start is None or values[place] < best_start[0]):
                    best_start = float(values[place]), float(x), float(m[place])
                if best_start is not None:
                    break
        return best_start

    first = start()
    if first is None:
        return None
    value, x_best, m_best = first
    m_top = value / slope
    boxes = np.array([[0.0, np.floor(m_top / scale.max()), 0.0, m_top]])
    tolerance = ROUNDING
    evaluations = 0
    while boxes.size:
        evaluations += 3 * len(boxes) * weights.size
        tolerance = tolerance * 30.0 if evaluations > PATIENCE else tolerance
        x1, x2, m1, m2 = boxes.T
        ahead = learning(x1, m2, x2)
        behind = learning(x1, m1, x1)
        for x, m, totals in ((x1, m2, learning(x1, m2, x1) + slope * m2), (x1, m1, behind + slope * m1)):
            place = int(totals.argmin())
            if totals[place] < value:
                value, x_best, m_best = float(totals[place]), float(x[place]), float(m[place])
        keep = (ahead + slope * m1 < value * (1.0 - tolerance)) & (ahead < behind) & (m2 - m1 > ROUNDING * m2)
        boxes = _split(boxes[keep], best_cdf)
    if tolerance > ROUNDING:
        x_best, m_best = _refine(lambda x, m: learning(x, m, x) + slope * m, x_best, m_best, float(scale.max()), value)
    d = fitting(np.array(x_best), np.array(m_best))
    return float(best_cdf.shortest(np.array([x_best]))[0]), cdfs.shortest(d)


def _refine(
    total: Callable[[Array, Array], Array], x: float, m: float, unit: float, value: float
) -> tuple[float, float]:
    """Search a shrinking neighbourhood of (x, m)."""
    step = 0.1
    while step * max(x, m / unit) >= 1.0:
        shifts = step * np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        xs, ms = np.meshgrid(np.maximum(np.round(x + shifts * max(x, 1.0)), 0.0), np.maximum(m + shifts * m, 0.0))
        totals = total(xs.ravel(), ms.ravel())
        place = int(totals.argmin())
        if totals[place] < value:
            value, x, m = float(totals[place]), float(xs.ravel()[place]), float(ms.ravel()[place])
        else:
            step /= 2.0
    return x, m


def _split(boxes: Array, best_cdf: DelayCdfs) -> Array:
    """Halve each box: in the maximum, and in the best arm's delay where its share changes."""
    x1, x2, m1, m2 = boxes.T
    flat = best_cdf(x1[:, None])[:, 0] >= best_cdf(x2[:, None])[:, 0]
    x2 = np.where(flat, x1, x2)
    middle = np.floor((x1 + x2) / 2.0)
    half = (m1 + m2) / 2.0
    parts = []
    for left, right in ((x1, middle), (np.minimum(middle + 1.0, x2), x2)):
        for low, high in ((m1, half), (half, m2)):
            parts.append(np.stack([left, right, low, high], axis=1))
    whole = np.stack([x1, x2], axis=1)
    wide = whole[:, 1] > whole[:, 0]
    return np.concatenate([parts[0], parts[1], parts[2][wide], parts[3][wide]])
