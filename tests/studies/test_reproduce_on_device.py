"""How a device plays experiments: all at a time, each result once. The processor stands in for the device."""

from __future__ import annotations

import importlib
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from belated.errors import ReproductionInterrupted
from belated.studies.experiments import load
from belated.studies.reproduce import ExperimentOutcome, reproduce
from belated.studies.runner import RunnerStep

NAMES = ("figure3", "theorem6", "table1")
FRACTION = 0.001


class Stand:
    """Plays on the processor what is meant for the device, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.module = importlib.import_module("belated.studies.runner")
        self.simulate = self.module.simulate
        self.devices: list[str] = []
        self.horizons: list[tuple[str, int]] = []
        self.threads: set[int] = set()
        monkeypatch.setattr(self.module, "check_device", lambda device: None)
        monkeypatch.setattr(self.module, "simulate", self.play)

    def play(self, *given: Any, device: str, **options: Any) -> Any:
        self.devices.append(device)
        self.horizons.append((device, options["horizon"]))
        self.threads.add(threading.get_ident())
        return self.simulate(*given, device="cpu", **options)


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Stand:
    return Stand(monkeypatch)


def play(out: Path, device: str, names: tuple[str, ...] = NAMES, **options: Any) -> list[ExperimentOutcome]:
    return reproduce([load(name) for name in names], out=out, fraction=FRACTION, device=device, **options)


def test_the_verdicts_are_those_of_the_processor(stand: Stand, tmp_path: Path) -> None:
    here = play(tmp_path / "here", "cpu")
    there = play(tmp_path / "there", "cuda")
    assert [outcome.experiment.name for outcome in there] == list(NAMES)
    for one, other in zip(here, there, strict=True):
        assert str(one.verdicts) == str(other.verdicts)
        assert (one.cost.rounds, one.cost.results) == (other.cost.rounds, other.cost.results)
    assert len(stand.threads) > 2


def test_long_runs_are_played_by_the_processor(stand: Stand, tmp_path: Path) -> None:
    play(tmp_path, "cuda")
    limit = stand.module.MAX_HORIZON_ON_DEVICE
    assert {device for device, _ in stand.horizons} == {"cpu", "cuda"}
    assert all((device == "cpu") == (horizon > limit) for device, horizon in stand.horizons)


def test_what_two_experiments_share_is_played_once(stand: Stand, tmp_path: Path) -> None:
    play(tmp_path / "once", "cuda", ("figure3",))
    once = len(stand.devices)
    stand.devices.clear()
    outcomes = play(tmp_path / "twice", "cuda", ("figure3", "figure3"))
    assert len(stand.devices) == once
    assert sum(outcome.cost.cached for outcome in outcomes) >= once


def test_steps_are_told_one_at_a_time(stand: Stand, tmp_path: Path) -> None:
    inside = threading.Lock()
    steps = []

    def watch(step: RunnerStep) -> None:
        assert inside.acquire(blocking=False)
        steps.append(step)
        time.sleep(0.001)
        inside.release()

    play(tmp_path, "cuda", watch=watch)
    assert {step.experiment for step in steps} == set(NAMES)


def test_an_interruption_keeps_what_is_finished(stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first experiment never ends by itself; the others are done by then."""
    others = threading.Event()
    module = importlib.import_module("belated.studies.reproduce")
    plain = module._play
    finished = []

    def slow(runner: Any, experiment: Any, fraction: float) -> ExperimentOutcome:
        if experiment.name == NAMES[0]:
            assert others.wait(600)
            raise KeyboardInterrupt
        outcome: ExperimentOutcome = plain(runner, experiment, fraction)
        return outcome

    def done(outcome: ExperimentOutcome) -> None:
        finished.append(outcome)
        if len(finished) == len(NAMES) - 1:
            others.set()

    monkeypatch.setattr(module, "_play", slow)
    with pytest.raises(ReproductionInterrupted, match="after 2 finished experiments") as caught:
        play(tmp_path, "cuda", done=done)
    assert {outcome.experiment.name for outcome in caught.value.outcomes} == set(NAMES[1:])


def test_an_error_is_not_swallowed(stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **options: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(stand.module, "simulate", broken)
    with pytest.raises(MemoryError, match="no room"):
        play(tmp_path, "cuda")
