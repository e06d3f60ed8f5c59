"""What happened before the server started, written into the journal with the times that it would have had."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from belated.errors import ConfigurationError
from belated.service.core.spec import checked_spec
from belated.service.core.timestamps import now
from belated.service.core.transaction import ExperimentCache, Transaction
from belated.service.demo.scenarios import MEAN_PAUSE, World, stories
from belated.service.storage.database import without_password
from belated.service.storage.events import CANCELLED, DECIDED, IMPUTED, OBSERVED, REPLACED
from belated.service.storage.journal import Journal, open_journal

HOURS = 8.0
"""How far back the history goes."""
MICRO = 1_000_000
AT_ONCE = 2_000
"""Events of a transaction."""

Coming = tuple[int, int, str, dict[str, Any]]
"""(when, in which order, what, of which decision)"""


def make_history(db: str, seed: int, hours: float = HOURS) -> None:
    """Write the history of the experiments that are not there yet; an error if the database has keys."""
    journal = open_journal(db)
    try:
        if journal.all_keys():
            raise ConfigurationError(
                f"db is {without_password(db)!r}, which has keys that the demo does not know; give another --db."
            )
        for place, story in enumerate(stories()):
            if journal.experiment(story.name) is None:
                rng = np.random.default_rng([seed, place])
                _live(journal, World(story, seed), now(), hours, rng, seed)
    finally:
        journal.close()


def _live(journal: Journal, world: World, end: int, hours: float, rng: np.random.Generator, seed: int) -> None:
    """Let an experiment live up to a time."""
    story = world.story
    begin = end - round(hours * 3600 * MICRO)
    spec = checked_spec(list(story.arms), story.policy, seed, story.silence)
    with journal.database.transaction():
        journal.create(story.name, spec.text(), begin)
    pauses = rng.exponential(MEAN_PAUSE * MICRO, round(1.2 * hours * 3600 / MEAN_PAUSE) + 10)
    arrivals = begin + np.cumsum(pauses).astype(np.int64)
    coming: list[Coming] = [(at, order, DECIDED, {}) for order, at in enumerate(arrivals[arrivals < end].tolist())]
    past = Past(journal, world)
    while coming and coming[0][0] < end:
        with journal.database.transaction():
            past.begin()
            for _ in range(AT_ONCE):
                if not coming or coming[0][0] >= end:
                    break
                at, _, kind, made = heapq.heappop(coming)
                for later in past.happen(kind, at, made):
                    heapq.heappush(coming, later)
            past.commit()


class Past:
    """Events that are written with times gone by."""

    def __init__(self, journal: Journal, world: World) -> None:
        self._journal = journal
        self._world = world
        self._experiments = ExperimentCache()
        self._order = 1 << 40
        self._answered: set[str] = set()
        self._imputed: set[str] = set()

    def begin(self) -> None:
        """A transaction begins."""
        self._session = Transaction(self._journal, self._experiments, [])
        self.experiment = self._session.experiment(self._world.story.name)

    def commit(self) -> None:
        """Its events are written."""
        self._journal.append(self._session.events)
        self._journal.keep_snapshot(self.experiment.id, self.experiment.seq, self.experiment.save())

    def happen(self, kind: str, at: int, made: dict[str, Any]) -> list[Coming]:
        """Something happens; what will come of it."""
        if kind == DECIDED:
            return self._decide(at)
        id = made["id"]
        if kind == IMPUTED and id in self._answered:
            return []
        if kind == OBSERVED and id in self._imputed:
            kind = REPLACED
        (self._imputed if kind == IMPUTED else self._answered).add(id)
        self._session.write(self.experiment, kind, at=at, **made)
        return []

    def _decide(self, at: int) -> list[Coming]:
        experiment, world = self.experiment, self._world
        number = experiment.learner.decisions
        arm, rank = experiment.learner.decide()
        made: dict[str, Any] = {"id": f"{experiment.name}-{number}", "number": number, "arm": arm, "rank": rank}
        silence = world.story.silence
        deadline = at + round(silence.after * MICRO) if silence is not None else None
        self._session.write(experiment, DECIDED, made=True, at=at, deadline=deadline, **made)
        if world.is_cancelled(made["id"]):
            return [self._later(at + 2 * MICRO, CANCELLED, made)]
        reward, delay = world.outcome(made["id"], arm)
        coming = []
        if delay is not None:
            coming.append(self._later(at + round(delay * MICRO), OBSERVED, {**made, "reward": reward}))
        if silence is not None and deadline is not None:
            coming.append(self._later(deadline, IMPUTED, {**made, "reward": silence.reward}))
        return coming

    def _later(self, at: int, kind: str, made: dict[str, Any]) -> Coming:
        self._order += 1
        return at, self._order, kind, made
