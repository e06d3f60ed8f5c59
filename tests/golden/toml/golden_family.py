"""A family of problems for ``horizons.toml``."""

import numpy as np

from belated import Problem
from belated.delays import Fixed, Geometric
from belated.rewards import Bernoulli


def draw(rng: np.random.Generator) -> Problem:
    """Three arms and their delays."""
    means = rng.uniform(0.2, 0.8, 3)
    return Problem(
        [Bernoulli(float(mean)) for mean in means], [Fixed(10), Fixed(int(rng.integers(0, 50))), Geometric(20.0)]
    )
