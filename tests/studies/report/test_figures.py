"""The figures of a report: drawn in a thread, and the same bytes as here; an error there is an error here."""

from __future__ import annotations

from pathlib import Path

import pytest

from belated.simulation.figures import save_figure
from belated.studies.figures import draw
from belated.studies.report import Report, summarize
from belated.studies.reproduce import ExperimentOutcome, reproduce
from tiny import FIGURE, HEAD, STUDY, experiment

SHORT = HEAD + STUDY.replace("most = 6400\n", "") + FIGURE


@pytest.fixture
def outcome(tmp_path: Path) -> ExperimentOutcome:
    (played,) = reproduce([experiment(tmp_path, SHORT)], out=tmp_path / "made")
    return played


def test_the_same_bytes_as_here(tmp_path: Path, outcome: ExperimentOutcome) -> None:
    with Report(tmp_path / "made") as report:
        report.add(outcome)
        report.finish(summarize([outcome], 0, 1.0, 1.0), [outcome])
    figure = draw(outcome.experiment.figures[0], outcome.evidence)
    for suffix in ("svg", "pdf", "png"):
        save_figure(figure, tmp_path / f"here.{suffix}")
        figure.set_layout_engine("none")
        written = tmp_path / "made" / "report" / "figures" / f"tiny.{suffix}"
        assert written.read_bytes() == (tmp_path / f"here.{suffix}").read_bytes()


def test_an_error_there_is_an_error_here_and_nothing_is_written(
    tmp_path: Path, outcome: ExperimentOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("belated.studies.report.save_figure", broken)
    with pytest.raises(OSError, match="the disk is full"), Report(tmp_path / "made") as report:
        report.finish(summarize([outcome], 0, 1.0, 1.0), [outcome])
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["results"]
