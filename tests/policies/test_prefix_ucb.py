"""UCB with prefix brackets."""

from __future__ import annotations

import math

import pytest

from belated import Problem
from belated.delays import ByReward, Fixed
from belated.errors import InvalidParameter
from belated.policies import PrefixUCB
from belated.rewards import Bernoulli
from belated.theory import bound_of, prefix_ucb
from support.plain_prefixes import prefix_upper, prefixes, width
from support.plain_simulator import History, by_index

VARIANTS = [PrefixUCB(confidence=0.05), PrefixUCB(confidence=0.05, spread=True)]


def index(history: History, arm: int) -> float:
    if not history.policy.spread:
        return prefix_upper(history, arm)
    high, doubts = math.inf, []
    for m, _, most, missing in prefixes(history, arm):
        high = min(high, most / m + width(most / m, math.sqrt(2.0) * history.radius(m)))
        further = min(history.m[arm], 4 * m)
        trusted = most / m + width(most / m, history.radius(further))
        doubts.append((missing / m + history.radius(m), -m, trusted))  # of equals the longest
    return min(high, min(doubts)[2])


rule = by_index(index)


def test_its_bound() -> None:
    problem = Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(500)}))
    assert bound_of(PrefixUCB(confidence="theory"), problem, 10_000) == prefix_ucb(problem, 10_000)
    assert bound_of(PrefixUCB(confidence="theory", horizon=10_000), problem, 10_000) == prefix_ucb(problem, 10_000)
    for other in (
        PrefixUCB(confidence="theory", spread=True),
        PrefixUCB(confidence=1.0),
        PrefixUCB(confidence="theory", horizon=10_001),
    ):
        assert bound_of(other, problem, 10_000) is None


@pytest.mark.parametrize("value", [1, "yes"])
def test_spread_is_a_bool(value: object) -> None:
    with pytest.raises(InvalidParameter, match="spread") as caught:
        PrefixUCB(spread=value)  # type: ignore[arg-type]
    assert repr(value) in str(caught.value)
    assert "True or False" in str(caught.value)
