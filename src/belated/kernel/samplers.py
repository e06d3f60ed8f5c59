"""Gamma and Beta draws that give the same bits on every machine: one by one, and without branches for vector code.

>>> from belated.kernel.rng import word
>>> 0.0 < beta_draw(2.0, 3.0, word(1, 2, 3, 4)) < 1.0
True
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from belated.kernel.jit import inline, outlined
from belated.kernel.math import exp, log, normal_nearly_always, normal_quantile
from belated.kernel.rng import next_word, to_unit

_LARGE = 1e15
"""Shapes from here on are left to the way with branches."""


@inline
def _gamma_parts(shape: Any) -> Any:
    """Marsaglia and Tsang's d and c, of a shape >= 1: the draw is d (1 + c x)^3 for a normal x, if it is accepted."""
    d = shape - 1.0 / 3.0
    return d, 1.0 / math.sqrt(9.0 * d)


@outlined
def gamma_draw(shape: Any, z: Any) -> Any:
    """(Gamma(shape, 1) draw, next word) for a shape >= 1: Marsaglia and Tsang (2000)."""
    d, c = _gamma_parts(shape)
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


@inline
def beta_draw_straight(a: Any, b: Any, z: Any) -> Any:
    """``beta_draw`` to the bit where both of its numbers are found at the first try, as most are, else NaN: without a
    branch, for loops that the compiler turns into vector code."""
    x, first = _gamma_straight(a, next_word(z))
    y, second = _gamma_straight(b, next_word(next_word(next_word(z))))
    return x / (x + y) if first & second & (a >= 1.0) & (b >= 1.0) else np.nan


@inline
def _gamma_straight(shape: Any, z: Any) -> Any:
    """(what ``gamma_draw`` gives, whether it does so at the first try), from the word of its normal."""
    d, c = _gamma_parts(shape if (shape >= 1.0) & (shape < _LARGE) else 1.0)
    x, found = normal_nearly_always(to_unit(z))
    u = to_unit(next_word(z))
    root = 1.0 + c * x
    v = root * root * root
    squeezed = u < 1.0 - 0.0331 * (x * x) * (x * x)
    accepted = log(u) < 0.5 * x * x + d * (1.0 - v + log(v if root > 0.0 else 1.0))
    return d * v, found & (root > 0.0) & (squeezed | accepted) & (shape < _LARGE)
