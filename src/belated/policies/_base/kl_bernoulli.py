"""The upper confidence bound of a coin, from the relative entropy of two coins."""

from __future__ import annotations

import math
from typing import Any

from belated.kernel.jit import outlined
from belated.kernel.math import exp, log

STEPS, SMALL = 3, 1e-5
"""Steps of Newton's method; from where it starts they leave an error below 1e-6. None follows one that was small."""

CLOSE = 1e-7
"""Nearer to the mean than this its own rounding misleads the method, and where it starts is as near."""


@outlined
def kl_upper(mean: Any, budget: Any) -> Any:
    """The largest q with kl(mean, q) <= budget.

    kl is convex and falling in u = ln(1 - q), so that Newton's method from below the solution comes up to it. It starts
    at the largest of the solutions of simpler bounds: kl(p, q) >= (q - p)^2 / 2v for v = 1/4, q and 1 - p, and
    kl(p, q) >= p ln p + (1 - p) ln((1 - p) / (1 - q))."""
    rest = 1.0 - mean
    if rest <= 0.0:
        return 1.0
    entropy = rest * log(rest) + (mean * log(mean) if mean > 0.0 else 0.0)
    beyond = mean + min(math.sqrt(2.0 * budget * min(0.25, rest)), budget + math.sqrt(budget * (budget + 2.0 * mean)))
    u = (entropy - budget) / rest
    if beyond < 1.0:
        u = max(u, log(1.0 - beyond))
    for _ in range(STEPS):
        left = exp(u)
        high = 1.0 - left
        if high - mean < CLOSE:
            break
        step = (entropy - mean * log(high) - rest * u - budget) / (rest - mean * left / high)
        u += step
        if step < SMALL:
            break
    return 1.0 - exp(u)
