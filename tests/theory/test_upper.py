"""The upper bounds by hand, what makes them infinite or nothing, and those of earlier work."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem
from belated.delays import (
    ByReward,
    DelayLaw,
    Empirical,
    Fixed,
    Geometric,
    Mixture,
    Never,
    PacketLoss,
    Pareto,
)
from belated.errors import InvalidParameter
from belated.formatting import quantity
from belated.rewards import Bernoulli, Categorical
from belated.theory import (
    Bound,
    dudik,
    imputed,
    joulani,
    lower_bound_dependent,
    lower_bound_independent,
    manegueu,
    optimistic_pessimistic,
    optimistic_ucb,
    phased_elimination,
    prefix_elimination,
    prefix_ucb,
    successive_elimination,
)

T = 10_000
LOG_T = math.log(T)
Theorem = Callable[[Problem, int], Bound]
UPPER: list[Theorem] = [
    successive_elimination,
    phased_elimination,
    optimistic_pessimistic,
    optimistic_ucb,
    prefix_elimination,
    prefix_ucb,
    imputed,
]
upper = pytest.mark.parametrize("theorem", UPPER)


def arms(*means: float, delays: DelayLaw | list[DelayLaw]) -> Problem:
    return Problem([Bernoulli(mean) for mean in means], delays)


LATE_SUCCESS = arms(0.6, 0.4, delays=ByReward({0: Fixed(0), 1: Fixed(500)}))


# ---- what all bounds have in common ----


@upper
@strategies.examples(40)
@given(
    problem=strategies.problems(st.integers(2, 4), rewards=strategies.unit_rewards),
    horizon=st.sampled_from([2, 100, 50_000]),
)
def test_the_parts_add_up_to_the_value(theorem: Theorem, problem: Problem, horizon: int) -> None:
    gaps = problem.gaps[problem.gaps > 0.0]
    if gaps.size and gaps.min() < 1e-6:
        return  # rounding errors of two equal means
    if problem.reward_dependent and theorem in (successive_elimination, phased_elimination):
        with pytest.raises(InvalidParameter, match="optimistic_pessimistic"):
            theorem(problem, horizon)
        return
    bound = theorem(problem, horizon)
    assert bound.value >= 0.0
    assert math.fsum(bound.terms.values()) == pytest.approx(bound.value, rel=1e-12)
    assert all(part >= 0.0 for part in bound.terms.values())
    for form in bound.forms.values():
        assert math.fsum(form.terms.values()) == pytest.approx(form.value, rel=1e-12)
        assert bound.value <= form.value
    assert bound.driver
    assert quantity(bound.value) in bound.statement or math.isinf(bound.value) or bound.value == 0.0


@upper
def test_a_statement_has_the_numbers(theorem: Theorem) -> None:
    bound = theorem(arms(0.6, 0.4, delays=Fixed(12_345)), T)
    for part in (*bound.terms.values(), bound.value):
        assert quantity(part) in bound.statement
    largest = max(bound.terms, key=lambda term: bound.terms[term])
    share = bound.terms[largest] / bound.value
    assert (f"{share:.0%}" if share < 0.995 else "more than 99%") in bound.driver
    assert largest in bound.driver
    assert quantity(bound.value) in repr(bound)
    assert bound.name in repr(bound)


@upper
@pytest.mark.parametrize("horizon", [0, -5, 1.5, True, "100", None, math.inf])
def test_a_bad_horizon_is_an_error(theorem: Theorem, horizon: Any) -> None:
    with pytest.raises(InvalidParameter, match="horizon"):
        theorem(arms(0.6, 0.4, delays=Fixed(1)), horizon)


@upper
def test_what_is_no_problem_is_an_error(theorem: Theorem) -> None:
    with pytest.raises(InvalidParameter, match="Problem"):
        theorem([Bernoulli(0.5)], T)  # type: ignore[arg-type]


@upper
@pytest.mark.parametrize("law", [Fixed(100), Never(), Pareto(0.5)], ids=repr)
@pytest.mark.parametrize("count", [1, 3])
def test_equal_arms_and_one_arm_cost_nothing(theorem: Theorem, law: DelayLaw, count: int) -> None:
    bound = theorem(arms(*[0.5] * count, delays=law), T)
    assert bound.value == 0.0
    assert "best" in bound.driver


@upper
def test_a_bound_grows_with_the_horizon_and_falls_with_the_gap(theorem: Theorem) -> None:
    law = Geometric(50)
    values = [theorem(arms(0.6, 0.4, delays=law), horizon).value for horizon in (10, 1000, 10**6)]
    assert values == sorted(values)
    assert values[0] < values[-1]
    assert theorem(arms(0.6, 0.3, delays=law), T).value < theorem(arms(0.6, 0.4, delays=law), T).value


@pytest.mark.parametrize(
    "refusing",
    [successive_elimination, phased_elimination, joulani, dudik, lambda problem, t: manegueu(problem, t, 0.5)],
)
def test_delays_that_depend_on_the_reward_are_sent_to_theorem_5(refusing: Theorem) -> None:
    with pytest.raises(InvalidParameter, match="optimistic_pessimistic"):
        refusing(LATE_SUCCESS, T)
    assert math.isfinite(refusing(arms(0.6, 0.4, delays=Fixed(1)), T).value)


# ---- Theorems 2 and 3 ----


def test_a_fixed_delay_by_hand() -> None:
    problem = arms(0.75, 0.5, 0.25, delays=[Fixed(100), Fixed(300), Fixed(50)])
    se, pse = successive_elimination(problem, T), phased_elimination(problem, T)
    gaps = 1 / 0.25 + 1 / 0.5
    per_arm, single = se.forms["per arm"], se.forms["single"]
    assert per_arm.terms == pytest.approx({"learning": 80 * LOG_T * gaps, "waiting": math.log(3) * 400 * 0.25})
    assert per_arm.quantiles == (1.0, 1.0, 1.0)
    assert per_arm.delays == (100.0, 300.0, 50.0)
    assert single.terms == pytest.approx({"learning": 325 * LOG_T * gaps, "waiting": 1200.0})
    assert (single.quantiles, single.delays) == ((1.0,), (300.0,))
    assert pse.terms == pytest.approx({"learning": 290 * LOG_T * gaps, "waiting": LOG_T * math.log(3) * 300 * 0.25})
    assert math.isnan(pse.quantiles[0])
    assert pse.quantiles[1:] == (1.0, 1.0)
    assert se.value == per_arm.value


def test_many_arms_can_make_the_single_quantile_the_smaller_form() -> None:
    """A factor ln K less on the waiting: where delays are long and gaps large, 4 d is less than 2 d ln K."""
    problem = arms(1.0, *[0.0] * 30, delays=Fixed(10**6))
    bound = successive_elimination(problem, 2)
    assert bound.value == bound.forms["single"].value < bound.forms["per arm"].value
    assert bound.source == bound.forms["single"].source
    assert bound.quantiles == (1.0,)


@pytest.mark.parametrize("delays", [Never(), [Fixed(0), Never()], Empirical([3], never=1.0), PacketLoss(0.0)], ids=repr)
def test_without_any_feedback_nothing_is_guaranteed(delays: DelayLaw | list[DelayLaw]) -> None:
    problem = arms(0.6, 0.4, delays=delays)
    for theorem in UPPER:
        bound = theorem(problem, T)
        assert bound.value == math.inf
        assert "guarantees nothing" in bound.driver
    assert all(form.value == math.inf for form in successive_elimination(problem, T).forms.values())


def test_without_the_best_arms_feedback_phases_alone_guarantee_something() -> None:
    problem = arms(0.6, 0.4, delays=[Never(), Fixed(10)])
    assert successive_elimination(problem, T).value == math.inf
    assert phased_elimination(problem, T).value == phased_elimination(arms(0.6, 0.4, delays=Fixed(10)), T).value


def test_a_share_of_the_feedback_is_enough() -> None:
    problem = arms(0.6, 0.4, delays=PacketLoss(0.3))
    gap = float(problem.gaps[1])
    assert successive_elimination(problem, T).value == pytest.approx(80 * LOG_T / gap / 0.3)
    assert phased_elimination(problem, T).value == pytest.approx(290 * LOG_T / gap / 0.3)
    for bound in (*successive_elimination(problem, T).forms.values(), phased_elimination(problem, T)):
        assert all(math.isnan(q) or q <= 0.3 for q in bound.quantiles)
        assert bound.terms["waiting"] == 0.0


def test_a_second_best_arm_adds_nothing_but_to_ln_k() -> None:
    law = Empirical([0, 40, 3000], never=0.1)
    alone, twice = arms(0.6, 0.4, delays=law), arms(0.6, 0.6, 0.4, delays=[law, Never(), law])
    one, two = phased_elimination(alone, T), phased_elimination(twice, T)
    assert two.quantiles[2] == one.quantiles[1]
    assert two.terms["learning"] == pytest.approx(one.terms["learning"])
    assert two.terms["waiting"] * math.log(2) == pytest.approx(one.terms["waiting"] * math.log(3))
    for form in ("per arm", "single"):
        one, two = successive_elimination(alone, T).forms[form], successive_elimination(twice, T).forms[form]
        assert one.quantiles == two.quantiles[:1] + two.quantiles[2:] or one.quantiles == two.quantiles
        assert two.terms["learning"] == pytest.approx(one.terms["learning"])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_best_arms_the_one_that_answers_sooner_counts(order: tuple[int, int]) -> None:
    best: list[DelayLaw] = [Fixed(5000), PacketLoss(0.9)]
    problem = arms(0.6, 0.6, 0.4, delays=[best[order[0]], best[order[1]], Fixed(10)])
    gap = float(problem.gaps[2])
    bound = successive_elimination(problem, T).forms["per arm"]
    assert bound.value == pytest.approx(40 * LOG_T / gap * (1 + 1 / 0.9) + math.log(3) * 10 * gap)
    assert math.isnan(bound.quantiles[order.index(0)])


# ---- Theorem 5 ----


def test_theorem_5_by_hand() -> None:
    """Successes come after 500 rounds, so that F(0) is 0.4 and 0.6, and both quantiles are 500."""
    bound = optimistic_pessimistic(LATE_SUCCESS, T)
    assert bound.terms == pytest.approx({"learning": 1166 * LOG_T / 0.2, "waiting": 4 * math.log(2) * 1000})
    assert bound.quantiles == pytest.approx((0.95, 0.95))
    assert bound.delays == (500.0, 500.0)


def test_theorem_5_takes_each_arms_own_level() -> None:
    """Levels 1 - gap/4: 0.9 and 0.8; the best arm's is that of the smallest gap."""
    laws: list[DelayLaw] = [
        Empirical([1] * 89 + [70] * 11),  # d(0.9) = 70
        Empirical([2] * 91 + [900] * 9),  # d(0.9) = 2
        ByReward({0: Fixed(30), 1: Fixed(4000)}),  # reward 1 in one case of ten: d(0.8) = 30
    ]
    problem = arms(0.9, 0.5, 0.1, delays=laws)
    bound = optimistic_pessimistic(problem, T)
    assert bound.delays == (70.0, 2.0, 30.0)
    assert bound.quantiles == pytest.approx((0.9, 0.9, 0.8))
    assert bound.terms["waiting"] == pytest.approx(4 * math.log(3) * (30 + 70))
    assert bound.terms["learning"] == pytest.approx(1166 * LOG_T * (1 / 0.4 + 1 / 0.8))


