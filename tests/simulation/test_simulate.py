"""simulate(): arguments, checkpoints, counts, progress, memory, and stopping when nothing is left to decide."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import strategies
from belated import Problem, Result, simulate
from belated.delays import ByReward, Fixed, Geometric, Never, PacketLoss, Pareto
from belated.errors import BelatedError, InvalidParameter, MissingComponent
from belated.policies import (
    POLICIES,
    UCB,
    OptimisticPessimisticElimination,
    PatientBandits,
    PhasedElimination,
    SuccessiveElimination,
    UniformChoice,
)
from belated.rewards import Bernoulli, Beta, FromScipy, Scaled
from belated.simulation.progress import Progress
from belated.simulation.result import Manifest
from families import drawn
from same import assert_same_bits

PROBLEM = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(5))


def run(**changes: Any) -> Result:
    given: dict[str, Any] = {"problem": PROBLEM, "policies": UCB(), "horizon": 100, "runs": 4, **changes}
    return simulate(given.pop("problem"), given.pop("policies"), **given)


# ---- shapes and checkpoints ----


def test_shapes() -> None:
    result = run(policies=[UCB(), SuccessiveElimination(), UniformChoice()], runs=7, checkpoints=10)
    assert result.rounds.tolist() == list(range(10, 101, 10))
    assert result.mean.shape == result.stderr.shape == (3, 10)
    assert result.curves.shape == (3, 7, 10)
    assert result.final.shape == (3, 7)
    assert result.labels == ["UCB", "SE", "Uniform"]
    for name in ("pulls", "observed", "in_flight", "lost", "eliminated_at"):
        assert getattr(result, name).shape == (3, 7, 2)
    assert (result.runs, result.horizon) == (7, 100)
    np.testing.assert_allclose(result.mean, result.curves.mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(result.stderr, result.curves.std(axis=1, ddof=1) / math.sqrt(7), rtol=1e-13)
    assert np.array_equal(result.final, result.curves[:, :, -1])


def test_one_policy_or_many() -> None:
    assert_same_bits(run(policies=UCB()), run(policies=[UCB()]))
    assert_same_bits(run(policies=(UCB(), SuccessiveElimination())), run(policies=[UCB(), SuccessiveElimination()]))


@pytest.mark.parametrize(
    ("horizon", "count"), [(100, 1), (100, 7), (100, 100), (100, 1000), (1, 100), (7, 3), (99, 98)]
)
def test_a_number_of_checkpoints_is_evenly_spaced_and_ends_at_the_horizon(horizon: int, count: int) -> None:
    rounds = run(horizon=horizon, checkpoints=count).rounds
    count = min(count, horizon)
    assert rounds.tolist() == [math.ceil(number * horizon / count) for number in range(1, count + 1)]


@pytest.mark.parametrize(
    "given", [[100], [3, 50, 100], [50, 3, 100, 3], np.array([10.0, 100.0]), range(1, 101), (1, 100)]
)
def test_rounds_as_checkpoints(given: Any) -> None:
    result = run(checkpoints=given)
    assert result.rounds.tolist() == sorted({int(value) for value in given})
    full = run(checkpoints=100)
    assert np.array_equal(result.curves, full.curves[:, :, result.rounds - 1])


def test_the_default_is_a_hundred_checkpoints() -> None:
    assert len(run(horizon=1000).rounds) == 100


def test_a_single_run_has_no_standard_error() -> None:
    result = run(runs=1)
    assert np.isnan(result.stderr).all()
    assert np.array_equal(result.mean[:, -1], result.final[:, 0])


def test_regret_is_of_means_and_grows() -> None:
    problem = Problem([Bernoulli(0.0), Bernoulli(0.25), Bernoulli(1.0)], Geometric(3))
    result = run(problem=problem, policies=UniformChoice(), checkpoints=100)
    expected = result.pulls[0] @ np.array([1.0, 0.75, 0.0])
    np.testing.assert_allclose(result.final[0], expected, rtol=1e-14)
    assert np.all(np.diff(result.curves, axis=2) >= 0)
    assert set(np.diff(result.curves[0, 0]).round(9)) <= {0.0, 0.75, 1.0}


# ---- counts ----


@strategies.examples(60)
@given(strategies.problems(), st.integers(1, 300), st.integers(0, 1000))
def test_every_pull_is_observed_in_flight_or_lost(problem: Problem, horizon: int, seed: int) -> None:
    policies = [cls(alpha=0.5) if name == "PatientBandits" else cls() for name, cls in sorted(POLICIES.items())]
    result = simulate(problem, [*policies, SuccessiveElimination(confidence=0.01)], horizon=horizon, runs=2, seed=seed)
    assert np.all(result.pulls.sum(axis=2) == horizon)
    assert np.array_equal(result.pulls, result.observed + result.in_flight + result.lost)
    for name in ("pulls", "observed", "in_flight", "lost"):
        assert np.all(getattr(result, name) >= 0)
    gone = result.eliminated_at
    assert np.all((gone == -1) | ((gone > 1) & (gone <= horizon)))


@pytest.mark.parametrize(
    ("delay", "in_flight", "lost"),
    [
        (Fixed(0), 0, 0),
        (Fixed(1), 1, 0),
        (Fixed(99), 99, 0),
        (Fixed(100), 100, 0),
        (Fixed(10**9), 100, 0),
        (Never(), 0, 100),
    ],
    ids=repr,
)
def test_what_is_on_its_way_at_the_horizon(delay: Any, in_flight: int, lost: int) -> None:
    """Feedback of round s is observed if s + d <= T, also once only one arm is left."""
    policies = [UCB(), SuccessiveElimination(confidence=1e-3), PhasedElimination(confidence=1e-6), UniformChoice()]
    for problem in (Problem([Bernoulli(0.0), Bernoulli(1.0)], delay), Problem([Bernoulli(0.5)], delay)):
        result = run(problem=problem, policies=policies)
        assert np.all(result.in_flight.sum(axis=2) == in_flight)
        assert np.all(result.lost.sum(axis=2) == lost)


# ---- nothing left to decide ----


def playing_time(rounds: int) -> float:
    """Seconds of CPU time for rounds that are all played, on this machine."""
    simulate(PROBLEM, UCB(confidence=1.0), horizon=1000, runs=1, workers=1)  # compile
    started = time.process_time()
    simulate(PROBLEM, UCB(confidence=1.0), horizon=rounds, runs=1, workers=1)
    return time.process_time() - started


@pytest.mark.parametrize(
    "policy",
    [
        SuccessiveElimination(confidence=1.0),
        PhasedElimination(confidence=0.01),
        OptimisticPessimisticElimination(confidence=1.0),
    ],
    ids=repr,
)
def test_elimination_policies_stop_simulating(policy: Any) -> None:
    """Two billion rounds, in at most ten times the time of a hundredth of them played one by one."""
    horizon = 2_000_000_000
    simulate(PROBLEM, policy, horizon=1000, runs=1, workers=1)  # compile
    limit = playing_time(20_000_000)
    started = time.process_time()
    result = simulate(PROBLEM, policy, horizon=horizon, runs=3, workers=1, checkpoints=[10**6, 10**9, horizon])
    assert time.process_time() - started < 10.0 * limit
    assert np.all((result.eliminated_at[0] > 0).sum(axis=1) == 1), "one arm is left"
    assert np.all(result.pulls[0].sum(axis=1) == horizon)
    assert np.all(result.pulls[0].max(axis=1) > horizon - 10_000)
    assert np.array_equal(result.final[0], (0.7 - 0.3) * result.pulls[0, :, 0])
    assert np.array_equal(result.curves[0, :, 2], result.final[0])
    assert np.all(result.in_flight[0].max(axis=1) == 5)


def test_one_arm() -> None:
    """Elimination has nothing to eliminate."""
    problem = Problem([Bernoulli(0.5)], Fixed(7))
    simulate(problem, SuccessiveElimination(), horizon=1000, runs=1, workers=1)  # compile
    limit = playing_time(20_000_000)
    started = time.process_time()
    result = simulate(problem, SuccessiveElimination(), horizon=2_000_000_000, runs=2, workers=1)
    assert time.process_time() - started < 10.0 * limit
    assert result.observed.ravel().tolist() == [2_000_000_000 - 7] * 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_memory_does_not_grow_with_the_horizon() -> None:
    """A hundred million rounds with a delay of 200, in a process of its own."""
    script = """
