"""Counters of pending pulls by age against lists of the pulls; the coin's bound against a search for it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import rel_entr

import strategies
from belated.kernel.jit import ignore_overflow, outlined
from belated.policies._base import age_histogram
from belated.policies._base.kl_bernoulli import kl_upper

ARM = 1
"""Of three: nothing may be written beside it."""


class Rows(NamedTuple):
    """As much of a state as the counters see."""

    memory: npt.NDArray[np.float64]


class Row(NamedTuple):
    """And of an arm."""

    number: Any
    memory: npt.NDArray[np.float64]


@outlined
def bring(rows: Any, arm: Any, now: Any) -> None:
    age_histogram.advance(rows, arm, now)


@outlined
def add(rows: Any, arm: Any, pulled_at: Any, pulls: Any) -> None:
    age_histogram.add(rows, arm, pulled_at, pulls)


@outlined
def young(row: Any, rounds: Any) -> Any:
    return age_histogram.younger(row, rounds)


class Pending:
    """The counters of one arm, and the rounds of its pending pulls in a list."""

    def __init__(self) -> None:
        self.rows = Rows(np.zeros((3, age_histogram.SIZE + 2)))
        self.out: list[int] = []
        self.now = 0

    def pass_to(self, now: int) -> None:
        bring(self.rows, np.uint32(ARM), now)
        self.now = now

    def pull(self) -> None:
        add(self.rows, np.uint32(ARM), self.now, 1.0)
        self.out.append(self.now)

    def end(self, place: int) -> None:
        """An answer, or a pull taken back."""
        add(self.rows, np.uint32(ARM), self.out.pop(place % len(self.out)), -1.0)

    def starts(self) -> list[int]:
        """Of each pending pull the first round of its block: the smallest that holds it and is the present one of its
        length or the one before."""
        found = []
        for at in self.out:
            length = 1
            while at // length < self.now // length - 1:
                length *= 2
            found.append(at // length * length)
        return found

    def check(self, rounds: float) -> None:
        assert young(Row(np.uint32(ARM), self.rows.memory), rounds) == sum(
            self.now - start < rounds for start in self.starts()
        )

    def check_all(self) -> None:
        counters = self.rows.memory[ARM, age_histogram.COUNTS : age_histogram.SIZE]
        assert (counters >= 0.0).all()
        assert counters.sum() == len(self.out)
        beside = self.rows.memory.copy()
        beside[ARM, : age_histogram.SIZE] = 0.0
        assert not beside.any(), "nothing is written beside the arm's own counters"
        for rounds in (0.5, 1.0, 2.0, 3.0, 4.0, 7.0, 30.5, 100.0, 1e4, 1e18):
            self.check(rounds)


STEPS = st.one_of(st.integers(1, 3), st.integers(1, 40), st.integers(1, 3000), st.integers(10**6, 2 * 10**7))
"""Rounds between two looks at an arm: few where it is pulled often, many where it is not."""


@strategies.examples(150)
@given(data=st.data())
def test_counters_are_the_lists(data: st.DataObject) -> None:
    pending = Pending()
    for step in data.draw(st.lists(STEPS, min_size=1, max_size=40)):
        pending.pass_to(pending.now + step)
        for _ in range(data.draw(st.integers(0, 2))):
            pending.pull()
        if pending.out and data.draw(st.booleans()):
            pending.end(data.draw(st.integers(0, 100)))
        pending.check_all()


@pytest.mark.parametrize("step", [1, 2, 3, 64])
def test_an_arm_that_is_pulled_again_and_again(step: int) -> None:
    """Every block boundary of a thousand rounds, and answers in an order of their own."""
    pending = Pending()
    for number in range(1, 1000 // step):
        pending.pass_to(number * step)
        pending.pull()
        if number % 3 == 0:
            pending.end(7 * number)
        pending.check(20.0)
        pending.check(float(number))
    pending.check_all()


@strategies.examples(300)
@given(at=st.integers(1, 2**30), age=st.one_of(st.integers(0, 50), st.integers(0, 2**30)))
def test_an_age_is_taken_for_three_times_as_much_at_the_most(at: int, age: int) -> None:
    pending = Pending()
    pending.pass_to(at)
    pending.pull()
    pending.pass_to(at + age)
    row = Row(np.uint32(ARM), pending.rows.memory)
    assert young(row, float(age)) == 0.0, "no pull is taken for younger than it is"
    assert young(row, max(3.0 * age, 1.0)) == 1.0


def test_three_times_is_nearly_reached() -> None:
    pending = Pending()
    pending.pass_to(2**20 - 1)
    pending.pull()
    pending.pass_to(2**20 + 2**19)
    assert young(Row(np.uint32(ARM), pending.rows.memory), 2.99 * (2**19 + 1)) == 0.0


# ---- the coin's bound ----


def entropy(p: float, q: float) -> float:
    """kl(p, q)."""
    return float(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))


def searched(mean: float, budget: float) -> float:
    """The largest q with kl(mean, q) <= budget."""
    last = math.nextafter(1.0, 0.0)
    if mean >= last or entropy(mean, last) <= budget:
        return 1.0
    return float(brentq(lambda q: entropy(mean, q) - budget, mean, last, xtol=1e-15, maxiter=1000))


def bound(mean: float, budget: float) -> float:
    with ignore_overflow():
        return float(kl_upper(mean, budget))


MEANS = st.one_of(
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 0.5, 1.0, 1e-9, 1.0 - 1e-9]),
    st.integers(0, 2000).flatmap(lambda n: st.integers(0, n).map(lambda s: (s + 0.5) / (n + 1.0))),
)
BUDGETS = st.one_of(st.floats(-20.0, 2.0).map(lambda power: 10.0**power), st.just(0.0))
ERROR = 1e-6


@strategies.examples(600)
@given(mean=MEANS, budget=BUDGETS)
def test_the_bound_is_the_solution(mean: float, budget: float) -> None:
    assert bound(mean, budget) == pytest.approx(searched(mean, budget), abs=ERROR)


@strategies.examples(600)
@given(mean=MEANS, budget=BUDGETS)
def test_it_is_between_the_mean_and_one(mean: float, budget: float) -> None:
    assert mean - 1e-15 <= bound(mean, budget) <= 1.0  # it is 1 - exp(u), so that a last bit may be lost


def test_it_grows_with_the_mean_and_with_the_budget() -> None:
    means = [(s + 0.5) / (n + 1.0) for n in (1, 7, 60, 3000) for s in range(0, n + 1, max(n // 40, 1))]
    budgets = [4.0 * c / x for c in (0.02, 1.0, 10.0) for x in (1, 2, 5, 33, 400, 10_000, 10**6)]
    table = np.array([[bound(mean, budget) for budget in sorted(set(budgets))] for mean in sorted(set(means))])
    assert (np.diff(table, axis=0) >= -1e-9).all()
    assert (np.diff(table, axis=1) >= -1e-9).all()
    inside = table[:, 1:] < 0.999
    assert (np.diff(table, axis=1)[inside] > 0.0).all()


def test_of_a_perfect_coin_and_of_a_hopeless_one() -> None:
    assert bound(1.0, 0.3) == 1.0
    for budget in (0.0, 1e-6, 0.1, 3.0):
        assert bound(0.0, budget) == pytest.approx(-math.expm1(-budget), abs=1e-9)
