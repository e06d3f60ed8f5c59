"""Estimates: of each arm the mean of what was observed, the policy's bounds, and the bracket of what is pending."""

from __future__ import annotations

import math
from collections.abc import Callable

from markupsafe import Markup

from belated.service.api.messages import ArmAnswer
from belated.service.dashboard.charts.base import Part, across, colour, element, picture
from belated.service.dashboard.formatting import cut, figure, prefix
from belated.service.dashboard.schemas import Bracket

TOP, BOTTOM, ROW = 8.0, 30.0, 34.0
THIN = 0.004
"""The width of a bracket, at the least."""
MOST_ROWS = 12


def chosen_rows(arms: list[ArmAnswer]) -> list[int]:
    """The places of the arms that are drawn: all, or those with the most pulls."""
    by_pulls = sorted(range(len(arms)), key=lambda place: (-arms[place].pulls, place))
    return sorted(by_pulls[:MOST_ROWS])


def estimates_chart(arms: list[ArmAnswer], brackets: list[Bracket], slots: dict[int, int]) -> Markup:
    """A row an arm: a line for the bounds, a bar for the bracket, a dot for the mean."""
    places = chosen_rows(arms)
    height = TOP + ROW * len(places) + BOTTOM
    ends = [end for place in places for end in _ends(arms[place], brackets[place])]
    low = math.floor(10 * min(ends)) / 10
    high = max(math.ceil(10 * max(ends)) / 10, low + 0.2)
    low, high = (low, high) if high <= 1.0 else (0.8, 1.0)

    def x_of(value: float) -> float:
        return (value - low) / (high - low)

    parts: list[Part] = []
    step = 0.2 if high - low > 0.65 else 0.1 if high - low > 0.25 else 0.05
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        x = across(x_of(value))
        parts.append(element("line", class_="grid", x1=x, x2=x, y1=TOP, y2=height - BOTTOM))
        parts.append(element("text", f"{value:.2g}", class_="tick", x=x, y=height - BOTTOM + 18, text_anchor="middle"))
    best = max((arms[place].lower for place in range(len(arms)) if arms[place].active), default=0.0)
    if best > 0.0:
        x = across(x_of(best))
        line = element("line", class_="bar-line", x1=x, x2=x, y1=TOP, y2=height - BOTTOM)
        parts.append(element("g", element("title", f"the largest lower bound of an active arm: {best:.3f}"), line))
    for row, place in enumerate(places):
        parts.append(_row(arms[place], brackets[place], slots.get(place), TOP + ROW * (row + 0.5), x_of))
    told = "; ".join(_told(arms[place], brackets[place]) for place in places)
    return picture("estimates", "Estimate and interval of each arm", told, height, parts)


def _ends(arm: ArmAnswer, bracket: Bracket) -> list[float]:
    """All that is drawn of an arm. The bounds need not be around the rest: those of some first pulls are not."""
    drawn = (arm.lower, arm.upper, arm.mean, bracket.all_fail, bracket.all_succeed)
    return [min(max(each, 0.0), 1.0) for each in drawn if each is not None]


def _row(arm: ArmAnswer, bracket: Bracket, slot: int | None, y: float, x_of: Callable[[float], float]) -> Markup:
    hue = colour(slot)
    low, high = across(x_of(arm.lower)), across(x_of(arm.upper))
    parts: list[Part] = [
        element("title", _told(arm, bracket)),
        element("rect", class_="row", x=0, y=y - ROW / 2, width="100%", height=ROW),
        element("foreignObject", element("div", cut(arm.arm)), class_="label", x=-150, y=y - 10, width=138, height=20),
        element("line", class_=f"interval {hue}", x1=low, x2=high, y1=y, y2=y),
        *(element("line", class_=f"cap {hue}", x1=end, x2=end, y1=y - 5, y2=y + 5) for end in (low, high)),
    ]
    if bracket.all_fail is not None and bracket.all_succeed is not None:
        x = x_of(bracket.all_fail)
        wide = across(max(x_of(bracket.all_succeed) - x, THIN))
        parts.append(element("rect", class_=f"bracket {hue}", x=across(x), y=y - 6.5, width=wide, height=13, rx=2))
    if arm.mean is not None:
        parts.append(element("circle", class_=f"mean {hue}", cx=across(x_of(arm.mean)), cy=y, r=4.5))
    return element("g", *parts, class_="estimate" if arm.active else "estimate eliminated")


def _told(arm: ArmAnswer, bracket: Bracket) -> str:
    state = "" if arm.active else ", eliminated"
    low, high = (f" ({prefix(first, arm.pulls)})" if first else "" for first in (arm.lower_from, arm.upper_from))
    return (
        f"{cut(arm.arm)}{state}: mean of the observed {figure(arm.mean)}, bounds {figure(arm.lower)}{low} to "
        f"{figure(arm.upper)}{high}, if all pending fail {figure(bracket.all_fail)}, if all succeed "
        f"{figure(bracket.all_succeed)}"
    )
