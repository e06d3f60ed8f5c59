"""Results: quantiles, paired differences, tables, files, running again, interruptions."""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

from belated import Problem, Result, simulate
from belated.delays import ByReward, Empirical, Fixed, FromScipy, Geometric, Mixture, Never, Pareto
from belated.errors import BelatedError, Interrupted, InvalidParameter, NotReproducible, StateError
from belated.policies import UCB, OptimisticUCB, PatientBandits, SuccessiveElimination, ThompsonSampling
from belated.rewards import Bernoulli, Beta, Categorical, Constant, Uniform
from families import drawn
from own_policies import PullsUCB
from same import BY_RUN, assert_same_bits

PROBLEM = Problem([Bernoulli(0.4), Bernoulli(0.6)], [Pareto(1.0), Pareto(0.3)])
POLICIES = [UCB(confidence=1.0), SuccessiveElimination(confidence=0.1), ThompsonSampling()]
PATHS = [str(Path(__file__).parent), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]


def run(problem: Any = PROBLEM, policies: Any = POLICIES, **changes: Any) -> Result:
    given: dict[str, Any] = {"horizon": 300, "runs": 31, "seed": 9, "checkpoints": 12, "workers": 1, **changes}
    return simulate(problem, policies, **given)


# ---- what people ask of a result ----


@pytest.mark.parametrize("q", [0.0, 0.05, 0.5, 0.9, 1.0])
def test_quantiles_are_of_the_runs(q: float) -> None:
    result = run()
    assert result.quantiles_exact
    assert np.array_equal(result.quantile(q), np.quantile(result.curves, q, axis=1))
    assert result.quantile(q).shape == result.mean.shape


def test_quantiles_of_the_first_runs_where_not_all_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run()
    monkeypatch.setattr(importlib.import_module("belated.simulation.result_builder"), "KEPT_NUMBERS", 3 * 12 * 8)
    result = run()
    assert not result.quantiles_exact
    assert np.array_equal(result.quantile(0.5), np.quantile(whole.curves[:, :8], 0.5, axis=1))
    assert result.runs == 31


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan, "0.5", None])
def test_bad_quantiles(q: Any) -> None:
    with pytest.raises(InvalidParameter, match="level"):
        run().quantile(q)


def test_differences_are_paired() -> None:
    result = run(runs=200)
    found = result.difference("UCB", "SE")
    apart = result.final[0] - result.final[1]
    assert found.mean == pytest.approx(apart.mean())
    assert found.stderr == pytest.approx(apart.std(ddof=1) / math.sqrt(200))
    assert np.array_equal(found.runs, apart)
    for a, b in ((0, 1), ("UCB", 1), (0, "SE"), (-3, -2), (np.int64(0), 1)):
        assert np.array_equal(result.difference(a, b).runs, apart)
    assert result.difference("SE", "SE")[:2] == (0.0, 0.0)


def test_a_paired_difference_needs_fewer_runs() -> None:
    """Runs of a family share their problem: the difference of two policies varies less than each of them."""
    result = run(drawn, [UCB(confidence=1.0), OptimisticUCB(confidence=1.0)], runs=300)
    unpaired = math.hypot(*(result.final.std(axis=1, ddof=1) / math.sqrt(300)))
    assert result.difference(0, 1).stderr < unpaired


def test_a_difference_of_one_run_has_no_error() -> None:
    assert math.isnan(run(runs=1).difference(0, 1).stderr)


@pytest.mark.parametrize("name", ["ucb", "OPSE", 3, -4, 0.0, None, True])
def test_differences_of_unknown_policies(name: Any) -> None:
    with pytest.raises(InvalidParameter, match="'UCB', 'SE', 'Thompson'") as caught:
        run().difference(name, 0)
    assert repr(name) in str(caught.value)


def test_labels_are_unique() -> None:
    policies = [UCB(), UCB(confidence="theory"), UCB(), SuccessiveElimination(), PatientBandits(alpha=0.5)]
    labels = run(policies=policies).labels
    assert len(set(labels)) == 5
    assert labels[3:] == ["SE", "PatientBandits"]
    assert all(label.startswith("UCB") for label in labels[:3])
    assert labels[1] == "UCB(confidence=theory)"


