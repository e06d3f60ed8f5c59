"""Labels beside the ends of lines, instead of a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEADING = 1.25
"""The distance of two labels in heights of their letters."""


def label_lines(axes: Axes) -> None:
    """Write the label of each line right of its end, in its colour; labels that would overlap move apart."""
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    if not lines:
        return
    figure: Any = axes.get_figure(root=True)
    size = _font_size(axes)
    figure.draw_without_rendering()  # the layout, and with it the height of the axes
    scale = 72.0 / figure.dpi
    box = axes.get_window_extent()
    bottom, top = box.y0 * scale, box.y1 * scale
    ends = [float(axes.transData.transform((1.0, np.asarray(line.get_ydata())[-1]))[1]) * scale for line in lines]
    heights = spread(ends, _LEADING * size, bottom, top)
    for line, height in zip(lines, heights, strict=True):
        axes.annotate(
            str(line.get_label()),
            (1.0, (height - bottom) / (top - bottom)),
            xycoords="axes fraction",
            xytext=(6, 0),
            textcoords="offset points",
            color=line.get_color(),
            fontsize=size,
            va="center",
            annotation_clip=False,
        )


def _font_size(axes: Axes) -> float:
    """The size of the axes' tick labels."""
    labels = axes.get_xticklabels()
    return float(labels[0].get_fontsize()) if labels else 10.0


def spread(ends: Sequence[float], apart: float, bottom: float, top: float) -> list[float]:
    """Heights near the ends, in their order, from ``bottom`` to ``top``, at least ``apart`` or, if they do not fit, as
    far as they can be: those that would overlap share the difference.

    >>> spread([0.0, 5.0, 5.0], 2.0, 0.0, 10.0)
    [0.0, 4.0, 6.0]
    """
    apart = min(apart, (top - bottom) / max(len(ends) - 1, 1))
    order = np.argsort(ends, kind="stable")
    groups: list[tuple[float, int]] = []  # (height of the first label, number of labels)
    for end in np.clip(np.asarray(ends, np.float64)[order], bottom, top):
        first, count = float(end), 1
        while groups and groups[-1][0] + groups[-1][1] * apart > first:
            before, size = groups.pop()
            first = (size * before + count * (first - size * apart)) / (size + count)
            count += size
            first = min(max(first, bottom), top - (count - 1) * apart)
        groups.append((first, count))
    placed = [0.0] * len(ends)
    heights = (first + step * apart for first, count in groups for step in range(count))
    for place, height in zip(order, heights, strict=True):
        placed[int(place)] = height
    return placed
