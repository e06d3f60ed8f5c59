"""Every delay law: its draws, distribution function and quantiles against scipy's and by brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats as ss
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem
from belated.delays import DelayLaw, Fixed, Pareto
from belated.errors import InvalidParameter
from belated.rewards import Bernoulli
from support.draws import COUNT, HORIZON, RARE, assert_frequencies, draw
from support.laws import DELAY_CASES, ROUND_CASES, DelayCase, RoundCase, name

SCAN = 40_000
LEVELS = [0.0, 1e-300, 1e-12, 0.001, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.7, 0.75, 0.9, 0.99, 0.9999, 1 - 1e-9, 1.0]

delay_cases = pytest.mark.parametrize("case", DELAY_CASES, ids=name)


def brute_force(cdf: Any, q: float) -> float:
    """The first g of 0, 1, 2, ... with cdf(g) >= q; inf if there is none up to the end of the scan."""
    reached = np.flatnonzero(cdf >= q)
    return int(reached[0]) if len(reached) else math.inf


def cells_of(case: DelayCase | RoundCase) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
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
    assert_follow(delays, case)


def assert_follow(delays: npt.NDArray[np.float64], case: DelayCase | RoundCase) -> None:
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


# ---- laws that depend on the round ----

round_cases = pytest.mark.parametrize("case", ROUND_CASES, ids=name)


def test_every_law_is_either_the_same_in_all_rounds_or_not() -> None:
    for case in DELAY_CASES:
        assert not case.law.depends_on_round
        assert case.law.at(1) is case.law or case.law.at(1) == case.law
    assert {type(case.law).__name__ for case in ROUND_CASES} >= {"Batch", "ByRound", "Mixture"}
    assert all(case.law.depends_on_round for case in ROUND_CASES)


@round_cases
def test_draws_in_a_round(case: RoundCase) -> None:
    _, delays = draw(Bernoulli(0.5), case.law, now=case.now)
    assert_follow(delays, case)
    _, expected = draw(Bernoulli(0.5), case.law.at(case.now))
    assert np.array_equal(delays, expected), "the bits of the law of this round"


@round_cases
def test_the_law_of_a_round(case: RoundCase) -> None:
    law = case.law.at(case.now)
    assert not law.depends_on_round
    g = np.arange(3000.0)
    np.testing.assert_allclose(law.cdf(g), case.cdf(g), rtol=1e-11, atol=1e-14)
    assert law.never == pytest.approx(case.never, abs=1e-15)
    assert law.longest <= case.law.longest


@round_cases
def test_there_is_no_distribution_without_a_round(case: RoundCase) -> None:
    problem = Problem([Bernoulli(0.5), Bernoulli(0.4)], [Fixed(1), case.law])
    assert problem.round_dependent
    for ask in (lambda: case.law.cdf(3), lambda: case.law.quantile(0.5), lambda: case.law.expected):
        with pytest.raises(InvalidParameter, match=r"no single distribution.*Use law\.at\(round\)"):
            ask()
    for asked in (lambda: problem.delay_quantile(1, 0.5), lambda: problem.delay_cdf(1, 3)):
        with pytest.raises(InvalidParameter, match=r"the delay of arm 1 depends on the round .*delay_law\(1\)\.at"):
            asked()
    assert problem.delay_quantile(0, 0.5) == 1


@pytest.mark.parametrize("now", [0, -1, 1.5, None, True])
def test_bad_rounds(now: Any) -> None:
    for law in (Fixed(3), ROUND_CASES[0].law):
        with pytest.raises(InvalidParameter, match="the round is"):
            law.at(now)


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
