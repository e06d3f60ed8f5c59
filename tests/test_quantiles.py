"""d(q) = min { g : P(D <= g) >= q }, by brute force; problems' marginal delays; means and gaps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem
from belated.delays import ByReward, DelayLaw, Empirical, Fixed, Geometric, Mixture, Never, PacketLoss, Pareto, Poisson
from belated.delays import Uniform as UniformDelay
from belated.errors import InvalidParameter
from belated.rewards import Bernoulli, Beta, Categorical, Constant, RewardLaw, Uniform
from law_cases import DELAY_CASES, DelayCase, name

SCAN = 40_000
LEVELS = [0.0, 1e-300, 1e-12, 0.001, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.7, 0.75, 0.9, 0.99, 0.9999, 1 - 1e-9, 1.0]

delay_cases = pytest.mark.parametrize("case", DELAY_CASES, ids=name)


def brute_force(cdf: Any, q: float) -> float:
    """The first g of 0, 1, 2, ... with cdf(g) >= q; inf if there is none up to the end of the scan."""
    reached = np.flatnonzero(cdf >= q)
    return int(reached[0]) if len(reached) else math.inf


@delay_cases
def test_by_brute_force_on_the_own_distribution_function(case: DelayCase) -> None:
    """At many levels, among them the exact jumps and their neighbours."""
    cdf = np.asarray(case.law.cdf(np.arange(SCAN)))
    jumps = np.unique(cdf)[:60]
    near = np.concatenate([jumps, np.nextafter(jumps, 0), np.nextafter(jumps, 1)])
    for q in [*LEVELS, *np.linspace(0, 1, 41).tolist(), *np.clip(near, 0, 1).tolist()]:
        found, expected = case.law.quantile(q), brute_force(cdf, q)
        if expected == math.inf and found != math.inf:  # beyond the scan
            assert found >= SCAN
            assert float(case.law.cdf(found)) >= q * (1 - 1e-12)
            assert float(case.law.cdf(found - 1)) < q * (1 + 1e-12)
        elif case.longest == math.inf and q >= (1.0 - case.never) * (1 - 1e-15):
            assert found in (expected, math.inf), "a limit that is approached and not reached"
        else:
            assert found == expected, q
        assert isinstance(found, int) or found == math.inf


@delay_cases
def test_by_brute_force_on_an_independent_distribution_function(case: DelayCase) -> None:
    """Levels between the jumps, where rounding cannot decide."""
    cdf = np.asarray(case.cdf(np.arange(SCAN, dtype=np.float64)))
    for q in (np.linspace(0, 1, 54)[1:-1] + 1e-5).tolist():
        if np.abs(cdf - q).min() > 1e-9 and q <= cdf[-1]:
            assert case.law.quantile(q) == brute_force(cdf, q), q


@delay_cases
def test_the_ends(case: DelayCase) -> None:
    """d(0) = 0; d(1) is the longest delay if all feedback comes and there is a longest, else never."""
    assert case.law.quantile(0.0) == 0
    assert case.law.quantile(1.0) == (case.longest if case.never == 0.0 else math.inf)
    if case.never > 0.0:
        assert case.law.quantile(min(1.0 - case.never + 1e-9, 1.0)) == math.inf
        if case.never < 1.0:
            assert case.law.quantile(1.0 - case.never - 1e-9) < math.inf
            if case.longest < math.inf:
                assert case.law.quantile(float(case.law.cdf(case.longest))) == case.longest


@pytest.mark.parametrize("parts", [2, 3, 7, 10, 49, 100])
def test_rounding_of_weights_does_not_lose_the_end(parts: int) -> None:
    """Ten times 0.1 is less than 1 in floating point; the feedback comes all the same."""
    law = Mixture([(1.0 / parts, Fixed(number)) for number in range(parts)])
    assert law.quantile(1.0) == parts - 1
    values = np.linspace(0, 1, parts).tolist()
    by_reward = Problem([Categorical(values, [1.0 / parts] * parts)], ByReward(lambda r: Fixed(round(r * (parts - 1)))))
    assert by_reward.delay_quantile(0, 1.0) == parts - 1
    assert by_reward.delay_cdf(0, parts) == 1.0


def test_quantiles_beyond_all_counting() -> None:
    assert Pareto(0.2).quantile(0.9999) == pytest.approx(1e20, rel=1e-9)
    assert Pareto(0.01).quantile(0.5) == pytest.approx(2.0**100, rel=1e-9)
    assert Pareto(0.01, scale=3.0).quantile(0.5) == pytest.approx(3.0 * 2.0**100, rel=1e-9)
    assert Pareto(1e-5).quantile(0.9) == math.inf
    assert Geometric(1e9).quantile(0.5) == pytest.approx(1e9 * math.log(2), rel=1e-6)


@strategies.examples(150)
@given(strategies.plain_delays, st.floats(0, 1))
def test_definition_on_any_law(law: DelayLaw, q: float) -> None:
    found = law.quantile(q)
    if found == math.inf:
        assert float(law.cdf(10**15)) <= q or q > 1.0 - law.never - 1e-12
    else:
        assert q == 0.0 or float(law.cdf(found)) >= q * (1 - 1e-12)
        before = found - 1 if found < 2**50 else found * (1 - 1e-9)  # where floats no longer tell neighbours apart
        assert found == 0 or float(law.cdf(before)) < q


@strategies.examples(100)
@given(strategies.plain_delays, st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_monotone(law: DelayLaw, levels: list[float]) -> None:
    found = [law.quantile(q) for q in sorted(levels)]
    assert found == sorted(found)


@pytest.mark.parametrize("q", [-0.1, 1.0001, math.nan, math.inf, "0.5", None, True])
def test_bad_levels(q: Any) -> None:
    for ask in (
        Fixed(3).quantile,
        Pareto(1.0).quantile,
        lambda q: Problem([Bernoulli(0.5)], Fixed(3)).delay_quantile(0, q),
    ):
        with pytest.raises(InvalidParameter, match="level") as caught:
            ask(q)
        assert repr(q) in str(caught.value)


# ---- problems ----


def test_marginal_of_a_mapping() -> None:
    """P(D <= g) = sum over the rewards."""
    laws = {0.0: Geometric(4), 0.3: Never(), 1.0: Pareto(0.5)}
    reward = Categorical([0.0, 0.3, 1.0], [0.5, 0.2, 0.3])
    problem = Problem([Bernoulli(0.2), reward], [ByReward({0: Fixed(9), 1: Fixed(0)}), ByReward(laws)])
    g = np.arange(3000, dtype=np.float64)
    expected = 0.5 * ss.geom(0.2, loc=-1).cdf(g) + 0.3 * ss.pareto(0.5).cdf(g + 1)
    np.testing.assert_allclose(problem.delay_cdf(1, g), expected, rtol=1e-12)
    for q in (0.0, 0.05, 0.2, 0.4, 0.6, 0.7, 0.75):
        assert problem.delay_quantile(1, q) == brute_force(expected, q), q
    assert problem.delay_quantile(1, 0.8) == math.inf
    assert problem.delay_quantile(1, 0.81) == math.inf
    assert [problem.delay_quantile(0, q) for q in (0.0, 0.2, 0.2000001, 1.0)] == [0, 0, 9, 9]
    assert [problem.delay_cdf(0, g) for g in (-1, 0, 8, 9)] == pytest.approx([0.0, 0.2, 0.2, 1.0])


@pytest.mark.parametrize(
    ("reward", "truth"),
    [
        (Beta(2.0, 3.0), ss.beta(2.0, 3.0)),
        (Uniform(0.1, 0.7), ss.uniform(0.1, 0.6)),
        (Beta(0.2, 0.3), ss.beta(0.2, 0.3)),
    ],
    ids=lambda value: repr(value) if isinstance(value, RewardLaw) else "",
)
def test_marginal_of_a_function_of_continuous_rewards(reward: Any, truth: Any) -> None:
    """Steps at multiples of 1/cells are exact."""
    law = ByReward(lambda r: Fixed(2) if r < 0.25 else (Poisson(9) if r < 0.6 else PacketLoss(0.5)), cells=20)
    problem = Problem([reward], law)
    low, middle = truth.cdf(0.25), truth.cdf(0.6) - truth.cdf(0.25)
    g = np.arange(200, dtype=np.float64)
    expected = low * (g >= 2) + middle * ss.poisson(9).cdf(g) + 0.5 * truth.sf(0.6)
    np.testing.assert_allclose(problem.delay_cdf(0, g), expected, rtol=1e-10)
    assert problem.delay_law(0).never == pytest.approx(0.5 * truth.sf(0.6), rel=1e-9)
    for q in np.linspace(0.01, 0.99, 30).tolist():
        if np.abs(expected - q).min() > 1e-9:
            assert problem.delay_quantile(0, q) == brute_force(expected, q), q


def test_marginal_of_a_mixture_with_a_dependent_part() -> None:
    law = Mixture([(1, ByReward({0: Fixed(1), 1: Fixed(6)})), (1, UniformDelay(0, 9))])
    g = np.arange(12, dtype=np.float64)
    expected = 0.5 * (0.75 * (g >= 1) + 0.25 * (g >= 6)) + 0.5 * np.minimum((g + 1) / 10, 1)
    np.testing.assert_allclose(Problem([Bernoulli(0.25)], law).delay_cdf(0, g), expected, rtol=1e-12)


@strategies.examples(100)
@given(strategies.problems())
def test_marginals_are_distributions(problem: Problem) -> None:
    g = np.concatenate([np.arange(-2, 300), [10.0**k for k in range(3, 16)]])
    for arm in range(problem.arms):
        cdf = problem.delay_cdf(arm, g)
        assert np.all(np.diff(cdf) >= -1e-12)
        assert np.all((cdf >= 0.0) & (cdf <= 1.0 + 1e-12))
        assert np.all(cdf[:2] == 0.0)
        found = problem.delay_quantile(arm, 0.5)
        if found < 300:
            assert found == brute_force(cdf[2:302], 0.5)


def test_means_gaps_and_best() -> None:
    laws = [Beta(1, 3), Categorical([0.2, 0.8], [0.5, 0.5]), Uniform(0.4, 0.6), Constant(0.1), Bernoulli(0.45)]
    problem = Problem(laws, Fixed(1))
    np.testing.assert_allclose(problem.means, [0.25, 0.5, 0.5, 0.1, 0.45], rtol=1e-15)
    np.testing.assert_allclose(problem.gaps, [0.25, 0.0, 0.0, 0.4, 0.05], atol=1e-15)
    assert (problem.best, problem.arms) == (1, 5)
    assert not problem.reward_dependent
    with pytest.raises(ValueError, match="read-only"):
        problem.means[0] = 1.0


def test_kinds_of_answers() -> None:
    problem = Problem([Bernoulli(0.5)], [Empirical([1, 2, 3])])
    assert isinstance(problem.delay_cdf(0, 2), float)
    assert isinstance(problem.delay_cdf(0, [1, 2]), np.ndarray)
    assert problem.delay_cdf(0, np.zeros((2, 3))).shape == (2, 3)
    assert isinstance(problem.delay_quantile(0, 0.5), int)


@pytest.mark.parametrize("arm", [-1, 2, 0.0, "0", None, True])
def test_bad_arms(arm: Any) -> None:
    problem = Problem([Bernoulli(0.5)] * 2, Fixed(1))
    for ask in (lambda: problem.delay_quantile(arm, 0.5), lambda: problem.delay_cdf(arm, 3)):
        with pytest.raises(InvalidParameter, match="from 0 to 1") as caught:
            ask()
        assert repr(arm) in str(caught.value)
