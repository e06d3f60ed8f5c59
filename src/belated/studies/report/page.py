"""The report as one page of HTML without a network: style and pictures are inside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from belated.studies.claims.evidence import shown
from belated.studies.experiments import named
from belated.studies.report import phrasing
from belated.studies.report.grid import grid
from belated.studies.report.guarantees import Guarantee
from belated.studies.report.summary import Summary
from belated.studies.reproduce import ExperimentOutcome


def page(
    summary: Summary,
    outcomes: Sequence[ExperimentOutcome],
    drawings: Mapping[str, bytes],
    notes: Mapping[str, str],
    bounds: Mapping[str, Sequence[tuple[str, list[Guarantee]]]],
) -> str:
    """The page; ``drawings`` are SVG pictures by name, ``notes`` what stands below each; ``bounds`` is what theory
    guarantees in the studies of each experiment."""
    folder = files("belated.studies.report")
    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.globals.update(words=phrasing, shown=shown, MARKS=phrasing.MARKS, grid=grid, named=named)
    template = made.from_string((folder / "page.html").read_text(encoding="utf-8"))
    return template.render(
        style=(folder / "page.css").read_text(encoding="utf-8"),
        summary=summary,
        outcomes=outcomes,
        notes=notes,
        pictures={
            name: "data:image/svg+xml;base64," + base64.b64encode(data).decode() for name, data in drawings.items()
        },
        guarantees=bounds,
    )
