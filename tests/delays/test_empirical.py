"""Delays from a log."""

from __future__ import annotations

import numpy as np

from belated.delays import Empirical
from support.laws import Cdf, DelayCase, step

SAMPLE = [4, 0, 17, 4, 4, 250, 1000, 3]


def share_of(sample: list[int], never: float = 0.0) -> Cdf:
    """The distribution function of a sample, by counting."""
    return lambda g: (1 - never) * np.mean(np.asarray(g)[..., None] >= np.array(sample), axis=-1)


CASES = [
    DelayCase(Empirical(SAMPLE), share_of(SAMPLE), longest=1000),
    DelayCase(Empirical(SAMPLE, never=0.35), share_of(SAMPLE, 0.35), 0.35, 1000),
    DelayCase(Empirical([5], never=1.0), step(0, 0.0), 1.0, 0),
]
