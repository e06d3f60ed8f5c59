"""A reward law where a delay law belongs, and the other way round, is recognised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from belated import Problem, delays, rewards
from belated.delays import ByReward, Fixed, Mixture
from belated.errors import ConfigurationError, InvalidParameter
from belated.rewards import Bernoulli
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
        (lambda: Problem([Bernoulli(0.5)], ByReward(lambda _: Bernoulli(0.5))), "is Bernoulli(mean=0.5)", REWARD),  # type: ignore[arg-type, return-value]
    ],
)
def test_the_error_names_the_law_and_what_it_is(make: Callable[[], Any], name: str, kind: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert name in str(caught.value)
    assert kind in str(caught.value)


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
