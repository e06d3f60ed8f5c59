"""Hypothesis strategies: every reward law, every delay law, problems and policies of all kinds."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
import scipy.stats
from hypothesis import settings
from hypothesis import strategies as st

from belated import Problem
from belated.delays import (
    Batch,
    ByReward,
    ByRound,
    DelayLaw,
    Empirical,
    Fixed,
    FromScipy,
    Geometric,
    LogNormal,
    Mixture,
    Never,
    PacketLoss,
    Pareto,
    Poisson,
)
from belated.delays import Uniform as UniformDelay
from belated.policies import POLICIES, Policy
from belated.rewards import Bernoulli, Beta, Categorical, Constant, RewardLaw, Scaled, Uniform
from belated.rewards import FromScipy as RewardFromScipy
from belated.validation import Parameter, fields_of

Test = TypeVar("Test")


def number_of_examples(count: int) -> int:
    """``$BELATED_EXAMPLES`` times so many: 0.3 without it, 1 in ``make test-slow``, more to look further than
    every test run does."""
    return math.ceil(count * float(os.environ.get("BELATED_EXAMPLES", "0.3")))


def examples(count: int) -> Callable[[Test], Test]:
    """A test of :func:`number_of_examples` examples."""

    def marked(test: Test) -> Test:
        return settings(max_examples=number_of_examples(count))(pytest.mark.examples(test))

    return marked


SHARES = st.one_of(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), st.floats(0.0, 1.0, allow_subnormal=False))
ROUNDS = st.one_of(st.integers(0, 8), st.integers(0, 100), st.integers(300, 3000))


def _real(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


@st.composite
def categorical(draw: Any) -> Categorical:
    values = draw(
        st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0]), min_size=1, max_size=5, unique=True)
    )
    weights = draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)).filter(any))
    return Categorical(values, [weight / sum(weights) for weight in weights])


@st.composite
def uniform_reward(draw: Any) -> Uniform:
    low = draw(_real(0.0, 0.9))
    return Uniform(low, draw(_real(low + 0.05, 1.0)))


REWARD_LAWS: dict[str, st.SearchStrategy[RewardLaw]] = {
    "Bernoulli": st.builds(Bernoulli, SHARES),
    "Categorical": categorical(),
    "Beta": st.builds(Beta, _real(0.05, 20.0), _real(0.05, 20.0)),
    "Uniform": uniform_reward(),
    "Constant": st.builds(Constant, SHARES),
}
unit_rewards: st.SearchStrategy[RewardLaw] = st.one_of(*REWARD_LAWS.values())


@st.composite
def scaled(draw: Any) -> Scaled:
    low = draw(st.sampled_from([0.0, 0.0, -3.5, 10.0]))
    return Scaled(draw(unit_rewards), low, low + draw(st.sampled_from([0.5, 1.0, 7.0, 200.0])))


REWARD_LAWS["Scaled"] = scaled()
REWARD_LAWS["FromScipy"] = st.builds(
    RewardFromScipy,
    st.one_of(
        st.builds(scipy.stats.uniform, _real(-5.0, 5.0), _real(0.5, 50.0)),
        st.builds(lambda a, scale: scipy.stats.beta(a, 2.0, scale=scale), _real(0.2, 5.0), _real(0.5, 50.0)),
        st.builds(scipy.stats.binom, st.integers(1, 30), _real(0.05, 0.95)),
    ),
)
rewards: st.SearchStrategy[RewardLaw] = st.one_of(*REWARD_LAWS.values())

FROZEN = st.one_of(
    st.builds(lambda scale: scipy.stats.expon(scale=scale), _real(0.1, 200.0)),
    st.builds(lambda a, scale: scipy.stats.gamma(a, scale=scale), _real(0.2, 5.0), _real(0.5, 50.0)),
    st.builds(lambda high: scipy.stats.uniform(0, high), st.integers(1, 50)),
    st.builds(scipy.stats.poisson, _real(0.1, 60.0)),
    st.builds(lambda high: scipy.stats.randint(0, high), st.integers(1, 50)),
)


@st.composite
def uniform_delay(draw: Any) -> UniformDelay:
    low = draw(ROUNDS)
    return UniformDelay(low, low + draw(ROUNDS))


SIMPLE_DELAYS: dict[str, st.SearchStrategy[DelayLaw]] = {
    "Fixed": st.builds(Fixed, ROUNDS),
    "Uniform": uniform_delay(),
    "Geometric": st.builds(Geometric, st.one_of(st.just(0.0), _real(0.01, 300.0))),
    "Poisson": st.builds(Poisson, st.one_of(st.just(0.0), _real(0.01, 300.0))),
    "Pareto": st.builds(Pareto, _real(0.05, 3.0), _real(0.1, 20.0)),
    "LogNormal": st.builds(LogNormal, _real(0.1, 100.0), _real(0.05, 3.0)),
    "PacketLoss": st.builds(PacketLoss, SHARES),
    "Never": st.just(Never()),
    "Empirical": st.one_of(
        st.builds(
            Empirical, st.lists(st.integers(0, 12), min_size=2, max_size=12), st.sampled_from([0.0, 0.02, 0.1, 0.3])
        ),
        st.builds(Empirical, st.lists(ROUNDS, min_size=1, max_size=12), SHARES),
    ),
    "FromScipy": st.builds(FromScipy, FROZEN),
}
_simple = st.one_of(*SIMPLE_DELAYS.values())


def _mixture(parts: st.SearchStrategy[DelayLaw]) -> st.SearchStrategy[DelayLaw]:
    weighted = st.tuples(st.integers(0, 4).map(float), parts)
    found = st.lists(weighted, min_size=1, max_size=4).filter(lambda given: any(weight > 0 for weight, _ in given))
    return st.builds(Mixture, found)


plain_delays: st.SearchStrategy[DelayLaw] = st.recursive(_simple, _mixture, max_leaves=6)


class Threshold:
    """A function of the reward: one law below a threshold, another from it on."""

    def __init__(self, threshold: float, below: DelayLaw, above: DelayLaw) -> None:
        self.threshold, self.below, self.above = threshold, below, above

    def __call__(self, reward: float) -> DelayLaw:
        return self.below if reward < self.threshold else self.above

    def __repr__(self) -> str:
        return f"Threshold({self.threshold}, {self.below}, {self.above})"


@st.composite
def reward_dependent(draw: Any, reward: RewardLaw) -> DelayLaw:
    """A delay law that fits this reward law and depends on it."""
    function = st.builds(Threshold, st.sampled_from([0.05, 0.5, 1.0]), plain_delays, plain_delays)
    if reward.atoms is None or draw(st.booleans()):
        law: DelayLaw = ByReward(draw(function), cells=draw(st.sampled_from([1, 7, 20, 1000])))
    else:
        extra = {0.123: Fixed(3)}
        law = ByReward({**extra, **{value: draw(plain_delays) for value in reward.atoms}})
    if draw(st.booleans()):
        law = Mixture([(draw(st.integers(1, 3)), law), (draw(st.integers(0, 3)), draw(plain_delays))])
    return law


@st.composite
def batch(draw: Any) -> Batch:
    size = draw(st.one_of(st.integers(1, 12), st.integers(13, 500)))
    return Batch(size, draw(st.integers(0, size - 1)))


@st.composite
def by_round(draw: Any, parts: st.SearchStrategy[DelayLaw]) -> ByRound:
    rounds = draw(st.lists(st.integers(2, 120), max_size=3, unique=True))
    return ByRound({first: draw(parts) for first in (1, *rounds)}, draw(st.booleans()))


@st.composite
def round_dependent(draw: Any, reward: RewardLaw) -> DelayLaw:
    """A delay law that fits this reward law and depends on the round: alone, in a mixture, by reward, nested."""
    parts = st.one_of(_simple, batch())
    inner = st.one_of(batch(), by_round(parts), by_round(st.one_of(by_round(parts), _mixture(parts))))
    form = draw(st.sampled_from(["alone", "mixture", "by reward", "by reward, by round"]))
    if form == "alone":
        return draw(inner)
    if form == "mixture":
        return Mixture([(draw(st.integers(1, 3)), draw(inner)), (draw(st.integers(0, 3)), draw(parts))])
    if form == "by reward":
        return ByReward(draw(st.builds(Threshold, st.sampled_from([0.05, 0.5, 1.0]), inner, parts)), cells=20)
    return draw(by_round(st.one_of(reward_dependent(reward), parts)))


@st.composite
def delays_for(draw: Any, reward: RewardLaw) -> DelayLaw:
    return draw(st.one_of(plain_delays, plain_delays, reward_dependent(reward)))


@st.composite
def problems(
    draw: Any,
    arms: st.SearchStrategy[int] | None = None,
    delays: Callable[[RewardLaw], st.SearchStrategy[DelayLaw]] | None = None,
    rewards: st.SearchStrategy[RewardLaw] = rewards,
) -> Problem:
    """One to six arms, all alike or each its own; from 70 arms on, a few kinds repeated. ``delays`` gives the delay
    laws of an arm."""
    count = draw(arms if arms is not None else st.integers(1, 6))
    kinds = draw(st.integers(1, min(count, 6)))
    laws = [draw(rewards) for _ in range(kinds)]
    late = [draw((delays or delays_for)(law)) for law in laws]
    order = draw(st.permutations([place % kinds for place in range(count)]))
    return Problem([laws[place] for place in order], [late[place] for place in order])


PARAMETERS: dict[str, st.SearchStrategy[Any]] = {
    "confidence": st.sampled_from([1 / 64, 0.001, 1e-6, 1 / 16, 0.1, 0.3, 1.0, "theory", None]),
    "horizon": st.sampled_from([None, None, 2, 50]),
    "delta": st.just(0.05),
    "alpha": st.sampled_from([0.2, 0.5, 1.0]),
    "constant": st.sampled_from([0.01, 0.5, 2.0]),
    "successes": st.sampled_from([0.05, 0.5, 1.0, 3.0]),
    "failures": st.sampled_from([0.05, 0.5, 1.0, 3.0]),
    "patience": st.sampled_from([None, None, 1, 4, 30.5]),
}
"""Values of parameters by name, chosen so that games differ; others are drawn from their domain."""


def values_of(parameter: Parameter) -> st.SearchStrategy[Any]:
    """Values of a parameter of a policy."""
    if parameter.name in PARAMETERS:
        return PARAMETERS[parameter.name]
    if isinstance(parameter.default, bool):
        return st.booleans()
    domain = parameter.domain
    assert domain is not None, parameter
    low, high = max(domain.low, -1e6), min(domain.high, 1e6)
    numbers: st.SearchStrategy[Any] = (
        st.integers(int(low), int(high))
        if domain.whole
        else st.floats(low, high, exclude_min=domain.open_low, exclude_max=domain.open_high)
    )
    return st.none() | numbers if domain.optional else numbers


@st.composite
def policies(draw: Any, name: str) -> Policy:
    """A registered policy with parameters of all kinds."""
    cls: Any = POLICIES[name]
    return cls(**{parameter.name: draw(values_of(parameter)) for parameter in fields_of(cls)})
