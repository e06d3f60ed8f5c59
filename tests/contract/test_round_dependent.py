"""Delays that depend on the round: the engine plays them exactly, whichever way it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem, Result, simulate
from belated.delays import Batch, ByReward, ByRound, Fixed, Geometric, Mixture, Never, PacketLoss, Pareto, Poisson
from belated.engine import runner, timing_wheel
from belated.engine.speculative.play import play_speculatively
from belated.policies import UCB, OptimisticUCB, SuccessiveElimination, ThompsonSampling
from belated.rewards import Bernoulli, Beta
from own_policies import Ordered
from same import assert_same_bits
from support.loops import watch_loops
from support.parity import assert_agree
from support.policies import SELECTED, every_variant

EVERY_POLICY = [*every_variant(), Ordered()]
NIGHTLY = Mixture([(0.9, Batch(40)), (0.1, Never())])
SLOWER = ByRound({1: Fixed(2), 60: Geometric(20), 150: Pareto(0.4)}, drift=True)
REWARDED = ByRound({1: ByReward({0: Fixed(0), 1: Batch(25, offset=7)}), 80: Mixture([(1, SLOWER), (1, Poisson(9))])})
LAWS = {"batch": Batch(30, offset=11), "nightly": NIGHTLY, "slower": SLOWER, "by reward": REWARDED}
MEANS = (0.3, 0.55, 0.7)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_every_policy_agrees_with_the_plain_simulator(law: Any) -> None:
    assert_agree(Problem([Bernoulli(mean) for mean in MEANS], law), EVERY_POLICY, horizon=240, runs=2, seed=3)


def test_arms_with_laws_of_all_kinds() -> None:
    """Some depend on the round, some do not; rewards between 0 and 1."""
    laws = [
        Fixed(4),
        Batch(17),
        PacketLoss(0.5),
        SLOWER,
        ByReward(lambda r: Batch(9) if r > 0.4 else Fixed(1), cells=10),
    ]
    problem = Problem([Beta(2, 2), Beta(2, 3), Bernoulli(0.5), Bernoulli(0.6), Beta(3, 2)], laws)
    assert_agree(problem, EVERY_POLICY, horizon=240, seed=4)


@strategies.examples(20)
@given(st.data(), st.integers(1, 160), st.integers(0, 2**40))
def test_every_policy_on_any_problem(data: st.DataObject, horizon: int, seed: int) -> None:
    problem = data.draw(strategies.problems(st.integers(1, 3), strategies.round_dependent))
    policies = [data.draw(strategies.policies(name)) for name in SELECTED]
    assert_agree(problem, policies, horizon=horizon, seed=seed)


def test_a_problem_for_each_run() -> None:
    def family(rng: np.random.Generator) -> Problem:
        size = int(rng.integers(2, 60))
        laws = [Batch(size), ByRound({1: Fixed(3), int(rng.integers(2, 90)): Batch(size, 1)}, drift=True), NIGHTLY]
        return Problem([Bernoulli(float(mean)) for mean in rng.uniform(0.2, 0.8, 3)], laws)

    assert_agree(family, EVERY_POLICY, horizon=120, runs=3, seed=8)


@pytest.mark.parametrize("bits", [1, 3])
def test_wheels_of_many_levels(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All feedback of a batch is due in the same round, on every level."""
    monkeypatch.setattr(timing_wheel, "ONE_LEVEL_BITS", 0)
    monkeypatch.setattr(timing_wheel, "BITS", bits)
    problem = Problem([Bernoulli(mean) for mean in MEANS], Mixture([(3, Batch(100)), (1, SLOWER)]))
    assert_agree(problem, [UCB(confidence=0.3), Ordered()], horizon=330, runs=2)


def played(problem: Problem, **changes: Any) -> Result:
    policies = [UCB(confidence=0.3), OptimisticUCB(confidence=0.1), SuccessiveElimination(confidence=0.05)]
    given: dict[str, Any] = {"horizon": 900, "runs": 40, "seed": 2, "checkpoints": 9, "workers": 1, **changes}
    return simulate(problem, [*policies, ThompsonSampling()], **given)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_one_core_many_and_speculation_give_the_same_bits(law: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine does not speculate on such problems, as a batch is due in one round; where it does, it is exact: its
    loop gives up if there is no room."""
    problem = Problem([Bernoulli(mean) for mean in MEANS], law)
    called = watch_loops(monkeypatch)
    one = played(problem)
    assert set(called) == {"play_wheel"}
    assert_same_bits(one, played(problem, workers=3))
    loop_for = runner._loop_for

    def speculating(policy: Any, *setting: Any) -> Any:
        return play_speculatively if type(policy).changes_on_feedback_only else loop_for(policy, *setting)

    monkeypatch.setattr(runner, "_loop_for", speculating)
    assert_same_bits(one, played(problem))
    assert "play_speculatively" in called


def test_fewer_runs_and_rounds_are_a_prefix() -> None:
    problem = Problem([Bernoulli(mean) for mean in MEANS], SLOWER)
    long = played(problem, checkpoints=900)
    assert np.array_equal(played(problem, checkpoints=900, runs=10).curves, long.curves[:, :10])
    short = played(problem, checkpoints=300, horizon=300)
    assert np.array_equal(short.curves, long.curves[:, :, :300])


def test_laws_that_are_the_same_in_all_rounds_after_all() -> None:
    """A batch of one round is no delay; one law from round 1 on is that law."""
    for law, plain in ((Batch(1), Fixed(0)), (ByRound({1: Geometric(9)}, drift=True), Geometric(9))):
        problems = [Problem([Bernoulli(mean) for mean in MEANS], one) for one in (law, plain)]
        assert_same_bits(played(problems[0]), played(problems[1]))
