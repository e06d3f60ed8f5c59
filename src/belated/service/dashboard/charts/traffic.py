"""The share of traffic over time, as areas on top of each other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from belated.service.api.messages import ArmAnswer
from belated.service.core.timestamps import read
from belated.service.dashboard.charts.base import (
    UNITS,
    Part,
    across,
    colour,
    element,
    filled,
    hatched,
    path,
    picture,
    rooms,
    stretched,
)
from belated.service.dashboard.formatting import clock_time, cut, grouped, share
from belated.service.dashboard.schemas import Elimination, Traffic

HEIGHT, TOP, BOTTOM = 250.0, 14.0, 26.0
STEPS = (1, 2, 5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200)
DAYS = (1, 2, 5, 7, 14, 30, 60, 90, 180, 365, 730)
TICKS = 8


def traffic_chart(traffic: Traffic, eliminated: list[Elimination], slots: dict[int, int]) -> Markup:
    """Stacked areas: of each stretch of time, the share of every arm."""
    begin, end = _micros(traffic.begin[0]), _micros(traffic.end[-1])
    wide = max(end - begin, 1)
    middles = [(_micros(a) + _micros(b)) / 2 for a, b in zip(traffic.begin, traffic.end, strict=True)]
    places = [0.0, *(UNITS * (at - begin) / wide for at in middles), UNITS]
    totals = [sum(each) for each in zip(*(series.decisions for series in traffic.series), strict=True)]
    below = [0.0] * len(places)
    areas: list[Part] = []
    hatches: list[Part] = []
    for series in traffic.series:
        parts_of = [count / total if total else 0.0 for count, total in zip(series.decisions, totals, strict=True)]
        above = [low + part for low, part in zip(below, [parts_of[0], *parts_of, parts_of[-1]], strict=True)]
        outline = list(zip(places, map(_y, above), strict=True))
        outline += list(zip(places, map(_y, below), strict=True))[::-1]
        slot = slots.get(series.place) if series.place is not None else None
        name = "all other arms" if series.arm is None else series.arm
        told = f"{cut(name)}: {share(parts_of[-1])} of the newest {grouped(totals[-1])} decisions"
        shape = path(outline, closed=True)
        areas.append(element("path", element("title", told), class_=f"area {colour(slot)}", d=shape))
        hatches.append(hatched(slot, shape, HEIGHT))
        below = above
    parts = [stretched(HEIGHT, *areas), *hatches]
    parts += [_level(level) for level in (0.0, 0.25, 0.5, 0.75, 1.0)]
    ticks = [((at - begin) / wide, label) for at, label in _times(begin, end)]
    parts += [_tick(at, label, room) for (at, label), room in zip(ticks, rooms(ticks), strict=True)]
    parts += [_gone(each, across((_micros(each.at) - begin) / wide)) for each in eliminated]
    told = (
        f"From {clock_time(traffic.begin[0])} to {clock_time(traffic.end[-1])} UTC; the newest shares are in the "
        "legend below."
    )
    return picture("traffic", "Share of traffic over time", told, HEIGHT, parts)


def _micros(text: str) -> int:
    found = read(text)
    assert found is not None
    return found


def _y(part: float) -> float:
    return TOP + (1.0 - min(part, 1.0)) * (HEIGHT - TOP - BOTTOM)


def _level(level: float) -> Markup:
    y = _y(level)
    line = element("line", class_="grid over-area", x1=0, x2="100%", y1=y, y2=y)
    return line + element("text", f"{level:.0%}", class_="tick", x=-8, y=y + 4, text_anchor="end")


def _tick(at: float, label: str, room: str) -> Markup:
    x, y = across(at), HEIGHT - BOTTOM
    line = element("line", class_="axis", x1=x, x2=x, y1=y, y2=y + 5)
    anchor = "start" if at < 0.02 else "end" if at > 0.92 else "middle"
    return line + element("text", label, class_=f"tick{room}", x=x, y=y + 19, text_anchor=anchor)


def _gone(each: Elimination, x: str) -> Markup:
    line = element("line", class_="gone", x1=x, x2=x, y1=TOP - 4, y2=HEIGHT - BOTTOM)
    title = element("title", f"{cut(each.arm)} was eliminated at decision {grouped(each.decision)}")
    cross = element("svg", element("path", class_="gone", d="M-4,0l8,8m0,-8l-8,8"), class_="mark", x=x, y=TOP - 12)
    return element("g", title, line, cross)


def _times(begin: int, end: int) -> list[tuple[int, str]]:
    """Ticks of a time axis in UTC, at round times."""
    seconds = (end - begin) / 1e6
    start = datetime.fromtimestamp(begin / 1e6, UTC)
    step = next((step for step in STEPS if seconds / step <= TICKS), None)
    if step is not None:
        moment = start.replace(hour=0, minute=0, second=0, microsecond=0)
        moment += timedelta(seconds=step) * -(-(start - moment) // timedelta(seconds=step))
        pace, form = timedelta(seconds=step), "%H:%M" if step >= 60 else "%H:%M:%S"
    else:
        days = next((days for days in DAYS if seconds / 86_400 / days <= TICKS), DAYS[-1])
        moment = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        pace, form = timedelta(days=days), "%b %d" if days < 300 else "%b %Y"
    found = []
    while (at := round(moment.timestamp() * 1e6)) <= end:
        midnight = step is not None and moment.hour == moment.minute == moment.second == 0
        found.append((at, moment.strftime("%b %d" if midnight else form)))
        moment += pace
    return found


def share_bar(arms: list[ArmAnswer], slots: dict[int, int]) -> Markup:
    """One bar: how the pulls so far are shared."""
    pulls = sum(arm.pulls for arm in arms)
    parts: list[Part] = [element("title", "Share of each arm")]
    x = 0.0
    for place, slot in slots.items():
        width = 240.0 * arms[place].pulls / pulls if pulls else 0.0
        title = element("title", f"{cut(arms[place].arm)}: {share(arms[place].pulls / pulls)}") if pulls else ""
        if width:
            parts.append(filled(slot, "rect", title, x=x, y=0, width=width, height=12))
        x += width
    if x < 239.9:
        parts.append(element("rect", class_="area rest", x=x, y=0, width=240.0 - x, height=12))
    return element("svg", *parts, class_="share", viewBox="0 0 240 12", preserveAspectRatio="none", role="img")
