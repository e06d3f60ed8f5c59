"""Estimates and their intervals against scipy, closed forms, a bootstrap and simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

from belated.studies.claims.evidence import DeltaMethod, Exact, Proportion, log_slope, mean, ratio
from strategies import examples
from synthetic import Numbers, draws, reach

RISKS = st.floats(1e-9, 0.5)
SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30).map(np.array)


# ---- means ----


@examples(100)
@given(SAMPLES, RISKS)
def test_the_interval_of_a_mean(x: Numbers, risk: float) -> None:
    left, right = reach(x, risk) if x.std() > 0.0 else (0.0, 0.0)
    wide = float(np.abs(x).max()) + 1.0
    assert mean(x).value == x.mean()
    assert mean(x).interval(risk) == pytest.approx((x.mean() - left, x.mean() + right), rel=1e-6, abs=1e-9 * wide)


def test_a_mean_of_equal_numbers_is_a_point() -> None:
    assert mean(np.full(9, 0.5)).interval(1e-6) == (0.5, 0.5)


@pytest.mark.parametrize(
    "estimate",
    [mean(np.array([3.0])), ratio(np.array([3.0]), np.array([2.0])), log_slope([1.0, 2.0], [np.ones(1), np.ones(1)])],
)
def test_one_run_says_nothing(estimate: DeltaMethod) -> None:
    assert math.isfinite(estimate.value)
    assert estimate.interval(0.5) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    "estimate",
    [
        ratio(np.ones(5), np.zeros(5)),
        ratio(np.ones(4), np.array([1.0, -1.0, 2.0, -2.0])),
        log_slope([1.0, 2.0], [np.ones(5), np.zeros(5)]),
        log_slope([1.0, 2.0], [-np.ones(5), np.ones(5)]),
        mean(np.array([1.0, math.nan, 2.0])),
    ],
)
def test_what_is_no_number_may_be_any(estimate: DeltaMethod) -> None:
    assert math.isnan(estimate.value)
    assert estimate.interval(0.5) == (-math.inf, math.inf)


def test_a_known_number_has_no_width() -> None:
    assert Exact(3.5).interval(1e-9) == (3.5, 3.5)


@given(SAMPLES, RISKS, st.floats(1.01, 100.0))
def test_less_risk_is_a_wider_interval(x: Numbers, risk: float, times: float) -> None:
    (low, high), (lower, higher) = mean(x).interval(risk), mean(x).interval(risk / times)
    assert lower <= low <= mean(x).value <= high <= higher


# ---- shares ----


@examples(200)
@given(st.integers(1, 2000), st.floats(0.0, 1.0), RISKS)
def test_the_interval_of_a_share_is_exact(count: int, part: float, risk: float) -> None:
    hits = round(part * count)
    found = ss.binomtest(hits, count).proportion_ci(1 - risk, "exact")
    assert Proportion(hits, count).value == hits / count
    assert Proportion(hits, count).interval(risk) == pytest.approx((found.low, found.high), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("count", [1, 8, 100])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("risk", [0.2, 0.01])
def test_a_share_is_covered_whatever_it_is(count: int, share: float, risk: float) -> None:
    """No simulation: the probability of every number of hits is known."""
    hits = np.arange(count + 1)
    ends = np.array([Proportion(int(hit), count).interval(risk) for hit in hits])
    chance = ss.binom.pmf(hits, count, share)
    assert chance[ends[:, 0] > share].sum() <= risk / 2 + 1e-12
    assert chance[ends[:, 1] < share].sum() <= risk / 2 + 1e-12


# ---- ratios and slopes ----


def slope_of(x: Numbers, y: Numbers) -> DeltaMethod:
    return log_slope([3.0, 50.0], [y, x])


def test_the_ratio_to_a_constant_is_a_mean() -> None:
    x = draws(5.0)
    assert ratio(x, np.full(x.size, 4.0)).interval(0.01) == pytest.approx(mean(x / 4.0).interval(0.01))


def test_a_ratio_of_proportional_numbers_is_known() -> None:
    """Paired run by run: what is common to both does not widen the interval."""
    x = draws(5.0)
    assert ratio(3.0 * x, x).interval(1e-6) == pytest.approx((3.0, 3.0))


def test_the_slope_between_two_points() -> None:
    y = [draws(4.0, seed=1), draws(9.0, seed=2)]
    found = log_slope([2.0, 10.0], y)
    assert found.value == pytest.approx(math.log(9 / 4) / math.log(5))
    assert found.influence.std(ddof=1) == pytest.approx((y[1] / 9 - y[0] / 4).std(ddof=1) / math.log(5))


def test_the_slope_of_many_points_is_that_of_least_squares() -> None:
    xs, means = [1.0, 3.0, 10.0, 40.0], [2.0, 1.0, 7.0, 30.0]
    fitted = np.polyfit(np.log(xs), np.log(means), 1)[0]
    assert log_slope(xs, [draws(value, seed=j) for j, value in enumerate(means)]).value == pytest.approx(fitted)


@pytest.mark.parametrize("estimate", [ratio, slope_of])
def test_influence_is_the_derivative(estimate: Callable[[Numbers, Numbers], DeltaMethod]) -> None:
    """More weight on one run moves the estimate by that run's influence."""
    x, y = draws(5.0, 2.0, 20, 1), draws(3.0, 1.0, 20, 2)
    found, little = estimate(x, y), 1e-6
    for run in range(x.size):
        moved = [(1 - little) * values + little * values[run] for values in (x, y)]
        apart = (estimate(*moved).value - found.value) / little
        assert apart == pytest.approx(found.influence[run] - found.influence.mean(), abs=1e-4)


