"""Elementary functions and samplers that give the same bits on every machine.

``math.log`` and ``math.exp`` differ in the last bit between C libraries, and on a GPU; these use additions,
multiplications, divisions, square roots and exact scalings by powers of two alone, all of which IEEE 754 fixes to the
bit.

>>> abs(log(10.0) - 2.302585092994046) < 1e-15, abs(exp(1.0) - 2.718281828459045) < 1e-15
(True, True)
>>> from belated.kernel.rng import word
>>> 0.0 < beta_draw(2.0, 3.0, word(np.uint64(1), np.uint64(2), 3, 4)) < 1.0
True
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from belated.kernel.jit import inline, outlined
from belated.kernel.rng import next_word, to_unit

_LN2_HIGH = 0.6931471803691238  # the first 33 bits of ln 2: a product with a small integer is exact
_LN2_LOW = 1.9082149292705877e-10
LARGEST_EXPONENT = 700.0
_FRACTION = np.int64(2**52 - 1)
_ONE = np.int64(1023 << 52)  # the bits of 1.0
_SHIFT = np.int64(
    0x3FF0000000000000 - 0x3FE6A09E667F3BCD
)  # from sqrt(1/2) up to 1: m then lies in [sqrt(1/2), sqrt(2))


@inline
def _cubic(x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """a + b x + c x^2 + d x^3, in few steps that wait for each other (Estrin)."""
    return (a + b * x) + (c + d * x) * (x * x)


@inline
def _quadratic(x: Any, a: Any, b: Any, c: Any) -> Any:
    """a + b x + c x^2, likewise."""
    return (a + b * x) + c * (x * x)


@inline
def power_of_two(k: Any) -> Any:
    """2^k for whole k from -1022 to 1023."""
    return np.int64((np.int64(k) << 52) + _ONE).view(np.float64)


@inline
def log(x: Any) -> Any:
    """Natural logarithm of a normal x > 0: ln(m 2^e) = e ln 2 + 2 artanh((m - 1) / (m + 1)), by its power series."""
    bits = np.float64(x).view(np.int64) + _SHIFT
    e = (bits >> 52) - 1023
    m = np.int64((bits & _FRACTION) - _SHIFT + _ONE).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    low = _cubic(z, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0)
    middle = _cubic(z, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0)
    high = _cubic(z, 1.0 / 19.0, 1.0 / 21.0, 1.0 / 23.0, 0.0)
    tail = z * _quadratic((z * z) * (z * z), low, middle, high)
    return e * _LN2_HIGH + (2.0 * s + (2.0 * s * tail + e * _LN2_LOW))


@inline
def exp(x: Any) -> Any:
    """e^x by the Taylor series on |r| <= ln(2) / 2 after taking out a power of two; 0 below e^-700, at most e^700."""
    if x < -LARGEST_EXPONENT:
        return 0.0
    x = min(x, LARGEST_EXPONENT)
    k = math.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    low = _cubic(r, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0)
    middle = _cubic(r, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0)
    high = _cubic(r, 1.0 / 39916800.0, 1.0 / 479001600.0, 1.0 / 6227020800.0, 1.0 / 87178291200.0)
    p = r * _quadratic((r * r) * (r * r), low, middle, high)
    return (1.0 + (r + (r * r) * (0.5 + p))) * power_of_two(np.int64(k))


@outlined
def normal_quantile(u: Any) -> Any:
    """The standard normal's quantile function on (0, 1): the rational approximations of Wichura (1988), AS 241, to
    1e-15."""
    q = u - 0.5
    if abs(q) <= _CENTRAL:
        return _central(q)
    r = math.sqrt(-log(min(u, 1.0 - u)))
    x = _tail(r) if r <= _FAR else _far_tail(r)
    return -x if q < 0.0 else x


@inline
def normal_quantile_straight(u: Any) -> Any:
    """``normal_quantile`` to the bit, without a branch: for loops that the compiler turns into vector code."""
    q = u - 0.5
    r = math.sqrt(-log(min(u, 1.0 - u)))
    near, far = _tail(r), _far_tail(r)
    x = near if r <= _FAR else far
    x = -x if q < 0.0 else x
    middle = _central(q)
    return middle if abs(q) <= _CENTRAL else x


_CENTRAL, _FAR = 0.425, 5.0
"""Where the three approximations meet: in u - 1/2, and in sqrt(-ln u)."""


@inline
def _central(q: Any) -> Any:
    """Around the median."""
    r = 0.180625 - q * q
    x = (r * r) * (r * r)
    a = _cubic(r, 3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125)
    b = _cubic(r, 45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727)
    c = _cubic(r, 1.0, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077)
    d = _cubic(r, 21213.794301586595867, 39307.89580009271061, 28729.085735721942674, 5226.495278852854561)
    return q * (a + b * x) / (c + d * x)


@inline
def _tail(r: Any) -> Any:
    """In the tails, up to the sign."""
    r = r - 1.6
    x = (r * r) * (r * r)
    a = _cubic(r, 1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504)
    b = _cubic(r, 1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833, 7.7454501427834140764e-4)
    c = _cubic(r, 1.0, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455)
    d = _cubic(r, 0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9)
    return (a + b * x) / (c + d * x)


@inline
def _far_tail(r: Any) -> Any:
    """Far out, up to the sign."""
    r = r - 5.0
    x = (r * r) * (r * r)
    a = _cubic(r, 6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123)
    b = _cubic(
        r, 0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5, 2.01033439929228813265e-7
    )
    c = _cubic(r, 1.0, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525)
    d = _cubic(
        r, 7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15
    )
    return (a + b * x) / (c + d * x)


# ---- Gamma and Beta draws ----


@outlined
def gamma_draw(shape: Any, z: Any) -> Any:
    """(Gamma(shape, 1) draw, next word) for a shape >= 1: Marsaglia and Tsang (2000). It is d (1 + c x)^3 for a normal
    x, if that is accepted; :mod:`belated.kernel.beta_bounds` relies on it."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        z = next_word(z)
        x = normal_quantile(to_unit(z))
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            z = next_word(z)
            u = to_unit(z)
            if u < 1.0 - 0.0331 * (x * x) * (x * x) or log(u) < 0.5 * x * x + d * (1.0 - v + log(v)):
                return d * v, z


@outlined
def log_gamma_draw(shape: Any, z: Any) -> Any:
    """(ln of a Gamma(shape, 1) draw, next word): in logarithms, so that those of tiny shapes do not vanish."""
    boost = 0.0
    if shape < 1.0:
        z = next_word(z)
        boost = log(to_unit(z)) / shape
        shape = shape + 1.0
    x, z = gamma_draw(shape, z)
    return log(x) + boost, z


@outlined
def beta_draw(a: Any, b: Any, z: Any) -> Any:
    """A Beta(a, b) draw from the sequence of words that ``z`` starts: X / (X + Y) for X ~ Gamma(a), Y ~ Gamma(b)."""
    if a >= 1.0 and b >= 1.0:
        x, z = gamma_draw(a, z)
        y, z = gamma_draw(b, z)
        return x / (x + y)
    x, z = log_gamma_draw(a, z)
    y, z = log_gamma_draw(b, z)
    return 1.0 / (1.0 + exp(y - x))
