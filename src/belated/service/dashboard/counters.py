"""What is counted of an experiment's events, a little at a time: only what is new is read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from belated.service.core.experiment import Experiment
from belated.service.storage.database import Database
from belated.service.storage.events import CANCELLED, DECIDED, IMPUTED, OBSERVED, REPLACED
from belated.service.storage.summaries import Group, groups

CELLS = 200_000
"""Numbers kept for an experiment, at the most: blocks times arms."""
MOST_BLOCKS, LEAST_BLOCKS = 256, 16


class Span(NamedTuple):
    """Where a block's decisions stand in the journal."""

    first_seq: int
    last_seq: int
    first_at: int
    last_at: int

    def joined(self, other: Span) -> Span:
        """The span of both."""
        return Span(
            min(self.first_seq, other.first_seq),
            max(self.last_seq, other.last_seq),
            min(self.first_at, other.first_at),
            max(self.last_at, other.last_at),
        )


class Tally:
    """Counts up to an event. Decisions are counted in blocks of ``size``, which doubles as they become many, so that
    memory and time stay the same however long the experiment lives."""

    def __init__(self, experiment: int, arms: int, silence: float | None) -> None:
        self.experiment = experiment
        self.silence = silence
        """The reward that silence gives."""
        self.seq = 0
        self.size = 1
        self.pulls = np.zeros(arms, np.int64)
        self.observed = np.zeros(arms, np.int64)
        self.total = np.zeros(arms)
        self.decided = np.zeros((0, arms), np.int64)
        """Decisions of each block and arm, cancelled ones too."""
        self.open = np.zeros(0, np.int64)
        """Of each block, decisions without an answer."""
        self.spans: list[Span | None] = []
        self.again: Experiment | None = None
        """Its life, lived again for the reasons of a policy that knows more than counts."""

    @property
    def most_blocks(self) -> int:
        """How many blocks there may be."""
        return max(LEAST_BLOCKS, min(MOST_BLOCKS, CELLS // max(self.pulls.size, 1)))

    def make_room(self, arms: int, decisions: int) -> None:
        """There will be so many arms and decisions."""
        more = arms - self.pulls.size
        if more > 0:
            self.pulls = np.pad(self.pulls, (0, more))
            self.observed = np.pad(self.observed, (0, more))
            self.total = np.pad(self.total, (0, more))
            self.decided = np.pad(self.decided, ((0, 0), (0, more)))
        while decisions > self.size * self.most_blocks:
            self._halve()
        blocks = -(-decisions // self.size) - len(self.spans)
        if blocks > 0:
            self.decided = np.pad(self.decided, ((0, blocks), (0, 0)))
            self.open = np.pad(self.open, (0, blocks))
            self.spans += [None] * blocks

    def _halve(self) -> None:
        """Join every two blocks."""
        if len(self.spans) % 2:
            self.decided = np.pad(self.decided, ((0, 1), (0, 0)))
            self.open = np.pad(self.open, (0, 1))
            self.spans.append(None)
        self.decided = self.decided[::2] + self.decided[1::2]
        self.open = self.open[::2] + self.open[1::2]
        pairs = zip(self.spans[::2], self.spans[1::2], strict=True)
        self.spans = [a.joined(b) if a and b else a or b for a, b in pairs]
        self.size *= 2

    def advance(self, database: Database, until: int) -> None:
        """Count the events up to this one; room for them was made."""
        if until <= self.seq:
            return
        for group in groups(database, self.experiment, self.seq, until, self.size):
            self._count(group)
        self.seq = until

    def _count(self, group: Group) -> None:
        kind, arm, block, events = group.kind, group.arm, group.block, group.events
        if kind == DECIDED:
            self.pulls[arm] += events
            self.decided[block, arm] += events
            self.open[block] += events
            span = Span(group.first_seq, group.last_seq, group.first_at, group.last_at)
            before = self.spans[block]
            self.spans[block] = before.joined(span) if before else span
        elif kind in (OBSERVED, IMPUTED):
            self.observed[arm] += events
            self.total[arm] += group.total
            self.open[block] -= events
        elif kind == REPLACED:
            assert self.silence is not None
            self.total[arm] += group.total - events * self.silence
        elif kind == CANCELLED:  # with a reward where silence had been taken for an answer
            self.pulls[arm] -= events
            self.observed[arm] -= group.rewards
            self.total[arm] -= group.total
            self.open[block] -= events - group.rewards

    def known(self) -> list[tuple[npt.NDArray[np.int64], Span]]:
        """(decisions of each arm, where) of the blocks, the oldest first."""
        return [(row, span) for row, span in zip(self.decided, self.spans, strict=True) if span is not None]
