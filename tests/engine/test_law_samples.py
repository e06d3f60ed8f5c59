"""Samples of laws are what the engine draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from matplotlib.figure import Figure

from belated import Problem
from belated.delays import Batch, ByReward, Fixed, FromScipy, Geometric, Mixture, Never, PacketLoss, Pareto
from belated.delays._base import DELAYS
from belated.engine.environment import Environment
from belated.errors import InvalidParameter
from belated.rewards import Bernoulli, Beta, Categorical, Constant
from belated.rewards import FromScipy as RewardsFromScipy
from belated.rewards._base import REWARDS
from support.laws import DELAY_CASES, REWARD_CASES, example_of

N = 4000
LEAST_P = 1e-6


def test_every_reward_law_has_its_distribution() -> None:
    for case in REWARD_CASES:
        sample = case.law.sample(N, seed=5)
        edges = np.linspace(*case.law.quantile_range(0.999), 21)
        for x in edges:
            share, truth = float(np.mean(sample <= x)), float(case.truth.cdf(x))
            assert scipy.stats.binomtest(round(share * N), N, min(max(truth, 0.0), 1.0)).pvalue > LEAST_P, (case, x)


def test_every_delay_law_has_its_distribution() -> None:
    for case in DELAY_CASES:
        if case.law.depends_on_round or case.law.depends_on_reward:
            continue
        sample = case.law.sample(N, seed=7)
        assert scipy.stats.binomtest(int(np.isinf(sample).sum()), N, case.never).pvalue > LEAST_P, case
        for level in (0.1, 0.5, 0.9):
            g = case.law.quantile(level)
            if math.isfinite(g) and g < 2**30:
                truth = float(case.cdf(np.array(float(g))))
                assert scipy.stats.binomtest(int((sample <= g).sum()), N, min(truth, 1.0)).pvalue > LEAST_P, (case, g)


def test_a_sample_is_what_run_0_meets() -> None:
    for name in DELAYS:
        law = example_of(DELAYS[name])
        problem = Problem([Bernoulli(0.2), Bernoulli(0.6)], [Fixed(1), law])
        rewards, delays = problem.sample(1, 30, seed=4, round=17)
        environment = Environment(problem, horizon=10_000, seed=4, run=0)
        pulls = [environment.pull(1, rank, 17) for rank in range(30)]
        assert rewards.tolist() == [reward for reward, _ in pulls]
        known = [(a, b) for a, (_, b) in zip(delays, pulls, strict=True) if b is None or b < 10_000]
        assert [a for a, _ in known] == [math.inf if b is None else b for _, b in known], name


def test_delays_that_depend_on_the_round_are_those_of_one_round() -> None:
    problem = Problem([Bernoulli(0.5)], Batch(10))
    assert set(problem.sample(0, 5, seed=1)[1]) == {9.0}
    assert set(problem.sample(0, 5, seed=1, round=4)[1]) == {6.0}
    assert "1 unless you say otherwise" in str(Problem.sample.__doc__)


def test_delays_that_depend_on_the_reward() -> None:
    law = ByReward({0: Fixed(0), 1: Fixed(30)})
    assert set(law.sample(20, seed=0, reward=1)) == {30.0}
    assert set(law.sample(50, seed=0, reward=Bernoulli(0.5))) == {0.0, 30.0}
    rewards, delays = Problem([Bernoulli(0.5)], law).sample(0, 50, seed=0)
    assert delays.tolist() == (30 * rewards).tolist()
    with pytest.raises(InvalidParameter, match="the delay depends on the reward; give sample"):
        law.sample(3)
    with pytest.raises(InvalidParameter, match="reward is 'high'"):
        law.sample(3, reward="high")  # type: ignore[arg-type]


def test_rewards_in_any_unit() -> None:
    law = ByReward({-3: Fixed(2), 50: Fixed(9)})
    assert set(law.sample(5, seed=0, reward=50)) == {9.0}
    assert set(law.sample(5, seed=0, reward=-3)) == {2.0}
    assert set(ByReward(lambda reward: Fixed(int(reward))).sample(5, seed=0, reward=700.0)) == {700.0}
    assert law.plot().axes[0].get_legend_handles_labels()[1] == ["reward -3", "reward 50"]
    assert any(text.get_text() == "median 9" for text in law.plot(reward=50).axes[0].texts)
    with pytest.raises(InvalidParameter, match="reward is nan"):
        law.plot(reward=math.nan)


def test_seeds() -> None:
    law = Pareto(0.5)
    assert law.sample(5, seed=1).tolist() == law.sample(5, seed=1).tolist()
    assert law.sample(50).tolist() != law.sample(50).tolist()
    assert Beta(2, 3).sample(0).size == 0
    assert np.isinf(Never().sample(3)).all()
    with pytest.raises(InvalidParameter, match="n is -1"):
        law.sample(-1)


def test_delays_beyond_the_first_table_are_drawn() -> None:
    sample = FromScipy(scipy.stats.expon(scale=1e5)).sample(2000, seed=0)
    assert 8e4 < sample.mean() < 1.2e5


def test_every_law_can_be_plotted() -> None:
    for name in REWARDS:
        axes = example_of(REWARDS[name]).plot().axes[0]
        assert any(text.get_text().startswith("mean ") for text in axes.texts)
    for name in DELAYS:
        law = example_of(DELAYS[name])
        figure = law.plot(reward=Bernoulli(0.5) if law.depends_on_reward else None)
        assert isinstance(figure, Figure)
    axes = Figure().subplots()
    assert Geometric(20).plot(axes) is axes
    assert axes.get_title(loc="left") == ""


def test_the_plot_of_a_delay_law_is_its_distribution() -> None:
    axes = PacketLoss(0.3).plot().axes[0]
    assert next(text.get_text() for text in axes.texts) == "70% never"
    line = Geometric(20).plot().axes[0].get_lines()[0]
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert y[1:] == pytest.approx(1.0 - Geometric(20).cdf(x[1:]))
    names = ByReward({0: Fixed(0), 1: Geometric(30)}).plot().axes[0].get_legend_handles_labels()[1]
    assert names == ["reward 0", "reward 1"]
    with pytest.raises(InvalidParameter, match="give plot"):
        ByReward(lambda reward: Fixed(int(9 * reward))).plot()


def test_what_never_comes_has_no_median() -> None:
    assert [text.get_text() for text in Never().plot().axes[0].texts] == ["100% never"]


def test_the_plot_of_a_problem_names_the_round_if_it_matters() -> None:
    for delay, note in (
        (Batch(9), "feedback of pulls in round 1 that is not known yet"),
        (Fixed(9), "feedback that is not known yet"),
    ):
        assert Problem([Bernoulli(0.5)] * 2, delay).plot().axes[1].get_title(loc="left") == note


def test_values_that_hardly_occur_do_not_widen_a_plot() -> None:
    assert RewardsFromScipy(scipy.stats.poisson(3)).plot().axes[0].get_xlim()[1] < 20
    assert Categorical([0.0, 1.0], [0.999, 0.001]).plot().axes[0].get_xlim()[1] > 1


def test_functions_of_the_reward_can_be_plotted() -> None:
    late = ByReward(lambda reward: Batch(10) if reward > 0.5 else Fixed(3))
    for law in (late, Mixture([(0.5, late), (0.5, Fixed(1))])):
        assert "in round 2" in law.plot(reward=1.0, round=2).axes[0].get_title(loc="left")
        assert "in round" not in law.plot(reward=0.5, round=2).axes[0].get_title(loc="left")
        assert "are those of round 1" in Problem([Bernoulli(0.5)], law)._repr_html_()
        assert "depend on the round" not in Problem([Constant(0.5)], law)._repr_html_()


def test_the_plot_of_a_problem_marks_the_best_arm() -> None:
    left, right = Problem([Bernoulli(0.2), Bernoulli(0.6)], [Fixed(1), PacketLoss(0.5)]).plot().axes
    assert left.collections[-1].get_offsets().tolist() == [[1.0, 0.6]]  # type: ignore[union-attr]
    assert right.get_legend_handles_labels()[1] == ["arm 0", "arm 1"]
    right = Problem([Bernoulli(0.5)] * 100, Fixed(3)).plot().axes[1]
    assert right.get_legend_handles_labels()[1] == ["all arms"]
