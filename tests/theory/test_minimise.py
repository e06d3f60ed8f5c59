"""The minimum over the quantiles is the minimum: against every combination of jumps, and against other searches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import differential_evolution
from scipy.stats import randint

import strategies
from belated import Problem
from belated.delays import (
    DelayLaw,
    Empirical,
    Fixed,
    FromScipy,
    Geometric,
    LogNormal,
    Mixture,
    Never,
    PacketLoss,
    Pareto,
    Poisson,
)
from belated.delays import Uniform as UniformDelay
from belated.rewards import Bernoulli
from belated.theory import Bound, minimise, phased_elimination, successive_elimination
from support.laws import DELAY_CASES, DelayCase, name

Array = npt.NDArray[np.float64]

EXACT = 1e-9
MEANS = st.sampled_from([0.1, 0.25, 0.4, 0.6, 0.9])
ROUNDS = st.one_of(st.integers(0, 5), st.integers(0, 4000))
HORIZONS = st.sampled_from([2, 10, 1000, 10**6])


@st.composite
def few_spans(draw: Any) -> UniformDelay:
    low = draw(ROUNDS)
    return UniformDelay(low, low + draw(st.integers(0, 5)))


FEW_VALUES: st.SearchStrategy[DelayLaw] = st.one_of(
    st.builds(Fixed, ROUNDS),
    few_spans(),
    st.builds(Empirical, st.lists(ROUNDS, min_size=1, max_size=6), st.sampled_from([0.0, 0.1, 0.6])),
    st.builds(
        lambda a, b, c, lost: Mixture([(3.0, Fixed(a)), (1.0, Fixed(b)), (0.5, Fixed(c)), (lost, Never())]),
        ROUNDS,
        ROUNDS,
        ROUNDS,
        st.sampled_from([0.0, 1.0, 9.0]),
    ),
    st.builds(PacketLoss, st.sampled_from([0.01, 0.3, 0.7, 1.0])),
)


@st.composite
def few_valued_problems(draw: Any) -> Problem:
    means = draw(st.lists(MEANS, min_size=2, max_size=4))
    return Problem([Bernoulli(mean) for mean in means], [draw(FEW_VALUES) for _ in means])


def arms_of(problem: Problem) -> tuple[list[int], list[int]]:
    """(worse arms, best arms)."""
    gaps = problem.gaps
    return [i for i in range(problem.arms) if gaps[i] > 0], [i for i in range(problem.arms) if gaps[i] == 0]


def jumps(law: DelayLaw) -> tuple[Array, Array]:
    """(d, P(D <= d)) wherever the distribution function of a law with few values jumps."""
    d = np.arange(law.longest + 1)
    q = law.cdf(d)
    grown = np.diff(q, prepend=0.0) > 0.0
    return d[grown], q[grown]


def crossed(problem: Problem, arms: list[int]) -> tuple[Array, Array]:
    """Every combination of the arms' jumps: delays and quantiles, (combinations, arms)."""
    found = [jumps(problem.delay_law(arm)) for arm in arms]
    place = np.stack([axis.ravel() for axis in np.meshgrid(*(np.arange(len(d)) for d, _ in found))], axis=1)
    pairs = [(d[place[:, arm]], q[place[:, arm]]) for arm, (d, q) in enumerate(found)]
    return np.stack([d for d, _ in pairs], axis=1), np.stack([q for _, q in pairs], axis=1)


def theorem_2(problem: Problem, horizon: int, star: int, d: Array, q: Array) -> Array:
    """Its value with these delays and quantiles of all arms; (..., arms)."""
    worse, _ = arms_of(problem)
    gaps = problem.gaps[worse]
    learning = (40 * math.log(horizon) / gaps * (1 / q[..., worse] + 1 / q[..., [star]])).sum(axis=-1)
    return np.asarray(learning + math.log(problem.arms) * ((d[..., worse] + d[..., [star]]) * gaps).max(axis=-1))