@pytest.mark.parametrize(("seen", "finite"), [(0.96, True), (0.94, False)])
def test_theorem_5_is_infinite_where_an_arm_loses_more_than_a_quarter_of_its_gap(seen: float, finite: bool) -> None:
    for delays in ([PacketLoss(seen), Fixed(0)], [Fixed(0), PacketLoss(seen)]):
        problem = arms(0.6, 0.4, delays=delays)
        assert math.isfinite(optimistic_pessimistic(problem, T).value) is finite
        assert optimistic_pessimistic(problem, T).terms["learning"] == pytest.approx(1166 * LOG_T / 0.2)
    lost = arms(0.6, 0.4, delays=ByReward({0: Mixture([(seen, Fixed(3)), (1 - seen, Never())]), 1: Fixed(0)}))
    assert math.isfinite(optimistic_pessimistic(lost, T).value)  # 0.6 * 0.06 < 0.05


def test_theorem_5_takes_the_better_of_two_best_arms() -> None:
    one = optimistic_pessimistic(arms(0.6, 0.6, 0.4, delays=[Never(), Fixed(7), Fixed(30)]), T)
    assert one.terms["waiting"] == pytest.approx(4 * math.log(3) * 37)
    assert math.isnan(one.delays[0])


def test_the_order_of_optimistic_ucb_by_hand() -> None:
    problem = arms(0.9, 0.5, 0.1, delays=[Never(), Fixed(20), Empirical([5] * 81 + [600] * 19)])
    bound = optimistic_ucb(problem, T)
    assert bound.terms == pytest.approx({"learning": LOG_T * (1 / 0.4 + 1 / 0.8), "waiting": 25.0})
    assert bound.delays[1:] == (20.0, 5.0)


