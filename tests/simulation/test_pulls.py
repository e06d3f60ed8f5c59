"""The pulls of each arm at the checkpoints, and arms that are shuffled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import Problem, Result, simulate, sweep
from belated.delays import Fixed, Geometric
from belated.engine import runner
from belated.engine.speculative import packed_wheel
from belated.errors import Interrupted, InvalidParameter, StateError
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli
from belated.simulation import result as result_module
from belated.simulation import simulate as simulate_module

POLICIES = [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)]
PROBLEM = Problem([Bernoulli(0.3), Bernoulli(0.7), Bernoulli(0.5)], Geometric(20.0))
RECORDED = Path(__file__).parents[1] / "golden" / "results"


def play(**changes: Any) -> Result:
    return simulate(PROBLEM, POLICIES, **{"horizon": 400, "runs": 30, "seed": 2, "checkpoints": 8, **changes})


def test_mean_pulls_and_shares() -> None:
    result = play()
    assert result.mean_pulls.shape == result.pull_share.shape == (2, 8, 3)
    assert np.array_equal(result.mean_pulls[:, -1], result.pulls.mean(axis=1))
    assert np.allclose(result.mean_pulls @ PROBLEM.gaps, result.mean)
    assert np.allclose(result.pull_share.sum(axis=2), 1.0)
    assert np.allclose(result.pull_share * result.rounds[:, None], result.mean_pulls)


@pytest.mark.parametrize("checkpoints", [400, [1, 2, 3, 50, 51, 52, 400], [2, 3, 399], [7]], ids=str)
def test_checkpoints_in_consecutive_rounds(checkpoints: Any) -> None:
    result, full = play(checkpoints=checkpoints), play(checkpoints=400)
    assert np.array_equal(result.mean_pulls, full.mean_pulls[:, result.rounds - 1])
    assert (full.pull_sums.sum(axis=2) == 30 * full.rounds).all()  # type: ignore[union-attr]


def test_pulls_do_not_depend_on_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = play(workers=1)
    monkeypatch.setattr(simulate_module, "_chunk_runs", lambda *_: 7)
    assert np.array_equal(play(workers=3).pull_sums, whole.pull_sums)  # type: ignore[arg-type]


def test_a_run_that_is_begun_again_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The speculative path has no room for much feedback in one round, and a timing wheel plays the run again."""
    problem = Problem([Bernoulli(0.3 + 0.005 * arm) for arm in range(64)], [Fixed(100 - arm) for arm in range(64)])
    options: Any = {"horizon": 300, "runs": 5, "checkpoints": [10, 20, 21, 60, 300], "workers": 1}
    expected = simulate(problem, POLICIES[0], **options)
    again: list[Any] = []
    play_on = runner._play_on
    monkeypatch.setattr(runner, "_play_on", lambda *given: again.append(given) or play_on(*given))
    monkeypatch.setattr(packed_wheel, "OVERFLOW", 55)  # the feedback of the first 64 rounds is due at once
    result = simulate(problem, POLICIES[0], **options)
    assert again, "the case should be one in which a run is begun again"
    assert np.array_equal(result.mean_pulls, expected.mean_pulls)
    assert np.array_equal(result.pull_sums.sum(axis=2)[0], 5 * result.rounds)  # type: ignore[union-attr]


def test_pulls_are_saved(tmp_path: Path) -> None:
    result = play()
    loaded = Result.load(result.save(tmp_path / "a"))
    assert np.array_equal(loaded.mean_pulls, result.mean_pulls)
    assert np.array_equal(loaded.rerun().mean_pulls, result.mean_pulls)


def test_results_without_pulls(monkeypatch: pytest.MonkeyPatch) -> None:
    old = Result.load(next(iter(sorted(RECORDED.rglob("*.npz")))))
    for name in ("mean_pulls", "pull_share"):
        with pytest.raises(StateError, match=r"0\.1\.0.*rerun"):
            getattr(old, name)
    assert old.rerun(runs=2).mean_pulls.shape[1] == old.rounds.size
    monkeypatch.setattr(simulate_module, "MAX_PULL_NUMBERS", 2 * 8 * 3 - 1)
    large = play()
    with pytest.raises(StateError, match="fewer checkpoints"):
        large.mean_pulls  # noqa: B018
    assert np.array_equal(large.final, play(runs=30).final)
    assert result_module.MAX_PULL_NUMBERS == 2**22


def test_pulls_of_an_interrupted_simulation() -> None:
    def impatient(progress: Any) -> None:
        if progress.done > progress.total // 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as error:
        play(runs=20_000, progress=impatient, workers=1)
    result = error.value.result
    assert result is not None
    assert 0 < result.runs < 20_000
    assert np.array_equal(result.mean_pulls[:, -1], result.pulls.mean(axis=1))


# ---- shuffled arms ----


def test_the_order_of_the_arms_no_longer_matters() -> None:
    """Equal arms: without shuffling, ties go to the lowest number."""
    equal = Problem([Bernoulli(0.5)] * 4, Fixed(30))
    options: Any = {"horizon": 100, "runs": 2000, "checkpoints": 1}
    plain, shuffled = (simulate(equal, POLICIES[0], **options, shuffle=each).pull_share[0, 0] for each in (False, True))
    assert plain[0] > plain[3] + 0.02
    assert np.abs(shuffled - 0.25).max() < 0.01


def test_shuffled_results_are_those_of_the_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = play(shuffle=True, workers=1)
    assert np.allclose(result.mean_pulls @ PROBLEM.gaps, result.mean)
    assert (result.pulls.mean(axis=1).argmax(axis=1) == 1).all()
    monkeypatch.setattr(simulate_module, "_chunk_runs", lambda *_: 4)
    loaded = Result.load(result.save(tmp_path / "a"))
    for again in (result.rerun(workers=3), loaded.rerun()):
        assert again.manifest.shuffle
        for name in ("final", "pulls", "observed", "lost", "eliminated_at", "pull_sums"):
            assert np.array_equal(getattr(again, name), getattr(result, name)), name
    assert not np.array_equal(result.final, play().final)
    assert not play().manifest.shuffle


def test_sweeps_shuffle() -> None:
    swept = sweep(
        lambda delay: Problem([Bernoulli(0.4)] * 2, Fixed(delay)), [3], POLICIES, horizon=50, runs=9, shuffle=True
    )
    assert swept.results[0].manifest.shuffle


@pytest.mark.parametrize("shuffle", ["yes", 1, None])
def test_shuffle_is_true_or_false(shuffle: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"shuffle is .*; give True or False"):
        play(shuffle=shuffle)
