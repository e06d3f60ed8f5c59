"""Every law's draws agree with scipy's distribution and with the law's own distribution function."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem
from belated.delays import ByReward, Fixed, Geometric, Mixture, Never, Pareto, Poisson
from belated.delays._base import DELAYS
from belated.engine.environment import Environment
from belated.rewards import Bernoulli, Beta, Categorical, Constant, Uniform
from belated.rewards._base import REWARDS
from law_cases import DELAY_CASES, REWARD_CASES, DelayCase, RewardCase, name
from sampling import sample

RARE = 1e-4
COUNT = 200_000
HORIZON = 20_000

reward_cases = pytest.mark.parametrize("case", REWARD_CASES, ids=name)
delay_cases = pytest.mark.parametrize("case", DELAY_CASES, ids=name)


def draw(reward: Any, delay: Any, *, seed: int = 1, horizon: int = HORIZON) -> tuple[Any, Any]:
    """Many rewards and delays of an arm, the second of two."""
    problem = Problem([Bernoulli(0.5), reward], [Fixed(1), delay])
    return sample(Environment(problem, horizon=horizon, seed=seed, run=3), 1, COUNT)


def assert_frequencies(found: npt.NDArray[np.int64], expected: npt.NDArray[np.float64]) -> None:
    """Chi-square; what cannot happen does not, and what is rare is put together."""
    assert found.sum() == COUNT
    assert not found[expected == 0.0].any()
    rare = expected * COUNT < 20
    common = [found[~rare], np.array([found[rare].sum()])], [expected[~rare], np.array([expected[rare].sum()])]
    counts, shares = (np.concatenate(part) for part in common)
    keep = shares * COUNT >= 1
    assert counts[~keep].sum() <= ss.poisson(max(shares[~keep].sum() * COUNT, 1e-9)).isf(RARE)
    if keep.sum() > 1:
        assert ss.chisquare(counts[keep], shares[keep] / shares[keep].sum() * counts[keep].sum()).pvalue > RARE


def test_every_registered_law_has_a_case() -> None:
    assert {type(case.law).__name__ for case in REWARD_CASES} == set(REWARDS)
    assert {type(case.law).__name__ for case in DELAY_CASES} | {"ByReward"} == set(DELAYS)


# ---- rewards ----


@reward_cases
def test_reward_draws(case: RewardCase) -> None:
    rewards, _ = draw(case.law, Fixed(0))
    assert np.all((rewards >= 0.0) & (rewards <= 1.0))
    if case.law.atoms is None:
        assert ss.kstest(rewards, case.truth.cdf).pvalue > RARE
        assert ss.kstest(rewards, case.law.cdf).pvalue > RARE
        return
    atoms = sorted(case.law.atoms)
    values, counts = np.unique(rewards, return_counts=True)
    assert set(values) <= set(atoms)
    found = np.array([dict(zip(values, counts, strict=True)).get(atom, 0) for atom in atoms])
    assert_frequencies(found, np.diff(np.concatenate([[0.0], case.truth.cdf(np.array(atoms))])))


@reward_cases
def test_reward_mean_and_distribution_function(case: RewardCase) -> None:
    assert case.law.mean == pytest.approx(case.truth.mean(), abs=1e-15)
    x = np.concatenate([np.linspace(-0.5, 1.5, 4001), list(case.law.atoms or []), [-np.inf, np.inf]])
    np.testing.assert_allclose(case.law.cdf(x), case.truth.cdf(x), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(float(case.law.cdf(0.4)), float(case.truth.cdf(0.4)), rtol=1e-12)
    if case.law.atoms is not None:
        assert sum(case.law.atoms.values()) == pytest.approx(1.0, abs=1e-15)
        assert sum(v * p for v, p in case.law.atoms.items()) == pytest.approx(case.law.mean, abs=1e-15)


# ---- delays ----


def cells_of(case: DelayCase) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(upper ends, shares) of about a hundred cells up to the horizon, then what is later, then never."""
    g = np.arange(HORIZON + 1, dtype=np.float64)
    cdf = np.asarray(case.cdf(g))
    cell = np.minimum((cdf * 100).astype(int), 99)
    ends = g[np.append(cell[1:] != cell[:-1], True)]
    if len(ends) < 30:  # few values: each on its own
        ends = g[np.append(True, cdf[1:] > cdf[:-1])][:200]
        ends = np.append(ends, g[-1])
    ends = np.unique(ends)
    below = np.asarray(case.cdf(ends))
    shares = np.diff(np.concatenate([[0.0], below, [1.0 - case.never], [1.0]]))
    return ends, np.where(shares < 1e-13, 0.0, shares)


@delay_cases
def test_delay_draws(case: DelayCase) -> None:
    _, delays = draw(Bernoulli(0.5), case.law)
    assert np.all(delays >= 0)
    assert np.all(np.isinf(delays) | (delays == np.floor(delays)))
    ends, shares = cells_of(case)
    place = np.searchsorted(ends, delays, side="left")
    place[np.isinf(delays)] = len(ends) + 1
    assert_frequencies(np.bincount(place, minlength=len(shares)), shares)


@delay_cases
def test_delay_draws_and_own_distribution_function(case: DelayCase) -> None:
    """The empirical distribution function stays in the band of Dvoretzky, Kiefer, Wolfowitz and Massart."""
    _, delays = draw(Bernoulli(0.5), case.law, seed=2)
    g = np.unique(np.concatenate([np.arange(2000), np.geomspace(1, HORIZON, 500).astype(int)])).astype(np.float64)
    empirical = np.searchsorted(np.sort(delays), g, side="right") / COUNT
    assert np.abs(empirical - case.law.cdf(g)).max() < np.sqrt(np.log(2 / RARE) / (2 * COUNT))
    z = np.isinf(delays).mean() - case.law.never
    assert abs(z) <= 4 * np.sqrt(case.law.never * (1 - case.law.never) / COUNT)


