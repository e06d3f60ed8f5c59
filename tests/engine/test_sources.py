"""Draws made ahead, a batch at a time, are the draws made one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem
from belated.delays import (
    ByReward,
    DelayLaw,
    Empirical,
    Fixed,
    Geometric,
    LogNormal,
    Mixture,
    Never,
    Pareto,
    Poisson,
)
from belated.delays import Uniform as UniformDelay
from belated.engine import sources
from belated.engine.encode import ROUNDS_OF_A_LOOKUP, encode_laws
from belated.engine.environment import Environment
from belated.engine.run import count_lost
from belated.errors import InvalidParameter
from belated.kernel.jit import entry, ignore_overflow
from belated.kernel.law_table import NEVER
from belated.rewards import Bernoulli, Beta
from support.laws import DELAY_CASES, REWARD_CASES, name

HORIZON = 1000


@entry
def _draw(buffer: Any, arms: Any, key_a: Any, key_b: Any, arm: Any, rank: Any) -> None:
    sources.draw_batch(buffer.batch, np.uint32(arm), np.uint32(arms + arm), key_a, key_b, arm, rank, 1)


@entry
def _lost(buffer: Any, arm: Any, pulls: Any) -> Any:
    return count_lost(buffer, np.uint32(arm), pulls)


def assert_same(problem: Problem, count: int, *, horizon: int = HORIZON, seed: int = 1) -> None:
    """Every batch of every arm among its first ``count`` pulls is what :class:`Draws` gives pull by pull; how long
    after the horizon an answer comes makes no difference."""
    after = horizon + 1
    draws = Environment(problem, horizon=horizon, seed=seed, run=5)
    laws, _ = encode_laws([problem], horizon, runs=ROUNDS_OF_A_LOOKUP)
    buffer, batch = sources.allocate_draw_buffer(
        laws, problem.arms, sources.WASTE * problem.arms << sources.LARGEST_BITS
    )
    size = 1 << buffer.bits
    assert batch.scratch.u.size == size  # it is alive as long as the buffer is used
    assert size == 1 << sources.LARGEST_BITS
    for arm in range(problem.arms):
        never = 0
        for rank in range(0, count, size):
            with ignore_overflow():
                _draw(buffer, problem.arms, *draws._key, arm, rank)
            here = slice(arm * size, (arm + 1) * size)
            delays = [delay if delay == NEVER else min(delay, after) for delay in buffer.delay[here].tolist()]
            single = [draws.pull(arm, rank + place, 1) for place in range(size)]
            assert delays == [NEVER if delay is None else min(delay, after) for _, delay in single]
            assert buffer.reward[here].tolist() == [reward for reward, _ in single]
            never += sum(delay is None for _, delay in single)
            assert buffer.lost[arm] == never
            part = [delay is None for _, delay in single]
            for used in (1, size // 2, size):
                assert _lost(buffer, arm, rank + used) == never - sum(part[used:])


THIN = 2.0**-14

LAWS: dict[str, DelayLaw] = {
    "one smooth part": Mixture([(0.5, Fixed(0)), (0.3, Geometric(40)), (0.2, Never())]),
    "two smooth parts": Mixture([(0.5, LogNormal(20, 2)), (0.5, Pareto(0.4))]),
    "a smooth part and tables": Mixture([(0.4, LogNormal(20, 2)), (0.4, Poisson(5)), (0.2, Empirical([1, 7, 9]))]),
    "by reward, two smooth": ByReward({0: Geometric(90), 1: LogNormal(5, 1)}),
    "a thin part between equal ones": Mixture([(0.3, Fixed(0)), (2e-5, Never()), (0.69998, Fixed(0))]),
    "late or never": Mixture([(0.5, Fixed(0)), (0.5, Empirical([5000], never=0.3))]),
    "mixtures in a mixture": Mixture([(1, Mixture([(1, Fixed(3)), (2, Poisson(5))])), (1, Mixture([(1, Never())]))]),
    "many parts": Mixture([(THIN / 2, UniformDelay(0, 9))] * 40 + [(1 - 20 * THIN, Fixed(3))]),
    "by reward, one smooth": ByReward({0: Fixed(1), 1: Geometric(9)}),
    "by reward, mixed": ByReward({0: Mixture([(1, Never()), (1, Pareto(1.0))]), 1: LogNormal(5, 1)}),
    "a table with rare values": Poisson(0.01),
    "a table of one": Poisson(0.0),
    "a long table": Poisson(900.0),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_laws_that_lead_to_others(law: DelayLaw) -> None:
    assert_same(Problem([Bernoulli(0.5), Bernoulli(0.9)], law), 2000)


def test_what_fills_up_a_vector_was_written_for_this_part() -> None:
    """Else it may be what another part made of it, and no place in a table."""
    laws, _ = encode_laws([Problem([Bernoulli(0.5)], LAWS["two smooth parts"])], HORIZON, runs=ROUNDS_OF_A_LOOKUP)
    buffer, batch = sources.allocate_draw_buffer(laws, 1, sources.WASTE << sources.LARGEST_BITS)
    key = np.uint64(3)
    for rank in range(0, 20 << buffer.bits, 1 << buffer.bits):
        batch.scratch.part_u[:] = np.nan
        with ignore_overflow():
            _draw(buffer, 1, key, key, 0, rank)
        written = ~np.isnan(batch.scratch.part_u)
        assert written.sum() % 8 == 0
        assert written[: written.sum()].all()


@pytest.mark.parametrize("case", DELAY_CASES, ids=name)
def test_every_delay_law(case: Any) -> None:
    for horizon in (1, HORIZON):
        assert_same(Problem([Bernoulli(0.5)], case.law), 1000, horizon=horizon)


@pytest.mark.parametrize("case", REWARD_CASES, ids=name)
def test_every_reward_law(case: Any) -> None:
    assert_same(Problem([case.law], Fixed(2), reward_range=case.reward_range), 1000)


def test_a_law_of_the_reward() -> None:
    law = ByReward(lambda reward: Geometric(100 * reward) if reward > 0.3 else Never())
    assert_same(Problem([Beta(2, 3), Beta(1, 1)], law), 2000)


@strategies.examples(60)
@given(strategies.problems(), st.sampled_from([1, 30, 20_000]), st.integers(0, 10**6))
def test_any_problem(problem: Problem, horizon: int, seed: int) -> None:
    assert_same(problem, 130, horizon=horizon, seed=seed)


@pytest.mark.parametrize(("arms", "horizon", "size"), [(20, 20_000, 128), (1, 1, 1), (10_000, 200_000, 4), (3, 100, 8)])
def test_few_draws_are_made_in_vain(arms: int, horizon: int, size: int) -> None:
    laws, _ = encode_laws([Problem([Bernoulli(0.5)] * arms, Fixed(1))], horizon)
    buffer, _ = sources.allocate_draw_buffer(laws, arms, horizon)
    assert 1 << buffer.bits == size
    assert size == 1 or arms * size * sources.WASTE <= horizon


def test_draws_check_their_arguments() -> None:
    draws = Environment(Problem([Bernoulli(0.5)], Fixed(1)), horizon=10, seed=0, run=0)
    for arm, rank, now in ((1, 0, 1), (-1, 0, 1), (0, -1, 1), (0, 2**32, 1), (0, 0, 0), (0, 0, 2**31)):
        with pytest.raises(InvalidParameter, match="arm below 1"):
            draws.pull(arm, rank, now)
