"""The engine and the plain simulator of ``reference.py`` agree bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reference
import strategies
from belated import Bandit, Problem, Result, simulate
from belated.delays import ByReward, Empirical, Fixed, Geometric, LogNormal, Mixture, Never, PacketLoss, Pareto
from belated.engine import timing_wheel
from belated.engine.environment import Environment
from belated.kernel.rng import family_generator
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    OptimisticUCB,
    PatientBandits,
    PendingUCB,
    PhasedElimination,
    PrefixElimination,
    PrefixUCB,
    SuccessiveElimination,
    ThompsonSampling,
    UniformChoice,
)
from belated.policies._base.policy import POLICIES, Policy
from belated.problem import Family
from belated.rewards import Bernoulli, Beta, Categorical, Constant, Uniform
from own_policies import Ordered, ordered
from sampling import Prefetched

COUNTS = ("pulls", "observed", "in_flight", "lost", "eliminated_at")


def assert_agree(
    problem: Problem | Family,
    policies: Sequence[Policy],
    *,
    horizon: int,
    seed: int = 0,
    runs: int = 1,
    checkpoints: Any = 17,
) -> Result:
    """Every number of the engine's result is the plain simulator's."""
    result = simulate(problem, policies, horizon=horizon, runs=runs, seed=seed, checkpoints=checkpoints, workers=1)
    for run in range(runs):
        drawn = problem if isinstance(problem, Problem) else problem(family_generator(seed, run))
        environment = Prefetched(drawn, horizon=horizon, seed=seed, run=run)
        for number, policy in enumerate(policies):
            told = policy.for_horizon(horizon)
            algorithm = ordered if isinstance(policy, Ordered) else None
            expected = reference.play(drawn, told, environment, horizon, result.rounds.tolist(), algorithm)
            where = f"{policy} in run {run}"
            assert np.array_equal(result.curves[number, run], expected.curve), where
            assert result.final[number, run] == expected.curve[-1], where
            for name in COUNTS:
                found = getattr(result, name)[number, run]
                assert np.array_equal(found, getattr(expected, name)), f"{name} of {where}: {found}"
    return result


def test_there_is_a_plain_algorithm_for_every_registered_policy() -> None:
    assert set(reference.ALGORITHMS) == set(POLICIES)


def test_prefetched_draws_are_the_draws() -> None:
    problem = Problem([Beta(2, 3), Bernoulli(0.3)], [ByReward(lambda r: Fixed(round(9 * r))), Empirical([3, 50], 0.5)])
    draws = Environment(problem, horizon=40, seed=3, run=7)
    fetched = Prefetched(problem, horizon=40, seed=3, run=7)
    for arm in range(2):
        assert [draws.pull(arm, rank) for rank in range(60)] == [fetched.pull(arm, rank) for rank in range(60)]


# ---- found by hypothesis ----


@dataclass(frozen=True, repr=False)
class Game:
    """A problem, one policy of every kind, and how long they play."""

    problem: Problem
    policies: list[Policy]
    horizon: int
    checkpoints: int
    seed: int

    def __repr__(self) -> str:
        problem = repr(self.problem) if self.problem.arms < 20 else f"<{self.problem.arms} arms>"
        return f"Game({problem}, {self.policies}, {self.horizon}, {self.checkpoints}, {self.seed})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # hypothesis would write every field out, and warn that it is too much


@st.composite
def games(draw: Any, arms: Any = None) -> Game:
    problem = draw(strategies.problems(arms))
    policies = [*(draw(strategies.policies(name)) for name in sorted(POLICIES)), Ordered()]
    horizon = draw(st.one_of(st.integers(60, 400), st.integers(1, 400), st.integers(1, 20)))
    return Game(problem, policies, horizon, draw(st.sampled_from([1, 7, 1000])), draw(st.integers(0, 2**40)))


def assert_game_agrees(game: Game, runs: int = 1) -> None:
    setting = {"horizon": game.horizon, "seed": game.seed, "checkpoints": game.checkpoints, "runs": runs}
    assert_agree(game.problem, game.policies, **setting)


@strategies.examples(500)
@given(games())
def test_every_policy_on_any_problem(game: Game) -> None:
    assert_game_agrees(game)


@strategies.examples(30)
@given(games(st.integers(63, 130)))
def test_every_policy_on_many_arms(game: Game) -> None:
    assert_game_agrees(game)


@strategies.examples(250)
@given(game=games(), bits=st.integers(1, 4))
def test_wheels_of_many_levels(game: Game, bits: int) -> None:
    """Tiny wheels: every delay climbs several levels, and the pool grows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing_wheel, "ONE_LEVEL_BITS", 0)
        patch.setattr(timing_wheel, "BITS", bits)
        assert_game_agrees(game, runs=2)


