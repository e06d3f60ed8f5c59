"""Intervals of skewed numbers: Student's, and room for runs beyond those that were sampled."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

from belated import simulate
from belated.studies.claims.evidence import DeltaMethod, log_slope, mean, ratio, unmet_share
from belated.studies.experiments import NAMES, load
from belated.studies.study import ENOUGH_RUNS
from strategies import examples
from synthetic import Numbers

RISKS = st.floats(1e-6, 0.5)
SAMPLES = (
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=40).filter(lambda x: len(set(x)) > 1).map(np.array)
).map(lambda x: x.astype(np.float64))


def widths(x: Numbers, risk: float) -> tuple[float, float]:
    """How many standard errors the interval goes to the left and to the right of the mean."""
    low, high = mean(x).interval(risk)
    error = float(x.std(ddof=1)) / math.sqrt(x.size)
    return (float(x.mean()) - low) / error, (high - float(x.mean())) / error


@given(RISKS, st.integers(1, 5000))
def test_the_share_that_was_not_met(risk: float, count: int) -> None:
    """Of runs with this share on one side, a sample has none with half of the risk."""
    assert (1.0 - unmet_share(risk, count)) ** count == pytest.approx(risk / 2, rel=1e-6)


def test_the_side_of_the_long_tail_is_the_wider() -> None:
    x = np.random.default_rng(0).exponential(size=60)
    left, right = widths(x, 0.001)
    assert left > float(ss.t.ppf(0.9995, 59))
    assert right > 1.3 * left


def test_with_enough_runs_it_costs_little() -> None:
    """Of normal numbers, the interval is a quarter wider than Student's."""
    x = np.random.default_rng(0).normal(size=ENOUGH_RUNS)
    student = float(ss.t.isf(0.0005, ENOUGH_RUNS - 1))
    assert max(widths(x, 0.001)) < 1.35 * student


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


def test_claims_of_all_experiments_are_judged_with_enough_runs() -> None:
    for name in NAMES:
        experiment = load(name)
        for claim in (one for one in experiment.claims if not one.test.arithmetic):
            looks = experiment.studies[claim.study].interim_looks()
            assert min(looks) >= ENOUGH_RUNS, (name, claim.study)


@pytest.mark.slow
@pytest.mark.parametrize("risk", [1e-3, 1e-4])
def test_with_the_fewest_runs_allowed_the_regrets_of_figure_1_are_covered(risk: float) -> None:
    """Of UCB without delay: mostly small, and sometimes fifty times as large. Samples are drawn from a population of
    runs, whose mean is known."""
    cell = load("figure1").studies["bottom"].cells[0]
    played = simulate(cell.problem, cell.policies, horizon=cell.horizon, runs=3000, seed=4711, checkpoints=1)
    ucb, se = played.final.astype(np.float64)
    rng, count = np.random.default_rng(5), 8000
    estimators: list[Callable[[Numbers, Numbers], DeltaMethod]] = [
        lambda x, y: mean(x),
        lambda x, y: mean(x - y),
        lambda x, y: ratio(y, x),
    ]
    missed = np.zeros(len(estimators))
    truths = [estimate(ucb, se).value for estimate in estimators]
    for _ in range(count):
        runs = rng.integers(0, ucb.size, ENOUGH_RUNS)
        for number, estimate in enumerate(estimators):
            low, high = estimate(ucb[runs], se[runs]).interval(risk)
            missed[number] += not low <= truths[number] <= high
    assert missed.max() <= ss.binom.ppf(1 - 1e-3, count, risk)
