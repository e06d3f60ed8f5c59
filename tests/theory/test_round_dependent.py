"""Bounds say that they do not apply where the delay depends on the round."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from belated import Problem, simulate, theory
from belated.delays import Batch, ByReward, ByRound, DelayLaw, Fixed, Mixture, Never, Pareto
from belated.errors import InvalidParameter
from belated.live.reduction import reduction
from belated.policies import POLICIES, UCB, Policy, SuccessiveElimination
from belated.rewards import Bernoulli

HORIZON = 10_000
LAWS: list[DelayLaw] = [
    Batch(1000),
    ByRound({1: Fixed(10), 5001: Pareto(0.5)}),
    Mixture([(0.9, Batch(1000)), (0.1, Never())]),
    ByReward({0: Fixed(0), 1: Batch(1000)}),
    ByReward(lambda reward: Batch(1000) if reward > 0.5 else Fixed(0)),
]
BOUNDS: dict[str, Callable[[Problem], Any]] = {
    **{
        name: lambda problem, name=name: getattr(theory, name)(problem, HORIZON)  # type: ignore[misc]
        for name in (
            "successive_elimination",
            "phased_elimination",
            "optimistic_pessimistic",
            "optimistic_ucb",
            "prefix_elimination",
            "prefix_ucb",
            "imputed",
            "joulani",
            "dudik",
            "table",
        )
    },
    "manegueu": lambda problem: theory.manegueu(problem, HORIZON, 0.5),
    **{
        f"bound_of {name}": lambda problem, cls=cls: theory.bound_of(cls(), problem, HORIZON)  # type: ignore[misc]
        for name, cls in POLICIES.items()
        if cls.regret_bound is not Policy.regret_bound
    },
}
REFUSED = re.escape("bounds do not apply because the delay of arm 1 depends on the round (")


def problem_with(law: DelayLaw) -> Problem:
    return Problem([Bernoulli(0.6), Bernoulli(0.4)], [Fixed(3), law])


@pytest.mark.parametrize("law", LAWS, ids=[f"{type(law).__name__}-{number}" for number, law in enumerate(LAWS)])
def test_every_bound_is_refused(law: DelayLaw) -> None:
    for name, bound in BOUNDS.items():
        with pytest.raises(InvalidParameter, match=REFUSED) as caught:
            bound(problem_with(law))
        assert "Simulate the problem instead" in str(caught.value), name
        assert len(str(caught.value)) < 400, name


def test_every_bound_of_the_package_was_asked() -> None:
    """Except those that are about hard instances of their own."""
    asked = {name.split()[0] for name in BOUNDS}
    others = {"Bound", "TableRow", "without_delays"}
    of_their_own = {name for name in theory.__all__ if "lower" in name or "hard" in name}
    assert set(theory.__all__) - others - of_their_own == asked


def test_what_needs_no_delays_is_not_refused() -> None:
    problem = problem_with(Batch(1000))
    plain = problem_with(Fixed(0))
    assert theory.without_delays(problem, HORIZON) == theory.without_delays(plain, HORIZON)
    game = reduction(SuccessiveElimination(confidence=1.0), 0.5)
    assert game.play(problem, 400, seed=3) == game.play(plain, 400, seed=3)


def test_the_law_of_one_round_has_bounds() -> None:
    law = ByRound({1: Fixed(10), 5001: Pareto(0.5)})
    for now, plain in ((1, Fixed(10)), (9000, Pareto(0.5))):
        bounds = [theory.prefix_ucb(problem_with(one), HORIZON) for one in (law.at(now), plain)]
        assert bounds[0] == bounds[1]


def test_a_plot_with_bounds_says_so() -> None:
    result = simulate(problem_with(Batch(50)), UCB(), horizon=200, runs=2)
    with pytest.raises(InvalidParameter, match=REFUSED):
        result.plot(bounds=True)