from belated import Problem, simulate
from belated.delays import Fixed
from belated.policies import UCB
from belated.rewards import Bernoulli
problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(200))
result = simulate(problem, UCB(confidence=1.0), horizon=100_000_000, runs=1, workers=1)
assert result.pulls.sum() == 100_000_000 and result.in_flight.sum() == 200
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
    run(horizon=10)  # compiled code is on the disk
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) < 300 * 1024


# ---- progress ----


def test_progress_callback() -> None:
    seen: list[Progress] = []
    run(runs=40, workers=2, progress=seen.append, policies=[UCB(), UniformChoice()])
    assert all(isinstance(step, Progress) for step in seen)
    assert [step.done for step in seen] == sorted(step.done for step in seen)
    assert {step.total for step in seen} == {40 * 100 * 2}
    assert seen[-1].done == seen[-1].total
    assert all(step.seconds >= 0.0 and step.rounds_per_second >= 0.0 for step in seen)


def test_silence(capfd: pytest.CaptureFixture[str]) -> None:
    run(progress=False)
    run(progress=None)
    assert capfd.readouterr() == ("", "")


# ---- bad arguments ----

BAD: list[tuple[dict[str, Any], list[str]]] = [
    ({"horizon": 0}, ["horizon", "0", "from 1 to"]),
    ({"horizon": -5}, ["horizon", "-5"]),
    ({"horizon": 2**31}, ["horizon", str(2**31), "2,147,483,646"]),
    ({"horizon": 10.5}, ["horizon", "10.5", "whole"]),
    ({"horizon": "100"}, ["horizon", "'100'"]),
    ({"horizon": True}, ["horizon", "True"]),
    ({"horizon": None}, ["horizon", "None"]),
    ({"runs": 0}, ["runs", "0", "from 1 to"]),
    ({"runs": 1.5}, ["runs", "1.5"]),
    ({"runs": None}, ["runs", "None"]),
    ({"seed": -1}, ["seed", "-1", ">= 0"]),
    ({"seed": 0.5}, ["seed", "0.5"]),
    ({"seed": "a"}, ["seed", "'a'"]),
    ({"workers": 0}, ["workers", "0"]),
    ({"workers": 1.0}, ["workers", "1.0"]),
    ({"checkpoints": 0}, ["checkpoints", "0"]),
    ({"checkpoints": -3}, ["checkpoints", "-3"]),
    ({"checkpoints": 2.5}, ["checkpoints", "2.5"]),
    ({"checkpoints": True}, ["checkpoints", "True"]),
    ({"checkpoints": []}, ["checkpoints", "[]"]),
    ({"checkpoints": [0, 5]}, ["checkpoints", "0", "from 1 to"]),
    ({"checkpoints": [5, 101]}, ["checkpoints", "101", "100"]),
    ({"checkpoints": [1.5]}, ["checkpoints", "1.5"]),
    ({"checkpoints": [math.nan]}, ["checkpoints", "nan"]),
    ({"checkpoints": [1, math.inf]}, ["checkpoints", "inf"]),
    ({"checkpoints": ["a"]}, ["checkpoints", "'a'"]),
    ({"checkpoints": [[1, 2], [3, 4]]}, ["checkpoints"]),
    ({"checkpoints": [[1], [2, 3]]}, ["checkpoints"]),
    ({"checkpoints": None}, ["checkpoints", "None"]),
    ({"policies": []}, ["policies", "[]", "at least one"]),
    ({"policies": "UCB"}, ["policies", "'UCB'"]),
    ({"policies": None}, ["policies", "None"]),
    ({"policies": UCB}, ["policies", "UCB"]),
    ({"policies": [UCB]}, ["policies[0]", "UCB", "UCB()"]),
    ({"policies": [UCB(), 3]}, ["policies[1]", "3"]),
    ({"problem": None}, ["problem", "None", "Problem"]),
    ({"problem": "file.toml"}, ["problem", "'file.toml'"]),
    ({"device": "tpu"}, ["device", "'tpu'", "cpu"]),
    ({"device": None}, ["device", "None"]),
]


