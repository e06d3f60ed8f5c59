"""The relative entropy of two Bernoulli laws, and its inverse by a search."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import rel_entr

ERROR = 1e-6
"""How far ``kl_upper`` may be from the inverse."""


def entropy(p: float, q: float) -> float:
    """kl(p, q)."""
    return float(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))


def searched(mean: float, budget: float) -> float:
    """The largest q with kl(mean, q) <= budget."""
    last = math.nextafter(1.0, 0.0)
    if mean >= last or entropy(mean, last) <= budget:
        return 1.0
    return float(brentq(lambda q: entropy(mean, q) - budget, mean, last, xtol=1e-15, maxiter=1000))
