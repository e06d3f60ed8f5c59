"""Bounds of problems whose rewards are in other units."""

from __future__ import annotations

import math
from typing import Any

import pytest
import scipy.stats as ss

from belated import Problem, simulate, theory
from belated.delays import ByReward, DelayLaw, Fixed, Geometric, Pareto
from belated.errors import InvalidParameter
from belated.policies import OptimisticPessimisticElimination, SuccessiveElimination
from belated.rewards import Bernoulli, Beta, FromScipy, Scaled
from belated.theory import bound_of

LOW, WIDTH = -50.0, 200.0
MEANS = (0.6, 0.4, 0.55)
INDEPENDENT: list[Any] = [
    theory.successive_elimination,
    theory.phased_elimination,
    theory.joulani,
    theory.without_delays,
    theory.table,
]
ANY_DELAY: list[Any] = [
    theory.optimistic_pessimistic,
    theory.optimistic_ucb,
    theory.prefix_elimination,
    theory.prefix_ucb,
    theory.imputed,
]


def twins(delay: DelayLaw, scaled_delay: DelayLaw | None = None) -> tuple[Problem, Problem]:
    arms = [Bernoulli(mean) for mean in MEANS]
    scaled = [Scaled(law, LOW, LOW + WIDTH) for law in arms]
    return Problem(arms, delay), Problem(scaled, scaled_delay or delay)


def numbers(value: Any) -> list[float]:
    """All numbers of a bound, of a table of bounds, or one number."""
    if isinstance(value, float):
        return [value]
    if isinstance(value, list):
        return [entry for row in value for part in (row.previous, row.paper) for entry in (part or {}).values()]
    return [value.value, *value.terms.values(), *(number for form in value.forms.values() for number in numbers(form))]


@pytest.mark.parametrize("bound", INDEPENDENT + ANY_DELAY, ids=lambda bound: bound.__name__)
def test_a_bound_is_that_of_the_twin_times_the_width(bound: Any) -> None:
    for delay in (Fixed(100), Geometric(30.0), Pareto(0.7)):
        plain, scaled = (bound(problem, 10_000) for problem in twins(delay))
        assert numbers(scaled) == pytest.approx([WIDTH * number for number in numbers(plain)], rel=1e-9)
        if hasattr(plain, "quantiles"):
            assert scaled.quantiles == pytest.approx(plain.quantiles, nan_ok=True)


@pytest.mark.parametrize("bound", ANY_DELAY, ids=lambda bound: bound.__name__)
def test_delays_that_depend_on_the_reward(bound: Any) -> None:
    laws = {0: Fixed(0), 1: Fixed(500)}
    plain, scaled = twins(ByReward(laws), ByReward({LOW + WIDTH * value: law for value, law in laws.items()}))
    assert numbers(bound(scaled, 5000)) == pytest.approx([WIDTH * number for number in numbers(bound(plain, 5000))])


def test_the_statement_says_what_the_bound_is_multiplied_by() -> None:
    plain, scaled = (theory.successive_elimination(problem, 10_000) for problem in twins(Fixed(10)))
    assert scaled.statement == f"for rewards in [0, 1], {plain.statement}; times 200, the width of the scale"


def test_a_wider_range_gives_a_larger_bound() -> None:
    """The policy sees smaller gaps: learning costs more in proportion to the width squared over the gap."""
    arms = [Scaled(Beta(2, 2), 0, 100), Scaled(Beta(2, 3), 0, 100)]
    natural = theory.successive_elimination(Problem(arms, Fixed(0)), 1000)
    wide = theory.successive_elimination(Problem(arms, Fixed(0), reward_range=(0, 300)), 1000)
    assert wide.value == pytest.approx(9 * natural.value)


def test_the_regret_is_below_the_bound() -> None:
    _, problem = twins(Geometric(10.0))
    policy = SuccessiveElimination(confidence=None)
    bound = bound_of(policy, problem, 20_000)
    assert bound is not None
    result = simulate(problem, policy, horizon=20_000, runs=4)
    assert 0.0 < result.final.max() < bound.value < math.inf
    assert WIDTH * bound_value(twins(Geometric(10.0))[0]) == pytest.approx(bound.value)


def bound_value(problem: Problem) -> float:
    bound = bound_of(SuccessiveElimination(confidence=None), problem, 20_000)
    assert bound is not None
    return bound.value


@pytest.mark.parametrize("bound", INDEPENDENT + ANY_DELAY + [theory.dudik], ids=lambda bound: bound.__name__)
def test_rewards_that_are_clipped_have_no_bound(bound: Any) -> None:
    problem = Problem([FromScipy(ss.norm(100, 20)), FromScipy(ss.norm(90, 20))], Fixed(5), reward_range=(0, 200))
    with pytest.raises(InvalidParameter, match=r"^theorems assume bounded rewards, .*are clipped"):
        bound(problem, 1000)


def test_nor_do_policies_and_plots() -> None:
    problem = Problem([FromScipy(ss.norm(100, 20)), FromScipy(ss.norm(90, 20))], Fixed(5), reward_range=(0, 200))
    policy = OptimisticPessimisticElimination(confidence=None)
    with pytest.raises(InvalidParameter, match="theorems assume bounded rewards"):
        bound_of(policy, problem, 1000)
    result = simulate(problem, policy, horizon=50, runs=2)
    with pytest.raises(InvalidParameter, match="theorems assume bounded rewards"):
        result.plot(bounds=True)


def test_a_bounded_distribution_of_scipy_has_its_bound() -> None:
    ours = Problem([Scaled(Beta(2, 3), 0, 30), Scaled(Beta(3, 2), 0, 30)], Fixed(5))
    theirs = Problem([FromScipy(ss.beta(2, 3, scale=30)), FromScipy(ss.beta(3, 2, scale=30))], Fixed(5))
    assert theory.prefix_ucb(theirs, 1000).value == pytest.approx(theory.prefix_ucb(ours, 1000).value)