def test_a_categorical_reward_is_as_good_as_a_bernoulli() -> None:
    """The bounds see means and marginal delays alone."""
    law = ByReward({0: Fixed(3), 0.5: Fixed(40), 1: Fixed(900)})
    problem = Problem([Categorical([0.0, 0.5, 1.0], [0.2, 0.2, 0.6]), Categorical([0.0, 0.5], [0.4, 0.6])], law)
    bound = optimistic_pessimistic(problem, T)
    assert bound.terms["learning"] == pytest.approx(1166 * LOG_T / 0.4)
    assert bound.delays == (900.0, 40.0)


def test_lower_bounds_are_below_upper_ones() -> None:
    """On Theorem 4's own instance, and for the learner that Theorem 5 is about on Theorem 6's."""
    for q in (0.1, 0.5, 1.0):
        law = Mixture([(q, Fixed(400)), (1 - q, Never())])
        problem = arms(0.5, 0.25, 0.4, delays=law)
        lower = lower_bound_independent(problem.gaps.tolist(), q, 400, 10**9, 0.5)
        for bound in (successive_elimination(problem, 10**9), phased_elimination(problem, 10**9)):
            assert max(form.value for form in lower.forms.values()) < bound.value
    late = arms(0.5, 0.4, delays=Fixed(2000))
    assert lower_bound_dependent(0.1, 2000, T, 0.5).value < optimistic_pessimistic(late, T).value
