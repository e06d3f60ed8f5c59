"""What the reward law and the delay law of a scipy.stats distribution share."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_discrete(frozen: Any) -> bool:
    """Whether a distribution is discrete, of scipy's older kind or of its newer one."""
    kinds = {kind.__name__ for kind in type(frozen).__mro__}
    return bool(kinds & {"rv_discrete", "rv_discrete_frozen", "DiscreteDistribution"})


def is_distribution(value: Any) -> bool:
    """Whether a value is a distribution of scipy.stats, with its parameters or without."""
    return all(hasattr(value, name) for name in ("cdf", "support", "rvs")) and type(value).__module__[:6] == "scipy."


def freeze(given: Any) -> Any:
    """A distribution with its parameters; one without, such as scipy.stats.norm, has its standard ones."""
    return given() if hasattr(given, "freeze") else given


def describe(frozen: Any) -> str:
    """A distribution as it is written, with its parameters or without.

    >>> import scipy.stats
    >>> describe(scipy.stats.norm(np.float64(3.0), scale=np.int64(20)))
    'norm(3.0, scale=20)'
    """
    name = getattr(getattr(frozen, "dist", None), "name", None)
    if name is None:
        return str(frozen.name) if hasattr(frozen, "freeze") else repr(frozen)
    arguments = [_text(value) for value in frozen.args]
    return f"{name}({', '.join([*arguments, *(f'{key}={_text(value)}' for key, value in frozen.kwds.items())])})"


def _text(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
