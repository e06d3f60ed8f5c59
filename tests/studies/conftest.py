from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from typer.testing import CliRunner

import belated
from belated.cli import app
from belated.studies import report
from belated.studies.experiments import select
from belated.studies.report import summarize
from belated.studies.reproduce import reproduce
from tiny import FRACTION, shortened, write_report, written

PATIENCE = 1800.0
"""Seconds to wait for another process."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a folder of its own, and a terminal of 80 columns without colours."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "NO_COLOR", "TERMINAL_WIDTH", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


class SavingHere:
    """In place of the processes that save figures: each would import matplotlib first."""

    def __init__(self, *_: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, **_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _saving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are saved in this process; the tests of the others override this."""
    monkeypatch.setattr(report, "ProcessPoolExecutor", SavingHere)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The file of an experiment that takes no time."""
    return written(tmp_path)


@pytest.fixture
def call() -> Callable[..., Any]:
    """Runs ``belated reproduce`` in this process; an exception that is no exit fails the test."""

    def run(*arguments: object) -> Any:
        result = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def environment() -> dict[str, str]:
    """What a process needs to find the package that is tested."""
    return {**os.environ, "PYTHONPATH": str(Path(belated.__file__).parents[1]), "COLUMNS": "80"}


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all experiments, each with a few runs and rounds, and of their report. Where tests run in
    several processes, the first that comes plays them, and the others wait."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "everything"
    finished, failed = folder / "finished", folder / "failed"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + PATIENCE
        while not finished.exists():
            assert not failed.exists(), "another process could not play the experiments"
            assert time.monotonic() < deadline, "another process did not finish the experiments"
            time.sleep(0.1)
        return folder
    try:
        outcomes = reproduce(map(shortened, select(["all"])), out=folder, fraction=FRACTION)
        with mock.patch.object(report, "ProcessPoolExecutor", SavingHere):
            write_report(folder, summarize(outcomes, 0, FRACTION, 1.0), outcomes)
    except BaseException:
        failed.touch()
        raise
    finished.touch()
    return folder
