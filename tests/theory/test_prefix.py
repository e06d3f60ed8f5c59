"""The bounds of the prefix policies by hand, against simulations, and which policy they are about."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import strategies
from belated import Problem, simulate
from belated.delays import ByReward, DelayLaw, Empirical, Fixed, Geometric, Never, PacketLoss
from belated.formatting import quantity
from belated.policies import Policy, PrefixElimination, PrefixUCB
from belated.rewards import Bernoulli
from belated.theory import (
    Bound,
    bound_of,
    lower_bound_dependent,
    optimistic_pessimistic,
    prefix_elimination,
    prefix_ucb,
)

T = 10_000
LOG_T = math.log(T)
Theorem = Callable[[Problem, int], Bound]
both = pytest.mark.parametrize("theorem", [prefix_elimination, prefix_ucb])


def arms(*means: float, delays: DelayLaw | list[DelayLaw]) -> Problem:
    return Problem([Bernoulli(mean) for mean in means], delays)


# ---- by hand ----


LAWS: list[DelayLaw] = [
    Empirical([1] * 85 + [70] * 11 + [500] * 4),  # d(0.9) = 70, d(0.8) = 1
    Empirical([2] * 91 + [900] * 9),  # d(0.9) = 2
    ByReward({0: Fixed(30), 1: Fixed(4000)}),  # reward 1 in one case of ten: d(0.8) = 30
]


def test_each_arm_has_its_own_level() -> None:
    """Gaps 0.4 and 0.8, so levels 0.9 and 0.8; the best arm is waited for at the level of each other arm."""
    problem = arms(0.9, 0.5, 0.1, delays=LAWS)
    ucb, elimination = prefix_ucb(problem, T), prefix_elimination(problem, T)
    reciprocals, gaps = 1 / 0.4 + 1 / 0.8, 0.4 + 0.8
    assert ucb.terms == pytest.approx(
        {"learning": 39 * LOG_T * reciprocals + 2 * gaps, "waiting": 0.4 * 2 + 0.8 * 30},
    )
    assert elimination.terms == pytest.approx(
        {"learning": 346 * LOG_T * reciprocals + 3 * gaps, "waiting": math.log(3) * max(0.4 * 70, 0.8 * 30)},
    )
    assert ucb.delays[1:] == (2.0, 30.0)
    assert elimination.delays[1:] == (70.0, 30.0)
    assert ucb.quantiles[1:] == pytest.approx((0.9, 0.8)) == elimination.quantiles[1:]
    assert math.isnan(ucb.quantiles[0])


def test_the_best_arms_delay_matters_to_elimination_alone() -> None:
    silent = arms(0.6, 0.4, delays=[Never(), Fixed(10)])
    assert prefix_ucb(silent, T).value == prefix_ucb(arms(0.6, 0.4, delays=Fixed(10)), T).value
    assert prefix_elimination(silent, T).value == math.inf
    assert "guarantees nothing" in prefix_elimination(silent, T).driver


def test_of_two_best_arms_the_one_with_the_smaller_bound_counts() -> None:
    laws: list[DelayLaw] = [Never(), Fixed(50), Fixed(10)]
    for order in ([0, 1, 2], [1, 0, 2]):
        bound = prefix_elimination(arms(0.6, 0.6, 0.4, delays=[laws[place] for place in order]), T)
        assert bound.terms["waiting"] == pytest.approx(math.log(3) * 0.2 * 50)


@both
@pytest.mark.parametrize(("seen", "finite"), [(0.96, True), (0.95, True), (0.94, False)])
def test_it_is_infinite_where_an_arm_loses_more_than_a_quarter_of_its_gap(
    theorem: Theorem, seen: float, finite: bool
) -> None:
    bound = theorem(arms(0.6, 0.4, delays=[Fixed(0), PacketLoss(seen)]), T)
    assert math.isfinite(bound.value) is finite
    assert math.isfinite(bound.terms["learning"])


@both
@strategies.examples(40)
@given(
    problem=strategies.problems(st.integers(2, 4), rewards=strategies.unit_rewards),
    horizon=st.sampled_from([1, 2, 100, 50_000, 10**12]),
)
def test_the_parts_add_up_and_the_statement_has_them(theorem: Theorem, problem: Problem, horizon: int) -> None:
    bound = theorem(problem, horizon)
    assert bound.value >= 0.0
    assert math.fsum(bound.terms.values()) == pytest.approx(bound.value, rel=1e-12)
    if 0.0 < bound.value < math.inf:
        for part in (*bound.terms.values(), bound.value):
            assert quantity(part) in bound.statement


def test_it_has_the_factor_gap_that_theorem_5_has_not() -> None:
    """Halving the gap halves the waiting; it stays above the lower bound, gap d / 2."""
    for theorem, factor in ((prefix_ucb, 1.0), (prefix_elimination, math.log(2)), (optimistic_pessimistic, None)):
        wide, narrow = (theorem(arms(0.6, 0.6 - gap, delays=Fixed(2000)), T).terms["waiting"] for gap in (0.2, 0.1))
        assert wide / narrow == pytest.approx(1.0 if factor is None else 2.0)
        if factor is not None:
            assert wide == pytest.approx(factor * 0.2 * 2000)
            assert wide > lower_bound_dependent(0.2, 2000, T).value


@pytest.mark.parametrize(
    ("theorem", "pulls", "factor", "more"), [(prefix_ucb, 32, 39, 2), (prefix_elimination, 288, 346, 3)]
)
def test_prefixes_that_are_not_kept_guarantee_nothing(theorem: Theorem, pulls: int, factor: int, more: int) -> None:
    """Beyond 57,512,483 pulls of an arm the last cell has no end: a gap that needs a longer prefix costs gap T."""
    horizon = 10**11
    for longest, kept in ((57_400_000, True), (57_600_000, False)):
        gap = math.sqrt(pulls * math.log(horizon) / longest)
        problem = arms(0.5, 0.5 - gap, delays=Fixed(0))
        expected = factor * math.log(horizon) / gap if kept else gap * horizon
        assert theorem(problem, horizon).value == pytest.approx(expected, rel=1e-3)
    tiny = float(arms(0.5, 0.4999, delays=Fixed(0)).gaps[1])
    assert pulls * math.log(1000) / tiny**2 > 57_600_000
    few = theorem(arms(0.5, 0.4999, delays=Fixed(0)), 1000).value  # so long a run is needed for it to matter
    assert few == pytest.approx(factor * math.log(1000) / tiny + more * tiny, rel=1e-12)


# ---- which policy ----


def test_which_policies_the_bounds_are_about() -> None:
    late = arms(0.6, 0.4, delays=ByReward({0: Fixed(0), 1: Fixed(500)}))
    assert bound_of(PrefixUCB(confidence="theory"), late, T) == prefix_ucb(late, T)
    assert bound_of(PrefixUCB(confidence="theory", horizon=T), late, T) == prefix_ucb(late, T)
    assert bound_of(PrefixElimination(confidence="theory"), late, T) == prefix_elimination(late, T)
    for other in (
        PrefixUCB(confidence="theory", spread=True),
        PrefixUCB(confidence=1.0),
        PrefixUCB(confidence="theory", horizon=T + 1),
        PrefixElimination(confidence=1.0),
    ):
        assert bound_of(other, late, T) is None


# ---- simulations ----


@strategies.examples(40)
@given(problem=strategies.problems(rewards=strategies.unit_rewards), horizon=st.sampled_from([1, 2, 3, 5, 300]))
def test_no_regret_is_above_the_bounds(problem: Problem, horizon: int) -> None:
    """Also of fewer rounds than arms."""
    policies = [PrefixElimination(confidence="theory"), PrefixUCB(confidence="theory")]
    found = simulate(problem, policies, horizon=horizon, runs=3, workers=1)
    bounds = [prefix_elimination(problem, horizon).value, prefix_ucb(problem, horizon).value]
    assert np.all(found.mean[:, -1] <= np.array(bounds) + 1e-9)


def figure_4(gap: float, delay: int, count: int) -> Problem:
    late = ByReward({0: Fixed(delay), 1: Fixed(0)})
    return arms(
        0.7, *[0.7 - gap] * (count - 1), delays=[ByReward({0: Fixed(0), 1: Fixed(delay)}), *[late] * (count - 1)]
    )


TOLD = [
    (figure_4(0.6, 1000, 3), 60_000),
    (arms(0.9, 0.3, 0.2, delays=Geometric(300)), 60_000),
    (arms(0.8, 0.1, delays=[Fixed(3000), Fixed(100)]), 60_000),
    (arms(0.8, 0.1, delays=[Fixed(0), Fixed(3000)]), 60_000),
]
"""Over so many rounds the bounds are below that of a learner who never learns."""


def shortest_prefix(least: float) -> int:
    """The smallest ceil(1.2^k) that is so large."""
    k = 0
    while -(-(6**k) // 5**k) < least:
        k += 1
    return -(-(6**k) // 5**k)


@pytest.mark.parametrize(("problem", "horizon"), TOLD, ids=["bias", "geometric", "best late", "other late"])
def test_pulls_and_regret_are_below_what_the_proofs_say(problem: Problem, horizon: int) -> None:
    """Not the mean alone: but for probabilities of 3 / T^2 and 4 / T^2, PrefixUCB pulls an arm at most M + d times and
    PrefixElimination, which has two arms or more in a sweep, at most M + w / 2 + 1 times."""
    runs = 20
    policies: list[Policy] = [PrefixUCB(confidence="theory"), PrefixElimination(confidence="theory")]
    found = simulate(problem, policies, horizon=horizon, runs=runs, seed=6, checkpoints=1)
    log_t = math.log(horizon)
    for place, theorem in enumerate((prefix_ucb, prefix_elimination)):
        bound = theorem(problem, horizon)
        assert bound.value < horizon * problem.gaps.max() / 2
        assert 0.0 < found.mean[place, -1] + 4 * found.stderr[place, -1] < bound.value
        assert 1.3 < bound.value / found.mean[place, -1] < 21, "as the page says"
        broken = np.zeros(runs, bool)
        for arm in range(1, problem.arms):
            gap, wait = float(problem.gaps[arm]), bound.delays[arm]
            most = (
                shortest_prefix(32 * log_t / gap**2) + wait
                if theorem is prefix_ucb
                else shortest_prefix(288 * log_t / gap**2) + wait / 2 + 1
            )
            broken |= found.pulls[place, :, arm] > most
        assert broken.sum() <= binom.isf(1e-4, runs, 4 * problem.arms / horizon**2)
    assert np.all(found.eliminated_at[1, :, 0] < 0), "the best arm stays"