@strategies.examples(60)
@given(
    reward=strategies.rewards,
    delay=strategies.plain_delays,
    horizon=st.integers(1, 200),
    seed=st.integers(0, 2**70),
    data=st.data(),
)
def test_families(reward: Any, delay: Any, horizon: int, seed: int, data: st.DataObject) -> None:
    policies = [data.draw(strategies.policies(name)) for name in sorted(POLICIES)]

    def family(rng: np.random.Generator) -> Problem:
        means = rng.uniform(0.25, 0.75, 2)
        late = [delay, Pareto(float(rng.uniform(0.3, 2.0))), Geometric(float(rng.uniform(0.0, 20.0)))]
        return Problem([reward, *(Bernoulli(float(mean)) for mean in means)], late)

    assert_agree(family, policies, horizon=horizon, seed=seed, runs=3, checkpoints=9)


# ---- by hand ----

EVERY_POLICY = [
    UCB(confidence=0.1),
    UCB(),
    OptimisticUCB(confidence=0.05),
    PatientBandits(alpha=0.4),
    SuccessiveElimination(confidence=0.02),
    SuccessiveElimination(),
    PhasedElimination(confidence=0.005),
    OptimisticPessimisticElimination(confidence=0.02),
    PrefixElimination(confidence=0.02),
    PrefixUCB(confidence=0.05),
    PrefixUCB(confidence=0.05, spread=True),
    PendingUCB(confidence=0.05),
    PendingUCB(confidence=0.05, patience=3),
    ThompsonSampling(),
    UniformChoice(),
    Ordered(),
]


@pytest.mark.parametrize("delay", [Fixed(0), Fixed(1), Fixed(10), Fixed(11), Never(), PacketLoss(0.5)], ids=repr)
@pytest.mark.parametrize("horizon", [1, 2, 3, 10, 11])
@pytest.mark.parametrize("arms", [1, 2, 3])
def test_short_games(arms: int, horizon: int, delay: Any) -> None:
    """Horizon 1, one arm, more arms than rounds, delays of exactly the horizon and beyond."""
    problem = Problem([Bernoulli(0.2 + 0.3 * arm) for arm in range(arms)], delay)
    assert_agree(problem, EVERY_POLICY, horizon=horizon, runs=3, checkpoints=horizon)


@pytest.mark.parametrize("reward", [Bernoulli(0.5), Constant(0.0), Constant(1.0), Categorical([0.1, 0.2], [0.5, 0.5])])
def test_equal_arms(reward: Any) -> None:
    """Ties everywhere go to the lowest index."""
    assert_agree(Problem([reward] * 5, Mixture([(1, Fixed(0)), (1, Fixed(9))])), EVERY_POLICY, horizon=300, runs=3)


