"""Traffic over time, pending by age, brackets: from a tally."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from belated.service.api.messages import ArmAnswer
from belated.service.core.timestamps import shown
from belated.service.dashboard.counters import Span, Tally
from belated.service.dashboard.formatting import DAY, HOUR, MINUTE
from belated.service.dashboard.schemas import Ages, Bracket, Series, Traffic
from belated.service.storage.database import Database
from belated.service.storage.summaries import unanswered

EDGES = (0.0, 10.0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY)
"""Ages of pending decisions are counted between these."""
SHOWN = 8
"""Arms that have a colour of their own."""
_ORDER = (0, 1, 2, 3, 4, 5, 7, 6)
"""Colours as they are given; black comes last."""
STRETCHES = 60
"""Points of the picture of traffic, at the most."""


def slots(arms: Sequence[ArmAnswer]) -> dict[int, int]:
    """The colour of each arm that has one, by its place: all arms if they are few, else those with the most pulls. An
    arm keeps its colour while others come and go, as far as that can be."""
    most = SHOWN if len(arms) <= SHOWN else SHOWN - 1
    chosen = sorted(range(len(arms)), key=lambda place: (-arms[place].pulls, place))[:most]
    free = list(_ORDER[:most])
    found = {}
    for place in chosen:
        slot = _ORDER[place % most] if _ORDER[place % most] in free else free[0]
        free.remove(slot)
        found[place] = slot
    return dict(sorted(found.items()))


def traffic(tally: Tally, arms: Sequence[ArmAnswer]) -> Traffic:
    """The decisions for each arm, in stretches of about as many decisions each."""
    chosen = list(slots(arms))
    stretches = _stretches(tally, len(chosen))
    counts = np.array([row for row, _ in stretches]).reshape(len(stretches), tally.pulls.size)
    series = [Series(arms[place].arm, place, counts[:, place].tolist()) for place in chosen]
    if len(chosen) < len(arms):
        series.append(Series(None, None, (counts.sum(axis=1) - counts[:, chosen].sum(axis=1)).tolist()))
    spans = [span for _, span in stretches]
    return Traffic([shown(span.first_at) for span in spans], [shown(span.last_at) for span in spans], series)


def _stretches(tally: Tally, series: int) -> list[tuple[npt.NDArray[np.int64], Span]]:
    """Blocks joined until they are few, and hold enough decisions for shares to mean something."""
    blocks = tally.known()
    decisions = len(blocks) * tally.size
    wanted = max(-(-decisions // STRETCHES), min(4 * series, -(-decisions // 8)), 1)
    step = -(-wanted // tally.size)
    joined: list[tuple[npt.NDArray[np.int64], Span]] = []
    for start in range(0, len(blocks), step):
        part = blocks[start : start + step]
        row, span = np.sum([row for row, _ in part], axis=0), part[0][1].joined(part[-1][1])
        if joined and 2 * len(part) < step:  # the last one, while it is short
            joined[-1] = (joined[-1][0] + row, joined[-1][1].joined(span))
        else:
            joined.append((row, span))
    return joined


def ages(database: Database, tally: Tally, now: int) -> Ages:
    """How old pending decisions are. Blocks whose decisions are all of one class are counted, others are looked at."""
    pending = [0] * len(EDGES)
    oldest: float | None = None

    def old(at: int) -> float:
        return max(now - at, 0) / 1e6

    for open_ones, span in zip(tally.open.tolist(), tally.spans, strict=True):
        if not open_ones or span is None:
            continue
        low, high = (bisect_right(EDGES, old(at)) - 1 for at in (span.last_at, span.first_at))
        if low == high and oldest is not None:
            pending[low] += open_ones
            continue
        for at in unanswered(database, tally.experiment, span.first_seq, span.last_seq, tally.seq):
            oldest = old(at) if oldest is None else oldest
            pending[bisect_right(EDGES, old(at)) - 1] += 1
    return Ages(shown(now), list(EDGES), pending, oldest)


def brackets(arms: Sequence[ArmAnswer]) -> list[Bracket]:
    """Of each arm, the mean if all that is pending fails, and if all of it succeeds."""
    found = []
    for arm in arms:
        total = (arm.mean or 0.0) * arm.observed
        if arm.pulls:
            found.append(Bracket(arm.arm, total / arm.pulls, (total + arm.pending) / arm.pulls))
        else:
            found.append(Bracket(arm.arm, None, None))
    return found