def theorem_3(problem: Problem, horizon: int, d: Array, q: Array) -> Array:
    worse, _ = arms_of(problem)
    gaps = problem.gaps[worse]
    learning = (290 * math.log(horizon) / (q[..., worse] * gaps)).sum(axis=-1)
    waiting = math.log(horizon) * math.log(problem.arms) * (d[..., worse] * gaps).max(axis=-1)
    return np.asarray(learning + waiting)


def single(problem: Problem, horizon: int, star: int, q: float) -> float:
    """Theorem 2 with one quantile; the delays of further best arms do not count."""
    worse, _ = arms_of(problem)
    longest = max(problem.delay_quantile(arm, q) for arm in [*worse, star])
    return float((325 * math.log(horizon) / (q * problem.gaps[worse])).sum() + 4 * longest)


def assert_attained(problem: Problem, bound: Bound, formula: Callable[[Array, Array], Array]) -> None:
    """What is reported makes the value, and its delays are those of its quantiles."""
    q, d = np.array(bound.quantiles), np.array(bound.delays)
    assert len(q) == len(d) == problem.arms
    assert float(formula(d, q)) == pytest.approx(bound.value, rel=EXACT)
    for arm in range(problem.arms):
        if not math.isnan(q[arm]):
            assert 0.0 < q[arm] <= 1.0
            assert problem.delay_quantile(arm, float(q[arm])) == d[arm]


# ---- few values: every combination ----


@strategies.examples(150)
@given(few_valued_problems(), HORIZONS)
def test_no_combination_of_jumps_is_below_theorem_2_and_one_makes_it(problem: Problem, horizon: int) -> None:
    worse, best = arms_of(problem)
    bound = successive_elimination(problem, horizon)
    if not worse:
        assert bound.value == 0.0
        return
    d, q = crossed(problem, list(range(problem.arms)))
    values = {star: theorem_2(problem, horizon, star, d, q).min() for star in best}
    found = bound.forms["per arm"]
    assert found.value == pytest.approx(min(values.values()), rel=EXACT)
    star = min(values, key=lambda arm: (math.isnan(found.quantiles[arm]), values[arm]))
    assert_attained(problem, found, lambda d, q: theorem_2(problem, horizon, star, d, q))
    assert bound.value == min(form.value for form in bound.forms.values())


@strategies.examples(150)
@given(few_valued_problems(), HORIZONS)
def test_no_single_quantile_is_below_theorem_2_and_one_makes_it(problem: Problem, horizon: int) -> None:
    worse, best = arms_of(problem)
    if not worse:
        return
    found = successive_elimination(problem, horizon).forms["single"]
    values = []
    for star in best:
        levels = np.unique(np.concatenate([jumps(problem.delay_law(arm))[1] for arm in [*worse, star]]))
        values.append(min(single(problem, horizon, star, float(q)) for q in levels))
    assert found.value == pytest.approx(min(values), rel=EXACT)
    ((q,), (d,)) = found.quantiles, found.delays
    attained = [single(problem, horizon, star, q) for star in best]
    assert min(attained) == pytest.approx(found.value, rel=EXACT)
    assert d in {problem.delay_quantile(arm, q) for arm in range(problem.arms)}


@strategies.examples(150)
@given(few_valued_problems(), HORIZONS)
def test_no_combination_of_jumps_is_below_theorem_3_and_one_makes_it(problem: Problem, horizon: int) -> None:
    worse, best = arms_of(problem)
    found = phased_elimination(problem, horizon)
    if not worse:
        assert found.value == 0.0
        return
    d, q = crossed(problem, list(range(problem.arms)))
    assert found.value == pytest.approx(theorem_3(problem, horizon, d, q).min(), rel=EXACT)
    assert_attained(problem, found, lambda d, q: theorem_3(problem, horizon, d, q))
    assert all(math.isnan(found.quantiles[arm]) and math.isnan(found.delays[arm]) for arm in best)


