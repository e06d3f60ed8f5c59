"""The report of a reproduction: a page, figures with their data, and the claims as Markdown and JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Self

from jinja2 import Environment, StrictUndefined
from matplotlib.figure import Figure

from belated.atomic_output import StagedOutput
from belated.interrupts import DelayedInterrupt
from belated.simulation.figures import end_with_parent, save_figures
from belated.studies.claims import ClaimVerdict, Evidence
from belated.studies.claims.evidence import axis_value
from belated.studies.figures import FigureSpec, describe_runs, draw, table
from belated.studies.report import phrasing
from belated.studies.report.summary import Guarantee, Summary, bounds_table, summarize
from belated.studies.reproduce import ExperimentOutcome
from belated.studies.study import ENOUGH_RUNS

__all__ = ["Report", "Summary", "summarize"]
_TEST_KEYS = ("variant", "reading", "confidence")


class Report:
    """``out``/report: all of it, or nothing. Figures are drawn in a thread while the next experiment is played, and
    saved by processes: matplotlib takes seconds, and on a GPU playing takes no longer."""

    def __init__(self, out: Path) -> None:
        self._stage = StagedOutput(out)
        self._drawing = ThreadPoolExecutor(1)  # matplotlib is not thread-safe
        self._saving = ProcessPoolExecutor(2, get_context("spawn"), end_with_parent)
        self._figures: dict[str, Future[PendingFigure]] = {}
        self._bounds: dict[str, Future[dict[str, list[Guarantee]]]] = {}

    def __enter__(self) -> Self:
        return self

    @cached_property
    def _folder(self) -> Path:
        """The folder of figures, created when the first is drawn."""
        self._stage.__enter__()
        folder = self._stage.path("report/figures")
        folder.mkdir()
        return folder

    def add(self, outcome: ExperimentOutcome) -> None:
        """Begin to draw the figures of a finished experiment, and to compute its bounds."""
        experiment, folder = outcome.experiment, self._folder
        with DelayedInterrupt():
            self._bounds[experiment.name] = self._drawing.submit(bounds_table, outcome.evidence)
            for spec in experiment.figures:
                name = experiment.file_name(spec)
                self._figures[name] = self._drawing.submit(
                    _draw_figure, self._saving, folder / name, spec, outcome.evidence
                )

    def finish(self, summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> Path:
        """Write what is left, and move it all into place; returns the page's path."""
        for outcome in outcomes:
            if outcome.experiment.name not in self._bounds:
                self.add(outcome)
        assert self._folder.exists()  # made here where nothing was drawn
        figures = {name: future.result().finish() for name, future in self._figures.items()}
        bounds = {name: future.result() for name, future in self._bounds.items()}
        texts = {
            "index.html": page(summary, outcomes, figures, bounds),
            "claims.md": phrasing.markdown(summary, outcomes),
            "claims.json": json.dumps(report_data(summary, outcomes), indent=1, ensure_ascii=False, allow_nan=False)
            + "\n",
        }
        for name, text in texts.items():
            with open(self._stage.path(f"report/{name}"), "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        self._stage.commit()
        return self._stage.folder / "report" / "index.html"

    def __exit__(self, *error: Any) -> None:
        try:
            with DelayedInterrupt():
                self._drawing.shutdown(cancel_futures=True)
                self._saving.shutdown(cancel_futures=True)
        finally:
            if "_folder" in self.__dict__:
                self._stage.__exit__(*error)


@dataclass(frozen=True)
class PendingFigure:
    """A figure that another process is saving."""

    figure: Figure
    paths: list[Path]  # the first is the SVG
    saved: Future[None]
    note: str  # on its runs

    def finish(self) -> tuple[bytes, str]:
        """Wait until it is saved; returns its SVG and the note."""
        try:
            self.saved.result()
        except BrokenExecutor:  # the process was killed
            save_figures(self.figure, self.paths)
        return self.paths[0].read_bytes(), self.note


def _draw_figure(saving: Executor, path: Path, spec: FigureSpec, evidence: Mapping[str, Evidence]) -> PendingFigure:
    """Draw a figure, let it be saved, and write its data."""
    figure = draw(spec, evidence)
    svg, pdf, png, csv = (path.with_name(f"{path.name}.{suffix}") for suffix in ("svg", "pdf", "png", "csv"))
    try:
        saved = saving.submit(save_figures, figure, [svg, pdf, png])
    except BrokenExecutor as error:
        (saved := Future()).set_exception(error)
    table(spec, evidence).convert_dtypes().to_csv(csv, index=False, lineterminator="\n")
    return PendingFigure(figure, [svg, pdf, png], saved, describe_runs(spec, evidence))


def page(
    summary: Summary,
    outcomes: Sequence[ExperimentOutcome],
    figures: Mapping[str, tuple[bytes, str]],
    bounds: Mapping[str, Mapping[str, list[Guarantee]]],
) -> str:
    """The report as one self-contained HTML page. ``figures`` has the SVG and the note of each figure, ``bounds`` what
    theory guarantees in the studies of each experiment."""
    folder = files("belated.studies.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals.update(phrasing=phrasing, axis_value=axis_value, MARKS=phrasing.MARKS)
    template = environment.from_string((folder / "page.html").read_text(encoding="utf-8"))
    return template.render(
        style=(folder / "page.css").read_text(encoding="utf-8"),
        summary=summary,
        outcomes=outcomes,
        figures={
            name: ("data:image/svg+xml;base64," + base64.b64encode(svg).decode(), note)
            for name, (svg, note) in figures.items()
        },
        bounds=bounds,
        enough_runs=ENOUGH_RUNS,
        provisional=any(phrasing.is_provisional(one) for outcome in outcomes for one in outcome.verdicts),
    )


def report_data(summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> dict[str, Any]:
    """All verdicts and numbers as plain data."""
    return {
        **summary.to_dict(),
        "experiments": [
            {
                "name": outcome.experiment.name,
                "title": outcome.experiment.title,
                "rounds": outcome.cost.rounds,
                "seconds": outcome.cost.seconds,
                "claims": [
                    {
                        "sentence": one.sentence,
                        "place": one.place,
                        "own": one.own,
                        "status": one.status,
                        "tests": [_test(verdict) for verdict in one.tests],
                    }
                    for one in outcome.sentences
                ],
            }
            for outcome in outcomes
        ],
    }


def _test(verdict: ClaimVerdict) -> dict[str, Any]:
    """One test of a sentence as plain data."""
    return {
        **{name: getattr(verdict.claim, name) for name in _TEST_KEYS},
        "status": verdict.status,
        "cases": [
            {
                "place": dict(case.coordinates),
                "status": case.verdict.status,
                "runs": case.runs,
                "note": case.verdict.note,
                "findings": [_finding(asdict(finding)) for finding in case.verdict.findings],
            }
            for case in verdict.cases
        ],
    }


def _finding(data: dict[str, Any]) -> dict[str, Any]:
    """A finding for JSON, which has no infinity: null."""

    def finite(number: float) -> float | None:
        return number if math.isfinite(number) else None

    ends = {key: [finite(end) for end in data[key]] for key in ("interval", "allowed")}
    return {**data, **ends, "value": finite(data["value"])}
