"""Prefix policies: cells, the sharper radius, UCB at zero delay, and what a delay costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import strategies
from belated import Bandit, Problem, simulate
from belated.delays import ByReward, Fixed
from belated.policies import UCB, OptimisticPessimisticElimination, PrefixElimination, PrefixUCB
from belated.policies._base import prefix
from belated.rewards import Bernoulli, Constant

cell_of: Any = getattr(prefix.cell_of, "py_func", prefix.cell_of)
sharp: Any = getattr(prefix.prefix_radius, "py_func", prefix.prefix_radius)


# ---- cells ----


def test_cells_end_at_the_powers_of_six_fifths() -> None:
    powers = sorted({math.ceil(Fraction(6, 5) ** k) for k in range(110)})
    assert prefix.CELL_ENDS.tolist() == powers[: prefix.CELLS]


@given(y=st.floats(1.0, 5.7e7))
def test_the_next_prefix_is_a_fifth_longer_at_most(y: float) -> None:
    """M <= 1.2 y + 1 for the shortest prefix of y pulls or more."""
    assert prefix.CELL_ENDS[np.searchsorted(prefix.CELL_ENDS, y)] <= 1.2 * y + 1


def test_a_pull_is_in_the_cell_whose_end_it_does_not_pass() -> None:
    """The last cell has no end: it holds all pulls after the 57,512,483rd."""
    ends = prefix.CELL_ENDS[:-1].tolist()
    assert ends[-1] == 57_512_483
    ranks = [*range(2000), *(end + more for end in ends for more in (-1, 0, 1)), 69_014_979, 10**8, 2**31]
    for rank in ranks:
        assert cell_of(rank) == sum(end <= rank for end in ends)


# ---- the sharper radius ----


def upper_and_lower(mean: Any, width: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    return (
        np.array([p + sharp(p, width) for p in mean]),
        np.array([p - sharp(1.0 - p, width) for p in mean]),
    )


@pytest.mark.parametrize("c", [0.1, 0.25, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("pulls", [1, 2, 5, 20, 100, 1000])
def test_a_coin_is_outside_on_either_side_with_probability_at_most_exp_minus_4c(c: float, pulls: int) -> None:
    """With all answers there, exactly, for coins of all kinds; with c = ln T it is T^-4."""
    heads = np.arange(pulls + 1)
    upper, lower = upper_and_lower(heads / pulls, math.sqrt(2.0 * c / pulls))
    for mean in np.linspace(0.001, 0.999, 200):
        chance = binom.pmf(heads, pulls, mean)
        assert chance[upper < mean - 1e-12].sum() <= math.exp(-4.0 * c)
        assert chance[lower > mean + 1e-12].sum() <= math.exp(-4.0 * c)


def test_half_as_wide_it_would_not_hold() -> None:
    heads = np.arange(101)
    upper, _ = upper_and_lower(heads / 100, math.sqrt(2.0 * 0.25 / 100) / 2)
    chance = [binom.pmf(heads, 100, mean)[upper < mean].sum() for mean in np.linspace(0.001, 0.999, 200)]
    assert max(chance) > math.exp(-1.0)


@given(mean=st.floats(0.0, 1.0), width=st.floats(1e-6, 10.0))
def test_it_is_the_plain_radius_where_mean_and_radius_are_a_quarter_or_more(mean: float, width: float) -> None:
    found = sharp(mean, width)
    assert 0.0 <= found <= width
    if mean + width >= 0.25 + 1e-9:
        assert found == pytest.approx(width, rel=1e-9)
    elif mean + width <= 0.25 - 1e-9:
        assert found < width


@given(means=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), width=st.floats(1e-6, 10.0))
def test_a_larger_mean_has_a_larger_bound(means: tuple[float, float], width: float) -> None:
    low, high = sorted(means)
    assert low + sharp(low, width) <= high + sharp(high, width) + 1e-12


# ---- zero delay ----


def choices(policy: Any, rewards: Sequence[float | Sequence[float]], rounds: int) -> list[int]:
    """Of a live bandit that is told of every decision at once; an arm has one reward, or one for each of its pulls."""
    bandit = Bandit([str(arm) for arm in range(len(rewards))], policy)
    found: list[int] = []
    for _ in range(rounds):
        decision = bandit.choose()
        arm = int(decision.arm)
        of_arm = rewards[arm]
        bandit.observe(decision.id, of_arm[found.count(arm)] if isinstance(of_arm, Sequence) else of_arm)
        found.append(arm)
    return found


def dyadic(low: int, high: int) -> st.SearchStrategy[float]:
    """Rewards whose sums are exact."""
    return st.integers(low, high).map(lambda parts: parts / 64)


LEVELS: list[dict[str, Any]] = [{"confidence": 0.01}, {"confidence": 0.2}, {"confidence": 1.0}, {"horizon": 250}, {}]


@strategies.examples(40)
@given(best=dyadic(16, 64), others=st.lists(dyadic(0, 64), max_size=4), level=st.sampled_from(LEVELS), data=st.data())
def test_constant_rewards_of_which_one_is_a_quarter_or_more(
    best: float, others: list[float], level: dict[str, Any], data: st.DataObject
) -> None:
    """At zero delay PrefixUCB chooses as UCB does, in every round."""
    rewards = data.draw(st.permutations([best, *others]))
    assert choices(PrefixUCB(**level), rewards, 250) == choices(UCB(**level), rewards, 250)


@strategies.examples(40)
@given(rewards=st.lists(dyadic(0, 15), min_size=2, max_size=4), c=st.sampled_from([0.01, 0.05, 0.2]))
def test_smaller_constant_rewards(rewards: list[float], c: float) -> None:
    """They choose alike as long as some arm's UCB index is 1/4 or more."""
    ours, theirs = (choices(policy, rewards, 250) for policy in (PrefixUCB(confidence=c), UCB(confidence=c)))
    pulls = [0] * len(rewards)
    for round_, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        indices = [p + math.sqrt(2 * c / m) if m else math.inf for p, m in zip(rewards, pulls, strict=True)]
        if max(indices) < 0.25:
            break
        assert one == other, round_
        pulls[other] += 1


