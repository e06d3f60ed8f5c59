"""Figures of experiments: rows of panels, declared as data, drawn from evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import matplotlib
from matplotlib.figure import Figure

from belated.simulation.figures import BAND
from belated.specs.tables import Key, Text, from_table_by_kind, tables
from belated.studies.claims import Evidence
from belated.studies.figures import rows  # noqa: F401  (registers the kinds of rows)
from belated.studies.figures.base import COLUMN, PAGE, ROWS, SMALL, PanelRow, Reference
from belated.validation import Domain

if TYPE_CHECKING:
    import pandas

__all__ = ["ROWS", "FigureSpec", "PanelRow", "Reference", "describe_runs", "draw", "table"]


def _read_rows(data: Any, at: str) -> tuple[PanelRow, ...]:
    return tuple(from_table_by_kind(ROWS, row, key) for key, row in tables(data, at))


@dataclass(frozen=True)
class FigureSpec:
    """A figure as data: its rows of panels."""

    name: Text
    caption: Text
    rows: Annotated[tuple[PanelRow, ...], Key(read=_read_rows, give="a list of rows")]
    page: bool = False
    """Whether it is as wide as a page; as a column if not."""
    height: Annotated[float, Domain(0.1, 10.0, open_low=True, open_high=True)] = 1.0
    """A factor of the default height."""


_Panel = tuple[PanelRow, str, Evidence]
"""A row, the title of one of its panels, and the evidence that the panel shows."""


def draw(spec: FigureSpec, evidence: Mapping[str, Evidence]) -> Figure:
    """Draw a figure."""
    with matplotlib.rc_context(SMALL):
        lines = _lines(spec, evidence)
        width = PAGE if spec.page else COLUMN
        shapes = [width / len(line) if len(line) > 1 else min(width, COLUMN * 1.3) for line in lines]
        heights = [max(0.62 * shape, 1.35) * spec.height for shape in shapes]
        figure = Figure(figsize=(width, sum(heights) + 0.3), dpi=300, layout="constrained")
        parts = figure.subfigures(len(lines), 1, height_ratios=heights, squeeze=False)[:, 0]
        legends: dict[str, Any] = {}
        for part, line in zip(parts, lines, strict=True):
            shared = len({id(row) for row, _, _ in line}) == 1 and line[0][0].shares_y
            axes = part.subplots(1, len(line), squeeze=False, sharey=shared)[0]
            for number, (one, (row, title, shown)) in enumerate(zip(axes, line, strict=True)):
                row.draw(one, shown)
                if title:
                    one.set_title(title, pad=3)
                if row.shares_y and (number == 0 or not shared):
                    one.set_ylabel(row.ylabel)
            for one, (row, _, _) in zip(axes, line, strict=True):
                row.finish(one, 7 if len(line) <= (2 if spec.page else 1) else 4 if spec.page else 2)
                for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
                    legends.setdefault(label, handle)
        if legends:
            figure.legend(
                list(legends.values()),
                list(legends),
                loc="outside upper center",
                ncols=_columns(list(legends), 105 if spec.page else 50),
            )
    return figure


def _lines(spec: FigureSpec, evidence: Mapping[str, Evidence]) -> list[list[_Panel]]:
    """The panels, line by line: a row has a line, or several if it has many panels; on a page, rows of one panel stand
    side by side."""
    lines = [[(row, title, part) for title, part in row.panels(evidence[row.study])] for row in spec.rows]
    if spec.page and all(len(line) == 1 for line in lines):
        lines = [[line[0] for line in lines]]
    most = 5 if spec.page else 3  # side by side
    parts = []
    for line in lines:
        size = math.ceil(len(line) / math.ceil(len(line) / most))  # as even as possible
        parts += [line[start : start + size] for start in range(0, len(line), size)]
    return parts


def _columns(labels: list[str], letters: int) -> int:
    """Columns of a legend: all in one line if that many letters suffice, else in as few even lines as possible."""
    lines = -(-sum(len(label) + 6 for label in labels) // letters)
    return -(-len(labels) // lines)


def describe_runs(spec: FigureSpec, evidence: Mapping[str, Evidence]) -> str:
    """Runs and error bars of a figure, in words."""
    panels = [panel for line in _lines(spec, evidence) for panel in line]
    counts = sorted({result.runs for _, _, part in panels for result in part.results})
    runs = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    bars = f"; bands and bars are {BAND:g} standard errors to each side"
    return f"Means of {runs} runs{bars if any(row.shows_errors for row in spec.rows) else ''}."


def table(spec: FigureSpec, evidence: Mapping[str, Evidence]) -> pandas.DataFrame:
    """The numbers of a figure, as a tidy table."""
    import pandas

    panels = [panel for line in _lines(spec, evidence) for panel in line]
    lines = [{"study": row.study, "panel": title, **line} for row, title, part in panels for line in row.table(part)]
    return pandas.DataFrame(lines)
