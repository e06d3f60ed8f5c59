"""A reward law where a delay law belongs, and the other way round, is recognised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import scipy.stats

from belated import Problem, delays, rewards
from belated.delays import ByReward, ByRound, Fixed, Mixture
from belated.errors import ConfigurationError, InvalidParameter
from belated.rewards import Bernoulli, Scaled
from belated.specs.problems import read_problem

REWARD, DELAY = "a reward law from belated.rewards", "a delay law from belated.delays"


@pytest.mark.parametrize(
    ("make", "name", "kind"),
    [
        (lambda: Problem([Bernoulli(0.5)], rewards.Uniform(0.2, 0.8)), "delays is Uniform(low=0.2, high=0.8)", REWARD),
        (lambda: Problem([Bernoulli(0.5)], [rewards.Constant(1.0)]), "delays[0] is Constant(value=1.0)", REWARD),
        (lambda: Problem([delays.Uniform(1, 5)], Fixed(1)), "rewards[0] is Uniform(low=1, high=5)", DELAY),
        (lambda: Problem(Fixed(1), Fixed(1)), "rewards is Fixed(rounds=1)", DELAY),  # type: ignore[arg-type]
        (lambda: Mixture([(1.0, Bernoulli(0.5))]), "(1.0, Bernoulli(mean=0.5))", REWARD),  # type: ignore[list-item]
        (lambda: ByReward({0: Bernoulli(0.5)}), "reward 0 is Bernoulli(mean=0.5)", REWARD),  # type: ignore[dict-item]
        (lambda: ByRound({1: Bernoulli(0.5)}), "round 1 on is Bernoulli(mean=0.5)", REWARD),  # type: ignore[dict-item]
        (lambda: Scaled(Fixed(1), 0, 1), "law is Fixed(rounds=1)", DELAY),  # type: ignore[arg-type]
        (lambda: Problem([Bernoulli(0.5)], ByReward(lambda _: Bernoulli(0.5))), "is Bernoulli(mean=0.5)", REWARD),  # type: ignore[arg-type, return-value]
    ],
)
def test_the_error_names_the_law_and_what_it_is(make: Callable[[], Any], name: str, kind: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert name in str(caught.value)
    assert kind in str(caught.value)


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda: Problem([Bernoulli(0.5)], scipy.stats.expon(scale=3)), r"delays is .* FromScipy\(expon\(scale=3\)\)"),
        (lambda: Problem([Bernoulli(0.5)], scipy.stats.expon), r"delays is .* FromScipy\(expon\)"),
        (lambda: Problem([Bernoulli(0.5)], [scipy.stats.expon()]), r"delays\[0\] is .* FromScipy\(expon\(\)\)"),
        (lambda: Problem([scipy.stats.norm(3, 2)], Fixed(1)), r"rewards\[0\] is .* FromScipy\(norm\(3, 2\)\)"),
        (lambda: delays.FromScipy(scipy.stats.gamma), "FromScipy: gamma is not a single distribution"),
    ],
)
def test_a_distribution_of_scipy_needs_its_law(make: Callable[[], Any], advice: str) -> None:
    with pytest.raises(InvalidParameter, match=advice) as caught:
        make()
    assert "0x" not in str(caught.value)


def test_a_distribution_without_parameters_has_its_standard_ones() -> None:
    assert repr(delays.FromScipy(scipy.stats.expon)) == "FromScipy(expon())"


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        (
            {"rewards": [{"law": "Bernoulli", "mean": 0.5}], "delays": {"law": "Beta", "a": 1, "b": 2}},
            "It is a reward law.",
        ),
        ({"rewards": [{"law": "Pareto", "alpha": 0.5}], "delays": {"law": "Fixed", "rounds": 2}}, "It is a delay law."),
    ],
)
def test_in_a_file(table: dict[str, Any], kind: str) -> None:
    with pytest.raises(ConfigurationError, match=kind):
        read_problem(table)
