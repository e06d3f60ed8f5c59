"""Puts the rows of a figure together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure

from belated.simulation.figures import BAND
from belated.studies.claims.evidence import Evidence
from belated.studies.figures.base import PanelRow
from belated.studies.figures.style import COLUMN, PAGE, SMALL

if TYPE_CHECKING:
    import pandas

_GOLDEN = 0.62
ON_A_PAGE, IN_A_COLUMN = 5, 3
"""Panels side by side at the most."""


@dataclass(frozen=True)
class FigureSpec:
    """A figure as data: its rows of panels."""

    name: str
    caption: str
    rows: tuple[PanelRow, ...]
    page: bool = False
    """Whether it is as wide as a page; as a column if not."""
    height: float = 1.0
    """Times the usual height."""


def draw(picture: FigureSpec, evidence: Mapping[str, Evidence]) -> Figure:
    """The figure of a picture."""
    with matplotlib.rc_context(SMALL):
        lines = _lines(picture, evidence)
        width = PAGE if picture.page else COLUMN
        heights = [_height(width, len(line)) * picture.height for line in lines]
        figure = Figure(figsize=(width, sum(heights) + 0.3), dpi=300, layout="constrained")
        parts = figure.subfigures(len(lines), 1, height_ratios=heights, squeeze=False)[:, 0]
        legends: dict[str, Any] = {}
        for part, line in zip(parts, lines, strict=True):
            alike = len({id(panel.row) for panel in line}) == 1 and line[0].row.alike
            axes = part.subplots(1, len(line), squeeze=False, sharey=alike)[0]
            for place, (one, panel) in enumerate(zip(axes, line, strict=True)):
                panel.row.draw(one, panel.evidence)
                if panel.title:
                    one.set_title(panel.title, pad=3)
                if panel.row.alike and (place == 0 or not alike):
                    one.set_ylabel(panel.row.ylabel)
            for one, panel in zip(axes, line, strict=True):
                panel.row.finish(one, _ticks(len(line), picture.page))
                for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
                    legends.setdefault(label, handle)
        if legends:
            figure.legend(
                list(legends.values()),
                list(legends),
                loc="outside upper center",
                ncols=_columns(list(legends), 105 if picture.page else 50),
            )
    return figure


@dataclass(frozen=True)
class _Panel:
    row: PanelRow
    title: str
    evidence: Evidence


def _lines(picture: FigureSpec, evidence: Mapping[str, Evidence]) -> list[list[_Panel]]:
    """The panels, line by line: a row has a line, or several if it has many panels; on a page, rows of one panel stand
    side by side."""
    rows = [[_Panel(row, title, shown) for title, shown in row.panels(evidence[row.study])] for row in picture.rows]
    if picture.page and all(len(row) == 1 for row in rows):
        rows = [[row[0] for row in rows]]
    most = ON_A_PAGE if picture.page else IN_A_COLUMN
    return [line for row in rows for line in _even(row, most)]


def _even(panels: list[_Panel], most: int) -> list[list[_Panel]]:
    """Panels in lines of at most so many, as even as may be."""
    count = -(-len(panels) // most)
    size = -(-len(panels) // count)
    return [panels[start : start + size] for start in range(0, len(panels), size)]


def _columns(labels: list[str], room: int) -> int:
    """Columns of a legend: all in a line if there is room for so many letters, else in as few even lines as may be."""
    lines = -(-sum(len(label) + 6 for label in labels) // room)
    return -(-len(labels) // lines)


def _ticks(panels: int, page: bool) -> int:
    """Ticks of an axis at the most."""
    return 7 if panels <= (2 if page else 1) else 4 if page else 2


def _height(width: float, count: int) -> float:
    return max(width / count * _GOLDEN, 1.35) if count > 1 else min(width, COLUMN * 1.3) * _GOLDEN


def note(picture: FigureSpec, evidence: Mapping[str, Evidence]) -> str:
    """Runs and bands, in words."""
    counts = sorted(
        {
            result.runs
            for row in picture.rows
            for _, shown in row.panels(evidence[row.study])
            for result in shown.results
        }
    )
    runs = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    errors = (
        f"; bands and bars are {BAND:g} standard errors to each side" if any(row.errors for row in picture.rows) else ""
    )
    return f"Means of {runs} runs{errors}."


def table(picture: FigureSpec, evidence: Mapping[str, Evidence]) -> pandas.DataFrame:
    """What a figure shows, as a tidy table."""
    import pandas

    rows = [
        {"study": row.study, "panel": title, **line}
        for row in picture.rows
        for title, shown in row.panels(evidence[row.study])
        for line in row.table(shown)
    ]
    return pandas.DataFrame(rows)
