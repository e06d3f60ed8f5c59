"""The confidence bound of a Bernoulli mean by relative entropy."""

from __future__ import annotations

import math
from typing import Any

from belated.kernel.jit import outlined
from belated.kernel.math import exp, log

NEWTON_STEPS, SMALL_STEP = 3, 1e-5
"""Steps of Newton's method, which leave an error below 1e-6; a step smaller than SMALL_STEP is the last."""
LARGEST_BUDGET = 1e6
"""The bound is 1 to the last bit well before; the squares of larger budgets could overflow."""
CLOSE = 1e-7
"""Closer to the mean than this, rounding misleads the method, and its starting point is as close."""


@outlined
def kl_upper(mean: Any, budget: Any) -> Any:
    """The KL upper confidence bound of a Bernoulli mean: the largest q with kl(mean, q) <= budget.

    kl is convex and decreasing in u = ln(1 - q), so that Newton's method converges from below. It starts at the largest
    solution of simpler bounds: kl(p, q) >= (q - p)^2 / 2v for v = 1/4, q and 1 - p, and
    kl(p, q) >= p ln p + (1 - p) ln((1 - p) / (1 - q))."""
    rest = 1.0 - mean
    if rest <= 0.0 or budget > LARGEST_BUDGET:
        return 1.0
    entropy = rest * log(rest) + (mean * log(mean) if mean > 0.0 else 0.0)
    beyond = mean + min(math.sqrt(2.0 * budget * min(0.25, rest)), budget + math.sqrt(budget * (budget + 2.0 * mean)))
    u = (entropy - budget) / rest
    if beyond < 1.0:
        u = max(u, log(1.0 - beyond))
    for _ in range(NEWTON_STEPS):
        left = exp(u)
        high = 1.0 - left
        if high - mean < CLOSE:
            break
        step = (entropy - mean * log(high) - rest * u - budget) / (rest - mean * left / high)
        u += step
        if step < SMALL_STEP:
            break
    return 1.0 - exp(u)
