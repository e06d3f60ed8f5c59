"""The same seed gives the same bits, however the work is spread; runs and policies do not touch each other."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from belated import Problem, Result, simulate
from belated.delays import Fixed, Geometric, PacketLoss, Pareto
from belated.engine.environment import Environment
from belated.policies import UCB, SuccessiveElimination, ThompsonSampling
from belated.rewards import Bernoulli, Beta
from same import BY_RUN, assert_same_bits
from support.plain_simulator import play
from support.policies import every_variant, rule_of

COLLECTING = importlib.import_module("belated.simulation.result_builder")
SIMULATION = importlib.import_module("belated.simulation.simulate")  # the name belated.simulate is the function

POLICIES = every_variant()
PROBLEM = Problem([Bernoulli(0.3), Beta(2, 2), Bernoulli(0.6)], [Pareto(0.6), Geometric(20), PacketLoss(0.5)])


def family(rng: np.random.Generator) -> Problem:
    """A problem drawn again for each run."""
    means = rng.uniform(0.25, 0.75, 4)
    return Problem(
        [Bernoulli(float(mean)) for mean in means],
        [Pareto(float(rng.uniform(0.3, 2))), Fixed(3), Fixed(50), Geometric(9)],
    )


def run(problem: Any = PROBLEM, **changes: Any) -> Result:
    given: dict[str, Any] = {"horizon": 400, "runs": 61, "seed": 4, "checkpoints": 13, "workers": 1, **changes}
    return simulate(problem, given.pop("policies", POLICIES), **given)


@pytest.mark.parametrize("problem", [PROBLEM, family], ids=["problem", "family"])
@pytest.mark.parametrize("workers", [2, 3, 5, None])
def test_any_number_of_workers(problem: Any, workers: int | None) -> None:
    assert_same_bits(run(problem), run(problem, workers=workers))


@pytest.mark.parametrize("problem", [PROBLEM, family], ids=["problem", "family"])
@pytest.mark.parametrize("rounds", [1, 400, 1000, 10_000])
def test_any_chunks(monkeypatch: pytest.MonkeyPatch, problem: Any, rounds: int) -> None:
    expected = run(problem)
    chunks = counted_chunks(monkeypatch)
    monkeypatch.setattr(SIMULATION, "ROUNDS_PER_CHUNK", rounds)
    assert_same_bits(expected, run(problem))
    assert len(chunks) >= 61 / max(rounds // 400, 1), "the patch should change the chunks"
    assert_same_bits(expected, run(problem, workers=3))


def counted_chunks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that fills with the chunks that are played."""
    chunks = []
    played = SIMULATION.run_chunk

    def noted(policies: Any, chunk: Any, plan: Any) -> Any:
        chunks.append(chunk)
        return played(policies, chunk, plan)

    monkeypatch.setattr(SIMULATION, "run_chunk", noted)
    return chunks


