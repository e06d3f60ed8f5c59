"""Charts of the arms: share of traffic over time, estimates and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from belated.service.api.messages import ArmAnswer
from belated.service.dashboard.charts.base import (
    UNITS,
    Part,
    chart,
    colour,
    element,
    filled,
    hatched,
    label_classes,
    path,
    percent,
    stretched,
)
from belated.service.dashboard.formatting import clock_time, figure, grouped, prefix, share, truncate
from belated.service.dashboard.schemas import Bracket, Elimination, Traffic
from belated.service.timestamps import parse

HEIGHT, TOP, BOTTOM = 250.0, 14.0, 26.0
ROWS_TOP, ROWS_BOTTOM, ROW = 8.0, 30.0, 34.0
MIN_BRACKET = 0.004
"""Minimum width of a bracket."""
MAX_ROWS = 12
STEPS = (1, 2, 5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200)
DAYS = (1, 2, 5, 7, 14, 30, 60, 90, 180, 365, 730)
MAX_TICKS = 8


def traffic_chart(traffic: Traffic, eliminated: list[Elimination], slots: dict[int, int]) -> Markup:
    """The share of each arm over time, as stacked areas."""
    begin, end = _micros(traffic.begin[0]), _micros(traffic.end[-1])
    wide = max(end - begin, 1)
    middles = [(_micros(a) + _micros(b)) / 2 for a, b in zip(traffic.begin, traffic.end, strict=True)]
    xs = [0.0, *(UNITS * (at - begin) / wide for at in middles), UNITS]
    totals = [sum(each) for each in zip(*(series.decisions for series in traffic.series), strict=True)]
    below = [0.0] * len(xs)
    areas: list[Part] = []
    hatches: list[Part] = []
    for series in traffic.series:
        shares = [count / total if total else 0.0 for count, total in zip(series.decisions, totals, strict=True)]
        above = [low + part for low, part in zip(below, [shares[0], *shares, shares[-1]], strict=True)]
        outline = list(zip(xs, map(_y, above), strict=True))
        outline += list(zip(xs, map(_y, below), strict=True))[::-1]
        slot = slots.get(series.place) if series.place is not None else None
        name = "all other arms" if series.arm is None else series.arm
        tooltip = f"{truncate(name)}: {share(shares[-1])} of the newest {grouped(totals[-1])} decisions"
        shape = path(outline, closed=True)
        areas.append(element("path", element("title", tooltip), class_=f"area {colour(slot)}", d=shape))
        hatches.append(hatched(slot, shape, HEIGHT))
        below = above
    parts = [stretched(HEIGHT, *areas), *hatches]
    parts += [_level(level) for level in (0.0, 0.25, 0.5, 0.75, 1.0)]
    ticks = [((at - begin) / wide, label) for at, label in _times(begin, end)]
    parts += [
        _tick(at, label, label_class) for (at, label), label_class in zip(ticks, label_classes(ticks), strict=True)
    ]
    parts += [_elimination_mark(each, percent((_micros(each.at) - begin) / wide)) for each in eliminated]
    description = (
        f"From {clock_time(traffic.begin[0])} to {clock_time(traffic.end[-1])} UTC; the newest shares are in the "
        "legend below."
    )
    return chart("traffic", "Share of traffic over time", description, HEIGHT, parts)


def _micros(text: str) -> int:
    time = parse(text)
    assert time is not None
    return time


def _y(part: float) -> float:
    return TOP + (1.0 - min(part, 1.0)) * (HEIGHT - TOP - BOTTOM)


def _level(level: float) -> Markup:
    y = _y(level)
    line = element("line", class_="grid over-area", x1=0, x2="100%", y1=y, y2=y)
    return line + element("text", f"{level:.0%}", class_="tick", x=-8, y=y + 4, text_anchor="end")


def _tick(at: float, label: str, label_class: str) -> Markup:
    x, y = percent(at), HEIGHT - BOTTOM
    line = element("line", class_="axis", x1=x, x2=x, y1=y, y2=y + 5)
    anchor = "start" if at < 0.02 else "end" if at > 0.92 else "middle"
    return line + element("text", label, class_=f"tick{label_class}", x=x, y=y + 19, text_anchor=anchor)


def _elimination_mark(each: Elimination, x: str) -> Markup:
    line = element("line", class_="gone", x1=x, x2=x, y1=TOP - 4, y2=HEIGHT - BOTTOM)
    title = element("title", f"{truncate(each.arm)} was eliminated at decision {grouped(each.decision)}")
    cross = element("svg", element("path", class_="gone", d="M-4,0l8,8m0,-8l-8,8"), class_="mark", x=x, y=TOP - 12)
    return element("g", title, line, cross)


def _times(begin: int, end: int) -> list[tuple[int, str]]:
    """Ticks of a time axis in UTC, at round times."""
    seconds = (end - begin) / 1e6
    start = datetime.fromtimestamp(begin / 1e6, UTC)
    step = next((step for step in STEPS if seconds / step <= MAX_TICKS), None)
    if step is not None:
        moment = start.replace(hour=0, minute=0, second=0, microsecond=0)
        moment += timedelta(seconds=step) * -(-(start - moment) // timedelta(seconds=step))
        pace, form = timedelta(seconds=step), "%H:%M" if step >= 60 else "%H:%M:%S"
    else:
        days = next((days for days in DAYS if seconds / 86_400 / days <= MAX_TICKS), DAYS[-1])
        moment = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        pace, form = timedelta(days=days), "%b %d" if days < 300 else "%b %Y"
    ticks = []
    while (at := round(moment.timestamp() * 1e6)) <= end:
        midnight = step is not None and moment.hour == moment.minute == moment.second == 0
        ticks.append((at, moment.strftime("%b %d" if midnight else form)))
        moment += pace
    return ticks


def share_bar(arms: list[ArmAnswer], slots: dict[int, int]) -> Markup:
    """The share of each arm in all pulls, as one bar."""
    pulls = sum(arm.pulls for arm in arms)
    parts: list[Part] = [element("title", "Share of each arm")]
    x = 0.0
    for index, slot in slots.items():
        width = 240.0 * arms[index].pulls / pulls if pulls else 0.0
        title = element("title", f"{truncate(arms[index].arm)}: {share(arms[index].pulls / pulls)}") if pulls else ""
        if width:
            parts.append(filled(slot, "rect", title, x=x, y=0, width=width, height=12))
        x += width
    if x < 239.9:
        parts.append(element("rect", class_="area rest", x=x, y=0, width=240.0 - x, height=12))
    return element("svg", *parts, class_="share", viewBox="0 0 240 12", preserveAspectRatio="none", role="img")


def chosen_rows(arms: list[ArmAnswer]) -> list[int]:
    """The arms that are drawn: all, or the most pulled."""
    by_pulls = sorted(range(len(arms)), key=lambda index: (-arms[index].pulls, index))
    return sorted(by_pulls[:MAX_ROWS])


def estimates_chart(arms: list[ArmAnswer], brackets: list[Bracket], slots: dict[int, int]) -> Markup:
    """A row per arm: a line for the bounds, a bar for the bracket, a dot for the mean."""
    indices = chosen_rows(arms)
    height = ROWS_TOP + ROW * len(indices) + ROWS_BOTTOM
    ends = [end for index in indices for end in _ends(arms[index], brackets[index])]
    low = math.floor(10 * min(ends)) / 10
    high = max(math.ceil(10 * max(ends)) / 10, low + 0.2)
    low, high = (low, high) if high <= 1.0 else (0.8, 1.0)

    def x_of(value: float) -> float:
        return (value - low) / (high - low)

    parts: list[Part] = []
    step = 0.2 if high - low > 0.65 else 0.1 if high - low > 0.25 else 0.05
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        x = percent(x_of(value))
        parts.append(element("line", class_="grid", x1=x, x2=x, y1=ROWS_TOP, y2=height - ROWS_BOTTOM))
        parts.append(
            element("text", f"{value:.2g}", class_="tick", x=x, y=height - ROWS_BOTTOM + 18, text_anchor="middle")
        )
    best = max((arms[index].lower for index in range(len(arms)) if arms[index].active), default=0.0)
    if best > 0.0:
        x = percent(x_of(best))
        line = element("line", class_="bar-line", x1=x, x2=x, y1=ROWS_TOP, y2=height - ROWS_BOTTOM)
        parts.append(element("g", element("title", f"the largest lower bound of an active arm: {best:.3f}"), line))
    for row, index in enumerate(indices):
        parts.append(_row(arms[index], brackets[index], slots.get(index), ROWS_TOP + ROW * (row + 0.5), x_of))
    description = "; ".join(_describe(arms[index], brackets[index]) for index in indices)
    return chart("estimates", "Estimate and interval of each arm", description, height, parts)


def _ends(arm: ArmAnswer, bracket: Bracket) -> list[float]:
    """Everything drawn for an arm. The bounds may not contain the rest, if they come from its first pulls."""
    drawn = (arm.lower, arm.upper, arm.mean, bracket.all_fail, bracket.all_succeed)
    return [min(max(each, 0.0), 1.0) for each in drawn if each is not None]


def _row(arm: ArmAnswer, bracket: Bracket, slot: int | None, y: float, x_of: Callable[[float], float]) -> Markup:
    hue = colour(slot)
    low, high = percent(x_of(arm.lower)), percent(x_of(arm.upper))
    parts: list[Part] = [
        element("title", _describe(arm, bracket)),
        element("rect", class_="row", x=0, y=y - ROW / 2, width="100%", height=ROW),
        element(
            "foreignObject", element("div", truncate(arm.arm)), class_="label", x=-150, y=y - 10, width=138, height=20
        ),
        element("line", class_=f"interval {hue}", x1=low, x2=high, y1=y, y2=y),
        *(element("line", class_=f"cap {hue}", x1=end, x2=end, y1=y - 5, y2=y + 5) for end in (low, high)),
    ]
    if bracket.all_fail is not None and bracket.all_succeed is not None:
        x = x_of(bracket.all_fail)
        wide = percent(max(x_of(bracket.all_succeed) - x, MIN_BRACKET))
        parts.append(element("rect", class_=f"bracket {hue}", x=percent(x), y=y - 6.5, width=wide, height=13, rx=2))
    if arm.mean is not None:
        parts.append(element("circle", class_=f"mean {hue}", cx=percent(x_of(arm.mean)), cy=y, r=4.5))
    return element("g", *parts, class_="estimate" if arm.active else "estimate eliminated")


def _describe(arm: ArmAnswer, bracket: Bracket) -> str:
    state = "" if arm.active else ", eliminated"
    low, high = (f" ({prefix(first, arm.pulls)})" if first else "" for first in (arm.lower_from, arm.upper_from))
    return (
        f"{truncate(arm.arm)}{state}: mean of the observed {figure(arm.mean)}, bounds {figure(arm.lower)}{low} to "
        f"{figure(arm.upper)}{high}, if all pending fail {figure(bracket.all_fail)}, if all succeed "
        f"{figure(bracket.all_succeed)}"
    )
