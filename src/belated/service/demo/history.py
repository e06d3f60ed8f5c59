"""Write a simulated past into the journal, with past times."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from belated.errors import ConfigurationError
from belated.service import timestamps
from belated.service.core.spec import checked_spec
from belated.service.core.transaction import ExperimentCache, Transaction
from belated.service.demo.scenarios import MEAN_PAUSE, Visitors, demo_scenarios
from belated.service.storage.database import without_password
from belated.service.storage.events import CANCELLED, DECIDED, IMPUTED, OBSERVED, REPLACED
from belated.service.storage.journal import Journal, open_journal

HOURS = 8.0
"""Length of the history."""
MICRO = 1_000_000
BATCH = 2_000
"""Events in a transaction."""

ScheduledEvent = tuple[int, int, str, dict[str, Any]]
"""(time, tie-breaker, kind, fields of the decision)"""


def write_history(db: str, seed: int, hours: float = HOURS) -> None:
    """Write the history of the experiments that do not exist yet; raises if the database has keys."""
    journal = open_journal(db)
    try:
        if journal.all_keys():
            raise ConfigurationError(
                f"db is {without_password(db)!r}, which has keys; the demo needs one without. Give another --db."
            )
        for index, scenario in enumerate(demo_scenarios()):
            if journal.experiment(scenario.name) is None:
                rng = np.random.default_rng([seed, index])
                _simulate(journal, Visitors(scenario, seed), timestamps.now(), hours, rng, seed)
    finally:
        journal.close()


def _simulate(
    journal: Journal, visitors: Visitors, end: int, hours: float, rng: np.random.Generator, seed: int
) -> None:
    """Simulate an experiment up to a time."""
    scenario = visitors.scenario
    begin = end - round(hours * 3600 * MICRO)
    spec = checked_spec(list(scenario.arms), scenario.policy, seed, scenario.silence)
    with journal.database.transaction():
        journal.create(scenario.name, spec.text(), begin)
    pauses = rng.exponential(MEAN_PAUSE * MICRO, round(1.2 * hours * 3600 / MEAN_PAUSE) + 10)
    arrivals = begin + np.cumsum(pauses).astype(np.int64)
    schedule: list[ScheduledEvent] = [
        (at, order, DECIDED, {}) for order, at in enumerate(arrivals[arrivals < end].tolist())
    ]
    history = HistoryWriter(journal, visitors)
    while schedule and schedule[0][0] < end:
        with journal.database.transaction():
            history.begin()
            for _ in range(BATCH):
                if not schedule or schedule[0][0] >= end:
                    break
                at, _, kind, fields = heapq.heappop(schedule)
                for later in history.write(kind, at, fields):
                    heapq.heappush(schedule, later)
            history.commit()


class HistoryWriter:
    """Writes events with past times."""

    def __init__(self, journal: Journal, visitors: Visitors) -> None:
        self._journal = journal
        self._visitors = visitors
        self._experiments = ExperimentCache()
        self._order = 1 << 40
        self._observed: set[str] = set()
        self._imputed: set[str] = set()

    def begin(self) -> None:
        """Begin a transaction."""
        self._tx = Transaction(self._journal, self._experiments, [])
        self.experiment = self._tx.experiment(self._visitors.scenario.name)

    def commit(self) -> None:
        """Append its events and save a snapshot."""
        self._journal.append(self._tx.events)
        self._journal.save_snapshot(self.experiment.id, self.experiment.seq, self.experiment.save())

    def write(self, kind: str, at: int, fields: dict[str, Any]) -> list[ScheduledEvent]:
        """Write an event; returns the events that follow from it."""
        if kind == DECIDED:
            return self._decide(at)
        id = fields["id"]
        if kind == IMPUTED and id in self._observed:
            return []
        if kind == OBSERVED and id in self._imputed:
            kind = REPLACED
        (self._imputed if kind == IMPUTED else self._observed).add(id)
        self._tx.write(self.experiment, kind, at=at, **fields)
        return []

    def _decide(self, at: int) -> list[ScheduledEvent]:
        experiment, visitors = self.experiment, self._visitors
        number, arm, rank = experiment.decide()
        fields: dict[str, Any] = {"id": f"{experiment.name}-{number}", "number": number, "arm": arm, "rank": rank}
        silence = visitors.scenario.silence
        deadline = at + round(silence.after * MICRO) if silence is not None else None
        self._tx.write(experiment, DECIDED, applied=True, at=at, deadline=deadline, **fields)
        if visitors.is_cancelled(fields["id"]):
            return [self._later(at + 2 * MICRO, CANCELLED, fields)]
        reward, delay = visitors.outcome(fields["id"], arm)
        schedule = []
        if delay is not None:
            schedule.append(self._later(at + round(delay * MICRO), OBSERVED, {**fields, "reward": reward}))
        if silence is not None and deadline is not None:
            schedule.append(self._later(deadline, IMPUTED, {**fields, "reward": silence.reward}))
        return schedule

    def _later(self, at: int, kind: str, fields: dict[str, Any]) -> ScheduledEvent:
        self._order += 1
        return at, self._order, kind, fields