@pytest.mark.parametrize("kept", [1, len(POLICIES) * 13 * 10, len(POLICIES) * 13 * 599])
def test_summed_up_instead_of_kept(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """Too many curves to keep: mean and standard error do not depend on the workers, and are those of all runs."""
    exact = run(runs=600, horizon=120)
    monkeypatch.setattr(COLLECTING, "KEPT_NUMBERS", kept)
    monkeypatch.setattr(COLLECTING, "BLOCK", 64)
    summed = run(runs=600, horizon=120)
    assert not summed.quantiles_exact
    for workers in (2, 3, 5):
        assert_same_bits(summed, run(runs=600, horizon=120, workers=workers))
    monkeypatch.setattr(SIMULATION, "ROUNDS_PER_CHUNK", 1)
    assert_same_bits(summed, run(runs=600, horizon=120, workers=2))
    assert_same_bits(exact, summed, ("final", "pulls", "observed", "in_flight", "lost", "eliminated_at", "rounds"))
    first = summed.curves.shape[1]
    assert first == max(kept // (len(POLICIES) * 13), 1)
    assert np.array_equal(summed.curves, exact.curves[:, :first])
    np.testing.assert_allclose(summed.mean, exact.mean, rtol=1e-13)
    np.testing.assert_allclose(summed.stderr, exact.stderr, rtol=1e-11)


def test_stderr_of_the_summed_path_is_of_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(COLLECTING, "KEPT_NUMBERS", 1)
    result = run(runs=300, horizon=100)
    np.testing.assert_allclose(result.mean[:, -1], result.final.mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(result.stderr[:, -1], result.final.std(axis=1, ddof=1) / np.sqrt(300), rtol=1e-11)


@pytest.mark.parametrize("problem", [PROBLEM, family], ids=["problem", "family"])
def test_policies_do_not_touch_each_other(problem: Any) -> None:
    together = run(problem)
    for number, policy in enumerate(POLICIES):
        alone = run(problem, policies=[policy])
        for name in BY_RUN:
            assert np.array_equal(getattr(alone, name)[0], getattr(together, name)[number]), (policy, name)
    backwards = run(problem, policies=POLICIES[::-1])
    assert np.array_equal(backwards.curves, together.curves[::-1])


@pytest.mark.parametrize("problem", [PROBLEM, family], ids=["problem", "family"])
def test_fewer_runs_are_a_prefix(problem: Any) -> None:
    many, few = run(problem, runs=100), run(problem, runs=50, workers=2)
    for name in BY_RUN:
        assert np.array_equal(getattr(few, name), getattr(many, name)[:, :50]), name


def test_a_shorter_horizon_is_a_prefix_for_policies_that_do_not_know_it() -> None:
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Geometric(10))
    policies = [UCB(confidence=1.0), SuccessiveElimination(confidence=0.1), ThompsonSampling()]
    long = run(problem, policies=policies, horizon=400, checkpoints=400)
    short = run(problem, policies=policies, horizon=150, checkpoints=150)
    assert np.array_equal(short.curves, long.curves[:, :, :150])


def test_any_run_can_be_replayed_alone() -> None:
    """Run 37 of 61 from the draws of run 37 alone."""
    result = run()
    for number, policy in enumerate(POLICIES):
        draws = Environment(PROBLEM, horizon=400, seed=4, run=37)
        played = play(PROBLEM, policy.for_horizon(400), rule_of(policy), draws, 400, result.rounds.tolist())
        assert np.array_equal(result.curves[number, 37], played.curve), policy
        assert np.array_equal(result.pulls[number, 37], played.pulls), policy


def test_again_and_again() -> None:
    assert_same_bits(run(workers=2), run(workers=2))


def test_simulations_side_by_side() -> None:
    expected = {seed: run(seed=seed) for seed in range(4)}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: run(seed=seed, workers=2), range(4)))
    for seed, result in enumerate(found):
        assert_same_bits(result, expected[seed])


def test_runs_and_seeds_differ() -> None:
    """The same bits for the same seed would be easy if nothing were random."""
    result, other = run(), run(seed=5)
    for number, policy in enumerate(POLICIES):
        assert len(np.unique(result.final[number])) > 10, policy
        assert (result.final[number] != other.final[number]).any(), policy


def test_checkpoints_do_not_change_the_play() -> None:
    fine, coarse = run(checkpoints=400), run(checkpoints=[7, 100, 400])
    assert np.array_equal(fine.curves[:, :, [6, 99, 399]], coarse.curves)
    assert np.array_equal(fine.pulls, coarse.pulls)


def test_policies_of_a_run_meet_the_same_rewards_and_delays() -> None:
    """Two policies with other names and the same choices have the same feedback: differences are paired."""
    result = run(policies=[UCB(confidence=1.0), UCB(confidence=1.0, horizon=7), UCB(confidence=2.0)])
    assert np.array_equal(result.curves[0], result.curves[1])
    assert np.array_equal(result.lost[0], result.lost[1])
    assert not np.array_equal(result.curves[0], result.curves[2])
