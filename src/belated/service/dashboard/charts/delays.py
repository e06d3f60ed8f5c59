"""Delay curves (Kaplan-Meier), and pending decisions by age."""

from __future__ import annotations

import math
from collections.abc import Callable

from markupsafe import Markup

from belated.service.api.messages import CurveAnswer, DelaysAnswer
from belated.service.dashboard.charts.base import (
    UNITS,
    Part,
    chart,
    colour,
    dash,
    element,
    label_classes,
    nice_step,
    path,
    percent,
    stretched,
)
from belated.service.dashboard.formatting import compact, duration, grouped, share, truncate
from belated.service.dashboard.schemas import Ages

HEIGHT, TOP, BOTTOM = 280.0, 12.0, 30.0
AGES_TOP = 24.0
TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0, 2_592_000.0, 31_536_000.0)
MIN_SECONDS = 0.001
VISIBLE_SHARE = 0.005
"""The time axis starts where a curve exceeds this share."""
MAX_BANDS = 4
"""Intervals are drawn for at most this many arms."""
MIN_BINS = 6
"""Bins of age that are always drawn; older ones only if needed."""


def delays_chart(delays: DelaysAnswer, slots: dict[int, int]) -> Markup | None:
    """Kaplan-Meier curves over a logarithmic time axis, for the arms with a colour; None before the first feedback."""
    curves = [(delays.curves[index], slot) for index, slot in slots.items() if index < len(delays.curves)]
    curves = [(curve, slot) for curve, slot in curves if curve.seconds]
    if not curves:
        return None
    low = max(min(_first(curve) for curve, _ in curves), MIN_SECONDS)
    high = max(curve.seconds[-1] for curve, _ in curves)
    begin = max((tick for tick in TICKS if tick <= low), default=MIN_SECONDS)
    end = max(high, begin * 10.0) * 1.15

    def x(seconds: float) -> float:
        return math.log(max(seconds, begin) / begin) / math.log(end / begin)

    parts: list[Part] = [_level(level) for level in (0.0, 0.25, 0.5, 0.75, 1.0)]
    ticks = [(x(tick), duration(tick)) for tick in TICKS if begin <= tick <= end]
    for (at, text), label_class in zip(ticks, label_classes(ticks), strict=True):
        line = element("line", class_="grid", x1=percent(at), x2=percent(at), y1=TOP, y2=HEIGHT - BOTTOM)
        label = element(
            "text", text, class_=f"tick{label_class}", x=percent(at), y=HEIGHT - BOTTOM + 18, text_anchor="middle"
        )
        parts += [line, label]
    bands = [_band(curve, slot, x) for curve, slot in curves] if len(curves) <= MAX_BANDS else []
    parts.append(stretched(HEIGHT, *bands, *(_line(curve, slot, x) for curve, slot in curves)))
    description = "; ".join(_describe(curve) for curve, _ in curves)
    return chart("delays", "Delay curve of each arm", description, HEIGHT, parts)


def _first(curve: CurveAnswer) -> float:
    """When a curve becomes visible."""
    visible = (seconds for seconds, part in zip(curve.seconds, curve.answered, strict=True) if part >= VISIBLE_SHARE)
    return next(visible, curve.seconds[-1])


def _y(part: float) -> float:
    return TOP + (1.0 - part) * (HEIGHT - TOP - BOTTOM)


def _level(level: float) -> Markup:
    line = element("line", class_="grid", x1=0, x2="100%", y1=_y(level), y2=_y(level))
    return line + element("text", f"{level:.0%}", class_="tick", x=-8, y=_y(level) + 4, text_anchor="end")


def _steps(curve: CurveAnswer, values: list[float], x: Callable[[float], float]) -> list[tuple[float, float]]:
    points, before = [(0.0, _y(0.0))], 0.0
    for seconds, value in zip(curve.seconds, values, strict=True):
        at = UNITS * x(seconds)
        points += [(at, _y(before)), (at, _y(value))]
        before = value
    return [*points, (UNITS, _y(before))]


