"""The standard error of a mean over runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt


def standard_error(runs: npt.NDArray[np.float64], axis: int = -1) -> Any:
    """The standard error of the mean along the axis of the runs; NaN for a single run.

    >>> standard_error(np.array([[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]])).round(4).tolist()
    [0.5774, 0.0]
    >>> standard_error(np.array([[1.0], [4.0]])).tolist()
    [nan, nan]
    """
    count = runs.shape[axis]
    if count > 1:
        return runs.std(axis=axis, ddof=1) / math.sqrt(count)
    return np.full_like(runs.sum(axis=axis), np.nan)[()]
