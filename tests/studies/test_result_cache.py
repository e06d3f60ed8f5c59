"""Finished results on disk."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from belated import Problem, Result, simulate
from belated.delays import Fixed
from belated.policies import UCB
from belated.rewards import Bernoulli
from belated.studies.runner import ResultCache

PROBLEM = Problem([Bernoulli(0.3), Bernoulli(0.7)], Fixed(3))


def played(seed: int = 0) -> Result:
    return simulate(PROBLEM, UCB(), horizon=50, runs=4, checkpoints=1, seed=seed)


@pytest.fixture
def result() -> Result:
    return played()


def test_what_is_kept_is_found(tmp_path: Path, result: Result) -> None:
    store = ResultCache(tmp_path / "results")
    assert store.find(result.manifest) is None
    store.save(result)
    (path,) = (tmp_path / "results").iterdir()
    assert re.fullmatch(r"[0-9a-f]{24}\.npz", path.name)
    for again in (store, ResultCache(tmp_path / "results")):
        found = again.find(result.manifest)
        assert found is not None
        assert np.array_equal(found.final, result.final)


def test_seconds_may_differ_and_nothing_else(tmp_path: Path, result: Result) -> None:
    store = ResultCache(tmp_path)
    store.save(result)
    manifest = result.manifest
    assert store.find(replace(manifest, seconds=99.0)) is not None
    for other in (
        replace(manifest, seed=1),
        replace(manifest, runs=5),
        replace(manifest, horizon=51),
        replace(manifest, checkpoints=[25, 50]),
        replace(manifest, version="0"),
        replace(manifest, sources="another"),
        replace(manifest, policies=[{**manifest.policies[0], "confidence": 2.0}]),
        replace(manifest, problem={**manifest.problem, "delays": [{"law": "Fixed", "rounds": 4}] * 2}),
    ):
        assert store.find(other) is None


def test_each_result_has_a_file_of_its_own(tmp_path: Path) -> None:
    store = ResultCache(tmp_path)
    results = [played(seed) for seed in range(5)]
    for result in [*results, *results]:
        store.save(result)
    assert len(list(tmp_path.iterdir())) == 5
    for result in results:
        found = store.find(result.manifest)
        assert found is not None
        assert found.manifest == result.manifest
        assert np.array_equal(found.final, result.final)


def test_the_name_of_a_file_is_not_believed(tmp_path: Path) -> None:
    """A file under the name of another result is not taken for it."""
    store, one, two = ResultCache(tmp_path), played(1), played(2)
    store.save(one)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    path.unlink()
    store.save(two)
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    assert store.find(two.manifest) is None
    assert store.find(one.manifest) is None


def test_a_fresh_store_knows_its_own_results_alone(tmp_path: Path) -> None:
    old, new = played(1), played(2)
    ResultCache(tmp_path).save(old)
    store = ResultCache(tmp_path, fresh=True)
    assert store.find(old.manifest) is None
    store.save(new)
    assert store.find(new.manifest) is not None
    assert store.find(old.manifest) is None
    store.save(old)
    assert store.find(old.manifest) is not None


def test_a_problem_without_a_name_is_never_found(tmp_path: Path) -> None:
    """Nothing tells two functions without a module of their own from each other."""
    result = simulate(lambda _: PROBLEM, UCB(), horizon=50, runs=4, checkpoints=1)
    store = ResultCache(tmp_path)
    store.save(result)
    assert len(list(tmp_path.iterdir())) == 1
    assert store.find(result.manifest) is None