def _line(curve: CurveAnswer, slot: int, x: Callable[[float], float]) -> Markup:
    steps = path(_steps(curve, curve.answered, x))
    shape = element("path", class_=f"line {colour(slot)}", d=steps, stroke_dasharray=dash(slot))
    return element("g", element("title", _describe(curve)), shape)


def _band(curve: CurveAnswer, slot: int, x: Callable[[float], float]) -> Markup:
    low = [value if value is not None else mid for value, mid in zip(curve.lower, curve.answered, strict=True)]
    high = [value if value is not None else mid for value, mid in zip(curve.upper, curve.answered, strict=True)]
    outline = _steps(curve, low, x) + _steps(curve, high, x)[::-1]
    return element("path", class_=f"band {colour(slot)}", d=path(outline, closed=True))


def _describe(curve: CurveAnswer) -> str:
    half = next((s for s, part in zip(curve.seconds, curve.answered, strict=True) if part >= 0.5), None)
    reached = f"half within {duration(half)}" if half is not None else "not half of them yet"
    return f"{truncate(curve.arm)}: {reached}, {share(curve.answered[-1])} within {duration(curve.seconds[-1])}"


def ages_chart(ages: Ages) -> Markup:
    """Pending decisions by age, as bars."""
    most = max(ages.pending)
    step = nice_step(most, 4)
    top = step * -(-most // step)
    last = max(index for index, count in enumerate(ages.pending) if count or index < MIN_BINS)
    pending = ages.pending[: last + 2]
    wide = 1.0 / len(pending)
    labels = [((index + 0.5) * wide, _bin_tick(ages.edges, index)) for index in range(len(pending))]

    def y(count: float) -> float:
        return AGES_TOP + (1.0 - count / top) * (HEIGHT - AGES_TOP - BOTTOM)

    parts: list[Part] = []
    for level in range(round(top / step) + 1):
        count = level * step
        parts.append(element("line", class_="grid", x1=0, x2="100%", y1=y(count), y2=y(count)))
        parts.append(element("text", compact(round(count)), class_="tick", x=-8, y=y(count) + 4, text_anchor="end"))
    values = [(at, compact(count)) for (at, _), count in zip(labels, pending, strict=True)]
    columns = zip(labels, label_classes(labels), values, label_classes(values, gap=2.0), strict=True)
    for index, ((at, label), label_class, (_, value), value_class) in enumerate(columns):
        count = pending[index]
        x, middle = percent(at - 0.36 * wide), percent(at)
        bar: list[Part] = [element("title", f"{_bin_label(ages.edges, index)}: {grouped(count)} pending")]
        if count:
            bar.append(
                element("rect", class_="bar", x=x, y=y(count), width=percent(0.72 * wide), height=y(0) - y(count), rx=2)
            )
            bar.append(
                element("text", value, class_=f"value{value_class}", x=middle, y=y(count) - 6, text_anchor="middle")
            )
        bar.append(
            element(
                "text",
                label,
                class_=f"tick small{label_class}",
                x=middle,
                y=HEIGHT - BOTTOM + 18,
                text_anchor="middle",
            )
        )
        parts.append(element("g", *bar))
    description = "; ".join(
        f"{_bin_label(ages.edges, index)}: {count}" for index, count in enumerate(ages.pending) if count
    )
    return chart("ages", "Pending decisions by age", description or "nothing is pending", HEIGHT, parts)


def _bin_label(edges: list[float], index: int) -> str:
    if index + 1 == len(edges):
        return f"{duration(edges[index])} and older"
    return f"{duration(edges[index])} to {duration(edges[index + 1])}"


def _bin_tick(edges: list[float], index: int) -> str:
    return f"≥ {duration(edges[index])}" if index + 1 == len(edges) else f"< {duration(edges[index + 1])}"
