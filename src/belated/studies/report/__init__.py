"""The report of a reproduction: a page, figures with their data, and the claims as Markdown and JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from belated.atomic_output import StagedOutput
from belated.studies.claims import Evidence
from belated.studies.experiments import named
from belated.studies.figures import FigureSpec, draw, note, table
from belated.studies.report.guarantees import Guarantee, bounds_table
from belated.studies.report.markdown import markdown
from belated.studies.report.page import page
from belated.studies.report.press import Press
from belated.studies.report.summary import Summary, summed
from belated.studies.reproduce import ExperimentOutcome

__all__ = ["Report", "Summary", "summed", "write_report"]

PRESSES = max(1, min(4, (os.cpu_count() or 1) // 2))
"""Processes that save figures."""


def write_report(out: Path, summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> Path:
    """Write ``out``/report: all of it, or nothing. The page's path."""
    with Report(out) as report:
        for outcome in outcomes:
            report.add(outcome)
        return report.finish(summary, outcomes)


class Report:
    """``out``/report: all of it, or nothing. Figures are drawn while the next experiment is played."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._stage = StagedOutput(out)
        self._drawing = ThreadPoolExecutor(PRESSES)
        self._turn = Lock()
        self._press = Press(PRESSES)
        self._drawn: dict[str, Future[tuple[bytes, str]]] = {}
        self._promised: dict[str, Future[list[tuple[str, list[Guarantee]]]]] = {}

    def __enter__(self) -> Self:
        return self

    @cached_property
    def _folder(self) -> Path:
        """Where figures go: made when the first is drawn."""
        self._stage.__enter__()
        return self._stage.inside("report/figures")

    def add(self, outcome: ExperimentOutcome) -> None:
        """An experiment was played: begin to draw its figures, and to compute what theory says of it."""
        folder = self._folder
        self._promised[outcome.experiment.name] = self._drawing.submit(bounds_table, outcome.evidence)
        for picture in outcome.experiment.figures:
            name = named(outcome.experiment, picture)
            self._drawn[name] = self._drawing.submit(self._draw, folder / name, picture, outcome.evidence)

    def _draw(self, path: Path, picture: FigureSpec, evidence: Mapping[str, Evidence]) -> tuple[bytes, str]:
        """(the figure as SVG, its note); the figure and its data go into files."""
        files = {kind: path.with_name(f"{path.name}.{kind}") for kind in ("svg", "pdf", "png", "csv")}
        with self._turn:  # matplotlib does not bear threads
            figure = draw(picture, evidence)
        self._press.save(figure, [files[kind] for kind in ("svg", "pdf", "png")])
        table(picture, evidence).convert_dtypes().to_csv(files["csv"], index=False, lineterminator="\n")
        return files["svg"].read_bytes(), note(picture, evidence)

    def finish(self, summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> Path:
        """Write what is left, and put it all in its place. The page's path."""
        for outcome in outcomes:
            if outcome.experiment.name not in self._promised:
                self.add(outcome)
        self._folder.mkdir(exist_ok=True)  # where nothing was drawn
        drawn = {name: future.result() for name, future in self._drawn.items()}
        drawings = {name: drawing for name, (drawing, _) in drawn.items()}
        notes = {name: text for name, (_, text) in drawn.items()}
        bounds = {name: future.result() for name, future in self._promised.items()}
        texts = {
            "index.html": page(summary, outcomes, drawings, notes, bounds),
            "claims.md": markdown(summary, outcomes),
            "claims.json": json.dumps(_plain(summary, outcomes), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        }
        for name, text in texts.items():
            with open(self._stage.path(f"report/{name}"), "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        self._stage.commit()
        return self._out / "report" / "index.html"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drawing.shutdown(cancel_futures=True)
        self._press.close()
        if "_folder" in self.__dict__:
            self._stage.__exit__(kind, error, trace)


def _plain(summary: Summary, outcomes: Sequence[ExperimentOutcome]) -> dict[str, Any]:
    """All verdicts and numbers as plain data."""
    return {
        **asdict(summary),
        "experiments": [
            {
                "name": outcome.experiment.name,
                "title": outcome.experiment.title,
                "rounds": outcome.rounds,
                "seconds": outcome.spent,
                "claims": [
                    {
                        "sentence": judgement.claim.sentence,
                        "place": judgement.claim.place,
                        "reading": judgement.claim.reading,
                        "own": judgement.claim.own,
                        "confidence": judgement.claim.confidence,
                        "status": judgement.status,
                        "cases": [
                            {
                                "place": dict(case.place),
                                "status": case.judged.status,
                                "runs": case.runs,
                                "note": case.judged.note,
                                "findings": [_finding(asdict(finding)) for finding in case.judged.findings],
                            }
                            for case in judgement.cases
                        ],
                    }
                    for judgement in outcome.judgements
                ],
            }
            for outcome in outcomes
        ],
    }


def _finding(data: dict[str, Any]) -> dict[str, Any]:
    """What is no number as null, which JSON knows."""
    ends = {key: [_known(end) for end in data[key]] for key in ("interval", "allowed")}
    return {**data, **ends, "value": _known(data["value"])}


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