def test_the_table_is_tidy() -> None:
    result = run()
    frame = result.to_frame()
    assert len(frame) == 3 * 12
    assert {"policy", "round", "mean", "stderr"} <= set(frame.columns)
    for number, label in enumerate(result.labels):
        part = frame[frame["policy"] == label]
        assert part["round"].tolist() == result.rounds.tolist()
        assert np.array_equal(part["mean"], result.mean[number])
        assert np.array_equal(part["stderr"], result.stderr[number])
        assert np.array_equal(part["median"], result.quantile(0.5)[number])
    assert (frame["runs"] == 31).all()


def test_a_plot_shows_every_policy() -> None:
    figure = run().plot()
    axes = figure.axes[0]
    texts = [
        text.get_text() for legend in [axes.get_legend(), *figure.legends] if legend for text in legend.get_texts()
    ]
    texts += [text.get_text() for text in axes.texts]
    assert all(any(label in text for text in texts) for label in ("UCB", "SE", "Thompson"))


# ---- files ----


@pytest.mark.parametrize("name", ["r.npz", "r", "deep/er/r.npz", "r.result", "ü ñ.npz"])
def test_saved_and_loaded(tmp_path: Path, name: str) -> None:
    result = run()
    path = result.save(tmp_path / name)
    assert path.exists()
    assert path.suffix == ".npz"
    loaded = Result.load(path)
    assert_same_bits(result, loaded)
    assert loaded.manifest == result.manifest
    assert loaded.horizon == result.horizon
    assert [file.name for file in path.parent.iterdir()] == [path.name], "nothing else is left behind"
    assert_same_bits(result, Result.load(str(path)))


