"""Means of numbers between two ends, where runs that were not met could lie at either."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

from belated.studies.claims import Status
from belated.studies.claims.base import Comparison, compared
from belated.studies.claims.evidence import BoundedMean, Proportion, mean
from strategies import examples
from synthetic import Numbers

RISKS = st.floats(1e-9, 0.5)
SHARES = st.lists(st.integers(0, 8), min_size=1, max_size=30).map(lambda eighths: np.array(eighths) / 8)
ENDS = [(0.0, 1.0), (-1.0, 1.0), (2.0, 10.0)]
each_range = pytest.mark.parametrize(("least", "most"), ENDS)


def two(hits: int, count: int, value: float = 1.0) -> BoundedMean:
    """So many runs with this value, and the others with 0."""
    return BoundedMean(np.repeat([value, 0.0], [hits, count - hits]))


@each_range
@examples(100)
@given(SHARES, RISKS)
def test_the_interval(least: float, most: float, x: Numbers, risk: float) -> None:
    """Half of the risk is for the mean of such runs as were met, half for others; never beyond the ends."""
    x = least + (most - least) * x
    low, high = BoundedMean(x, least, most).interval(risk)
    value = BoundedMean(x, least, most).value
    assert value == x.mean()
    assert least <= low <= value <= high <= most
    met = mean(x).interval(risk / 2)
    others = (most - least) * -math.expm1(math.log(risk / 2) / x.size)
    assert low == pytest.approx(max(least, min(met[0], value - others)))
    assert high == pytest.approx(min(most, max(met[1], value + others)))


def test_the_ends_are_0_and_1_unless_others_are_given() -> None:
    assert BoundedMean(np.array([0.5, 0.25])).interval(0.1) == BoundedMean(np.array([0.5, 0.25]), 0.0, 1.0).interval(
        0.1
    )


@each_range
@given(SHARES, RISKS)
def test_units_do_not_matter(least: float, most: float, x: Numbers, risk: float) -> None:
    low, high = (least + (most - least) * end for end in BoundedMean(x).interval(risk))
    found = BoundedMean(least + (most - least) * x, least, most).interval(risk)
    assert found == pytest.approx((low, high), abs=1e-9 * (most - least))


@given(SHARES, RISKS)
def test_the_share_of_the_rest_is_mirrored(x: Numbers, risk: float) -> None:
    low, high = BoundedMean(x).interval(risk)
    assert BoundedMean(1.0 - x).interval(risk) == pytest.approx((1.0 - high, 1.0 - low))
    assert BoundedMean(-x, -1.0, 0.0).interval(risk) == pytest.approx((-high, -low))


@each_range
@given(SHARES, RISKS, st.floats(1.01, 100.0))
def test_less_risk_is_a_wider_interval(least: float, most: float, x: Numbers, risk: float, times: float) -> None:
    found = BoundedMean(least + (most - least) * x, least, most)
    (low, high), (lower, higher) = found.interval(risk), found.interval(risk / times)
    assert lower <= low <= high <= higher


@each_range
def test_one_run_says_nothing(least: float, most: float) -> None:
    assert BoundedMean(np.array([least + 0.3]), least, most).interval(0.1) == (least, most)


# ---- runs that are all alike, or nearly ----


@pytest.mark.parametrize(("value", "risk"), [(v, r) for v in (0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0) for r in (0.1, 0.001)])
@each_range
def test_runs_that_are_all_alike(least: float, most: float, value: float, risk: float) -> None:
    """Whatever the others are, their share is p; the runs are all alike with probability (1 - p)^n, and as long as that
    is more than half of the risk, the mean is covered."""
    count, wide = 100, most - least
    value = least + wide * value
    low, high = BoundedMean(np.full(count, value), least, most).interval(risk)
    for share in np.linspace(0.0, 0.2, 201):
        if (1.0 - share) ** count > risk / 2:
            assert low <= (1.0 - share) * value + share * least + 1e-12
            assert (1.0 - share) * value + share * most <= high + 1e-12
    others = wide * (1.0 - (risk / 2) ** (1 / count))
    assert (low, high) == pytest.approx((max(value - others, least), min(value + others, most)))


@pytest.mark.parametrize("spread", [1e-12, 1e-6, 1e-3])
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_runs_that_are_nearly_alike(spread: float, end: float) -> None:
    """A little spread says no more about runs that were not met than none at all."""
    count, risk = 400, 0.001
    x = 0.5 + spread * np.resize([1.0, -1.0], count)
    low, high = BoundedMean(x).interval(risk)
    share = 1.0 - (risk / 2) ** (1 / count)
    unmet = (1.0 - 0.999 * share) * 0.5 + 0.999 * share * end
    assert low < unmet < high
    assert not mean(x).interval(risk)[0] < unmet < mean(x).interval(risk)[1]


@pytest.mark.parametrize("count", [2, 50, 10_000])
@pytest.mark.parametrize("risk", [0.1, 0.001])
def test_no_hits_are_as_those_of_an_exact_interval(count: int, risk: float) -> None:
    """Clopper and Pearson's."""
    found = ss.binomtest(0, count).proportion_ci(1.0 - risk, "exact")
    assert two(0, count).interval(risk) == (0.0, pytest.approx(found.high))
    assert two(count, count).interval(risk) == (pytest.approx(1.0 - found.high), 1.0)
    assert two(0, count).interval(risk) == pytest.approx(Proportion(0, count).interval(risk))


