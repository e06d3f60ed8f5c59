"""The KL upper confidence bound of a Bernoulli mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated.kernel.jit import ignore_overflow
from belated.policies._base.kl_bound import kl_upper
from support.bernoulli_kl import ERROR, searched


def bound(mean: float, budget: float) -> float:
    with ignore_overflow():
        return float(kl_upper(mean, budget))


MEANS = st.one_of(
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 0.5, 1.0, 1e-9, 1.0 - 1e-9]),
    st.integers(0, 2000).flatmap(lambda n: st.integers(0, n).map(lambda s: (s + 0.5) / (n + 1.0))),
)
BUDGETS = st.one_of(st.floats(-20.0, 2.0).map(lambda power: 10.0**power), st.just(0.0))


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
