"""Successive elimination with prefix brackets."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import Bandit, Problem, simulate
from belated.delays import ByReward, Fixed
from belated.engine.environment import Environment
from belated.policies import PrefixElimination
from belated.rewards import Bernoulli
from belated.theory import bound_of, prefix_elimination
from strategies import examples
from support.plain_prefixes import grid_of, prefix_lower, prefix_upper
from support.plain_simulator import by_elimination, play

VARIANTS = [PrefixElimination(confidence=0.02)]

rule = by_elimination(prefix_lower, prefix_upper, rounding=2.0**-48)


def test_its_bound() -> None:
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    assert bound_of(PrefixElimination(confidence="theory"), problem, 10_000) == prefix_elimination(problem, 10_000)
    assert bound_of(PrefixElimination(confidence=1.0), problem, 10_000) is None


# ---- ties: the bounds in rational arithmetic ----

BITS = 300
"""Of the roots: numbers of these few terms that differ by less than 2^-200 are equal."""


def root(x: Fraction) -> Fraction:
    """The square root, rounded down to a multiple of 2^-BITS; exact if it is rational with a power of 2 below."""
    return Fraction(math.isqrt((x.numerator << 2 * BITS) // x.denominator), 1 << BITS)


def exact_radius(mean: Fraction, c: Fraction, pulls: int) -> Fraction:
    b = 4 * c / pulls
    return min(root(2 * c / pulls), b + root(b * (b + 2 * mean)))


def exact_bounds(rewards: list[int | None], confidence: float) -> tuple[Fraction, Fraction]:
    """(L, U) of an arm after pulls with these rewards, None where feedback is missing."""
    c, lows, highs = Fraction(confidence), [], []
    for pulls in grid_of(len(rewards)):
        seen = [reward for reward in rewards[:pulls] if reward is not None]
        p, q = Fraction(sum(seen), pulls), Fraction(sum(seen) + pulls - len(seen), pulls)
        lows.append(p - exact_radius(1 - p, c, pulls))
        highs.append(q + exact_radius(q, c, pulls))
    return max(lows), min(highs)


def eliminated(arms: list[list[int | None]], confidence: float) -> list[bool]:
    """Which arms a live bandit eliminates when the rewards of all pulls become known at the same time."""
    bandit = Bandit([str(arm) for arm in range(len(arms))], PrefixElimination(confidence=confidence))
    sweeps = [[bandit.choose() for _ in arms] for _ in arms[0]]
    for sweep, rewards in zip(sweeps, zip(*arms, strict=True), strict=True):
        for decision, reward in zip(sweep, rewards, strict=True):
            if reward is not None:
                bandit.observe(decision.id, float(reward))
    bandit.choose()
    return [not arm.active for arm in bandit.summary()]


def spread(pulls: int, hits: int, early: int) -> list[int | None]:
    """Rewards with that many ones, evenly spread and rather early or late: the whole prefix has the smallest U, or the
    largest L."""
    up_to = [-(-hits * k // pulls) if early else hits * k // pulls for k in range(pulls + 1)]
    return [after - before for before, after in pairwise(up_to)]


TIES = [
    (0.1875, 6, 2, 5),
    (0.125, 9, 4, 7),
    (0.25, 18, 9, 15),
    (0.25, 18, 3, 9),
    (0.25, 18, 5, 11),
    (0.125, 25, 12, 17),
]
"""(c, pulls of each arm, successes of the first, of the second) where U of the first is L of the second, and is
computed as less."""


@pytest.mark.parametrize(("confidence", "pulls", "few", "many"), TIES)
def test_a_tie_eliminates_no_arm(confidence: float, pulls: int, few: int, many: int) -> None:
    worse, better = spread(pulls, few, early=1), spread(pulls, many, early=0)
    upper, lower = exact_bounds(worse, confidence)[1], exact_bounds(better, confidence)[0]
    assert abs(upper - lower) < Fraction(1, 2**200)
    assert eliminated([worse, better], confidence) == [False, False]
    better[better.index(0)] = 1  # a success more, and it is no tie
    assert exact_bounds(better, confidence)[0] > upper + Fraction(1, 10**12)
    assert eliminated([worse, better], confidence) == [True, False]


@st.composite
def games(draw: st.DrawFn) -> tuple[list[list[int | None]], float]:
    """Rewards of two or three arms, some missing, and a level: among them many with ties."""
    levels = [(0.125, [9, 25, 36]), (0.1875, [6, 24]), (0.25, [18]), (0.01, [3, 30]), (0.3, [7, 40])]
    confidence, lengths = draw(st.sampled_from(levels))
    pulls = draw(st.sampled_from(lengths))
    arms: list[list[int | None]] = []
    for _ in range(draw(st.integers(2, 3))):
        if draw(st.booleans()):
            arms.append(spread(pulls, draw(st.integers(0, pulls)), draw(st.integers(0, 1))))
        else:
            likely = draw(st.sampled_from([[0, 0, 0, 0, 1], [0, 1, 1, 1, 1], [0, 1, None], [1, 1, 1, 1, None]]))
            arms.append(draw(st.lists(st.sampled_from(likely), min_size=pulls, max_size=pulls)))
    return arms, confidence


@examples(300)
@given(games())
def test_an_arm_is_eliminated_only_if_its_upper_bound_is_below_a_lower_bound(
    game: tuple[list[list[int | None]], float],
) -> None:
    """And always if it is by 1e-12."""
    arms, confidence = game
    bounds = [exact_bounds(rewards, confidence) for rewards in arms]
    bar = max(low for low, _ in bounds)
    for gone, (low, high) in zip(eliminated(arms, confidence), bounds, strict=True):
        if gone:
            assert bar - high > Fraction(1, 2**200)
        elif low < bar:
            assert bar - high < Fraction(1, 10**12)


def test_ties_are_met_in_simulations() -> None:
    """Without the allowance for rounding, some of these runs come out differently."""
    policy: Any = PrefixElimination(confidence=0.125)
    problem = Problem([Bernoulli(0.7), Bernoulli(0.3)], Fixed(0))
    horizon, runs = 80, 100
    pulls = simulate(problem, [policy], horizon=horizon, runs=runs, seed=1).pulls[0]
    strict = by_elimination(prefix_lower, prefix_upper)
    different = 0
    for run in range(runs):
        played, naive = (
            play(problem, policy, text, Environment(problem, horizon=horizon, seed=1, run=run), horizon, [horizon])
            for text in (rule, strict)
        )
        assert played.pulls == pulls[run].tolist()
        different += naive.pulls != played.pulls
    assert different > 0