@pytest.mark.parametrize(("changes", "fragments"), BAD, ids=[str(changes) for changes, _ in BAD])
def test_bad_arguments(changes: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(InvalidParameter) as caught:
        run(**changes)
    assert isinstance(caught.value, BelatedError)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_missing_gpu() -> None:
    with pytest.raises(MissingComponent, match="cuda") as caught:
        run(device="cuda")
    assert isinstance(caught.value, ImportError)


def test_families_that_return_something_else() -> None:
    with pytest.raises(InvalidParameter, match="must return a Problem"):
        run(problem=lambda rng: 3)
    with pytest.raises(InvalidParameter, match=r"\d arms in run 0 and \d in run \d+"):
        run(problem=lambda rng: Problem([Bernoulli(0.5)] * (2 if rng.random() < 0.9 else 3), Fixed(1)), runs=200)


def test_errors_of_a_family_come_through() -> None:
    def broken(rng: np.random.Generator) -> Problem:
        if rng.random() < 0.2:
            raise ZeroDivisionError("mine")
        return PROBLEM

    for workers in (1, 2):
        with pytest.raises(ZeroDivisionError, match="mine"):
            run(problem=broken, runs=300, workers=workers)


# ---- families ----


def test_runs_of_a_family_have_gaps_of_their_own() -> None:
    result = run(problem=drawn, runs=50, policies=UniformChoice())
    from belated.kernel.rng import family_generator

    for number in range(50):
        gaps = drawn(family_generator(0, number)).gaps
        assert result.final[0, number] == pytest.approx(float(gaps @ result.pulls[0, number]), rel=1e-13)
    assert len(np.unique(result.final)) == 50


def test_a_family_of_one_problem_is_the_problem() -> None:
    """Up to the horizon the two ways to draw are one."""
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], [Pareto(0.7), ByReward({0: PacketLoss(0.5), 1: Geometric(9)})])
    policies = [UCB(), PatientBandits(alpha=0.5), SuccessiveElimination(confidence=0.1)]
    one = run(problem=problem, policies=policies, horizon=500, runs=20)
    other = run(problem=lambda rng: problem, policies=policies, horizon=500, runs=20)
    assert_same_bits(one, other)


def test_rewards_in_other_units_are_rerun_from_the_manifest() -> None:
    arms = [Scaled(Beta(2, 5), 0, 200), FromScipy(scipy.stats.norm(70, 20)), Scaled(Bernoulli(0.3), 0, 150)]
    delays = ByReward(lambda euros: Fixed(int(euros) % 7), cells=250)
    problem = Problem(arms, delays, reward_range=(-50, 200))
    result = simulate(problem, [UCB(confidence=0.2)], horizon=400, runs=5, seed=2)
    manifest = Manifest.from_json(result.manifest.to_json())
    assert manifest.problem["reward_range"] == [-50.0, 200.0]
    again = simulate(manifest.make_problem(), manifest.make_policies(), horizon=400, runs=5, seed=2)
    for name in ("final", "pulls", "observed", "in_flight", "lost"):
        assert np.array_equal(getattr(again, name), getattr(result, name)), name
    assert result.to_frame()["mean"].max() == pytest.approx(result.mean.max())
    assert result.final.max() == pytest.approx(float(problem.gaps @ result.pulls[0][result.final[0].argmax()]))
