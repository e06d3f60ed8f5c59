"""Figures of experiments: rows of panels, declared as data, drawn from evidence."""

from belated.studies.figures import dots, lines, tiles  # noqa: F401  (they list their kinds of rows)
from belated.studies.figures.base import ROWS, PanelRow, Reference
from belated.studies.figures.compose import FigureSpec, draw, note, table

__all__ = ["ROWS", "FigureSpec", "PanelRow", "Reference", "draw", "note", "table"]
