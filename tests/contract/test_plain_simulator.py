"""The engine, a live bandit and the plain simulator agree bit for bit for every policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import strategies
from belated import Bandit, Problem, simulate
from belated.delays import ByReward, Empirical, Fixed, Geometric, LogNormal, Mixture, Never, PacketLoss, Pareto
from belated.engine import timing_wheel
from belated.engine.environment import Environment
from belated.policies import (
    UCB,
    ConfidencePolicy,
    OptimisticPessimisticElimination,
    PendingUCB,
    Policy,
    PrefixPolicy,
    SuccessiveElimination,
    ThompsonSampling,
)
from belated.rewards import Bernoulli, Beta, Categorical, Constant, Uniform
from own_policies import Ordered
from sampling import Prefetched
from support.parity import COUNTS, assert_agree
from support.plain_simulator import Played, play, shuffled
from support.policies import SELECTED, every_variant, rule_of


def test_prefetched_draws_are_the_draws() -> None:
    problem = Problem([Beta(2, 3), Bernoulli(0.3)], [ByReward(lambda r: Fixed(round(9 * r))), Empirical([3, 50], 0.5)])
    draws = Environment(problem, horizon=40, seed=3, run=7)
    fetched = Prefetched(problem, horizon=40, seed=3, run=7)
    for arm in range(2):
        for rank in range(60):
            assert draws.pull(arm, rank, 1 + rank) == fetched.pull(arm, rank, 1 + rank)


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
    policies = [*(draw(strategies.policies(name)) for name in SELECTED), Ordered()]
    horizon = draw(st.one_of(st.integers(60, 400), st.integers(1, 400), st.integers(1, 20)))
    return Game(problem, policies, horizon, draw(st.sampled_from([1, 7, 1000])), draw(st.integers(0, 2**40)))


def assert_game_agrees(game: Game, runs: int = 1) -> None:
    setting = {"horizon": game.horizon, "seed": game.seed, "checkpoints": game.checkpoints, "runs": runs}
    assert_agree(game.problem, game.policies, **setting)


@strategies.examples(100)
@given(games())
def test_every_policy_on_any_problem(game: Game) -> None:
    assert_game_agrees(game)


@pytest.mark.slow
@strategies.examples(500)
@given(games())
def test_every_policy_on_more_problems(game: Game) -> None:
    assert_game_agrees(game)


@strategies.examples(30)
@given(games(st.integers(63, 130)))
def test_every_policy_on_many_arms(game: Game) -> None:
    assert_game_agrees(game)


@pytest.mark.slow
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
    policies = [data.draw(strategies.policies(name)) for name in SELECTED]

    def family(rng: np.random.Generator) -> Problem:
        means = rng.uniform(0.25, 0.75, 2)
        late = [delay, Pareto(float(rng.uniform(0.3, 2.0))), Geometric(float(rng.uniform(0.0, 20.0)))]
        return Problem([reward, *(Bernoulli(float(mean)) for mean in means)], late)

    assert_agree(family, policies, horizon=horizon, seed=seed, runs=3, checkpoints=9)


# ---- shuffled arms ----

SHUFFLED = [UCB(confidence=1.0), SuccessiveElimination(confidence=0.02), ThompsonSampling()]
MIXED = [Bernoulli(0.2), Bernoulli(0.8), Bernoulli(0.5), Bernoulli(0.75)]


@pytest.mark.parametrize(
    "delay", [Fixed(9), Geometric(8.0), [Fixed(3), Never(), PacketLoss(0.4), Geometric(30.0)]], ids=str
)
def test_shuffled_arms(delay: Any) -> None:
    assert_agree(Problem(MIXED, delay), SHUFFLED, horizon=400, runs=12, seed=3, checkpoints=400, shuffle=True)


def test_shuffled_arms_of_a_family() -> None:
    def family(rng: np.random.Generator) -> Problem:
        return Problem(
            [Bernoulli(float(mean)) for mean in rng.uniform(0.2, 0.8, 5)], Geometric(float(rng.uniform(1.0, 9.0)))
        )

    assert_agree(family, SHUFFLED, horizon=300, runs=6, shuffle=True)


@pytest.mark.slow
@strategies.examples(60)
@given(games())
def test_every_policy_with_shuffled_arms(game: Game) -> None:
    setting: Any = {"horizon": game.horizon, "seed": game.seed, "checkpoints": game.checkpoints}
    assert_agree(game.problem, game.policies, **setting, runs=2, shuffle=True)


def test_the_environment_of_a_shuffled_run() -> None:
    problem = Problem(MIXED, Geometric(8.0))
    for run in range(40):
        plain = Environment(problem, horizon=50, seed=6, run=run)
        relabelled = Environment(problem, horizon=50, seed=6, run=run, shuffle=True)
        assert relabelled.order == shuffled(4, 6, run)
        assert plain.order == [0, 1, 2, 3]
        assert [relabelled.pull(arm, 5, 1) for arm in range(4)] == [plain.pull(arm, 5, 1) for arm in relabelled.order]


def test_every_order_of_the_arms_is_as_likely() -> None:
    """The 24 orders of four arms in 4,800 runs: a chi-squared statistic below its quantile of 1 - 1e-6."""
    counts: dict[tuple[int, ...], int] = {}
    for run in range(4800):
        order = tuple(shuffled(4, 1, run))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert sum((count - 200.0) ** 2 / 200.0 for count in counts.values()) < 71.0


# ---- by hand ----

EVERY_POLICY = [*every_variant(), Ordered()]
SE = SuccessiveElimination(confidence=0.02)


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
    if SE not in EVERY_POLICY:
        return
    eliminated_at = result.eliminated_at[EVERY_POLICY.index(SE)]
    assert (eliminated_at[:, 0] > 0).any(), "the case should be one in which the best arm is eliminated"
    assert (eliminated_at < 0).any(axis=1).all(), "an arm always remains"


def test_an_eliminated_arm_has_no_say() -> None:
    """The ones of the best arm come when it is gone; its lower bound is then above all upper bounds of the others."""
    delays = [ByReward({0: Fixed(0), 1: Fixed(150)}), Fixed(0), Fixed(0)]
    problem = Problem([Bernoulli(0.9), Constant(0.5), Constant(0.5)], delays)
    result = assert_agree(problem, EVERY_POLICY, horizon=600, runs=20)
    if SE not in EVERY_POLICY:
        return
    eliminated = result.eliminated_at[EVERY_POLICY.index(SE)] > 0
    assert (eliminated == [True, False, False]).all(axis=1).sum() > 3, "the case should be this one"


@pytest.mark.parametrize("never", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("longest", [2, 5, 12])
def test_short_delays_and_rare_losses(longest: int, never: float) -> None:
    """A small wheel that turns many times while some feedback never comes."""
    problem = Problem([Bernoulli(0.5), Bernoulli(0.55)], Empirical(range(longest + 1), never=never))
    assert_agree(problem, EVERY_POLICY, horizon=2000)


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


LONG = {PrefixPolicy: 25_000, PendingUCB: 15_000, ThompsonSampling: 3_000}
"""Rounds of those whose second text is slow."""


@pytest.mark.slow
@pytest.mark.parametrize("policy", [*every_variant(), Ordered()], ids=lambda policy: policy.describe())
def test_long_games_with_heavy_tails(policy: Policy) -> None:
    """Several levels of the real wheel, and a pool that has to grow."""
    problem = Problem([Bernoulli(0.52), Bernoulli(0.5), Uniform(0.1, 0.9), Beta(2.0, 2.1)], HEAVY)
    horizon = next((rounds for cls, rounds in LONG.items() if isinstance(policy, cls)), 100_000)
    longer = {"confidence": 1.0} if isinstance(policy, ConfidencePolicy) else {}
    patient = {"patience": 500} if isinstance(policy, PendingUCB) else {}
    assert_agree(problem, [replace(policy, **longer, **patient)], horizon=horizon, seed=5)


@pytest.mark.parametrize("longest", [65_534, 65_535, 65_536, 65_537])
def test_delays_around_the_size_of_the_largest_single_wheel(longest: int) -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.5)], Empirical([0, 1, 1023, 1024, 1025, longest - 1, longest]))
    policies = [Ordered(), *([UCB(confidence=1.0)] if longest == 65_536 else [])]
    assert_agree(problem, policies, horizon=140_000, seed=1)


def test_more_pulls_than_the_table_of_radii_holds() -> None:
    assert_agree(Problem([Bernoulli(0.1), Bernoulli(0.9)], Fixed(1)), [UCB(confidence=1.0)], horizon=80_000)


# ---- the live bandit ----


def live_choices(problem: Problem, policy: Policy, played: Played, seed: int) -> npt.NDArray[np.int64]:
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
        expected = play(problem, player, rule_of(policy), environment, horizon, [])
        assert np.array_equal(live_choices(problem, player, expected, seed), expected.choices), player


def test_live_bandit_on_many_arms() -> None:
    problem = Problem([Bernoulli(0.2 + 0.005 * arm) for arm in range(100)], Geometric(30))
    environment = Prefetched(problem, horizon=600, seed=9, run=0)
    for policy in (*EVERY_POLICY, UCB(confidence="theory"), UCB(confidence="theory", delta=0.5)):
        expected = play(problem, policy, rule_of(policy), environment, 600, [])
        assert np.array_equal(live_choices(problem, policy, expected, 9), expected.choices), policy
