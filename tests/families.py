"""Families of problems that another process can import."""

from __future__ import annotations

import numpy as np

from belated import Problem
from belated.delays import Fixed, Pareto
from belated.rewards import Bernoulli


def drawn(rng: np.random.Generator) -> Problem:
    """Three arms with means and a delay drawn again for each run."""
    means = rng.uniform(0.25, 0.75, 3)
    return Problem(
        [Bernoulli(float(mean)) for mean in means], [Fixed(20), Pareto(float(rng.uniform(0.5, 2.0))), Fixed(0)]
    )
