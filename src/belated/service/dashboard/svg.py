"""SVG primitives for the charts: escaped elements, scales, ticks, colours and patterns.

Charts scale in width but not in height or font size: x coordinates are percentages between the margins of the style
sheet, and lines and areas are stretched.

Colours are classes (``c0`` to ``c7``, ``rest``), which the style sheet defines for light and dark themes; patterns and
dashes distinguish arms without colour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from markupsafe import Markup, escape

DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 3", "12 4", "7 2 1 2 1 2")
"""Dash pattern of a line, by colour."""
Part = str | Markup


def element(tag: str, *parts: Part, **attributes: object) -> Markup:
    """An element with escaped texts and values. ``class_`` is class, ``stroke_width`` is stroke-width.

    >>> element("text", "<b>", x=1.50, class_="label")
    Markup('<text x="1.5" class="label">&lt;b&gt;</text>')
    """
    head = ""
    for name, value in attributes.items():
        if value is not None:
            text = f"{value:.6g}" if isinstance(value, float) else value
            head += f' {name.rstrip("_").replace("_", "-")}="{escape(text)}"'
    return Markup(f"<{tag}{head}>{''.join(escape(part) for part in parts)}</{tag}>")


def chart(key: str, title: str, description: str, height: float, parts: Iterable[Part]) -> Markup:
    """A complete SVG, with a title and a description for screen readers."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-desc"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_=f"chart {key}",
        width="100%",
        height=height,
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
    )


def percent(fraction: float) -> str:
    """An x coordinate between the left margin (0) and the right one (1).

    >>> percent(0.25)
    '25%'
    """
    return f"{100.0 * fraction:.5g}%"


def level(y: float, text: str, class_: str = "grid") -> Markup:
    """A horizontal line of the grid, with its label."""
    line = element("line", class_=class_, x1=0, x2="100%", y1=y, y2=y)
    return line + element("text", text, class_="tick", x=-8, y=y + 4, text_anchor="end")


def vertical(class_: str, x: str, top: float, bottom: float) -> Markup:
    """A vertical line."""
    return element("line", class_=class_, x1=x, x2=x, y1=top, y2=bottom)


def label(text: str, class_: str, x: str, y: float, anchor: str = "middle") -> Markup:
    """A text at a point."""
    return element("text", text, class_=class_, x=x, y=y, text_anchor=anchor)


UNITS = 1_000.0
"""Width of the stretched coordinate system."""


def stretched(height: float, *parts: Part) -> Markup:
    """Lines and areas stretched to the width of the chart; the style sheet keeps stroke widths."""
    box = f"0 0 {UNITS:g} {height:g}"
    return element(
        "svg", *parts, class_="stretched", viewBox=box, preserveAspectRatio="none", width="100%", height=height
    )


_CHARACTER, _GAP = 5.9, 6.0
_BREAKPOINTS = ((250.0, ""), (370.0, " from-420"), (560.0, " from-640"))
"""(chart width, class of labels that are visible from this width on)."""
_WIDEST = " from-900"


def label_classes(labels: Sequence[tuple[float, str]], gap: float = _GAP) -> list[str]:
    """The class of each label (position, text) of an axis: a narrow chart shows only every second or fourth.

    >>> label_classes([(0.0, "1 min"), (0.1, "2 min"), (0.2, "3 min"), (0.3, "4 min")])
    ['', ' from-420', '', ' from-420']
    """
    classes = [_WIDEST] * len(labels)
    for width, breakpoint in reversed(_BREAKPOINTS):
        step = 1
        while step < len(labels) and not _fit(labels[::step], width, gap):
            step *= 2
        classes[::step] = [breakpoint] * len(classes[::step])
    return classes


def _fit(labels: Sequence[tuple[float, str]], width: float, gap: float) -> bool:
    return all(
        (there - here) * width >= (len(one) + len(other)) / 2 * _CHARACTER + gap
        for (here, one), (there, other) in pairwise(labels)
    )


def colour(slot: int | None) -> str:
    """The class of a colour slot."""
    return "rest" if slot is None else f"c{slot}"


def dash(slot: int | None) -> str | None:
    """The dash pattern of a line."""
    return DASHES[slot % len(DASHES)] or None if slot is not None else None


def path(points: Iterable[tuple[float, float]], closed: bool = False) -> str:
    """Path data through points."""
    text = "L".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return f"M{text}{'Z' if closed else ''}" if text else ""


_PATTERNS = (
    (8, ""),
    (7, "M-2,2l4,-4M0,7l7,-7M5,9l4,-4"),
    (6, "M1.5,3a1,1 0 1 0 2,0a1,1 0 1 0 -2,0"),
    (6, "M0,3h6"),
    (7, "M-2,5l4,4M0,0l7,7M5,-2l4,4"),
    (6, "M3,0v6"),
    (7, "M0,3.5h7M3.5,0v7"),
    (8, "M0,8l8,-8M0,0l8,8"),
)


def patterns() -> Markup:
    """The definitions of the hatch patterns, once per page."""
    definitions = [
        element(
            "pattern",
            element("path", d=lines, class_="hatch"),
            id=f"hatch{slot}",
            width=size,
            height=size,
            patternUnits="userSpaceOnUse",
        )
        for slot, (size, lines) in enumerate(_PATTERNS)
        if lines
    ]
    return element("svg", element("defs", *definitions), class_="patterns", aria_hidden="true", focusable="false")


def filled(slot: int | None, tag: str, *parts: Part, **shape: object) -> Markup:
    """An area in the colour and pattern of an arm."""
    over = slot is not None and bool(_PATTERNS[slot][1])
    under = element(tag, *parts, class_=f"area {colour(slot)}", **shape)
    return under + element(tag, class_="over", fill=f"url(#hatch{slot})", **shape) if over else under


def hatched(slot: int | None, shape: str, height: float) -> Markup:
    """The pattern over a stretched area, itself not stretched."""
    if slot is None or not _PATTERNS[slot][1]:
        return Markup("")
    inner = element("path", d=shape, transform=f"scale({1.0 / UNITS:g} {1.0 / height:g})")
    clip = element("clipPath", inner, id=f"clip{slot}", clipPathUnits="objectBoundingBox")
    whole = {"x": 0, "y": 0, "width": "100%", "height": height}
    return clip + element("rect", class_="over", fill=f"url(#hatch{slot})", clip_path=f"url(#clip{slot})", **whole)


def swatch(slot: int | None) -> Markup:
    """A square in the colour and pattern of an arm, for legends."""
    square = filled(slot, "rect", width=14, height=14, rx=3)
    return element("svg", square, class_="swatch", viewBox="0 0 14 14", aria_hidden="true", focusable="false")


def nice_step(most: float, ticks: int) -> float:
    """A step of 1, 2 or 5 times a power of ten that gives about ``ticks`` ticks.

    >>> nice_step(83, 5), nice_step(3, 5)
    (20.0, 1.0)
    """
    raw = max(most, 1e-9) / ticks
    power = 10.0 ** math.floor(math.log10(raw))
    return max(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * 0.999), 1.0)
