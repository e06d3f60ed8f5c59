"""Delay curves: the share of answers that came within so long, by Kaplan and Meier."""

from __future__ import annotations

import math

from markupsafe import Markup

from belated.service.api.messages import CurveAnswer, DelaysAnswer
from belated.service.dashboard.charts.base import (
    UNITS,
    Part,
    across,
    colour,
    dash,
    element,
    path,
    picture,
    rooms,
    stretched,
)
from belated.service.dashboard.formatting import cut, duration, share

HEIGHT, TOP, BOTTOM = 280.0, 12.0, 30.0
TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0, 2_592_000.0, 31_536_000.0)
LEAST = 0.001
HARDLY = 0.005
"""What is below this is hardly seen, and the time axis need not begin there."""
MOST_BANDS = 4
"""Intervals are drawn for this many arms, at the most."""


def delays_chart(delays: DelaysAnswer, slots: dict[int, int]) -> Markup | None:
    """Steps over a logarithmic time axis, for the arms that have a colour; None before the first answer."""
    curves = [(delays.curves[place], slot) for place, slot in slots.items() if place < len(delays.curves)]
    curves = [(curve, slot) for curve, slot in curves if curve.seconds]
    if not curves:
        return None
    low = max(min(_first(curve) for curve, _ in curves), LEAST)
    high = max(curve.seconds[-1] for curve, _ in curves)
    begin = max((tick for tick in TICKS if tick <= low), default=LEAST)
    end = max(high, begin * 10.0) * 1.15

    def x(seconds: float) -> float:
        return math.log(max(seconds, begin) / begin) / math.log(end / begin)

    parts: list[Part] = [_level(level) for level in (0.0, 0.25, 0.5, 0.75, 1.0)]
    ticks = [(x(tick), duration(tick)) for tick in TICKS if begin <= tick <= end]
    for (at, text), room in zip(ticks, rooms(ticks), strict=True):
        line = element("line", class_="grid", x1=across(at), x2=across(at), y1=TOP, y2=HEIGHT - BOTTOM)
        label = element("text", text, class_=f"tick{room}", x=across(at), y=HEIGHT - BOTTOM + 18, text_anchor="middle")
        parts += [line, label]
    bands = [_band(curve, slot, x, end) for curve, slot in curves] if len(curves) <= MOST_BANDS else []
    parts.append(stretched(HEIGHT, *bands, *(_line(curve, slot, x, end) for curve, slot in curves)))
    told = "; ".join(_told(curve) for curve, _ in curves)
    return picture("delays", "Delay curve of each arm", told, HEIGHT, parts)


def _first(curve: CurveAnswer) -> float:
    """When a curve begins to be seen."""
    seen = (seconds for seconds, part in zip(curve.seconds, curve.answered, strict=True) if part >= HARDLY)
    return next(seen, curve.seconds[-1])


def _y(part: float) -> float:
    return TOP + (1.0 - part) * (HEIGHT - TOP - BOTTOM)


def _level(level: float) -> Markup:
    line = element("line", class_="grid", x1=0, x2="100%", y1=_y(level), y2=_y(level))
    return line + element("text", f"{level:.0%}", class_="tick", x=-8, y=_y(level) + 4, text_anchor="end")


def _steps(curve: CurveAnswer, values: list[float], x: object, end: float) -> list[tuple[float, float]]:
    assert callable(x)
    points, before = [(0.0, _y(0.0))], 0.0
    for seconds, value in zip(curve.seconds, values, strict=True):
        at = UNITS * x(seconds)
        points += [(at, _y(before)), (at, _y(value))]
        before = value
    return [*points, (UNITS, _y(before))]


def _line(curve: CurveAnswer, slot: int, x: object, end: float) -> Markup:
    steps = path(_steps(curve, curve.answered, x, end))
    shape = element("path", class_=f"line {colour(slot)}", d=steps, stroke_dasharray=dash(slot))
    return element("g", element("title", _told(curve)), shape)


def _band(curve: CurveAnswer, slot: int, x: object, end: float) -> Markup:
    low = [value if value is not None else mid for value, mid in zip(curve.lower, curve.answered, strict=True)]
    high = [value if value is not None else mid for value, mid in zip(curve.upper, curve.answered, strict=True)]
    outline = _steps(curve, low, x, end) + _steps(curve, high, x, end)[::-1]
    return element("path", class_=f"band {colour(slot)}", d=path(outline, closed=True))


def _told(curve: CurveAnswer) -> str:
    half = next((s for s, part in zip(curve.seconds, curve.answered, strict=True) if part >= 0.5), None)
    reached = f"half within {duration(half)}" if half is not None else "not half of them yet"
    return f"{cut(curve.arm)}: {reached}, {share(curve.answered[-1])} within {duration(curve.seconds[-1])}"
