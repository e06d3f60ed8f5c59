"""Figures of experiments: rows of panels, declared as data, drawn from evidence."""

from belated.studies.figures import rows  # noqa: F401  (registers the kinds of rows)
from belated.studies.figures.base import ROWS, PanelRow, Reference
from belated.studies.figures.compose import FigureSpec, describe_runs, draw, table

__all__ = ["ROWS", "FigureSpec", "PanelRow", "Reference", "describe_runs", "draw", "table"]