@pytest.mark.parametrize("estimate", [ratio, slope_of])
def test_the_width_is_that_of_a_bootstrap(estimate: Callable[[Numbers, Numbers], DeltaMethod]) -> None:
    rng = np.random.default_rng(0)
    common = rng.exponential(size=400)
    x, y = 5.0 + common + rng.exponential(size=400), 3.0 + common
    chosen = rng.integers(0, 400, (2000, 400))
    spread = np.std([estimate(x[runs], y[runs]).value for runs in chosen])
    found = estimate(x, y)
    low, high = found.interval(0.05)
    beyond = (1.0 - 0.0125 ** (1 / 400)) * np.ptp(found.influence)
    assert high - low == pytest.approx(2 * ss.t.isf(0.0125, 399) * spread + beyond, rel=0.06)


@given(st.integers(0, 99), st.floats(0.01, 100.0), st.floats(0.01, 100.0))
def test_units_do_not_matter(seed: int, a: float, b: float) -> None:
    x, y = draws(5.0, seed=(seed, 0)), draws(3.0, seed=(seed, 1))
    found = np.array(ratio(x, y).interval(0.01))
    assert np.array(ratio(a * x, b * y).interval(0.01)) * b / a == pytest.approx(found)
    plain = log_slope([1.0, 4.0], [x, y]).interval(0.01)
    assert log_slope([a, 4.0 * a], [b * x, b * y]).interval(0.01) == pytest.approx(plain)


# ---- coverage ----


def normal(rng: np.random.Generator) -> tuple[DeltaMethod, float]:
    return mean(rng.normal(2.0, 3.0, 8)), 2.0


def paired_ratio(rng: np.random.Generator) -> tuple[DeltaMethod, float]:
    common = rng.normal(0.0, 1.0, 100)
    return ratio(6.0 + common + rng.normal(0.0, 1.0, 100), 3.0 + common), 2.0


def power(rng: np.random.Generator) -> tuple[DeltaMethod, float]:
    xs = [1.0, 10.0, 100.0]
    return log_slope(xs, [4.0 * math.sqrt(x) * rng.normal(1.0, 0.2, 100) for x in xs]), 0.5


@pytest.mark.parametrize("drawn", [normal, paired_ratio, power])
def test_an_interval_misses_no_more_often_than_it_may(
    drawn: Callable[[np.random.Generator], tuple[DeltaMethod, float]],
) -> None:
    rng, count, risk = np.random.default_rng(1), 4000, 0.05
    above = below = 0
    for _ in range(count):
        estimate, truth = drawn(rng)
        low, high = estimate.interval(risk)
        above, below = above + (low > truth), below + (high < truth)
    assert max(above, below) <= ss.binom.ppf(1 - 1e-4, count, risk / 2)
