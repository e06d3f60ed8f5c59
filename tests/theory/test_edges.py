"""Where formulas meet 0 / 0, numbers too large, and laws with heavy tails."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats as ss

from belated import Problem
from belated.delays import DelayLaw, Fixed, FromScipy, Geometric, Never, Pareto
from belated.rewards import Bernoulli
from belated.theory import manegueu, minimise, optimistic_pessimistic, phased_elimination, successive_elimination, table


def arms(*means: float, delays: DelayLaw | list[DelayLaw]) -> Problem:
    return Problem([Bernoulli(mean) for mean in means], delays)


@pytest.mark.parametrize("law", [Fixed(0), Fixed(100), Geometric(5), Never()], ids=repr)
def test_the_table_of_equal_arms(law: DelayLaw) -> None:
    found = table(arms(0.5, 0.5, delays=law), 1000)
    for row in found:
        for values in (row.previous, row.paper):
            assert not any(math.isnan(value) for value in (values or {}).values())


@pytest.mark.parametrize("law", [Fixed(0), Fixed(100), Geometric(5)], ids=repr)
def test_one_round(law: DelayLaw) -> None:
    """ln 1 = 0: there is nothing to learn, and the formulas hold without 0 / 0."""
    problem = arms(0.6, 0.4, delays=law)
    gap = float(problem.gaps[1])
    shortest = 100 if law == Fixed(100) else 0
    forms = successive_elimination(problem, 1).forms
    assert forms["per arm"].value == pytest.approx(math.log(2) * 2 * shortest * gap)
    assert forms["single"].value == pytest.approx(4 * shortest)
    assert phased_elimination(problem, 1).value == 0.0
    assert math.isfinite(optimistic_pessimistic(problem, 1).value)
    assert not any(math.isnan(value) for row in table(problem, 1) for value in (row.paper or {}).values())


@pytest.mark.parametrize("law", [Fixed(10), Geometric(30)], ids=repr)
def test_a_gap_that_is_a_rounding_error(law: DelayLaw) -> None:
    """0.1 + 0.2 is not 0.3. The bound may be large, but it comes, and without a warning."""
    problem = arms(0.1 + 0.2, 0.3, 0.1, delays=law)
    assert problem.gaps[1] > 0.0
    for bound in (successive_elimination(problem, 1000), phased_elimination(problem, 1000)):
        assert 0.0 < bound.value < math.inf


class Asked:
    """A Pareto law that is not asked for ever."""

    def __init__(self) -> None:
        self.count = 0

    def cdf(self, rounds: npt.ArrayLike) -> npt.NDArray[np.float64]:
        self.count += 1
        assert self.count < 5000
        return Pareto(0.5).cdf(rounds)


@pytest.mark.parametrize("delay", [100.0, 2.0**53, 1e17, 1e30])
def test_the_shortest_delay_is_found_beyond_the_whole_numbers_of_a_float(delay: float) -> None:
    """A gap of 1e-16 beside one of 0.2 asks for such delays; their neighbours in a float are further apart than 1."""
    shares = minimise.DelayCdfs([Asked()])  # type: ignore[list-item]
    found = shares.shortest(np.array([delay]))
    assert 0.0 <= found[0] <= delay
    assert Pareto(0.5).cdf(found)[0] == Pareto(0.5).cdf(delay)


def test_a_bound_too_large_for_a_number_is_infinite() -> None:
    assert manegueu(arms(0.6, 0.4, delays=Pareto(0.01)), 100, 0.001).value == math.inf


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.5])
def test_the_expected_delay_of_a_heavy_scipy_law(alpha: float) -> None:
    law = FromScipy(ss.lomax(alpha, scale=10))
    g = np.arange(1.0, 3e6)
    rest = 10**alpha * (10 + 3e6 - 0.5) ** (1 - alpha) / (alpha - 1)
    assert law.expected == pytest.approx(math.fsum((1 + g / 10) ** -alpha) + rest, rel=1e-6)


def test_the_expected_delay_of_a_long_scipy_law() -> None:
    """The integer part of an exponential variable is geometric: 1 / (e^(1/s) - 1)."""
    assert FromScipy(ss.expon(scale=5e6)).expected == pytest.approx(1 / math.expm1(1 / 5e6), rel=1e-6)
