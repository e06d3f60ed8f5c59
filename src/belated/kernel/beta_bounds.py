"""Bounds on a Beta draw from the words that it is made of, for a tenth of what the draw itself costs.

:func:`~belated.kernel.math.beta_draw` gives X / (X + Y) with X = d (1 + c x)^3 for d = a - 1/3 and c = 1 / (3 sqrt(d)),
if the normal x is accepted, and Y alike for b. The first 11 bits of the word of x say in which of 2048 cells x is, so X
is between its values at the ends of the cell. With t = c x, the logarithm of the probability that x is accepted is

    x^2 / 2 + d (1 - (1 + t)^3 + 3 ln(1 + t)) = (ln(1 + t) - t + t^2/2 - t^3/3) / 3c^2,

by the power series of the logarithm at least -(t^4 / 12c^2) / min(1 + t, 1) = -(x^4 / 108d) / min(1 + t, 1): where the
uniform number that decides is below 1 less that, x is accepted.

All of it is arithmetic without a branch, which the compiler turns into vector code."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.kernel.jit import inline
from belated.kernel.rng import next_word

MARGIN = 1e-4
"""The bounds may be off by half of this, relatively, as c is computed to 5e-6 and cubed for X and Y."""

_LARGEST = 1e9
"""From this number on, rounding decides what is accepted."""
_WIDEST = 0.05
"""The most by which the roots of X and Y, 1 + c x, may differ in a cell, together."""
_CELL_BITS = 11
_CELL_SHIFT = np.uint64(64 - _CELL_BITS)
_REST_SHIFT = np.uint64(12)
_SURE = 2.0**36
"""What rounding may do to 2^52 (1 - u), where u decides what is accepted."""
_BEND = 0.8661 * 2.0**26
"""Slightly more than sqrt(3/4), as x^4 / 108d = 3/4 (x / 3)^4 / d; squared it is for 2^52 (1 - u)."""
_MAGIC = np.int64(0x5FE6EB50C7B537A9)
"""1 / sqrt(x) has about half of the exponent of x, negative."""
_HIGH_HALF = np.int64(-(2**32))


def _outward(x: float, upward: bool) -> int:
    """The upper 32 bits of a float, rounded up or down."""
    bits = int(np.float64(x).view(np.int64)) >> 32
    return (bits + (upward == (x > 0.0))) & 0xFFFFFFFF


def _cells() -> npt.NDArray[np.int64]:
    """Each cell's ends, thirds of normal quantiles, in the halves of a word; no word gives a normal beyond 8.5."""
    cells = 2**_CELL_BITS
    ends = [-8.5 / 3.0, *(NormalDist().inv_cdf(cell / cells) / 3.0 for cell in range(1, cells)), 8.5 / 3.0]
    words = [(_outward(ends[cell + 1], True) << 32) | _outward(ends[cell], False) for cell in range(cells)]
    return np.array(words, np.uint64).view(np.int64)


_CELLS = _cells()


@inline
def odds_bounds(a: Any, b: Any, z: Any) -> Any:
    """(lower, upper) bound on the odds p / (1 - p) of p = ``beta_draw(a, b, z)``, both to within half of ``MARGIN``;
    (0, inf) where nothing is known."""
    known = (min(a, b) >= 1.0) & (max(a, b) < _LARGEST)
    d_a, d_b = (a if known else 1.0) - 1.0 / 3.0, (b if known else 1.0) - 1.0 / 3.0
    x_low, x_high, x_sure = _root_bounds(d_a, next_word(z))
    y_low, y_high, y_sure = _root_bounds(d_b, next_word(next_word(next_word(z))))
    width = (x_high - x_low) + (y_high - y_low)
    low = (d_a * (x_low * x_low * x_low)) / (d_b * (y_high * y_high * y_high))
    # roots are above 1/2, so x_high / x_low <= 1 + 2 (x_high - x_low); and (1 + w)^6 <= 1 + 7 w up to _WIDEST
    high = low + 7.0 * width * low
    sure = known & x_sure & y_sure & (width < _WIDEST)
    return low if sure else 0.0, high if sure else np.inf


@inline
def _root_bounds(d: Any, z: Any) -> Any:
    """(lower, upper) bound on 1 + c x, whether x is accepted for certain), from the word of x."""
    slope = _reciprocal_root(d)  # 3c
    cell = _CELLS[np.int64(z >> _CELL_SHIFT)]
    low, high = np.int64(cell << 32).view(np.float64), np.int64(cell & _HIGH_HALF).view(np.float64)
    root_low, root_high = 1.0 + slope * low, 1.0 + slope * high
    farther = max(abs(low), abs(high))
    bend = _BEND * slope * (farther * farther)
    rest = np.int64(~next_word(z) >> _REST_SHIFT) - _SURE  # 2^52 (1 - u)
    return root_low, root_high, (rest * min(root_low, 1.0) > bend * bend) & (root_low > 0.5)


@inline
def _reciprocal_root(x: Any) -> Any:
    """1 / sqrt(x) to 5e-6, by two steps of Newton's method, which has no division and no root."""
    y = np.int64(_MAGIC - (np.float64(x).view(np.int64) >> 1)).view(np.float64)
    half = 0.5 * x
    y = y * (1.5 - half * y * y)
    return y * (1.5 - half * y * y)