def test_the_best_arm_can_be_eliminated() -> None:
    """Feedback of eliminated arms goes on arriving; what is compared is the bounds of the active arms."""
    delays = [ByReward({0: Fixed(0), 1: Fixed(150)}), ByReward({0: Fixed(150), 1: Fixed(0)}), Fixed(40)]
    problem = Problem([Bernoulli(0.8), Bernoulli(0.4), Bernoulli(0.6)], delays)
    result = assert_agree(problem, EVERY_POLICY, horizon=400, runs=20, checkpoints=400)
    assert (result.eliminated_at[4, :, 0] > 0).any(), "the case should be one in which the best arm is eliminated"
    assert (result.eliminated_at[4] < 0).any(axis=1).all(), "an arm always remains"


def test_an_eliminated_arm_has_no_say() -> None:
    """The ones of the best arm come when it is gone; its lower bound is then above all upper bounds of the others."""
    delays = [ByReward({0: Fixed(0), 1: Fixed(150)}), Fixed(0), Fixed(0)]
    problem = Problem([Bernoulli(0.9), Constant(0.5), Constant(0.5)], delays)
    result = assert_agree(problem, EVERY_POLICY, horizon=600, runs=20)
    assert ((result.eliminated_at[4] > 0) == [True, False, False]).all(axis=1).sum() > 3, "the case should be this one"


def test_phases_follow_each_other() -> None:
    result = assert_agree(
        Problem([Bernoulli(0.5), Bernoulli(0.6), Uniform(0.2, 0.9)], [PacketLoss(0.2), Geometric(5), Fixed(3)]),
        [PhasedElimination(confidence=c) for c in (1e-6, 0.001, 1 / 64, 1 / 16, 0.1)],  # 1/64: whole thresholds
        horizon=3000,
        runs=3,
    )
    assert (result.eliminated_at > 0).any()


@pytest.mark.parametrize("never", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("longest", [2, 5, 12])
def test_short_delays_and_rare_losses(longest: int, never: float) -> None:
    """A small wheel that turns many times while some feedback never comes."""
    problem = Problem([Bernoulli(0.5), Bernoulli(0.55)], Empirical(range(longest + 1), never=never))
    assert_agree(problem, EVERY_POLICY, horizon=2000, runs=3)


def test_a_delay_law_for_each_of_many_arms() -> None:
    laws = [[Pareto(0.3 + 0.02 * arm), Geometric(0.5 * arm), LogNormal(1.0 + arm, 1.0)][arm % 3] for arm in range(120)]
    problem = Problem([Bernoulli(0.2 + 0.005 * arm) for arm in range(120)], laws)
    assert_agree(problem, EVERY_POLICY, horizon=600)


def test_a_thousand_arms() -> None:
    problem = Problem([Bernoulli(0.3 + 0.0005 * arm) for arm in range(1000)], Geometric(40))
    assert_agree(problem, [UCB(confidence=0.05), OptimisticPessimisticElimination(confidence=0.001)], horizon=2200)


def test_checkpoints_that_end_before_the_horizon() -> None:
    problem = Problem([Bernoulli(0.1), Bernoulli(0.9)], Fixed(5))
    for rounds in ([1], [10, 20], [150], [3, 299]):
        result = simulate(problem, EVERY_POLICY, horizon=300, runs=2, checkpoints=rounds, workers=1)
        full = simulate(problem, EVERY_POLICY, horizon=300, runs=2, checkpoints=300, workers=1)
        assert set(rounds) <= set(result.rounds.tolist())
        assert np.array_equal(result.curves, full.curves[:, :, result.rounds - 1])
        for name in (*COUNTS, "final"):
            assert np.array_equal(getattr(result, name), getattr(full, name)), name


# ---- long ----

HEAVY = Mixture([(0.5, Pareto(0.3)), (0.3, LogNormal(3000.0, 2.0)), (0.1, Fixed(70_000)), (0.1, Never())])


@pytest.mark.parametrize(
    ("policy", "horizon"),
    [
        (UCB(confidence=1.0), 200_000),
        (OptimisticUCB(confidence=1.0), 90_000),
        (PatientBandits(alpha=0.3), 70_000),
        (SuccessiveElimination(confidence=1.0), 140_000),
        (PhasedElimination(confidence=0.5), 90_000),
        (OptimisticPessimisticElimination(confidence=1.0), 131_072),
        (PrefixUCB(confidence=1.0), 30_000),
        (PrefixUCB(confidence=1.0, spread=True), 20_000),
        (PrefixElimination(confidence=1.0), 30_000),
        (PendingUCB(confidence=1.0, patience=500), 15_000),
        (UniformChoice(), 200_000),
        (Ordered(), 200_000),
    ],
    ids=lambda value: value.describe() if isinstance(value, Policy) else value,
)
def test_long_games_with_heavy_tails(policy: Policy, horizon: int) -> None:
    """Several levels of the real wheel, and a pool that has to grow."""
    problem = Problem([Bernoulli(0.52), Bernoulli(0.5), Uniform(0.1, 0.9), Beta(2.0, 2.1)], HEAVY)
    assert_agree(problem, [policy], horizon=horizon, seed=5)


@pytest.mark.parametrize("longest", [65_534, 65_535, 65_536, 65_537])
def test_delays_around_the_size_of_the_largest_single_wheel(longest: int) -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.5)], Empirical([0, 1, 1023, 1024, 1025, longest - 1, longest]))
    assert_agree(problem, [UCB(confidence=1.0), Ordered()], horizon=140_000, seed=1)