@delay_cases
def test_the_horizon_changes_nothing_below_it(case: DelayCase) -> None:
    _, long = draw(Bernoulli(0.5), case.law, horizon=HORIZON)
    _, short = draw(Bernoulli(0.5), case.law, horizon=60)
    assert np.array_equal(np.minimum(long, 61), np.minimum(short, 61))
    assert np.array_equal(np.isinf(long), np.isinf(short))


@delay_cases
def test_delay_distribution_function(case: DelayCase) -> None:
    g = np.concatenate([np.arange(3000), np.geomspace(3000, 1e7, 200).round()])
    np.testing.assert_allclose(case.law.cdf(g), case.cdf(g), rtol=1e-11, atol=1e-14)
    assert np.all(np.diff(case.law.cdf(g)) >= -1e-15)
    assert np.array_equal(case.law.cdf(g + 0.7), case.law.cdf(g)), "between whole numbers nothing happens"
    assert np.all(np.asarray(case.law.cdf(np.array([-1.0, -0.3, -1e9]))) == 0.0)
    assert float(case.law.cdf(5)) == float(case.law.cdf(np.array([5.0]))[0])
    assert case.law.never == pytest.approx(case.never, abs=1e-15)
    assert case.law.longest == case.longest


@delay_cases
def test_delays_do_not_depend_on_the_reward(case: DelayCase) -> None:
    rewards, delays = draw(Bernoulli(0.4), case.law, seed=5)
    cells = np.searchsorted(np.unique(np.quantile(delays, np.linspace(0, 1, 9)[1:-1], method="lower")), delays)
    table = np.array([np.bincount(cells[rewards == value], minlength=cells.max() + 1) for value in (0.0, 1.0)])
    table = table[:, table.sum(axis=0) > 50]
    if table.shape[1] > 1:
        assert ss.chi2_contingency(table).pvalue > RARE


# ---- delays that depend on the reward ----


def test_a_mapping_gives_each_value_its_own_law() -> None:
    law = ByReward({0.0: Fixed(3), 0.5: Never(), 1.0: Poisson(30), 0.75: Fixed(1)})
    rewards, delays = draw(Categorical([0.0, 0.5, 1.0], [0.3, 0.2, 0.5]), law)
    assert set(rewards) == {0.0, 0.5, 1.0}
    assert np.all(delays[rewards == 0.0] == 3)
    assert np.all(np.isinf(delays[rewards == 0.5]))
    late = delays[rewards == 1.0]
    found = np.bincount(late.astype(int), minlength=80)[:80]
    expected = ss.poisson(30).pmf(np.arange(80))
    keep = expected * len(late) > 10
    assert ss.chisquare(found[keep], expected[keep] / expected[keep].sum() * found[keep].sum()).pvalue > RARE


@pytest.mark.parametrize("reward", [Beta(2, 3), Uniform(0.1, 0.9), Bernoulli(0.3), Constant(0.3)], ids=repr)
def test_a_function_sees_the_reward(reward: Any) -> None:
    """A law for each tenth of [0, 1]: with 20 cells that is exact."""
    law = ByReward(lambda r: Fixed(int(10 * r)), cells=20)
    rewards, delays = draw(reward, law)
    inside = np.abs(rewards * 10 - np.round(rewards * 10)) > 1e-9
    assert np.array_equal(delays[inside], np.floor(rewards[inside] * 10))


def test_a_mixture_with_a_part_that_depends_on_the_reward() -> None:
    law = Mixture([(1, ByReward({0: Fixed(2), 1: Fixed(8)})), (3, Geometric(10))])
    rewards, delays = draw(Bernoulli(0.25), law)
    q = 10 / 11
    for value, at in ((0.0, 2), (1.0, 8)):
        some = delays[rewards == value]
        expected = 0.75 * (1 - q) * q ** np.arange(100)
        expected[at] += 0.25
        counts = np.bincount(np.minimum(some, 100).astype(int), minlength=101)
        shares = np.append(expected, 1 - expected.sum())
        assert ss.chisquare(counts, shares * len(some)).pvalue > RARE


def test_arms_with_equal_laws_draw_independently() -> None:
    problem = Problem([Beta(2, 2)] * 3, Pareto(0.5))
    draws = Environment(problem, horizon=HORIZON, seed=0, run=0)
    found = [sample(draws, arm, 50_000) for arm in range(3)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        for part in (0, 1):
            rho = ss.spearmanr(found[one][part], found[other][part])
            assert rho.pvalue > RARE


# ---- any problem ----


@strategies.examples(150)
@given(strategies.problems(), st.integers(0, 10**6))
def test_draws_follow_the_marginal_law_on_any_problem(problem: Problem, seed: int) -> None:
    """Empirical distribution functions of rewards and delays stay in a band that chance leaves once in 1e9 times."""
    count = 10_000
    band = np.sqrt(np.log(2e9) / (2 * count))
    g = np.unique(np.geomspace(1, HORIZON, 200).round()) - 1.0
    x = np.linspace(-0.01, 1.01, 103)
    draws = Environment(problem, horizon=HORIZON, seed=seed, run=0)
    for arm in range(problem.arms):
        rewards, delays = sample(draws, arm, count)
        for values, points, cdf in (
            (delays, g, problem.delay_cdf(arm, g)),
            (rewards, x, problem.rewards[arm].cdf(x)),
        ):
            assert np.abs(np.searchsorted(np.sort(values), points, side="right") / count - cdf).max() < band
        assert abs(np.isinf(delays).mean() - problem.delay_law(arm).never) < band