@strategies.examples(40)
@given(
    means=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=4),
    c=st.sampled_from([0.05, 0.3, 1.0]),
    seed=st.integers(0, 2**32),
)
def test_random_rewards(means: list[float], c: float, seed: int) -> None:
    """They choose alike until every arm's UCB index is below 1/4, although a prefix may be lower by luck."""
    rounds = 300
    draws = (np.random.default_rng(seed).random((len(means), rounds)) < np.array(means)[:, None]).astype(float).tolist()
    ours, theirs = (choices(policy, draws, rounds) for policy in (PrefixUCB(confidence=c), UCB(confidence=c)))
    seen: list[list[float]] = [[] for _ in means]
    for round_, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        indices = [sum(of) / len(of) + math.sqrt(2 * c / len(of)) if of else math.inf for of in seen]
        if max(indices) < 0.25:
            break
        assert one == other, round_
        seen[other].append(draws[other][len(seen[other])])


def test_random_rewards_in_the_simulator() -> None:
    problem = Problem([Bernoulli(mean) for mean in (0.5, 0.4, 0.7, 0.6, 0.1)], Fixed(0))
    found = simulate(problem, [PrefixUCB(confidence=1.0), UCB(confidence=1.0)], horizon=20_000, runs=50)
    assert np.array_equal(found.curves[0], found.curves[1])


def test_below_a_quarter_they_part() -> None:
    """The sharper radius is narrower there."""
    rewards = [1 / 8, 1 / 16]
    ours, theirs = (choices(policy, rewards, 1000) for policy in (PrefixUCB(confidence=0.1), UCB(confidence=0.1)))
    assert ours.count(1) < theirs.count(1)


def test_constant_rewards_in_the_simulator() -> None:
    problem = Problem([Constant(0.5), Constant(0.25), Constant(0.75), Constant(0.0)], Fixed(0))
    for level in ({"confidence": 1.0}, {}):
        found = simulate(problem, [PrefixUCB(**level), UCB(**level)], horizon=20_000, runs=1, workers=1)
        assert np.array_equal(found.curves[0], found.curves[1])
        assert np.array_equal(found.pulls[0], found.pulls[1])


# ---- what a delay costs ----

GAPS = np.array([0.05, 0.1, 0.2, 0.4])
DELAY = 2000


def figure_4(gap: float, delay: int) -> Problem:
    """Figure 4's bias with two arms: successes of the best and failures of the other are late."""
    late = [ByReward({0: Fixed(0), 1: Fixed(delay)}), ByReward({0: Fixed(delay), 1: Fixed(0)})]
    return Problem([Bernoulli(0.6), Bernoulli(0.6 - gap)], late)


def test_the_cost_of_a_delay_falls_with_the_gap_and_opses_does_not() -> None:
    """The theorems have gap x delay for PrefixUCB, and at most ln 2 gap x delay for PrefixElimination; Theorem 5 has no
    factor gap. Slopes of the logarithms: 1, 1 and 0. The delay costs the same with c = 1, where all is settled within
    the horizon."""
    policies = [
        PrefixUCB(confidence=1.0),
        PrefixElimination(confidence=1.0),
        OptimisticPessimisticElimination(confidence=1.0),
    ]
    costs = []
    for gap in GAPS.tolist():
        late, now = (
            simulate(figure_4(gap, delay), policies, horizon=60_000, runs=20, seed=4, checkpoints=1).mean[:, -1]
            for delay in (DELAY, 0)
        )
        costs.append(late - now)
    ucb, elimination, opse = np.array(costs).T
    slopes = [float(np.polyfit(np.log(GAPS), np.log(cost), 1)[0]) for cost in (ucb, elimination, opse)]
    assert slopes[0] == pytest.approx(1.0, abs=0.25)
    assert slopes[1] == pytest.approx(1.0, abs=0.25)
    assert slopes[2] == pytest.approx(0.0, abs=0.2)
    assert np.all(ucb <= 1.2 * GAPS * DELAY)
    assert np.all(opse > 3.0 * elimination)
