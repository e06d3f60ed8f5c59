"""A guide changes no draw, whatever lies inside one of its cells."""

from __future__ import annotations

import pytest

from belated import Problem
from belated.delays import DelayLaw, Empirical, Fixed, Mixture, Never
from belated.engine.draws import Draws
from belated.errors import InvalidParameter
from belated.rewards import Bernoulli

HORIZON = 1000


@pytest.mark.parametrize(
    "law",
    [
        Mixture(
            [(0.3, Fixed(0)), (2e-5, Never()), (0.69998, Fixed(0))]
        ),  # a part thinner than a cell, between equal ones
        Mixture([(0.5, Fixed(0)), (0.5, Empirical([5000], never=0.3))]),  # late and never in one cell
    ],
    ids=["a thin part", "late or never"],
)
def test_cells_with_several_delays_are_left_to_the_law(law: DelayLaw) -> None:
    problem = Problem([Bernoulli(0.5)], law)
    guided, plain = (Draws(problem, horizon=HORIZON, seed=1, run=0, guided=guided) for guided in (True, False))

    def seen(draws: Draws, rank: int) -> int | None:
        delay = draws.pull(0, rank)[1]
        return None if delay is None else min(delay, HORIZON + 1)  # later ones are all the same to a run

    assert [rank for rank in range(120_000) if seen(guided, rank) != seen(plain, rank)] == []


def test_draws_check_their_arguments() -> None:
    draws = Draws(Problem([Bernoulli(0.5)], Fixed(1)), horizon=10, seed=0, run=0)
    for arm, rank in ((1, 0), (-1, 0), (0, -1), (0, 2**32)):
        with pytest.raises(InvalidParameter, match="arm below 1"):
            draws.pull(arm, rank)
