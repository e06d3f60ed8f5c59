"""When two results are the same."""

from __future__ import annotations

import numpy as np

from belated import Result

COUNTS = ("pulls", "observed", "in_flight", "lost", "eliminated_at")
ARRAYS = ("rounds", "mean", "stderr", "curves", "final", *COUNTS)
BY_RUN = ("curves", "final", *COUNTS)


def assert_same_bits(a: Result, b: Result, names: tuple[str, ...] = ARRAYS) -> None:
    """Every array of the two results has the same bits."""
    assert a.labels == b.labels
    for name in names:
        one, other = getattr(a, name), getattr(b, name)
        assert one.dtype == other.dtype, name
        assert one.shape == other.shape, name
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), name
