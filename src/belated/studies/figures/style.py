"""How the figures of a reproduction look: readable at the width of a column, policies told apart by colour, dash and
marker, the same in every figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from belated.simulation.figures import COLOURS, STYLE

COLUMN = 3.4
"""Inches of a column."""
PAGE = 7.0
"""Inches of a page of two columns."""
SMALL: Any = {
    **STYLE,
    "font.size": 7.5,
    "text.parse_math": False,
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "legend.handlelength": 2.2,
    "legend.columnspacing": 1.2,
}
_ORDER = ("UCB", "SE", "PSE", "OPSE", "PB", "PB (1/2)", "Optimistic-UCB", "Thompson", "Uniform")
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (4, 1.2)),
    (0, (5, 1, 1, 1)),
    (0, (2.2, 0.8)),
    "-",
    (0, (4, 1)),
    (0, (6, 1, 1, 1, 1, 1)),
    (0, (1, 0.7)),
    (0, (1, 2)),
)
_COLOURS = (*COLOURS, "#999999")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h", ".")


def style_for(label: str, among: Sequence[str]) -> dict[str, Any]:
    """Colour, dash and marker of a policy: one that the figures know has its own in all of them, the others take those
    that are free, in their order."""
    free = [number for number, name in enumerate(_ORDER) if name not in among]
    unknown = [name for name in among if name not in _ORDER]
    number = _ORDER.index(label) if label in _ORDER else (free or [0])[unknown.index(label) % len(free or [0])]
    return {"color": _COLOURS[number], "linestyle": _DASHES[number], "marker": _MARKERS[number]}


def thousands(value: float, _: Any = None) -> str:
    """20,000 as 20k.

    >>> thousands(20_000), thousands(2_500_000), thousands(0.25), thousands(0), thousands(-1500)
    ('20k', '2.5M', '0.25', '0', '-1.5k')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def tidy(*axes: Any, most: int = 5) -> None:
    """Few ticks, in short numbers; a logarithmic axis keeps its own places."""
    for axis in axes:
        if axis.get_scale() == "linear":
            axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(thousands))
        axis.set_minor_formatter(NullFormatter())
