"""Figures that a notebook shows exactly once, with or without pyplot."""

from __future__ import annotations

import base64
import importlib
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.figure import Figure

FILE_DPI, SCREEN_DPI = 150, 100


class NotebookFigure(Figure):
    """A figure that a notebook shows once: when it is displayed, or at the end of the cell that made it."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """The picture for IPython. What is displayed now is not shown again at the end of the cell."""
        if "matplotlib.pyplot" in sys.modules and _shows_figures():
            from matplotlib import pyplot

            pyplot.close(self)
            if _is_last_value():
                _show_open_figures()
            return {}  # IPython draws it in the formats that its user chose
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=SCREEN_DPI)
        return {"image/png": base64.b64encode(buffer.getvalue()).decode(), "text/plain": repr(self)}


@contextmanager
def style_context(style: Any) -> Iterator[None]:
    """A context with settings of matplotlib. The backend of a notebook is loaded before, as it changes settings, too,
    which would be lost at the end."""
    if _shows_figures():
        importlib.import_module("matplotlib_inline.backend_inline")
    with matplotlib.rc_context(style):
        yield


def new_figure(width: float, height: float) -> Figure:
    """A new figure, its size in inches. In a notebook pyplot knows it, so that its last line need not be the figure."""
    if not _shows_figures():
        return NotebookFigure(figsize=(width, height), dpi=FILE_DPI, layout="constrained")
    from matplotlib import pyplot

    return pyplot.figure(FigureClass=NotebookFigure, figsize=(width, height), dpi=SCREEN_DPI, layout="constrained")


def _shows_figures() -> bool:
    """Whether this is a notebook that shows the open figures of pyplot at the end of each cell."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return hasattr(shell, "kernel") and "inline" in matplotlib.get_backend()


def _is_last_value() -> bool:
    """Whether the kernel is displaying the value of a cell's last line: nothing changes the other figures any more."""
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell.displayhook, "msg", None) is not None


def _show_open_figures() -> None:
    """Show what would be shown at the end of the cell, so that the last value does not come before it."""
    from IPython import display
    from matplotlib import pyplot

    show: Any = display.display
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    pyplot.close("all")
    for figure in figures:
        show(figure)