def test_thompson_in_a_longer_game() -> None:
    assert_agree(Problem([Bernoulli(0.4), Beta(2, 3)], Pareto(0.5)), [ThompsonSampling()], horizon=5_000, seed=2)


def test_more_pulls_than_the_table_of_bonuses_holds() -> None:
    assert_agree(Problem([Bernoulli(0.1), Bernoulli(0.9)], Fixed(1)), [UCB(confidence=1.0)], horizon=80_000)


# ---- the live bandit ----


def live_choices(problem: Problem, policy: Policy, played: reference.Played, seed: int) -> npt.NDArray[np.int64]:
    """A live bandit told the same feedback in the order of arrival."""
    names = [f"arm {number}" for number in range(problem.arms)]
    bandit = Bandit(names, policy, seed=seed)
    choices = []
    for arrived in played.arrivals:
        for pulled_at, reward in arrived:
            bandit.observe(pulled_at - 1, reward)
        choices.append(names.index(bandit.choose().arm))
    gone = [arm.eliminated_at for arm in bandit.summary()]
    assert gone == [None if at < 0 else at for at in played.eliminated_at]
    return np.array(choices)


@strategies.examples(60)
@given(games(), st.booleans())
@example(Game(Problem([Bernoulli(0.5)], Fixed(0)), [SuccessiveElimination()], 30, 1, 0), False)
def test_live_bandit(game: Game, told: bool) -> None:
    """The same choices, for policies that know the horizon and for those that do not (bounds valid at all times)."""
    problem, horizon, seed = game.problem, game.horizon, game.seed
    environment = Prefetched(problem, horizon=horizon, seed=seed, run=0)
    for policy in game.policies:
        player = policy.for_horizon(horizon) if told else policy
        algorithm = ordered if isinstance(policy, Ordered) else None
        expected = reference.play(problem, player, environment, horizon, [], algorithm)
        assert np.array_equal(live_choices(problem, player, expected, seed), expected.choices), player


def test_live_bandit_on_many_arms() -> None:
    problem = Problem([Bernoulli(0.2 + 0.005 * arm) for arm in range(100)], Geometric(30))
    environment = Prefetched(problem, horizon=600, seed=9, run=0)
    for policy in (*EVERY_POLICY, UCB(horizon=None), OptimisticUCB(delta=0.5)):
        algorithm = ordered if isinstance(policy, Ordered) else None
        expected = reference.play(problem, policy, environment, 600, [], algorithm)
        assert np.array_equal(live_choices(problem, policy, expected, 9), expected.choices), policy
