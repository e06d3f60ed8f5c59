"""The charts, drawn on the server as SVG: share of traffic over time, estimates and intervals, delay curves
(Kaplan-Meier), and pending decisions by age."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from belated.formatting import compact, duration, grouped
from belated.service.api.messages import ArmAnswer, CurveAnswer, DelaysAnswer
from belated.service.dashboard import svg
from belated.service.dashboard.counters import Ages, Bracket, Elimination, Traffic, most_pulled
from belated.service.dashboard.formatting import (
    CORRECTED_FROM,
    DAY,
    HOUR,
    MINUTE,
    SURE,
    clock_time,
    figure,
    prefix,
    share,
    truncate,
)
from belated.service.timestamps import parse

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
TRAFFIC_HEIGHT, TRAFFIC_TOP, TRAFFIC_BOTTOM = 250.0, 14.0, 26.0
ROWS_TOP, ROWS_BOTTOM, ROW = 8.0, 30.0, 34.0
MIN_BRACKET = 0.004
"""Minimum width of a bracket."""
MAX_ROWS = 12
STEPS = (1, 2, 5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200)
DAYS = (1, 2, 5, 7, 14, 30, 60, 90, 180, 365, 730)
MAX_TICKS = 8
HEIGHT, TOP, BOTTOM = 280.0, 12.0, 30.0
AGES_TOP = 24.0
DELAY_TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY)
VISIBLE_SHARE = 0.005
"""The time axis starts where a curve exceeds this share."""
MAX_BANDS = 4
"""Intervals are drawn for at most this many arms."""
MIN_BINS = 6
"""Bins of age that are always drawn; older ones only if needed."""


def traffic_chart(traffic: Traffic, eliminated: list[Elimination], slots: dict[int, int]) -> Markup:
    """The share of each arm over time, as stacked areas."""
    begin, end = _micros(traffic.begin[0]), _micros(traffic.end[-1])
    wide = max(end - begin, 1)
    middles = [(_micros(a) + _micros(b)) / 2 for a, b in zip(traffic.begin, traffic.end, strict=True)]
    xs = [0.0, *(svg.UNITS * (at - begin) / wide for at in middles), svg.UNITS]
    totals = [sum(each) for each in zip(*(series.decisions for series in traffic.series), strict=True)]
    below = [0.0] * len(xs)
    areas: list[svg.Part] = []
    hatches: list[svg.Part] = []
    for series in traffic.series:
        shares = [count / total if total else 0.0 for count, total in zip(series.decisions, totals, strict=True)]
        above = [low + part for low, part in zip(below, [shares[0], *shares, shares[-1]], strict=True)]
        outline = list(zip(xs, map(_traffic_y, above), strict=True))
        outline += list(zip(xs, map(_traffic_y, below), strict=True))[::-1]
        slot = slots.get(series.place) if series.place is not None else None
        name = "all other arms" if series.arm is None else series.arm
        tooltip = f"{truncate(name)}: {share(shares[-1])} of the newest {grouped(totals[-1])} decisions"
        shape = svg.path(outline, closed=True)
        areas.append(svg.element("path", svg.element("title", tooltip), class_=f"area {svg.colour(slot)}", d=shape))
        hatches.append(svg.hatched(slot, shape, TRAFFIC_HEIGHT))
        below = above
    parts = [svg.stretched(TRAFFIC_HEIGHT, *areas), *hatches]
    parts += [svg.level(_traffic_y(part), f"{part:.0%}", "grid over-area") for part in LEVELS]
    ticks = [((at - begin) / wide, text) for at, text in _times(begin, end)]
    parts += [_time_tick(*tick, visible) for tick, visible in zip(ticks, svg.label_classes(ticks), strict=True)]
    parts += [_elimination_mark(each, svg.percent((_micros(each.at) - begin) / wide)) for each in eliminated]
    description = (
        f"From {clock_time(traffic.begin[0])} to {clock_time(traffic.end[-1])} UTC; the newest shares are in the "
        "legend below."
    )
    return svg.chart("traffic", "Share of traffic over time", description, TRAFFIC_HEIGHT, parts)


def _micros(text: str) -> int:
    time = parse(text)
    assert time is not None
    return time


def _traffic_y(part: float) -> float:
    return TRAFFIC_TOP + (1.0 - min(part, 1.0)) * (TRAFFIC_HEIGHT - TRAFFIC_TOP - TRAFFIC_BOTTOM)


def _time_tick(at: float, text: str, label_class: str) -> Markup:
    x, y = svg.percent(at), TRAFFIC_HEIGHT - TRAFFIC_BOTTOM
    anchor = "start" if at < 0.02 else "end" if at > 0.92 else "middle"
    return svg.vertical("axis", x, y, y + 5) + svg.label(text, f"tick{label_class}", x, y + 19, anchor)


def _elimination_mark(each: Elimination, x: str) -> Markup:
    line = svg.vertical("gone", x, TRAFFIC_TOP - 4, TRAFFIC_HEIGHT - TRAFFIC_BOTTOM)
    title = svg.element("title", f"{truncate(each.arm)} was eliminated at decision {grouped(each.decision)}")
    mark = svg.element("path", class_="gone", d="M-4,0l8,8m0,-8l-8,8")
    return svg.element("g", title, line, svg.element("svg", mark, class_="mark", x=x, y=TRAFFIC_TOP - 12))


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
    """The share of each arm in all pulls, of which there are some, as one bar."""
    pulls = sum(arm.pulls for arm in arms)
    parts: list[svg.Part] = [svg.element("title", "Share of each arm")]
    x = 0.0
    for index, slot in slots.items():
        width = 240.0 * arms[index].pulls / pulls
        if width:
            title = svg.element("title", f"{truncate(arms[index].arm)}: {share(arms[index].pulls / pulls)}")
            parts.append(svg.filled(slot, "rect", title, x=x, y=0, width=width, height=12))
        x += width
    if x < 239.9:
        parts.append(svg.element("rect", class_="area rest", x=x, y=0, width=240.0 - x, height=12))
    return svg.element("svg", *parts, class_="share", viewBox="0 0 240 12", preserveAspectRatio="none", role="img")


def estimates_chart(arms: list[ArmAnswer], brackets: list[Bracket], slots: dict[int, int]) -> Markup:
    """A row per arm: a line for the bounds, a bar for the bracket, a dot for the mean, and a diamond for the corrected
    mean of a policy that has one."""
    indices = chart_rows(arms)
    height = ROWS_TOP + ROW * len(indices) + ROWS_BOTTOM
    ends = [end for index in indices for end in _ends(arms[index], brackets[index])]
    low = math.floor(10 * min(ends)) / 10
    high = max(math.ceil(10 * max(ends)) / 10, low + 0.2)
    low, high = (low, high) if high <= 1.0 else (0.8, 1.0)

    def x_of(value: float) -> float:
        return (value - low) / (high - low)

    parts: list[svg.Part] = []
    step = 0.2 if high - low > 0.65 else 0.1 if high - low > 0.25 else 0.05
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        x = svg.percent(x_of(value))
        parts.append(svg.vertical("grid", x, ROWS_TOP, height - ROWS_BOTTOM))
        parts.append(svg.label(f"{value:.2g}", "tick", x, height - ROWS_BOTTOM + 18))
    best = max((arms[index].lower for index in range(len(arms)) if arms[index].active), default=0.0)
    if best > 0.0:
        line = svg.vertical("bar-line", svg.percent(x_of(best)), ROWS_TOP, height - ROWS_BOTTOM)
        title = svg.element("title", f"the largest lower bound of an active arm: {best:.3f}")
        parts.append(svg.element("g", title, line))
    for row, index in enumerate(indices):
        parts.append(_row(arms[index], brackets[index], slots.get(index), ROWS_TOP + ROW * (row + 0.5), x_of))
    description = "; ".join(_describe_arm(arms[index], brackets[index]) for index in indices)
    return svg.chart("estimates", "Estimate and interval of each arm", description, height, parts)


def chart_rows(arms: list[ArmAnswer]) -> list[int]:
    """The indices of the arms with a row of their own: all if they are few, else the most pulled."""
    return sorted(most_pulled(arms)[:MAX_ROWS])


def _ends(arm: ArmAnswer, bracket: Bracket) -> list[float]:
    """Everything drawn for an arm. The bounds may not contain the rest, if they come from its first pulls."""
    drawn = (arm.lower, arm.upper, arm.mean, arm.corrected_mean, bracket.all_fail, bracket.all_succeed)
    return [min(max(each, 0.0), 1.0) for each in drawn if each is not None]


def _row(arm: ArmAnswer, bracket: Bracket, slot: int | None, y: float, x_of: Callable[[float], float]) -> Markup:
    hue, name = svg.colour(slot), svg.element("div", truncate(arm.arm))
    low, high = svg.percent(x_of(arm.lower)), svg.percent(x_of(arm.upper))
    parts: list[svg.Part] = [
        svg.element("title", _describe_arm(arm, bracket)),
        svg.element("rect", class_="row", x=0, y=y - ROW / 2, width="100%", height=ROW),
        svg.element("foreignObject", name, class_="label", x=-150, y=y - 10, width=138, height=20),
        svg.element("line", class_=f"interval {hue}", x1=low, x2=high, y1=y, y2=y),
        *(svg.vertical(f"cap {hue}", end, y - 5, y + 5) for end in (low, high)),
    ]
    if bracket.all_fail is not None and bracket.all_succeed is not None:
        x = x_of(bracket.all_fail)
        wide = svg.percent(max(x_of(bracket.all_succeed) - x, MIN_BRACKET))
        parts.append(
            svg.element("rect", class_=f"bracket {hue}", x=svg.percent(x), y=y - 6.5, width=wide, height=13, rx=2)
        )
    if arm.mean is not None:
        parts.append(svg.element("circle", class_=f"mean {hue}", cx=svg.percent(x_of(arm.mean)), cy=y, r=4.5))
    if arm.corrected_mean is not None:
        diamond = svg.element("path", class_="corrected", d="M0,-7.5l7.5,7.5l-7.5,7.5l-7.5,-7.5Z")
        parts.append(svg.element("svg", diamond, class_="mark", x=svg.percent(x_of(arm.corrected_mean)), y=y))
    return svg.element("g", *parts, class_="estimate" if arm.active else "estimate eliminated")


def _describe_arm(arm: ArmAnswer, bracket: Bracket) -> str:
    state = "" if arm.active else ", eliminated"
    low, high = (f" ({prefix(first, arm.pulls)})" if first else "" for first in (arm.lower_from, arm.upper_from))
    corrected = "" if arm.corrected_mean is None else f", corrected mean {figure(arm.corrected_mean)}"
    return (
        f"{truncate(arm.arm)}{state}: mean of the observed {figure(arm.mean)}{corrected}, bounds "
        f"{figure(arm.lower)}{low} to {figure(arm.upper)}{high}, if all pending fail {figure(bracket.all_fail)}, "
        f"if all succeed {figure(bracket.all_succeed)}"
    )


def sureness_bar(dependence: float) -> Markup:
    """How sure a policy is that an arm's delays depend on its rewards, as a bar with a mark from which on it corrects
    the mean."""
    parts = [svg.element("rect", class_="track", width="100%", height=8, rx=4)]
    if dependence >= MIN_BRACKET:
        hue = "sure" if dependence >= SURE else "unsure"
        parts.append(svg.element("rect", class_=hue, width=svg.percent(dependence), height=8, rx=4))
    parts.append(svg.vertical("threshold", svg.percent(CORRECTED_FROM), -3, 11))
    return svg.element("svg", *parts, class_="sureness", aria_hidden="true", focusable="false")


# ---- delays ----


def delays_chart(delays: DelaysAnswer, slots: dict[int, int]) -> Markup | None:
    """Kaplan-Meier curves over a logarithmic time axis, for the arms with a colour; None before the first feedback."""
    curves = [(delays.curves[index], slot) for index, slot in slots.items() if index < len(delays.curves)]
    curves = [(curve, slot) for curve, slot in curves if curve.seconds]
    if not curves:
        return None
    low = min(_first(curve) for curve, _ in curves)
    begin = max((tick for tick in DELAY_TICKS if tick <= low), default=DELAY_TICKS[0])
    end = max(begin * 10.0, *(curve.seconds[-1] for curve, _ in curves)) * 1.15

    def x(seconds: float) -> float:
        return math.log(max(seconds, begin) / begin) / math.log(end / begin)

    parts: list[svg.Part] = [svg.level(_y(part), f"{part:.0%}") for part in LEVELS]
    ticks = [(x(tick), duration(tick)) for tick in DELAY_TICKS if begin <= tick <= end]
    for (at, text), visible in zip(ticks, svg.label_classes(ticks), strict=True):
        parts.append(svg.vertical("grid", svg.percent(at), TOP, HEIGHT - BOTTOM))
        parts.append(svg.label(text, f"tick{visible}", svg.percent(at), HEIGHT - BOTTOM + 18))
    bands = [_band(curve, slot, x) for curve, slot in curves] if len(curves) <= MAX_BANDS else []
    parts.append(svg.stretched(HEIGHT, *bands, *(_line(curve, slot, x) for curve, slot in curves)))
    description = "; ".join(_describe_curve(curve) for curve, _ in curves)
    return svg.chart("delays", "Delay curve of each arm", description, HEIGHT, parts)


def _first(curve: CurveAnswer) -> float:
    """When a curve becomes visible."""
    visible = (seconds for seconds, part in zip(curve.seconds, curve.answered, strict=True) if part >= VISIBLE_SHARE)
    return next(visible, curve.seconds[-1])


def _y(part: float) -> float:
    return TOP + (1.0 - part) * (HEIGHT - TOP - BOTTOM)


def _steps(curve: CurveAnswer, values: list[float], x: Callable[[float], float]) -> list[tuple[float, float]]:
    points, before = [(0.0, _y(0.0))], 0.0
    for seconds, value in zip(curve.seconds, values, strict=True):
        at = svg.UNITS * x(seconds)
        points += [(at, _y(before)), (at, _y(value))]
        before = value
    return [*points, (svg.UNITS, _y(before))]


def _line(curve: CurveAnswer, slot: int, x: Callable[[float], float]) -> Markup:
    steps = svg.path(_steps(curve, curve.answered, x))
    shape = svg.element("path", class_=f"line {svg.colour(slot)}", d=steps, stroke_dasharray=svg.dash(slot))
    return svg.element("g", svg.element("title", _describe_curve(curve)), shape)


def _band(curve: CurveAnswer, slot: int, x: Callable[[float], float]) -> Markup:
    low = [value if value is not None else mid for value, mid in zip(curve.lower, curve.answered, strict=True)]
    high = [value if value is not None else mid for value, mid in zip(curve.upper, curve.answered, strict=True)]
    outline = _steps(curve, low, x) + _steps(curve, high, x)[::-1]
    return svg.element("path", class_=f"band {svg.colour(slot)}", d=svg.path(outline, closed=True))


def _describe_curve(curve: CurveAnswer) -> str:
    half = next((s for s, part in zip(curve.seconds, curve.answered, strict=True) if part >= 0.5), None)
    reached = f"half within {duration(half)}" if half is not None else "not half of them yet"
    return f"{truncate(curve.arm)}: {reached}, {share(curve.answered[-1])} within {duration(curve.seconds[-1])}"


def ages_chart(ages: Ages) -> Markup:
    """Pending decisions by age, as bars."""
    most = max(ages.pending)
    step = svg.nice_step(most, 4)
    top = step * -(-most // step)
    last = max(index for index, count in enumerate(ages.pending) if count or index < MIN_BINS)
    pending = ages.pending[: last + 2]
    wide = 1.0 / len(pending)
    labels = [((index + 0.5) * wide, _bin_tick(ages.edges, index)) for index in range(len(pending))]

    def y(count: float) -> float:
        return AGES_TOP + (1.0 - count / top) * (HEIGHT - AGES_TOP - BOTTOM)

    counts = [number * step for number in range(round(top / step) + 1)]
    parts: list[svg.Part] = [svg.level(y(count), compact(round(count))) for count in counts]
    values = [(at, compact(count)) for (at, _), count in zip(labels, pending, strict=True)]
    columns = zip(labels, svg.label_classes(labels), values, svg.label_classes(values, gap=2.0), strict=True)
    for index, ((at, text), visible, (_, value), value_visible) in enumerate(columns):
        count, above = pending[index], y(pending[index])
        bar: list[svg.Part] = [svg.element("title", f"{_bin_label(ages.edges, index)}: {grouped(count)} pending")]
        if count:
            x, width = svg.percent(at - 0.36 * wide), svg.percent(0.72 * wide)
            bar.append(svg.element("rect", class_="bar", x=x, y=above, width=width, height=y(0) - above, rx=2))
            bar.append(svg.label(value, f"value{value_visible}", svg.percent(at), above - 6))
        bar.append(svg.label(text, f"tick small{visible}", svg.percent(at), HEIGHT - BOTTOM + 18))
        parts.append(svg.element("g", *bar))
    description = "; ".join(
        f"{_bin_label(ages.edges, index)}: {count}" for index, count in enumerate(ages.pending) if count
    )
    return svg.chart("ages", "Pending decisions by age", description or "nothing is pending", HEIGHT, parts)


def _bin_label(edges: list[float], index: int) -> str:
    if index + 1 == len(edges):
        return f"{duration(edges[index])} and older"
    return f"{duration(edges[index])} to {duration(edges[index + 1])}"


def _bin_tick(edges: list[float], index: int) -> str:
    return f"≥ {duration(edges[index])}" if index + 1 == len(edges) else f"< {duration(edges[index + 1])}"
