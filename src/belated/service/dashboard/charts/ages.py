"""Pending decisions by their age, as bars."""

from __future__ import annotations

from markupsafe import Markup

from belated.service.dashboard.charts.base import Part, across, element, nice_step, picture, rooms
from belated.service.dashboard.formatting import duration, grouped, short
from belated.service.dashboard.schemas import Ages

HEIGHT, TOP, BOTTOM = 280.0, 24.0, 30.0
FEWEST = 6
"""Classes that are always drawn; older ones only where something is that old."""


def ages_chart(ages: Ages) -> Markup:
    """A bar for each class of age."""
    most = max(ages.pending)
    step = nice_step(most, 4)
    top = step * -(-most // step)
    last = max(place for place, count in enumerate(ages.pending) if count or place < FEWEST)
    pending = ages.pending[: last + 2]
    wide = 1.0 / len(pending)
    labels = [((place + 0.5) * wide, _short(ages.edges, place)) for place in range(len(pending))]

    def y(count: float) -> float:
        return TOP + (1.0 - count / top) * (HEIGHT - TOP - BOTTOM)

    parts: list[Part] = []
    for level in range(round(top / step) + 1):
        count = level * step
        parts.append(element("line", class_="grid", x1=0, x2="100%", y1=y(count), y2=y(count)))
        parts.append(element("text", short(round(count)), class_="tick", x=-8, y=y(count) + 4, text_anchor="end"))
    values = [(at, short(count)) for (at, _), count in zip(labels, pending, strict=True)]
    seen = zip(labels, rooms(labels), values, rooms(values, gap=2.0), strict=True)
    for place, ((at, label), room, (_, value), value_room) in enumerate(seen):
        count = pending[place]
        x, middle = across(at - 0.36 * wide), across(at)
        bar: list[Part] = [element("title", f"{_label(ages.edges, place)}: {grouped(count)} pending")]
        if count:
            bar.append(
                element("rect", class_="bar", x=x, y=y(count), width=across(0.72 * wide), height=y(0) - y(count), rx=2)
            )
            bar.append(
                element("text", value, class_=f"value{value_room}", x=middle, y=y(count) - 6, text_anchor="middle")
            )
        bar.append(
            element(
                "text",
                label,
                class_=f"tick small{room}",
                x=middle,
                y=HEIGHT - BOTTOM + 18,
                text_anchor="middle",
            )
        )
        parts.append(element("g", *bar))
    told = "; ".join(f"{_label(ages.edges, place)}: {count}" for place, count in enumerate(ages.pending) if count)
    return picture("ages", "Pending decisions by age", told or "nothing is pending", HEIGHT, parts)


def _label(edges: list[float], place: int) -> str:
    if place + 1 == len(edges):
        return f"{duration(edges[place])} and older"
    return f"{duration(edges[place])} to {duration(edges[place + 1])}"


def _short(edges: list[float], place: int) -> str:
    return f"≥ {duration(edges[place])}" if place + 1 == len(edges) else f"< {duration(edges[place + 1])}"