def test_saving_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full leaves the old file, and no pieces of the new one."""
    path = run().save(tmp_path / "r.npz")
    before = path.read_bytes()

    def full(file: Any, *args: Any, **kwargs: Any) -> None:
        file.write(b"PK half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space left"):
        run(seed=1).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_manifest_is_complete(tmp_path: Path) -> None:
    manifest = Result.load(run().save(tmp_path / "r")).manifest
    data = json.loads(manifest.to_json())
    assert (data["horizon"], data["runs"], data["seed"]) == (300, 31, 9)
    assert data["policies"][0]["policy"] == "UCB"
    assert data["policies"][0]["confidence"] == 1.0
    assert data["problem"]["delays"][1] == {"law": "Pareto", "alpha": 0.3, "scale": 1.0}
    assert data["version"]


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04broken", None, "no manifest", "other format", "cut"])
def test_files_that_are_not_results(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "r.npz"
    good = run().save(tmp_path / "good.npz")
    if content == "no manifest":
        np.savez(path, rounds=np.arange(3))
    elif content == "other format":
        with zipfile.ZipFile(good) as old, np.load(good) as arrays:
            assert old.namelist()
            text = str(arrays["manifest"]).replace('"format": 1', '"format": 99')
            np.savez(path, **{**arrays, "manifest": np.array(text)})
    elif content == "cut":
        path.write_bytes(good.read_bytes()[:-200])
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(StateError) as caught:
        Result.load(path)
    assert isinstance(caught.value, BelatedError)
    assert "r.npz" in str(caught.value) or content == "other format"


def test_errors_of_load_are_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "garbage.npz").write_bytes(b"garbage" * 100)
    with pytest.raises(StateError, match=r"is not a result of belated, or is damaged: it is no .npz file") as caught:
        Result.load(tmp_path / "garbage.npz")
    assert "pickle" not in str(caught.value)
    with pytest.raises(InvalidParameter, match=r"path is None; give the path of a file that Result.save wrote"):
        Result.load(None)  # type: ignore[arg-type]


def test_folder_is_not_a_result(tmp_path: Path) -> None:
    with pytest.raises(StateError):
        Result.load(tmp_path)


# ---- running again ----


def depends(reward: float) -> Any:
    """A law for each reward."""
    return Fixed(3) if reward < 0.3 else Geometric(8)


RICH = Problem(
    [Beta(2, 3), Uniform(0.1, 0.7), Categorical([0.1, 0.3, 1.0], [0.2, 0.5, 0.3]), Constant(0.3), Bernoulli(0.35)],
    [
        ByReward(depends, cells=50),
        Mixture([(0.1, Never()), (0.7, FromScipy(ss.gamma(2.0, scale=7.5))), (0.2, ByReward(depends))]),
        ByReward({0.1: Fixed(1), 0.3: Pareto(0.7), 1.0: Never(), 0.5: Fixed(9)}),
        Empirical([3, 1, 4, 1, 5], never=0.1),
        FromScipy(ss.nbinom(3, p=0.2)),
    ],
)
OWN = [
    UCB(confidence="theory"),
    PullsUCB(confidence=0.3),
    PatientBandits(alpha=1 / 3),
    SuccessiveElimination(delta=0.1),
]


@pytest.mark.parametrize("problem", [PROBLEM, RICH, drawn], ids=["simple", "rich", "family"])
def test_rerun_gives_the_same_bits(tmp_path: Path, problem: Any) -> None:
    result = run(problem, OWN)
    assert_same_bits(result, result.rerun())
    loaded = Result.load(result.save(tmp_path / "r"))
    assert loaded.source is None
    assert_same_bits(result, loaded.rerun(workers=2))
    again = Result.load(loaded.save(tmp_path / "s"))
    assert_same_bits(result, again.rerun())
    assert loaded.rerun().manifest.problem == result.manifest.problem


@pytest.mark.parametrize("problem", [RICH, drawn], ids=["rich", "family"])
def test_rerun_in_another_process(tmp_path: Path, problem: Any) -> None:
    """It has nothing but the file, and imports nothing but Result."""
    result = run(problem, OWN)
    result.save(tmp_path / "r.npz")
    old, new = str(tmp_path / "r.npz"), str(tmp_path / "s.npz")
    in_process(f"from belated import Result; Result.load({old!r}).rerun().save({new!r})")
    assert_same_bits(result, Result.load(tmp_path / "s.npz"))


def in_process(script: str) -> None:
    """Run Python code in a process that finds the tests' modules."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    command = [sys.executable, "-W", "error", "-c", script]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_more_runs_and_other_policies() -> None:
    result = run()
    more = result.rerun(runs=50)
    assert np.array_equal(more.curves[:, :31], result.curves)
    other = result.rerun(policies=[UCB(confidence=1.0)])
    assert np.array_equal(other.curves[0], result.curves[0])


def test_not_reproducible(tmp_path: Path) -> None:
    def local(rng: np.random.Generator) -> Problem:
        return Problem([Bernoulli(float(rng.random())), Bernoulli(0.5)], Fixed(3))

    for family in (local, lambda rng: PROBLEM):
        result = run(family)
        assert_same_bits(result, result.rerun())  # while it is in memory it can
        loaded = Result.load(result.save(tmp_path / "r"))
        with pytest.raises(NotReproducible, match=r"rerun\(problem=") as caught:
            loaded.rerun()
        assert isinstance(caught.value, BelatedError)
        assert_same_bits(result, loaded.rerun(problem=family))


# ---- interruptions ----


@pytest.fixture
def reports_finished_chunks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is reported once after each chunk, in the order of the runs, and counts none that is being played."""
    module = importlib.import_module("belated.simulation.simulate")
    wait = module.wait

    def wait_for_the_next(pending: Any, **options: Any) -> Any:
        return wait([min(pending, key=lambda future: pending[future].first)] if options else pending)

    monkeypatch.setattr(module, "wait", wait_for_the_next)
    monkeypatch.setattr(module, "_rounds_so_far", lambda chunks: 0)


@pytest.mark.usefixtures("reports_finished_chunks_only")
def test_ctrl_c_keeps_the_finished_runs() -> None:
    """In this process: the user's progress function is interrupted."""

    whole = run(runs=3000)
    for workers, chunks in ((1, 2), (2, 4)):  # all but the last one
        reports = []

        def impatient(progress: Any, reports: list[Any] = reports, chunks: int = chunks) -> None:
            reports.append(progress)
            if len(reports) == chunks:
                raise KeyboardInterrupt

        with pytest.raises(Interrupted, match="of 3000 runs") as caught:
            run(runs=3000, workers=workers, progress=impatient)
        assert isinstance(caught.value, BelatedError)
        assert isinstance(caught.value, KeyboardInterrupt)
        assert_prefix(caught.value.result, whole)


