"""The report as one self-contained HTML page: style and figures are inline."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from belated.studies.claims.evidence import axis_value
from belated.studies.report import phrasing
from belated.studies.report.bounds_table import StudyBounds
from belated.studies.report.summary import Summary
from belated.studies.reproduce import ExperimentOutcome


def page(
    summary: Summary,
    outcomes: Sequence[ExperimentOutcome],
    figures: Mapping[str, tuple[bytes, str]],
    bounds: Mapping[str, Sequence[StudyBounds]],
) -> str:
    """The page; ``figures`` are the SVG of each and the note below it, ``bounds`` what theory guarantees in the studies
    of each experiment."""
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
    )
