"""The set-ups of the files against those of the paper, written down here a second time."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from belated import Problem
from belated.delays import ByReward, Fixed, PacketLoss, Pareto
from belated.delays._base import DelayLaw
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    PatientBandits,
    PhasedElimination,
    SuccessiveElimination,
)
from belated.rewards import Bernoulli
from belated.studies.experiments import NAMES, load
from belated.studies.study import Study
from belated.theory import dependent_hard_pair, ucb_hard_instance

DELAYS = tuple(range(0, 501, 50))
GAPS = (0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.36, 0.4, 0.44, 0.48, 0.52, 0.56, 0.6)
TAILS = (0.8, 0.5, 0.4, 0.3, 0.2)
DRAWS = 300


def study(name: str) -> Study:
    """figure1.top, say."""
    experiment, _, part = name.partition(".")
    return load(experiment).studies[part]


def drawn(problem: Any) -> list[Problem]:
    """Problems of a family."""
    rng = np.random.default_rng(1)
    return [problem(rng) for _ in range(DRAWS)]


def same(one: DelayLaw, other: DelayLaw) -> bool:
    """Whether two laws have the same distribution."""
    rounds = np.array([0, 1, 10, 1999, 2000, 2001, 10_000])
    return np.allclose(one.cdf(rounds), other.cdf(rounds), rtol=0.0, atol=1e-15) and one.never == other.never


# ---- arms, rounds, runs ----


@pytest.mark.parametrize(
    ("name", "arms", "horizon", "runs", "axes"),
    [
        ("figure1.top", 20, 20_000, 100, {"delay": (0, 200, 500)}),
        ("figure1.bottom", 20, 200_000, 100, {"delay": DELAYS}),
        ("figure2.pareto", 2, 3000, 300, {"gap": GAPS}),
        ("figure3.loss", 10, 20_000, 300, {}),
        ("figure4.biased", 3, 60_000, 100, {}),
        ("figure5.pareto", 2, 3000, 300, {"α2": TAILS, "gap": GAPS}),
    ],
)
def test_arms_rounds_and_runs(name: str, arms: int, horizon: int, runs: int, axes: dict[str, Any]) -> None:
    found = study(name)
    assert found.runs == runs
    assert {axis.name: axis.values for axis in found.axes} == axes
    assert len(found.cells) == math.prod(len(values) for values in axes.values())
    for cell in found.cells:
        assert cell.horizon == horizon
        problem = cell.problem if isinstance(cell.problem, Problem) else cell.problem(np.random.default_rng(0))
        assert problem.arms == arms


@pytest.mark.parametrize(
    ("name", "labels", "policies"),
    [
        ("figure1.top", ["UCB", "SE"], [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)]),
        ("figure1.bottom", ["UCB", "SE"], [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)]),
        ("figure3.loss", ["SE", "PSE"], [SuccessiveElimination(confidence=1.0), PhasedElimination(confidence=1.0)]),
        (
            "figure4.biased",
            ["OPSE", "UCB", "SE"],
            [
                OptimisticPessimisticElimination(confidence=1.0),
                UCB(confidence=1.0),
                SuccessiveElimination(confidence=1.0),
            ],
        ),
    ],
)
def test_policies_with_c_1(name: str, labels: list[str], policies: list[Any]) -> None:
    found = study(name)
    assert list(found.labels) == labels
    for cell in found.cells:
        assert [policy.for_horizon(cell.horizon) for policy in policies] == list(cell.policies)


def test_figure_4_shows_opse_and_ucb() -> None:
    """SE is played because a sentence is about it; the paper does not draw it."""
    (picture,) = load("figure4").figures
    assert [row.policies for row in picture.rows] == [("OPSE", "UCB")]


# ---- problems ----


@pytest.mark.parametrize("name", ["figure1.top", "figure1.bottom"])
def test_figure_1_has_fixed_delays(name: str) -> None:
    for cell in study(name).cells:
        problems = drawn(cell.problem)
        assert all(problem.delays == (Fixed(cell.coordinates["delay"]),) * 20 for problem in problems)
        means = np.array([problem.means for problem in problems])
        assert all(isinstance(law, Bernoulli) for law in problems[0].rewards)
        assert 0.25 <= means.min() < 0.251
        assert 0.749 < means.max() <= 0.75
        assert means.mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("name", ["figure2.pareto", "figure5.pareto"])
def test_figures_2_and_5_have_pareto_delays(name: str) -> None:
    for cell in study(name).cells:
        alpha = cell.coordinates.get("α2", 0.2)
        problem = cell.problem
        assert isinstance(problem, Problem)
        assert problem.delays == (Pareto(1.0), Pareto(alpha))
        assert problem.means == pytest.approx([0.4, 0.4 + cell.coordinates["gap"]], abs=1e-12)
        assert cell.policies[0] == SuccessiveElimination(confidence=1.0).for_horizon(3000)
        told = [policy for policy in cell.policies[1:] if isinstance(policy, PatientBandits)]
        assert [policy.alpha for policy in told] == [alpha, alpha]
    assert study(name).labels == ("SE", "PB", "PB (1/2)")


def test_figure_3_loses_the_answers_of_the_best_arm() -> None:
    (cell,) = study("figure3.loss").cells
    for problem in drawn(cell.problem):
        assert problem.best == 0
        assert problem.delays == (PacketLoss(0.1), *[PacketLoss(1.0)] * 9)
    check_gaps(cell.problem)


def test_figure_4_delays_by_reward() -> None:
    (cell,) = study("figure4.biased").cells
    late = ByReward({0: Fixed(0), 1: Fixed(5000)})
    early = ByReward({0: Fixed(5000), 1: Fixed(0)})
    for problem in drawn(cell.problem):
        assert problem.best == 0
        assert problem.delays == (late, early, early)
    check_gaps(cell.problem)


def check_gaps(family: Any) -> None:
    """Uniform between 0.15 and 0.25, but for the best arm, whose mean is always the same."""
    problems = drawn(family)
    assert len({problem.means[0] for problem in problems}) == 1
    gaps = np.array([problem.gaps[1:] for problem in problems])
    assert 0.15 <= gaps.min() < 0.152
    assert 0.248 < gaps.max() <= 0.25 + 1e-12
    assert gaps.mean() == pytest.approx(0.2, abs=0.005)
    assert np.unique(gaps).size > 0.99 * gaps.size


# ---- theorems ----


def test_theorem_1_plays_the_instance_of_its_proof() -> None:
    found = study("theorem1.growth")
    assert {axis.name for axis in found.axes} == {"K", "d"}
    for cell in found.cells:
        assert cell.problem == ucb_hard_instance(cell.coordinates["K"], cell.coordinates["d"])
        assert cell.coordinates["d"] >= cell.coordinates["K"]
        assert cell.policies[0] == UCB(confidence=1.0).for_horizon(cell.horizon)


@pytest.mark.parametrize(("part", "horizon"), [("before", 2000), ("after", 8000)])
def test_theorem_6_plays_the_pair_of_its_proof(part: str, horizon: int) -> None:
    found = study(f"theorem6.{part}")
    assert [cell.coordinates for cell in found.cells] == [{"problem": "I1"}, {"problem": "I2"}]
    for cell, proof in zip(found.cells, dependent_hard_pair(0.1, 2000), strict=True):
        problem = cell.problem
        assert isinstance(problem, Problem)
        assert cell.horizon == horizon
        assert problem.means == pytest.approx(proof.means, abs=1e-15)
        assert same(problem.delays[0], proof.delays[0])
        mine, theirs = problem.delays[1], proof.delays[1]
        assert isinstance(mine, ByReward)
        assert isinstance(theirs, ByReward)
        for value, law in theirs.by_value(proof.rewards[1]).items():
            assert same(mine.by_value(problem.rewards[1])[value], law), value
        for arm in (0, 1):
            assert same(problem.delay_law(arm), proof.delay_law(arm))
    assert 100.0 == 0.5 * 0.1 * 2000 == load("theorem6").figures[0].rows[0].references[0].factor  # type: ignore[attr-defined]


# ---- what goes further ----


@pytest.mark.parametrize(("name", "original"), [("loss", "figure3.loss"), ("biased", "figure4.biased")])
def test_robustness_varies_the_mean_and_c_and_nothing_else(name: str, original: str) -> None:
    found, before = study(f"robustness.{name}"), study(original)
    (old,) = before.cells
    assert (found.runs, found.labels) == (before.runs, before.labels)
    for cell in found.cells:
        assert cell.horizon == old.horizon
        wanted = math.log(cell.horizon) if cell.coordinates["c"] == "ln T" else float(cell.coordinates["c"])
        assert [policy.confidence for policy in cell.policies] == [wanted] * len(cell.policies)  # type: ignore[attr-defined]
        data = {**old.problem.data["rewards"], "best": cell.coordinates["best mean"]}  # type: ignore[union-attr]
        assert cell.problem.data["rewards"] == data  # type: ignore[union-attr]
        assert cell.problem.data["delays"] == old.problem.data["delays"]  # type: ignore[union-attr]
        assert list(map(type, cell.policies)) == list(map(type, old.policies))


def test_robustness_of_the_beginning_is_that_of_the_whole() -> None:
    """The first 5,000 rounds of the same problems, with the confidence of all rounds."""
    beginning, whole = study("robustness.beginning"), study("robustness.biased")
    assert beginning.labels == ("UCB", "Uniform")
    for short, long in zip(beginning.cells, whole.cells, strict=True):
        assert (short.coordinates, short.horizon) == (long.coordinates, 5000)
        assert short.problem.data == long.problem.data  # type: ignore[union-attr]
        assert replace(long.policies[whole.policy("UCB")], horizon=5000) == short.policies[0]


def test_figure_3_has_a_beginning() -> None:
    """The first 1,200 rounds, with the confidence of all rounds."""
    ((short,), (long,)) = study("figure3.beginning").cells, study("figure3.loss").cells
    assert (short.horizon, study("figure3.beginning").labels) == (1200, study("figure3.loss").labels)
    assert short.problem.data == long.problem.data  # type: ignore[union-attr]
    assert [policy.confidence for policy in short.policies] == [1.0, 1.0]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("figure1", "figure1.top"),
        ("figure1-bottom", "figure1.bottom"),
        ("pareto", "figure5.pareto"),
        ("loss", "figure3.loss"),
        ("biased", "figure4.biased"),
    ],
)
def test_beyond_adds_policies_to_the_set_ups_of_the_figures(name: str, original: str) -> None:
    found, before = study(f"beyond.{name}"), study(original)
    for cell in found.cells:
        (old,) = [before.cells[number] for number in before.where(cell.coordinates)]
        assert old.horizon == cell.horizon
        for label in {"UCB", "SE", "PSE", "OPSE", "PB (1/2)"} & {*found.labels} & {*before.labels}:
            assert cell.policies[found.policy(label)] == old.policies[before.policy(label)]
        if isinstance(cell.problem, Problem):
            assert cell.problem == old.problem
        else:
            assert cell.problem.data == old.problem.data  # type: ignore[attr-defined,union-attr]
    assert {"Thompson", "Optimistic-UCB"} <= {*found.labels}


@pytest.mark.parametrize("name", NAMES)
def test_every_study_is_used(name: str) -> None:
    experiment = load(name)
    used = {claim.study for claim in experiment.claims} | {
        row.study for picture in experiment.figures for row in picture.rows
    }
    assert used == set(experiment.studies)
    for found in experiment.studies.values():
        assert 2 <= found.runs <= found.max_runs
        assert len(set(found.labels)) == len(found.labels)
