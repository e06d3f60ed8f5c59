"""Intervals of skewed numbers: Student's, or Hall's (1992) on the side of the long tail, whichever is wider."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

from belated.studies.claims.evidence import DeltaMethod, log_slope, mean, ratio
from strategies import examples
from synthetic import Numbers, draws

RISKS = st.floats(1e-6, 0.5)
SAMPLES = (
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=40).filter(lambda x: len(set(x)) > 1).map(np.array)
).map(lambda x: x.astype(np.float64))


def steepness(x: Numbers) -> float:
    """Skewness over the square root of the number of runs, with scipy's skewness of the standard deviation of n - 1."""
    return float(ss.skew(x)) * ((x.size - 1) / x.size) ** 1.5 / math.sqrt(x.size)


def transformed(t: float, a: float) -> float:
    """The cubic of Hall, "On the removal of skewness by transformation"."""
    return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6


def widths(x: Numbers, risk: float) -> tuple[float, float]:
    """How many standard errors the interval goes to the left and to the right of the mean."""
    low, high = mean(x).interval(risk)
    error = float(x.std(ddof=1)) / math.sqrt(x.size)
    return (float(x.mean()) - low) / error, (high - float(x.mean())) / error


@examples(300)
@given(SAMPLES, RISKS)
def test_either_end_is_student_s_or_the_root_of_the_cubic(x: Numbers, risk: float) -> None:
    """The cubic is increasing; so that where Student's end is the wider, the cubic there is beyond it."""
    a, student = steepness(x), float(ss.t.isf(risk / 2, x.size - 1))
    left, right = widths(x, risk)
    for width, sign in ((left, 1.0), (right, -1.0)):
        assert width >= student * (1 - 1e-6)
        if width > student * (1 + 1e-6):
            assert sign * transformed(sign * width, a) == pytest.approx(student, rel=1e-4)
        else:
            assert sign * transformed(sign * student, a) >= student * (1 - 1e-4) - 1e-9


@pytest.mark.parametrize("risk", [0.05, 1e-3, 1e-6])
@pytest.mark.parametrize("seed", range(5))
def test_against_a_second_text(seed: int, risk: float) -> None:
    """The ends as real roots of the cubic, by their numbers."""
    x = np.random.default_rng(seed).gamma(0.5, size=30)
    a, student = steepness(x), float(ss.t.ppf(1 - risk / 2, 29))
    ends = []
    for t in (student, -student):
        roots = np.roots([a**2 / 27, a / 3, 1.0, a / 6 - t])
        ends.append(float(roots[np.argmin(np.abs(roots.imag))].real))
    assert widths(x, risk) == pytest.approx((max(student, ends[0]), max(student, -ends[1])), rel=1e-6)
    assert widths(x, risk)[1] > 1.05 * student


def test_the_side_of_the_long_tail_is_the_wider() -> None:
    x = np.random.default_rng(0).exponential(size=60)
    student = float(ss.t.ppf(0.9995, 59))
    left, right = widths(x, 0.001)
    assert left == pytest.approx(student)
    assert right > 1.3 * student


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("runs", [2, 9, 50])
def test_symmetric_numbers_have_student_s_interval(seed: int, runs: int) -> None:
    x = draws(3.0, 2.0, runs, seed)
    expected = ss.t.interval(0.99, runs - 1, 3.0, 2.0 / math.sqrt(runs))
    assert mean(x).interval(0.01) == pytest.approx(expected)


@examples(200)
@given(SAMPLES, RISKS, st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_scale_shift_and_mirror(x: Numbers, risk: float, scale: float, shift: float) -> None:
    low, high = mean(x).interval(risk)
    size = max(abs(low), abs(high)) + 1.0
    moved = mean(scale * x + shift).interval(risk)
    near = 1e-7 * (scale * size + abs(shift))
    assert moved == pytest.approx((scale * low + shift, scale * high + shift), rel=0.0, abs=near)
    assert mean(-x).interval(risk) == pytest.approx((-high, -low), rel=0.0, abs=1e-9 * size)


@pytest.mark.parametrize("scale", [1e-150, 1e-120, 1e-90, 1e90, 1e120, 1e150])
def test_numbers_of_any_size(scale: float) -> None:
    x = np.random.default_rng(0).exponential(size=20)
    low, high = mean(x).interval(0.01)
    assert mean(scale * x).interval(0.01) == pytest.approx((scale * low, scale * high), rel=1e-9)


def test_a_ratio_and_a_slope_are_skewed_as_what_pulls_them() -> None:
    x = np.random.default_rng(3).exponential(size=50)
    ones = np.ones(50)
    low, high = mean(x).interval(0.001)
    assert ratio(x, 4.0 * ones).interval(0.001) == pytest.approx((low / 4.0, high / 4.0))
    value = float(x.mean())
    slope = log_slope([1.0, math.e], [ones, x])
    assert slope.interval(0.001) == pytest.approx(
        (math.log(value) + low / value - 1.0, math.log(value) + high / value - 1.0)
    )


# ---- coverage ----


def exponential(rng: np.random.Generator, count: int) -> tuple[Numbers, float]:
    return rng.exponential(size=(count, 100)), 1.0


def failures(rng: np.random.Generator, count: int) -> tuple[Numbers, float]:
    """One run in ten fails, and is 20 times as bad."""
    return rng.normal(1.0, 0.1, (count, 100)) + 20.0 * (rng.random((count, 100)) < 0.1), 3.0


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["long to the right", "long to the left"])
@pytest.mark.parametrize("drawn", [exponential, failures])
def test_skewed_numbers_are_missed_as_rarely_as_the_risk_says(
    drawn: Callable[[np.random.Generator, int], tuple[Numbers, float]], sign: float
) -> None:
    """Student's interval alone misses them more often; were it taken, this test would see it."""
    count, risk = 6000, 0.001
    x, truth = drawn(np.random.default_rng(1), count)
    x, truth = sign * x, sign * truth
    ends = np.array([mean(row).interval(risk) for row in x])
    most = ss.binom.ppf(1 - 1e-4, count, risk)
    assert ((ends[:, 0] > truth) | (ends[:, 1] < truth)).sum() <= most
    width = ss.t.ppf(1 - risk / 2, 99) * x.std(axis=1, ddof=1) / 10.0
    assert (np.abs(x.mean(axis=1) - truth) > width).sum() > most


def test_a_ratio_of_skewed_numbers_is_covered() -> None:
    rng, count, risk = np.random.default_rng(2), 4000, 0.01

    def drawn() -> DeltaMethod:
        common = rng.exponential(size=100)
        return ratio(common + rng.exponential(size=100), 1.0 + rng.random(100))

    ends = np.array([drawn().interval(risk) for _ in range(count)])
    missed = (ends[:, 0] > 2.0 / 1.5) | (ends[:, 1] < 2.0 / 1.5)
    assert missed.sum() <= ss.binom.ppf(1 - 1e-4, count, risk)
