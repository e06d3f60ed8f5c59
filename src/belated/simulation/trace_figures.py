"""Figures of one run: feedback on its way from the pull to the round in which it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from belated.errors import InvalidParameter
from belated.simulation.figures import COLOURS, STYLE, caption
from belated.simulation.notebook import new_figure, style_context
from belated.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from belated.simulation.trace import Trace

MOST_ARMS = 10
"""Arms that have a lane of their own; the least pulled of more arms share the top one."""
DEFAULT_ROUNDS = 400
"""Rounds that are shown unless others are asked for."""
_HEIGHT = 0.74
"""Of a lane, of which a long delay takes all."""
LOST, PENDING = "#B5B5B5", "#444444"


def plot_trace(trace: Trace, first: int, last: int | None) -> Figure:
    """A line for each pull, from its round to that in which its feedback is known; below, how much is pending."""
    first, last = check_window(trace, first, last)
    lanes = Lanes(trace, first, last)
    with style_context(STYLE):
        figure, flights, pending = canvas(lanes, first, last)
        segments, colours = [], []
        for round in lanes.rounds:
            start, end, base, top = lanes.flight(int(round))
            share = min((last + 0.5 - start) / max(end - start, 1.0), 1.0)  # that is within the picture
            segments.append([(start, base), (start + share * (end - start), base + share * (top - base))])
            colours.append(LOST if np.isinf(trace.delay[round - 1]) else lanes.colour(int(round)))
        alpha = 0.75 if lanes.rounds.size <= 300 else 0.35
        flights.add_collection(LineCollection(segments, colors=colours, linewidths=0.9, alpha=alpha))
        draw_pulls(flights, lanes)
        ends = [(lanes.flight(int(round)), lanes.colour(int(round))) for round in lanes.rounds]
        known = [(end, top, colour) for (_, end, _, top), colour in ends if end <= last + 0.5]
        if known:
            x, y, tints = zip(*known, strict=True)
            flights.scatter(x, y, s=9.0, c=list(tints), marker=".", linewidths=0, zorder=3)
        count = trace.pending[lanes.rounds - 1]
        pending.fill_between(lanes.rounds, 0, count, step="mid", color=PENDING, alpha=0.22, linewidth=0)
        pending.step(lanes.rounds, count, where="mid", color=PENDING, linewidth=1.2)
        pending.set_ylim(bottom=0)
    return figure


def canvas(lanes: Lanes, first: int, last: int) -> tuple[Figure, Axes, Axes]:
    """A figure with the lanes of the arms, and axes for the number of pending pulls below."""
    trace = lanes.trace
    figure = new_figure(8.0, 1.9 + (0.8 if lanes.count <= 4 else 0.55) * lanes.count)
    flights, pending = figure.subplots(2, 1, sharex=True, height_ratios=[max(lanes.count, 2), 1.0])
    draw_lanes(flights, lanes, first, last)
    caption(pending, "")
    pending.set_ylabel("pending")
    pending.set_xlabel("round")
    pending.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    flights.set_title(
        f"{trace.label}, run {trace.run:,}, rounds {first:,} to {last:,} of {trace.horizon:,}\n"
        "dots are pulls, filled for a reward; lines rise until the feedback is known; grey lines never arrive",
        fontsize=8.5,
        color="#555555",
        loc="left",
        linespacing=1.4,
    )
    return figure, flights, pending


def check_window(trace: Trace, first: int, last: int | None) -> tuple[int, int]:
    """The first and the last round to show."""
    first = check_integer("first", first, 1, trace.horizon)
    if last is None:
        return first, min(first + DEFAULT_ROUNDS - 1, trace.horizon)
    last = check_integer("last", last, 1, trace.horizon)
    if last < first:
        raise InvalidParameter(f"first is {first} and last is {last}; give a last round that is not before the first.")
    return first, last


class Lanes:
    """Where the pulls of a window of rounds are drawn: a lane for each arm, in which feedback rises with its delay."""

    def __init__(self, trace: Trace, first: int, last: int) -> None:
        self.trace = trace
        self.rounds = np.arange(first, last + 1)
        arms = trace.gaps.size
        pulls = np.bincount(trace.arm[first - 1 : last], minlength=arms)
        order = sorted(range(arms), key=lambda arm: (-int(pulls[arm]), arm))
        alone = sorted(order[: MOST_ARMS if arms <= MOST_ARMS else MOST_ARMS - 1])
        self.names = [f"arm {arm}" for arm in alone] + ([f"{arms - len(alone):,} others"] if arms > len(alone) else [])
        self.count = len(self.names)
        self._lane = np.full(arms, self.count - 1)
        self._lane[alone] = range(len(alone))
        self.arms = alone
        delays = trace.delay[first - 1 : last]
        come = delays[np.isfinite(delays)]
        longest = float(np.quantile(come, 0.98)) if come.size else 1.0
        self._longest = max(min(longest, (last - first) / 2.0), 1.0)

    def lane(self, round: int) -> int:
        """The lane of a round's pull."""
        return int(self._lane[self.trace.arm[round - 1]])

    def colour(self, round: int) -> str:
        """The colour of a round's pull."""
        return self.colour_of(self.lane(round))

    def colour_of(self, lane: int) -> str:
        """The colour of a lane."""
        return COLOURS[lane % len(COLOURS)]

    def base(self, round: int) -> float:
        """The height at which a round's pull is drawn."""
        return self.lane(round) + 0.5 * _HEIGHT

    def flight(self, round: int) -> tuple[float, float, float, float]:
        """(round of the pull, round in which its feedback is known, height at the pull, height when it is known)."""
        delay = float(self.trace.delay[round - 1])
        base = self.base(round)
        rise = _HEIGHT * min(delay / self._longest, 1.0) if np.isfinite(delay) else _HEIGHT
        end = float(round) + delay if np.isfinite(delay) else float(round) + 3.0 * self._longest
        return float(round), end, base, base - rise


def draw_lanes(axes: Axes, lanes: Lanes, first: int, last: int) -> None:
    """The lanes, their names, and when arms were eliminated."""
    for lane in range(lanes.count):
        axes.axhspan(lane - 0.5, lane + 0.5, color="#F5F5F5" if lane % 2 else "white", zorder=0, linewidth=0)
    axes.set_yticks(range(lanes.count), lanes.names)
    for lane, text in enumerate(axes.get_yticklabels()):
        text.set_color(lanes.colour_of(lane))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(lanes.count - 0.5, -0.5)
    axes.set_xlim(first - 0.5, last + 0.5)
    axes.grid(visible=False, axis="y")
    for lane, arm in enumerate(lanes.arms):
        gone = int(lanes.trace.eliminated_at[arm])
        if first <= gone <= last:
            axes.plot([gone, gone], [lane - 0.42, lane + 0.42], color="#222222", linewidth=1.6, zorder=4)
            axes.annotate(
                f"eliminated in round {gone:,}",
                (gone, lane),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color="#222222",
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
                zorder=4,
            )


def draw_pulls(axes: Axes, lanes: Lanes) -> Any:
    """A dot at each pull: filled for rewards in the upper half of their range."""
    rounds, rewards = lanes.rounds, lanes.trace.reward
    edges = [lanes.colour(int(round)) for round in rounds]
    faces = np.where(rewards[rounds - 1] > (min(rewards.min(), 0.0) + rewards.max()) / 2.0, edges, "white")
    heights = [lanes.base(int(round)) for round in rounds]
    size = 12.0 if rounds.size <= 250 else 5.0
    return axes.scatter(rounds, heights, s=size, c=list(faces), edgecolors=edges, linewidths=0.7, zorder=3)
