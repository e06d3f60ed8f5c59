"""Bounds on Beta draws against the draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated.kernel.beta_bounds import MARGIN, odds_bounds
from belated.kernel.jit import ignore_overflow
from belated.kernel.math import beta_draw

SHAPE = st.one_of(st.floats(0.3, 3.0), st.floats(1.0, 100.0), st.floats(1.0, 1e6), st.floats(1e6, 1e10))


@pytest.mark.parametrize(
    ("a", "b", "least"),
    [
        (1.0, 1.0, 0.4),
        (1.0, 40.0, 0.6),
        (3.5, 2.0, 0.8),
        (40.0, 12.0, 0.98),
        (700.0, 300.0, 0.99),
        (1e6, 3e5, 0.99),
        (9e8, 2.0, 0.8),
    ],
)
def test_odds_are_within_their_bounds(a: float, b: float, least: float) -> None:
    """In 20,000 draws; a share of at least ``least`` has bounds, which are close together."""
    sure = 0
    with ignore_overflow():
        for z in np.random.default_rng(5).integers(0, 2**64, 20_000, np.uint64):
            low, high = odds_bounds(a, b, z)
            drawn = beta_draw(a, b, z)
            odds = drawn / (1.0 - drawn)
            assert low * (1.0 - MARGIN / 2) <= odds <= high * (1.0 + MARGIN / 2)
            sure += low > 0.0
            assert high <= 1.35 * low or (low == 0.0 and high == np.inf)
    assert sure >= least * 20_000


@strategies.examples(2000)
@given(a=SHAPE, b=SHAPE, word=st.integers(0, 2**64 - 1))
def test_odds_are_within_their_bounds_whatever_the_shapes_are(a: float, b: float, word: int) -> None:
    with ignore_overflow():
        low, high = odds_bounds(a, b, np.uint64(word))
        drawn = beta_draw(a, b, np.uint64(word))
    assert low * (1.0 - MARGIN / 2) * (1.0 - drawn) <= drawn
    assert drawn <= high * (1.0 + MARGIN / 2) * (1.0 - drawn) or high == np.inf


@pytest.mark.parametrize(("a", "b"), [(0.4, 2.0), (2.0, 0.999), (2.0, 1e9), (1 / 3, 1 / 3)])
def test_nothing_is_said_of_shapes_that_are_small_or_huge(a: float, b: float) -> None:
    with ignore_overflow():
        assert odds_bounds(a, b, np.uint64(12345)) == (0.0, np.inf)
