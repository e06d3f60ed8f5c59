"""Playing experiments: what is used again and what is not, and how many runs are played."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated.errors import InvalidParameter, MissingComponent
from belated.simulation.result import Result
from belated.studies.claims import Status
from belated.studies.reproduce import ExperimentOutcome, reproduce
from belated.studies.runner import RunnerStep
from tiny import AT_ONCE, FIGURE, HEAD, IN_TIME, NEVER, STUDY, TINY, Played, experiment

FIRST_RUNS = [(0.6, 8), (0.2, 8), (0.5, 8)]
"""What the tiny experiment plays also without claims."""
ALL = [*FIRST_RUNS, (0.6, 1600), (0.2, 1600), (0.5, 1600), (0.2, 6400), (0.5, 25600)]
"""What it plays."""
OUT = Path("made")


def play(folder: Path, text: str = TINY, **options: Any) -> ExperimentOutcome:
    (outcome,) = reproduce([experiment(folder, text)], out=OUT, **options)
    return outcome


def kept() -> list[Path]:
    """The files of the results."""
    return sorted((OUT / "results").iterdir())


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: Any, **options: Any) -> None:
        raise AssertionError("it was played again")

    monkeypatch.setattr(importlib.import_module("belated.studies.runner"), "simulate", never)


# ---- how many runs ----


def test_runs_are_added_where_a_claim_is_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims are judged from 1600 runs on. One is decided with these, one with 6400, and the third takes all it may: no
    cell but theirs is played again."""
    played = Played(monkeypatch)
    outcome = play(tmp_path)
    assert played.calls == ALL
    assert [verdict.status for verdict in outcome.verdicts] == ["holds", "holds", "undecided"]
    assert [verdict.runs for verdict in outcome.verdicts] == [1600, 6400, 25600]
    assert [result.runs for result in outcome.evidence["pair"].results] == [1600, 6400, 25600]
    assert (outcome.cost.results, outcome.cost.cached) == (8, 0)
    assert outcome.cost.rounds == sum(runs for _, runs in ALL) * 100 * 2
    assert [verdict.status for verdict in outcome.verdicts].count(Status.HOLDS) == 2


@pytest.mark.parametrize(
    ("claims", "calls"),
    [
        ("", FIRST_RUNS),
        (AT_ONCE, [*FIRST_RUNS, (0.6, 1600)]),
        (IN_TIME, [*FIRST_RUNS, (0.2, 1600), (0.2, 6400)]),
        (NEVER, [*FIRST_RUNS, (0.5, 1600), (0.5, 25600)]),
        (NEVER.replace("where = {gap = 0.5}", 'each = ["gap"]'), None),
    ],
    ids=["no claims", "at once", "in time", "never", "each"],
)
def test_no_more_runs_than_claims_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claims: str, calls: list[tuple[float, int]] | None
) -> None:
    played = Played(monkeypatch)
    outcome = play(tmp_path, HEAD + STUDY + claims + FIGURE)
    if calls is not None:
        assert played.calls == calls
        return
    (verdict,) = outcome.verdicts  # at a gap of 0.6 it holds, at 0.2 it fails, at 0.5 it is never decided
    assert [case.verdict.status for case in verdict.cases] == ["holds", "fails", "undecided"]
    assert [case.runs for case in verdict.cases] == [1600, 1600, 25600]
    for case, gap in zip(verdict.cases, (0.6, 0.2, 0.5), strict=True):
        assert max(runs for where, runs in played.calls if where == gap) == case.runs


@pytest.mark.parametrize("most", [8, 9, 100, 1600, 401, 2000])
def test_the_most_runs_are_never_exceeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    played = Played(monkeypatch)
    outcome = play(tmp_path, TINY.replace("most = 25600", f"most = {most}"))
    assert outcome.verdicts[2].status is Status.UNDECIDED
    assert max(runs for _, runs in played.calls) == most


@pytest.mark.parametrize(
    ("most", "fraction", "counts"),
    [(100, 1.0, {4, 100}), (100, 0.2, {4, 20}), (100, 0.05, {4, 8}), (6, 1.0, {4, 6}), (6, 0.05, {4, 6})],
)
def test_a_study_of_few_runs_has_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, fraction: float, counts: set[int]
) -> None:
    """A fraction of few runs is raised to eight, but never to more than there are."""
    text = TINY.replace("runs = 8\nmost = 25600", f"runs = 4\nmost = {most}")
    played = Played(monkeypatch)
    play(tmp_path, text, fraction=fraction)
    assert {runs for _, runs in played.calls} == counts


def test_without_most_no_runs_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch)
    play(tmp_path, TINY.replace("most = 25600\n", ""))
    assert played.calls == FIRST_RUNS


def test_a_fraction_is_that_of_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TINY.replace("runs = 8", "runs = 80").replace("most = 25600", "most = 2000")
    played = Played(monkeypatch)
    play(tmp_path, text, fraction=0.25)
    assert played.calls[:3] == [(0.6, 20), (0.2, 20), (0.5, 20)]
    assert max(runs for _, runs in played.calls) == 500
    assert experiment(tmp_path, text).studies["pair"].scaled(0.001).interim_looks() == [8]