def assert_prefix(part: Result | None, whole: Result) -> None:
    """The finished runs have the bits that they have in the whole."""
    assert part is not None
    assert 0 < part.runs < whole.runs
    for name in BY_RUN:
        assert np.array_equal(getattr(part, name), getattr(whole, name)[:, : part.runs]), name
    np.testing.assert_allclose(part.mean, whole.curves[:, : part.runs].mean(axis=1), rtol=1e-13)
    assert part.manifest.runs == part.runs
    assert_same_bits(part, part.rerun())


@pytest.mark.usefixtures("reports_finished_chunks_only")
def test_ctrl_c_after_one_run_of_many_that_are_summed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run has no standard error, however it was counted."""
    collecting = importlib.import_module("belated.simulation.result_builder")
    monkeypatch.setattr(collecting, "KEPT_NUMBERS", 1)
    monkeypatch.setattr(collecting, "BLOCK", 1)

    def at_once(progress: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="after 1 of 31 runs") as caught:
        run(progress=at_once)
    result = caught.value.result
    assert result is not None
    assert np.isnan(result.stderr).all()
    assert np.array_equal(result.mean[:, -1], result.final[:, 0])


@pytest.mark.usefixtures("reports_finished_chunks_only")
@pytest.mark.parametrize("blocks", [2, 4])
def test_an_interrupted_result_that_is_summed_up_gives_the_same_bits_again(
    monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    """Whether its finished runs are all kept (4 of 5) or not (8 of 5)."""
    collecting = importlib.import_module("belated.simulation.result_builder")
    monkeypatch.setattr(collecting, "KEPT_NUMBERS", 5 * len(POLICIES) * 12)
    monkeypatch.setattr(collecting, "BLOCK", 2)
    seen = []

    def later(progress: Any) -> None:
        seen.append(progress)
        if len(seen) == blocks:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        run(progress=later)
    result = caught.value.result
    assert result is not None
    assert result.runs == 2 * blocks
    again = result.rerun()
    assert np.array_equal(result.mean, again.mean)
    assert np.array_equal(result.stderr, again.stderr)


def test_ctrl_c_before_anything_is_finished() -> None:
    calls = []

    def family(rng: np.random.Generator) -> Problem:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return PROBLEM

    with pytest.raises(Interrupted, match="before a run") as caught:
        run(family)
    assert caught.value.result is None


SCRIPT = """
import importlib, sys
from test_result import PROBLEM, POLICIES
from belated import simulate
from belated.errors import Interrupted

importlib.import_module("belated.simulation.simulate").POLL_SECONDS = 3600.0

def tell(progress):
    print("further", flush=True)

try:
    setting = {"horizon": 20_000, "runs": 500_000, "seed": 9, "checkpoints": 12}
    simulate(PROBLEM, POLICIES[:2], workers=int(sys.argv[1]), progress=tell, **setting)
except Interrupted as error:
    error.result.save(sys.argv[2])
    print(error)
"""


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_real_signal(tmp_path: Path, workers: int) -> None:
    """SIGINT while compiled code runs: the process ends early, with the right bits of the finished runs."""
    run(horizon=10)  # compiled code is on the disk
    path = tmp_path / "part.npz"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    command = [sys.executable, "-c", SCRIPT, str(workers), str(path)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(4):  # with two workers the first piece that is finished need not be the first
            assert process.stdout.readline() == "further\n"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert "of 500000 runs" in output
    part = Result.load(path)
    assert part.runs < 500_000
    assert_same_bits(part, run(policies=POLICIES[:2], horizon=20_000, runs=part.runs, workers=2))
