"""The report of a reproduction: a page, figures with their data, and the claims as Markdown and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from belated.experiments import named
from belated.panels import draw, note, table
from belated.report.drawing import save_figures
from belated.report.markdown import markdown
from belated.report.page import page
from belated.report.summary import Summary, summed
from belated.reproduce import Outcome
from belated.stage import Stage

__all__ = ["Summary", "summed", "write_report"]


def write_report(out: Path, summary: Summary, outcomes: Sequence[Outcome]) -> Path:
    """Write ``out``/report: all of it, or nothing. The page's path."""
    pictures = {
        named(outcome.experiment, picture): (picture, outcome.evidence)
        for outcome in outcomes
        for picture in outcome.experiment.figures
    }
    with Stage(out) as stage:
        folder = stage.inside("report/figures")
        save_figures({name: draw(*pair) for name, pair in pictures.items()}, folder)
        drawings = {name: (folder / f"{name}.svg").read_bytes() for name in pictures}
        notes = {name: note(*pair) for name, pair in pictures.items()}
        for name, pair in pictures.items():
            frame = table(*pair).convert_dtypes()
            frame.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
        texts = {
            "index.html": page(summary, outcomes, drawings, notes),
            "claims.md": markdown(summary, outcomes),
            "claims.json": json.dumps(_plain(summary, outcomes), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        }
        for name, text in texts.items():
            with open(stage.path(f"report/{name}"), "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        stage.commit()
    return out / "report" / "index.html"


def _plain(summary: Summary, outcomes: Sequence[Outcome]) -> dict[str, Any]:
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
