"""What a page shows, as data (its JSON version; its HTML is rendered from the same), and the incremental counts of an
experiment's events that it is made of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

from belated.service.api.messages import ArmAnswer, DelaysAnswer, ExperimentAnswer, doc
from belated.service.dashboard.formatting import DAY, HOUR, MINUTE
from belated.service.storage.events import Kind
from belated.service.storage.journal import Journal
from belated.service.timestamps import isoformat

MAX_CELLS = 200_000
"""Maximum size of the counts of an experiment: blocks times arms."""
MAX_BLOCKS, MIN_BLOCKS = 256, 16
AGE_EDGES = (0.0, 10.0, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY)
"""Bins for the ages of pending decisions."""
MAX_COLOURED = 8
"""Arms with a colour of their own."""
_COLOUR_ORDER = (0, 1, 2, 3, 4, 5, 7, 6)
"""Black comes last."""
MAX_INTERVALS = 60
"""Points of the traffic chart."""


class Feedback(msgspec.Struct):
    """Feedback that had no effect, since the server started."""

    duplicates: Annotated[int, doc("Repeated feedback, since the server started.")]
    conflicts: Annotated[int, doc("Feedback refused with 409, since the server started.")]


class Series(msgspec.Struct):
    """The decisions of an arm per interval of time; ``arm`` is None for all other arms together."""

    arm: Annotated[str | None, doc("The arm; null for all other arms together.")]
    place: Annotated[int | None, doc("Its index; null for all other arms together.")]
    decisions: Annotated[list[int], doc("Its decisions in each interval.")]


class Traffic(msgspec.Struct):
    """Decisions over time, in intervals with about the same number of decisions."""

    begin: Annotated[list[str], doc("The start of each interval.")]
    end: Annotated[list[str], doc("The end of each interval.")]
    series: Annotated[list[Series], doc("The decisions in each interval, arm by arm.")]


class Bracket(msgspec.Struct):
    """The mean of an arm if everything pending fails (reward 0), and if it succeeds (reward 1)."""

    arm: Annotated[str, doc("The arm.")]
    all_fail: Annotated[float | None, doc("Its mean if everything pending fails; null before its first decision.")]
    all_succeed: Annotated[float | None, doc("Its mean if everything pending succeeds.")]


class Elimination(msgspec.Struct):
    """When and why an arm was eliminated: the bounds just before that decision."""

    arm: Annotated[str, doc("The arm.")]
    place: Annotated[int, doc("Its index.")]
    decision: Annotated[
        int, doc("The first decision (1, 2, ...) that could no longer choose this arm: `eliminated_at`.")
    ]
    at: Annotated[str, doc("When that decision was made.")]
    upper: Annotated[float, doc("The upper bound of the arm at that time.")]
    by: Annotated[str, doc("The arm with the largest lower bound at that time.")]
    lower: Annotated[float, doc("That lower bound.")]
    sentence: Annotated[str, doc("The same in words.")]


class Ages(msgspec.Struct):
    """Pending decisions by age in seconds: from ``edges[i]`` to ``edges[i + 1]``, the last open-ended."""

    at: Annotated[str, doc("When this was computed.")]
    edges: Annotated[list[float], doc("The start of each bin, in seconds; the last is open-ended.")]
    pending: Annotated[list[int], doc("Pending decisions in each bin.")]
    oldest: Annotated[float | None, doc("Age of the oldest in seconds; null if nothing is pending.")]


class Page(msgspec.Struct):
    """Everything on the page of an experiment."""

    experiment: Annotated[ExperimentAnswer, doc("The current state of the experiment.")]
    counted: Annotated[
        int,
        doc(
            "Traffic, eliminations and ages cover the events up to this one: the last, or an earlier one "
            "while a long journal is still being read."
        ),
    ]
    feedback: Annotated[Feedback, doc("Feedback that had no effect.")]
    traffic: Annotated[Traffic, doc("Decisions over time.")]
    brackets: Annotated[list[Bracket], doc("The best and the worst case for the mean of each arm.")]
    eliminated: Annotated[list[Elimination], doc("When and why arms were eliminated.")]
    pending_by_age: Annotated[Ages, doc("Pending decisions by age.")]
    delays: Annotated[DelaysAnswer, doc("The delay curves.")]
    events: Annotated[list[dict[str, Any]], doc("The newest events, newest first.")]


class Counters:
    """Counts up to an event. Decisions are counted in blocks of ``size``, which doubles as they grow in number, so that
    memory and time are bounded."""

    def __init__(self, experiment: int, arms: int, silence: float | None) -> None:
        self.experiment = experiment
        self.silence = silence
        """The reward that is imputed."""
        self.seq = 0
        self.size = 1
        self.pulls = np.zeros(arms, np.int64)
        self.observed = np.zeros(arms, np.int64)
        self.total = np.zeros(arms)
        self.decided = np.zeros((0, arms), np.int64)
        """Decisions per block and arm, including cancelled ones."""
        self.pending = np.zeros(0, np.int64)
        """Pending decisions per block."""
        self.first = np.zeros((0, 2), np.int64)
        """(event, time) of the first decision of each block."""
        self.last = np.zeros((0, 2), np.int64)
        """The same of the last; zeros before the first is counted."""

    def reserve(self, arms: int, decisions: int) -> None:
        """Make room for a number of arms and decisions."""
        more = arms - self.pulls.size
        if more > 0:
            self.pulls = np.pad(self.pulls, (0, more))
            self.observed = np.pad(self.observed, (0, more))
            self.total = np.pad(self.total, (0, more))
            self.decided = np.pad(self.decided, ((0, 0), (0, more)))
        most = max(MIN_BLOCKS, min(MAX_BLOCKS, MAX_CELLS // max(self.pulls.size, 1)))
        while decisions > self.size * most:
            self._merge_pairs()
        self._add_blocks(-(-decisions // self.size) - self.pending.size)

    def _add_blocks(self, blocks: int) -> None:
        if blocks > 0:
            self.decided = np.pad(self.decided, ((0, blocks), (0, 0)))
            self.pending = np.pad(self.pending, (0, blocks))
            self.first = np.pad(self.first, ((0, blocks), (0, 0)), constant_values=np.iinfo(np.int64).max)
            self.last = np.pad(self.last, ((0, blocks), (0, 0)))

    def _merge_pairs(self) -> None:
        self._add_blocks(self.pending.size % 2)
        self.decided = self.decided[::2] + self.decided[1::2]
        self.pending = self.pending[::2] + self.pending[1::2]
        self.first = np.minimum(self.first[::2], self.first[1::2])
        self.last = np.maximum(self.last[::2], self.last[1::2])
        self.size *= 2

    def advance(self, journal: Journal, until: int) -> None:
        """Count the events up to this one, after :meth:`reserve`."""
        if until <= self.seq:
            return
        for group in journal.count_groups(self.experiment, self.seq, until, self.size):
            self._count(*group)
        self.seq = until

    def _count(self, kind: str, block: int, arm: int, events: int, rewards: int, total: float, *ends: int) -> None:
        if kind == Kind.DECIDED:
            self.pulls[arm] += events
            self.decided[block, arm] += events
            self.pending[block] += events
            first_seq, last_seq, first_at, last_at = ends
            self.first[block] = np.minimum(self.first[block], (first_seq, first_at))
            self.last[block] = np.maximum(self.last[block], (last_seq, last_at))
        elif kind in (Kind.OBSERVED, Kind.IMPUTED):
            self.observed[arm] += events
            self.total[arm] += total
            self.pending[block] -= events
        elif kind == Kind.REPLACED:
            assert self.silence is not None
            self.total[arm] += total - events * self.silence
        elif kind == Kind.CANCELLED:  # with a reward if one had been imputed
            self.pulls[arm] -= events
            self.observed[arm] -= rewards
            self.total[arm] -= total
            self.pending[block] -= events - rewards


def most_pulled(arms: Sequence[ArmAnswer]) -> list[int]:
    """The indices of the arms, the most pulled first."""
    return sorted(range(len(arms)), key=lambda index: (-arms[index].pulls, index))


def colour_slots(arms: Sequence[ArmAnswer]) -> dict[int, int]:
    """The colour of each arm that has one, by its index: all arms if they are few, else the most pulled. An arm keeps
    its colour while others come and go, as far as possible."""
    most = MAX_COLOURED if len(arms) <= MAX_COLOURED else MAX_COLOURED - 1
    chosen = most_pulled(arms)[:most]
    free = list(_COLOUR_ORDER[:most])
    slots = {}
    for index in chosen:
        slot = _COLOUR_ORDER[index % most] if _COLOUR_ORDER[index % most] in free else free[0]
        free.remove(slot)
        slots[index] = slot
    return dict(sorted(slots.items()))


def traffic(counters: Counters, arms: Sequence[ArmAnswer]) -> Traffic:
    """The decisions of each arm over time, in intervals with about the same number of decisions."""
    chosen = list(colour_slots(arms))
    counted = counters.last[:, 0] > 0
    starts = _interval_starts(int(counted.sum()), counters.size, len(chosen))
    counts = np.add.reduceat(counters.decided[counted], starts)
    series = [Series(arms[index].arm, index, counts[:, index].tolist()) for index in chosen]
    if len(chosen) < len(arms):
        series.append(Series(None, None, (counts.sum(axis=1) - counts[:, chosen].sum(axis=1)).tolist()))
    begin = np.minimum.reduceat(counters.first[counted, 1], starts).tolist()
    end = np.maximum.reduceat(counters.last[counted, 1], starts).tolist()
    return Traffic([isoformat(at) for at in begin], [isoformat(at) for at in end], series)


def _interval_starts(blocks: int, size: int, series: int) -> npt.NDArray[np.int64]:
    """The first block of each interval: few intervals, with enough decisions each for shares to be meaningful."""
    decisions = blocks * size
    target = max(-(-decisions // MAX_INTERVALS), min(4 * series, -(-decisions // 8)), 1)
    step = -(-target // size)
    starts = np.arange(0, blocks, step)
    short = starts.size > 1 and 2 * (blocks - starts[-1]) < step  # the last one joins the one before
    return starts[:-1] if short else starts


def pending_ages(journal: Journal, counters: Counters, now: int) -> Ages:
    """Pending decisions by age. Blocks that fall into one bin are counted as a whole, others decision by decision."""
    pending = [0] * len(AGE_EDGES)
    oldest: float | None = None

    def age(at: int) -> float:
        return max(now - at, 0) / 1e6

    for count, (first_seq, first_at), (last_seq, last_at) in zip(
        counters.pending.tolist(), counters.first.tolist(), counters.last.tolist(), strict=True
    ):
        if not count:
            continue
        low, high = (bisect_right(AGE_EDGES, age(at)) - 1 for at in (last_at, first_at))
        if low == high and oldest is not None:
            pending[low] += count
            continue
        for at in journal.pending_times(counters.experiment, first_seq, last_seq, counters.seq):
            oldest = age(at) if oldest is None else oldest
            pending[bisect_right(AGE_EDGES, age(at)) - 1] += 1
    return Ages(isoformat(now), list(AGE_EDGES), pending, oldest)


def brackets(arms: Sequence[ArmAnswer]) -> list[Bracket]:
    """The mean of each arm if everything pending fails, and if it succeeds."""
    brackets = []
    for arm in arms:
        total = (arm.mean or 0.0) * arm.observed
        ends = (total / arm.pulls, (total + arm.pending) / arm.pulls) if arm.pulls else (None, None)
        brackets.append(Bracket(arm.arm, *ends))
    return brackets
