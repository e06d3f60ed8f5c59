"""The figures of a report: saved by another process, and the same bytes as here; an error there is an error here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from belated.simulation.figures import save_figures
from belated.studies.figures import draw
from belated.studies.report import Report, summarize
from belated.studies.reproduce import ExperimentOutcome, reproduce
from tiny import FIGURE, HEAD, STUDY, experiment

PATIENCE = 1800.0
"""Seconds that bound a hang."""

SHORT = HEAD + STUDY.replace("most = 25600\n", "") + FIGURE


@pytest.fixture(autouse=True)
def _saving() -> None:
    """Figures are saved in other processes, as users' are."""


@pytest.fixture
def outcome(tmp_path: Path) -> ExperimentOutcome:
    (played,) = reproduce([experiment(tmp_path, SHORT)], out=tmp_path / "made")
    return played


def check_bytes(folder: Path, outcome: ExperimentOutcome) -> None:
    """Check that the figures of a report are those that are drawn and saved here."""
    figure = draw(outcome.experiment.figures[0], outcome.evidence)
    here = [folder / f"here.{suffix}" for suffix in ("svg", "pdf", "png")]
    save_figures(figure, here)
    for path in here:
        written = folder / "made" / "report" / "figures" / f"tiny{path.suffix}"
        assert written.read_bytes() == path.read_bytes()


def test_the_same_bytes_as_here(tmp_path: Path, outcome: ExperimentOutcome) -> None:
    with Report(tmp_path / "made") as report:
        assert isinstance(report._saving, ProcessPoolExecutor)
        report.add(outcome)
        report.finish(summarize([outcome], 0, 1.0, 1.0), [outcome])
    check_bytes(tmp_path, outcome)


def test_figures_are_saved_here_if_the_other_process_is_killed(tmp_path: Path, outcome: ExperimentOutcome) -> None:
    with Report(tmp_path / "made") as report:
        os.kill(report._saving.submit(os.getpid).result(), signal.SIGKILL)
        report.finish(summarize([outcome], 0, 1.0, 1.0), [outcome])
    check_bytes(tmp_path, outcome)


def test_the_other_process_ends_with_this_one(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from belated.studies.report import Report
if __name__ == "__main__":
    print(Report(Path({str(tmp_path)!r}))._saving.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    (tmp_path / "script.py").write_text(script)
    command = [sys.executable, tmp_path / "script.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output, _ = process.communicate(timeout=PATIENCE)  # until both have closed it, which they do as they end
    assert int(output) != process.pid
    assert process.returncode == -signal.SIGKILL


def test_an_error_there_is_an_error_here_and_nothing_is_written(
    tmp_path: Path, outcome: ExperimentOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> Figure:
        figure = Figure()
        figure.text(0.5, 0.5, r"$\nonsense$")
        return figure

    monkeypatch.setattr("belated.studies.report.draw", wrong)
    with pytest.raises(ValueError, match="nonsense"), Report(tmp_path / "made") as report:
        report.finish(summarize([outcome], 0, 1.0, 1.0), [outcome])
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["results"]