# ---- what is used again ----


def test_a_second_time_nothing_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = play(tmp_path)
    forbid(monkeypatch)
    second = play(tmp_path)
    assert second.cost.cached == second.cost.results == first.cost.results == 8
    assert second.verdicts == first.verdicts
    assert (second.cost.rounds, second.cost.seconds) == (first.cost.rounds, first.cost.seconds)
    assert second.cost.seconds > 0.0


def test_what_two_experiments_have_in_common_is_played_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch)
    one, two = reproduce([experiment(tmp_path, name=name) for name in ("one", "two")], out=OUT)
    assert played.calls == ALL
    assert (one.cost.cached, two.cost.cached) == (0, 8)
    assert two.verdicts == one.verdicts


def test_fresh_plays_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = play(tmp_path)
    played = Played(monkeypatch)
    second = play(tmp_path, fresh=True)
    assert played.calls == ALL
    assert second.cost.cached == 0
    assert second.verdicts == first.verdicts


@pytest.mark.parametrize("change", [{"seed": 1}, {"fraction": 0.5}], ids=str)
def test_other_runs_are_not_taken_for_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    text = TINY.replace("runs = 8", "runs = 40").replace("most = 25600", "most = 600")
    first = play(tmp_path, text)
    played = Played(monkeypatch)
    second = play(tmp_path, text, **change)
    assert second.cost.cached == 0
    assert len(played.calls) == second.cost.results
    assert second.verdicts != first.verdicts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("horizon = 100", "horizon = 101"),
        ("rounds = 5", "rounds = 6"),
        ("confidence = 1.0", "confidence = 2.0"),
        ("checkpoints = 2", "checkpoints = 4"),
    ],
)
def test_a_file_that_changed_is_played_again(tmp_path: Path, old: str, new: str) -> None:
    play(tmp_path)
    assert play(tmp_path, TINY.replace(old, new)).cost.cached == 0


def test_a_claim_that_changed_plays_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path)
    forbid(monkeypatch)
    outcome = play(tmp_path, TINY.replace("is easy", "is not hard").replace('than = "Uniform"}', 'than = "UCB"}'))
    assert [verdict.status for verdict in outcome.verdicts] == ["fails", "holds", "undecided"]


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "another"])
def test_a_damaged_result_is_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    first = play(tmp_path)
    (path,) = [path for path in kept() if Result.load(path).runs == 6400]
    whole = path.read_bytes()
    other = next(path for path in kept() if Result.load(path).runs == 8).read_bytes()
    path.write_bytes({"cut": whole[: len(whole) // 2], "empty": b"", "text": b"no result", "another": other}[damage])
    played = Played(monkeypatch)
    second = play(tmp_path)
    assert played.calls == [(0.2, 6400)]
    assert (second.cost.cached, second.cost.results) == (7, 8)
    assert second.verdicts == first.verdicts
    forbid(monkeypatch)
    assert play(tmp_path).cost.cached == 8
    assert len(kept()) == 8


# ---- options ----


def test_workers_change_nothing(tmp_path: Path) -> None:
    found = experiment(tmp_path)
    (one,) = reproduce([found], out=tmp_path / "one", workers=1)
    (two,) = reproduce([found], out=tmp_path / "two", workers=2)
    assert one.verdicts == two.verdicts
    for first, second in zip(one.evidence["pair"].results, two.evidence["pair"].results, strict=True):
        assert np.array_equal(first.final, second.final)
        assert np.array_equal(first.pulls, second.pulls)


@pytest.mark.parametrize("fraction", [0, 0.0, -0.5, 1.0001, 2, math.nan, math.inf, True, "0.5", None])
def test_fractions_that_are_none(tmp_path: Path, fraction: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"fraction is .*; give a number in "):
        play(tmp_path, fraction=fraction)
    assert not OUT.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [({"seed": -1}, "seed is -1"), ({"workers": 0}, "workers is 0"), ({"device": "tpu"}, "device is 'tpu'")],
)
def test_options_that_are_none(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        play(tmp_path, **options)


def test_a_graphics_card_plays_or_is_missing(tmp_path: Path) -> None:
    try:
        outcome = play(tmp_path, device="cuda")
    except MissingComponent:
        assert not list(tmp_path.rglob("*.npz"))
    else:
        assert [verdict.status for verdict in outcome.verdicts] == ["holds", "holds", "undecided"]


def test_one_is_told_how_far_it_is(tmp_path: Path) -> None:
    steps: list[RunnerStep] = []
    done: list[ExperimentOutcome] = []
    outcome = play(tmp_path, watch=steps.append, done=done.append)
    assert done == [outcome]
    assert {(step.experiment, step.study) for step in steps} == {("tiny", "pair")}
    assert {step.runs for step in steps} == {8, 1600, 6400, 25600}
    for runs, cells in ((8, 3), (1600, 3), (6400, 1), (25600, 1)):
        far = [step.progress for step in steps if step.runs == runs]
        assert {progress.total for progress in far} == {runs * cells * 100 * 2}
        assert [progress.done for progress in far] == sorted(progress.done for progress in far)
        assert far[-1].done == far[-1].total