# ---- coverage ----


@pytest.mark.parametrize("risk", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("count", [50, 400, 2303, 2500, 4605, 6400, 6905, 7300, 10_000])
def test_what_is_rare_is_not_taken_for_nothing(count: int, risk: float) -> None:
    """0.9 in two of a thousand runs, else 0: the mean, 0.0018, is seldom judged to be below 0.001. The probability of
    every number of hits is known."""
    hits = np.arange(min(count, 20) + 1)  # with more, the mean itself is above 0.001
    below = [
        compared(Comparison("", two(hit, count, 0.9), high=0.001), risk).status is Status.HOLDS for hit in hits.tolist()
    ]
    assert not below[-1]
    assert ss.binom.pmf(hits, count, 0.002)[below].sum() <= risk


@pytest.mark.parametrize("value", [1.0, 0.375])
@pytest.mark.parametrize("count", [8, 20, 50, 100])
@pytest.mark.parametrize("risk", [0.1, 0.01])
def test_of_two_values(value: float, count: int, risk: float) -> None:
    """No simulation."""
    hits = np.arange(count + 1)
    ends = np.array([two(hit, count, value).interval(risk) for hit in hits.tolist()])
    for share in np.linspace(0.002, 0.998, 499):
        truth = value * share
        missed = (ends[:, 0] > truth + 1e-12) | (ends[:, 1] < truth - 1e-12)
        assert ss.binom.pmf(hits, count, share)[missed].sum() <= risk


@pytest.mark.parametrize("count", [20, 100])
@pytest.mark.parametrize("risk", [0.1, 0.01])
def test_of_differences(count: int, risk: float) -> None:
    """Most runs are 0, some -1, some 1; the probability of all numbers of them is known."""
    lower, upper = (side.ravel() for side in np.mgrid[: count // 2 + 1, : count // 2 + 1])
    runs = [np.repeat([-1.0, 1.0, 0.0], [a, b, count - a - b]) for a, b in zip(lower, upper, strict=True)]
    ends = np.array([BoundedMean(x, -1.0, 1.0).interval(risk) for x in runs])
    for p, q in ((0.01, 0.0), (0.0, 0.05), (0.02, 0.1), (0.1, 0.1), (0.001, 0.2)):
        missed = (ends[:, 0] > q - p + 1e-12) | (ends[:, 1] < q - p - 1e-12)
        numbers = np.stack([lower, upper, count - lower - upper], axis=1)[missed]
        chance = ss.multinomial.pmf(numbers, count, [p, q, 1.0 - p - q]).sum() if missed.any() else 0.0
        assert chance <= risk


def test_student_s_interval_would_not_do() -> None:
    """Of two values, one of them rare: it is a point at 0 for most."""
    count, share, risk = 100, 0.005, 0.01
    missed = [mean(two(hit, count).samples).interval(risk)[1] < share for hit in range(5)]
    assert ss.binom.pmf(range(5), count, share)[missed].sum() > 0.5
    kept = [two(hit, count).interval(risk)[1] >= share for hit in range(5)]
    assert all(kept)


@pytest.mark.parametrize(("a", "b"), [(2.0, 5.0), (0.5, 0.5), (0.3, 3.0), (3.0, 0.3)])
def test_shares_of_all_sizes(a: float, b: float) -> None:
    rng, count, risk = np.random.default_rng(1), 2000, 0.01
    ends = np.array([BoundedMean(rng.beta(a, b, 100)).interval(risk) for _ in range(count)])
    missed = (ends[:, 0] > a / (a + b)) | (ends[:, 1] < a / (a + b))
    assert missed.sum() <= ss.binom.ppf(1 - 1e-4, count, risk)
    assert not math.isclose(ends[0, 0], ends[0, 1])