def test_the_brute_force_meets_cases_in_which_waiting_matters() -> None:
    """The laws above would prove little if the smallest or the largest delay were always best."""
    law = Empirical([0, 300, 3000, 200_000])
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], law)
    assert successive_elimination(problem, 1000).forms["per arm"].quantiles == (0.75, 0.75)
    assert successive_elimination(problem, 1000).forms["single"].quantiles == (0.5,)
    assert phased_elimination(problem, 1000).delays[1] == 3000


# ---- many values ----

MANY = [
    Geometric(300.0),
    Geometric(5e4),
    Pareto(1.0),
    Pareto(0.2),
    Pareto(0.4, 30.0),
    LogNormal(200.0, 1.5),
    LogNormal(3000.0, 0.3),
    Poisson(5000.0),
    UniformDelay(0, 4000),
    Mixture([(0.5, Geometric(10)), (0.2, Pareto(0.3)), (0.3, Never())]),
]


def smallest(values: Callable[[Array], Array], top: float) -> float:
    """A plain minimum over every whole number from 0 to ``top``."""
    with np.errstate(divide="ignore", over="ignore"):
        return float(values(np.arange(min(top, 3e6) + 1)).min())


@pytest.mark.parametrize("law", MANY, ids=repr)
def test_with_two_arms_every_delay_is_tried(law: DelayLaw) -> None:
    """The terms of the two arms then stand alone, and each can be tried at every delay."""
    horizon, gap = 1000, 0.2
    other = Geometric(40.0)
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], [other, law])
    log_t = math.log(horizon)
    se, pse = successive_elimination(problem, horizon), phased_elimination(problem, horizon)

    def term(law: DelayLaw, top: float) -> float:
        return smallest(lambda d: 40 * log_t / gap / law.cdf(d) + math.log(2) * gap * d, top)

    per_arm = se.forms["per arm"]
    expected = term(law, per_arm.value / (gap * math.log(2))) + term(other, 1e5)
    assert per_arm.value == pytest.approx(expected, rel=EXACT)
    one = se.forms["single"]
    both = smallest(lambda d: 325 * log_t / gap / np.minimum(law.cdf(d), other.cdf(d)) + 4 * d, one.value / 4)
    assert one.value == pytest.approx(both, rel=EXACT)
    waiting = log_t * math.log(2) * gap
    assert pse.value == pytest.approx(
        smallest(lambda d: 290 * log_t / gap / law.cdf(d) + waiting * d, pse.value / waiting), rel=EXACT
    )


SEVERAL = [
    ([0.7, 0.5, 0.2], [Geometric(200.0), Pareto(0.5), LogNormal(300.0, 2.0)]),
    ([0.3, 0.35, 0.9], [Pareto(0.3), Geometric(2000.0), Pareto(0.7, 10.0)]),
    ([0.5, 0.6, 0.4, 0.45], [LogNormal(50.0, 1.0), Pareto(0.25), Geometric(5000.0), LogNormal(2000.0, 2.5)]),
    ([0.5, 0.5, 0.4], [Pareto(0.2), Geometric(300.0), Pareto(0.4)]),
]


@pytest.mark.parametrize(("means", "laws"), SEVERAL, ids=str)
def test_differential_evolution_finds_nothing_smaller(means: list[float], laws: list[DelayLaw]) -> None:
    horizon = 20_000
    problem = Problem([Bernoulli(mean) for mean in means], laws)
    _, best = arms_of(problem)

    def at(logs: Array) -> tuple[Array, Array]:
        d = np.floor(np.expm1(logs.T))
        q = np.stack([law.cdf(d[:, arm]) for arm, law in enumerate(laws)], axis=-1)
        return d, np.maximum(q, 1e-30)

    def search(formula: Callable[[Array, Array], Array]) -> float:
        def value(logs: Array) -> Any:
            return formula(*at(logs.reshape(problem.arms, -1)))

        found = differential_evolution(
            value,
            [(0.0, 14.0)] * problem.arms,
            popsize=20,
            maxiter=200,
            tol=1e-7,
            rng=1,
            vectorized=True,
            updating="deferred",
            polish=False,
        )
        return float(np.min(found.fun))

    for bound, formulas in (
        (
            successive_elimination(problem, horizon).forms["per arm"],
            [lambda d, q, star=star: theorem_2(problem, horizon, star, d, q) for star in best],
        ),
        (phased_elimination(problem, horizon), [lambda d, q: theorem_3(problem, horizon, d, q)]),
    ):
        found = min(search(formula) for formula in formulas)
        assert bound.value * (1 - EXACT) <= found <= bound.value * (1 + 1e-3)


