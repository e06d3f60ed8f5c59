"""Successive elimination with prefix brackets."""

from __future__ import annotations

from belated import Problem
from belated.delays import ByReward, Fixed
from belated.policies import PrefixElimination
from belated.rewards import Bernoulli
from belated.theory import bound_of, prefix_elimination
from support.plain_prefixes import prefix_lower, prefix_upper
from support.plain_simulator import by_elimination

VARIANTS = [PrefixElimination(confidence=0.02)]

rule = by_elimination(prefix_lower, prefix_upper)


def test_its_bound() -> None:
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    assert bound_of(PrefixElimination(), problem, 10_000) == prefix_elimination(problem, 10_000)
    assert bound_of(PrefixElimination(confidence=1.0), problem, 10_000) is None
