"""Figures of experiments: rows of panels, declared as data, drawn from evidence."""

from belated.panels import dots, lines, tiles  # noqa: F401  (they list their kinds of rows)
from belated.panels.base import ROWS, Reference, Row
from belated.panels.compose import Picture, draw, note, table

__all__ = ["ROWS", "Picture", "Reference", "Row", "draw", "note", "table"]