@pytest.mark.parametrize(("arms", "close"), [(2, EXACT), (10, EXACT), (100, 1e-6)])
def test_many_arms_are_no_harder(arms: int, close: float) -> None:
    """With one law and one gap for all worse arms the problem has one delay of them and one of the best arm. Where the
    search runs out of patience, it comes close."""
    law = LogNormal(500.0, 2.0)
    problem = Problem([Bernoulli(0.6), *[Bernoulli(0.5)] * (arms - 1)], law)
    gap, log_t = float(problem.gaps[1]), math.log(5000)
    found = successive_elimination(problem, 5000).forms["per arm"]
    both = smallest(
        lambda d: 40 * log_t / gap * (arms - 1) / law.cdf(d) + math.log(arms) * d * gap,
        found.value / (math.log(arms) * gap),
    )
    assert found.value == pytest.approx(2 * both, rel=close)
    assert found.value >= 2 * both * (1 - EXACT)


# ---- the search itself ----


@pytest.mark.parametrize("case", DELAY_CASES, ids=name)
@pytest.mark.parametrize(("weight", "slope"), [(1.0, 1.0), (500.0, 0.1), (3e4, 4.0)])
def test_the_smallest_delay_is_that_of_a_plain_loop(case: DelayCase, weight: float, slope: float) -> None:
    """Here the distribution function is the independent one, too."""
    found = minimise.minimise_delay(
        lambda d: minimise.sum_of_ratios(np.array([weight]), np.asarray(case.cdf(d))[:, None]), slope
    )
    if case.never == 1.0:
        assert found == math.inf
        return
    at_found = weight / float(case.cdf(np.array(found))) + slope * found
    assert found == int(found) >= 0
    d = np.arange(min(at_found / slope, 2e6) + 1)
    with np.errstate(divide="ignore", over="ignore"):
        values = weight / np.asarray(case.cdf(d)) + slope * d
    assert at_found <= values.min() * (1 + 1e-12)


@strategies.examples(200)
@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 50)), min_size=1, max_size=30),
    st.sampled_from([0.01, 0.3, 1.0, 20.0]),
)
def test_the_smallest_delay_of_any_staircase(steps: list[tuple[int, int]], slope: float) -> None:
    """Steps of a size like that of the slope, so that many of them compete."""

    def learning(d: Array) -> Array:
        left = np.sum([height * (d < at) for at, height in steps], axis=0)
        return np.asarray(left * slope * 60 + 5.0)

    found = minimise.minimise_delay(learning, slope)
    d = np.arange(3001.0)
    totals = learning(d) + slope * d
    assert float(learning(np.array([found]))[0]) + slope * found == pytest.approx(totals.min(), rel=1e-12)


def test_the_smallest_delay_is_the_first_of_equals() -> None:
    """At 0 and at 4 the sum is 8: nothing is won by waiting."""
    assert minimise.minimise_delay(lambda d: np.where(d < 4, 8.0, 4.0), 1.0) == 0


def test_shares_know_every_arm_and_the_shortest_delays() -> None:
    laws = [Fixed(3), FromScipy(randint(0, 4)), Fixed(3), PacketLoss(0.25)]
    shares = minimise.DelayCdfs(laws)
    at = np.array([[2.0, 1.0, 3.0, 100.0], [-1.0, -5.0, 9.0, -1.0]])
    assert shares(at).tolist() == [[0.0, 0.5, 1.0, 0.25], [0.0, 0.0, 1.0, 0.0]]
    assert shares.shortest(np.array([50.0, 50.0, 3.0, 100.0])).tolist() == [3.0, 3.0, 3.0, 0.0]
